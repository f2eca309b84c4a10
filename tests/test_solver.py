"""The solver against plain recursion, the closed form, the published tables and every other way to play."""

import csv
import itertools
import math
import pickle

import brute_force
import gymnasium as gym
import numpy as np
import pytest
from brute_force import all_positions, chance_to_win
from hypothesis import given
from hypothesis import strategies as st
from strategies import rules as any_rules
from strategies import seeds, tiny_rules
from system_4 import DATA, TABLES
from table_policies import TablePolicy, plays_of

from nim_env import ExpertPolicy, NimRules, evaluation, solver, theory
from nim_env.policies import as_policy

STARTS = [(9,), (6, 7), (0, 5, 3), (1, 2, 3), (1, 3, 5, 2), (2, 2, 2, 1, 3)]
GAMES = [
    NimRules(heaps, max_take, misere)
    for heaps, max_take, misere in itertools.product(STARTS, (None, 1, 2, 3, 5), (False, True))
]
gammas = st.sampled_from([0.0, 0.5, 0.9, 1.0])


def test_there_are_enough_games():
    assert len(set(GAMES)) >= 40
    assert {rules.n_heaps for rules in GAMES} == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_solver_closed_form_and_recursion_agree(rules):
    positions = all_positions(rules)
    solution = solver.solve(rules)
    truth = [
        brute_force.mover_wins(tuple(sorted(heaps)), rules.max_take, rules.misere) for heaps in positions.tolist()
    ]
    np.testing.assert_array_equal(solution.values(positions), np.where(truth, 1.0, -1.0))
    np.testing.assert_array_equal(theory.is_winning(rules, positions), truth)
    np.testing.assert_array_equal(solution.afterstate_values(positions), np.where(truth, -1.0, 1.0))
    np.testing.assert_array_equal(solution.q_values(positions) == 1, theory.winning_action_mask(rules, positions))
    np.testing.assert_array_equal(np.isfinite(solution.q_values(positions)), rules.action_mask(positions))


@given(any_rules, gammas, st.sampled_from([1, 0.5, 1000]))
def test_discounted_values_are_those_of_plain_recursion(rules, gamma, win_reward):
    positions = all_positions(rules)[1:]
    values = solver.solve(rules, gamma, win_reward).q_values(positions)
    expected = np.full(values.shape, -np.inf)
    for row, heaps in zip(expected, positions.tolist(), strict=True):
        for (heap, count), after in brute_force.moves(tuple(heaps), rules.max_take):
            if any(after):
                rest = brute_force.best_reward(tuple(sorted(after)), rules.max_take, rules.misere, gamma)
                row[rules.action(heap, count)] = -gamma * rest * win_reward
            else:
                row[rules.action(heap, count)] = -win_reward if rules.misere else win_reward
    np.testing.assert_allclose(values, expected, rtol=1e-12)


@pytest.mark.parametrize(("heaps", "pairs"), TABLES)
def test_the_published_tables(heaps, pairs):
    rules = NimRules(heaps)
    solution = solver.solve(rules, gamma=0.9, win_reward=1000)
    with open(DATA / f"q_table_{'-'.join(map(str, heaps))}.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == pairs
    for row in rows:
        values = solution.q_values([int(row[f"heap_{heap}"]) for heap in range(3)])
        value = values[rules.action(int(row["move_heap"]), int(row["move_count"]))]
        assert (value if row["player"] == "A" else -value) == pytest.approx(float(row["q_value"]), abs=0.05)


def test_one_position_and_batches_agree():
    rules = NimRules((2, 3, 4), max_take=2)
    solution = solver.solve(rules, gamma=0.9)
    batch = all_positions(rules).reshape(3, 4, 5, 3)
    for function, width in (
        (solution.q_values, (rules.n_actions,)),
        (solution.values, ()),
        (solution.afterstate_values, ()),
        (solution.choices, (rules.n_actions,)),
    ):
        together = function(batch)
        assert together.shape == (3, 4, 5, *width)
        for where in np.ndindex(3, 4, 5):
            np.testing.assert_array_equal(together[where], function(batch[where].tolist()))


def test_the_empty_position_is_over():
    for misere, reward in ((True, 7.0), (False, -7.0)):
        solution = solver.solve(NimRules((2, 1), misere=misere), win_reward=7)
        assert solution.values((0, 0)) == reward
        assert solution.afterstate_values((0, 0)) == -reward
        assert (solution.q_values((0, 0)) == -np.inf).all()
        with pytest.raises(ValueError, match="without a legal action"):
            solution.action_probabilities((0, 0), np.zeros(3, np.int8))


# --- As a policy ----------------------------------------------------------------------------------


@given(any_rules)
def test_without_discount_it_plays_as_the_expert(rules):
    positions = all_positions(rules)[1:]
    mask = rules.action_mask(positions)
    np.testing.assert_array_equal(
        solver.solve(rules).action_probabilities(positions, mask),
        ExpertPolicy(rules).action_probabilities(positions, mask),
    )


def test_with_a_discount_it_wins_as_soon_as_it_can():
    rules = NimRules((5, 4), misere=False)  # any even count from heap 0 to 4-4 wins; from 5-0 at once
    quick = solver.solve(rules, gamma=0.9)
    for heaps in all_positions(rules)[1:]:
        best = quick.choices(heaps).astype(bool)
        rewards = quick.q_values(heaps)
        assert (rewards[best] == rewards.max()).all()
    assert np.flatnonzero(quick.choices((5, 0))).tolist() == [rules.action(0, 5)]
    # 1-1 and 2-2 are both lost, and 2-2 lasts longer: whoever loses chooses the longest way
    losing = solver.solve(NimRules((2, 2), misere=False), gamma=0.9)
    assert [NimRules((2, 2)).moves[action] for action in np.flatnonzero(losing.choices((2, 2)))] == [
        (0, 1),
        (1, 1),
    ]


def test_it_can_be_an_opponent_and_goes_where_it_is_sent():
    rules = NimRules()
    solution = solver.best_response(rules, "random")
    env = gym.make("Nim-v0", opponent=solution, first_player="agent")
    _, info = env.reset(seed=0)
    terminated = False
    while not terminated:
        _, reward, terminated, _, info = env.step(int(info["action_mask"].argmax()))
    assert reward in (-1, 1)
    copy = pickle.loads(pickle.dumps(solution))
    np.testing.assert_array_equal(copy.table, solution.table)
    assert "array" not in repr(solution)
    with pytest.raises(ValueError, match=r"opponent was made for NimRules\(.*\), but the game is"):
        as_policy(solution, NimRules(misere=False), "opponent")


# --- Best responses -------------------------------------------------------------------------------


@given(tiny_rules, seeds)
def test_a_best_response_is_that_of_plain_recursion(rules, seed):
    policy = TablePolicy(rules, seed)
    response = solver.best_response(rules, policy)
    plays = max, plays_of(rules, policy)
    for to_move, value in ((0, response.values(rules.heaps)), (1, response.afterstate_values(rules.heaps))):
        expected = 2 * chance_to_win(rules, rules.heaps, plays, to_move) - 1
        assert value == pytest.approx(expected, abs=1e-12)


def test_no_pure_strategy_does_better_than_the_best_response():
    rules = NimRules((1, 3), misere=True)
    policy = TablePolicy(rules, 5)
    positions = all_positions(rules)[1:]
    response = solver.best_response(rules, policy)
    found = [-1.0, -1.0]
    for choice in itertools.product(*(np.flatnonzero(mask) for mask in rules.action_mask(positions))):
        pure = dict(zip(map(tuple, positions.tolist()), choice, strict=True))
        plays = (lambda heaps, pure=pure: {pure[heaps]: 1.0}), plays_of(rules, policy)
        for to_move in (0, 1):
            found[to_move] = max(found[to_move], 2 * chance_to_win(rules, rules.heaps, plays, to_move) - 1)
    assert response.values(rules.heaps) == pytest.approx(found[0], abs=1e-12)
    assert response.afterstate_values(rules.heaps) == pytest.approx(found[1], abs=1e-12)


@given(any_rules, seeds)
def test_a_best_response_gets_what_it_promises_and_nobody_gets_more(rules, seed):
    policy, other = TablePolicy(rules, seed), TablePolicy(rules, seed + 1)
    response = solver.best_response(rules, policy)
    positions = all_positions(rules)
    for first, promised in ((True, response.values(positions)), (False, response.afterstate_values(positions))):
        got = evaluation.win_probability(rules, response, policy, first, positions)
        np.testing.assert_allclose(2 * got - 1, promised, atol=1e-12)
        less = evaluation.win_probability(rules, other, policy, first, positions)
        assert (less <= got + 1e-12).all()


@given(any_rules, gammas)
def test_perfect_play_is_its_own_best_response(rules, gamma):
    solution = solver.solve(rules, gamma, 3.0)
    response = solver.best_response(rules, solution, gamma, 3.0)
    positions = all_positions(rules)
    np.testing.assert_allclose(response.q_values(positions), solution.q_values(positions), rtol=1e-12)


@given(tiny_rules, seeds)
def test_a_discounted_best_response(rules, seed):
    """By plain recursion over one ply at a time, with a pure policy."""
    policy = TablePolicy(rules, seed, deterministic=True)
    plays = plays_of(rules, policy)
    response = solver.best_response(rules, policy, gamma=0.5, win_reward=8)

    def value(heaps, to_move):
        """To the response, of its or the policy's next move."""
        sign = (1 if to_move == 0 else -1) * (-8 if rules.misere else 8)
        moves = {rules.action(*move): after for move, after in brute_force.moves(heaps, rules.max_take)}
        results = {a: sign if not any(after) else 0.5 * value(after, 1 - to_move) for a, after in moves.items()}
        return max(results.values()) if to_move == 0 else results[next(iter(plays(heaps)))]

    assert response.values(rules.heaps) == value(rules.heaps, 0)
    assert response.afterstate_values(rules.heaps) == 0.5 * value(rules.heaps, 1)


# --- The sweep ------------------------------------------------------------------------------------


@given(any_rules, st.integers(1, 200))
def test_a_sweep_visits_every_position_once_after_all_that_it_leads_to(rules, entries):
    seen = {0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver, "BATCH_ENTRIES", entries)
        for part in solver.sweep(rules):
            assert len(part.heaps) <= max(1, entries // rules.n_actions)
            assert [index for layer in part.layers for index in part.indices[layer]] == part.indices.tolist()
            for layer in part.layers:
                for index, heaps, mask, after in zip(*(column[layer] for column in part[:4]), strict=True):
                    assert index == np.ravel_multi_index(heaps, rules.shape)
                    legal = np.flatnonzero(mask)
                    expected = rules.apply(heaps, legal)
                    assert after[legal].tolist() == np.ravel_multi_index(expected.T, rules.shape).tolist()
                    assert set(after[legal].tolist()) <= seen
                    assert not after[mask == 0].any()
                seen |= set(part.indices[layer].tolist())
    assert len(seen) == rules.n_positions


@pytest.mark.parametrize("entries", [1, 16 * 5, 16 * 100])
def test_parts_of_any_size_give_the_same(entries, monkeypatch):
    rules = NimRules()
    policy = TablePolicy(rules, 0)
    whole = solver.solve(rules, 0.9), solver.best_response(rules, policy)
    monkeypatch.setattr(solver, "BATCH_ENTRIES", entries)
    parts = solver.solve(rules, 0.9), solver.best_response(rules, policy)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one.table, other.table, atol=1e-12)


def test_games_of_many_heaps_and_of_one_large_heap():
    assert solver.solve(NimRules((0,) * 70 + (5,), misere=False)).values((0,) * 70 + (5,)) == 1
    many = NimRules((2,) * 7 + (250, 1), max_take=2, misere=False)  # more objects in all than a byte counts
    positions = np.random.default_rng(0).integers(0, np.array(many.heaps) + 1, size=(500, 9))
    np.testing.assert_array_equal(solver.solve(many).values(positions) > 0, theory.is_winning(many, positions))
    solution = solver.solve(NimRules((20_000,), max_take=3, misere=False))
    heaps = np.arange(1, 20_001)[:, None]
    np.testing.assert_array_equal(solution.values(heaps) > 0, heaps[:, 0] % 4 != 0)


# --- Bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function", [solver.solve, lambda rules, *rest: solver.best_response(rules, "random", *rest)]
)
@pytest.mark.parametrize(
    ("rules", "rest", "error", "message"),
    [
        (NimRules(), (1.5,), ValueError, "gamma must lie between 0 and 1; got 1.5"),
        (NimRules(), (-0.1,), ValueError, "gamma must lie between 0 and 1; got -0.1"),
        (NimRules(), (math.nan,), ValueError, "gamma must lie between 0 and 1; got nan"),
        (NimRules(), ("1",), TypeError, "gamma must be a number; got '1'"),
        (NimRules(), (True,), TypeError, "gamma must be a number; got True"),
        (NimRules(), (1.0, 0), ValueError, r"win_reward must be above 0 and at most 1e\+300; got 0"),
        (NimRules(), (1.0, 10**400), ValueError, "win_reward must be above 0 and at most"),
        (NimRules(), (1.0, -1.0), ValueError, "win_reward must be above 0"),
        (NimRules(), (1.0, math.inf), ValueError, r"win_reward must be above 0 and at most 1e\+300; got inf"),
        (NimRules(), (1.0, None), TypeError, "win_reward must be a number; got None"),
        (NimRules((99,) * 9), (), ValueError, "9 heaps, more than 10.18 positions and 891 moves .*play_match"),
        (NimRules((99,) * 10_000), (), ValueError, "10,000 heaps, more than 10.18 positions and 990,000 moves"),
        (NimRules((300_000,)), (), ValueError, "300,001 positions and 300,000 moves .*10,000,000,000.*play_match"),
        (NimRules((60_000_000,), max_take=1), (), ValueError, "60,000,001 positions and 1 moves .*50,000,000 pos"),
    ],
)
def test_bad_arguments_are_named(function, rules, rest, error, message):
    with pytest.raises(error, match=message):
        function(rules, *rest)


@pytest.mark.parametrize(
    ("policy", "error", "message"),
    [
        ("best", ValueError, "policy must be .*got 'best'"),
        (7, TypeError, "policy must be a name"),
        (ExpertPolicy(NimRules((3,))), ValueError, "policy was made for"),
        (lambda observation, action_mask: 0, ValueError, "policy must answer one action for each position"),  # noqa: ARG005
        (
            lambda observation, action_mask: np.zeros(len(observation), int),  # noqa: ARG005
            ValueError,
            r"policy answered action 0 at heaps \[0, 0, 0, 1\]; legal are \[9\]",
        ),
    ],
)
def test_bad_policies_are_named(policy, error, message):
    with pytest.raises(error, match=message):
        solver.best_response(NimRules(), policy)


def test_positions_are_checked():
    solution = solver.solve(NimRules())
    for function in (solution.q_values, solution.values, solution.afterstate_values, solution.choices):
        with pytest.raises(ValueError, match="got 9 in heap 0"):
            function((9, 3, 5, 7))
        with pytest.raises(TypeError, match="heaps must hold integers alone"):
            function((1.0, 3, 5, 7))
