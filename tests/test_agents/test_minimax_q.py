"""Minimax-Q: games learned to the exact solution. Its updates are tested with those of Q-learning."""

from functools import cache, partial

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from agent_helpers import agent_for
from brute_force import best_return
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from other_games import GOAL, RaceAEC, RaceGym
from system_4 import TABLES, check_table

import agents
from agents import MinimaxQAgent
from nim_env import NimRules, evaluation

SELF_PLAY = {
    "aec": partial(pettingzoo.make, "aec", "nim-v0"),
    "gymnasium": partial(gym.make, "Nim-v0", opponent=None),
    **{
        mode: partial(gym.make_vec, "Nim-v0", num_envs=64, opponent=None, autoreset_mode=mode)
        for mode in AutoresetMode
    },
}
EVERY_API = pytest.mark.parametrize("make", SELF_PLAY.values(), ids=SELF_PLAY)


def trained(env, games, **arguments):
    agent = agent_for(env, MinimaxQAgent, learning_rate=1.0, **{"gamma": 0.9, "epsilon": 1.0, **arguments})
    agents.train(agent, env, games, seed=0)
    return agent


@pytest.mark.parametrize("make", [RaceGym, RaceAEC, lambda: SyncVectorEnv([RaceGym] * 4)])
def test_a_small_game_to_the_exact_values(make):
    agent = trained(make(), 2000)

    @cache
    def value(counter):
        return max(value_of(counter, action) for action in (1, 2))

    def value_of(counter, action):
        return 1.0 if counter + action >= GOAL else -0.9 * value(counter + action)

    for counter in range(GOAL):
        expected = [value_of(counter, action) for action in (1, 2)]
        np.testing.assert_allclose(agent.q_values(counter), expected, atol=1e-12)


@EVERY_API
@pytest.mark.parametrize("misere", [True, False])
def test_nim_to_the_exact_values(make, misere):
    rules = NimRules((1, 3, 2), misere=misere)
    agent = trained(make(heaps=rules.heaps, misere=misere, random_start=True), 4000)
    for position in rules.all_positions()[1:]:
        best = agent.q_values(position)[rules.action_mask(position) == 1].max()
        assert best == pytest.approx(best_return(tuple(sorted(position.tolist())), None, misere, 0.9), abs=1e-12)


@EVERY_API
@pytest.mark.parametrize(("heaps", "pairs"), TABLES)
def test_the_published_tables_of_system_4(heaps, pairs, make):
    check_table(trained(make(heaps=heaps), 4000), heaps, pairs)


@pytest.mark.parametrize("heaps", [(3, 4, 5), (1, 2, 4), (2, 3, 4), (2, 4, 6)])
def test_the_computer_of_system_4_wins_against_every_line_of_play(heaps):
    """It goes first, but second where that loses."""
    agent = trained(gym.make_vec("Nim-v0", num_envs=50, heaps=heaps, opponent=None), 8000)
    assert evaluation.mastery(NimRules(heaps), agent).champion


def test_minimax_masters_1_3_5_7():
    agent = trained(gym.make_vec("Nim-v0", num_envs=100, opponent=None, random_start=True), 60_000)
    assert evaluation.mastery(NimRules(), agent).expert == 1.0


LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


class TicTacToe(gym.Env):
    """The learner plays both sides; squares are 0 if free, 1 if the mover's and 2 if the opponent's."""

    observation_space, action_space = spaces.MultiDiscrete([3] * 9), spaces.Discrete(9)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.board, self.player = (0,) * 9, 0
        return self.described()

    def step(self, action):
        self.board, won = played(self.board, action)
        self.player = 1 - self.player
        observation, info = self.described()
        return observation, float(won), won or 0 not in self.board, False, info

    def described(self):
        board = np.array(self.board)
        return board, {"to_play": self.player, "action_mask": board == 0}


def played(board, action):
    """The board after an action, in the view of the next player, and whether the mover has won."""
    after = (*board[:action], 1, *board[action + 1 :])
    return tuple((0, 2, 1)[square] for square in after), any(all(after[i] == 1 for i in line) for line in LINES)


def test_tic_tac_toe_is_never_lost_in_any_line_of_play():
    """Where the agent moves first."""
    agent = trained(TicTacToe(), 15_000, gamma=1.0, epsilon=0.3)

    @cache
    def loses(board, agent_moves):
        free = np.array(board) == 0
        for action in [agent.act(np.array(board), free)] if agent_moves else np.flatnonzero(free):
            after, won = played(board, action)
            if won and not agent_moves:
                return True
            if not won and 0 in after and loses(after, not agent_moves):
                return True
        return False

    assert not loses((0,) * 9, agent_moves=True)
