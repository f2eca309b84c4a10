"""Runs code that other people wrote: it prints nothing, gets no input, and its errors name the file and the line.

The code is not confined in any other way: it can read and write files and start processes. The command runs it in
a separate process (:mod:`nim_env.check.processes`).
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nim_env.check.programs import PlayerError, describing_errors, import_file
from nim_env.policies import InvalidPolicyOutput

_last_run: dict[Path, set[str]] = {}  # the folder of the last file, and the modules that were loaded before it ran


def run_file(path: Path) -> dict[str, Any]:
    """Runs a Python file, which can import the modules in its folder as a script does.

    The modules from the folder of the previous file are unloaded first, so each file imports its own.

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
    with _imports_from_folder_of(path), _replaced_in_sys("dont_write_bytecode", True):
        return import_file(path)


def _forget_modules_of_last_run() -> None:
    """Removes the modules that the last file has imported from its own folder."""
    for folder, before in _last_run.items():
        for name in set(sys.modules) - before:
            file = Path(getattr(sys.modules[name], "__file__", None) or "")
            if folder in file.parents and "site-packages" not in file.parts:
                del sys.modules[name]
    _last_run.clear()


@contextlib.contextmanager
def running_code_of(name: str, moment: str = "") -> Iterator[None]:
    """A context for calling the code of a player, which prints nothing, gets no input, and imports its neighbors.

    For example::

        with running_code_of("nim.py:player", "when it plays"):
            move = player([1, 3, 5, 7])

    Args:
        name: The player, as the command line names it.
        moment: When the code runs, as error messages say it: "when it plays". Empty when it is imported.

    Raises:
        PlayerError: If the code raises an error or calls ``sys.exit``. The message names the line.
    """
    file = name.partition(":")[0]
    with (
        describing_errors(name, moment, others=(PlayerError, InvalidPolicyOutput)),
        _imports_from_folder_of(file),
        contextlib.redirect_stdout(io.StringIO()),
        _replaced_in_sys("stdin", io.StringIO()),
    ):
        yield


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
