"""How a network's mastery falls as heaps are added: one recipe at equal steps on boards of three to seven heaps.

MaskablePPO by self-play from random starts, with each representation of the positions. What it learnt is held
against the exact answer, next to what Zhou and Riis (2022) published of AlphaZero on the same boards, and next to
the share of all positions that the network was ever shown: where that is all of them, a network that falls short
has not even remembered them; where it is a few, one that does well has generalised. Runs are spread over all
cores; finished ones are kept in --folder, so after an interruption the same command goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from script import check_at_least, check_folder, checking_arguments, fail, run, save, save_table

import deep
import matplotlib.pyplot as plt
import pandas as pd
from deep import Study
from figures import by_heaps, of_seeds
from intervals import students_of_shares
from learners import name_of, percent

from nim_env import NimRules, evaluation

ALPHA_ZERO = {5: 0.93, 6: 0.57, 7: 0.63}
"""Its value accuracy by the number of heaps, from the logs of Zhou and Riis (2022, arXiv:2205.12787)."""


@dataclass
class Arguments(Study):
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7, 9, 11, 13)
    """Starting heap sizes of the largest board."""
    fewest: int = 3
    """The number of heaps of the smallest board; the boards are the first so many heaps."""
    misere: bool = False
    """Whether taking the last object loses."""
    folder: Path = Path("results/scaling_deep")
    """Where finished runs, the table (.csv), the figure (.png) and TensorBoard's logs are kept."""


def main(arguments: Arguments) -> None:
    check_folder(arguments.folder, "scaling_deep.png")
    check_at_least(1, fewest=arguments.fewest)
    if arguments.fewest > len(arguments.heaps):
        fail(f"--fewest must be at most the number of heaps, {len(arguments.heaps)}; got {arguments.fewest}")
    with checking_arguments():
        arguments.check()
        boards = range(len(arguments.heaps), arguments.fewest - 1, -1)  # the longest runs first
        runs = [(recipe, 1) for n_heaps in boards for recipe in arguments.recipes(arguments.heaps[:n_heaps])]
        for taught, _ in runs:
            taught.check()
    table = deep.table_of(runs, deep.run_all(deep.learn, runs, arguments.folder, arguments.jobs, tell))
    table = table[table["steps"] > 0]
    save_table(table, arguments.folder / "scaling_deep.csv")
    save(picture_of(arguments, table), arguments.folder / "scaling_deep.png")


def tell(run: tuple, rows: list[deep.Row]) -> str:
    """A finished run in a line."""
    recipe, last = run[0], rows[-1]
    return (
        f"{'-'.join(map(str, recipe.heaps))}, {recipe.representation}, seed {recipe.seed}: expert mastery "
        f"{percent(last['expert'])} %, values right {percent(last['value_accuracy'])} %, "
        f"{percent(last['seen'])} % of the positions seen, {last['seconds']:.0f} s"
    )


def picture_of(arguments: Arguments, table: pd.DataFrame) -> plt.Figure:
    """Four measures against the number of heaps."""
    figure, axes = plt.subplots(2, 2, figsize=(12, 8), layout="constrained")
    panels = {
        "expert": "Expert mastery: winning positions played right",
        "champion": "Champion mastery: share of seeds",
        "value_accuracy": "Value accuracy: positions whose winner is known",
        "seen": "Positions seen in training",
    }
    for axis, (column, title) in zip(axes.flat, panels.items(), strict=True):
        interval = None if column == "champion" else students_of_shares
        shown = arguments.representations
        by_heaps(axis, table, column, "representation", shown, interval, legend=column == "expert")
        axis.set(title=title, ylim=(-0.03, 1.03))
    draw_without_learning(arguments, axes[0, 0], axes[1, 0])
    if published := published_boards(arguments, table):
        label = "AlphaZero (Zhou and Riis 2022)"
        axes[1, 0].plot(
            published, [ALPHA_ZERO[n_heaps] for n_heaps in published], "k*", markersize=11, label=label
        )
    axes[0, 0].legend()
    axes[1, 0].legend(loc="lower left")
    seeds = of_seeds(table["seed"].nunique())
    figure.suptitle(
        f"The first heaps of {name_of(arguments.rules)}:\n"
        f"MaskablePPO taught by {arguments.teacher}, {arguments.steps:,} moves each, {seeds}"
    )
    return figure


def draw_without_learning(arguments: Arguments, mastery: plt.Axes, value_accuracy: plt.Axes) -> None:
    """What needs no learning: random play, and the word that whoever is to move wins."""
    boards = [
        NimRules(arguments.heaps[:n_heaps], arguments.max_take, arguments.misere)
        for n_heaps in range(arguments.fewest, len(arguments.heaps) + 1)
    ]
    found = [evaluation.mastery(rules, "random") for rules in boards]
    heaps = [rules.n_heaps for rules in boards]
    mastery.plot(heaps, [each.expert for each in found], ":", color="gray", label="random play")
    won = [each.winning_positions / (rules.n_positions - 1) for rules, each in zip(boards, found, strict=True)]
    value_accuracy.plot(heaps, won, ":", color="gray", label='"won" of every position')


def published_boards(arguments: Arguments, table: pd.DataFrame) -> list[int]:
    """The numbers of heaps of which a figure was published: 1, 3, 5 and so on, normal play, any number taken."""
    is_theirs = arguments.heaps == tuple(range(1, 2 * len(arguments.heaps), 2))
    if not is_theirs or arguments.misere or arguments.max_take is not None:
        return []
    return sorted(set(table["n_heaps"]) & set(ALPHA_ZERO))


if __name__ == "__main__":
    run(main, Arguments)
