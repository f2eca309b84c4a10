"""Measures how often nim_env.evaluation.diagnose names the bug of a learner.

Six files of this folder are correct learners. Each row of bugs.csv gives one of them a bug that people have met in
practice, by replacing one text in its file. Each learner trains many times, with and without each bug, on boards
and with settings drawn at random. It is diagnosed after 5 %, 30 % and all of its moves. The diagnosis is told the
opponent and the discount.

The script saves a table with a row of counts for each learner, bug and share of the moves, and prints a summary of
the learners with a table. docs/experiments/diagnosis.md discusses the results. It takes 20 minutes on one core.

    cd examples
    python -m find_the_bug.matrix

Install: pip install -e ".[examples,sb3]"
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from command_line import run

import pandas as pd

from find_the_bug import runs
from find_the_bug.runs import Style, rate

KEYS = ["learner", "bug", "is_listed", "share"]
COUNTS = [*runs.OUTCOMES, "is_bug", "is_no_bug", "wrong_for_sure", "witness", "names"]


@dataclass
class Args:
    n_correct: int = 250
    """The number of runs of each correct learner with a table. A correct network gets a thirtieth of it."""
    n_bug: int = 20
    """The number of runs of each bug in a learner with a table. A bug in a network gets a fifth of it."""
    n_jobs: int = -1
    """The number of runs in parallel; -1 for one per core."""
    folder: Path = Path("results/find_the_bug")


def main(args: Args) -> pd.DataFrame:
    """Trains and diagnoses all learners, saves the counts, and returns a row for each diagnosis."""
    table = runs.run_all(tasks(args), args.n_jobs)
    counts = count(table)
    args.folder.mkdir(parents=True, exist_ok=True)
    counts.to_csv(args.folder / "find_the_bug.csv", index=False)
    print("\n".join(summary(counts)))
    return table


def tasks(args: Args) -> Iterator[tuple[Style, dict[str, str], int]]:
    """Yields the learner, as a style that changes nothing, the bug and the seed of each run."""
    correct = [runs.NO_BUG | {"learner": learner} for learner in runs.BUGS["learner"].unique()]
    for bug in correct + runs.BUGS.to_dict("records"):
        is_network = bug["learner"] in runs.MOVES
        if bug["bug"]:
            n_runs = args.n_bug // 5 if is_network else args.n_bug
        else:
            n_runs = args.n_correct // 30 if is_network else args.n_correct
        for seed in range(n_runs):
            yield Style(bug["learner"]), bug, seed


def count(table: pd.DataFrame) -> pd.DataFrame:
    """Sums the columns COUNTS of the diagnoses for each learner, bug and share of the moves."""
    return table.groupby(KEYS)[COUNTS].sum().reset_index()


def summary(counts: pd.DataFrame) -> list[str]:
    """Summarizes the learners with a table, in lines of text. Learners with a bug count only after all moves."""
    tables = counts[~counts["learner"].isin(runs.MOVES)]
    ended = tables[tables["share"] == 1]
    correct = tables[tables["bug"] == ""]
    listed = ended[ended["is_listed"] & ~ended["bug"].isin(["", "discount"])]
    unlisted = ended[~ended["is_listed"]]
    return [
        rate("correct learners reported as buggy", correct, "is_bug"),
        rate("correct learners with a witness", correct, "witness"),
        rate("listed bugs named", listed, "right"),
        rate("listed bugs given a wrong name", listed, "wrong"),
        rate("unlisted bugs reported as no bug", unlisted, "is_no_bug"),
        rate("unlisted bugs given a name", unlisted, "wrong_for_sure"),
        rate("unlisted bugs given a name, counting second possibilities", unlisted, "wrong"),
        rate("unlisted bugs with a witness", unlisted, "witness"),
        f"names per listed bug that is named: {listed['names'].sum() / listed['right'].sum():.2f}",
    ]


if __name__ == "__main__":
    run(main, Args)
