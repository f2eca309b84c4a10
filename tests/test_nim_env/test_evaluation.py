"""Exact evaluation against recursion over all lines of play, and sampled matches against exact evaluation."""

import itertools
import json
import math
import pickle
from dataclasses import asdict, astuple
from types import SimpleNamespace

import brute_force
import numpy as np
import pytest
from configurations import SIMPLE, first_legal
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from strategies import few_examples, seeds, tiny_rules
from strategies import rules as any_rules
from table_policies import as_player, random_table, with_mistakes

from nim_env import ExpertPolicy, MixturePolicy, NimRules, RandomPolicy, TakePolicy, evaluation, solver, theory
from nim_env.evaluation import MatchResult
from nim_env.policies import InvalidPolicyOutput, batched, tabulate

SIMPLE = NimRules(**SIMPLE)
STANDARD, BOUNDED = NimRules(), NimRules((4, 5, 6), max_take=2, misere=False)
SEVERAL_BATCHES = NimRules((60, 120), misere=False)  # too large for one batch
STARTS = [(1,), (21,), (7, 7), (0, 3, 4), (3, 4, 5), (1, 3, 5, 7), (2, 2, 2, 2, 2)]


class Recorder:
    """A policy that records the indices of the positions that it is queried on."""

    def __init__(self, rules, policy):
        self.rules, self.policy, self.indices = rules, policy, []

    def action_probabilities(self, observation, action_mask):
        np.testing.assert_array_equal(action_mask, self.rules.action_mask(observation))
        self.indices += np.ravel(self.rules.index(observation)).tolist()
        return self.policy.action_probabilities(observation, action_mask)


def one_by_one(recorder):
    """The first legal action as a callable on one position, recorded."""

    def act(observation, action_mask):
        assert observation.shape == (recorder.rules.n_heaps,)
        assert action_mask.shape == (recorder.rules.n_actions,)
        recorder.indices.append(recorder.rules.index(observation))
        return first_legal(observation, action_mask)

    return act


# --- Matches --------------------------------------------------------------------------------------


def test_the_interval_is_wilsons():
    for confidence in (0.5, 0.95, 0.99):
        for wins, games in ((0, 1), (1, 1), (0, 10), (5, 10), (37, 100), (9_999, 10_000)):
            expected = binomtest(wins, games).proportion_ci(confidence, method="wilson")
            found = MatchResult(wins, games).interval(confidence)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    for confidence in (0, 1, 1.5, float("nan")):
        with pytest.raises(ValueError, match=f"confidence.*{confidence}"):
            MatchResult(1, 2).interval(confidence)
    with pytest.raises(TypeError, match=r"confidence.*much"):
        MatchResult(1, 2).interval("much")


def test_matches_between_experts_are_decided_by_who_starts():
    assert theory.is_winning(SIMPLE, (21,))
    for moves_first, games, wins in ((True, 100, 100), (False, 100, 0), (None, 100, 50), (None, 101, 51)):
        match = evaluation.play_match(SIMPLE, "expert", "expert", games, moves_first=moves_first)
        assert match == MatchResult(wins, games)
    wide = NimRules((30_000,), max_take=20_000, misere=False)  # of enough actions that 100 games are two chunks
    assert evaluation.play_match(wide, "expert", "expert", 101) == MatchResult(51, 101)


def test_one_seed_gives_one_match():
    matches = [evaluation.play_match(STANDARD, "random", "take-3", 500, seed=seed) for seed in (1, 1, 2, 3, 4)]
    assert matches[0] == matches[1]
    assert len({match.wins for match in matches}) > 1


@pytest.mark.parametrize(
    ("rules", "policy", "opponent", "moves_first"),
    [
        (STANDARD, "random", "take-2", False),
        (STANDARD, "expert", "random", None),
        (STANDARD, random_table(STANDARD, 1), random_table(STANDARD, 2), True),
        (STANDARD, "take-1", random_table(STANDARD, 3, deterministic=True), None),
        (BOUNDED, batched(lambda _, masks: masks.argmax(axis=1)), "random", None),
        (BOUNDED, solver.best_response(BOUNDED, random_table(BOUNDED, 5)), "take-2", None),
        (SIMPLE, "random", "take-3", True),
    ],
)
def test_matches_agree_with_the_exact_probability(rules, policy, opponent, moves_first):
    exact = evaluation.win_probability(rules, policy, opponent, moves_first)
    assert 0.001 < exact < 0.999
    sampled = evaluation.play_match(rules, policy, opponent, 40_000, seed=1, moves_first=moves_first)
    assert binomtest(sampled.wins, sampled.games, exact).pvalue > 1e-4


# --- Win probabilities ----------------------------------------------------------------------------


@few_examples
@given(tiny_rules, seeds)
def test_win_probabilities_are_those_of_recursion(rules, seed):
    policies = random_table(rules, seed), random_table(rules, seed + 1, deterministic=True)
    players = [as_player(rules, policy) for policy in policies]
    orders = [brute_force.win_probability(rules, rules.heaps, players, to_move) for to_move in (0, 1)]
    assert evaluation.win_probability(rules, *policies, moves_first=True) == pytest.approx(orders[0], abs=1e-12)
    assert evaluation.win_probability(rules, *policies, moves_first=False) == pytest.approx(orders[1], abs=1e-12)
    assert evaluation.win_probability(rules, *policies) == pytest.approx(sum(orders) / 2, abs=1e-12)


@few_examples
@given(any_rules, seeds)
def test_the_two_players_and_the_two_orders_add_up(rules, seed):
    policies, positions = (random_table(rules, seed), random_table(rules, seed + 1)), rules.all_positions()
    first, second, mean = (
        evaluation.win_probability(rules, *policies, order, positions) for order in (True, False, None)
    )
    np.testing.assert_allclose(first + evaluation.win_probability(rules, *policies[::-1], False, positions), 1)
    np.testing.assert_allclose((first + second) / 2, mean)
    assert ((first >= 0) & (first <= 1)).all()
    assert evaluation.win_probability(rules, *policies, True) == first[-1]


@pytest.mark.parametrize("heaps", [*STARTS, SEVERAL_BATCHES.heaps], ids=str)
def test_the_expert(heaps):
    """It has mastered every game, and against itself the player in the winning position wins."""
    for max_take, misere in itertools.product((None,) if sum(heaps) > 100 else (None, 1, 3), (False, True)):
        rules = NimRules(heaps, max_take, misere)
        positions = rules.all_positions()
        wins = theory.is_winning(rules, positions)
        for moves_first, expected in ((True, wins), (False, ~wins), (None, np.full(len(wins), 0.5))):
            found = evaluation.win_probability(rules, "expert", "expert", moves_first, positions)
            np.testing.assert_array_equal(found, expected)
        found = evaluation.mastery(rules, "expert")
        assert (found.expert, found.champion, found.winning_positions) == (1.0, True, wins[1:].sum())
        assert found.mistakes.shape == (0, rules.n_heaps)
        assert evaluation.exploitability(rules, "expert") == 0.0


def test_positions_come_in_any_shape():
    rules = NimRules((2, 3))
    batch = rules.all_positions().reshape(3, 4, 2)
    together = evaluation.win_probability(rules, "random", "take-2", True, batch)
    assert together.shape == (3, 4)
    for where in np.ndindex(3, 4):
        one = evaluation.win_probability(rules, "random", "take-2", True, batch[where].tolist())
        assert one == together[where]
    assert together[0, 0] == 1  # in misère play the other player has lost by taking the last object


def test_rounded_probabilities_still_add_up():
    """Float32 probabilities sum to 1 except for their rounding."""
    table = random_table(STANDARD, 0)
    rounded = with_mistakes(STANDARD, table, {})
    rounded.probabilities = table.probabilities.astype(np.float32) * np.float32(1 + 5e-6)
    for figure in (
        lambda policy: evaluation.win_probability(STANDARD, policy, "random", True),
        lambda policy: evaluation.mastery(STANDARD, policy).expert,
    ):
        assert figure(rounded) == pytest.approx(figure(table), abs=1e-7)


# --- Mastery and exploitability -------------------------------------------------------------------


@few_examples
@given(tiny_rules, seeds, st.booleans())
def test_champions_and_exploitability_by_recursion(rules, seed, deterministic):
    """Against everything that the other player may do."""
    policy = random_table(rules, seed, deterministic=deterministic)
    players = as_player(rules, policy), min
    orders = [brute_force.win_probability(rules, rules.heaps, players, to_move) for to_move in (0, 1)]
    in_its_role = orders[0 if theory.is_winning(rules, rules.heaps) else 1]
    assert evaluation.mastery(rules, policy).champion is (in_its_role > 1 - 1e-12)
    # with rewards 1 and -1, the mean of both orders
    exploitability = evaluation.exploitability(rules, policy)
    assert exploitability == pytest.approx(1 - sum(orders), abs=1e-12)
    assert (exploitability == 0) == evaluation.mastery(rules, policy).champion


@given(seeds)
def test_expert_mastery_is_summed_exactly(seed):
    rules = NimRules((2, 2, 3))  # seven moves, which NumPy adds one after another
    positions = rules.all_positions()
    is_winning, winning_actions = theory.is_winning(rules, positions), theory.winning_action_mask(rules, positions)
    is_winning[0] = False  # the game is over
    table = random_table(rules, seed)
    played, right = table.probabilities[is_winning], (table.probabilities * winning_actions)[is_winning]
    shares = right.cumsum(axis=1)[:, -1] / played.cumsum(axis=1)[:, -1]
    assert evaluation.mastery(rules, table).expert == math.fsum(shares) / len(shares)


@few_examples
@given(tiny_rules, seeds, st.booleans())
def test_exploitability_from_every_position_by_recursion(rules, seed, deterministic):
    policy = random_table(rules, seed, deterministic=deterministic)
    players, positions = (as_player(rules, policy), min), rules.all_positions()
    found = evaluation.exploitability(rules, policy, positions)
    for heaps, exploitability in zip(positions.tolist(), found, strict=True):
        orders = [brute_force.win_probability(rules, heaps, players, to_move) for to_move in (0, 1)]
        assert exploitability == pytest.approx(1 - sum(orders), abs=1e-12)
    assert found[-1] == evaluation.exploitability(rules, policy)
    assert evaluation.exploitability(rules, policy, positions[:, None]).shape == (len(positions), 1)
    if deterministic:
        assert set(found) <= {0, 1}


@few_examples
@given(any_rules, seeds)
def test_the_mean_exploitability_is_0_for_perfect_play_alone(rules, seed):
    """A mistake in a position counts where the game starts there."""
    policy = random_table(rules, seed, deterministic=True)
    for player in (policy, "expert", solver.solve(rules)):
        is_perfect = len(evaluation.mastery(rules, player).mistakes) == 0
        assert (evaluation.report(rules, player).mean_exploitability == 0) == is_perfect


def test_mastery_of_take_3():
    found = evaluation.mastery(SIMPLE, TakePolicy(SIMPLE, 3))
    # 16 heaps are not a multiple of 4; to take 3 is right at 3, 7, 11, 15, 19, to take what is left at 1 and 2
    assert found.winning_positions == 16
    assert found.expert == 7 / 16
    assert found.mistakes.ravel().tolist() == [5, 6, 9, 10, 13, 14, 17, 18, 21]
    assert found.champion is False


@few_examples
@given(any_rules, st.data())
def test_a_single_mistake_is_named(rules, data):
    positions = rules.all_positions()
    winning = theory.winning_action_mask(rules, positions)
    wrong = (rules.action_mask(positions) > winning) & winning.any(axis=1, keepdims=True)
    if not wrong.any():
        return
    index, action = data.draw(st.sampled_from(np.argwhere(wrong).tolist()))
    heaps = tuple(positions[index].tolist())
    policy = with_mistakes(rules, ExpertPolicy(rules), {heaps: action})
    found = evaluation.mastery(rules, policy)
    assert found.mistakes.tolist() == [list(heaps)]
    assert found.expert == pytest.approx(1 - 1 / winning.any(axis=1).sum(), abs=1e-12)


def test_a_mistake_where_the_champion_never_comes():
    rules = NimRules((2, 3), misere=False)  # the expert makes 2-2 of it, then mirrors
    for heaps, champion in (((1, 3), True), ((1, 2), False)):
        policy = with_mistakes(rules, ExpertPolicy(rules), {heaps: rules.action(0, 1)})
        found = evaluation.mastery(rules, policy)
        assert (found.mistakes.tolist(), found.champion) == ([list(heaps)], champion)
        assert evaluation.exploitability(rules, policy) == (
            0 if champion else 1
        )  # it loses a won game for certain


def test_mistakes_count_however_improbable_they_are():
    rules = NimRules((2, 3), misere=False)
    positions = rules.all_positions()
    table = with_mistakes(rules, ExpertPolicy(rules), {})
    legal = rules.action_mask(positions[1:])
    table.probabilities[1:] *= 1 - 1e-9
    table.probabilities[1:] += 1e-9 * legal / legal.sum(axis=1, keepdims=True)
    found = evaluation.mastery(rules, table)
    assert 1 - 1e-8 < found.expert < 1
    assert found.champion is False
    np.testing.assert_array_equal(found.mistakes, evaluation.mastery(rules, "random").mistakes)
    assert 0 < evaluation.exploitability(rules, table) < 1e-7


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_certain_results_are_exact_in_every_memory_layout(dtype):
    rules = NimRules((3, 4, 5, 6), misere=False)

    class Transposed:
        def action_probabilities(self, observation, action_mask):
            support = ExpertPolicy(rules).support(observation, action_mask)
            weights = support * np.arange(1, rules.n_actions + 1)
            return np.asfortranarray((weights / weights.sum(axis=1, keepdims=True)).astype(dtype))

    positions = rules.all_positions()
    assert evaluation.exploitability(rules, Transposed()) == 0
    assert evaluation.mastery(rules, Transposed()).expert == 1
    wins = evaluation.win_probability(rules, Transposed(), Transposed(), True, positions)
    np.testing.assert_array_equal(wins, theory.is_winning(rules, positions))


# --- Mixtures drawn per game, and payoff matrices -------------------------------------------------


def mixture_against(rules, members, weights, opponent, heaps, mixture_moves):
    """The probability that a mixture drawn per game wins, by recursion over all lines of play.

    The mixture plays its equivalent behavior strategy, which depends on the moves before (Kuhn 1953): a member
    counts by its weight times the probability that it makes the mixture's moves so far.
    """
    if not any(heaps):
        return float(mixture_moves == rules.misere)
    total = 0.0
    distributions = [as_player(rules, member)(heaps) for member in members]
    replies = as_player(rules, opponent)(heaps)
    for move, after in brute_force.moves(heaps, rules.max_take):
        action = rules.action(*move)
        reached = weights
        if mixture_moves:
            reached = [w * float(p.get(action, 0)) for w, p in zip(weights, distributions, strict=True)]
            probability = sum(reached) / sum(weights)
        else:
            probability = float(replies.get(action, 0))
        if probability > 0:
            total += probability * mixture_against(rules, members, reached, opponent, after, not mixture_moves)
    return total


@few_examples
@given(tiny_rules, seeds, st.lists(st.sampled_from([0, 0.5, 1, 3]), min_size=1, max_size=3).filter(any))
def test_mixtures_drawn_per_game_by_recursion(rules, seed, weights):
    members = [random_table(rules, seed + i, deterministic=i == 0) for i in range(len(weights))]
    opponent = random_table(rules, seed + 9)
    mixture = MixturePolicy(rules, members, weights=weights, draw="game")
    orders = [mixture_against(rules, members, weights, opponent, rules.heaps, moves) for moves in (True, False)]
    for moves_first, expected in ((True, orders[0]), (False, orders[1]), (None, sum(orders) / 2)):
        found = evaluation.win_probability(rules, mixture, opponent, moves_first)
        assert found == pytest.approx(expected, abs=1e-12)
        if moves_first is not None:
            other = evaluation.win_probability(rules, opponent, mixture, not moves_first)
            assert other == pytest.approx(1 - expected, abs=1e-12)


@few_examples
@given(tiny_rules, seeds)
def test_payoffs_are_those_of_recursion(rules, seed):
    policies = [random_table(rules, seed + i, deterministic=i == 1) for i in range(3)]
    matrix = evaluation.payoff_matrix(rules, policies)
    assert matrix.dtype == np.float64
    for first, second in np.ndindex(3, 3):
        players = as_player(rules, policies[first]), as_player(rules, policies[second])
        wins = brute_force.win_probability(rules, rules.heaps, players, 0)
        assert matrix[first, second] == pytest.approx(2 * wins - 1, abs=1e-12)


@few_examples
@given(any_rules, seeds)
def test_payoff_matrices_and_win_probabilities(rules, seed):
    weights = np.random.default_rng(seed).random((2, 3))
    members = [random_table(rules, seed), "random", first_legal]
    mixtures = [MixturePolicy(rules, members, weights=row, draw="game") for row in weights]
    policies = [*members, *mixtures, "expert", MixturePolicy(rules, members, weights=weights[0])]
    matrix = evaluation.payoff_matrix(rules, policies)
    for first, second in np.ndindex(matrix.shape):
        wins = evaluation.win_probability(rules, policies[first], policies[second], True)
        assert matrix[first, second] == pytest.approx(2 * wins - 1, abs=1e-12)
    # the payoffs of mixed strategies are bilinear
    mixed = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(matrix[3:5, 3:5], mixed @ matrix[:3, :3] @ mixed.T, atol=1e-12)
    assert evaluation.payoff_matrix(rules, []).shape == (0, 0)


def test_matches_of_mixtures_drawn_per_game():
    mixture = MixturePolicy(SIMPLE, ["take-1", "take-2", "expert"], weights=[3, 1, 2], draw="game")
    for players, moves_first in (
        ((mixture, "take-2"), True),
        (("random", mixture), None),
        ((mixture, mixture), None),
    ):
        exact = evaluation.win_probability(SIMPLE, *players, moves_first)
        sampled = evaluation.play_match(SIMPLE, *players, 40_000, seed=1, moves_first=moves_first)
        assert binomtest(sampled.wins, sampled.games, exact).pvalue > 1e-4
        assert sampled == evaluation.play_match(SIMPLE, *players, 40_000, seed=1, moves_first=moves_first)


def test_what_asks_about_positions_refuses_a_mixture_drawn_per_game():
    mixture = MixturePolicy(STANDARD, ["random", "expert"], draw="game")
    for call in (evaluation.mastery, evaluation.exploitability, evaluation.report, solver.best_response, tabulate):
        with pytest.raises(ValueError, match='draw="game"'):
            call(STANDARD, mixture)


def test_bad_players_of_a_payoff_matrix_are_named():
    for policies, error in ((["random", "best"], ValueError), (["random", 7], TypeError)):
        with pytest.raises(error, match=r"policies\[1\]"):
            evaluation.payoff_matrix(STANDARD, policies)
    for wrong in ("random", 3):
        with pytest.raises(TypeError, match=f"policies .*{wrong}"):
            evaluation.payoff_matrix(STANDARD, wrong)
    with pytest.raises(ValueError, match="positions"):
        evaluation.payoff_matrix(NimRules((99,) * 9), ["random"])
    for call in (evaluation.win_probability, lambda *players: evaluation.payoff_matrix(players[0], players[1:])):
        with pytest.raises(ValueError, match="member"):
            call(STANDARD, MixturePolicy(STANDARD, draw="game"), "random")


# --- Value accuracy -------------------------------------------------------------------------------


def recount(rules, table):
    """The accuracy of values by index, position by position."""
    right, errors = {True: [], False: []}, {True: [], False: []}
    for wins, value in zip(brute_force.winners(rules)[1:], table[1:], strict=True):
        right[wins].append(value > 0 if wins else value < 0)
        errors[wins].append(abs(value - 1 if wins else value + 1))
    won, lost = (np.mean(right[wins]) if right[wins] else 1.0 for wins in (True, False))
    distances = (np.mean(errors[wins]) if errors[wins] else 0.0 for wins in (True, False))
    return pytest.approx((won, lost, np.mean(right[True] + right[False]), *distances), abs=1e-12, nan_ok=True)


@few_examples
@given(any_rules, seeds)
def test_value_accuracy_by_recount(rules, seed):
    table = np.random.default_rng(seed).choice([-2.5, -1e-300, 0, 1, np.inf], rules.n_positions)
    asked = []

    def values(positions):
        asked.extend(rules.index(positions).tolist())
        positions[:] = 0  # a copy
        return table[asked[-len(positions) :]]

    assert astuple(evaluation.value_accuracy(rules, values)) == recount(rules, table)
    assert sorted(asked) == list(range(1, rules.n_positions))


@few_examples
@given(any_rules)
def test_value_accuracy_of_constants_and_of_the_solution(rules):
    for constant in (1.0, -1.0, 0.0):
        found = evaluation.value_accuracy(rules, lambda heaps, constant=constant: [constant] * len(heaps))
        assert astuple(found) == recount(rules, [constant] * rules.n_positions)
    assert astuple(evaluation.value_accuracy(rules, solver.solve(rules).values)) == (1, 1, 1, 0, 0)
    assert astuple(evaluation.value_accuracy(rules, solver.solve(rules, 0.9).values))[:3] == (1, 1, 1)


def fail(heaps):  # noqa: ARG001
    raise KeyError("mine")


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ("expert", TypeError, "values.*'expert'"),
        (lambda heaps: None, TypeError, "values.*None"),  # noqa: ARG005
        (lambda heaps: ["won"] * len(heaps), TypeError, "values.*won"),
        (lambda heaps: np.ones((len(heaps), 1)), ValueError, r"values.*\(383,\).*\(383, 1\)"),
        (lambda heaps: np.where(heaps.sum(axis=1) == 1, np.nan, 1), ValueError, r"values.*nan at \[0, 0, 0, 1\]"),
        (fail, KeyError, "mine"),
    ],
    ids=["name", "None", "text", "shape", "nan", "raises"],
)
def test_bad_values_are_named(values, error, message):
    with pytest.raises(error, match=message):
        evaluation.value_accuracy(STANDARD, values)
    with pytest.raises(error, match=message):
        evaluation.report(STANDARD, "random", values)


# --- Report ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "policy"),
    [
        (STANDARD, "expert"),
        (BOUNDED, first_legal),
        (SIMPLE, "take-2"),
        (NimRules((1,)), "random"),
        (SEVERAL_BATCHES, "take-1"),
    ],
)
def test_a_report_holds_what_the_functions_give(rules, policy):
    def values(heaps):
        return np.sin(heaps.sum(axis=1))

    found, mastery = evaluation.report(rules, policy, values), evaluation.mastery(rules, policy)
    assert (found.expert, found.champion) == (pytest.approx(mastery.expert, abs=1e-12), mastery.champion)
    assert found.exploitability == evaluation.exploitability(rules, policy)
    every = evaluation.exploitability(rules, policy, rules.all_positions()[1:])
    assert found.mean_exploitability == pytest.approx(every.mean(), abs=1e-12)
    for name, opponent in (("random", "random"), ("take_3", "take-3"), ("expert", "expert")):
        exact = evaluation.win_probability(rules, policy, opponent)
        assert getattr(found, f"win_probability_{name}") == pytest.approx(exact, abs=1e-12)
    accuracy = evaluation.value_accuracy(rules, values)  # which has other batches
    assert astuple(found.value_accuracy) == pytest.approx(astuple(accuracy), abs=1e-12)
    row = found.to_dict()
    assert json.loads(json.dumps(row)) == row
    names = "accuracy_won", "accuracy_lost", "accuracy_overall", "error_won", "error_lost"
    accuracy = dict(zip([f"value_{name}" for name in names], astuple(found.value_accuracy), strict=True))
    figures = {name: value for name, value in asdict(found).items() if name not in ("value_accuracy", "groups")}
    assert row == figures | accuracy
    assert pickle.loads(pickle.dumps(found)) == found
    without = evaluation.report(rules, policy)
    assert without.value_accuracy is None
    assert without.to_dict() == {name: figure for name, figure in row.items() if name not in accuracy}
    html = without._repr_html_()
    assert html.count("<tr>") == len(without.to_dict())
    assert f"<td>{without.champion}</td>" in html


@few_examples
@given(any_rules, seeds)
def test_the_groups_of_a_report_say_where_a_player_errs(rules, seed):
    policy, table = random_table(rules, seed), np.random.default_rng(seed).normal(size=rules.n_positions)
    found = evaluation.report(rules, policy, lambda heaps: table[rules.index(heaps)])
    positions = rules.all_positions().tolist()
    groups = {}
    for heaps, is_won, value in zip(positions[1:], brute_force.winners(rules)[1:], table[1:], strict=True):
        name = sum(size > 0 for size in heaps), sum(size > 1 for size in heaps) <= 1
        played = policy.action_probabilities(np.array(heaps), rules.action_mask(heaps))
        right = 0.0
        for move, after in brute_force.moves(tuple(heaps), rules.max_take):
            if not brute_force.mover_wins(tuple(sorted(after)), rules.max_take, rules.misere):
                right += played[rules.action(*move)]
        groups.setdefault(name, []).append((is_won, right, value))
    assert [(group.n_heaps, group.endgame) for group in found.groups] == sorted(groups)
    for group in found.groups:
        rows = groups[group.n_heaps, group.endgame]
        won, lost = ([row for row in rows if row[0] == is_won] for is_won in (True, False))
        assert (group.won, group.lost) == (len(won), len(lost))
        assert group.mistakes == sum(right < 1 - 1e-12 for _, right, _ in won)
        for figure, fractions in (
            (group.expert, [right for _, right, _ in won]),
            (group.value_accuracy_won, [value > 0 for *_, value in won]),
            (group.value_accuracy_lost, [value < 0 for *_, value in lost]),
        ):
            assert figure == pytest.approx(np.mean(fractions) if fractions else 1, abs=1e-12)
    assert sum(group.mistakes for group in found.groups) == len(evaluation.mastery(rules, policy).mistakes)
    assert {group.value_accuracy_won for group in evaluation.report(rules, policy).groups} == {None}


def test_the_groups_of_a_large_board_come_from_several_batches():
    found = evaluation.report(SEVERAL_BATCHES, "random").groups
    assert sum(group.won + group.lost for group in found) == SEVERAL_BATCHES.n_positions - 1
    assert [(group.n_heaps, group.endgame) for group in found] == [(1, True), (2, False), (2, True)]
    assert (found[0].won, found[0].lost, found[0].mistakes) == (180, 0, 178)


# --- Learning curves ------------------------------------------------------------------------------


@given(
    n_ended=st.lists(st.integers(1, 40), min_size=1, max_size=30),
    n_evals=st.integers(1, 12),
    first=st.integers(1, 50),
    seed=seeds,
)
def test_a_learning_curve_evaluates_at_growing_intervals(n_ended, n_evals, first, seed):
    rules = NimRules((1, 2))
    returns = np.random.default_rng(seed).choice([-1.0, 1.0], size=sum(n_ended))
    curve = evaluation.LearningCurve(rules, len(returns), n_evals, first)
    first, ends, players = min(first, len(returns)), np.cumsum(n_ended).tolist(), {}
    for n in ends:  # the numbers of episodes at which `train` calls it
        players[n] = random_table(rules, seed + n)
        curve(players[n], SimpleNamespace(returns=returns[:n]))
    due = [len(returns) * (first / len(returns)) ** (k / max(n_evals - 1, 1)) for k in range(n_evals)]
    found = [row["episodes"] for row in curve.rows]
    for n, previous in zip(ends, [0, *ends], strict=False):  # evaluated exactly where one has become due
        assert (n in found) == any(previous < round(number) <= n for number in due)
    assert found[-1] == len(returns)
    for row in curve.rows:
        n = row.pop("episodes")
        assert row.pop("mean_return") == pytest.approx(sum(returns[n // 2 : n]) / (n - n // 2))
        assert row.items() <= evaluation.report(rules, players[n]).to_dict().items()
        assert {"expert", "champion", "exploitability", "win_probability_random"} <= row.keys()


@pytest.mark.parametrize("name", ["episodes", "n_evals", "first"])
def test_bad_numbers_of_a_learning_curve_are_named(name):
    for number, error in ((0, ValueError), (-3, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match=name):
            evaluation.LearningCurve(NimRules(), **{"episodes": 10, name: number})
    with pytest.raises(ValueError, match="positions"):
        evaluation.LearningCurve(NimRules((99,) * 9), episodes=10)


# --- The queries of a policy ----------------------------------------------------------------------


SWEEPS = {
    "mastery": evaluation.mastery,
    "exploitability": evaluation.exploitability,
    "win_probability": lambda rules, policy: evaluation.win_probability(rules, policy, "random"),
    "win_probability, opponent": lambda rules, policy: evaluation.win_probability(rules, "random", policy),
    "report": evaluation.report,
    "payoff_matrix": lambda rules, policy: evaluation.payoff_matrix(rules, [policy, "random"]),
}


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_asks_about_each_position_once(name):
    for rules in (STANDARD, NimRules((60, 60), max_take=200)):
        is_winning = theory.is_winning(rules, rules.all_positions())
        expected = [index for index in range(1, rules.n_positions) if name != "mastery" or is_winning[index]]
        whole, single = Recorder(rules, RandomPolicy()), Recorder(rules, None)
        SWEEPS[name](rules, whole)
        SWEEPS[name](rules, one_by_one(single))
        assert sorted(whole.indices) == sorted(single.indices) == expected


def test_a_policy_gets_copies():
    class Vandal:
        def action_probabilities(self, observation, action_mask):
            probabilities = RandomPolicy().action_probabilities(observation, action_mask)
            observation[:], action_mask[:] = 0, 1
            return probabilities

    def vandal(observation, action_mask):
        action = first_legal(observation, action_mask)
        observation[:], action_mask[:] = 0, 1
        return action

    for bad, good in ((Vandal(), "random"), (vandal, first_legal)):
        assert evaluation.report(STANDARD, bad) == evaluation.report(STANDARD, good)
        matches = [evaluation.play_match(STANDARD, policy, "random", 20, seed=0) for policy in (bad, good)]
        assert matches[0] == matches[1]


# --- Bad input ------------------------------------------------------------------------------------


class Changed:
    """Random play, except for a change of its output."""

    def __init__(self, change):
        self.change = change

    def action_probabilities(self, observation, action_mask):
        return self.change(RandomPolicy().action_probabilities(observation, action_mask))


CALLS = [*SWEEPS.values(), lambda rules, policy: evaluation.play_match(rules, policy, "random", 5, seed=0)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p * (1 + 3e-5), r"sum.*\[\d, \d, \d, \d\]"),
        (lambda p: p * np.nan, r"\[\d, \d, \d, \d\].*nan"),
        (lambda p: np.eye(16)[[0] * len(p)], r"illegal.*\[0, \d, \d, \d\]"),
        (lambda p: p[:, :-1], r"\(\d+, 16\).*\(\d+, 15\)"),
        (lambda p: None, "None"),  # noqa: ARG005
    ],
    ids=["sum", "nan", "illegal", "shape", "None"],
)
def test_a_policy_that_returns_no_distribution_is_named(change, message):
    for call in CALLS:
        with pytest.raises(InvalidPolicyOutput, match=f"Changed.*({message})"):
            call(STANDARD, Changed(change))


def test_rules_of_another_type_are_named():
    functions = solver.best_response, lambda rules, _: solver.solve(rules), evaluation.value_accuracy
    for call in (*CALLS, *functions):
        with pytest.raises(TypeError, match=r"rules.*\(1, 3, 5, 7\)"):
            call((1, 3, 5, 7), first_legal)


def test_the_opponent_is_named_where_it_is_wrong():
    half = Changed(lambda probabilities: probabilities / 2)
    for call in (evaluation.win_probability, lambda *players: evaluation.play_match(*players, 3, seed=0)):
        for opponent, message in ((half, "sum"), (lambda *_: 99, "99"), ("take-0", "'take-0'")):
            with pytest.raises(ValueError, match=f"opponent.*{message}"):
                call(STANDARD, "random", opponent)
        with pytest.raises(ValueError, match=r"policy.*'best'"):
            call(STANDARD, "best", "random")


@pytest.mark.parametrize(
    ("function", "arguments", "error", "message"),
    [
        ("play_match", {"games": 0}, ValueError, "games.*0"),
        ("play_match", {"games": 1.5}, TypeError, r"games.*1\.5"),
        ("play_match", {"games": 5, "moves_first": 1}, TypeError, "moves_first.*1"),
        ("play_match", {"games": 5, "seed": -1}, ValueError, "seed.*-1"),
        ("play_match", {"games": 5, "seed": 0.5}, TypeError, r"seed.*0\.5"),
        ("win_probability", {"moves_first": "yes"}, TypeError, "moves_first.*'yes'"),
        ("win_probability", {"heaps": (1, 3, 5, 8)}, ValueError, "heaps.*8"),
        ("win_probability", {"heaps": (1, 3, 5)}, ValueError, r"heaps.*\(3,\)"),
    ],
)
def test_bad_arguments_are_named(function, arguments, error, message):
    with pytest.raises(error, match=message):
        getattr(evaluation, function)(STANDARD, "random", "random", **arguments)
