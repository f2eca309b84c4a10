"""What a representation is worth: one network, one budget, self-play, and positions shown in three ways.

One-hot heap sizes, their binary digits, or a token for each object (as Zhou and Riis showed Nim to AlphaZero). The
figure shows in what share of all winning positions the network's best move wins, and how often its value says
rightly who wins, against the moves made in training. Runs are spread over all cores; finished ones are kept in
--folder.
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


@dataclass
class Arguments(Learning):
    """The options of this script."""

    steps: int = 1_000_000
    """How many moves each makes."""
    representations: tuple[Representation, ...] = tuple(REPRESENTATIONS)
    """Which representations."""
    looks: int = 20
    """How often each network is held against the truth, evenly over its steps."""
    seeds: int = 3
    """How many seeds, from --seed on."""
    jobs: int = -1
    """How many runs at once; -1 for as many as there are cores."""
    folder: Path = Path("results/representations")
    """Where finished runs, the table (.csv), the figure (.png) and TensorBoard's logs are kept."""


def main(arguments: Arguments) -> None:
    check_folder(arguments.folder, "representations.png")
    check_at_least(1, looks=arguments.looks, seeds=arguments.seeds)
    deep.check_jobs(arguments.jobs)
    if not arguments.representations:
        fail(f"--representations must name one or more of {', '.join(REPRESENTATIONS)}")
    with checking_arguments():
        deep.check_seeds(arguments.seed, arguments.seeds)
        arguments.check()
    recipe = Recipe(**{field.name: getattr(arguments, field.name) for field in fields(Learning)})
    runs = [
        (replace(recipe, representation=representation, seed=seed), arguments.looks)
        for representation in dict.fromkeys(arguments.representations)
        for seed in range(arguments.seed, arguments.seed + arguments.seeds)
    ]
    table = deep.table_of(runs, deep.run_all(deep.learn, runs, arguments.folder, arguments.jobs, tell))
    table.to_csv(arguments.folder / "representations.csv", index=False)
    print(f"table: {arguments.folder / 'representations.csv'}")
    save(picture_of(arguments, table), arguments.folder / "representations.png")


def tell(run: tuple, rows: list[deep.Row]) -> str:
    """A finished run in a line."""
    recipe, last = run[0], rows[-1]
    return (
        f"{recipe.representation}, seed {recipe.seed}: expert mastery {percent(last['expert'])} %, "
        f"values right {percent(last['value_accuracy'])} %, {last['seconds']:.0f} s"
    )


def picture_of(arguments: Arguments, table: pd.DataFrame) -> plt.Figure:
    """Expert mastery and value accuracy against moves made."""
    seeds = table["seed"].nunique()
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
    panels = {
        "expert": "Expert mastery: winning positions played right",
        "value_accuracy": "Value accuracy: positions whose winner is known",
    }
    for axis, (column, title) in zip(axes, panels.items(), strict=True):
        sns.lineplot(
            table,
            x="steps",
            y=column,
            hue="representation",
            style="representation",
            errorbar=students_of_shares if seeds > 1 else None,
            legend=column == "expert",
            ax=axis,
        )
        axis.set(title=title, xlabel="moves made in training", ylabel="", ylim=(-0.02, 1.02))
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.grid(alpha=0.3)
    of_seeds = "one seed" if seeds == 1 else f"means of {seeds} seeds with 95 % intervals"
    figure.suptitle(f"{name_of(arguments.rules)}, taught by {arguments.teacher}: {of_seeds}")
    return figure


if __name__ == "__main__":
    run(main, Arguments)
