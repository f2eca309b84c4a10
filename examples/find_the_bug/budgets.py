"""Measures how often nim_env.testing.assert_learns passes correct learners, and learners with a bug, on 1-2-3.

Three learners of this folder train with many seeds, both without a bug and with each of their bugs in bugs.csv.
The test judges each of them twice, by its moves alone, and by its moves and values. The script prints and saves a
table with a row for each learner and bug: how many seeds pass each test, and the median time of a training in
seconds of processor time. docs/test_suite.md discusses the results. It takes ten minutes on one core.

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

from nim_env import NimRules
from nim_env.testing import assert_learns

from find_the_bug.runs import BUGS, NO_BUG, load, player_and_values

RULES = NimRules((1, 2, 3))
MOVES = {"q_learning": 5_000, "dqn": 30_000, "maskable_ppo": 30_000}
SEEDS = {"q_learning": (400, 80), "dqn": (80, 12), "maskable_ppo": (40, 12)}  # without a bug, with each bug
FACTS: dict[str, Any] = {  # what the test is told about each learner
    "q_learning": {"rewards": (1, -1), "initial": 0.0, "on_policy": False},
    "dqn": {"rewards": (1, -1), "on_policy": False, "opponent": "random"},
    "maskable_ppo": {"rewards": (1, -1)},
}


@dataclass
class Args:
    folder: Path = Path("results/test_budgets")


def main(args: Args) -> pd.DataFrame:
    """Trains and tests all learners, and saves and returns the table."""
    correct = [{"learner": learner} | NO_BUG for learner in MOVES]
    with_bug = BUGS[BUGS["learner"].isin(MOVES)].to_dict("records")
    rows = []
    for bug in tqdm(correct + with_bug, disable=None):
        learner = bug["learner"]
        n_correct, n_bug = SEEDS[learner]
        results = [train_and_test(bug, seed) for seed in range(n_bug if bug["bug"] else n_correct)]
        seconds, by_moves, by_values = zip(*results, strict=True)
        row = {
            "learner": learner,
            "bug": bug["bug"],
            "moves": MOVES[learner],
            "seeds": len(results),
            "pass_by_moves": sum(by_moves),
            "pass_by_values": sum(by_values),
            "seconds": round(float(np.median(seconds)), 2),
        }
        rows.append(row)
    table = pd.DataFrame(rows)
    args.folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(args.folder / "test_budgets.csv", index=False)
    print(table.to_string(index=False))
    return table


def train_and_test(bug: dict[str, str], seed: int) -> tuple[float, bool, bool]:
    """Trains a learner with a bug, which is a row of BUGS, and tests it.

    Returns the processor time of the training in seconds, whether the learner passes by its moves alone, and
    whether it passes by its moves and values.
    """
    learner = bug["learner"]
    start = time.process_time()
    trained = load(learner, (bug["text"], bug["replacement"]))(RULES, MOVES[learner], seed=seed)
    seconds = time.process_time() - start
    player, values = player_and_values(learner, RULES, trained)
    return seconds, passes(player, FACTS[learner]), passes((player, values), FACTS[learner])


def passes(trained: Any, facts: dict[str, Any]) -> bool:
    """Returns whether a player, or a pair of a player and its values, passes the test."""
    try:
        assert_learns(lambda _: trained, rules=RULES, seeds=1, **facts)
    except AssertionError:
        return False
    return True


if __name__ == "__main__":
    run(main, Args)
