"""System 5: win counting on one heap of 21, against the expert, random play, take-N, or your own opponent.

Two players take turns removing 1 to 3 objects from a heap of 21; the player who takes the last object wins. The
learner moves first in the first game. After that, the loser of the last game moves first. For each heap size, the
learner counts how often each move was part of a won game, and it draws its moves in proportion to these counts. To
use your own opponent, write a Python function that takes the heap size and returns the number of objects to take,
and give --opponent my_file.py:my_function. Source: system 5 in docs/experiments/five_systems.md.

    python examples/win_counting.py

Install: pip install -e ".[examples]"
"""

from dataclasses import dataclass
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

LOG_INTERVAL = 10_000


@dataclass
class Args:
    opponent: str = "expert"
    """expert, random, take-N, FILE.py:NAME, or the file of a saved player (README.md lists them)."""
    heap: int = 21
    """The number of objects in the heap, 4 or more."""
    episodes: int = 100_000
    """The number of training games."""
    seed: int = 0
    picture: Path = Path("results/win_counting.svg")
    """Where to save the chart of the learned strategy."""


class LoserStarts(gym.Wrapper):
    """Lets the loser of the last game start the next one. After a reset with a seed, the agent starts."""

    first_player = "agent"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if seed is not None:
            self.first_player = "agent"
        return self.env.reset(seed=seed, options={"first_player": self.first_player, **(options or {})})

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated:
            self.first_player = "opponent" if reward > 0 else "agent"
        return observation, reward, terminated, truncated, info


def main(args: Args) -> tuple[agents.WinCountAgent, dict[int, float]]:
    """Trains the agent and draws its strategy.

    Returns the agent, and the proportion won in each interval, by the number of games played so far.
    """
    if args.heap < 4:
        raise ValueError(f"--heap must be 4 or more, or an opening move could end the game; got {args.heap}")
    rules = NimRules((args.heap,), max_take=3, misere=False)
    opponent = load_player(args.opponent, rules).policy
    env = LoserStarts(gym.make("nim_env:SimpleNim-v0", heaps=rules.heaps, opponent=opponent))
    agent = agents.WinCountAgent(env.observation_space, env.action_space, cutoff=1000, seed=args.seed)
    proportions: dict[int, float] = {}

    def after_game(_: agents.Agent, history: agents.History) -> None:
        played = len(history.returns)
        if played % LOG_INTERVAL == 0:
            proportions[played] = float((history.returns[-LOG_INTERVAL:] > 0).mean())
            print(f"{played} games, W/L ratio {proportions[played]:.4f}")

    history = agents.train(agent, env, args.episodes, seed=args.seed, callback=after_game)
    print(f"Won {(history.returns > 0).sum()} of {args.episodes} games against {args.opponent}.")
    save_figure(plot(agent, rules, args), args.picture)
    return agent, proportions


def plot(agent: agents.WinCountAgent, rules: NimRules, args: Args) -> plt.Figure:
    """Draws the probability of each move, as one stacked bar for each heap size."""
    heaps = np.arange(1, args.heap + 1)
    probabilities = pd.DataFrame(
        agent.action_probabilities(heaps[:, None], rules.action_mask(heaps[:, None])),
        index=heaps,
        columns=[f"take {count}" for _, count in rules.moves],
    )
    figure, axes = plt.subplots(layout="constrained")
    probabilities.plot.bar(stacked=True, width=0.85, rot=0, ax=axes)
    axes.set(title=f"Win counting after {args.episodes:,} games against {args.opponent}")
    axes.set_xlabel("heap size (no move from a multiple of 4 wins against perfect play)")
    axes.set(ylabel="probability", ylim=(0, 1))
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), reverse=True)
    axes.grid(visible=False)
    return figure


if __name__ == "__main__":
    run(main, Args)
