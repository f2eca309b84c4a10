"""find_the_bug.py: correct learners, each planted bug against them, and the diagnosis of every run."""

import re
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import find_the_bug
import pandas as pd
from find_the_bug import BUGS, LEARNERS, NETWORKS, Args, evaluate, main, train

from nim_env import NimRules, evaluation

ROOT = Path(__file__).parents[2]
SMALLEST = (1, 2, 3)
SHOWN = {name: bug for name, bug in BUGS.items() if bug.figure}
PUBLISHED = pd.read_csv(ROOT / "docs" / "experiments" / "find_the_bug.csv", keep_default_na=False)


@cache
def run(learner, bug):
    """The row of a short run with a fixed seed."""
    share = 0.1 if learner in NETWORKS else 0.3
    options = {"learner": learner, "heaps": SMALLEST, "misere": True, "bug": bug, "seed": 0, "share": share}
    return evaluate(options, train(**options))


@pytest.mark.parametrize("learner", LEARNERS)
def test_correct_learners_learn(learner):
    random_play = evaluation.report(NimRules(SMALLEST), "random")
    assert run(learner, None)["expert"] > random_play.expert + 0.2
    assert run(learner, None)["mean_exploitability"] < random_play.mean_exploitability - 0.2
    assert run(learner, None)["verdict"] in ("right", "none")


@pytest.mark.parametrize("bug", SHOWN)
def test_each_bug_shows_in_its_figure(bug):
    learner, figure = BUGS[bug].learner, BUGS[bug].figure
    assert abs(run(learner, bug)[figure] - run(learner, None)[figure]) > 0.1


@pytest.mark.parametrize("bug", SHOWN)
def test_no_seed_of_a_bug_looks_correct_in_the_published_figures(bug):
    ended = PUBLISHED[(PUBLISHED["share"] == 1) & (PUBLISHED["play"] == "misère")]
    runs = ended[(ended["board"] == "2-3-4") & (ended["learner"] == BUGS[bug].learner)]
    correct, wrong = (pd.to_numeric(runs.loc[runs["bug"] == name, BUGS[bug].figure]) for name in ("", bug))
    assert len(correct) == len(wrong) > 0
    assert correct.max() + 0.1 < wrong.min() or wrong.max() + 0.1 < correct.min()


def test_published_diagnoses_accuse_no_correct_learner_and_name_95_percent_of_the_bugs():
    is_correct = PUBLISHED["bug"] == ""
    assert (PUBLISHED.loc[is_correct, "verdict"] == "wrong").mean() <= 0.01
    assert (PUBLISHED.loc[~is_correct & (PUBLISHED["share"] == 1), "verdict"] == "right").mean() >= 0.95


def test_the_page_shows_the_lines_and_the_thread_of_each_bug():
    def without_spaces(text):
        return re.sub(r"\s+", " ", text)

    page = (ROOT / "docs" / "test_your_agent.md").read_text(encoding="utf-8")
    script = without_spaces((ROOT / "examples" / "find_the_bug.py").read_text(encoding="utf-8"))
    excerpts = [block for block in re.findall(r"^```text\n(.*?)^```", page, re.DOTALL | re.M) if "bug ==" in block]
    assert all(without_spaces(block).strip() in script for block in excerpts)
    for name, bug in SHOWN.items():
        assert sum(f'bug == "{name}"' in block for block in excerpts) == 1
        assert f"(https://github.com/{bug.thread})" in page


def test_the_script_makes_every_run_once(monkeypatch, tmp_path):
    monkeypatch.setattr(find_the_bug, "LEARNERS", {name: (train, 300) for name, (train, _) in LEARNERS.items()})
    monkeypatch.setattr(find_the_bug, "BOARDS", (SMALLEST,))
    monkeypatch.setattr(find_the_bug, "SHARES", (1.0,))
    args = Args(n_seeds=1, n_jobs=1, folder=tmp_path)
    table = main(args)
    saved = pd.read_csv(tmp_path / "find_the_bug.csv", keep_default_na=False)
    assert sorted(saved["bug"]) == sorted(2 * ([""] * len(LEARNERS) + list(BUGS)))
    assert (tmp_path / "find_the_bug.svg").read_bytes().startswith(b"<?xml")
    pd.testing.assert_frame_equal(main(args), table)  # from the cache, with their seconds
