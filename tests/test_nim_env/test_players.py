"""Players from files: all forms in which people write them, and files that hold none."""

import importlib
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import agents
from nim_env import EncodedPolicy, NimEnv, NimRules, policies
from nim_env.check.players import load_player

RULES = NimRules((2, 3))
POSITIONS = RULES.all_positions()
MASKS = RULES.action_mask(POSITIONS)


@pytest.fixture(autouse=True)
def in_own_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def q_values():
    """Different values of all moves, 0 for illegal ones."""
    values = np.random.default_rng(0).permutation(MASKS.size).reshape(MASKS.shape) / MASKS.size - 0.5
    return np.where(MASKS, values, 0)


def dictionary(q_values):
    return {
        (tuple(heaps), move): float(q_values[RULES.index(heaps), RULES.action(*move)])
        for heaps in POSITIONS.tolist()
        for move in RULES.legal_moves(heaps)
    }


def moves(player):
    """The probabilities in all positions but the empty one."""
    return player.policy.action_probabilities(POSITIONS[1:], MASKS[1:])


def refused(name, *words, rules=RULES, **options):
    with pytest.raises((ValueError, TypeError)) as error:
        load_player(name, rules, **options)
    for word in words:
        assert word in str(error.value)
    return str(error.value)


def test_a_table_of_values_in_every_form(q_values):
    table = dictionary(q_values)
    Path("mine.py").write_text(
        f"import numpy\nq = {table!r}\narray = numpy.array({q_values.tolist()!r})\n"
        "class Nested: table = q\n"
        "class Method:\n"
        "    q = {'-'.join(map(str, heaps)): value for (heaps, _), value in q.items()}\n"
        "    def get_q_value(self, state, action): return q.get((tuple(state), action), 0)\n"
        "    def choose_action(self, state): return max((k for k in q if k[0] == tuple(state)), key=q.get)[1]\n"
        "method = Method()\n"
    )
    np.save("values.npy", q_values)
    np.savez("values.npz", any_name=q_values)
    rows = [[heaps, *move, value] for (heaps, move), value in table.items()]
    Path("values.json").write_text(json.dumps(rows))
    best = np.where(MASKS, q_values, -1)[1:]
    expected = best == best.max(axis=1, keepdims=True)
    for name in ("mine.py:q", "mine.py:array", "mine.py:Nested.table", "mine.py:method", *os.listdir()):
        if name != "mine.py":
            player = load_player(name, RULES)
            np.testing.assert_array_equal(moves(player), expected)
            np.testing.assert_array_equal(np.asarray(player.values(POSITIONS)) * MASKS, q_values)
            np.testing.assert_array_equal(player.state_values(POSITIONS[1:]), best.max(axis=1))


def test_functions_of_both_forms_methods_and_policies():
    Path("neighbor.py").write_text("def of_heaps(piles, depth=2): return (1, 1) if piles[1] else (0, 1)")
    Path("mine.py").write_text(
        "from neighbor import of_heaps\n"
        "from nim_env import RandomPolicy\n"
        "def of_observation(observation, action_mask): return action_mask.nonzero()[0][-1]\n"
        "class Agent:\n"
        "    def get_move(self, state): return of_heaps(state)\n"
        "    def choose_action(self, observation, action_mask): return of_observation(observation, action_mask)\n"
        "agent, policy = Agent(), RandomPolicy()\n"
    )
    first = np.array([RULES.action(*((1, 1) if heaps[1] else (0, 1))) for heaps in POSITIONS[1:]])
    last = np.array([np.flatnonzero(mask)[-1] for mask in MASKS[1:]])
    for name, actions in (
        ("of_heaps", first),
        ("agent.get_move", first),
        ("of_observation", last),
        ("agent", last),
    ):
        np.testing.assert_array_equal(moves(load_player(f"mine.py:{name}", RULES)).argmax(axis=1), actions)
    for name in ("mine.py:policy", "random"):
        np.testing.assert_array_equal(moves(load_player(name, RULES)), MASKS[1:] / MASKS[1:].sum(axis=1)[:, None])


@pytest.mark.parametrize("observation", ["heaps", "bits"])
def test_a_saved_agent_by_a_module_of_two_lines(observation):
    env = NimEnv(RULES.heaps, opponent=None, observation=observation)
    agent = agents.QLearningAgent(env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, 100, seed=0)
    agent.save("my.agent")
    Path("mine.py").write_text("import agents\nplayer = agents.load('my.agent')")
    player = load_player("mine.py:player", RULES)
    expected = EncodedPolicy(agent, env.encoding).action_probabilities(POSITIONS[1:], MASKS[1:])
    np.testing.assert_array_equal(moves(player), expected)
    np.testing.assert_array_equal(player.values(POSITIONS), agent.q_values(env.encoding(POSITIONS)))
    refused("mine.py:player", "another game", rules=NimRules((2, 4)))
    refused("mine.py:player", "actions", rules=NimRules((2, 3), max_take=1))
    agents.WinCountAgent(env.observation_space, env.action_space).save("my.agent")
    assert load_player("mine.py:player", RULES).values is None  # its counts are none


def test_functions_and_objects_of_one_heap():
    rules = NimRules((21,), 3, misere=False)
    Path("mine.py").write_text(
        "def number(heap): return heap % 4 or 7\n"
        "def pair(heaps): return 0, heaps[0] % 4 or min(heaps[0], 3)\n"
        "class Player:\n    def getMove(self, heap): return number(heap)\n"
        "    def other(self): pass\n    def spare(self, heap): return 1\n"
    )
    Path("object.py").write_text("from mine import Player\nplayer = Player()")
    Path("without.py").write_text(
        "class A:\n    def play(self, heap): return 1\ndef train(n): return A()\na = A()"
    )
    positions = rules.all_positions()[1:]
    masks = rules.action_mask(positions)
    expected = [(heap % 4 or min(heap, 3)) - 1 for (heap,) in positions]
    probabilities = load_player("mine.py:pair", rules).policy.action_probabilities(positions, masks)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), expected)
    for name in ("mine.py:number", "object.py:player.getMove", "object.py:player", "object.py"):
        probabilities = load_player(name, rules).policy.action_probabilities(positions, masks)
        taken = np.array([min(heap % 4 or 7, heap) for (heap,) in positions])
        np.testing.assert_array_equal(probabilities.any(axis=1), taken <= 3)
        assert (probabilities.argmax(axis=1)[taken <= 3] == taken[taken <= 3] - 1).all()
    refused("without.py:a", "without.py:a.play", rules=rules)
    refused("without.py", "without.py:player.play", rules=rules)


AI = "class AI:\n    def choose_action(self, state): return state.index(max(state)), 1\n"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("    q = {'2-3': [0.5]}", ["'2-3'"]),
        ("    q = {((2, 3), (0, 1)): None}", ["((2, 3), (0, 1))", "None"]),
        ("    q = {(2, 3): 0.5}", ["(2, 3)"]),
        ("    q = {((2, 3), (3, 1)): 0.5}", ["((2, 3), (3, 1))"]),  # the size of a heap instead of its number
        ("    def get_q_value(self, state, action): return {}[action]", ["line 3", "KeyError"]),
        ("    def get_q_value(self, state, action): return None", ["NoneType", "get_q_value"]),
    ],
)
def test_values_of_another_form_leave_the_moves(code, words):
    Path("mine.py").write_text(f"{AI}{code}\nai = AI()\n")
    player = load_player("mine.py", RULES)
    assert player.values is None
    assert all(word in player.remark for word in words)
    assert (moves(player).sum(axis=1) == 1).all()


def test_a_dictionary_that_was_asked_for_missing_keys():
    table = "collections.defaultdict(float, {((2, 3), (0, 1)): 0.5})"
    Path("mine.py").write_text(f"{AI}import collections\nai = AI()\nai.q = {table}\nai.q['no key']")
    assert load_player("mine.py", RULES).values(np.array([2, 3]))[RULES.action(0, 1)] == 0.5


@pytest.mark.parametrize("heaps", [(1, 2), (2, 3, 5), (2, 3, 4)])
def test_a_dictionary_of_another_board_is_refused(heaps):
    Path("mine.py").write_text(f"{AI}ai, q = AI(), {{({heaps}, (0, 1)): 0.5}}\nai.q = q\n")
    for name in ("mine.py:ai", "mine.py:q"):
        refused(name, "mine.py", "--heaps")


def test_a_file_leaves_no_trace_in_what_others_import(monkeypatch):
    """It imports its neighbors when it is loaded and when it plays, and may have the name of a standard module."""
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    folder = Path("folder")
    folder.mkdir()
    (folder / "heap.py").write_text("heap = 1")
    (folder / "count.py").write_text("count = 1")
    (folder / "colorsys.py").write_text(
        "from heap import heap\n"
        "def play(heaps):\n"
        "    from count import count\n"
        "    return heap * (heaps[1] > 0), count\n"
    )
    before = list(sys.path)
    player = load_player("folder/colorsys.py:play", RULES)
    assert moves(player)[-1].argmax() == RULES.action(1, 1)
    assert sys.path == before
    assert not hasattr(importlib.import_module("colorsys"), "play")


def test_each_run_of_a_file_imports_its_neighbors_anew():
    Path("neighbor.py").write_text("games = []")
    Path("mine.py").write_text(
        "import neighbor\n"
        "def train(n):\n"
        "    neighbor.games.append(n)\n"
        "    count = len(neighbor.games)\n"
        "    return lambda heaps: (int(heaps[1] > 0), count)\n"
    )
    for _ in range(2):
        player = load_player("mine.py", RULES)
        assert player.is_trained
        assert moves(player)[-1].argmax() == RULES.action(1, 1)


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("mine.py", "x = = 1", ["SyntaxError"]),
        ("mine.py", "import random\nrandom.choice([])", ["line 2", "IndexError"]),
        ("mine.py", "raise SystemExit(0)", ["SystemExit"]),
        ("mine.py", "input('Your move: ')", ["line 1", "input"]),
        ("mine.py", "def play(piles): pass", ["no train(n)", "mine.py:NAME"]),
        ("mine.py", "def train(n): return n.piles", ["line 1", "AttributeError", "train(3)"]),
        ("mine.py", "def train(n): print(n)", ["None"]),
        ("mine.py", "def train(n, path): pass", ["train(n, path)", "import mine", "mine.train(n, "]),
        ("mine.py", "def train(): return 1", ["TypeError", "train(3)"]),
        ("mine.py", "class A:\n def choose_action(self, state): return 0, 1\na, b = A(), A()", ["a, b"]),
        ("mine.py:player", "class player:\n def choose_action(self, state): return 0, 1", ["= player()"]),
        ("mine.py", "class A:\n def choose_action(self, state): return 0, 1", ["player = A()"]),
        ("mine.py", "class A:\n def choose_action(self, state): return 0, 1\ndef train(n): return A", ["= A()"]),
        (
            "mine.py:player",
            "class Agent:\n def get_move(self, state): return 0, 1\nplayer = Agent()",
            ["mine.py:player.get_move"],
        ),
        ("mine.py:player", "player = 3", ["3"]),
        ("mine.py:player", "player = {1: 'x' * 100_000}", ["player"]),
        ("mine.py:player", "", ["mine.py", "player"]),
        ("mine.py:player", "def player(piles, moves, depth): pass", ["(observation, action_mask)", "depth"]),
    ],
)
def test_files_and_names_without_a_player(name, code, words):
    Path("mine.py").write_text(code)
    assert len(refused(name, "mine.py", *words, episodes=3)) < 1_000


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def player(piles):\n if piles[0]: move = 0, 1\n return move", ["line 3", "UnboundLocalError", "at 0-1"]),
        ("def player(piles): return input('Your move: ')", ["line 1", "input", "at 0-1"]),
        ("def player(state, piles): return state[3]", ["IndexError", "(observation, action_mask)"]),
        ("def player(piles): raise KeyError(list(range(100_000)))", ["KeyError"]),
    ],
)
def test_what_a_function_raises_names_its_line_and_the_position(code, words):
    Path("mine.py").write_text(code)
    player = load_player("mine.py:player", RULES)
    with pytest.raises(ValueError, match=re.escape(words[0])) as error:
        moves(player)
    assert all(word in str(error.value) for word in words)
    assert len(str(error.value)) < 1_000


def test_probabilities_belong_to_a_game():
    expert = policies.tabulate(RULES, "expert")
    np.savez_compressed("table.npz", game=str(RULES), probabilities=expert.probabilities)
    player = load_player("table.npz", RULES)
    np.testing.assert_array_equal(moves(player), expert.probabilities[1:])
    assert player.values is None
    refused("table.npz", "table.npz", "misère", rules=NimRules((2, 3), misere=False))


@pytest.mark.parametrize(
    "name", ["grandmaster", "take-0", "", "no.npz", "no.py", "no.py:f", "mine.py:f", "mine.py:f.g", "."]
)
def test_unknown_players(name):
    Path("mine.py").write_text("def last(observation, action_mask): return 0")
    refused(name, name.split(":")[0])


def test_files_that_hold_no_player(q_values):
    for name, words in (("nim.ipynb", ["nbconvert"]), ("nim.pkl", [".npz", ".json"]), ("nim", [".npz", ".json"])):
        Path(name).write_text("{}")
        refused(name, name, *words)
    np.save("whole.npy", q_values)
    content = Path("whole.npy").read_bytes()
    for name in ("damaged.npz", "damaged.npy", "damaged.json", "damaged.zip"):
        Path(name).write_bytes(content[: len(content) // 2])
        refused(name, name)
    np.savez("two.npz", a=q_values, b=q_values)
    np.save("wrong.npy", q_values[1:])
    refused("two.npz", "two.npz", "a")
    refused("wrong.npy", "wrong.npy", str(MASKS.shape))


def test_a_table_of_november_2026_is_still_read():
    rules = NimRules((1, 2))
    path = Path(__file__).parent.parent / "data" / "saved" / "table.npz"  # of the expert
    found = policies.tabulate(rules, load_player(str(path), rules).policy).probabilities
    np.testing.assert_array_equal(found, policies.tabulate(rules, "expert").probabilities)


class MakesFolder:
    """A pickle of it creates the folder ``ran`` when it is loaded."""

    def __reduce__(self):
        return os.mkdir, ("ran",)


def test_arrays_do_not_run_code():
    array = np.full(MASKS.shape, MakesFolder())
    np.save("x.npy", array)
    np.savez("x.npz", array)
    for name in ("x.npy", "x.npz"):
        refused(name, name)
    assert not Path("ran").exists()
    np.load("x.npy", allow_pickle=True)
    assert Path("ran").exists()  # so the file would have run its code


@pytest.mark.parametrize(
    "code",
    [
        "{f'{heaps}: {move}': value for (heaps, move), value in q.items()}",
        "{('-'.join(map(str, heaps)), move): value for (heaps, move), value in q.items()}",
        "{(*heaps, *move): value for (heaps, move), value in q.items()}",
        "{(heaps, tuple(numpy.array(move))): value for (heaps, move), value in q.items()}",
        "{heaps: {key[1]: q[key] for key in q if key[0] == heaps} for heaps, _ in q}",
        "{str(heaps): {key[1]: q[key] for key in q if key[0] == heaps} for heaps, _ in q}",
    ],
)
def test_keys_that_have_the_numbers_in_this_order(q_values, code):
    Path("mine.py").write_text(f"import numpy\nq = {dictionary(q_values)!r}\nother = {code}\n{AI}ai = AI()\n")
    for attribute in ("q", "Q", "q_table"):
        with Path("mine.py").open("a") as file:
            file.write(f"{attribute} = AI()\n{attribute}.{attribute} = other\n")
        for name in ("other", attribute):
            player = load_player(f"mine.py:{name}", RULES)
            np.testing.assert_array_equal(np.asarray(player.values(POSITIONS)) * MASKS, q_values)
            assert not player.remark


@pytest.mark.parametrize(("heaps", "max_take"), [((2, 3), None), ((1, 2, 3), 2), ((2, 2, 3), None)])
def test_values_of_sorted_heaps_count_for_all_arrangements(heaps, max_take):
    rules = NimRules(heaps, max_take)
    random = np.random.default_rng(0)
    table = {
        (position, move): random.random() + 0.1
        for position in {tuple(sorted(position)) for position in rules.all_positions().tolist()}
        for move in rules.legal_moves(position)
    }
    Path("mine.py").write_text(f"{AI}q = {table!r}\nai = AI()\nai.q = q\n")
    for name in ("mine.py:q", "mine.py:ai"):
        player = load_player(name, rules)
        assert "sorted" in player.remark
        for position in rules.all_positions().tolist():
            values = player.values(np.array(position))
            found = sorted(
                (position[heap], count, values[rules.action(heap, count)])
                for heap, count in rules.legal_moves(position)
            )
            expected = sorted(
                (key[heap], count, value)
                for (key, (heap, count)), value in table.items()
                if list(key) == sorted(position)
            )
            assert found == expected


def test_undefined_values_are_values_and_never_the_best():
    random = np.random.default_rng(1)
    broken = np.where(MASKS, random.choice([np.nan, -np.inf, np.inf, 0.5], MASKS.shape), 0)
    np.save("values.npy", broken)
    code = f"from numpy import nan, inf\nq = {dictionary(broken)!r}\n"
    Path("mine.py").write_text(f"{code}{AI}ai = AI()\nai.q = q\n")
    for name in ("values.npy", "mine.py:q", "mine.py:ai"):
        player = load_player(name, RULES)
        np.testing.assert_array_equal(np.where(MASKS, player.values(POSITIONS), 0), broken)
        if name == "mine.py:ai":  # it chooses by itself
            expected = [RULES.action(heaps.index(max(heaps)), 1) for heaps in POSITIONS[1:].tolist()]
        else:
            numbers = np.where(MASKS, np.where(np.isnan(broken), -1e300, np.maximum(broken, -1e299)), -np.inf)
            expected = numbers[1:].argmax(axis=1)
        np.testing.assert_array_equal(moves(player).argmax(axis=1), expected)


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("None", "None"),
        ("'two'", "'two'"),
        ("(0, 1, 2)", "(0, 1, 2)"),
        ("(0.0, 1)", "(0.0, 1)"),
        ("(0, 9)", "(0, 9)"),
        ("'x' * 10_000", "xxx"),
        ("random.choice([None, (1, 1)])", "None"),
    ],
)
def test_the_illegal_answer_of_a_function(answer, shown):
    Path("mine.py").write_text(
        "import random\n"
        f"def of_heaps(heaps): return {answer}\n"
        f"def of_mask(heaps, mask): return {answer.replace('(1, 1)', 'mask.argmax()')}\n"
    )
    for name in ("of_heaps", "of_mask"):
        found = load_player(f"mine.py:{name}", RULES).illegal_answer_at([2, 3])
        assert shown in found
        assert len(found) < 300
    assert not load_player("random", RULES).illegal_answer_at([2, 3])


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("random.sample({(0, 1): 1}, 1)", "random.sample(list("),
        ("random.choice({(0, 1)})", "random.choice(list("),
        ("random.choice({(0, 1): 1}.keys())", "random.choice(list("),
        ("range(6 / 3)", "//"),
        ("{heaps: 1}", "tuple(heaps)"),
        ("__import__('collections').Mapping", "collections.abc"),
        ("exec('from collections import Mapping')", "collections.abc"),
        ("__import__('fractions').gcd", "math.gcd"),
        ("exec('from fractions import gcd')", "math.gcd"),
    ],
)
def test_remedies_for_older_programs(code, remedy):
    Path("mine.py").write_text(f"import random\ndef player(heaps): return {code}\n")
    with pytest.raises(ValueError, match=r"line 2: ") as error:
        moves(load_player("mine.py:player", RULES))
    assert remedy in str(error.value)


@pytest.mark.parametrize("module", ["imp", "distutils", "asyncore"])
def test_a_remedy_for_modules_that_newer_pythons_lack(module):
    message = f"No module named '{module}'"  # as Python 3.12 says
    Path("mine.py").write_text(f"raise ModuleNotFoundError({message!r})")
    refused("mine.py", "line 1", module, "Python 3.12")


def test_two_names_of_one_player_are_one_player():
    Path("mine.py").write_text(f"{AI}player = ai = AI()\n")
    assert (moves(load_player("mine.py", RULES)).sum(axis=1) == 1).all()
