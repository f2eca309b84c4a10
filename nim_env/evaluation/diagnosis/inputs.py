"""What the user passes to the diagnosis: a table of values, and facts about the training that made it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env import theory
from nim_env.evaluation.diagnosis.thresholds import MAX_POSITIONS, MIN_COUNT
from nim_env.policies import PolicyLike, tabulate
from nim_env.rules import NimRules

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Pairs:
    """All pairs of a position and an action that is legal there, as arrays.

    The arrays have their own numbers for positions, sorted by the number of objects: 0 is the empty position. In a
    large game, only the 50,000 positions with the fewest objects are included. Pairs are sorted by position.

    Attributes:
        rules: The game.
        indices: The index of each position in the user's table, ``np.intp`` of shape ``(n_positions,)``.
        positions: The heap sizes of each position, int64 of shape ``(n_positions, n_heaps)``.
        legal: Whether each action is legal in each position, bool of shape ``(n_positions, n_actions)``.
        position: The number of each pair's position, ``np.intp`` of shape ``(n_pairs,)``.
        action: The action of each pair, ``np.intp`` of shape ``(n_pairs,)``.
        next_position: The number of the position after each pair's action, ``np.intp`` of shape ``(n_pairs,)``.
    """

    rules: NimRules
    indices: Indices
    positions: NDArray[np.int64]
    legal: Bools
    position: Indices
    action: Indices
    next_position: Indices

    @cached_property
    def n_objects(self) -> NDArray[np.int64]:
        """The number of objects in each pair's position, int64 of shape ``(n_pairs,)``."""
        return self.positions.sum(axis=1)[self.position]

    @cached_property
    def is_last(self) -> Bools:
        """Whether each pair's action takes the last object, bool of shape ``(n_pairs,)``."""
        return self.next_position == 0

    @cached_property
    def wins(self) -> Bools:
        """Whether each pair's action is a winning move, bool of shape ``(n_pairs,)``."""
        return theory.winning_action_mask(self.rules, self.positions)[self.legal] > 0

    @cached_property
    def n_legal(self) -> NDArray[np.int64]:
        """The number of legal actions in each position, int64 of shape ``(n_positions,)``.

        For the empty position it is 1 instead of 0, so that one can divide by it.
        """
        return self.legal.sum(axis=1).clip(1)

    def to_table(self, entries: Floats, illegal: float) -> Floats:
        """Arranges the entries of the pairs in a table with a row for each position and a column for each action.

        Args:
            entries: The entry of each pair, shape ``(n_pairs,)``.
            illegal: The entry of all illegal actions, which have no pair.

        Returns:
            The table, float64 of shape ``(n_positions, n_actions)``.
        """
        table = np.full(self.legal.shape, illegal)
        table[self.legal] = entries
        return table

    def probabilities(self, policy: PolicyLike) -> Floats:
        """Returns the probability of each pair's action under a policy, float64 of shape ``(n_pairs,)``."""
        table = tabulate(self.rules, policy, np.float64, illegal_action="lose").probabilities
        return table[self.indices][self.legal]

    def after(self, at_end: float, entries: Floats) -> Floats:
        """Gives each pair the entry of the position to which its action leads.

        Args:
            at_end: The entry of a pair whose action ends the game.
            entries: The entry of each position, shape ``(n_positions,)``.

        Returns:
            The entry of each pair, shape ``(n_pairs,)``.
        """
        return np.where(self.is_last, at_end, entries[self.next_position])

    def sums(self, entries: NDArray[Any]) -> Floats:
        """Adds up the entries of the pairs of each position.

        ``entries`` has the shape ``(n_pairs,)`` and the result the shape ``(n_positions,)``.
        """
        return np.bincount(self.position, entries, len(self.indices)).astype(np.float64)

    def maxima(self, entries: Floats) -> Floats:
        """Finds the largest entry among the pairs of each position.

        ``entries`` has the shape ``(n_pairs,)`` and the result the shape ``(n_positions,)``. The empty position
        has no pairs, and its result is 0.
        """
        found = np.full(len(self.indices), -np.inf)
        np.maximum.at(found, self.position, entries)
        found[0] = 0
        return found


def pairs_of(rules: NimRules) -> Pairs:
    """Lists all pairs of a position and an action that is legal there.

    In a large game, only the 50,000 positions with the fewest objects are included. The position
    after each move is then included too, since it has fewer objects.
    """
    heaps = rules.all_positions()
    indices = heaps.sum(axis=1).argsort(kind="stable")[:MAX_POSITIONS]
    legal = rules.action_mask(heaps[indices]) > 0
    position, action = legal.nonzero()
    number_of = np.zeros(rules.n_positions, dtype=np.intp)
    number_of[indices] = np.arange(len(indices))
    next_position = number_of[indices[position] - np.array(rules.offsets, dtype=np.intp)[action]]
    return Pairs(rules, indices, heaps[indices], legal, position, action, next_position)


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the user passed to the diagnosis, in the form in which it is needed.

    Attributes:
        pairs: All pairs of a position and an action that is legal there.
        table: The values: float64 of shape ``(n_positions, n_actions)`` for values of actions, or
            ``(n_positions,)`` for values of positions.
        discount: The discount of the training.
        earlier: The values at an earlier time of the same training, in one of the two shapes. ``None`` if they
            were not passed.
        opponent: The probability with which the opponent plays each pair's action, float64 of shape
            ``(n_pairs,)``. ``None`` for self-play.
        behavior: The probability with which the learner itself played each pair's action, float64 of shape
            ``(n_pairs,)``. ``None`` if its policy was not passed.
    """

    pairs: Pairs
    table: Floats
    discount: float
    earlier: Floats | None = None
    opponent: Floats | None = None
    behavior: Floats | None = None

    @property
    def has_action_values(self) -> bool:
        """Whether the table holds values of actions. Otherwise it holds values of positions."""
        return self.table.ndim == 2

    @property
    def is_self_play(self) -> bool:
        """Whether the learner played both sides."""
        return self.opponent is None

    @property
    def has_random_opponent(self) -> bool:
        """Whether there is an opponent that draws its moves at random in some position."""
        return self.opponent is not None and bool(((self.opponent > 0) & (self.opponent < 1)).any())

    @cached_property
    def initial(self) -> float | None:
        """The initial value of all actions, inferred from the entries for illegal actions.

        No update changes these entries. If they are all equal, and some legal action still has the same value, it
        is the initial value. If no legal action has it, the initial value is taken to be 0. The result is ``None``
        if the entries differ, as for a network, or if the table has values of positions.
        """
        if not self.has_action_values:
            return None
        entries = self.table[1:][~self.pairs.legal[1:]]
        illegal = np.unique(entries[np.isfinite(entries)])
        if len(illegal) > 1:
            return None
        is_initial = len(illegal) == 1 and illegal[0] in self.table[self.pairs.legal]
        return float(illegal[0]) if is_initial else 0.0

    @cached_property
    def possible_initials(self) -> list[float]:
        """The numbers that may be the initial value of the Q-values.

        If all legal actions of a position have the same value, the position looks as if it was never updated, and
        this value may be the initial one. A number is returned if this is so in at least three positions. Only
        positions with winning and losing moves count, since learned values of the two kinds of moves differ.
        """
        pairs, values = self.pairs, self.table[self.pairs.legal]
        n_wins = pairs.sums(pairs.wins)
        is_choice = (n_wins > 0) & (n_wins < pairs.n_legal)
        highest = pairs.maxima(values)
        is_same = highest == -pairs.maxima(-values)
        shared, counts = np.unique(highest[is_choice & is_same], return_counts=True)
        return shared[counts >= MIN_COUNT].tolist()

    @cached_property
    def last_moves(self) -> Floats:
        """The values of the moves that take the last object, a one-dimensional float64 array.

        If the table has values of positions, these are the values of the positions with one object.
        """
        if self.has_action_values:
            return self.table[self.pairs.legal][self.pairs.is_last]
        return self.table[self.pairs.positions.sum(axis=1) == 1]


def checked_table(rules: NimRules, name: str, values: ArrayLike) -> Floats:
    """Returns a float64 copy of a table of values. The values of the empty position are set to 0 in the copy.

    Args:
        rules: The game.
        name: What an error message calls the table.
        values: The table.

    Returns:
        The copy, of the same shape.

    Raises:
        ValueError: If the shape is neither ``(n_positions, n_actions)`` nor ``(n_positions,)``.
    """
    table = np.array(values, dtype=np.float64)
    shapes = (rules.n_positions, rules.n_actions), (rules.n_positions,)
    if table.shape not in shapes:
        raise ValueError(f"{name} must have the shape {shapes[0]} or {shapes[1]}; got {table.shape}")
    table[0] = 0
    return table
