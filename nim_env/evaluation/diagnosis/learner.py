"""What the user passed to the diagnosis: the values of a learner, and facts about its training.

A value belongs to a *pair* of a position and a legal action. :class:`Pairs` lists the pairs, and the position that
each of them leads to. :class:`Learner` has the values and the facts, before anything is assumed.
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
    """The positions that the diagnosis judges, and all P pairs of such a position and a legal action.

    The diagnosis judges the N positions with the fewest objects. Each has a row, and the empty position has the
    first row. A move removes objects, so it always leads to another one of these positions. The pairs are in the
    order of their rows.

    Attributes:
        rules: The game.
        indices: The index of the position of each row, ``np.intp`` of shape ``(N,)``.
        positions: The heap sizes of each row, int64 of shape ``(N, n_heaps)``.
        legal: The legal actions of each row, bool of shape ``(N, n_actions)``.
        row: The row of the position of each pair, ``np.intp`` of shape ``(P,)``.
        action: The action of each pair, ``np.intp`` of shape ``(P,)``.
        next_row: The row of the position that each pair leads to, ``np.intp`` of shape ``(P,)``.
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
        """The number of objects in the position of each pair, int64 of shape ``(P,)``."""
        return self.positions.sum(axis=1)[self.row]

    @cached_property
    def is_last(self) -> Bools:
        """Whether the action of each pair takes the last object, bool of shape ``(P,)``."""
        return self.next_row == 0

    @cached_property
    def wins(self) -> Bools:
        """Whether the action of each pair is a winning move, bool of shape ``(P,)``."""
        return theory.winning_action_mask(self.rules, self.positions)[self.legal] > 0

    @cached_property
    def n_legal(self) -> NDArray[np.int64]:
        """The number of legal actions in each position, shape ``(N,)``. It is 1 for the empty position."""
        return self.legal.sum(axis=1).clip(1)

    def table(self, of_pairs: Floats, of_illegal: float) -> Floats:
        """Returns a table with a row for each position and a column for each action.

        Legal actions have the entries ``of_pairs``. All illegal actions have the entry ``of_illegal``.
        """
        table = np.full(self.legal.shape, of_illegal)
        table[self.legal] = of_pairs
        return table

    def probabilities(self, policy: PolicyLike) -> Floats:
        """Returns the probability with which a policy plays the action of each pair, shape ``(P,)``."""
        table = tabulate(self.rules, policy, np.float64, illegal_action="lose").probabilities
        return table[self.indices][self.legal]

    def after(self, at_end: float, of_rows: Floats) -> Floats:
        """Looks up an entry for the position that each pair leads to, or ``at_end`` if the pair ends the game.

        ``of_rows`` has an entry for each position, shape ``(N,)``. The result has the shape ``(P,)``.
        """
        return np.where(self.is_last, at_end, of_rows[self.next_row])

    def sums(self, of_pairs: NDArray[Any]) -> Floats:
        """Sums the entries of the pairs in each position: from shape ``(P,)`` to shape ``(N,)``."""
        return np.bincount(self.row, of_pairs, len(self.indices)).astype(np.float64)

    def maxima(self, of_pairs: Floats) -> Floats:
        """Finds the largest entry of the pairs in each position: from shape ``(P,)`` to shape ``(N,)``.

        It is 0 in the empty position.
        """
        found = np.full(len(self.indices), -np.inf)
        np.maximum.at(found, self.row, of_pairs)
        found[0] = 0
        return found


def judged_pairs(rules: NimRules) -> Pairs:
    """Chooses the positions that are judged, and lists the legal actions in them."""
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
    """What the user passed about a learner, before anything is assumed about it.

    Attributes:
        pairs: The N positions that are judged, and the P legal actions in all of them together.
        given: The values in these positions as the user passed them: float64 of shape ``(N, n_actions)``, or
            ``(N,)`` if they are values of positions.
        discount: The discount of the training.
        earlier: The values of the same training at an earlier time, like ``given`` or in the other shape.
            ``None`` if there are none.
        opponent: The probability with which the opponent plays each legal action, float64 of shape ``(P,)``.
            ``None`` for self-play.
        behavior: The probability with which the learner itself played each legal action, float64 of shape
            ``(P,)``. ``None`` if its policy was not given.
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
        """The initial value. It is read from the entries for illegal actions, since no update changes them.

        If all these entries have the same value, and some legal action has it too, this is the initial value. If
        no legal action has it, the initial value is 0. ``None`` for values of positions, and for a network, whose
        entries for illegal actions are not all equal.
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
        """Numbers that look like the initial value.

        Each of them is the value of all moves in several positions, although some of these moves win and some
        lose.
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
        """The values of the moves that take the last object.

        For values of positions, these are the values of the positions with one object.
        """
        if self.has_action_values:
            return self.given[self.pairs.legal][self.pairs.is_last]
        return self.given[self.pairs.positions.sum(axis=1) == 1]

    def action_values(self, assumptions: Assumptions) -> Floats:
        """Returns the values of all actions under some assumptions, float64 of shape ``(N, n_actions)``.

        If the table was made from a dictionary, it has a 0 for each missing entry. Such a 0 is read as the initial
        value. If the values are values of positions, the values of actions are computed from them.
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
        """Returns the largest absolute value of a legal action under some assumptions."""
        return float(np.abs(self.action_values(assumptions)[self.pairs.legal]).max())


def checked_values(rules: NimRules, name: str, given: ArrayLike) -> Floats:
    """Returns a copy of the values, with 0 for the empty position.

    Raises ValueError, which calls them ``name``, if their shape is neither ``(n_positions, n_actions)`` nor
    ``(n_positions,)``.
    """
    array = np.array(given, dtype=np.float64)
    shapes = (rules.n_positions, rules.n_actions), (rules.n_positions,)
    if array.shape not in shapes:
        raise ValueError(f"{name} must have the shape {shapes[0]} or {shapes[1]}; got {array.shape}")
    array[0] = 0
    return array


def first_undefined(rules: NimRules, values: Floats) -> str:
    """Describes a value that is infinite or undefined, or returns an empty string if there is none.

    Of several values, it is one in the position with the fewest objects. Illegal actions do not count.
    """
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
