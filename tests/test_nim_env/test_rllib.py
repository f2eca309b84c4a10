"""Observations for RLlib's action masking, against plain environments."""

import copy
import pickle

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.utils.env_checker import check_env

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
    plain = gym.make("Nim-v0", observation=name, opponent="take-3")
    masked = masked_dict(gym.make("Nim-v0", observation=name, opponent="take-3"))
    for seed in range(20):
        results, is_over = (plain.reset(seed=seed), masked.reset(seed=seed)), False
        while True:
            (observation, *rest), (found, *masked_rest) = results
            check_masked(found, masked.observation_space, observation, rest[-1]["action_mask"])
            np.testing.assert_equal(masked_rest, rest)
            if is_over:
                break
            action = rest[-1]["action_mask"].argmax()
            results = plain.step(action), masked.step(action)
            is_over = results[0][2]


@EVERY_ENCODING
def test_pettingzoo(name):
    plain = pettingzoo.make("aec", "nim-v0", observation=name)
    masked = masked_dict(pettingzoo.make("aec", "nim-v0", observation=name))
    generator = np.random.default_rng(0)
    for env in (plain, masked):
        env.reset(seed=0)
    for player in plain.agent_iter():
        (observation, *rest), (found, *masked_rest) = plain.last(), masked.last()
        assert masked.agent_selection == player
        assert masked_rest == rest
        check_masked(
            found, masked.observation_space(player), observation["observation"], observation["action_mask"]
        )
        for each in plain.possible_agents:
            assert masked.observe(each) in masked.observation_space(each)
        assert masked.observation_space(player) is masked.observation_space(player)
        action = None if rest[1] else generator.choice(np.flatnonzero(observation["action_mask"]))
        for env in (plain, masked):
            env.step(action)
    assert list(masked.agent_iter()) == []


def test_bounds_are_those_of_the_observation():
    for name, low, high in (
        ("heaps", [0] * 4, [1, 3, 5, 7]),
        (OWN["digits"], [-1, 3], [0, 4]),
        ("bits", [0] * 9, [1] * 9),
    ):
        space = masked_dict(gym.make("Nim-v0", observation=name)).observation_space
        assert space["observations"] == Box(np.array(low, np.float32), np.array(high, np.float32))
        assert space["action_mask"] == Box(0, 1, (16,))


def test_checker():
    for arguments in ({}, {"opponent": None, "observation": "bits"}):
        with pytest.warns(UserWarning, match="is different from the unwrapped version") as warned:
            check_env(masked_dict(gym.make("Nim-v0", **arguments)), skip_render_check=True)
        assert len(warned) == 1


def test_copies_and_specifications():
    env = masked_dict(gym.make("Nim-v0", observation="unary"))
    again = gym.make(env.spec)
    assert again.observation_space == env.observation_space
    np.testing.assert_equal(again.reset(seed=1), env.reset(seed=1))
    for other in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
        np.testing.assert_equal(other.step(0), copy.deepcopy(env).step(0))
    board = masked_dict(pettingzoo.make("aec", "nim-v0", observation="one_hot"))
    board.reset()
    board.step(3)
    np.testing.assert_equal(pickle.loads(pickle.dumps(board)).last(), board.last())


def test_returned_arrays_are_copies():
    env, other = (masked_dict(gym.make("Nim-v0", opponent=None)) for _ in range(2))
    results = env.reset(seed=0), other.reset(seed=0)
    for action in (0, 1, 4, 9):
        np.testing.assert_equal(*results)
        for part in results[0][0].values():
            part[:] = 7
        results = env.step(action), other.step(action)


@pytest.mark.parametrize(
    "env",
    ["Nim-v0", gym.make("CartPole-v1"), gym.make_vec("Nim-v0", 2), masked_dict(gym.make("Nim-v0"))],
    ids=["text", "CartPole", "vector", "masked"],
)
def test_bad_input(env):
    with pytest.raises(TypeError, match="env must be"):
        masked_dict(env)
