"""Language models that run here, for language_model.py: the answers of any, and the training of the tiny one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import datasets
import numpy as np
import tokenizers
import torch
import transformers
from tqdm import tqdm
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedModel, PreTrainedTokenizerBase
from transformers.trainer_callback import PrinterCallback, TrainerCallback, TrainerState
from trl import GRPOConfig, GRPOTrainer

from nim_env import NimRules, evaluation, text
from nim_env.appearance import heap_name

from common import percent

Complete: TypeAlias = Callable[[list[str]], Iterator[tuple[str, str]]]

BATCH_SIZE = 64  # of prompts
IMITATION_STEPS = 300  # batches of random legal moves
TINY_TOKENS = 4  # the word, the heap, the number and the end of an answer

warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")  # trl calls what it will drop
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


def ask(name: str, max_tokens: int, temperature: float, seed: int) -> Complete:
    """A function from prompts to pairs of a prompt and its answer, by a model of a folder or of the hub."""
    transformers.set_seed(seed)
    tokenizer = transformers.AutoTokenizer.from_pretrained(name)
    model = transformers.AutoModelForCausalLM.from_pretrained(name, device_map="auto")
    return answers_of(model, tokenizer, max_tokens, temperature)


def answers_of(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, max_tokens: int, temperature: float = 0.0
) -> Complete:
    """The same for a model in memory."""
    tokenizer.padding_side = "left"
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    options = {"max_new_tokens": max_tokens, "pad_token_id": tokenizer.pad_token_id}
    if temperature > 0:
        options |= {"do_sample": True, "temperature": temperature}

    @torch.no_grad()
    def complete(prompts: list[str]) -> Iterator[tuple[str, str]]:
        model.eval()
        for first in tqdm(range(0, len(prompts), BATCH_SIZE), desc="answers", disable=None, leave=False):
            asked = texts = prompts[first : first + BATCH_SIZE]
            if tokenizer.chat_template is not None:
                chats = [[{"role": "user", "content": prompt}] for prompt in asked]
                texts = tokenizer.apply_chat_template(chats, tokenize=False, add_generation_prompt=True)
            batch = tokenizer(texts, return_tensors="pt", padding=True).to(model.device)
            tokens = model.generate(**batch, **options)[:, batch["input_ids"].shape[1] :]
            yield from zip(asked, tokenizer.batch_decode(tokens, skip_special_tokens=True), strict=True)

    return complete


def train_tiny(rules: NimRules, style: text.Style, max_steps: int, seed: int, folder: str) -> None:
    """Trains a tiny model to play this board in words, and saves it in a folder."""
    torch.set_num_threads(1)  # so small a model is not faster with more
    transformers.set_seed(seed)
    model, tokenizer = make_tiny(rules)
    imitate_random_play(rules, style, model, tokenizer, seed)
    model.save_pretrained(folder)  # trl loads it twice: the model, and the reference that it must stay near
    tokenizer.save_pretrained(folder)
    positions = rules.all_positions()[1:].tolist()
    rows = [{"prompt": text.describe(rules, heaps, style), "heaps": heaps} for heaps in positions]

    class PrintMastery(TrainerCallback):
        def on_step_end(self, _args: object, state: TrainerState, _control: object, **kwargs: Any) -> None:
            if state.global_step % max(1, max_steps // 10) == 0:
                complete = answers_of(kwargs["model"], tokenizer, TINY_TOKENS)
                player = text.LanguageModelPolicy(rules, complete, style=style)
                mastery = evaluation.mastery(rules, player, illegal_action="lose")
                print(f"{state.global_step} updates: expert mastery {percent(mastery.expert)} %", flush=True)
                kwargs["model"].train()

    trainer = GRPOTrainer(
        folder,
        reward_funcs=text.move_reward(rules),
        args=GRPOConfig(
            output_dir=folder,
            max_steps=max_steps,
            per_device_train_batch_size=256,
            num_generations=8,
            max_completion_length=TINY_TOKENS,
            learning_rate=1e-3,
            beta=0.1,  # near random play it goes on to explore; with 0 it stops at its first moves
            seed=seed,
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
        ),
        train_dataset=datasets.Dataset.from_list(32 * rows),  # a batch needs 32 rows, on the smallest board too
        processing_class=tokenizer,
        callbacks=[PrintMastery()],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    trainer.save_model(folder)


def make_tiny(rules: NimRules) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """An untrained GPT-2 of 600,000 weights, and a tokenizer that reads only numbers and moves: "Move: B 2"."""
    numbers = [str(number) for number in range(max(rules.heaps) + 1)]
    names = [heap_name(heap) for heap in range(rules.n_heaps)]
    words = ["<pad>", "<eos>", "<unk>", "Move:", "Change:", *numbers, *names]
    indices = {word: index for index, word in enumerate(words)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(indices, unk_token="<unk>"))
    read = tokenizers.Regex(r"[0-9]+|[A-Z]+(?= [0-9])|(Move|Change):")
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(read, behavior="removed", invert=True)
    special_ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1}
    config = GPT2Config(vocab_size=len(words), n_positions=64, n_embd=128, n_layer=3, n_head=4, **special_ids)
    special = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, padding_side="left", **special)
    return GPT2LMHeadModel(config), fast


def imitate_random_play(
    rules: NimRules, style: text.Style, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, seed: int
) -> None:
    """Teaches the form of an answer, by random legal moves."""
    generator = np.random.default_rng(seed)
    positions = rules.all_positions()[1:]
    noun = "Change" if style == "numbers" else "Move"
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in tqdm(range(IMITATION_STEPS), desc="random legal moves", disable=None, leave=False):
        answers = []
        for heaps in generator.choice(positions, size=64):
            moves = rules.legal_moves(heaps)
            heap, count = moves[generator.integers(len(moves))]
            answers.append(f"{text.describe(rules, heaps, style)} {noun}: {heap_name(heap)} {count} <eos>")
        batch = tokenizer(answers, return_tensors="pt", padding=True)
        labels = batch["input_ids"].clone()
        labels[:, :-TINY_TOKENS] = -100  # the loss of the answer alone
        loss = model(**batch, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
