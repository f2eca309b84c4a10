"""A position of Nim to look at: as text, as pixels, and in a window."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pygame

Color = tuple[int, int, int]

MOST_OBJECTS = 50  # of one heap that are drawn one by one
FRAMES_PER_SECOND = 2
FRAME = 600, 400  # width and height, in pixels
TOP, BOTTOM, SIDE = 96, 30, 20  # what the words, the numbers of the heaps and the margins take of it
TALLEST, WIDEST = 30, 80  # of a counter, the space above it included
OUTLINED = 8  # and more pixels tall, a ghost has an outline in its player's color
BACKGROUND, INK, FAINT_INK = (250, 248, 243), (60, 56, 54), (105, 100, 95)
OBJECT, TAKEN = (176, 98, 52), (160, 152, 142)
PLAYERS = (0, 114, 178), (170, 60, 120)  # the players' colors, blue and purple: the color-blind tell them apart
GHOSTS = (168, 206, 236), (232, 184, 212)  # what each player has just taken


class Move(NamedTuple):
    """A move that has just been made.

    Attributes:
        player: Who made it, 0 or 1.
        before: The heap sizes before it.
        after: The heap sizes after it.
    """

    player: int
    before: Sequence[int]
    after: Sequence[int]


class View(NamedTuple):
    """What there is to see of a game.

    Attributes:
        heaps: The heap sizes now.
        sizes: The starting heap sizes.
        names: What the players are called.
        player: Who is to move, 0 or 1; in a finished game who won.
        is_over: Whether the game is over.
        moves: The moves made since the learner looked last, in their order.
    """

    heaps: Sequence[int]
    sizes: Sequence[int]
    names: tuple[str, str]
    player: int
    is_over: bool
    moves: Sequence[Move] = ()

    @property
    def status(self) -> str:
        """Whose turn it is, or who won, and why where objects are left."""
        if not self.is_over:
            return f"{self.names[self.player]} to move"
        reason = f", {self.names[1 - self.player]}'s move was illegal" if any(self.heaps) else ""
        return f"{self.names[self.player]} won{reason}"

    @property
    def last_moves(self) -> str:
        """The moves in words."""
        return ", ".join(f"{self.names[move.player]} took {_taken(move)}" for move in self.moves)


def _taken(move: Move) -> str:
    counts = [before - after for before, after in zip(move.before, move.after, strict=True)]
    heap = max(range(len(counts)), key=counts.__getitem__)
    return f"{counts[heap]:,} from heap {heap}"


def view_of(
    heaps: Sequence[int],
    sizes: Sequence[int],
    trail: Sequence[Sequence[int]],
    to_play: int | None,
    is_over: bool,
    mover_won: bool,
) -> View:
    """What there is to see of a learner's game.

    Args:
        heaps: The heap sizes now.
        sizes: The starting heap sizes.
        trail: The heap sizes that the learner faced last, and those after its move.
        to_play: The player to move in self-play, 0 or 1; ``None`` against an opponent.
        is_over: Whether the game is over.
        mover_won: Whether the learner, in self-play the player who moved last, won it.
    """
    mover = 0 if to_play is None else 1 - to_play
    names = ("agent", "opponent") if to_play is None else ("player 0", "player 1")
    before, between = trail
    moves = Move(mover, before, between), Move(1 - mover, between, heaps)
    player = (mover if mover_won else 1 - mover) if is_over else (to_play or 0)
    return View(heaps, sizes, names, player, is_over, [move for move in moves if move.before != move.after])


def as_text(view: View) -> str:
    """The heaps in words: a line for each, objects as bars, what was taken as dots, and how the game stands."""
    sizes = view.sizes
    number_width, size_width = len(str(len(sizes) - 1)), len(str(max(sizes)))
    lines = [
        f"heap {heap:>{number_width}}: {left:>{size_width}}  {bars(left, size)}".rstrip()
        for heap, (left, size) in enumerate(zip(view.heaps, sizes, strict=True))
    ]
    return "\n".join([*lines, view.status])


def bars(left: int, size: int) -> str:
    """A heap's objects as bars and what was taken of it as dots; nothing of a heap that is too large for that."""
    return " ".join("|" * left + "·" * (size - left)) if size <= MOST_OBJECTS else ""


def as_pixels(view: View, render_mode: str = "rgb_array") -> NDArray[np.uint8]:
    """The heaps as stacked counters, how the game stands and the last moves above.

    What the last moves took is shown as ghosts in the color of who took it, what was taken before as outlines.

    Args:
        view: What there is to see.
        render_mode: For what, which an error names.

    Returns:
        RGB values, uint8 of shape ``(400, 600, 3)``.

    Raises:
        gymnasium.error.DependencyNotInstalled: pygame is missing.
    """
    check_pygame(render_mode)
    import pygame

    surface = pygame.Surface(FRAME)
    surface.fill(BACKGROUND)
    _draw_words(surface, view)
    column = (FRAME[0] - 2 * SIDE) / len(view.sizes)
    middles = [SIDE + (heap + 0.5) * column for heap in range(len(view.sizes))]
    width = round(max(1.0, min(0.7 * column, WIDEST)))
    is_bar = max(view.sizes) > MOST_OBJECTS  # objects of 4 pixels and less say nothing: a bar for all of a heap
    draw = _draw_bar if is_bar else _draw_counters
    for heap, middle in enumerate(middles):
        left = round(middle - width / 2)
        for start, end, color, line in _parts(view, heap):
            draw(surface, left, width, start, end, max(view.sizes), color, line)
        _write(surface, f"{view.heaps[heap]:,}", 24, INK, middle, TOP - 20, column)
        _write(surface, str(heap), 20, FAINT_INK, middle, FRAME[1] - BOTTOM + 8, column)
    pixels = np.frombuffer(bytearray(pygame.image.tobytes(surface, "RGB")), dtype=np.uint8)
    return pixels.reshape(FRAME[1], FRAME[0], 3)


def _parts(view: View, heap: int) -> Iterator[tuple[int, int, Color, int]]:
    """From where to where a heap is drawn, counted in objects from below, in which color and how thick a line."""
    yield 0, view.heaps[heap], OBJECT, 0
    for move in view.moves:
        yield move.after[heap], move.before[heap], GHOSTS[move.player], 0
    yield view.moves[0].before[heap] if view.moves else view.heaps[heap], view.sizes[heap], TAKEN, 1


def _draw_words(surface: pygame.Surface, view: View) -> None:
    """Whose turn it is or who won, behind a counter of that player's color, and the last moves."""
    import pygame

    words = _words(view.status, 32, INK)
    left = (FRAME[0] - words.get_width()) // 2
    surface.blit(words, (left, 14))
    pygame.draw.circle(surface, PLAYERS[view.player], (left - 18, 24), 9)
    _write(surface, view.last_moves, 22, FAINT_INK, FRAME[0] / 2, 46, FRAME[0])


def _draw_counters(
    surface: pygame.Surface, left: int, width: int, start: int, end: int, most: int, color: Color, line: int
) -> None:
    """The objects from ``start`` to ``end`` of a heap one by one, in groups of five."""
    import pygame

    height = FRAME[1] - TOP - BOTTOM
    row = next(row for row in range(TALLEST, 0, -1) if row * most + _gap(row) * ((most - 1) // 5) <= height)
    tall = row - max(1, row // 5)
    for number in range(start, end):
        bottom = FRAME[1] - BOTTOM - row * number - _gap(row) * (number // 5)
        counter = pygame.Rect(left, bottom - tall, width, tall)
        pygame.draw.rect(surface, color, counter, line, border_radius=tall // 3)
        if color in GHOSTS and tall >= OUTLINED:
            outline = PLAYERS[GHOSTS.index(color)]
            pygame.draw.rect(surface, outline, counter, 2, border_radius=tall // 3)


def _gap(row: int) -> int:
    """The space between groups of five."""
    return max(2, row // 4)


def _draw_bar(
    surface: pygame.Surface, left: int, width: int, start: int, end: int, most: int, color: Color, line: int
) -> None:
    """The objects from ``start`` to ``end`` of a heap in one piece."""
    import pygame

    top, bottom = (FRAME[1] - BOTTOM - round((FRAME[1] - TOP - BOTTOM) * number / most) for number in (end, start))
    if top < bottom:
        pygame.draw.rect(surface, color, pygame.Rect(left, top, width, bottom - top), line)


def _write(
    surface: pygame.Surface, text: str, size: int, color: Color, middle: float, top: int, room: float
) -> None:
    """Writes around a middle, unless there is no room for it."""
    words = _words(text, size, color)
    if words.get_width() <= room:
        surface.blit(words, (round(middle - words.get_width() / 2), top))


@lru_cache(maxsize=1024)
def _words(text: str, size: int, color: Color) -> pygame.Surface:
    import pygame

    pygame.font.init()  # anew each time: whoever calls pygame.quit() ends it
    return pygame.font.Font(None, size).render(text, True, color)


def check_pygame(render_mode: str) -> None:
    """Raises DependencyNotInstalled unless pygame is there."""
    try:
        is_there = importlib.util.find_spec("pygame") is not None
    except ValueError:  # its place is taken by None
        is_there = False
    if not is_there:
        raise DependencyNotInstalled(
            f'render_mode="{render_mode}" needs pygame; run pip install "nim-env[render]"'
        )


def open_window() -> pygame.Surface:
    """Pygame's one window, opened unless it is open.

    Raises:
        RuntimeError: There is no display to open it on.
    """
    import pygame

    try:
        pygame.display.init()
        window = pygame.display.get_surface()
        if window is None or window.get_size() != FRAME:
            window = pygame.display.set_mode(FRAME)
            pygame.display.set_caption("Nim")
    except pygame.error as error:
        raise RuntimeError(
            f'render_mode="human" found no display to open a window on ({error}); "rgb_array" needs none'
        ) from None
    return window


def show(view: View) -> None:
    """Shows a game in the window for as long as a frame lasts."""
    import pygame

    pixels = as_pixels(view, "human")
    pygame.surfarray.blit_array(open_window(), pixels.swapaxes(0, 1))
    pygame.display.flip()
    pygame.event.pump()  # keeps the window alive
    _clock().tick(FRAMES_PER_SECOND)


def close_window() -> None:
    """Closes pygame's window if it is open; the next :func:`show` opens it again."""
    import pygame

    pygame.display.quit()


@lru_cache(maxsize=1)
def _clock() -> pygame.time.Clock:
    import pygame

    return pygame.time.Clock()
