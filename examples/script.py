"""What every example script needs around its experiment: a command line, clear mistakes, a saved picture."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import io
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar


def need(*packages: str, extras: str) -> None:
    """Ends the script if a package is missing, and says which extras bring it."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            print(f'{package} is missing; run pip install -e ".[{extras}]" in the project folder', file=sys.stderr)
            sys.exit(2)


need("joblib", "matplotlib", "pandas", "rich", "scipy", "seaborn", "tqdm", "tyro", extras="examples")
os.environ["MPLBACKEND"] = "Agg"  # pictures go to files, on machines without a display too

import tyro  # noqa: E402

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

Arguments = TypeVar("Arguments")
MOST = 100_000_000  # games: days of them
PICTURES = (".png", ".pdf", ".svg", ".jpg", ".webp")


def run(main: Callable[[Arguments], None], arguments: type[Arguments]) -> None:
    """Calls ``main`` with the command line as ``arguments``, a dataclass whose docstrings are the help.

    A mistake in the command line is one line on standard error and exit status 2; Ctrl-C is one line and 130.
    """
    try:
        main(_parsed(arguments, sys.modules[main.__module__].__doc__))
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # whoever reads the output, such as head, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _parsed(arguments: type[Arguments], description: str | None) -> Arguments:
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            return tyro.cli(arguments, description=description)
    except SystemExit as stop:
        if stop.code:
            fail(_first_sentence(errors.getvalue()))
        raise


@contextlib.contextmanager
def checking_arguments() -> Iterator[None]:
    """Around the lines that make things of the arguments: what they refuse is a mistake in the command line."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (ValueError, TypeError, OSError) as error:
        fail(str(error).split(" was raised from the environment creator")[0])  # which Gymnasium adds


def check_at_least(least: int, **numbers: int) -> None:
    """Ends the script unless every option, named as in its dataclass, is ``least`` or more."""
    for name, number in numbers.items():
        if not number >= least:
            fail(f"--{name.replace('_', '-')} must be {least} or more; got {number}")
        if name != "seed" and number > MOST:
            fail(f"--{name.replace('_', '-')} must be {MOST} or less; got {number}")


def check_file(name: str, path: Path) -> None:
    """Ends the script unless an option names a file that can be written, its folder being there."""
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        fail(f"--{name} must be a file in a folder that can be written to; got {path}")


def check_picture(path: Path, option: str = "picture", endings: tuple[str, ...] = PICTURES) -> None:
    """Ends the script unless an option names a picture file whose folder is there or can be made."""
    if path.suffix.lower() not in endings or path.is_dir():
        fail(f"--{option} must end in {'one of ' * (len(endings) > 1)}{', '.join(endings)}; got {path}")
    folder = next(folder for folder in path.absolute().parents if folder.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        fail(f"--{option} must lie in a folder that can be written to; got {path}")


def check_folder(folder: Path, picture: str) -> None:
    """Ends the script unless --folder is one, or can be made, in which a picture and more can be written."""
    check_picture(folder / picture, "folder")


def options_kept(given: Arguments, options: dict[str, Any], free: Collection[str]) -> Arguments:
    """The options of a run, from JSON, with what the command line has for those that are not kept.

    Raises:
        TypeError: They are not those of the script.
    """
    if not isinstance(options, dict):
        raise TypeError(f"options must be a dictionary; got {options!r}")
    kept = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    return type(given)(**kept, **{name: getattr(given, name) for name in free})


def check_same_options(kept: Any, free: Collection[str], run: str) -> None:
    """Ends the script if the command line has an option that a run which is taken up again did not have.

    Args:
        kept: The options of the run, with what the command line has for those in ``free``.
        free: Which may be others.
        run: Where the run is kept.
    """
    given = tyro.cli(type(kept), default=kept)
    for field in dataclasses.fields(kept):
        value, before = getattr(given, field.name), getattr(kept, field.name)
        if value != before and field.name not in free:
            option = f"--{field.name.replace('_', '-')}"
            fail(f"{option} {value} differs from the run of {run}, which has {before}")


def fail(message: str) -> NoReturn:
    """Ends the script with one line on standard error and exit status 2."""
    print(f"{Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    sys.exit(2)


def save(figure: Figure, path: Path) -> None:
    """Saves a picture, in a folder that is made if need be, and says where."""
    with checking_arguments():
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=120, bbox_inches="tight")
    print(f"picture: {path}")


def save_table(table: DataFrame, path: Path) -> None:
    """Saves a table, and says where."""
    with checking_arguments():
        table.to_csv(path, index=False)
    print(f"table: {path}")


def _first_sentence(box: str) -> str:
    """The message in the box that tyro draws: its lines up to the first rule."""
    lines = []
    for line in re.sub(r"\x1b\[[0-9;]*m", "", box).splitlines():  # of which a terminal would make colors
        text = line.strip("│╭╮╰╯ ")
        if text.startswith("─") or line.startswith("╭"):
            if lines:
                break
            continue
        lines.append(text)
    return f"{' '.join(lines)}; see --help"
