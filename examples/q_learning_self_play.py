"""Systems 1 and 2: Q-learning by self-play on 1-3-5-7, then a game against you.

Both players share one table. A player's last move is valued when it is that player's turn again, with the best
that it can do from there; at the end the winner's last move is worth +1 and the loser's -1. Untrained
(--games 0) the machine is easily beaten; after 10,000 games it is hard to beat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from script import check_at_least, checking_arguments, run

import numpy as np
import pettingzoo
from terminal import Leave, play_game, player_of
from tqdm import tqdm

import agents
from nim_env import NimRules, evaluation


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


def main(arguments: Arguments) -> None:
    check_at_least(0, games=arguments.games)
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
    train(agent, env, arguments.games, arguments.seed)
    found = evaluation.mastery(NimRules(), agent)
    right = found.winning_positions - len(found.mistakes)
    print(f"The machine plays {right} of {found.winning_positions} winning positions right.")
    human = {"human": 0, "ai": 1, None: np.random.default_rng(arguments.seed).integers(2)}[arguments.first]
    try:
        play_game(env.unwrapped.rules, player_of(agent, arguments.seed), int(human))
    except Leave:
        print("Goodbye.")


def train(agent: agents.Agent, env: pettingzoo.AECEnv, games: int, seed: int | None) -> None:
    """Trains, naming every game when there are at most 50, else the first and the last ten."""
    with tqdm(total=games, unit=" games", leave=False, disable=None) as bar:

        def announce(number: int) -> None:
            if number <= games and (games <= 50 or number <= 10 or number > games - 10):
                bar.write(f"Playing training game {number}")
            elif number == 11:
                bar.write("...")

        def after_game(_: agents.Agent, history: agents.History) -> None:
            bar.update()
            announce(len(history.lengths) + 1)

        announce(1)
        agents.train(agent, env, games, seed=seed, callback=after_game)
    print("Done training")


if __name__ == "__main__":
    run(main, Arguments)
