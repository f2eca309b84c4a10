"""Draws pictures of a game with pygame, as an array of pixels or in a window.

Importing this module imports pygame, so other modules import this one only when they draw.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import pygame
from numpy.typing import NDArray

from nim_env.rendering.appearance import COLORS
from nim_env.rendering.view import FRAMES_PER_SECOND, MAX_BLOCKS, View
from nim_env.rules import heap_name

FRAME = 600, 400  # width and height, in pixels
_TOP, _BOTTOM, _SIDE = 80, 46, 20  # the margins above, below and beside the heaps
_STATUS_SIZE, _TEXT_SIZE, _SMALL_SIZE = 32, 22, 20  # font sizes
_STATUS_TOP, _LAST_MOVES_TOP, _GOAL_TOP = 10, 37, FRAME[1] - 19
_MARK_SIZE = 18  # of the player's mark before the status
_MARK_SPACE = 28  # the width of the mark and of the gap after it
_MAX_HEIGHT, _MAX_WIDTH = 30, 80  # of a block, with the space above it
_MIN_OUTLINED_HEIGHT = 6  # lower blocks have no outline
_MIN_MARKED_HEIGHT = 14  # lower blocks have no mark of the player who has just taken them
_MAX_RADIUS = 6  # of a corner
_OVERSAMPLING = 4  # shapes and text are drawn larger and scaled down, which makes their edges smooth

_PLAYERS = COLORS["player_1"], COLORS["player_2"]
_Style: TypeAlias = tuple[str, str, int | None]  # the fill, the outline, and the player whose mark it has
_BLOCK: _Style = COLORS["block"], COLORS["edge"], None
_JUST_TAKEN: tuple[_Style, _Style] = ("#d5deec", _PLAYERS[0], 0), ("#eed5dd", _PLAYERS[1], 1)
_TAKEN: _Style = "#f3f0e8", "#cdc6b8", None


def as_pixels(view: View) -> NDArray[np.uint8]:
    """Returns a picture of a game: the heaps as stacked blocks, the last moves and the goal of the game.

    The picture consists of RGB values, uint8 of shape ``(400, 600, 3)``.
    """
    surface = pygame.Surface(FRAME)
    surface.fill(COLORS["page"])
    _draw_status(surface, view)
    center = FRAME[0] / 2
    _write(surface, view.last_moves, _TEXT_SIZE, COLORS["muted"], center, _LAST_MOVES_TOP, FRAME[0])
    _write(surface, view.goal, _SMALL_SIZE, COLORS["muted"], center, _GOAL_TOP, FRAME[0])
    for heap in range(len(view.heaps)):
        _draw_heap(surface, view, heap)
    pixels: NDArray[np.uint8] = pygame.surfarray.array3d(surface).swapaxes(0, 1)
    return pixels


def _draw_status(surface: pygame.Surface, view: View) -> None:
    """Writes which player is to move or has won, and draws the player's mark to the left of the text."""
    status = _text_image(view.status, _STATUS_SIZE, COLORS["ink"])
    left = (FRAME[0] - status.get_width() + _MARK_SPACE) // 2
    surface.blit(status, (left, _STATUS_TOP))
    mark_top = _STATUS_TOP + (status.get_height() - _MARK_SIZE) // 2
    surface.blit(_mark_image(_MARK_SIZE, view.player), (left - _MARK_SPACE, mark_top))


def _draw_heap(surface: pygame.Surface, view: View, heap: int) -> None:
    """Draws the heap with the number ``heap``: its blocks, its size above them and its name below them."""
    sizes = view.rules.heaps
    column = (FRAME[0] - 2 * _SIDE) / len(sizes)
    width = round(max(1.0, min(0.7 * column, _MAX_WIDTH)))
    middle = _SIDE + (heap + 0.5) * column
    left = round(middle - width / 2)
    for start, end, style in _groups(view, heap):
        for bottom, height in _block_places(start, end, max(sizes)):
            surface.blit(_block_image(width, height, *style), (left, FRAME[1] - _BOTTOM - bottom - height))
    _write(surface, f"{view.heaps[heap]:,}", _TEXT_SIZE, COLORS["ink"], middle, _TOP - 20, column)
    _write(surface, heap_name(heap), _SMALL_SIZE, COLORS["muted"], middle, FRAME[1] - _BOTTOM + 6, column)


def _groups(view: View, heap: int) -> Iterator[tuple[int, int, _Style]]:
    """Splits the blocks of a heap, numbered from the bottom up, into groups with the same appearance.

    Yields ``(start, end, style)`` for each group, which consists of the blocks ``start`` to ``end - 1``. The first
    group has the blocks that are left. Then there is a group for each of the last moves, with the blocks that the
    move has taken. The last group has the blocks that were taken earlier.
    """
    yield 0, view.heaps[heap], _BLOCK
    for move in view.moves:
        yield move.after[heap], move.before[heap], _JUST_TAKEN[move.player]
    before = view.moves[0].before if view.moves else view.heaps
    yield before[heap], view.rules.heaps[heap], _TAKEN


def _block_places(start: int, end: int, largest_heap: int) -> Iterator[tuple[int, int]]:
    """Yields the place ``(bottom, height)`` of each of the blocks ``start`` to ``end - 1`` of a heap, in pixels.

    ``bottom`` is the distance of the block from the floor. ``largest_heap`` is the starting size of the largest
    heap. If this size is above 50, a single bar stands for the blocks, and only the place of this bar is yielded.
    """
    room = FRAME[1] - _TOP - _BOTTOM
    if largest_heap > MAX_BLOCKS:
        bottom, top = (round(room * number / largest_heap) for number in (start, end))
        yield bottom, top - bottom
        return
    for pitch in range(_MAX_HEIGHT, 0, -1):  # the height of a block with the space above it
        gap = max(2, pitch // 4)  # between groups of five blocks
        if pitch * largest_heap + gap * ((largest_heap - 1) // 5) <= room:
            break
    for number in range(start, end):
        yield pitch * number + gap * (number // 5), pitch - max(1, pitch // 8)


@lru_cache(maxsize=1024)
def _block_image(width: int, height: int, fill: str, outline: str, player: int | None) -> pygame.Surface:
    """Returns a picture of one block or bar, which has the given size in pixels and the two given colors.

    If ``player`` is 0 or 1, the block has the mark of this player, unless it is too low or too narrow.
    """
    has_outline = height >= _MIN_OUTLINED_HEIGHT
    surface = _large_surface(width, height, outline if has_outline else fill)
    radius = round(_OVERSAMPLING * min(0.22 * height, _MAX_RADIUS, width / 2))
    area = surface.get_rect()
    if has_outline:
        pygame.draw.rect(surface, outline, area, border_radius=radius)
        line = round(1.5 * _OVERSAMPLING)
        area = area.inflate(-2 * line, -2 * line)
        radius -= line
    pygame.draw.rect(surface, fill, area, border_radius=max(0, radius))
    block = _scaled_down(surface)
    if player is not None and height >= _MIN_MARKED_HEIGHT and width >= height:
        size = height // 2
        block.blit(_mark_image(size, player), ((width - size) // 2, (height - size) // 2))
    return block


@lru_cache(maxsize=64)
def _mark_image(size: int, player: int) -> pygame.Surface:
    """Returns a picture of the mark of a player: a disk for player 0 and a diamond for player 1.

    The shapes tell the players apart for people who cannot see the colors.
    """
    color = _PLAYERS[player]
    surface = _large_surface(size, size, color)
    middle = size * _OVERSAMPLING / 2
    if player == 0:
        pygame.draw.circle(surface, color, (middle, middle), middle)
    else:
        corners = [(middle, 0), (2 * middle, middle), (middle, 2 * middle), (0, middle)]
        pygame.draw.polygon(surface, color, corners)
    return _scaled_down(surface)


def _large_surface(width: int, height: int, color: str) -> pygame.Surface:
    """Returns a transparent surface to draw on, four times as wide and as high as it will be in the picture.

    :func:`_scaled_down` then makes the edges of the shapes smooth. The transparent pixels have the given color,
    since the edges would otherwise blend with black.
    """
    surface = pygame.Surface((width * _OVERSAMPLING, height * _OVERSAMPLING), pygame.SRCALPHA)
    surface.fill(f"{color}00")
    return surface


def _scaled_down(surface: pygame.Surface) -> pygame.Surface:
    """Returns a surface that was drawn four times as large as needed, reduced to its size in the picture."""
    size = [math.ceil(length / _OVERSAMPLING) for length in surface.get_size()]
    return pygame.transform.smoothscale(surface, size)


def _write(
    surface: pygame.Surface, text: str, size: int, color: str, middle: float, top: int, room: float
) -> None:
    """Writes a line of text, or nothing if the text is wider than ``room``.

    ``size`` is the font size. ``middle`` is the x of the center of the text and ``top`` its upper edge, in pixels.
    """
    image = _text_image(text, size, color)
    if image.get_width() <= room:
        surface.blit(image, (round(middle - image.get_width() / 2), top))


@lru_cache(maxsize=1024)
def _text_image(text: str, size: int, color: str) -> pygame.Surface:
    """Returns a picture of a line of text. ``size`` is the font size."""
    pygame.font.init()  # every time, since pygame.quit() undoes it
    return _scaled_down(pygame.font.Font(None, size * _OVERSAMPLING).render(text, True, color))


def window() -> pygame.Surface:
    """Returns the surface of pygame's window, which is opened if necessary. There is only one window.

    Raises RuntimeError if the machine has no display.
    """
    try:
        pygame.display.init()
        if pygame.display.get_driver() == "offscreen" and "SDL_VIDEODRIVER" not in os.environ:
            raise pygame.error("no video device")  # SDL draws off screen if it finds no display
        return pygame.display.get_surface() or pygame.display.set_mode(FRAME)
    except pygame.error as error:
        raise RuntimeError(f'render_mode="human" needs a display ({error}); use "rgb_array" without one') from None


def show(view: View) -> None:
    """Draws a game in the window and waits for the duration of a frame."""
    pygame.surfarray.blit_array(window(), as_pixels(view).swapaxes(0, 1))
    pygame.display.set_caption("Nim")
    pygame.display.flip()
    pygame.event.pump()  # without it, the operating system thinks that the program hangs
    pygame.time.Clock().tick(FRAMES_PER_SECOND)


def close_window() -> None:
    """Closes the window, if it is open."""
    pygame.display.quit()
