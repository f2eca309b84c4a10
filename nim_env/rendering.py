"""Rendering: a game as text, as pixels and in a window."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import gymnasium
import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pygame

Color = tuple[int, int, int]

FRAMES_PER_SECOND = 2
_FRAME = 600, 400  # width and height, in pixels
_TOP, _BOTTOM, _SIDE = 96, 30, 20  # margins for the text, the heap numbers and the sides
_MAX_COUNTERS = 50  # objects of a heap that are drawn one by one
_MAX_HEIGHT, _MAX_WIDTH = 30, 80  # of a counter with the space above it
_MIN_OUTLINED_HEIGHT = 8  # of a counter of the last moves that is outlined in its player's color
_BACKGROUND, _TEXT, _FAINT_TEXT = (250, 248, 243), (60, 56, 54), (105, 100, 95)
_OBJECT, _TAKEN = (176, 98, 52), (160, 152, 142)
_PLAYERS = (0, 114, 178), (170, 60, 120)  # blue and purple, which color-blind people can tell apart
_LAST_MOVES = (168, 206, 236), (232, 184, 212)  # the objects that each player has just taken


class Move(NamedTuple):
    """A move.

    Attributes:
        player: Who made it, 0 or 1.
        before: The heap sizes before it.
        after: The heap sizes after it.
    """

    player: int
    before: Sequence[int]
    after: Sequence[int]


class View(NamedTuple):
    """A game as it is drawn.

    Attributes:
        heaps: The heap sizes.
        sizes: The starting heap sizes.
        names: The names of the players.
        player: The player to move, 0 or 1; in a finished game the winner.
        is_over: Whether the game is over.
        moves: The moves since the agent's last observation, in order.
    """

    heaps: Sequence[int]
    sizes: Sequence[int]
    names: tuple[str, str]
    player: int
    is_over: bool
    moves: Sequence[Move] = ()

    @property
    def status(self) -> str:
        """The player to move, or the winner; with the reason where objects are left."""
        if not self.is_over:
            return f"{self.names[self.player]} to move"
        reason = f", {self.names[1 - self.player]}'s move was illegal" if any(self.heaps) else ""
        return f"{self.names[self.player]} won{reason}"

    @property
    def last_moves(self) -> str:
        """The last moves in words."""
        return ", ".join(f"{self.names[move.player]} took {_taken(move)}" for move in self.moves)


def _taken(move: Move) -> str:
    counts = [before - after for before, after in zip(move.before, move.after, strict=True)]
    heap = max(range(len(counts)), key=counts.__getitem__)
    return f"{counts[heap]:,} from heap {heap}"


def view_of(
    heaps: Sequence[int],
    sizes: Sequence[int],
    last_positions: Sequence[Sequence[int]],
    to_play: int | None,
    is_over: bool,
    mover_won: bool,
) -> View:
    """The view of a game in a Gymnasium environment.

    Args:
        heaps: The heap sizes.
        sizes: The starting heap sizes.
        last_positions: The heap sizes before the agent's last move, and after it.
        to_play: The player to move in self-play, 0 or 1; ``None`` against an opponent.
        is_over: Whether the game is over.
        mover_won: Whether the agent, in self-play the player who moved last, won it.

    Returns:
        The view, with the last moves in which a heap changed.
    """
    mover = 0 if to_play is None else 1 - to_play
    names = ("agent", "opponent") if to_play is None else ("player 0", "player 1")
    before, between = last_positions
    moves = Move(mover, before, between), Move(1 - mover, between, heaps)
    player = (mover if mover_won else 1 - mover) if is_over else (to_play or 0)
    return View(heaps, sizes, names, player, is_over, [move for move in moves if move.before != move.after])


class Display:
    """Shows a game in a render mode.

    Args:
        render_mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or ``None``.

    Raises:
        gymnasium.error.DependencyNotInstalled: ``"human"`` without pygame.
    """

    def __init__(self, render_mode: str | None) -> None:
        if render_mode == "human":
            check_pygame(render_mode)
        self.render_mode, self._has_window = render_mode, False

    def open(self) -> None:
        """Opens the window of ``"human"``.

        Raises:
            RuntimeError: There is no display.
        """
        if self.render_mode == "human":
            open_window()
            self._has_window = True

    def render(self, view: View) -> str | NDArray[np.uint8] | None:
        """Renders a view.

        Args:
            view: The game.

        Returns:
            ``"ansi"``: a text. ``"rgb_array"``: RGB values, uint8 of shape ``(400, 600, 3)``. ``"human"``: None,
            the window is drawn again. Without a render mode: None, and a warning.

        Raises:
            gymnasium.error.DependencyNotInstalled: ``"rgb_array"`` without pygame.
            RuntimeError: ``"human"`` without a display.
        """
        if self.render_mode == "ansi":
            return as_text(view)
        if self.render_mode == "rgb_array":
            return as_pixels(view)
        if self.render_mode == "human":
            show(view)
            self._has_window = True
        else:
            gymnasium.logger.warn('render() shows nothing without a render mode; pass render_mode="ansi"')
        return None

    def close(self) -> None:
        """Closes the window; the next frame opens another."""
        if self._has_window:
            close_window()
            self._has_window = False


def as_text(view: View) -> str:
    """A line for each heap, objects as bars and taken objects as dots, and a line for the status."""
    sizes = view.sizes
    number_width, size_width = len(str(len(sizes) - 1)), len(str(max(sizes)))
    lines = [
        f"heap {heap:>{number_width}}: {left:>{size_width}}  {bars(left, size)}".rstrip()
        for heap, (left, size) in enumerate(zip(view.heaps, sizes, strict=True))
    ]
    return "\n".join([*lines, view.status])


def bars(left: int, size: int) -> str:
    """A heap's objects as bars and its taken objects as dots; empty for heaps of more than 50."""
    return " ".join("|" * left + "·" * (size - left)) if size <= _MAX_COUNTERS else ""


def as_pixels(view: View, render_mode: str = "rgb_array") -> NDArray[np.uint8]:
    """The heaps as stacked counters, below the status and the last moves.

    Objects taken by the last moves are drawn in a light shade of the player's color, objects taken before as
    outlines.

    Args:
        view: The game.
        render_mode: The render mode to name in an error.

    Returns:
        RGB values, uint8 of shape ``(400, 600, 3)``.

    Raises:
        gymnasium.error.DependencyNotInstalled: pygame is missing.
    """
    check_pygame(render_mode)
    import pygame

    surface = pygame.Surface(_FRAME)
    surface.fill(_BACKGROUND)
    _draw_status(surface, view)
    column = (_FRAME[0] - 2 * _SIDE) / len(view.sizes)
    middles = [_SIDE + (heap + 0.5) * column for heap in range(len(view.sizes))]
    width = round(max(1.0, min(0.7 * column, _MAX_WIDTH)))
    is_bar = max(view.sizes) > _MAX_COUNTERS  # counters of 4 pixels would be too small: one bar for each heap
    draw = _draw_bar if is_bar else _draw_counters
    for heap, middle in enumerate(middles):
        left = round(middle - width / 2)
        for start, end, color, line in _parts(view, heap):
            draw(surface, left, width, start, end, max(view.sizes), color, line)
        _write(surface, f"{view.heaps[heap]:,}", 24, _TEXT, middle, _TOP - 20, column)
        _write(surface, str(heap), 20, _FAINT_TEXT, middle, _FRAME[1] - _BOTTOM + 8, column)
    pixels = np.frombuffer(bytearray(pygame.image.tobytes(surface, "RGB")), dtype=np.uint8)
    return pixels.reshape(_FRAME[1], _FRAME[0], 3)


def _parts(view: View, heap: int) -> Iterator[tuple[int, int, Color, int]]:
    """The parts of a heap: first and last object counted from below, color and line width (0 fills)."""
    yield 0, view.heaps[heap], _OBJECT, 0
    for move in view.moves:
        yield move.after[heap], move.before[heap], _LAST_MOVES[move.player], 0
    yield view.moves[0].before[heap] if view.moves else view.heaps[heap], view.sizes[heap], _TAKEN, 1


def _draw_status(surface: pygame.Surface, view: View) -> None:
    """Draws the status, after a dot in the player's color, and the last moves."""
    import pygame

    words = _words(view.status, 32, _TEXT)
    left = (_FRAME[0] - words.get_width()) // 2
    surface.blit(words, (left, 14))
    pygame.draw.circle(surface, _PLAYERS[view.player], (left - 18, 24), 9)
    _write(surface, view.last_moves, 22, _FAINT_TEXT, _FRAME[0] / 2, 46, _FRAME[0])


def _draw_counters(
    surface: pygame.Surface, left: int, width: int, start: int, end: int, most: int, color: Color, line: int
) -> None:
    """Draws the objects from ``start`` to ``end`` of a heap one by one, in groups of five."""
    import pygame

    height = _FRAME[1] - _TOP - _BOTTOM
    row = next(row for row in range(_MAX_HEIGHT, 0, -1) if row * most + _gap(row) * ((most - 1) // 5) <= height)
    tall = row - max(1, row // 5)
    for number in range(start, end):
        bottom = _FRAME[1] - _BOTTOM - row * number - _gap(row) * (number // 5)
        counter = pygame.Rect(left, bottom - tall, width, tall)
        pygame.draw.rect(surface, color, counter, line, border_radius=tall // 3)
        if color in _LAST_MOVES and tall >= _MIN_OUTLINED_HEIGHT:
            outline = _PLAYERS[_LAST_MOVES.index(color)]
            pygame.draw.rect(surface, outline, counter, 2, border_radius=tall // 3)


def _gap(row: int) -> int:
    """The space between groups of five, in pixels."""
    return max(2, row // 4)


def _draw_bar(
    surface: pygame.Surface, left: int, width: int, start: int, end: int, most: int, color: Color, line: int
) -> None:
    """Draws the objects from ``start`` to ``end`` of a heap as one bar."""
    import pygame

    top, bottom = (
        _FRAME[1] - _BOTTOM - round((_FRAME[1] - _TOP - _BOTTOM) * number / most) for number in (end, start)
    )
    if top < bottom:
        pygame.draw.rect(surface, color, pygame.Rect(left, top, width, bottom - top), line)


def _write(
    surface: pygame.Surface, text: str, size: int, color: Color, middle: float, top: int, room: float
) -> None:
    """Writes centered text, unless it is wider than ``room``."""
    words = _words(text, size, color)
    if words.get_width() <= room:
        surface.blit(words, (round(middle - words.get_width() / 2), top))


@lru_cache(maxsize=1024)
def _words(text: str, size: int, color: Color) -> pygame.Surface:
    import pygame

    pygame.font.init()  # each time, since pygame.quit() undoes it
    return pygame.font.Font(None, size).render(text, True, color)


def check_pygame(render_mode: str) -> None:
    """Raises DependencyNotInstalled unless pygame is installed."""
    try:
        is_installed = importlib.util.find_spec("pygame") is not None
    except ValueError:  # sys.modules holds None in its place
        is_installed = False
    if not is_installed:
        raise DependencyNotInstalled(
            f'render_mode="{render_mode}" needs pygame; run pip install "nim-env[render]"'
        )


def open_window() -> pygame.Surface:
    """Opens pygame's one window unless it is open.

    Returns:
        Its surface, 600 pixels wide and 400 high.

    Raises:
        RuntimeError: There is no display.
    """
    import pygame

    try:
        pygame.display.init()
        window = pygame.display.get_surface()
        if window is None or window.get_size() != _FRAME:
            window = pygame.display.set_mode(_FRAME)
            pygame.display.set_caption("Nim")
    except pygame.error as error:
        raise RuntimeError(
            f'render_mode="human" found no display to open a window on ({error}); "rgb_array" needs none'
        ) from None
    return window


def show(view: View) -> None:
    """Draws a game in the window and waits for the duration of a frame.

    Args:
        view: The game.

    Raises:
        gymnasium.error.DependencyNotInstalled: pygame is missing.
        RuntimeError: There is no display.
    """
    import pygame

    pixels = as_pixels(view, "human")
    pygame.surfarray.blit_array(open_window(), pixels.swapaxes(0, 1))
    pygame.display.flip()
    pygame.event.pump()  # keeps the window alive
    _clock().tick(FRAMES_PER_SECOND)


def close_window() -> None:
    """Closes pygame's window if it is open."""
    import pygame

    pygame.display.quit()


@lru_cache(maxsize=1)
def _clock() -> pygame.time.Clock:
    import pygame

    return pygame.time.Clock()
