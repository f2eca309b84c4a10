"""Tests the updates of Q-learning and minimax-Q, one by one and in batches, and how they choose actions."""

import itertools
import math
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from agent_helpers import ConstantGenerator, agent_of
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from agents import MinimaxQAgent, QLearningAgent, WinCountAgent

FIRST = 5  # of the three actions
N = 3000  # draws of an action
TOLERANCE = 4 * 0.5 / N**0.5  # four standard deviations of a share


@pytest.mark.parametrize("kind", [QLearningAgent, MinimaxQAgent])
def test_the_defaults_of_q_learning(kind):
    agent = kind(spaces.Discrete(2), spaces.Discrete(3))
    assert (agent.learning_rate, agent.gamma, agent.epsilon, agent.ties) == (0.5, 1.0, 0.1, "random")


# --- Updates ---------------------------------------------------------------------------------------


def random_batch(generator, n, masked, scale, dtype):
    """Returns random transitions, in which the same observation and action occur several times."""
    return (
        generator.integers([3, 4], size=(n, 2)),
        generator.integers(3, size=n) + FIRST,
        generator.normal(scale=scale, size=n),
        generator.integers([3, 4], size=(n, 2)),
        (generator.random(n) < 0.3).astype(dtype),
        (generator.random((n, 3)) < 0.7).astype(np.int8) if masked else None,
    )


def updated_one_by_one(agent, batch, learning_rate, gamma):
    """Returns the values after a batch. All targets come from the old values, and the updates follow in turn."""
    observation, action, reward, next_observation, terminated, mask = batch
    before = {state: agent.q_values(np.array(state)) for state in np.ndindex(3, 4)}
    after = {state: values.copy() for state, values in before.items()}
    for where in range(len(reward)):
        future = 0.0
        if not terminated[where]:
            values = before[tuple(next_observation[where])]
            legal = values if mask is None else values[mask[where] == 1]
            future = max(legal, default=0.0) * (-1 if isinstance(agent, MinimaxQAgent) else 1)
        row, column = after[tuple(observation[where])], action[where] - FIRST
        row[column] += learning_rate * (reward[where] + gamma * future - row[column])
    return after


@pytest.mark.parametrize("table", ["dense", "hash"])
@pytest.mark.parametrize("kind", [QLearningAgent, MinimaxQAgent])
@given(
    seed=st.integers(0, 2**32 - 1),
    masked=st.booleans(),
    scale=st.sampled_from([1.0, 1e300]),
    dtype=st.sampled_from([np.bool_, np.uint8, np.int64, np.float32]),
)
def test_an_update_is_what_its_definition_says(kind, table, seed, masked, scale, dtype):
    """Updates follow their definition, also for large values and for schedules of the learning rate and discount.

    In a batch, each occurrence of an observation and an action is an update, one after another. ``terminated`` can
    be 0 or 1, as replay buffers store it.
    """
    generator = np.random.default_rng(seed)
    rates = {"learning_rate": lambda left: left, "gamma": lambda left: 1 - left / 2}
    agent = agent_of(kind=kind, start=FIRST, table=table, **rates)
    for n in (40, 1, 30, 1):
        agent.progress_remaining = left = generator.choice([1.0, 0.5, 0.1, 0.0])
        batch = random_batch(generator, n, masked, scale, dtype)
        expected = updated_one_by_one(agent, batch, left, 1 - left / 2)
        if n == 1:
            agent.update(*(None if part is None else part[0] for part in batch))
        else:
            agent.update_batch(*batch)
        for state, values in expected.items():
            np.testing.assert_allclose(agent.q_values(np.array(state)), values, rtol=0, atol=1e-14 * scale)


TRANSITION = ([0, 1], FIRST, 1.0, [1, 1], False, [1, 1, 1])
WRONG = [(0, [9, 9]), (0, [[0, 1]]), (1, FIRST + 3), (1, FIRST - 1), (2, math.nan), (5, [1, 1])]


@pytest.mark.parametrize("kind", [QLearningAgent, WinCountAgent])
@pytest.mark.parametrize(("part", "value"), [*WRONG, (0, [0.5, 1]), (1, 0.5)])
def test_a_wrong_transition_changes_nothing(kind, part, value):
    """A wrong transition raises an error, alone or in a batch. Win counting does not read the next mask."""
    agent = agent_of(kind=kind, start=FIRST, table="hash")
    agent.update([0, 1], FIRST + 1, 1.0, [0, 0], True)
    agent.end_episode()
    numbers = agent.counts if kind is WinCountAgent else agent.q_values
    before = numbers(list(np.ndindex(3, 4)))
    wrong = (*TRANSITION[:part], value, *TRANSITION[part + 1 :])
    if kind is QLearningAgent:
        with pytest.raises((TypeError, ValueError)):
            agent.update_batch(*zip(TRANSITION, wrong, strict=True))
    if kind is QLearningAgent or part < 5:
        with pytest.raises((TypeError, ValueError)):
            agent.update(*wrong)
    np.testing.assert_array_equal(numbers(list(np.ndindex(3, 4))), before)


@pytest.mark.parametrize("action", [FIRST - 1, FIRST + 3, 2**40, 5.5])
def test_a_batch_names_the_actions_that_are_none(action):
    with pytest.raises((TypeError, ValueError), match=rf"actions .*{action}"):
        agent_of(start=FIRST).update_batch([[0, 1]] * 2, [FIRST, action], [1.0] * 2, [[0, 0]] * 2, [True] * 2)


# --- Acting ---------------------------------------------------------------------------------------


def agent_with(values, epsilon, ties="random"):
    """Returns an agent that has these values at the observation 1. Its ε is a function of the progress."""
    rates = {"learning_rate": 1, "epsilon": lambda left: 1 - left}
    agent = agent_of(spaces.Discrete(2), len(values), start=FIRST, ties=ties, **rates)
    agent.progress_remaining = 1 - epsilon
    for action, value in enumerate(values, start=FIRST):
        agent.update(1, action, value, 0, True)
    return agent


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize(
    ("values", "epsilon", "ties", "mask", "shares"),
    [
        ([0, 1, 0, 0, 7], 0.5, "random", [1, 1, 0, 1, 0], [0.5 / 3, 0.5 + 0.5 / 3, 0, 0.5 / 3, 0]),
        ([0, 1, 7], 1, "random", [1, 1, 0], [0.5, 0.5, 0]),
        ([2, 0, 2, 2], 0, "random", None, [1 / 3, 0, 1 / 3, 1 / 3]),
        ([2, 0, 2, 2], 0, "random", [1, 1, 1, 0], [0.5, 0, 0.5, 0]),
        ([0, 2, 2], 0, "first", None, [0, 1, 0]),
        ([0, 2, 2, 2], 0.5, "first", [1, 0, 1, 1], [0.5 / 3, 0, 0.5 + 0.5 / 3, 0.5 / 3]),
    ],
)
def test_exploration(values, epsilon, ties, mask, shares, batched):
    """With probability ε the action is a uniformly random legal one, and otherwise one of the best legal ones."""
    agent = agent_with(values, epsilon, ties)
    if batched:
        actions = agent.act_batch(np.ones(N, int), None if mask is None else np.tile(mask, (N, 1)), explore=True)
    else:
        actions = np.array([agent.act(1, mask, explore=True) for _ in range(N)])
    drawn = np.bincount(actions - FIRST, minlength=len(values)) / N
    np.testing.assert_allclose(drawn, shares, atol=TOLERANCE)
    assert not drawn[np.array(shares) == 0].any()


def test_without_exploration_the_first_of_the_best_legal_actions():
    agent = agent_with([1e300, 3e300, 3e300, 5e300], epsilon=1)
    before = agent.generator.bit_generator.state
    assert type(agent.act(1)) is int
    masks = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 1, 0]])
    assert [agent.act(1, mask) for mask in masks] == agent.act_batch([1] * 3, masks).tolist() == [8, 6, 7]
    assert agent.action_probabilities([1] * 3, masks).argmax(axis=1).tolist() == [3, 1, 2]
    assert agent.action_probabilities(1).tolist() == [0, 0, 0, 1]
    probabilities = agent.action_probabilities([[1], [0]], [[[1, 1, 1, 0]], [[0, 0, 1, 1]]])
    assert probabilities.tolist() == [[[0, 1, 0, 0]], [[0, 0, 1, 0]]]
    assert agent.generator.bit_generator.state == before  # nothing was drawn


@pytest.mark.parametrize("uniform", [0.0, np.nextafter(1, 0)])
def test_no_rounding_draws_an_illegal_action(uniform):
    for n, epsilon in itertools.product((1, 3, 1000), (1, 0)):  # a random action, and a random one of the best
        mask = np.zeros((3, 2 * n))
        mask[0, :n] = mask[1, n:] = mask[2, ::2] = 1
        agent = agent_of(spaces.Discrete(3), 2 * n, epsilon=epsilon)
        agent.generator = ConstantGenerator(uniform)
        batch = agent.act_batch(np.arange(3), mask, explore=True)
        assert batch.tolist() == ([0, n, 0] if uniform == 0 else [n - 1, 2 * n - 1, 2 * n - 2])
        assert all(mask[index, agent.act(index, mask[index], explore=True)] for index in range(3))


@pytest.mark.parametrize("kind", [QLearningAgent, WinCountAgent])
def test_wrong_masks_are_refused(kind):
    """A mask must have a legal action and the right shape."""
    agent = agent_of(kind=kind)
    for mask in ([0, 0, 0], [1, 1]):
        for call in (agent.act, partial(agent.act, explore=True), agent.action_probabilities):
            with pytest.raises(ValueError, match=r"action|shape"):
                call([0, 0], mask)
    for mask in ([[1, 1, 1], [0, 0, 0]], [[1, 1], [1, 1]], [[1, 1, 1]] * 3):
        with pytest.raises(ValueError, match=r"action|shape"):
            agent.action_probabilities([[0, 0], [0, 1]], mask)


# --- Arguments -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (QLearningAgent, "learning_rate", 1.5),
        (QLearningAgent, "gamma", "a"),
        (QLearningAgent, "epsilon", math.nan),
        (QLearningAgent, "ties", "last"),
        (WinCountAgent, "cutoff", 0),
    ],
)
def test_bad_arguments_are_named(kind, name, value):
    with pytest.raises((ValueError, TypeError), match=f"{name} .*{value}"):
        agent_of(kind=kind, **{name: value})


def test_a_wrong_schedule_changes_nothing():
    agent = agent_of(learning_rate=lambda _: 5.0, epsilon=lambda _: math.nan)
    for call in (
        lambda: agent.update([0, 1], 0, 1.0, [0, 0], True),
        lambda: agent.update_batch([[0, 1]], [1], [1.0], [[0, 0]], [True]),
        lambda: agent.act([0, 0], explore=True),
        lambda: agent.act_batch([[0, 0]], explore=True),
    ):
        with pytest.raises(ValueError, match=r"learning_rate .*5\.0|epsilon .*nan"):
            call()
    assert not agent.table.values.any()


def test_an_agent_and_an_environment_of_one_seed_draw_apart():
    """If both drew the same random numbers, the agent's moves would determine the opponent's replies."""
    env = gym.make("nim_env:Nim-v0")
    env.reset(seed=0)
    draws = agent_of(seed=0).generator.random(1_000)
    np.testing.assert_array_equal(draws, agent_of(seed=0).generator.random(1_000))
    assert not np.isin(draws, env.unwrapped.np_random.random(1_000)).any()
