"""find_the_bug: clean learners, each bug as one replaced line, and the matrix of their diagnoses."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

from find_the_bug import matrix

from nim_env import NimRules, TabularPolicy, evaluation

ROOT = Path(__file__).parents[2]
RULES = NimRules((1, 2, 3))
BUGS = matrix.BUGS.to_dict("records")
TABLES = [name for name in matrix.BUGS["learner"].unique() if name not in matrix.MOVES]
PUBLISHED = pd.read_csv(ROOT / "docs" / "experiments" / "find_the_bug.csv", keep_default_na=False)


@pytest.mark.parametrize("learner", [*TABLES, "dqn"])
def test_a_clean_learner_plays_better_than_random(learner):
    q_values = matrix.load(learner)(RULES, 6_000, seed=0)
    greedy = np.where(RULES.action_mask(RULES.all_positions()), q_values, -np.inf).argmax(axis=1)
    player = TabularPolicy(RULES, np.eye(RULES.n_actions)[greedy])
    assert evaluation.mastery(RULES, player).expert > evaluation.mastery(RULES, "random").expert + 0.2


@pytest.mark.parametrize("row", BUGS, ids=lambda row: f"{row['learner']}: {row['bug']}")
def test_each_bug_replaces_one_text(row):
    assert (matrix.HERE / f"{row['learner']}.py").read_text(encoding="utf-8").count(row["text"]) == 1
    assert row["text"] != row["replacement"]


@pytest.mark.parametrize("learner", TABLES)
def test_bugs_are_named_and_correct_learners_are_not_accused(learner, monkeypatch):
    monkeypatch.setattr(matrix, "BOARDS", (((1, 2, 3), None),))
    rows = [row for row in BUGS if row["learner"] == learner and row["findings"] and row["bug"] != "discount"]
    verdicts = [matrix.train_and_diagnose(row, seed=0)[-1]["verdict"] for row in rows]
    assert verdicts.count("right") >= 0.7 * len(rows)
    correct = {"learner": learner, "bug": "", "text": "", "replacement": "", "findings": "Bellman's equation"}
    assert "wrong" not in [result["verdict"] for result in matrix.train_and_diagnose(correct, seed=0)]


def test_the_script_counts_every_run(monkeypatch, tmp_path):
    monkeypatch.setattr(matrix, "BUGS", matrix.BUGS[matrix.BUGS["learner"].isin(["minimax_q", "maskable_ppo"])])
    monkeypatch.setattr(matrix, "BOARDS", (((1, 2), None),))
    monkeypatch.setattr(matrix, "MOVES", {"maskable_ppo": 1024})
    table = matrix.main(matrix.Args(n_correct=30, n_bug=5, n_jobs=1, folder=tmp_path))
    saved = pd.read_csv(tmp_path / "find_the_bug.csv", keep_default_na=False)
    assert saved[["right", "none", "wrong"]].to_numpy().sum() == len(table) == 3 * (31 + 5 * 13 + 1)
    assert "in which the diagnosis names the bug" in (tmp_path / "find_the_bug.svg").read_text()


def test_the_pages_say_what_the_published_matrix_says():
    pages = [ROOT / "docs" / "experiments" / "diagnosis.md", ROOT / "README.md"]
    study, readme = (re.sub(r"\s+", " ", page.read_text(encoding="utf-8")) for page in pages)
    for sentence in matrix.sentences(PUBLISHED):
        assert sentence in study
    named = matrix.sentences(PUBLISHED)[1]
    assert re.search(r"[\d,]+ of [\d,]+", named)[0] in readme
    assert set(PUBLISHED["bug"]) == {"", *matrix.BUGS["bug"]}
