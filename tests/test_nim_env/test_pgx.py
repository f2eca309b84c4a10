"""Compares Nim as an environment of pgx with NimRules in every position."""

import importlib
from itertools import product
from typing import Literal
from xml.etree import ElementTree

import pytest

pytest.importorskip("pgx", reason='needs pip install -e ".[jax]"')

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pgx
from configurations import check_frequencies
from gymnasium.spaces import Box

from nim_env import Encoding, NimRules
from nim_env.pgx import Nim

BOARDS = [(1,), (21,), (0, 3, 0, 2), (1, 3, 5, 7)]
GAMES = [NimRules(*game) for game in product(BOARDS, (None, 2), (True, False))]
KEY = jax.random.key(0)
SUMS = Encoding(Box(0, 100, (2, 1)), lambda heaps: np.stack([heaps.sum(-1), heaps.max(-1)], axis=-1)[..., None])


def make(rules, **options):
    return Nim(rules.heaps, rules.max_take, rules.misere, **options)


def start(env):
    """Starts 6144 games; the number is the same in all tests, so JAX compiles once."""
    return jax.vmap(env.init)(jax.random.split(KEY, 6144))


@pytest.fixture(autouse=True, scope="module")
def compile_sooner():
    """Turns most optimizations off, since the tests spend most of their time on compilation."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture
def api_test(monkeypatch):
    module = importlib.import_module("pgx._src.api_test")
    monkeypatch.setattr(module, "EnvId", Literal["nim"])  # it lists only pgx's own games
    # the test of pgx 2.6.0 fails on one mask with JAX 0.10.1 (github.com/sotetsuk/pgx/pull/1314)
    monkeypatch.setattr(
        module,
        "act_randomly",
        jax.jit(lambda key, masks: jax.random.categorical(key, jnp.log(masks.astype(jnp.float32)))),
    )
    return pgx.api_test


def test_the_api_test_of_pgx(api_test):
    api_test(Nim(), num=2)


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_every_action_of_every_position_is_as_in_the_rules(rules):
    env = make(rules)
    heaps = rules.all_positions()[1:].repeat(rules.n_actions, axis=0)
    actions = np.tile(np.arange(rules.n_actions), rules.n_positions - 1)
    mover = np.random.default_rng(0).integers(2, size=len(heaps), dtype=np.int32)

    @jax.jit
    @jax.vmap
    def play(heaps, player, action):
        before = env.init_at(KEY, heaps).replace(current_player=player)
        after = env.step(before, action)
        return before, after, env.step(after, action)

    before, after, later = jax.tree.map(np.asarray, play(heaps, mover, actions))
    np.testing.assert_array_equal(before.heaps, heaps)
    np.testing.assert_array_equal(before.observation, heaps)
    assert before.observation.dtype == np.int32
    np.testing.assert_array_equal(before.legal_action_mask, rules.action_mask(heaps))
    assert not before.terminated.any()
    is_legal = before.legal_action_mask[np.arange(len(heaps)), actions]
    heaps[is_legal] = rules.apply(heaps[is_legal], actions[is_legal])
    is_over = rules.is_over(heaps) | ~is_legal
    last = np.where(is_legal, rules.terminal_reward, -1) * is_over  # the reward of the mover
    np.testing.assert_array_equal(after.heaps, heaps)
    np.testing.assert_array_equal(after.observation, heaps)
    np.testing.assert_array_equal(after.terminated, is_over)
    np.testing.assert_array_equal(after.legal_action_mask, rules.action_mask(heaps) | is_over[:, None])
    np.testing.assert_array_equal(
        after.rewards, np.where(np.arange(2) == mover[:, None], last[:, None], -last[:, None])
    )
    np.testing.assert_array_equal(after.current_player[is_legal], 1 - mover[is_legal])
    assert not after.truncated.any()

    # a finished game stays as it is
    for name in ("heaps", "observation", "legal_action_mask", "terminated", "current_player"):
        np.testing.assert_array_equal(getattr(later, name)[is_over], getattr(after, name)[is_over])
    assert not later.rewards[is_over].any()


def test_starts_are_drawn_uniformly():
    env = Nim((2, 3), random_start=True)
    states = start(env)
    positions = {tuple(heaps): 1 for heaps in env.rules.all_positions()[1:].tolist()}
    check_frequencies(np.asarray(states.heaps), positions)
    check_frequencies(states.current_player[:, None], {(0,): 1, (1,): 1})
    full = start(Nim((2, 3)))
    assert (np.asarray(full.heaps) == (2, 3)).all()
    assert set(full.current_player.tolist()) == {0, 1}


@pytest.mark.parametrize("observation", ["one_hot", "unary", SUMS], ids=str)
def test_encodings(observation):
    env = Nim((1, 3, 5), random_start=True, observation=observation)
    states = start(env)
    expected = gym.make("Nim-v0", heaps=(1, 3, 5), observation=observation).unwrapped.encoding(states.heaps)
    np.testing.assert_array_equal(states.observation, expected)
    assert states.observation.dtype == expected.dtype == np.float32
    assert env.observation_shape == expected.shape[1:]


@pytest.fixture
def x64():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.mark.usefixtures("x64")
def test_a_game_of_more_positions_than_any_table_holds():
    heaps = (7,) * 40
    rules = NimRules(heaps)
    env = Nim(heaps, observation="bits")
    states = env.step(env.init(KEY), rules.action(39, 7))
    assert Nim(heaps).init(KEY).observation.dtype == states.heaps.dtype == np.int32
    np.testing.assert_array_equal(states.heaps, (*heaps[:-1], 0))
    np.testing.assert_array_equal(states.legal_action_mask, rules.action_mask(states.heaps))
    np.testing.assert_array_equal(states.observation, env.encoding(states.heaps))


def test_pictures(tmp_path):
    states = start(Nim((1, 3, 5), random_start=True))
    states.save_svg(tmp_path / "heaps.svg", scale=2.0)
    columns = ElementTree.parse(tmp_path / "heaps.svg").iter("{http://www.w3.org/2000/svg}path")
    drawn = [int(column.get("d").partition("v-")[2]) for column in columns]
    assert drawn == [size for heaps in states.heaps.tolist() for size in heaps if size]


def test_wrong_arguments():
    for arguments, message in (
        ({"heaps": (2**31,), "max_take": 7}, "heaps"),
        ({"heaps": (7,) * 11, "random_start": True}, "heaps"),
        ({"heaps": (7,) * 11, "observation": SUMS}, "heaps"),
        ({"observation": "pixels"}, "observation"),
    ):
        with pytest.raises(ValueError, match=message):
            Nim(**arguments)
