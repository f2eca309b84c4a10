"""How each learner's mastery falls as heaps are added: boards of two to seven heaps, at equal budgets of moves.

Every learner starts its games from random positions. What it has learnt is then held against the exact answer:
expert mastery, champion mastery, exploitability, and how many moves it needed. Runs are spread over all cores;
those that are finished are kept in --folder and not repeated, so after an interruption the same command goes on.
They are kept by their options, the hyperparameters and the code of scaling.study; where other code has changed,
take another folder. With --backend ray they are spread over a Ray cluster (RAY_ADDRESS says which one; it needs
this project and the folder on every machine).
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from script import check_at_least, check_folder, checking_arguments, fail, run, save, save_table

import joblib
import matplotlib.pyplot as plt
import pandas as pd
from figures import by_heaps, of_seeds
from intervals import students, students_of_shares, wilsons
from learners import LEARNERS, name_of
from scaling import HYPERPARAMETERS, finished, study

from nim_env import NimRules, solver

Learner = Literal["q-learning", "minimax-q", "win-counting"]


@dataclass
class Arguments:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7, 9, 11, 13)
    """Starting heap sizes of the largest board."""
    fewest: int = 2
    """The number of heaps of the smallest board; the boards are the first so many heaps."""
    max_take: int | None = None
    """The most objects one move may take; None for no limit."""
    misere: bool = False
    """Whether taking the last object loses."""
    learners: tuple[Learner, ...] = tuple(LEARNERS)
    """Who learns: q-learning and minimax-q by self-play, win-counting against random play."""
    moves: int = 3_000_000
    """From how many moves each learns."""
    needed: float = 0.95
    """The expert mastery whose moves are counted, above 0 and at most 1."""
    num_envs: int = 256
    """How many games each plays at once."""
    seeds: int = 5
    """How many seeds, from 0 (or from --seed) on."""
    seed: int = 0
    """The first seed; the same seeds give the same figures."""
    jobs: int = -1
    """How many runs at once; -1 for as many as there are cores."""
    backend: Literal["loky", "threading", "ray"] = "loky"
    """What spreads the runs: processes or threads of this machine, or a Ray cluster."""
    folder: Path = Path("results/scaling_study")
    """Where finished runs are kept, and the table (.csv) and the figure (.png) are saved."""


def main(arguments: Arguments) -> None:
    check(arguments)
    with checking_arguments():
        boards = [
            NimRules(arguments.heaps[:n_heaps], arguments.max_take, arguments.misere)
            for n_heaps in range(len(arguments.heaps), arguments.fewest - 1, -1)  # the longest runs first
        ]
        for rules in boards:
            solver.iter_positions(rules)  # what is too large is refused before anything is learnt
        arguments.folder.mkdir(parents=True, exist_ok=True)
    kept = joblib.Memory(arguments.folder, verbose=0).cache(study)
    runs = [
        (learner, HYPERPARAMETERS[learner], rules, arguments.moves, arguments.needed, arguments.num_envs, seed)
        for rules in boards
        for learner in dict.fromkeys(arguments.learners)
        for seed in range(arguments.seed, arguments.seed + arguments.seeds)
    ]
    before = sum(kept.check_call_in_cache(*run) for run in runs)
    print(f"{len(runs)} runs, {before} of them finished before", flush=True)
    with joblib.parallel_config(backend=arguments.backend, n_jobs=arguments.jobs):
        rows = joblib.Parallel(batch_size=1)(joblib.delayed(finished)(kept, *run) for run in runs)
    table = pd.DataFrame(rows)
    save_table(table, arguments.folder / "scaling_study.csv")
    save(picture_of(arguments, table), arguments.folder / "scaling_study.png")


def check(arguments: Arguments) -> None:
    """Ends the script if an option makes no sense."""
    check_folder(arguments.folder, "scaling_study.png")
    check_at_least(0, seed=arguments.seed)
    check_at_least(
        1, fewest=arguments.fewest, moves=arguments.moves, num_envs=arguments.num_envs, seeds=arguments.seeds
    )
    if arguments.fewest > len(arguments.heaps):
        fail(f"--fewest must be at most the number of heaps, {len(arguments.heaps)}; got {arguments.fewest}")
    if not 0 < arguments.needed <= 1:
        fail(f"--needed must lie above 0 and at most 1; got {arguments.needed}")
    if arguments.jobs < -1 or not arguments.jobs:
        fail(f"--jobs must be 1 or more, or -1 for all cores; got {arguments.jobs}")
    if not arguments.learners:
        fail(f"--learners must name one or more of {', '.join(LEARNERS)}")
    if arguments.backend == "ray":
        if importlib.util.find_spec("ray") is None:
            fail("--backend ray needs Ray; run pip install ray")
        from ray.util.joblib import register_ray

        register_ray()


def picture_of(arguments: Arguments, table: pd.DataFrame) -> plt.Figure:
    """Four measures against the number of heaps: means over seeds with 95 % intervals."""
    figure, axes = plt.subplots(2, 2, figsize=(12, 8), layout="constrained")
    seeds = table["seed"].nunique()
    complete = table.groupby(["learner", "n_heaps"])["moves_needed"].transform("count") == seeds
    shown = table.assign(
        champion=table["champion"].astype(float),
        moves_needed=table["moves_needed"].astype(float).where(complete),  # a mean over some seeds would flatter
    )
    axes[1, 1].set_yscale("log")  # before it is drawn, so that means are geometric
    for axis, (column, (title, interval)) in zip(axes.flat, PANELS.items(), strict=True):
        by_heaps(axis, shown, column, "learner", arguments.learners, interval, legend=axis is axes[0, 0])
        axis.set(title=title.format(f"{100 * arguments.needed:g} %"))
        if axis is not axes[1, 1]:
            axis.set_ylim(-0.03, 1.03)
    rules = NimRules(arguments.heaps, arguments.max_take, arguments.misere)
    figure.suptitle(f"The first heaps of {name_of(rules)}:\n{arguments.moves:,} moves each, {of_seeds(seeds)}")
    return figure


PANELS = {
    "expert": ("Expert mastery: winning positions played right", students_of_shares),
    "champion": ("Champion mastery: share of seeds", wilsons),
    "exploitability": ("Exploitability", students_of_shares),
    "moves_needed": ("Moves to {} expert mastery, where all seeds reached it", students),
}


if __name__ == "__main__":
    run(main, Arguments)
