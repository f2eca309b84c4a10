"""System 5: counting wins on one heap of 21, against the expert, random play, take-n, or an opponent of your own.

Players take 1 to 3 of 21 objects; whoever takes the last one wins. The learner starts the first game, then
whoever lost the last one. It counts, for every heap size, how often each move was part of a won game, and draws
its moves in proportion. Your own opponent is a function (observation, action_mask) -> action in a Python file:
--opponent my_file.py:my_function.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from script import check_at_least, check_picture, checking_arguments, run, save

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
from players import own_function
from tqdm import tqdm

import agents
import nim_env  # noqa: F401  registers


@dataclass
class Arguments:
    """The options of this script."""

    opponent: str = "expert"
    """expert, random, take-N, or file.py:function."""
    games: int = 100_000
    """How many games."""
    every: int = 10_000
    """After how many games the proportion won is printed."""
    heap: int = 21
    """The size of the heap."""
    max_take: int = 3
    """The most objects one move may take."""
    cutoff: int | None = 1000
    """The sum of counts beyond which they are normalized; None for never."""
    seed: int = 0
    """The same seed gives the same games."""
    picture: Path = Path("results/win_counting.png")
    """Where the chart of the strategy is saved."""


def main(arguments: Arguments) -> None:
    check_at_least(0, games=arguments.games)
    check_at_least(1, every=arguments.every)
    check_at_least(2, heap=arguments.heap)  # from 1 no opening move leaves the game alive
    check_picture(arguments.picture)
    with checking_arguments():
        env = gym.make(
            "SimpleNim-v0",
            heaps=(arguments.heap,),
            max_take=arguments.max_take,
            opponent=own_function(arguments.opponent) or arguments.opponent,
            first_player="loser",
        )
        agent = agents.WinCountAgent(
            env.observation_space, env.action_space, cutoff=arguments.cutoff, seed=arguments.seed
        )
    with checking_arguments(), tqdm(total=arguments.games, unit=" games", leave=False, disable=None) as bar:

        def after_game(_: agents.Agent, history: agents.History) -> None:
            bar.update()
            games = len(history.returns)
            if games % arguments.every == 0:
                won = (history.returns[-arguments.every :] > 0).mean()
                bar.write(f"{games} games, W/L ratio {won:.4f}")

        history = agents.train(agent, env, arguments.games, seed=arguments.seed, callback=after_game)
    print(f"Won {(history.returns > 0).sum()} of {len(history.returns)} games against {arguments.opponent}.")
    save(picture_of(agent, env, arguments), arguments.picture)


def picture_of(agent: agents.WinCountAgent, env: gym.Env, arguments: Arguments) -> plt.Figure:
    """A stacked bar for each heap size: the probability of every move."""
    rules = env.unwrapped.rules
    heaps = np.arange(1, arguments.heap + 1)
    probabilities = agent.action_probabilities(heaps[:, None], rules.action_mask(heaps[:, None]))
    figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
    bottom = np.zeros(len(heaps))
    for (_, count), share in zip(rules.moves, probabilities.T, strict=True):
        axes.bar(heaps, share, bottom=bottom, label=f"take {count}", width=0.85)
        bottom += share
    axes.set(
        title=f"What win counting learnt in {arguments.games:,} games against {arguments.opponent}",
        xlabel="heap size",
        ylabel="probability",
        xlim=(0.4, arguments.heap + 0.6),
        ylim=(0, 1),
    )
    if len(heaps) <= 30:
        axes.set_xticks(heaps)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=min(8, rules.n_actions))
    return figure


if __name__ == "__main__":
    run(main, Arguments)
