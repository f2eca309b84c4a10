import copy
import pickle

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from configurations import GAMES, SIMPLE
from gymnasium.error import InvalidAction, ResetNeeded
from pettingzoo.utils import BaseWrapper

from nim_env import NimRules, aec_env


def play(env, seed):
    """Everything that one game of random play brings to light, as plain data."""
    generator, record = np.random.default_rng(seed), []
    env.reset(seed=seed)
    for player in env.agent_iter():
        observation, *rest = env.last()
        action = None
        if not rest[1]:
            action = int(generator.choice(np.flatnonzero(observation["action_mask"])))
        record.append((player, plain(observation), copy.deepcopy(rest), env.state().tolist(), action))
        env.step(action)
    return record


def plain(observation):
    return {key: value.tolist() for key, value in observation.items()}


def test_spaces():
    for env in (pettingzoo.make("aec", "nim-v0"), aec_env.env(), aec_env.raw_env()):
        assert env.possible_agents == ["player_0", "player_1"]
        for player in env.possible_agents:
            space = env.observation_space(player)
            assert space["observation"] == gym.spaces.MultiDiscrete([2, 4, 6, 8])
            assert space["action_mask"] == gym.spaces.Box(0, 1, (16,), np.int8)
            assert env.action_space(player) == gym.spaces.Discrete(16)
        env.reset(seed=0)
        assert env.observe("player_0") in env.observation_space("player_0")
        assert env.state() in env.state_space


def test_a_game_by_hand():
    env = aec_env.env(heaps=(1, 2), misere=True)
    env.reset()
    rules = env.rules
    assert env.agent_selection == "player_0"
    assert plain(env.observe("player_0")) == {"observation": [1, 2], "action_mask": [1, 1, 1]}
    assert plain(env.observe("player_1")) == {"observation": [1, 2], "action_mask": [0, 0, 0]}
    assert env.state().tolist() == [1, 2, 0]
    env.step(rules.action(1, 2))
    assert env.agent_selection == "player_1"
    assert plain(env.last()[0]) == {"observation": [1, 0], "action_mask": [1, 0, 0]}
    assert env.state().tolist() == [1, 0, 1]
    assert env.last()[1:] == (0.0, False, False, {"illegal_action": False})
    env.step(rules.action(0, 1))  # takes the last object and loses
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.truncations == {"player_0": False, "player_1": False}
    for player, reward in (("player_0", 1.0), ("player_1", -1.0)):
        assert env.agent_selection == player
        observation, *rest = env.last()
        assert plain(observation) == {"observation": [0, 0], "action_mask": [0, 0, 0]}
        assert rest == [reward, True, False, {"illegal_action": False}]
        env.step(None)
    assert env.agents == []


def test_normal_play():
    env = aec_env.env(heaps=(2,), misere=False)
    env.reset()
    env.step(1)
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}


@pytest.mark.parametrize("configuration", GAMES.values(), ids=GAMES)
def test_the_end_is_consistent(configuration):
    env = aec_env.env(**configuration)
    for seed in range(20):
        record = play(env, seed)
        *plies, (first, _, (reward, *_), *_), (second, _, (other_reward, *_), *_) = record
        assert {first, second} == {"player_0", "player_1"}
        assert reward == -other_reward != 0
        last_mover, took = plies[-1][0], plies[-1][4]
        assert took is not None
        won = reward if first == last_mover else other_reward
        assert won == (-1.0 if env.rules.misere else 1.0)
        assert [entry[0] for entry in plies] == [f"player_{i % 2}" for i in range(len(plies))]


def test_an_illegal_action_loses():
    env = aec_env.env(heaps=(2, 2))
    env.reset(options={"heaps": (1, 2)})
    env.step(2)
    env.step(1)  # take 2 from heap 0, which holds 1
    assert env.rewards == {"player_0": 0.0, "player_1": -1.0}
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.truncations == {"player_0": False, "player_1": False}
    assert env.infos == {"player_0": {"illegal_action": False}, "player_1": {"illegal_action": True}}
    assert env.state()[:2].tolist() == [1, 1]
    totals = {}
    for player in env.agent_iter():
        totals[player] = env.last()[1]
        env.step(None)
    assert totals == {"player_0": 0.0, "player_1": -1.0}
    env.reset()
    assert env.infos["player_1"] == {"illegal_action": False}


def test_an_illegal_action_may_be_an_error():
    env = aec_env.env(heaps=(2, 2), illegal_action="raise")
    env.reset(options={"heaps": (1, 2)})
    before = snapshot(env)
    with pytest.raises(InvalidAction, match=r"action 1, take 2 from heap 0, is illegal at heaps \[1, 2\]"):
        env.step(1)
    assert snapshot(env) == before


def snapshot(env):
    return (
        env.agents[:],
        env.agent_selection,
        dict(env.rewards),
        dict(env.terminations),
        copy.deepcopy(env.infos),
        env.state().tolist(),
        plain(env.observe("player_0")),
        plain(env.observe("player_1")),
    )


@pytest.mark.parametrize("action", [16, -1, 1.0, "1", None, True, np.array([1]), [1]])
def test_other_things_are_no_actions(action):
    env = aec_env.env()
    env.reset()
    before = snapshot(env)
    with pytest.raises(InvalidAction, match="action must be an integer from 0 to 15; got"):
        env.step(action)
    assert snapshot(env) == before


@pytest.mark.parametrize("action", [9, np.int32(9), np.array(9)])
def test_kinds_of_integers_are_actions(action):
    env = aec_env.env()
    env.reset()
    env.step(action)
    assert env.state().tolist() == [1, 3, 5, 6, 1]


def test_calls_before_reset():
    env = aec_env.env(render_mode="ansi")
    for call in (
        lambda: env.step(0),
        env.last,
        env.state,
        env.render,
        env.agent_iter,
        lambda: env.observe("player_0"),
    ):
        with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
            call()
    for name in (
        "agents",
        "num_agents",
        "agent_selection",
        "rewards",
        "terminations",
        "truncations",
        "infos",
    ):
        with pytest.raises(AttributeError, match=f"{name} cannot be accessed before reset"):
            getattr(env, name)
    with pytest.raises(AttributeError, match="'raw_env' object has no attribute 'nonsense'"):
        env.nonsense  # noqa: B018


def test_calls_after_the_end():
    env = aec_env.env(heaps=(1,))
    env.reset()
    env.step(0)
    for wrong in (0, 1, "x"):
        with pytest.raises(InvalidAction, match="the game is over, the only action left is None; got"):
            env.step(wrong)
    env.step(None)
    env.step(None)
    assert list(env.agent_iter()) == []
    for call in (lambda: env.step(None), lambda: env.step(0), env.last):
        with pytest.raises(ResetNeeded, match="when a game is over"):
            call()
    env.reset()
    assert env.agents == ["player_0", "player_1"]


def test_a_loop_that_does_not_step_is_told():
    env = aec_env.env()
    env.reset()
    turns = env.agent_iter()
    next(turns)
    with pytest.raises(AssertionError, match=r"call step\(\) or reset\(\) in every round"):
        next(turns)
    turns = env.agent_iter()
    next(turns)
    env.reset()
    assert next(turns) == "player_0"


def test_agent_iter_stops_where_it_is_told():
    env = aec_env.env()
    env.reset(seed=0)
    seen = []
    for player in env.agent_iter(3):
        seen.append(player)
        env.step(int(env.last()[0]["action_mask"].argmax()))
    assert seen == ["player_0", "player_1", "player_0"]


def test_an_unknown_player_is_refused():
    env = aec_env.env()
    env.reset()
    with pytest.raises(ValueError, match=r"agent must be one of .*; got 'player_2'"):
        env.observe("player_2")


def test_options():
    env = aec_env.env()
    env.reset(options={"heaps": [0, 3, 0, 7], "nonsense": 1})
    assert env.state().tolist() == [0, 3, 0, 7, 0]
    before = snapshot(env)
    for heaps, error in (((0, 0, 0, 0), ValueError), ((9, 0, 0, 0), ValueError), ((1.0, 0, 0, 0), TypeError)):
        with pytest.raises(error):
            env.reset(seed=1, options={"heaps": heaps})
    assert snapshot(env) == before
    env.reset()
    assert env.state().tolist() == [1, 3, 5, 7, 0]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"heaps": (-1,)}, ValueError, "heaps must hold"),
        ({"max_take": 0}, ValueError, "max_take must be 1 or more"),
        ({"random_start": "no"}, TypeError, "random_start must be True or False"),
        ({"illegal_action": None}, ValueError, "illegal_action must be"),
        ({"render_mode": "braille"}, ValueError, "render_mode must be None or one of"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        pettingzoo.make("aec", "nim-v0", **arguments)


def test_random_start():
    env = aec_env.env(heaps=(1, 2), random_start=True)
    seen = set()
    for seed in range(100):
        env.reset(seed=seed)
        seen.add(tuple(env.state()[:2].tolist()))
    assert seen == {(0, 1), (0, 2), (1, 0), (1, 1), (1, 2)}


@pytest.mark.parametrize("configuration", GAMES.values(), ids=GAMES)
def test_one_seed_gives_one_game(configuration):
    first, second = aec_env.env(**configuration), aec_env.env(**configuration)
    play(second, 77)
    for seed in range(5):
        assert play(first, seed) == play(second, seed)


@pytest.mark.parametrize("configuration", GAMES.values(), ids=GAMES)
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"]
)
def test_copies_go_on_identically(configuration, copied):
    env = aec_env.env(**configuration)
    env.reset(seed=3)
    other = copied(env)
    for twin in (env, other):
        twin.step(int(twin.last()[0]["action_mask"].argmax()))
    other = copied(env)
    for twin in (env, other):
        while twin.agents:
            observation, _, terminated, *_ = twin.last()
            twin.step(None if terminated else int(observation["action_mask"].argmax()))
    env.reset()
    other.reset()
    assert env.state().tolist() == other.state().tolist()


@pytest.mark.parametrize("configuration", GAMES.values(), ids=GAMES)
def test_returned_arrays_are_the_callers(configuration):
    expected = [play(aec_env.env(**configuration), seed) for seed in range(3)]  # copied out before it is spoiled

    class Spoiled(BaseWrapper):
        def last(self, observe=True):
            observation, *rest = self.env.last(observe)
            kept = copy.deepcopy(observation)
            for player in self.env.possible_agents:
                for array in (*observation.values(), *self.env.observe(player).values(), self.env.state()):
                    array[:] = -1
            return kept, *rest

    for _ in range(2):
        assert [play(Spoiled(aec_env.env(**configuration)), seed) for seed in range(3)] == expected
    assert [play(aec_env.env(**configuration), seed) for seed in range(3)] == expected


def test_a_refused_reset_changes_nothing_that_is_random():
    env, other = (aec_env.env(random_start=True) for _ in range(2))
    for each in (env, other):
        each.reset(seed=5)
    for options, error in (({"heaps": (9, 0, 0, 0)}, ValueError), ([1, 2], TypeError), ("heaps", TypeError)):
        with pytest.raises(error):
            env.reset(seed=6, options=options)
    for _ in range(5):
        for each in (env, other):
            each.reset()
        assert env.state().tolist() == other.state().tolist()


def test_rendering():
    env = aec_env.env(heaps=(1, 2), render_mode="ansi")
    env.reset()
    assert env.render() == "heap 0: 1  |\nheap 1: 2  | |\nplayer_0 to move"
    env.step(2)
    assert env.render() == "heap 0: 1  |\nheap 1: 0  · ·\nplayer_1 to move"
    env.step(0)
    assert env.render().splitlines()[-1] == "player_0 won"
    env.step(None)
    env.step(None)
    assert env.render().splitlines()[-1] == "player_0 won"
    env.reset()
    env.step(0)
    env.step(0)  # nothing is left there
    assert env.render().splitlines()[-1] == "player_0 won, player_1's move was illegal"


def test_the_simple_game():
    env = pettingzoo.make("aec", "simple_nim-v0")
    assert env.rules == NimRules(**SIMPLE)
    assert str(env) == "nim_v0"


def test_stock_wrappers_fit():
    from pettingzoo.utils import wrappers

    plain_env, wrapped = (
        aec_env.env(),
        wrappers.OrderEnforcingWrapper(
            wrappers.AssertOutOfBoundsWrapper(
                wrappers.TerminateIllegalWrapper(aec_env.raw_env(), illegal_reward=-1)
            )
        ),
    )
    for seed in range(5):
        assert play(plain_env, seed) == play(wrapped, seed)
