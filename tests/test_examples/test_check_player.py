"""check_player.py on players in the shapes that strangers write, and on files that hold none."""

import random
import re
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import agents
from nim_env import NimEnv, NimRules, TabularPolicy, evaluation

import common
from check_player import Args, main

ROOT = Path(__file__).parents[2]
PLAYERS = ROOT / "tests" / "data" / "players"
RULES = NimRules((2, 3, 4))
EPISODES = 1_000


def check(player, **options):
    """The figures of a player, without the picture, which takes a second."""
    with mock.patch("check_player.show_report"):
        return main(Args(player=str(player), **{"heaps": RULES.heaps, "episodes": EPISODES, **options}))


def trained(name, episodes=EPISODES):
    """The learner of a player's file, trained with the seed of the script."""
    random.seed(0)
    return common.load_file(PLAYERS / f"{name}.py")["train"](episodes)


def is_best(table):
    """Which legal moves have the largest value of a dictionary: bool of shape (n_positions, n_actions)."""
    rows = []
    for heaps in RULES.all_positions().tolist():
        values = [table.get((tuple(heaps), move), 0) for move in RULES.moves]
        legal = [value if mask else -np.inf for value, mask in zip(values, RULES.action_mask(heaps), strict=True)]
        rows.append(np.isfinite(legal) & (legal == np.max(legal)))
    return np.array(rows)


def report_of(probabilities):
    return evaluation.report(RULES, TabularPolicy(RULES, probabilities))


def same_moves(report, expected):
    figures = {name: value for name, value in report.to_dict().items() if not name.startswith("value")}
    return figures == pytest.approx(expected.to_dict())


@pytest.mark.parametrize("name", ["q_dictionary", "maximum_from_zero"])
def test_a_class_with_a_dictionary_plays_without_exploration(name):
    table = trained(name).q

    def values(positions):
        return [
            max(table.get((tuple(heaps), move), 0) for move in RULES.legal_moves(heaps))
            for heaps in positions.tolist()
        ]

    report = check(PLAYERS / f"{name}.py")
    first_best = np.arange(RULES.n_actions) == is_best(table).argmax(axis=1)[:, None]
    assert same_moves(report, report_of(first_best))
    assert report.value_accuracy.won == evaluation.value_accuracy(RULES, values).won
    assert report.value_accuracy.error_lost == pytest.approx(evaluation.value_accuracy(RULES, values).error_lost)


def test_ties_at_random_are_measured_as_chance(capsys):
    chosen = is_best(trained("random_ties", episodes=50).q)
    report = check(PLAYERS / "random_ties.py", episodes=50)
    expected = report_of(chosen / np.maximum(chosen.sum(axis=1, keepdims=True), 1))
    assert report.win_probability_random == pytest.approx(expected.win_probability_random, abs=0.05)
    assert f"in {(chosen.sum(axis=1) > 1).sum()} positions" in capsys.readouterr().out


def test_the_loop_variable_is_the_last_move(capsys):
    last = [np.flatnonzero(mask)[-1:] for mask in RULES.action_mask(RULES.all_positions()[1:])]
    expected = report_of(np.arange(RULES.n_actions) == np.vstack([[0], *last]))
    assert same_moves(check(PLAYERS / "loop_variable.py"), expected)
    printed = capsys.readouterr().out
    assert "at 0-0-2 it takes 2 from C; 1 from C wins" in printed
    assert "choose_action" in printed  # does not take the largest value


def test_the_bug_is_named_and_a_correct_learner_has_none(capsys):
    check(PLAYERS / "maximum_from_zero.py", episodes=6_000)
    assert "maximum that starts from 0" in " ".join(capsys.readouterr().out.split())
    check(PLAYERS / "q_dictionary.py", episodes=6_000)
    assert not re.search("maximum|bug|choose_action", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("x = = 1", ["SyntaxError"]),
        ("import random\nrandom.choice([])", ["line 2", "IndexError"]),
        ("raise SystemExit(0)", ["SystemExit"]),
        ("input('Your move: ')", ["line 1", "input"]),
        ("def play(piles): pass", ["no train(n)", "FILE.py:NAME"]),
        ("def train(n): return n.piles", ["line 1", "AttributeError", f"train({EPISODES})"]),
        ("def train(n): print(n)", ["None"]),
        ("def train(): return 1", ["TypeError", f"train({EPISODES})"]),
        ("class A:\n def choose_action(self, state): pass\na, b = A(), A()", ["a, b"]),
    ],
)
def test_files_without_a_player(code, words, refused):
    Path("mine.py").write_text(code)
    with refused("mine.py", *words):
        check("mine.py")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def player(piles):\n if piles[0]: move = 0, 1\n return move", ["line 3", "UnboundLocalError", "0-0-1"]),
        ("def player(piles): return input('Your move: ')", ["line 1", "input", "0-0-1"]),
        ("def player(piles): return 1, 2  # a swapped pair", ["(1, 2)", "[0, 0, 1]"]),
        ("def player(piles): return [0]", ["[0]", "[0, 0, 1]"]),
        ("def player(piles): pass", ["None", "[0, 0, 1]"]),
        ("def player(piles, moves, depth): pass", ["TypeError", "0-0-1"]),
        ("class player:\n def choose_action(self, state): return 0, 1", ["player"]),
        ("player = 3", ["3"]),
        ("", ["mine.py", "player"]),
    ],
)
def test_names_without_a_player(code, words, refused):
    Path("mine.py").write_text(code)
    with refused(*words):
        check("mine.py:player")


def test_a_dictionary_of_another_board_is_refused(refused):
    for heaps in ((1, 2), (2, 3, 5)):
        with refused("q_dictionary.py", "--heaps"):
            check(PLAYERS / "q_dictionary.py", heaps=heaps)


def test_a_dictionary_of_another_name_is_no_value_function(capsys):
    Path("mine.py").write_text(
        "class AI:\n"
        "    values = {}\n"
        "    def choose_action(self, state): return state.index(max(state)), 1\n"
        "ai = AI()\n"
    )
    assert check("mine.py").value_accuracy is None
    assert "verdict" in capsys.readouterr().out


def test_functions_of_both_forms_and_variants():
    Path("mine.py").write_text(
        "def of_heaps(piles, depth=2): return (1, 1) if piles[1] else (0, 1)\n"
        "def of_observation(observation, action_mask): return action_mask.nonzero()[0][-1]\n"
    )
    rules = NimRules((3, 4), max_take=2, misere=False)
    options = {"heaps": (3, 4), "max_take": 2, "normal": True}

    def one_of_the_second(observation, action_mask):  # noqa: ARG001
        return rules.action(int(observation[1] > 0), 1)

    def last(observation, action_mask):  # noqa: ARG001
        return np.flatnonzero(action_mask)[-1]

    assert check("mine.py:of_heaps", **options) == evaluation.report(rules, one_of_the_second)
    assert check("mine.py:of_observation", **options) == evaluation.report(rules, last)
    assert check("take-1", **options) == evaluation.report(rules, "take-1")


def test_a_saved_agent():
    env = NimEnv(RULES.heaps, opponent=None, random_start=True)
    agent = agents.MinimaxQAgent(env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, 300, seed=0)
    agent.save("my.agent")
    assert check("my.agent") == evaluation.report(RULES, agent, common.values_of(agent, RULES))


def test_values_against_an_opponent_are_judged_with_it(capsys):
    env = NimEnv(RULES.heaps, opponent="take-1", random_start=True)
    agent = agents.QLearningAgent(env.observation_space, env.action_space, gamma=0.9, seed=0)
    agents.train(agent, env, 20_000, seed=0)
    agent.save("my.agent")
    check("my.agent", opponent="take-1", discount=0.9)
    assert "Bellman's equation holds" in " ".join(capsys.readouterr().out.split())
    check("my.agent")
    assert "Bellman's equation holds" not in " ".join(capsys.readouterr().out.split())


def test_the_seed_decides_the_training():
    first, second, other = (check(PLAYERS / "q_dictionary.py", episodes=50, seed=seed) for seed in (0, 0, 1))
    assert first == second != other


def test_the_page_shows_what_the_script_prints(capsys):
    page = (ROOT / "docs" / "test_your_agent.md").read_text(encoding="utf-8")
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL)[1]
    program = re.search(r"```python\n(import random\n.*?)```", page, re.DOTALL)[1]
    Path("nim.py").write_text(program)
    main(Args("nim.py"))
    printed = capsys.readouterr().out
    for part in shown.split("...\n"):
        assert part in printed
    assert Path("results/check_player.svg").read_bytes().startswith(b"<?xml")
