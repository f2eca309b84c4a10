"""Measures how often the diagnosis names the bug of a learner, and how often it accuses a correct learner.

Six files in this folder are clean learners. Each row of bugs.csv gives one of them a bug that people have met in
practice, by replacing one text in its file. The learners train on boards and with settings drawn at random.
nim_env.evaluation.diagnose, which is told the opponent and the discount, judges them after 5 %, 30 % and all of
their moves. The script prints and saves a table with a row for each learner, bug and fraction of the moves. It
also prints a summary of the tabular learners, and draws the fraction of runs in which each bug is named.
docs/experiments/diagnosis.md discusses the results.

    cd examples
    python -m find_the_bug.matrix

Install: pip install -e ".[examples,sb3]"
"""

import inspect
import itertools
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import install_hint  # noqa: F401  says what to install if a package is missing

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from tqdm import tqdm

from nim_env import NimRules, TabularPolicy, evaluation
from nim_env.rendering.appearance import COLORS

from command_line import run
from common import save_figure

HERE = Path(__file__).parent
BUGS = pd.read_csv(HERE / "bugs.csv", keep_default_na=False)
NO_BUG = {"bug": "", "text": "", "replacement": "", "findings": "Bellman's equation"}  # a correct learner
BOARDS = (
    ((1, 2, 4), None),
    ((3, 5), None),
    ((2, 2, 3), None),
    ((6, 3), 4),
    ((1, 1, 1, 3), None),
    ((1, 3, 4), None),
)
SHARES = (0.05, 0.3, 1.0)  # the fractions of the moves after which a learner is judged
MOVES = {"dqn": 20_000, "maskable_ppo": 60_000}  # a table gets 200 for each legal pair of a position and an action
# in a table the values of illegal actions stay 0, so these two bugs cannot be told apart
SAME = {"maximum over illegal actions": "maximum that starts from 0"}
NO_NAME = {"train longer", "untrained", "perfect play", "Bellman's equation", "a bug in no list"}
# true of the values whatever the bug is, so it does not count as naming an unlisted bug
SYMPTOM = "values out of range"


@dataclass
class Args:
    n_correct: int = 250
    """The number of runs of each correct tabular learner; each correct network gets a thirtieth of it."""
    n_bug: int = 20
    """The number of runs of each bug in a tabular learner; each bug in a network gets a fifth of it."""
    n_jobs: int = -1
    """The number of runs in parallel; -1 for one per core."""
    folder: Path = Path("results/find_the_bug")


def main(args: Args) -> pd.DataFrame:
    """Trains and judges all learners, and returns a row for each diagnosis."""
    rows = BUGS.to_dict("records") + [{"learner": name} | NO_BUG for name in BUGS["learner"].unique()]
    runs = []
    for row in rows:
        n_runs = args.n_bug if row["bug"] else args.n_correct
        if row["learner"] in MOVES:
            n_runs //= 5 if row["bug"] else 30
        runs += [joblib.delayed(train_and_diagnose)(row, seed) for seed in range(n_runs)]
    results = joblib.Parallel(args.n_jobs, return_as="generator")(runs)
    table = pd.DataFrame(itertools.chain.from_iterable(tqdm(results, total=len(runs), desc="runs", disable=None)))
    matrix = count(table)
    save_figure(draw(matrix), args.folder / "find_the_bug.svg")
    matrix.to_csv(args.folder / "find_the_bug.csv", index=False)
    print(matrix.to_string(index=False))
    print("\n".join(sentences(matrix)))
    return table


def load(learner: str, *replacements: tuple[str, str]) -> Any:
    """Returns the function ``train`` of a learner, with texts of its source code replaced one after another."""
    names: dict[str, Any] = {}
    exec(compile(source_of(learner, *replacements), learner, "exec"), names)
    return names["train"]


def source_of(learner: str, *replacements: tuple[str, str]) -> str:
    """Returns the source code of a learner, with texts replaced one after another."""
    source = (HERE / f"{learner}.py").read_text(encoding="utf-8")
    for text, replacement in replacements:
        source = source.replace(text, replacement, 1)
    return source


def draw_settings(
    learner: str, draws: random.Random, discount: float | None = None
) -> tuple[NimRules, int, dict[str, Any], dict[str, Any]]:
    """Draws a board and training settings for a learner.

    Returns:
        The rules, the number of moves, the settings that the diagnosis is not told, and those that it is told.
    """
    rules = NimRules(*draws.choice(BOARDS), misere=draws.random() < 0.5)
    moves = MOVES.get(learner, 200 * int(rules.action_mask(rules.all_positions()).sum()))
    settings: dict[str, Any] = {}
    told: dict[str, Any] = {}
    if learner != "maskable_ppo":
        settings["exploration"] = draws.choice((0.05, 0.1, 0.3, 0.5))
        told["discount"] = draws.choice((0.8, 0.9, 0.95, 0.99, 1.0, 1.0)) if discount is None else discount
    if learner not in MOVES:
        settings["learning_rate"] = draws.choice((0.05, 0.1, 0.2, 0.5, 1.0))
    if "opponent" in inspect.signature(load(learner)).parameters:
        told["opponent"] = draws.choice(("random", "take-1", "take-3", "expert"))
    return rules, moves, settings, told


def train_and_diagnose(row: dict[str, str], seed: int) -> list[dict[str, Any]]:
    """Trains one learner, correct or with a bug, with settings drawn by the seed; returns its diagnoses."""
    learner, bug = row["learner"], row["bug"]
    train = load(learner, (row["text"], row["replacement"]))
    draws = random.Random(f"{learner}, {seed_name(bug)}, {seed}")
    rules, moves, settings, told = draw_settings(learner, draws, 1.0 if bug == "discount" else None)
    settings["seed"] = seed
    diagnoses = []
    earlier = None
    for share in SHARES:
        values = train(rules, round(share * moves), **settings, **told)
        findings: tuple[str, ...] = ()
        if learner == "maskable_ppo":
            actions, values = values
            player = TabularPolicy(rules, np.eye(rules.n_actions)[actions])
            findings = evaluation.diagnose_moves(rules, player).findings
        diagnosis = evaluation.diagnose(rules, values, **told, earlier=earlier if share == 1 else None)
        if findings != ("no mask at prediction",):
            findings = diagnosis.findings
        earlier = values
        names = sorted({name if learner in MOVES else SAME.get(name, name) for name in findings})
        run_of = {"learner": learner, "bug": bug, "is_listed": row["findings"] != "", "share": share}
        result = {"verdict": verdict(row, names), "result": diagnosis.result, "n_names": len(names)}
        diagnoses.append(run_of | result | {"witness": diagnosis.witness is not None})
    return diagnoses


def seed_name(bug: str) -> str:
    """Returns the name of a bug in the seeds of its runs; two bugs were renamed after the published runs."""
    return bug.replace("instead of", "in place of")


def verdict(row: dict[str, str], names: list[str]) -> str:
    """Compares the names that the diagnosis found with the expected ones in the row.

    Returns:
        "right" if an expected name is among them, "none" if they do not name a bug, and otherwise "wrong". For a
        bug that is not in the list there is no right name, so naming any bug is wrong.
    """
    if set(row["findings"].split(" / ")) & set(names):
        return "right"
    known = NO_NAME if row["findings"] else {SYMPTOM, *NO_NAME}
    return "none" if known.issuperset(names) else "wrong"


def count(table: pd.DataFrame) -> pd.DataFrame:
    """Returns the number of runs with each outcome, by learner, bug and fraction of the moves."""
    is_right = table["verdict"] == "right"
    columns = {name: table["verdict"] == name for name in ("right", "none", "wrong")}
    columns |= {"told_bug": table["result"] == "bug", "told_no_bug": table["result"] == "no bug found"}
    columns |= {"wrong_for_sure": (table["verdict"] == "wrong") & columns["told_bug"]}
    columns |= {"witness": table["witness"], "names": table["n_names"].where(is_right, 0)}
    keys = [table[name] for name in ("learner", "bug", "is_listed", "share")]
    return pd.DataFrame(columns).astype(int).groupby(keys).sum().reset_index()


def sentences(matrix: pd.DataFrame) -> list[str]:
    """Returns a summary of the tabular learners, one line for each share, with 95 % intervals (Wilson)."""
    tables = matrix[~matrix["learner"].isin(MOVES)]
    ended = tables[tables["share"] == 1]
    correct = tables[tables["bug"] == ""]
    listed = ended[ended["is_listed"] & ~ended["bug"].isin(["", "discount"])]
    outside = ended[~ended["is_listed"]]
    lines = []
    for name, rows, column in (
        ("correct learners reported as buggy", correct, "told_bug"),
        ("correct learners with a witness", correct, "witness"),
        ("listed bugs named", listed, "right"),
        ("listed bugs given a wrong name", listed, "wrong"),
        ("unlisted bugs reported as no bug", outside, "told_no_bug"),
        ("unlisted bugs given a name", outside, "wrong_for_sure"),
        ("unlisted bugs given a name, counting second readings", outside, "wrong"),
        ("unlisted bugs with a witness", outside, "witness"),
    ):
        hits, n = int(rows[column].sum()), int(rows[["right", "none", "wrong"]].to_numpy().sum())
        lines.append(sentence(name, hits, n))
    return [*lines, f"names per listed bug that is named: {listed['names'].sum() / listed['right'].sum():.2f}"]


def sentence(name: str, hits: int, n: int) -> str:
    """Returns a share as a line of text, with its 95 % interval (Wilson)."""
    low, high = evaluation.MatchResult(hits, n).interval()
    return f"{name}: {hits:,} of {n:,} ({100 * low:.2f} to {100 * high:.2f} %)"


def draw(matrix: pd.DataFrame) -> Figure:
    """Draws a heat map of the fraction of runs in which each bug of each learner is named after all moves."""
    ended = matrix[(matrix["share"] == 1) & matrix["is_listed"] & (matrix["bug"] != "")]
    shares = ended["right"] / ended[["right", "none", "wrong"]].sum(axis=1)
    figure, axis = plt.subplots(figsize=(7.4, 4.6), layout="constrained")
    style = {"vmin": 0, "vmax": 1, "cmap": sns.light_palette(COLORS["good"], as_cmap=True), "cbar": False}
    of_pairs = shares.groupby([ended["bug"], ended["learner"].str.replace("_", "\n")]).mean().unstack()
    sns.heatmap(of_pairs, annot=True, fmt=".0%", ax=axis, rasterized=True, **style)
    axis.set(title="The fraction of the runs in which the diagnosis names the bug", xlabel="", ylabel="")
    axis.grid(visible=False)
    return figure


if __name__ == "__main__":
    run(main, Args)
