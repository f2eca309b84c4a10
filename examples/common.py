"""What the example scripts share: the command line, figures, and players by name."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import gymnasium as gym
import matplotlib
import numpy as np
import tyro
from cycler import cycler
from matplotlib.figure import Figure

import agents
from nim_env import NimRules
from nim_env.appearance import COLORS
from nim_env.encodings import encoding_of
from nim_env.evaluation import ValueFunction
from nim_env.policies import EncodedPolicy, PolicyLike, TabularPolicy, checked_policy

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


def load_player(name: str, rules: NimRules) -> PolicyLike:
    """A player that a command line names; a ValueError where there is none.

    ``random``, ``take-N`` or ``expert``; ``FILE.py:NAME``, a function ``(observation, action_mask) -> action`` or
    a policy; or the file of a Stable-Baselines3 model (``.zip``), which then plays its best legal actions, a
    network of ``learn_the_rule`` (``.pt``), a table (``.npz``, by ``numpy.savez_compressed(path, game=str(rules),
    probabilities=table)``), or an agent of ``agents``. Only a ``.py`` and a ``.zip`` file can run code.
    """
    path = Path(name)
    if ".py:" in name:
        file, _, attribute = name.rpartition(":")
        player = load_file(Path(file)).get(attribute)
        if player is None:
            raise ValueError(f"{file} has no {attribute}")
    elif path.is_file():
        try:
            player = _load(path, rules)
        except Exception as error:  # torch, pickle, zipfile and NumPy raise many kinds
            raise ValueError(f"{path} cannot be loaded: {error}") from error
    else:
        player = checked_policy(name, rules, f"there is no file {name}, so the player")
    if not isinstance(player, agents.Agent):
        return player
    encoding = encoding_of(rules, player.observation_space)
    if player.action_space != gym.spaces.Discrete(rules.n_actions):
        raise ValueError(f"the player learned {player.action_space}, another game than {rules}")
    is_plain = isinstance(encoding.space, gym.spaces.MultiDiscrete)  # heap sizes; such an agent has q_values
    return player if is_plain else EncodedPolicy(player, encoding)


def load_file(path: Path) -> dict[str, Any]:
    """What a Python file defines; it may import its neighbors, as a script does."""
    sys.path.insert(0, str(path.resolve().parent))
    with foreign_code(str(path), "when it is imported"):
        return runpy.run_path(str(path))


@contextlib.contextmanager
def foreign_code(player: str, where: str) -> Iterator[None]:
    """Runs code of a player's file: it prints nothing, cannot ask for input, and fails with a ValueError."""
    file = Path(player if player.endswith(".py") else player.rpartition(":")[0])
    try:
        with contextlib.redirect_stdout(io.StringIO()), mock.patch("sys.stdin", io.StringIO()):
            yield
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if Path(frame.filename) == file]
        place = f"{player}, line {lines[-1]}," if lines else player
        what = "asks for input" if isinstance(error, EOFError) else f"raises {type(error).__name__} ({error})"
        raise ValueError(f"{place} {what} {where}") from error


def values_of(player: PolicyLike, rules: NimRules) -> ValueFunction | None:
    """The values of a Q-learner, a model or a network; None for other players."""
    if not isinstance(player, agents.QLearningAgent):
        return getattr(player, "values", None)
    return lambda heaps: np.where(rules.action_mask(heaps), player.q_values(heaps), -np.inf).max(axis=1)


def _load(path: Path, rules: NimRules) -> Any:
    if path.suffix == ".zip":
        from nim_env.sb3 import load_policy as load_model  # here, since most scripts run without PyTorch

        return load_model(path, rules, use_masking=True)
    if path.suffix == ".pt":
        from learn_the_rule.network import load_policy

        return load_policy(path, rules)
    if path.suffix != ".npz":
        return agents.load(path)
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as table:
        if str(table["game"]) != str(rules):
            raise ValueError(f"its game is {table['game']}, not {rules}")
        return TabularPolicy(rules, table["probabilities"])
