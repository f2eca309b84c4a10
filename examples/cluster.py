"""What the scripts on Ray share: Ray on this machine, or the cluster that --address names."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import NoReturn

from script import fail, need

need("ray", "torch", extras="examples,rllib")
os.environ["RAY_BACKEND_LOG_LEVEL"] = "fatal"  # what goes wrong is said by the scripts, in one line
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_AIR_NEW_OUTPUT"] = "0"
os.environ["TUNE_GLOBAL_CHECKPOINT_S"] = "0"  # a sweep is kept at whatever happens in it

import ray  # noqa: E402
import ray._private.worker  # noqa: E402
from ray.exceptions import RayError  # noqa: E402

import agents  # noqa: E402
import nim_env  # noqa: E402

logging.getLogger("ray").setLevel(logging.CRITICAL)
ray._private.worker.print_to_stdstream = lambda *_, **__: None  # a paragraph about every worker that dies

PROCESSES_A_CORE = 16
AUTH_MODE = "RAY_AUTH_MODE"
SECONDS_TO_ANSWER = 60
QUIET = {"log_to_driver": False, "logging_level": logging.CRITICAL}
HERE = Path(__file__).parent
SHIPPED = {  # what the machines of a cluster need, beside Ray, PyTorch, Gymnasium and PettingZoo
    "working_dir": str(HERE),
    "excludes": ["pictures"],
    "env_vars": {"PYTHONHASHSEED": "0"},
    "py_modules": [nim_env, agents],
}


def start(address: str | None, processes: int, option: str) -> None:
    """Starts Ray on this machine, or joins a cluster and takes this project there.

    Args:
        address: ``host:port`` of the cluster's head, or ``auto`` for the one that runs on this machine; ``None``
            starts Ray here, for this script alone.
        processes: How many processes are to run at once, one CPU each.
        option: What the option is called that says so.
    """
    logging.disable()
    if address is None:
        most = PROCESSES_A_CORE * (os.cpu_count() or 1)
        if processes > most:
            fail(f"--{option} must be {most} or less on this machine; got {processes}")
        be_in({"PYTHONHASHSEED": "0"})
        with quietly():
            ray.init("local", num_cpus=max(processes, 1), include_dashboard=False, **QUIET)
        return
    be_in({"PYTHONHASHSEED": "0", AUTH_MODE: mode_of(address)})
    try:
        with quietly():
            ray.init(address, runtime_env=SHIPPED, **QUIET)
    except (ConnectionError, RuntimeError, ValueError, RayError) as error:
        fail(f"--address {address}: {first_line(error)}")
    free = int(ray.available_resources().get("CPU", 0))
    if processes > free:
        fail(f"--{option} {processes} needs as many CPUs; the cluster has {free} free")


def be_in(environment: dict[str, str]) -> None:
    """Starts the script anew unless it has these variables, which Python and Ray read as they start.

    RLlib goes through sets of players, so that without fixed hashes its minibatches differ from run to run.
    """
    if environment.items() - os.environ.items():
        sys.stdout.flush()
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **environment})


def mode_of(address: str) -> str:
    """How whoever joins a cluster shows who it is: by a token, or not at all.

    Ends the script unless a cluster answers, for which Ray by itself would wait most of a minute.
    """
    host, _, port = address.rpartition(":")
    nobody = f"--address {address}: no Ray cluster answers there; ray start --head starts one"
    if address != "auto":
        if not host or "/" in host or not port.isdecimal() or int(port) >= 2**16:
            fail(f"--address must be auto or the host:port of a Ray cluster's head; got {address}")
        try:
            socket.create_connection((host, int(port)), timeout=SECONDS_TO_ANSWER).close()
        except OSError:
            fail(nobody)
    status = [sys.executable, "-m", "ray.scripts.scripts", "status", "--address", address]
    modes = [os.environ[AUTH_MODE]] if AUTH_MODE in os.environ else ["disabled", "token"]
    for mode in modes:
        try:
            asked = subprocess.run(
                status,
                capture_output=True,
                timeout=SECONDS_TO_ANSWER,
                text=True,
                env={**os.environ, AUTH_MODE: mode},
            )
        except subprocess.TimeoutExpired:
            fail(nobody)
        if not asked.returncode:
            return mode
    other_token = f"--address {address}: the Ray cluster there wants another token (RAY_AUTH_TOKEN)"
    return fail(other_token if "Authentication" in asked.stderr else nobody)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Without what Ray's C++ code writes to standard error as it starts."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextlib.contextmanager
def saying_how_to_go_on(kept: Callable[[], Path | None]) -> Iterator[None]:
    """Around the work itself: where it is stopped, loses Ray or cannot write, a line says what is kept.

    Args:
        kept: Where the run is kept; None as long as there is nothing to go on from.
    """
    is_over = Event()
    Thread(target=watch, args=(is_over, kept), daemon=True).start()
    try:
        yield
    except KeyboardInterrupt:
        print(how_to_go_on(kept, "\n"), file=sys.stderr, end="")
        raise
    except BrokenPipeError:
        raise
    except (RayError, ConnectionError) as error:
        give_up(f"Ray was lost ({first_line(error)}){how_to_go_on(kept)}")
    except OSError as error:  # a full disk
        give_up(f"{error}{how_to_go_on(kept)}")
    finally:
        is_over.set()


def how_to_go_on(kept: Callable[[], Path | None], before: str = "; ") -> str:
    """What there is to go on from, in words."""
    path = kept()
    return "" if path is None else f"{before}--resume goes on from {path}"


def watch(is_over: Event, kept: Callable[[], Path | None]) -> None:
    """Ends the script when Ray's head is gone; Ray would end it too, later, and without a word."""
    host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
    misses = 0
    while misses < 3 and not is_over.wait(2):
        try:
            socket.create_connection((host, int(port)), timeout=SECONDS_TO_ANSWER).close()
            misses = 0
        except OSError:
            misses += 1
    if misses:
        give_up(f"Ray was lost{how_to_go_on(kept)}")


def give_up(message: str) -> NoReturn:
    """Ends the script with one line and status 1: nothing was wrong with the command line.

    Ray's own clean-up is left out, since it waits for a cluster that is not there.
    """
    print(f"{Path(sys.argv[0]).name}: {message}", file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(1)


def first_line(error: BaseException) -> str:
    """What an error says, as far as it fits in a line: of one that Ray brings, what was raised in the end."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1] if any(line.startswith("Traceback") or "ray::" in line for line in lines) else lines[0]
