"""Tests that minimax-Q learns games to the exact solution. test_q_learning.py tests its updates."""

from functools import cache

import gymnasium as gym
import numpy as np
import pytest
from agent_helpers import SELF_PLAY, agent_for
from gymnasium.vector import SyncVectorEnv
from other_games import GOAL, RaceAEC, RaceGym
from system_4 import TABLES, check_table

import agents
from agents import MinimaxQAgent
from nim_env import NimRules, evaluation


def trained(env, games):
    agent = agent_for(env, MinimaxQAgent, learning_rate=1.0, gamma=0.9, epsilon=1.0)
    agents.train(agent, env, games, seed=0)
    return agent


@pytest.mark.parametrize("make", [RaceGym, RaceAEC, lambda: SyncVectorEnv([RaceGym] * 4)])
def test_a_small_game_to_the_exact_values(make):
    agent = trained(make(), 500)

    @cache
    def value(counter):
        return max(value_of(counter, action) for action in (1, 2))

    def value_of(counter, action):
        return 1.0 if counter + action >= GOAL else -0.9 * value(counter + action)

    for counter in range(GOAL):
        expected = [value_of(counter, action) for action in (1, 2)]
        np.testing.assert_allclose(agent.q_values(counter), expected, atol=1e-12)


@pytest.mark.parametrize("make", SELF_PLAY)
@pytest.mark.parametrize(("heaps", "pairs"), TABLES)
def test_the_published_tables_of_system_4(heaps, pairs, make):
    check_table(trained(make(heaps=heaps), 2000), heaps, pairs)


@pytest.mark.parametrize("heaps", [(3, 4, 5), (0, 1, 2), (1, 2, 4), (2, 3, 4), (2, 4, 6), (1, 2, 3)])
def test_the_computer_of_system_4_wins_against_every_line_of_play(heaps):
    """The computer moves first if the start is a winning position, and second otherwise."""
    agent = trained(gym.make_vec("Nim-v0", num_envs=50, heaps=heaps, opponent=None), 8000)
    assert evaluation.mastery(NimRules(heaps), agent).champion
