"""Compares the rules with a plain implementation, at every position and move of random games."""

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
from nim_env import NimRules

HUGE = NimRules((2**62, 2**62, 5), max_take=3)


def test_examples_in_docstrings():
    results = doctest.testmod(nim_env.rules)
    assert results.attempted > results.failed == 0


@given(any_rules)
def test_moves_actions_positions_and_indices(rules):
    assert list(rules.moves) == [move for move, _ in moves(rules.heaps, rules.max_take)]
    assert [rules.action(*move) for move in rules.moves] == list(range(rules.n_actions))
    assert [*zip(rules.move_heaps, rules.move_counts, strict=True)] == list(rules.moves)
    indices, positions = np.arange(rules.n_positions), rules.all_positions()
    np.testing.assert_array_equal(positions, np.stack(np.unravel_index(indices, rules.shape), axis=-1))
    np.testing.assert_array_equal(rules.index(positions), indices)
    assert positions.dtype == rules.index(positions).dtype == np.int64


@few_examples
@given(any_rules, st.data())
def test_masks_and_transitions(rules, data):
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
    np.testing.assert_array_equal(rules.index(after), rows - np.array(rules.offsets)[actions])
    assert rules.is_over(positions).tolist() == [not any(heaps) for heaps in positions.tolist()]
    row, action = data.draw(st.sampled_from(np.argwhere(mask == 0).tolist()))
    with pytest.raises(ValueError, match=f"{action}.*{positions[row].tolist()}".replace("[", r"\[")):
        rules.apply(positions[[row, -1]], [action, 0])
    assert rules.legal_moves(positions[row]) == [rules.moves[action] for action in mask[row].nonzero()[0]]


def test_any_number_of_leading_dimensions():
    rules = NimRules((2, 3))
    batch = rules.all_positions().reshape(3, 2, 2, 2)
    for function in (rules.action_mask, rules.is_over, rules.index):
        together = function(batch)
        for where in np.ndindex(3, 2, 2):
            np.testing.assert_array_equal(together[where], function(batch[where].tolist()))
    np.testing.assert_array_equal(rules.from_index(rules.index(batch)), batch)
    np.testing.assert_array_equal(rules.apply(batch.astype(np.uint8)[2], np.array(0, np.uint64)), batch[1])
    after = rules.apply((2, 3), np.arange(rules.n_actions))  # one position, every action
    assert after.tolist() == [[1, 3], [0, 3], [2, 2], [2, 1], [2, 0]]


def test_functions_are_pure():
    rules, heaps = NimRules(), np.array([1, 3, 5, 7])
    for result in (rules.apply(heaps, 3), rules.checked_positions(heaps), rules.all_positions()):
        result[:] = 0
    assert heaps.tolist() == rules.all_positions()[-1].tolist() == [1, 3, 5, 7]
    for constant in (rules.move_counts, rules.move_heaps):
        with pytest.raises(ValueError, match="read-only"):
            constant[0] = 9


def test_rules_are_values():
    rules = NimRules((1, 4), 3, misere=False)
    from_numpy = NimRules(np.array([1, 4], np.uint8), np.array(3), np.False_)
    assert from_numpy == NimRules([1, 4], np.int64(3), misere=False) == rules
    assert hash(from_numpy) == hash(rules)
    assert [*map(type, (*from_numpy.heaps, from_numpy.max_take, from_numpy.misere))] == [int, int, int, bool]
    assert (
        NimRules((3, 1), max_take=3) == NimRules((3, 1), max_take=9) == NimRules((3, 1))
    )  # limits that never matter
    assert rules.moves  # fills the cached properties
    assert pickle.loads(pickle.dumps(rules)) == rules == NimRules(**asdict(rules))
    assert len(pickle.dumps(NimRules((500_000,)))) < 200
    assert str(NimRules((21,), 3, misere=False)) == "Nim 21, take 1 to 3, normal play"


def test_large_games():
    assert HUGE.n_positions == (2**62 + 1) ** 2 * 6
    assert HUGE.apply(HUGE.heaps, 8).tolist() == [2**62, 2**62, 2]
    largest = NimRules((2**63 - 2,), max_take=1)  # 2^63 - 1 positions
    assert largest.from_index(largest.index([[2**63 - 2], [0]])).tolist() == [[2**63 - 2], [0]]
    for rules in (NimRules((2**62 - 1, 1), max_take=1), HUGE, NimRules((3,) * 32)):
        for function, argument in ((rules.index, rules.heaps), (rules.from_index, 0)):
            with pytest.raises(ValueError, match="64 bits"):
                function(argument)
    for rules in (HUGE, NimRules((99,) * 4), NimRules((10**8,), max_take=1)):
        with pytest.raises(ValueError, match="positions"):
            rules.all_positions()


@pytest.mark.parametrize("index", [384, -1, [0, 384], [-1, 0], 10**60, 1.0, True, "3", [True, 3]], ids=str)
def test_bad_indices(index):
    with pytest.raises((ValueError, TypeError), match="index"):
        NimRules().from_index(index)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"heaps": ()}, "heaps"),
        ({"heaps": 5}, "heaps.*5"),
        ({"heaps": (0, 0)}, r"heaps.*\(0, 0\)"),
        ({"heaps": (3, -1)}, r"heaps.*-1"),
        ({"heaps": (2**63 - 1,), "max_take": 1}, f"heaps.*{2**63 - 1}"),
        ({"heaps": (True, 3)}, "heaps.*True"),
        ({"heaps": "135"}, "heaps.*1"),
        ({"max_take": 0}, "max_take.*0"),
        ({"misere": 1}, "misere.*1"),
        ({"heaps": (1_000_001,)}, "1,000,001 actions"),
        ({"heaps": (600_000, 600_001), "max_take": 500_001}, "1,000,002 actions"),
        ({"heaps": (1,) * 10_001}, "10,001 heaps"),
    ],
)
def test_bad_games(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        NimRules(**arguments)


@pytest.mark.parametrize(
    "heaps",
    [
        3,
        [1, 3, 5],
        [[1, 3, 5, 7], [1, 3, -5, 7]],
        [1, 3, 6, 7],
        [1, 3, 5, np.nan],
        [[1, 3, 5, 7], [1, 3, 5, np.True_]],
        [10**30, 0, 0, 0],
        np.array([2**63 + 1, 0, 0, 0], dtype=np.uint64),
    ],
    ids=str,
)
def test_bad_positions(heaps):
    rules = NimRules()
    for function in (rules.action_mask, rules.is_over, rules.index, lambda heaps: rules.apply(heaps, 0)):
        with pytest.raises((ValueError, TypeError), match="heaps"):
            function(heaps)


def test_bad_moves():
    rules = NimRules((5, 5), max_take=2)
    for heap, count in ((0, 3), (2, 1), (-1, 1), (0, 0), (0, 1.5), (True, 1), (0, "1")):
        with pytest.raises((ValueError, TypeError), match=r"heap|count"):
            rules.action(heap, count)
    for actions in (4, -1, [[1], [9]], 1.0, True, np.array(2**63, np.uint64)):
        with pytest.raises((ValueError, TypeError), match="actions"):
            rules.apply((5, 5), actions)
    with pytest.raises(ValueError, match="one position"):
        rules.legal_moves([[5, 5]])
