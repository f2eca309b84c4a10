"""System 4: minimax-Q on three heaps, then any number of games against you.

The player who takes the last object loses. Player A moves first and maximizes, player B minimizes; the value is
1000 when A wins and -1000 when B wins, discounted by 0.9 for each move until then. The agent learns by minimax-Q
(Littman 1994) from random self-play and updates its values after every move. It wins every game that can be won.
Source: system 4 of docs/experiments/five_systems.md.

Install: pip install -e ".[examples]"
"""

from dataclasses import dataclass
from pathlib import Path

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import pettingzoo

import agents
from nim_env import NimRules
from nim_env.appearance import heap_name

from command_line import run
from common import save_figure
from terminal_game import Leave, ask_choice, ask_number, play_game

REWARD = 1000  # of the published system; that of the environment is 1


@dataclass
class Args:
    heaps: tuple[int, int, int] | None = None
    """Three starting heap sizes from 0 to 9; the script asks if not given."""
    episodes: int | None = None
    """The number of training games; the script asks if not given."""
    seed: int = 0
    picture: Path | None = None
    """Where to save a figure of the values of all first moves."""


def main(args: Args) -> agents.MinimaxQAgent | None:
    """Returns the trained agent, or None if the human leaves before."""
    agent = None
    try:
        heaps = args.heaps or tuple(ask_number(f"Size of pile {pile}? ", 0, 9) for pile in range(3))
        rules = NimRules(heaps)
        episodes = args.episodes
        if episodes is None:
            episodes = ask_number("How many games shall I simulate? ", 0, 100_000_000)
        agent = train(rules, episodes, args.seed)
        values = REWARD * agent.q_values(heaps)
        print("Q[player and piles, pile and count] of player A's first moves; a positive value wins:")
        for (heap, count), value in zip(rules.moves, values, strict=True):
            print(f"Q[A{''.join(map(str, heaps))}, {heap}{count}] = {value:.1f}")
        if args.picture is not None:
            save_figure(plot(values, rules), args.picture)
        play(agent, rules, args.seed)
    except Leave:
        print("\nGoodbye.")
    return agent


def train(rules: NimRules, episodes: int, seed: int) -> agents.MinimaxQAgent:
    """Trains by random self-play; the number of environments grows with the number of episodes."""
    num_envs = max(1, min(1 + episodes // 100, 256))
    env = gym.make_vec("nim_env:Nim-v0", num_envs=num_envs, heaps=rules.heaps, opponent=None)
    agent = agents.MinimaxQAgent(
        env.single_observation_space,
        env.single_action_space,
        learning_rate=1.0,
        gamma=0.9,
        epsilon=1.0,
        seed=seed,
    )
    agents.train(agent, env, episodes, seed=seed, progress=True)
    return agent


def plot(values: np.ndarray, rules: NimRules) -> plt.Figure:
    """The values of all moves from the start."""
    names = [f"{heap_name(heap)} {count}" for heap, count in rules.moves]
    winning = ", ".join(name for name, value in zip(names, values, strict=True) if value > 0) or "none"
    figure, axes = plt.subplots(layout="constrained")
    axes.bar_label(axes.bar(names, values), fmt="{:.1f}", padding=3)
    axes.margins(y=0.15)
    axes.set(
        title=f"First moves from {'-'.join(map(str, rules.heaps))}, misère, that win: {winning}",
        xlabel="heap and objects taken",
        ylabel="value for player A, who moves first",
    )
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
