"""How well does a network of train.py play boards larger than those of training? A table.

One-ply greedy play is evaluated exactly on boards whose positions can be enumerated, and on sampled positions of
larger ones: positions drawn uniformly, and endgames, the only positions in which misère play differs from normal
play.

    python examples/learn_the_rule/evaluate.py results/learn_the_rule/network.pt

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for common.py

from common import PositiveInt, Seed, check_output, checking_args, fail, run

import numpy as np
import pandas as pd
import tyro
from torch import nn

from nim_env import NimRules, evaluation, theory

from learn_the_rule.network import NetworkPolicy, load_network, predict
from learn_the_rule.search import Evaluator, Player

ENUMERATED_BOARDS = ((1, 3, 5, 7), (1, 3, 5, 7, 9), (1, 3, 5, 7, 9, 11), (1, 3, 5, 7, 9, 11, 13))
SAMPLED_BOARDS = ((20, 15), (50, 15), (10, 255))  # heaps, objects in each
PLAYERS = ("policy", "value", "search")  # of alphazero.py
MAX_EXACT, MAX_EXACT_AT_END = 10_000, 1_000_000  # positions of the boards on which these are evaluated exactly
N_SAMPLED = 1000  # positions of the others


@dataclass
class Args:
    """The options of this script."""

    network: Annotated[Path, tyro.conf.Positional]
    """A network saved by train.py."""
    n_heaps: PositiveInt = 5
    """The maximum number of heaps of a training board, for the column "seen"."""
    max_heap: PositiveInt = 7
    """The maximum number of objects in a heap of a training board, for the column "seen"."""
    n_positions: PositiveInt = 10_000
    """The number of won and of losing positions sampled from each board."""
    seed: Seed = 0
    """Random seed."""
    table: Path = Path("results/learn_the_rule/evaluation.csv")
    """Where the table is saved."""


def main(args: Args) -> pd.DataFrame:
    """Evaluates a network, saves the table, and returns it."""
    if args.n_positions < 20:  # so that the endgames have won positions
        fail(f"--n-positions must be 20 or more; got {args.n_positions}")
    with checking_args():
        network, trained_on = load_network(args.network)
    check_output("table", args.table, (".csv",))
    generator = np.random.default_rng(args.seed)
    rows = []
    for heaps in ENUMERATED_BOARDS:
        rules = NimRules(heaps, **trained_on)
        policy = NetworkPolicy(network, rules)
        report = evaluation.report(rules, policy, policy.values).to_dict()
        shown = ("expert", "champion", "value_accuracy_won", "value_accuracy_lost")
        row = {"board": "-".join(map(str, heaps)), "positions": "all"} | {name: report[name] for name in shown}
        rows.append(row | {"seen": is_seen(rules.all_positions()[1:], args.n_heaps, args.max_heap).mean()})
    for n_heaps, size in SAMPLED_BOARDS:
        rules = NimRules((size,) * n_heaps, **trained_on)
        won, lost = (sample_positions(rules, args.n_positions, is_won, generator) for is_won in (True, False))
        endgames = sample_endgames(rules, args.n_positions // 2, generator)
        for kind, positions in (("random", np.concatenate([won, lost])), ("endgames", endgames)):
            row = {"board": f"{n_heaps} × {size}", "positions": kind} | evaluate_sample(network, rules, positions)
            rows.append(row | {"seen": is_seen(positions, args.n_heaps, args.max_heap).mean()})
    table = pd.DataFrame(rows)
    table.to_csv(args.table, index=False)
    print(table.to_string(index=False, na_rep="", float_format="{:.4f}".format))
    print(f"table: {args.table}")
    return table


def is_seen(positions: np.ndarray, n_heaps: int, max_heap: int) -> np.ndarray:
    """Whether positions, without their empty heaps, occur on a training board: bool of shape ``(n,)``."""
    return ((positions > 0).sum(axis=1) <= n_heaps) & (positions.max(axis=1) <= max_heap)


def sample_positions(rules: NimRules, n: int, won: bool, generator: np.random.Generator) -> np.ndarray:
    """Draws won or losing positions, each with the same probability: int64 of shape ``(n, n_heaps)``."""
    found, missing = [], n
    while missing > 0:
        heaps = generator.integers(np.array(rules.heaps) + 1, size=(100_000, rules.n_heaps))
        heaps = heaps[(theory.is_winning(rules, heaps) == won) & heaps.any(axis=1)]
        found.append(heaps[:missing])
        missing -= len(found[-1])
    return np.concatenate(found)


def sample_endgames(rules: NimRules, n: int, generator: np.random.Generator) -> np.ndarray:
    """Draws n positions with one heap of more than one object, and up to n without such a heap.

    The number of heaps of one object is uniform; empty positions are left out. Random positions of a large board
    are almost never endgames. The winning moves of misère play differ from those of normal play in endgames only.
    """
    n_ones = generator.integers(rules.n_heaps + 1, size=(2 * n, 1))
    heaps = (generator.random((2 * n, rules.n_heaps)).argsort(axis=1) < n_ones).astype(np.int64)
    heaps[:n, 0] = generator.integers(2, rules.heaps[0] + 1, size=n)
    heaps = generator.permuted(heaps, axis=1)
    return heaps[heaps.any(axis=1)]


def plays_winning_moves(network: nn.Module, rules: NimRules, heaps: np.ndarray) -> np.ndarray:
    """Whether one-ply greedy play makes a winning move: bool of shape ``(n,)``."""
    policy = NetworkPolicy(network, rules)
    is_right = []
    for part in np.array_split(heaps, len(heaps) * rules.n_actions // 2**18 + 1):
        played = policy.action_probabilities(part, rules.action_mask(part))
        is_right.append((played * theory.winning_action_mask(rules, part)).any(axis=1))
    return np.concatenate(is_right)


def evaluate_sample(network: nn.Module, rules: NimRules, heaps: np.ndarray) -> dict[str, float]:
    """Evaluates a network on a sample of positions against the theory.

    Returns:
        ``expert``: the fraction of the won positions in which one-ply greedy play makes a winning move, with its
        95 % Wilson interval ``low`` to ``high``. ``value_accuracy_won`` and ``_lost``: the fractions of won and of
        losing positions in which the sign of the value is right.
    """
    is_won = theory.is_winning(rules, heaps)
    values = predict(network, heaps)
    is_right = plays_winning_moves(network, rules, heaps[is_won])
    expert = evaluation.MatchResult(int(is_right.sum()), len(is_right))
    low, high = expert.interval()
    return {
        "expert": expert.win_rate,
        "low": low,
        "high": high,
        "value_accuracy_won": float((values[is_won] > 0).mean()),
        "value_accuracy_lost": float((values[~is_won] < 0).mean()),
    }


def evaluate_players(evaluate: Evaluator, simulations: int, at_end: bool) -> dict[str, Any]:
    """Expert mastery of policy, value and search of alphazero.py, and the fractions of values with the right sign.

    Policy and value are evaluated exactly on boards of up to MAX_EXACT positions, at the end MAX_EXACT_AT_END, and
    otherwise on N_SAMPLED won positions, the search on these or, before the end, on a fifth of them.

    Args:
        evaluate: The network's priors and values.
        simulations: The number of simulations of a search.
        at_end: Whether this is the last evaluation of a run.
    """
    rules = evaluate.rules
    won, lost = (sample_positions(rules, N_SAMPLED, is_won, np.random.default_rng(0)) for is_won in (True, False))
    is_exact = rules.n_positions <= (MAX_EXACT_AT_END if at_end else MAX_EXACT)
    row: dict[str, Any] = {}
    for kind in PLAYERS:
        player, heaps = Player(evaluate, kind, simulations), won
        if kind == "search":
            heaps = won if at_end else won[: len(won) // 5]
        elif is_exact:
            row[kind] = evaluation.mastery(rules, player).expert
            continue
        chosen = player.action_probabilities(heaps, rules.action_mask(heaps))
        row[kind] = float((chosen * theory.winning_action_mask(rules, heaps)).sum(axis=1).mean())
    for name, heaps, sign in (("value_accuracy_won", won, 1), ("value_accuracy_lost", lost, -1)):
        row[name] = float((sign * evaluate(rules.index(heaps))[1] > 0).mean())
    return row | {"is_exact": is_exact}


if __name__ == "__main__":
    run(main, Args)
