"""Systems 1 and 2: Q-learning by self-play on 1-3-5-7, then a game against you.

Both players share one table. A player's last move is valued when it is that player's turn again, with the best
that it can do from there; at the end the winner's last move is worth +1 and the loser's -1. Untrained
(--games 0) the machine is easily beaten; after 10,000 games it is hard to beat.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from script import check_at_least, check_picture, checking_arguments, run, save

import matplotlib.pyplot as plt
import numpy as np
import pettingzoo
from terminal import Leave, play_game, player_of
from tqdm import tqdm

import agents
from nim_env import NimRules, evaluation

LOOKS = 60  # in the course of a training


@dataclass
class Arguments:
    """The options of this script."""

    games: int = 10_000
    """Training games; 0 for an untrained machine."""
    first: Literal["human", "ai"] | None = None
    """Who moves first in the game against you; drawn when not given."""
    learning_rate: float = 0.5
    """How far a value moves towards its target, 0 to 1."""
    epsilon: float = 0.1
    """The share of random moves while training, 0 to 1."""
    seed: int | None = None
    """The same seed gives the same training and the same machine; drawn when not given."""
    picture: Path | None = None
    """Where to save a picture of how many positions were played right in the course of the training."""


def main(arguments: Arguments) -> None:
    check_at_least(0, games=arguments.games)
    if arguments.picture is not None:
        check_picture(arguments.picture)
    env = pettingzoo.make("aec", "nim-v0")
    with checking_arguments():
        agent = agents.QLearningAgent(
            env.observation_space("player_0"),
            env.action_space("player_0"),
            learning_rate=arguments.learning_rate,
            gamma=1.0,
            epsilon=arguments.epsilon,
            seed=arguments.seed,
        )
    progress = train(agent, env, arguments)
    right, winning = right_of(agent)
    print(f"The machine plays {right} of {winning} winning positions right.")
    if arguments.picture is not None:
        save(picture_of(progress, winning), arguments.picture)
    human = {"human": 0, "ai": 1, None: np.random.default_rng(arguments.seed).integers(2)}[arguments.first]
    try:
        play_game(env.unwrapped.rules, player_of(agent, arguments.seed), int(human))
    except Leave:
        print("Goodbye.")


def train(agent: agents.Agent, env: pettingzoo.AECEnv, arguments: Arguments) -> dict[int, int]:
    """Trains, naming every game when there are at most 50, else the first and the last ten.

    Returns how many positions were played right after how many games, where a picture is to show it.
    """
    games, progress = arguments.games, {0: right_of(agent)[0]}
    looks = set() if arguments.picture is None else {*np.geomspace(1, max(1, games), LOOKS).round().tolist()}
    with tqdm(total=games, unit=" games", leave=False, disable=None) as bar:

        def announce(number: int) -> None:
            if number <= games and (games <= 50 or number <= 10 or number > games - 10):
                bar.write(f"Playing training game {number}")
            elif number == 11:
                bar.write("...")

        def after_game(_: agents.Agent, history: agents.History) -> None:
            bar.update()
            played = len(history.lengths)
            announce(played + 1)
            if played in looks:
                progress[played] = right_of(agent)[0]

        announce(1)
        agents.train(agent, env, games, seed=arguments.seed, callback=after_game)
    print("Done training")
    return progress


def right_of(agent: agents.Agent) -> tuple[int, int]:
    """How many of the winning positions are played right, and how many there are."""
    found = evaluation.mastery(NimRules(), agent)
    return found.winning_positions - len(found.mistakes), found.winning_positions


def picture_of(progress: dict[int, int], winning: int) -> plt.Figure:
    """The positions played right against the games played."""
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot([*progress], [*progress.values()], marker=".")
    axes.axhline(winning, color="gray", linestyle=":", label=f"all {winning} winning positions")
    axes.set(
        title="Q-learning by self-play on 1-3-5-7",
        xlabel="training games",
        ylabel="positions played right",
        xscale="symlog",
        xlim=(0, None),
        ylim=(0, None),
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    return figure


if __name__ == "__main__":
    run(main, Arguments)
