"""find_the_bug: clean learners, each bug as one replaced line, and the matrix of their diagnoses."""

import functools
import inspect
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import torch

from nim_env import NimRules, TabularPolicy, evaluation, testing

from find_the_bug import budgets, matrix, runs, styles

torch.set_num_threads(1)  # other tests run at the same time
ROOT = Path(__file__).parents[2]
RULES = NimRules((1, 2, 3))
BUGS = runs.BUGS.to_dict("records")
TABLES = [name for name in runs.BUGS["learner"].unique() if name not in runs.MOVES]
PUBLISHED = pd.read_csv(ROOT / "docs" / "experiments" / "find_the_bug.csv", keep_default_na=False)
PUBLISHED_STYLES = pd.read_csv(ROOT / "docs" / "experiments" / "find_the_bug_styles.csv", keep_default_na=False)
PUBLISHED_BUDGETS = pd.read_csv(ROOT / "docs" / "experiments" / "test_budgets.csv", keep_default_na=False)
TEST_SUITE = (ROOT / "docs" / "test_suite.md").read_text(encoding="utf-8")
LEARNERS = {"q_learning": "Q-learning", "dqn": "DQN", "maskable_ppo": "MaskablePPO"}


@pytest.mark.parametrize("learner", [*TABLES, "dqn"])
def test_a_clean_learner_plays_better_than_random(learner):
    q_values = runs.load(learner)(RULES, 6_000, seed=0)
    greedy = np.where(RULES.action_mask(RULES.all_positions()), q_values, -np.inf).argmax(axis=1)
    player = TabularPolicy(RULES, np.eye(RULES.n_actions)[greedy])
    assert evaluation.mastery(RULES, player).expert > evaluation.mastery(RULES, "random").expert + 0.2


@pytest.mark.parametrize("row", BUGS, ids=lambda row: f"{row['learner']}: {row['bug']}")
def test_each_bug_replaces_one_text(row):
    assert (runs.HERE / f"{row['learner']}.py").read_text(encoding="utf-8").count(row["text"]) == 1
    assert row["text"] != row["replacement"]


@pytest.mark.parametrize("learner", TABLES)
def test_bugs_are_named_and_correct_learners_are_not_accused(learner, monkeypatch):
    monkeypatch.setattr(runs, "BOARDS", (((1, 2, 3), None),))
    rows = [row for row in BUGS if row["learner"] == learner and row["findings"] and row["bug"] != "discount"]
    is_named = [runs.train_and_diagnose(runs.Style(learner), row, seed=0)[-1]["right"] for row in rows]
    assert sum(is_named) >= 0.7 * len(rows)
    correct = runs.train_and_diagnose(runs.Style(learner), runs.NO_BUG, seed=0)
    assert not any(result["wrong"] for result in correct)


def test_the_script_counts_every_run(monkeypatch, tmp_path):
    monkeypatch.setattr(runs, "BUGS", runs.BUGS[runs.BUGS["learner"].isin(["minimax_q", "maskable_ppo"])])
    monkeypatch.setattr(runs, "BOARDS", (((1, 2), None),))
    monkeypatch.setattr(runs, "MOVES", {"maskable_ppo": 1024})
    table = matrix.main(matrix.Args(n_correct=30, n_bug=5, n_jobs=1, folder=tmp_path))
    saved = pd.read_csv(tmp_path / "find_the_bug.csv", keep_default_na=False)
    n_bugs = len(runs.BUGS) - 1
    assert saved[["right", "none", "wrong"]].to_numpy().sum() == len(table) == 3 * (31 + 5 * n_bugs + 1)


def test_the_page_says_what_the_published_tables_say():
    page = (ROOT / "docs" / "experiments" / "diagnosis_study.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]
    in_matrix = {f"{row[0]}: {row[1]} ({row[2]})" for row in rows if row[-1].endswith(" %")}
    *shares, names = matrix.summary(PUBLISHED)
    assert in_matrix == set(shares)
    assert f"({names})" in page
    assert set(PUBLISHED["bug"]) == {"", *runs.BUGS["bug"]}
    in_styles = [row for row in rows if row[-1].endswith("%)")]
    not_told = [f"{name.replace('–', '-')}: {share}" for name, share, _ in in_styles]
    told = [f"{name.replace('–', '-')}: {share}" for name, _, share in in_styles]
    published = styles.summary(PUBLISHED_STYLES)
    first = published.index("told:")  # the first line of the second mode
    assert (sorted(not_told), sorted(told)) == (sorted(published[1:first]), sorted(published[first + 1 :]))
    published = PUBLISHED_STYLES[["learner", "style"]].drop_duplicates()
    assert len(published) == len(styles.all_styles())
    answers = (ROOT / "docs" / "experiments" / "diagnosis.md").read_text(encoding="utf-8")
    assert set(re.findall(r"[\d,]+ of [\d,]*\d{3}", answers)) <= set(re.findall(r"[\d,]+ of [\d,]*\d{3}", page))


@pytest.mark.parametrize(
    ("bug", "n_shares"),
    [
        ("no done flag", 2),  # changes with the limit REFUTED
        ("discount", 2),  # changes with the limit DISCOUNT
        ("best action of the position before", 3),  # changes with the earlier table
    ],
)
def test_learners_with_a_bug_get_the_published_verdicts(bug, n_shares, monkeypatch):
    monkeypatch.setattr(runs, "SHARES", runs.SHARES[:n_shares])
    (row,) = (row for row in BUGS if (row["learner"], row["bug"]) == ("against_opponent", bug))
    style = runs.Style("against_opponent")
    results = [result for seed in range(20) for result in runs.train_and_diagnose(style, row, seed)]
    counts = matrix.count(pd.DataFrame(results))
    pd.testing.assert_frame_equal(counts, PUBLISHED.merge(counts[["learner", "bug", "share"]]), check_dtype=False)


@pytest.mark.parametrize("name", ["cost per step", "expected SARSA"])
def test_correct_learners_in_a_style_get_the_published_verdicts(name):
    all_styles = {(style.learner, style.name): style for style in styles.all_styles()}
    style = all_styles["against_opponent", name]
    results = [result for seed in range(15) for result in runs.train_and_diagnose(style, runs.NO_BUG, seed)]
    counts = styles.count(pd.DataFrame(results))
    pd.testing.assert_frame_equal(counts, PUBLISHED_STYLES.merge(counts[styles.KEYS]), check_dtype=False)


def test_the_budgets_count_every_seed(monkeypatch, tmp_path):
    is_used = (runs.BUGS["learner"] == "q_learning") & runs.BUGS["bug"].isin(["discount", "opponent's reward"])
    monkeypatch.setattr(budgets, "BUGS", runs.BUGS[is_used])
    monkeypatch.setattr(budgets, "MOVES", {"q_learning": 5_000})
    monkeypatch.setattr(budgets, "SEEDS", {"q_learning": (10, 2)})
    table = budgets.main(budgets.Args(folder=tmp_path)).set_index("bug")
    assert table["seeds"].to_dict() == {"": 10, "opponent's reward": 2, "discount": 2}
    assert table["pass_by_values"].to_dict() == {"": 10, "opponent's reward": 0, "discount": 0}
    assert table.loc["discount", "pass_by_moves"] == 2
    saved = pd.read_csv(tmp_path / "test_budgets.csv", keep_default_na=False, index_col="bug")
    assert saved.equals(table)


def test_no_untrained_model_of_the_page_is_reported_as_buggy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "experiments" / "diagnosis_study.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    exec(code, {})  # it asserts this itself


def test_the_tests_of_the_page_pass():
    """With one seed instead of three."""
    names = {}
    for code in re.findall(r"^```python\n(.*?)^```", TEST_SUITE, re.DOTALL | re.MULTILINE):
        exec(code, names)
    names["assert_learns"] = functools.partial(testing.assert_learns, seeds=1)
    tests = [test for name, test in names.items() if name.startswith("test_")]
    assert len(tests) == 3
    for test in tests:
        test()
    for learner, moves in budgets.MOVES.items():
        assert f"{learner}.train(rules, {moves:_}," in TEST_SUITE


def test_the_rates_of_false_alarms_on_the_page_are_the_published_ones():
    budgets_of = PUBLISHED_BUDGETS[PUBLISHED_BUDGETS["bug"] == ""].set_index("learner")
    for learner, name in LEARNERS.items():
        row = budgets_of.loc[learner]
        low, high = evaluation.MatchResult(row["pass_by_values"], row["seeds"]).interval()
        passed = f"{row['pass_by_values']:,} ({100 * low:.1f} to {100 * high:.1f} %)"
        assert row["pass_by_moves"] == row["pass_by_values"]
        counts = [row["moves"], row["seconds"], row["seeds"], row["pass_by_values"]]
        assert f"| {name} | {' | '.join(f'{count:,}' for count in counts)} |" in TEST_SUITE
        assert f"| {name} | {row['seeds']:,} | {passed} | {100 * (1 - low**3):.1f} % |" in TEST_SUITE


def test_each_text_of_a_style_is_in_its_learner_once():
    for style in styles.all_styles():
        source = runs.source_of(style.learner)
        for text, replacement in style.replacements:
            assert not text or (source.count(text) == 1 and text != replacement), style.name


def test_a_text_that_is_not_in_a_learner_is_refused():
    with pytest.raises(ValueError, match=r"q_learning\.py.*no such text"):
        runs.load("q_learning", ("no such text", "pass"))


def exact_values(rules, style, discount, exploration):
    """The fixed point of a style against the random opponent, or in self-play with greedy replies that explore."""
    win, loss = style.facts["rewards"]
    last_reward, other_reward = (win, loss) if rules.terminal_reward > 0 else (loss, win)
    cost = 0.01 if style.name == "cost per step" else 0.0
    own_exploration = exploration if style.facts["on_policy"] else 0.0
    has_opponent = "opponent" in inspect.signature(runs.load(style.learner)).parameters
    is_alone = not has_opponent or style.opponent == "self"
    is_by_move = style.learner == "minimax_q" or (style.learner == "double_q" and is_alone)
    positions = rules.all_positions()
    masks = rules.action_mask(positions) == 1
    q_values = np.zeros(masks.shape)
    values = np.zeros(rules.n_positions)
    for i in range(1, rules.n_positions):  # a move leads to a smaller index
        legal = np.flatnonzero(masks[i])
        for action in legal:
            after = rules.index(rules.apply(positions[i], action))
            if after == 0:
                value = last_reward
            elif is_by_move:
                value = discount * ((style.name == "probabilities of winning") - values[after])
            else:
                replies = np.flatnonzero(masks[after])
                chances = np.ones(len(replies)) / len(replies)
                if is_alone:
                    is_best = np.isclose(q_values[after, replies], q_values[after, replies].max())
                    chances = exploration * chances + (1 - exploration) * is_best / is_best.sum()
                ends = [rules.index(rules.apply(positions[after], reply)) for reply in replies]
                value = chances @ [other_reward if end == 0 else discount * values[end] for end in ends]
            q_values[i, action] = value - cost
        best, mean = q_values[i, legal].max(), q_values[i, legal].mean()
        values[i] = (1 - own_exploration) * best + own_exploration * mean
    return q_values, values


@pytest.mark.parametrize("style", styles.all_styles(), ids=lambda style: f"{style.learner}: {style.name}")
def test_each_style_learns_the_exact_values(style):
    rules = NimRules((2, 3))
    settings = {"discount": float(style.discount or 0.9), "exploration": 0.3}
    opponent = {"opponent": "random"}
    if style.opponent == "self" or "opponent" not in inspect.signature(runs.load(style.learner)).parameters:
        opponent = {}
    train = runs.load(style.learner, *style.replacements)
    learned = np.asarray(train(rules, 20_000, learning_rate=0.05, seed=0, **settings, **opponent))
    if style.family != "one side":
        player, _ = runs.player_and_values(style.learner, rules, learned)
        assert evaluation.mastery(rules, player).expert == 1
    if style.name == "league of snapshots":
        return  # its opponent changes
    if "greedy" in style.name:
        settings["exploration"] = 0.0
    q_values, values = exact_values(rules, style, **settings)
    scale = max(np.abs(style.facts["rewards"]))
    if learned.ndim == 1:
        assert np.abs(learned - values).mean() < 0.1 * scale
        return
    is_legal = rules.action_mask(rules.all_positions()) == 1
    is_legal[0] = False  # the game is over
    if style.family == "one side":
        is_legal &= learned != 0  # what it has met
    is_met = is_legal.any(axis=1)
    best, exact_best = (np.where(is_legal, table, -np.inf).max(axis=1)[is_met] for table in (learned, q_values))
    assert np.abs(best - exact_best).mean() < 0.05 * scale
    if style.name.split()[0] not in ("greedy,", "UCB", "softmax", "decaying"):  # those leave bad moves soon
        assert np.abs(learned - q_values)[is_legal].mean() < 0.12 * scale


def test_a_bug_that_changes_nothing_in_a_style_is_left_out():
    pairs = styles.bugs_in_styles(styles.all_styles())
    combinations = {(style.learner, style.name, bug["bug"]): (style, bug) for style, bug in pairs}
    run = combinations["against_opponent", "rewards 1 and 0", "maximum that starts from 0"]
    assert runs.train_and_diagnose(*run, seed=0) == []
    run = combinations["against_opponent", "rewards 0 and -1", "maximum that starts from 0"]
    assert len(runs.train_and_diagnose(*run, seed=0)) == 6
    assert not any(bug == "discount" for _, _, bug in combinations)


def test_the_styles_count_every_run(monkeypatch, tmp_path):
    is_used = styles.STYLES["style"].isin(["unchanged", "always first, against expert", "TD(0) of positions"])
    monkeypatch.setattr(styles, "STYLES", styles.STYLES[is_used])
    is_used = runs.BUGS["bug"].isin(["opponent's reward", "position of before"])
    monkeypatch.setattr(runs, "BUGS", runs.BUGS[is_used])
    monkeypatch.setattr(runs, "BOARDS", (((1, 2), None),))
    table = styles.main(styles.Args(n_correct=5, n_bug=2, n_jobs=1, folder=tmp_path))
    saved = pd.read_csv(tmp_path / "styles.csv", keep_default_na=False)
    all_styles = styles.all_styles()
    combinations = styles.bugs_in_styles(all_styles)
    assert len(combinations) == 7
    n_runs = 5 * len(all_styles) + 2 * len(combinations)
    assert len(table) == saved[["right", "none", "wrong"]].to_numpy().sum() == 2 * 3 * n_runs
    assert set(saved["mode"]) == {"not told", "told"}
    assert (saved["is_perfect_train_longer"] <= saved["is_perfect"]).all()


def test_values_of_positions_play_as_their_table():
    rules = NimRules((1, 2, 3))
    q_values = runs.load("minimax_q")(rules, 6_000, seed=0)
    is_legal = rules.action_mask(rules.all_positions()) == 1
    values = np.where(is_legal, q_values, -np.inf).max(axis=1)
    values[0] = 0
    for learned in (q_values, values):
        player, _ = runs.player_and_values("minimax_q", rules, learned)
        assert evaluation.mastery(rules, player).expert == 1
