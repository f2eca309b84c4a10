"""The distribution of every policy, and how custom policies are checked."""

import copy
import functools
import inspect
import operator
import pickle
import re
from fractions import Fraction
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from agent_helpers import ConstantGenerator
from configurations import SIMPLE
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from hypothesis import given
from hypothesis import strategies as st
from strategies import few_examples, seeds
from strategies import rules as any_rules
from table_policies import random_table

from nim_env import (
    EncodedPolicy,
    ExpertPolicy,
    MixturePolicy,
    NimRules,
    OpponentPool,
    RandomPolicy,
    TabularPolicy,
    TakePolicy,
    evaluation,
    policies,
    solver,
    theory,
)
from nim_env.encodings import checked_encoding
from nim_env.policies import (
    InvalidPolicyOutput,
    Player,
    SampledPolicy,
    batched,
    checked_player,
    checked_policy,
    from_moves,
    greedy,
    q_values_of,
    sample,
    tabulate,
)
from nim_env.policies.functions import from_heap_size

SIMPLE, RULES = NimRules(**SIMPLE), NimRules((1, 2, 3))
POSITION, MASK = np.array([2]), np.array([1, 1, 0], np.int8)


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


@given(any_rules, st.integers(1, 9))
def test_built_in_policies_draw_uniformly(rules, n):
    positions, mask = unfinished(rules)
    winning = theory.winning_action_mask(rules, positions)
    takes = np.zeros_like(mask)
    for row, heaps in zip(takes, positions.tolist(), strict=True):
        for heap, size in enumerate(heaps):
            if size:
                row[rules.action(heap, min(n, size, rules.max_take or n))] = 1
    for policy, support in (
        (RandomPolicy(), mask),
        (ExpertPolicy(rules), [wins if wins.any() else legal for wins, legal in zip(winning, mask, strict=True)]),
        (TakePolicy(rules, n), takes),
    ):
        probabilities = policy.action_probabilities(positions[:, None], mask[:, None])[:, 0]
        np.testing.assert_allclose(probabilities, support / np.sum(support, axis=1, keepdims=True))
        alone = policy.action_probabilities(positions[-1].tolist(), mask[-1].tolist())
        np.testing.assert_array_equal(alone, probabilities[-1])


def test_names_and_policies():
    named = {"random": RandomPolicy(), "expert": ExpertPolicy(SIMPLE), "take-12": TakePolicy(SIMPLE, 12)}
    for name, policy in named.items():
        assert checked_policy(name, SIMPLE) == policy
        assert checked_policy(policy, SIMPLE) is policy
    for name in ("take-0", "take-", "take--1", "take-1.5", "grandmaster", "", "Random", "take-٣"):
        with pytest.raises(ValueError, match=f"opponent.*'{name}'"):
            checked_policy(name, SIMPLE, "opponent")
    for other in (None, 3, Discrete(3), RandomPolicy, TabularPolicy):  # a class instead of an instance
        with pytest.raises(TypeError, match=r"opponent.*ModelPolicy"):
            checked_policy(other, SIMPLE, "opponent")
    for n in (0, 3.0):
        with pytest.raises((ValueError, TypeError), match=f"n .*{n}"):
            TakePolicy(SIMPLE, n)
    assert {TakePolicy(SIMPLE, np.array(3)), TakePolicy(SIMPLE, np.int8(3))} == {TakePolicy(SIMPLE, 3)}


def test_policies_of_another_game_are_refused():
    other = NimRules((21,), 3, misere=True)
    for policy in (
        ExpertPolicy(other),
        TakePolicy(other, 2),
        tabulate(other, "random"),
        MixturePolicy(other),
        Player(ExpertPolicy(other), "lose"),
        SampledPolicy(other, ExpertPolicy(other), 2),
    ):
        with pytest.raises(ValueError, match=f"opponent.*{other}.*{SIMPLE}"):
            evaluation.win_probability(SIMPLE, "random", policy)
    with pytest.raises(ValueError, match=f"{other}.*{SIMPLE}"):
        MixturePolicy(SIMPLE, [policy])


@pytest.mark.parametrize(
    "space", [MultiDiscrete([2, 4, 6]), MultiDiscrete([2, 4, 6, 7]), Discrete(9), Box(0, 1, (4,))]
)
def test_agents_that_observe_something_else_are_refused(space):
    agent = Returns(None)
    for agent.observation_space in (MultiDiscrete([2, 4, 6, 8]), Box(0, 7, (4,))):
        assert checked_policy(agent, NimRules()) is agent
    agent.observation_space = space
    with pytest.raises(ValueError, match=r"opponent.*EncodedPolicy"):
        checked_policy(agent, NimRules(), "opponent")
    agent.action_space = Discrete(15)
    with pytest.raises(ValueError, match=r"opponent.*15 actions"):
        checked_policy(agent, NimRules(), "opponent")


@pytest.mark.parametrize("answer", [0, [0], [[0]] * 21, [0] * 20, [0.0] * 21, [True] * 21, [None] * 21], ids=str)
def test_a_batched_function_returns_one_action_for_each_position(answer):
    with pytest.raises(InvalidPolicyOutput, match="lambda"):
        Player(batched(lambda *_: answer), "raise").query(*unfinished(SIMPLE))


@few_examples
@given(any_rules, seeds)
def test_pairs_and_actions_are_the_same_player(rules, seed):
    """Functions can return pairs or actions, for one position or for a batch. They get copies of the arrays."""
    table = random_table(rules, seed, deterministic=True).probabilities
    chosen = table.argmax(axis=1)
    positions, mask = unfinished(rules)
    sizes = []

    def pair(heaps):
        assert type(heaps) is list
        return rules.moves[chosen[rules.index(heaps)]]

    def action(heaps, mask):
        actions = chosen[rules.index(heaps)]
        sizes.append(mask.size)
        heaps[:], mask[:] = 9, 0
        return actions

    for player in (from_moves(rules, pair), action, batched(action)):
        policy = checked_policy(player, rules)
        np.testing.assert_array_equal(
            policy.action_probabilities(positions[:, None], mask[:, None])[:, 0], table[1:]
        )
        np.testing.assert_array_equal(policy.action_probabilities(positions[0], mask[0]), table[1])
    assert sizes == [rules.n_actions] * (len(mask) + 1) + [mask.size, rules.n_actions]


@few_examples
@given(any_rules, seeds)
def test_q_values_of_a_dictionary(rules, seed):
    expected = np.random.default_rng(seed).random((rules.n_positions, rules.n_actions))
    expected *= rules.action_mask(rules.all_positions())
    table = {
        (tuple(rules.from_index(index).tolist()), rules.moves[action]): expected[index, action]
        for index, action in np.argwhere(expected).tolist()
    }
    np.testing.assert_array_equal(q_values_of(rules, table), expected)


@pytest.mark.parametrize(
    "key", [((1, 4), (0, 1)), ((1, 2), (0, 2)), ((1, 2, 3), (0, 1)), (1, 2), 5, ((1, 2), 0)], ids=str
)
def test_keys_that_are_no_pairs_are_named(key):
    with pytest.raises((ValueError, TypeError), match=re.escape(repr(key))):
        q_values_of(NimRules((1, 2)), {((1, 2), (0, 1)): 1.0, key: 0.5})


GENERATOR = np.random.default_rng(0)


def draw(heaps, mask):  # noqa: ARG001
    return GENERATOR.choice(np.flatnonzero(mask))


DRAWING = {  # functions that play at random, in every form that a function can have
    "function": draw,
    "batch": batched(lambda heaps, masks: [draw(*pair) for pair in zip(heaps, masks, strict=True)]),
    "pairs": from_moves(RULES, lambda heaps: tuple(GENERATOR.choice(RULES.legal_moves(heaps)))),
    "encoded": EncodedPolicy(draw, checked_encoding("one_hot", RULES)),
}


@pytest.mark.parametrize("player", DRAWING.values(), ids=DRAWING)
def test_chance_is_measured_by_frequencies_and_never_as_if_it_were_none(player):
    """The measured frequencies lie within five standard errors of the player's distribution."""
    for mixed in (player, MixturePolicy(RULES, ["expert", player])):
        for function in (evaluation.mastery, evaluation.report, solver.best_response, tabulate):
            with pytest.raises(InvalidPolicyOutput, match=r"then .*SampledPolicy"):
                function(RULES, mixed)
    positions, mask = unfinished(RULES)
    expected = RandomPolicy().action_probabilities(positions, mask)
    sampled = SampledPolicy(RULES, player, 200)
    found = sampled.action_probabilities(positions, mask)
    assert (abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / 200)).all()
    np.testing.assert_allclose(found * 200, np.round(found * 200))  # frequencies of 200 answers
    assert abs(evaluation.mastery(RULES, sampled).expert - evaluation.mastery(RULES, "random").expert) < 0.05
    evaluation.play_match(RULES, player, player, games=50, seed=0)  # a match takes players that draw


def test_two_answers_that_differ_by_rounding_are_the_same():
    """For example, a processor can add the numbers in a network in two orders, which round differently."""
    answers = iter([[0.5, 0.5, 0], [0.5 - 1e-7, 0.5 + 1e-7, 0]])
    policy = Returns(None)
    policy.action_probabilities = lambda *_: next(answers)
    moves = Player(policy, "raise").query(POSITION, MASK, require_same_answer=True)
    assert moves.probabilities.tolist() == [0.5, 0.5, 0]


NONSENSE = [None, -1, 6, 99, 2**63, 1.0, np.nan, "take 3", True, np.True_, (0, None), (0, 9), (0, 1, 2), (5, 1)]


@pytest.mark.parametrize("answer", NONSENSE, ids=str)
def test_every_kind_of_nonsense_loses(answer):
    """In each form of a function. The player gives a nonsensical answer if the heaps sum to an even number.

    Otherwise it plays as the expert does.
    """
    positions, mask = unfinished(RULES)
    right = np.append(0, ExpertPolicy(RULES).support(positions, mask).argmax(axis=1))  # by index

    def action(heaps, mask):  # noqa: ARG001
        return answer if sum(heaps) % 2 == 0 else right[RULES.index(heaps)]

    def pair(heaps):
        return answer if sum(heaps) % 2 == 0 else RULES.moves[right[RULES.index(heaps)]]

    loses = positions.sum(axis=1) % 2 == 0
    expected = np.eye(RULES.n_actions)[right[1:]] * ~loses[:, None]
    batch = batched(lambda heaps, masks: [action(*both) for both in zip(heaps, masks, strict=True)])
    players = [action, batch, from_moves(RULES, pair), EncodedPolicy(action, checked_encoding("heaps", RULES))]
    players += [SampledPolicy(RULES, action, 3), MixturePolicy(RULES, [action])]
    if type(answer) is int and answer < 100:
        players.append(batched(lambda heaps, masks: np.array(batch.function(heaps, masks))))
    for player in players:
        moves = checked_player(player, RULES, illegal_action="lose").query(positions, mask)
        np.testing.assert_array_equal(moves.probabilities, expected)
        np.testing.assert_array_equal(moves.illegal, loses)
        with pytest.raises(InvalidPolicyOutput, match=rf"{re.escape(repr(answer))}.*\[0, 0, 2\]"):
            checked_player(player, RULES).query(positions, mask)


@pytest.mark.parametrize("form", [lambda choose: choose, batched])
def test_an_illegal_action_of_a_function_is_named(form):
    with pytest.raises(InvalidPolicyOutput, match=r"5.*\[0, 0, 1\]"):
        evaluation.mastery(RULES, form(lambda _, masks: np.full(masks.shape[:-1], 5)))


@pytest.mark.parametrize(
    "copied",
    [lambda same: same, copy.copy, copy.deepcopy, lambda policy: pickle.loads(pickle.dumps(policy))],
    ids=["itself", "copy", "deepcopy", "pickle"],
)
def test_a_table_is_read_only_in_every_copy(copied):
    policy = copied(random_table(SIMPLE, 0))
    np.testing.assert_array_equal(policy.probabilities, random_table(SIMPLE, 0).probabilities)
    with pytest.raises(ValueError, match="read-only"):
        policy.probabilities[0] = 0


some_values = st.sampled_from(
    [np.nan, 0.0, -1.0, 1e308, -1e308, np.finfo(float).max, -np.finfo(float).max, np.inf, -np.inf]
)


@few_examples
@given(st.lists(some_values, min_size=18, max_size=18))
def test_greedy_plays_the_first_largest_number(values):
    rules = NimRules((1, 2), misere=False)
    table = np.reshape(values, (rules.n_positions, rules.n_actions))
    actions = greedy(rules, table).probabilities.argmax(axis=1)
    for row, mask, action in zip(table, rules.action_mask(rules.all_positions()), actions, strict=True):
        legal = mask.nonzero()[0]
        if len(legal):
            numbers = [i for i in legal if not np.isnan(row[i])]
            assert action == max(numbers or legal[:1], key=row.__getitem__)


def test_an_encoding_by_name_says_where_to_get_it():
    with pytest.raises(TypeError, match=r"encoding .*'one_hot'"):
        EncodedPolicy(lambda *_: 0, "one_hot")


TAKE_ILLEGAL_ACTION = [
    function
    for module in (evaluation, policies, solver)
    for name, function in vars(module).items()
    if inspect.isfunction(function) and "illegal_action" in inspect.signature(function).parameters
]


@pytest.mark.parametrize("function", TAKE_ILLEGAL_ACTION, ids=lambda function: function.__name__)
def test_illegal_action_is_a_keyword(function):
    parameter = inspect.signature(function).parameters["illegal_action"]
    assert parameter.kind is parameter.KEYWORD_ONLY


FIGURES = {  # a number from each function that takes illegal_action
    "mastery": lambda player, **option: evaluation.mastery(SIMPLE, player, **option).expert,
    "exploitability": lambda player, **option: evaluation.exploitability(SIMPLE, player, **option),
    "report": lambda player, **option: evaluation.report(SIMPLE, player, **option),
    "win_probability": lambda player, **option: evaluation.win_probability(SIMPLE, player, player, **option),
    "mixed_exploitability": lambda player, **option: evaluation.mixed_exploitability(
        SIMPLE, OpponentPool(SIMPLE, [player]), **option
    ),
    "payoff_matrix": lambda player, **option: evaluation.payoff_matrix(SIMPLE, [player], **option).tolist(),
    "play_match": lambda player, **option: evaluation.play_match(SIMPLE, player, player, 50, seed=0, **option),
    "best_response": lambda player, **option: solver.best_response(SIMPLE, player, **option).afterstates.tolist(),
    "tabulate": lambda player, **option: tabulate(SIMPLE, player, **option).probabilities.tolist(),
}


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_a_player_says_what_its_illegal_actions_do(figure):
    for policy in (random_table(SIMPLE, 3, illegal=True), batched(lambda _, masks: [1] * len(masks))):
        with pytest.raises(InvalidPolicyOutput):
            figure(policy)
        expected = figure(policy, illegal_action="lose")
        for option in ({}, {"illegal_action": "lose"}):
            assert figure(Player(policy, "lose"), **option) == expected
        for own, other in (("lose", "raise"), ("raise", "lose"), ("raise", "loose")):
            with pytest.raises(ValueError, match=f"illegal_action.*{own}.*{other}"):
                figure(Player(policy, own), illegal_action=other)
        with pytest.raises(ValueError, match=r"illegal_action.*loose"):
            figure(policy, illegal_action="loose")


@pytest.mark.parametrize(
    "output",
    [
        [1.5, -0.5, 0],
        [float("nan"), 1, 0],
        [1 - 1e-7, 1e-7, 1e-6],  # the third action is illegal
        [0.5, 0.5 + 1.2e-5, 0],
        [0.5, 0.5 - 1.2e-5, 0],
        [1, 0],
        [[1, 0, 0]],
        ["a", "b", "c"],
        None,
    ],
    ids=str,
)
def test_outputs_that_are_no_distribution(output):
    with pytest.raises(InvalidPolicyOutput, match=r"Returns.*\[2\]"):
        Player(Returns(output), "raise").query(POSITION, MASK)


@pytest.mark.parametrize("illegal_action", ["raise", "lose"])
def test_outputs_that_are_a_distribution(illegal_action):
    for output in ([1, 0, 0], np.array([False, True, False]), np.array([0.5 - 4e-6, 0.5 - 4e-6, 0], np.float32)):
        found, illegal = Player(Returns(output), illegal_action).query(POSITION, MASK)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, output, rtol=1e-5)
        assert illegal == 0
    # a small probability of an illegal action counts
    found, illegal = Player(Returns([1 - 1e-6, 0, 1e-6]), "lose").query(POSITION, MASK)
    np.testing.assert_allclose([*found, illegal], [1 - 1e-6, 0, 0, 1e-6])
    with pytest.raises(InvalidPolicyOutput, match="above 1"):
        Player(Returns([0.5, 1, 0]), "lose").query(POSITION, MASK)


@few_examples
@given(any_rules, seeds)
def test_a_table_returns_copies_of_its_rows(rules, seed):
    table = np.random.default_rng(seed).random((rules.n_positions, rules.n_actions))
    policy, expected = TabularPolicy(rules, table), table.copy()
    table[:] = 0
    for index in (slice(None), np.arange(len(table))[:, None], -1):
        found = policy.action_probabilities(rules.all_positions()[index])
        np.testing.assert_array_equal(found, expected[index])
        found[:] = -1
    np.testing.assert_array_equal(policy.probabilities, expected)
    for shape in ((rules.n_positions, rules.n_actions + 1), (1,)):
        with pytest.raises(ValueError, match="probabilities"):
            TabularPolicy(rules, np.zeros(shape))


def test_a_tabulated_policy_is_a_copy():
    rules = NimRules((3, 4), max_take=2)
    mixture = MixturePolicy(rules, [random_table(rules, 0)])
    expected, positions = mixture.policies[0].probabilities, rules.all_positions()
    copy, exact = tabulate(rules, mixture), tabulate(rules, mixture, np.float64)
    mixture.add("random")
    np.testing.assert_allclose(copy.action_probabilities(positions[1:]), expected[1:], atol=1e-7)
    np.testing.assert_array_equal(exact.action_probabilities(positions[1:]), expected[1:])
    assert copy.probabilities.dtype == np.float32
    with pytest.raises(ValueError, match="50,000,000"):
        tabulate(NimRules((60, 60, 60, 60)), "random")


@few_examples
@given(any_rules, seeds, st.lists(st.sampled_from([0, 1e-300, 0.5, 2, 1e308]), min_size=1, max_size=4).filter(any))
def test_a_mixture_is_the_weighted_mean(rules, seed, weights):
    members = [random_table(rules, seed + member) for member in range(len(weights))]
    for mixture, given_weights in (
        (MixturePolicy(rules, members, weights=weights), weights),
        (MixturePolicy(rules, members), [1] * len(members)),
    ):
        shares = [float(Fraction(weight) / sum(map(Fraction, given_weights))) for weight in given_weights]
        expected = sum(share * member.probabilities for share, member in zip(shares, members, strict=True))
        np.testing.assert_allclose(mixture.action_probabilities(*unfinished(rules)), expected[1:], atol=1e-12)


def test_members_of_a_mixture():
    mixture = MixturePolicy(SIMPLE, ["take-2"])
    mixture.add("take-3", weight=2.5)
    assert mixture.policies == (TakePolicy(SIMPLE, 2), TakePolicy(SIMPLE, 3))
    assert mixture.weights == [1.0, 2.5]
    mixture.weights[0] = 0
    mixture.add(Returns(None), weight=0)  # never queried
    assert mixture.action_probabilities(np.array([5]), np.ones(3)).tolist() == [0, 0, 1]


@pytest.mark.parametrize("kind", [MixturePolicy, OpponentPool])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policies": ["best"]}, "policy.*'best'"),
        ({"policies": ["random"], "weights": [-1]}, "weight.*-1"),
        ({"policies": ["random"], "weights": [np.nan]}, "weight.*nan"),
        ({"policies": ["random"], "weights": [np.inf]}, "weight.*inf"),
        ({"policies": ["random"], "weights": [1, 2]}, "weights.*2"),
        ({"policies": [TakePolicy(SIMPLE, 1), ExpertPolicy(SIMPLE)]}, "policy.*21"),
    ],
    ids=str,
)
def test_bad_members(kind, arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        kind(NimRules(), **arguments)
    members = kind(NimRules(), ["random"])
    for policy, weight in (("best", 1), ("random", -1), ("random", np.nan)):
        with pytest.raises(ValueError, match=r"policy|weight"):
            members.add(policy, weight)
    assert (list(members.policies), members.weights) == ([RandomPolicy()], [1.0])


@pytest.mark.parametrize("mixture", [MixturePolicy(SIMPLE), MixturePolicy(SIMPLE, ["random"], weights=[0])])
def test_a_mixture_without_weight(mixture):
    with pytest.raises(ValueError, match="weight"):
        mixture.action_probabilities((5,), (1, 1, 1))


@pytest.mark.parametrize("number", [0.0, np.nextafter(1, 0)])
@pytest.mark.parametrize(
    "row",
    [[0, 0.1, 0.9, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1 / 3, 1 / 3, 1 / 3], [0, 1e-9, 1 - 1e-9, 0]],
    ids=str,
)
def test_sampling_never_yields_an_action_of_probability_0(row, number):
    assert row[int(sample(np.array(row), ConstantGenerator(number)))] > 0


# --- Functions of one heap --------------------------------------------------------------------------


class OfOneHeap:
    """A function of the heap size, in every form that a callable can have."""

    def __init__(self, function):
        self.getMove = self.move = lambda heap, *_, **__: function(heap)

    def __call__(self, heap):
        return self.move(heap)


@given(st.integers(1, 30), st.integers(1, 6), st.booleans(), st.data())
def test_a_function_of_one_heap_takes_its_number_at_most_what_is_left(size, max_take, misere, data):
    if misere and size == 1:
        size = 2
    rules = NimRules((size,), max_take, misere)
    counts = [0, *(data.draw(st.integers(1, max_take)) for _ in range(size))]
    positions = rules.all_positions()[1:]
    masks = rules.action_mask(positions)
    expected = [rules.action(0, min(counts[heap], heap)) for (heap,) in positions]
    player = OfOneHeap(counts.__getitem__)
    for form in (
        player,
        player.move,
        lambda heap: counts[heap],
        functools.partial(operator.getitem, counts),
    ):
        probabilities = checked_policy(form, rules).action_probabilities(positions, masks)
        np.testing.assert_array_equal(probabilities.argmax(axis=1), expected)
        assert (probabilities.sum(axis=1) == 1).all()


@pytest.mark.parametrize("answer", [0, -1, 4, 1.5, "1", None, True])
def test_an_answer_of_a_function_of_one_heap_that_is_not_a_legal_number_is_an_illegal_action(answer):
    rules = NimRules((9,), max_take=3)
    position, mask = np.array([8]), rules.action_mask([8])

    for wrong_at in ([8], [8, 9]):  # the function is first tried with 9, the starting size

        def play(heap, wrong_at=wrong_at):
            return answer if heap in wrong_at else 1

        assert not checked_policy(play, rules).action_probabilities(position, mask).any()
        with pytest.raises(InvalidPolicyOutput):
            checked_player(play, rules).action_probabilities(position, mask)


def test_other_functions_of_one_argument_are_taken_as_before():
    one_heap, two_heaps = NimRules((9,), max_take=3), NimRules((2, 3))
    for function in (lambda heaps: (0, heaps), lambda heaps: heaps[0], lambda heap, mask: heap + mask, list, len):
        assert from_heap_size(one_heap, function) is None
    assert from_heap_size(one_heap, lambda observation, action_mask=None: int(observation)) is None  # noqa: ARG005
    assert from_heap_size(one_heap, abs) is not None
    assert from_heap_size(two_heaps, abs) is None
    assert from_heap_size(one_heap, OfOneHeap) is None


@pytest.mark.parametrize("make", [gym.make, lambda *args, **kwargs: gym.make_vec(*args, num_envs=3, **kwargs)])
def test_an_environment_plays_a_function_of_one_heap(make):
    env = make("SimpleNim-v0", opponent=lambda heap: heap % 5 or 1, first_player="agent")
    env.reset(seed=0)
    heaps = 21
    for take in (1, 2, 3):
        heaps -= take
        heaps -= heaps % 5 or 1
        observation, *_ = env.step(
            np.full(env.action_space.shape, take - 1) if env.action_space.shape else take - 1
        )
        assert (observation == heaps).all()


@given(st.integers(4, 12), seeds)
def test_a_function_of_one_heap_that_draws_is_measured(size, seed):
    rules = NimRules((size,), max_take=3, misere=False)
    generator = np.random.default_rng(seed)

    def play(heap):
        return heap % 4 or int(generator.integers(1, 4))

    positions = rules.all_positions()[1:]
    masks = rules.action_mask(positions)
    for form in (play, SimpleNamespace(getMove=play)):
        frequencies = SampledPolicy(rules, form, 400).action_probabilities(positions, masks)
        expected = ExpertPolicy(rules).action_probabilities(positions, masks)
        np.testing.assert_allclose(frequencies, expected, atol=0.13)
    assert evaluation.mastery(rules, SampledPolicy(rules, play, 2)).champion
