"""Invariants of every game of Nim, over random rules and random play, through the environments."""

from dataclasses import asdict
from itertools import pairwise

import brute_force
import numpy as np
from hypothesis import given
from strategies import rules as any_rules
from strategies import seeds

from nim_env import aec_env
from nim_env.envs.gym_env import NimEnv


def check_position(rules, heaps, mask):
    legal = {move for move, _ in brute_force.moves(tuple(heaps.tolist()), rules.max_take)}
    assert {rules.moves[action] for action in np.flatnonzero(mask)} == legal


@given(any_rules, seeds)
def test_two_players_in_turn(rules, seed):
    generator = np.random.default_rng(seed)
    env = aec_env.env(**asdict(rules), random_start=bool(seed % 2))
    env.reset(seed=seed)
    objects = [int(env.state()[:-1].sum())]
    assert objects[0] > 0
    while not any(env.terminations.values()):
        mover = env.agent_selection
        observation = env.last()[0]
        check_position(rules, observation["observation"], observation["action_mask"])
        env.step(generator.choice(np.flatnonzero(observation["action_mask"])))
        objects.append(int(env.state()[:-1].sum()))
        assert sum(env.rewards.values()) == 0
    assert all(before > after for before, after in pairwise(objects))
    assert objects[-1] == 0
    assert len(objects) - 1 <= objects[0]
    assert env.rewards[mover] == rules.terminal_reward == (-1 if rules.misere else 1)


@given(any_rules, seeds)
def test_an_agent_against_an_opponent(rules, seed):
    generator = np.random.default_rng(seed)
    first_player = "agent" if sum(rules.heaps) == 1 else ("agent", "opponent", "random", "loser")[seed % 4]
    opponent = ("random", "take-2", "expert")[seed % 3] if first_player == "agent" else "random"
    env = NimEnv(**asdict(rules), opponent=opponent, first_player=first_player)
    observation, info = env.reset(seed=seed)
    assert observation.any()  # reset never returns a finished game
    over = False
    while not over:
        check_position(rules, observation, info["action_mask"])
        before, action = observation, generator.choice(np.flatnonzero(info["action_mask"]))
        observation, reward, over, truncated, info = env.step(action)
        own = rules.move_counts[action]
        taken = int((before - observation).sum())
        assert (before >= observation).all()
        assert not truncated
        assert not info["illegal_action"]
        assert taken > own or (taken == own and over)  # the opponent replies to every move but the last
    assert not observation.any()
    agent_took_the_last = taken == own
    assert reward == (1 if agent_took_the_last != rules.misere else -1)


@given(any_rules, seeds)
def test_self_play_is_the_game_of_two_players(rules, seed):
    generator = np.random.default_rng(seed)
    env, board = NimEnv(**asdict(rules), opponent=None), aec_env.env(**asdict(rules))
    observation, info = env.reset(seed=seed)
    board.reset()
    over = False
    while not over:
        mover = board.agent_selection
        assert f"player_{info['to_play']}" == mover
        action = generator.choice(np.flatnonzero(info["action_mask"]))
        observation, reward, over, _, info = env.step(action)
        board.step(action)
        np.testing.assert_array_equal(observation, board.state()[:-1])
        assert reward == board.rewards[mover]
        assert over == board.terminations[mover]
