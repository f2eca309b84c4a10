"""Runs code that other people wrote: it prints nothing, gets no input, and its errors name the file and the line.

The code is not confined in any other way: it can read and write files and start processes. The command runs it in
a separate process (:mod:`nim_env.check.processes`).
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nim_env.policies import InvalidPolicyOutput

_MAX_LENGTH = 200  # of a value or an error message that is shown
_REMEDIES = {  # by a part of the error message; most programs with these errors were written for an older Python
    "Population must be a sequence": "since Python 3.11 it needs a list, as random.sample(list(moves), 1)",
    "'(set|dict_keys|dict_values)' object is not subscr": "make a list of it, as random.choice(list(moves))",
    "'float' object cannot be interpreted as an integer": "use // for integers; Python 3.12 refuses 2.0 for 2",
    "unhashable type: '(list|numpy.ndarray)'": "the heaps are a list; as the key of a dictionary use tuple(heaps)",
    "'collections' has no attribute|from 'collections'": "since Python 3.10 it is in collections.abc",
    "'fractions' has no attribute 'gcd'|'gcd' from": "since Python 3.9 it is math.gcd",
    "No module named '(imp|distutils|asyncore)'": "Python 3.12 removed this module; use importlib, or Python 3.11",
}
_last_run: dict[Path, set[str]] = {}  # the folder of the last file, and the modules that were loaded before it ran


class PlayerError(ValueError):
    """The code of a player has failed."""


def run_file(path: Path) -> dict[str, Any]:
    """Runs a Python file, which can import the modules in its folder as a script does.

    Modules in the folder of the previous file are forgotten first, so each file gets its own ones.

    Args:
        path: The file.

    Returns:
        What the file defines, by name.

    Raises:
        PlayerError: If there is no such file.
    """
    if not path.is_file():
        raise PlayerError(f"there is no file {path}")
    _forget_modules_of_last_run()
    _last_run[path.resolve().parent] = set(sys.modules)
    is_taken = path.stem in {*sys.modules, *sys.stdlib_module_names}
    name = f"player_{path.stem}" if is_taken else path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # for pickles and other processes
    with _imports_from_folder_of(path), _replaced_in_sys("dont_write_bytecode", True):
        spec.loader.exec_module(module)
    return vars(module)


def _forget_modules_of_last_run() -> None:
    """Removes the modules that the last file has imported from its own folder."""
    for folder, before in _last_run.items():
        for name in set(sys.modules) - before:
            file = Path(getattr(sys.modules[name], "__file__", None) or "")
            if folder in file.parents and "site-packages" not in file.parts:
                del sys.modules[name]
    _last_run.clear()


@contextlib.contextmanager
def running_code_of(name: str, moment: str) -> Iterator[None]:
    """A context for calling the code of a player, which prints nothing, gets no input, and imports its neighbors.

    For example::

        with running_code_of("nim.py:player", "when it plays"):
            move = player([1, 3, 5, 7])

    Args:
        name: The player, as the command line names it.
        moment: When the code runs, as error messages say it: "when it plays".

    Raises:
        PlayerError: If the code raises an error or calls ``sys.exit``. The message names the line.
    """
    file = name.partition(":")[0]
    try:
        with (
            _imports_from_folder_of(file),
            contextlib.redirect_stdout(io.StringIO()),
            _replaced_in_sys("stdin", io.StringIO()),
        ):
            yield
    except (PlayerError, InvalidPolicyOutput):
        raise
    except (Exception, SystemExit) as error:
        raise PlayerError(_message(error, name, file, moment)) from error


def _message(error: BaseException, name: str, file: str, moment: str) -> str:
    """Says which line of a player's file has raised an error, when, and what to do if a remedy is known."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == Path(file).resolve()]
    place = f"{name}, line {lines[-1]}," if lines else name
    text = shown(error, str)
    what = f"raises {type(error).__name__} ({text})"
    if isinstance(error, EOFError) and "reading a line" in str(error):
        what = "asks for input"
    remedy = next((f": {_REMEDIES[part]}" for part in _REMEDIES if re.search(part, text)), "")
    return f"{place} {what} {moment}{remedy}"


@contextlib.contextmanager
def _imports_from_folder_of(file: str | Path) -> Iterator[None]:
    """Lets code import the modules in the folder of its file, as a script does."""
    folder = _folder_of(os.path.abspath(file))
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:  # the code may have changed it
            sys.path.remove(folder)


@functools.lru_cache
def _folder_of(file: str) -> str:
    """The folder of a file, with links resolved. It is cached, since a function is asked in every position."""
    return os.path.dirname(os.path.realpath(file))


@contextlib.contextmanager
def _replaced_in_sys(name: str, value: Any) -> Iterator[None]:
    """Replaces an attribute of :mod:`sys` for a while. The standard unittest.mock would import asyncio."""
    before = getattr(sys, name)
    setattr(sys, name, value)
    try:
        yield
    finally:
        setattr(sys, name, before)


def shown(value: Any, text: Callable[[Any], str] = repr) -> str:
    """Shows a value in up to 200 characters.

    Args:
        value: The value.
        text: Converts it to a string.

    Returns:
        The string, with an ellipsis if it was cut.
    """
    string = text(value)
    return string if len(string) <= _MAX_LENGTH else f"{string[:_MAX_LENGTH]}..."
