"""The Stable-Baselines3 vector environment: DummyVecEnv's contract, game for game, and its algorithms on it."""

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
import torch
from configurations import SIMPLE, first_legal
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize

import nim_env  # noqa: F401  registers
from nim_env import NimRules, evaluation, wrappers
from nim_env.sb3_vec_env import NimVecEnv

torch.set_num_threads(1)  # the tests run beside each other


def make(num_envs=5, **arguments):
    return NimVecEnv(gym.make_vec("Nim-v0", num_envs=num_envs, autoreset_mode="SameStep", **arguments))


def last_legal(observation, action_mask):  # noqa: ARG001
    return action_mask.shape[-1] - 1 - np.asarray(action_mask)[..., ::-1].argmax(axis=-1)


CERTAIN = {  # settings that draw nothing, so that all games can be compared
    "agent first": {"opponent": first_legal, "first_player": "agent"},
    "opponent first": {"opponent": last_legal, "first_player": "opponent", "heaps": (5, 4, 3)},
    "loser first": {"opponent": last_legal, "first_player": "loser", **SIMPLE},
    "loser first, seen in the masks": {"opponent": last_legal, "first_player": "loser", "heaps": (5, 4, 3)},
    "self-play": {"opponent": None},
    "bounded self-play": {"opponent": None, "heaps": (4, 6), "max_take": 3, "misere": False},
}


def check_alike(ours, theirs):
    """Infos of one game."""
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert type(ours[name]) is type(value), name
        np.testing.assert_array_equal(ours[name], value)
        assert getattr(ours[name], "dtype", None) == getattr(value, "dtype", None), name


@pytest.mark.parametrize("illegal_share", [0.0, 0.2])
@pytest.mark.parametrize("name", CERTAIN)
def test_every_game_is_that_of_dummy_vec_env(name, illegal_share):
    number = 7
    ours = make(number, **CERTAIN[name])
    theirs = DummyVecEnv([lambda: gym.make("Nim-v0", **CERTAIN[name])] * number)
    assert (ours.observation_space, ours.action_space) == (theirs.observation_space, theirs.action_space)
    assert (ours.num_envs, ours.render_mode) == (theirs.num_envs, theirs.render_mode)
    generator = np.random.default_rng(0)
    seen = ours.reset(), theirs.reset()
    ended = 0
    for _ in range(150):
        np.testing.assert_array_equal(*seen)
        assert seen[0].dtype == seen[1].dtype
        masks = get_action_masks(ours)
        np.testing.assert_array_equal(masks, get_action_masks(theirs))
        for info, expected in zip(ours.reset_infos, theirs.reset_infos, strict=True):
            check_alike(info, expected)
        weights = masks + (generator.random((number, 1)) < illegal_share)
        actions = (generator.random(weights.shape) * weights).argmax(axis=1)
        one, other = ours.step(actions), theirs.step(actions)
        seen = one[0], other[0]
        for mine, expected in zip(one[1:3], other[1:3], strict=True):
            np.testing.assert_array_equal(mine, expected)
            assert mine.dtype == expected.dtype
        for mine, expected in zip(one[3], other[3], strict=True):
            check_alike(mine, expected)
        ended += one[2].sum()
    assert ended > 50


def test_nothing_returned_changes_later():
    env = make(4, opponent=None)
    env.reset()
    steps = [env.step(np.array(get_action_masks(env).argmax(axis=1))) for _ in range(12)]
    kept = copy.deepcopy(steps)
    for _ in range(20):
        env.step(get_action_masks(env).argmax(axis=1))
    for one, other in zip(steps, kept, strict=True):
        for mine, expected in zip(one[:3], other[:3], strict=True):
            np.testing.assert_array_equal(mine, expected)
        for mine, expected in zip(one[3], other[3], strict=True):
            check_alike(mine, expected)


# --- Seeds, options, attributes -------------------------------------------------------------------


def played(env, steps=40):
    seen = [env.reset()]
    for _ in range(steps):
        seen.append(env.step(get_action_masks(env).argmax(axis=1))[0])
    return np.array(seen)


def test_one_seed_gives_the_same_games_once():
    env, other = make(6), make(6)
    assert list(env.seed(3)) == [3, 4, 5, 6, 7, 8]
    other.seed(3)
    first = played(env)
    np.testing.assert_array_equal(first, played(other))
    assert (played(env) != first).any()  # the seed holds for one reset
    env.seed(3)
    np.testing.assert_array_equal(played(env), first)
    env.seed(4)
    assert (played(env) != first).any()


def test_options_of_every_game():
    env = make(5, first_player="agent")
    env.reset()
    env.set_options([{}, {"heaps": (0, 1, 0, 1)}, {"first_player": "opponent"}, {"heaps": [1, 1, 1, 1]}, {}])
    observations = env.reset()
    assert observations[[0, 1, 3, 4]].tolist() == [[1, 3, 5, 7], [0, 1, 0, 1], [1, 1, 1, 1], [1, 3, 5, 7]]
    assert 0 < observations[2].sum() < 16
    np.testing.assert_array_equal(get_action_masks(env), NimRules().action_mask(observations))
    for info, mask in zip(env.reset_infos, get_action_masks(env), strict=True):
        np.testing.assert_array_equal(info["action_mask"], mask)
    assert (env.reset() == [1, 3, 5, 7]).all()  # they hold for one reset
    env.set_options({"heaps": (1, 0, 0, 2)})
    assert (env.reset() == [1, 0, 0, 2]).all()


def test_one_game_of_many():
    env = make(4, opponent=None)
    env.reset()
    env.step(np.array([0, 1, 2, 3]))
    masks = get_action_masks(env)
    np.testing.assert_array_equal(env.env_method("action_masks", indices=[3, 1]), masks[[3, 1]])
    np.testing.assert_array_equal(env.env_method("action_masks", indices=2), masks[[2]])
    np.testing.assert_array_equal(env.env_method("action_masks", indices=-1), masks[[3]])
    assert env.get_attr("rules", indices=[0, 2]) == [NimRules()] * 2
    assert env.get_attr("rules") == [NimRules()] * 4
    assert env.env_is_wrapped(Monitor) == [False] * 4
    assert env.env_is_wrapped(Monitor, indices=0) == [False]
    assert is_masking_supported(env)
    assert env.has_attr("rules")
    assert not env.has_attr("masks_of_action")
    env.set_attr("note", "here")
    assert env.get_attr("note", indices=3) == ["here"]


def test_texts():
    env = make(2, render_mode="ansi", opponent=None)
    env.reset()
    assert env.render_mode == "ansi"
    assert len(env.env_method("render")) == 2
    assert "7" in env.env_method("render", indices=1)[0]


def test_copies_go_on_alike():
    env = make(3)
    env.seed(1)
    env.reset()
    env.step(get_action_masks(env).argmax(axis=1))
    other = pickle.loads(pickle.dumps(env))
    np.testing.assert_array_equal(get_action_masks(env), get_action_masks(other))
    for _ in range(30):
        actions = get_action_masks(env).argmax(axis=1)
        np.testing.assert_array_equal(env.step(actions)[0], other.step(actions)[0])


# --- Wrappers and algorithms ----------------------------------------------------------------------


def test_under_vec_monitor_and_vec_normalize():
    env = VecNormalize(VecMonitor(make(8, **SIMPLE)), norm_obs=False)
    env.reset()
    episodes, lengths = [], np.zeros(8, dtype=int)
    for _ in range(60):
        _, _, dones, infos = env.step(get_action_masks(env).argmax(axis=1))
        lengths += 1
        for game in np.flatnonzero(dones):
            assert infos[game]["episode"]["l"] == lengths[game]
            assert infos[game]["episode"]["r"] in (-1, 1)
            assert "terminal_observation" in infos[game]
            episodes.append(infos[game]["episode"])
            lengths[game] = 0
    assert len(episodes) > 30
    assert is_masking_supported(env)


@pytest.mark.parametrize("name", ["loser first, seen in the masks", "self-play"])
@pytest.mark.parametrize("wrap", [wrappers.bits, lambda env: wrappers.masked_dict(wrappers.unary(env))])
def test_around_wrapped_games(wrap, name):
    """What wrapped games show is what DummyVecEnv over wrapped single ones does."""
    number, game, generator = 4, CERTAIN[name], np.random.default_rng(0)
    ours = NimVecEnv(wrap(gym.make_vec("Nim-v0", num_envs=number, autoreset_mode="SameStep", **game)))
    theirs = DummyVecEnv([lambda: wrap(gym.make("Nim-v0", **game))] * number)
    assert (ours.observation_space, ours.action_space) == (theirs.observation_space, theirs.action_space)
    np.testing.assert_equal(ours.reset(), theirs.reset())
    ended = 0
    for _ in range(60):
        masks = get_action_masks(ours)
        np.testing.assert_array_equal(masks, get_action_masks(theirs))
        weights = masks + (generator.random((number, 1)) < 0.2)  # illegal moves too
        actions = (generator.random(weights.shape) * weights).argmax(axis=1)
        one, other = ours.step(actions), theirs.step(actions)
        np.testing.assert_equal(one[0], dict(other[0]) if isinstance(other[0], dict) else other[0])
        for mine, expected in zip(one[1:3], other[1:3], strict=True):
            np.testing.assert_array_equal(mine, expected)
        for mine, expected in zip(one[3], other[3], strict=True):
            np.testing.assert_equal(mine, expected)
        np.testing.assert_equal(ours.reset_infos, theirs.reset_infos)
        ended += one[2].sum()
    assert ended > 20


def test_a_network_learns_from_wrapped_games():
    games = gym.make_vec(
        "Nim-v0", 16, heaps=(7,), max_take=3, misere=False, random_start=True, autoreset_mode="SameStep"
    )
    env = NimVecEnv(wrappers.masked_dict(wrappers.bits(games)))
    model = MaskablePPO(
        "MultiInputPolicy", env, n_steps=16, batch_size=64, n_epochs=4, learning_rate=3e-3, seed=0, device="cpu"
    )
    model.learn(6_000)

    def play(observation, action_mask):
        seen = {"observations": env.env.env.encode(observation), "action_mask": action_mask.astype(np.float32)}
        return model.predict(seen, action_masks=action_mask, deterministic=True)[0]

    assert evaluation.mastery(NimRules((7,), 3, misere=False), play).expert > 0.8


def test_masks_are_read_only_and_shared():
    env = make(3, opponent=None)
    env.reset()
    *_, infos = env.step(np.zeros(3, dtype=int))
    for mask, info in zip(env.env_method("action_masks"), infos, strict=True):
        assert mask is info["action_mask"]
        with pytest.raises(ValueError, match="read-only"):
            mask[0] = 1


@pytest.mark.parametrize("arguments", [{}, {"opponent": first_legal}, {"heaps": (1, 3, 5, 7, 9, 11)}])
def test_the_masks_are_those_of_the_games(arguments):
    env = make(8, **arguments)
    env.reset()
    for _ in range(20):
        rows = env.env_method("action_masks")
        np.testing.assert_array_equal(rows, env.games.action_masks())
        *_, infos = env.step(np.argmax(rows, axis=1))
        assert all(info["illegal_action"] is False for info in infos)


def test_the_algorithms_learn_on_it():
    env = make(16, heaps=(7,), max_take=3, misere=False, random_start=True)
    DQN("MlpPolicy", env, learning_starts=64, seed=0, device="cpu").learn(400)
    PPO("MlpPolicy", env, n_steps=16, batch_size=64, seed=0, device="cpu").learn(512)
    model = MaskablePPO(
        "MlpPolicy", env, n_steps=16, batch_size=64, n_epochs=4, learning_rate=3e-3, seed=0, device="cpu"
    )
    model.learn(6_000)
    rules = NimRules((7,), 3, misere=False)
    play = lambda o, m: model.predict(o, action_masks=m, deterministic=True)[0]  # noqa: E731
    assert evaluation.mastery(rules, play).expert > 0.8
    mean, _ = evaluate_policy(model, VecMonitor(make(4, heaps=(7,), max_take=3, misere=False)), n_eval_episodes=20)
    assert mean > 0.2


# --- Bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: NimVecEnv(gym.make("Nim-v0")), TypeError, "env must be a vector environment of Nim"),
        (lambda: NimVecEnv(gym.make_vec("CartPole-v1", 2)), TypeError, "env must be a vector environment of Nim"),
        (lambda: NimVecEnv("Nim-v0"), TypeError, "env must be a vector environment of Nim.*'Nim-v0'"),
        (lambda: NimVecEnv(gym.make_vec("Nim-v0", 2)), ValueError, "autoreset_mode=\"SameStep\"; got 'NextStep'"),
        (lambda: make().get_attr("nothing"), AttributeError, "nothing"),
        (lambda: make().env_method("nothing"), AttributeError, "nothing"),
        (lambda: make().env_method("action_masks"), gym.error.ResetNeeded, "call reset"),
        (lambda: make().get_attr("rules", indices=5), IndexError, "index"),
        (lambda: make().set_attr("note", 1, indices=[0, 1]), ValueError, "the games share 'note'; set it for all"),
        (lambda: make().step(np.zeros(5, int)), gym.error.ResetNeeded, "call reset"),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_wrong_actions_and_options_change_nothing():
    env = make(3, opponent=None, illegal_action="raise")
    before = env.reset()
    for actions in ([0, 0, 99], [0, 0, 0.5], [0, 0]):
        with pytest.raises(gym.error.InvalidAction):
            env.step(np.array(actions))
    after = env.step(np.array([3, 0, 1]))[0]
    masks = env.env_method("action_masks")
    for options, message in (
        ([{}, {"heap": (1, 1, 1, 1)}, {}], r"options may hold .*got 'heap'"),
        ([{"heaps": (1, 1, 1, 1)}, {"heaps": (1, 1)}, {}], "heaps"),
        ([{"heaps": (0, 0, 0, 0)}, {}, {}], "unfinished positions; game 0 got all 0"),
        ([{}, {"first_player": "agent"}, {}], "has no meaning with opponent=None"),
        ([{}, {}], "set_options needs a dictionary, or one for each of the 3 games"),
        ([{}, {}, None], "set_options needs a dictionary, or one for each of the 3 games"),
    ):
        env.set_options(options)
        with pytest.raises(ValueError, match=message):
            env.reset()
        for method in ("reset", "step"):
            with pytest.raises(ValueError, match=f"a method that answers for every game, not '{method}'"):
                env.env_method(method)
        np.testing.assert_array_equal(env.games.action_masks(), masks)
        np.testing.assert_array_equal(env.env_method("action_masks"), masks)
    env.set_options()
    assert (env.step(np.array([m.argmax() for m in masks]))[0] <= after).all()  # the games go on
    np.testing.assert_array_equal(env.reset(), before)


def test_heaps_of_none_are_left_to_chance():
    ours, theirs = (
        make(4, first_player="opponent"),
        DummyVecEnv([lambda: gym.make("Nim-v0", first_player="opponent")]),
    )
    for env in (ours, theirs):
        env.set_options({"heaps": None})
        assert 0 < env.reset()[0].sum() < 16  # the opponent has opened


def test_what_wrappers_have_is_found():
    ours = NimVecEnv(wrappers.bits(gym.make_vec("Nim-v0", num_envs=2, autoreset_mode="SameStep")))
    assert ours.has_attr("encode")
    assert ours.has_attr("rules")
    np.testing.assert_array_equal(ours.get_attr("encode")[1]((1, 0, 0, 1)), [1, 0, 0, 0, 0, 0, 1, 0, 0])
    assert ours.get_attr("rules", indices=0) == [NimRules()]
    assert not ours.has_attr("decode")
