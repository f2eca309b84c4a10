"""Running the example scripts as a user does: in a process of their own, with or without a terminal."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pexpect

EXAMPLES = Path(__file__).parent.parent / "examples"
SOURCES = {file.name: file.read_text(encoding="utf-8") for file in sorted(EXAMPLES.glob("*.py"))}
DEEP_SCRIPTS = [name for name, text in SOURCES.items() if "__main__" in text and "import deep\n" in text]
RAY_SCRIPTS = [name for name, text in SOURCES.items() if "__main__" in text and "import cluster" in text]
SCRIPTS = [name for name, text in SOURCES.items() if "__main__" in text and name not in DEEP_SCRIPTS + RAY_SCRIPTS]
ENVIRONMENT = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", "TERM": "xterm", "OMP_NUM_THREADS": "1"}

# A suite that is started in the background ignores SIGINT, and so would the processes that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def run(script, *arguments, folder):
    """Runs a script without a terminal and without input."""
    return _run(EXAMPLES / script, *map(str, arguments), folder=folder)


def run_without(packages, script, *arguments, folder):
    """Runs a script where some packages are not installed."""
    blocked = f"""
import importlib.util as util, runpy, sys
find = util.find_spec
util.find_spec = lambda name, *rest: None if name in {packages!r} else find(name, *rest)
sys.modules |= dict.fromkeys({packages!r})
sys.argv = {[script, *map(str, arguments)]!r}
sys.path.insert(0, {str(EXAMPLES)!r})
runpy.run_path({str(EXAMPLES / script)!r}, run_name="__main__")
"""
    return _run("-c", blocked, folder=folder)


def _run(*arguments, folder):
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env=ENVIRONMENT,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )


def begin(script, *arguments, folder):
    """Runs a script that is not waited for, in a process group of its own, as a shell does."""
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


def check_refused(done, message):
    """One line on standard error that says what to do, exit status 2, and nothing else."""
    assert done.returncode == 2
    assert re.search(message, done.stderr)
    assert len(done.stderr.strip().splitlines()) == 1
    assert not done.stdout
