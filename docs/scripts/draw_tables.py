"""Draws the figures of two tables in docs/experiments: python docs/scripts/draw_tables.py.

alphazero.csv holds evaluations saved by examples/alphazero.py, and find_the_bug.csv is saved by
examples/find_the_bug/matrix.py. The figures are saved in examples/pictures.

Install: pip install -e ".[examples]"
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "examples"))
from common import COLORS, LINE_COLORS, save_figure  # noqa: E402


def draw_alphazero(table):
    """Draws a dot for each run that ends without a mistake, at the number of games that it took."""
    last = table.groupby(["board", "misere", "seed"], as_index=False).last()
    is_right = last[["value", "policy"]].eq(1).all(axis=1)
    last["game"] = last["board"] + last["misere"].map({True: ", misère", False: ", normal play"})
    games = {"y": "game", "order": sorted(last["game"].unique())}
    figure, axes = plt.subplots(figsize=(7.4, 1 + 0.8 * last["game"].nunique()), layout="constrained")
    sns.swarmplot(last[is_right], x="games", **games, color=LINE_COLORS[0], size=4, ax=axes)
    axes.set(title=f"Policy and value without a mistake at the end: {is_right.sum()} of {len(last)} runs")
    axes.set(xlabel="games until the first evaluation without a mistake", ylabel="", xlim=(0, None))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    return figure


def draw_bugs(counts):
    """Draws a heat map of the fraction of runs in which each bug of each learner is named after all moves."""
    ended = counts[(counts["share"] == 1) & counts["is_listed"] & (counts["bug"] != "")]
    shares = ended["right"] / ended[["right", "none", "wrong"]].sum(axis=1)
    figure, axis = plt.subplots(figsize=(7.4, 4.6), layout="constrained")
    style = {"vmin": 0, "vmax": 1, "cmap": sns.light_palette(COLORS["good"], as_cmap=True), "cbar": False}
    of_pairs = shares.groupby([ended["bug"], ended["learner"].str.replace("_", "\n")]).mean().unstack()
    sns.heatmap(of_pairs, annot=True, fmt=".0%", ax=axis, rasterized=True, **style)
    axis.set(title="The fraction of the runs in which the diagnosis names the bug", xlabel="", ylabel="")
    axis.grid(visible=False)
    return figure


if __name__ == "__main__":
    for name, draw in (("alphazero", draw_alphazero), ("find_the_bug", draw_bugs)):
        table = pd.read_csv(ROOT / "docs" / "experiments" / f"{name}.csv", keep_default_na=False)
        save_figure(draw(table), ROOT / "examples" / "pictures" / f"{name}.svg")
