"""A learner on two heaps, looked into: what it believes of every position, what it does there, and what is true.

Four pictures: the learner's values and moves, with its mistakes framed; the exact ones; how probably it wins from
every position against an opponent, exactly; and its mastery and exploitability over the training games.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from script import check_at_least, check_picture, checking_arguments, run, save

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from learners import SELF_PLAY, Training, make, name_of, percent, train
from matplotlib.patches import Rectangle

import agents
from nim_env import NimRules, evaluation, solver, theory
from nim_env.policies import as_policy

MOST_WITH_MOVES = 17  # sizes of a heap; of more the moves could not be read


@dataclass
class Arguments(Training):
    """The options of this script."""

    heaps: tuple[int, int] = (9, 9)
    """Two starting heap sizes."""
    max_take: int | None = None
    """The most objects one move may take; None for no limit."""
    games: int = 3_000
    """Training games."""
    learner: Literal["Q-learning", "minimax-Q"] = "Q-learning"
    """Who learns."""
    teacher: str = SELF_PLAY
    """self-play, random, take-N or expert; minimax-Q learns by self-play alone."""
    opponent: str = "random"
    """Against whom the chances to win are drawn: random, take-N or expert."""
    checkpoints: int = 40
    """How often the learner is measured in training, at ever wider intervals."""
    picture: Path = Path("results/policy_map.png")
    """Where the pictures are saved."""


def main(arguments: Arguments) -> None:
    check_picture(arguments.picture)
    check_at_least(1, games=arguments.games, checkpoints=arguments.checkpoints)
    with checking_arguments():
        rules = arguments.rules
        solver.sweep(rules)  # what is too large is refused before anything is learnt
        as_policy(arguments.opponent, rules, "opponent")
        agent, env = make(arguments, arguments.learner, arguments.teacher)
        _, progress = train(
            arguments,
            agent,
            env,
            arguments.checkpoints,
            lambda agent: (evaluation.mastery(rules, agent).expert, evaluation.exploitability(rules, agent)),
            "training",
        )
    found = evaluation.mastery(rules, agent)
    right = f"{percent(found.expert)} % of {found.winning_positions} winning positions right"
    champion = f"it is {'a' if found.champion else 'no'} champion"
    gain = f"a best response gains {evaluation.exploitability(rules, agent):.4f} over perfect play"
    print(f"{arguments.learner} plays {right};\n{champion}: {gain}.")
    save(picture_of(arguments, agent, found, progress), arguments.picture)


def picture_of(
    arguments: Arguments,
    agent: agents.Agent,
    found: evaluation.Mastery,
    progress: dict[int, tuple[float, float]],
) -> plt.Figure:
    """The four pictures."""
    rules = arguments.rules
    positions = np.stack(np.indices(rules.shape), axis=-1)  # shape (size, size, 2)
    mask = rules.action_mask(positions)
    moves = agent.action_probabilities(positions, np.where(mask.any(axis=-1, keepdims=True), mask, 1)) * mask
    believed = np.where(mask != 0, agent.q_values(positions), -np.inf).max(axis=-1)
    figure, axes = plt.subplots(2, 2, figsize=(13, 11.5), layout="constrained")
    title = f"What {arguments.learner} believes and does (mistakes framed)"
    draw(axes[0, 0], rules, believed, moves, title, "value")
    for first, second in found.mistakes:
        axes[0, 0].add_patch(Rectangle((second, first), 1, 1, fill=False, edgecolor="black", linewidth=2.5))
    truth = solver.solve(rules, arguments.gamma).values(positions)
    winning = theory.winning_action_mask(rules, positions)
    draw(axes[0, 1], rules, truth, winning, "The truth (moves that win)", "value")
    chances = evaluation.win_probability(rules, agent, arguments.opponent, first=True, heaps=positions)
    title = f"How probably it wins against {arguments.opponent}, moving first"
    draw(axes[1, 0], rules, 2 * np.asarray(chances) - 1, None, title, "probability of winning", ticks=(0, 0.5, 1))
    expert, exploitability = zip(*progress.values(), strict=True)
    axes[1, 1].plot([*progress], expert, marker=".", label="expert mastery")
    axes[1, 1].plot([*progress], exploitability, marker=".", label="exploitability")
    axes[1, 1].set(title="While it learns", xlabel="training games", xscale="log", ylim=(-0.02, 1.02))
    axes[1, 1].grid(alpha=0.3)
    axes[1, 1].legend()
    figure.suptitle(
        f"{name_of(rules)}: {arguments.learner} after {arguments.games:,} games, taught by {arguments.teacher}"
    )
    return figure


def draw(
    axes: plt.Axes,
    rules: NimRules,
    values: np.ndarray,
    moves: np.ndarray | None,
    title: str,
    unit: str,
    ticks: tuple[float, ...] = (-1, 0, 1),
) -> None:
    """A heat map of values from -1 to 1, with moves as arrows: down for the first heap, left for the second."""
    is_over = np.arange(values.size).reshape(values.shape) == 0
    labels = None
    if moves is not None and max(rules.shape) <= MOST_WITH_MOVES:
        names = np.array([f"{'↓←'[heap]}{count}" for heap, count in rules.moves])
        labels = np.array([["\n".join(names[cell > 0]) for cell in row] for row in moves])
    sns.heatmap(
        values,
        vmin=-1,
        vmax=1,
        cmap="vlag_r",
        mask=is_over,
        annot=labels if labels is not None else False,
        fmt="",
        annot_kws={"fontsize": 9},
        cbar_kws={"label": unit, "ticks": [-1, 0, 1]},
        ax=axes,
    )
    axes.collections[0].colorbar.set_ticklabels([f"{tick:g}" for tick in ticks])
    axes.invert_yaxis()
    axes.set(title=title, xlabel="objects in the second heap", ylabel="objects in the first heap")


if __name__ == "__main__":
    run(main, Arguments)
