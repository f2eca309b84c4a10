"""Evaluates players exactly on the boards of the literature, from 1-3-5-7-9 to 1-3-5-7-9-11-13.

    cd examples
    python -m learn_the_rule.evaluate results/learn_the_rule/network.pt
    python -m learn_the_rule.evaluate "random play=random" "mine=my_player.py:choose"

A player is anything that play.py accepts as an opponent, optionally after a label and "=". An agent or a model can
only play the board that it was trained on, so give one file for each board.

The script prints and saves a table of metrics, and draws the expert mastery of each player on each board. For
normal play without a limit on a move, it adds the published metrics of AlphaZero (Zhou and Riis 2026, Machine
Learning 115:54, arXiv:2205.12787). They are the last rows of the authors' logs
(github.com/sagebei/Impartial-Games-a-Challenge-for-Reinforcement-Learning, folder data). A network takes about a
minute. A function is called for each of 645,119 positions of the largest board.

Install: pip install -e ".[examples,sb3]"
"""

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from command_line import run

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
import tyro

from nim_env import NimRules, evaluation

from common import COLORS, percent, save_figure
from saved_players import load_player

BOARDS = {"-".join(map(str, heaps)): heaps for heaps in (range(1, 2 * n, 2) for n in (5, 6, 7))}
ALPHA_ZERO = "AlphaZero, published by Zhou and Riis (2026)"
PUBLISHED = [
    {"board": "1-3-5-7-9", "expert": 0.415, "value_accuracy_overall": 0.930},
    {"board": "1-3-5-7-9-11", "expert": 0.156, "value_accuracy_overall": 0.567},
    {"board": "1-3-5-7-9-11-13", "expert": 0.086, "value_accuracy_overall": 0.634},
]


@dataclass
class Args:
    players: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Players as above, such as random, mine=my_player.py:choose or the file of a network."""
    max_take: int | None = None
    misere: bool = False
    """Whether the player who takes the last object loses."""
    table: Path = Path("results/learn_the_rule/evaluation.csv")
    picture: Path = Path("results/learn_the_rule/evaluation.svg")


def main(args: Args) -> pd.DataFrame:
    """Evaluates the players, saves the table and the figure, and returns the table."""
    rows = [row for name in args.players for row in evaluate_player(name, args)]
    if not args.misere and args.max_take is None:
        rows += [{"player": ALPHA_ZERO} | row for row in PUBLISHED]
    table = pd.DataFrame(rows)
    table = table.sort_values("board", key=lambda names: names.map(list(BOARDS).index), kind="stable")
    args.table.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(args.table, index=False, float_format="%.6g")
    hidden = table.columns[table.columns.str.contains("probability|exploitability")]
    print(table.drop(columns=hidden).to_string(index=False, na_rep="", float_format="{:.4f}".format))
    print(f"table: {args.table}")
    save_figure(draw(table), args.picture)
    return table


def evaluate_player(name: str, args: Args) -> list[dict[str, Any]]:
    """Returns the metrics of a player on each board that it can play.

    Raises ValueError if it cannot play any of them.
    """
    label, _, name = name.rpartition("=")
    rows = []
    for board, heaps in BOARDS.items():
        rules = NimRules(heaps, args.max_take, args.misere)
        try:
            player = load_player(name, rules)
        except ValueError as error:
            refusal = error
            continue
        report = evaluation.report(rules, player.policy, player.state_values)
        rows.append({"board": board, "player": label or name} | report.to_dict())
    if not rows:
        raise refusal
    return rows


def draw(table: pd.DataFrame) -> plt.Figure:
    """Draws the expert mastery of each player as a bar, with a panel for each board."""
    table = table.assign(player=table["player"].map(lambda player: textwrap.fill(player, 24)))
    means = table.groupby("player")["expert"].mean().sort_values(ascending=False)
    height = 1 + 0.4 * len(means)
    style = {"order": list(means.index), "color": COLORS["player_1"], "height": height, "aspect": 2.5 / height}
    grid = sns.catplot(table, kind="bar", x="expert", y="player", col="board", **style)
    for axis in grid.axes.flat:
        axis.bar_label(axis.containers[0], fmt=lambda share: f"{percent(share)} %", padding=3)
    grid.set(xlim=(0, 1.5), xticks=[]).set_titles("{col_name}").set_axis_labels("", "").despine(bottom=True)
    grid.figure.suptitle("Winning positions in which a winning move is played", x=0.01, y=1.03, ha="left")
    return grid.figure


if __name__ == "__main__":
    run(main, Args)
