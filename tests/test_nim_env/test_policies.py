"""Every policy's distribution, and what is done with custom policies."""

import re
from dataclasses import asdict
from fractions import Fraction

import gymnasium as gym
import numpy as np
import pytest
from agent_helpers import ConstantGenerator
from configurations import SIMPLE
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from strategies import few_examples, seeds
from strategies import rules as any_rules
from table_policies import random_table

import agents
from nim_env import (
    EncodedPolicy,
    ExpertPolicy,
    MixturePolicy,
    NimRules,
    RandomPolicy,
    TabularPolicy,
    TakePolicy,
    evaluation,
    solver,
    theory,
)
from nim_env.policies import (
    InvalidPolicyOutput,
    Player,
    SampledPolicy,
    batched,
    checked_player,
    checked_policy,
    from_moves,
    q_values_of,
    sample,
    tabulate,
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


# --- The built-in policies ------------------------------------------------------------------------


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
        probabilities = policy.action_probabilities(positions, mask)
        np.testing.assert_allclose(probabilities, support / np.sum(support, axis=1, keepdims=True))
        alone = policy.action_probabilities(positions[-1].tolist(), mask[-1].tolist())
        np.testing.assert_array_equal(alone, probabilities[-1])
        reshaped = policy.action_probabilities(positions[:, None], mask[:, None])
        np.testing.assert_array_equal(reshaped, probabilities[:, None])


# --- Names, policies and callables ----------------------------------------------------------------


def test_names_and_policies():
    named = {"random": RandomPolicy(), "expert": ExpertPolicy(SIMPLE), "take-12": TakePolicy(SIMPLE, 12)}
    for name, policy in named.items():
        assert checked_policy(name, SIMPLE) == policy
        assert checked_policy(policy, SIMPLE) is policy
    for name in ("take-0", "take-", "take--1", "take-1.5", "grandmaster", "", "Random", "take-٣"):
        with pytest.raises(ValueError, match=f"opponent.*'{name}'"):
            checked_policy(name, SIMPLE, "opponent")
    for other in (None, 3, Discrete(3), RandomPolicy, TabularPolicy):  # a class in place of an instance
        with pytest.raises(TypeError, match=r"opponent.*ModelPolicy"):
            checked_policy(other, SIMPLE, "opponent")
    for n in (0, 3.0):
        with pytest.raises((ValueError, TypeError), match=f"n .*{n}"):
            TakePolicy(SIMPLE, n)
    assert {TakePolicy(SIMPLE, np.array(3)), TakePolicy(SIMPLE, np.int8(3))} == {TakePolicy(SIMPLE, 3)}


def test_policies_of_another_game_are_refused():
    other = NimRules((21,), 3, misere=True)
    for policy in (ExpertPolicy(other), TakePolicy(other, 2), tabulate(other, "random"), MixturePolicy(other)):
        with pytest.raises(ValueError, match=f"opponent.*{other}.*{SIMPLE}"):
            checked_policy(policy, SIMPLE, "opponent")
        with pytest.raises(ValueError, match=f"{other}.*{SIMPLE}"):
            MixturePolicy(SIMPLE, [policy])
        with pytest.raises(ValueError, match=f"opponent.*{other}.*{SIMPLE}"):
            evaluation.win_probability(SIMPLE, "random", Player(policy, "lose"))


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


def test_callables_on_one_position_and_on_batches():
    shapes = []

    def one(observation, action_mask):
        action = np.flatnonzero(action_mask)[-1]
        shapes.append((observation.shape, action_mask.shape))
        observation[:], action_mask[:] = 9, 0  # it gets copies
        return action

    def many(observations, action_masks):
        shapes.append((observations.shape, action_masks.shape))
        actions = [np.flatnonzero(mask)[-1] for mask in action_masks]
        observations[:], action_masks[:] = 9, 0
        return actions

    rules = NimRules((2, 3))
    positions = rules.all_positions()[-6:].reshape(2, 3, 2)
    mask = rules.action_mask(positions)
    expected = np.eye(5)[4 - mask[..., ::-1].argmax(axis=-1)]
    for function in (one, batched(many)):
        policy = checked_policy(function, rules)
        np.testing.assert_array_equal(policy.action_probabilities(positions, mask), expected)
        assert policy.action_probabilities([1, 3], [1, 0, 1, 1, 1]).tolist() == [0, 0, 0, 0, 1]
    assert shapes == [((2,), (5,))] * 7 + [((6, 2), (6, 5)), ((1, 2), (1, 5))]


@pytest.mark.parametrize("answer", [0, [0], [[0]] * 21, [0] * 20, [0.0] * 21, [True] * 21, [None] * 21], ids=str)
def test_a_batched_function_returns_one_action_for_each_position(answer):
    with pytest.raises(InvalidPolicyOutput, match="lambda"):
        Player(batched(lambda *_: answer), "raise").query(*unfinished(SIMPLE))


# --- Functions at the door ------------------------------------------------------------------------


@few_examples
@given(any_rules, seeds)
def test_pairs_and_actions_are_the_same_player(rules, seed):
    """A function that returns pairs, one that returns actions and a batched one."""
    table = random_table(rules, seed, deterministic=True).probabilities
    chosen = table.argmax(axis=1)

    def pair(heaps):
        assert type(heaps) is list
        return rules.moves[chosen[rules.index(heaps)]]

    def action(heaps, mask):  # noqa: ARG001
        return chosen[rules.index(heaps)]

    for player in (from_moves(rules, pair), action, batched(action)):
        np.testing.assert_array_equal(tabulate(rules, player).probabilities, table)


@few_examples
@given(any_rules, seeds)
def test_q_values_of_a_dictionary(rules, seed):
    expected = np.random.default_rng(seed).random((rules.n_positions, rules.n_actions)) * rules.action_mask(
        rules.all_positions()
    )
    pairs = np.argwhere(expected)
    table = {
        (tuple(rules.from_index(index).tolist()), rules.moves[action]): expected[index, action]
        for index, action in pairs.tolist()
    }
    np.testing.assert_array_equal(q_values_of(rules, table), expected)


@pytest.mark.parametrize(
    "key", [((1, 4), (0, 1)), ((1, 2), (0, 2)), ((1, 2, 3), (0, 1)), (1, 2), 5, ((1, 2), 0)], ids=str
)
def test_keys_that_are_no_pairs_are_named(key):
    with pytest.raises((ValueError, TypeError), match=re.escape(repr(key))):
        q_values_of(NimRules((1, 2)), {((1, 2), (0, 1)): 1.0, key: 0.5})


def drawing(rules, generator):
    """The same random player in all forms."""

    def draw(heaps, mask):  # noqa: ARG001
        return generator.choice(np.flatnonzero(mask))

    class DrawingAgent(agents.Agent):
        def act(self, observation, action_mask=None, explore=False):  # noqa: ARG002
            return draw(observation, action_mask)

        def update(self, *transition):
            raise NotImplementedError

    class DrawingPolicy:
        def action_probabilities(self, observation, action_mask):  # noqa: ARG002
            weights = generator.random(action_mask.shape) * action_mask
            return weights / weights.sum(axis=-1, keepdims=True)

    encoding = gym.make("nim_env:Nim-v0", **asdict(rules), observation="one_hot").unwrapped.encoding
    return {
        "function": draw,
        "batch": batched(lambda heaps, masks: [draw(*pair) for pair in zip(heaps, masks, strict=True)]),
        "pairs": from_moves(rules, lambda heaps: tuple(generator.choice(rules.legal_moves(heaps)))),
        "encoded": EncodedPolicy(draw, encoding),
        "mixture": MixturePolicy(rules, ["expert", draw]),
        "agent": DrawingAgent(MultiDiscrete(rules.shape), Discrete(rules.n_actions)),
        "policy": DrawingPolicy(),
        "player": Player(DrawingPolicy(), "lose"),
    }


FORMS = ["function", "batch", "pairs", "encoded", "agent"]


@pytest.mark.parametrize("form", [*FORMS, "mixture", "policy", "player"])
def test_chance_is_not_measured_as_if_it_were_none(form):
    rules = NimRules((1, 2, 3))
    player = drawing(rules, np.random.default_rng(0))[form]
    exact = [
        evaluation.mastery,
        evaluation.exploitability,
        evaluation.report,
        solver.best_response,
        tabulate,
        lambda rules, player: evaluation.win_probability(rules, "random", player),
        lambda rules, player: evaluation.payoff_matrix(rules, [player]),
    ]
    for function in exact:
        with pytest.raises(InvalidPolicyOutput, match=r"then .*SampledPolicy"):
            function(rules, player)
    # as an opponent and in sampled games it may draw
    evaluation.play_match(rules, player, player, games=50, seed=0)
    env = gym.make("nim_env:Nim-v0", heaps=rules.heaps, opponent=getattr(player, "policy", player))
    for seed in range(5):
        env.reset(seed=seed)


def test_two_answers_that_differ_by_rounding_are_the_same():
    """As those of a network, whose sums a processor may order in two ways."""
    answers = iter([[0.5, 0.5, 0], [0.5 - 1e-7, 0.5 + 1e-7, 0]])
    policy = Returns(None)
    policy.action_probabilities = lambda *_: next(answers)
    moves = Player(policy, "raise").query(np.array([2]), np.array([1, 1, 0], np.int8), twice=True)
    assert moves.probabilities.tolist() == [0.5, 0.5, 0]


@pytest.mark.parametrize("form", FORMS)
def test_frequencies_of_a_player_that_draws(form):
    """Binomial bounds around the distribution of the player: five standard errors."""
    rules = NimRules((1, 2, 3))
    player = SampledPolicy(drawing(rules, np.random.default_rng(1))[form], 200)
    positions, mask = unfinished(rules)
    expected = RandomPolicy().action_probabilities(positions, mask)
    found = player.action_probabilities(positions, mask)
    assert (abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / 200)).all()
    assert abs(evaluation.mastery(rules, player).expert - evaluation.mastery(rules, "random").expert) < 0.05


def test_a_player_that_draws_is_measured_by_n_answers_on_its_own_game():
    rules, asked = NimRules((1, 2)), []

    def choose(heaps):
        asked.append(heaps)
        return next((heap, 1) for heap, size in enumerate(heaps) if size)

    player = SampledPolicy(from_moves(rules, choose), 7)
    assert (player.rules, player.n) == (rules, 7)
    player.action_probabilities([0, 2], rules.action_mask([0, 2]))
    assert len(asked) == 7
    with pytest.raises(ValueError, match="2"):
        evaluation.mastery(NimRules((1, 3)), player)


NONSENSE = [None, -1, -99, 99, 2**63, 1.0, np.nan, "take 3", True, np.True_, [0], np.array([0]), (0, None)]
NONSENSE += [(0, 9), (0, 1, 2), (5, 1), []]


@pytest.mark.parametrize("answer", NONSENSE, ids=str)
def test_every_kind_of_nonsense_loses(answer):
    """In each form of a function, wherever the heaps sum to an even number; else the player is an expert."""
    rules = NimRules((1, 2, 3))
    positions, mask = unfinished(rules)
    right = np.append(0, ExpertPolicy(rules).support(positions, mask).argmax(axis=1))  # by index

    def action(heaps, mask):  # noqa: ARG001
        return answer if sum(heaps) % 2 == 0 else right[rules.index(heaps)]

    def pair(heaps):
        return answer if sum(heaps) % 2 == 0 else rules.moves[right[rules.index(heaps)]]

    loses = positions.sum(axis=1) % 2 == 0
    expected = np.eye(rules.n_actions)[right[1:]] * ~loses[:, None]
    encoding = gym.make("nim_env:Nim-v0", heaps=rules.heaps).unwrapped.encoding
    batch = batched(lambda heaps, masks: [action(*both) for both in zip(heaps, masks, strict=True)])
    players = [action, batch, from_moves(rules, pair), EncodedPolicy(action, encoding)]
    players += [SampledPolicy(action, 3), MixturePolicy(rules, [action])]
    if type(answer) is int and answer < 100:
        players.append(batched(lambda heaps, masks: np.array(batch.function(heaps, masks))))
    for player in players:
        moves = checked_player(player, rules, "lose").query(positions, mask)
        np.testing.assert_array_equal(moves.probabilities, expected)
        np.testing.assert_array_equal(moves.illegal, loses)
        report = evaluation.report(rules, player, illegal_action="lose")
        assert report.illegal_action == loses.mean()
        assert evaluation.report(rules, Player(checked_policy(player, rules), "lose")) == report
        if not isinstance(player, SampledPolicy):
            with pytest.raises(InvalidPolicyOutput, match=rf"{re.escape(repr(answer))}.*\[0, 0, 2\]"):
                evaluation.mastery(rules, player)


def as_batches(choose):
    return batched(lambda heaps, masks: np.array([choose(*pair) for pair in zip(heaps, masks, strict=True)]))


@pytest.mark.parametrize("form", [lambda choose: choose, as_batches])
def test_a_player_that_counts_actions_from_1(form):
    """Its number of the last action is none of ours."""
    rules = NimRules((1, 2, 3))
    player = form(lambda heaps, mask: np.flatnonzero(mask)[-1] + 1)  # noqa: ARG005
    is_last = rules.action_mask(rules.all_positions())[:, -1] == 1
    found = evaluation.mastery(rules, player, illegal_action="lose")
    assert (found.illegal_action[is_last] == 1).all()
    with pytest.raises(InvalidPolicyOutput, match=r"4.*\[0, 0, 1\]"):
        evaluation.mastery(rules, player)


# --- Who decides what an illegal action does ------------------------------------------------------


def figures(player, **option):
    """One of each function that takes ``illegal_action``, as a thunk."""
    return {
        "mastery": lambda: evaluation.mastery(SIMPLE, player, **option).expert,
        "exploitability": lambda: evaluation.exploitability(SIMPLE, player, **option),
        "report": lambda: evaluation.report(SIMPLE, player, **option),
        "win_probability": lambda: evaluation.win_probability(SIMPLE, player, "random", **option),
        "opponent": lambda: evaluation.win_probability(SIMPLE, "random", player, **option),
        "payoff_matrix": lambda: evaluation.payoff_matrix(SIMPLE, ["random"], [player], **option).tolist(),
        "play_match": lambda: evaluation.play_match(SIMPLE, player, player, 50, seed=0, **option),
        "best_response": lambda: solver.best_response(SIMPLE, player, **option).table.tolist(),
        "tabulate": lambda: tabulate(SIMPLE, player, **option).probabilities.tolist(),
    }


@pytest.mark.parametrize("name", figures(None))
def test_a_player_says_what_its_illegal_actions_do(name):
    for policy in (random_table(SIMPLE, 3, illegal=True), batched(lambda _, masks: [1] * len(masks))):
        with pytest.raises(InvalidPolicyOutput):
            figures(policy)[name]()
        expected = figures(policy, illegal_action="lose")[name]()
        for option in ({}, {"illegal_action": "lose"}):
            assert figures(Player(policy, "lose"), **option)[name]() == expected
        for own, other in (("lose", "raise"), ("raise", "lose"), ("raise", "loose")):
            with pytest.raises(ValueError, match=f"illegal_action.*{own}.*{other}"):
                figures(Player(policy, own), illegal_action=other)[name]()
        with pytest.raises(ValueError, match=r"illegal_action.*loose"):
            figures(policy, illegal_action="loose")[name]()


# --- The output of a policy -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "output",
    [
        [1.5, -0.5, 0],
        [float("nan"), 1, 0],
        [float("inf"), 0, 0],
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
    position, mask = np.array([2]), np.array([1, 1, 0], np.int8)
    with pytest.raises(InvalidPolicyOutput, match=r"Returns.*\[2\]"):
        Player(Returns(output), "raise").query(position, mask)
    for accepted in ([1, 0, 0], np.array([False, True, False]), np.array([0.5 - 4e-6, 0.5 - 4e-6, 0], np.float32)):
        for illegal_action in ("raise", "lose"):
            found, illegal = Player(Returns(accepted), illegal_action).query(position, mask)
            assert found.dtype == np.float64
            np.testing.assert_allclose(found, accepted, rtol=1e-5)
            assert illegal == 0


def test_a_small_probability_of_an_illegal_action_counts():
    moves = Player(Returns([1 - 1e-6, 0, 1e-6]), "lose").query(np.array([2]), np.array([1, 1, 0], np.int8))
    np.testing.assert_allclose(moves.illegal, 1e-6)
    np.testing.assert_allclose(moves.probabilities, [1 - 1e-6, 0, 0])
    with pytest.raises(InvalidPolicyOutput, match="above 1"):
        Player(Returns([0.5, 1, 0]), "lose").query(np.array([2]), np.array([1, 1, 0], np.int8))


# --- Tables ---------------------------------------------------------------------------------------


@few_examples
@given(any_rules, seeds)
def test_a_table_returns_copies_of_its_rows(rules, seed):
    table = np.random.default_rng(seed).random((rules.n_positions, rules.n_actions))
    policy, expected = TabularPolicy(rules, table), table.copy()
    positions = rules.all_positions()
    for index in (slice(None), np.arange(len(positions))[:, None], -1):
        found = policy.action_probabilities(positions[index])
        np.testing.assert_array_equal(found, expected[index])
        found[:] = -1
    np.testing.assert_array_equal(policy.probabilities, expected)
    table[:] = 0
    np.testing.assert_array_equal(policy.action_probabilities(positions), expected)
    with pytest.raises(ValueError, match="read-only"):
        policy.probabilities[0] = 0
    for shape in ((rules.n_positions, rules.n_actions + 1), (rules.n_positions - 1, rules.n_actions), (1,)):
        with pytest.raises(ValueError, match="probabilities"):
            TabularPolicy(rules, np.zeros(shape))


def test_a_tabulated_policy_is_a_copy():
    rules = NimRules((3, 4), max_take=2)
    pool = MixturePolicy(rules, [random_table(rules, 0)])
    expected, positions = pool.policies[0].probabilities, rules.all_positions()
    copy, exact = tabulate(rules, pool), tabulate(rules, pool, np.float64)
    pool.add("random")
    np.testing.assert_allclose(copy.action_probabilities(positions[1:]), expected[1:], atol=1e-7)
    np.testing.assert_array_equal(exact.action_probabilities(positions[1:]), expected[1:])
    assert copy.probabilities.dtype == np.float32
    with pytest.raises(ValueError, match="50,000,000"):
        tabulate(NimRules((60, 60, 60, 60)), "random")


# --- Mixtures -------------------------------------------------------------------------------------


@few_examples
@given(any_rules, seeds, st.lists(st.sampled_from([0, 1e-300, 0.5, 2, 1e308]), min_size=1, max_size=4).filter(any))
def test_a_mixture_is_the_weighted_mean(rules, seed, weights):
    members = [random_table(rules, seed + member) for member in range(len(weights))]
    positions, mask = unfinished(rules)
    for mixture, given_weights in (
        (MixturePolicy(rules, members, weights=weights), weights),
        (MixturePolicy(rules, members), [1] * len(members)),
    ):
        shares = [Fraction(weight) / sum(map(Fraction, given_weights)) for weight in given_weights]
        pairs = zip(shares, members, strict=True)
        expected = sum(float(share) * member.probabilities[1:] for share, member in pairs)
        queried = Player(mixture, "raise").query(positions, mask).probabilities
        np.testing.assert_allclose(queried, expected, atol=1e-12)
        np.testing.assert_allclose(mixture.action_probabilities(positions[-1], mask[-1]), expected[-1], atol=1e-12)


def test_members():
    rules = NimRules()
    pool = MixturePolicy(rules, ["random", "take-1", "take-2"], max_size=2)
    assert pool.policies == [TakePolicy(rules, 1), TakePolicy(rules, 2)]
    pool.add("take-3", weight=2.5)
    assert pool.policies == [TakePolicy(rules, 2), TakePolicy(rules, 3)]  # the oldest left
    assert pool.weights == [1.0, 2.5]
    pool.add(Returns(None), weight=0)  # never queried
    assert pool.policies[0] == TakePolicy(rules, 3)
    heaps, mask = np.array(rules.heaps), rules.action_mask(rules.heaps)
    np.testing.assert_array_equal(
        pool.action_probabilities(heaps, mask), TakePolicy(rules, 3).action_probabilities(heaps, mask)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_size": 0}, "max_size.*0"),
        ({"max_size": 2.0}, "max_size.*2.0"),
        ({"policies": ["best"]}, "policy.*'best'"),
        ({"policies": ["random"], "weights": [-1]}, "weight.*-1"),
        ({"policies": ["random"], "weights": [np.nan]}, "weight.*nan"),
        ({"policies": ["random"], "weights": [np.inf]}, "weight.*inf"),
        ({"policies": ["random"], "weights": [1, 2]}, "weights.*2"),
    ],
    ids=str,
)
def test_bad_mixtures(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        MixturePolicy(NimRules(), **arguments)
    for mixture in (MixturePolicy(SIMPLE), MixturePolicy(SIMPLE, ["random"], weights=[0])):
        with pytest.raises(ValueError, match="weight"):
            mixture.action_probabilities((5,), (1, 1, 1))


def test_a_row_of_the_wrong_shape_is_not_broadcast():
    rules = NimRules((2, 2))
    positions, mask = unfinished(rules)
    with pytest.raises(InvalidPolicyOutput, match="Returns"):
        MixturePolicy(rules, ["random", Returns(mask[-1] / 4)]).action_probabilities(positions, mask)


# --- Sampling -------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0.0, np.nextafter(1, 0)])
@pytest.mark.parametrize(
    "row",
    [[0, 0.1, 0.9, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1 / 3, 1 / 3, 1 / 3], [0, 1e-9, 1 - 1e-9, 0]],
    ids=str,
)
def test_sampling_never_yields_an_action_of_probability_0(row, number):
    assert row[int(sample(np.array(row), ConstantGenerator(number)))] > 0


def test_samples_follow_the_weights():
    weights = np.array([[0, 1, 2, 0, 3.0], [1, 0, 0, 0, 0], [1, 3, 1, 4, 1]])
    drawn = sample(np.tile(weights, (5_000, 1)), np.random.default_rng(0))
    for row, expected in enumerate(weights):
        counts, possible = np.bincount(drawn[row::3], minlength=5), expected > 0
        assert not counts[~possible].any()
        if row != 1:
            frequencies = 5_000 * expected[possible] / expected.sum()
            assert chisquare(counts[possible], frequencies).pvalue > 0.001
