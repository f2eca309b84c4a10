"""Every policy's distribution, and what is done with custom policies."""

from collections import Counter
from fractions import Fraction

import gymnasium as gym
import numpy as np
import pytest
from configurations import SIMPLE
from gymnasium.spaces import Discrete
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from strategies import few_examples, seeds
from strategies import rules as any_rules
from table_policies import random_table

from nim_env import (
    EncodedPolicy,
    ExpertPolicy,
    MixturePolicy,
    NimEnv,
    NimRules,
    NimVectorEnv,
    RandomPolicy,
    TabularPolicy,
    TakePolicy,
    evaluation,
    policies,
    theory,
)
from nim_env.encodings import checked_encoding
from nim_env.policies import (
    InvalidPolicyOutput,
    batched,
    checked_policy,
    query_opponent,
    query_policy,
    tabulate,
    uniform_sample,
)

SIMPLE = NimRules(**SIMPLE)


def unfinished(rules):
    """All positions except the empty one, and their masks."""
    positions = rules.all_positions()[1:]
    return positions, rules.action_mask(positions)


class Returns:
    """A policy that returns the same output for every query."""

    def __init__(self, output):
        self.output = output

    def action_probabilities(self, observation, action_mask):  # noqa: ARG002
        return self.output


# --- The policies of the package ------------------------------------------------------------------


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


def test_one_position_and_batches_agree():
    rules = NimRules((2, 3))
    positions = rules.all_positions()[-6:].reshape(2, 3, 2)
    for policy in (RandomPolicy(), ExpertPolicy(rules), TakePolicy(rules, 2)):
        together = policy.action_probabilities(positions, rules.action_mask(positions))
        for where in np.ndindex(2, 3):
            heaps = positions[where].tolist()
            one = policy.action_probabilities(heaps, rules.action_mask(heaps).tolist())
            np.testing.assert_array_equal(together[where], one)
        with pytest.raises(ValueError, match="action_mask"):
            policy.action_probabilities([0, 0], np.zeros(5, np.int8))


def test_rules_of_another_type_are_refused():
    for function in (TabularPolicy, TakePolicy, tabulate, lambda rules, _: MixturePolicy(rules, ["random"])):
        with pytest.raises(TypeError, match=r"rules.*\(1, 3\)"):
            function((1, 3), 3)
    for function in (ExpertPolicy, lambda rules: checked_policy("random", rules)):
        with pytest.raises(TypeError, match=r"rules.*\(1, 3\)"):
            function((1, 3))


# --- Names, policies and callables ----------------------------------------------------------------


def test_names_and_policies():
    named = {"random": RandomPolicy(), "expert": ExpertPolicy(SIMPLE), "take-12": TakePolicy(SIMPLE, 12)}
    for name, policy in named.items():
        assert checked_policy(name, SIMPLE) == policy
        assert checked_policy(policy, SIMPLE) is policy
    for name in ("take-0", "take-", "take--1", "take-1.5", "grandmaster", "", "Random", "take-٣"):
        with pytest.raises(ValueError, match=f"opponent.*'{name}'"):
            checked_policy(name, SIMPLE, "opponent")
    for other in (None, 3, RandomPolicy):
        with pytest.raises(TypeError, match=f"opponent.*{other!r}"):
            checked_policy(other, SIMPLE, "opponent")
    for n, error in ((0, ValueError), (3.0, TypeError)):
        with pytest.raises(error, match=f"n .*{n}"):
            TakePolicy(SIMPLE, n)


def test_policies_of_another_game_are_refused():
    other = NimRules((21,), 3, misere=True)
    for policy in (ExpertPolicy(other), TakePolicy(other, 2), tabulate(other, "random"), MixturePolicy(other)):
        with pytest.raises(ValueError, match=f"opponent.*{other}.*{SIMPLE}"):
            checked_policy(policy, SIMPLE, "opponent")
        with pytest.raises(ValueError, match=f"{other}.*{SIMPLE}"):
            MixturePolicy(SIMPLE, [policy])
    agent = Returns(None)
    agent.action_space = Discrete(16)
    with pytest.raises(ValueError, match=r"opponent.*16 actions.*3"):
        gym.make("nim_env:SimpleNim-v0", opponent=agent)
    assert gym.make("nim_env:Nim-v0", opponent=agent)


def test_callables_on_one_position_and_on_batches():
    calls, shapes = [], []

    def one(observation, action_mask):
        calls.append((observation.shape, action_mask.shape, tuple(observation)))
        return np.flatnonzero(action_mask)[-1]

    def many(observations, action_masks):
        shapes.append((observations.shape, action_masks.shape))
        return [np.flatnonzero(mask)[-1] for mask in action_masks]

    rules = NimRules((2, 3))
    positions = rules.all_positions()[-6:].reshape(2, 3, 2)
    mask = rules.action_mask(positions)
    expected = np.eye(5)[4 - mask[..., ::-1].argmax(axis=-1)]
    for function in (one, batched(many)):
        policy = checked_policy(function, rules)
        np.testing.assert_array_equal(policy.action_probabilities(positions, mask), expected)
        assert policy.action_probabilities([1, 3], [1, 0, 1, 1, 1]).tolist() == [0, 0, 0, 0, 1]
    assert calls == [((2,), (5,), tuple(heaps)) for heaps in (*positions.reshape(6, 2), (1, 3))]
    assert shapes == [((6, 2), (6, 5)), ((1, 2), (1, 5))]
    with pytest.raises(TypeError, match=r"function.*'random'"):
        batched("random")


def test_a_function_that_returns_a_bad_action_is_named():
    for answer in (1.0, None, "x", True, 2, -1, 3):
        one_position = checked_policy(lambda *_, answer=answer: answer, SIMPLE)
        for policy in (one_position, batched(lambda *_, answer=answer: [answer])):
            with pytest.raises(InvalidPolicyOutput, match=f"lambda.*{answer}"):
                policy.action_probabilities(np.array([2]), np.array([1, 1, 0]))


def test_a_batch_needs_one_action_for_each_position():
    for answer in (0, [0], [[0]] * 21, [0] * 20):
        with pytest.raises(InvalidPolicyOutput, match=r"lambda.*\(21,\)"):
            batched(lambda *_, answer=answer: answer).action_probabilities(*unfinished(SIMPLE))
    for answer, remedy in (
        ([0] * 21, "batched"),  # a function on batches that is passed as it is
        (np.zeros(21, int), "batched"),
        ((0, None), r"predict.*\[0\]"),
    ):
        with pytest.raises(InvalidPolicyOutput, match=f"lambda.*0.*{remedy}"):
            checked_policy(lambda *_, answer=answer: answer, SIMPLE).action_probabilities(*unfinished(SIMPLE))


@given(
    st.sets(st.integers(1, 20), min_size=1),
    st.sampled_from([None, 0.0, True, np.bool_(True), [0], (0, None), np.array([0]), 2**63, -(2**70), -1, 3]),
)
def test_the_first_position_with_a_wrong_answer_is_named(sizes, answer):
    def function(heaps, action_mask):  # noqa: ARG001
        return answer if heaps[0] in sizes else np.int8(0)

    heaps, mask = (array.reshape(3, 7, -1) for array in unfinished(SIMPLE))
    first = min(sizes)
    with pytest.raises(InvalidPolicyOutput, match=rf"function.* observation \[{first}\]") as caught:
        checked_policy(function, SIMPLE).action_probabilities(heaps, mask)
    assert caught.value.index == divmod(first - 1, 7)
    env = NimVectorEnv(20, (21,), 3, misere=False, opponent=function, first_player="agent")
    env.reset(options={"heaps": np.arange(2, 22)[:, None]})
    with pytest.raises(
        InvalidPolicyOutput, match=rf"environment {first - 1}: .* observation \[{first}\]"
    ) as caught:
        env.step(np.zeros(20, dtype=int))  # the agent takes one object
    assert caught.value.index == (first - 1,)


@given(st.integers(0, 1), st.integers(0, 2))
def test_the_index_of_a_wrong_action_in_a_batch_is_named(row, column):
    actions = np.zeros((2, 3), dtype=int)
    actions[row, column] = 2  # take 3 of 2 objects
    heaps, mask = np.full((2, 3, 1), 2), np.tile(np.array([1, 1, 0]), (2, 3, 1))
    with pytest.raises(InvalidPolicyOutput) as caught:
        batched(lambda *_: actions.ravel()).action_probabilities(heaps, mask)
    assert caught.value.index == (row, column)
    actions[:] = 1
    assert (batched(lambda *_: actions.ravel()).action_probabilities(heaps, mask) == [0, 1, 0]).all()


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


def test_a_table_of_another_shape_is_refused():
    for shape in ((383, 16), (384, 15), (384,), (4, 96, 16)):
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
    assert checked_policy(copy, rules) is copy
    assert copy.probabilities.dtype == np.float32


@pytest.mark.parametrize("heaps", [(20_000,), (60, 60, 60, 60)])
def test_a_table_of_too_many_entries_is_refused(heaps):
    with pytest.raises(ValueError, match=r"100,000,000"):
        tabulate(NimRules(heaps), "random")


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


@few_examples
@given(any_rules, seeds, st.lists(st.sampled_from([0, 1e-300, 0.5, 2, 1e308]), min_size=1, max_size=4).filter(any))
def test_a_weighted_mixture_is_the_weighted_mean(rules, seed, weights):
    members = [random_table(rules, seed + member) for member in range(len(weights))]
    positions, mask = unfinished(rules)
    mixture = MixturePolicy(rules, members, weights=weights)
    shares = [Fraction(weight) / sum(map(Fraction, weights)) for weight in weights]
    expected = sum(float(share) * member.probabilities[1:] for share, member in zip(shares, members, strict=True))
    np.testing.assert_allclose(query_policy(mixture, positions, mask), expected, atol=1e-12)
    np.testing.assert_allclose(mixture.member_probabilities, [float(share) for share in shares], atol=1e-12)


@given(st.lists(st.sampled_from([0, 0.5, 1, 3]), min_size=1, max_size=4).filter(any), seeds)
def test_members_are_drawn_by_weight(weights, seed):
    mixture = MixturePolicy(SIMPLE, [f"take-{n + 1}" for n in range(len(weights))], weights=weights, draw="game")
    draws = [mixture.draw_members(np.random.default_rng(seed), 2_000) for _ in range(2)]
    assert draws[0] == draws[1]
    counts = Counter(map(id, draws[0]))
    counts = np.array([counts[id(member)] for member in mixture.policies])
    expected = 2_000 * np.array(weights) / sum(weights)
    assert not counts[expected == 0].any()
    if np.count_nonzero(expected) > 1:
        assert chisquare(counts[expected > 0], expected[expected > 0]).pvalue > 1e-6
    assert mixture.draw_members(np.random.default_rng(seed), 0) == []


def test_a_policy_is_not_asked_for_weight_0():
    def fail(*_):
        raise AssertionError

    rules = NimRules((2, 2))
    mixture = MixturePolicy(rules, ["random", fail], weights=[1, 0])
    assert evaluation.report(rules, mixture) == evaluation.report(rules, "random")


def test_the_oldest_member_leaves_first():
    rules = NimRules()
    pool = MixturePolicy(rules, ["random", "take-1", "take-2"], max_size=2)
    assert pool.policies == [TakePolicy(rules, 1), TakePolicy(rules, 2)]
    pool.add("take-3")
    assert pool.policies == [TakePolicy(rules, 2), TakePolicy(rules, 3)]
    for wrong in ("random", 3):
        with pytest.raises(TypeError, match=f"policies .*{wrong}"):
            MixturePolicy(rules, wrong)
    with pytest.raises(TypeError, match="rules"):
        MixturePolicy(gym.make("Nim-v0"))
    for max_size in (1, np.int64(1), np.uint8(1)):
        assert MixturePolicy(rules, ["random", "take-1"], max_size=max_size).policies == [TakePolicy(rules, 1)]
    pool.add("expert", weight=2.5)
    assert pool.weights == [1.0, 2.5]


def test_bad_mixtures_are_refused():
    rules = NimRules()
    mixture = MixturePolicy(rules, ["random"])
    with pytest.raises(ValueError, match="itself"):
        mixture.add(mixture)
    assert mixture.policies == [RandomPolicy()]
    with pytest.raises(ValueError, match="members"):
        MixturePolicy(rules).action_probabilities(rules.heaps, rules.action_mask(rules.heaps))
    for size, error in ((0, ValueError), (2.0, TypeError)):
        with pytest.raises(error, match=f"max_size.*{size}"):
            MixturePolicy(rules, max_size=size)
    with pytest.raises(ValueError, match=r"policy.*'best'"):
        MixturePolicy(rules, ["best"])
    with pytest.raises(TypeError, match=r"policy.*7"):
        MixturePolicy(rules).add(7)
    for weight, error in (
        (-1, ValueError),
        (np.nan, ValueError),
        (np.inf, ValueError),
        (True, TypeError),
        ("1", TypeError),
    ):
        mixture = MixturePolicy(rules, ["random"])
        with pytest.raises(error, match=f"weight.*{weight}"):
            mixture.add("random", weight)
        with pytest.raises(error, match=f"weight.*{weight}"):
            MixturePolicy(rules, ["random"], weights=[weight])
        assert mixture.policies == [RandomPolicy()]
    for weights in ([], [1, 2, 3], [[1, 2]], 1.0):
        with pytest.raises(ValueError, match=r"weights.*2 policies"):
            MixturePolicy(rules, ["random", "expert"], weights=weights)
    with pytest.raises(ValueError, match="weights"):
        MixturePolicy(rules, ["random"], weights=[0]).action_probabilities(
            rules.heaps, rules.action_mask(rules.heaps)
        )
    with pytest.raises(ValueError, match=r"draw.*'episode'"):
        MixturePolicy(rules, draw="episode")
    with pytest.raises(ValueError, match='draw="game"'):
        MixturePolicy(rules, [MixturePolicy(rules, ["random"], draw="game")])


def test_a_model_is_not_a_policy():
    class Model:
        observation_space, action_space = Discrete(3), Discrete(16)

        def predict(self, observation):
            return observation

    class Network(Model):
        def __call__(self, observation):
            return observation

    for model in (Model(), Network()):
        with pytest.raises(TypeError, match=r"opponent.*ModelPolicy\(model, env\)"):
            checked_policy(model, NimRules(), "opponent")


def test_a_member_cannot_spoil_a_mixture():
    """A row of the wrong shape is not broadcast, and arrays that a member changes are its own."""
    rules = NimRules((2, 2))
    positions, mask = unfinished(rules)
    with pytest.raises(InvalidPolicyOutput, match=r"Returns.*\(8, 4\).*\(4,\)"):
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


# --- Probabilities of custom policies -------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ([1.5, -0.5, 0], r"\[2\].*1\.5 -0\.5"),
        ([float("nan"), 1, 0], "nan"),
        ([float("inf"), 0, 0], "inf"),
        ([1 - 1e-7, 1e-7, 1e-6], r"illegal.*\[2\]"),
        ([0.5, 0.5 + 1.2e-5, 0], "sum"),
        ([0.5, 0.5 - 1.2e-5, 0], "sum"),
        ([1, 0], r"\(3,\).*\(2,\).*\[2\]"),
        ([[0.5], [0.5, 0]], r"\[\[0.5\], \[0.5, 0\]\]"),
        (["a", "b", "c"], "'a'"),
        (None, "None"),
    ],
)
def test_other_outputs_are_refused(output, message):
    position = np.array([2]), np.array([1, 1, 0], np.int8)
    for query, name in ((query_policy, "Returns"), (query_opponent, "opponent: .*Returns")):
        with pytest.raises(InvalidPolicyOutput, match=f"{name}.*{message}") as caught:
            query(Returns(output), *position)
        assert caught.value.index == ()
    for accepted in ([1, 0, 0], np.array([False, True, False]), np.array([0.5 + 4e-6, 0.5 + 4e-6, 0], np.float32)):
        found = query_policy(Returns(accepted), *position)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, accepted)


@pytest.mark.parametrize("rows", [[(0, 1)], [(1, 0), (1, 2)]], ids=str)
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


@pytest.mark.parametrize("error", [RuntimeError, ValueError, TypeError, IndexError, ZeroDivisionError])
def test_exceptions_of_a_policy_propagate_unchanged(error):
    failure = error("mine")

    def fail(*_):
        raise failure

    class Failing:
        action_probabilities = staticmethod(fail)

    rules = NimRules((1, 2))
    functions = tabulate, evaluation.mastery, evaluation.exploitability, evaluation.report
    encoded = EncodedPolicy(fail, checked_encoding("bits", rules))
    for policy in (fail, batched(fail), Failing(), encoded, MixturePolicy(rules, ["random", fail])):
        for call in (
            *functions,
            lambda rules, policy: checked_policy(policy, rules).action_probabilities((1, 2), (1, 1, 1)),
            lambda rules, policy: evaluation.win_probability(rules, "random", policy),
            lambda rules, policy: evaluation.play_match(rules, policy, "random", 3, seed=0),
            step_against,
            step_batch_against,
        ):
            with pytest.raises(error) as caught:
                call(rules, policy)
            assert caught.value is failure
            assert failure.__cause__ is None


def step_against(rules, opponent):
    env = NimEnv(rules.heaps, opponent=opponent, first_player="agent")
    env.reset()
    env.step(0)


def step_batch_against(rules, opponent):
    env = NimVectorEnv(3, rules.heaps, opponent=opponent, first_player="agent")
    env.reset()
    env.step([0, 0, 0])


def test_the_output_of_a_policy_that_an_opponent_queries():
    """The error of the inner query arrives, whatever batch it was about."""

    def looks_ahead(observation, action_mask):
        shapes = (9, *observation.shape), (9, *action_mask.shape)
        return query_policy(Returns(None), np.broadcast_to(observation, shapes[0]), np.ones(shapes[1]))[8].argmax()

    def repeats(observation, action_mask):
        return query_policy(Returns(action_mask * 0.0), observation, action_mask).argmax()

    rules = NimRules((1, 2))
    for opponent, message in ((looks_ahead, r"opponent: .*\(9, 3\)"), (repeats, "opponent: .*sum")):
        for step in (step_against, step_batch_against):
            with pytest.raises(InvalidPolicyOutput, match=message):
                step(rules, opponent)


# --- Sampling -------------------------------------------------------------------------------------


class Constant:
    """A generator that always returns one number."""

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


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4).filter(any), min_size=1, max_size=6), st.data())
def test_uniform_samples_of_a_row_do_not_depend_on_the_other_rows(support, data):
    draws = data.draw(st.lists(st.floats(0, 1, exclude_max=True), min_size=len(support), max_size=len(support)))
    legal = [np.flatnonzero(row) for row in support]
    expected = [row[int(draw * len(row))] for row, draw in zip(legal, draws, strict=True)]
    assert uniform_sample(np.array(support), np.array(draws)).tolist() == expected


def test_sampling_follows_the_probabilities():
    generator, weights = np.random.default_rng(0), np.array([[0, 1, 2, 0, 3.0], [1, 0, 0, 0, 0], [1, 3, 1, 4, 1]])
    rows = np.tile(weights, (5_000, 1))
    for drawn, expected in (
        (policies.sample(rows, generator), weights),
        (policies.uniform_sample(rows, generator.random(len(rows))), (weights > 0) * 1.0),
    ):
        for row in (0, 1, 2):
            counts, possible = np.bincount(drawn[row::3], minlength=5), expected[row] > 0
            assert not counts[~possible].any()
            frequencies = 5_000 * expected[row, possible] / expected[row].sum()
            assert row == 1 or chisquare(counts[possible], frequencies).pvalue > 0.001
