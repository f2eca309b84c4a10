"""Agents of one's own, written from the docstrings alone, and the errors for likely mistakes."""

from collections import defaultdict

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv
from other_games import RaceAEC, RaceGym

import agents
import nim_env  # noqa: F401  registers
from agents import Agent, QLearningAgent, TabularAgent
from nim_env import NimRules, evaluation


class Sarsa(TabularAgent):
    """SARSA (Sutton and Barto 2018, section 6.4); from whole episodes, to know the next action."""

    episodic = True

    def __init__(self, observation_space, action_space, *, learning_rate=0.3, epsilon=0.1, seed=None):
        super().__init__(observation_space, action_space, seed=seed)
        self.learning_rate, self.epsilon = learning_rate, epsilon
        self.previous = None

    def act(self, observation, action_mask=None, explore=False):
        legal = np.arange(self.n_actions) if action_mask is None else np.flatnonzero(action_mask)
        if explore and self.generator.random() < self.epsilon:
            return int(self.generator.choice(legal)) + self.first_action
        values = self.q_values(observation)[legal]
        return int(legal[values.argmax()]) + self.first_action

    def update(self, observation, action, reward, next_observation, terminated, next_action_mask=None):  # noqa: ARG002
        row, index = self.table.row(observation), action - self.first_action
        if self.previous is not None:
            self.move(*self.previous, self.table.values[row, index])
        self.previous = row, index, reward
        if terminated:
            self.move(*self.previous, 0.0)

    def move(self, row, index, reward, next_value):
        self.table.values[row, index] += self.learning_rate * (reward + next_value - self.table.values[row, index])

    def end_episode(self):
        self.previous = None


class MonteCarlo(Agent):
    """First-visit Monte-Carlo control (Sutton and Barto 2018, section 5.4) with a dictionary."""

    episodic = True

    def __init__(self, observation_space, action_space, *, epsilon=0.2, seed=None):
        super().__init__(observation_space, action_space, seed=seed)
        self.epsilon, self.episode = epsilon, []
        self.sums, self.visits = (defaultdict(lambda: np.zeros(self.n_actions)) for _ in range(2))

    def act(self, observation, action_mask=None, explore=False):
        legal = np.arange(self.n_actions) if action_mask is None else np.flatnonzero(action_mask)
        if explore and self.generator.random() < self.epsilon:
            return self.generator.choice(legal) + self.first_action
        return legal[self.q_values(observation)[legal].argmax()] + self.first_action

    def q_values(self, observation):
        key = tuple(np.ravel(observation).tolist())
        return self.sums[key] / np.maximum(self.visits[key], 1)

    def update(self, observation, action, reward, next_observation, terminated, next_action_mask=None):  # noqa: ARG002
        self.episode.append((tuple(np.ravel(observation).tolist()), action - self.first_action, reward))

    def end_episode(self):
        total, returns = 0.0, {}
        for key, index, reward in reversed(self.episode):
            total += reward
            returns[key, index] = total  # the first visit comes last
        for (key, index), value in returns.items():
            self.sums[key][index] += value
            self.visits[key][index] += 1
        self.episode.clear()

    def state_dict(self):
        keys = list(self.sums)
        rows = {name: np.array([getattr(self, name)[key] for key in keys]) for name in ("sums", "visits")}
        return {"positions": np.array(keys), **rows}

    def load_state_dict(self, arrays):
        for name in ("sums", "visits"):
            getattr(self, name).update(zip(map(tuple, arrays["positions"].tolist()), arrays[name], strict=True))


ENVIRONMENTS = {
    "aec": lambda **arguments: pettingzoo.make("aec", "nim-v0", **arguments),
    "gymnasium": lambda **arguments: gym.make("Nim-v0", opponent=None, **arguments),
    "vector": lambda **arguments: gym.make_vec("Nim-v0", num_envs=5, opponent=None, **arguments),
}


def agent_for(env, kind, **arguments):
    if isinstance(env, pettingzoo.AECEnv):
        player = env.possible_agents[0]
        return kind(env.observation_space(player), env.action_space(player), **arguments)
    if isinstance(env, gym.vector.VectorEnv):
        return kind(env.single_observation_space, env.single_action_space, **arguments)
    return kind(env.observation_space, env.action_space, **arguments)


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("kind", [MonteCarlo, Sarsa])
def test_mastery_by_self_play(kind, name, tmp_path):
    env = ENVIRONMENTS[name](heaps=(1, 2, 3))
    agent = agent_for(env, kind, seed=0, epsilon=0.3)
    history = agents.train(agent, env, 4000, seed=0)
    assert set(history.returns) == {-1, 1}
    rules = NimRules((1, 2, 3))
    assert evaluation.mastery(rules, agent).expert >= 0.95
    agent.save(tmp_path / "agent")
    other = agents.load(tmp_path / "agent")
    assert type(other) is kind
    assert other.epsilon == 0.3
    assert evaluation.mastery(rules, other).expert == evaluation.mastery(rules, agent).expert
    positions, mask = np.array([[1, 2, 3], [0, 2, 1]]), rules.action_mask([[1, 2, 3], [0, 2, 1]])
    for position, legal in zip(positions, mask, strict=True):
        assert agent.q_values(position).any()
        assert other.q_values(position).tolist() == agent.q_values(position).tolist()
        assert other.act(position, legal, explore=True) == agent.act(position, legal, explore=True)


@pytest.mark.parametrize("opponent", ["aec", "gymnasium"])
def test_an_agent_without_batches_plays_batches(opponent):
    agent = agent_for(ENVIRONMENTS[opponent](), MonteCarlo, seed=0)
    env = gym.make_vec("Nim-v0", num_envs=6, opponent=agent)
    learner = agent_for(env, QLearningAgent, seed=0)
    assert len(agents.train(learner, env, 20, seed=0).returns) == 20
    observations, mask = np.ones((2, 3, 4), int), np.ones((2, 3, 16))
    mask[1, :, :5] = 0
    probabilities = agent.action_probabilities(observations, mask)
    assert probabilities.shape == (2, 3, 16)
    assert probabilities.argmax(axis=-1).tolist() == [[0] * 3, [5] * 3]
    assert agent.action_probabilities(observations[1, 1], mask[1, 1]).tolist() == np.eye(16)[5].tolist()


def test_the_example_in_the_docstring_works():
    import inspect
    import textwrap

    code = inspect.getdoc(Agent).split("::\n", 1)[1].split("\n**Shapes.**")[0]
    names = {"Agent": Agent, "np": np}
    exec(textwrap.dedent(code), names)
    env = pettingzoo.make("aec", "nim-v0", heaps=(1, 2, 3))
    agent = agent_for(env, names["MonteCarloAgent"], seed=0, epsilon=0.3)
    agents.train(agent, env, 5000, seed=0)
    assert evaluation.mastery(NimRules((1, 2, 3)), agent).expert >= 0.95


# --- Which transitions arrive, and when ------------------------------------------------------------


def recorder(**attributes):
    """A class that plays 2 wherever it can and writes down every call of update and end_episode."""

    class Recorder(QLearningAgent):
        def act(self, observation, action_mask=None, explore=False):  # noqa: ARG002
            return np.full(np.shape(observation), 2) if np.ndim(observation) else 2

        def update(self, observation, action, reward, next_observation, terminated, next_action_mask=None):  # noqa: ARG002
            self.calls = getattr(self, "calls", [])
            parts = np.atleast_1d(observation), np.atleast_1d(reward), np.atleast_1d(terminated)
            self.calls.append([tuple(part.item() for part in parts) for parts in zip(*parts, strict=True)])

        def end_episode(self):
            self.calls.append("end")

    for name, value in attributes.items():
        setattr(Recorder, name, value)
    return Recorder(spaces.Discrete(12), spaces.Discrete(2, start=1))


FIRST = [(0, 0.0, False), (4, 0.0, False), (8, 1.0, True)]  # 0 2 4 6 8 10: player 0 wins
SECOND = [(2, 0.0, False), (6, -1.0, True)]
TRUNCATED = [[(0, 0.0, False)], [(2, 0.0, False)]]  # after three plies player 0 does not observe what follows


@pytest.mark.parametrize("make", [RaceGym, RaceAEC])
def test_an_episodic_agent_gets_one_player_after_another(make):
    agent = recorder(batched=False, episodic=True)
    agents.train(agent, make(), 1)
    assert agent.calls == [*([step] for step in FIRST), "end", *([step] for step in SECOND), "end"]
    agent.calls.clear()
    agents.train(agent, make(truncate_after=3), 1)
    assert agent.calls == [TRUNCATED[0], "end", TRUNCATED[1], "end"]


@pytest.mark.parametrize("mode", gym.vector.AutoresetMode)
def test_an_episodic_agent_in_a_vector_environment(mode):
    env = SyncVectorEnv([RaceGym] * 2, autoreset_mode=mode)
    agent = recorder(batched=False, episodic=True)
    agents.train(agent, env, 2)
    first, second = [*([step] for step in FIRST), "end"], [*([step] for step in SECOND), "end"]
    assert agent.calls == [*first, *first, *second, *second]
    agent = recorder(batched=True, episodic=True)
    agents.train(agent, env, 2)
    assert agent.calls == [FIRST + FIRST + SECOND + SECOND, "end"]
    env = SyncVectorEnv([lambda: RaceGym(3)] * 2, autoreset_mode=mode)
    agent = recorder(batched=True, episodic=True)
    agents.train(agent, env, 2)
    assert agent.calls == [TRUNCATED[0], "end"] * 2 + [TRUNCATED[1], "end"] * 2


def test_an_unfinished_episode_is_not_delivered():
    class Broken(RaceGym):
        def step(self, action):
            if self.plies == 3:
                raise KeyError("broken")
            return super().step(action)

    agent = recorder(batched=False, episodic=True)
    with pytest.raises(KeyError, match="broken"):
        agents.train(agent, Broken(), 1)
    assert not hasattr(agent, "calls")
    agents.train(agent, SyncVectorEnv([RaceGym, lambda: RaceGym(2)]), 1)  # the second ends, but began later
    assert agent.calls == [*([step] for step in FIRST), "end", *([step] for step in SECOND), "end"]


# --- Likely mistakes -------------------------------------------------------------------------------


class Constant(Agent):
    """Always acts the same."""

    answer = 0

    def act(self, observation, action_mask=None, explore=False):  # noqa: ARG002
        return self.answer

    def update(self, *transition):
        pass


def test_a_constructor_that_forgets_its_parent():
    class Forgetful(Constant):
        def __init__(self, observation_space, action_space):
            pass

    env = gym.make("Nim-v0")
    with pytest.raises(TypeError, match=r"Forgetful.__init__ must call super\(\).__init__"):
        agents.train(Forgetful(env.observation_space, env.action_space), env, 1)


@pytest.mark.parametrize(
    ("answer", "error"),
    [(16, ValueError), (-1, ValueError), (1.0, TypeError), (None, TypeError)],
)
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_action_outside_the_space(name, answer, error):
    env = ENVIRONMENTS[name]()
    agent = agent_for(env, Constant)
    agent.answer = answer
    with pytest.raises(error, match=rf"Constant.act .*Discrete\(16\); got {answer}"):
        agents.train(agent, env, 1, seed=0)


@pytest.mark.parametrize("answer", [np.int64(2), np.array(2), np.uint8(2)])
def test_integers_of_all_kinds_are_actions(answer):
    env = gym.make("SimpleNim-v0", opponent=None)
    agent = agent_for(env, Constant)
    agent.answer = answer
    assert agents.train(agent, env, 1).lengths.tolist() == [7]


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (3, ValueError, r"shape \(5,\).*got 3"),
        (np.zeros((5, 1), int), ValueError, r"shape \(5,\)"),
        (np.zeros(5), TypeError, r"Discrete\(16\)"),
        (np.arange(13, 18), ValueError, "16"),
    ],
)
def test_a_batch_of_wrong_actions(answer, error, message):
    env = ENVIRONMENTS["vector"]()
    agent = agent_for(env, type("Batched", (Constant,), {"batched": True}))
    agent.answer = answer
    with pytest.raises(error, match=f"Batched.act .*{message}"):
        agents.train(agent, env, 1, seed=0)


def test_what_is_missing_is_named(tmp_path):
    agent = Constant(spaces.Discrete(2), spaces.Discrete(2))
    with pytest.raises(NotImplementedError, match="Constant has no Q-values"):
        agent.q_values(0)
    with pytest.raises(NotImplementedError, match="Constant must define state_dict"):
        agent.save(tmp_path / "agent")
    with pytest.raises(TypeError, match='Both: an episodic agent needs bootstraps_from = "own turn"'):
        type("Both", (Constant,), {"episodic": True, "bootstraps_from": "opponent turn"})
    assert not list(tmp_path.iterdir())


# --- Saving ----------------------------------------------------------------------------------------


def test_a_constructor_with_fewer_or_more_arguments(tmp_path):
    class Greedy(QLearningAgent):
        def __init__(self, observation_space, action_space, seed=None):
            super().__init__(observation_space, action_space, epsilon=0.0, seed=seed, table="hash")

    class Named(QLearningAgent):
        def __init__(self, observation_space, action_space, name, **arguments):
            super().__init__(observation_space, action_space, **arguments)
            self.name = name

    for agent in (
        Greedy(spaces.Discrete(2), spaces.Discrete(3)),
        Named(spaces.Discrete(2), spaces.Discrete(3), "Bob", epsilon=0.0),
    ):
        agent.update(1, 2, 1.0, 0, True)
        agent.save(tmp_path / "agent")
        other = agents.load(tmp_path / "agent")
        assert type(other) is type(agent)
        assert type(other.table) is type(agent.table)
        assert other.epsilon == 0
        assert other.q_values(1).tolist() == [0, 0, 0.5]
        assert getattr(other, "name", "Bob") == "Bob"


def test_what_cannot_be_saved_is_named(tmp_path):
    class Lossy(QLearningAgent):
        def __init__(self, observation_space, action_space, name="x", kind=None):  # noqa: ARG002
            super().__init__(observation_space, action_space)
            self.kind = kind

    agent = Lossy(spaces.Discrete(2), spaces.Discrete(2))
    with pytest.raises(TypeError, match=r"Lossy .*'name' as self.name"):
        agent.save(tmp_path / "agent")
    agent.name, agent.kind = "x", {1, 2}
    with pytest.raises(TypeError, match=r"Lossy .*kind={1, 2}"):
        agent.save(tmp_path / "agent")
    agent.kind = None
    for arrays in ({"about": np.zeros(1)}, {"a": np.array([object()])}, {3: np.zeros(2)}):
        agent.state_dict = lambda arrays=arrays: arrays
        with pytest.raises(TypeError, match=r"Lossy\.state_dict"):
            agent.save(tmp_path / "agent")
    assert not list(tmp_path.iterdir())
    agent.state_dict = lambda: {"file": np.zeros(2), "values": np.zeros((2, 2))}  # names that NumPy's savez takes
    agent.save(tmp_path / "agent")
    assert type(agents.load(tmp_path / "agent")) is Lossy


def test_an_error_of_the_constructor_is_told(tmp_path):
    class Strict(QLearningAgent):
        allowed = True

        def __init__(self, observation_space, action_space):
            if not self.allowed:
                raise RuntimeError("no licence")
            super().__init__(observation_space, action_space)

    Strict(spaces.Discrete(2), spaces.Discrete(2)).save(tmp_path / "agent")
    Strict.allowed = False
    with pytest.raises(ValueError, match="agent: cannot restore its Strict: RuntimeError: no licence"):
        agents.load(tmp_path / "agent")
