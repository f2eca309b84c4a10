"""Helpers for the tests of agents: agents that fit an environment, and observation spaces of every kind."""

from functools import partial
from unittest import mock

import gymnasium as gym
import numpy as np
import pettingzoo
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import nim_env  # noqa: F401  registers the environments
from agents import Agent, QLearningAgent, tables

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
    spaces.Tuple([spaces.Discrete(3), spaces.Discrete(2, start=1)]),
]
SMALL = spaces.MultiDiscrete([3, 4])
MODES = list(AutoresetMode)
SELF_PLAY = [  # functions that make an environment with a single game, one for each API
    partial(pettingzoo.make, "aec", "nim-v0"),
    partial(gym.make, "Nim-v0", opponent=None),
    *(partial(gym.make_vec, "Nim-v0", 1, opponent=None, autoreset_mode=mode) for mode in MODES),
]


class Constant(Agent):
    """Always chooses the same action."""

    answer = 0

    def act(self, observation, action_mask=None, explore=False):  # noqa: ARG002
        return self.answer

    def update(self, *transition):
        pass


def sample(space, seed):
    """Returns a random sample of a space."""
    space.seed(seed)
    return space.sample()


def agent_of(space=SMALL, n=3, kind=QLearningAgent, start=0, **arguments):
    """Makes an agent for an observation space and ``n`` actions, the first of which is ``start``."""
    return made(kind, space, spaces.Discrete(n, start=start), **arguments)


def made(kind, *its_spaces, table="auto", seed=0, **arguments):
    """Makes an agent. With ``table="hash"``, its table is a hash table even if the space is small."""
    limit = -1 if table == "hash" else tables.MAX_DENSE_VALUES
    with mock.patch("agents.tables.MAX_DENSE_VALUES", limit):
        return kind(*its_spaces, seed=seed, **arguments)


def agent_for(env, kind=QLearningAgent, **arguments):
    """Makes an agent for the spaces of an environment, which can be single, vector or AEC."""
    if isinstance(env, pettingzoo.AECEnv):
        player = env.possible_agents[0]
        its_spaces = env.observation_space(player), env.action_space(player)
    elif isinstance(env, gym.vector.VectorEnv):
        its_spaces = env.single_observation_space, env.single_action_space
    else:
        its_spaces = env.observation_space, env.action_space
    return made(kind, *its_spaces, **arguments)


def recorder(env, actions, **attributes):
    """Makes an agent that plays ``actions[observation]`` and records its transitions in ``told``, by episode."""

    class Recorder(Agent):
        def act(self, observation, action_mask=None, explore=False):
            assert explore
            action = actions[observation]
            assert action_mask is None or action_mask[action - 1]
            return action

        def update(self, observation, action, reward, next_observation, terminated, mask=None):
            known = (1, 1) if mask is None or terminated else tuple(mask)
            row = int(observation), int(action), float(reward), int(next_observation), bool(terminated), known
            self.told[-1].append(row)

    def end_episode(agent):
        agent.told.append([])

    if not isinstance(env, gym.vector.VectorEnv):  # in a vector environment, all transitions are in one list
        attributes["end_episode"] = end_episode
    agent = agent_for(env, type("Recorder", (Recorder,), attributes))
    agent.told = [[]]
    return agent


class ConstantGenerator:
    """A random generator that returns the same number for every draw."""

    def __init__(self, number):
        self.number = number

    def random(self, shape=None):
        return self.number if shape is None else np.full(shape, self.number)
