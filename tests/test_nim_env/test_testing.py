"""Tests ``assert_learns`` with players and values that are right or wrong by construction."""

import numpy as np
import pytest
from table_policies import random_table, with_mistakes

from nim_env import ExpertPolicy, MixturePolicy, NimRules, evaluation, solver
from nim_env.testing import assert_learns

RULES = NimRules((1, 2, 3))
BOARDS = [RULES, NimRules((2, 3), misere=False), NimRules((7,), max_take=3)]


def values_of(rules, solution=None, **options):
    """Returns the exact values of all actions. For illegal actions they are 0, as in a table that starts at 0."""
    values = (solution or solver.solve(rules, **options)).q_values(rules.all_positions())
    return np.where(np.isfinite(values), values, 0)


def message_of(train, **options):
    with pytest.raises(AssertionError) as error:
        assert_learns(train, **options)
    return str(error.value)


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_perfect_play_passes_with_its_values_and_without(rules):
    exact = solver.solve(rules)
    assert_learns(lambda _: "expert", rules=rules)
    assert_learns(lambda _: (exact, values_of(rules)), rules=rules)
    assert_learns(lambda _: (exact, exact.values(rules.all_positions())), rules=rules, min_expert=1.0)


def test_each_seed_is_trained_once_and_one_that_fails_is_enough():
    players = {0: "expert", 1: random_table(RULES, 1), 2: "expert"}
    asked = []

    def train(seed):
        asked.append(seed)
        return players[seed]

    message = message_of(train)
    assert asked == list(players)
    for seed, player in players.items():
        assert f"seed {seed}: expert mastery {evaluation.mastery(RULES, player).expert:.4f}" in message
        assert evaluation.diagnose_moves(RULES, player).verdict in message
        assert "\n".join(evaluation.mistake_sentences(RULES, player)) in message
    assert_learns(train, seeds=1)


def test_the_minimum_decides_where_no_bug_is_named():
    player = with_mistakes(RULES, ExpertPolicy(RULES), {(0, 0, 3): RULES.action(2, 3)})  # it takes the last object
    expert = evaluation.mastery(RULES, player).expert
    assert 0.9 < expert < 1
    assert_learns(lambda _: player, min_expert=expert)
    message_of(lambda _: player, min_expert=expert + 1e-6)


def test_the_default_minimum_is_95_percent():
    """Replaces a few moves of the expert by random ones."""
    by_chance = evaluation.mastery(RULES, "random").expert
    above, below = (
        MixturePolicy(RULES, ["expert", "random"], weights=[expert - by_chance, 1 - expert])
        for expert in (0.951, 0.949)
    )
    assert_learns(lambda _: above)
    message_of(lambda _: below)


@pytest.mark.parametrize(
    ("values", "told", "words"),
    [
        (values_of(NimRules(RULES.heaps, misere=False)), {}, "opponent's reward"),
        (10 * values_of(RULES), {"rewards": (1, -1)}, "values reach 10"),
        (values_of(RULES, discount=0.8), {}, "discount of 0.80"),
        (np.zeros((RULES.n_positions, RULES.n_actions)), {}, "nothing was learned"),
    ],
)
def test_values_with_a_bug_fail_though_every_move_is_right(values, told, words):
    assert words in message_of(lambda _: ("expert", values), **told)


def test_other_rewards_are_no_bug():
    for told in ({}, {"rewards": (10, -10)}):
        assert_learns(lambda _: ("expert", 10 * values_of(RULES)), **told)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (values_of(RULES, discount=0.8), {"discount": 0.8}),
        (values_of(RULES, solver.best_response(RULES, "random")), {"opponent": "random"}),
    ],
)
def test_the_diagnosis_is_told_the_opponent_and_the_discount(values, told):
    right = evaluation.diagnose(RULES, values, **told).verdict
    assert right != evaluation.diagnose(RULES, values).verdict
    assert_learns(lambda _: ("expert", values), **told)
    assert right in message_of(lambda _: ("random", values), **told)


def test_illegal_moves_are_a_failure_and_no_error():
    def without_mask(*_):
        return 0

    for trained in (without_mask, (without_mask, values_of(RULES))):
        message = message_of(lambda _, trained=trained: trained)
        assert evaluation.diagnose_moves(RULES, without_mask).verdict in message


@pytest.mark.parametrize(
    "options", [{"seeds": 0}, {"seeds": 1.5}, {"min_expert": 95}, {"min_expert": float("nan")}, {"min_expert": -1}]
)
def test_bad_arguments_are_refused_before_training(options):
    with pytest.raises((ValueError, TypeError), match=next(iter(options))):
        assert_learns(lambda _: pytest.fail("trained"), **options)
