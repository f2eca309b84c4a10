"""How much training a test of a learner needs, and how often it is wrong, on 1-2-3.

nim_env.testing.assert_learns judges learners of this folder with many seeds, without a bug and with each bug of
bugs.csv, by their moves alone and by their values as well. docs/test_suite.md has the results.

    cd examples
    OMP_NUM_THREADS=1 python -m find_the_bug.budgets

Install: pip install -e ".[examples,sb3]"
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import install_hint  # noqa: F401  says what to install if a package is missing

import numpy as np
import pandas as pd
from tqdm import tqdm

from nim_env import NimRules, TabularPolicy
from nim_env.testing import assert_learns

from command_line import run
from find_the_bug.matrix import BUGS, load

RULES = NimRules((1, 2, 3))
MOVES = {"q_learning": 5_000, "dqn": 30_000, "maskable_ppo": 30_000}
SEEDS = {"q_learning": (1_000, 200), "dqn": (200, 30), "maskable_ppo": (100, 30)}  # without and with a bug
TOLD: dict[str, Any] = {  # what the diagnosis is told of each learner
    "q_learning": {"rewards": (1, -1), "initial": 0.0, "on_policy": False},
    "dqn": {"rewards": (1, -1), "on_policy": False, "opponent": "random"},
    "maskable_ppo": {"rewards": (1, -1)},
}


@dataclass
class Args:
    share: float = 1.0
    """The share of the seeds."""
    folder: Path = Path("results/test_budgets")
    """Where the table is saved, after each of its rows."""


def main(args: Args) -> pd.DataFrame:
    """Judges all learners and returns a row for each, with its number of seeds that pass."""
    args.folder.mkdir(parents=True, exist_ok=True)
    correct = [{"learner": learner, "bug": "", "text": "", "replacement": ""} for learner in MOVES]
    table = []
    for row in tqdm(correct + BUGS[BUGS["learner"].isin(MOVES)].to_dict("records"), disable=None):
        moves = MOVES[row["learner"]]
        n_correct, n_bug = SEEDS[row["learner"]]
        seeds = range(round(args.share * (n_bug if row["bug"] else n_correct)))
        seconds, by_moves, by_values = zip(*(judge(row, moves, seed) for seed in seeds), strict=True)
        counts = {"pass_by_moves": sum(by_moves), "pass_by_values": sum(by_values)}
        run_of = {"learner": row["learner"], "bug": row["bug"], "moves": moves, "seeds": len(seeds)}
        table.append(run_of | counts | {"seconds": round(float(np.median(seconds)), 2)})
        pd.DataFrame(table).to_csv(args.folder / "test_budgets.csv", index=False)
    print(pd.DataFrame(table).to_string(index=False))
    return pd.DataFrame(table)


def judge(row: dict[str, str], moves: int, seed: int) -> tuple[float, bool, bool]:
    """The seconds of a training, and whether its learner passes by its moves, and by its values too."""
    start = time.process_time()
    trained = load(row["learner"], (row["text"], row["replacement"]))(RULES, moves, seed=seed)
    seconds = time.process_time() - start
    if row["learner"] == "maskable_ppo":
        actions, values = trained
    else:
        values = trained
        actions = np.where(RULES.action_mask(RULES.all_positions()), values, -np.inf).argmax(axis=1)
    player = TabularPolicy(RULES, np.eye(RULES.n_actions)[actions])
    return seconds, passes(row["learner"], player), passes(row["learner"], (player, values))


def passes(learner: str, trained: Any) -> bool:
    """Whether one trained learner passes."""
    try:
        assert_learns(lambda _: trained, rules=RULES, seeds=1, **TOLD[learner])
    except AssertionError:
        return False
    return True


if __name__ == "__main__":
    run(main, Args)
