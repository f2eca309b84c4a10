"""What the example scripts share: the command line, figures, and players by name."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import gymnasium as gym
import matplotlib
import numpy as np
import tyro
from cycler import cycler

import agents
from nim_env import NimRules
from nim_env.evaluation import ValueFunction
from nim_env.policies import EncodedPolicy, PolicyLike, TabularPolicy, checked_policy
from nim_env.rendering import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Args = TypeVar("Args")


# --- Command line ---------------------------------------------------------------------------------


def run(main: Callable[[Args], Any], args_type: type[Args]) -> None:
    """Parses the command line into a dataclass and calls ``main`` with it.

    The docstrings of the fields are the help. A wrong flag exits with status 2, an error of the system with one
    line and 2, Ctrl-C with one line and 130, a closed pipe, as of ``| head``, with 141 alone. Characters that the
    terminal or file cannot encode are printed as ``?``.
    """
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        try:
            main(tyro.cli(args_type, description=sys.modules[main.__module__].__doc__))
        finally:
            if sys.stdout is not None:  # it is closed where a shell says >&-
                sys.stdout.flush()
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        try:
            sys.stdout.flush()
        except OSError:  # discard the rest, which Python would try to write again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            sys.exit(128 + 13)  # as a shell reports SIGPIPE
        fail(str(error))


def _number(
    kind: type, minimum: float, maximum: float, or_none: bool = False
) -> tyro.constructors.PrimitiveConstructorSpec[Any]:
    """Finite numbers from ``minimum`` to ``maximum``; another one on the command line is an error of tyro's."""
    range_ = f"from {minimum} to {maximum}"
    if maximum == float("inf"):
        range_ = f"{minimum} or more" + " and finite" * (kind is float)

    def parse(strings: list[str]) -> Any:
        if or_none and strings == ["None"]:
            return None
        number = kind(strings[0])
        if not minimum <= number <= maximum or number == float("inf"):
            raise ValueError(f"must be {range_}; got {number}")
        return number

    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="{None}|" * or_none + kind.__name__.upper(),
        instance_from_str=parse,
        is_instance=lambda value: isinstance(value, kind) or (or_none and value is None),
        str_from_instance=lambda value: [str(value)],
    )


PositiveInt = Annotated[int, _number(int, 1, float("inf"))]
NonNegativeInt = Annotated[int, _number(int, 0, float("inf"))]
Seed = Annotated[int, _number(int, 0, 2**31 - 1)]
PositiveIntOrNone = Annotated[int | None, _number(int, 1, float("inf"), or_none=True)]
NonNegativeIntOrNone = Annotated[int | None, _number(int, 0, float("inf"), or_none=True)]
SeedOrNone = Annotated[int | None, _number(int, 0, 2**31 - 1, or_none=True)]
Fraction = Annotated[float, _number(float, 0, 1)]
NonNegative = Annotated[float, _number(float, 0, float("inf"))]
Seconds = Annotated[float, _number(float, 0.001, 3600)]


def fail(message: str) -> NoReturn:
    """Exits with one line on standard error and status 2."""
    print(f"{Path(sys.argv[0]).name}: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(2)


@contextlib.contextmanager
def checking_args(errors: Any = (ValueError, TypeError, OSError), start: str = "") -> Iterator[None]:
    """Around the lines that use the arguments first: an error there is a wrong value, reported by :func:`fail`."""
    try:
        yield
    except errors as error:
        fail(start + str(error).split(" was raised from the environment creator")[0])  # a suffix of gym.make


def check_output(option: str, path: Path | None, suffixes: Sequence[str] = ()) -> None:
    """Makes the folder of an output file; exits with an error if the file cannot be written there."""
    if path is None:
        return
    if suffixes and path.suffix.lower() not in suffixes:
        fail(f"--{option} must end in {' or '.join(suffixes)}; got {path}")
    if path.exists() and not path.is_file():
        fail(f"--{option} must be a file; got {path}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=os.path.dirname(os.path.realpath(path))) as file:
            file.write(bytes(2**16))  # also fails where the disk is full
    except OSError as error:
        fail(f"--{option} {path} cannot be written: {error.strerror}")


def check_resume(resume: bool, folder: Path, is_started: bool) -> None:
    """Exits with an error if there is no run to resume in the folder, or one that would be overwritten."""
    if resume and not is_started:
        fail(f"--resume: there is no checkpoint in {folder}")
    if is_started and not resume:
        fail(f"--folder {folder} holds another run: give --resume or another folder")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file to write, which then becomes ``path``.

    If it cannot be written, the script exits with an error, and ``path`` is as it was before.
    """
    target = Path(os.path.realpath(path))  # a link is kept
    temporary = target.with_name(f".{os.getpid()}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, target)
    except OSError as error:
        fail(f"{path} cannot be written: {error.strerror or error}")
    finally:
        temporary.unlink(missing_ok=True)


# --- Figures and numbers --------------------------------------------------------------------------

FIGURE_SUFFIXES = (".png", ".pdf", ".svg")

matplotlib.use("agg")  # figures go to files
matplotlib.rcParams.update(
    {
        "axes.prop_cycle": cycler(
            color=[COLORS[n] for n in ("player_1", "player_2", "good", "flag", "edge", "muted")]
        ),
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": "medium",
        "axes.titlelocation": "left",
        "figure.titlesize": "large",
        "grid.color": COLORS["line"],
        "legend.frameon": False,
        **dict.fromkeys(("text.color", "axes.titlecolor"), COLORS["ink"]),
        **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), COLORS["muted"]),
    }
)


def label_lines(axis: Axes, to_left: Sequence[str] = ()) -> None:
    """Writes each line's label at its right end, in its color, instead of a legend; those named, to its left."""
    from scipy.optimize import isotonic_regression  # here, since its import takes half a second

    to_axes = axis.transData + axis.transAxes.inverted()
    step = 12 / 72 / (axis.get_position().height * axis.figure.get_figheight())  # 12 points
    named = [line for line in axis.lines if not line.get_label().startswith("_")]
    left = [line for line in named if line.get_label() in to_left]
    right = [line for line in named if line not in left]
    for lines, offset, side in ((right, 6, "left"), (left, -6, "right")):
        heights = {line: to_axes.transform(line.get_xydata()[-1])[1] for line in lines}
        lines.sort(key=lambda line: (heights[line], named.index(line)))
        if lines:  # the nearest heights without overlaps, within the axes
            sizes = np.array([line.get_label().count("\n") + 1 for line in lines])
            steps = step * (sizes.cumsum() - sizes / 2)
            fitted = isotonic_regression(np.array([heights[line] for line in lines]) - steps).x
            heights = dict(zip(lines, fitted.clip(max=1 - steps[-1]) + steps, strict=True))
        for line, height in heights.items():
            place = {"xycoords": axis.get_xaxis_transform(), "textcoords": "offset points", "va": "center"}
            place |= {"ha": side, "color": line.get_color(), "annotation_clip": False}
            axis.annotate(line.get_label(), (line.get_xdata()[-1], height), (offset, 0), **place)


def save_figure(figure: Figure, path: Path) -> None:
    """Saves a figure and prints where."""
    with replacing(path) as file:
        figure.savefig(file, dpi=120, bbox_inches="tight")
    print(f"picture: {path}")


def percent(fraction: float, digits: int = 1) -> str:
    """A fraction in percent; only exactly 0 and 1 are written as 0 and 100."""
    smallest = 10**-digits
    value = 100 * fraction if fraction in (0, 1) else min(max(100 * fraction, smallest), 100 - smallest)
    return f"{value:.{digits}f}"


# --- Players --------------------------------------------------------------------------------------


def load_player(name: str, rules: NimRules) -> PolicyLike:
    """A player that a command line names.

    Args:
        name: ``random``, ``take-N`` or ``expert``; ``file.py:name``, a function of observation and action mask
            that returns an action, or a policy (an object with ``action_probabilities``); or a file: a MaskablePPO
            model of ``sb3_self_play.py`` (``.zip``), which then plays its most probable actions, a network of
            ``learn_the_rule/train.py`` (``.pt``), a table of :func:`save_table_policy`, or an agent saved by
            ``agents``. The suffixes ``.py`` and ``.zip`` alone run code from the file.
        rules: The game.

    Raises:
        ValueError: The name means nothing, or the file is damaged or holds a player of another game.
    """
    if match := re.fullmatch(r"(.+\.py):(\w+)", name):
        return _for_game(_load_from_module(Path(match[1]), match[2]), name, rules)
    with contextlib.suppress(ValueError):
        return checked_policy(name, rules)
    path = Path(name)
    if not path.is_file():
        raise ValueError(f"{name} is not random, take-N, expert or file.py:name, and not the file of a player")
    if path.suffix == ".py":
        raise ValueError(f"{name} needs the name of a function or policy in the file: {name}:NAME")
    if path.suffix in (".zip", ".pt"):
        try:
            return _load_model(path, rules) if path.suffix == ".zip" else _load_network(path, rules)
        except ImportError as error:
            raise ValueError(f'{path} needs pip install -e ".[examples,sb3]": {error}') from error
    if path.suffix == ".npz" and _holds_table(path):
        return _load_table_policy(path, rules)
    return _for_game(agents.load(path), name, rules)


def _for_game(player: PolicyLike, name: str, rules: NimRules) -> PolicyLike:
    """The player of heap sizes; a ValueError if it is an agent of another game."""
    if not isinstance(player, agents.Agent):
        return player
    encoding = _env_of(player, name, rules).unwrapped.encoding
    is_plain = isinstance(encoding.space, gym.spaces.MultiDiscrete)  # heap sizes; such an agent has q_values
    return player if is_plain else EncodedPolicy(player, encoding)


def _env_of(learner: Any, name: str, rules: NimRules) -> Any:
    """The environment with the encoding that an agent or model has learned on; a ValueError if there is none."""
    for observation in ("heaps", "one_hot", "bits", "unary"):
        env: Any = gym.make("nim_env:Nim-v0", **asdict(rules), observation=observation, opponent=None)
        if (env.observation_space, env.action_space) == (learner.observation_space, learner.action_space):
            return env
    raise ValueError(f"{name} learned another game than {rules}, or on a custom encoding")


def _load_from_module(path: Path, name: str) -> PolicyLike:
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    if (folder := str(path.resolve().parent)) not in sys.path:
        sys.path.insert(0, folder)  # the file may import its neighbors, as a script does
    spec = importlib.util.spec_from_file_location(f"player_of_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # dataclasses look there
    spec.loader.exec_module(module)
    player = getattr(module, name, None)
    if not callable(player) and not hasattr(player, "action_probabilities"):
        raise ValueError(f"{path} has no function or policy of the name {name}")
    return player


def _load_model(path: Path, rules: NimRules) -> PolicyLike:
    from sb3_contrib import MaskablePPO  # here, since most scripts run without PyTorch

    from nim_env.sb3 import ModelPolicy

    try:
        model = MaskablePPO.load(path, device="cpu")
    except Exception as error:  # torch and pickle raise many kinds
        raise ValueError(f"{path} is damaged or not a MaskablePPO model: {error}") from error
    return ModelPolicy(model, _env_of(model, str(path), rules), deterministic=True)


def _load_network(path: Path, rules: NimRules) -> PolicyLike:
    from learn_the_rule.network import load_policy  # here, since most scripts run without PyTorch

    return load_policy(path, rules)


def values_of(player: PolicyLike, rules: NimRules) -> ValueFunction | None:
    """The values of a Q-learner, a model or a network; None for other players."""
    if not isinstance(player, agents.QLearningAgent):
        return getattr(player, "values", None)

    def values(heaps: np.ndarray) -> np.ndarray:
        return np.where(rules.action_mask(heaps), player.q_values(heaps), -np.inf).max(axis=1)

    return values


def save_table_policy(policy: TabularPolicy, path: Path) -> None:
    """Saves the probabilities of a policy in every position, for :func:`load_player`."""
    with replacing(path) as file:
        np.savez_compressed(file, game=np.array(str(policy.rules)), probabilities=policy.probabilities)


def _holds_table(path: Path) -> bool:
    with contextlib.suppress(Exception), zipfile.ZipFile(path) as file:  # agents.load names the damage
        return "probabilities.npy" in file.namelist()
    return False


def _load_table_policy(path: Path, rules: NimRules) -> TabularPolicy:
    try:
        with zipfile.ZipFile(path) as file:
            game = str(_read_array(file, "game", (), "U"))
            if is_same := game == str(rules):
                probabilities = _read_array(file, "probabilities", (rules.n_positions, rules.n_actions), "biuf")
    except Exception as error:  # NumPy, zipfile and zlib raise many kinds
        raise ValueError(f"{path} is damaged: {error}") from error
    if not is_same:
        raise ValueError(f"{path} holds a player of {game[:100]!r}, not of {rules}")
    return TabularPolicy(rules, probabilities)


def _read_array(file: zipfile.ZipFile, name: str, shape: tuple[int, ...], kinds: str) -> np.ndarray:
    """An array of an ``.npz`` file, read only if its header has this shape and a dtype of these kinds."""
    with file.open(f"{name}.npy") as member:
        version = np.lib.format.read_magic(member)
        found, _, dtype = np.lib.format.read_array_header_1_0(member, max_header_size=256)
        if version != (1, 0) or found != shape or dtype.kind not in kinds or dtype.itemsize > 4096:
            raise ValueError(f"{name} must have shape {shape}; got {dtype} of shape {found}")
        member.seek(0)
        return np.lib.format.read_array(member, allow_pickle=False, max_header_size=256)
