"""Tests custom agents: one that learns by Monte Carlo, which methods training calls, and error messages."""

import gymnasium as gym
import numpy as np
import pytest
from agent_helpers import Constant, agent_for, agent_of
from gymnasium import spaces

import agents
import nim_env  # noqa: F401  registers
from agents import Agent, MinimaxQAgent
from nim_env import NimRules, evaluation


class MonteCarlo(MinimaxQAgent):
    """An agent that learns by Monte-Carlo control with a constant learning rate.

    This is equation 6.1 of Sutton and Barto (2018). The players alternate, so the return of the player who acts
    next counts negatively.
    """

    def __init__(self, *its_spaces, discount=1.0, **arguments):
        super().__init__(*its_spaces, **arguments)
        self.discount = discount
        self.episode = []

    def update(self, observation, action, reward, *_):
        self.episode.append((observation, action, reward))

    def end_episode(self):
        total = 0.0
        for observation, action, reward in reversed(self.episode):
            total = reward - self.discount * total
            super().update(observation, action, total, observation, True)
        self.episode.clear()


def test_an_agent_that_learns_from_whole_episodes(tmp_path):
    rules = NimRules((1, 2, 3))
    env = gym.make("Nim-v0", heaps=rules.heaps, opponent=None)
    agent = agent_for(env, MonteCarlo, discount=0.9, learning_rate=0.25)
    agents.train(agent, env, 1200, seed=0)
    assert evaluation.mastery(rules, agent).expert >= 0.9
    agent.save(tmp_path / "agent")
    other = agents.load(tmp_path / "agent")
    assert (type(other), other.discount, other.learning_rate) == (MonteCarlo, 0.9, 0.25)
    with pytest.raises(ValueError, match="single environment"):
        agents.train(agent, gym.make_vec("Nim-v0", 2, heaps=rules.heaps, opponent=None), 1)


def first_legal(agent, observation, action_mask=None, explore=False):  # noqa: ARG001
    assert np.ndim(action_mask) == 1
    return int(action_mask.argmax())


def test_an_agent_without_batches_plays_batches():
    agent = agent_for(gym.make("Nim-v0"), type("FirstLegal", (Constant,), {"act": first_legal}))
    env = gym.make_vec("Nim-v0", num_envs=6, opponent=agent)
    assert len(agents.train(agent_for(env), env, 20, seed=0).returns) == 20
    observations, mask = np.ones((2, 3, 4), int), np.ones((2, 3, 16))
    mask[1, :, :5] = 0
    probabilities = agent.action_probabilities(observations, mask)
    assert probabilities.shape == (2, 3, 16)
    assert probabilities.argmax(axis=-1).tolist() == [[0] * 3, [5] * 3]
    assert agent.action_probabilities(observations[1, 1], mask[1, 1]).tolist() == np.eye(16)[5].tolist()


def nothing(agent, observation, *_):  # noqa: ARG001
    assert np.ndim(observation) == 1


def nothing_in_batch(agent, observations, *_):  # noqa: ARG001
    assert np.ndim(observations) == 2


def first_actions(agent, observations, action_masks=None, explore=False):  # noqa: ARG001
    return np.zeros(len(observations), int)


@pytest.mark.parametrize(
    ("methods", "lengths", "learns"),
    [
        ({"act": first_legal}, {21}, True),
        ({"act_batch": first_actions}, {21}, True),
        ({"update": nothing}, None, False),
        ({"update": nothing, "update_batch": nothing_in_batch}, None, False),
        ({"act": first_legal, "update_batch": nothing_in_batch}, {21}, False),
        ({}, None, True),
    ],
)
@pytest.mark.parametrize("as_mixin", [False, True])
def test_vector_training_calls_the_method_that_a_subclass_defines(methods, lengths, learns, as_mixin):
    """A subclass or a mixin defines methods for single observations or for batches, and training calls these."""
    env = gym.make_vec("SimpleNim-v0", 3, opponent=None)
    if as_mixin:
        kind = type("Mixed", (type("Mixin", (), methods), agents.QLearningAgent), {})
    else:
        kind = type("Parent", (agents.QLearningAgent,), methods)
    agent = agent_for(env, type("Child", (kind,), {}))
    history = agents.train(agent, env, 9, seed=0)
    assert lengths is None or set(history.lengths) == lengths
    assert agent.table.values.any() == learns


def test_what_is_missing_is_named(tmp_path):
    agent = Constant(spaces.Discrete(2), spaces.Discrete(2))
    with pytest.raises(NotImplementedError, match="Constant"):
        agent.q_values(0)
    with pytest.raises(NotImplementedError, match="state_dict"):
        agent.save(tmp_path / "agent")
    with pytest.raises(ValueError, match="opponents turn"):
        type("Typo", (Constant,), {"bootstraps_from": "opponents turn"})
    assert not list(tmp_path.iterdir())


def test_two_agents_of_one_name(tmp_path):
    """A file names its agent's class. If the class is defined again, as in a notebook, the last one is used."""

    def own(module, answer):
        members = {"__module__": module, "answer": answer, "state_dict": dict, "load_state_dict": lambda *_: None}
        return type("QLearningAgent", (Constant,), members)

    for module, answer in (("first", 1), ("second", 0), ("second", 2)):
        own(module, answer)(spaces.Discrete(2), spaces.Discrete(3)).save(tmp_path / module)
    agent_of().save(tmp_path / "ours")
    assert agents.load(tmp_path / "first").act(0) == 1
    assert agents.load(tmp_path / "second").act(0) == 2
    assert type(agents.load(tmp_path / "ours")) is agents.QLearningAgent


def test_every_algorithm_has_a_name():
    exported = [getattr(agents, name) for name in agents.__all__]
    kinds = [each for each in exported if isinstance(each, type) and issubclass(each, Agent)]
    assert set(agents.ALGORITHMS.values()) == {each for each in kinds if not each.__abstractmethods__}
