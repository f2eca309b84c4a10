"""System 4: minimax-Q on three heaps, then any number of games against you.

The player who takes the last object loses. Player A moves first and maximizes, player B minimizes; the value is
1000 when A wins and -1000 when B wins, discounted by 0.9 for each move until then. The agent learns by minimax-Q
(Littman 1994) from random self-play and updates its values after every move. It wins every game that can be won.
Source: system 4 of docs/experiments/five_systems.md.

Install: pip install -e ".[examples]"
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from common import (
    COLORS,
    FIGURE_SUFFIXES,
    Fraction,
    NonNegativeIntOrNone,
    Seed,
    check_output,
    checking_args,
    fail,
    run,
    save_figure,
)

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pettingzoo
import seaborn as sns

import agents
from nim_env import NimRules

from terminal_game import Leave, ask_choice, ask_number, play_game

REWARD = 1000  # of the published system; that of the environment is 1
MAX_EPISODES = 100_000_000


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, int, int] | None = None
    """Three starting heap sizes from 0 to 9; the script asks if not given."""
    episodes: NonNegativeIntOrNone = None
    """The number of training games; the script asks if not given."""
    epsilon: Fraction = 1.0
    """The probability of a random action in training."""
    seed: Seed = 0
    """Random seed."""
    picture: Path | None = None
    """Where to save a figure of the values of all first moves."""


def main(args: Args) -> agents.MinimaxQAgent | None:
    """Returns the trained agent, or None if the human leaves before."""
    check_output("picture", args.picture, FIGURE_SUFFIXES)
    if args.heaps is not None and not all(0 <= size <= 9 for size in args.heaps):
        fail(f"--heaps must each be 0 to 9; got {args.heaps}")
    agent = None
    try:
        with checking_args():
            rules = NimRules(args.heaps or ask_heaps())
        agent = make_agent(rules, args)
        episodes = args.episodes
        if episodes is None:
            episodes = ask_number("How many games shall I simulate? ", 0, MAX_EPISODES)
        train(agent, rules, episodes, args.seed)
        values = first_moves(agent, rules)
        print("Q[player and piles, pile and count] of player A's first moves; a positive value wins:")
        for move in values.itertuples():
            print(f"Q[A{''.join(map(str, rules.heaps))}, {move.heap}{move.count}] = {move.value:.1f}")
        if args.picture is not None:
            save_figure(plot(values, rules, episodes), args.picture)
        play(agent, rules, args.seed)
    except Leave:
        print("\nGoodbye.")
    return agent


def ask_heaps() -> tuple[int, ...]:
    """Three heap sizes, not all 0."""
    while True:
        heaps = tuple(ask_number(f"Size of pile {pile}? ", 0, 9) for pile in range(3))
        if any(heaps):
            return heaps
        print("At least one pile needs an object; try again.")


# --- Agent and training ---------------------------------------------------------------------------


def make_agent(rules: NimRules, args: Args) -> agents.MinimaxQAgent:
    env = gym.make("nim_env:Nim-v0", heaps=rules.heaps, opponent=None)
    return agents.MinimaxQAgent(
        env.observation_space,
        env.action_space,
        learning_rate=1.0,
        gamma=0.9,
        epsilon=args.epsilon,
        seed=args.seed,
    )


def train(agent: agents.MinimaxQAgent, rules: NimRules, episodes: int, seed: int) -> None:
    """Trains by self-play; the number of environments grows with the number of episodes."""
    num_envs = 1 + min(episodes // 100, 255)
    env = gym.make_vec("nim_env:Nim-v0", num_envs=num_envs, heaps=rules.heaps, opponent=None)
    agents.train(agent, env, episodes, seed=seed, progress=True)


# --- Results --------------------------------------------------------------------------------------


def first_moves(agent: agents.MinimaxQAgent, rules: NimRules) -> pd.DataFrame:
    """The values for player A of all moves from the start."""
    moves = pd.DataFrame(rules.moves, columns=["heap", "count"])
    return moves.assign(value=REWARD * agent.player_values(rules.heaps, 0))


def plot(values: pd.DataFrame, rules: NimRules, episodes: int) -> plt.Figure:
    """The values of all moves from the start, by heap and count."""
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    sns.heatmap(
        values.pivot(index="heap", columns="count", values="value"),
        vmin=-REWARD,
        vmax=REWARD,
        cmap=sns.blend_palette([COLORS["player_2"], "white", COLORS["player_1"]], as_cmap=True),
        annot=True,
        fmt=".1f",
        annot_kws={"color": COLORS["ink"]},
        cbar_kws={"label": "positive: player A,\nwho moves first, wins", "ticks": [-REWARD, 0, REWARD]},
        yticklabels=[f"pile {heap}" for heap in values["heap"].unique()],
        ax=axes,
    )
    axes.set(
        title=f"Q-values of the first moves from {'-'.join(map(str, rules.heaps))}, misère, {episodes:,} episodes",
        xlabel="objects taken",
        ylabel="",
    )
    axes.grid(visible=False)
    axes.tick_params(axis="y", rotation=0)
    return figure


def play(agent: agents.MinimaxQAgent, rules: NimRules, seed: int) -> None:
    """Plays games in the terminal until the human leaves."""
    env = pettingzoo.make("aec", "nim-v0", heaps=rules.heaps)
    generator = np.random.default_rng(seed)
    while True:
        first = ask_choice("\nWho goes first, computer or human? (q to leave) ", ["human", "computer"])
        play_game(env, agent, ["human", "computer"].index(first), generator)


if __name__ == "__main__":
    run(main, Args)
