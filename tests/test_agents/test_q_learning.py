"""Q-learning and minimax-Q: updates, one by one and in batches, and the choice of actions."""

import itertools
import math
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from agent_helpers import ConstantGenerator, agent_of, random_batch
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from agents import MinimaxQAgent, QLearningAgent, WinCountAgent

N = 3000  # draws of an action
TOLERANCE = 4 * 0.5 / N**0.5  # four standard deviations of a share


# --- Updates ---------------------------------------------------------------------------------------


def updated_one_by_one(agent, batch, learning_rate):
    """The table after a batch by its definition: targets from the table before, then one update after another."""
    observation, action, reward, next_observation, terminated, mask = batch
    before = {state: agent.q_values(np.array(state)) for state in np.ndindex(3, 4)}
    after = {state: values.copy() for state, values in before.items()}
    for where in range(len(reward)):
        future = 0.0
        if not terminated[where]:
            values = before[tuple(next_observation[where])]
            legal = values if mask is None else values[mask[where] == 1]
            future = max(legal, default=0.0) * (-1 if isinstance(agent, MinimaxQAgent) else 1)
        row, column = after[tuple(observation[where])], action[where]
        row[column] += learning_rate * (reward[where] + 0.9 * future - row[column])
    return after


@pytest.mark.parametrize("table", ["dense", "hash"])
@pytest.mark.parametrize("kind", [QLearningAgent, MinimaxQAgent])
@given(seed=st.integers(0, 2**32 - 1), learning_rate=st.sampled_from([1.0, 0.5, 0.1, 0.0]), masked=st.booleans())
def test_an_update_is_what_its_definition_says(kind, table, seed, learning_rate, masked):
    """In a batch every occurrence of a pair counts, as if its updates were applied one after another."""
    generator = np.random.default_rng(seed)
    agent = agent_of(kind=kind, learning_rate=learning_rate, gamma=0.9, table=table)
    for n in (40, 1, 30, 1):
        batch = random_batch(generator, n, masked)
        expected = updated_one_by_one(agent, batch, learning_rate)
        if n == 1:
            agent.update(*(None if part is None else part[0] for part in batch))
        else:
            agent.update_batch(*batch)
        for state, values in expected.items():
            np.testing.assert_allclose(agent.q_values(np.array(state)), values, rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", [QLearningAgent, MinimaxQAgent])
def test_illegal_values_never_count_however_large(kind):
    agent = agent_of(kind=kind, learning_rate=1.0, gamma=0.9)
    for action, value in enumerate([1e300, -1e300, -1e290]):
        agent.update([0, 0], action, value, [0, 0], True)
    observations, mask = np.zeros((2, 2), int), np.array([[0, 1, 0], [0, 1, 1]])
    assert agent.action_probabilities(observations, mask).argmax(axis=1).tolist() == [1, 2]
    assert agent.act_batch(observations, mask, explore=True)[0] == 1
    expected = (-1 if kind is MinimaxQAgent else 1) * 0.9 * np.array([-1e300, -1e290])
    agent.update_batch(np.ones((2, 2), int), [0, 1], np.zeros(2), observations, np.zeros(2, bool), mask)
    np.testing.assert_allclose(agent.q_values([1, 1])[:2], expected)
    for action in range(2):
        agent.update([2, 2], action, 0.0, observations[action], False, mask[action])
    np.testing.assert_allclose(agent.q_values([2, 2])[:2], expected)


NAMES = {0: "observation", 1: "action", 2: "reward", 5: "action_mask"}
TRANSITION = ([0, 1], 0, 1.0, [1, 1], False, [1, 1, 1])
WRONG = [(0, [9, 9]), (0, [[0, 1], [0, 2]]), (1, 3), (1, -1), (2, math.nan), (5, [1, 1])]


@pytest.mark.parametrize(("part", "value"), [*WRONG, (0, [0.5, 1]), (1, 0.5)])
def test_a_wrong_transition_in_a_batch_changes_nothing(part, value):
    agent = agent_of(table="hash")
    agent.update([0, 1], 1, 1.0, [0, 0], True)
    before = agent.q_values(list(np.ndindex(3, 4)))
    columns = [[each, each] for each in TRANSITION]
    columns[part][1] = value
    with pytest.raises((TypeError, ValueError)):
        agent.update_batch(*columns)
    np.testing.assert_array_equal(agent.q_values(list(np.ndindex(3, 4))), before)


@pytest.mark.parametrize(
    ("kind", "part", "value"),
    [*((QLearningAgent, *wrong) for wrong in WRONG), *((WinCountAgent, *wrong) for wrong in WRONG[:-1])],
)
def test_a_wrong_transition_changes_nothing(kind, part, value):
    agent = agent_of(kind=kind, table="hash")
    agent.update([0, 1], 1, 1.0, [0, 0], True)
    agent.end_episode()
    numbers = agent.counts if kind is WinCountAgent else agent.q_values
    before = numbers(list(np.ndindex(3, 4)))
    with pytest.raises(ValueError, match=NAMES[part]):
        agent.update(*TRANSITION[:part], value, *TRANSITION[part + 1 :])
    np.testing.assert_array_equal(numbers(list(np.ndindex(3, 4))), before)


# --- Acting ---------------------------------------------------------------------------------------


def agent_with(values, **arguments):
    agent = agent_of(spaces.Discrete(2), len(values), learning_rate=1, **arguments)
    for action, value in enumerate(values):
        agent.update(1, action, value, 0, True)
    return agent


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize(
    ("values", "arguments", "mask", "shares"),
    [
        ([0, 1, 0, 0, 7], {"epsilon": 0.5}, [1, 1, 0, 1, 0], [0.5 / 3, 0.5 + 0.5 / 3, 0, 0.5 / 3, 0]),
        ([0, 1, 7], {"epsilon": 1}, [1, 1, 0], [0.5, 0.5, 0]),
        ([2, 0, 2, 2], {"epsilon": 0}, None, [1 / 3, 0, 1 / 3, 1 / 3]),
        ([2, 0, 2, 2], {"epsilon": 0}, [1, 1, 1, 0], [0.5, 0, 0.5, 0]),
        ([0, 2, 2], {"epsilon": 0, "ties": "first"}, None, [0, 1, 0]),
        ([0, 2, 2, 2], {"epsilon": 0.5, "ties": "first"}, [1, 0, 1, 1], [0.5 / 3, 0, 0.5 + 0.5 / 3, 0.5 / 3]),
    ],
)
def test_exploration(values, arguments, mask, shares, batched):
    """Uniform over legal actions with probability ε, else one of the best legal actions."""
    agent = agent_with(values, **arguments)
    if batched:
        actions = agent.act_batch(np.ones(N, int), None if mask is None else np.tile(mask, (N, 1)), explore=True)
    else:
        actions = [agent.act(1, mask, explore=True) for _ in range(N)]
    drawn = np.bincount(actions, minlength=len(values)) / N
    np.testing.assert_allclose(drawn, shares, atol=TOLERANCE)
    assert not drawn[np.array(shares) == 0].any()


def test_without_exploration_the_first_of_the_best_legal_actions():
    agent = agent_with([1, 3, 3, 5], epsilon=1)
    before = agent.generator.bit_generator.state
    assert type(agent.act(1)) is int
    masks = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 1, 0]])
    assert [agent.act(1, mask) for mask in masks] == agent.act_batch([1] * 3, masks).tolist() == [3, 1, 2]
    assert agent.action_probabilities([1] * 3, masks).argmax(axis=1).tolist() == [3, 1, 2]
    assert agent.action_probabilities(1).tolist() == [0, 0, 0, 1]
    probabilities = agent.action_probabilities([[1], [0]], [[[1, 1, 1, 0]], [[0, 0, 1, 1]]])
    assert probabilities.tolist() == [[[0, 1, 0, 0]], [[0, 0, 1, 0]]]
    assert agent.generator.bit_generator.state == before  # nothing was drawn


@pytest.mark.parametrize("kind", [QLearningAgent, MinimaxQAgent])
def test_action_spaces_may_start_anywhere(kind):
    agent = kind(spaces.Discrete(2), spaces.Discrete(3, start=5), learning_rate=1, seed=0)
    agent.update(1, 6, 1.0, 0, True)
    agent.update_batch([0], [7], [1.0], [0], [True])
    assert agent.q_values([1, 0]).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert agent.act(1) == 6
    assert agent.action_probabilities(1).tolist() == [0, 1, 0]
    agent.epsilon = 0.0
    assert agent.act_batch([1, 0], explore=True).tolist() == [6, 7]
    agent.epsilon = 1.0
    assert set(agent.act_batch([0] * 50, explore=True)) == {5, 6, 7}
    assert {agent.act(0, explore=True) for _ in range(50)} == {5, 6, 7}
    with pytest.raises(ValueError, match="4"):
        agent.update(1, 4, 1.0, 0, True)


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
    """Those without a legal action, and those of another shape."""
    agent = agent_of(kind=kind)
    for mask in ([0, 0, 0], [1, 1]):
        for call in (agent.act, partial(agent.act, explore=True), agent.action_probabilities):
            with pytest.raises(ValueError, match=r"action|shape"):
                call([0, 0], mask)
    for mask in ([[1, 1, 1], [0, 0, 0]], [[1, 1], [1, 1]], [[1, 1, 1]] * 3):
        with pytest.raises(ValueError, match=r"action|shape"):
            agent.action_probabilities([[0, 0], [0, 1]], mask)


# --- Arguments -------------------------------------------------------------------------------------


@pytest.mark.parametrize("batched", [False, True])
def test_hyperparameters_may_follow_the_progress(batched):
    agent = agent_of(learning_rate=lambda left: left, gamma=lambda left: 2 * left, epsilon=lambda left: 1 - left)

    def update(*transition):
        if batched:
            agent.update_batch(*([part] for part in transition))
        else:
            agent.update(*transition)

    for column, left in enumerate((0.5, 0.25)):
        agent.progress_remaining = left
        update([0, column], 0, 1.0, [2, 3], True)
        update([1, column], 0, 1.0, [0, column], False)
        assert agent.q_values([[0, column], [1, column]])[:, 0].tolist() == [left, left * (1 + 2 * left * left)]
        if batched:
            actions = agent.act_batch(np.full((N, 2), [0, column]), explore=True)
        else:
            actions = np.array([agent.act([0, column], explore=True) for _ in range(N)])
        assert abs((actions != 0).mean() - (1 - left) * 2 / 3) < TOLERANCE


def test_a_wrong_schedule_changes_nothing():
    agent = agent_of(table="hash", learning_rate=lambda _: 5.0, epsilon=lambda _: math.nan)
    with pytest.raises(ValueError, match=r"learning_rate .*5\.0"):
        agent.update([0, 1], 0, 1.0, [0, 0], True)
    with pytest.raises(ValueError, match=r"learning_rate .*5\.0"):
        agent.update_batch([[0, 1]], [1], [1.0], [[0, 0]], [True])
    for act in (
        partial(agent.act, explore=True),
        lambda observation: agent.act_batch([observation], explore=True),
    ):
        with pytest.raises(ValueError, match=r"epsilon .*nan"):
            act([0, 0])
    assert not agent.table.values.any()


WRONG_ARGUMENTS = {"learning_rate": 1.5, "gamma": "a", "epsilon": math.nan, "ties": "last"}


@pytest.mark.parametrize("name", WRONG_ARGUMENTS)
def test_bad_arguments_are_named(name):
    value = WRONG_ARGUMENTS[name]
    with pytest.raises((ValueError, TypeError), match=f"{name} .*{value}"):
        agent_of(**{name: value})


def test_an_agent_and_an_environment_of_one_seed_draw_apart():
    """Were their numbers the same, an opponent's reply would follow from the agent's move."""
    env = gym.make("nim_env:Nim-v0")
    env.reset(seed=0)
    draws = agent_of(seed=0).generator.random(1_000)
    np.testing.assert_array_equal(draws, agent_of(seed=0).generator.random(1_000))
    assert not np.isin(draws, env.unwrapped.np_random.random(1_000)).any()
