"""Tests the pictures of games (each block, the colors of taken blocks, the texts), windows and animations."""

import copy
import itertools
import pickle
import sys

import gymnasium as gym
import numpy as np
import pettingzoo
import pygame
import pytest
from configurations import first_legal
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo.test import render_test
from PIL import Image
from scipy.ndimage import label

from nim_env import NimEnv, NimRules, aec_env
from nim_env.rendering import Move, View, as_text, pixels
from nim_env.rendering.animation import animate, save_gif
from nim_env.rendering.pixels import as_pixels
from nim_env.rules import heap_name

HEAPS = slice(80, 354)  # the rows of a frame between the texts and the names of the heaps
BLOCK, TAKEN = (242, 183, 68), (243, 240, 232)
PLAYERS, JUST_TAKEN = ((22, 89, 199), (173, 31, 107)), ((213, 222, 236), (238, 213, 221))


def pieces(frame, color):
    """Returns the columns of the connected pieces of a color among the heaps, from left to right."""
    is_colored = (frame[HEAPS] == color).all(axis=2)
    numbers = label(is_colored, np.ones((3, 3)))[0][is_colored]
    sizes = np.bincount(numbers)[1:]
    return sorted(np.bincount(numbers, weights=is_colored.nonzero()[1])[1:] / sizes)


def counts(frame):
    """Returns the number of blocks left, just taken by each player, and taken before."""
    return tuple(len(pieces(frame, color)) for color in (BLOCK, *JUST_TAKEN, TAKEN))


PIXELS = {"render_mode": "rgb_array"}


def view(heaps, sizes, moves=(), *, player=0, is_over=False, **arguments):
    return View(heaps, NimRules(sizes, **arguments), ("Agent", "Opponent"), player, is_over, moves)


@settings(max_examples=25)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=15).filter(any), st.data())
def test_every_block_is_drawn(sizes, data):
    positions = [sizes]  # before, between and after the last two moves, which here can take from all heaps
    for _ in range(3):
        positions.append([data.draw(st.integers(0, size)) for size in positions[-1]])
    _, before, between, after = positions
    frame = as_pixels(view(after, sizes, [Move(1, before, between), Move(0, between, after)]))
    assert frame.shape == (400, 600, 3)
    assert frame.dtype == np.uint8
    width = 560 / len(sizes)
    for color, upper, lower in (
        (BLOCK, after, [0] * len(sizes)),
        (JUST_TAKEN[1], before, between),
        (JUST_TAKEN[0], between, after),
        (TAKEN, sizes, before),
    ):
        columns = np.repeat(np.arange(len(sizes)), np.subtract(upper, lower))
        drawn = pieces(frame, color)
        assert len(drawn) == len(columns)
        np.testing.assert_allclose(drawn, 20 + (columns + 0.5) * width, atol=1.5)
    from_below = [BLOCK, *JUST_TAKEN, TAKEN]
    for heap in range(len(sizes)):
        pixels = map(tuple, frame[HEAPS][::-1, round(20 + (heap + 0.5) * width)].tolist())
        parts = [from_below.index(pixel) for pixel in pixels if pixel in from_below]
        assert parts == sorted(parts)


def test_words():
    moves = [Move(0, (3, 12), (3, 0)), Move(1, (3, 0), (0, 0))]
    ended = view((0, 0), (3, 12), moves, player=1, is_over=True)
    assert ended.status == "Opponent won"
    assert ended.last_moves == "Agent took 12 from B, Opponent took 3 from A"
    assert view((3,), (3,), misere=False, max_take=2).goal == (
        "At most 2 in one move. The player who takes the last block wins."
    )
    lines = as_text(view((3, 60), (12, 60))).splitlines()  # heaps above 50 objects are only numbers
    assert lines == ["heap A:  3  | | | · · · · · · · · ·", "heap B: 60", "Agent to move"]
    assert [heap_name(heap) for heap in (0, 25, 26, 51, 52, 701, 702)] == ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]


def test_texts_in_pixels():
    """The player's mark has the player's color, and the texts and the size of each heap are drawn."""
    frame = as_pixels(view((2,), (7,), player=1))
    marks = [(frame[:36] == color).all(axis=2).sum() for color in PLAYERS]
    assert marks[0] == 0
    assert marks[1] > 100
    for rows, other in (
        (slice(36), view((2,), (7,), player=1, is_over=True)),
        (slice(36, 58), view((2,), (7,), [Move(0, (4,), (2,))], player=1)),
        (slice(58, 80), view((7,), (7,), player=1)),
        (slice(376, 400), view((2,), (7,), player=1, misere=False)),
    ):
        assert (as_pixels(other)[rows] != frame[rows]).any()


def test_blocks_stand_in_groups_of_five():
    column = as_pixels(view([12], (12,)))[HEAPS, 300]
    bottoms = np.flatnonzero(np.diff((column == BLOCK).all(axis=1).astype(int)) == -1)[::-1]  # from below
    distances = -np.diff(bottoms)
    assert np.flatnonzero(distances > distances.min()).tolist() == [4, 9]


def test_large_heaps_are_bars():
    """1,000 blocks are 274 pixels high, less the outlines of the parts."""
    frame = as_pixels(view([900, 30], (1000, 500), [Move(1, [900, 100], [900, 30])]))
    for heap, numbers in enumerate([(900, 0, 100), (30, 70, 400)]):
        column = frame[HEAPS, 190 + 280 * heap]  # next to the player's mark
        heights = [(column == color).all(axis=1).sum() for color in (BLOCK, JUST_TAKEN[1], TAKEN)]
        np.testing.assert_allclose(heights, 0.274 * np.array(numbers), atol=6)


def test_last_moves_of_agent_and_opponent():
    env = gym.make("SimpleNim-v0", opponent="take-3", first_player="opponent", **PIXELS)
    env.reset(seed=0)
    assert counts(env.render()) == (18, 0, 3, 0)  # the opponent has opened
    env.step(1)
    assert counts(env.render()) == (13, 2, 3, 3)
    with pytest.raises(gym.error.InvalidAction):
        env.step(7)
    assert counts(env.render()) == (13, 2, 3, 3)
    env.reset(options={"first_player": "agent"})
    assert counts(env.render()) == (21, 0, 0, 0)
    env.reset(options={"heaps": [9]})
    assert counts(env.render()) == (9, 0, 0, 12)
    env = gym.make("SimpleNim-v0", random_start=True, **PIXELS)
    observation, _ = env.reset(seed=0)
    assert counts(env.render()) == (*observation, 0, 0, 21 - observation[0])
    envs = gym.make_vec("SimpleNim-v0", 2, opponent="take-3", **PIXELS)
    envs.reset(options={"heaps": [9]})
    envs.step([0, 1])
    assert [counts(frame) for frame in envs.render()] == [
        (5, 0, 0, 16),
        (4, 0, 0, 17),
    ]  # vector environments do not show the last moves


def test_pettingzoo_draws_what_gymnasium_draws():
    single, aec = gym.make("Nim-v0", opponent=None, **PIXELS), pettingzoo.make("aec", "nim-v0", **PIXELS)
    for env in (single, aec):
        env.reset()
    for action in (5, 12, 0):
        for env in (single, aec):
            env.step(action)
        np.testing.assert_array_equal(aec.render(), single.render())
    aec = pettingzoo.make("aec", "nim-v0", heaps=(21,), random_start=True, **PIXELS)
    aec.reset(seed=0)
    (left, _), (_, *last_moves, _) = aec.state(), counts(aec.render())
    assert left < 21
    assert last_moves == [0, 0]


@pytest.mark.parametrize("arguments", [{"opponent": None}, {"opponent": first_legal, "first_player": "opponent"}])
def test_vector_environments_write_what_single_ones_write(arguments):
    """Compares them until one of the games ends, is truncated, or is lost by an illegal action."""
    arguments = {"heaps": (2, 3), "max_episode_steps": 3, "render_mode": "ansi", **arguments}
    envs, *singles = gym.make_vec("Nim-v0", 4, **arguments), *(gym.make("Nim-v0", **arguments) for _ in range(4))
    generator = np.random.default_rng(0)
    for _ in range(10):
        for env in (envs, *singles):
            env.reset()
        is_over = np.zeros(4, dtype=bool)
        while not is_over.any():
            actions = generator.integers(5, size=4)
            _, _, terminated, truncated, _ = envs.step(actions)
            is_over = terminated | truncated
            for env, action in zip(singles, actions, strict=True):
                env.step(action)
            assert list(envs.render()) == [env.render() for env in singles]


@pytest.fixture
def window(monkeypatch):
    """Provides a display in memory that shows frames without waiting."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(pixels, "FRAMES_PER_SECOND", 0)
    yield lambda: pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    pygame.display.quit()


def test_window_draws_every_position(window):
    human, array = (gym.make("Nim-v0", render_mode=mode) for mode in ("human", "rgb_array"))
    for _ in range(2):
        for env in (human, array):
            env.reset(seed=5)
        np.testing.assert_array_equal(window(), array.render())
        for env in (human, array):
            env.step(1)
        np.testing.assert_array_equal(window(), array.render())
        pygame.quit()  # CartPole does this when it is closed
    human.reset(seed=5)
    start = window()
    for other in (copy.deepcopy(human), pickle.loads(pickle.dumps(human))):
        other.step(0)
        assert (window() != start).any()
    for _ in range(2):
        human.close()  # the second call does nothing
        assert pygame.display.get_surface() is None


def test_window_of_the_pettingzoo_environment(window):  # noqa: ARG001
    render_test(aec_env.raw_env)
    render_test(aec_env.env)


@pytest.mark.parametrize("driver", ["x11", "offscreen"])
def test_a_machine_without_a_display(driver, monkeypatch):
    """Pixels need no display. A window raises an error that says so, before anything has changed."""
    pygame.display.quit()
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setenv("SDL_VIDEODRIVER", driver)
    if driver == "offscreen":  # SDL chooses this driver if it finds no display
        monkeypatch.delenv("SDL_VIDEODRIVER")
        monkeypatch.setattr(pygame.display, "init", lambda: None)
        monkeypatch.setattr(pygame.display, "get_driver", lambda: driver)
    env = gym.make("Nim-v0", render_mode="rgb_array")
    env.reset()
    assert env.render().shape == (400, 600, 3)
    env = gym.make("Nim-v0", render_mode="human")
    with pytest.raises(RuntimeError, match="rgb_array"):
        env.reset()
    with pytest.raises(gym.error.ResetNeeded):
        env.unwrapped.action_masks()


@pytest.mark.parametrize("make", [NimEnv, aec_env.env])
def test_missing_pygame(make, monkeypatch):
    env = make(render_mode="rgb_array")
    env.reset()
    monkeypatch.setitem(sys.modules, "pygame", None)
    for call in (env.render, lambda: make(render_mode="human")):
        with pytest.raises(gym.error.DependencyNotInstalled, match=r'needs pygame.*"nim-env\[render\]"'):
            call()


MAKERS = {  # Gymnasium's checker would warn about views
    "Gymnasium": lambda **arguments: gym.make("Nim-v0", disable_env_checker=True, **PIXELS, **arguments),
    "self-play": lambda **arguments: MAKERS["Gymnasium"](opponent=None, **arguments),
    "PettingZoo": lambda **arguments: pettingzoo.make("aec", "nim-v0", **PIXELS, **arguments),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_animate_plays_one_game_of_the_policy(make, monkeypatch):
    """Each frame follows from the previous one by moves, and the policy makes all moves that it should make."""
    monkeypatch.setattr(pixels, "as_pixels", lambda view: view)  # frames are views
    for seed, misere in itertools.product(range(3), (True, False)):
        env = make(heaps=(3, 4), misere=misere)
        film = animate(env, first_legal, seed)
        rules = NimRules((3, 4), misere=misere)
        assert [view.is_over for view in film] == [False] * (len(film) - 1) + [True]
        for before, after in itertools.pairwise(film):
            assert after.moves[0].before == before.heaps
            expected = rules.apply(before.heaps, first_legal(before.heaps, rules.action_mask(before.heaps)))
            assert list(after.moves[0].after) == expected.tolist()
            assert after.moves[0].player == (before.player if before.names[0] == "Player 1" else 0)
        last_mover = film[-1].moves[-1].player
        assert film[-1].player == (1 - last_mover if misere else last_mover)


@pytest.mark.parametrize("arguments", [{}, {"render_mode": "ansi"}, {**PIXELS, "observation": "bits"}], ids=str)
def test_what_cannot_be_animated(arguments):
    with pytest.raises(ValueError, match="render_mode"):
        animate(gym.make("Nim-v0", **arguments), "random")


def test_save_gif(tmp_path):
    film, again = (animate(MAKERS["PettingZoo"](), "random", seed=0) for _ in range(2))
    np.testing.assert_array_equal(film, again)
    save_gif(film, tmp_path / "game", seconds=0.5)
    with Image.open(tmp_path / "game") as gif:
        assert (gif.format, gif.n_frames, gif.info["loop"]) == ("GIF", len(film), 0)
        for number, frame in enumerate(film):
            gif.seek(number)
            assert gif.info["duration"] == (500 if number < len(film) - 1 else 1500)
            error = np.abs(np.asarray(gif.convert("RGB")).astype(int) - frame)
            assert error.max() < 16  # 256 colors, no dithering
