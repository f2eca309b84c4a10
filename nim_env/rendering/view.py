"""A game as people see it: who moves, what happened, and the heaps as text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nim_env.rules import NimRules, heap_name

MAX_BLOCKS = 50  # of a heap whose blocks are shown one by one


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
    return " ".join("|" * left + "·" * (size - left)) if size <= MAX_BLOCKS else ""


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
