"""Measures the diagnosis on learners in many styles: how often it accuses a correct one, and which bugs it names.

Each style in styles.csv replaces texts of a learner of this folder but leaves the learner correct. Styles have
other rewards, initial values, exploration or step sizes, learn on-policy, or play only one side of the game. Each
style is also combined with every bug in bugs.csv whose text it keeps. The learners train on the boards of
matrix.py with settings drawn at random.

nim_env.evaluation.diagnose judges them after 5 %, 30 % and all of their moves, in two modes. In the mode "not
told" it knows only the opponent and the discount. In the mode "told" it also knows the rewards, the initial value
and whether the learner is on-policy. The script saves the counts and prints a summary of each mode.

    cd examples
    python -m find_the_bug.styles

Install: pip install -e ".[examples,sb3]"
"""

import itertools
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import install_hint  # noqa: F401  says what to install if a package is missing

import joblib
import numpy as np
import pandas as pd
from tqdm import tqdm

from nim_env import NimRules, TabularPolicy, evaluation, policies

from command_line import run
from find_the_bug import matrix
from find_the_bug.matrix import BUGS, NO_BUG, SHARES, load

STYLES = pd.read_csv(matrix.HERE / "styles.csv", keep_default_na=False)
KEYS = ["family", "learner", "style", "bug", "is_listed", "mode", "share"]
COUNTS = [
    "right",
    "none",
    "wrong",
    "wrong_for_sure",
    "is_bug",
    "is_undecided",
    "is_perfect",
    "is_perfect_train_longer",
]


@dataclass
class Args:
    n_correct: int = 15
    """The number of runs of each correct learner."""
    n_bug: int = 2
    """The number of runs of each bug in each style."""
    n_jobs: int = -1
    """The number of runs in parallel; -1 for one per core."""
    folder: Path = Path("results/find_the_bug_styles")


def main(args: Args) -> pd.DataFrame:
    """Trains and judges all learners, and returns a row for each diagnosis."""
    tasks = [(style, NO_BUG, seed) for style in all_styles() for seed in range(args.n_correct)]
    tasks += [(style, bug, seed) for style, bug in combinations() for seed in range(args.n_bug)]
    runs = [joblib.delayed(train_and_diagnose)(*task) for task in tasks]
    results = joblib.Parallel(args.n_jobs, return_as="generator")(runs)
    table = pd.DataFrame(itertools.chain.from_iterable(tqdm(results, total=len(runs), desc="runs", disable=None)))
    counts = table.groupby(KEYS, sort=False)[COUNTS].sum().reset_index()
    args.folder.mkdir(parents=True, exist_ok=True)
    counts.to_csv(args.folder / "styles.csv", index=False)
    print("\n".join(sentences(counts)))
    return table


def all_styles() -> list[dict[str, Any]]:
    """Returns the first row of each style as a dictionary, with all its replacements under "replacements"."""
    styles = []
    for _, rows in STYLES.groupby(["learner", "style"], sort=False):
        replacements = list(zip(rows["text"], rows["replacement"], strict=True))
        styles.append(rows.iloc[0].to_dict() | {"replacements": replacements})
    return styles


def combinations() -> list[tuple[dict[str, Any], dict[str, str]]]:
    """Returns all pairs of a style and a bug of its learner whose text the style keeps.

    The bug "discount" is left out, because it is in what the diagnosis is told and not in the learner.
    """
    bugs = BUGS[BUGS["bug"] != "discount"].to_dict("records")
    return [
        (style, bug)
        for style in all_styles()
        for bug in bugs
        if bug["learner"] == style["learner"]
        and matrix.source_of(style["learner"], *style["replacements"]).count(bug["text"]) == 1
    ]


def train_and_diagnose(style: dict[str, Any], bug: dict[str, str], seed: int) -> list[dict[str, Any]]:
    """Trains one learner and returns its diagnoses, or an empty list if its bug does not change what it learns."""
    learner, name = style["learner"], style["style"]
    draws = random.Random(f"styles: {learner}, {name}, {matrix.seed_name(bug['bug'])}, {seed}")
    rules, moves, settings, told = matrix.draw_settings(learner, draws, float(style["discount"] or 0) or None)
    settings["seed"] = 1_000_000 + seed  # matrix.py uses the small seeds
    if style["opponent"] == "self":
        del told["opponent"]
    elif style["opponent"]:
        told["opponent"] = style["opponent"]
    train = load(learner, *style["replacements"], (bug["text"], bug["replacement"]))
    tables = [np.asarray(train(rules, round(share * moves), **settings, **told)) for share in SHARES]
    if bug["bug"]:
        correct = load(learner, *style["replacements"])(rules, moves, **settings, **told)
        if np.array_equal(tables[-1], correct, equal_nan=True):
            return []
    diagnoses = []
    for mode, arguments in (("not told", told), ("told", told | options_of(style))):
        for share, values, earlier in zip(SHARES, tables, (None, None, tables[1]), strict=True):
            diagnosis = evaluation.diagnose(rules, values, **arguments, earlier=earlier)
            names = sorted({matrix.SAME.get(finding, finding) for finding in diagnosis.findings})
            is_perfect = not bug["bug"] and evaluation.mastery(rules, player_of(rules, values)).expert == 1
            run_of = {key: style[key] for key in ("family", "learner", "style")}
            run_of |= {"bug": bug["bug"], "is_listed": bug["findings"] != "", "mode": mode, "share": share}
            result = {name: matrix.verdict(bug, names) == name for name in ("right", "none", "wrong")}
            result |= {"is_bug": diagnosis.result == "bug", "is_undecided": diagnosis.result == "undecided"}
            result |= {"wrong_for_sure": result["wrong"] and result["is_bug"], "is_perfect": is_perfect}
            result |= {"is_perfect_train_longer": is_perfect and "train longer" in names}
            diagnoses.append(run_of | result)
    return diagnoses


def options_of(style: dict[str, Any]) -> dict[str, Any]:
    """Returns what a user who knows the style would tell the diagnosis. An empty initial value is left out."""
    options: dict[str, Any] = {"on_policy": style["on_policy"] == "yes"}
    options["rewards"] = tuple(float(reward) for reward in style["rewards"].split(" / "))
    if style["initial"]:
        options["initial"] = float(style["initial"])
    return options


def player_of(rules: NimRules, values: np.ndarray) -> TabularPolicy:
    """Returns the greedy player of a learned table.

    If the table holds values of positions instead of actions, the player chooses the move that leaves the other
    player the position with the smallest value.
    """
    if values.ndim == 2:
        return policies.greedy(rules, values)
    positions = rules.all_positions()
    q_values = np.zeros((rules.n_positions, rules.n_actions))
    masks = rules.action_mask(positions)
    masks[0] = 0  # the game is over
    for index, action in np.argwhere(masks):
        after = int(rules.index(rules.apply(positions[index], action)))
        q_values[index, action] = -values[after] if after else rules.terminal_reward * np.abs(values).max()
    return policies.greedy(rules, q_values)


def sentences(counts: pd.DataFrame) -> list[str]:
    """Returns a summary of each mode with 95 % intervals (Wilson), in which bugs are counted after all moves."""
    lines = []
    for mode, of_mode in counts.groupby("mode", sort=False):
        correct = of_mode[of_mode["bug"] == ""]
        bugs = of_mode[(of_mode["bug"] != "") & (of_mode["share"] == 1)]
        listed, unlisted = bugs[bugs["is_listed"]], bugs[~bugs["is_listed"]]
        lines.append(f"{mode}:")
        families = correct.groupby("family", sort=False)
        for name, rows, column in (
            ("correct learners reported as buggy", correct, "is_bug"),
            *((f"- {family}", rows, "is_bug") for family, rows in families),
            ("correct learners undecided", correct, "is_undecided"),
            ("correct learners undecided after all moves", correct[correct["share"] == 1], "is_undecided"),
            ("listed bugs named", listed, "right"),
            ("listed bugs given no name", listed, "none"),
            ("listed bugs given a wrong name", listed, "wrong"),
            ("listed bugs reported as a bug", listed, "is_bug"),
            ("unlisted bugs given a name", unlisted, "wrong_for_sure"),
            ("unlisted bugs given a name, counting second readings", unlisted, "wrong"),
            ("unlisted bugs reported as a bug", unlisted, "is_bug"),
            ("unlisted bugs undecided", unlisted, "is_undecided"),
        ):
            hits, n = int(rows[column].sum()), int(rows[["right", "none", "wrong"]].to_numpy().sum())
            lines.append(matrix.sentence(name, hits, n))
        hits, n = int(correct["is_perfect_train_longer"].sum()), int(correct["is_perfect"].sum())
        lines.append(matrix.sentence("correct learners without a mistake that are told to train longer", hits, n))
    return lines


if __name__ == "__main__":
    run(main, Args)
