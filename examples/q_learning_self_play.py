"""Systems 1 and 2: Q-learning by self-play on heaps of 1, 3, 5 and 7, then a game against you.

The player who takes the last object loses. Both players learn by Q-learning (Watkins 1989) in one shared table.
The value of a player's action is updated at that player's next turn, with the best value in the position that the
player then faces. At the end of the game, the value of the winner's last action is updated with +1 and the value
of the loser's last action with -1. An untrained agent (--episodes 0) is easy to beat; after 10,000 games it is
hard to beat. Piles are numbered from 0: the move 2 5 takes five objects from pile 2. Source: systems 1 and 2 in
docs/experiments/five_systems.md.

    python examples/q_learning_self_play.py

Install: pip install -e ".[examples]"
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from command_line import run

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pettingzoo

import agents
from nim_env import NimRules, evaluation

from common import save_figure
from terminal_game import Leave, play_game

RULES = NimRules((1, 3, 5, 7), misere=True)


@dataclass
class Args:
    episodes: int = 10_000
    """The number of training games; 0 for an untrained agent."""
    first: Literal["human", "opponent"] | None = None
    """Who moves first in the game against you. If not given, this is random."""
    learning_rate: float = 0.5
    """How far an update moves a value toward its target, from 0 to 1."""
    epsilon: float = 0.1
    """The probability of a random move during training, from 0 to 1."""
    seed: int | None = None
    picture: Path | None = None
    """Where to save a figure of the learning curve."""


def main(args: Args) -> tuple[agents.QLearningAgent, pd.DataFrame]:
    """Returns the agent, and its exact evaluations during the training."""
    agent, curve = train(args)
    mastery = evaluation.mastery(RULES, agent)
    n_correct = mastery.won_positions - len(mastery.mistakes)
    print(f"The agent plays correctly in {n_correct} of {mastery.won_positions} winning positions.")
    if args.picture is not None and args.episodes > 0:
        save_figure(plot(curve), args.picture)
    play(agent, None if args.first is None else ["human", "opponent"].index(args.first), args.seed)
    return agent, curve


def train(args: Args) -> tuple[agents.QLearningAgent, pd.DataFrame]:
    """Trains an agent, and evaluates it exactly at growing intervals.

    It prints the number of each game, or if there are more than 50 games, of the first ten and the last ten.

    Returns the agent, and one row for each evaluation.
    """
    env = pettingzoo.make("aec", "nim-v0", heaps=RULES.heaps)
    agent = agents.QLearningAgent(
        env.observation_space("player_0"),
        env.action_space("player_0"),
        learning_rate=args.learning_rate,
        gamma=1.0,
        epsilon=args.epsilon,
        seed=args.seed,
    )
    n = args.episodes
    curve = evaluation.LearningCurve(RULES, max(1, n), n_evals=60)

    def after_game(agent: agents.Agent, history: agents.History) -> None:
        curve(agent, history)
        number = len(history.returns)
        if n <= 50 or number <= 10 or number > n - 10:
            print(f"Training game {number}")
        elif number == 11:
            print("...")

    agents.train(agent, env, n, seed=args.seed, callback=after_game)
    print(f"Training is done: {n:,} games.")
    return agent, pd.DataFrame(curve.rows, columns=["episodes", "expert"])


def plot(curve: pd.DataFrame) -> plt.Figure:
    """Draws the fraction of winning positions that the agent plays correctly, by training games."""
    figure, axes = plt.subplots(layout="constrained")
    axes.plot(curve["episodes"], 100 * curve["expert"], marker=".")
    axes.set(
        title="Q-learning by self-play",
        xlabel="training games on 1-3-5-7, misère",
        ylabel="winning positions played right (%)",
        xscale="log",
        ylim=(0, 102),
    )
    axes.xaxis.set_major_formatter("{x:,.0f}")
    return figure


def play(agent: agents.Agent, human_player: int | None = None, seed: int | None = None) -> None:
    """Plays a game against the human in the terminal.

    The human moves first if ``human_player`` is 0 and second if it is 1. If it is None, this is random.
    """
    generator = np.random.default_rng(seed)
    if human_player is None:
        human_player = int(generator.integers(2))
    try:
        env = pettingzoo.make("aec", "nim-v0", heaps=RULES.heaps)
        play_game(env, agent, human_player, generator, numbered=True)
    except Leave:
        print("\nGoodbye.")


if __name__ == "__main__":
    run(main, Args)
