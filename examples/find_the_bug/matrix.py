"""Measures how often the diagnosis names the bug of a learner, and how often it accuses a correct learner.

Six files in this folder are clean learners. Each row of bugs.csv gives one of them a bug that people have met in
practice, by replacing one text in its file. The learners train on boards and with settings drawn at random.
nim_env.evaluation.diagnose, which is told the opponent and the discount, judges them after 5 %, 30 % and all of
their moves. The script saves the counts and prints a summary of the tabular learners.
docs/experiments/diagnosis.md discusses the results.

    cd examples
    python -m find_the_bug.matrix
    python -m find_the_bug.matrix --styles --n-correct 15 --n-bug 2

With --styles, tabular learners are trained in the styles of styles.csv. A style has other rewards, initial values,
exploration or step sizes, learns on-policy, or plays only one side of the game, and leaves the learner correct. It
is also combined with every bug whose text it keeps. These learners are judged in two modes: "not told" as above,
and "told" also the rewards, the initial value and whether the learner is on-policy.

Install: pip install -e ".[examples,sb3]"
"""

import inspect
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import run

import joblib
import numpy as np
import pandas as pd
from tqdm import tqdm

from nim_env import NimRules, TabularPolicy, evaluation, policies
from nim_env.solver import Solution

HERE = Path(__file__).parent
BUGS = pd.read_csv(HERE / "bugs.csv", keep_default_na=False)
STYLES = pd.read_csv(HERE / "styles.csv", keep_default_na=False)
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
MOVES = {"dqn": 20_000, "maskable_ppo": 60_000}  # a table gets 200 for each legal pair of a position and an action
# in a table the values of illegal actions stay 0, so these two bugs cannot be told apart
SAME = {"maximum over illegal actions": "maximum that starts from 0"}
NO_NAME = {"train longer", "untrained", "perfect play", "Bellman's equation", "a bug in no list"}
# true of the values whatever the bug is, so it does not count as naming an unlisted bug
SYMPTOM = "values out of range"
OUTCOMES = ["right", "none", "wrong"]
BUG_KEYS = ["learner", "bug", "is_listed", "share"]
BUG_COUNTS = [*OUTCOMES, "told_bug", "told_no_bug", "wrong_for_sure", "witness", "names"]
STYLE_KEYS = ["family", "learner", "style", "bug", "is_listed", "mode", "share"]
STYLE_COUNTS = [*OUTCOMES, "wrong_for_sure", "is_bug", "is_undecided", "is_perfect", "is_perfect_train_longer"]


@dataclass
class Args:
    styles: bool = False
    """Whether to train learners in many styles instead of the learners as they are."""
    n_correct: int = 250
    """The number of runs of each correct tabular learner; each correct network gets a thirtieth of it."""
    n_bug: int = 20
    """The number of runs of each bug in a tabular learner; each bug in a network gets a fifth of it."""
    n_jobs: int = -1
    """The number of runs in parallel; -1 for one per core."""
    folder: Path = Path("results/find_the_bug")


def main(args: Args) -> pd.DataFrame:
    """Trains and judges all learners, and returns a row for each diagnosis."""
    runs = [joblib.delayed(train_and_diagnose)(*task) for task in all_tasks(args)]
    results = joblib.Parallel(args.n_jobs, return_as="generator")(runs)
    table = pd.DataFrame(itertools.chain.from_iterable(tqdm(results, total=len(runs), desc="runs", disable=None)))
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.styles:
        counts = table.rename(columns={"told_bug": "is_bug"}).groupby(STYLE_KEYS, sort=False)[STYLE_COUNTS].sum()
        counts = counts.reset_index()
        counts.to_csv(args.folder / "styles.csv", index=False)
        print("\n".join(summary_of_styles(counts)))
    else:
        counts = table.groupby(BUG_KEYS)[BUG_COUNTS].sum().reset_index()
        counts.to_csv(args.folder / "find_the_bug.csv", index=False)
        print(counts.to_string(index=False))
        print("\n".join(summary_of_bugs(counts)))
    return table


# --- The learners, each a dictionary of its style and a dictionary of its bug ---------------------


def all_tasks(args: Args) -> Iterator[tuple[dict[str, Any], dict[str, Any], int]]:
    """Yields the style, the bug and the seed of each run."""
    styles = all_styles() if args.styles else [unchanged(learner) for learner in BUGS["learner"].unique()]
    for style, bug in [(style, NO_BUG) for style in styles] + bugs_in_styles(styles):
        n_runs = args.n_bug if bug["bug"] else args.n_correct
        if style["learner"] in MOVES:
            n_runs //= 5 if bug["bug"] else 30
        for seed in range(n_runs):
            yield style, bug, seed


def unchanged(learner: str) -> dict[str, Any]:
    """Returns the style of a learner as it is in its file."""
    return {"learner": learner, "style": "", "family": "", "opponent": "", "discount": "", "replacements": []}


def all_styles() -> list[dict[str, Any]]:
    """Returns the first row of each style in styles.csv, with all its replacements under "replacements"."""
    styles = []
    for _, rows in STYLES.groupby(["learner", "style"], sort=False):
        replacements = list(zip(rows["text"], rows["replacement"], strict=True))
        styles.append(rows.iloc[0].to_dict() | {"replacements": replacements})
    return styles


def bugs_in_styles(styles: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Returns all pairs of a style and a bug of its learner whose text the style keeps.

    In the styles of styles.csv the bug "discount" is left out, because it is in what the diagnosis is told and not
    in the learner.
    """
    return [
        (style, bug)
        for style in styles
        for bug in BUGS.to_dict("records")
        if bug["learner"] == style["learner"]
        and not (style["style"] and bug["bug"] == "discount")
        and source_of(style["learner"], *style["replacements"]).count(bug["text"]) == 1
    ]


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


# --- One run --------------------------------------------------------------------------------------


def train_and_diagnose(style: dict[str, Any], bug: dict[str, Any], seed: int) -> list[dict[str, Any]]:
    """Trains a learner with settings drawn by the seed.

    Returns its diagnoses, or an empty list if the bug does not change what is learned in a style of styles.csv.
    """
    learner, replacements = style["learner"], style["replacements"]
    rules, moves, settings, told = draw_settings(style, bug["bug"], seed)
    train = load(learner, *replacements, (bug["text"], bug["replacement"]))
    trained = [train(rules, round(share * moves), **settings, **told) for share in SHARES]
    if learner != "maskable_ppo":  # which returns its actions and its values
        trained = [(None, np.asarray(values)) for values in trained]
    if style["style"] and bug["bug"]:  # in a style, a bug can be without consequences
        correct = load(learner, *replacements)(rules, moves, **settings, **told)
        if np.array_equal(trained[-1][1], correct, equal_nan=True):
            return []
    modes = {"not told": told}
    if style["style"]:
        modes["told"] = told | options_of(style)
    diagnoses = []
    for mode, arguments in modes.items():
        run_of = {key: style[key] for key in ("family", "learner", "style")}
        run_of |= {"bug": bug["bug"], "is_listed": bug["findings"] != "", "mode": mode}
        for i, share in enumerate(SHARES):
            earlier = trained[i - 1][1] if share == 1 else None
            row = diagnose(learner, bug, rules, *trained[i], **arguments, earlier=earlier)
            diagnoses.append(run_of | {"share": share} | row)
    return diagnoses


def diagnose(
    learner: str, bug: dict[str, Any], rules: NimRules, actions: Any, values: np.ndarray, **arguments: Any
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
    if names & {*bug["findings"].split(" / ")}:
        outcome = "right"
    elif names <= (NO_NAME if bug["findings"] else {SYMPTOM, *NO_NAME}):
        outcome = "none"  # it does not name a bug
    else:
        outcome = "wrong"  # also any name of a bug that is not in the list
    is_bug = diagnosis.result == "bug"
    is_perfect = not bug["bug"] and evaluation.mastery(rules, player_of(rules, values)).expert == 1
    return {name: name == outcome for name in OUTCOMES} | {
        "told_bug": is_bug,
        "told_no_bug": diagnosis.result == "no bug found",
        "is_undecided": diagnosis.result == "undecided",
        "wrong_for_sure": outcome == "wrong" and is_bug,
        "witness": diagnosis.witness is not None,
        "names": len(names) if outcome == "right" else 0,
        "is_perfect": is_perfect,
        "is_perfect_train_longer": is_perfect and "train longer" in names,
    }


def draw_settings(
    style: dict[str, Any], bug: str, seed: int
) -> tuple[NimRules, int, dict[str, Any], dict[str, Any]]:
    """Draws a board and training settings.

    Returns:
        The rules, the number of moves, the settings that the diagnosis is not told, and those that it is told.
    """
    learner = style["learner"]
    study = f"styles: {learner}, {style['style']}" if style["style"] else learner
    bug_in_seed = bug.replace("instead of", "in place of")  # two bugs were renamed after the published runs
    draws = random.Random(f"{study}, {bug_in_seed}, {seed}")
    rules = NimRules(*draws.choice(BOARDS), misere=draws.random() < 0.5)
    moves = MOVES.get(learner, 200 * int(rules.action_mask(rules.all_positions()).sum()))
    settings: dict[str, Any] = {"seed": 1_000_000 + seed if style["style"] else seed}
    told: dict[str, Any] = {}
    if learner != "maskable_ppo":
        settings["exploration"] = draws.choice((0.05, 0.1, 0.3, 0.5))
        if bug == "discount":
            told["discount"] = 1.0
        elif style["discount"]:
            told["discount"] = float(style["discount"])
        else:
            told["discount"] = draws.choice((0.8, 0.9, 0.95, 0.99, 1.0, 1.0))
    if learner not in MOVES:
        settings["learning_rate"] = draws.choice((0.05, 0.1, 0.2, 0.5, 1.0))
    if "opponent" in inspect.signature(load(learner)).parameters:
        told["opponent"] = draws.choice(("random", "take-1", "take-3", "expert"))
    if style["opponent"] == "self":
        del told["opponent"]
    elif style["opponent"]:
        told["opponent"] = style["opponent"]
    return rules, moves, settings, told


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
    if values.ndim == 1:
        afterstates = -values
        afterstates[0] = rules.terminal_reward * np.abs(values).max()  # the game is over
        values = Solution(rules, afterstates).q_values(rules.all_positions())
    return policies.greedy(rules, values)


# --- All runs -------------------------------------------------------------------------------------


def summary_of_bugs(counts: pd.DataFrame) -> list[str]:
    """Returns a summary of the tabular learners, in which bugs are counted after all moves."""
    tables = counts[~counts["learner"].isin(MOVES)]
    ended = tables[tables["share"] == 1]
    correct = tables[tables["bug"] == ""]
    listed = ended[ended["is_listed"] & ~ended["bug"].isin(["", "discount"])]
    outside = ended[~ended["is_listed"]]
    return [
        rate("correct learners reported as buggy", correct, "told_bug"),
        rate("correct learners with a witness", correct, "witness"),
        rate("listed bugs named", listed, "right"),
        rate("listed bugs given a wrong name", listed, "wrong"),
        rate("unlisted bugs reported as no bug", outside, "told_no_bug"),
        rate("unlisted bugs given a name", outside, "wrong_for_sure"),
        rate("unlisted bugs given a name, counting second possibilities", outside, "wrong"),
        rate("unlisted bugs with a witness", outside, "witness"),
        f"names per listed bug that is named: {listed['names'].sum() / listed['right'].sum():.2f}",
    ]


def summary_of_styles(counts: pd.DataFrame) -> list[str]:
    """Returns a summary of each mode, in which bugs are counted after all moves."""
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


def rate(name: str, rows: pd.DataFrame, column: str, of: list[str] = OUTCOMES) -> str:
    """Returns the share of runs that a column counts as a line of text, with its 95 % interval (Wilson)."""
    hits, n = int(rows[column].sum()), int(rows[of].to_numpy().sum())
    low, high = evaluation.MatchResult(hits, n).interval()
    return f"{name}: {hits:,} of {n:,} ({100 * low:.2f} to {100 * high:.2f} %)"


if __name__ == "__main__":
    run(main, Args)
