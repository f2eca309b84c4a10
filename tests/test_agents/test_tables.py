"""Tables: every observation has its own row, in every space and in both tables."""

from collections import defaultdict

import gymnasium as gym
import numpy as np
import pytest
from agent_helpers import BOX, OBSERVATION_SPACES, SMALL, agent_of, sample
from gymnasium import spaces

import agents
from agents import QLearningAgent, TabularAgent, tables


@pytest.mark.parametrize("space", OBSERVATION_SPACES)
def test_every_observation_has_a_row_of_its_own(space):
    observations = [sample(space, seed) for seed in range(100)]
    for table in ("auto", "hash"):
        agent, known = agent_of(space, table=table, learning_rate=1), defaultdict(lambda: [0.0] * 3)
        for number, observation in enumerate(observations):
            agent.update(observation, number % 3, number, observation, True)
            known[repr(observation)][number % 3] = float(number)
        expected = [known[repr(observation)] for observation in observations]
        assert [agent.q_values(observation).tolist() for observation in observations] == expected
        if space.shape is not None:
            values = agent.q_values(np.reshape(observations, (4, 25, *space.shape)))
            assert values.reshape(100, 3).tolist() == expected


def test_more_observations_than_the_cache_holds(monkeypatch):
    """Each is found, also after the cache was emptied."""
    monkeypatch.setattr(tables, "CACHE_SIZE", 10)
    agent = agent_of(spaces.MultiDiscrete([30, 30]), learning_rate=1)
    for number in range(900):
        agent.update(np.array(divmod(number, 30)), 0, number + 1.0, np.zeros(2, int), True)
    assert [agent.q_values(np.array(divmod(number, 30)))[0] for number in range(900)] == list(range(1, 901))


def test_values_are_copies():
    agent = agent_of()
    agent.update([1, 2], 0, 1.0, [0, 0], True)
    for observation in ([1, 2], [[1, 2]]):
        agent.q_values(observation)[:] = 99
    assert agent.q_values([1, 2]).tolist() == [0.5, 0, 0]


def test_observations_outside_the_space_are_refused():
    pair = spaces.Tuple([spaces.Discrete(3), spaces.Discrete(2)])
    for space, observation in (
        (spaces.Discrete(5), 5),
        (spaces.Discrete(5), -1),
        (spaces.Discrete(5, start=2), 1),
        (SMALL, [0, 0, 0]),
        (SMALL, np.array([0])),
        (SMALL, np.array([3, 0])),
        (SMALL, np.array([[0, 4]])),
        (SMALL, np.array([[0, -1]])),
        (SMALL, np.array([[0, 0, 0]])),
        (SMALL, [0.5, 1]),
        (SMALL, [[0.5, 1]]),
        (SMALL, 10**30),
        (BOX, np.zeros(3, np.float32)),
        (BOX, [["a", "b"], ["c", "d"]]),
        (spaces.MultiDiscrete([[2, 3], [4, 1]]), [0, 0, 0, 0]),
        (pair, (-1, 0)),
        (pair, (2,)),
    ):
        for table in ("auto", "hash"):
            agent = agent_of(space, table=table)
            for call in (agent.q_values, agent.act):
                with pytest.raises(ValueError, match=r"is not in|must have shape"):
                    call(observation)


@pytest.mark.parametrize("table", ["auto", "hash"])
def test_observations_are_recognized_in_any_form(table):
    wide = agent_of(spaces.MultiDiscrete([200, 200]), table=table)
    wide.update((np.uint8(150), np.uint8(3)), 0, 1.0, [0, 0], True)
    for dtype in (np.int64, np.int32, np.uint8, np.int16):
        assert wide.q_values(np.array([150, 3], dtype)).any()
        assert not wide.q_values(np.array([3, 150], dtype)).any()
    shifted = agent_of(spaces.Discrete(500, start=-2), table=table)
    shifted.update(np.uint8(3), 0, 1.0, 0, True)
    assert shifted.q_values(3).any()
    nested = agent_of(spaces.MultiDiscrete([[2, 3], [4, 1]]), table=table)
    nested.update([[1, 2], [3, 0]], 0, 1.0, np.zeros((2, 2), int), True)
    assert nested.q_values(np.array([[1, 2], [3, 0]])).any()
    box = agent_of(BOX)
    box.update(np.full((2, 2), -0.0), 0, 1.0, np.zeros((2, 2)), True)
    assert box.q_values(np.zeros((2, 2))).any()


def test_many_components_and_many_states():
    """Rows of batches and of single observations agree where indices pass 64 bits, or do not."""
    generator = np.random.default_rng(0)
    for space in (spaces.MultiDiscrete([10] * 30), spaces.MultiDiscrete([7] * 12), spaces.MultiBinary(20)):
        agent = QLearningAgent(space, spaces.Discrete(2), table="hash", seed=0)
        sizes = getattr(space, "nvec", 2)
        observations = generator.integers(sizes, size=(50, *space.shape)).astype(space.dtype)
        agent.update(observations, np.zeros(50, int), np.arange(50.0) + 1, observations, np.ones(50, bool))
        for number, observation in enumerate(observations):
            assert agent.q_values(observation)[0] == (number + 1) / 2
        assert agent.q_values(observations)[:, 0].tolist() == [(number + 1) / 2 for number in range(50)]


def is_dense(agent):
    return isinstance(agent.table, tables.DenseTable)


def test_kinds_of_tables():
    assert is_dense(agent_of(SMALL))
    assert is_dense(agent_of(SMALL, table="dense"))
    assert not is_dense(agent_of(SMALL, table="hash"))
    assert not is_dense(agent_of(BOX))
    assert is_dense(agent_of(spaces.Discrete(2**22), 8))  # 2**25 values
    assert not is_dense(agent_of(spaces.Discrete(2**22 + 1), 8))
    assert agent_of(SMALL).table.values.dtype == np.float64
    assert agent_of(spaces.MultiBinary(7)).table.n_rows == 2**7
    with pytest.raises(ValueError, match=r"table=.*discrete.*hash"):
        agent_of(BOX, table="dense")
    with pytest.raises(ValueError, match=r"table must be.*'arithmetic'"):
        agent_of(table="arithmetic")
    with pytest.raises(ValueError, match='use table="hash"'):
        agent_of(spaces.Discrete(2**31), 8, table="dense")
    with pytest.raises(ValueError, match='use table="hash"'):
        agent_of(spaces.MultiDiscrete([2**31 - 1] * 40), table="dense")


def test_a_hash_table_grows_only_with_updates():
    agent = agent_of(BOX)
    observations = np.zeros((3, 2, 2), np.float32)
    observations[1], observations[2] = -0.0, 0.5
    agent.act(observations, explore=True)
    agent.q_values(observations)
    agent.act(observations[2], explore=True)
    agent.q_values(observations[2])
    assert agent.table.n_rows == 0
    agent.update(observations, np.array([0, 0, 1]), np.ones(3), observations, np.ones(3, bool))
    assert agent.table.n_rows == 2


def test_a_hash_table_keeps_its_values_as_it_grows():
    agent = agent_of(spaces.Box(0, 10_000, (1,), np.float32), learning_rate=1)
    observations = np.arange(3 * tables.INITIAL_VALUES, dtype=np.float32)[:, None]
    for part in np.array_split(observations, 50):
        agent.update(part, np.ones(len(part), int), part[:, 0], part, np.ones(len(part), bool))
    assert agent.table.n_rows == len(observations)
    assert (agent.q_values(observations) == observations * [0, 1, 0]).all()


def test_an_unseen_observation_has_zeros_beside_a_full_table():
    agent = agent_of(spaces.Discrete(10_000), table="hash")
    capacity = len(agent.table.values) - 1  # the last row stays 0
    for number in range(capacity):
        agent.update(number, 0, 1.0, number, True)
    assert agent.table.n_rows == len(agent.table.values) - 1 == capacity
    assert not agent.q_values(capacity).any()
    assert not agent.q_values([capacity]).any()


def test_the_keys_of_a_box_are_its_bytes():
    """So that files of hash tables stay readable."""
    agent = agent_of(BOX)
    observation = np.arange(4, dtype=np.float32).reshape(2, 2) / 8
    agent.update(observation, 0, 1.0, observation, True)
    assert agent.state_dict()["keys"].tobytes() == observation.tobytes()


def test_wrong_spaces_are_named():
    with pytest.raises(TypeError, match="action_space must be Discrete; got MultiDiscrete"):
        QLearningAgent(SMALL, SMALL)
    with pytest.raises(TypeError, match="observation_space must be a gymnasium Space; got 4"):
        QLearningAgent(4, spaces.Discrete(2))
    with pytest.raises(TypeError, match="observation_space must hold arrays of a fixed shape"):
        QLearningAgent(spaces.Sequence(spaces.Discrete(2)), spaces.Discrete(2))
    with pytest.raises(TypeError, match="abstract"):
        TabularAgent(SMALL, spaces.Discrete(2))


def test_the_observation_of_a_dictionary_space():
    agent = agent_of(spaces.Dict({"observation": SMALL, "action_mask": spaces.MultiBinary(3)}))
    assert agent.observation_space == SMALL


def test_agents_play_blackjack():
    """Observations that are tuples, from a stock environment."""
    env = gym.make("Blackjack-v1")
    agent = QLearningAgent(env.observation_space, env.action_space, seed=0)
    history = agents.train(agent, env, 200, seed=0)
    assert len(history.returns) == 200
    assert agent.table.n_rows > 20


def test_agents_and_tables_say_what_they_are():
    agent = agent_of(learning_rate=0.25, table="hash")
    agent.update([0, 1], 1, 1.0, [0, 0], True)
    for part in ("QLearningAgent", str(SMALL), "Discrete(3)", "learning_rate=0.25", "ties='random'", "1 rows"):
        assert part in repr(agent)
    for part in ("HashTable", str(SMALL), "3 actions", "1 rows"):
        assert part in repr(agent.table)
    assert "12 rows" in repr(agent_of().table)
