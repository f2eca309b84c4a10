"""A position as pixels: as many counters as there are objects, and the same picture from every environment."""

import sys

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import center_of_mass, label

import nim_env  # noqa: F401  registers
from nim_env.rendering import BACKGROUND, OBJECT, TAKEN, as_pixels


def pieces(frame, color):
    """How many connected pieces of a color a frame shows, and where they are from left to right."""
    found, number = label((frame == color).all(axis=2), np.ones((3, 3)))
    return sorted(column for _, column in center_of_mass(found, found, range(1, number + 1)))


heaps_of = st.lists(st.integers(0, 20), min_size=1, max_size=15).filter(any)


@settings(max_examples=40)
@given(heaps_of, st.data())
def test_every_object_is_a_counter(sizes, data):
    heaps = [data.draw(st.integers(0, size)) for size in sizes]
    frame = as_pixels(heaps, sizes, "")
    assert frame.shape == (400, 600, 3)
    assert frame.dtype == np.uint8
    for color, numbers in (
        (OBJECT, heaps),
        (TAKEN, [size - left for left, size in zip(heaps, sizes, strict=True)]),
    ):
        shown = pieces(frame, color)
        assert len(shown) == sum(numbers)
        columns = np.repeat(np.arange(len(sizes)), numbers)
        width = 560 / len(sizes)
        np.testing.assert_allclose(shown, 20 + (columns + 0.5) * width, atol=1.5)


@pytest.mark.parametrize(
    ("left", "size", "number"), [(50, 50, 50), (12, 50, 12), (40, 51, 1), (700_000, 1_000_000, 1)]
)
def test_fifty_objects_are_counters_and_more_are_a_bar(left, size, number):
    frame = as_pixels((left,), (size,), "")
    assert len(pieces(frame, OBJECT)) == number
    if number == 1:
        rows = (frame == OBJECT).all(axis=2).any(axis=1).sum()
        assert rows == pytest.approx(310 * left / size, abs=2)


def test_the_status_is_written():
    empty, agent, opponent = (as_pixels((1,), (1,), status)[:45] for status in ("", "agent won", "opponent won"))
    assert (empty == BACKGROUND).all()
    assert (agent != BACKGROUND).any()
    assert (agent != opponent).any()


def test_all_environments_show_the_same():
    single = gym.make("Nim-v0", opponent=None, render_mode="rgb_array")
    envs = gym.make_vec("Nim-v0", num_envs=2, opponent=None, render_mode="rgb_array")
    single.reset()
    envs.reset()
    single.step(5)
    envs.step([5, 0])
    frame, frames = single.render(), envs.render()
    np.testing.assert_array_equal(frames[0], frame)
    assert (frames[1] != frame).any()
    aec = pettingzoo.make("aec", "nim-v0", render_mode="rgb_array")
    aec.reset()
    aec.step(5)
    np.testing.assert_array_equal(aec.render()[45:], frame[45:])  # but for the players' names
    frame[:] = 0
    assert (single.render() == frames[0]).all()


def test_a_missing_pygame_is_named(monkeypatch):
    env = gym.make("Nim-v0", render_mode="rgb_array")
    env.reset()
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(
        gym.error.DependencyNotInstalled, match=r'needs pygame; run pip install "nim-env\[render\]"'
    ):
        env.render()
