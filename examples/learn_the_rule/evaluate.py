"""How well do players play the boards of the literature, and larger ones? Exact figures, and sampled ones.

Players are evaluated over all positions of 1-3-5-7 to 1-3-5-7-9-11-13, and on sampled positions of larger boards:
positions drawn uniformly, and endgames, the only positions in which misère play differs from normal play.

    python -m examples.learn_the_rule.evaluate results/learn_the_rule/network.pt
    python -m examples.learn_the_rule.evaluate "random play=random" "mine=my_player.py:choose"

A player is what play.py takes as an opponent, after a label and "=" if you like. An agent or a model plays the
board that it was trained on, so give one file for each board. A function is called once for each position.

In normal play the table has the figures of AlphaZero published by Zhou and Riis (2026, Machine Learning 115:54,
arXiv:2205.12787): the last rows of the authors' logs, after 500 to 600 iterations of training
(github.com/sagebei/Impartial-Games-a-Challenge-for-Reinforcement-Learning, folder data). They are fractions of at
most 10,000 positions. "expert" is that of the most probable legal move of the policy network, without search.

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import tyro

from examples.common import load_player, percent, run, save_figure, values_of
from nim_env import NimRules, evaluation, theory
from nim_env.appearance import COLORS
from nim_env.evaluation import ValueFunction
from nim_env.policies import PolicyLike, checked_policy

EXACT_BOARDS = ((1, 3, 5, 7), (1, 3, 5, 7, 9), (1, 3, 5, 7, 9, 11), (1, 3, 5, 7, 9, 11, 13))
SAMPLED_BOARDS = ((20, 15), (50, 15), (10, 255))  # heaps, objects in each
N_POSITIONS = 10_000  # won and lost ones of each sampled board
TRAINING_BOARD = (5, 7)  # the largest of train.py: its positions are "seen"
ALPHA_ZERO = "AlphaZero, published by Zhou and Riis (2026)"
PUBLISHED = [
    {"board": "1-3-5-7-9", "expert": 0.415, "value_accuracy_overall": 0.930},
    {"board": "1-3-5-7-9-11", "expert": 0.156, "value_accuracy_overall": 0.567},
    {"board": "1-3-5-7-9-11-13", "expert": 0.086, "value_accuracy_overall": 0.634},
]


@dataclass
class Args:
    """The options of this script."""

    players: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Players: [LABEL=] random, take-N, expert, FILE.py:NAME, or the file of a network (.pt) or another saved
    player. Files .py and .zip run code when loaded: give only those you trust."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    seed: int = 0
    """The random seed of the samples."""
    table: Path = Path("results/learn_the_rule/evaluation.csv")
    """Where the table is saved."""
    picture: Path = Path("results/learn_the_rule/evaluation.svg")
    """Where the figure is saved."""


def main(args: Args) -> pd.DataFrame:
    """Evaluates the players, saves the table and the figure, and returns the table."""
    boards = make_boards(args)
    rows = [row for name in args.players for row in evaluate_player(name, boards)]
    if not args.misere and args.max_take is None:
        rows += [{"positions": "all", "player": ALPHA_ZERO} | row for row in PUBLISHED]
    table = pd.DataFrame(rows)
    table = table.sort_values("board", key=lambda names: names.map(list(boards).index), kind="stable")
    args.table.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(args.table, index=False, float_format="%.6g")
    hidden = table.columns[table.columns.str.contains("probability|exploitability")]
    print(table.drop(columns=hidden).to_string(index=False, na_rep="", float_format="{:.4f}".format))
    print(f"table: {args.table}")
    save_figure(draw(table), args.picture)
    return table


def make_boards(args: Args) -> dict[str, tuple[NimRules, dict[str, np.ndarray]]]:
    """The rules of each board, and its positions by their kind."""
    boards = {}
    for heaps in EXACT_BOARDS:
        rules = NimRules(heaps, args.max_take, args.misere)
        boards["-".join(map(str, heaps))] = rules, {"all": rules.all_positions()[1:]}
    generator = np.random.default_rng(args.seed)
    for n_heaps, size in SAMPLED_BOARDS:
        rules = NimRules((size,) * n_heaps, args.max_take, args.misere)
        won, lost = (sample_positions(rules, N_POSITIONS, is_won, generator) for is_won in (True, False))
        samples = {"random": np.concatenate([won, lost])}
        samples["endgames"] = sample_endgames(rules, N_POSITIONS // 2, generator)
        boards[f"{n_heaps} × {size}"] = rules, samples
    return boards


def evaluate_player(name: str, boards: dict[str, tuple[NimRules, dict[str, np.ndarray]]]) -> list[dict[str, Any]]:
    """The rows of a player on the boards that it plays; a ValueError if it plays none."""
    label, _, name = name.rpartition("=")
    rows = []
    for board, (rules, samples) in boards.items():
        try:
            player = load_player(name, rules)
        except ValueError as error:
            refusal = error
            continue
        values = values_of(player, rules)
        for kind, heaps in samples.items():
            is_seen = ((heaps > 0).sum(axis=1) <= TRAINING_BOARD[0]) & (heaps.max(axis=1) <= TRAINING_BOARD[1])
            row = {"board": board, "positions": kind, "player": label or name, "seen": is_seen.mean()}
            if kind == "all":
                rows.append(row | evaluation.report(rules, player, values).to_dict())
            else:
                rows.append(row | evaluate_sample(player, values, rules, heaps))
    if not rows:
        raise refusal
    return rows


def sample_positions(rules: NimRules, n: int, won: bool, generator: np.random.Generator) -> np.ndarray:
    """Draws won or lost positions, each with the same probability: int64 of shape ``(n, n_heaps)``."""
    found = np.empty((0, rules.n_heaps), dtype=np.int64)
    while len(found) < n:
        heaps = generator.integers(np.array(rules.heaps) + 1, size=(100_000, rules.n_heaps))
        heaps = heaps[(theory.is_winning(rules, heaps) == won) & heaps.any(axis=1)]
        found = np.concatenate([found, heaps])
    return found[:n]


def sample_endgames(rules: NimRules, n: int, generator: np.random.Generator) -> np.ndarray:
    """Draws n positions with one heap of more than one object, and up to n without such a heap.

    The number of heaps of one object is uniform. The winning moves of misère play differ from those of normal play
    in endgames only, which random positions of a large board almost never are.
    """
    n_ones = generator.integers(rules.n_heaps + 1, size=(2 * n, 1))
    heaps = (generator.random((2 * n, rules.n_heaps)).argsort(axis=1) < n_ones).astype(np.int64)
    heaps[:n, 0] = generator.integers(2, rules.heaps[0] + 1, size=n)
    heaps = generator.permuted(heaps, axis=1)
    return heaps[heaps.any(axis=1)]


def plays_winning_moves(player: PolicyLike, rules: NimRules, heaps: np.ndarray) -> np.ndarray:
    """The probability with which a player makes a winning move: float64 of shape ``(n,)``."""
    policy = checked_policy(player, rules)
    found = []
    for part in np.array_split(heaps, len(heaps) * rules.n_actions // 2**18 + 1):
        played = policy.action_probabilities(part, rules.action_mask(part))
        found.append((played * theory.winning_action_mask(rules, part)).sum(axis=1))
    return np.concatenate(found)


def evaluate_sample(
    player: PolicyLike, values: ValueFunction | None, rules: NimRules, heaps: np.ndarray
) -> dict[str, float]:
    """Expert mastery on a sample of positions, and the fractions of values with the right sign."""
    is_won = theory.is_winning(rules, heaps)
    row = {"expert": float(plays_winning_moves(player, rules, heaps[is_won]).mean())}
    if values is not None:
        row["value_accuracy_won"] = float((values(heaps[is_won]) > 0).mean())
        row["value_accuracy_lost"] = float((values(heaps[~is_won]) < 0).mean())
    return row


def draw(table: pd.DataFrame) -> plt.Figure:
    """Expert mastery on each board that is evaluated exactly: a bar for each player, a line for random play."""
    exact = table[table["positions"] == "all"]
    means = exact.groupby("player")["expert"].mean().sort_values()
    players = [player for player in means.index if not player.startswith("random")]
    boards = list(exact.groupby("board", sort=False))
    size = 7.4, 1 + 0.4 * len(players)
    figure, axes = plt.subplots(1, len(boards), figsize=size, layout="constrained", sharey=True, squeeze=False)
    for axis, (board, rows) in zip(axes[0], boards, strict=True):
        is_bar = rows["player"].isin(players)
        shares = rows["expert"][is_bar]
        bars = axis.barh(rows["player"][is_bar].map(players.index), shares, color=COLORS["player_1"])
        axis.bar_label(bars, [f"{percent(share)} %" for share in shares], padding=3)
        axis.set(title=board, xlim=(0, 1.5), xticks=[])
        for share in rows["expert"][~is_bar]:
            axis.axvline(share, color=COLORS["flag"], linestyle="--")
            axis.set_xticks([share], [f"random play {percent(share)} %"], ha="left")
        axis.tick_params(length=0)
        axis.grid(visible=False)
        axis.spines[:].set_visible(False)
    axes[0, 0].set_yticks(range(len(players)), [textwrap.fill(player, 24) for player in players])
    finding = f"{means.index[-1]}: a winning move in {percent(means.iloc[-1])} % of the winning positions"
    figure.suptitle(finding, x=0.01, ha="left", fontsize="large")
    return figure


if __name__ == "__main__":
    run(main, Args)
