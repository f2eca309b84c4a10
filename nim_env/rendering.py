"""Rendering: a game as text, as pixels and in a window."""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import gymnasium
import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from nim_env.appearance import COLORS, heap_name
from nim_env.rules import NimRules

if TYPE_CHECKING:
    import pygame

FRAMES_PER_SECOND = 2
_FRAME = 600, 400  # width and height, in pixels
_TOP, _BOTTOM, _SIDE = 80, 46, 20  # margins for the texts and the names of the heaps, and at the sides
_MAX_BLOCKS = 50  # of a heap whose blocks are drawn one by one
_MAX_HEIGHT, _MAX_WIDTH = 30, 80  # of a block with the space above it
_MIN_OUTLINED_HEIGHT = 6  # of a block with an outline
_MIN_MARKED_HEIGHT = 14  # of a block with the mark of the player who has just taken it
_MAX_RADIUS = 6  # of a corner
_OVERSAMPLING = 4  # shapes and text are drawn larger and then scaled down, so that their edges are smooth

_PLAYERS = COLORS["player_1"], COLORS["player_2"]
_Style: TypeAlias = tuple[str, str, int | None]  # the fill and the outline of a block, and whose mark it has
_BLOCK: _Style = COLORS["block"], COLORS["edge"], None
_JUST_TAKEN: tuple[_Style, _Style] = ("#d5deec", _PLAYERS[0], 0), ("#eed5dd", _PLAYERS[1], 1)
_TAKEN: _Style = "#f3f0e8", "#cdc6b8", None


class Move(NamedTuple):
    """A move of a player, 0 or 1, and the heap sizes before and after it."""

    player: int
    before: Sequence[int]
    after: Sequence[int]


class View(NamedTuple):
    """A game as it is drawn.

    ``player`` is the player to move, 0 or 1, or the winner of a finished game. ``moves`` are those since the
    agent's last observation, in order.
    """

    heaps: Sequence[int]
    rules: NimRules
    names: tuple[str, str]
    player: int
    is_over: bool
    moves: Sequence[Move] = ()

    @property
    def status(self) -> str:
        """The player to move, or the winner; with the reason where blocks are left."""
        if not self.is_over:
            return f"{self.names[self.player]} to move"
        reason = f": {self.names[1 - self.player]}'s move was illegal" if any(self.heaps) else ""
        return f"{self.names[self.player]} won{reason}"

    @property
    def last_moves(self) -> str:
        """The last moves in words."""
        moves = []
        for player, before, after in self.moves:
            counts = np.subtract(before, after)
            moves.append(f"{self.names[player]} took {counts.max():,} from {heap_name(int(counts.argmax()))}")
        return ", ".join(moves)

    @property
    def goal(self) -> str:
        """Who wins, and how many blocks one move may take if there is a limit."""
        limit = "" if self.rules.max_take is None else f"At most {self.rules.max_take:,} in one move. "
        return f"{limit}The player who takes the last block {'loses' if self.rules.misere else 'wins'}."


def bars(left: int, size: int) -> str:
    """A heap's blocks as bars and its taken blocks as dots; empty for heaps of more than 50."""
    return " ".join("|" * left + "·" * (size - left)) if size <= _MAX_BLOCKS else ""


def view_of(
    rules: NimRules,
    heaps: Sequence[int],
    to_play: int | None,
    is_over: bool,
    mover_won: bool,
    last_positions: Sequence[Sequence[int]] = (),
) -> View:
    """The view of a game in an environment.

    ``to_play`` is the player to move, ``None`` against an opponent. ``mover_won`` says whether the agent, with two
    players the one who moved last, won. ``last_positions`` are the heap sizes before the move of that player, and
    those after it where the opponent replied; moves in which no heap changed are left out.
    """
    mover = 0 if to_play is None else 1 - to_play
    names = ("Agent", "Opponent") if to_play is None else ("Player 1", "Player 2")
    player = (mover if mover_won else 1 - mover) if is_over else (to_play or 0)
    positions = pairwise([*last_positions, heaps])
    moves = [Move(number ^ mover, *pair) for number, pair in enumerate(positions) if pair[0] != pair[1]]
    return View(heaps, rules, names, player, is_over, moves)


class Display:
    """Shows a game in a render mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or ``None``."""

    def __init__(self, render_mode: str | None) -> None:
        if render_mode == "human":
            check_installed("pygame", 'render_mode="human"')
        self.render_mode = render_mode

    def open(self) -> None:
        """Opens the window of ``"human"``; a RuntimeError without a display."""
        if self.render_mode == "human":
            _window()

    def render(self, view: View) -> str | NDArray[np.uint8] | None:
        """The text of ``"ansi"`` or the pixels of ``"rgb_array"``; ``"human"`` draws in the window."""
        if self.render_mode == "ansi":
            return as_text(view)
        if self.render_mode == "rgb_array":
            return as_pixels(view)
        if self.render_mode == "human":
            _show(view)
        else:
            gymnasium.logger.warn('render() shows nothing without a render mode; pass render_mode="ansi"')
        return None

    def close(self) -> None:
        """Closes the window, which all environments share; the next frame opens another."""
        if self.render_mode == "human":
            import pygame

            pygame.display.quit()


def as_text(view: View) -> str:
    """A line for each heap, blocks as bars and taken blocks as dots, and a line for the status."""
    sizes = view.rules.heaps
    names = [heap_name(heap) for heap in range(len(sizes))]
    name_width, size_width = len(names[-1]), len(str(max(sizes)))
    lines = [
        f"heap {name:>{name_width}}: {left:>{size_width}}  {bars(left, size)}".rstrip()
        for name, left, size in zip(names, view.heaps, sizes, strict=True)
    ]
    return "\n".join([*lines, view.status])


def as_pixels(view: View) -> NDArray[np.uint8]:
    """The heaps as stacked blocks, the last moves and the goal: RGB values, uint8 of shape ``(400, 600, 3)``."""
    check_installed("pygame", 'render_mode="rgb_array"')
    import pygame

    surface = pygame.Surface(_FRAME)
    surface.fill(COLORS["page"])
    status = _words(view.status, 32, COLORS["ink"])
    left = (_FRAME[0] - status.get_width() + 28) // 2  # the mark of the player stands before the status
    surface.blit(status, (left, 10))
    surface.blit(_mark(18, view.player), (left - 28, 10 + (status.get_height() - 18) // 2))
    _write(surface, view.last_moves, 22, COLORS["muted"], _FRAME[0] / 2, 37, _FRAME[0])
    sizes = view.rules.heaps
    column = (_FRAME[0] - 2 * _SIDE) / len(sizes)
    width = round(max(1.0, min(0.7 * column, _MAX_WIDTH)))
    for heap in range(len(sizes)):
        middle = _SIDE + (heap + 0.5) * column
        left = round(middle - width / 2)
        for start, end, style in _parts(view, heap):
            for bottom, height in _blocks(start, end, max(sizes)):
                surface.blit(_block(width, height, *style), (left, _FRAME[1] - _BOTTOM - bottom - height))
        _write(surface, f"{view.heaps[heap]:,}", 22, COLORS["ink"], middle, _TOP - 20, column)
        _write(surface, heap_name(heap), 20, COLORS["muted"], middle, _FRAME[1] - _BOTTOM + 6, column)
    _write(surface, view.goal, 20, COLORS["muted"], _FRAME[0] / 2, _FRAME[1] - 19, _FRAME[0])
    pixels: NDArray[np.uint8] = pygame.surfarray.array3d(surface).swapaxes(0, 1)
    return pixels


def _parts(view: View, heap: int) -> Iterator[tuple[int, int, _Style]]:
    """The parts of a heap: first and last block counted from below, and their style."""
    yield 0, view.heaps[heap], _BLOCK
    for move in view.moves:
        yield move.after[heap], move.before[heap], _JUST_TAKEN[move.player]
    before = view.moves[0].before if view.moves else view.heaps
    yield before[heap], view.rules.heaps[heap], _TAKEN


def _blocks(start: int, end: int, most: int) -> Iterator[tuple[int, int]]:
    """The height above the ground and the height of each block, in pixels; of one bar if a heap is large."""
    room = _FRAME[1] - _TOP - _BOTTOM
    if most > _MAX_BLOCKS:
        bottom, top = (round(room * number / most) for number in (start, end))
        yield bottom, top - bottom
        return
    for row in range(_MAX_HEIGHT, 0, -1):
        gap = max(2, row // 4)  # between groups of five
        if row * most + gap * ((most - 1) // 5) <= room:
            break
    for number in range(start, end):
        yield row * number + gap * (number // 5), row - max(1, row // 8)


@lru_cache(maxsize=1024)
def _block(width: int, height: int, fill: str, outline: str, player: int | None) -> pygame.Surface:
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
    """A disk for the first player, a diamond for the second, so that color alone need not tell them apart."""
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
    """A surface to draw on before :func:`_scaled_down`; edges blend with the color, not with black."""
    import pygame

    surface = pygame.Surface((width * _OVERSAMPLING, height * _OVERSAMPLING), pygame.SRCALPHA)
    surface.fill(f"{color}00")
    return surface


def _scaled_down(surface: pygame.Surface) -> pygame.Surface:
    import pygame

    size = [math.ceil(length / _OVERSAMPLING) for length in surface.get_size()]
    return pygame.transform.smoothscale(surface, size)


def _write(
    surface: pygame.Surface, text: str, size: int, color: str, middle: float, top: int, room: float
) -> None:
    """Writes centered text, unless it is wider than ``room``."""
    words = _words(text, size, color)
    if words.get_width() <= room:
        surface.blit(words, (round(middle - words.get_width() / 2), top))


@lru_cache(maxsize=1024)
def _words(text: str, size: int, color: str) -> pygame.Surface:
    import pygame

    pygame.font.init()  # each time, since pygame.quit() undoes it
    return _scaled_down(pygame.font.Font(None, size * _OVERSAMPLING).render(text, True, color))


def check_installed(package: str, user: str) -> None:
    """Raises a DependencyNotInstalled unless a package of the extra ``render`` is there."""
    if importlib.util.find_spec(package) is None:
        raise DependencyNotInstalled(f'{user} needs {package}; run pip install "nim-env[render]"')


def _window() -> pygame.Surface:
    """Pygame's one window, which is opened unless it is open."""
    import pygame

    try:
        pygame.display.init()
        if pygame.display.get_driver() == "offscreen" and "SDL_VIDEODRIVER" not in os.environ:
            raise pygame.error("no video device")  # SDL draws off screen where it finds no display
        return pygame.display.get_surface() or pygame.display.set_mode(_FRAME)
    except pygame.error as error:
        raise RuntimeError(f'render_mode="human" found no display ({error}); "rgb_array" needs none') from None


def _show(view: View) -> None:
    """Draws a game in the window and waits for the duration of a frame."""
    import pygame

    pygame.surfarray.blit_array(_window(), as_pixels(view).swapaxes(0, 1))
    pygame.display.set_caption("Nim")
    pygame.display.flip()
    pygame.event.pump()  # keeps the window alive
    pygame.time.Clock().tick(FRAMES_PER_SECOND)
