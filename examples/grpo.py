"""Trains a tiny language model to play Nim in words, by GRPO with the exact reward of each move.

GRPO (Shao et al. 2024, arXiv:2402.03300, section 4.1) samples several answers to each prompt and raises the
probability of the answers whose reward is above their mean. The model is a GPT-2 with 100,000 weights, trained
from scratch. It first learns the form of an answer from random legal moves; a pretrained model could skip this.

    python examples/grpo.py --seed 0

The script takes two minutes on one core. It prints the expert mastery of the most probable answers during training
and draws it.

Install: pip install -e ".[examples,llm]"
"""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from command_line import run

import datasets
import matplotlib.pyplot as plt
import numpy as np
import torch
import transformers
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from nim_env import NimRules, evaluation, text
from nim_env.rules import heap_name

from common import label_lines, percent, save_figure

IMITATION_STEPS = 300  # the number of batches of random legal moves
ANSWER_TOKENS = 4  # for example "Move:", "B", "2", "<eos>"


@dataclass
class Args:
    heaps: tuple[int, ...] = (1, 3, 5)
    """Starting heap sizes. The model is trained and evaluated on every position of this board."""
    updates: int = 400
    """The number of GRPO updates, each from 256 answers."""
    seed: int = 0
    picture: Path = Path("results/grpo.svg")


def main(args: Args) -> dict[int, float]:
    """Trains the model, draws its expert mastery, and returns it by number of updates."""
    torch.set_num_threads(1)  # more threads would not speed up such a small model
    transformers.set_seed(args.seed)
    rules = NimRules(args.heaps)
    rows = text.questions(rules)

    tokenizer = make_tokenizer(rules)
    size = {"n_positions": 64, "n_embd": 64, "n_layer": 2, "n_head": 4}
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **size, **ids))
    imitate_random_play(model, tokenizer, rules, args.seed)

    prompts = tokenizer([row["prompt"] for row in rows], return_tensors="pt", padding=True)
    curve = {}

    class Evaluate(TrainerCallback):
        """Evaluates the model's most probable answers exactly."""

        @torch.no_grad()
        def on_step_end(self, _args, state, _control, model, **_) -> None:
            if state.global_step % max(1, args.updates // 20) and state.global_step < args.updates:
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
        model.save_pretrained(folder)  # trl loads it twice, as the model and as the reference for the KL penalty
        config = GRPOConfig(
            output_dir=folder,
            max_steps=args.updates,
            per_device_train_batch_size=256,
            num_generations=8,  # the number of answers to each prompt
            max_completion_length=ANSWER_TOKENS,
            learning_rate=2e-3,
            beta=0.5,  # keeps it near random play, so it explores; with 0 it settles on its first moves
            seed=args.seed,
            disable_dropout=True,
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            logging_strategy="no",
        )
        data = datasets.Dataset.from_list(32 * [row for row in rows if row["won"]])  # a batch takes 32 prompts
        reward = text.move_reward(rules)
        trainer = GRPOTrainer(folder, reward, config, data, processing_class=tokenizer, callbacks=[Evaluate()])
        trainer.train()

    figure, axis = plt.subplots(layout="constrained")
    axis.plot(curve.keys(), curve.values(), label="the model")
    axis.axhline(evaluation.mastery(rules, "random").expert, color="C1", linestyle="--", label="random play")
    axis.set(title=f"A tiny language model on {rules}", ylim=(0, 1.02))
    axis.set(xlabel="updates, each by 256 answers", ylabel="expert mastery")
    label_lines(figure)
    save_figure(figure, args.picture)
    return curve


def make_tokenizer(rules: NimRules) -> PreTrainedTokenizerFast:
    """Returns a tokenizer that keeps only the numbers and "Move:" of a prompt, and moves such as "Move: B 2"."""
    words = ["<pad>", "<eos>", "<unk>", "Move:", *map(str, range(max(rules.heaps) + 1))]
    words += map(heap_name, range(rules.n_heaps))
    splitter = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    splitter.pre_tokenizer = pre_tokenizers.Split(Regex("[0-9]+|[A-Z](?= [0-9])|Move:"), "removed", invert=True)
    special = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    options = {"padding_side": "left", "model_input_names": ["input_ids", "attention_mask"]}
    return PreTrainedTokenizerFast(tokenizer_object=splitter, **options, **special)


def imitate_random_play(
    model: GPT2LMHeadModel, tokenizer: PreTrainedTokenizerFast, rules: NimRules, seed: int
) -> None:
    """Trains the model on answers with random legal moves, from which it learns the form of an answer."""
    rows = text.questions(rules)
    generator = np.random.default_rng(seed)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(IMITATION_STEPS):
        answers = []
        for row in generator.choice(rows, size=64):
            moves = rules.legal_moves(row["heaps"])
            heap, count = moves[generator.integers(len(moves))]
            answers.append(f"{row['prompt']} Move: {heap_name(heap)} {count} <eos>")
        batch = tokenizer(answers, return_tensors="pt", padding=True)
        labels = batch["input_ids"].clone()
        labels[:, :-ANSWER_TOKENS] = -100  # only the answer contributes to the loss
        loss = model(**batch, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    run(main, Args)
