"""find_the_bug.py: correct learners, each planted bug against them, and the diagnosis of every run."""

import re
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import find_the_bug
import pandas as pd
from find_the_bug import BUGS, LEARNERS, Args, main, train_and_evaluate

from nim_env import NimRules, evaluation

ROOT = Path(__file__).parents[2]
SMALLEST = (1, 2, 3)
DRAWN = [bug for bug, (*_, figure) in BUGS.items() if figure]  # the others are in the table of diagnoses alone
PUBLISHED = pd.read_csv(ROOT / "docs" / "experiments" / "find_the_bug.csv", keep_default_na=False)


@cache
def run(learner, bug):
    """The row of a short run with a fixed seed."""
    return train_and_evaluate(learner, bug, SMALLEST, True, 0, share=0.1 if learner == "MaskablePPO" else 0.3)


@pytest.mark.parametrize("learner", LEARNERS)
def test_correct_learners_learn(learner):
    random_play = evaluation.report(NimRules(SMALLEST), "random")
    assert run(learner, "")["expert"] > random_play.expert + 0.2
    assert run(learner, "")["mean_exploitability"] < random_play.mean_exploitability - 0.2
    assert run(learner, "")["verdict"] in ("right", "none")


@pytest.mark.parametrize("bug", DRAWN)
def test_each_bug_shows_in_its_figure(bug):
    learner, _, figure = BUGS[bug]
    assert abs(run(learner, bug)[figure] - run(learner, "")[figure]) > 0.1
    ended = PUBLISHED[(PUBLISHED["share"] == 1) & (PUBLISHED["play"] == "misère")]
    runs = ended[(ended["board"] == "2-3-4") & (ended["learner"] == learner)]
    correct, wrong = (pd.to_numeric(runs.loc[runs["bug"] == name, figure]) for name in ("", bug))
    assert len(correct) == len(wrong) > 0
    assert correct.max() + 0.1 < wrong.min() or wrong.max() + 0.1 < correct.min()


@pytest.mark.parametrize("bug", ["", *(bug for bug in BUGS if bug not in DRAWN)])
def test_a_published_row_is_that_of_its_run(bug):
    learner = BUGS[bug][0] if bug else "minimax-Q"
    row = pd.DataFrame([run(learner, bug)]).round(4).to_dict("records")[0]
    run_of = ["board", "play", "learner", "bug", "share", "seed"]
    is_run = PUBLISHED[run_of].eq([row[column] for column in run_of]).all(axis=1)
    [published] = PUBLISHED[is_run].to_dict("records")
    assert {**row, "seconds": 0} == {**published, "seconds": 0}


def test_published_diagnoses_accuse_no_correct_learner_and_name_95_percent_of_the_bugs():
    is_correct = PUBLISHED["bug"] == ""
    assert (PUBLISHED.loc[is_correct, "verdict"] == "wrong").mean() <= 0.01
    assert (PUBLISHED.loc[~is_correct & (PUBLISHED["share"] == 1), "verdict"] == "right").mean() >= 0.95


def test_the_page_shows_the_lines_of_each_bug():
    def without_spaces(text):
        return re.sub(r"\s+", " ", text)

    page = (ROOT / "docs" / "test_your_agent.md").read_text(encoding="utf-8")
    script = without_spaces((ROOT / "examples" / "find_the_bug.py").read_text(encoding="utf-8"))
    excerpts = [block for block in re.findall(r"^```text\n(.*?)^```", page, re.DOTALL | re.M) if "bug ==" in block]
    assert all(without_spaces(block).strip() in script for block in excerpts)
    assert all(sum(f'bug == "{name}"' in block for block in excerpts) == 1 for name in DRAWN)


def test_the_script_makes_every_run_once(monkeypatch, tmp_path):
    monkeypatch.setattr(find_the_bug, "LEARNERS", {name: (train, 300) for name, (train, _) in LEARNERS.items()})
    monkeypatch.setattr(find_the_bug, "BOARDS", (SMALLEST,))
    monkeypatch.setattr(find_the_bug, "SHARES", (1.0,))
    main(Args(n_seeds=1, n_jobs=1, folder=tmp_path))
    saved = pd.read_csv(tmp_path / "find_the_bug.csv", keep_default_na=False)
    assert sorted(saved["bug"]) == sorted(2 * ([""] * len(LEARNERS) + list(BUGS)))
    assert (tmp_path / "find_the_bug.svg").read_bytes().startswith(b"<?xml")
