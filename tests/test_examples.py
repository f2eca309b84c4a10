"""Every script, as a user runs it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(file.name for file in EXAMPLES.glob("*.py") if "__main__" in file.read_text(encoding="utf-8"))


def run(script, *arguments, folder):
    environment = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, EXAMPLES / script, *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env=environment,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )


def check_refused(done, message):
    assert done.returncode == 2
    assert re.search(message, done.stderr)
    assert len(done.stderr.strip().splitlines()) == 1
    assert not done.stdout


@pytest.mark.parametrize("script", SCRIPTS)
def test_help(script, tmp_path):
    done = run(script, "--help", folder=tmp_path)
    assert done.returncode == 0
    assert "--seed" in done.stdout
    assert not done.stderr


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_unknown_flag_is_one_line(script, tmp_path):
    check_refused(run(script, "--nonsense", "3", folder=tmp_path), r"Unrecognized options: --nonsense.*see --help")


def test_compare_opponents(tmp_path):
    small = ("--games", 300, "--match-games", 200, "--checkpoints", 5, "--seed", 4)
    done = run("compare_opponents.py", *small, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "21, normal play, take 1 to 3" in done.stdout
    assert re.search(r"expert +– .* 100\.0/0\.0 +100\.0", done.stdout)
    assert re.search(r"take-3 +– .* 43\.8", done.stdout)  # 7 of 16 winning positions
    for teacher in ("random", "take-3", "expert", "self-play"):
        assert re.search(rf"Q-learning +{teacher} .*\d\.\d/\d+\.\d ", done.stdout)
    assert re.search(r"minimax-Q +random +– +– +– +–", done.stdout)
    assert re.search(r"minimax-Q +self-play .*\d\.\d/\d+\.\d ", done.stdout)
    assert re.search(r"win counting +expert .*\d\.\d/\d+\.\d ", done.stdout)
    assert re.search(r"win counting +self-play +– +– +– +–", done.stdout)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert not done.stderr  # progress bars are for terminals
    picture = tmp_path / "results" / "compare_opponents.png"
    assert f"picture: {Path('results', 'compare_opponents.png')}" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert run("compare_opponents.py", *small, folder=tmp_path).stdout == done.stdout
    assert run("compare_opponents.py", *small[:-1], 5, folder=tmp_path).stdout != done.stdout


def test_compare_opponents_on_another_game(tmp_path):
    done = run(
        "compare_opponents.py",
        *("--heaps", 3, 4, 5, "--max-take", "None", "--misere", "--games", 50, "--match-games", 50),
        *("--checkpoints", 3, "--picture", "elsewhere/p.png"),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "3-4-5, misère play, take any number" in done.stdout
    assert (tmp_path / "elsewhere" / "p.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--heaps", "a"], "--heaps.*'a'"),
        (["--heaps", "-3"], r"heaps must hold one size or more.*got \(-3,\)"),
        (["--heaps", "0", "0"], "not all 0"),
        (["--max-take", "0"], "max_take must be 1 or more"),
        (["--games", "1.5"], "--games.*'1.5'"),
        (["--games", "0"], "--games must be 1 or more; got 0"),
        (["--match-games", "-1"], "--match-games must be 1 or more; got -1"),
        (["--learning-rate", "2"], "learning_rate must lie between 0 and 1"),
        (["--heaps", "1"], "needs an opening move"),
    ],
)
def test_mistakes_on_the_command_line_are_one_line(arguments, message, tmp_path):
    check_refused(run("compare_opponents.py", *arguments, folder=tmp_path), message)
    assert not list(tmp_path.iterdir())


def test_a_picture_that_cannot_be_saved_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    done = run(
        "compare_opponents.py",
        *("--games", 20, "--match-games", 20, "--checkpoints", 2, "--picture", "file/p.png"),
        folder=tmp_path,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "compare_opponents.py:" in done.stderr.strip().splitlines()[-1]
