"""The style of the figures that the scripts draw.

The first four line colors can be told apart by color-blind people.
"""

import re
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
from cycler import cycler
from matplotlib.figure import Figure

from nim_env.rendering.appearance import COLORS, FONT

LINE_COLORS = [COLORS[name] for name in ("player_1", "edge", "ink", "good", "flag", "player_2")]
DARK_MODE = "<style>@media (prefers-color-scheme: dark) { svg { filter: invert(1) hue-rotate(180deg) } }</style>"

matplotlib.use("agg")  # figures are only saved to files
matplotlib.rc("figure", figsize=(7.4, 3.6))  # in inches; the width of a documentation page
matplotlib.rc("savefig", dpi=200, bbox="tight", pad_inches=0.03)
matplotlib.rc("font", size=9)
matplotlib.rc("axes", grid=True, axisbelow=True, titlesize="medium", titlelocation="left")
matplotlib.rc("axes", edgecolor=COLORS["muted"], labelcolor=COLORS["muted"], prop_cycle=cycler(color=LINE_COLORS))
matplotlib.rc("axes.spines", top=False, right=False)
matplotlib.rc("grid", color=COLORS["line"])
matplotlib.rc("legend", frameon=False)
matplotlib.rc("svg", fonttype="none", hashsalt="nim-env")  # text stays text, and every run writes the same file
matplotlib.rc("text", color=COLORS["ink"])
matplotlib.rc(("xtick", "ytick"), color=COLORS["muted"])


def save_figure(figure: Figure, path: Path) -> None:
    """Saves a figure and prints its path. An SVG file follows the reader's color scheme, light or dark."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_svg = path.suffix == ".svg"
    figure.savefig(path, transparent=is_svg, metadata={"Date": None} if is_svg else None)
    if is_svg:
        svg = re.sub("'DejaVu Sans'[^;\"]*", FONT, path.read_text(encoding="utf-8"))
        path.write_text(svg.replace("<defs>", f"{DARK_MODE}\n <defs>", 1), encoding="utf-8")
    print(f"picture: {path}")


def label_lines(figure: Figure) -> None:
    """Writes each line's name at its right end, or to the left of a single point, without overlaps."""
    figure.set_layout_engine("constrained")
    figure.draw_without_rendering()  # computes the positions
    for axis in figure.axes:
        boxes = []
        lines, names = axis.get_legend_handles_labels()
        for line, name in sorted(zip(lines, names, strict=True), key=lambda pair: -pair[0].get_ydata()[-1]):
            x, ha = (6, "left") if len(line.get_xydata()) > 1 else (-6, "right")
            style = {"color": line.get_color(), "ha": ha, "va": "center", "textcoords": "offset points"}
            text = axis.annotate(name, line.get_xydata()[-1], (x, 0), line.get_transform(), **style)
            while any(text.get_window_extent().overlaps(box) for box in boxes):
                text.xyann = x, text.xyann[1] - 1
            boxes.append(text.get_window_extent())


def plot_evaluations(table: pd.DataFrame, labels: dict[str, str], title: str, xlabel: str) -> Figure:
    """Draws the columns of a table of evaluations over the column ``timesteps``, with a label for each of them."""
    figure, axis = plt.subplots(layout="constrained")
    lines = table.set_index("timesteps")[list(labels)].rename(columns=labels)
    lines.plot(marker=".", ylim=(-0.05, 1.02), ax=axis, legend=False)
    axis.set(title=title, xlabel=xlabel, ylabel="fraction")
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.locator_params(axis="x", nbins=5)
    label_lines(figure)
    return figure


def percent(fraction: float, digits: int = 1) -> str:
    """Writes a fraction in percent. Only exactly 0 and 1 are rounded to 0 and 100."""
    smallest = 10**-digits
    value = 100 * fraction if fraction in (0, 1) else min(max(100 * fraction, smallest), 100 - smallest)
    return f"{value:.{digits}f}"
