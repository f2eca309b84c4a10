"""The style of the figures of the scripts."""

from pathlib import Path

import matplotlib
from cycler import cycler
from matplotlib.figure import Figure

from nim_env.appearance import COLORS

LINE_COLORS = [COLORS[name] for name in ("player_1", "player_2", "good", "flag", "edge", "muted")]
DARK_MODE = "<style>@media (prefers-color-scheme: dark) { svg { filter: invert(1) hue-rotate(180deg) } }</style>"

matplotlib.use("agg")  # figures go to files
matplotlib.rc("figure", figsize=(7.4, 3.6))  # inches, the width of a page of the documentation
matplotlib.rc("savefig", pad_inches=0.03)
matplotlib.rc("font", size=9)
matplotlib.rc("axes", grid=True, axisbelow=True, titlesize="medium", titlelocation="left")
matplotlib.rc("axes", edgecolor=COLORS["muted"], labelcolor=COLORS["muted"], prop_cycle=cycler(color=LINE_COLORS))
matplotlib.rc("axes.spines", top=False, right=False)
matplotlib.rc("grid", color=COLORS["line"])
matplotlib.rc("legend", frameon=False)
matplotlib.rc("svg", fonttype="none", hashsalt="nim-env")  # text stays text; the same file at each run
matplotlib.rc("text", color=COLORS["ink"])
matplotlib.rc(("xtick", "ytick"), color=COLORS["muted"])


def save_figure(figure: Figure, path: Path) -> None:
    """Saves a figure and prints where. An SVG follows the color scheme of the reader."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_svg = path.suffix == ".svg"
    metadata = {"Date": None} if is_svg else None
    figure.savefig(path, dpi=200, bbox_inches="tight", transparent=is_svg, metadata=metadata)
    if is_svg:
        svg = path.read_text(encoding="utf-8")
        path.write_text(svg.replace("<defs>", f"{DARK_MODE}\n <defs>", 1), encoding="utf-8")
    print(f"picture: {path}")


def percent(fraction: float, digits: int = 1) -> str:
    """A fraction in percent; only exactly 0 and 1 are written as 0 and 100."""
    smallest = 10**-digits
    value = 100 * fraction if fraction in (0, 1) else min(max(100 * fraction, smallest), 100 - smallest)
    return f"{value:.{digits}f}"
