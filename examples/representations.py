"""What a representation is worth: one network, one budget, self-play, and positions shown in three ways.

One-hot heap sizes, their binary digits, or a token for each object (as Zhou and Riis showed Nim to AlphaZero). The
figure shows in what share of all winning positions the network's best move wins, and how often its value says
rightly who wins, against the moves made in training. Runs are spread over all cores; finished ones are kept in
--folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from script import check_at_least, check_folder, checking_arguments, run, save, save_table

import deep
import matplotlib.pyplot as plt
import pandas as pd
from deep import Study
from figures import learning_curves
from learners import name_of, percent


@dataclass
class Arguments(Study):
    """The options of this script."""

    looks: int = 20
    """How often each network is held against the truth, evenly over its steps."""
    seeds: int = 3
    """How many seeds, from --seed on."""
    folder: Path = Path("results/representations")
    """Where finished runs, the table (.csv), the figure (.png) and TensorBoard's logs are kept."""


def main(arguments: Arguments) -> None:
    check_folder(arguments.folder, "representations.png")
    check_at_least(1, looks=arguments.looks)
    with checking_arguments():
        arguments.check()
    runs = [(recipe, arguments.looks) for recipe in arguments.recipes(arguments.heaps)]
    table = deep.table_of(runs, deep.run_all(deep.learn, runs, arguments.folder, arguments.jobs, tell))
    save_table(table, arguments.folder / "representations.csv")
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
    panels = {
        "expert": "Expert mastery: winning positions played right",
        "value_accuracy": "Value accuracy: positions whose winner is known",
    }
    title = f"{name_of(arguments.rules)}, taught by {arguments.teacher}"
    return learning_curves(table, "representation", panels, title)


if __name__ == "__main__":
    run(main, Arguments)
