"""Trains minimax-Q (Littman 1994) by self-play until it masters Nim with five, six and seven heaps.

A vector environment starts every episode from a random position. Expert mastery (Zhou and Riis 2022,
arXiv:2205.12787), the fraction of all winning positions in which the agent plays a winning move, is computed
exactly. With learning rate 1 and no discount a value stays 0 until it is proven to be 1 or -1, so a small ε is
enough: among actions of value 0 the agent chooses at random.

Install: pip install -e ".[examples]"
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from pathlib import Path

from common import (
    FIGURE_SUFFIXES,
    Fraction,
    PositiveInt,
    check_output,
    checking_args,
    fail,
    run,
    save_figure,
)

import gymnasium as gym
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

import agents
from nim_env import NimRules, evaluation, solver

EPISODES_PER_RUN = 500_000  # limits the memory that the history of a training run takes


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7, 9, 11, 13)
    """Starting heap sizes of the largest board."""
    boards: PositiveInt = 3
    """The number of boards: the largest, the one without its last heap, and so on."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    mastery: Fraction = 0.999
    """The expert mastery at which training ends."""
    num_envs: PositiveInt = 4096
    """The number of environments."""
    epsilon: Fraction = 0.1
    """The probability of a random action in training."""
    seed: int = 0
    """Random seed."""
    picture: Path = Path("results/master_large_nim.png")
    """Where the learning curves are saved."""


def main(args: Args) -> pd.DataFrame:
    check_output("picture", args.picture, FIGURE_SUFFIXES)
    if args.boards > len(args.heaps):
        fail(f"--boards must be at most the number of heaps, {len(args.heaps)}; got {args.boards}")
    with checking_args():
        sizes = range(len(args.heaps) - args.boards + 1, len(args.heaps) + 1)
        boards = [NimRules(args.heaps[:size], misere=args.misere) for size in sizes]
        solver.iter_positions(boards[-1])  # rejects a board that is too large for exact evaluation
        make(args, boards[-1])
    curves = pd.concat([train(args, rules)[1] for rules in boards], ignore_index=True)
    summary = curves.groupby("heaps", sort=False).tail(1)
    summary = summary.assign(moves_per_second=(summary.moves / summary.seconds).astype(int))
    print(f"\n{summary.to_string(index=False, float_format='{:.4f}'.format)}\n(evaluation is not in the seconds)")
    save_figure(plot(args, curves), args.picture)
    return curves


def make(args: Args, rules: NimRules) -> tuple[gym.vector.VectorEnv, agents.MinimaxQAgent]:
    """The vector environment of a board and an untrained agent."""
    envs = gym.make_vec(
        "nim_env:Nim-v0",
        num_envs=args.num_envs,
        heaps=rules.heaps,
        misere=rules.misere,
        opponent=None,
        random_start=True,
    )
    agent = agents.MinimaxQAgent(
        envs.single_observation_space,
        envs.single_action_space,
        learning_rate=1.0,
        gamma=1.0,
        epsilon=args.epsilon,
        seed=args.seed,
    )
    return envs, agent


def train(args: Args, rules: NimRules) -> tuple[agents.MinimaxQAgent, pd.DataFrame]:
    """Trains an agent until it masters a board; returns the agent and its learning curve."""
    envs, agent = make(args, rules)
    print(f"{rules}: {rules.n_positions:,} positions, a table of {agent.table.values.nbytes / 1e6:,.1f} MB")
    callback = StopAtMastery(rules, args.mastery)
    for seed in itertools.count(args.seed):
        history = agents.train(agent, envs, EPISODES_PER_RUN, seed=seed, callback=callback)
        if callback.is_mastered:
            break
        callback.finish_run(history)
    curve = pd.DataFrame(callback.evaluations, columns=["moves", "seconds", "mastery"])
    curve.insert(0, "heaps", "-".join(map(str, rules.heaps)))
    curve.insert(1, "positions", rules.n_positions)
    return agent, curve


class StopAtMastery:
    """Evaluates the agent at intervals that double at first; ends training once it masters the board."""

    def __init__(self, rules: NimRules, mastery: float) -> None:
        self.rules, self.mastery = rules, mastery
        self.evaluations: list[tuple[int, float, float]] = []  # moves, seconds of training, mastery
        self.is_mastered = False
        self.next_evaluation = rules.n_positions // 10  # in episodes
        self.previous_episodes = self.previous_moves = 0  # of finished training runs
        self.start = time.perf_counter()

    def __call__(self, agent: agents.Agent, history: agents.History) -> bool:
        episodes = self.previous_episodes + len(history.lengths)
        if episodes >= self.next_evaluation:
            moves = self.previous_moves + int(history.lengths.sum())
            seconds = time.perf_counter() - self.start
            mastery = evaluation.mastery(self.rules, agent).expert
            print(f"{seconds:8.1f} s {moves / 1e6:8.2f} million moves, expert mastery {100 * mastery:8.4f} %")
            self.evaluations.append((moves, seconds, mastery))
            self.is_mastered = mastery >= self.mastery
            self.next_evaluation = episodes + min(episodes, 3 * self.rules.n_positions)
            self.start = time.perf_counter() - seconds  # leaves the evaluation out
        return not self.is_mastered

    def finish_run(self, history: agents.History) -> None:
        """Counts the episodes of a training run that ended before the board was mastered."""
        self.previous_episodes += len(history.lengths)
        self.previous_moves += int(history.lengths.sum())


def plot(args: Args, curves: pd.DataFrame) -> Figure:
    """Expert mastery by moves, a line for each board."""
    figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
    for heaps, curve in curves.groupby("heaps", sort=False):
        label = f"{heaps}\n{curve.positions.iloc[-1]:,} positions"
        (line,) = axes.plot(curve.moves, curve.mastery, marker=".")
        middle = curve.iloc[(curve.mastery - 0.3).abs().argmin()]
        place = {"textcoords": "offset points", "va": "top", "color": line.get_color()}
        axes.annotate(label, (middle.moves, middle.mastery), (8, 0), **place)
    axes.set(
        title=f"Minimax-Q by self-play from random positions, {'misère' if args.misere else 'normal'} play",
        xlabel="training moves",
        ylabel="expert mastery: winning positions\nin which a winning move is played",
        xscale="log",
        ylim=(0, 1.02),
    )
    axes.yaxis.set_major_formatter("{x:.0%}")
    return figure


if __name__ == "__main__":
    run(main, Args)
