"""Nim once more, as plain as possible and independent of the package: what the environments are compared with."""

from dataclasses import dataclass, field


@dataclass
class Model:
    """A game of Nim; ``plies`` moves have been made, player 0 makes the first."""

    start: tuple[int, ...]
    max_take: int | None
    misere: bool
    heaps: list[int] = field(init=False)
    plies: int = 0
    winner: int | None = None

    def __post_init__(self):
        self.heaps = list(self.start)

    @property
    def to_play(self):
        return self.plies % 2

    def moves(self, full_heaps):
        """All (heap, count) that are playable from the full heaps, in the order of the actions."""
        limit = self.max_take or max(full_heaps)
        return [(heap, count) for heap, size in enumerate(full_heaps) for count in range(1, min(size, limit) + 1)]

    def is_legal(self, move):
        return self.winner is None and move[1] <= self.heaps[move[0]]

    def play(self, move):
        if not self.is_legal(move):
            self.winner = 1 - self.to_play
            return
        self.heaps[move[0]] -= move[1]
        if not any(self.heaps):
            self.winner = 1 - self.to_play if self.misere else self.to_play
        self.plies += 1
