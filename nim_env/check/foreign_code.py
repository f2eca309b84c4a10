"""Runs code that other people wrote.

- :func:`run_in_process` calls a function in a new process, so a crash or an endless loop does not stop the caller.
- :func:`run_file` and :func:`running_code_of` run the code of a file in the current process. The code prints
  nothing and gets no input, and its errors name the file and the line.

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
    """A process that :func:`run_in_process` started has crashed or has exceeded its time limit."""


def run_in_process(function: Callable[..., Any], *arguments: Any, time_limit: float | None = None) -> Any:
    """Calls a function in a new process and returns its result.

    When the function has returned, failed or exceeded the time limit, the new process and all processes that it
    has started are killed. Most of them belong to the process group of the new process. Those that have left the
    group are found by an environment variable with a unique name, which they have inherited from the new process.

    Args:
        function: The function. It must be defined at the top of a module, because the new process imports it.
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
    """Calls a function and sends its result through a pipe. This is the main function of a new process."""
    if hasattr(os, "setsid"):
        os.setsid()  # a process group of its own, which can be killed as a whole
    sender.send(function(*arguments))


def _kill_group(number: int | None) -> None:
    """Kills all processes of the process group with this number.

    Does nothing if the number is ``None``, because no process was started, or if the operating system has no
    process groups.
    """
    if number is not None and hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(number, signal.SIGKILL)


def _kill_marked(mark: str) -> None:
    """Kills every process that was started with the environment variable named ``mark`` (:func:`run_in_process`).

    Does nothing on systems other than Linux, because they have no files ``/proc/PID/environ`` to read.
    """
    for _ in range(3):  # again, for processes that one of them has just started
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark.encode() in path.read_bytes():
                    os.kill(int(path.parent.name), signal.SIGKILL)


_last_run: dict[Path, set[str]] = {}
"""The folder of the last file that :func:`run_file` ran, with the names of the modules that were loaded before."""


def run_file(path: Path) -> dict[str, Any]:
    """Runs a Python file, which can import the modules in its folder, as a script can.

    The modules that the previous file imported from its own folder are unloaded first. Otherwise, if both folders
    had a ``helpers.py``, the new file would get the ``helpers`` of the previous one.

    Args:
        path: The file.

    Returns:
        Everything that the file defines at its top level, by name.

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
    """Unloads the modules that the file of the last :func:`run_file` imported from its own folder."""
    for folder, before in _last_run.items():
        for name in set(sys.modules) - before:
            file = Path(getattr(sys.modules[name], "__file__", None) or "")
            if folder in file.parents and "site-packages" not in file.parts:
                del sys.modules[name]
    _last_run.clear()


@contextlib.contextmanager
def running_code_of(name: str, when: str = "") -> Iterator[None]:
    """Runs a player's code in a ``with`` block.

    The code prints nothing and gets no input, and it can import the modules in the folder of its file. For
    example::

        with running_code_of("nim.py:player", "when it plays"):
            move = player([1, 3, 5, 7])

    Args:
        name: The player's name on the command line, such as ``nim.py`` or ``nim.py:player``.
        when: When the code runs, in the words of error messages, such as "when it plays". Empty while the file is
            imported.

    Raises:
        PlayerError: If the code raises an error or calls ``sys.exit``. The message names the line of the code.
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
    """Lets the code in a ``with`` block import the modules in the folder of a file, as a script can."""
    folder = _folder_of(os.path.abspath(file))
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:  # the code may have changed it
            sys.path.remove(folder)


@functools.lru_cache
def _folder_of(file: str) -> str:
    """Returns the folder of a file, with symbolic links resolved.

    The result is cached, because a player's code is run separately for each position.
    """
    return os.path.dirname(os.path.realpath(file))


@contextlib.contextmanager
def _replaced_in_sys(name: str, value: Any) -> Iterator[None]:
    """Replaces an attribute of :mod:`sys`, such as ``sys.stdin``, during a ``with`` block."""
    # unittest.mock.patch would do the same, but it imports asyncio, which is slow
    before = getattr(sys, name)
    setattr(sys, name, value)
    try:
        yield
    finally:
        setattr(sys, name, before)
