"""The caches of an environment stay below a limit of memory, and clearing them changes no game."""

import gc
import tracemalloc

import numpy as np
import pytest

from nim_env import NimEnv
from nim_env._internal import limits


@pytest.fixture
def peak_since():
    """Provides a function that returns the peak of memory since the start of the test, in MB above the start."""
    gc.collect()
    tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]
    yield lambda: (tracemalloc.get_traced_memory()[1] - start) / 1e6
    tracemalloc.stop()


def test_a_game_of_many_actions_stays_below_50_megabytes(peak_since):
    """With 100,000 actions, the positions that these episodes visit would take more than 60 MB."""
    env = NimEnv((100_000,), misere=False, opponent="take-1", random_start=True, observation="one_hot")
    for seed in range(350):
        env.reset(seed=seed)
        env.step(int(env.action_masks().sum()) // 2)
        assert not env.action_masks()[-1]
    assert peak_since() < 50  # the list of the moves is included
    del env
    gc.collect()
    assert tracemalloc.get_traced_memory()[0] < 30e6  # all environments of the game are gone


def test_the_rows_of_many_small_positions_stay_below_the_limit(peak_since, monkeypatch):
    """With 12 actions a row is small, but the rows of 10,000 positions would take about 9 MB."""
    monkeypatch.setattr(limits, "CACHE_BYTES", 3_000_000)
    env = NimEnv((9,) * 12, max_take=1, opponent=None, random_start=True)
    env.reset(seed=0)
    for _ in range(10_000):
        env.reset()
    assert peak_since() < 3


def test_games_in_progress_outlive_their_positions():
    """An environment continues its game after another one has cleared the cache that they share."""
    game = {
        "heaps": (20_000, 20_000),
        "misere": False,
        "observation": "one_hot",
    }  # the cache has room for some hundred positions
    env, other = NimEnv(**game, opponent="expert"), NimEnv(**game, opponent=None, random_start=True)
    env.reset(seed=0, options={"heaps": (2500, 2800)})
    for size in (2496, 2492, 2488):  # the expert makes the heaps equal
        for _ in range(600):
            other.reset()
        np.testing.assert_array_equal(env.step(3)[0], env.encoding((size, size)))
        np.testing.assert_array_equal(env.action_masks(), env.rules.action_mask((size, size)))
