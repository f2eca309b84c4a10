"""Draws the figures of four tables in the documentation: python docs/scripts/draw_tables.py.

alphazero.csv holds evaluations saved by examples/alphazero.py, find_the_bug.csv is saved by
examples/find_the_bug/matrix.py, large_boards.csv holds what the program of large_boards.md prints, and
benchmarks.md shows what examples/benchmark.py prints. The figures are saved in examples/pictures.

Install: pip install -e ".[examples]"
"""

import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "examples"))
from benchmark import COMPARISONS  # noqa: E402

from common import COLORS, LINE_COLORS, label_lines, save_figure  # noqa: E402


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


def draw_large_boards(table):
    """Draws expert mastery by the number of training moves, with a line for each board."""
    figure, axis = plt.subplots(layout="constrained")
    for heaps, rows in table.groupby("heaps", sort=False):
        axis.plot(rows["timesteps"], rows["expert"], marker=".", label=heaps)
    axis.set(title="Minimax-Q by self-play, until it makes no mistake", xscale="log", ylim=(0, 1.02))
    axis.set(xlabel="training moves of both players", ylabel="expert mastery")
    label_lines(figure)
    return figure


def draw_benchmark(rates):
    """Draws the rates by ``num_envs``, with logarithmic axes. Other libraries are gray and dashed."""
    own = list(dict.fromkeys(name for name, _ in COMPARISONS))  # in the order of the comparisons
    figure, axes = plt.subplots(figsize=(7.4, 4.4), layout="constrained")
    for marker, (name, row) in zip("os^vDPosX^Pds", rates.dropna(subset=1).iterrows(), strict=False):
        color, linestyle = (f"C{own.index(name) % 4}", "-") if name in own else (COLORS["muted"], "--")
        style = {"marker": marker, "fillstyle": "none", "color": color, "linestyle": linestyle}
        axes.loglog(row.dropna(), label=name, **style)
    axes.set(title="Random legal moves in environments of Nim and of other games", xlim=(1 / 120, None))
    axes.set(xlabel="number of environments", ylabel="steps per second")
    axes.set_xticks(rates.columns, [f"{n:,}" for n in rates.columns])
    axes.minorticks_off()
    label_lines(figure)
    return figure


def benchmark_rates():
    """The rates in the first table of benchmarks.md, in steps per second."""
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    header, *lines = re.search(r"^num_envs .*?(?=\n```)", page, re.MULTILINE | re.DOTALL)[0].splitlines()
    rates = pd.DataFrame(columns=[int(n) for n in header.split()[1:]], dtype=float)
    for line in lines:
        name, numbers = re.split("  +", line, maxsplit=1)
        row = [1000 * float(number.replace(",", "")) for number in numbers.split()]
        rates.loc[name] = pd.Series(row, rates.columns[: len(row)])
    return rates


if __name__ == "__main__":
    drawn = {"alphazero": draw_alphazero, "find_the_bug": draw_bugs, "large_boards": draw_large_boards}
    for name, draw in drawn.items():
        table = pd.read_csv(ROOT / "docs" / "experiments" / f"{name}.csv", keep_default_na=False)
        save_figure(draw(table), ROOT / "examples" / "pictures" / f"{name}.svg")
    save_figure(draw_benchmark(benchmark_rates()), ROOT / "examples" / "pictures" / "benchmark.svg")
