"""sarsa.py: the program of its page, alone in a folder, and its agent in the other programs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import compare_opponents

from nim_env import NimRules, evaluation

from saved_players import load_player

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "sarsa.py"
PAGE = (ROOT / "docs" / "agents" / "your_own_player.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## A learner\n")[1].split("\n## ")[0]


def test_the_file_and_its_page_are_one_text():
    """If this test fails, copy the changed block from the page to the file, or from the file to the page."""
    program = SCRIPT.read_text(encoding="utf-8").split('"""\n\n', 1)[1]
    blocks = re.findall(r"^```python\n(.*?)^```", SECTION, re.DOTALL | re.MULTILINE)
    assert [*filter(None, program.splitlines())] == [*filter(None, "".join(blocks).splitlines())]


def test_it_runs_alone(tmp_path):
    shutil.copy(SCRIPT, tmp_path)
    done = subprocess.run(
        [sys.executable, "sarsa.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "".join(re.findall(r"^```text\n(.*?)^```", SECTION, re.DOTALL | re.MULTILINE))


def test_its_agent_enters_the_comparison(tmp_path, capsys):
    shutil.copy(SCRIPT, tmp_path)
    compare_opponents.main(compare_opponents.Args(episodes=20, enter=("sarsa.py:loaded",)))
    (row,) = re.findall(r"^sarsa.py:loaded .*\n", capsys.readouterr().out, re.MULTILINE)
    assert f"```text\n{row}```" in PAGE


def test_the_diagnosis_finds_no_bug_in_its_values(tmp_path):
    shutil.copy(SCRIPT, tmp_path)
    rules = NimRules((21,), max_take=3, misere=False)
    player = load_player("sarsa.py:loaded", rules)
    values = player.values(rules.all_positions())
    diagnosis = evaluation.diagnose(rules, values, "expert", on_policy=True)
    assert diagnosis.result == "no bug found"
    (said,) = re.findall(r"verdict: (.*?)```", PAGE, re.DOTALL)
    assert " ".join(said.split()) == diagnosis.verdict
