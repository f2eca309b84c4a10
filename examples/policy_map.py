"""A player of two heaps, looked into: what it does in every position, what it believes of it, and what is true.

Four pictures: the player's moves, mistakes framed, over its values; the exact ones; how probably it wins from
every position against an opponent, exactly; and a learner's mastery and exploitability over its training games.
The player is a learner trained on the spot or any other: --player my.agent, expert or my_file.py:my_function.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from script import check_at_least, check_picture, checking_arguments, run, save

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from learners import SELF_PLAY, Training, is_defined, make, name_of, percent, train
from matplotlib.patches import Rectangle
from players import entrant

import agents
from nim_env import NimRules, evaluation, solver, theory
from nim_env.policies import Policy, as_policy

Progress = dict[int, tuple[float, float]]  # by games played: expert mastery and exploitability
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
    learner: Literal["q-learning", "minimax-q", "win-counting"] = "q-learning"
    """Who learns."""
    teacher: str | None = None
    """self-play, random, take-N or expert; by default self-play, and random for win-counting."""
    player: str | None = None
    """Instead of a learner: random, take-N, expert, the file of a saved agent or model, or file.py:function."""
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
        solver.iter_positions(rules)  # what is too large is refused before anything is learnt
        as_policy(arguments.opponent, rules, "opponent")
        if arguments.player is not None:
            player, progress, name = entrant(arguments.player, rules, "--player"), {}, arguments.player
        else:
            player, progress, name = learn(arguments)
        found = evaluation.mastery(rules, player)
    right = f"{percent(found.expert)} % of {found.winning_positions} winning positions played right"
    champion = f"it is {'a' if found.champion else 'no'} champion"
    gain = f"a best response gains {evaluation.exploitability(rules, player):.4f} over perfect play"
    print(f"{name}:\n{right};\n{champion}: {gain}.")
    save(picture_of(arguments, as_policy(player, rules), found, progress, name), arguments.picture)


def learn(arguments: Arguments) -> tuple[agents.Agent, Progress, str]:
    """A learner, how it came on, and what to call it."""
    rules = arguments.rules
    teacher = arguments.teacher or (SELF_PLAY if is_defined(arguments.learner, SELF_PLAY) else "random")
    agent, env = make(arguments, arguments.learner, teacher)
    _, progress = train(
        arguments,
        agent,
        env,
        arguments.checkpoints,
        lambda agent: (evaluation.mastery(rules, agent).expert, evaluation.exploitability(rules, agent)),
        "training",
    )
    return agent, progress, f"{arguments.learner} after {arguments.games:,} games, taught by {teacher}"


def picture_of(
    arguments: Arguments, player: Policy, found: evaluation.Mastery, progress: Progress, name: str
) -> plt.Figure:
    """The four pictures; three of a player that was not trained here."""
    rules = arguments.rules
    positions = np.stack(np.indices(rules.shape), axis=-1)  # shape (size, size, 2)
    figure, axes = plt.subplots(2, 2, figsize=(13, 11.5), layout="constrained")
    if isinstance(player, agents.QLearningAgent | agents.MinimaxQAgent):
        values = np.where(rules.action_mask(positions) != 0, player.q_values(positions), -np.inf).max(axis=-1)
        title = "What it believes and does (mistakes framed)"
    else:
        values = -solver.best_response(rules, player).afterstate_values(positions)
        title = "What it does, and gets against a best response (mistakes framed)"
    draw(axes[0, 0], rules, values, moves_of(player, rules, positions), title, "value")
    width = min(2.5, 25 / max(rules.shape))
    for first, second in found.mistakes:
        axes[0, 0].add_patch(Rectangle((second, first), 1, 1, fill=False, edgecolor="black", linewidth=width))
    truth = solver.solve(rules, arguments.gamma).values(positions)
    winning = theory.winning_action_mask(rules, positions)
    draw(axes[0, 1], rules, truth, winning, "The truth (moves that win)", "value")
    chances = evaluation.win_probability(rules, player, arguments.opponent, moves_first=True, heaps=positions)
    title = f"How probably it wins against {arguments.opponent}, moving first"
    draw(axes[1, 0], rules, 2 * np.asarray(chances) - 1, None, title, "probability of winning", ticks=(0, 0.5, 1))
    if progress:
        expert, exploitability = zip(*progress.values(), strict=True)
        axes[1, 1].plot([*progress], expert, marker=".", label="expert mastery")
        axes[1, 1].plot([*progress], exploitability, marker=".", label="exploitability")
        axes[1, 1].set(title="While it learns", xlabel="training games", xscale="log", ylim=(-0.02, 1.02))
        axes[1, 1].grid(alpha=0.3)
        axes[1, 1].legend()
    else:
        axes[1, 1].set_axis_off()
    figure.suptitle(f"{name_of(rules)}: {name}")
    return figure


def moves_of(player: Policy, rules: NimRules, positions: np.ndarray) -> np.ndarray:
    """The moves that a player makes at least every second time: booleans of shape (size, size, n_actions)."""
    unfinished = positions.reshape(-1, 2)[1:]
    made = np.zeros((*positions.shape[:2], rules.n_actions), dtype=bool)
    probabilities = player.action_probabilities(unfinished, rules.action_mask(unfinished))
    made.reshape(-1, rules.n_actions)[1:] = np.asarray(probabilities) > 0.499
    return made


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
    axes.tick_params(axis="y", rotation=0)
    axes.set(title=title, xlabel="objects in the second heap", ylabel="objects in the first heap")


if __name__ == "__main__":
    run(main, Arguments)
