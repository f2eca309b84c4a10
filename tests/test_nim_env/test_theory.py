"""Compares the closed form with recursion over all moves."""

import itertools

import brute_force
import numpy as np
import pytest
from hypothesis import given
from strategies import few_examples
from strategies import rules as any_rules

from nim_env import NimRules, theory

STARTS = [(30,), (12, 12), (7, 7, 7), (1, 3, 5, 7), (5, 5, 5, 5), (4, 4, 4, 4, 4), (2, 2, 2, 2, 2, 2)]


@pytest.mark.parametrize("heaps", STARTS, ids=str)
def test_the_closed_form_is_the_solution(heaps):
    for max_take, misere in itertools.product((None, 1, 2, 3, 4), (False, True)):
        rules = NimRules(heaps, max_take, misere)
        positions = rules.all_positions()
        np.testing.assert_array_equal(theory.is_winning(rules, positions), brute_force.winners(rules))
        values = [brute_force.grundy(tuple(sorted(position)), max_take) for position in positions.tolist()]
        np.testing.assert_array_equal(theory.grundy(rules, positions), values)


@few_examples
@given(any_rules)
def test_winning_actions_leave_a_lost_position(rules):
    positions, mover_wins = rules.all_positions(), brute_force.winners(rules)
    mask = theory.winning_action_mask(rules, positions)
    assert mask.dtype == np.int8
    expected = [
        [row, rules.action(*move)]
        for row, heaps in enumerate(positions.tolist())
        for move, after in brute_force.moves(tuple(heaps), rules.max_take)
        if not mover_wins[np.dot(after, rules.strides)]
    ]
    assert np.argwhere(mask).tolist() == expected


@pytest.mark.parametrize("function", [theory.grundy, theory.is_winning, theory.winning_action_mask])
def test_one_position_and_batches_agree(function):
    rules = NimRules((2, 3, 4))
    batch = rules.all_positions().reshape(3, 4, 5, 3)
    together = function(rules, batch)
    for where in np.ndindex(3, 4, 5):
        np.testing.assert_array_equal(together[where], function(rules, batch[where].tolist()))
    with pytest.raises(ValueError, match=r"heaps.*9"):
        function(rules, (2, 3, 9))


@pytest.mark.parametrize("misere", [False, True])
@pytest.mark.parametrize("heaps", [(130, 130), (300, 260), (128, 2, 3)], ids=str)
def test_heaps_beyond_eight_bits(heaps, misere):
    """Compares the winning moves with the values of the positions that they lead to."""
    rules = NimRules(heaps, misere=misere)
    positions = np.random.default_rng(0).integers(0, np.array(heaps) + 1, size=(200, rules.n_heaps))
    row, action = np.nonzero(rules.action_mask(positions))
    expected = np.zeros((len(positions), rules.n_actions), np.int8)
    expected[row, action] = ~theory.is_winning(rules, rules.apply(positions[row], action))
    np.testing.assert_array_equal(theory.winning_action_mask(rules, positions), expected)
