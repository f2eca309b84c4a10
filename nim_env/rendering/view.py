"""A game as people see it: who is to move, what happened last, and the heaps as text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nim_env.rules import NimRules, heap_name

MAX_BLOCKS = 50  # larger heaps are not shown block by block


class Move(NamedTuple):
    """A move of a player, 0 or 1, with the heap sizes before and after it."""

    player: int
    before: Sequence[int]
    after: Sequence[int]


class View(NamedTuple):
    """Everything that a picture of a game shows.

    Attributes:
        heaps: The heap sizes.
        rules: The game.
        names: The names of player 0 and player 1.
        player: The player to move, 0 or 1. In a finished game, the winner.
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
        """The player to move, or the winner. If the game ended by an illegal action, the text says so."""
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
        """The goal of the game, and the number of blocks that one move can take if there is a limit."""
        limit = "" if self.rules.max_take is None else f"At most {self.rules.max_take:,} in one move. "
        return f"{limit}The player who takes the last block {'loses' if self.rules.misere else 'wins'}."


def bars(left: int, size: int) -> str:
    """Returns a bar for each block of a heap and a dot for each block taken.

    The text is empty if the heap started with more than 50 blocks.
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
    """Returns the view of a game in an environment.

    Args:
        rules: The game.
        heaps: The heap sizes.
        to_play: The player to move, 0 or 1, or ``None`` if the agent plays against an opponent.
        is_over: Whether the game is over.
        mover_won: Whether the mover has won: the agent or, with two players, the one who moved last.
        last_positions: The heap sizes before the mover's last move. If the opponent has replied, the heap sizes
            between the move and the reply follow. A move that changed no heap is left out of the view.

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
    """Returns a line for each heap, with bars for blocks and dots for taken blocks, and a line for the status."""
    sizes = view.rules.heaps
    names = [heap_name(heap) for heap in range(len(sizes))]
    name_width, size_width = len(names[-1]), len(str(max(sizes)))
    lines = [
        f"heap {name:>{name_width}}: {left:>{size_width}}  {bars(left, size)}".rstrip()
        for name, left, size in zip(names, view.heaps, sizes, strict=True)
    ]
    return "\n".join([*lines, view.status])
