"""Every policy's distribution, and what is done with policies of other people."""

import doctest
from collections import Counter

import numpy as np
import pytest
from configurations import SIMPLE, first_legal
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from strategies import few_examples, seeds
from strategies import rules as any_rules
from table_policies import random_table

from nim_env import (
    ExpertPolicy,
    MixturePolicy,
    NimRules,
    RandomPolicy,
    TabularPolicy,
    TakePolicy,
    evaluation,
    policies,
    theory,
)
from nim_env.policies import InvalidPolicyOutput, as_policy, batched, query_policy, tabulate

SIMPLE = NimRules(**SIMPLE)


def unfinished(rules):
    """All positions but the empty one, and their masks."""
    positions = rules.all_positions()[1:]
    return positions, rules.action_mask(positions)


class Returns:
    """A policy that returns the same whatever it is asked."""

    def __init__(self, output):
        self.output = output

    def action_probabilities(self, observation, action_mask):  # noqa: ARG002
        return self.output


# --- The policies of the package ------------------------------------------------------------------


def test_the_expert_takes_heap_mod_4():
    heaps, mask = unfinished(SIMPLE)
    probabilities = ExpertPolicy(SIMPLE).action_probabilities(heaps, mask)
    for heap, row in enumerate(probabilities, start=1):
        if heap % 4:
            assert row.tolist() == [float(count == heap % 4) for count in (1, 2, 3)]
        else:
            assert row.tolist() == [1 / 3] * 3


@given(any_rules)
def test_the_expert_draws_uniformly_among_winning_moves(rules):
    positions, mask = unfinished(rules)
    winning = theory.winning_action_mask(rules, positions)
    best = np.array([wins if wins.any() else legal for wins, legal in zip(winning, mask, strict=True)])
    np.testing.assert_allclose(
        ExpertPolicy(rules).action_probabilities(positions, mask), best / best.sum(axis=1, keepdims=True)
    )


@given(any_rules)
def test_random_is_uniform_over_legal_moves(rules):
    positions, mask = unfinished(rules)
    np.testing.assert_allclose(
        RandomPolicy().action_probabilities(positions, mask), mask / mask.sum(axis=1, keepdims=True)
    )


@given(any_rules, st.integers(1, 9))
def test_take_n_takes_n_or_what_is_left_or_allowed(rules, n):
    positions, mask = unfinished(rules)
    expected = np.zeros(mask.shape)
    for row, heaps in zip(expected, positions.tolist(), strict=True):
        for heap, size in enumerate(heaps):
            if size:
                row[rules.action(heap, min(n, size, rules.max_take or n))] = 1 / np.count_nonzero(heaps)
    np.testing.assert_allclose(TakePolicy(rules, n).action_probabilities(positions, mask), expected)


@pytest.mark.parametrize(
    "policy", [RandomPolicy(), ExpertPolicy(NimRules((2, 3))), TakePolicy(NimRules((2, 3)), 2)]
)
def test_one_position_and_batches_agree(policy):
    rules = NimRules((2, 3))
    positions = rules.all_positions()[-6:].reshape(2, 3, 2)
    together = policy.action_probabilities(positions, rules.action_mask(positions))
    for where in np.ndindex(2, 3):
        heaps = positions[where].tolist()
        np.testing.assert_array_equal(
            together[where], policy.action_probabilities(heaps, rules.action_mask(heaps).tolist())
        )


def test_a_finished_position_has_no_probabilities():
    for policy in (RandomPolicy(), ExpertPolicy(SIMPLE), TakePolicy(SIMPLE, 3)):
        with pytest.raises(ValueError, match="action_mask"):
            policy.action_probabilities([0], np.zeros(3, np.int8))


def test_take_refuses_a_bad_number():
    with pytest.raises(ValueError, match=r"n .*0"):
        TakePolicy(SIMPLE, 0)
    with pytest.raises(TypeError, match=r"n .*3\.0"):
        TakePolicy(SIMPLE, 3.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ExpertPolicy((1, 3)),
        lambda: TakePolicy((1, 3), 3),
        lambda: TabularPolicy((1, 3), np.zeros((8, 4))),
        lambda: tabulate((1, 3), "random"),
        lambda: MixturePolicy((1, 3), ["random"]),
        lambda: as_policy("random", (1, 3)),
    ],
)
def test_rules_of_another_type_are_refused(make):
    with pytest.raises(TypeError, match=r"rules.*\(1, 3\)"):
        make()


# --- Names, policies and callables ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "policy"),
    [("random", RandomPolicy()), ("expert", ExpertPolicy(SIMPLE)), ("take-12", TakePolicy(SIMPLE, 12))],
)
def test_names(name, policy):
    assert as_policy(name, SIMPLE) == policy
    assert as_policy(policy, SIMPLE) is policy


@pytest.mark.parametrize("name", ["take-0", "take-", "take--1", "take-1.5", "grandmaster", "", "Random", "take-٣"])
def test_unknown_names_are_refused(name):
    with pytest.raises(ValueError, match=f"opponent.*'{name}'"):
        as_policy(name, SIMPLE, "opponent")


@pytest.mark.parametrize("policy", [None, 3, RandomPolicy])
def test_other_things_are_not_policies(policy):
    with pytest.raises(TypeError, match=f"opponent.*{policy!r}"):
        as_policy(policy, SIMPLE, "opponent")


def test_policies_of_another_game_are_refused():
    other = NimRules((21,), 3, misere=True)
    for policy in (ExpertPolicy(other), TakePolicy(other, 2), tabulate(other, "random"), MixturePolicy(other)):
        with pytest.raises(ValueError, match=f"opponent.*{other}.*{SIMPLE}"):
            as_policy(policy, SIMPLE, "opponent")
        with pytest.raises(ValueError, match=f"{other}.*{SIMPLE}"):
            MixturePolicy(SIMPLE, [policy])


def test_a_callable_is_called_once_for_each_position():
    calls = []

    def last_legal(observation, action_mask):
        calls.append((observation.shape, action_mask.shape, tuple(observation)))
        return np.flatnonzero(action_mask)[-1]

    rules = NimRules((2, 3))
    policy = as_policy(last_legal, rules)
    positions = rules.all_positions()[-6:].reshape(2, 3, 2)
    mask = rules.action_mask(positions)
    probabilities = policy.action_probabilities(positions, mask)
    assert calls == [((2,), (5,), tuple(heaps)) for heaps in positions.reshape(6, 2)]
    assert probabilities.shape == mask.shape
    assert set(probabilities.sum(axis=-1).ravel()) == {1.0}
    assert (5 - 1 - mask[..., ::-1].argmax(axis=-1) == probabilities.argmax(axis=-1)).all()
    calls.clear()
    assert policy.action_probabilities([1, 3], [1, 0, 1, 1, 1]).tolist() == [0, 0, 0, 0, 1]
    assert calls == [((2,), (5,), (1, 3))]


def test_batched_passes_all_positions_in_one_call():
    shapes = []

    def first_legals(observations, action_masks):
        shapes.append((observations.shape, action_masks.shape))
        return action_masks.argmax(axis=1)

    rules = NimRules((2, 3))
    policy = batched(first_legals)
    assert as_policy(policy, rules) is policy
    positions = rules.all_positions()[-6:].reshape(2, 3, 2)
    mask = rules.action_mask(positions)
    np.testing.assert_array_equal(
        policy.action_probabilities(positions, mask),
        as_policy(first_legal, rules).action_probabilities(positions, mask),
    )
    assert policy.action_probabilities([1, 3], [1, 0, 1, 1, 1]).tolist() == [1, 0, 0, 0, 0]
    assert shapes == [((6, 2), (6, 5)), ((1, 2), (1, 5))]
    with pytest.raises(TypeError, match=r"function.*'random'"):
        batched("random")


def test_the_examples_in_the_docstrings():
    results = doctest.testmod(policies)
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (1.0, TypeError, r"1\.0"),
        (None, TypeError, "None"),
        (True, TypeError, "True"),
        (2, InvalidPolicyOutput, r"2.*\[2\].*\[0, 1\]"),
        (-1, InvalidPolicyOutput, r"-1.*\[2\]"),
        (3, InvalidPolicyOutput, r"3.*\[2\]"),
    ],
)
def test_a_function_that_returns_a_bad_action_is_named(answer, error, message):
    one_position = as_policy(lambda *_: answer, SIMPLE, "opponent")
    for name, policy in (("opponent", one_position), ("policy", batched(lambda *_: [answer]))):
        with pytest.raises(error, match=f"{name}.*{message}"):
            policy.action_probabilities(np.array([2]), np.array([1, 1, 0]))


@pytest.mark.parametrize("answer", [[0] * 21, np.zeros(21, int), (0, None)])
def test_a_callable_on_batches_is_told_of_batched(answer):
    with pytest.raises(TypeError, match=r"policy.*0.*batched"):
        as_policy(lambda *_: answer, SIMPLE).action_probabilities(*unfinished(SIMPLE))


@pytest.mark.parametrize("answer", [0, [0], [[0]] * 21, [0] * 20])
def test_a_batch_needs_one_action_for_each_position(answer):
    with pytest.raises(InvalidPolicyOutput, match=r"policy.*\(21,\)"):
        batched(lambda *_: answer).action_probabilities(*unfinished(SIMPLE))


# --- Tables and mixtures --------------------------------------------------------------------------


@few_examples
@given(any_rules, seeds)
def test_a_table_returns_its_rows(rules, seed):
    table = np.random.default_rng(seed).random((rules.n_positions, rules.n_actions))
    policy = TabularPolicy(rules, table)
    positions = rules.all_positions()
    np.testing.assert_array_equal(policy.action_probabilities(positions), table)
    np.testing.assert_array_equal(policy.action_probabilities(positions[1:, None], None), table[1:, None])
    np.testing.assert_array_equal(policy.action_probabilities(positions[-1].tolist()), table[-1])


@pytest.mark.parametrize("shape", [(383, 16), (384, 15), (384,), (4, 96, 16)])
def test_a_table_of_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match=r"probabilities.*\(384, 16\).*") as caught:
        TabularPolicy(NimRules(), np.zeros(shape))
    assert str(shape) in str(caught.value)


def test_a_tabulated_policy_is_a_copy():
    rules = NimRules((3, 4), max_take=2)
    source = random_table(rules, 0)
    asked = Counter()

    class Learner:
        def action_probabilities(self, observation, action_mask):
            asked.update(map(tuple, observation.tolist()))
            return source.action_probabilities(observation, action_mask)

    copy, expected = tabulate(rules, Learner()), source.probabilities.copy()
    positions = rules.all_positions()
    assert asked == Counter(map(tuple, positions[1:].tolist()))  # each once, and not the finished game
    source.probabilities[:] = 0
    np.testing.assert_allclose(copy.action_probabilities(positions[1:]), expected[1:], atol=1e-7)
    assert as_policy(copy, rules) is copy


@pytest.mark.parametrize("policy", ["random", "take-2", "expert", first_legal])
def test_a_tabulated_policy_plays_as_before(policy):
    positions, mask = unfinished(NimRules())
    before = as_policy(policy, NimRules()).action_probabilities(positions, mask)
    after = query_policy(tabulate(NimRules(), policy), positions, mask)
    np.testing.assert_allclose(after, before, atol=1e-7)


@few_examples
@given(any_rules, seeds, st.integers(1, 4))
def test_a_mixture_is_the_mean_of_its_members(rules, seed, number):
    members = [random_table(rules, seed + member, deterministic=member % 2 == 0) for member in range(number)]
    positions, mask = unfinished(rules)
    mixture = query_policy(MixturePolicy(rules, members), positions, mask)
    np.testing.assert_allclose(mixture, np.mean([member.probabilities[1:] for member in members], axis=0))
    np.testing.assert_allclose(
        MixturePolicy(rules, members).action_probabilities(positions[-1], mask[-1]), mixture[-1]
    )


@pytest.mark.parametrize("heaps", [(2, 1), (1, 1, 1), (0, 3), (2,)])
@pytest.mark.parametrize("misere", [False, True])
def test_where_each_player_decides_once_a_mixture_wins_as_often_as_its_members(heaps, misere):
    rules = NimRules(heaps, misere=misere)  # of three objects or fewer, the third move is forced
    members = ["random", "take-2", ExpertPolicy(rules), first_legal, random_table(rules, 1)]
    mixture = MixturePolicy(rules, members)
    for opponent in ("random", "expert", random_table(rules, 2)):
        for moves_first in (True, False):
            each = [evaluation.win_probability(rules, member, opponent, moves_first) for member in members]
            both = evaluation.win_probability(rules, mixture, opponent, moves_first)
            assert both == pytest.approx(np.mean(each), abs=1e-12)


def test_the_oldest_member_goes_first():
    rules = NimRules()
    pool = MixturePolicy(rules, ["random", "take-1", "take-2"], max_size=2)
    assert pool.policies == [TakePolicy(rules, 1), TakePolicy(rules, 2)]
    pool.add("take-3")
    assert pool.policies == [TakePolicy(rules, 2), TakePolicy(rules, 3)]
    endless = MixturePolicy(rules)
    for number in range(1, 100):
        endless.add(f"take-{number}")
    assert [policy.n for policy in endless.policies] == list(range(1, 100))


def test_bad_mixtures_are_refused():
    rules = NimRules()
    with pytest.raises(ValueError, match="members"):
        MixturePolicy(rules).action_probabilities(rules.heaps, rules.action_mask(rules.heaps))
    for size, error in ((0, ValueError), (-1, ValueError), (2.0, TypeError), (True, TypeError)):
        with pytest.raises(error, match=f"max_size.*{size}"):
            MixturePolicy(rules, max_size=size)
    with pytest.raises(ValueError, match=r"policy.*'best'"):
        MixturePolicy(rules, ["best"])
    with pytest.raises(TypeError, match=r"policy.*7"):
        MixturePolicy(rules).add(7)


def test_a_member_cannot_spoil_a_mixture():
    """A row of the wrong shape is not broadcast, and arrays that a member changes are its own."""
    rules = NimRules((2, 2))
    positions, mask = unfinished(rules)
    with pytest.raises(InvalidPolicyOutput, match=r"policy.*\(8, 4\).*\(4,\)"):
        MixturePolicy(rules, ["random", Returns(mask[-1] / 4)]).action_probabilities(positions, mask)

    class Vandal:
        def action_probabilities(self, observation, action_mask):
            probabilities = RandomPolicy().action_probabilities(observation, action_mask)
            observation[:], action_mask[:] = 0, 1
            return probabilities

    np.testing.assert_allclose(
        MixturePolicy(rules, [Vandal(), "random"]).action_probabilities(positions, mask),
        RandomPolicy().action_probabilities(positions, rules.action_mask(positions)),
    )


# --- Probabilities of other people's policies -----------------------------------------------------


@pytest.mark.parametrize(
    "output",
    [
        [0.25, 0.75, 0],
        np.array([0.5 + 4e-6, 0.5 + 4e-6, 0], np.float32),  # rounded
        np.array([False, True, False]),
        [1, 0, 0],
    ],
)
def test_distributions_are_accepted(output):
    found = query_policy(Returns(output), np.array([2]), np.array([1, 1, 0], np.int8))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, output)


@pytest.mark.parametrize(
    ("output", "error", "message"),
    [
        ([0.5, 0.4, 0], InvalidPolicyOutput, r"\[2\].*0\.5 0\.4 0"),
        ([1.5, -0.5, 0], InvalidPolicyOutput, r"\[2\].*1\.5 -0\.5"),
        ([float("nan"), 1, 0], InvalidPolicyOutput, "nan"),
        ([float("inf"), 0, 0], InvalidPolicyOutput, "inf"),
        ([0.5, 0, 0.5], InvalidPolicyOutput, r"illegal.*\[2\]"),
        ([1 - 1e-7, 1e-7, 1e-6], InvalidPolicyOutput, "illegal"),
        ([0.5, 0.5 + 1.2e-5, 0], InvalidPolicyOutput, "sum"),
        ([0.5, 0.5 - 1.2e-5, 0], InvalidPolicyOutput, "sum"),
        ([1, 0], InvalidPolicyOutput, r"\(3,\).*\(2,\).*\[2\]"),
        ([[0.5], [0.5, 0]], TypeError, r"\[\[0.5\], \[0.5, 0\]\]"),
        (["a", "b", "c"], TypeError, "'a'"),
        (None, TypeError, "None"),
    ],
)
def test_other_outputs_are_refused(output, error, message):
    with pytest.raises(error, match=f"opponent.*{message}") as caught:
        query_policy(Returns(output), np.array([2]), np.array([1, 1, 0], np.int8), "opponent")
    assert getattr(caught.value, "index", ()) == ()


@pytest.mark.parametrize("rows", [[(0, 1)], [(1, 2)], [(1, 0), (1, 2)]])
def test_the_first_invalid_row_is_named(rows):
    positions = np.arange(1, 7).reshape(2, 3, 1)
    mask = SIMPLE.action_mask(positions)
    probabilities = mask / mask.sum(axis=-1, keepdims=True)
    actions = mask.argmax(axis=-1)
    for row in rows:
        probabilities[row] *= 2
        actions[row] = 3
    for policy in (Returns(probabilities), batched(lambda *_: actions.ravel())):
        with pytest.raises(InvalidPolicyOutput, match=rf"\[{positions[rows[0]][0]}\]") as caught:
            query_policy(policy, positions, mask)
        assert caught.value.index == rows[0]


@pytest.mark.parametrize(
    "failure", [RuntimeError("mine"), ValueError("mine"), TypeError("mine"), IndexError("mine")]
)
def test_exceptions_of_a_policy_propagate_unchanged(failure):
    def fail(*_):
        raise failure

    class Failing:
        action_probabilities = staticmethod(fail)

    rules = NimRules((1, 2))
    for policy in (fail, batched(fail), Failing(), MixturePolicy(rules, ["random", fail])):
        for call in (
            lambda policy: as_policy(policy, rules).action_probabilities((1, 2), (1, 1, 1)),
            lambda policy: tabulate(rules, policy),
            lambda policy: evaluation.mastery(rules, policy),
            lambda policy: evaluation.exploitability(rules, policy),
            lambda policy: evaluation.win_probability(rules, "random", policy),
            lambda policy: evaluation.report(rules, policy),
            lambda policy: evaluation.play_match(rules, policy, "random", 3, seed=0),
        ):
            with pytest.raises(type(failure)) as caught:
                call(policy)
            assert caught.value is failure
            assert failure.__cause__ is None
            assert str(failure) == "mine"


# --- Sampling -------------------------------------------------------------------------------------


class Constant:
    """A generator that returns one number for ever."""

    def __init__(self, number):
        self.number = number

    def random(self, shape):
        return np.full(shape, self.number)


@pytest.mark.parametrize("number", [0.0, np.nextafter(1, 0)])
def test_sampling_never_yields_an_action_of_probability_0(number):
    for row in ([0, 0.1, 0.9, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1 / 3, 1 / 3, 1 / 3], [0, 1e-9, 1 - 1e-9, 0]):
        assert row[int(policies.sample(np.array(row), Constant(number)))] > 0
        support = np.array([row, row]) > 0
        draws = np.full(2, number)
        assert support[[0, 1], policies.uniform_sample(support, draws)].all()


def test_sampling_follows_the_probabilities():
    row = np.array([0.1, 0.0, 0.6, 0.3])
    drawn = policies.sample(np.tile(2 * row, (10, 2_000, 1)), np.random.default_rng(0))
    assert drawn.shape == (10, 2_000)
    counts = np.bincount(drawn.ravel(), minlength=4)
    assert counts[1] == 0
    assert chisquare(counts[row > 0], 20_000 * row[row > 0]).pvalue > 0.001


def test_uniform_sampling_is_uniform_in_every_row():
    support = np.tile([[0, 1, 1, 0, 3], [1, 0, 0, 0, 0], [1, 1, 1, 1, 1]], (5_000, 1))
    drawn = policies.uniform_sample(support, np.random.default_rng(0).random(len(support)))
    for row in range(3):
        counts = np.bincount(drawn[row::3], minlength=5)
        assert not counts[support[row] == 0].any()
        assert chisquare(counts[support[row] > 0]).pvalue > 0.001 or row == 1
