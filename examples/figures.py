"""The two kinds of figure that studies of several seeds draw: against moves made, and against heaps."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from intervals import students_of_shares
from matplotlib.ticker import MaxNLocator


def learning_curves(table: pd.DataFrame, hue: str, panels: dict[str, str], title: str) -> plt.Figure:
    """Shares against moves made, a panel for each column, a curve for each value of ``hue``."""
    seeds = table["seed"].nunique()
    figure, axes = plt.subplots(1, len(panels), figsize=(6 * len(panels), 4.8), layout="constrained")
    for axis, (column, heading) in zip(axes, panels.items(), strict=True):
        sns.lineplot(
            table.dropna(subset=[column]),
            x="steps",
            y=column,
            hue=hue,
            style=hue,
            errorbar=students_of_shares if seeds > 1 else None,
            legend=axis is axes[0],
            ax=axis,
        )
        axis.set(title=heading, xlabel="moves made in training", ylabel="", ylim=(-0.02, 1.02))
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.grid(alpha=0.3)
    figure.suptitle(f"{title}: {of_seeds(seeds)}")
    return figure


def by_heaps(
    axis: plt.Axes, table: pd.DataFrame, column: str, hue: str, shown: tuple[str, ...], interval: Any, legend: bool
) -> None:
    """Means over seeds against the number of heaps, with an interval unless that is None.

    Args:
        axis: Where to draw.
        table: A row for each run.
        column: What is drawn of it.
        hue: The column that tells lines apart.
        shown: Which of its values have a line.
        interval: As seaborn's ``errorbar``.
        legend: Whether this axis has one.
    """
    order = list(dict.fromkeys(shown))
    sns.pointplot(
        table.dropna(subset=[column]),
        x="n_heaps",
        y=column,
        hue=hue,
        hue_order=order,
        dodge=0.12 * (len(order) - 1) or False,  # so that all are seen where they agree
        markers=["o", "s", "^"][: len(order)],
        markersize=5,
        linewidth=1.3,
        capsize=0.06,
        err_kws={"linewidth": 1.3},
        errorbar=interval if table["seed"].nunique() > 1 else None,
        native_scale=True,
        legend=legend,
        ax=axis,
    )
    axis.set(xlabel="heaps", ylabel="")
    axis.set_xlim(table["n_heaps"].min() - 0.3, table["n_heaps"].max() + 0.3)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(alpha=0.3)


def of_seeds(seeds: int) -> str:
    """What the points of a figure are."""
    return "one seed" if seeds == 1 else f"means of {seeds} seeds with 95 % intervals"
