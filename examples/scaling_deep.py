"""How a network's mastery falls as heaps are added: one recipe at equal steps on boards of three to seven heaps.

MaskablePPO by self-play from random starts, with each representation of the positions. What it learnt is held
against the exact answer, next to what Zhou and Riis (2022) published of AlphaZero on the same boards, and next to
the share of all positions that the network was ever shown: where that is all of them, a network that falls short
has not even remembered them; where it is a few, one that does well has generalised. Runs are spread over all
cores; finished ones are kept in --folder, so after an interruption the same command goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path

from script import check_at_least, check_folder, checking_arguments, fail, run, save

import deep
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from deep import REPRESENTATIONS, Learning, Recipe, Representation
from intervals import students_of_shares
from learners import name_of, percent
from matplotlib.ticker import MaxNLocator

from nim_env import NimRules, evaluation

ALPHA_ZERO = {5: 0.93, 6: 0.57, 7: 0.63}
"""Its value accuracy by the number of heaps, from the logs of Zhou and Riis (2022, arXiv:2205.12787)."""


@dataclass
class Arguments(Learning):
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7, 9, 11, 13)
    """Starting heap sizes of the largest board."""
    fewest: int = 3
    """The number of heaps of the smallest board; the boards are the first so many heaps."""
    misere: bool = False
    """Whether taking the last object loses."""
    steps: int = 1_000_000
    """How many moves each network makes."""
    representations: tuple[Representation, ...] = tuple(REPRESENTATIONS)
    """Which representations."""
    seeds: int = 1
    """How many seeds, from --seed on."""
    jobs: int = -1
    """How many runs at once; -1 for as many as there are cores."""
    folder: Path = Path("results/scaling_deep")
    """Where finished runs, the table (.csv), the figure (.png) and TensorBoard's logs are kept."""


def main(arguments: Arguments) -> None:
    check_folder(arguments.folder, "scaling_deep.png")
    check_at_least(1, fewest=arguments.fewest, seeds=arguments.seeds)
    deep.check_jobs(arguments.jobs)
    if arguments.fewest > len(arguments.heaps):
        fail(f"--fewest must be at most the number of heaps, {len(arguments.heaps)}; got {arguments.fewest}")
    if not arguments.representations:
        fail(f"--representations must name one or more of {', '.join(REPRESENTATIONS)}")
    with checking_arguments():
        deep.check_seeds(arguments.seed, arguments.seeds)
        arguments.check()
        recipe = Recipe(**{field.name: getattr(arguments, field.name) for field in fields(Learning)})
        boards = range(len(arguments.heaps), arguments.fewest - 1, -1)  # the longest runs first
        runs = [
            (replace(recipe, heaps=arguments.heaps[:n_heaps], representation=representation, seed=seed), 1)
            for n_heaps in boards
            for representation in dict.fromkeys(arguments.representations)
            for seed in range(arguments.seed, arguments.seed + arguments.seeds)
        ]
        for taught, _ in runs:
            taught.check()
    table = deep.table_of(runs, deep.run_all(deep.learn, runs, arguments.folder, arguments.jobs, tell))
    table = table[table["steps"] > 0]
    table.to_csv(arguments.folder / "scaling_deep.csv", index=False)
    print(f"table: {arguments.folder / 'scaling_deep.csv'}")
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
    seeds = table["seed"].nunique()
    figure, axes = plt.subplots(2, 2, figsize=(12, 8), layout="constrained")
    panels = {
        "expert": "Expert mastery: winning positions played right",
        "champion": "Champion mastery: share of seeds",
        "value_accuracy": "Value accuracy: positions whose winner is known",
        "seen": "Positions seen in training",
    }
    representations = list(dict.fromkeys(arguments.representations))
    for axis, (column, title) in zip(axes.flat, panels.items(), strict=True):
        sns.pointplot(
            table,
            x="n_heaps",
            y=column,
            hue="representation",
            hue_order=representations,
            dodge=0.12 * (len(representations) - 1) or False,  # so that all are seen where they agree
            markers=["o", "s", "^"][: len(representations)],
            markersize=5,
            linewidth=1.3,
            capsize=0.06,
            err_kws={"linewidth": 1.3},
            errorbar=students_of_shares if seeds > 1 and column != "champion" else None,
            native_scale=True,
            legend=column == "expert",
            ax=axis,
        )
        axis.set(title=title, xlabel="heaps", ylabel="", ylim=(-0.03, 1.03))
        axis.set_xlim(table["n_heaps"].min() - 0.3, table["n_heaps"].max() + 0.3)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.grid(alpha=0.3)
    draw_without_learning(arguments, axes[0, 0], axes[1, 0])
    if published := published_boards(arguments, table):
        label = "AlphaZero (Zhou and Riis 2022)"
        axes[1, 0].plot(
            published, [ALPHA_ZERO[n_heaps] for n_heaps in published], "k*", markersize=11, label=label
        )
    axes[0, 0].legend()
    axes[1, 0].legend(loc="lower left")
    of_seeds = "one seed" if seeds == 1 else f"means of {seeds} seeds with 95 % intervals"
    figure.suptitle(
        f"The first heaps of {name_of(arguments.rules)}:\n"
        f"MaskablePPO taught by {arguments.teacher}, {arguments.steps:,} moves each, {of_seeds}"
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
