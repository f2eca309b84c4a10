"""The PettingZoo environment: games by hand, the rules of its API, seeds, copies and bad input."""

import copy
import pickle

import numpy as np
import pytest
from configurations import GAMES, plain
from gymnasium.error import InvalidAction, ResetNeeded
from pettingzoo.utils import wrappers

from nim_env import aec_env

EVERY_GAME = pytest.mark.parametrize("configuration", GAMES.values(), ids=GAMES)


def state(env):
    """Returns everything that an environment says about its game, in a form that == can compare."""
    parts = env.agents, env.agent_selection, env.rewards, env.terminations, env.infos, env.state()
    return plain(parts + tuple(env.observe(player) for player in env.possible_agents))


def play(env, overwrite=False):
    """Plays the rest of a game at random. Returns the results as plain data.

    With ``overwrite`` it overwrites the returned arrays, which must not change the environment.
    """
    generator, record = np.random.default_rng(7), []
    for player in env.agent_iter():
        observation, *rest = env.last()
        action = None if rest[1] else int(generator.choice(np.flatnonzero(observation["action_mask"])))
        record.append((player, plain((observation, rest)), state(env), action))
        if overwrite:
            others = [array for each in env.possible_agents for array in env.observe(each).values()]
            for array in (*observation.values(), env.state(), *others):
                array[:] = -1
        env.step(action)
    env.reset()
    return [*record, state(env)]


def test_wrong_actions_change_nothing():
    env = aec_env.env(heaps=(2, 2), illegal_action="raise")
    env.reset(options={"heaps": (1, 2)})
    before = state(env)
    for action in (1, 4, -1, 1.0, None, True, [1]):
        with pytest.raises(InvalidAction, match=r"action"):
            env.step(action)
    assert state(env) == before
    for action in (2, np.int32(2), np.array(2)):
        env.reset()
        env.step(action)
        assert env.state().tolist() == [2, 1, 1]


def test_calls_before_reset():
    env = aec_env.env(render_mode="ansi")
    calls = env.last, env.state, env.render, lambda: env.step(0), lambda: env.observe("player_0")
    for call in (*calls, lambda: next(env.agent_iter())):
        with pytest.raises(ResetNeeded, match="reset"):
            call()
    env.reset()
    with pytest.raises(ValueError, match="player_2"):
        env.observe("player_2")


def test_calls_after_the_end():
    env = aec_env.env(heaps=(1,))
    env.reset()
    env.step(0)
    for wrong in (0, "x"):
        with pytest.raises(InvalidAction, match=f"None.*{wrong}"):
            env.step(wrong)
    env.step(None)
    env.step(None)
    assert list(env.agent_iter()) == []
    for call in (lambda: env.step(None), lambda: env.step(0), env.last):
        with pytest.raises(ResetNeeded, match="reset"):
            call()


def test_agent_iter():
    env = aec_env.env()
    env.reset()
    turns = env.agent_iter()
    next(turns)
    env.reset()
    assert next(turns) == "player_0"
    with pytest.raises(AssertionError, match="step"):  # the loop called neither step nor reset
        next(turns)


def test_wrong_options_change_nothing_and_unknown_ones_are_ignored():
    env = aec_env.env(random_start=True)
    env.reset(seed=5)
    other = copy.deepcopy(env)
    with pytest.raises(ValueError, match="heaps"):
        env.reset(seed=6, options={"heaps": (0, 0, 0, 0)})
    assert state(env) == state(other)
    for each in (env, other):
        each.reset(options={"nonsense": 1})
    assert state(env) == state(other)


@EVERY_GAME
def test_seeds_copies_and_returned_arrays(configuration):
    """A seed determines everything, no matter what was played before or what is written to the returned arrays."""
    first, second = aec_env.env(**configuration), aec_env.env(**configuration)
    second.reset(seed=77)
    play(second)
    for seed in range(3):
        for env in (first, second):
            env.reset(seed=seed)
            env.step(int(env.last()[0]["action_mask"].argmax()))
        copies = second, copy.deepcopy(first), pickle.loads(pickle.dumps(first))
        record = play(first)
        for copied in copies:
            assert play(copied, overwrite=True) == record


def test_stock_wrappers_change_nothing():
    wrapped = wrappers.TerminateIllegalWrapper(aec_env.raw_env(random_start=True), illegal_reward=-1)
    wrapped = wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(wrapped))
    env = aec_env.env(random_start=True)
    for seed in range(5):
        env.reset(seed=seed)
        wrapped.reset(seed=seed)
        assert play(env) == play(wrapped)
