"""find_the_bug.py: correct learners, each planted bug against them, and the evaluation of a player."""

import re
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import find_the_bug
import pandas as pd
from find_the_bug import BUGS, LEARNERS, Args, diagnose, main, train

from nim_env import NimRules, evaluation

ROOT = Path(__file__).parents[2]
SMALLEST = (1, 2, 3)
SHARES = {"Q-learning": 0.3, "minimax-Q": 0.3, "PPO": 0.1, "MaskablePPO": 0.1}


@cache
def run(learner, bug):
    """The figures at the end of a short run with a fixed seed."""
    return train(learner, SMALLEST, bug, seed=0, share=SHARES[learner])


@pytest.mark.parametrize("learner", LEARNERS)
def test_correct_learners_learn(learner):
    random_play = evaluation.report(NimRules(SMALLEST), "random")
    assert run(learner, None)["expert"] > random_play.expert + 0.2
    assert run(learner, None)["mean_exploitability"] < random_play.mean_exploitability - 0.2


@pytest.mark.parametrize("bug", BUGS)
def test_each_bug_shows_in_its_figure(bug):
    learner, figure = BUGS[bug].learner, BUGS[bug].figure
    assert abs(run(learner, bug)[figure] - run(learner, None)[figure]) > 0.1


@pytest.mark.parametrize("bug", BUGS)
def test_no_seed_of_a_bug_looks_correct_in_the_published_figures(bug):
    table = pd.read_csv(ROOT / "docs" / "experiments" / "find_the_bug.csv", keep_default_na=False)
    runs = table[(table["board"] == "2-3-4") & (table["learner"] == BUGS[bug].learner)]
    correct, wrong = (pd.to_numeric(runs.loc[runs["bug"] == name, BUGS[bug].figure]) for name in ("", bug))
    assert len(correct) == len(wrong) == 10
    assert correct.max() + 0.1 < wrong.min() or wrong.max() + 0.1 < correct.min()


def test_the_page_shows_the_lines_and_the_thread_of_each_bug():
    def without_spaces(text):
        return re.sub(r"\s+", " ", text)

    page = (ROOT / "docs" / "test_your_agent.md").read_text(encoding="utf-8")
    script = without_spaces((ROOT / "examples" / "find_the_bug.py").read_text(encoding="utf-8"))
    excerpts = [block for block in re.findall(r"^```text\n(.*?)^```", page, re.DOTALL | re.M) if "bug ==" in block]
    assert all(without_spaces(block).strip() in script for block in excerpts)
    for name, bug in BUGS.items():
        assert sum(f'bug == "{name}"' in block for block in excerpts) == 1
        assert f"(https://github.com/{bug.thread})" in page


def test_the_script_makes_every_run_once(monkeypatch, tmp_path):
    monkeypatch.setattr(find_the_bug, "LEARNERS", {name: (train, 300) for name, (train, _) in LEARNERS.items()})
    monkeypatch.setattr(find_the_bug, "BOARDS", (SMALLEST,))
    args = Args(n_seeds=1, n_jobs=1, folder=tmp_path)
    table = main(args)
    saved = pd.read_csv(tmp_path / "find_the_bug.csv", keep_default_na=False)
    assert saved["bug"].tolist() == [""] * len(LEARNERS) + list(BUGS)
    assert (tmp_path / "find_the_bug.svg").read_bytes().startswith(b"<?xml")
    pd.testing.assert_frame_equal(main(args), table)  # from the cache, with their seconds


def test_a_custom_player(capsys, tmp_path):
    groups = diagnose(Args(player="take-1", heaps=SMALLEST, misere=False, folder=tmp_path))
    report = evaluation.report(NimRules(SMALLEST, misere=False), "take-1")
    pd.testing.assert_frame_equal(groups, pd.DataFrame(report.groups).dropna(axis="columns"))
    assert f"{report.mean_exploitability:.4f}" in capsys.readouterr().out
    assert (tmp_path / "find_the_bug_player.svg").read_bytes().startswith(b"<?xml")
