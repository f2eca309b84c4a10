"""Training in vector environments: the same transitions as in single ones, and the same results."""

import itertools
from functools import cache, partial

import gymnasium as gym
import numpy as np
import pytest
from agent_helpers import agent_for
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from other_games import OnlyTheAPI, RaceGym
from scipy import stats
from system_4 import TABLES, check_table

import agents
import nim_env  # noqa: F401  registers
from agents import MinimaxQAgent, QLearningAgent, WinCountAgent
from nim_env import NimRules

EVERY_MODE = pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.value)


def make(num_envs=64, name="Nim-v0", **arguments):
    return gym.make_vec(name, num_envs=num_envs, **arguments)


class Race(RaceGym):
    """Race to ten from some counter on, with masks, and cut short at will."""

    def __init__(self, start=0, truncate_after=None, alone=False, in_observation=False):
        super().__init__(truncate_after)
        self.start, self.alone, self.in_observation = start, alone, in_observation
        if in_observation:
            self.observation_space = spaces.Dict(
                {"observation": RaceGym.observation_space, "action_mask": spaces.MultiBinary(2)}
            )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.counter = self.start
        return self.described(self.counter, {"to_play": 0})

    def step(self, action):
        counter, *rest, info = super().step(action)
        observation, info = self.described(counter, info)
        return observation, *rest, info

    def described(self, counter, info):
        info = {} if self.alone else info
        mask = np.array([1, counter != 3], dtype=np.int8)
        if self.in_observation:
            return {"observation": np.int64(counter), "action_mask": mask}, info
        return counter, {**info, "action_mask": mask}


def recorder(kind):
    """An agent of a kind that plays fixed actions and writes its transitions down."""

    class Recorder(kind):
        def act(self, observation, action_mask=None, explore=False):
            assert explore
            counters = np.asarray(observation)
            actions = 1 + (counters * 7 // 3 + 1) % 2
            mask = np.ones((*counters.shape, 2)) if action_mask is None else np.asarray(action_mask)
            legal = np.take_along_axis(mask, actions[..., None] - 1, axis=-1)[..., 0]
            self.delivered = getattr(self, "delivered", [])
            return np.where(legal, actions, 1)

        def update(self, *transition):
            *parts, mask = transition
            if np.ndim(parts[1]):
                masks = [None] * len(parts[1]) if mask is None else mask
                for row in zip(*parts, masks, strict=True):
                    self.update(*row)
                return
            known = () if mask is None or kind is WinCountAgent else tuple(mask)
            self.delivered.append((*(part.item() if hasattr(part, "item") else part for part in parts), known))

    return Recorder(RaceGym.observation_space, RaceGym.action_space)


class OpponentTurn(QLearningAgent):
    bootstraps_from = "opponent turn"


@EVERY_MODE
@pytest.mark.parametrize("kind", [QLearningAgent, OpponentTurn, WinCountAgent])
def test_the_transitions_are_those_of_single_environments(kind, mode):
    starts = [(0, None), (5, None), (3, 2), (9, None), (1, 4), (8, 1), (6, 3)]
    for alone, in_observation in itertools.product((False, True), repeat=2):
        if kind is WinCountAgent and not alone:
            continue  # it does not learn by self-play
        makers = [partial(Race, *start, alone, in_observation) for start in starts]
        vector_agent, single_agent = recorder(kind), recorder(kind)
        env = SyncVectorEnv(makers, autoreset_mode=mode)
        history = agents.train(vector_agent, env, len(makers))  # so that each is played once
        singles = [agents.train(single_agent, maker(), 1) for maker in makers]
        assert sorted(vector_agent.delivered) == sorted(single_agent.delivered)
        assert sorted(history.lengths.tolist()) == sorted(single.lengths.item() for single in singles)
        assert sorted(history.returns.tolist()) == sorted(single.returns.item() for single in singles)
        if kind is WinCountAgent:  # each episode in one piece
            counters = {counter for counter, _ in starts}
            assert sum(transition[0] in counters for transition in vector_agent.delivered) >= len(makers)
            for before, after in itertools.pairwise(vector_agent.delivered):
                assert before[3] == after[0] or after[0] in counters


@EVERY_MODE
def test_one_environment_gives_the_transitions_of_a_single_one(mode):
    """Episode after episode, so that nothing of one is left for the next."""
    for kind, truncate_after in itertools.product((QLearningAgent, OpponentTurn), (None, 3, 4)):
        vector_agent, single_agent = recorder(kind), recorder(kind)
        agents.train(vector_agent, SyncVectorEnv([partial(Race, 0, truncate_after)], autoreset_mode=mode), 5)
        agents.train(single_agent, Race(0, truncate_after), 5)
        by_step = list if kind is OpponentTurn else sorted  # of both last turns any may come first
        assert by_step(vector_agent.delivered) == by_step(single_agent.delivered)


class Walk(gym.Env):
    """Forty steps, cut short at the end; the observation is one and the same array."""

    observation_space, action_space = spaces.MultiDiscrete([100]), spaces.Discrete(1)

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        super().reset(seed=seed)
        self.at = np.zeros(1, dtype=np.int64)
        return self.at, {}

    def step(self, action):  # noqa: ARG002
        self.at += 1
        return self.at, 1.0, False, self.at[0] == 40, {}


class Listening(QLearningAgent):
    """Writes down its transitions, and how many there are at the end of each episode."""

    episodic = False

    def __init__(self, *spaces_, **arguments):
        super().__init__(*spaces_, **arguments)
        self.delivered, self.ended = [], []

    def update(self, observation, action, reward, next_observation, terminated, mask=None):  # noqa: ARG002
        self.delivered += zip(np.ravel(observation).tolist(), np.ravel(next_observation).tolist(), strict=True)

    def end_episode(self):
        self.ended.append(len(self.delivered))


class EpisodicListening(Listening):
    episodic = True


@EVERY_MODE
def test_long_episodes_cut_short_in_environments_that_reuse_their_arrays(mode):
    steps = [(at, at + 1) for at in range(40)]
    for kind, copies in itertools.product((Listening, EpisodicListening), (True, False)):
        env = SyncVectorEnv([Walk] * 2, copy=copies, autoreset_mode=mode)
        agent = agent_for(env, kind)
        history = agents.train(agent, env, 4)
        assert history.lengths.tolist() == [40] * 4
        assert sorted(agent.delivered) == sorted(steps * 4)
        if kind is EpisodicListening:
            assert agent.delivered == steps * 4
            assert set(agent.ended) == {40, 80, 120, 160}
        else:
            assert agent.ended == [80, 80, 160, 160]


class Corridor(gym.Env):
    """As long as was drawn: one step or twenty."""

    observation_space, action_space = spaces.Discrete(21), spaces.Discrete(1)

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        super().reset(seed=seed)
        self.left = int(self.np_random.choice([1, 20]))
        return self.left, {}

    def step(self, action):  # noqa: ARG002
        self.left -= 1
        return self.left, 1.0, self.left == 0, False, {}


@EVERY_MODE
def test_exactly_the_episodes_that_begin_first_count(mode):
    env = SyncVectorEnv([Corridor] * 100, autoreset_mode=mode)
    agent = agent_for(env, learning_rate=0.5)
    learned = []
    agent.update = lambda *batch: learned.append(len(batch[1]))
    history = agents.train(agent, env, 1000, seed=1)
    assert len(history.lengths) == len(history.returns) == 1000
    assert history.lengths.sum() == history.returns.sum() == sum(learned)
    assert set(history.lengths) == {1, 20}
    assert stats.binomtest(int((history.lengths == 20).sum()), 1000, 0.5).pvalue > 0.001


@EVERY_MODE
def test_any_number_of_episodes(mode):
    for opponent, kind in ((None, MinimaxQAgent), (None, QLearningAgent), ("random", WinCountAgent)):
        env = make(4, opponent=opponent, autoreset_mode=mode, illegal_action="raise")
        for episodes in (0, 1, 4, 5, 50):
            history = agents.train(agent_for(env, kind), env, episodes, seed=0)
            assert len(history.returns) == len(history.lengths) == episodes
            assert set(history.returns) <= {-1, 1}
            assert (history.lengths > 0).all()


def test_rewards_are_the_first_players():
    env = make(50, opponent=None, heaps=(1, 1), misere=False)
    history = agents.train(agent_for(env), env, 200, seed=0)
    assert history.returns.tolist() == [-1] * 200  # the second player takes the last object
    assert history.lengths.tolist() == [2] * 200


def test_the_same_seeds_the_same_training():
    tables = []
    for _ in range(2):
        env = make(16, opponent="expert")
        agent = agent_for(env)
        history = agents.train(agent, env, 300, seed=3)
        tables.append((agent.table.values.copy(), history.returns, history.lengths))
    for one, other in zip(*tables, strict=True):
        np.testing.assert_array_equal(one, other)


def test_callbacks():
    env = make(8)
    called = []

    def watch(agent, history):
        called.append(len(history.returns))
        assert agent.progress_remaining == 1 - ([0, *called][-2]) / 100
        with pytest.raises(ValueError, match="read-only"):
            history.returns[0] = 5
        return called[-1] < 60

    history = agents.train(agent_for(env), env, 100, seed=0, callback=watch)
    assert called == sorted(set(called))
    assert len(history.returns) == called[-1] >= 60 > called[-2]
    assert agents.train(agent_for(env), env, 20, progress=True).returns.shape == (20,)


def test_wrong_settings():
    env = make(3)
    with pytest.raises(ValueError, match="MinimaxQAgent learns by self-play only"):
        agents.train(agent_for(env, MinimaxQAgent), env, 1)
    env = make(3, opponent=None)
    with pytest.raises(ValueError, match="WinCountAgent does not learn by self-play"):
        agents.train(agent_for(env, WinCountAgent), env, 1)
    with pytest.raises(ValueError, match="the agent was made for observation_space"):
        agents.train(agent_for(make(3, heaps=(5,))), env, 1)

    class Pair(Corridor):
        observation_space = spaces.Tuple([spaces.Discrete(21), spaces.Discrete(2)])

        def reset(self, **arguments):
            return (super().reset(**arguments)[0], 0), {}

    env = SyncVectorEnv([Pair] * 2)
    with pytest.raises(ValueError, match="do not come in batches; train on one environment"):
        agents.train(agent_for(env), env, 1)


@EVERY_MODE
def test_training_needs_nothing_but_the_vector_api(mode):
    for opponent in ("random", None):
        env = make(8, opponent=opponent, autoreset_mode=mode)
        plain = agents.train(agent_for(env), env, 50, seed=0)
        proxied = agents.train(agent_for(env), OnlyTheAPI(env, OnlyTheAPI.VECTOR), 50, seed=0)
        assert plain.returns.tolist() == proxied.returns.tolist()


def test_wrapped_environments():
    env = gym.wrappers.vector.RecordEpisodeStatistics(make(8, opponent=None, autoreset_mode="Disabled"))
    history = agents.train(agent_for(env), env, 100, seed=0)
    assert env.episode_count >= 100
    assert len(history.lengths) == 100


@EVERY_MODE
@pytest.mark.parametrize(("heaps", "pairs"), TABLES)
def test_the_published_tables_of_system_4(heaps, pairs, mode):
    env = make(64, heaps=heaps, opponent=None, autoreset_mode=mode)
    agent = agent_for(env, MinimaxQAgent, learning_rate=1.0, gamma=0.9, epsilon=1.0)
    agents.train(agent, env, 4000, seed=0)
    check_table(agent, heaps, pairs)


@pytest.mark.parametrize("misere", [True, False])
def test_batches_and_single_games_end_at_the_same_table(misere):
    rules = NimRules((1, 3, 2), misere=misere)
    arguments = {"heaps": rules.heaps, "misere": misere, "opponent": None, "random_start": True}
    tables = []
    for env in (make(50, **arguments), gym.make("Nim-v0", **arguments)):
        agent = agent_for(env, MinimaxQAgent, learning_rate=1.0, gamma=0.9, epsilon=1.0)
        agents.train(agent, env, 5000, seed=0)
        tables.append(agent.table.values)
    np.testing.assert_array_equal(*tables)

    @cache
    def worth(position):
        mask = rules.action_mask(position)
        return max(value_of(position, action) for action in np.flatnonzero(mask))

    def value_of(position, action):
        after = tuple(rules.apply(position, action).tolist())
        return -0.9 * worth(after) if any(after) else (-1.0 if misere else 1.0)

    for index in range(1, rules.n_positions):
        position = tuple(int(heap) for heap in np.unravel_index(index, rules.shape))
        for action in np.flatnonzero(rules.action_mask(position)):
            assert abs(tables[0][index, action] - value_of(position, action)) < 1e-12


def test_batches_and_single_games_learn_the_same_values_on_average():
    """With learning rate 0.5 values keep moving, about the same means."""
    arguments = {"heaps": (5,), "max_take": 2, "opponent": "random", "first_player": "agent"}
    found = {"vector": [], "single": []}
    for seed in range(30):
        for kind, env in (("vector", make(8, **arguments)), ("single", gym.make("Nim-v0", **arguments))):
            agent = agent_for(env, gamma=0.9, epsilon=1.0, seed=seed)
            agents.train(agent, env, 400, seed=seed)
            found[kind].append(agent.q_values([[5], [4], [3], [2]]).ravel())
    vector, single = np.array(found["vector"]), np.array(found["single"])
    moving = vector.std(axis=0) > 0
    assert moving.sum() >= 4
    assert (stats.ttest_ind(vector[:, moving], single[:, moving]).pvalue > 0.001).all()
    np.testing.assert_allclose(vector[:, ~moving], single[:, ~moving], atol=1e-9)


def test_real_observations_are_hashed():
    env = gym.make_vec("CartPole-v1", num_envs=4, vectorization_mode="vector_entry_point")
    agent = agent_for(env)
    history = agents.train(agent, env, 20, seed=0)
    assert agent.table.n_rows > history.lengths.sum() - 4 * 20


class LastAction(QLearningAgent):
    """Overrides one of the two methods, which then gets observations."""

    def act(self, observation, action_mask=None, explore=False):
        assert explore
        assert np.shape(observation)[1:] == self.observation_space.shape
        return self.n_actions - 1 - np.argmax(action_mask[:, ::-1], axis=1)


def test_a_subclass_may_override_one_method():
    env = make(10, heaps=(3,), first_player="agent")
    agent = agent_for(env, LastAction)
    assert agents.train(agent, env, 30, seed=0).lengths.tolist() == [1] * 30  # it takes all
    assert agent.q_values([3]).tolist()[:2] == [0, 0]


class Careless(Corridor):
    """A reward or a mask that cannot be right."""

    reward, mask = 1.0, 1

    def reset(self, **arguments):
        return super().reset(**arguments)[0], {"action_mask": np.array([self.mask])}

    def step(self, action):
        observation, _, terminated, truncated, _ = super().step(action)
        return observation, self.reward, terminated, truncated, {"action_mask": np.array([1])}


@pytest.mark.parametrize("kind", [QLearningAgent, WinCountAgent])
def test_wrong_rewards_and_masks_of_an_environment(kind, monkeypatch):
    for name, value, message in (
        ("reward", np.nan, "rewards .*nan"),
        ("reward", -np.inf, "rewards .*-inf"),
        ("mask", 0, "action_mask leaves an observation without a legal action"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(Careless, name, value)
            env = SyncVectorEnv([Careless] * 3)
            agent = agent_for(env, kind)
            with pytest.raises(ValueError, match=message):
                agents.train(agent, env, 5, seed=0)
            assert not agent.table.values.any()
