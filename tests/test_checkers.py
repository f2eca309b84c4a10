"""The checkers of the libraries that people use the environments with."""

import contextlib
import io

import gymnasium as gym
import pettingzoo
import pytest
from configurations import GAMES, GYM, SIMPLE
from expected_warnings import EXPECTED_OF_PETTINGZOO, no_warning_but
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, seed_test

import nim_env


@pytest.mark.parametrize("configuration", GYM.values(), ids=GYM)
def test_gymnasium(configuration):
    with no_warning_but({}):
        check_env(gym.make("Nim-v0", render_mode="ansi", **configuration).unwrapped)


def test_rendering():
    with no_warning_but({}):
        check_env(gym.make("Nim-v0", render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize("identifier", ["Nim-v0", "SimpleNim-v0", "nim_env:Nim-v0"])
def test_gymnasium_by_identifier(identifier):
    with no_warning_but({}):
        env = gym.make(identifier, render_mode="ansi")
        check_env(env.unwrapped)
        for seed in range(20):  # through gym.make's own passive checker too
            env.reset(seed=seed)
            env.action_space.seed(seed)
            terminated = False
            while not terminated:
                _, _, terminated, _, info = env.step(env.action_space.sample())
            env.render()
        assert info["action_mask"].all()


@pytest.mark.parametrize("configuration", GAMES.values(), ids=GAMES)
def test_pettingzoo(configuration):
    with contextlib.redirect_stdout(io.StringIO()), no_warning_but(EXPECTED_OF_PETTINGZOO):
        api_test(pettingzoo.make("aec", "nim-v0", render_mode="ansi", **configuration), num_cycles=100)
        seed_test(lambda: pettingzoo.make("aec", "nim-v0", **configuration), num_cycles=100)


def test_pettingzoo_by_identifier():
    with contextlib.redirect_stdout(io.StringIO()), no_warning_but(EXPECTED_OF_PETTINGZOO):
        for identifier in ("nim-v0", "simple_nim-v0", "nim_v0"):
            api_test(pettingzoo.make("aec", identifier), num_cycles=100)
            seed_test(lambda identifier=identifier: pettingzoo.make("aec", identifier), num_cycles=100)


def test_identifiers_are_the_games_they_name():
    assert gym.make("Nim-v0").unwrapped.rules == nim_env.NimRules()
    assert pettingzoo.make("aec", "nim-v0").rules == nim_env.NimRules()
    assert gym.make("SimpleNim-v0").unwrapped.rules == nim_env.NimRules(**SIMPLE)
    assert pettingzoo.make("aec", "simple_nim-v0").rules == nim_env.NimRules(**SIMPLE)
