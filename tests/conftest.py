import runpy
import subprocess
import sys

import pytest
from hypothesis import settings
from scripts import EXAMPLES

# nothing is timed in a test, and the same run finds the same examples everywhere
settings.register_profile("nim", deadline=None, derandomize=True, database=None)
settings.load_profile("nim")


@pytest.fixture
def run_here(monkeypatch, capsys, tmp_path):
    """Runs a script in this process, which has imported what takes its time already."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(tmp_path)

    def run_here(script, *arguments):
        monkeypatch.setattr(sys, "argv", [script, *map(str, arguments)])
        status = 0
        try:
            runpy.run_path(str(EXAMPLES / script), run_name="__main__")
        except SystemExit as stop:
            status = stop.code
        return subprocess.CompletedProcess(sys.argv, status or 0, *capsys.readouterr())

    return run_here
