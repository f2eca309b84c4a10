"""System 3: Q-learning on one heap of sticks against a random opponent, or against you.

Players take 1 to 3 of 10 sticks; whoever takes the last one loses. The learner moves first, and learns
greedily: learning rate 1, no discount, no exploration, the first of the best actions. It starts poorly and ends
at winning every game. Games against you (--opponent human) teach it too; -1 leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from script import check_at_least, check_picture, checking_arguments, run, save

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from terminal import Leave, ask_move
from tqdm import tqdm

import agents
from nim_env import NimRules


@dataclass
class Arguments:
    """The options of this script."""

    sticks: int = 10
    """How many sticks there are."""
    max_take: int = 3
    """The most sticks one move may take."""
    games: int = 2_000
    """How many games."""
    opponent: str = "random"
    """random, take-N, expert, or human."""
    practice: int = 0
    """Games against a random opponent before those against you."""
    verbose: bool = False
    """Whether every game is told move by move."""
    window: int = 5
    """How many games a point of the graph looks back on."""
    table: bool = False
    """Whether the Q-table is printed."""
    learning_rate: float = 1.0
    """How far a value moves towards its target, 0 to 1."""
    gamma: float = 1.0
    """The discount of the future, 0 to 1."""
    epsilon: float = 0.0
    """The share of random moves in the first game, 0 to 1; it falls to 0 by the last."""
    seed: int = 0
    """The same seed gives the same games."""
    picture: Path = Path("results/sticks.png")
    """Where the graph is saved."""


def main(arguments: Arguments) -> None:
    check_at_least(0, games=arguments.games, practice=arguments.practice)
    check_at_least(1, window=arguments.window)
    check_picture(arguments.picture)
    with checking_arguments():
        env = make_env(arguments, arguments.opponent)
        agent = agents.QLearningAgent(
            env.observation_space,
            env.action_space,
            learning_rate=arguments.learning_rate,
            gamma=arguments.gamma,
            epsilon=arguments.epsilon,
            ties="first",
            seed=arguments.seed,
        )
    agent.epsilon = lambda remaining: arguments.epsilon * remaining
    won: list[bool] = []
    try:
        if arguments.practice:
            env_of_practice = make_env(arguments, "random")
            with tqdm(total=arguments.practice, desc="practice", unit=" games", leave=False, disable=None) as bar:

                def after_practice(*_: object) -> None:
                    bar.update()

                agents.train(
                    agent, env_of_practice, arguments.practice, seed=arguments.seed, callback=after_practice
                )
        with tqdm(
            total=arguments.games, unit=" games", leave=False, disable=True if told(arguments) else None
        ) as bar:

            def after_game(_: agents.Agent, history: agents.History) -> None:
                won.append(bool(history.returns[-1] > 0))
                bar.update()

            agents.train(agent, env, arguments.games, seed=arguments.seed, callback=after_game)
    except Leave:
        print("Goodbye.")
    if arguments.table:
        Console().print(table_of(agent, arguments))
    summarise(won)
    if won:
        save(picture_of(won, arguments), arguments.picture)


def told(arguments: Arguments) -> bool:
    """Whether the games are told move by move."""
    return arguments.verbose or arguments.opponent == "human"


def make_env(arguments: Arguments, opponent: str) -> gym.Env:
    """The game, the learner to move first."""
    rules = NimRules((arguments.sticks,), arguments.max_take)
    env = gym.make(
        "Nim-v0",
        heaps=rules.heaps,
        max_take=rules.max_take,
        opponent=Person(rules) if opponent == "human" else opponent,
        first_player="agent",
    )
    return Told(env) if opponent == arguments.opponent and told(arguments) else env


@dataclass
class Person:
    """You, as an opponent."""

    rules: NimRules

    def __call__(self, observation: np.ndarray, action_mask: np.ndarray) -> int:  # noqa: ARG002
        print(f"{observation[0]} stick(s) left. Your turn.")
        return ask_move(self.rules, observation.tolist())


class Told(gym.Wrapper):
    """Tells every game move by move, while it is played as always."""

    def reset(self, **arguments: Any) -> Any:
        observation, info = self.env.reset(**arguments)
        self.left = int(observation[0])
        print(f"\nNew game: {self.left} sticks.")
        return observation, info

    def step(self, action: int) -> Any:
        _, count = self.env.unwrapped.rules.moves[action]
        print(f"AI takes {count}.")
        observation, reward, terminated, truncated, info = self.env.step(action)
        reply = self.left - count - int(observation[0])
        self.left = int(observation[0])
        if reply and not isinstance(self.env.unwrapped.opponent, Person):
            print(f"Opponent takes {reply}, {self.left} left.")
        if terminated:
            print("AI wins." if reward > 0 else "AI loses.")
        return observation, reward, terminated, truncated, info


def table_of(agent: agents.QLearningAgent, arguments: Arguments) -> Table:
    """What the agent thinks of every move, a row for each number of sticks left."""
    table = Table(title="Q-table", caption="a dot where a move is impossible", box=box.SIMPLE_HEAD)
    table.add_column("sticks left", justify="right")
    counts = range(1, min(arguments.sticks, arguments.max_take) + 1)
    for count in counts:
        table.add_column(f"take {count}", justify="right")
    for left in range(arguments.sticks, 0, -1):
        values = agent.q_values([left])
        cells = [f"{values[count - 1]:+.2f}" if count <= left else "·" for count in counts]
        table.add_row(str(left), *cells)
    return table


def summarise(won: list[bool]) -> None:
    """Says how the games went."""
    print(f"AI won {sum(won)} of {len(won)} games.")
    last = won[-100:]
    if len(won) > len(last):
        print(f"Of the last {len(last)} games it won {sum(last)}.")


def picture_of(won: list[bool], arguments: Arguments) -> plt.Figure:
    """The proportion of wins over a rolling window."""
    games, wins = np.arange(1, len(won) + 1), np.append(0, np.cumsum(won))
    looked_back = np.minimum(arguments.window, games)
    share = (wins[games] - wins[games - looked_back]) / looked_back
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(games, share, marker="." if len(won) <= 100 else None, linewidth=1)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(
        title=f"Q-learning of {arguments.sticks} sticks, opponent {arguments.opponent}",
        xlabel="games played",
        ylabel=f"proportion won, last {arguments.window} games",
        ylim=(-0.02, 1.02),
    )
    axes.grid(alpha=0.3)
    return figure


if __name__ == "__main__":
    run(main, Arguments)
