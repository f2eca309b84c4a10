"""check_player.py on players in the shapes that strangers write, and on files that hold none."""

import importlib
import random
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from check_player import Args, main

import agents
from nim_env import NimRules, evaluation
from nim_env.envs.gym_env import NimEnv
from nim_env.policies import TabularPolicy

ROOT = Path(__file__).parents[2]
PLAYERS = ROOT / "tests" / "data" / "players"
RULES = NimRules((2, 3, 4))
EPISODES = 1_000


def check(player, **options):
    """The figures of a player, without the picture, which takes a second."""
    with mock.patch("check_player.show_report"):
        return main(Args(player=str(player), **{"heaps": RULES.heaps, "episodes": EPISODES, **options}))


@pytest.fixture
def trained(monkeypatch):
    """Trains the learner of a player's file with the seed of the script."""

    def train(name, episodes=EPISODES):
        monkeypatch.syspath_prepend(PLAYERS)
        random.seed(0)
        return importlib.import_module(name).train(episodes)

    return train


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


def first_of(chosen):
    return np.arange(RULES.n_actions) == chosen.argmax(axis=1)[:, None]


@pytest.mark.parametrize("name", ["q_dictionary", "maximum_from_zero"])
def test_a_class_with_a_dictionary_plays_without_exploration(name, trained):
    assert same_moves(check(PLAYERS / f"{name}.py"), report_of(first_of(is_best(trained(name).q))))


def test_the_values_of_a_dictionary(trained):
    table = trained("q_dictionary").q

    def values(positions):
        return [
            max(table.get((tuple(heaps), move), 0) for move in RULES.legal_moves(heaps))
            for heaps in positions.tolist()
        ]

    accuracy = check(PLAYERS / "q_dictionary.py").value_accuracy
    assert accuracy.won == evaluation.value_accuracy(RULES, values).won
    assert accuracy.error_lost == pytest.approx(evaluation.value_accuracy(RULES, values).error_lost)


def test_ties_at_random_are_measured_as_chance(trained, capsys):
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


def test_training_at_import_is_enough(trained):
    table = trained("q_dictionary").q
    assert same_moves(check(PLAYERS / "trains_at_import.py", episodes=0), report_of(first_of(is_best(table))))


def test_the_bug_is_named_and_a_correct_learner_has_none(capsys):
    check(PLAYERS / "maximum_from_zero.py", episodes=6_000)
    assert "maximum that starts from 0" in " ".join(capsys.readouterr().out.split())
    check(PLAYERS / "q_dictionary.py", episodes=6_000)
    assert not re.search("maximum|bug|choose_action", capsys.readouterr().out)


def test_a_swapped_pair_is_named_with_its_position(refused):
    with refused("(1, 2)", "[0, 0, 1]"):
        check(PLAYERS / "swapped_pair.py:choose")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("x = = 1", ["SyntaxError", "imported"]),
        ("import random\nrandom.choice([])", ["line 2", "IndexError", "imported"]),
        ("raise SystemExit(0)", ["line 1", "SystemExit"]),
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
    ("player", "words"),
    [
        ("fails", ["line 5", "UnboundLocalError", "0-0-2"]),
        ("asks", ["line 9", "input", "0-0-1"]),
        ("answers_none", ["None", "[0, 0, 1]"]),
        ("takes_three", ["TypeError", "0-0-1"]),
        ("Player", ["Player"]),
        ("number", ["3"]),
        ("absent", ["absent"]),
    ],
)
def test_names_without_a_player(player, words, refused):
    Path("mine.py").write_text(
        "def fails(piles):\n"
        "    for pile, size in enumerate(piles):\n"
        "        if size == 1:\n"
        "            move = pile, 1\n"
        "    return move\n"
        "\n"
        "\n"
        "def asks(piles):\n"
        "    return input('Your move: ')\n"
        "def answers_none(piles): pass\n"
        "def takes_three(piles, moves, depth): pass\n"
        "class Player:\n"
        "    def choose_action(self, state): return 0, 1\n"
        "number = 3\n"
    )
    with refused(*words):
        check(f"mine.py:{player}")


def test_a_dictionary_of_another_board_is_refused(refused):
    for heaps in ((1, 2), (2, 3, 5)):
        with refused("q_dictionary.py", "--heaps"):
            check(PLAYERS / "q_dictionary.py", heaps=heaps)


def test_a_dictionary_of_another_name_is_no_value_function(capsys):
    Path("mine.py").write_text(
        "class AI:\n"
        "    values = {}\n"
        "    def choose_action(self, state): return state.index(max(state)), 1\n"
        "def train(n): return AI()\n"
    )
    assert check("mine.py").value_accuracy is None
    assert "verdict" in capsys.readouterr().out


def test_functions_of_both_forms_and_variants():
    Path("mine.py").write_text(
        "def of_heaps(piles, depth=2):\n"
        "    pile = max(range(len(piles)), key=lambda pile: (piles[pile], pile))\n"
        "    return pile, 1\n"
        "def of_observation(observation, action_mask):\n"
        "    return action_mask.nonzero()[0][-1]\n"
    )
    rules = NimRules((3, 4), max_take=2, misere=False)
    options = {"heaps": (3, 4), "max_take": 2, "normal": True}

    def largest(observation, action_mask):  # noqa: ARG001
        return rules.action(1 if observation[1] >= observation[0] else 0, 1)

    def last(observation, action_mask):  # noqa: ARG001
        return np.flatnonzero(action_mask)[-1]

    assert check("mine.py:of_heaps", **options) == evaluation.report(rules, largest)
    assert check("mine.py:of_observation", **options) == evaluation.report(rules, last)
    assert check("take-1", **options) == evaluation.report(rules, "take-1")


def test_a_saved_agent():
    env = NimEnv(RULES.heaps, opponent=None, random_start=True)
    agent = agents.MinimaxQAgent(env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, 300, seed=0)
    agent.save("my.agent")
    report = check("my.agent")
    best = [max(agent.q_values(heaps)[RULES.action_mask(heaps) == 1]) for heaps in RULES.all_positions()[1:]]
    assert report == evaluation.report(RULES, agent, lambda heaps: np.array(best)[RULES.index(heaps) - 1])


def test_the_seed_decides_the_training():
    first, second, other = (check(PLAYERS / "q_dictionary.py", episodes=50, seed=seed) for seed in (0, 0, 1))
    assert first == second != other


def test_an_error_is_one_line_and_leaves_by_status_2():
    command = [sys.executable, str(ROOT / "examples" / "check_player.py"), str(PLAYERS / "asks_for_input.py")]
    ended = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)}, check=False)
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert not ended.stdout


def test_the_page_shows_what_the_script_prints(capsys):
    page = (ROOT / "docs" / "test_your_agent.md").read_text(encoding="utf-8")
    program, shown = re.search(r"```python\n(.*?)```.*?```text\n(.*?)```", page, re.DOTALL).groups()
    Path("nim.py").write_text(program)
    main(Args("nim.py"))
    printed = capsys.readouterr().out
    for part in shown.split("...\n"):
        assert part in printed
    assert Path("results/check_player.svg").read_bytes().startswith(b"<?xml")
