"""A language model plays Nim in words, and its play is evaluated exactly.

The model is asked for a move once in every position. An answer that names no move, or an illegal one, loses at
once. The report says how often the model plays a winning move (expert mastery, Zhou and Riis 2022,
arXiv:2205.12787), how much of its play is illegal, and in which groups of positions it errs.

    python examples/language_model.py
    python examples/language_model.py --model Qwen/Qwen3-0.6B
    python examples/language_model.py --server http://localhost:8000/v1 --model NAME --heaps 1 3 5 7

The first command makes a small model (GPT-2, Radford et al. 2019) with random weights, teaches it the form of an
answer by random legal moves, and trains it by reinforcement learning (GRPO, Shao et al. 2024, arXiv:2402.03300),
where a winning move has reward 1, another legal move 0 and anything else -1. The second loads a model from the
Hugging Face hub or a folder. The third asks a server of the OpenAI chat interface; the key is the environment
variable OPENAI_API_KEY. Answers are kept in --folder, so the same command continues after an interruption.

Install: pip install -e ".[examples,llm]"
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from nim_env import NimRules, evaluation, theory
from nim_env.evaluation import Report
from nim_env.rendering import heap_name
from nim_env.text import LanguageModelPolicy, Style, describe, move_reward

from common import draw_groups, run, save_figure

Complete = Callable[[list[str]], Iterator[str]]
BATCH_SIZE = 64  # prompts of a local model at the same time
FORMAT_UPDATES = 300  # of the small model, on random legal moves


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 2, 3)
    """Starting heap sizes."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    model: str = "tiny"
    """tiny for the model that is trained here; the name of a model of the server; or of a model of the hub or a
    folder."""
    server: str | None = None
    """The address of a server of the OpenAI chat interface, such as http://localhost:8000/v1."""
    style: Style = "nim"
    """The words of the prompts: they name the game, state its rules alone, or tell another story."""
    samples: int = 1
    """The number of answers for each position."""
    max_tokens: int = 1024
    """The largest number of tokens of an answer."""
    concurrency: int = 8
    """The number of requests to the server at the same time."""
    max_steps: int = 200
    """The number of updates of GRPO, for the small model."""
    seed: int = 0
    """Random seed of the small model."""
    folder: Path = Path("results/language_model")
    """Where the answers (.jsonl) and the figure are saved; one folder for each model."""


def main(args: Args) -> Report:
    """Evaluates the model and returns its report."""
    rules = NimRules(args.heaps, args.max_take, args.misere)
    if args.model == "tiny" and args.server is None:
        player = train_tiny(args, rules)
    else:
        args.folder.mkdir(parents=True, exist_ok=True)
        complete = ask_model(args) if args.server is None else ask_server(args)
        path = args.folder / "answers.jsonl"
        player = LanguageModelPolicy(rules, complete, args.samples, args.style, path)
    print(f"{args.samples * (rules.n_positions - 1):,} answers on {rules}")
    report = evaluation.report(rules, player, illegal_action="lose")
    for name, metric in report.to_dict().items():
        print(f"{name:24} {metric:.4f}")
    groups = pd.DataFrame(report.groups).dropna(axis="columns")
    print(groups.to_string(index=False, float_format="{:.3f}".format))
    save_figure(draw_groups(groups, f"{args.model}, {rules}"), args.folder / "language_model.svg")
    return report


def ask_server(args: Args) -> Complete:
    """Sends each prompt to a server, several at the same time."""
    import openai

    client = openai.OpenAI(base_url=args.server, api_key=os.environ.get("OPENAI_API_KEY", "none"), max_retries=5)

    def ask(prompt: str) -> tuple[str, int]:
        messages: Any = [{"role": "user", "content": prompt}]
        try:
            response = client.chat.completions.create(
                model=args.model, messages=messages, max_completion_tokens=args.max_tokens
            )
        except openai.OpenAIError as error:
            raise OSError(f"{args.server}: {error}") from error
        n_tokens = 0 if response.usage is None else response.usage.total_tokens
        return response.choices[0].message.content or "", n_tokens

    def complete(prompts: list[str]) -> Iterator[str]:
        total = 0
        with ThreadPoolExecutor(args.concurrency) as pool:
            answers = pool.map(ask, prompts)
            for answer, n_tokens in tqdm(answers, "answers", len(prompts), disable=None):
                total += n_tokens
                yield answer
        print(f"{total:,} tokens")

    return complete


def ask_model(args: Args) -> Complete:
    """Loads a model of transformers."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(args.model, padding_side="left")
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    return complete_by(
        AutoModelForCausalLM.from_pretrained(args.model), tokenizer, args.max_tokens, args.samples > 1
    )


def complete_by(model: Any, tokenizer: Any, max_tokens: int, do_sample: bool = False) -> Complete:
    """The answers of a model of transformers, the most probable ones unless it samples."""
    import torch

    def complete(prompts: list[str]) -> Iterator[str]:
        for start in tqdm(range(0, len(prompts), BATCH_SIZE), "batches", disable=None):
            texts = prompts[start : start + BATCH_SIZE]
            if tokenizer.chat_template is not None:
                messages = [[{"role": "user", "content": text}] for text in texts]
                texts = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            inputs = tokenizer(texts, return_tensors="pt", padding=True, return_token_type_ids=False).to(
                model.device
            )
            with torch.no_grad():
                outputs = model.eval().generate(**inputs, max_new_tokens=max_tokens, do_sample=do_sample)
            n_read = inputs["input_ids"].shape[1]
            yield from tokenizer.batch_decode(outputs[:, n_read:], skip_special_tokens=True)

    return complete


def train_tiny(args: Args, rules: NimRules) -> LanguageModelPolicy:
    """Makes the small model, teaches it the form of an answer, and trains it by GRPO."""
    import torch
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    torch.manual_seed(args.seed)
    model, tokenizer = make_tiny(rules)
    teach_format(args, rules, model, tokenizer)
    complete = complete_by(model, tokenizer, max_tokens=3)
    before = evaluation.mastery(rules, LanguageModelPolicy(rules, complete), illegal_action="lose")
    print(f"expert mastery before GRPO {before.expert:.3f}")
    config = GRPOConfig(
        output_dir=str(args.folder / "checkpoints"),
        per_device_train_batch_size=256,
        num_generations=16,
        max_completion_length=3,
        learning_rate=1e-3,
        temperature=1.0,
        beta=0.0,
        max_steps=args.max_steps,
        logging_strategy="no",
        report_to=[],
        save_strategy="no",
        bf16=False,
        use_cpu=not torch.cuda.is_available(),
        seed=args.seed,
    )
    positions = rules.all_positions()[1:]
    won = positions[theory.is_winning(rules, positions)]  # in lost positions all moves have the same reward
    rows = [{"prompt": describe(rules, heaps), "heaps": heaps.tolist()} for heaps in won]
    GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=move_reward(rules),
        args=config,
        train_dataset=Dataset.from_list(rows),
    ).train()
    return LanguageModelPolicy(rules, complete)


def make_tiny(rules: NimRules) -> tuple[Any, Any]:
    """A GPT-2 of 600,000 random weights, whose tokens are the letters of the heaps and numbers."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    names = [heap_name(heap) for heap in range(rules.n_heaps)]
    words = ["<pad>", "<eos>", "?", *names, *map(str, range(max(rules.heaps) + 1))]
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="?"))
    tokenizer.normalizer = normalizers.Replace(
        Regex(r".*heaps are |\. It is your turn.*by a space\.|[:,]"), ""
    )  # the heaps alone
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokens = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "?", "padding_side": "left"}
    config = GPT2Config(
        vocab_size=len(words),
        n_positions=4 * len(names) + 8,
        n_embd=128,
        n_layer=3,
        n_head=4,
        bos_token_id=1,
        eos_token_id=1,
        pad_token_id=0,
    )
    return GPT2LMHeadModel(config), PreTrainedTokenizerFast(tokenizer_object=tokenizer, **tokens)


def teach_format(args: Args, rules: NimRules, model: Any, tokenizer: Any) -> None:
    """Supervised training on random legal moves."""
    import torch

    generator = np.random.default_rng(args.seed)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    positions = rules.all_positions()[1:]
    for _ in tqdm(range(FORMAT_UPDATES), "updates", disable=None):
        texts = []
        for heaps in positions[generator.integers(len(positions), size=64)]:
            heap, count = rules.moves[generator.choice(np.flatnonzero(rules.action_mask(heaps)))]
            texts.append(f"{describe(rules, heaps)} {heap_name(heap)} {count} <eos>")
        inputs = tokenizer(texts, return_tensors="pt", padding=True, return_token_type_ids=False)
        labels = inputs["input_ids"].clone()
        labels[:, :-3] = -100  # the prompt
        loss = model.train()(**inputs, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    run(main, Args)
