"""A tiny language model learns Nim in words, by GRPO with the exact reward of each move.

GRPO (Shao et al. 2024, arXiv:2402.03300, section 4.1) draws several answers to a prompt, and makes those likelier
whose reward is above their mean. The model is a GPT-2 of 600,000 weights. First it learns the form of an answer,
from random legal moves; no model of the hub needs that.

Install: pip install -e ".[examples,llm]"
"""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import datasets
import numpy as np
import torch
import transformers
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from nim_env import NimRules, evaluation, text
from nim_env.appearance import heap_name

from common import percent

SPECIAL = ["<pad>", "<eos>", "<unk>"]
IMITATION_STEPS = 300  # batches of random legal moves
ANSWER_TOKENS = 4  # Move: B 2 <eos>
EVALUATIONS = 20


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5)
    """Starting heap sizes; the model trains and is evaluated on every position of the board."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    style: text.Style = "nim"
    """The words of the prompts."""
    updates: int = 500
    """The number of updates by GRPO, each by 256 answers."""
    seed: int = 0
    """Random seed."""
    picture: Path = Path("results/grpo.svg")
    """Where the figure is saved."""


def main(args: Args) -> list[float]:
    """Trains the model, draws its expert mastery over the updates, and returns it."""
    torch.set_num_threads(1)  # so small a model is not faster with more
    transformers.set_seed(args.seed)
    rules = NimRules(args.heaps, args.max_take, args.misere)
    rows = text.positions(rules, args.style)

    # the model reads and writes numbers and moves alone: "1 3 5 Move:", "Move: B 2"
    numbers = [str(number) for number in range(max(rules.heaps) + 1)]
    names = [heap_name(heap) for heap in range(rules.n_heaps)]
    vocabulary = {word: index for index, word in enumerate([*SPECIAL, "Move:", *numbers, *names])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("[0-9]+|[A-Z](?= [0-9])|Move:"), "removed", invert=True)
    special = dict(zip(("pad_token", "eos_token", "unk_token"), SPECIAL, strict=True))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer, padding_side="left", **special)
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1}
    config = GPT2Config(vocab_size=len(vocabulary), n_positions=128, n_embd=128, n_layer=3, n_head=4, **ids)
    model = GPT2LMHeadModel(config)

    # the form of an answer, by imitation of random play
    generator = np.random.default_rng(args.seed)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(IMITATION_STEPS):
        texts = []
        for row in generator.choice(rows, size=64):
            moves = rules.legal_moves(row["heaps"])
            heap, count = moves[generator.integers(len(moves))]
            texts.append(f"{row['prompt']} Move: {heap_name(heap)} {count} <eos>")
        batch = tokenizer(texts, return_tensors="pt", padding=True, return_token_type_ids=False)
        labels = batch["input_ids"].clone()
        labels[:, :-ANSWER_TOKENS] = -100  # the loss of the answer alone
        loss = model(**batch, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    prompts = tokenizer(
        [row["prompt"] for row in rows], return_tensors="pt", padding=True, return_token_type_ids=False
    )
    curve = {}

    class Evaluation(TrainerCallback):
        """The exact evaluation of the most probable answers."""

        @torch.no_grad()
        def on_step_end(self, _args: object, state: object, _control: object, model: GPT2LMHeadModel, **_: object):
            if state.global_step % max(1, args.updates // EVALUATIONS):
                return
            tokens = model.eval().generate(**prompts, max_new_tokens=ANSWER_TOKENS, do_sample=False)
            model.train()
            answers = tokenizer.batch_decode(tokens[:, prompts["input_ids"].shape[1] :], skip_special_tokens=True)
            policy = text.policy_of_answers(rules, zip([row["heaps"] for row in rows], answers, strict=True))
            mastery = evaluation.mastery(rules, policy, illegal_action="lose")
            curve[state.global_step] = mastery.expert
            print(f"{state.global_step} updates: expert mastery {percent(mastery.expert)} %", flush=True)

        on_train_begin = on_step_end

    with TemporaryDirectory() as folder:
        model.save_pretrained(folder)  # trl loads it twice: the model, and the reference that it must stay near
        config = GRPOConfig(
            output_dir=folder,
            max_steps=args.updates,
            per_device_train_batch_size=256,
            num_generations=8,
            max_completion_length=ANSWER_TOKENS,
            learning_rate=1e-3,
            beta=0.1,  # near random play it goes on to explore; with 0 it stops at its first moves
            seed=args.seed,
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        data = datasets.Dataset.from_list(32 * [row for row in rows if row["won"]])  # a batch needs 32 rows
        reward = text.move_reward(rules)
        trainer = GRPOTrainer(folder, reward, config, data, processing_class=tokenizer, callbacks=[Evaluation()])
        trainer.train()
    return curve
