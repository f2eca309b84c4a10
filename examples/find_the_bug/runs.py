"""One run of matrix.py and of styles.py: it trains a learner with settings drawn by a seed, and diagnoses it.

Six files of this folder are correct learners. A bug and a style replace texts in a learner's file. The learner is
judged by nim_env.evaluation.diagnose after 5 %, 30 % and all of its moves.
"""

import inspect
import itertools
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
from tqdm import tqdm

from nim_env import NimRules, TabularPolicy, evaluation, policies
from nim_env.solver import Solution

HERE = Path(__file__).parent
BUGS = pd.read_csv(HERE / "bugs.csv", keep_default_na=False)
NO_BUG = {"bug": "", "text": "", "replacement": "", "findings": "Bellman's equation"}  # a correct learner
BOARDS = [  # heaps and max_take
    ((1, 2, 4), None),
    ((3, 5), None),
    ((2, 2, 3), None),
    ((6, 3), 4),
    ((1, 1, 1, 3), None),
    ((1, 3, 4), None),
]
SHARES = (0.05, 0.3, 1.0)  # the fractions of the moves after which a learner is judged
MOVES = {"dqn": 20_000, "maskable_ppo": 60_000}
"""The training moves of the networks. A table gets 200 for each legal pair of a position and an action."""
SAME = {"maximum over illegal actions": "maximum that starts from 0"}
"""Bugs that cannot be told apart in a table, in which the values of illegal actions stay 0."""
NO_NAME = {"train longer", "untrained", "perfect play", "Bellman's equation", "a bug in no list"}
"""The findings that do not name a bug."""
SYMPTOM = "values out of range"
"""A finding that is true of the values whatever the bug is, so it does not count as naming an unlisted bug."""
OUTCOMES = ["right", "none", "wrong"]
"""What the diagnosis names: the bug of the learner, no bug, or only other bugs."""


class Style(NamedTuple):
    """How a learner differs from its file, apart from a bug. Empty fields leave it as it is."""

    learner: str
    """The name of its file."""
    name: str = ""
    family: str = ""
    replacements: tuple[tuple[str, str], ...] = ()
    """Pairs of a text in the file and the text that replaces it, one after another."""
    opponent: str = ""
    """The opponent that it trains against, or "self"."""
    discount: str = ""
    options: dict[str, Any] = {}
    """What the diagnosis is told in the mode "told": the rewards, the initial value and ``on_policy``."""


def run_all(tasks: Iterable[tuple[Style, dict[str, str], int]], n_jobs: int) -> pd.DataFrame:
    """Trains and judges a learner for each style, bug and seed, and returns a row for each diagnosis."""
    runs = [joblib.delayed(train_and_diagnose)(*task) for task in tasks]
    results = joblib.Parallel(n_jobs, return_as="generator")(runs)
    return pd.DataFrame(itertools.chain.from_iterable(tqdm(results, total=len(runs), desc="runs", disable=None)))


def train_and_diagnose(style: Style, bug: dict[str, str], seed: int) -> list[dict[str, Any]]:
    """Trains a learner with a bug, which is a row of bugs.csv, and returns its diagnoses.

    Returns an empty list if the learner has a style with a name and the bug does not change what it learns.
    """
    rules, moves, settings, told = draw_settings(style, bug["bug"], seed)
    train = load(style.learner, *style.replacements, (bug["text"], bug["replacement"]))
    trained = [train(rules, round(share * moves), **settings, **told) for share in SHARES]
    if style.learner != "maskable_ppo":  # which returns its actions and its values
        trained = [(None, np.asarray(values)) for values in trained]
    if style.name and bug["bug"]:
        correct = load(style.learner, *style.replacements)(rules, moves, **settings, **told)
        if np.array_equal(trained[-1][1], correct, equal_nan=True):
            return []
    modes = {"not told": told}
    if style.options:
        modes["told"] = told | style.options
    diagnoses = []
    for mode, arguments in modes.items():
        run_of = {"family": style.family, "learner": style.learner, "style": style.name}
        run_of |= {"bug": bug["bug"], "is_listed": bug["findings"] != "", "mode": mode}
        for i, share in enumerate(SHARES):
            earlier = trained[i - 1][1] if share == 1 else None
            row = diagnose(style.learner, bug, rules, *trained[i], **arguments, earlier=earlier)
            diagnoses.append(run_of | {"share": share} | row)
    return diagnoses


def load(learner: str, *replacements: tuple[str, str]) -> Any:
    """Returns the function ``train`` of a learner, with texts of its source code replaced one after another."""
    names: dict[str, Any] = {}
    exec(compile(source_of(learner, *replacements), learner, "exec"), names)
    return names["train"]


def source_of(learner: str, *replacements: tuple[str, str]) -> str:
    """Returns the source code of a learner, with texts replaced one after another."""
    source = (HERE / f"{learner}.py").read_text(encoding="utf-8")
    for text, replacement in replacements:
        if text not in source:
            raise ValueError(f"{learner}.py does not contain the text to replace: {text}")
        source = source.replace(text, replacement, 1)
    return source


def diagnose(
    learner: str, bug: dict[str, str], rules: NimRules, actions: Any, values: np.ndarray, **arguments: Any
) -> dict[str, bool | int]:
    """Returns what the diagnosis says about a trained learner, and whether that is right.

    ``actions`` is None if the learner acts by its values.
    """
    diagnosis = evaluation.diagnose(rules, values, **arguments)
    findings = diagnosis.findings
    if actions is not None:
        player = TabularPolicy(rules, np.eye(rules.n_actions)[actions])
        if evaluation.diagnose_moves(rules, player).findings == ("no mask at prediction",):
            findings = ("no mask at prediction",)
    names = {name if learner in MOVES else SAME.get(name, name) for name in findings}
    outcome = outcome_of(names, bug)
    is_bug = diagnosis.result == "bug"
    is_perfect = not bug["bug"] and evaluation.mastery(rules, player_of(rules, values)).expert == 1
    return {name: name == outcome for name in OUTCOMES} | {
        "is_bug": is_bug,
        "is_no_bug": diagnosis.result == "no bug found",
        "is_undecided": diagnosis.result == "undecided",
        "wrong_for_sure": outcome == "wrong" and is_bug,
        "witness": diagnosis.witness is not None,
        "names": len(names) if outcome == "right" else 0,
        "is_perfect": is_perfect,
        "is_perfect_train_longer": is_perfect and "train longer" in names,
    }


def outcome_of(names: set[str], bug: dict[str, str]) -> str:
    """Returns which of ``OUTCOMES`` the names in a diagnosis are. A bug that is not listed has no right name."""
    if names & {*bug["findings"].split(" / ")}:
        return "right"
    return "none" if names <= (NO_NAME if bug["findings"] else {SYMPTOM, *NO_NAME}) else "wrong"


def draw_settings(style: Style, bug: str, seed: int) -> tuple[NimRules, int, dict[str, Any], dict[str, Any]]:
    """Draws a board and training settings.

    Returns:
        The rules, the number of moves, the settings that the diagnosis is not told, and those that it is told.
    """
    learner = style.learner
    study = f"styles: {learner}, {style.name}" if style.name else learner
    bug_in_seed = bug.replace("instead of", "in place of")  # two bugs were renamed after the published runs
    draws = random.Random(f"{study}, {bug_in_seed}, {seed}")
    rules = NimRules(*draws.choice(BOARDS), misere=draws.random() < 0.5)
    moves = MOVES.get(learner, 200 * int(rules.action_mask(rules.all_positions()).sum()))
    settings: dict[str, Any] = {"seed": 1_000_000 + seed if style.name else seed}
    told: dict[str, Any] = {}
    if learner != "maskable_ppo":
        settings["exploration"] = draws.choice((0.05, 0.1, 0.3, 0.5))
        if bug == "discount":
            told["discount"] = 1.0
        elif style.discount:
            told["discount"] = float(style.discount)
        else:
            told["discount"] = draws.choice((0.8, 0.9, 0.95, 0.99, 1.0, 1.0))
    if learner not in MOVES:
        settings["learning_rate"] = draws.choice((0.05, 0.1, 0.2, 0.5, 1.0))
    if "opponent" in inspect.signature(load(learner)).parameters:
        told["opponent"] = draws.choice(("random", "take-1", "take-3", "expert"))
    if style.opponent == "self":
        del told["opponent"]
    elif style.opponent:
        told["opponent"] = style.opponent
    return rules, moves, settings, told


def player_of(rules: NimRules, values: np.ndarray) -> TabularPolicy:
    """Returns the greedy player of a learned table.

    If the table holds values of positions instead of actions, the player chooses the move that leaves the other
    player the position with the smallest value.
    """
    if values.ndim == 1:
        afterstates = -values
        afterstates[0] = rules.terminal_reward * np.abs(values).max()  # the game is over
        values = Solution(rules, afterstates).q_values(rules.all_positions())
    return policies.greedy(rules, values)


def rate(name: str, rows: pd.DataFrame, column: str, of: list[str] = OUTCOMES) -> str:
    """Returns the share of runs that a column counts as a line of text, with its 95 % interval (Wilson)."""
    hits, n = int(rows[column].sum()), int(rows[of].to_numpy().sum())
    low, high = evaluation.MatchResult(hits, n).interval()
    return f"{name}: {hits:,} of {n:,} ({100 * low:.2f} to {100 * high:.2f} %)"
