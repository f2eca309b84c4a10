"""What the example scripts share: the command line, figures, and players by name."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
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
from nim_env.evaluation import Report, ValueFunction
from nim_env.policies import EncodedPolicy, PolicyLike, TabularPolicy, checked_policy

if TYPE_CHECKING:
    import pandas as pd

LINE_COLORS = [COLORS[name] for name in ("player_1", "player_2", "good", "flag", "edge", "muted")]
GROUP_FIGURES = {
    "expert": "expert mastery",
    "value_accuracy_won": "value accuracy, won positions",
    "value_accuracy_lost": "value accuracy, lost positions",
}
STYLE_SHEET = Path(__file__).parent / "page" / "style.css"  # it has the colors of both color schemes

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

    A ValueError or an OSError is one line and exits with status 2, Ctrl-C is one word and exits with 130.
    """
    try:
        main(tyro.cli(args_type, description=sys.modules[main.__module__].__doc__))
    except (ValueError, OSError) as error:
        message = str(error).split(" was raised from the environment creator")[0]  # a suffix of gym.make
        print(f"{Path(sys.argv[0]).name}: {' '.join(message.split())}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        sys.exit(130)


def save_figure(figure: Figure, path: Path) -> None:
    """Saves a figure, whose folder is made if needed, and prints where.

    An SVG follows the color scheme of the reader.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    is_svg = path.suffix == ".svg"
    metadata = {"Date": None} if is_svg else None
    figure.savefig(path, dpi=200, bbox_inches="tight", transparent=is_svg, metadata=metadata)
    if is_svg:
        schemes = re.findall(r"light-dark\((#\w+), (#\w+)\)", STYLE_SHEET.read_text(encoding="utf-8"))
        rules = [
            f'[style*="{what}: {light}"] {{ {what}: {dark} !important }}'
            for light, dark in schemes
            if light in COLORS.values()
            for what in ("fill", "stroke")
        ]
        style = f"<style>@media (prefers-color-scheme: dark) {{ {' '.join(rules)} }}</style>"
        svg = path.read_text(encoding="utf-8")
        path.write_text(svg.replace("<defs>", f"{style}\n <defs>", 1), encoding="utf-8")
    print(f"picture: {path}")


def show_report(report: Report, player: str, path: Path) -> pd.DataFrame:
    """Prints all figures of a player, draws them by number of heaps, and returns that table."""
    import matplotlib.pyplot as plt  # here, since play.py would start 5 seconds later with them
    import pandas as pd
    import seaborn as sns

    for name, figure in report.to_dict().items():
        print(f"{name:24} {figure:.4f}")
    groups = pd.DataFrame(report.groups).dropna(axis="columns")
    print(groups.to_string(index=False))
    heaps = groups["n_heaps"].map(lambda n: f"{n} heap" if n == 1 else f"{n} heaps")
    names = heaps + groups["endgame"].map({True: ", endgames", False: ""})
    shown = groups[[name for name in GROUP_FIGURES if name in groups]].set_index(names)
    is_empty = groups[["lost" if name.endswith("lost") else "won" for name in shown]].to_numpy() == 0
    worst = shown["expert"].mask(is_empty[:, 0]).idxmin()
    drawing, axis = plt.subplots(figsize=(7.4, 3), layout="constrained")
    colors = sns.light_palette(COLORS["flag"], reverse=True, as_cmap=True)
    style = {"vmin": 0, "vmax": 1, "cmap": colors, "cbar": False, "rasterized": True}
    sns.heatmap(shown.rename(columns=GROUP_FIGURES), mask=is_empty, annot=True, fmt=".1%", ax=axis, **style)
    axis.set(title=f"{player}: worst with {worst} ({shown.loc[worst, 'expert']:.1%} expert mastery)", ylabel="")
    axis.grid(visible=False)
    save_figure(drawing, path)
    return groups


def percent(fraction: float, digits: int = 1) -> str:
    """A fraction in percent; only exactly 0 and 1 are written as 0 and 100."""
    smallest = 10**-digits
    value = 100 * fraction if fraction in (0, 1) else min(max(100 * fraction, smallest), 100 - smallest)
    return f"{value:.{digits}f}"


def load_player(name: str, rules: NimRules) -> PolicyLike:
    """A player that a command line names; a ValueError where there is none.

    ``random``, ``take-N`` or ``expert``; ``FILE.py:NAME``, a function ``(observation, action_mask) -> action`` or
    a policy; or the file of a MaskablePPO model (``.zip``), which then plays its most probable actions, a network
    of ``learn_the_rule`` (``.pt``), a table (``.npz``, by ``numpy.savez_compressed(path, game=str(rules),
    probabilities=table)``), or an agent of ``agents``. Only a ``.py`` and a ``.zip`` file can run code.
    """
    path = Path(name)
    if match := re.fullmatch(r"(.+\.py):(\w+)", name):
        module = load_module(Path(match[1]))
        if not hasattr(module, match[2]):
            raise ValueError(f"{match[1]} has no {match[2]}")
        player = getattr(module, match[2])
    elif not path.is_file():
        return checked_policy(name, rules, f"there is no file {name}, so the player")
    elif load := {".zip": _load_model, ".pt": _load_network, ".npz": _load_table}.get(path.suffix):
        try:
            return load(path, rules)
        except Exception as error:  # torch, pickle, zipfile and NumPy raise many kinds
            raise ValueError(f"{path} cannot be loaded: {error}") from error
    else:
        player = agents.load(path)
    if not isinstance(player, agents.Agent):
        return player
    encoding = _env_of(player, rules).unwrapped.encoding
    is_plain = isinstance(encoding.space, gym.spaces.MultiDiscrete)  # heap sizes; such an agent has q_values
    return player if is_plain else EncodedPolicy(player, encoding)


def load_module(path: Path) -> ModuleType:
    """Imports a Python file; a ValueError where there is none, or where its code raises an error."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    sys.path.insert(0, str(path.resolve().parent))  # the file may import its neighbors, as a script does
    spec: Any = importlib.util.spec_from_file_location(f"player_of_{path.stem}", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # dataclasses look there
    with foreign_code(str(path), "when it is imported"):
        spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def foreign_code(player: str, where: str) -> Iterator[None]:
    """Runs code of a player's file: it prints nothing, cannot ask for input, and fails with a ValueError."""
    file = Path(player.partition(".py:")[0]).with_suffix(".py").absolute()
    try:
        with contextlib.redirect_stdout(io.StringIO()), mock.patch("sys.stdin", io.StringIO()):
            yield
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if Path(frame.filename) == file]
        place = f"{player}, line {lines[-1]}," if lines else player
        what = f"raises {type(error).__name__} {where}: {error}"
        if isinstance(error, EOFError):
            what = f"asks for input {where}, and nobody answers; let it play only as the main program"
        raise ValueError(f"{place} {what}") from error


def values_of(player: PolicyLike, rules: NimRules) -> ValueFunction | None:
    """The values of a Q-learner, a model or a network; None for other players."""
    if not isinstance(player, agents.QLearningAgent):
        return getattr(player, "values", None)
    return lambda heaps: np.where(rules.action_mask(heaps), player.q_values(heaps), -np.inf).max(axis=1)


def _env_of(learner: Any, rules: NimRules) -> Any:
    """The environment with the encoding that an agent or model has learned on."""
    for observation in ("heaps", "one_hot", "bits", "unary"):
        env: Any = gym.make("nim_env:Nim-v0", **asdict(rules), observation=observation, opponent=None)
        if (env.observation_space, env.action_space) == (learner.observation_space, learner.action_space):
            return env
    raise ValueError(f"the player learned another game than {rules}, or on a custom encoding")


def _load_model(path: Path, rules: NimRules) -> PolicyLike:
    from sb3_contrib import MaskablePPO  # here, since most scripts run without PyTorch

    from nim_env.sb3 import ModelPolicy

    model = MaskablePPO.load(path, device="cpu")
    return ModelPolicy(model, _env_of(model, rules), deterministic=True)


def _load_network(path: Path, rules: NimRules) -> PolicyLike:
    folder = f"{__package__}.learn_the_rule" if __package__ else "learn_the_rule"
    return importlib.import_module(f"{folder}.network").load_policy(path, rules)


def _load_table(path: Path, rules: NimRules) -> PolicyLike:
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as table:
        if str(table["game"]) != str(rules):
            raise ValueError(f"its game is {table['game']}, not {rules}")
        return TabularPolicy(rules, table["probabilities"])
