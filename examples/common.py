"""What the example scripts share: the command line, figures, and players by name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import tyro
from cycler import cycler
from matplotlib.figure import Figure

import agents
from nim_env import NimRules, players
from nim_env.appearance import COLORS
from nim_env.players import LoadedPlayer

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


def run(main: Callable[[Any], Any], args_type: type) -> None:
    """Parses the command line into a dataclass, whose docstrings are the help, and calls ``main`` with it.

    A wrong value, type or file is one line and exits with status 2, Ctrl-C is one word and exits with 130.
    """
    try:
        main(tyro.cli(args_type, description=sys.modules[main.__module__].__doc__))
    except (ValueError, TypeError, OSError) as error:
        message = str(error).split(" was raised from the environment creator")[0]  # a suffix of gym.make
        print(f"{Path(sys.argv[0]).name}: {' '.join(message.split())}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        sys.exit(130)


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


def load_player(name: str, rules: NimRules) -> LoadedPlayer:
    """A player that a command line names: as in :mod:`nim_env.players`, or the file of a network or an agent.

    A network (``.pt``) is one of ``learn_the_rule``, any other suffix is an agent's. A model of Stable-Baselines3
    (``.zip``) plays its best legal actions.
    """
    path = Path(name)
    if not path.is_file() or path.suffix in {*players.SUFFIXES} - {".zip"}:
        return players.load_player(name, rules)
    try:
        player: Any
        if path.suffix == ".zip":
            from nim_env.sb3 import load_policy as load_model  # here, since most scripts run without PyTorch

            player = load_model(path, rules, use_masking=True)
        elif path.suffix == ".pt":
            from learn_the_rule.network import load_policy

            player = load_policy(path, rules)
        else:
            player = agents.load(path)
    except Exception as error:  # PyTorch and safetensors raise many kinds
        raise ValueError(f"{path} cannot be loaded: {error}") from error
    return players.player_of(player, rules, name)
