"""Compares the solver with recursion, with the closed form and with every other way to play."""

import math

import brute_force
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import few_examples
from strategies import rules as any_rules

from nim_env import ExpertPolicy, NimRules, evaluation, solver, theory

SEVERAL_BATCHES = NimRules((60, 120), misere=False)


@few_examples
@given(any_rules, st.sampled_from([0.0, 0.5, 0.9, 1.0]))
def test_values_are_those_of_recursion(rules, discount):
    positions = rules.all_positions()
    solution = solver.solve(rules, discount)
    expected = np.full((rules.n_positions, rules.n_actions), -np.inf)
    for row, heaps in zip(expected, positions.tolist(), strict=True):
        for move, after in brute_force.moves(tuple(heaps), rules.max_take):
            rest = any(after) and brute_force.best_return(
                tuple(sorted(after)), rules.max_take, rules.misere, discount
            )
            row[rules.action(*move)] = -discount * rest if any(after) else rules.terminal_reward
    np.testing.assert_allclose(solution.q_values(positions), expected, rtol=1e-12)
    values = np.append(-rules.terminal_reward, expected[1:].max(axis=1))  # in the empty position the game is over
    np.testing.assert_allclose(solution.values(positions), values, rtol=1e-12)
    of_movers = np.append(rules.terminal_reward, -discount * values[1:])  # to the player who has just moved there
    np.testing.assert_allclose(solution.afterstates[rules.index(positions)], of_movers, rtol=1e-12)
    if discount == 1:
        unfinished = positions[1:], rules.action_mask(positions[1:])
        expert = ExpertPolicy(rules).action_probabilities(*unfinished)
        np.testing.assert_array_equal(solution.action_probabilities(*unfinished), expert)


@few_examples
@given(any_rules)
@example(SEVERAL_BATCHES)
def test_a_sweep_visits_every_position_once_after_all_that_it_leads_to(rules):
    is_done = np.arange(rules.n_positions) == 0
    batches = list(solver.iter_positions(rules))
    for batch in batches:
        np.testing.assert_array_equal(batch.heaps, rules.from_index(batch.indices))
        np.testing.assert_array_equal(batch.action_mask, rules.action_mask(batch.heaps))
        row, action = np.nonzero(batch.action_mask)
        expected = np.zeros(batch.action_mask.shape, int)
        expected[row, action] = rules.index(rules.apply(batch.heaps[row], action))
        np.testing.assert_array_equal(batch.next_indices, expected)
        for layer in batch.layers:
            assert is_done[batch.next_indices[layer]].all()
            assert not is_done[batch.indices[layer]].any()
            is_done[batch.indices[layer]] = True
    assert is_done.all()
    assert (len(batches) > 1) == (rules == SEVERAL_BATCHES)


def test_games_of_many_heaps_and_of_one_large_heap():
    assert solver.solve(NimRules((0,) * 70 + (5,), misere=False)).values((0,) * 70 + (5,)) == 1
    many = NimRules((2,) * 4 + (250, 1), max_take=2, misere=False)  # more objects than fit in a byte
    positions = np.random.default_rng(0).integers(0, np.array(many.heaps) + 1, size=(500, 6))
    np.testing.assert_array_equal(solver.solve(many).values(positions) > 0, theory.is_winning(many, positions))
    solution = solver.solve(NimRules((5_000,), max_take=3, misere=False))
    heaps = np.arange(1, 5_001)[:, None]
    np.testing.assert_array_equal(solution.values(heaps) > 0, heaps[:, 0] % 4 != 0)


@pytest.mark.parametrize("discount", [1.5, math.nan])
def test_a_bad_discount_is_named(discount):
    with pytest.raises(ValueError, match=f"discount.*{discount}"):
        solver.solve(NimRules(), discount)


@pytest.mark.parametrize(
    "rules",
    [NimRules((99,) * 1_000), NimRules((9_999_999,), max_take=1001), NimRules((60_000_000,), max_take=1)],
    ids=["1,000 heaps", "actions", "positions"],
)
def test_games_too_large_for_a_sweep_are_refused_at_once(rules):
    solver.iter_positions(NimRules((9_999_999,), max_take=1000))  # ten billion positions times actions
    for function, *rest in (
        (solver.iter_positions,),
        (solver.best_response, "random"),
        (evaluation.report, "random"),
        (evaluation.payoff_matrix, ["random"]),
        (evaluation.value_accuracy, len),
    ):
        with pytest.raises(ValueError, match=f"{rules} .*sampled_mastery"):
            function(rules, *rest)
