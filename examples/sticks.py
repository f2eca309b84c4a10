"""System 3: Q-learning on one heap of sticks, against a random opponent or against you.

Two players take turns removing 1 to 3 sticks from a heap of 10; the player who takes the last stick loses. The
learner moves first. It uses tabular Q-learning (Watkins 1989), by default with learning rate 1, no discount and no
exploration. If several actions are best, it takes the first of them. It loses some of its first games, but soon it
wins every game. With --then human, the same learner then plays against you and learns from these games too; enter
-1 to leave. Source: system 3 in docs/experiments/five_systems.md.

    python examples/sticks.py

Install: pip install -e ".[examples]"
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from command_line import run

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import agents
from nim_env import NimRules

from common import save_figure
from saved_players import load_player
from terminal_game import Leave, ask_number


@dataclass
class Args:
    sticks: int = 10
    """The number of sticks."""
    max_take: int = 3
    """The maximum number of sticks that one move can take."""
    episodes: int = 2_000
    """The number of games against each opponent. You can leave a game against you earlier."""
    opponent: str = "random"
    """random, take-N, expert, human, FILE.py:NAME, or the file of a saved player (README.md lists them)."""
    then: str | None = None
    """A second opponent for the same learner, with the same choices as --opponent."""
    learning_rate: float = 1.0
    """How far an update moves a value toward its target, from 0 to 1."""
    gamma: float = 1.0
    """The discount factor, from 0 to 1."""
    verbose: bool = False
    """Whether to print the moves of every game."""
    window: int = 5
    """The number of games in the rolling window of the graph."""
    seed: int = 0
    picture: Path = Path("results/sticks.svg")


def main(args: Args) -> tuple[agents.QLearningAgent, list[bool]]:
    """Returns the agent, and for each game whether the agent won."""
    if args.window < 1:
        raise ValueError(f"--window must be 1 or more; got {args.window}")
    rules = NimRules((args.sticks,), args.max_take)
    envs = [make_env(opponent, rules, args.verbose) for opponent in (args.opponent, args.then) if opponent]
    agent = agents.QLearningAgent(
        envs[0].observation_space,
        envs[0].action_space,
        learning_rate=args.learning_rate,
        gamma=args.gamma,
        epsilon=0.0,
        ties="first",
        seed=args.seed,
    )
    won: list[bool] = []

    def after_game(_: agents.Agent, history: agents.History) -> None:
        won.append(bool(history.returns[-1] > 0))

    try:
        for env in envs:
            agents.train(agent, env, args.episodes, seed=args.seed, callback=after_game)
    except Leave:
        print("\nGoodbye.")
    print("Q-table (- for an impossible move):")
    print(q_table(agent, rules).to_string(float_format="{:+.2f}".format, na_rep="-"))
    print(f"AI won {sum(won)} of {len(won)} games.")
    save_figure(plot(won, args), args.picture)
    return agent, won


def make_env(opponent: str, rules: NimRules, verbose: bool) -> gym.Env:
    """Makes an environment in which the learner plays against an opponent and moves first."""

    def human(observation: np.ndarray, _action_mask: np.ndarray) -> int:
        left = int(observation[0])
        most = min(left, rules.max_take or left)
        print(f"{left} {'stick is' if left == 1 else 'sticks are'} left. Your turn.")
        return rules.action(0, ask_number(f"How many sticks, 1 to {most}? ", 1, most))

    policy = human if opponent == "human" else load_player(opponent, rules).policy
    env = gym.make("nim_env:Nim-v0", **asdict(rules), opponent=policy, first_player="agent")
    return PrintMoves(env) if verbose or opponent == "human" else env


class PrintMoves(gym.Wrapper):
    """Prints the moves of every game."""

    def reset(self, **kwargs: Any) -> Any:
        observation, info = self.env.reset(**kwargs)
        self.sticks = observation[0]
        print(f"\nNew game: {self.sticks} sticks.")
        return observation, info

    def step(self, action: int) -> Any:
        _, count = self.env.unwrapped.rules.moves[action]
        print(f"AI takes {count}.")
        observation, reward, terminated, truncated, info = self.env.step(action)
        if reply := self.sticks - count - observation[0]:
            print(f"Opponent takes {reply}, {observation[0]} left.")
        if terminated:
            print("AI wins." if reward > 0 else "AI loses.")
        self.sticks = observation[0]
        return observation, reward, terminated, truncated, info


def q_table(agent: agents.QLearningAgent, rules: NimRules) -> pd.DataFrame:
    """Returns the Q-values, with one row for each number of sticks left and NaN for impossible moves."""
    sticks = np.arange(rules.heaps[0], 0, -1)
    values = np.where(rules.action_mask(sticks[:, None]), agent.q_values(sticks[:, None]), np.nan)
    return pd.DataFrame(values, index=sticks, columns=[f"take {count}" for _, count in rules.moves])


def plot(won: list[bool], args: Args) -> plt.Figure:
    """Draws the proportion of wins over a rolling window of games."""
    proportion = pd.Series(won, range(1, len(won) + 1), dtype=float).rolling(args.window, min_periods=1).mean()
    figure, axes = plt.subplots(layout="constrained")
    proportion.plot(ax=axes)
    opponents = " then ".join(filter(None, (args.opponent, args.then)))
    axes.set(
        title=f"Q-learning against {opponents}",
        xlabel=f"training games with {args.sticks} sticks, misère",
        ylabel=f"fraction won of the last {args.window} games",
        ylim=(-0.02, 1.02),
    )
    return figure


if __name__ == "__main__":
    run(main, Args)
