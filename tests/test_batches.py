"""Batches in the agents: every occurrence of a pair counts, as if its updates were applied one after another."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from agents import MinimaxQAgent, QLearningAgent, WinCountAgent
from agents.batches import move_towards, one_of, row_counts

STATES = spaces.MultiDiscrete([3, 2])
ACTIONS = spaces.Discrete(3, start=5)


def agent_of(kind=QLearningAgent, **arguments):
    return kind(STATES, ACTIONS, seed=0, **{"gamma": 0.9, **arguments})


def random_batch(generator, shape, masked=True):
    """Transitions among few states, so that pairs recur."""
    return (
        generator.integers([3, 2], size=(*shape, 2)),
        generator.integers(5, 8, size=shape),
        generator.normal(size=shape),
        generator.integers([3, 2], size=(*shape, 2)),
        generator.random(shape) < 0.3,
        (generator.random((*shape, 3)) < 0.7).astype(np.int8) if masked else None,
    )


def learnt_in_turn(agent, batch, learning_rate):
    """The table after a batch by its definition: targets from the table before, then one update after another."""
    observation, action, reward, following, terminated, mask = batch
    before = {state: agent.q_values(np.array(state)) for state in np.ndindex(3, 2)}
    after = {state: values.copy() for state, values in before.items()}
    for where in np.ndindex(reward.shape):
        future = 0.0
        if not terminated[where]:
            values = before[tuple(following[where])]
            legal = values if mask is None else values[mask[where] == 1]
            future = max(legal, default=0.0) * (-1 if isinstance(agent, MinimaxQAgent) else 1)
        row, column = after[tuple(observation[where])], action[where] - 5
        row[column] = (1 - learning_rate) * row[column] + learning_rate * (reward[where] + 0.9 * future)
    return after


@pytest.mark.parametrize("rows", ["auto", "hashed"])
@pytest.mark.parametrize("kind", [QLearningAgent, MinimaxQAgent])
@given(seed=st.integers(0, 2**32 - 1), learning_rate=st.sampled_from([1.0, 0.5, 0.1, 0.0]), masked=st.booleans())
def test_each_occurrence_counts(kind, rows, seed, learning_rate, masked):
    generator = np.random.default_rng(seed)
    agent = agent_of(kind, learning_rate=learning_rate, rows=rows)
    for shape in ((4, 5), (30,), (1,)):
        batch = random_batch(generator, shape, masked)
        expected = learnt_in_turn(agent, batch, learning_rate)
        agent.update(*batch)
        for state, values in expected.items():
            if learning_rate == 1:
                np.testing.assert_array_equal(agent.q_values(np.array(state)), values)
            else:
                np.testing.assert_allclose(agent.q_values(np.array(state)), values, rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", [QLearningAgent, MinimaxQAgent])
@given(seed=st.integers(0, 2**32 - 1), learning_rate=st.sampled_from([1.0, 0.5]))
def test_a_batch_whose_transitions_do_not_look_at_each_other_is_their_sequence(kind, seed, learning_rate):
    generator = np.random.default_rng(seed)
    together, one_by_one = (agent_of(kind, learning_rate=learning_rate) for _ in range(2))
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


@given(
    st.lists(st.tuples(st.integers(0, 4), st.floats(-10, 10)), min_size=1, max_size=60),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
)
def test_moving_towards_targets(moves, share, seed):
    values = np.random.default_rng(seed).normal(size=5)
    expected = values.copy()
    for entry, target in moves:
        expected[entry] += share * (target - expected[entry])
    entries, targets = map(np.array, zip(*moves, strict=True))
    move_towards(values, entries, targets, share)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)


def test_one_of_draws_evenly_and_never_what_is_not_there():
    generator = np.random.default_rng(0)
    rows = np.array([[1, 0, 1, 1, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 1]], dtype=bool)
    choices = rows[np.arange(60_000) % 3]
    assert row_counts(choices).tolist() == choices.sum(axis=1).tolist()
    drawn = one_of(choices, row_counts(choices), generator.random(60_000))
    for row, possible in enumerate(rows):
        counts = np.bincount(drawn[row::3], minlength=5)
        assert not counts[~possible].any()
        if possible.sum() > 1:
            assert stats.chisquare(counts[possible]).pvalue > 0.001
    extremes = np.array([0.0, np.nextafter(1, 0), 0.0])
    assert one_of(rows, row_counts(rows), extremes).tolist() == [0, 1, 2]
    assert one_of(rows, row_counts(rows), extremes[::-1] * 0 + np.nextafter(1, 0)).tolist() == [3, 1, 4]


@pytest.mark.parametrize("number", [1, 2, 3, 7, 1000, 10**6])
def test_no_rounding_reaches_beyond_the_last_choice(number):
    choices = np.ones((1, number), dtype=bool)
    assert one_of(choices, row_counts(choices), np.array([np.nextafter(1, 0)])).tolist() == [number - 1]


@pytest.mark.parametrize("kind", [QLearningAgent, MinimaxQAgent])
def test_illegal_values_never_count_however_large(kind):
    agent = agent_of(kind, learning_rate=1.0)
    agent.update([0, 0], 5, 1e300, [0, 0], True)
    agent.update([0, 0], 6, -1e300, [0, 0], True)
    agent.update([0, 0], 7, -1e290, [0, 0], True)
    seen, mask = np.zeros((2, 2), int), np.array([[0, 1, 0], [0, 1, 1]])
    assert agent.act(seen, mask).tolist() == [6, 7]
    assert agent.act(seen, mask, explore=True).max() <= 7
    agent.update(np.ones((2, 2), int), np.array([5, 6]), np.zeros(2), seen, np.zeros(2, bool), mask)
    sign = -1 if kind is MinimaxQAgent else 1
    np.testing.assert_allclose(agent.q_values([1, 1])[:2], sign * 0.9 * np.array([-1e300, -1e290]))


def test_exploring_in_a_batch():
    agent = agent_of(epsilon=0.4, learning_rate=1.0)
    agent.update([1, 1], 6, 1.0, [0, 0], True)
    seen, mask = np.tile([1, 1], (30_000, 1)), np.tile([1, 1, 0], (30_000, 1))
    counts = np.bincount(agent.act(seen, mask, explore=True) - 5, minlength=3)
    assert counts[2] == 0
    assert stats.binomtest(int(counts[0]), 30_000, 0.2).pvalue > 0.001
    ties = np.bincount(agent.act(np.zeros_like(seen), None, explore=True) - 5, minlength=3)
    assert stats.chisquare(ties).pvalue > 0.001
    first = agent_of(epsilon=0.0, ties="first")
    assert (first.act(seen, mask, explore=True) == 5).all()
    assert (agent.act(seen, mask) == 6).all()


def test_acting_without_exploration_draws_nothing():
    agent = agent_of()
    before = agent.generator.bit_generator.state
    agent.act(np.zeros((4, 2), int))
    agent.action_probabilities(np.zeros((4, 2), int), np.ones((4, 3)))
    assert agent.generator.bit_generator.state == before


@pytest.mark.parametrize("rows", ["auto", "hashed"])
@pytest.mark.parametrize("cutoff", [None, 8])
@given(seed=st.integers(0, 2**32 - 1))
def test_win_counting_learns_episodes_one_after_another(rows, cutoff, seed):
    generator = np.random.default_rng(seed)
    together, one_by_one = (WinCountAgent(STATES, ACTIONS, cutoff=cutoff, rows=rows, seed=0) for _ in range(2))
    for _ in range(4):
        observation, action, _, following, terminated, mask = random_batch(generator, (12,))
        mask[np.arange(12), action - 5] = 1
        reward = generator.choice([-1.0, 0.0, 1.0], size=12) * terminated
        for agent in (together, one_by_one):
            agent.act(observation, mask)  # says what is legal where
        together.update(observation, action, reward, following, terminated)
        for transition in zip(observation, action, reward, following, terminated, strict=True):
            one_by_one.update(*transition)
    for state in np.ndindex(3, 2):
        assert together.counts(np.array(state)).tolist() == one_by_one.counts(np.array(state)).tolist()


def test_what_a_batch_knows_of_legal_alternatives():
    """Acting in a batch and acting one by one tell the same of what was legal."""
    batch, single = (WinCountAgent(spaces.Discrete(3), spaces.Discrete(4), seed=0) for _ in range(2))
    masks = np.array([[1, 1, 0, 0], [0, 1, 1, 1], [1, 0, 0, 1]])
    batch.act(np.arange(3), masks)
    batch.update(np.arange(3), np.array([1, 1, 3]), np.array([0.0, 0.0, -1.0]), np.arange(3), np.arange(3) == 2)
    for state, action in enumerate((1, 1, 3)):
        single.act(state, masks[state])
        single.update(state, action, -float(state == 2), state, state == 2)
    for agent in (batch, single):
        assert agent.counts(np.arange(3)).tolist() == [[2, 1, 1, 1], [1, 1, 2, 2], [2, 1, 1, 1]]


def test_win_counting_draws_in_a_batch_as_it_says():
    agent = WinCountAgent(STATES, ACTIONS, seed=0)
    agent.act([0, 0], [1, 1, 0])
    for _ in range(2):
        agent.update([0, 0], 6, 1.0, [0, 0], True)
    seen, mask = np.zeros((20_000, 2), int), np.tile([1, 1, 0], (20_000, 1))
    counts = np.bincount(agent.act(seen, mask) - 5, minlength=3)
    assert counts[2] == 0
    assert stats.binomtest(int(counts[1]), 20_000, 0.75).pvalue > 0.001


@pytest.mark.parametrize("kind", [QLearningAgent, MinimaxQAgent, WinCountAgent])
@pytest.mark.parametrize("rows", ["auto", "hashed"])
def test_leading_dimensions(kind, rows):
    agent = kind(STATES, ACTIONS, rows=rows, seed=0)
    seen = np.random.default_rng(0).integers([3, 2], size=(2, 3, 4, 2))
    mask = np.ones((2, 3, 4, 3), dtype=np.int8)
    assert agent.act(seen, mask, explore=True).shape == (2, 3, 4)
    assert agent.q_values(seen).shape == agent.action_probabilities(seen, mask).shape == (2, 3, 4, 3)
    zeros = np.zeros((2, 3, 4))
    agent.update(seen, zeros.astype(int) + 5, zeros + 1, seen, zeros == 0, mask)
    assert agent.q_values(seen)[..., 0].all()
    empty = np.empty((0, 2), int)
    agent.update(empty, np.empty(0, int), np.empty(0), empty, np.empty(0, bool), np.empty((0, 3)))
    assert agent.act(empty, np.empty((0, 3)), explore=True).shape == (0,)


def test_a_hashed_table_grows_only_with_what_is_taught():
    agent = agent_of(rows="hashed")
    seen = np.array([[0, 0], [1, 1], [0, 0]])
    agent.act(seen, explore=True)
    agent.q_values(seen)
    assert agent.table.n_rows == 0
    agent.update(seen, np.array([5, 6, 5]), np.ones(3), seen[::-1], np.zeros(3, bool))
    assert agent.table.n_rows == 2
    box = QLearningAgent(gym.spaces.Box(-1, 1, (2,)), ACTIONS, seed=0)
    seen = np.array([[0.0, -0.0], [-0.0, 0.0], [0.5, 1.0]], dtype=np.float32)
    box.update(seen, np.array([5, 5, 6]), np.ones(3), seen, np.ones(3, bool))
    assert box.table.n_rows == 2


@pytest.mark.parametrize(
    ("part", "value", "error", "message"),
    [
        (0, [[0, 0], [3, 0]], ValueError, r"observation array\(\[3, 0\]\) is not in"),
        (0, [[0, 0], [0, -1]], ValueError, r"observation array\(\[ 0, -1\]\) is not in"),
        (3, [[0, 0], [0, 2]], ValueError, r"observation array\(\[0, 2\]\) is not in"),
        (1, [5, 8], ValueError, r"action .*8.* is not in Discrete"),
        (1, [4, 6], ValueError, r"action .*4.* is not in Discrete"),
        (1, [5.0, 6.0], TypeError, "action must be an integer"),
        (1, [True, False], TypeError, "action must be an integer"),
        (2, [0.0, np.nan], ValueError, "reward must be finite"),
        (2, [0.0, 1.0, 2.0], ValueError, r"reward must have shape \(2,\), as action has; got \(3,\)"),
        (4, [True], ValueError, r"terminated must have shape \(2,\)"),
        (4, ["no", "yes"], TypeError, "terminated must be a number in all of a batch"),
        (2, ["a", "b"], TypeError, "reward must be a number in all of a batch"),
        (2, [0.0, 1e301], ValueError, "reward must be finite, 1e\\+300 at most"),
        (5, [[1, 1, 1]], ValueError, r"next_action_mask must have shape \(2, 3\); got \(1, 3\)"),
    ],
)
@pytest.mark.parametrize("kind", [QLearningAgent, WinCountAgent])
def test_batches_that_cannot_be_learnt(kind, part, value, error, message):
    if kind is WinCountAgent and part == 3:
        return  # it does not look ahead
    agent = kind(STATES, ACTIONS, seed=0)
    batch = [np.zeros((2, 2), int), np.array([5, 6]), np.ones(2), np.zeros((2, 2), int), np.zeros(2, bool), None]
    batch[part] = np.array(value)
    with pytest.raises(error, match=message):
        agent.update(*batch)
    assert not agent.table.values.any()


def test_many_components_and_many_states():
    """Rows of batches and of single observations agree where indices pass 64 bits, or do not."""
    generator = np.random.default_rng(0)
    for space in (spaces.MultiDiscrete([10] * 30), spaces.MultiDiscrete([7] * 12), spaces.MultiBinary(20)):
        agent = QLearningAgent(space, spaces.Discrete(2), rows="hashed", seed=0)
        sizes = getattr(space, "nvec", 2)
        seen = generator.integers(sizes, size=(50, *space.shape)).astype(space.dtype)
        agent.update(seen, np.zeros(50, int), np.arange(50.0) + 1, seen, np.ones(50, bool))
        for number, observation in enumerate(seen):
            assert agent.q_values(observation)[0] == (number + 1) / 2
        assert agent.q_values(seen)[:, 0].tolist() == [(number + 1) / 2 for number in range(50)]
