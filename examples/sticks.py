"""System 3: Q-learning on one heap of sticks, against a random opponent or against you.

Two players take 1 to 3 of 10 sticks; the player who takes the last stick loses. The learner moves first. It uses
tabular Q-learning (Watkins 1989) with learning rate 1, no discount and no exploration; of several best actions it
takes the first. It loses some of its first games and soon wins every game. It also learns from its games against
you (--opponent human); -1 leaves. Source: system 3 of docs/experiments/five_systems.md.

Install: pip install -e ".[examples]"
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import agents
from nim_env import NimRules

from common import load_player, run, save_figure
from terminal_game import Leave, ask_move


@dataclass
class Args:
    """The options of this script."""

    sticks: int = 10
    """The number of sticks."""
    max_take: int = 3
    """The maximum number of sticks that one move may take."""
    episodes: int = 2_000
    """The number of training games."""
    opponent: str = "random"
    """random, take-N, expert, human, FILE.py:NAME, or the file of a saved agent, table (.npz), network (.pt) or
    MaskablePPO model (.zip). Files .py and .zip run code when loaded: give only those you trust."""
    verbose: bool = False
    """Whether to print every game move by move."""
    window: int = 5
    """The number of games in the rolling window of the graph."""
    table: bool = False
    """Whether to print the Q-table."""
    learning_rate: float = 1.0
    """The learning rate."""
    gamma: float = 1.0
    """The discount factor."""
    epsilon: float = 0.0
    """The probability of a random action in the first game; it falls linearly to 0."""
    seed: int = 0
    """Random seed."""
    picture: Path = Path("results/sticks.svg")
    """Where to save the graph."""


def main(args: Args) -> tuple[agents.QLearningAgent, list[bool]]:
    """Returns the agent and whether it won each game."""
    rules = NimRules((args.sticks,), args.max_take)
    opponent = Human(rules) if args.opponent == "human" else load_player(args.opponent, rules)
    env = gym.make("nim_env:Nim-v0", **asdict(rules), opponent=opponent, first_player="agent")
    agent = agents.QLearningAgent(
        env.observation_space,
        env.action_space,
        learning_rate=args.learning_rate,
        gamma=args.gamma,
        epsilon=lambda progress_remaining: args.epsilon * progress_remaining,
        ties="first",
        seed=args.seed,
    )
    won: list[bool] = []
    is_printed = args.verbose or args.opponent == "human"
    try:
        agents.train(
            agent,
            PrintMoves(env) if is_printed else env,
            args.episodes,
            seed=args.seed,
            progress=not is_printed,
            callback=lambda _, history: won.append(bool(history.returns[-1] > 0)),
        )
    except Leave:
        print("\nGoodbye.")
    if args.table:
        print("Q-table (- where a move is impossible):")
        print(q_table(agent, rules).to_string(float_format="{:+.2f}".format, na_rep="-"))
    print(f"AI won {sum(won)} of {len(won)} games.")
    if len(won) > 100:
        print(f"Of the last 100 games it won {sum(won[-100:])}.")
    save_figure(plot(won, args), args.picture)
    return agent, won


@dataclass
class Human:
    """You, as the opponent."""

    rules: NimRules

    def __call__(self, observation: np.ndarray, action_mask: np.ndarray) -> int:  # noqa: ARG002
        print(f"{observation[0]} stick(s) left. Your turn.")
        return ask_move(self.rules, observation.tolist())


class PrintMoves(gym.Wrapper):
    """Prints every game move by move."""

    def reset(self, **kwargs: Any) -> Any:
        observation, info = self.env.reset(**kwargs)
        self.sticks = int(observation[0])
        print(f"\nNew game: {self.sticks} sticks.")
        return observation, info

    def step(self, action: int) -> Any:
        _, count = self.env.unwrapped.rules.moves[action]
        print(f"AI takes {count}.")
        observation, reward, terminated, truncated, info = self.env.step(action)
        sticks = int(observation[0])
        reply = self.sticks - count - sticks
        if reply:
            print(f"Opponent takes {reply}, {sticks} left.")
        if terminated:
            print("AI wins." if reward > 0 else "AI loses.")
        self.sticks = sticks
        return observation, reward, terminated, truncated, info


def q_table(agent: agents.QLearningAgent, rules: NimRules) -> pd.DataFrame:
    """The Q-values, one row for each number of sticks left; NaN for impossible moves."""
    sticks = np.arange(rules.heaps[0], 0, -1)
    values = np.where(rules.action_mask(sticks[:, None]), agent.q_values(sticks[:, None]), np.nan)
    return pd.DataFrame(values, index=sticks, columns=[f"take {count}" for _, count in rules.moves])


def plot(won: list[bool], args: Args) -> plt.Figure:
    """The proportion of wins over a rolling window."""
    proportion = pd.Series(won, dtype=float).rolling(args.window, min_periods=1).mean()
    last = won[-100:]
    figure, axes = plt.subplots(layout="constrained")
    axes.plot(proportion.index + 1, proportion, marker="." if len(won) <= 100 else None)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(
        title=f"Against {args.opponent}, Q-learning wins {sum(last)} of its last {len(last)} games",
        xlabel=f"training games with {args.sticks} sticks, misère",
        ylabel=f"fraction won of the last {args.window} games",
        ylim=(-0.02, 1.02),
    )
    return figure


if __name__ == "__main__":
    run(main, Args)
