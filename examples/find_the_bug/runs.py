"""Trains learners, with or without a bug, and diagnoses them: what matrix.py and styles.py have in common.

The learners are the files of this folder. A bug is a text in a learner's file and another text that replaces it,
so the files themselves stay free of bugs. Each run draws a board and training settings at random, and
nim_env.evaluation.diagnose judges the learner after 5 %, 30 % and all of its moves.
"""

import inspect
import random
from collections.abc import Callable, Iterable
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
"""A row for each bug of a learner. "text" is replaced by "replacement". "findings" has the names under which the
diagnosis knows the bug, separated by " / ". It is empty if the bug is *unlisted*, that is, has no such name."""
NO_BUG = {"bug": "", "text": "", "replacement": "", "findings": "Bellman's equation"}
"""The row for a correct learner."""
BOARDS = [
    ((1, 2, 4), None),
    ((3, 5), None),
    ((2, 2, 3), None),
    ((6, 3), 4),
    ((1, 1, 1, 3), None),
    ((1, 3, 4), None),
]
"""The heaps and the max_take of the boards on which learners train."""
SHARES = (0.05, 0.3, 1.0)  # the fractions of the moves after which a learner is judged
MOVES = {"dqn": 20_000, "maskable_ppo": 60_000}
"""The training moves of the networks. A table gets 200 for each pair of a position and a legal action."""
SAME = {"maximum over illegal actions": "maximum that starts from 0"}
"""Bugs that cannot be told apart in a table, in which the values of illegal actions stay 0."""
NO_NAME = {"train longer", "untrained", "perfect play", "Bellman's equation", "a bug in no list"}
"""The findings of a diagnosis that do not name a bug."""
OUTCOMES = ["right", "none", "wrong"]
"""What a diagnosis names: the bug that the learner has, no bug, or only other bugs."""


class Style(NamedTuple):
    """A correct variant of a learner. Fields that are empty leave the learner as its file has it."""

    learner: str
    """The name of its file."""
    name: str = ""
    family: str = ""
    """The group of similar styles that it belongs to, such as "rewards"."""
    replacements: tuple[tuple[str, str], ...] = ()
    """Pairs of a text in the file and the text that replaces it, one after another."""
    opponent: str = ""
    """The opponent that it trains against, or "self"."""
    discount: str = ""
    facts: dict[str, Any] = {}
    """What the diagnosis is told in the mode "told": the rewards, the initial value and ``on_policy``."""


def run_all(tasks: Iterable[tuple[Style, dict[str, str], int]], n_jobs: int) -> pd.DataFrame:
    """Trains and diagnoses a learner for each style, bug and seed, and returns a row for each diagnosis."""
    runs = [joblib.delayed(train_and_diagnose)(*task) for task in tasks]
    results = joblib.Parallel(n_jobs, return_as="generator")(runs)
    progress = tqdm(results, total=len(runs), desc="runs", disable=None)
    return pd.DataFrame([row for rows in progress for row in rows])


def train_and_diagnose(style: Style, bug: dict[str, str], seed: int) -> list[dict[str, Any]]:
    """Trains a learner with a bug, which is a row of BUGS, and returns a row for each diagnosis.

    The list is empty if a bug in a named style does not change what the learner learns.
    """
    rules, moves, settings, told = draw_settings(style, bug["bug"], seed)
    train = load(style.learner, *style.replacements, (bug["text"], bug["replacement"]))
    trained = [train(rules, round(share * moves), **settings, **told) for share in SHARES]
    players, tables = zip(*[player_and_values(style.learner, rules, result) for result in trained], strict=True)
    if style.name and bug["bug"]:
        correct = load(style.learner, *style.replacements)(rules, moves, **settings, **told)
        if np.array_equal(tables[-1], correct, equal_nan=True):
            return []
    modes = {"not told": told}
    if style.facts:
        modes["told"] = told | style.facts
    run_of = {"family": style.family, "learner": style.learner, "style": style.name}
    run_of |= {"bug": bug["bug"], "is_listed": bug["findings"] != ""}
    diagnoses = []
    for mode, facts in modes.items():
        for i, share in enumerate(SHARES):
            earlier = tables[i - 1] if share == 1 else None
            row = diagnose(style.learner, bug, rules, players[i], tables[i], **facts, earlier=earlier)
            diagnoses.append(run_of | {"mode": mode, "share": share} | row)
    return diagnoses


def load(learner: str, *replacements: tuple[str, str]) -> Callable[..., Any]:
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


def draw_settings(style: Style, bug: str, seed: int) -> tuple[NimRules, int, dict[str, Any], dict[str, Any]]:
    """Draws a board and training settings at random. The style, the name of the bug and the seed determine them.

    Returns the rules, the number of moves, the settings that the diagnosis is not told, and those that it is told.
    """
    learner = style.learner
    name = f"styles: {learner}, {style.name}" if style.name else learner
    draws = random.Random(f"{name}, {bug}, {seed}")
    rules = NimRules(*draws.choice(BOARDS), misere=draws.random() < 0.5)
    moves = MOVES.get(learner, 200 * int(rules.action_mask(rules.all_positions()).sum()))
    settings: dict[str, Any] = {"seed": 1_000_000 + seed if style.name else seed}  # never the same in both studies
    told: dict[str, Any] = {}
    if learner != "maskable_ppo":
        settings["exploration"] = draws.choice((0.05, 0.1, 0.3, 0.5))
        if bug == "discount":
            told["discount"] = 1.0  # the learner with this bug uses 0.9
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


def player_and_values(learner: str, rules: NimRules, trained: Any) -> tuple[TabularPolicy, np.ndarray]:
    """Returns the greedy player of a trained learner, and the learner's values, given the result of its training.

    The values are Q-values, or values of positions if the training returns those.
    """
    if learner == "maskable_ppo":  # it returns the actions of its actor and the values of its critic
        actions, values = trained
        return TabularPolicy(rules, np.eye(rules.n_actions)[actions]), values
    values = q_values = np.asarray(trained)
    if values.ndim == 1:  # values of positions; the player moves to the one that is worst for the opponent
        afterstates = -values
        afterstates[0] = rules.terminal_reward * np.abs(values).max()  # the game is over
        q_values = Solution(rules, afterstates).q_values(rules.all_positions())
    return policies.greedy(rules, q_values), values


def diagnose(
    learner: str, bug: dict[str, str], rules: NimRules, player: TabularPolicy, values: np.ndarray, **facts: Any
) -> dict[str, bool | int]:
    """Diagnoses a trained learner, and returns what the diagnosis says and whether that is right.

    ``facts`` are the arguments of nim_env.evaluation.diagnose that describe the training.
    """
    diagnosis = evaluation.diagnose(rules, values, **facts)
    findings = diagnosis.findings
    if evaluation.diagnose_moves(rules, player).findings == ("no mask at prediction",):
        findings = ("no mask at prediction",)
    names = {name if learner in MOVES else SAME.get(name, name) for name in findings}
    outcome = outcome_of(names, bug)
    is_bug = diagnosis.result == "bug"
    is_perfect = not bug["bug"] and evaluation.mastery(rules, player).expert == 1
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
    """Returns whether the names in a diagnosis are "right", "none" or "wrong" for a learner with this bug.

    An unlisted bug has no right name. But its values can really be out of range, whatever the bug is.
    """
    if names & set(bug["findings"].split(" / ")):
        return "right"
    harmless = NO_NAME if bug["findings"] else NO_NAME | {"values out of range"}
    return "none" if names <= harmless else "wrong"


def rate(name: str, rows: pd.DataFrame, column: str, of: list[str] = OUTCOMES) -> str:
    """Writes how many runs a column counts, with the 95 % interval of their share (Wilson), in a line of text.

    ``of`` are the columns whose sum is the number of all runs.
    """
    hits, n = int(rows[column].sum()), int(rows[of].to_numpy().sum())
    low, high = evaluation.MatchResult(hits, n).interval()
    return f"{name}: {hits:,} of {n:,} ({100 * low:.2f} to {100 * high:.2f} %)"
