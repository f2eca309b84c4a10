"""The scripts are imported and their functions called; the folder they write to is the test's own."""

import contextlib
import sys

import pytest
import tyro


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
def refused(capsys):
    """Checks that the block exits with status 2 and one line on standard error that names what is wrong."""

    @contextlib.contextmanager
    def refused(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            yield
        output, error = capsys.readouterr()
        assert stop.value.code == 2
        assert len(error.strip().splitlines()) == 1
        assert not output
        for word in words:
            assert word in error

    return refused


@pytest.fixture
def refused_option(capsys):
    """Checks that the command line refuses the value of an option with status 2 and a message that names both."""

    def refused_option(args_type, option, value):
        with pytest.raises(SystemExit) as stop:
            tyro.cli(args_type, args=[option, value])
        error = capsys.readouterr().err
        assert stop.value.code == 2
        assert option in error
        assert value in error

    return refused_option
