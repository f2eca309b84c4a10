"""Stable-Baselines3 on the environments, in a file of its own for machines without PyTorch."""

import gymnasium as gym
import numpy as np
import pytest
from configurations import GYM, SIMPLE
from expected_warnings import no_warning_but
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import DQN
from stable_baselines3.common.env_checker import check_env

import nim_env
from nim_env import evaluation


@pytest.mark.parametrize("name", [name for name in GYM if name != "raising"])
def test_stable_baselines3(name):  # plays random actions, so not where illegal ones are errors
    with no_warning_but({}):
        check_env(gym.make("Nim-v0", **GYM[name]))


def test_stable_baselines3_by_identifier():
    with no_warning_but({}):
        check_env(gym.make("Nim-v0"))
        check_env(gym.make("SimpleNim-v0"))


def test_masks_are_found():
    env = gym.make("Nim-v0", opponent=None)
    env.reset(seed=0)
    env.step(0)
    assert is_masking_supported(env)
    np.testing.assert_array_equal(get_action_masks(env), [0] + [1] * 15)


def test_maskable_ppo_learns_to_beat_random_play():
    env = gym.make("SimpleNim-v0", heaps=(7,), random_start=True)
    model = MaskablePPO("MlpPolicy", env, n_steps=256, batch_size=64, learning_rate=3e-3, seed=0, device="cpu")
    rules = env.unwrapped.rules

    def play(observation, action_mask):
        return model.predict(observation, action_masks=action_mask, deterministic=True)[0]

    before = evaluation.mastery(rules, play).expert
    model.learn(6_000)
    assert evaluation.mastery(rules, play).expert > max(0.8, before)


def test_models_are_held_against_the_truth_as_they_stand():
    env = gym.make("Nim-v0")
    rules = env.unwrapped.rules
    model = MaskablePPO("MlpPolicy", env, n_steps=64, seed=0, device="cpu")
    play = lambda o, m: model.predict(o, action_masks=m, deterministic=True)[0]  # noqa: E731  as in the docs
    found = evaluation.mastery(rules, play)
    assert 0 < found.expert < 1
    assert not found.champion
    assert 0 < evaluation.exploitability(rules, play) <= 1
    exact = evaluation.win_probability(rules, play, "random")
    sampled = evaluation.play_match(rules, play, "random", 4_000, seed=0).win_rate
    assert abs(sampled - exact) < 4 * (exact * (1 - exact) / 4_000) ** 0.5
    dqn = DQN("MlpPolicy", env, seed=0, device="cpu")
    with pytest.raises(ValueError, match=r"policy answered action \d+ at heaps \[.*\]; legal are"):
        evaluation.mastery(rules, lambda o, _: dqn.predict(o, deterministic=True)[0])


def test_dqn_steps_through_the_environment():
    model = DQN("MlpPolicy", gym.make("Nim-v0", **SIMPLE), learning_starts=50, seed=0, device="cpu")
    model.learn(200)
    action, _ = model.predict(np.array([21]), deterministic=True)
    assert action.shape == ()
    env = nim_env.gym_env.NimEnv(**SIMPLE, first_player="agent")
    env.reset()
    env.step(action)  # a 0-d integer array is an action
