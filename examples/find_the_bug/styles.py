"""Measures nim_env.evaluation.diagnose on learners in many styles: does it accuse correct ones, and name bugs?

A style is a correct variant of a learner with a table. It has other rewards, initial values, exploration or step
sizes, learns on-policy, or plays only one side of the game. Each row of styles.csv replaces a text in a learner's
file, and a style has one row or several. It is trained without a bug, and with every bug of bugs.csv that can
still be built in.

The learners train on boards and with settings drawn at random. They are diagnosed in two modes. In the mode "not
told", the diagnosis knows the opponent and the discount. In the mode "told", it also knows the rewards, the
initial value and whether the learner is on-policy.

The script saves a table with a row of counts for each style, bug, mode and share of the moves, and prints a
summary of each mode. docs/experiments/diagnosis.md discusses the results. It takes 11 minutes on two cores.

    cd examples
    python -m find_the_bug.styles

Install: pip install -e ".[examples,sb3]"
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import run

import pandas as pd

from find_the_bug import runs
from find_the_bug.runs import Style, rate

STYLES = pd.read_csv(runs.HERE / "styles.csv", keep_default_na=False)
KEYS = ["family", "learner", "style", "bug", "is_listed", "mode", "share"]
COUNTS = [*runs.OUTCOMES, "wrong_for_sure", "is_bug", "is_undecided", "is_perfect", "is_perfect_train_longer"]


@dataclass
class Args:
    n_correct: int = 15
    """The number of runs of each style without a bug."""
    n_bug: int = 1
    """The number of runs of each bug in each style."""
    n_jobs: int = -1
    """The number of runs in parallel; -1 for one per core."""
    folder: Path = Path("results/find_the_bug")


def main(args: Args) -> pd.DataFrame:
    """Trains and diagnoses all learners, saves the counts, and returns a row for each diagnosis."""
    table = runs.run_all(tasks(args), args.n_jobs)
    counts = count(table)
    args.folder.mkdir(parents=True, exist_ok=True)
    counts.to_csv(args.folder / "styles.csv", index=False)
    print("\n".join(summary(counts)))
    return table


def tasks(args: Args) -> Iterator[tuple[Style, dict[str, str], int]]:
    """Yields the style, the bug and the seed of each run."""
    styles = all_styles()
    for style, bug in [(style, runs.NO_BUG) for style in styles] + bugs_in_styles(styles):
        for seed in range(args.n_bug if bug["bug"] else args.n_correct):
            yield style, bug, seed


def all_styles() -> list[Style]:
    """Reads the styles from styles.csv, in which a style has a row for each text that it replaces."""
    styles = []
    for (learner, name), rows in STYLES.groupby(["learner", "style"], sort=False):
        first = rows.iloc[0]  # the other rows of a style have only a text and its replacement
        rewards = tuple(float(reward) for reward in first["rewards"].split(" / "))
        facts: dict[str, Any] = {"on_policy": first["on_policy"] == "yes", "rewards": rewards}
        if first["initial"]:  # empty if the initial values differ
            facts["initial"] = float(first["initial"])
        style = Style(
            learner,
            name,
            family=first["family"],
            replacements=tuple(zip(rows["text"], rows["replacement"], strict=True)),
            opponent=first["opponent"],
            discount=first["discount"],
            facts=facts,
        )
        styles.append(style)
    return styles


def bugs_in_styles(styles: list[Style]) -> list[tuple[Style, dict[str, str]]]:
    """Returns all pairs of a style and a bug that can be built into it, because it still has the bug's text.

    The bug "discount" is left out, because another discount is not a bug if the diagnosis is told about it.
    """
    return [
        (style, bug)
        for style in styles
        for bug in runs.BUGS[runs.BUGS["bug"] != "discount"].to_dict("records")
        if bug["learner"] == style.learner
        and runs.source_of(style.learner, *style.replacements).count(bug["text"]) == 1
    ]


def count(table: pd.DataFrame) -> pd.DataFrame:
    """Sums the columns COUNTS of the diagnoses for each style, bug, mode and share of the moves."""
    return table.groupby(KEYS, sort=False)[COUNTS].sum().reset_index()


def summary(counts: pd.DataFrame) -> list[str]:
    """Summarizes each mode in lines of text. Learners with a bug count only after all moves."""
    lines = []
    for mode, of_mode in counts.groupby("mode", sort=False):
        correct = of_mode[of_mode["bug"] == ""]
        bugs = of_mode[(of_mode["bug"] != "") & (of_mode["share"] == 1)]
        listed, unlisted = bugs[bugs["is_listed"]], bugs[~bugs["is_listed"]]
        lines += [
            f"{mode}:",
            rate("correct learners reported as buggy", correct, "is_bug"),
            *(rate(f"- {name}", rows, "is_bug") for name, rows in correct.groupby("family", sort=False)),
            rate("correct learners undecided", correct, "is_undecided"),
            rate("correct learners undecided after all moves", correct[correct["share"] == 1], "is_undecided"),
            rate("listed bugs named", listed, "right"),
            rate("listed bugs given no name", listed, "none"),
            rate("listed bugs given a wrong name", listed, "wrong"),
            rate("listed bugs reported as a bug", listed, "is_bug"),
            rate("unlisted bugs given a name", unlisted, "wrong_for_sure"),
            rate("unlisted bugs given a name, counting second possibilities", unlisted, "wrong"),
            rate("unlisted bugs reported as a bug", unlisted, "is_bug"),
            rate("unlisted bugs undecided", unlisted, "is_undecided"),
            rate(
                "correct learners without a mistake that are told to train longer",
                correct,
                "is_perfect_train_longer",
                of=["is_perfect"],
            ),
        ]
    return lines


if __name__ == "__main__":
    run(main, Args)
