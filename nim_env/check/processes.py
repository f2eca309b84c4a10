"""Runs a function in a process of its own, so code that crashes or never finishes does no harm to the caller."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


class ProcessError(Exception):
    """The process has crashed or has exceeded its time limit."""


def run_in_process(function: Callable[..., Any], *arguments: Any, time_limit: float | None = None) -> Any:
    """Runs a function in a new process. Afterwards, it kills that process and every process that it has started.

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
        if process.pid and hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):  # the group has the processes that the function started
                os.killpg(process.pid, signal.SIGKILL)
        _kill_marked(mark)
        process.kill()
        process.join()


def _send_result(sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Runs in the new process."""
    if hasattr(os, "setsid"):
        os.setsid()  # a process group of its own, which can be killed as a whole
    sender.send(function(*arguments))


def _kill_marked(mark: str) -> None:
    """Kills every process that was started with this environment variable.

    This finds processes that have left their process group, on Linux only, unless they were started with another
    environment. Other systems have no ``/proc/PID/environ``.
    """
    for _ in range(3):  # again, for processes that one of them has just started
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark.encode() in path.read_bytes():
                    os.kill(int(path.parent.name), signal.SIGKILL)
