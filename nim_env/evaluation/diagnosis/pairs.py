"""The pairs of a position and a legal action, whose values are judged, and the position that each leads to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nim_env import theory
from nim_env.evaluation.diagnosis.thresholds import MAX_POSITIONS
from nim_env.policies import PolicyLike, tabulate
from nim_env.rules import NimRules

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Pairs:
    """The legal pairs of a judged position and an action.

    The N judged positions are those with the fewest objects, and the empty position is in the first row. A move
    removes objects, so it always leads to another judged position. The P legal pairs are in the order of their
    rows.

    Attributes:
        rules: The game.
        indices: The index of the position of each row, ``np.intp`` of shape ``(N,)``.
        positions: The heap sizes of each row, int64 of shape ``(N, n_heaps)``.
        legal: The legal actions of each row, bool of shape ``(N, n_actions)``.
        row: The row of the position of each pair, ``np.intp`` of shape ``(P,)``.
        action: The action of each pair, ``np.intp`` of shape ``(P,)``.
        next_row: The row of the position after each pair, ``np.intp`` of shape ``(P,)``.
    """

    rules: NimRules
    indices: Indices
    positions: NDArray[np.int64]
    legal: Bools
    row: Indices
    action: Indices
    next_row: Indices

    @cached_property
    def n_objects(self) -> NDArray[np.int64]:
        """The number of objects before each pair, int64 of shape ``(P,)``."""
        return self.positions.sum(axis=1)[self.row]

    @cached_property
    def is_last(self) -> Bools:
        """Whether each pair takes the last object, bool of shape ``(P,)``."""
        return self.next_row == 0

    @cached_property
    def wins(self) -> Bools:
        """Whether each pair is a winning move, bool of shape ``(P,)``."""
        return theory.winning_action_mask(self.rules, self.positions)[self.legal] > 0

    @cached_property
    def n_legal(self) -> NDArray[np.int64]:
        """The number of legal actions of each row, at least 1 for the empty position too, shape ``(N,)``."""
        return self.legal.sum(axis=1).clip(1)

    def table(self, of_pairs: Floats, of_illegal: float) -> Floats:
        """Returns a table of shape ``(N, n_actions)`` of the entries of the pairs, and one for illegal actions."""
        table = np.full(self.legal.shape, of_illegal)
        table[self.legal] = of_pairs
        return table

    def probabilities(self, policy: PolicyLike) -> Floats:
        """Returns the probability of each pair as a move of a policy, shape ``(P,)``."""
        return tabulate(self.rules, policy, np.float64, illegal_action="lose").probabilities[self.indices][
            self.legal
        ]

    def after(self, at_end: float, of_rows: Floats) -> Floats:
        """Returns the entry of the next row for each pair, or ``at_end`` if it ends the game, shape ``(P,)``."""
        return np.where(self.is_last, at_end, of_rows[self.next_row])

    def sums(self, of_pairs: NDArray[Any]) -> Floats:
        """Returns the sum over the actions of each row: shape ``(P,)`` in, ``(N,)`` out."""
        return np.bincount(self.row, of_pairs, len(self.indices)).astype(np.float64)

    def maxima(self, of_pairs: Floats) -> Floats:
        """Returns the maximum over the actions of each row, 0 in the first row: ``(P,)`` in, ``(N,)`` out."""
        found = np.full(len(self.indices), -np.inf)
        np.maximum.at(found, self.row, of_pairs)
        found[0] = 0
        return found


def judged_pairs(rules: NimRules) -> Pairs:
    """Returns the legal pairs of the positions that are judged."""
    heaps = rules.all_positions()
    indices = heaps.sum(axis=1).argsort(kind="stable")[:MAX_POSITIONS]
    legal = rules.action_mask(heaps[indices]) > 0
    row, action = legal.nonzero()
    row_of = np.zeros(rules.n_positions, dtype=np.intp)
    row_of[indices] = np.arange(len(indices))
    next_row = row_of[indices[row] - np.array(rules.offsets, dtype=np.intp)[action]]
    return Pairs(rules, indices, heaps[indices], legal, row, action, next_row)
