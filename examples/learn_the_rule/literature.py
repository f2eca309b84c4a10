"""Results on the boards of the literature: 1-3-5-7-9, 1-3-5-7-9-11 and 1-3-5-7-9-11-13 in normal play.

The players are random play, tabular minimax-Q, MaskablePPO, the digit network of train.py, and AlphaZero as
published by Zhou and Riis (2026, Machine Learning 115:54, arXiv:2205.12787). Each row except the published ones
is an exact evaluation over all positions, nim_env.evaluation.report.

    python examples/learn_the_rule/literature.py
    python examples/learn_the_rule/literature.py --add my_player.py:choose --table results/with_mine.csv

--add adds a player that play.py would take as an opponent: a function, or the file of an agent, a model or a
network. The script calls a function once for each position, which takes some minutes on seven heaps.

The published figures are the last rows of the authors' logs of value accuracy and of "Policy_Branching_1", after
500 to 600 iterations of training (github.com/sagebei/Impartial-Games-a-Challenge-for-Reinforcement-Learning,
folder data). They are fractions of at most 10,000 positions: "expert" is the fraction of winning positions in
which the most probable legal move of the policy network wins, without search; "value_accuracy_overall" is the
fraction of positions in which the sign of the value is right, and fluctuates from row to row. "seconds" are
those between the first and the last row.

Runs use all cores; finished runs are cached in the folder, so the same command continues after an interruption.
After a change to the training, give another folder.

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for common.py and the other players

from common import (
    COLORS,
    FIGURE_SUFFIXES,
    Seed,
    check_output,
    checking_args,
    fail,
    load_player,
    percent,
    run,
    save_figure,
    values_of,
)

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

from nim_env import NimRules, evaluation

import master_large_nim
import sb3_self_play
from learn_the_rule import train
from learn_the_rule.network import DigitNetwork, NetworkPolicy

MASKABLE_PPO_TIMESTEPS = 1_000_000
BOARDS = ((1, 3, 5, 7, 9), (1, 3, 5, 7, 9, 11), (1, 3, 5, 7, 9, 11, 13))
DIGIT_NETWORK = "digit network (train.py)"
ALPHA_ZERO = "AlphaZero, published by Zhou and Riis (2026)"
PUBLISHED = [
    {"heaps": BOARDS[0], "expert": 0.415, "value_accuracy_overall": 0.930, "seconds": 186_737},
    {"heaps": BOARDS[1], "expert": 0.156, "value_accuracy_overall": 0.567, "seconds": 678_162},
    {"heaps": BOARDS[2], "expert": 0.086, "value_accuracy_overall": 0.634, "seconds": 762_387},
]


@dataclass
class Args:
    """The options of this script."""

    add: tuple[str, ...] = ()
    """Players to add: file.py:name, or the files of networks (.pt) and other saved players.
    Files .py and .zip run code when loaded: give only those you trust."""
    seed: Seed = 0
    """The random seed of the training."""
    n_jobs: int = -1
    """The number of runs at the same time; -1 for one per core."""
    table: Path = Path("results/learn_the_rule/literature.csv")
    """Where the table is saved."""
    picture: Path = Path("results/learn_the_rule/literature.png")
    """Where the figure is saved."""
    folder: Path = Path("results/learn_the_rule/literature")
    """Where finished runs are cached."""


def main(args: Args) -> pd.DataFrame:
    """Makes the rows that are not cached, saves the table, and returns it."""
    if args.n_jobs == 0:
        fail("--n-jobs must be 1 or more, or -1 for one per core; got 0")
    check_output("table", args.table, (".csv",))
    check_output("picture", args.picture, FIGURE_SUFFIXES)
    with checking_args():
        added = [evaluate_file(name, heaps) for name in args.add for heaps in BOARDS]
    cached = joblib.Memory(args.folder, verbose=0).cache(train_and_evaluate)
    runs = [joblib.delayed(cached)(player, heaps, args.seed) for heaps in reversed(BOARDS) for player in PLAYERS]
    finished = joblib.Parallel(args.n_jobs, return_as="generator")(runs)
    rows = list(tqdm(finished, total=len(runs), desc="runs", disable=None))
    rows += [{**row, "player": ALPHA_ZERO} for row in PUBLISHED]
    table = pd.DataFrame(rows + added).sort_values("heaps", key=lambda heaps: heaps.map(len), kind="stable")
    table.insert(0, "board", table.pop("heaps").map(lambda heaps: "-".join(map(str, heaps))))
    table.to_csv(args.table, index=False, float_format="%.6g")
    shown = ["board", "player", "expert", "champion", "exploitability", "value_accuracy_overall", "seconds"]
    print(table[shown].to_string(index=False, na_rep="", float_format="{:.3f}".format))
    print(f"table: {args.table}")
    save_figure(draw(table), args.picture)
    return table


# --- Players: each function trains one and returns its exact figures ------------------------------


def random_play(rules: NimRules, seed: int) -> dict[str, Any]:  # noqa: ARG001  all players have a seed
    return evaluation.report(rules, "random").to_dict()


def minimax_q(rules: NimRules, seed: int) -> dict[str, Any]:
    """Until 99.9 % expert mastery, by master_large_nim.py."""
    agent, _ = master_large_nim.train(master_large_nim.Args(seed=seed), rules)
    return evaluation.report(rules, agent, values_of(agent, rules)).to_dict()


def maskable_ppo(rules: NimRules, seed: int) -> dict[str, Any]:
    """A million timesteps of self-play, by sb3_self_play.py."""
    torch.set_num_threads(1)
    n = MASKABLE_PPO_TIMESTEPS
    args = sb3_self_play.Args(**asdict(rules), total_timesteps=n, eval_interval=2 * n, seed=seed)
    table = sb3_self_play.train(args, sb3_self_play.make_model(args, sb3_self_play.make_env(args)))
    return {name: table[name].iloc[-1] for name in table if name not in ("timesteps", "exploitability_sampled")}


def digit_network(rules: NimRules, seed: int) -> dict[str, Any]:
    """Trained on 5 heaps of 7 and smaller boards, by train.py."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    network = DigitNetwork()
    train.train(network, train.Args(seed=seed))
    policy = NetworkPolicy(network, rules)
    return evaluation.report(rules, policy, policy.values).to_dict()


PLAYERS: dict[str, Callable[[NimRules, int], dict[str, Any]]] = {
    "random play": random_play,
    "minimax-Q, table (master_large_nim.py)": minimax_q,
    "MaskablePPO (sb3_self_play.py)": maskable_ppo,
    DIGIT_NETWORK: digit_network,
}


# --- Rows and figure --------------------------------------------------------------------


def train_and_evaluate(player: str, heaps: tuple[int, ...], seed: int) -> dict[str, Any]:
    """The row of one player on one board; ``seconds`` are those of training and evaluation."""
    start = time.perf_counter()
    figures = PLAYERS[player](NimRules(heaps, misere=False), seed)
    return {"heaps": heaps, "player": player, **figures, "seconds": time.perf_counter() - start}


def evaluate_file(name: str, heaps: tuple[int, ...]) -> dict[str, Any]:
    """The row of a player that the command line names."""
    rules = NimRules(heaps, misere=False)
    player = load_player(name, rules)
    report = evaluation.report(rules, player, values_of(player, rules))
    return {"heaps": heaps, "player": name, **report.to_dict()}


def draw(table: pd.DataFrame) -> plt.Figure:
    """Expert mastery of the players on each board; the digit network comes first and stands out."""
    boards = list(table.groupby("board", sort=False))
    figure, axes = plt.subplots(1, len(boards), figsize=(11, 3.2), layout="constrained", sharey=True)
    for axis, (board, rows) in zip(axes, boards, strict=True):
        rows = rows.sort_values("player", key=lambda names: names != DIGIT_NETWORK, kind="stable")
        is_own = rows["player"] == DIGIT_NETWORK
        names = rows["player"].str.replace(r" \(\w+\.py\)", "", regex=True)
        bars = axis.barh(names, rows["expert"], color=np.where(is_own, COLORS["player_1"], "#b8b2a7"))
        labels = axis.bar_label(
            bars, [f"{percent(share).removesuffix('.0')} %" for share in rows["expert"]], padding=3
        )
        for label, own in zip(labels, is_own, strict=True):
            label.set(color=COLORS["player_1"] if own else COLORS["muted"], weight="bold" if own else "normal")
        axis.set(title=board, xlim=(0, 1.3), xticks=[])
        axis.grid(visible=False)
        axis.tick_params(left=False)
        axis.spines[:].set_visible(False)
    axes[0].invert_yaxis()
    figure.suptitle("Share of the winning positions in which a player makes a winning move, normal play")
    return figure


if __name__ == "__main__":
    run(main, Args)
