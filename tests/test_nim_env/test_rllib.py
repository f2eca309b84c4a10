"""Compares observations for RLlib's action masking with plain environments."""

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from nim_env import Encoding
from nim_env.rllib import masked_dict

OWN = {
    "digits": Encoding(MultiDiscrete([2, 2], start=[-1, 3]), lambda heaps: heaps[..., :2] % 2 + [-1, 3]),
    "bytes": Encoding(Box(0, 7, (4,), np.uint8), lambda heaps: heaps),
    "total": Encoding(Discrete(17), lambda heaps: heaps.sum(axis=-1)),
}
EVERY_ENCODING = pytest.mark.parametrize("name", ["heaps", "one_hot", "unary", *OWN.values()], ids=str)


def check_masked(observation, space, expected, mask):
    assert observation in space
    for part, value in (("observations", expected), ("action_mask", mask)):
        assert observation[part].dtype == np.float32
        np.testing.assert_array_equal(observation[part], value)


@EVERY_ENCODING
def test_gymnasium(name):
    plain, env = (gym.make("Nim-v0", observation=name, opponent="take-3") for _ in range(2))
    masked = masked_dict(env)
    for seed in range(20):
        results, is_over = (plain.reset(seed=seed), masked.reset(seed=seed)), False
        while not is_over:
            action = results[0][-1]["action_mask"].argmax()
            results = plain.step(action), masked.step(action)
            (observation, *rest), (masked_observation, *masked_rest) = results
            check_masked(masked_observation, masked.observation_space, observation, rest[-1]["action_mask"])
            np.testing.assert_equal(masked_rest, rest)
            is_over = rest[1]


@EVERY_ENCODING
def test_pettingzoo(name):
    plain, env = (pettingzoo.make("aec", "nim-v0", observation=name) for _ in range(2))
    masked = masked_dict(env)
    for each in (plain, masked):
        each.reset(seed=0)
    for player in plain.agent_iter():
        (observation, *rest), (masked_observation, *masked_rest) = plain.last(), masked.last()
        assert masked.agent_selection == player
        assert masked_rest == rest
        space = masked.observation_space(player)
        assert space is masked.observation_space(player)
        check_masked(masked_observation, space, *observation.values())
        for each in (plain, masked):
            each.step(None if rest[1] else int(observation["action_mask"].argmax()))
    assert not masked.agents


def test_bounds_are_those_of_the_observation():
    for name, low, high in (
        ("heaps", [0] * 4, [1, 3, 5, 7]),
        (OWN["digits"], [-1, 3], [0, 4]),
        ("bits", [0] * 9, [1] * 9),
    ):
        space = masked_dict(gym.make("Nim-v0", observation=name)).observation_space
        assert space["observations"] == Box(np.array(low, np.float32), np.array(high, np.float32))
        assert space["action_mask"] == Box(0, 1, (16,))


def test_specifications():
    env = masked_dict(gym.make("Nim-v0", observation="unary"))
    np.testing.assert_equal(gym.make(env.spec).reset(seed=1), env.reset(seed=1))
