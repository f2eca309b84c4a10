"""System 5: win counting on one heap of 21, against the expert, random, take-N, or your own opponent.

Two players take 1 to 3 of 21 objects; the player who takes the last object wins. The learner moves first in the
first game, after that the loser of the last game does. For each heap size the learner counts how often each move
was part of a won game, and draws its moves in proportion to the counts. Your own opponent is a function
(observation, action_mask) -> action in a Python file: --opponent my_file.py:my_function. Source: system 5 of
docs/experiments/five_systems.md.

Install: pip install -e ".[examples]"
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from common import (
    COLORS,
    FIGURE_SUFFIXES,
    NonNegativeInt,
    PositiveInt,
    Seed,
    check_output,
    checking_args,
    load_player,
    run,
    save_figure,
)

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

import agents
from nim_env import NimRules, theory


@dataclass
class Args:
    """The options of this script."""

    opponent: str = "expert"
    """expert, random, take-N, file.py:name, or the file of a saved agent, table (.npz), network (.pt) or
    MaskablePPO model (.zip). Files .py and .zip run code when loaded: give only those you trust."""
    episodes: NonNegativeInt = 100_000
    """The number of training games."""
    log_interval: PositiveInt = 10_000
    """The number of games after which the proportion won is printed."""
    heap: PositiveInt = 21
    """Starting heap size."""
    max_take: PositiveInt = 3
    """The maximum number of objects that one move may take."""
    cutoff: int | None = 1000
    """The sum of counts beyond which they are normalized; None for never."""
    seed: Seed = 0
    """Random seed."""
    picture: Path = Path("results/win_counting.png")
    """Where to save the chart of the learned strategy."""


def main(args: Args) -> tuple[agents.WinCountAgent, dict[int, float]]:
    """Returns the agent, and the proportion won in each interval by the number of games played until then."""
    check_output("picture", args.picture, FIGURE_SUFFIXES)
    with checking_args():
        rules = NimRules((args.heap,), args.max_take, misere=False)
        env = gym.make(
            "nim_env:SimpleNim-v0",
            **asdict(rules),
            opponent=load_player(args.opponent, rules),
            first_player="loser",
        )
        agent = agents.WinCountAgent(env.observation_space, env.action_space, cutoff=args.cutoff, seed=args.seed)
    proportions = train(agent, env, args)
    save_figure(plot(agent, rules, args), args.picture)
    return agent, proportions


def train(agent: agents.WinCountAgent, env: gym.Env, args: Args) -> dict[int, float]:
    """Trains and prints the proportion won in each interval."""
    proportions: dict[int, float] = {}
    won = played = 0
    while played < args.episodes:
        n = min(args.log_interval, args.episodes - played)
        history = agents.train(agent, env, n, seed=args.seed if played == 0 else None)
        played += n
        won += int((history.returns > 0).sum())
        proportions[played] = float((history.returns > 0).mean())
        print(f"{played} games, W/L ratio {proportions[played]:.4f}")
    print(f"Won {won} of {played} games against {args.opponent}.")
    return proportions


def plot(agent: agents.WinCountAgent, rules: NimRules, args: Args) -> plt.Figure:
    """The probability of each move, one stacked bar for each heap size."""
    (heap,) = rules.heaps
    sizes = np.arange(1, heap + 1)
    probabilities = agent.action_probabilities(sizes[:, None], rules.action_mask(sizes[:, None]))
    figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
    shades = sns.blend_palette(["white", COLORS["block"], COLORS["muted"]], rules.n_actions + 2)[1:-1]
    bottom = np.zeros(heap)
    for (_, count), heights, shade in zip(rules.moves, probabilities.T, shades, strict=True):
        bars = axes.bar(sizes, heights, bottom=bottom, color=shade, width=0.85)
        axes.bar_label(bars, [str(count) if height > 0.1 else "" for height in heights], label_type="center")
        bottom += heights
    axes.set(
        title=f"Win counting after {args.episodes:,} episodes against {args.opponent}: objects taken",
        xlabel="heap size (* no move wins against perfect play)",
        ylabel="probability",
        xlim=(0.4, heap + 0.6),
        ylim=(0, 1),
    )
    if heap <= 30:
        is_winning = theory.is_winning(rules, sizes[:, None])
        axes.set_xticks(
            sizes, [f"{size}{'' if wins else '*'}" for size, wins in zip(sizes, is_winning, strict=True)]
        )
    axes.grid(visible=False)
    return figure


if __name__ == "__main__":
    run(main, Args)
