"""AlphaZero on Nim with exchangeable networks, evaluated exactly while it trains.

AlphaZero (Silver et al. 2018, Science 362, p. 1140) trains a network for policy and value on games that it plays
against itself with a tree search (PUCT). Zhou and Riis (2022, arXiv:2205.12787) report that it does not learn Nim
on 1-3-5-7-9-11-13 with their network, an LSTM over unary tokens. Here four networks learn in the same way:

    digit     the digit network of network.py with a policy head: most of the rule's form is built in
    one_hot   a perceptron on the one-hot heap sizes
    bits      a perceptron on the binary digits of the heap sizes
    unary     the network of Zhou and Riis, with their learning rates and weight decay

    python -m examples.learn_the_rule.alphazero
    python -m examples.learn_the_rule.alphazero --networks digit unary --n-heaps 5 6 7 --n-seeds 3 --misere

A run ends when policy and value make no mistake, or after --episodes. Runs use all cores. Finished ones are
cached, so the same command continues after an interruption.

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from torch import nn
from tqdm import tqdm

from examples.common import LINE_COLORS, percent, run, save_figure
from nim_env import NimRules
from nim_env.appearance import COLORS

from .network import POLICY_VALUE_NETWORKS, save_network
from .search import PLAYERS, SIMULATIONS, Evaluator, evaluate_players, search

NUM_ENVS = 100  # games of an iteration, played at the same time
BATCH_SIZE = 128
EVAL_INTERVAL = 5  # iterations
END = "end: policy and value make no mistake"


@dataclass
class Args:
    """The options of this script."""

    n_heaps: tuple[int, ...] = (5,)
    """The boards: the first heaps of 1-3-5-7-..., this many."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    networks: tuple[Literal["digit", "one_hot", "bits", "unary"], ...] = ("digit",)
    """The networks."""
    as_published: bool = False
    """Play and train as Zhou and Riis: games from the full heaps, not from random positions; moves drawn from the
    visit counts in the first three moves, not in the whole game; one update for each 128 positions of the last
    games, not 40 updates from the last 20 iterations."""
    episodes: int = 20_000
    """The maximum number of training games of a run."""
    n_seeds: int = 1
    """The number of seeds, from --seed on."""
    seed: int = 0
    """Random seed, the first one."""
    n_jobs: int = -1
    """The number of runs at the same time; -1 for one per core."""
    folder: Path = Path("results/alphazero")
    """Where cached runs, the digit networks, the table and the figure are saved."""


def main(args: Args) -> pd.DataFrame:
    """Trains all networks, and returns a row for each evaluation."""
    if min(args.n_heaps) < 2:  # a heap of 1 has no won or no lost position
        raise ValueError(f"--n-heaps must be 2 or more; got {args.n_heaps}")
    cached = joblib.Memory(args.folder / "cache", verbose=0).cache(train, ignore=["folder"])
    runs = [
        joblib.delayed(cached)(rules, name, seed, args.as_published, args.episodes, args.folder)
        for rules in (NimRules(range(1, 2 * n, 2), misere=args.misere) for n in sorted(args.n_heaps, reverse=True))
        for name in args.networks
        for seed in range(args.seed, args.seed + args.n_seeds)
    ]
    tables = joblib.Parallel(args.n_jobs, return_as="generator")(runs)
    table = pd.concat(tqdm(tables, total=len(runs), desc="runs", disable=None), ignore_index=True)
    table.to_csv(args.folder / "alphazero.csv", index=False)
    last = table.groupby(["board", "network", "seed"], sort=False).last()
    last[list(PLAYERS)] = last[list(PLAYERS)].map(percent)
    print(last.drop(columns="misere").to_string(float_format="{:.3f}".format))
    print(f"table: {args.folder / 'alphazero.csv'}")
    save_figure(draw(table), args.folder / "alphazero.svg")
    return table


def play(evaluate: Evaluator, as_published: bool, generator: np.random.Generator) -> tuple[torch.Tensor, ...]:
    """Plays games with search for both players.

    It returns for all moves the heap sizes ``(n, n_heaps)``, fractions of visits ``(n, n_actions)`` and returns.
    """
    rules = evaluate.rules
    offsets = np.array(rules.offsets)
    index = np.full(NUM_ENVS, rules.n_positions - 1)
    if not as_published:
        index = generator.integers(1, rules.n_positions, size=NUM_ENVS)
    alive = np.arange(NUM_ENVS)
    n_moves = np.zeros(NUM_ENVS, dtype=np.int64)
    moves = []
    while len(alive):
        visits = search(evaluate, index[alive], generator)
        if len(moves) < 3 or not as_published:
            drawn = generator.integers(SIMULATIONS, size=(len(alive), 1))
            action = (visits.cumsum(axis=1) > drawn).argmax(axis=1)
        else:
            action = (visits + generator.random(visits.shape)).argmax(axis=1)  # ties at random
        moves.append((alive, index[alive], visits / SIMULATIONS))
        index[alive] -= offsets[action]
        n_moves[alive] += 1
        alive = alive[index[alive] > 0]
    makes_last_move = [(n_moves[games] - move) % 2 == 1 for move, (games, *_) in enumerate(moves)]
    returns = np.where(np.concatenate(makes_last_move), 1.0, -1.0).astype(np.float32) * rules.terminal_reward
    heaps = rules.from_index(np.concatenate([positions for _, positions, _ in moves]))
    arrays = heaps, np.concatenate([fractions for *_, fractions in moves]), returns.astype(np.float32)
    return tuple(torch.from_numpy(array) for array in arrays)


def loss(network: nn.Module, rules: NimRules, heaps: Any, fractions: Any, returns: Any) -> torch.Tensor:
    """The cross-entropy of the policy and the squared error of the value (Silver et al. 2018, equation 1)."""
    scores, values = network(heaps)
    is_legal = torch.from_numpy(rules.action_mask(heaps.numpy())) > 0
    log_policy = torch.log_softmax(scores.masked_fill(~is_legal, -1e9), dim=1)
    return -(fractions * log_policy).sum(dim=1).mean() + nn.functional.mse_loss(values, returns)


def train(rules: NimRules, name: str, seed: int, as_published: bool, episodes: int, folder: Path) -> pd.DataFrame:
    """Trains a network; returns a row for each evaluation."""
    torch.set_num_threads(1)  # there is one run per core
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    network = POLICY_VALUE_NETWORKS[name](rules)
    options = {"lr": 0.01, "weight_decay": 1e-4} if name == "unary" else {"lr": 3e-3}  # 0.01: published
    optimizer = torch.optim.Adam(network.parameters(), **options)
    milestones = (200, 600) if name == "unary" else ()  # iterations, published
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones)
    evaluate = Evaluator(network, rules)
    board = "-".join(map(str, rules.heaps))
    first = {"board": board, "misere": rules.misere, "network": name, "seed": seed}
    rows = [first | {"episodes": 0, "updates": 0, "seconds": 0.0} | evaluate_players(evaluate, at_end=False)]
    buffer = deque(maxlen=1 if as_published else 20)
    updates = 0
    seconds = 0.0
    for iteration in itertools.count(1):
        start = time.process_time()
        buffer.append(play(evaluate, as_published, generator))
        heaps, fractions, returns = (torch.cat(part) for part in zip(*buffer, strict=True))
        network.train()
        n_updates = len(heaps) // BATCH_SIZE if as_published else 40
        for _ in range(n_updates):
            drawn = torch.from_numpy(generator.integers(len(heaps), size=BATCH_SIZE))
            optimizer.zero_grad()
            loss(network, rules, heaps[drawn], fractions[drawn], returns[drawn]).backward()
            optimizer.step()
        scheduler.step()
        evaluate = Evaluator(network, rules)
        updates += n_updates
        seconds += time.process_time() - start
        played = iteration * NUM_ENVS
        if iteration % EVAL_INTERVAL and played < episodes:
            continue
        row = evaluate_players(evaluate, at_end=played >= episodes)
        if row["policy"] == row["value"] == 1:
            row = evaluate_players(evaluate, at_end=True)
        rows.append(first | {"episodes": played, "updates": updates, "seconds": seconds} | row)
        if played >= episodes or row["policy"] == row["value"] == 1:
            break
        evaluate = Evaluator(network, rules)  # the batches, and their rounding, do not depend on evaluations
    if name == "digit":
        path = folder / f"{board}_{'misere' if rules.misere else 'normal'}_{seed}.pt"
        save_network(network, path, misere=rules.misere)
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame) -> plt.Figure:
    """Expert mastery of the policy over the games: a column for each board, a line for each run."""
    last = table.groupby(["board", "network", "seed"], sort=False, as_index=False).last()
    is_right = last[["policy", "value"]].eq(1).all(axis=1)
    boards, names = table["board"].unique()[::-1], table["network"].unique()
    figure, axes = plt.subplots(1, len(boards), layout="constrained", sharey=True, squeeze=False)
    for axis, board in zip(axes[0], boards, strict=True):
        for color, name in zip(LINE_COLORS, names, strict=False):
            for _, rows in table[(table["board"] == board) & (table["network"] == name)].groupby("seed"):
                axis.plot("episodes", "policy", data=rows, color=color, label=name, linewidth=1)
        ends = last[is_right & (last["board"] == board)]
        axis.plot("episodes", "policy", "o", data=ends, color=COLORS["ink"], markersize=4, label=END)
        axis.set(title=board, xlabel="training games")
        axis.locator_params(axis="x", nbins=3)
    axes[0, 0].set(ylabel="expert mastery of the policy")
    handles = dict(zip(*axes[0, 0].get_legend_handles_labels()[::-1], strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5)
    groups = is_right.groupby(last["network"], sort=False)
    counts = ", ".join(f"{name} {right.sum()} of {len(right)}" for name, right in groups)
    figure.suptitle(f"Runs without a mistake at the end: {counts}", x=0.01, ha="left", fontsize="large")
    return figure


if __name__ == "__main__":
    run(main, Args)
