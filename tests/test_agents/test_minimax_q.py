"""Minimax-Q: the update, the transitions of self-play, and games learned to the exact solution."""

from functools import cache

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from agent_helpers import agent_for, recorder
from gymnasium import spaces
from other_games import GOAL, RaceAEC, RaceGym
from system_4 import TABLES, check_table

import agents
from agents import MinimaxQAgent
from nim_env import NimRules, evaluation


def test_a_move_is_worth_minus_the_best_that_the_other_can_do():
    agent = MinimaxQAgent(spaces.Discrete(3), spaces.Discrete(2), learning_rate=1, gamma=0.5)
    agent.update(0, 0, 1.0, 2, True)
    agent.update(0, 1, 0.25, 2, True)
    agent.update(1, 0, 0.125, 0, False)
    assert agent.q_values(1).tolist() == [0.125 - 0.5 * 1.0, 0]
    agent.update(1, 1, 0.0, 0, False, [0, 1])
    assert agent.q_values(1)[1] == -0.5 * 0.25
    agent.update(1, 1, 0.5, 0, False, [0, 0])
    assert agent.q_values(1)[1] == 0.5
    agent.update(1, 1, -1.0, 0, True)
    assert agent.q_values(1)[1] == -1


def test_one_table_shows_itself_as_two():
    agent = MinimaxQAgent(spaces.Discrete(2), spaces.Discrete(2), learning_rate=1)
    agent.update(1, 0, 0.75, 0, True)
    assert agent.player_values(1, 0).tolist() == [0.75, 0]
    assert agent.player_values([1, 0], 1).tolist() == [[-0.75, 0], [0, 0]]
    assert not np.signbit(agent.player_values(0, 1)).any()
    with pytest.raises(ValueError, match="player must be 0 or 1; got 2"):
        agent.player_values(1, 2)


@pytest.mark.parametrize("make", [RaceGym, RaceAEC])
def test_the_transitions_of_self_play(make):
    """After every single move, from the state the other player then faces."""
    env = make()
    agent = recorder(env, [2, 2, 2, 1, 1, 2], MinimaxQAgent)
    history = agents.train(agent, env, 1)
    assert agent.learned == [
        (0, 2, 0.0, 2, False, None),
        (2, 2, 0.0, 4, False, None),
        (4, 2, 0.0, 6, False, None),
        (6, 1, 0.0, 7, False, None),
        (7, 1, 0.0, 8, False, None),
        (8, 2, 1.0, 10, True, None),
    ]
    assert (history.returns.tolist(), history.lengths.tolist()) == ([-1], [6])
    agent.play([1, 1, 1])
    agents.train(agent, make(truncate_after=3), 1)
    assert agent.learned == [
        (0, 1, 0.0, 1, False, None),
        (1, 1, 0.0, 2, False, None),
        (2, 1, 0.0, 3, False, None),
    ]


@pytest.mark.parametrize("make", [RaceGym, RaceAEC])
def test_a_small_game_to_the_exact_values(make):
    env = make()
    agent = agent_for(env, MinimaxQAgent, learning_rate=1, gamma=0.9, epsilon=1)
    agents.train(agent, env, 2000, seed=0)

    @cache
    def value(counter):
        return max(value_of(counter, action) for action in (1, 2))

    def value_of(counter, action):
        return 1.0 if counter + action >= GOAL else -0.9 * value(counter + action)

    for counter in range(GOAL):
        expected = [value_of(counter, action) for action in (1, 2)]
        np.testing.assert_allclose(agent.q_values(counter), expected, atol=1e-12)


def test_minimax_needs_both_sides_of_two_players():
    class One(RaceAEC):
        possible_agents = ["left_0"]

    class Three(RaceAEC):
        possible_agents = ["left_0", "right_1", "middle_2"]

    for env in (gym.make("Nim-v0"), gym.make("FrozenLake-v1"), One(), Three()):
        message = r"two players.* 3" if isinstance(env, Three) else "MinimaxQAgent learns by self-play"
        with pytest.raises(ValueError, match=message):
            agents.train(agent_for(env, MinimaxQAgent), env, 1)


def trained(env, games):
    agent = agent_for(env, MinimaxQAgent, learning_rate=1.0, gamma=0.9, epsilon=1.0)
    agents.train(agent, env, games, seed=0)
    return agent


@pytest.mark.parametrize(("heaps", "pairs"), TABLES)
def test_the_published_tables(heaps, pairs):
    agent, rules = trained(pettingzoo.make("aec", "nim-v0", heaps=heaps), 4000), NimRules(heaps)
    check_table(agent, heaps, pairs)
    best = agent.player_values(heaps, 0)[rules.action_mask(heaps) == 1].max()
    assert (best > 0) == (heaps == (0, 1, 2))


@pytest.mark.parametrize(
    ("heaps", "goes_first"),
    [
        ((3, 4, 5), True),
        ((0, 1, 2), True),
        ((1, 2, 4), True),
        ((2, 3, 4), True),
        ((2, 4, 6), False),
        ((1, 2, 3), False),
    ],
)
def test_the_computer_wins_against_every_line_of_play(heaps, goes_first):
    agent = trained(gym.make_vec("Nim-v0", num_envs=50, heaps=heaps, opponent=None), 8000)
    rules = NimRules(heaps)

    @cache
    def computer_wins(position, computer_moves):
        if not any(position):
            return computer_moves  # the other has taken the last object, and loses
        mask = rules.action_mask(position)
        actions = [agent.act(np.array(position), mask)] if computer_moves else np.flatnonzero(mask)
        after = [tuple(rules.apply(position, action).tolist()) for action in actions]
        return all(computer_wins(next_observation, not computer_moves) for next_observation in after)

    assert computer_wins(heaps, goes_first)


def test_minimax_masters_1_3_5_7():
    env = gym.make_vec("Nim-v0", num_envs=100, opponent=None, random_start=True)
    agent = agent_for(env, MinimaxQAgent, learning_rate=1.0, epsilon=1.0)
    agents.train(agent, env, 60_000, seed=0)
    assert evaluation.mastery(env.unwrapped.rules, agent).expert == 1.0


LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


class TicTacToe(gym.Env):
    """The learner plays both sides; squares are 0 if free, 1 if the mover's and 2 if the opponent's."""

    observation_space, action_space = spaces.MultiDiscrete([3] * 9), spaces.Discrete(9)

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        super().reset(seed=seed)
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
    env = TicTacToe()
    agent = agent_for(env, MinimaxQAgent, learning_rate=1.0, epsilon=0.3)
    agents.train(agent, env, 40_000, seed=0)

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

    assert not loses((0,) * 9, True)
    assert not loses((0,) * 9, False)
