"""A position of Nim to look at."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 50  # the most objects of one heap that are drawn one by one


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
    return " ".join("|" * left + "·" * (size - left)) if size <= WIDTH else ""


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
