"""What every example script needs around its experiment: a command line, clear mistakes, a saved picture."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

try:
    import matplotlib as mpl
    import tyro
except ImportError as missing:
    sys.exit(f'{missing.name} is missing; run pip install -e ".[examples]" in the project folder')

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Arguments = TypeVar("Arguments")


def run(main: Callable[[Arguments], None], arguments: type[Arguments]) -> None:
    """Calls ``main`` with the command line as ``arguments``, a dataclass whose docstrings are the help.

    A mistake in the command line is one line on standard error and exit status 2; Ctrl-C is one line and 130.
    """
    mpl.use("Agg")  # pictures go to files, on machines without a display too
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            parsed = tyro.cli(arguments, description=sys.modules[main.__module__].__doc__)
    except SystemExit as stop:
        if stop.code:
            fail(_first_sentence(errors.getvalue()))
        raise
    try:
        main(parsed)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # whoever reads the output, such as head, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


@contextlib.contextmanager
def checking_arguments() -> Iterator[None]:
    """Around the lines that make things of the arguments: what they refuse is a mistake in the command line."""
    try:
        yield
    except (ValueError, TypeError, OSError) as error:
        fail(str(error))


def check_at_least(least: int, **numbers: float) -> None:
    """Ends the script unless every option, named as in its dataclass, is ``least`` or more."""
    for name, number in numbers.items():
        if number < least:
            fail(f"--{name.replace('_', '-')} must be {least} or more; got {number}")


def fail(message: str) -> None:
    """Ends the script with one line on standard error and exit status 2."""
    print(f"{Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    sys.exit(2)


def save(figure: Figure, path: Path) -> None:
    """Saves a picture, in a folder that is made if need be, and says where."""
    with checking_arguments():
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=120, bbox_inches="tight")
    print(f"picture: {path}")


def _first_sentence(box: str) -> str:
    """The message in the box that tyro draws: its lines up to the first rule."""
    lines = []
    for line in box.splitlines():
        text = line.strip("│╭╮╰╯ ")
        if text.startswith("─") or line.startswith("╭"):
            if lines:
                break
            continue
        lines.append(text)
    return f"{' '.join(lines)}; see --help"
