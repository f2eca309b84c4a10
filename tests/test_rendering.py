"""A position as pixels and in a window: a counter for each object, ghosts for what was just taken, words above.

The stored frames of tests/frames were looked at one by one; what they show is held by the other tests. After a
change of the drawing that is meant, ``NIM_ENV_NEW_FRAMES=1 pytest tests/test_rendering.py`` draws them anew.
"""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pettingzoo
import pygame
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moviepy import VideoFileClip
from pettingzoo.test import render_test
from PIL import Image
from scipy.ndimage import center_of_mass, label

import nim_env
from nim_env import aec_env, rendering
from nim_env.rendering import BACKGROUND, GHOSTS, OBJECT, PLAYERS, TAKEN, Move, View, as_pixels

FRAMES = Path(__file__).parent / "frames"
TOP = 90  # the words above the heaps are higher


def pieces(frame, color):
    """How many connected pieces of a color the heaps of a frame show, and where they are from left to right."""
    found, number = label((frame[TOP:] == color).all(axis=2), np.ones((3, 3)))
    return sorted(column for _, column in center_of_mass(found, found, range(1, number + 1)))


def counts(frame):
    """How many counters there are of each kind: objects, ghosts of each player, and what was taken before."""
    return tuple(len(pieces(frame, color)) for color in (OBJECT, *GHOSTS, TAKEN))


def view(heaps, sizes, moves=(), *, player=0, is_over=False):
    return View(heaps, sizes, ("agent", "opponent"), player, is_over, moves)


# --- What a frame shows ---------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=15).filter(any), st.data())
def test_every_object_is_a_counter(sizes, data):
    positions = [sizes]  # before the last two moves, between them and after; they may take from all heaps here
    for _ in range(3):
        positions.append([data.draw(st.integers(0, size)) for size in positions[-1]])
    _, before, between, after = positions
    frame = as_pixels(view(after, sizes, [Move(1, before, between), Move(0, between, after)]))
    assert frame.shape == (400, 600, 3)
    assert frame.dtype == np.uint8
    width = 560 / len(sizes)
    for color, upper, lower in (
        (OBJECT, after, [0] * len(sizes)),
        (GHOSTS[1], before, between),
        (GHOSTS[0], between, after),
        (TAKEN, sizes, before),
    ):
        numbers = np.subtract(upper, lower)
        shown = pieces(frame, color)
        assert len(shown) == sum(numbers)
        columns = np.repeat(np.arange(len(sizes)), numbers)
        np.testing.assert_allclose(shown, 20 + (columns + 0.5) * width, atol=1.5)


@pytest.mark.parametrize(
    ("left", "size", "number"), [(50, 50, 50), (12, 50, 12), (40, 51, 1), (700_000, 1_000_000, 1)]
)
def test_fifty_objects_are_counters_and_more_are_a_bar(left, size, number):
    frame = as_pixels(view((left,), (size,), [Move(1, (size,), (left,))]))
    assert counts(frame) == (number, 0, (1 if number == 1 else size - left) * (left < size), 0)
    if number == 1:
        for color, share in ((OBJECT, left / size), (GHOSTS[1], 1 - left / size)):
            rows = (frame == color).all(axis=2).any(axis=1).sum()
            assert rows == pytest.approx((400 - rendering.TOP - rendering.BOTTOM) * share, abs=2)


def test_counters_of_a_heap_stand_apart_from_its_neighbours():
    """Fifteen heaps of fifty: no two counters touch, and all are more than a line."""
    frame = as_pixels(view([50] * 15, [50] * 15))
    found, number = label((frame == OBJECT).all(axis=2), np.ones((3, 3)))
    assert number == 750
    assert np.bincount(found.ravel())[1:].min() >= 60


def test_the_words_say_how_the_game_stands():
    shown = {
        player: {is_over: as_pixels(view((1,), (1,), player=player, is_over=is_over)) for is_over in (False, True)}
        for player in (0, 1)
    }
    for player, frames in shown.items():
        for frame in frames.values():
            disc = [int((frame[:TOP] == color).all(axis=2).sum()) for color in PLAYERS]
            assert disc[player] > 200
            assert disc[1 - player] == 0
        assert (frames[False][:40] != frames[True][:40]).any()
    assert (shown[0][False][:40] != shown[1][False][:40]).any()
    still, moved = (as_pixels(view((1,), (2,), moves))[40:66] for moves in ((), [Move(0, (2,), (1,))]))
    assert (still == BACKGROUND).all()
    assert (moved != BACKGROUND).any()


def test_the_words_follow_the_game():
    """The numbers above the heaps are those of what is left, the words above them are the players' names."""

    def strip(shown, *rows):
        return as_pixels(shown)[slice(*rows)]

    numbers = rendering.TOP - 24, rendering.TOP - 2
    np.testing.assert_array_equal(strip(view((2,), (5,)), *numbers), strip(view((2,), (7,)), *numbers))
    assert (strip(view((2,), (7,)), *numbers) != strip(view((7,), (7,)), *numbers)).any()
    first = View((2,), (5,), ("agent", "opponent"), 1, True)
    other = View((2,), (5,), ("opponent", "agent"), 0, True)
    first, other = first._replace(heaps=(0,)), other._replace(heaps=(0,))
    inked = [(strip(shown, 40) == rendering.INK).all(axis=2) for shown in (first, other)]
    np.testing.assert_array_equal(*inked)  # "opponent won", both
    again = (strip(first._replace(player=0), 40) == rendering.INK).all(axis=2)
    assert (again != inked[0]).any()


def test_the_words():
    moves = [Move(0, (3, 12), (3, 0)), Move(1, (3, 0), (0, 0))]
    ended = view((0, 0), (3, 12), moves, player=1, is_over=True)
    assert ended.status == "opponent won"
    assert ended.last_moves == "agent took 12 from heap 1, opponent took 3 from heap 0"
    assert view((0, 1), (3, 12), player=0, is_over=True).status == "agent won, opponent's move was illegal"
    assert view((0, 1), (3, 12), player=1).status == "opponent to move"


# --- The same picture from every environment ------------------------------------------------------


def test_ghosts_are_of_the_agents_move_and_the_reply():
    env = gym.make("SimpleNim-v0", opponent="take-3", first_player="opponent", render_mode="rgb_array")
    env.reset(seed=0)
    assert counts(env.render()) == (18, 0, 3, 0)  # the opponent has opened
    env.step(1)
    assert counts(env.render()) == (13, 2, 3, 3)
    frame = env.render()
    with pytest.raises(gym.error.InvalidAction):
        env.step(7)
    np.testing.assert_array_equal(env.render(), frame)
    env.reset(options={"first_player": "agent"})
    assert counts(env.render()) == (21, 0, 0, 0)
    env.reset(options={"heaps": [9]})
    assert counts(env.render()) == (9, 0, 0, 12)


def test_ghosts_of_random_starts_and_illegal_moves():
    env = gym.make("Nim-v0", random_start=True, render_mode="rgb_array")
    for seed in range(20):
        observation, _ = env.reset(seed=seed)
        assert counts(env.render()) == (observation.sum(), 0, 0, 16 - observation.sum())
    env = gym.make("Nim-v0", opponent=None, render_mode="rgb_array")
    env.reset()
    env.step(0)
    assert counts(env.render()) == (15, 1, 0, 0)
    env.step(0)
    assert counts(env.render()) == (15, 0, 0, 1)


def test_all_environments_show_the_same():
    single = gym.make("Nim-v0", opponent=None, render_mode="rgb_array")
    envs = gym.make_vec("Nim-v0", num_envs=2, opponent=None, render_mode="rgb_array")
    aec = pettingzoo.make("aec", "nim-v0", render_mode="rgb_array")
    for env in (single, envs, aec):
        env.reset()
    for action, other in ((5, 0), (12, 5), (0, 1)):
        single.step(action)
        envs.step([action, other])
        aec.step(action)
        frame, frames = single.render(), envs.render()
        np.testing.assert_array_equal(frames[0], frame)
        assert (frames[1] != frame).any()
        np.testing.assert_array_equal(aec.render()[TOP:], frame[TOP:])  # but for the players' names
    frame[:] = 0
    assert (single.render() == frames[0]).all()


@pytest.mark.parametrize("opponent", [None, "random", "take-2", "expert"])
@pytest.mark.parametrize("autoreset_mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("random_start", [False, True])
@pytest.mark.parametrize("memory_limit", [None, 10**6])  # with tables and without
def test_ghosts_of_many_games(opponent, autoreset_mode, random_start, memory_limit, monkeypatch):
    """What there is to see of each game follows from the positions that the environment returned."""
    monkeypatch.setattr(nim_env.vector_env, "as_pixels", lambda view: view)
    envs = gym.make_vec(
        "Nim-v0",
        num_envs=7,
        heaps=(2, 3),
        opponent=opponent,
        random_start=random_start,
        autoreset_mode=autoreset_mode,
        render_mode="rgb_array",
        memory_limit=memory_limit,
    )
    rules, rng = envs.unwrapped.rules, np.random.default_rng(0)
    heaps, _ = envs.reset(seed=1)
    is_over = begun = np.zeros(7, dtype=bool)
    plies = np.zeros(7, dtype=int)
    for _ in range(40):
        faced = heaps
        actions = rng.integers(rules.n_actions, size=7)  # illegal ones too
        legal = rules.action_mask(faced)[np.arange(7), actions] == 1
        if autoreset_mode == "Disabled" and is_over.any():
            heaps, _ = envs.reset(options={"reset_mask": is_over})
            begun, waits = is_over, ~is_over
            is_over = np.zeros(7, dtype=bool)
        else:
            heaps, _, ended, *_ = envs.step(actions)
            begun, waits = (ended if autoreset_mode == "SameStep" else is_over), np.zeros(7, dtype=bool)
            is_over = ended & (autoreset_mode != "SameStep")
        for game, seen in enumerate(envs.render()):
            assert seen.heaps == heaps[game].tolist()
            if waits[game]:
                continue
            start, mover = faced[game].tolist(), 0 if opponent else int(plies[game] % 2)
            moved = rules.apply(start, actions[game]).tolist() if legal[game] else start
            if begun[game]:
                start = moved = seen.heaps if random_start else [2, 3]
            moves = Move(mover, start, moved), Move(1 - mover, moved, seen.heaps)
            assert seen.moves == [move for move in moves if move.before != move.after]
            assert seen.is_over == is_over[game]
        plies = np.where(begun | is_over, 0, plies + ~waits)


# --- Stored frames --------------------------------------------------------------------------------

FIRST, SECOND = [*range(1, 15), 9], [*range(1, 15), 5]
FIFTEEN = [Move(0, [*range(1, 16)], FIRST), Move(1, FIRST, SECOND)]
STORED = {
    "start": view([1, 3, 5, 7], (1, 3, 5, 7)),
    "moves": view([1, 0, 2, 4], (1, 3, 5, 7), [Move(0, [1, 3, 2, 4], [1, 0, 2, 4])], player=1),
    "won": view([0], (21,), [Move(0, [4], [3]), Move(1, [3], [0])], player=1, is_over=True),
    "fifteen": view(SECOND, range(1, 16), FIFTEEN),
    "fifty": view([50, 49, 2] * 5, [50] * 15, [Move(1, [50] * 15, [50, 49, 2] * 5)]),
    "bars": view([900, 30], (1000, 500), [Move(1, [900, 100], [900, 30])]),
}


def differences(frame, stored):
    """How many pixels of two frames differ clearly in color."""
    return int((np.abs(frame.astype(int) - stored).max(axis=2) > 40).sum())


@pytest.mark.parametrize("name", STORED)
def test_frames_are_the_stored_ones(name):
    frame, path = as_pixels(STORED[name]), FRAMES / f"{name}.png"
    if os.environ.get("NIM_ENV_NEW_FRAMES"):
        Image.fromarray(frame).save(path, optimize=True)
    stored = np.asarray(Image.open(path).convert("RGB"))
    heaps = slice(rendering.TOP, -rendering.BOTTOM)
    assert differences(frame[heaps], stored[heaps]) < 20
    for words in (slice(rendering.TOP), slice(-rendering.BOTTOM, None)):  # which versions of pygame set otherwise
        inked, stored_ink = ((image[words] != BACKGROUND).any(axis=2).sum() for image in (frame, stored))
        assert inked == pytest.approx(stored_ink, rel=0.35)


@pytest.mark.parametrize("name", STORED)
def test_a_missing_counter_is_more_than_the_tolerance(name):
    shown = STORED[name]
    for heap, left in enumerate(shown.heaps):
        if left and name != "bars":
            fewer = [size - (heap == other) for other, size in enumerate(shown.heaps)]
            frame = as_pixels(shown._replace(heaps=fewer, moves=()))
            rest = as_pixels(shown._replace(moves=()))
            assert (
                differences(frame[rendering.TOP : -rendering.BOTTOM], rest[rendering.TOP : -rendering.BOTTOM]) > 40
            )
    if shown.moves:
        without = as_pixels(shown._replace(moves=()))
        assert (
            differences(
                without[rendering.TOP : -rendering.BOTTOM], as_pixels(shown)[rendering.TOP : -rendering.BOTTOM]
            )
            > 40
        )


# --- Windows, videos and what is missing ----------------------------------------------------------


@pytest.fixture
def window(monkeypatch):
    """A display in memory, on which frames take no time."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(rendering, "FRAMES_PER_SECOND", 0)
    yield lambda: pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    pygame.display.quit()


def test_a_window_shows_every_position(window):
    human = gym.make("Nim-v0", render_mode="human")
    array = gym.make("Nim-v0", render_mode="rgb_array")
    aec = pettingzoo.make("aec", "nim-v0", render_mode="human")
    _, info = human.reset(seed=5)
    array.reset(seed=5)
    for _ in range(3):
        np.testing.assert_array_equal(window(), array.render())
        action = int(np.flatnonzero(info["action_mask"])[-1])
        *_, info = human.step(action)
        array.step(action)
    np.testing.assert_array_equal(window(), array.render())
    assert human.render() is None
    human.close()
    assert pygame.display.get_surface() is None
    human.close()  # a second time does nothing
    human.reset()
    gym.make("Nim-v0", render_mode="human").close()  # it has opened none
    assert pygame.display.get_surface() is not None
    human.close()
    human.reset(seed=5)
    array.reset(seed=5)
    np.testing.assert_array_equal(window(), array.render())
    aec.reset()
    start = window()
    aec.step(3)
    assert counts(start) == (16, 0, 0, 0)
    assert counts(window()) == (13, 3, 0, 0)
    human.close()
    aec.step(15)  # its window was closed by the other one
    assert counts(window()) == (6, 0, 7, 3)
    aec.close()


def test_a_window_survives_others_that_quit_pygame(window):
    env = gym.make("Nim-v0", render_mode="human")
    env.reset(seed=0)
    shown = window()
    pygame.quit()  # as CartPole does when it is closed
    env.reset(seed=0)
    np.testing.assert_array_equal(window(), shown)
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        other.step(0)
        assert (window() != shown).any()
    env.close()


@pytest.mark.usefixtures("window")
def test_a_window_waits_between_frames(monkeypatch):
    waited = []

    class Clock:
        tick = waited.append

    monkeypatch.undo()
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(rendering, "_clock", Clock)
    env = gym.make("Nim-v0", render_mode="human")
    env.reset()
    env.step(0)
    env.close()
    assert waited == [env.metadata["render_fps"]] * 2
    assert waited[0] > 0


@pytest.mark.usefixtures("window")
def test_pettingzoo_render_test():
    render_test(aec_env.raw_env)
    render_test(aec_env.env)


def test_no_display_is_needed_for_pictures_and_named_for_windows(tmp_path):
    lines = """
import gymnasium as gym, nim_env
env = gym.make("Nim-v0", render_mode="rgb_array")
env.reset()
print(env.render().shape)
env = gym.make("Nim-v0", render_mode="human")
try:
    env.reset()
except RuntimeError:
    env.unwrapped.render_mode = "ansi"
    try:
        env.unwrapped.render()
    except gym.error.ResetNeeded:
        print("nothing has changed")
    raise
"""
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "SDL_VIDEODRIVER")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [sys.executable, "-c", lines],
        env={**environment, "SDL_VIDEODRIVER": "x11"},  # no console or card of this machine is taken for a display
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert "(400, 600, 3)" in done.stdout
    assert 'RuntimeError: render_mode="human" found no display to open a window on' in done.stderr
    assert '"rgb_array" needs none' in done.stderr
    assert "nothing has changed" in done.stdout


def test_videos(tmp_path):
    env = gym.wrappers.RecordVideo(
        gym.make("Nim-v0", opponent=None, render_mode="rgb_array"),
        tmp_path / "new",
        episode_trigger=lambda _: True,
    )
    env.reset(seed=0)
    for action in (15, 8, 3, 0):
        env.step(action)
    env.close()
    with VideoFileClip(str(tmp_path / "new" / "rl-video-episode-0.mp4")) as video:
        assert video.size == [600, 400]
        assert video.fps == 2
        assert video.n_frames == 5
        first, last = video.get_frame(0), video.get_frame(2.01)
    start = as_pixels(View([1, 3, 5, 7], (1, 3, 5, 7), ("player 0", "player 1"), 0, False))
    assert differences(first, start) < 3000  # a film is compressed
    assert differences(last, start) > 20_000


def test_videos_of_many_games(tmp_path):
    envs = gym.make_vec("Nim-v0", num_envs=4, render_mode="rgb_array")
    envs = gym.wrappers.vector.RecordVideo(
        envs, str(tmp_path / "new"), step_trigger=lambda step: step == 0, video_length=3
    )
    envs.reset(seed=0)
    for _ in range(4):
        envs.step([0, 1, 4, 9])
    envs.close()
    (path,) = tmp_path.glob("new/*.mp4")
    with VideoFileClip(str(path)) as video:
        assert video.n_frames >= 3
        assert video.size[0] * video.size[1] >= 4 * 600 * 400  # a tile for each game


@pytest.mark.parametrize("make", [lambda **how: gym.make("Nim-v0", **how), aec_env.env])
def test_a_missing_pygame_is_named(make, monkeypatch):
    env = make(render_mode="rgb_array")
    env.reset()
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(
        gym.error.DependencyNotInstalled, match=r'"rgb_array" needs pygame; run pip install "nim-env\[render\]"'
    ):
        env.render()
    with pytest.raises(gym.error.DependencyNotInstalled, match='render_mode="human" needs pygame'):
        make(render_mode="human")


def test_a_shallow_copy_of_many_games_keeps_its_own_ghosts():
    envs = gym.make_vec(
        "SimpleNim-v0", num_envs=2, first_player="opponent", opponent="take-1", render_mode="rgb_array"
    )
    envs.reset()
    frames = envs.render()
    other = copy.copy(envs.unwrapped)
    other.reset(options={"reset_mask": np.array([True, False]), "heaps": [4]})
    assert counts(other.render()[0]) == (4, 0, 0, 17)
    np.testing.assert_array_equal(envs.render(), frames)


def test_the_modes_are_in_the_metadata():
    for kind in (nim_env.gym_env.NimEnv, aec_env.raw_env):
        assert kind.metadata["render_modes"] == ["human", "ansi", "rgb_array"]
        assert kind.metadata["render_fps"] == 2
    assert nim_env.vector_env.NimVectorEnv.metadata["render_modes"] == ["ansi", "rgb_array"]
    with pytest.raises(ValueError, match=r"one of \['ansi', 'rgb_array'\]; got 'human'"):
        gym.make_vec("Nim-v0", num_envs=2, render_mode="human")
