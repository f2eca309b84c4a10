"""What the tests of several agents share: agents for an environment, observation spaces of every kind, batches."""

from functools import partial
from unittest import mock

import gymnasium as gym
import numpy as np
import pettingzoo
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import nim_env  # noqa: F401  registers
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
SELF_PLAY = [  # one game in each API
    partial(pettingzoo.make, "aec", "nim-v0"),
    partial(gym.make, "Nim-v0", opponent=None),
    *(partial(gym.make_vec, "Nim-v0", 1, opponent=None, autoreset_mode=mode) for mode in MODES),
]


class Constant(Agent):
    """Always acts the same."""

    answer = 0

    def act(self, observation, action_mask=None, explore=False):  # noqa: ARG002
        return self.answer

    def update(self, *transition):
        pass


def sample(space, seed):
    space.seed(seed)
    return space.sample()


def agent_of(space=SMALL, n=3, kind=QLearningAgent, start=0, **arguments):
    return made(kind, space, spaces.Discrete(n, start=start), **arguments)


def made(kind, *its_spaces, table="auto", seed=0, **arguments):
    """An agent, with ``table="hash"`` one whose table is not dense although the space is small."""
    limit = -1 if table == "hash" else tables.MAX_DENSE_VALUES
    with mock.patch("agents.tables.MAX_DENSE_VALUES", limit):
        return kind(*its_spaces, seed=seed, **arguments)


def agent_for(env, kind=QLearningAgent, **arguments):
    """An agent of a kind with the spaces of an environment, single, vector or AEC."""
    if isinstance(env, pettingzoo.AECEnv):
        player = env.possible_agents[0]
        its_spaces = env.observation_space(player), env.action_space(player)
    elif isinstance(env, gym.vector.VectorEnv):
        its_spaces = env.single_observation_space, env.single_action_space
    else:
        its_spaces = env.observation_space, env.action_space
    return made(kind, *its_spaces, **arguments)


def recorder(env, actions, **attributes):
    """An agent that plays ``actions[observation]`` and writes down its transitions, a list for each episode."""

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

    if not isinstance(env, gym.vector.VectorEnv):  # there all transitions are one list
        attributes["end_episode"] = end_episode
    agent = agent_for(env, type("Recorder", (Recorder,), attributes))
    agent.told = [[]]
    return agent


class ConstantGenerator:
    """Returns one number for every draw."""

    def __init__(self, number):
        self.number = number

    def random(self, shape=None):
        return self.number if shape is None else np.full(shape, self.number)
