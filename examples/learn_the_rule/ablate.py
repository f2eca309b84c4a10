"""What does learning the rule of Nim need? Other networks, other noise, other boards of training.

Each row of the table is a network and its training, with several seeds and the same number of updates. The figures
are expert mastery, the fraction of won positions in which one-ply greedy play makes a winning move, on sampled
positions of larger and larger boards; the fraction of positions of 20 heaps of 15 objects for which the sign of
the value is right; and whether prove.py proves the network. Networks of a fixed input size play boards of that
size only.

    python examples/learn_the_rule/ablate.py
    python examples/learn_the_rule/ablate.py --n-seeds 3

Runs use all cores. Finished ones are cached in the folder, and the table has all of them, so the same command
continues after an interruption, and one with more seeds or other rows adds to the table. After a change to a
network or to the training, give another folder.

Sources: LSTM over unary tokens, Zhou and Riis (2022, arXiv:2205.12787); recurrent cells, Elman (1990), Cho et al.
(2014, arXiv:1406.1078), Hochreiter and Schmidhuber (1997); affine recurrences, Chung et al. (2026,
arXiv:2605.07755); DeepSets, Zaheer et al. (2017, arXiv:1703.06114); the board 20 × 15, Riis (arXiv:2411.06403).

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for common.py

from common import COLORS, PositiveInt, check_output, fail, percent, run, save_figure

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
from learn_the_rule.network import DigitNetwork, predict
from learn_the_rule.prove import prove

TEST_BOARDS = ((5, 7), (20, 7), (7, 15), (10, 15), (20, 15), (50, 15), (10, 63))  # heaps, objects in each
OUTCOME_BOARD = (20, 15)  # where won and losing positions are told apart as well
N_HEAPS, MAX_HEAP = 5, 7  # the largest training board, and the input size of the networks of a fixed size
ONE_HOT = torch.eye(MAX_HEAP + 1)  # of each heap size
BITS = (torch.arange(MAX_HEAP + 1)[:, None] >> torch.arange(3)) & 1


@dataclass
class Args:
    """The options of this script."""

    rows: tuple[str, ...] = ()
    """The rows, by name; all of them by default."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    updates: PositiveInt = 1500
    """The number of updates of each run."""
    n_positions: PositiveInt = 500
    """The number of won positions sampled from each test board."""
    n_seeds: PositiveInt = 30
    """The maximum number of seeds of a row, from 0 on; the rows have 3, 10 or 30."""
    n_jobs: int = -1
    """The number of runs at the same time; -1 for one per core."""
    folder: Path = Path("results/learn_the_rule/ablate")
    """Where the cached runs, the table and the figure are saved."""


def main(args: Args) -> pd.DataFrame:
    """Makes the runs that are not cached; saves the table and the figure of all that are; returns the table."""
    check(args)
    cached = joblib.Memory(args.folder / "cache", verbose=0).cache(evaluate_run, ignore=["folder"])
    runs = [
        (name, args.misere, args.updates, seed, args.n_positions, args.folder)
        for name, row in ROWS.items()
        for seed in range(row.n_seeds)
    ]
    wanted = [run for run in runs if run[0] in (args.rows or ROWS) and run[3] < args.n_seeds]
    wanted.sort(key=lambda run: run[3])  # first all rows with one seed, then all with the next
    calls = [joblib.delayed(cached)(*run) for run in wanted]
    list(tqdm(joblib.Parallel(args.n_jobs, return_as="generator")(calls), "runs", len(calls), disable=None))
    table = pd.DataFrame(cached(*run) for run in runs if cached.check_call_in_cache(*run))
    table.to_csv(args.folder / "ablate.csv", index=False)
    groups = table.drop(columns="seed").groupby("row", sort=False)
    print(groups.mean().assign(seeds=groups.size()).to_string(na_rep="", float_format="{:.3f}".format))
    save_figure(draw(args, table), args.folder / "ablate.png")
    return table


def check(args: Args) -> None:
    """Exits with an error if an option has a wrong value."""
    for name in args.rows:
        if name not in ROWS:
            fail(f"--rows must name some of {', '.join(ROWS)}; got {name}")
    if args.n_jobs == 0:
        fail("--n-jobs must be 1 or more, or -1 for one per core; got 0")
    check_output("folder", args.folder / "ablate.csv")


# --- Runs -----------------------------------------------------------------------------------------


def evaluate_run(
    name: str, misere: bool, updates: int, seed: int, n_positions: int, folder: Path
) -> dict[str, Any]:
    """The figures of a row for one seed; trains the network unless it is cached."""
    torch.set_num_threads(1)  # there is one run per core
    row = ROWS[name]
    cached = joblib.Memory(folder / "cache", verbose=0).cache(train_run)
    weights, seconds = cached(name, misere, updates, seed)
    network = row.make()
    network.load_state_dict(weights)
    n_weights = sum(weight.numel() for weight in network.parameters())
    figures: dict[str, Any] = {"row": name, "seed": seed, "weights": n_weights, "seconds": seconds}
    generator = np.random.default_rng(seed)
    for n_heaps, size in row.test_boards:
        rules, board = NimRules((size,) * n_heaps, misere=misere), f"{n_heaps} × {size}"
        won, lost = (sample_positions(rules, n_positions, is_won, generator) for is_won in (True, False))
        figures[board] = float(plays_winning_moves(network, rules, won).mean())
        if (n_heaps, size) == OUTCOME_BOARD:
            right = np.concatenate([predict(network, won) > 0, predict(network, lost) < 0])
            figures[f"{board}, outcome"] = float(right.mean())
    if type(network) is DigitNetwork:
        figures["proven"] = float(prove(network, misere).margin is not None)
    return figures


def train_run(name: str, misere: bool, updates: int, seed: int) -> tuple[dict[str, torch.Tensor], float]:
    """Trains the network of a row; returns its weights and the seconds of processor time."""
    torch.manual_seed(seed)
    network = ROWS[name].make()
    start = time.process_time()
    train.train(network, train.Args(**ROWS[name].training, misere=misere, updates=updates, seed=seed))
    return network.state_dict(), time.process_time() - start


# --- Networks -------------------------------------------------------------------------------------


class FixedSizeNetwork(nn.Module):
    """A multilayer perceptron on an encoding of at most 5 heaps of at most 7 objects.

    Args:
        encoding: The inputs for each heap size, shape ``(8, n)``.
    """

    def __init__(self, encoding: torch.Tensor) -> None:
        super().__init__()
        self.encoding = encoding.float()
        sizes = (N_HEAPS * encoding.shape[1], 128, 128)
        hidden = [layer for pair in pairwise(sizes) for layer in (nn.Linear(*pair), nn.Tanh())]
        self.layers = nn.Sequential(*hidden, nn.Linear(128, 1), nn.Tanh())

    def forward(self, heaps: torch.Tensor) -> torch.Tensor:
        padded = nn.functional.pad(heaps, (0, N_HEAPS - heaps.shape[1]))
        return self.layers(self.encoding[padded].flatten(1)).squeeze(-1)


class TokenNetwork(nn.Module):
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


class CellNetwork(DigitNetwork):
    """The digit network with a cell of PyTorch, which takes the bit as its input."""

    def __init__(self, cell: type[nn.RNNCellBase], hidden_size: int, noise: float) -> None:
        super().__init__(hidden_size, noise=noise)
        del self.transitions
        self.cell = cell(1, hidden_size)

    def scan(self, bits: torch.Tensor) -> torch.Tensor:
        state = self.initial_state.expand(len(bits), -1)
        memory = torch.zeros_like(state)  # of an LSTM
        for bit in bits.float().unsqueeze(-1).unbind(1):
            if isinstance(self.cell, nn.LSTMCell):
                state, memory = (self.with_noise(part) for part in self.cell(bit, (state, memory)))
            else:
                state = self.with_noise(self.cell(bit, state))
        return state


class AffineNetwork(DigitNetwork):
    """The digit network without the tanh of the recurrence."""

    def step(self, state: torch.Tensor, bit: torch.Tensor) -> torch.Tensor:
        return torch.where(bit > 0, self.transitions[1](state), self.transitions[0](state))


class DeepSetsNetwork(DigitNetwork):
    """The digit network with the sum of an embedding of each bit instead of a recurrent cell."""

    def __init__(self) -> None:
        super().__init__(hidden_size=32, n_features=32)
        del self.transitions
        self.embedding = nn.Embedding(2, self.hidden_size)

    def scan(self, bits: torch.Tensor) -> torch.Tensor:
        return self.embedding(bits).sum(dim=1)


class TransformerNetwork(DigitNetwork):
    """The digit network with a transformer over the bits, without positions, instead of a recurrent cell."""

    def __init__(self) -> None:
        super().__init__(hidden_size=16)
        del self.transitions
        self.embedding = nn.Embedding(3, self.hidden_size)  # the bits, and the token that is read
        layer = nn.TransformerEncoderLayer(self.hidden_size, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)

    def scan(self, bits: torch.Tensor) -> torch.Tensor:
        tokens = nn.functional.pad(bits, (1, 0), value=2)
        return self.encoder(self.embedding(tokens))[:, 0]


class SumNetwork(DigitNetwork):
    """The digit network with a sum over the digits, in which leading zeros do not count, for the maximum."""

    def pool(self, features: torch.Tensor) -> torch.Tensor:
        return (features - features[:, -1:]).sum(dim=1)


class OwnDigitsNetwork(nn.Module):
    """A digit network without shared weights: each of the three digits has its own scan and layers."""

    def __init__(self) -> None:
        super().__init__()
        self.digits = nn.ModuleList(DigitNetwork() for _ in range(MAX_HEAP.bit_length()))
        self.value_layers = self.digits[0].value_layers
        for digit in self.digits[1:]:
            del digit.value_layers

    def forward(self, heaps: torch.Tensor) -> torch.Tensor:
        features = []
        for index, digit in enumerate(self.digits):
            state = digit.scan((heaps >> index) & 1)
            features.append(digit.digit_layers(nn.functional.pad(state, (0, 1))))  # no flag
        return torch.tanh(self.value_layers(torch.stack(features).amax(dim=0))).squeeze(-1)


@dataclass(frozen=True)
class Row:
    """A network, the options of its training, the boards that test it, and the number of seeds."""

    make: Callable[[], nn.Module]
    training: dict[str, Any] = field(default_factory=dict)
    test_boards: tuple[tuple[int, int], ...] = TEST_BOARDS
    n_seeds: int = 3


CELLS = {"Elman": nn.RNNCell, "GRU": nn.GRUCell, "LSTM": nn.LSTMCell}
ROWS = {
    "MLP, one-hot sizes": Row(partial(FixedSizeNetwork, ONE_HOT), test_boards=TEST_BOARDS[:1]),
    "MLP, bits": Row(partial(FixedSizeNetwork, BITS), test_boards=TEST_BOARDS[:1]),
    "LSTM, unary tokens": Row(TokenNetwork, test_boards=TEST_BOARDS[:4]),  # beyond, the sequences are too long
    "a scan for each digit": Row(OwnDigitsNetwork, test_boards=TEST_BOARDS[:2]),
    "DeepSets": Row(DeepSetsNetwork),
    "transformer": Row(TransformerNetwork),
    **{
        f"{name} cell, {size} units, {f'noise {noise}' if noise else 'no noise'}": Row(
            partial(CellNetwork, cell, size, noise)
        )
        for name, cell in CELLS.items()
        for size in (8, 16, 32)
        for noise in (0.0, 0.5)
    },
    "affine cell, no noise": Row(partial(AffineNetwork, noise=0.0), n_seeds=10),
    "affine cell, noise 0.5": Row(AffineNetwork, n_seeds=10),
    "second-order cell, no noise": Row(partial(DigitNetwork, noise=0.0), n_seeds=30),
    "second-order cell, noise 0.1": Row(partial(DigitNetwork, noise=0.1), n_seeds=10),
    "second-order cell, noise 0.25": Row(partial(DigitNetwork, noise=0.25), n_seeds=10),
    "second-order cell, noise 0.5": Row(DigitNetwork, n_seeds=30),
    "second-order cell, noise 1": Row(partial(DigitNetwork, noise=1.0), n_seeds=10),
    "second-order cell, noise 2": Row(partial(DigitNetwork, noise=2.0), n_seeds=10),
    "sum over digits": Row(SumNetwork, n_seeds=10),
    "no random starts": Row(DigitNetwork, {"random_start": False}, n_seeds=10),
    "trained on 5 × 3": Row(DigitNetwork, {"max_heap": 3}, n_seeds=10),
    "trained on 3 × 7": Row(DigitNetwork, {"n_heaps": 3}, n_seeds=10),
    "trained on 3 × 3": Row(DigitNetwork, {"n_heaps": 3, "max_heap": 3}, n_seeds=10),
    "trained on 3 × 3, noise 1": Row(partial(DigitNetwork, noise=1.0), {"n_heaps": 3, "max_heap": 3}, n_seeds=10),
}


# --- Figure ---------------------------------------------------------------------------------------


def draw(args: Args, table: pd.DataFrame) -> plt.Figure:
    """A heat map of the mean over the seeds in percent, with the smallest and the largest figure."""
    columns = [column for column in table if column not in ("row", "seed", "weights", "seconds")]
    groups = table.groupby("row", sort=False)[columns]
    mean, low, high, seeds = groups.mean(), groups.min(), groups.max(), groups.size()
    ranges = low.map(lambda least: f" ({percent(least, 0)} to ") + high.map(lambda most: f"{percent(most, 0)})")
    texts = mean.map(percent) + ranges.where(low < high, "")
    names = [f"{name} ({seeds[name]})" for name in mean.index]
    figure, axis = plt.subplots(figsize=(14, 0.28 * len(mean) + 1.5), layout="constrained")
    style = {"cmap": sns.light_palette(COLORS["player_1"], as_cmap=True), "annot_kws": {"size": 8}}
    sns.heatmap(100 * mean, annot=texts, fmt="", vmin=0, vmax=100, yticklabels=names, ax=axis, **style)
    axis.grid(visible=False)
    axis.set(ylabel="", xlabel="test board (heaps × objects); outcome: right signs of values, 50 by chance")
    play = "misère" if args.misere else "normal"
    axis.set_title(
        f"Expert mastery and networks proven in percent, {play} play: mean and range over seeds (their number)\n"
        f"trained on 5 × 7 unless the row names another board, {args.updates:,} updates"
    )
    return figure


if __name__ == "__main__":
    run(main, Args)
