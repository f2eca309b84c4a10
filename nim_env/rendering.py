"""A position of Nim to look at: as text, and as pixels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

MOST_OBJECTS = 50  # of one heap that are drawn one by one
FRAME = 600, 400  # width and height, in pixels
TOP, BOTTOM, SIDE = 50, 40, 20  # what the status, the numbers and the margins take of it
BACKGROUND, INK, OBJECT, TAKEN = (250, 248, 243), (60, 56, 54), (176, 98, 52), (226, 220, 210)


def as_pixels(heaps: Sequence[int], sizes: Sequence[int], status: str) -> NDArray[np.uint8]:
    """The heaps as stacked counters, what was taken as their outlines, ``status`` above.

    Args:
        heaps: The heap sizes now.
        sizes: The starting heap sizes.
        status: Whose turn it is, or who won.

    Returns:
        RGB values, uint8 of shape ``(400, 600, 3)``.

    Raises:
        gymnasium.error.DependencyNotInstalled: pygame is missing.
    """
    try:
        import pygame
    except ImportError as error:
        raise DependencyNotInstalled(
            'render_mode="rgb_array" needs pygame; run pip install "nim-env[render]"'
        ) from error
    pygame.font.init()
    surface = pygame.Surface(FRAME)
    surface.fill(BACKGROUND)
    font = pygame.font.Font(None, 30)
    words = font.render(status, True, INK)
    surface.blit(words, ((FRAME[0] - words.get_width()) // 2, 14))
    column = (FRAME[0] - 2 * SIDE) / len(sizes)
    is_bar = max(sizes) > MOST_OBJECTS  # objects of 5 pixels and less say nothing: a bar for all of a heap
    row = min((FRAME[1] - TOP - BOTTOM) / max(sizes), 30.0)
    width, height = max(1.0, min(0.7 * column, 80.0)), row if is_bar else 0.8 * row
    for heap, (left, size) in enumerate(zip(heaps, sizes, strict=True)):
        middle = SIDE + (heap + 0.5) * column
        for start, end, is_there in _drawn(left, size, is_bar):
            top, bottom = (FRAME[1] - BOTTOM - row * number for number in (end, start))
            sides = middle - width / 2, top + row - height, width, bottom - top - row + height
            counter = pygame.Rect([round(side) for side in sides])
            color, line = (OBJECT, 0) if is_there else (TAKEN, 1)
            pygame.draw.rect(surface, color, counter, line, border_radius=0 if is_bar else round(height / 3))
        digits = font.render(str(left), True, INK)
        if digits.get_width() <= column:
            surface.blit(digits, (round(middle - digits.get_width() / 2), FRAME[1] - BOTTOM + 10))
    pixels: NDArray[np.uint8] = np.ascontiguousarray(pygame.surfarray.array3d(surface).swapaxes(0, 1))
    return pixels


def _drawn(left: int, size: int, is_bar: bool) -> list[tuple[int, int, bool]]:
    """From where to where a heap is drawn, counted in objects from below, and whether they are still there."""
    if is_bar:
        return [(0, left, True), (left, size, False)]
    return [(number, number + 1, number < left) for number in range(size)]


def as_text(heaps: Sequence[int], sizes: Sequence[int], status: str) -> str:
    """The heaps in words: a line for each, objects as bars, what was taken as dots, ``status`` last.

    Args:
        heaps: The heap sizes now.
        sizes: The starting heap sizes.
        status: Whose turn it is, or who won.
    """
    number_width, size_width = len(str(len(sizes) - 1)), len(str(max(sizes)))
    lines = [
        f"heap {heap:>{number_width}}: {left:>{size_width}}  {_objects(left, size)}".rstrip()
        for heap, (left, size) in enumerate(zip(heaps, sizes, strict=True))
    ]
    return "\n".join([*lines, status])


def _objects(left: int, size: int) -> str:
    return " ".join("|" * left + "·" * (size - left)) if size <= MOST_OBJECTS else ""


def status_of(is_over: bool, mover_won: bool, to_play: int | None) -> str:
    """Whose turn it is, or who won.

    Args:
        is_over: Whether the game is over.
        mover_won: Whether the learner, in self-play the player who moved last, won it.
        to_play: The player to move in self-play, 0 or 1; ``None`` against an opponent.
    """
    names = ("agent", "opponent") if to_play is None else ("player 0", "player 1")
    mover = 0 if to_play is None else 1 - to_play
    if is_over:
        return f"{names[mover if mover_won else 1 - mover]} won"
    return f"{names[to_play or 0]} to move"
