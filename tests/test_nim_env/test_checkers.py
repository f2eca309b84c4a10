"""The checkers of Gymnasium and PettingZoo pass without unexpected warnings."""

import gymnasium as gym
import pettingzoo
import pytest
from configurations import GAMES, GYM, SIMPLE
from expected_warnings import expected_of_pettingzoo
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, seed_test

from nim_env import NimRules
from nim_env.rendering import pixels


@pytest.fixture(autouse=True)
def fast_window(monkeypatch):
    """Gymnasium's checker opens a window. This one exists only in memory, and its frames take no time."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(pixels, "FRAMES_PER_SECOND", 0)


@pytest.mark.parametrize("configuration", [*GYM.values(), {"render_mode": "rgb_array"}], ids=[*GYM, "pixels"])
def test_gymnasium(configuration):
    check_env(gym.make("Nim-v0", **{"render_mode": "ansi", **configuration}).unwrapped)


@expected_of_pettingzoo
@pytest.mark.parametrize("configuration", GAMES.values(), ids=GAMES)
def test_pettingzoo(configuration):
    api_test(pettingzoo.make("aec", "nim-v0", render_mode="ansi", **configuration), num_cycles=100)
    seed_test(lambda: pettingzoo.make("aec", "nim-v0", **configuration), num_cycles=100)


def test_identifiers_name_their_games():
    for identifier in ("nim-v0", "nim_v0"):
        assert gym.make("nim_env:Nim-v0").unwrapped.rules == pettingzoo.make("aec", identifier).rules == NimRules()
    one_hot = gym.make("Nim-v0", observation="one_hot").observation_space
    for envs in (gym.make("NimOneHot-v0"), gym.make_vec("NimOneHot-v0", 3)):
        assert envs.unwrapped.encoding.space == one_hot
        assert envs.unwrapped.rules == NimRules()
    simple = NimRules(**SIMPLE)
    assert gym.make("SimpleNim-v0").unwrapped.rules == pettingzoo.make("aec", "simple_nim-v0").rules == simple
