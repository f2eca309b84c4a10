"""Q-learning: one update, batches of updates, and the choice of actions."""

import itertools
import math

import gymnasium as gym
import numpy as np
import pytest
from agent_helpers import ACTIONS, SMALL, STATES, ConstantGenerator, agent_of, random_batch
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from agents import MinimaxQAgent, QLearningAgent, WinCountAgent


def batch_agent(kind=QLearningAgent, **arguments):
    return kind(STATES, ACTIONS, seed=0, **{"gamma": 0.9, **arguments})


# --- One update -----------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(-1, 1)), max_size=8), st.floats(-1, 1), st.floats(0, 1))
def test_the_update_is_old_plus_alpha_times_the_error(future, reward, learning_rate):
    agent = agent_of(learning_rate=1, gamma=1)
    for action, value in future:
        agent.update([0, 1], action, value, [0, 0], True)
    agent.update([1, 1], 2, 0.25, [0, 0], True)
    agent.learning_rate = learning_rate
    best_future = max(agent.q_values([0, 1]).tolist())
    agent.update([1, 1], 2, reward, [0, 1], False)
    assert agent.q_values([1, 1])[2] == pytest.approx(
        0.25 + learning_rate * ((reward + best_future) - 0.25), abs=1e-12
    )
    assert agent.q_values([1, 1])[:2].tolist() == [0, 0]


def test_the_future_is_the_best_of_the_legal_actions():
    agent = agent_of(n=4, learning_rate=1)
    for action, value in enumerate([-0.5, -0.25, 0.75]):  # the last action, never updated, counts 0
        agent.update([0, 1], action, value, [0, 0], True)
    for mask, future in (
        (None, 0.75),
        ([1, 1, 1, 1], 0.75),
        (np.array([1, 1, 0, 0], np.int8), -0.25),
        ([1, 0, 0, 0], -0.5),
        ([1, 1, 0, 1], 0),
        ([0, 0, 0, 0], 0),  # nothing to do there: no future
    ):
        agent.update([1, 1], 0, 0.0, [0, 1], False, mask)
        assert agent.q_values([1, 1])[0] == future


def test_the_end_has_no_future_and_the_discount_counts():
    agent = agent_of(learning_rate=1, gamma=0.5)
    agent.update([0, 1], 0, 8.0, [0, 0], True)
    agent.update([1, 1], 0, 1.0, [0, 1], False)
    assert agent.q_values([1, 1])[0] == 5
    agent.update([1, 1], 0, 1.0, [0, 1], True)
    assert agent.q_values([1, 1])[0] == 1


TRANSITION = ([0, 1], 0, 1.0, [1, 1], False, [1, 1, 1])
BATCH = ([[0, 1], [0, 2]], [0, 1], [1.0, 2.0], [[1, 1], [2, 1]], [False, False], [[1, 1, 1], [1, 1, 1]])


WRONG = [
    (TRANSITION, 0, [9, 9], ValueError, "observation .9, 9"),
    (TRANSITION, 1, 3, ValueError, "action 3"),
    (TRANSITION, 1, -1, ValueError, "action -1"),
    (TRANSITION, 1, 1.0, TypeError, r"action .*1\.0"),
    (TRANSITION, 1, True, TypeError, "action .*True"),
    (TRANSITION, 2, math.nan, ValueError, "reward .*nan"),
    (TRANSITION, 2, None, TypeError, "reward .*None"),
    (TRANSITION, 2, "much", TypeError, "reward .*much"),
    (TRANSITION, 3, [9, 9], ValueError, "observation .9, 9"),
    (TRANSITION, 5, [1, 1], ValueError, r"next_action_mask .*\(2,\)"),
    (BATCH, 0, [[0, 1], [9, 2]], ValueError, "observation .*9, 2"),
    (BATCH, 0, [[0, 1]], ValueError, r"observation .*\(1, 2\)"),
    (BATCH, 1, [0, 7], ValueError, "action .*7"),
    (BATCH, 1, [0, -1], ValueError, "action .*-1"),
    (BATCH, 1, [0, 1.5], TypeError, "action .*1.5"),
    (BATCH, 2, 1.0, ValueError, r"reward .*\(\)"),
    (BATCH, 2, [1.0, 1e301], ValueError, "reward .*301"),
    (BATCH, 3, [[1, 1], [2, 9]], ValueError, "observation .*2, 9"),
    (BATCH, 4, [False], ValueError, r"terminated .*\(1,\)"),
    (BATCH, 4, ["no", "yes"], TypeError, "terminated .*yes"),
    (BATCH, 5, [1, 1, 1], ValueError, r"next_action_mask .*\(3,\)"),
]


@pytest.mark.parametrize("kind", [QLearningAgent, WinCountAgent])
def test_a_wrong_transition_changes_nothing(kind):
    agent = kind(SMALL, spaces.Discrete(3), seed=0, table="hash")
    agent.update([0, 1], 1, 1.0, [0, 0], True)
    agent.end_episode()
    before = agent.q_values(list(np.ndindex(3, 4)))
    for transition, part, value, error, message in WRONG:
        if kind is WinCountAgent and (part == 3 or (part == 5 and transition is TRANSITION)):
            continue  # it does not look ahead
        with pytest.raises(error, match=message):
            agent.update(*transition[:part], value, *transition[part + 1 :])
        np.testing.assert_array_equal(agent.q_values(list(np.ndindex(3, 4))), before)


# --- Batches: every occurrence of a pair counts, as if its updates were applied one after another ---


def updated_one_by_one(agent, batch, learning_rate):
    """The table after a batch by its definition: targets from the table before, then one update after another."""
    observation, action, reward, next_observation, terminated, mask = batch
    before = {state: agent.q_values(np.array(state)) for state in np.ndindex(3, 2)}
    after = {state: values.copy() for state, values in before.items()}
    for where in np.ndindex(reward.shape):
        future = 0.0
        if not terminated[where]:
            values = before[tuple(next_observation[where])]
            legal = values if mask is None else values[mask[where] == 1]
            future = max(legal, default=0.0) * (-1 if isinstance(agent, MinimaxQAgent) else 1)
        row, column = after[tuple(observation[where])], action[where] - 5
        row[column] = (1 - learning_rate) * row[column] + learning_rate * (reward[where] + 0.9 * future)
    return after


@pytest.mark.parametrize("table", ["auto", "hash"])
@pytest.mark.parametrize("kind", [QLearningAgent, MinimaxQAgent])
@given(seed=st.integers(0, 2**32 - 1), learning_rate=st.sampled_from([1.0, 0.5, 0.1, 0.0]), masked=st.booleans())
def test_each_occurrence_counts(kind, table, seed, learning_rate, masked):
    generator = np.random.default_rng(seed)
    agent = batch_agent(kind, learning_rate=learning_rate, table=table)
    for shape in ((4, 5), (30,), (1,)):
        batch = random_batch(generator, shape, masked)
        expected = updated_one_by_one(agent, batch, learning_rate)
        agent.update(*batch)
        for state, values in expected.items():
            if learning_rate == 1:
                np.testing.assert_array_equal(agent.q_values(np.array(state)), values)
            else:
                np.testing.assert_allclose(agent.q_values(np.array(state)), values, rtol=0, atol=1e-14)


@given(seed=st.integers(0, 2**32 - 1), learning_rate=st.sampled_from([0.0, 0.1, 0.3, 1.0]) | st.floats(0, 1))
def test_a_batch_has_the_bits_of_one_product_after_another(seed, learning_rate):
    """So the table is the same on every machine: powers, unlike products, depend on the processor."""
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(4, 3))
    pairs = generator.integers(12, size=200)
    rewards = np.zeros(200)
    for pair in range(12):  # no more than two rewards of a pair are not 0: their sum has no order
        rewards[generator.permutation(np.flatnonzero(pairs == pair))[:2]] = generator.normal()
    agent = QLearningAgent(spaces.Discrete(4), spaces.Discrete(3), learning_rate=learning_rate)
    agent.load_state_dict({"values": values.copy()})
    agent.update(pairs // 3, pairs % 3, rewards, pairs // 3, np.ones(200, bool))
    for pair in range(12):
        added, power = 0.0, 1.0  # from the last update to the first
        for reward in rewards[pairs == pair][::-1].tolist():
            added += learning_rate * power * reward
            power *= 1.0 - learning_rate
        assert agent.q_values(pair // 3)[pair % 3] == power * values[pair // 3, pair % 3] + added


@pytest.mark.parametrize("kind", [QLearningAgent, MinimaxQAgent])
@given(seed=st.integers(0, 2**32 - 1), learning_rate=st.sampled_from([1.0, 0.5]))
def test_a_batch_whose_transitions_do_not_look_at_each_other_is_their_sequence(kind, seed, learning_rate):
    generator = np.random.default_rng(seed)
    together, one_by_one = (batch_agent(kind, learning_rate=learning_rate) for _ in range(2))
    for _ in range(3):
        batch = random_batch(generator, (40,))
        batch[0][:, 1], batch[3][:, 1] = 0, 1  # those updated are never looked ahead to
        together.update(*batch)
        for transition in zip(*batch, strict=True):
            one_by_one.update(*transition)
    if learning_rate == 1:
        np.testing.assert_array_equal(together.table.values, one_by_one.table.values)
    else:
        np.testing.assert_allclose(together.table.values, one_by_one.table.values, rtol=0, atol=1e-14)
    assert together.table.values.any()


@pytest.mark.parametrize("kind", [QLearningAgent, MinimaxQAgent])
def test_illegal_values_never_count_however_large(kind):
    agent = batch_agent(kind, learning_rate=1.0)
    agent.update([0, 0], 5, 1e300, [0, 0], True)
    agent.update([0, 0], 6, -1e300, [0, 0], True)
    agent.update([0, 0], 7, -1e290, [0, 0], True)
    observations, mask = np.zeros((2, 2), int), np.array([[0, 1, 0], [0, 1, 1]])
    assert agent.act(observations, mask).tolist() == [6, 7]
    assert agent.act(observations, mask, explore=True).max() <= 7
    agent.update(np.ones((2, 2), int), np.array([5, 6]), np.zeros(2), observations, np.zeros(2, bool), mask)
    sign = -1 if kind is MinimaxQAgent else 1
    np.testing.assert_allclose(agent.q_values([1, 1])[:2], sign * 0.9 * np.array([-1e300, -1e290]))


@pytest.mark.parametrize("kind", [QLearningAgent, MinimaxQAgent, WinCountAgent])
@pytest.mark.parametrize("table", ["auto", "hash"])
def test_leading_dimensions(kind, table):
    agent = kind(STATES, ACTIONS, table=table, seed=0)
    observations = np.random.default_rng(0).integers([3, 2], size=(2, 3, 4, 2))
    mask = np.ones((2, 3, 4, 3), dtype=np.int8)
    assert agent.act(observations, mask, explore=True).shape == (2, 3, 4)
    assert (
        agent.q_values(observations).shape == agent.action_probabilities(observations, mask).shape == (2, 3, 4, 3)
    )
    zeros = np.zeros((2, 3, 4))
    agent.update(observations, zeros.astype(int) + 5, zeros + 1, observations, zeros == 0, mask)
    assert agent.q_values(observations)[..., 0].all()
    empty = np.empty((0, 2), int)
    agent.update(empty, np.empty(0, int), np.empty(0), empty, np.empty(0, bool), np.empty((0, 3)))
    assert agent.act(empty, np.empty((0, 3)), explore=True).shape == (0,)


# --- Acting ---------------------------------------------------------------------------------------


def delivered(values, **arguments):
    agent = agent_of(spaces.Discrete(2), len(values), learning_rate=1, **arguments)
    for action, value in enumerate(values):
        agent.update(1, action, value, 0, True)
    return agent


def actions(agent, n=3000, mask=None, explore=True):
    return np.bincount([agent.act(1, mask, explore) for _ in range(n)], minlength=agent.n_actions) / n


def test_without_exploration_the_first_of_the_best_legal_actions():
    agent = delivered([1, 3, 3, 5], epsilon=1)
    assert agent.act(1) == 3
    assert type(agent.act(1)) is int
    assert agent.act(1, [1, 1, 1, 0]) == 1
    assert agent.act(1, np.array([1, 0, 1, 0], np.int8)) == 2
    assert agent.act([1, 1, 0], [[1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 1, 1]]).tolist() == [1, 0, 2]


def test_exploration_is_uniform_over_legal_actions_with_probability_epsilon():
    agent = delivered([0, 1, 0, 0, 7], epsilon=0.5)
    mask = np.array([1, 1, 0, 1, 0])
    expected = np.array([0.5 / 3, 0.5 + 0.5 / 3, 0, 0.5 / 3, 0])
    tolerance = 4 * 0.5 / 3000**0.5
    np.testing.assert_allclose(actions(agent, mask=mask), expected, atol=tolerance)
    batch = agent.act(np.ones(3000, int), np.tile(mask, (3000, 1)), explore=True)
    np.testing.assert_allclose(np.bincount(batch, minlength=5) / 3000, expected, atol=tolerance)
    assert actions(agent, mask=mask, explore=False).tolist() == [0, 1, 0, 0, 0]


def test_ties_while_exploring():
    tolerance = 4 * 0.5 / 3000**0.5
    agent = delivered([2, 0, 2, 2], epsilon=0)
    np.testing.assert_allclose(actions(agent), [1 / 3, 0, 1 / 3, 1 / 3], atol=tolerance)
    batch = agent.act(np.ones(3000, int), None, explore=True)
    np.testing.assert_allclose(np.bincount(batch) / 3000, [1 / 3, 0, 1 / 3, 1 / 3], atol=tolerance)
    np.testing.assert_allclose(actions(delivered([2, 0, 2, 1], epsilon=0)), [0.5, 0, 0.5, 0], atol=tolerance)
    agent = delivered([0, 2, 2, 2], epsilon=0, ties="first")
    assert actions(agent).tolist() == [0, 1, 0, 0]
    assert set(agent.act(np.ones(100, int), None, explore=True)) == {1}


def test_probabilities_are_of_play_without_exploration():
    agent = delivered([1, 3, 3], epsilon=1)
    for mask in ([1, 1, 1], None):
        assert agent.action_probabilities(1, mask).tolist() == [0, 1, 0]
    batch = agent.action_probabilities(np.array([[1], [0]]), np.array([[[1, 0, 1]], [[0, 0, 1]]]))
    assert batch.tolist() == [[[0, 0, 1]], [[0, 0, 1]]]
    before = agent.generator.bit_generator.state
    agent.act(np.zeros((4, 2), int))
    agent.action_probabilities(np.zeros((4, 2), int), np.ones((4, 2, 3)))
    assert agent.generator.bit_generator.state == before  # nothing was drawn


def test_action_spaces_may_start_anywhere():
    agent = QLearningAgent(spaces.Discrete(2), spaces.Discrete(3, start=5), learning_rate=1, seed=0)
    agent.update(1, 6, 1.0, 0, True)
    assert agent.q_values(1).tolist() == [0, 1, 0]
    assert agent.act(1) == 6
    assert agent.act(np.array([1])).tolist() == [6]
    assert agent.action_probabilities(1).tolist() == [0, 1, 0]
    assert {agent.act(0, explore=True) for _ in range(50)} == {5, 6, 7}
    with pytest.raises(ValueError, match="action 4 "):
        agent.update(1, 4, 1.0, 0, True)


@pytest.mark.parametrize("uniform", [0.0, np.nextafter(1, 0)])
def test_no_rounding_draws_an_illegal_action(uniform):
    for n, epsilon in itertools.product((1, 3, 1000), (1, 0)):  # a random action, and a random one of the best
        mask = np.zeros((3, 2 * n))
        mask[0, :n] = mask[1, n:] = mask[2, ::2] = 1
        agent = agent_of(spaces.Discrete(3), 2 * n, epsilon=epsilon)
        agent.generator = ConstantGenerator(uniform)
        batch = agent.act(np.arange(3), mask, explore=True)
        assert batch.tolist() == ([0, n, 0] if uniform == 0 else [n - 1, 2 * n - 1, 2 * n - 2])
        assert all(mask[index, agent.act(index, mask[index], explore=True)] for index in range(3))


def test_hyperparameters_may_follow_the_progress():
    agent = agent_of(
        learning_rate=lambda remaining: remaining, gamma=lambda _: 0.5, epsilon=lambda remaining: 1 - remaining
    )
    agent.progress_remaining = 0.25
    agent.update([0, 0], 0, 1.0, [0, 0], True)
    assert agent.q_values([0, 0])[0] == 0.25
    share = np.mean([agent.act([0, 0], explore=True) != 0 for _ in range(3000)])
    assert abs(share - 0.75 * 2 / 3) < 4 * 0.5 / 3000**0.5
    agent = agent_of(learning_rate=lambda _: 5.0, epsilon=lambda _: math.nan)
    with pytest.raises(ValueError, match=r"learning_rate .*5\.0"):
        agent.update([0, 0], 0, 1.0, [0, 0], True)
    with pytest.raises(ValueError, match=r"epsilon .*nan"):
        agent.act([0, 0], explore=True)


def test_bad_arguments_are_named():
    for arguments, error, message in (
        ({"learning_rate": 1.5}, ValueError, r"learning_rate .*1\.5"),
        ({"gamma": -0.1}, ValueError, r"gamma .*-0\.1"),
        ({"epsilon": "0.1"}, TypeError, "epsilon .*'0.1'"),
        ({"gamma": True}, TypeError, "gamma .*True"),
        ({"ties": "last"}, ValueError, "ties .*'last'"),
        ({"seed": -1}, ValueError, "seed .*-1"),
        ({"seed": "x"}, TypeError, "seed .*'x'"),
    ):
        with pytest.raises(error, match=message):
            agent_of(**arguments)


@pytest.mark.parametrize("kind", [QLearningAgent, WinCountAgent])
def test_wrong_masks_are_named(kind):
    agent = kind(SMALL, spaces.Discrete(3), seed=0)
    for observation, mask, message in (
        ([0, 0], [1, 1], r"action_mask .*\(2,\)"),
        ([0, 0], [0, 0, 0], "no legal action"),
        ([[0, 0]], [1, 1, 1], r"action_mask .*\(3,\)"),
        ([[0, 0], [0, 1]], [[1, 1, 1], [0, 0, 0]], "without a legal action"),
    ):
        for explore in (False, True):
            with pytest.raises(ValueError, match=message):
                agent.act(observation, mask, explore)


def test_an_agent_and_an_environment_of_one_seed_draw_apart():
    """Were their numbers the same, an opponent's reply would follow from the agent's move."""
    env = gym.make("nim_env:Nim-v0")
    env.reset(seed=0)
    env_draws = env.unwrapped.np_random.random(1_000)
    draws = QLearningAgent(env.observation_space, env.action_space, seed=0).generator.random(1_000)
    again = QLearningAgent(env.observation_space, env.action_space, seed=0).generator.random(1_000)
    np.testing.assert_array_equal(draws, again)
    assert not np.isin(draws, env_draws).any()
    assert not np.isin(draws, np.random.default_rng(0).random(1_000)).any()
    assert abs(np.corrcoef(draws, env_draws)[0, 1]) < 0.15


def test_a_wrong_schedule_adds_no_row():
    agent = QLearningAgent(SMALL, spaces.Discrete(3), seed=0, table="hash", learning_rate=lambda progress: 2)  # noqa: ARG005
    n_rows = agent.table.n_rows
    with pytest.raises(ValueError, match="learning_rate"):
        agent.update([[0, 1]], [1], [1.0], [[0, 0]], [True])
    assert agent.table.n_rows == n_rows
