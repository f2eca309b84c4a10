import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import rules as any_rules

from nim_env import ExpertPolicy, NimRules, RandomPolicy, TakePolicy, policies, theory

SIMPLE = NimRules((21,), max_take=3, misere=False)


def unfinished_positions(rules):
    return np.stack(np.unravel_index(np.arange(1, rules.n_positions), rules.shape), axis=-1)


def test_the_expert_takes_heap_mod_4():
    heaps = np.arange(1, 22)[:, None]
    probabilities = ExpertPolicy(SIMPLE).action_probabilities(heaps, SIMPLE.action_mask(heaps))
    for heap, row in enumerate(probabilities, start=1):
        if heap % 4:
            assert row.tolist() == [float(count == heap % 4) for count in (1, 2, 3)]
        else:
            assert row.tolist() == [1 / 3] * 3


@given(any_rules)
def test_the_expert_draws_uniformly_among_winning_moves(rules):
    positions = unfinished_positions(rules)
    mask = rules.action_mask(positions)
    winning = theory.winning_action_mask(rules, positions)
    for heaps, legal, wins in zip(positions, mask, winning, strict=True):
        right = wins if wins.any() else legal
        np.testing.assert_allclose(ExpertPolicy(rules).action_probabilities(heaps, legal), right / right.sum())


@given(any_rules)
def test_random_is_uniform_over_legal_moves(rules):
    positions = unfinished_positions(rules)
    mask = rules.action_mask(positions)
    np.testing.assert_allclose(
        RandomPolicy().action_probabilities(positions, mask), mask / mask.sum(axis=1, keepdims=True)
    )


@given(any_rules, st.integers(1, 9))
def test_take_n_takes_n_or_what_is_left_or_allowed(rules, n):
    positions = unfinished_positions(rules)
    probabilities = TakePolicy(rules, n).action_probabilities(positions, rules.action_mask(positions))
    for heaps, row in zip(positions.tolist(), probabilities, strict=True):
        expected = np.zeros(rules.n_actions)
        for heap, size in enumerate(heaps):
            if size:
                expected[rules.action(heap, min(n, size, rules.max_take or n))] = 1
        np.testing.assert_allclose(row, expected / expected.sum())


@pytest.mark.parametrize(
    ("name", "kind"),
    [("random", RandomPolicy), ("expert", ExpertPolicy), ("take-3", TakePolicy), ("take-12", TakePolicy)],
)
def test_names(name, kind):
    assert isinstance(policies.as_policy(name, SIMPLE), kind)


def test_take_n_keeps_its_number():
    assert policies.as_policy("take-12", SIMPLE).n == 12


@pytest.mark.parametrize("name", ["take-0", "take-", "take--1", "take-1.5", "grandmaster", "", "Random", "take-٣"])
def test_unknown_names_are_refused(name):
    with pytest.raises(ValueError, match=r'must be "random", "expert" or "take-N".*got'):
        policies.as_policy(name, SIMPLE)


@pytest.mark.parametrize("policy", [None, 3, RandomPolicy])
def test_other_things_are_no_policies(policy):
    with pytest.raises(TypeError, match="opponent must be"):
        policies.as_policy(policy, SIMPLE, "opponent")


def test_policies_of_another_game_are_refused():
    for policy in (ExpertPolicy(NimRules((7, 5))), TakePolicy(NimRules((21,), 3, misere=True), 2)):
        with pytest.raises(ValueError, match=r"opponent was made for NimRules\(.*\), but the game is NimRules\("):
            policies.as_policy(policy, SIMPLE, "opponent")
    for make in (lambda: ExpertPolicy((1, 3)), lambda: TakePolicy(3, 3)):
        with pytest.raises(TypeError, match="rules must be NimRules; got"):
            make()


def test_take_refuses_a_bad_number():
    with pytest.raises(ValueError, match="n must be 1 or more; got 0"):
        TakePolicy(SIMPLE, 0)
    with pytest.raises(TypeError, match=r"n must be an integer; got 3\.0"):
        TakePolicy(SIMPLE, 3.0)


def test_a_finished_position_has_no_probabilities():
    for policy in (RandomPolicy(), ExpertPolicy(SIMPLE), TakePolicy(SIMPLE, 3)):
        with pytest.raises(ValueError, match="without a legal action"):
            policy.action_probabilities([0], np.zeros(3, np.int8))


def test_a_callable_plays_one_position_or_a_batch():
    policy = policies.as_policy(lambda _, mask: np.asarray(mask).argmax(axis=-1), SIMPLE)
    assert policy.action_probabilities([5], [1, 1, 1]).tolist() == [1, 0, 0]
    assert policy.action_probabilities([[5], [2]], [[1, 1, 1], [0, 1, 0]]).tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (1.0, TypeError, r"policy must answer integer actions; got 1\.0"),
        (None, TypeError, "policy must answer integer actions"),
        (True, TypeError, "policy must answer integer actions"),
        ([0, 1], ValueError, r"one action for each position, shape \(\); got shape \(2,\)"),
        (2, ValueError, r"policy answered action 2 at heaps \[2\]; legal are \[0, 1\]"),
        (-1, ValueError, r"policy answered action -1 at heaps \[2\]"),
        (3, ValueError, r"policy answered action 3 at heaps \[2\]"),
    ],
)
def test_a_callable_that_answers_wrongly_is_named(answer, error, message):
    policy = policies.as_policy(lambda *_: answer, SIMPLE)
    with pytest.raises(error, match=message):
        policy.action_probabilities(np.array([2]), np.array([1, 1, 0]))


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ([0.5, 0.4, 0], ValueError, r"not of sum 1 at heaps \[2\]: \[0.5 0.4 0. \]"),
        ([1.5, -0.5, 0], ValueError, r"negative or not a number at heaps \[2\]"),
        ([float("nan"), 1, 0], ValueError, "negative or not a number"),
        ([0.5, 0, 0.5], ValueError, r"above 0 for an illegal action at heaps \[2\]"),
        ([float("inf"), 0, 0], ValueError, "not of sum 1"),
        (
            [1, 0],
            ValueError,
            r"probabilities of shape \(3,\), one per action; got shape \(2,\), \[1 0\], for heaps \[2\]",
        ),
        ([1 - 1e-7, 1e-7, 1e-6], ValueError, r"above 0 for an illegal action at heaps \[2\]"),
        ([0.5, 0.5 + 1.2e-5, 0], ValueError, "not of sum 1"),
        ([0.5, 0.5 - 1.2e-5, 0], ValueError, "not of sum 1"),
        (
            [[0.5], [0.5, 0]],
            TypeError,
            r"policy must answer numbers as probabilities; got \[\[0.5\], \[0.5, 0\]\]",
        ),
        (["a", "b", "c"], TypeError, "policy must answer numbers"),
        (None, TypeError, "policy must answer numbers"),
    ],
)
def test_bad_probabilities_are_named(answer, error, message):
    with pytest.raises(error, match=message):
        policies.checked_probabilities(answer, np.array([2]), np.array([1, 1, 0], np.int8))


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


def test_sampling_follows_the_probabilities():
    row = np.array([0.1, 0.0, 0.6, 0.3])
    drawn = policies.sample(np.tile(row, (100_000, 1)), np.random.default_rng(0))
    share = np.bincount(drawn, minlength=4) / 100_000
    assert share[1] == 0
    np.testing.assert_allclose(share, row, atol=4 * 0.5 / 100_000**0.5)
