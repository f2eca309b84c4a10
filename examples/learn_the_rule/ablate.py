"""What does learning the rule of Nim need? Other networks, no noise, smaller boards.

Each row of the table is a network and the boards that it trains on, with ten seeds and the same number of
updates. The figures are expert mastery, the fraction of won positions in which one-ply greedy play makes a
winning move, on sampled positions of larger and larger boards. Networks of a fixed input size play their
training boards only.

    python examples/learn_the_rule/ablate.py

Runs use all cores; finished runs are cached in the folder, so the same command continues after an interruption.
After a change to a network or to the training, give another folder.

Sources: LSTM over unary tokens, Zhou and Riis (2022, arXiv:2205.12787); GRU, Cho et al. (2014, arXiv:1406.1078).

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for common.py

from common import COLORS, check_at_least, check_output, check_seed, fail, run, save_figure

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from torch import nn
from tqdm import tqdm

from nim_env import NimRules

from learn_the_rule import train
from learn_the_rule.evaluate import plays_winning_moves, sample_positions
from learn_the_rule.network import DigitNetwork
from learn_the_rule.prove import prove

TEST_BOARDS = ((5, 7), (7, 15), (10, 15), (20, 15), (50, 15), (10, 63))  # heaps, objects in each
N_HEAPS, MAX_HEAP = 5, 7  # the largest training board, and the input size of the networks of a fixed size


@dataclass
class Args:
    """The options of this script."""

    rows: tuple[str, ...] = ()
    """The rows, by name; all of them by default."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    updates: int = 1500
    """The number of updates of each run."""
    n_positions: int = 500
    """The number of won positions sampled from each test board."""
    n_seeds: int = 10
    """The number of seeds, from --seed on."""
    seed: int = 0
    """The first seed."""
    n_jobs: int = -1
    """The number of runs at the same time; -1 for one per core."""
    folder: Path = Path("results/learn_the_rule/ablate")
    """Where the cached runs, the table and the figure are saved."""


def main(args: Args) -> pd.DataFrame:
    """Makes all runs that are not cached, saves the table and the figure, and returns the table."""
    check(args)
    cached = joblib.Memory(args.folder / "cache", verbose=0).cache(train_and_evaluate)
    runs = [
        joblib.delayed(cached)(name, args.misere, args.updates, args.n_positions, seed)
        for name in args.rows or ROWS
        for seed in range(args.seed, args.seed + args.n_seeds)
    ]
    finished = joblib.Parallel(args.n_jobs, return_as="generator")(runs)
    table = pd.DataFrame(tqdm(finished, total=len(runs), desc="runs", disable=None))
    table.to_csv(args.folder / "ablate.csv", index=False)
    means = table.drop(columns="seed").groupby("row", sort=False).mean()
    print(means.to_string(na_rep="", float_format="{:.3f}".format))
    save_figure(draw(args, table), args.folder / "ablate.png")
    return table


def check(args: Args) -> None:
    """Exits with an error if an option has a wrong value."""
    for name in args.rows:
        if name not in ROWS:
            fail(f"--rows must name some of {', '.join(ROWS)}; got {name}")
    check_at_least(1, updates=args.updates, n_positions=args.n_positions, n_seeds=args.n_seeds)
    check_seed(args.seed, args.n_seeds)
    if args.n_jobs == 0:
        fail("--n-jobs must be 1 or more, or -1 for one per core; got 0")
    check_output("folder", args.folder / "ablate.csv")


# --- Runs -----------------------------------------------------------------------------------------


def train_and_evaluate(name: str, misere: bool, updates: int, n_positions: int, seed: int) -> dict[str, Any]:
    """One run: the figures of a row for one seed."""
    torch.set_num_threads(1)  # there is one run per core
    torch.manual_seed(seed)
    row = ROWS[name]
    network = row.make()
    args = train.Args(row.n_heaps, row.max_heap, misere=misere, updates=updates, seed=seed)
    start = time.perf_counter()
    train.train(network, args)
    figures: dict[str, Any] = {"row": name, "seed": seed, "seconds": time.perf_counter() - start}
    generator = np.random.default_rng(seed)
    for n_heaps, size in row.test_boards:
        rules = NimRules((size,) * n_heaps, misere=misere)
        positions = sample_positions(rules, n_positions, True, generator)
        figures[f"{n_heaps} × {size}"] = float(plays_winning_moves(network, rules, positions).mean())
    if type(network) is DigitNetwork:
        figures["proven"] = float(prove(network, misere).margin is not None)
    return figures


# --- Networks -------------------------------------------------------------------------------------


class FixedSizeNetwork(nn.Module):
    """A multilayer perceptron on a fixed encoding of at most 5 heaps of at most 7 objects."""

    def __init__(self, n_inputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_inputs, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1), nn.Tanh()
        )

    def encode(self, heaps: torch.Tensor) -> torch.Tensor:
        """The inputs of the heaps, ``(n, 5)``: shape ``(n, 5, ...)``."""
        raise NotImplementedError

    def forward(self, heaps: torch.Tensor) -> torch.Tensor:
        padded = nn.functional.pad(heaps, (0, N_HEAPS - heaps.shape[1]))
        return self.layers(self.encode(padded).flatten(1).float()).squeeze(-1)


class OneHotNetwork(FixedSizeNetwork):
    """A perceptron on the one-hot encoded heap sizes."""

    def __init__(self) -> None:
        super().__init__(N_HEAPS * (MAX_HEAP + 1))

    def encode(self, heaps: torch.Tensor) -> torch.Tensor:
        return nn.functional.one_hot(heaps, MAX_HEAP + 1)


class BitsNetwork(FixedSizeNetwork):
    """A perceptron on the binary digits of the heap sizes."""

    def __init__(self) -> None:
        super().__init__(N_HEAPS * MAX_HEAP.bit_length())

    def encode(self, heaps: torch.Tensor) -> torch.Tensor:
        return (heaps[..., None] >> torch.arange(MAX_HEAP.bit_length())) & 1


class UnaryNetwork(nn.Module):
    """An LSTM over a token for each object and one after each heap, after Zhou and Riis (2022)."""

    def __init__(self, hidden_size: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(3, 8)  # the object, the end of a heap, padding
        self.lstm = nn.LSTM(8, hidden_size, batch_first=True)
        self.value = nn.Linear(hidden_size, 1)

    def forward(self, heaps: torch.Tensor) -> torch.Tensor:
        length = heaps.sum(dim=1) + heaps.shape[1]  # of the tokens of each position
        ends = (heaps + 1).cumsum(dim=1) - 1
        tokens = torch.zeros(len(heaps), int(length.max()), dtype=torch.int64)
        tokens.scatter_(1, ends, 1)
        tokens[torch.arange(tokens.shape[1]) >= length[:, None]] = 2
        states, _ = self.lstm(self.embedding(tokens))
        last = states[torch.arange(len(heaps)), length - 1]
        return torch.tanh(self.value(last)).squeeze(-1)


class GRUNetwork(DigitNetwork):
    """The digit network with a gated recurrent unit as its cell."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cell = nn.GRUCell(1, self.hidden_size)

    def scan(self, bits: torch.Tensor) -> torch.Tensor:
        state = self.initial_state.expand(len(bits), -1)
        for bit in bits.float().unsqueeze(-1).unbind(1):
            state = self.cell(bit, state)
            if self.training and self.noise:
                state = state + self.noise * torch.randn_like(state)
        return state


class CountsNetwork(DigitNetwork):
    """The digit network with an embedding of the number of ones instead of a recurrent cell."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, self.hidden_size)

    def scan(self, bits: torch.Tensor) -> torch.Tensor:
        return self.embedding(bits.sum(dim=1))


@dataclass(frozen=True)
class Row:
    """A network and its training boards."""

    make: Callable[[], nn.Module]
    n_heaps: int = N_HEAPS
    max_heap: int = MAX_HEAP
    test_boards: tuple[tuple[int, int], ...] = TEST_BOARDS


ROWS = {
    "MLP, one-hot sizes": Row(OneHotNetwork, test_boards=TEST_BOARDS[:1]),
    "MLP, bits": Row(BitsNetwork, test_boards=TEST_BOARDS[:1]),
    "LSTM, unary tokens": Row(UnaryNetwork, test_boards=TEST_BOARDS[:3]),  # beyond, the sequences are too long
    "counts of ones": Row(CountsNetwork),
    "GRU cell, noise": Row(GRUNetwork),
    "second-order cell, no noise": Row(lambda: DigitNetwork(noise=0.0)),
    "second-order cell, noise": Row(DigitNetwork),
    "same, trained on 5 × 3": Row(DigitNetwork, 5, 3),
    "same, trained on 3 × 7": Row(DigitNetwork, 3, 7),
    "same, trained on 3 × 3": Row(DigitNetwork, 3, 3),
    "same, 3 × 3, noise 1": Row(lambda: DigitNetwork(noise=1.0), 3, 3),
}


# --- Figure ---------------------------------------------------------------------------------------


def draw(args: Args, table: pd.DataFrame) -> plt.Figure:
    """A heat map of the mean over the seeds, with the smallest and the largest figure."""
    columns = [column for column in table if column not in ("row", "seed", "seconds")]
    groups = table.groupby("row", sort=False)[columns]
    mean, low, high = groups.mean(), groups.min(), groups.max()
    texts = mean.map("{:.3f}".format) + "\n" + low.map("{:.2f}".format) + " to " + high.map("{:.2f}".format)
    figure, axis = plt.subplots(figsize=(11, 0.6 * len(mean) + 1.5), layout="constrained")
    cmap = sns.light_palette(COLORS["player_1"], as_cmap=True)
    sns.heatmap(mean, annot=texts, fmt="", vmin=0, vmax=1, cmap=cmap, annot_kws={"size": 8}, ax=axis)
    axis.grid(visible=False)
    axis.set(ylabel="", xlabel="test board (heaps × objects); fraction of networks proven")
    play = "misère" if args.misere else "normal"
    axis.set_title(
        f"Expert mastery on boards up to 50 heaps, {play} play: mean and range of {args.n_seeds} seeds\n"
        f"trained on 5 × 7 unless the row names another board, {args.updates:,} updates"
    )
    return figure


if __name__ == "__main__":
    run(main, Args)
