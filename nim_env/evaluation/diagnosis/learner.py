"""What was given about a learner: its values, in the rows of the positions that are judged.

A value belongs to a pair of a position and a legal action. :class:`Pairs` has these pairs, and the position that
follows each of them. :class:`Learner` has the values and what else the user passed, before anything is assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env import theory
from nim_env.evaluation.diagnosis.assumptions import Assumptions
from nim_env.evaluation.diagnosis.findings import pair_in_words, position_in_words
from nim_env.evaluation.diagnosis.thresholds import MAX_POSITIONS, MIN_COUNT
from nim_env.policies import PolicyLike, tabulate
from nim_env.rules import NimRules

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of a position and a legal action, in the positions that the diagnosis judges.

    It judges the N positions with the fewest objects, one in each row, with the empty position in the first row. A
    move removes objects, so it always leads to another one of these positions. The P pairs are in the order of
    their rows.

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
        table = tabulate(self.rules, policy, np.float64, illegal_action="lose").probabilities
        return table[self.indices][self.legal]

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


@dataclass(frozen=True, eq=False)
class Learner:
    """What was given about a learner, before anything is assumed about it.

    Attributes:
        pairs: The judged positions of the game, N rows, and their P legal pairs.
        given: The values as they were given, in these rows: float64 of shape ``(N, n_actions)``, or ``(N,)`` if
            they are values of positions.
        discount: The discount of the training.
        earlier: The values of the same training at an earlier time, like ``given`` or in the other shape.
            ``None`` if there are none.
        opponent: The probability of each pair as a reply of the opponent, float64 of shape ``(P,)``. ``None`` for
            self-play.
        behavior: The probability of each pair as a move of the learner itself, float64 of shape ``(P,)``.
            ``None`` if its policy was not given.
    """

    pairs: Pairs
    given: Floats
    discount: float
    earlier: Floats | None = None
    opponent: Floats | None = None
    behavior: Floats | None = None

    @property
    def has_action_values(self) -> bool:
        """Whether the values are values of actions, and not of positions."""
        return self.given.ndim == 2

    @property
    def is_self_play(self) -> bool:
        """Whether the learner played both sides."""
        return self.opponent is None

    @property
    def opponent_draws(self) -> bool:
        """Whether there is an opponent that draws its replies."""
        return self.opponent is not None and bool(((self.opponent > 0) & (self.opponent < 1)).any())

    @cached_property
    def initial(self) -> float | None:
        """The initial value, as the entries for illegal actions show it, since no update changes them.

        It is 0 unless all these entries have another value that some legal action has too. ``None`` for values of
        positions, and for a network, whose entries for illegal actions are not all equal.
        """
        if not self.has_action_values:
            return None
        entries = self.given[1:][~self.pairs.legal[1:]]
        illegal = np.unique(entries[np.isfinite(entries)])
        if len(illegal) > 1:
            return None
        is_initial = len(illegal) == 1 and illegal[0] in self.given[self.pairs.legal]
        return float(illegal[0]) if is_initial else 0.0

    @cached_property
    def possible_initials(self) -> list[float]:
        """The values that look like initial ones.

        Each of them is the value of all moves in several positions, although some of the moves win and some lose.
        """
        pairs, values = self.pairs, self.given[self.pairs.legal]
        n_wins = pairs.sums(pairs.wins)
        is_choice = (n_wins > 0) & (n_wins < pairs.n_legal)
        highest = pairs.maxima(values)
        is_same = highest == -pairs.maxima(-values)
        shared, counts = np.unique(highest[is_choice & is_same], return_counts=True)
        return shared[counts >= MIN_COUNT].tolist()

    @cached_property
    def last_moves(self) -> Floats:
        """The values of the moves that take the last object, or of the positions with one object."""
        if self.has_action_values:
            return self.given[self.pairs.legal][self.pairs.is_last]
        return self.given[self.pairs.positions.sum(axis=1) == 1]

    def action_values(self, assumptions: Assumptions) -> Floats:
        """Returns the values of all actions under some assumptions, float64 of shape ``(N, n_actions)``.

        A dictionary without an entry for a pair became a table with a 0 there; this 0 is read as the initial
        value. Values of positions become the values of the actions that lead there.
        """
        pairs = self.pairs
        if self.has_action_values:
            # if a reward is 0, the learner can have learned a 0
            has_missing = 0.0 in self.possible_initials and 0 not in (assumptions.win, assumptions.loss)
            is_missing = pairs.legal & (self.given == 0) & has_missing
            return np.where(is_missing, assumptions.initial_or_0, self.given)
        bellman = assumptions.bellman(pairs.rules)
        future = self.discount * self.given
        if self.opponent is None:
            of_next = -future  # since the other player is to move there
        else:
            of_replies = self.opponent * pairs.after(bellman.other_player, future)
            of_next = pairs.table(of_replies, 0.0).sum(axis=1)
        return pairs.table(pairs.after(bellman.last_mover, of_next), assumptions.loss)

    def largest_value(self, assumptions: Assumptions) -> float:
        """Returns the size of the largest value of a legal action under some assumptions."""
        return float(np.abs(self.action_values(assumptions)[self.pairs.legal]).max())


def checked_values(rules: NimRules, name: str, given: ArrayLike) -> Floats:
    """Checks that values have one of the two shapes, and returns a copy with 0 for the empty position."""
    array = np.array(given, dtype=np.float64)
    shapes = (rules.n_positions, rules.n_actions), (rules.n_positions,)
    if array.shape not in shapes:
        raise ValueError(f"{name} must have the shape {shapes[0]} or {shapes[1]}; got {array.shape}")
    array[0] = 0
    return array


def first_undefined(rules: NimRules, values: Floats) -> str:
    """Returns the first value that is not finite, in words; empty if all values of legal actions are finite."""
    heaps = rules.all_positions()
    is_wrong = ~np.isfinite(values)
    if values.ndim == 2:
        is_wrong &= rules.action_mask(heaps) > 0
    if not is_wrong.any():
        return ""
    row, *action = min(np.argwhere(is_wrong).tolist(), key=lambda entry: heaps[entry[0]].sum())
    place = position_in_words(heaps[row])
    if action:
        place = f"{pair_in_words(heaps[row], rules.moves[action[0]])},"
    return f"the value {place} is {values[(row, *action)]}"
