"""The scripts are imported and their functions called; the folder they write to is the test's own."""

import contextlib
import os
import shutil
import sys
import threading
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def in_own_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def person(monkeypatch):
    """A person who types the given lines, then leaves by Ctrl-D."""

    def types(*lines):
        left = iter(lines)

        def answer(question=""):
            print(question, end="")
            with contextlib.suppress(StopIteration):
                return next(left)
            raise EOFError

        monkeypatch.setattr("builtins.input", answer)

    return types


@pytest.fixture
def refused():
    """Checks that the block raises an error that names what is wrong; `command_line.run` prints it as one line."""

    @contextlib.contextmanager
    def refused(*words):
        with pytest.raises((ValueError, TypeError, OSError)) as error:
            yield
        for word in words:
            assert word in str(error.value)

    return refused


@pytest.fixture(scope="session")
def serve():
    """Serves the page with the given players, and yields its address."""
    from play_in_browser import make_server

    @contextlib.contextmanager
    def serve(players):
        with make_server(players, 0) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            yield f"http://127.0.0.1:{server.server_port}/"
            server.shutdown()
            thread.join()

    return serve


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium: the system's, or else Playwright's own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        installed = shutil.which("chromium") or playwright.chromium.executable_path
        if not Path(installed).exists():
            pytest.skip("needs playwright install --with-deps chromium")
        chromium = playwright.chromium.launch(executable_path=installed, args=["--disable-gpu"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def ray_on_this_machine():
    """Starts Ray, whose processes find the scripts."""
    import ray

    import common

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(common.__file__).parent), prepend=os.pathsep)
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()
