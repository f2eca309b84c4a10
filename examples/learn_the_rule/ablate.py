"""What does learning the rule of Nim need? train.py over a list of settings: networks, noise, boards of training.

    python -m examples.learn_the_rule.ablate
    python -m examples.learn_the_rule.ablate --misere --n-seeds 10

Runs use all cores. Finished ones are cached, so the same command continues after an interruption.

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
from tqdm import tqdm

from examples.common import run

from . import train

SETTINGS: list[dict[str, Any]] = [
    *(
        {"network": cell, "hidden_size": size, "noise": noise}
        for cell in ("elman", "gru", "lstm")
        for size in (8, 16, 32)
        for noise in (0.0, 0.5)
    ),
    *({"network": "affine", "noise": noise} for noise in (0.0, 0.5)),
    *({"network": "digit", "noise": noise} for noise in (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)),
    {"network": "sum"},
    {"random_start": False},
    {"max_heap": 3},
    {"n_heaps": 3},
    {"n_heaps": 3, "max_heap": 3},
    {"n_heaps": 3, "max_heap": 3, "noise": 1.0},
]
"""For each row of the table the options of train.py, where they differ from the defaults."""


@dataclass
class Args:
    """The options of this script."""

    misere: bool = False
    """Whether the player who takes the last object loses."""
    n_seeds: int = 3
    """The number of seeds, from 0 on."""
    n_jobs: int = -1
    """The number of runs at the same time; -1 for one per core."""
    folder: Path = Path("results/learn_the_rule/ablate")
    """Where the cached runs, the networks and the table are saved."""


def main(args: Args) -> pd.DataFrame:
    """Makes the runs that are not cached; saves the table, prints its means, and returns it."""
    cached = joblib.Memory(args.folder / "cache", verbose=0).cache(train.train_and_evaluate)
    names = []
    calls = []
    for setting in SETTINGS:
        name = ", ".join(f"{option} {value}" for option, value in setting.items())
        for seed in range(args.n_seeds):
            options = {"misere": args.misere, "seed": seed, "folder": args.folder / f"{name}, seed {seed}"}
            names.append(name)
            calls.append(joblib.delayed(cached)(train.Args(**setting, **options)))
    figures = joblib.Parallel(args.n_jobs, return_as="generator")(calls)
    table = pd.DataFrame(tqdm(figures, "runs", len(calls), disable=None))
    table.insert(0, "row", names)
    table.to_csv(args.folder / "ablate.csv", index=False)
    means = table.drop(columns="seed").groupby("row", sort=False).mean()
    print(means.to_string(na_rep="", float_format="{:.3f}".format))
    return table


if __name__ == "__main__":
    run(main, Args)
