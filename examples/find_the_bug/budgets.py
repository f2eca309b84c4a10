"""Measures how much training a test of a learner needs, and how often such a test is wrong, on 1-2-3.

Three learners of this folder train with many seeds, both without a bug and with each of their bugs in bugs.csv.
nim_env.testing.assert_learns then tests them twice, by their moves alone and by their moves and values. The
script prints and saves a table with a row for each learner and bug: how many seeds pass each test, and the median
training time in seconds of processor time. docs/test_suite.md discusses the results.

    cd examples
    OMP_NUM_THREADS=1 python -m find_the_bug.budgets

Install: pip install -e ".[examples,sb3]"
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import run

import numpy as np
import pandas as pd
from tqdm import tqdm

from nim_env import NimRules, TabularPolicy, policies
from nim_env.testing import assert_learns

from find_the_bug.runs import BUGS, NO_BUG, load

RULES = NimRules((1, 2, 3))
MOVES = {"q_learning": 5_000, "dqn": 30_000, "maskable_ppo": 30_000}
SEEDS = {"q_learning": (1_000, 200), "dqn": (200, 30), "maskable_ppo": (100, 30)}  # without a bug, with each bug
TOLD: dict[str, Any] = {  # what the diagnosis is told about each learner
    "q_learning": {"rewards": (1, -1), "initial": 0.0, "on_policy": False},
    "dqn": {"rewards": (1, -1), "on_policy": False, "opponent": "random"},
    "maskable_ppo": {"rewards": (1, -1)},
}


@dataclass
class Args:
    share: float = 1.0
    """The fraction of the seeds to run, from 0 to 1."""
    folder: Path = Path("results/test_budgets")
    """The folder where the table is saved, again after each row."""


def main(args: Args) -> pd.DataFrame:
    """Tests all learners and returns a row for each learner and bug, with the number of seeds that pass."""
    args.folder.mkdir(parents=True, exist_ok=True)
    correct = [{"learner": learner} | NO_BUG for learner in MOVES]
    with_bug = BUGS[BUGS["learner"].isin(MOVES)].to_dict("records")
    table = []
    for row in tqdm(correct + with_bug, disable=None):
        learner, bug = row["learner"], row["bug"]
        n_correct, n_bug = SEEDS[learner]
        n_seeds = max(1, round(args.share * (n_bug if bug else n_correct)))
        results = [train_and_test(learner, (row["text"], row["replacement"]), seed) for seed in range(n_seeds)]
        seconds, by_moves, by_values = zip(*results, strict=True)
        counts = {"seeds": n_seeds, "pass_by_moves": sum(by_moves), "pass_by_values": sum(by_values)}
        median = round(float(np.median(seconds)), 2)
        table.append({"learner": learner, "bug": bug, "moves": MOVES[learner], **counts, "seconds": median})
        pd.DataFrame(table).to_csv(args.folder / "test_budgets.csv", index=False)
    print(pd.DataFrame(table).to_string(index=False))
    return pd.DataFrame(table)


def train_and_test(learner: str, replacement: tuple[str, str], seed: int) -> tuple[float, bool, bool]:
    """Trains a learner, with a text of its file replaced, and tests it.

    Returns:
        The processor time of the training in seconds, whether the learner passes by its moves alone, and whether
        it passes by its moves and values.
    """
    start = time.process_time()
    trained = load(learner, replacement)(RULES, MOVES[learner], seed=seed)
    seconds = time.process_time() - start
    if learner == "maskable_ppo":  # it has values of positions, and a network of its own for the moves
        actions, values = trained
        player = TabularPolicy(RULES, np.eye(RULES.n_actions)[actions])
    else:
        values = trained
        player = policies.greedy(RULES, values)
    return seconds, passes(learner, player), passes(learner, (player, values))


def passes(learner: str, trained: Any) -> bool:
    """Returns whether a trained player, or a pair of a player and its values, passes the test."""
    try:
        assert_learns(lambda _: trained, rules=RULES, seeds=1, **TOLD[learner])
    except AssertionError:
        return False
    return True


if __name__ == "__main__":
    run(main, Args)
