import math

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

import agents
from agents import QLearningAgent, q_table
from agents.q_table import QTable

BOX = spaces.Box(-1, 1, (2, 2), np.float32)
OBSERVATION_SPACES = [
    spaces.Discrete(5),
    spaces.Discrete(5, start=-2),
    spaces.MultiDiscrete([2, 3, 4]),
    spaces.MultiDiscrete([[2, 3], [4, 1]]),
    spaces.MultiDiscrete([2, 3], start=[-1, 5]),
    spaces.MultiBinary(3),
    spaces.MultiBinary((2, 2)),
    BOX,
    spaces.Tuple([spaces.Discrete(3), spaces.Discrete(2)]),
    spaces.Dict({"a": spaces.Discrete(3), "b": BOX}),
]
SMALL = spaces.MultiDiscrete([3, 4])


def agent_of(space=SMALL, n=3, **arguments):
    return QLearningAgent(space, spaces.Discrete(n), seed=0, **arguments)


def sample(space, seed):
    space.seed(seed)
    return space.sample()


# --- The table ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", ["auto", "hashed"])
@pytest.mark.parametrize("space", OBSERVATION_SPACES, ids=str)
def test_every_observation_has_a_row_of_its_own(space, rows):
    agent = agent_of(space, rows=rows, learning_rate=1)
    truth = {}
    for seed in range(300):
        observation = sample(space, seed)
        agent.update(observation, seed % 3, seed, observation, True)
        truth[repr(observation)] = {**truth.get(repr(observation), {}), seed % 3: float(seed)}
    for seed in range(300):
        observation = sample(space, seed)
        expected = [truth[repr(observation)].get(action, 0.0) for action in range(3)]
        assert agent.q_values(observation).tolist() == expected


@pytest.mark.parametrize("rows", ["auto", "hashed"])
@pytest.mark.parametrize("space", [space for space in OBSERVATION_SPACES if space.shape is not None], ids=str)
def test_batches_of_observations(space, rows):
    agent = agent_of(space, rows=rows, learning_rate=1)
    for seed in range(20):
        agent.update(sample(space, seed), seed % 3, seed + 1, sample(space, seed), True)
    batch = np.stack([sample(space, seed) for seed in range(24)]).reshape(4, 6, *space.shape)
    values = agent.q_values(batch)
    assert values.shape == (4, 6, 3)
    assert values.any()
    for where in np.ndindex(4, 6):
        assert values[where].tolist() == agent.q_values(batch[where]).tolist()


def test_only_what_was_learnt_takes_rows():
    agent = agent_of(BOX)
    for seed in range(500):
        agent.q_values(sample(BOX, seed))
        agent.act(sample(BOX, seed), explore=True)
    assert agent.table.n_rows == 0
    for seed in range(500):
        agent.update(sample(BOX, seed), 0, 1.0, sample(BOX, seed + 1000), False)
    assert agent.table.n_rows == 500


def test_what_a_table_looks_up_is_bounded(monkeypatch):
    monkeypatch.setattr(q_table, "RECENT_ROWS", 10)
    agent = agent_of(spaces.MultiDiscrete([30, 30]), learning_rate=1)
    for number in range(900):
        agent.update(np.array(divmod(number, 30)), 0, number + 1.0, np.zeros(2, int), True)
        assert len(agent.table._recent) <= 10
    assert [agent.q_values(np.array(divmod(number, 30)))[0] for number in range(900)] == list(range(1, 901))


def test_values_are_copies():
    agent = agent_of()
    agent.update([1, 2], 0, 1.0, [0, 0], True)
    for observation in ([1, 2], [[1, 2]]):
        agent.q_values(observation)[:] = 99
    assert agent.q_values([1, 2]).tolist() == [0.5, 0, 0]


@pytest.mark.parametrize(
    ("space", "observation"),
    [
        (spaces.Discrete(5), 5),
        (spaces.Discrete(5), -1),
        (spaces.Discrete(5, start=2), 1),
        (SMALL, [3, 0]),
        (SMALL, [0, -1]),
        (SMALL, [0, 0, 0]),
        (SMALL, np.array([0])),
        (SMALL, np.array([[0, 4]])),
        (SMALL, np.array([[0, 0, 0]])),
        (SMALL, [0.5, 1]),
        (SMALL, [[0.5, 1]]),
        (SMALL, 10**30),
        (BOX, np.zeros(3, np.float32)),
        (BOX, [["a", "b"], ["c", "d"]]),
        (spaces.MultiDiscrete([[2, 3], [4, 1]]), [0, 0, 0, 0]),
        (spaces.Tuple([spaces.Discrete(3), spaces.Discrete(2)]), (-1, 0)),
        (spaces.Tuple([spaces.Discrete(3), spaces.Discrete(2)]), (3, 0)),
        (spaces.Tuple([spaces.Discrete(3), spaces.Discrete(2)]), (2,)),
    ],
    ids=str,
)
@pytest.mark.parametrize("rows", ["auto", "hashed"])
def test_observations_outside_the_space_are_refused(space, observation, rows):
    agent = agent_of(space, rows=rows)
    for call in (agent.q_values, agent.act):
        with pytest.raises(ValueError, match=r"is not in|must have shape"):
            call(observation)


def test_a_table_that_is_too_large_says_so():
    space = spaces.MultiDiscrete([1000, 1000, 1000])
    with pytest.raises(
        ValueError,
        match=r"1,000,000,000 observations by 3 actions takes 24,000 MB.*memory_limit=1,000\.0 MB.*hashed",
    ):
        agent_of(space, memory_limit=10**9)
    agent_of(space, rows="hashed", memory_limit=10**9)
    with pytest.raises(ValueError, match="memory_limit"):
        agent_of(spaces.MultiDiscrete([2**31 - 1] * 9))  # by default too
    with pytest.raises(TypeError, match="memory_limit must be an integer; got '1GB'"):
        agent_of(SMALL, memory_limit="1GB")
    small = agent_of(BOX, memory_limit=128 * (3 * 8 + 16 + 120) + 64 * 3 * 8)
    for seed in range(128):
        small.update(sample(BOX, seed), 0, 1.0, sample(BOX, seed), True)
    with pytest.raises(ValueError, match=r"256 observations by 3 actions takes 1 MB.*raise memory_limit$"):
        small.update(sample(BOX, 128), 0, 1.0, sample(BOX, 128), True)
    assert small.table.n_rows == 128
    assert small.q_values(sample(BOX, 0))[0] == 0.5


def test_kinds_of_rows():
    assert not agent_of(SMALL).table.hashed
    assert agent_of(SMALL, rows="hashed").table.hashed
    assert agent_of(BOX).table.hashed
    with pytest.raises(ValueError, match='rows="arithmetic" needs a discrete observation space'):
        agent_of(BOX, rows="arithmetic")
    with pytest.raises(ValueError, match='rows must be "auto", "arithmetic" or "hashed"; got \'dense\''):
        agent_of(rows="dense")
    assert QTable(SMALL, 2, "auto", 10**6).values.dtype == np.float64


# --- The update, as the course specification states it --------------------------------------------


def test_a_pair_never_seen_is_worth_0():
    assert not agent_of().q_values([2, 1]).any()


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
    agent = agent_of(learning_rate=1)
    for action, value in enumerate([-0.5, -0.25, 0.75]):
        agent.update([0, 1], action, value, [0, 0], True)

    def learnt(mask):
        agent.update([1, 1], 0, 0.0, [0, 1], False, mask)
        return agent.q_values([1, 1])[0]

    assert learnt(None) == 0.75
    assert learnt([1, 1, 1]) == 0.75
    assert learnt(np.array([1, 1, 0], np.int8)) == -0.25
    assert learnt([1, 0, 0]) == -0.5
    assert learnt([0, 0, 0]) == 0  # nothing to do there: no future


def test_unseen_pairs_count_0_in_the_future():
    agent = agent_of(learning_rate=1)
    agent.update([0, 1], 0, -1.0, [0, 0], True)
    agent.update([0, 1], 1, -1.0, [0, 0], True)
    agent.update([1, 1], 0, 0.0, [0, 1], False, [1, 1, 1])
    assert agent.q_values([1, 1])[0] == 0
    agent.update([1, 1], 0, 0.0, [0, 1], False, [1, 1, 0])
    assert agent.q_values([1, 1])[0] == -1


def test_the_end_has_no_future_and_the_discount_counts():
    agent = agent_of(learning_rate=1, gamma=0.5)
    agent.update([0, 1], 0, 8.0, [0, 0], True)
    agent.update([1, 1], 0, 1.0, [0, 1], False)
    assert agent.q_values([1, 1])[0] == 5
    agent.update([1, 1], 0, 1.0, [0, 1], True)
    assert agent.q_values([1, 1])[0] == 1


@pytest.mark.parametrize("rows", ["auto", "hashed"])
def test_observations_are_recognised_in_any_form(rows):
    wide = agent_of(spaces.MultiDiscrete([200, 200]), rows=rows)
    wide.update((np.uint8(150), np.uint8(3)), 0, 1.0, [0, 0], True)
    assert wide.q_values(np.array([150, 3])).any()
    shifted = agent_of(spaces.Discrete(500, start=-2), rows=rows)
    shifted.update(np.uint8(3), 0, 1.0, 0, True)
    assert shifted.q_values(3).any()
    nested = agent_of(spaces.MultiDiscrete([[2, 3], [4, 1]]), rows=rows)
    nested.update([[1, 2], [3, 0]], 0, 1.0, np.zeros((2, 2), int), True)
    assert nested.q_values(np.array([[1, 2], [3, 0]])).any()
    box = agent_of(BOX)
    box.update(np.full((2, 2), -0.0), 0, 1.0, np.zeros((2, 2)), True)
    assert box.q_values(np.zeros((2, 2))).any()


def test_empty_batches():
    for rows in ("auto", "hashed"):
        agent = agent_of(rows=rows)
        assert agent.q_values(np.empty((0, 2), int)).shape == (0, 3)
        assert agent.act(np.empty((4, 0, 2), int), explore=True).shape == (4, 0)


TRANSITION = ([0, 1], 0, 1.0, [1, 1], False, [1, 1, 1])
BATCH = ([[0, 1], [0, 2]], [0, 1], [1.0, 2.0], [[1, 1], [2, 1]], [False, False], [[1, 1, 1], [1, 1, 1]])


@pytest.mark.parametrize("rows", ["auto", "hashed"])
@pytest.mark.parametrize(
    ("transition", "part", "value", "error", "message"),
    [
        (TRANSITION, 0, [9, 9], ValueError, "observation .9, 9. is not in"),
        (TRANSITION, 1, 3, ValueError, r"action 3 is not in Discrete\(3\)"),
        (TRANSITION, 1, -1, ValueError, r"action -1 is not in Discrete\(3\)"),
        (TRANSITION, 1, 1.0, TypeError, r"action must be an integer of Discrete\(3\); got 1\.0"),
        (TRANSITION, 1, "2", TypeError, "action must be an integer"),
        (TRANSITION, 1, True, TypeError, "action must be an integer"),
        (TRANSITION, 2, float("nan"), ValueError, "reward must be finite, .* got nan"),
        (TRANSITION, 2, float("inf"), ValueError, "reward must be finite, .* got inf"),
        (TRANSITION, 3, [9, 9], ValueError, "observation .9, 9. is not in"),
        (TRANSITION, 5, [1, 1], ValueError, r"next_action_mask must have shape \(3,\); got \(2,\)"),
        (TRANSITION, 5, [[0, 0, 1]], ValueError, r"next_action_mask must have shape \(3,\); got \(1, 3\)"),
        (TRANSITION, 5, 1, ValueError, r"next_action_mask must have shape \(3,\); got \(\)"),
        (BATCH, 0, [[0, 1], [9, 2]], ValueError, "is not in"),
        (BATCH, 0, [[0, 1]], ValueError, r"observation must have shape \(2, 2\), as action has; got \(1, 2\)"),
        (BATCH, 1, [0, 7], ValueError, "action .*7.* is not in"),
        (BATCH, 1, [0, 1.5], TypeError, "action must be an integer"),
        (BATCH, 1, [[0, 1]], ValueError, r"observation must have shape \(1, 2, 2\)"),
        (BATCH, 2, 1.0, ValueError, r"reward must have shape \(2,\), as action has; got \(\)"),
        (BATCH, 2, [1.0, float("nan")], ValueError, "reward must be finite"),
        (BATCH, 3, [[1, 1], [2, 9]], ValueError, "is not in"),
        (BATCH, 4, [False], ValueError, r"terminated must have shape \(2,\)"),
        (BATCH, 5, [1, 1, 1], ValueError, r"next_action_mask must have shape \(2, 3\)"),
    ],
)
def test_what_cannot_be_learnt_changes_nothing(transition, part, value, error, message, rows):
    agent = agent_of(rows=rows)
    agent.update([0, 1], 1, 1.0, [0, 0], True)
    before = {state: agent.q_values(state).tolist() for state in np.ndindex(3, 4)}
    with pytest.raises(error, match=message):
        agent.update(*transition[:part], value, *transition[part + 1 :])
    assert {state: agent.q_values(state).tolist() for state in np.ndindex(3, 4)} == before


# --- Acting ---------------------------------------------------------------------------------------


def taught(values, **arguments):
    agent = agent_of(spaces.Discrete(2), len(values), learning_rate=1, **arguments)
    for action, value in enumerate(values):
        agent.update(1, action, value, 0, True)
    return agent


def actions(agent, n=3000, mask=None, explore=True):
    return np.bincount([agent.act(1, mask, explore) for _ in range(n)], minlength=agent.n_actions) / n


def test_without_exploration_the_first_of_the_best_legal_actions():
    agent = taught([1, 3, 3, 5], epsilon=1)
    assert agent.act(1) == 3
    assert type(agent.act(1)) is int
    assert agent.act(1, [1, 1, 1, 0]) == 1
    assert agent.act(1, np.array([1, 0, 1, 0], np.int8)) == 2
    assert agent.act([1, 1, 0], [[1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 1, 1]]).tolist() == [1, 0, 2]


def test_negative_values_are_no_worse_than_illegal_ones():
    agent = taught([-5, -3, -4])
    assert agent.act(1, [1, 0, 1]) == 2
    assert agent.act(np.array([1]), np.array([[1, 0, 1]])).tolist() == [2]


def test_exploration_is_uniform_over_legal_actions_with_probability_epsilon():
    agent = taught([0, 1, 0, 0, 7], epsilon=0.5)
    mask = np.array([1, 1, 0, 1, 0])
    expected = np.array([0.5 / 3, 0.5 + 0.5 / 3, 0, 0.5 / 3, 0])
    tolerance = 4 * 0.5 / 3000**0.5
    np.testing.assert_allclose(actions(agent, mask=mask), expected, atol=tolerance)
    batch = agent.act(np.ones(3000, int), np.tile(mask, (3000, 1)), explore=True)
    np.testing.assert_allclose(np.bincount(batch, minlength=5) / 3000, expected, atol=tolerance)
    assert actions(agent, mask=mask, explore=False).tolist() == [0, 1, 0, 0, 0]


def test_ties_while_exploring():
    tolerance = 4 * 0.5 / 3000**0.5
    agent = taught([2, 0, 2, 2], epsilon=0)
    np.testing.assert_allclose(actions(agent), [1 / 3, 0, 1 / 3, 1 / 3], atol=tolerance)
    batch = agent.act(np.ones(3000, int), None, explore=True)
    np.testing.assert_allclose(np.bincount(batch) / 3000, [1 / 3, 0, 1 / 3, 1 / 3], atol=tolerance)
    agent = taught([0, 2, 2, 2], epsilon=0, ties="first")
    assert actions(agent).tolist() == [0, 1, 0, 0]
    assert set(agent.act(np.ones(100, int), None, explore=True)) == {1}


def test_probabilities_are_of_play_without_exploration():
    agent = taught([1, 3, 3], epsilon=1)
    assert agent.action_probabilities(1, [1, 1, 1]).tolist() == [0, 1, 0]
    assert agent.action_probabilities(1).tolist() == [0, 1, 0]
    batch = agent.action_probabilities(np.array([[1], [0]]), np.array([[[1, 0, 1]], [[0, 0, 1]]]))
    assert batch.tolist() == [[[0, 0, 1]], [[0, 0, 1]]]


def test_action_spaces_may_start_anywhere():
    agent = QLearningAgent(spaces.Discrete(2), spaces.Discrete(3, start=5), learning_rate=1, seed=0)
    agent.update(1, 6, 1.0, 0, True)
    assert agent.q_values(1).tolist() == [0, 1, 0]
    assert agent.act(1) == 6
    assert agent.act(np.array([1])).tolist() == [6]
    assert agent.action_probabilities(1).tolist() == [0, 1, 0]
    assert {agent.act(0, explore=True) for _ in range(50)} == {5, 6, 7}
    with pytest.raises(ValueError, match="action 4 is not in"):
        agent.update(1, 4, 1.0, 0, True)


def test_hyperparameters_may_follow_the_progress():
    agent = agent_of(
        learning_rate=lambda remaining: remaining, gamma=lambda _: 0.5, epsilon=lambda remaining: 1 - remaining
    )
    agent.progress_remaining = 0.25
    agent.update([0, 0], 0, 1.0, [0, 0], True)
    assert agent.q_values([0, 0])[0] == 0.25
    share = np.mean([agent.act([0, 0], explore=True) != 0 for _ in range(3000)])
    assert abs(share - 0.75 * 2 / 3) < 4 * 0.5 / 3000**0.5


def test_what_a_schedule_says_is_checked():
    agent = agent_of(learning_rate=lambda _: 5.0, epsilon=lambda _: float("nan"))
    with pytest.raises(ValueError, match=r"learning_rate must lie between 0 and 1; got 5\.0"):
        agent.update([0, 0], 0, 1.0, [0, 0], True)
    with pytest.raises(ValueError, match="epsilon must lie between 0 and 1; got nan"):
        agent.act([0, 0], explore=True)
    assert not agent.q_values([0, 0]).any()


def test_one_seed_gives_one_agent():
    def choices(seed):
        agent = QLearningAgent(SMALL, spaces.Discrete(9), epsilon=0.5, seed=seed)
        return [agent.act([0, 0], explore=True) for _ in range(50)]

    assert choices(1) == choices(1) != choices(2)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"learning_rate": 1.5}, ValueError, "learning_rate must lie between 0 and 1; got 1.5"),
        ({"gamma": -0.1}, ValueError, "gamma must lie between 0 and 1; got -0.1"),
        ({"epsilon": math.nan}, ValueError, "epsilon must lie between 0 and 1; got nan"),
        ({"epsilon": "0.1"}, TypeError, "epsilon must be a number or a function.*got '0.1'"),
        ({"gamma": True}, TypeError, "gamma must be a number or a function.*got True"),
        ({"ties": "last"}, ValueError, 'ties must be "random" or "first"; got \'last\''),
    ],
)
def test_bad_hyperparameters_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        agent_of(**arguments)


def test_bad_seeds_are_named():
    with pytest.raises(ValueError, match="seed must be 0 or more; got -1"):
        QLearningAgent(SMALL, spaces.Discrete(2), seed=-1)
    with pytest.raises(TypeError, match="seed must be an integer; got 'x'"):
        QLearningAgent(SMALL, spaces.Discrete(2), seed="x")


def test_wrong_spaces_are_named():
    with pytest.raises(TypeError, match=r"action_space must be Discrete; got MultiDiscrete"):
        QLearningAgent(SMALL, SMALL)
    with pytest.raises(TypeError, match="observation_space must be a gymnasium Space; got 4"):
        QLearningAgent(4, spaces.Discrete(2))
    with pytest.raises(TypeError, match="observation_space must hold arrays of a fixed shape"):
        QLearningAgent(spaces.Sequence(spaces.Discrete(2)), spaces.Discrete(2))


@pytest.mark.parametrize(
    ("observation", "mask", "message"),
    [
        ([0, 0], [1, 1], r"action_mask must have shape \(3,\); got \(2,\)"),
        ([0, 0], [0, 0, 0], "action_mask leaves no legal action"),
        ([[0, 0]], [1, 1, 1], r"action_mask must have shape \(1, 3\); got \(3,\)"),
        ([[0, 0], [0, 1]], [[1, 1, 1], [0, 0, 0]], "leaves an observation without a legal action"),
    ],
)
def test_wrong_masks_are_named(observation, mask, message):
    for explore in (False, True):
        with pytest.raises(ValueError, match=message):
            agent_of().act(observation, mask, explore)


def test_a_dictionary_space_gives_its_observation():
    mask = spaces.MultiBinary(3)
    agent = agent_of(spaces.Dict({"observation": SMALL, "action_mask": mask}))
    assert agent.observation_space == SMALL


# --- Files ----------------------------------------------------------------------------------------


def trained(space, rows="auto", **arguments):
    agent = QLearningAgent(space, spaces.Discrete(3, start=2), rows=rows, seed=5, **arguments)
    for seed in range(100):
        agent.update(sample(space, seed), 2 + seed % 3, float(seed), sample(space, seed), True)
    return agent


@pytest.mark.parametrize("rows", ["auto", "hashed"])
@pytest.mark.parametrize("space", OBSERVATION_SPACES, ids=str)
def test_a_loaded_agent_goes_on_as_it_would_have(tmp_path, space, rows):
    agent = trained(space, rows, learning_rate=0.25, gamma=0.75, epsilon=0.5, ties="first")
    agent.save(tmp_path / "agent")
    other = agents.load(tmp_path / "agent")
    assert type(other) is QLearningAgent
    assert (other.observation_space, other.action_space) == (agent.observation_space, agent.action_space)
    assert (other.learning_rate, other.gamma, other.epsilon, other.ties) == (0.25, 0.75, 0.5, "first")
    for seed in range(200):
        observation = sample(space, seed)
        assert other.q_values(observation).tolist() == agent.q_values(observation).tolist()
        actions = [each.act(observation, explore=True) for each in (agent, other)]
        assert actions[0] == actions[1]
        for each in (agent, other):
            each.update(observation, actions[0], 1.0, sample(space, seed + 1), False)


def test_an_agent_that_learnt_nothing_can_be_saved(tmp_path):
    for space in (SMALL, BOX):
        agent_of(space).save(tmp_path / "new")
        assert not agents.load(tmp_path / "new").q_values(sample(space, 0)).any()


def test_files_hold_no_pickle_and_keep_their_name(tmp_path):
    path = tmp_path / "agent.of.mine"
    trained(BOX).save(str(path))
    assert [file.name for file in tmp_path.iterdir()] == ["agent.of.mine"]
    with np.load(path, allow_pickle=False) as file:
        assert {file[name].dtype.kind for name in file.files} == {"f", "u"}


def test_schedules_are_saved_as_their_value_now(tmp_path):
    agent = agent_of(epsilon=lambda remaining: np.float32(remaining / 2))
    agent.progress_remaining = 0.5
    agent.save(tmp_path / "agent")
    assert agents.load(tmp_path / "agent").epsilon == 0.25


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "agent"
    trained(SMALL).save(path)
    before = path.read_bytes()

    def fail(file, **_):
        file.write(b"half of it")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        trained(BOX).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "agent"
    trained(BOX).save(path)
    whole = path.read_bytes()
    for length in (*range(0, len(whole), max(1, len(whole) // 40)), len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"agent is damaged or is no saved agent"):
            agents.load(path)
    path.write_bytes(whole[: len(whole) // 2] + b"xxxxxxxxxx" + whole[len(whole) // 2 + 10 :])
    with pytest.raises(ValueError, match="damaged"):
        agents.load(path)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "agent"
    path.write_text("not an agent")
    with pytest.raises(ValueError, match="no saved agent"):
        agents.load(path)
    np.save(tmp_path / "array.npy", np.zeros(3))
    with pytest.raises(ValueError, match="no saved agent"):
        agents.load(tmp_path / "array.npy")
    np.savez(tmp_path / "arrays.npz", a=np.zeros(3))
    with pytest.raises(ValueError, match="no saved agent"):
        agents.load(tmp_path / "arrays.npz")
    with pytest.raises(FileNotFoundError):
        agents.load(tmp_path / "nowhere")


def rewritten(path, change, **arrays):
    import json

    with np.load(path) as file:
        content = {name: file[name] for name in file.files}
    about = json.loads(content["about"].tobytes())
    change(about)
    content["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with open(path, "wb") as file:
        np.savez(file, **{**content, **arrays})


@pytest.mark.parametrize(
    ("change", "arrays", "message"),
    [
        (
            lambda about: about.update(kind="AlphaNim"),
            {},
            "holds a 'AlphaNim' in format 1; known are .*QLearningAgent",
        ),
        (lambda about: about.update(kind=["x"]), {}, "known are"),
        (lambda about: about.update(format=99), {}, "in format 99"),
        (lambda about: about["action_space"].update(n=10**30), {}, "is damaged"),
        (lambda about: about, {"values": np.full((12, 3), np.nan)}, "values must be finite"),
        (lambda about: about["hyperparameters"].update(gamma=7), {}, "gamma must lie between 0 and 1"),
        (lambda about: about["hyperparameters"].update(colour=7), {}, "is damaged"),
        (lambda about: about["observation_space"].update(kind="Circle"), {}, "'Circle' is not a known space"),
        (lambda about: about.pop("generator"), {}, "is damaged"),
        (lambda about: about, {"values": np.zeros((3, 3))}, "values must be float64 of shape"),
        (lambda about: about, {"values": np.zeros((12, 3), np.float32)}, "values must be float64 of shape"),
    ],
)
def test_files_that_do_not_fit_together_are_refused(tmp_path, change, arrays, message):
    path = tmp_path / "agent"
    trained(SMALL).save(path)
    rewritten(path, change, **arrays)
    with pytest.raises(ValueError, match=message):
        agents.load(path)


def test_keys_of_another_space_are_refused(tmp_path):
    path = tmp_path / "agent"
    trained(BOX).save(path)
    rewritten(path, lambda _: None, keys=np.arange(300, dtype=np.uint8).reshape(100, 3))
    with pytest.raises(ValueError, match="keys must be 100 different ones of 16 bytes"):
        agents.load(path)


def test_places_that_hold_no_file_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such folder to save to: '.*nowhere'"):
        trained(SMALL).save(tmp_path / "nowhere" / "agent")
    with pytest.raises(IsADirectoryError, match="needs a file to be saved to"):
        trained(SMALL).save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_spaces_that_cannot_be_saved_say_so(tmp_path):
    agent = agent_of(spaces.Text(3))
    with pytest.raises(TypeError, match="a Text space cannot be saved"):
        agent.save(tmp_path / "agent")
    assert not list(tmp_path.iterdir())


def test_agents_of_your_own_are_found_by_their_name(tmp_path):
    class Mine(QLearningAgent):
        pass

    Mine(SMALL, spaces.Discrete(2), seed=0).save(tmp_path / "mine")
    assert type(agents.load(tmp_path / "mine")) is Mine


def test_agents_play_blackjack():
    """Observations that are tuples, from a stock environment."""
    env = gym.make("Blackjack-v1")
    agent = QLearningAgent(env.observation_space, env.action_space, seed=0)
    history = agents.train(agent, env, 200, seed=0)
    assert len(history.rewards) == 200
    assert agent.table.n_rows > 20


def test_an_agent_and_an_environment_of_one_seed_draw_apart():
    """Were their numbers the same, an opponent's reply would follow from the agent's move."""
    env = gym.make("nim_env:Nim-v0")
    env.reset(seed=0)
    theirs = env.unwrapped.np_random.random(1_000)
    ours = QLearningAgent(env.observation_space, env.action_space, seed=0).generator.random(1_000)
    again = QLearningAgent(env.observation_space, env.action_space, seed=0).generator.random(1_000)
    np.testing.assert_array_equal(ours, again)
    assert not np.isin(ours, theirs).any()
    assert not np.isin(ours, np.random.default_rng(0).random(1_000)).any()
    assert abs(np.corrcoef(ours, theirs)[0, 1]) < 0.15


def test_a_file_with_changed_bytes_is_loaded_or_refused(tmp_path):
    """Whatever a few wrong bytes make of a file, it is an agent or a ValueError that names it."""
    agent = QLearningAgent(spaces.MultiDiscrete([3, 4]), spaces.Discrete(5), seed=0)
    agent.save(tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    generator, path, told = np.random.default_rng(0), tmp_path / "changed", []
    for _ in range(1500):
        changed = bytearray(whole)
        for place in generator.integers(len(whole), size=generator.integers(1, 11)):
            changed[place] = generator.integers(256)
        path.write_bytes(changed)
        try:
            agents.load(path)
        except ValueError as error:
            told.append(str(error))
    assert len(told) > 500
    assert all(str(path) in words for words in told)
