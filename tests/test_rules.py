import itertools
import pickle

import numpy as np
import pytest
from brute_force import moves
from hypothesis import given
from strategies import rules as any_rules

from nim_env import NimRules


def all_positions(rules):
    return list(itertools.product(*(range(size + 1) for size in rules.heaps)))


def test_the_standard_game():
    rules = NimRules()
    assert (rules.heaps, rules.max_take, rules.misere) == ((1, 3, 5, 7), None, True)
    assert rules.n_actions == 16
    assert rules.moves[:5] == ((0, 1), (1, 1), (1, 2), (1, 3), (2, 1))
    assert rules.n_positions == 2 * 4 * 6 * 8


def test_available_actions_of_the_course_specification():
    assert NimRules((2, 1, 0, 0)).legal_moves([2, 1, 0, 0]) == [(0, 1), (0, 2), (1, 1)]


@given(any_rules)
def test_moves_and_actions_are_inverse(rules):
    assert list(rules.moves) == [move for move, _ in moves(rules.heaps, rules.max_take)]
    assert [rules.action(*move) for move in rules.moves] == list(range(rules.n_actions))


@given(any_rules)
def test_masks_and_transitions_are_the_rules(rules):
    positions = all_positions(rules)
    masks = rules.action_mask(positions)
    assert masks.dtype == np.int8
    for heaps, mask in zip(positions, masks, strict=True):
        expected = dict(moves(heaps, rules.max_take))
        assert rules.legal_moves(heaps) == list(expected)
        assert [rules.moves[action] for action in np.flatnonzero(mask)] == list(expected)
        assert rules.is_over(heaps) == (not any(heaps))
        for move, after in expected.items():
            assert tuple(rules.apply(heaps, rules.action(*move))) == after
        for action in np.flatnonzero(mask == 0):
            with pytest.raises(ValueError, match="is illegal at"):
                rules.apply(heaps, action)


@given(any_rules)
def test_index_arithmetic_is_the_transition(rules):
    for number, heaps in enumerate(all_positions(rules)):
        assert np.dot(heaps, rules.strides) == number
        for move, after in moves(heaps, rules.max_take):
            assert np.dot(after, rules.strides) == number - rules.offsets[rules.action(*move)]


def test_functions_take_any_number_of_leading_dimensions():
    rules = NimRules((2, 3))
    batch = np.array(all_positions(rules)).reshape(3, 2, 2, 2)
    mask = rules.action_mask(batch)
    assert mask.shape == (3, 2, 2, rules.n_actions)
    assert rules.is_over(batch).shape == (3, 2, 2)
    for where in np.ndindex(3, 2, 2):
        np.testing.assert_array_equal(mask[where], rules.action_mask(batch[where]))
    assert rules.action_mask(np.empty((0, 2), int)).shape == (0, rules.n_actions)
    after = rules.apply((2, 3), np.arange(rules.n_actions))  # one position, every action
    assert after.tolist() == [[1, 3], [0, 3], [2, 2], [2, 1], [2, 0]]


def test_functions_are_pure():
    rules, heaps = NimRules(), np.array([1, 3, 5, 7])
    for result in (rules.apply(heaps, 3), rules.action_mask(heaps), rules.positions(heaps)):
        result[:] = 0
    assert heaps.tolist() == [1, 3, 5, 7]
    with pytest.raises(ValueError, match="read-only"):
        rules.move_counts[0] = 9


def test_rules_are_values():
    assert NimRules([1, 2], 3, misere=False) == NimRules(np.array([1, 2]), np.int64(3), misere=False)
    assert hash(NimRules([1, 2])) == hash(NimRules((1, 2)))
    assert NimRules(range(3)).heaps == (0, 1, 2)
    rules = NimRules((4, 4), 2)
    assert rules.moves  # fills what is derived
    assert pickle.loads(pickle.dumps(rules)) == rules
    with pytest.raises(AttributeError):
        rules.heaps = (1,)


def test_large_games_are_exact():
    rules = NimRules((2**62, 2**62, 5), max_take=3, misere=False)
    assert rules.n_actions == 9
    assert rules.n_positions == (2**62 + 1) ** 2 * 6
    assert rules.apply(rules.heaps, 8).tolist() == [2**62, 2**62, 2]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"heaps": ()}, ValueError, r"heaps must hold one size or more.*got \(\)"),
        ({"heaps": (0, 0)}, ValueError, r"not all 0; got \(0, 0\)"),
        ({"heaps": (3, -1)}, ValueError, r"got \(3, -1\)"),
        ({"heaps": (2**63,)}, ValueError, "heaps must hold"),
        ({"heaps": (3.0,)}, TypeError, r"heaps\[0\] must be an integer; got 3.0"),
        ({"heaps": (2.5,)}, TypeError, r"heaps\[0\] must be an integer; got 2.5"),
        ({"heaps": (float("nan"),)}, TypeError, r"heaps\[0\] must be an integer; got nan"),
        ({"heaps": (True, 3)}, TypeError, r"heaps\[0\] must be an integer; got True"),
        ({"heaps": np.array([True, False])}, TypeError, r"heaps\[0\] must be an integer"),
        ({"heaps": np.array([1.0, 3.0])}, TypeError, r"heaps\[0\] must be an integer"),
        ({"heaps": np.array([[1, 3]])}, ValueError, "heaps must be one-dimensional"),
        ({"heaps": "135"}, TypeError, "heaps must be a sequence of integers.*got '135'"),
        ({"heaps": 7}, TypeError, "heaps must be a sequence of integers.*got 7"),
        ({"heaps": {1, 3}}, TypeError, "heaps must be a sequence of integers"),
        ({"heaps": None}, TypeError, "heaps must be a sequence of integers.*got None"),
        ({"max_take": 0}, ValueError, "max_take must be 1 or more, or None for no limit; got 0"),
        ({"max_take": -3}, ValueError, "max_take must be 1 or more.*got -3"),
        ({"max_take": 2.0}, TypeError, "max_take must be an integer; got 2.0"),
        ({"max_take": True}, TypeError, "max_take must be an integer; got True"),
        ({"max_take": "3"}, TypeError, "max_take must be an integer; got '3'"),
        ({"misere": 1}, TypeError, "misere must be True or False; got 1"),
        ({"misere": None}, TypeError, "misere must be True or False; got None"),
        ({"heaps": (1_000_001,)}, ValueError, "has 1,000,001 actions, more than 1,000,000"),
        ({"heaps": (10**18, 10**18), "max_take": 600_000}, ValueError, "has 1,200,000 actions"),
        ({"heaps": range(10**8)}, ValueError, "heaps must hold 10,000 sizes or fewer; got 100,000,000"),
    ],
)
def test_bad_games_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        NimRules(**arguments)


@pytest.mark.parametrize(
    ("heaps", "error", "message"),
    [
        (3, ValueError, r"heaps must have shape \(..., 4\)"),
        ([1, 3, 5], ValueError, r"heaps must have shape \(..., 4\), one size per heap; got shape \(3,\)"),
        ([], TypeError, "heaps must hold integers alone"),
        ([1, 3, 5, 8], ValueError, "got 8 in heap 3"),
        ([1, 3, -5, 7], ValueError, "got -5 in heap 2"),
        ([1, 3, 5, 7.0], TypeError, "heaps must hold integers alone; got .*7.0"),
        ([1, 3, 5, float("nan")], TypeError, "heaps must hold integers alone"),
        ([True, 3, 5, 7], TypeError, "heaps must hold integers alone; got .*True"),
        ([[1, 3, 5, 7], [1, 3, 5, np.True_]], TypeError, "heaps must hold integers alone"),
        (np.ones(4, bool), TypeError, "heaps must hold integers alone"),
        ("1357", TypeError, "heaps must hold integers alone; got '1357'"),
        ([[1, 3, 5, 7], [1, 3]], ValueError, "heaps must be a regular array"),
        ([10**30, 0, 0, 0], ValueError, "heaps must lie within 64 bits"),
        (np.array([2**63 + 1, 0, 0, 0], dtype=np.uint64), ValueError, "heaps must lie within 64 bits"),
        (None, TypeError, "heaps must hold integers alone; got None"),
    ],
)
def test_bad_positions_are_refused(heaps, error, message):
    for function in (NimRules().action_mask, NimRules().is_over, NimRules().legal_moves):
        with pytest.raises(error, match=message):
            function(heaps)


def test_bad_moves_are_refused():
    rules = NimRules((5, 5), max_take=2)
    for heap, count in ((0, 3), (2, 1), (-1, 1), (0, 0)):
        with pytest.raises(ValueError, match=f"heap={heap}, count={count} is no move"):
            rules.action(heap, count)
    with pytest.raises(TypeError, match=r"count must be an integer; got 1\.0"):
        rules.action(0, 1.0)
    with pytest.raises(TypeError, match="heap must be an integer; got True"):
        rules.action(True, 1)
    with pytest.raises(ValueError, match="actions must lie in 0 to 3; got 4"):
        rules.apply((5, 5), 4)
    with pytest.raises(ValueError, match="actions must lie in 0 to 3; got -1"):
        rules.apply((5, 5), [0, -1])
    with pytest.raises(TypeError, match="actions must hold integers"):
        rules.apply((5, 5), 1.0)
    with pytest.raises(ValueError, match=r"action 1, take 2 from heap 0, is illegal at \[1, 5\]"):
        rules.apply([[5, 5], [1, 5]], [1, 1])
    with pytest.raises(
        ValueError, match=r"actions must have one entry for each position, shape \(2,\); got \(3,\)"
    ):
        rules.apply([[5, 5], [5, 5]], [0, 0, 0])
    with pytest.raises(ValueError, match="must be one position"):
        rules.legal_moves([[5, 5]])
