"""A language model plays Nim in words: an exact evaluation, and reinforcement learning.

The script asks a model about every position of the board, and the evaluation counts its answers exactly. An answer
without a legal move loses the game. The model is on a server of the OpenAI chat interface, in a folder or on the
hub of Hugging Face, or the tiny one, which this script makes and trains in two minutes.

    python examples/language_model.py
    python examples/language_model.py --model FOLDER --heaps 1 3 5
    python examples/language_model.py --model NAME --server http://localhost:8000/v1 --heaps 1 3 5 7

A server's key is read from the environment variable OPENAI_API_KEY. The answers are kept in --folder, so the same
command continues after an interruption. Delete their file after a change of the model.

The tiny model learns the form of an answer from random legal moves, and then to win by GRPO (Shao et al. 2024,
arXiv:2402.03300, section 4.1) with the exact reward of each move (nim_env.text.move_reward).

Install: pip install -e ".[examples,llm]"
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import openai
import tokenizers
import torch
import transformers
from tqdm import tqdm
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedModel, PreTrainedTokenizerBase
from transformers.trainer_callback import PrinterCallback, TrainerCallback, TrainerState
from trl import GRPOConfig, GRPOTrainer

from nim_env import NimRules, evaluation, text
from nim_env.rendering import heap_name

from common import percent, run, show_report

BATCH_SIZE = 64  # of the models that run here
TINY_TOKENS = 3  # the heap, the number and the end of an answer

warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")  # trl calls what it will drop


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 2, 3)
    """Starting heap sizes; the model is asked about every position of the board."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    model: str = "tiny"
    """The model: its name on the server or the hub, its folder, or tiny."""
    server: str | None = None
    """The base URL of a server of the OpenAI chat interface; None for a model that runs here."""
    style: text.Style = "nim"
    """The words of the prompts: the game's name, its rules without the name, or a story about numbers."""
    samples: int = 1
    """The number of answers for each position. Models that run here are greedy with 1, and else sample."""
    max_tokens: int = 1024
    """The maximum number of tokens of an answer."""
    concurrency: int = 8
    """The number of requests to the server at the same time."""
    max_steps: int = 500
    """The number of updates of the tiny model by GRPO."""
    seed: int = 0
    """Random seed of the models that run here."""
    folder: Path = Path("results/language_model")
    """Where the answers and the figure are saved."""


def main(args: Args) -> evaluation.Report:
    """Asks the model about every position, prints and draws the figures, and returns them."""
    rules = NimRules(args.heaps, args.max_take, args.misere)
    transformers.set_seed(args.seed)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    args.folder.mkdir(parents=True, exist_ok=True)
    path = args.folder / f"{args.model.strip('/').replace('/', '_')}.jsonl"
    if args.server is not None:
        complete = ask_server(args)
    elif args.model == "tiny":
        complete, path = ask_model(*train_tiny(rules, args), TINY_TOKENS, args.samples > 1), None
    else:
        model = transformers.AutoModelForCausalLM.from_pretrained(args.model)
        tokenizer = transformers.AutoTokenizer.from_pretrained(args.model)
        complete = ask_model(model, tokenizer, args.max_tokens, args.samples > 1)
    player = text.LanguageModelPolicy(rules, complete, args.samples, args.style, path)
    n_kept = sum(len(answers) for answers in player.answers.values())
    print(
        f"{rules}: {(rules.n_positions - 1) * args.samples} prompts, {n_kept} answers kept from before", flush=True
    )
    report = evaluation.report(rules, player, illegal_action="lose")
    show_report(report, f"{args.model}, {rules}", args.folder / "language_model.svg")
    return report


def ask_server(args: Args) -> Callable[[list[str]], Iterator[str]]:
    """A function from prompts to answers that asks a server; it prints the number of tokens."""
    key = os.environ.get("OPENAI_API_KEY", "none")  # a local server needs none
    client = openai.OpenAI(base_url=args.server, api_key=key, max_retries=4)

    def ask(prompt: str) -> tuple[str, int]:
        messages = [{"role": "user", "content": prompt}]
        response = client.chat.completions.create(
            model=args.model, messages=messages, max_completion_tokens=args.max_tokens
        )
        if not response.choices:
            raise OSError(f"{args.server} sent no answer to: {prompt}")
        return response.choices[0].message.content or "", response.usage.total_tokens if response.usage else 0

    def complete(prompts: list[str]) -> Iterator[str]:
        n_tokens = 0
        try:
            with ThreadPoolExecutor(args.concurrency) as pool:
                for answer, n in tqdm(pool.map(ask, prompts), total=len(prompts), desc="answers", disable=None):
                    n_tokens += n
                    yield answer
        except openai.OpenAIError as error:
            raise OSError(f"{args.server}: {error}") from error
        print(f"{n_tokens:,} tokens of prompts and answers")

    return complete


def ask_model(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, max_tokens: int, sample: bool = False
) -> Callable[[list[str]], Iterator[str]]:
    """A function from prompts to answers that runs a model, in batches."""
    tokenizer.padding_side = "left"
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token

    @torch.no_grad()
    def complete(prompts: list[str]) -> Iterator[str]:
        model.eval()
        if tokenizer.chat_template is not None:
            chats = [[{"role": "user", "content": prompt}] for prompt in prompts]
            prompts = tokenizer.apply_chat_template(chats, tokenize=False, add_generation_prompt=True)
        for first in tqdm(range(0, len(prompts), BATCH_SIZE), desc="answers, in batches", disable=None):
            batch = tokenizer(prompts[first : first + BATCH_SIZE], return_tensors="pt", padding=True)
            options = {"max_new_tokens": max_tokens, "do_sample": sample}
            tokens = model.generate(**batch, **options, pad_token_id=tokenizer.pad_token_id)
            answers = tokens[:, batch["input_ids"].shape[1] :]
            yield from tokenizer.batch_decode(answers, skip_special_tokens=True)

    return complete


def train_tiny(rules: NimRules, args: Args) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A tiny model that has learned this board in words, and its tokenizer; both are saved in a folder."""
    torch.set_num_threads(1)  # so small a model is not faster with more
    path = str(args.folder / "tiny")
    model, tokenizer = make_tiny(rules)
    imitate_random_play(rules, model, tokenizer, args)
    model.save_pretrained(path)  # trl loads it twice: the model, and the reference that it must stay near
    tokenizer.save_pretrained(path)
    rows = [
        {"prompt": text.describe(rules, heaps, args.style), "heaps": heaps.tolist()}
        for heaps in rules.all_positions()[1:]
    ]
    trainer = GRPOTrainer(
        path,
        reward_funcs=text.move_reward(rules),
        args=GRPOConfig(
            output_dir=path,
            max_steps=args.max_steps,
            per_device_train_batch_size=256,  # 32 positions, so the smallest board has to have 32 rows
            num_generations=8,
            max_completion_length=TINY_TOKENS,
            learning_rate=1e-3,
            beta=0.1,  # near random play it goes on to explore; with 0 it stops at its first moves
            seed=args.seed,
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
        ),
        train_dataset=datasets.Dataset.from_list(32 * rows),
        processing_class=tokenizer,
        callbacks=[MasteryCallback(rules, tokenizer, args)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    trainer.save_model(path)
    return trainer.model, tokenizer


class MasteryCallback(TrainerCallback):
    """Prints the exact expert mastery ten times in a training."""

    def __init__(self, rules: NimRules, tokenizer: PreTrainedTokenizerBase, args: Args) -> None:
        self.rules, self.tokenizer, self.args = rules, tokenizer, args

    def on_step_end(self, _args: object, state: TrainerState, _control: object, **kwargs: Any) -> None:
        if state.global_step % max(1, self.args.max_steps // 10) == 0:
            model = kwargs["model"]
            complete = ask_model(model, self.tokenizer, TINY_TOKENS)
            player = text.LanguageModelPolicy(self.rules, complete, style=self.args.style)
            mastery = evaluation.mastery(self.rules, player, illegal_action="lose")
            print(f"{state.global_step} updates: expert mastery {percent(mastery.expert)} %", flush=True)
            model.train()


def make_tiny(rules: NimRules) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """An untrained GPT-2 of 600,000 weights, and a tokenizer that reads only numbers and moves, such as "B 2"."""
    numbers = [str(number) for number in range(max(rules.heaps) + 1)]
    names = [heap_name(heap) for heap in range(rules.n_heaps)]
    words = {word: index for index, word in enumerate(["<pad>", "<eos>", "<unk>", *numbers, *names])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    read = tokenizers.Regex(r"[0-9]+|[A-Z]+(?= [0-9])")
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(read, behavior="removed", invert=True)
    config = GPT2Config(
        vocab_size=len(words),
        n_positions=64,
        n_embd=128,
        n_layer=3,
        n_head=4,
        bos_token_id=1,
        eos_token_id=1,
        pad_token_id=0,
    )
    special = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, padding_side="left", **special)
    return GPT2LMHeadModel(config), fast


def imitate_random_play(
    rules: NimRules, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, args: Args
) -> None:
    """Teaches the form of an answer, by random legal moves."""
    generator = np.random.default_rng(args.seed)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(300):
        answers = []
        for heaps in generator.permutation(rules.all_positions()[1:])[:64]:
            heap, count = rules.moves[generator.choice(np.flatnonzero(rules.action_mask(heaps)))]
            answers.append(f"{text.describe(rules, heaps, args.style)} {heap_name(heap)} {count} <eos>")
        batch = tokenizer(answers, return_tensors="pt", padding=True)
        labels = batch["input_ids"].clone()
        labels[:, :-TINY_TOKENS] = -100  # the loss of the answer alone
        loss = model(**batch, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    run(main, Args)
