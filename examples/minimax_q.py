"""System 4: minimax-Q on three heaps, then as many games against you as you like.

Player A moves first and maximises, player B minimises; the value is 1000 for A's win and -1000 for B's, discounted
by 0.9 for every move until then. Whoever takes the last object loses. The machine learns from random play, and
its values after every single move; it wins every game that can be won.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from script import MOST, check_at_least, check_picture, checking_arguments, fail, run, save

import gymnasium as gym
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from terminal import Leave, ask_choice, ask_number, play_game, player_of
from tqdm import tqdm

import agents
from nim_env import NimRules

WIN = 1000  # the original's reward; the environment's is 1


@dataclass
class Arguments:
    """The options of this script."""

    heaps: tuple[int, int, int] | None = None
    """Three starting heap sizes from 0 to 9; asked for when not given."""
    games: int | None = None
    """How many games to learn from; asked for when not given."""
    epsilon: float = 1.0
    """The share of random moves while learning, 0 to 1."""
    seed: int = 0
    """The same seed gives the same machine."""
    picture: Path | None = None
    """Where to save a picture of the values of all first moves."""


def main(arguments: Arguments) -> None:
    check_at_least(0, games=arguments.games or 0, seed=arguments.seed)
    if arguments.picture is not None:
        check_picture(arguments.picture)
    if arguments.heaps is not None and not all(0 <= size <= 9 for size in arguments.heaps):
        fail(f"--heaps must each be 0 to 9; got {arguments.heaps}")
    try:
        with checking_arguments():
            rules = NimRules(arguments.heaps or ask_heaps())
            game = gym.make("nim_env:Nim-v0", heaps=rules.heaps, opponent=None)
            agent = agents.MinimaxQAgent(
                game.observation_space,
                game.action_space,
                learning_rate=1.0,
                gamma=0.9,
                epsilon=arguments.epsilon,
                seed=arguments.seed,
            )
        games = (
            ask_number("How many games shall I simulate? ", 0, MOST)
            if arguments.games is None
            else arguments.games
        )
        train(agent, rules, games, arguments.seed)
        print_values(rules, agent)
        if arguments.picture is not None:
            save(picture_of(rules, agent, games), arguments.picture)
        machine = player_of(agent, arguments.seed)
        while True:
            human = ask_choice("\nWho goes first, computer or human? (q to leave) ", {"computer": 1, "human": 0})
            play_game(rules, machine, human)
    except Leave:
        print("Goodbye.")


def train(agent: agents.MinimaxQAgent, rules: NimRules, games: int, seed: int) -> None:
    """Trains; many games at once where there are many to play, so that few teach as much as one after another."""
    at_once = 1 + min(games // 100, 255)
    env = gym.make_vec("nim_env:Nim-v0", num_envs=at_once, heaps=rules.heaps, opponent=None)
    with tqdm(total=games, unit=" games", leave=False, disable=None) as bar:

        def after_games(_: agents.Agent, history: agents.History) -> None:
            bar.update(len(history.lengths) - bar.n)

        agents.train(agent, env, games, seed=seed, callback=after_games)


def ask_heaps() -> tuple[int, ...]:
    """Three heap sizes, not all 0."""
    while True:
        heaps = tuple(ask_number(f"Size of heap {name}? ", 0, 9) for name in "ABC")
        if any(heaps):
            return heaps
        print("At least one heap needs an object; try again.")


def print_values(rules: NimRules, agent: agents.MinimaxQAgent) -> None:
    """The values of all moves from the start, as Q[player and heaps, heap and count]."""
    position = "".join(map(str, rules.heaps))
    for (heap, count), value in zip(rules.moves, agent.player_values(rules.heaps, 0), strict=True):
        print(f"Q[A{position}, {heap}{count}] = {WIN * value:.1f}")


def picture_of(rules: NimRules, agent: agents.MinimaxQAgent, games: int) -> plt.Figure:
    """What each move from the start is worth to the player who makes it, by heap and count."""
    table = pd.DataFrame(rules.moves, columns=["heap", "count"])
    table["value"] = WIN * agent.player_values(rules.heaps, 0)
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    sns.heatmap(
        table.pivot(index="heap", columns="count", values="value"),
        vmin=-WIN,
        vmax=WIN,
        cmap="vlag_r",
        annot=True,
        fmt=".1f",
        cbar_kws={"label": "value", "ticks": [-WIN, 0, WIN]},
        ax=axes,
    )
    axes.set(
        title=f"Minimax-Q, {games:,} games: the first moves from {'-'.join(map(str, rules.heaps))}",
        xlabel="objects taken",
        ylabel="from heap",
    )
    axes.tick_params(axis="y", rotation=0)
    return figure


if __name__ == "__main__":
    run(main, Arguments)
