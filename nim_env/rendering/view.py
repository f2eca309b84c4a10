"""What a picture of a game shows: the heaps, the last moves, and the texts for people who watch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nim_env.rules import NimRules, heap_name

MAX_BLOCKS = 50
"""The size of the largest heap that is shown block by block."""

FRAMES_PER_SECOND = 2
"""The number of pictures per second in the window of the render mode ``"human"``."""


class Move(NamedTuple):
    """A move in a game.

    Attributes:
        player: The player who has made the move, 0 or 1.
        before: The heap sizes before the move.
        after: The heap sizes after the move.
    """

    player: int
    before: Sequence[int]
    after: Sequence[int]


class View(NamedTuple):
    """Everything that a picture of a game shows.

    Attributes:
        heaps: The heap sizes.
        rules: The rules of the game.
        names: The names of player 0 and player 1.
        player: The player to move, 0 or 1, or the winner if the game is over.
        is_over: Whether the game is over.
        moves: The moves since the agent's last observation, in their order.
    """

    heaps: Sequence[int]
    rules: NimRules
    names: tuple[str, str]
    player: int
    is_over: bool
    moves: Sequence[Move] = ()

    @property
    def status(self) -> str:
        """A text that names the player to move, or the winner and whether an illegal action ended the game."""
        if not self.is_over:
            return f"{self.names[self.player]} to move"
        reason = f": {self.names[1 - self.player]}'s move was illegal" if any(self.heaps) else ""
        return f"{self.names[self.player]} won{reason}"

    @property
    def last_moves(self) -> str:
        """A text that describes the last moves, such as "Agent took 2 from A, Opponent took 1 from C"."""
        moves = []
        for player, before, after in self.moves:
            counts = np.subtract(before, after)
            moves.append(f"{self.names[player]} took {counts.max():,} from {heap_name(int(counts.argmax()))}")
        return ", ".join(moves)

    @property
    def goal(self) -> str:
        """A text that explains who wins and, if the rules have a limit, how many blocks one move can take."""
        limit = "" if self.rules.max_take is None else f"At most {self.rules.max_take:,} in one move. "
        return f"{limit}The player who takes the last block {'loses' if self.rules.misere else 'wins'}."


def bars(left: int, size: int) -> str:
    """Returns a heap as text: a bar for each of the ``left`` blocks that are left, and a dot for each block taken.

    ``size`` is the number of blocks at the start. If it is above 50, the text is empty.
    """
    return " ".join("|" * left + "·" * (size - left)) if size <= MAX_BLOCKS else ""


def view_of(
    rules: NimRules,
    heaps: Sequence[int],
    to_play: int | None,
    is_over: bool,
    mover_won: bool,
    last_positions: Sequence[Sequence[int]] = (),
) -> View:
    """Describes a game in an environment as a :class:`View`, from which a picture can be drawn.

    Args:
        rules: The rules of the game.
        heaps: The heap sizes.
        to_play: In self-play the player to move, 0 or 1. ``None`` if an agent plays against an opponent.
        is_over: Whether the game is over.
        mover_won: Whether the mover has won. The mover is the agent or, in self-play, the player who moved last.
        last_positions: The positions before the moves that the view shows, lists of heap sizes: first the position
            before the mover's last move and then, if the opponent has replied, the position before the reply. A
            move that changed no heap is left out of the view.

    Returns:
        The view.
    """
    mover = 0 if to_play is None else 1 - to_play
    names = ("Agent", "Opponent") if to_play is None else ("Player 1", "Player 2")
    player = (mover if mover_won else 1 - mover) if is_over else (to_play or 0)
    positions = pairwise([*last_positions, heaps])
    moves = [Move(number ^ mover, *pair) for number, pair in enumerate(positions) if pair[0] != pair[1]]
    return View(heaps, rules, names, player, is_over, moves)


def as_text(view: View) -> str:
    """Returns a game as text: a line for each heap, and a line that says who is to move or has won.

    A heap is shown as bars for the blocks that are left and dots for the blocks that were taken.
    """
    sizes = view.rules.heaps
    names = [heap_name(heap) for heap in range(len(sizes))]
    name_width, size_width = len(names[-1]), len(str(max(sizes)))
    lines = [
        f"heap {name:>{name_width}}: {left:>{size_width}}  {bars(left, size)}".rstrip()
        for name, left, size in zip(names, view.heaps, sizes, strict=True)
    ]
    return "\n".join([*lines, view.status])
