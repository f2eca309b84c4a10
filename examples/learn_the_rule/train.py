"""A small network learns the rule of Nim by self-play on small boards, and plays boards of any size.

The network (network.py) estimates the value of a position for the player to move. It trains by self-play with one
ply of lookahead: the target of a position is the reward of the best move where that move ends the game, otherwise
minus the smallest value of the next positions. Moves are ε-greedy. Nothing computes a nim-sum.

Sources: for parity, a linear recurrence needs transitions that depend on the input and have negative eigenvalues,
Grazzi et al. (2024, arXiv:2411.12537). AlphaZero with an LSTM does not learn Nim on seven heaps, Zhou and Riis
(2022, arXiv:2205.12787).

    python examples/learn_the_rule/train.py
    python examples/learn_the_rule/train.py --misere --seed 1 --folder results/misere_1
    python examples/learn_the_rule/evaluate.py results/learn_the_rule/network.pt
    python examples/learn_the_rule/prove.py results/learn_the_rule/network.pt
    python examples/play.py --heaps 9 20 31 50 --no-misere --opponent results/learn_the_rule/network.pt

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for common.py

from common import (
    Fraction,
    NonNegative,
    PositiveInt,
    Seed,
    check_output,
    checking_args,
    fail,
    label_lines,
    percent,
    run,
    save_figure,
)

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from nim_env import NimRules

from learn_the_rule.evaluate import plays_winning_moves, sample_positions
from learn_the_rule.network import DigitNetwork, action_values, save_network

CURVE_BOARDS = ((5, 7), (20, 15))  # heaps, objects in each: those of the learning curves
N_CURVE_POSITIONS = 500


@dataclass
class Args:
    """The options of this script."""

    n_heaps: PositiveInt = 5
    """The maximum number of heaps of a training board; there is a board for each number of heaps up to it."""
    max_heap: PositiveInt = 7
    """The maximum number of objects in a heap of a training board."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    random_start: bool = True
    """Whether episodes start from random positions; otherwise they start from full heaps."""
    updates: PositiveInt = 1500
    """The number of updates; the environments make one step before each."""
    num_envs: PositiveInt = 64
    """The number of environments for each training board."""
    epsilon: Fraction = 0.3
    """The probability of a random move in training."""
    learning_rate: float = 3e-3
    """The learning rate of Adam."""
    noise: NonNegative = 0.5
    """The standard deviation of the Gaussian noise on the recurrent state in training."""
    n_flags: PositiveInt = 1
    """The number of lowest digits that the network can tell from the others, from 1 to 8. Games with takes up to
    1, 3 or 7 objects need 1, 2 or 3."""
    eval_interval: PositiveInt = 100
    """The number of updates between two evaluations for the learning curves."""
    seed: Seed = 0
    """Random seed."""
    folder: Path = Path("results/learn_the_rule")
    """Where the network, the learning curves and TensorBoard's logs are saved."""


def main(args: Args) -> pd.DataFrame:
    """Trains a network, saves it, and returns its learning curves: expert mastery on :data:`CURVE_BOARDS`."""
    check(args)
    torch.set_num_threads(1)  # the tensors are small
    torch.manual_seed(args.seed)
    network = DigitNetwork(noise=args.noise, n_flags=args.n_flags)
    generator = np.random.default_rng(args.seed)
    boards = {
        f"{n_heaps} × {size}": NimRules((size,) * n_heaps, args.max_take, args.misere)
        for n_heaps, size in CURVE_BOARDS
    }
    samples = {name: sample_positions(rules, N_CURVE_POSITIONS, True, generator) for name, rules in boards.items()}
    curves = []
    with SummaryWriter(args.folder / "tensorboard") as writer, tqdm(total=args.updates, disable=None) as progress:

        def callback(update: int, loss: float) -> None:
            progress.update()
            writer.add_scalar("loss", loss, update)
            if update % args.eval_interval and update != args.updates:
                return
            row = {
                name: float(plays_winning_moves(network, rules, samples[name]).mean())
                for name, rules in boards.items()
            }
            for name, expert in row.items():
                writer.add_scalar(f"expert mastery/{name}", expert, update)
            progress.set_postfix({name: percent(expert) for name, expert in row.items()})
            curves.append({"update": update, **row})

        train(network, args, callback)
    save_network(network, args.folder / "network.pt", misere=args.misere, max_take=args.max_take)
    table = pd.DataFrame(curves)
    print(table.iloc[-1:].to_string(index=False, float_format="{:.4f}".format))
    print(f"network: {args.folder / 'network.pt'}")
    save_figure(draw(args, table), args.folder / "learn_the_rule.png")
    return table


def check(args: Args) -> None:
    """Exits with an error if an option that no library checks has a wrong value."""
    if args.n_flags > 8:
        fail(f"--n-flags must be 8 or less; got {args.n_flags}")
    with checking_args():
        make_envs(args)
        torch.optim.Adam([torch.zeros(1)], lr=args.learning_rate)
    check_output("folder", args.folder / "network.pt")


def train(network: nn.Module, args: Args, callback: Callable[[int, float], object] | None = None) -> None:
    """Trains a network by self-play.

    Args:
        network: Maps heap sizes ``(n, n_heaps)`` to values ``(n,)``.
        args: The options.
        callback: Called after each update with its number and the loss.
    """
    optimizer = torch.optim.Adam(network.parameters(), lr=args.learning_rate)
    generator = np.random.default_rng([args.seed, 0])  # another stream than that of the samples
    torch.manual_seed(int(generator.integers(2**31)))
    envs = make_envs(args)
    steps = [env.reset(seed=int(generator.integers(2**31))) for env in envs]
    for update in range(1, args.updates + 1):
        observations = [observation for observation, *_ in steps]
        masks = [info["action_mask"] for *_, info in steps]
        values = [
            action_values(network, env.unwrapped.rules, observation, mask)
            for env, observation, mask in zip(envs, observations, masks, strict=True)
        ]
        network.train()
        losses = [
            nn.functional.mse_loss(network(torch.from_numpy(observation)), torch.from_numpy(value.max(axis=1)))
            for observation, value in zip(observations, values, strict=True)
        ]
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps = []
        for env, value, mask in zip(envs, values, masks, strict=True):
            random_actions = (generator.random(mask.shape) * mask).argmax(axis=1)
            explores = generator.random(args.num_envs) < args.epsilon
            steps.append(env.step(np.where(explores, random_actions, value.argmax(axis=1))))
        if callback is not None:
            callback(update, loss.item())


def make_envs(args: Args) -> list[gym.vector.VectorEnv]:
    """A vector environment for each number of heaps."""
    return [
        gym.make_vec(
            "nim_env:Nim-v0",
            num_envs=args.num_envs,
            heaps=(args.max_heap,) * n_heaps,
            max_take=args.max_take,
            misere=args.misere,
            opponent=None,  # the network moves for both players
            random_start=args.random_start,
            autoreset_mode="SameStep",
        )
        for n_heaps in range(1, args.n_heaps + 1)
    ]


def draw(args: Args, curves: pd.DataFrame) -> plt.Figure:
    """The learning curves, with a label at the end of each."""
    figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
    for name in curves.columns[1:]:
        axis.plot(curves["update"], curves[name], marker=".", label=name)
    axis.set(xlabel="updates", ylabel="winning positions played correctly", ylim=(-0.03, 1.03))
    board, play = f"{args.n_heaps} × {args.max_heap}", "misère" if args.misere else "normal"
    axis.set_title(
        f"Trained by self-play on boards up to {board} (heaps × objects), {play} play, seed {args.seed}"
    )
    label_lines(axis)
    return figure


if __name__ == "__main__":
    run(main, Args)
