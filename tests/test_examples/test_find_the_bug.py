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
SHARES = {"Q-learning": 0.3, "minimax-Q": 0.3, "DQN": 0.1, "PPO": 0.1, "MaskablePPO": 0.1, "AlphaZero": 0.2}


@cache
def run(learner, bug):
    """The figures at the end of a short run with a fixed seed, and those at its start."""
    table = train(learner, SMALLEST, bug, seed=0, share=SHARES[learner])
    return table.iloc[-1], table.iloc[0]


@pytest.mark.parametrize("learner", LEARNERS)
def test_correct_learners_learn(learner):
    last, first = run(learner, None)
    assert last["expert"] > first["expert"] + 0.2
    assert last["mean_exploitability"] < first["mean_exploitability"] - 0.2
    assert last["moves"] >= SHARES[learner] * LEARNERS[learner][1]
    assert first["moves"] == 0


@pytest.mark.parametrize("bug", BUGS)
def test_each_bug_shows_in_its_figure(bug):
    learner, figure = BUGS[bug].learner, BUGS[bug].figure
    correct, wrong = run(learner, None)[0], run(learner, bug)[0]
    assert abs(wrong[figure] - correct[figure]) > 0.1


@pytest.mark.parametrize("bug", BUGS)
def test_no_seed_of_a_bug_looks_correct_in_the_published_figures(bug):
    table = pd.read_csv(ROOT / "docs" / "experiments" / "find_the_bug.csv", keep_default_na=False)
    runs = table[(table["board"] == "2-3-4") & (table["learner"] == BUGS[bug].learner)]
    correct, wrong = (pd.to_numeric(runs.loc[runs["bug"] == name, BUGS[bug].figure]) for name in ("", bug))
    assert len(correct) == len(wrong) == 10
    assert correct.max() + 0.1 < wrong.min() or wrong.max() + 0.1 < correct.min()


def test_values_of_the_finished_game_tell_the_autoreset_step_from_truncation(monkeypatch):
    tables = []
    player_of = find_the_bug.player_of
    monkeypatch.setattr(find_the_bug, "player_of", lambda *args: tables.append(args[1]) or player_of(*args))
    for bug in (None, "truncation as termination", "autoreset step learned"):
        train("minimax-Q", SMALLEST, bug, seed=0, share=0.02)
        assert tables[-1][0, 0, 0].any() == (bug == "autoreset step learned")


def test_in_normal_play_won_and_lost_positions_change_places():
    rules = NimRules(SMALLEST, misere=False)
    for function, bug, misere, normal in (
        (find_the_bug.train_minimax_q, "no minus sign", (0, 1), (1, 0)),
        (find_the_bug.train_q_learning, "last turn dropped", (1, 0), (0, 1)),
    ):
        curve = find_the_bug.Curve(rules, 6_000)
        function(rules, 0, 6_000, curve, bug)
        wrong = run(BUGS[bug].learner, bug)[0]
        for row, expected in ((wrong, misere), (curve.rows[-1], normal)):
            assert (row["value_accuracy_won"], row["value_accuracy_lost"]) == expected


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


def test_the_script_makes_every_run_and_draws_them(monkeypatch, tmp_path):
    short = {name: (function, 300) for name, (function, _) in LEARNERS.items() if name not in ("DQN", "PPO")}
    monkeypatch.setattr(find_the_bug, "LEARNERS", short)
    monkeypatch.setattr(find_the_bug, "BOARDS", (SMALLEST,))
    monkeypatch.setattr(find_the_bug, "N_EVALS", 2)
    args = Args(n_seeds=1, n_jobs=1, folder=tmp_path)
    table = main(args)
    last = pd.read_csv(tmp_path / "find_the_bug.csv", keep_default_na=False)
    assert len(last) == len(short) + len(BUGS)
    assert set(last["bug"]) == {"", *BUGS}
    assert table.groupby(["learner", "bug", "seed"])["moves"].is_monotonic_increasing.all()
    for name in ("find_the_bug.png", "find_the_bug_learners.png"):
        assert (tmp_path / name).stat().st_size > 10_000
    monkeypatch.setattr(find_the_bug, "save_figure", lambda *_: None)
    pd.testing.assert_frame_equal(main(args), table)  # from the cache


def test_a_run_depends_on_its_seed_alone():
    tables = [train("minimax-Q", SMALLEST, None, seed, share=0.02).drop(columns="seconds") for seed in (1, 1, 2)]
    pd.testing.assert_frame_equal(tables[0], tables[1])
    assert (tables[0]["mean_exploitability"] != tables[2]["mean_exploitability"]).any()


def test_after_how_many_moves_a_run_stays_without_mistakes():
    expert = {0: [0.5, 1, 0.9, 1, 1], 1: [0.5, 1, 1, 1, 0.9], 2: [1, 1, 1, 1, 1]}
    rows = [
        {"board": "1-2", "learner": "a", "bug": "", "seed": seed, "evaluation": n, "moves": 10 * n, "seconds": 1.0}
        | dict.fromkeys(find_the_bug.FIGURES, 0.0)
        | {"expert": figure}
        for seed, figures in expert.items()
        for n, figure in enumerate(figures)
    ]
    last = find_the_bug.last_rows(pd.DataFrame(rows))
    assert last["expert"].tolist() == [1, 0.9, 1]
    assert last["mastered_after"].fillna(-1).tolist() == [30, -1, 0]


def test_a_custom_player(capsys, tmp_path):
    groups = diagnose(Args(player="take-1", heaps=(1, 2, 3), misere=False, folder=tmp_path))
    report = evaluation.report(NimRules((1, 2, 3), misere=False), "take-1")
    expected = pd.DataFrame(report.groups).dropna(axis="columns")
    pd.testing.assert_frame_equal(groups, expected)
    assert f"{report.mean_exploitability:.4f}" in capsys.readouterr().out
    assert (tmp_path / "find_the_bug_player.png").stat().st_size > 5_000


def test_wrong_players_are_refused(refused, tmp_path):
    (tmp_path / "mine.py").write_text("def first(observation, action_mask):\n    return 0\n")
    with refused("nobody"):
        diagnose(Args(player="nobody"))
    with refused("illegal", "[0, 0, 1]"):
        diagnose(Args(player=f"{tmp_path / 'mine.py'}:first", heaps=(1, 2, 3)))
