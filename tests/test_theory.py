import itertools

import brute_force
import numpy as np
import pytest
from brute_force import all_positions
from hypothesis import given
from strategies import rules as any_rules

from nim_env import NimRules, theory

STARTS = [(30,), (12, 12), (7, 7, 7), (1, 3, 5, 7), (5, 5, 5, 5), (4, 4, 4, 4, 4), (2, 2, 2, 2, 2, 2)]
VARIANTS = list(itertools.product((None, 1, 2, 3, 4), (False, True)))


def test_there_are_enough_positions():
    assert sum(NimRules(heaps).n_positions for heaps in STARTS) * len(VARIANTS) >= 50_000


@pytest.mark.parametrize(("max_take", "misere"), VARIANTS)
@pytest.mark.parametrize("heaps", STARTS, ids=str)
def test_the_closed_form_is_the_truth(heaps, max_take, misere):
    rules = NimRules(heaps, max_take, misere)
    positions = all_positions(rules)
    truth = [brute_force.mover_wins(tuple(sorted(position)), max_take, misere) for position in positions.tolist()]
    np.testing.assert_array_equal(theory.is_winning(rules, positions), truth)
    values = [brute_force.grundy(tuple(sorted(position)), max_take) for position in positions.tolist()]
    np.testing.assert_array_equal(theory.grundy(rules, positions), values)


@given(any_rules)
def test_winning_actions_leave_a_lost_position(rules):
    positions = all_positions(rules)
    masks = theory.winning_action_mask(rules, positions)
    assert masks.dtype == np.int8
    for position, mask in zip(positions.tolist(), masks, strict=True):
        expected = [
            rules.action(*move)
            for move, after in brute_force.moves(tuple(position), rules.max_take)
            if not brute_force.mover_wins(tuple(sorted(after)), rules.max_take, rules.misere)
        ]
        assert np.flatnonzero(mask).tolist() == expected


def test_one_position_and_batches_agree():
    rules = NimRules((2, 3, 4), max_take=2)
    batch = all_positions(rules).reshape(3, 4, 5, 3)
    for function, width in (
        (theory.grundy, ()),
        (theory.is_winning, ()),
        (theory.winning_action_mask, (rules.n_actions,)),
    ):
        together = function(rules, batch)
        assert together.shape == (3, 4, 5, *width)
        for where in np.ndindex(3, 4, 5):
            np.testing.assert_array_equal(together[where], function(rules, batch[where].tolist()))


def test_the_empty_position_is_winning_exactly_in_misere():
    assert theory.is_winning(NimRules(misere=True), (0, 0, 0, 0))
    assert not theory.is_winning(NimRules(misere=False), (0, 0, 0, 0))
    assert not theory.winning_action_mask(NimRules(), (0, 0, 0, 0)).any()


def test_limits_beyond_the_heaps_are_no_limit():
    huge = NimRules((3, 4), max_take=10**30)
    positions = all_positions(huge)
    np.testing.assert_array_equal(
        theory.winning_action_mask(huge, positions), theory.winning_action_mask(NimRules((3, 4)), positions)
    )


def test_positions_are_checked():
    for function in (theory.grundy, theory.is_winning, theory.winning_action_mask):
        with pytest.raises(ValueError, match="got 9 in heap 0"):
            function(NimRules(), (9, 3, 5, 7))
        with pytest.raises(TypeError, match="heaps must hold integers alone"):
            function(NimRules(), (1.0, 3, 5, 7))


@pytest.mark.parametrize("misere", [False, True])
@pytest.mark.parametrize("heaps", [(130, 130), (200, 100), (300, 260), (128, 2, 3)])
def test_large_heaps(heaps, misere):
    """Numbers that no longer fit a byte: against the values of the positions that every move leads to."""
    rules = NimRules(heaps, misere=misere)
    positions = np.random.default_rng(0).integers(0, np.array(heaps) + 1, size=(400, rules.n_heaps))
    masks, legal = theory.winning_action_mask(rules, positions), rules.action_mask(positions)
    for heaps_now, wins, may in zip(positions, masks, legal, strict=True):
        moves = np.flatnonzero(may)
        expected = moves[~theory.is_winning(rules, rules.apply(heaps_now, moves))] if len(moves) else moves
        assert np.flatnonzero(wins).tolist() == expected.tolist()


def test_heaps_beyond_sixteen_bits():
    rules = NimRules((70_000, 70_000), misere=False)
    for heaps in ((0, 70_000), (5, 70_000), (70_000, 40_000), (3, 2), (69_999, 70_000)):
        (action,) = np.flatnonzero(theory.winning_action_mask(rules, heaps))
        assert len(set(rules.apply(heaps, action).tolist())) == 1  # equal heaps are what loses
    assert not theory.winning_action_mask(rules, (40_000, 40_000)).any()
    bounded = NimRules((70_000,), max_take=40_000, misere=False)
    assert bounded.moves[theory.winning_action_mask(bounded, (70_000,)).argmax()] == (0, 70_000 - 40_001)
