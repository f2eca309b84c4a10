"""Tests that every observation has its own row, in every space and in both kinds of tables."""

from collections import defaultdict

import numpy as np
import pytest
from agent_helpers import BOX, OBSERVATION_SPACES, SMALL, agent_of, sample
from gymnasium import spaces

from agents import QLearningAgent, TabularAgent
from agents.tables import Table

BOTH = pytest.mark.parametrize("table", ["auto", "hash"])


@BOTH
@pytest.mark.parametrize("space", OBSERVATION_SPACES)
def test_every_observation_has_a_row_of_its_own(space, table):
    observations = [sample(space, seed) for seed in range(100)]
    agent = agent_of(space, table=table, learning_rate=1)
    known = defaultdict(lambda: [0.0] * 3)
    for number, observation in enumerate(observations):
        agent.update(observation, number % 3, number, observation, True)
        known[repr(observation)][number % 3] = float(number)
    expected = [known[repr(observation)] for observation in observations]
    assert [agent.q_values(observation).tolist() for observation in observations] == expected
    if space.shape is not None:
        values = agent.q_values(np.reshape(observations, (4, 25, *space.shape)))
        assert values.reshape(100, 3).tolist() == expected


@BOTH
def test_values_and_state_dicts_are_copies(table):
    agent = agent_of(table=table)
    agent.update([1, 2], 0, 1.0, [0, 0], True)
    state = agent.state_dict()
    before = {name: array.copy() for name, array in state.items()}
    for observation in ([1, 2], [[1, 2]], [[0, 1]]):
        agent.q_values(observation)[:] = 99
    assert agent.q_values([[1, 2], [0, 1]]).tolist() == [[0.5, 0, 0], [0, 0, 0]]
    agent.update([1, 2], 0, 5.0, [0, 0], True)
    np.testing.assert_equal(state, before)


@BOTH
@pytest.mark.parametrize(
    ("space", "observation"),
    [
        (spaces.Discrete(5), 5),
        (spaces.Discrete(5, start=2), 1),
        (SMALL, [0, 0, 0]),
        (SMALL, np.array([[0, -1]])),
        (SMALL, [0.5, 1]),
        (SMALL, [[0.5, 1]]),
        (BOX, np.zeros(3, np.float32)),
        (spaces.MultiDiscrete([[2, 3], [4, 1]]), [0, 0, 0, 0]),
        (spaces.Tuple([spaces.Discrete(3), spaces.Discrete(2)]), (-1, 0)),
    ],
)
def test_observations_outside_the_space_are_refused(space, observation, table):
    agent = agent_of(space, table=table)
    for call in (agent.q_values, agent.act):
        with pytest.raises((TypeError, ValueError), match=r"observation|Cannot cast"):
            call(observation)


@BOTH
def test_observations_are_recognized_in_any_form(table):
    wide = agent_of(spaces.MultiDiscrete([200, 200]), table=table)
    wide.update((np.uint8(150), np.uint8(3)), 0, 1.0, [0, 0], True)
    for dtype in (np.int64, np.int32, np.uint8, np.int16):
        assert wide.q_values(np.array([150, 3], dtype)).any()
        assert not wide.q_values(np.array([3, 150], dtype)).any()
    shifted = agent_of(spaces.Discrete(500, start=-2), table=table)
    shifted.update(np.uint8(3), 0, 1.0, 0, True)
    assert shifted.q_values(3).any()
    box = agent_of(BOX, table=table)
    box.update(np.full((2, 2), -0.0), 0, 1.0, np.zeros((2, 2)), True)
    box.update_batch(np.full((1, 2, 2), -0.0, np.float32), [1], [1.0], np.zeros((1, 2, 2)), [True])
    assert box.q_values(np.zeros((2, 2))).tolist() == [0.5, 0.5, 0]
    assert box.table.n_rows == 1


@pytest.mark.parametrize(
    "space", [spaces.MultiDiscrete([10] * 30), spaces.MultiDiscrete([7] * 12), spaces.Box(0, 1, (3,), np.float32)]
)
def test_a_hash_table_grows_with_updates_and_keeps_its_values(space):
    space.seed(0)
    observations = np.array([space.sample() for _ in range(5000)])
    agent = agent_of(space, n=2, learning_rate=1, table="hash")
    agent.q_values(observations)
    agent.act(observations[0], explore=True)
    assert agent.table.n_rows == 0
    unseen = observations[-1]  # as a next observation too
    for number, observation in enumerate(observations[:50]):
        agent.update(observation, 0, number + 1.0, unseen, False)
    rewards = np.arange(5000) + 1.0
    for some in np.array_split(np.arange(4999).repeat(2), 40):
        agent.update_batch(observations[some], 0 * some, rewards[some], observations[-1 + 0 * some], some < 0)
    assert agent.table.n_rows == 4999
    assert agent.q_values(observations)[:, 0].tolist() == [*rewards[:-1], 0]
    assert [agent.q_values(observation)[0] for observation in observations] == [*rewards[:-1], 0]


def test_an_unseen_observation_has_zeros_beside_a_full_table():
    table = Table(spaces.Box(0, 10_000, (), int), 3)
    for number in range(5000):
        table.values[table.row(number)] = 1.0
        assert table.get(number + 1) == [0.0] * 3
        assert number % 97 or not table.values[table.rows(np.array([number + 1]), add=False)].any()


def test_the_table_of_a_space():
    """A dense table has all its rows from the start."""
    assert Table(SMALL, 3).values.shape == (12, 3)
    assert Table(spaces.MultiBinary(7), 3).n_rows == 2**7
    assert Table(spaces.Discrete(2**22), 8).n_rows == 2**22  # 2**25 values
    for space in (BOX, spaces.Discrete(2**22 + 1), spaces.Discrete(3, start=1), spaces.MultiDiscrete([2] * 33)):
        table = Table(space, 8)
        assert table.n_rows == 0
        assert table.values.dtype == np.float64
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        Table(SMALL, 3).rows(np.zeros((4, 3), int))


def test_wrong_spaces_are_named():
    with pytest.raises(TypeError, match="action_space"):
        QLearningAgent(SMALL, SMALL)
    for space in (spaces.Text(3), spaces.Tuple([BOX]), spaces.Dict({"board": SMALL, "action_mask": SMALL})):
        with pytest.raises(TypeError, match="observation_space"):
            QLearningAgent(space, spaces.Discrete(2))
    with pytest.raises(TypeError, match="abstract"):
        TabularAgent(SMALL, spaces.Discrete(2))


def test_agents_and_tables_say_what_they_are():
    agent = agent_of(learning_rate=0.25, table="hash")
    agent.update([0, 1], 1, 1.0, [0, 0], True)
    for part in ("QLearningAgent", str(SMALL), "Discrete(3)", "learning_rate=0.25", "ties='random'"):
        assert part in repr(agent)
