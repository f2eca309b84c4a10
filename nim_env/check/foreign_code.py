"""Runs code that other people wrote, in a process of its own.

- :func:`run_in_process` runs a function in a process of its own, which can crash or be stopped by a time limit.
- :func:`run_file` and :func:`running_code_of` work inside such a process: the code prints nothing and gets no
  input, and its errors name the file and the line.

The code is not confined in any other way: it can read and write files and start processes.
"""

from __future__ import annotations

import contextlib
import functools
import io
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from nim_env.check.programs import PlayerError, describing_errors, import_file
from nim_env.policies import InvalidPolicyOutput


class ProcessError(Exception):
    """The process has crashed or has exceeded its time limit."""


def run_in_process(function: Callable[..., Any], *arguments: Any, time_limit: float | None = None) -> Any:
    """Runs a function in a new process. Afterwards, it kills that process and every process that it has started.

    These processes are in the process group of the new process, unless they have left it. All of them inherit an
    environment variable, the *mark*, by which those that have left can be found.

    Args:
        function: A function of a module, which the new process imports.
        *arguments: Its arguments. They and the result must be picklable.
        time_limit: The time limit in seconds. ``None`` for no limit.

    Returns:
        The result of the function.

    Raises:
        ProcessError: If the process ends without a result, or exceeds the time limit.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_result, args=(sender, function, arguments))
    if hasattr(os, "killpg"):
        resource_tracker.ensure_running()  # before the mark, since it serves this process too
    mark = f"NIM_ENV_CHECK_{os.urandom(16).hex()}"
    os.environ[mark] = ""
    try:
        process.start()
    finally:
        del os.environ[mark]
    sender.close()
    try:
        if not receiver.poll(time_limit):
            raise ProcessError(f"takes longer than {time_limit:g} s")
        result = receiver.recv()
        process.join(5)
        return result
    except EOFError:
        process.join()
        raise ProcessError(f"ends its process with exit code {process.exitcode}") from None
    finally:
        _kill_group(process.pid)
        _kill_marked(mark)
        process.kill()
        process.join()


def _send_result(sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Runs the function in the new process, and sends its result to the process that started the new one."""
    if hasattr(os, "setsid"):
        os.setsid()  # a process group of its own, which can be killed as a whole
    sender.send(function(*arguments))


def _kill_group(number: int | None) -> None:
    """Kills the process group with this number. Does nothing on a system without process groups.

    ``number`` is ``None`` if no process was started.
    """
    if number and hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(number, signal.SIGKILL)


def _kill_marked(mark: str) -> None:
    """Kills every process that has the environment variable ``mark``.

    This works on Linux only, since other systems have no ``/proc/PID/environ``. It does not find a process that
    was started without this variable.
    """
    for _ in range(3):  # again, for processes that one of them has just started
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark.encode() in path.read_bytes():
                    os.kill(int(path.parent.name), signal.SIGKILL)


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
    """Unloads the modules that the previous file imported from its own folder."""
    for folder, before in _last_run.items():
        for name in set(sys.modules) - before:
            file = Path(getattr(sys.modules[name], "__file__", None) or "")
            if folder in file.parents and "site-packages" not in file.parts:
                del sys.modules[name]
    _last_run.clear()


@contextlib.contextmanager
def running_code_of(name: str, when: str = "") -> Iterator[None]:
    """Runs a player's code in a ``with`` block. It prints nothing, gets no input, and can import from its folder.

    For example::

        with running_code_of("nim.py:player", "when it plays"):
            move = player([1, 3, 5, 7])

    Args:
        name: The player, as the command line names it.
        when: When the code runs, as error messages say it: "when it plays". Empty when it is imported.

    Raises:
        PlayerError: If the code raises an error or calls ``sys.exit``. The message names the line.
    """
    file = name.partition(":")[0]
    with (
        describing_errors(name, when, others=(PlayerError, InvalidPolicyOutput)),
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
    """Returns the folder of a file, with links resolved. It is cached, since it is needed in every position."""
    return os.path.dirname(os.path.realpath(file))


@contextlib.contextmanager
def _replaced_in_sys(name: str, value: Any) -> Iterator[None]:
    """Replaces an attribute of :mod:`sys` in a ``with`` block. The usual unittest.mock would import asyncio."""
    before = getattr(sys, name)
    setattr(sys, name, value)
    try:
        yield
    finally:
        setattr(sys, name, before)
