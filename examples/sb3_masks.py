"""What an action mask is worth: DQN and PPO without masks beside MaskablePPO with them, on one game at one budget.

All learn from random starts against the same opponent, with the same network; PPO and MaskablePPO differ in the
mask alone. Without a mask an illegal move loses the game on the spot, so what is legal has to be learnt as well.
The figure shows in what share of all winning positions the best move of each wins, exactly, and how many of its
moves in training were illegal. Runs are spread over all cores; finished ones are kept in --folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from script import check_at_least, check_folder, checking_arguments, fail, run, save, save_table

import deep
import matplotlib.pyplot as plt
import pandas as pd
from figures import learning_curves
from learners import name_of, percent
from masking import ALGORITHMS, study

from nim_env import NimRules, solver, theory
from nim_env.policies import as_policy

Algorithm = Literal["DQN", "PPO", "MaskablePPO"]


@dataclass
class Arguments:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes."""
    max_take: int | None = None
    """The most objects one move may take; None for no limit."""
    misere: bool = True
    """Whether taking the last object loses."""
    teacher: str = "expert"
    """Whom they play against: random, take-N or expert."""
    algorithms: tuple[Algorithm, ...] = tuple(ALGORITHMS)
    """Who learns."""
    steps: int = 600_000
    """How many moves each makes."""
    looks: int = 20
    """How often each is held against the truth, evenly over its steps."""
    seeds: int = 3
    """How many seeds, from --seed on."""
    seed: int = 0
    """The first seed; the same seeds give the same figures."""
    jobs: int = -1
    """How many runs at once; -1 for as many as there are cores."""
    folder: Path = Path("results/sb3_masks")
    """Where finished runs, the table (.csv), the figure (.png) and TensorBoard's logs are kept."""


def main(arguments: Arguments) -> None:
    check_folder(arguments.folder, "sb3_masks.png")
    check_at_least(1, steps=arguments.steps, looks=arguments.looks, seeds=arguments.seeds)
    deep.check_seeds(arguments.seed, arguments.seeds)
    deep.check_jobs(arguments.jobs)
    if not arguments.algorithms:
        fail(f"--algorithms must name one or more of {', '.join(ALGORITHMS)}")
    with checking_arguments():
        rules = NimRules(arguments.heaps, arguments.max_take, arguments.misere)
        solver.iter_positions(rules)  # what is too large is refused before anything is learnt
        as_policy(arguments.teacher, rules, "teacher")
        if not theory.is_winning(rules, deep.positions(rules)).any():
            fail(f"no position of {name_of(rules)}, can be won: there is nothing to learn")
    runs = {
        (algorithm, seed): (algorithm, rules, arguments.teacher, arguments.steps, arguments.looks, seed)
        for algorithm in dict.fromkeys(arguments.algorithms)
        for seed in range(arguments.seed, arguments.seed + arguments.seeds)
    }
    found = deep.run_all(study, list(runs.values()), arguments.folder, arguments.jobs, tell)
    table = pd.DataFrame(
        {"algorithm": algorithm, "seed": seed, **row}
        for (algorithm, seed), rows in zip(runs, found, strict=True)
        for row in rows
    )
    save_table(table, arguments.folder / "sb3_masks.csv")
    save(picture_of(arguments, rules, table), arguments.folder / "sb3_masks.png")


def tell(run: tuple, rows: list[deep.Row]) -> str:
    """A finished run in a line."""
    algorithm, *_, seed = run
    last = rows[-1]
    right, illegal = percent(last["expert"]), percent(last["illegal"])
    return f"{algorithm}, seed {seed}: expert mastery {right} %, illegal moves {illegal} %"


def picture_of(arguments: Arguments, rules: NimRules, table: pd.DataFrame) -> plt.Figure:
    """Expert mastery and the share of illegal moves against moves made."""
    panels = {
        "expert": "Expert mastery: winning positions played right",
        "illegal": "Share of illegal moves in training",
    }
    return learning_curves(table, "algorithm", panels, f"{name_of(rules)}, against {arguments.teacher} play")


if __name__ == "__main__":
    run(main, Arguments)
