"""The rules against a plain reading of them, at every position and move of random games."""

import doctest
import pickle
from dataclasses import asdict

import numpy as np
import pytest
from brute_force import moves
from hypothesis import given
from hypothesis import strategies as st
from strategies import few_examples
from strategies import rules as any_rules

import nim_env.rules
from nim_env import NimRules, _queries

HUGE = NimRules((2**62, 2**62, 5), max_take=3)


def test_the_examples_in_the_docstrings():
    for module in (nim_env.rules, _queries):
        results = doctest.testmod(module)
        assert results.attempted > results.failed == 0


@given(any_rules)
def test_moves_and_actions_are_inverse(rules):
    assert list(rules.moves) == [move for move, _ in moves(rules.heaps, rules.max_take)]
    assert [rules.action(*move) for move in rules.moves] == list(range(rules.n_actions))


@few_examples
@given(any_rules, st.data())
def test_masks_and_transitions_are_the_rules(rules, data):
    positions = rules.all_positions()
    mask = rules.action_mask(positions)
    assert mask.dtype == np.int8
    expected = [
        (row, rules.action(*move), after)
        for row, heaps in enumerate(positions.tolist())
        for move, after in moves(tuple(heaps), rules.max_take)
    ]
    rows, actions, after = map(np.array, zip(*expected, strict=True))
    np.testing.assert_array_equal(np.argwhere(mask), np.stack([rows, actions], axis=1))
    np.testing.assert_array_equal(rules.apply(positions[rows], actions), after)
    played = zip(positions[rows].tolist(), actions.tolist(), strict=True)
    assert [rules.apply_one(tuple(heaps), action) for heaps, action in played] == [*map(tuple, after)]
    np.testing.assert_array_equal(rules.index(after), rows - np.array(rules.offsets)[actions])
    assert rules.is_over(positions).tolist() == [not any(heaps) for heaps in positions.tolist()]
    row, action = data.draw(st.sampled_from(np.argwhere(mask == 0).tolist()))
    with pytest.raises(ValueError, match=f"action {action}"):
        rules.apply(positions[row], action)
    legal = [move for move, _ in moves(tuple(positions[row].tolist()), rules.max_take)]
    assert rules.legal_moves(positions[row]) == legal


def test_functions_take_any_number_of_leading_dimensions():
    rules = NimRules((2, 3))
    batch = rules.all_positions().reshape(3, 2, 2, 2)
    for function in (rules.action_mask, rules.is_over, rules.index):
        together = function(batch)
        for where in np.ndindex(3, 2, 2):
            np.testing.assert_array_equal(together[where], function(batch[where].tolist()))
    np.testing.assert_array_equal(rules.from_index(rules.index(batch)), batch)
    assert type(rules.index((2, 3))) is int
    assert rules.action_mask(np.empty((0, 2), int)).shape == (0, rules.n_actions)
    after = rules.apply((2, 3), np.arange(rules.n_actions))  # one position, every action
    assert after.tolist() == [[1, 3], [0, 3], [2, 2], [2, 1], [2, 0]]


def test_integers_of_every_kind_are_taken():
    rules = NimRules()
    heaps = (1, 2, 0, 4)
    for kind in (np.uint8, np.uint64, np.int8, object, list):
        given = list(heaps) if kind is list else np.array(heaps, kind)
        assert rules.positions(given).tolist() == [1, 2, 0, 4]
        assert rules.positions(given).dtype == np.int64
        assert rules.apply(given, np.array(0)).tolist() == [0, 2, 0, 4]
    assert rules.action(np.array(3), np.uint8(7)) == rules.action(3, 7) == 15
    with pytest.raises(TypeError, match=r"heap.*3"):
        rules.action(np.array([3]), 7)


def test_functions_are_pure():
    rules, heaps = NimRules(), np.array([1, 3, 5, 7])
    for result in (rules.apply(heaps, 3), rules.action_mask(heaps), rules.positions(heaps), rules.all_positions()):
        result[:] = 0
    assert heaps.tolist() == [1, 3, 5, 7]
    assert rules.all_positions()[-1].tolist() == [1, 3, 5, 7]
    for constant in (rules.move_counts, rules.move_heaps):
        with pytest.raises(ValueError, match="read-only"):
            constant[0] = 9


def test_rules_are_values():
    assert NimRules([1, 2], 3, misere=False) == NimRules(np.array([1, 2]), np.int64(3), misere=np.False_)
    assert hash(NimRules(range(3))) == hash(NimRules((0, 1, 2)))
    from_numpy = NimRules(np.array([1, 2], np.uint8), np.array(3), np.True_)
    assert [*map(type, (*from_numpy.heaps, from_numpy.max_take, from_numpy.misere))] == [int, int, int, bool]
    rules = NimRules((4, 4), 2)
    assert rules.moves  # fills the cached properties
    assert pickle.loads(pickle.dumps(rules)) == rules == NimRules(**asdict(rules))
    assert str(NimRules((21,), 3, misere=False)) == "Nim 21, take 1 to 3, normal play"
    assert len(str(NimRules((2,) * 5_000))) < 100
    with pytest.raises(AttributeError):
        rules.heaps = (1,)


@given(any_rules, any_rules)
def test_different_rules_have_different_texts(rules, other):
    assert (str(rules) == str(other)) == (rules == other)


# --- Indices --------------------------------------------------------------------------------------


@given(any_rules)
def test_positions_have_the_indices_that_numpy_gives_them(rules):
    indices, positions = np.arange(rules.n_positions), rules.all_positions()
    np.testing.assert_array_equal(positions, np.stack(np.unravel_index(indices, rules.shape), axis=-1))
    np.testing.assert_array_equal(rules.index(positions), np.ravel_multi_index(positions.T, rules.shape))
    np.testing.assert_array_equal(rules.from_index(indices), positions)
    assert positions.dtype == rules.index(positions).dtype == np.int64
    assert not positions[0].any()
    assert tuple(positions[-1]) == rules.heaps


@given(st.tuples(*(st.integers(0, size) for size in HUGE.heaps)))
def test_one_index_of_a_huge_game_is_exact(heaps):
    base = 2**62 + 1
    index = (heaps[0] * base + heaps[1]) * 6 + heaps[2]
    assert HUGE.index(heaps) == index
    assert tuple(HUGE.from_index(index).tolist()) == heaps


def test_large_games_are_exact():
    assert HUGE.n_actions == 9
    assert HUGE.n_positions == (2**62 + 1) ** 2 * 6 == HUGE.index(HUGE.heaps) + 1
    assert HUGE.apply(HUGE.heaps, 8).tolist() == [2**62, 2**62, 2]
    many = NimRules((3,) * 1_000)
    assert many.index(many.from_index(4**999 + 2)) == 4**999 + 2


def test_a_batch_of_indices_fills_64_bits_and_never_exceeds_them():
    largest = NimRules((2**63 - 2,), max_take=1)  # 2^63 - 1 positions
    assert largest.index([[2**63 - 2], [0]]).tolist() == [2**63 - 2, 0]
    assert largest.from_index([2**63 - 2, 0]).tolist() == [[2**63 - 2], [0]]
    for rules in (NimRules((2**62 - 1, 1), max_take=1), HUGE, NimRules((3,) * 32)):
        assert rules.index(rules.heaps) == rules.n_positions - 1 >= 2**63 - 1
        for function, batch in ((rules.index, [(0,) * rules.n_heaps]), (rules.from_index, [0])):
            with pytest.raises(ValueError, match="64 bits"):
                function(batch)


def test_games_too_large_to_list_are_refused():
    for rules in (HUGE, NimRules((99,) * 4), NimRules((10**8,), max_take=1)):
        with pytest.raises(ValueError, match="too many positions"):
            rules.all_positions()


def test_bad_indices_are_refused():
    for index in (384, np.array([384])):  # n_positions
        with pytest.raises(ValueError, match=r"index.*384"):
            NimRules().from_index(index)
    for index in (-1, 10**60):
        for rules in (NimRules(), HUGE):
            with pytest.raises(ValueError, match=f"index.*{index}"):
                rules.from_index(index)
        with pytest.raises(ValueError, match=f"index.*{index}"):
            NimRules().from_index([0, index])
    for index in (1.0, True, "3", [0.5], [True, 3], ["3"]):
        with pytest.raises(TypeError, match="index"):
            NimRules().from_index(index)
    for index in (1.0, True, "3"):
        with pytest.raises(TypeError, match=f"index.*{index}"):
            HUGE.from_index(index)


# --- Bad input ------------------------------------------------------------------------------------


def test_the_largest_games_are_allowed():
    assert NimRules((1_000_000,)).n_actions == 1_000_000
    assert NimRules((600_000, 600_000), max_take=500_000).n_actions == 1_000_000
    assert NimRules((1,) * 10_000).n_actions == 10_000  # 100 million pairs of a heap and an action
    assert NimRules((2**63 - 2,), max_take=3).index((2**63 - 2,)) == 2**63 - 2
    with pytest.raises(ValueError, match=r"heaps.*10,001"):
        NimRules((1,) * 10_001)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"heaps": ()}, ValueError, r"heaps.*\(\)"),
        ({"heaps": (0, 0)}, ValueError, r"heaps.*\(0, 0\)"),
        ({"heaps": (3, -1)}, ValueError, r"heaps.*\(3, -1\)"),
        ({"heaps": (2**63,)}, ValueError, f"heaps.*{2**63}"),
        ({"heaps": (True, 3)}, TypeError, "heaps.*True"),
        ({"heaps": np.array([1.0, 3.0])}, TypeError, r"heaps.*1\.0"),
        ({"heaps": np.array([[1, 3]])}, ValueError, r"heaps.*\(1, 2\)"),
        ({"heaps": "135"}, TypeError, "heaps.*'135'"),
        ({"heaps": 7}, TypeError, "heaps.*7"),
        ({"max_take": 0}, ValueError, "max_take.*0"),
        ({"max_take": 2.0}, TypeError, r"max_take.*2\.0"),
        ({"misere": 1}, TypeError, "misere.*1"),
        ({"heaps": (1_000_001,)}, ValueError, "heaps.*1,000,001 actions"),
        ({"heaps": (10**18, 10**18), "max_take": 600_000}, ValueError, "max_take=600000.*1,200,000 actions"),
        ({"heaps": range(10**8)}, ValueError, "heaps.*100,000,000"),
        ({"heaps": (2,) * 10_000}, ValueError, "heaps.*10,000 heaps times 20,000 actions"),
    ],
)
def test_bad_games_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        NimRules(**arguments)


@pytest.mark.parametrize(
    ("heaps", "error", "message"),
    [
        (3, ValueError, r"heaps.*\(\)"),
        ([1, 3, 5], ValueError, r"heaps.*\(3,\)"),
        ([], TypeError, r"heaps.*\[\]"),
        ([[1, 3, 5, 7], [1, 3, -5, 7]], ValueError, "heaps.*-5 in heap 2 of position 1"),
        ([1, 3, 5, 7.0], TypeError, r"heaps.*7\.0"),
        ([[1, 3, 5, 7], [1, 3, 5, np.True_]], TypeError, "heaps.*True"),
        (np.ones(4, bool), TypeError, "heaps.*True"),
        ("1357", TypeError, "heaps.*'1357'"),
        ([[1, 3, 5, 7], [1, 3]], ValueError, "heaps"),
        ([10**30, 0, 0, 0], ValueError, "heaps.*10{30}"),
        (np.array([2**63 + 1, 0, 0, 0], dtype=np.uint64), ValueError, f"heaps.*{2**63 + 1}"),
    ],
)
def test_bad_positions_are_refused(heaps, error, message):
    rules = NimRules()
    functions = rules.action_mask, rules.is_over, rules.legal_moves, rules.index, rules.positions
    for function in (*functions, lambda heaps: rules.apply(heaps, 0)):
        with pytest.raises(error, match=message):
            function(heaps)


def test_bad_moves_are_refused():
    rules = NimRules((5, 5), max_take=2)
    for heap, count in ((0, 3), (2, 1), (-1, 1), (0, 0)):
        with pytest.raises(ValueError, match=f"heap={heap}, count={count}"):
            rules.action(heap, count)
    for move, message in (((0, 1.0), r"count.*1\.0"), ((True, 1), "heap.*True")):
        with pytest.raises(TypeError, match=message):
            rules.action(*move)
    for heaps, actions, error, message in (
        ((5, 5), 4, ValueError, "actions.*4"),
        ((5, 5), [[1], [9]], ValueError, "actions.*9"),
        ((5, 5), 1.0, TypeError, r"actions.*1\.0"),
        ([[5, 5], [1, 5]], [1, 1], ValueError, r"action 1.*\[1, 5\].*position 1"),
        ([[5, 0], [1, 5]], [1, 1], ValueError, r"action 1.*\[1, 5\].*position 1"),
        ([[5, 5], [5, 5]], [0, 0, 0], ValueError, r"actions.*\(2,\).*\(3,\)"),
    ):
        with pytest.raises(error, match=message):
            rules.apply(heaps, actions)
    with pytest.raises(ValueError, match="one position"):
        rules.legal_moves([[5, 5]])
