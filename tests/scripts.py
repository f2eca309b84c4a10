"""Running the example scripts as a user does: in a separate process, with or without a terminal."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pexpect

EXAMPLES = Path(__file__).parent.parent / "examples"
ENVIRONMENT = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", "TERM": "xterm", "OMP_NUM_THREADS": "1"}

# A suite that is started in the background ignores SIGINT, and so would the processes that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def begin(script, *arguments, folder):
    """Starts a script in its own process group, as a shell does."""
    return subprocess.Popen(
        [sys.executable, EXAMPLES / script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env=ENVIRONMENT,
        start_new_session=True,
    )


def talk(script, *arguments, folder):
    """Runs a script on a pseudo-terminal: a pexpect process to expect from and send lines to."""
    return pexpect.spawn(
        sys.executable,
        [str(EXAMPLES / script), *map(str, arguments)],
        cwd=str(folder),
        env=ENVIRONMENT,
        encoding="utf-8",
        timeout=60,
        echo=False,
        dimensions=(40, 80),
    )


def left(process):
    """The rest of the output, and the exit status."""
    process.expect(pexpect.EOF)
    process.close()
    return process.before, process.exitstatus
