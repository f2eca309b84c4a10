"""A game as pixels. They are drawn by pygame, without a window."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from nim_env.rendering.appearance import COLORS
from nim_env.rendering.view import MAX_BLOCKS, View
from nim_env.rules import heap_name

if TYPE_CHECKING:
    import pygame

FRAME = 600, 400  # width and height, in pixels
_TOP, _BOTTOM, _SIDE = 80, 46, 20  # the margins for the texts above, for the names of the heaps, and at the sides
_STATUS_SIZE, _TEXT_SIZE, _SMALL_SIZE = 32, 22, 20  # of the fonts
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
    """Returns a picture of the heaps as stacked blocks, with the last moves and the goal of the game.

    The picture has RGB values, uint8 of shape ``(400, 600, 3)``.
    """
    check_installed("pygame", 'render_mode="rgb_array"')
    import pygame

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
    """Writes who is to move or has won, and draws the mark of this player to the left of the text."""
    status = _text_image(view.status, _STATUS_SIZE, COLORS["ink"])
    left = (FRAME[0] - status.get_width() + _MARK_SPACE) // 2
    surface.blit(status, (left, _STATUS_TOP))
    mark_top = _STATUS_TOP + (status.get_height() - _MARK_SIZE) // 2
    surface.blit(_mark(_MARK_SIZE, view.player), (left - _MARK_SPACE, mark_top))


def _draw_heap(surface: pygame.Surface, view: View, heap: int) -> None:
    """Draws the blocks of a heap, with their number above and the name of the heap below."""
    sizes = view.rules.heaps
    column = (FRAME[0] - 2 * _SIDE) / len(sizes)
    width = round(max(1.0, min(0.7 * column, _MAX_WIDTH)))
    middle = _SIDE + (heap + 0.5) * column
    left = round(middle - width / 2)
    for start, end, style in _parts(view, heap):
        for bottom, height in _blocks(start, end, max(sizes)):
            surface.blit(_block(width, height, *style), (left, FRAME[1] - _BOTTOM - bottom - height))
    _write(surface, f"{view.heaps[heap]:,}", _TEXT_SIZE, COLORS["ink"], middle, _TOP - 20, column)
    _write(surface, heap_name(heap), _SMALL_SIZE, COLORS["muted"], middle, FRAME[1] - _BOTTOM + 6, column)


def _parts(view: View, heap: int) -> Iterator[tuple[int, int, _Style]]:
    """Yields ``(start, end, style)`` for each group of blocks of a heap, ``end`` excluded, from the bottom up.

    The first group has the blocks that are left. The next ones have the blocks that the last moves have taken, a
    group for each move. The last group has the blocks that were taken before these moves.
    """
    yield 0, view.heaps[heap], _BLOCK
    for move in view.moves:
        yield move.after[heap], move.before[heap], _JUST_TAKEN[move.player]
    before = view.moves[0].before if view.moves else view.heaps
    yield before[heap], view.rules.heaps[heap], _TAKEN


def _blocks(start: int, end: int, most: int) -> Iterator[tuple[int, int]]:
    """Yields the distance from the floor and the height, in pixels, of each block from ``start`` to ``end - 1``.

    ``most`` is the starting size of the largest heap. If it is above 50, all these blocks are drawn as one bar.
    """
    room = FRAME[1] - _TOP - _BOTTOM
    if most > MAX_BLOCKS:
        bottom, top = (round(room * number / most) for number in (start, end))
        yield bottom, top - bottom
        return
    for pitch in range(_MAX_HEIGHT, 0, -1):  # the height of a block with the space above it
        gap = max(2, pitch // 4)  # between groups of five blocks
        if pitch * most + gap * ((most - 1) // 5) <= room:
            break
    for number in range(start, end):
        yield pitch * number + gap * (number // 5), pitch - max(1, pitch // 8)


@lru_cache(maxsize=1024)
def _block(width: int, height: int, fill: str, outline: str, player: int | None) -> pygame.Surface:
    """Draws a block, or a bar of many blocks. ``player`` is the player whose mark it gets, if any."""
    import pygame

    has_outline = height >= _MIN_OUTLINED_HEIGHT
    surface = _transparent(width, height, outline if has_outline else fill)
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
        block.blit(_mark(size, player), ((width - size) // 2, (height - size) // 2))
    return block


@lru_cache(maxsize=64)
def _mark(size: int, player: int) -> pygame.Surface:
    """Draws the mark of a player: a disk or a diamond, so the players can be told apart without colors too."""
    import pygame

    color = _PLAYERS[player]
    surface = _transparent(size, size, color)
    middle = size * _OVERSAMPLING / 2
    if player == 0:
        pygame.draw.circle(surface, color, (middle, middle), middle)
    else:
        corners = [(middle, 0), (2 * middle, middle), (middle, 2 * middle), (0, middle)]
        pygame.draw.polygon(surface, color, corners)
    return _scaled_down(surface)


def _transparent(width: int, height: int, color: str) -> pygame.Surface:
    """Returns a transparent surface, several times larger than it will be after :func:`_scaled_down`.

    Its transparent pixels have the given color, since edges would blend with black otherwise.
    """
    import pygame

    surface = pygame.Surface((width * _OVERSAMPLING, height * _OVERSAMPLING), pygame.SRCALPHA)
    surface.fill(f"{color}00")
    return surface


def _scaled_down(surface: pygame.Surface) -> pygame.Surface:
    """Returns a surface scaled down from the size of :func:`_transparent` to its size in the picture."""
    import pygame

    size = [math.ceil(length / _OVERSAMPLING) for length in surface.get_size()]
    return pygame.transform.smoothscale(surface, size)


def _write(
    surface: pygame.Surface, text: str, size: int, color: str, middle: float, top: int, room: float
) -> None:
    """Writes text centered on ``middle``. Text that is wider than ``room`` is left out."""
    image = _text_image(text, size, color)
    if image.get_width() <= room:
        surface.blit(image, (round(middle - image.get_width() / 2), top))


@lru_cache(maxsize=1024)
def _text_image(text: str, size: int, color: str) -> pygame.Surface:
    """Returns a picture of the text."""
    import pygame

    pygame.font.init()  # every time, since pygame.quit() undoes it
    return _scaled_down(pygame.font.Font(None, size * _OVERSAMPLING).render(text, True, color))


def check_installed(package: str, user: str) -> None:
    """Raises DependencyNotInstalled if a package of the extra ``render``, which ``user`` needs, is missing."""
    if importlib.util.find_spec(package) is None:
        raise DependencyNotInstalled(f'{user} needs {package}; run pip install "nim-env[render]"')
