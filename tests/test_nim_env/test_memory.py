"""The positions that the environments of a game keep: their memory is bounded, and losing them changes no game."""

import gc
import tracemalloc

import numpy as np
import pytest

from nim_env import NimEnv, aec_env


@pytest.fixture
def peak_since():
    """The largest memory in use since a point in time, in MB above what was in use then."""
    gc.collect()
    tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]
    yield lambda: (tracemalloc.get_traced_memory()[1] - start) / 1e6
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("arguments", "episodes"),
    [({"opponent": None, "observation": "one_hot"}, 350), ({"opponent": "random"}, 140)],
    ids=["observations", "replies"],
)
def test_a_game_of_many_actions_stays_below_150_megabytes(arguments, episodes, peak_since):
    """Of 100,000 actions: what these episodes visit would take more than 200 MB."""
    env = NimEnv(heaps=(100_000,), misere=False, random_start=True, **arguments)
    for seed in range(episodes):
        env.reset(seed=seed)
        env.step(int(env.action_masks().sum()) // 2)
        assert not env.action_masks()[-1]
    assert peak_since() < 150  # with the list of the moves
    del env
    gc.collect()
    assert tracemalloc.get_traced_memory()[0] < 30e6  # all environments of the game are gone


def test_a_position_in_use_does_not_keep_those_after_it(peak_since):
    """Each environment waits at a start whose next positions, 120 MB, the others have replaced."""
    waiting = []
    for _ in range(3):
        env = NimEnv(heaps=(100_000,), misere=False, opponent=None)
        for action in range(1300):
            env.reset()
            env.step(action)
        env.reset()
        waiting.append(env)
    assert peak_since() < 200  # with 10 for the moves of each environment; it would be 300


def test_only_what_is_played_is_kept(peak_since):
    """Not the positions after every action: those of one position of this game are 1,000 of 3 kB."""
    env, generator = NimEnv(heaps=(100,) * 10, opponent="random"), np.random.default_rng(0)
    for seed in range(12):
        _, info = env.reset(seed=seed)
        is_over = False
        while not is_over:
            _, _, is_over, _, info = env.step(int(generator.choice(np.flatnonzero(info["action_mask"]))))
    assert peak_since() < 30


def test_games_in_progress_outlive_their_positions():
    """An environment steps on after another one of its game has replaced the kept positions."""
    game = {"heaps": (20_000, 20_000), "misere": False, "observation": "one_hot"}  # 700 positions are kept
    start = {"heaps": (2500, 2800)}
    single, board = NimEnv(**game, opponent=None), aec_env.env(**game)
    against_expert, other = NimEnv(**game, opponent="expert"), NimEnv(**game, opponent=None, random_start=True)
    for env in (single, board, against_expert):
        env.reset(seed=0, options=start)
    other.reset(seed=0)
    rules, generator = single.rules, np.random.default_rng(0)
    heaps, faced = np.array(start["heaps"]), np.array(start["heaps"])
    for _ in range(5):
        for _ in range(600):
            other.reset()
        action = int(generator.integers(heaps[0] // 3))  # from heap 0
        heaps = rules.apply(heaps, action)
        board.step(action)
        shown = board.observe(board.agent_selection)
        for found, mask in (
            (single.step(action)[0], single.action_masks()),
            (shown["observation"], shown["action_mask"]),
        ):
            np.testing.assert_array_equal(found, single.encoding(heaps))
            np.testing.assert_array_equal(mask, rules.action_mask(heaps))
        faced = np.full(2, faced.min() - 4)  # the expert makes the heaps equal
        np.testing.assert_array_equal(against_expert.step(3)[0], single.encoding(faced))
        np.testing.assert_array_equal(against_expert.action_masks(), rules.action_mask(faced))
