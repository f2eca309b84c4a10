"""Custom agents, written from the documentation alone, and the errors for likely mistakes."""

import re
from pathlib import Path

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from agent_helpers import agent_for
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv
from other_games import RaceAEC, RaceGym

import agents
import nim_env  # noqa: F401  registers
from agents import Agent, QLearningAgent, TabularAgent
from nim_env import NimRules, evaluation
from nim_env.policies import InvalidPolicyOutput


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


PAGE = Path(__file__).parents[2] / "docs" / "agents" / "own_agent.md"
CODE = re.search(
    r"```python\n(from collections import defaultdict\n.*?)\n\n\nenv = ", PAGE.read_text("utf-8"), re.DOTALL
)
EXAMPLE = {}
exec(CODE[1], EXAMPLE)


class MonteCarlo(EXAMPLE["MonteCarloAgent"]):
    """The example of the documentation, with Q-values, and to be saved."""

    def q_values(self, observation):
        return self.q[np.asarray(observation).tobytes()]

    def state_dict(self):
        arrays = {name: np.array([getattr(self, name)[key] for key in self.q]) for name in ("q", "visits")}
        return {"keys": np.array([np.frombuffer(key, np.uint8) for key in self.q]), **arrays}

    def load_state_dict(self, arrays):
        keys = [key.tobytes() for key in arrays["keys"]]
        for name in ("q", "visits"):
            getattr(self, name).update(zip(keys, arrays[name], strict=True))


ENVIRONMENTS = {
    "aec": lambda **arguments: pettingzoo.make("aec", "nim-v0", **arguments),
    "gymnasium": lambda **arguments: gym.make("Nim-v0", opponent=None, **arguments),
    "vector": lambda **arguments: gym.make_vec("Nim-v0", num_envs=5, opponent=None, **arguments),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("kind", [MonteCarlo, Sarsa])
def test_mastery_by_self_play(kind, name, tmp_path):
    env = ENVIRONMENTS[name](heaps=(1, 2, 3))
    agent = agent_for(env, kind, epsilon=0.3)
    history = agents.train(agent, env, 2500, seed=0)
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


def test_an_agent_without_batches_plays_batches():
    agent = agent_for(ENVIRONMENTS["gymnasium"](), MonteCarlo)
    env = gym.make_vec("Nim-v0", num_envs=6, opponent=agent)
    assert len(agents.train(agent_for(env), env, 20, seed=0).returns) == 20
    observations, mask = np.ones((2, 3, 4), int), np.ones((2, 3, 16))
    mask[1, :, :5] = 0
    probabilities = agent.action_probabilities(observations, mask)
    assert probabilities.shape == (2, 3, 16)
    assert probabilities.argmax(axis=-1).tolist() == [[0] * 3, [5] * 3]
    assert agent.action_probabilities(observations[1, 1], mask[1, 1]).tolist() == np.eye(16)[5].tolist()


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


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_action_outside_the_space(name):
    env = ENVIRONMENTS[name]()
    agent = agent_for(env, Constant)
    for agent.answer, error in ((16, ValueError), (-1, ValueError), (1.0, TypeError), (None, TypeError)):
        with pytest.raises(error, match=rf"Constant.act .*Discrete\(16\); got {agent.answer}"):
            agents.train(agent, env, 1, seed=0)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("opponent", ["random", None])
@pytest.mark.parametrize("num_envs", [1, 3])
def test_no_batch_is_empty(num_envs, opponent, mode):
    class Mean(Agent):
        batched = True

        def act(self, observation, action_mask=None, explore=False):  # noqa: ARG002
            sizes.add(len(observation))
            return np.array([self.generator.choice(np.flatnonzero(mask)) for mask in action_mask])

        def update(self, observation, *others):  # noqa: ARG002
            sizes.add(len(observation))

    sizes = set()
    envs = gym.make_vec("Nim-v0", num_envs, heaps=(1, 2), opponent=opponent, autoreset_mode=mode)
    agents.train(Mean(envs.single_observation_space, envs.single_action_space, seed=0), envs, 20, seed=0)
    assert min(sizes) > 0


@pytest.mark.parametrize("batched", [False, True])
def test_evaluations_and_opponents_check_actions(batched):
    kind = type("Checked", (Constant,), {"batched": batched})
    env = gym.make("SimpleNim-v0")
    agent, rules = agent_for(env, kind), env.unwrapped.rules
    vector = gym.make_vec("SimpleNim-v0", 2, opponent=agent)
    opposed = gym.make("SimpleNim-v0", opponent=agent), vector
    for agent.answer in (1.9, None, [0]):
        with pytest.raises(TypeError, match=r"Checked\.act must return .*integer"):
            evaluation.mastery(rules, agent)
        with pytest.raises(
            TypeError, match=rf"Checked\.act must return an integer; got {re.escape(repr(agent.answer))}"
        ):
            agent.action_probabilities(np.array([21]), [1, 1, 1])
        for each in opposed:
            with pytest.raises(TypeError, match=r"Checked\.act must return .*integer"):
                each.reset(seed=0, options={"first_player": "opponent"})
    for action in (3, -1):
        agent.answer = np.full(2, action) if batched else action
        with pytest.raises(InvalidPolicyOutput, match=r"environment 0: opponent: Checked.*\[21\]"):
            vector.reset(seed=0, options={"first_player": "opponent"})


def test_integers_of_all_kinds_are_actions():
    env = gym.make("SimpleNim-v0", opponent=None)
    agent = agent_for(env, Constant)
    for agent.answer in (np.int64(2), np.array(2), np.uint8(2)):
        assert agents.train(agent, env, 1).lengths.tolist() == [7]


def test_a_batch_of_wrong_actions():
    env = ENVIRONMENTS["vector"]()
    agent = agent_for(env, type("Batched", (Constant,), {"batched": True}))
    for agent.answer, error, message in (
        (3, ValueError, r"shape \(5,\).*got 3"),
        (np.zeros((5, 1), int), ValueError, r"shape \(5,\)"),
        (np.zeros(5), TypeError, r"Discrete\(16\)"),
        (np.arange(13, 18), ValueError, "16"),
    ):
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
    with pytest.raises(ValueError, match="opponents turn"):
        type("Typo", (Constant,), {"bootstraps_from": "opponents turn"})
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

    two, three = spaces.Discrete(2), spaces.Discrete(3)
    for agent in (Greedy(two, three), Named(two, three, "Bob", epsilon=0.0)):
        agent.update(1, 2, 1.0, 0, True)
        agent.save(tmp_path / "agent")
        other = agents.load(tmp_path / "agent")
        assert (type(other), type(other.table)) == (type(agent), type(agent.table))
        assert other.epsilon == 0
        assert other.q_values(1).tolist() == [0, 0, 0.5]
        assert getattr(other, "name", "Bob") == "Bob"


def test_what_cannot_be_saved_is_named(tmp_path):
    class Lossy(QLearningAgent):
        def __init__(self, observation_space, action_space, name="x", kind=None):  # noqa: ARG002
            super().__init__(observation_space, action_space)
            self.kind = kind
            self.arrays = {}

        def state_dict(self):
            return self.arrays

    agent = Lossy(spaces.Discrete(2), spaces.Discrete(2))
    with pytest.raises(TypeError, match=r"Lossy .*'name' as self.name"):
        agent.save(tmp_path / "agent")
    agent.name, agent.kind = "x", {1, 2}
    with pytest.raises(TypeError, match=r"Lossy .*kind={1, 2}"):
        agent.save(tmp_path / "agent")
    agent.kind = None
    for arrays in ({"about": np.zeros(1)}, {"a": np.array([object()])}, {3: np.zeros(2)}):
        agent.arrays = arrays
        with pytest.raises(TypeError, match=r"Lossy\.state_dict"):
            agent.save(tmp_path / "agent")
    assert not list(tmp_path.iterdir())
    agent.arrays = {"file": np.zeros(2), "values": np.zeros((2, 2))}  # names that NumPy's savez takes
    agent.save(tmp_path / "agent")
    assert type(agents.load(tmp_path / "agent")) is Lossy


def test_an_error_of_the_constructor_is_named(tmp_path):
    class Strict(QLearningAgent):
        allowed = True

        def __init__(self, observation_space, action_space):
            if not self.allowed:
                raise RuntimeError("no license")
            super().__init__(observation_space, action_space)

    Strict(spaces.Discrete(2), spaces.Discrete(2)).save(tmp_path / "agent")
    Strict.allowed = False
    with pytest.raises(ValueError, match="agent: cannot restore its Strict: RuntimeError: no license"):
        agents.load(tmp_path / "agent")


def test_the_names_of_the_agents_are_theirs():
    for kind in agents.ALGORITHMS.values():
        with pytest.raises(ValueError, match=f"{kind.__name__} is the name"):
            type(kind.__name__, (kind,), {})
        assert Agent.classes[kind.__name__] is kind
    own = [type("Own", (Constant,), {}) for _ in range(2)]  # as when the cell of a notebook runs again
    assert Agent.classes["Own"] is own[1]


def test_every_algorithm_has_a_name():
    exported = [getattr(agents, name) for name in agents.__all__]
    kinds = [each for each in exported if isinstance(each, type) and issubclass(each, Agent)]
    concrete = {each.__name__ for each in kinds if not each.__abstractmethods__}
    assert sorted(each.__name__ for each in agents.ALGORITHMS.values()) == sorted(concrete)
    env = gym.make("nim_env:Nim-v0")
    for name in ("q-learning", "minimax-q", "win-counting"):
        assert "Agent(" in repr(agents.ALGORITHMS[name](env.observation_space, env.action_space, seed=0))
