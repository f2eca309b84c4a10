"""The learner that is diagnosed: its values as they were given, and what is assumed about it to read them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nim_env.evaluation.diagnosis.equations import Equation
from nim_env.evaluation.diagnosis.pairs import Floats, Pairs
from nim_env.evaluation.diagnosis.thresholds import MIN_COUNT
from nim_env.rules import NimRules


class Reading(NamedTuple):
    """What is assumed about a learner. The user can state it. What is not stated, the diagnosis infers.

    Attributes:
        win: The reward of a win.
        loss: The reward of a loss.
        initial: The value of a pair of position and action that was never updated. None if the values started
            anywhere, as in a network.
        on_policy: Whether the targets follow the learner's own moves; False for Q-learning.
    """

    win: float = 1.0
    loss: float = -1.0
    initial: float | None = 0.0
    on_policy: bool = False

    @property
    def initial_or_0(self) -> float:
        """The initial value, or 0 if it is not known."""
        return self.initial or 0.0

    @property
    def unit(self) -> float:
        """The size of the larger reward."""
        return max(abs(self.win), abs(self.loss))

    def in_units(self) -> Reading:
        """Returns the reading in units of the larger reward, so no return exceeds 1."""
        initial = None if self.initial is None else self.initial / self.unit
        return self._replace(win=self.win / self.unit, loss=self.loss / self.unit, initial=initial)

    def bellman(self, rules: NimRules) -> Equation:
        """Returns Bellman's equation for this learner."""
        last_mover, other_player = (self.loss, self.win) if rules.misere else (self.win, self.loss)
        return Equation(last_mover, other_player, "own policy" if self.on_policy else "maximum")


@dataclass(frozen=True, eq=False)
class Learner:
    """What was given about a learner, before anything is assumed about it.

    Attributes:
        pairs: The judged positions of the game, N rows, and their P legal pairs.
        given: The values as they were given, in these rows: float64 of shape ``(N, n_actions)``, or ``(N,)`` if
            they are values of positions.
        discount: The discount of the training.
        earlier: The values of the same training at an earlier time, like ``given`` or in the other shape. None if
            there are none.
        opponent: The probability of each pair as a reply of the opponent, float64 of shape ``(P,)``. None for
            self-play.
        behavior: The probability of each pair as a move of the learner itself, float64 of shape ``(P,)``. None if
            its policy was not given.
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

    @cached_property
    def initial(self) -> float | None:
        """The initial value, as the entries for illegal actions show it, since no update changes them.

        It is 0 unless all these entries have another value that some legal action has too. None for values of
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
        """The values that look like initial ones: in a few positions all moves share them, mistakes too."""
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

    def action_values(self, reading: Reading) -> Floats:
        """Returns the values of all actions under a reading, float64 of shape ``(N, n_actions)``.

        A dictionary without an entry for a pair became a table with a 0 there; this 0 is read as the initial
        value. Values of positions become the values of the actions that lead there.
        """
        pairs = self.pairs
        if self.has_action_values:
            has_learned_0 = 0 in (reading.win, reading.loss)  # then a 0 does not show that an entry is missing
            is_missing = pairs.legal & (self.given == 0) & (0.0 in self.possible_initials) & (not has_learned_0)
            return np.where(is_missing, reading.initial_or_0, self.given)
        bellman = reading.bellman(pairs.rules)
        of_next = -self.discount * self.given  # for the player who moves there
        if self.opponent is not None:
            samples = self.opponent * pairs.after(bellman.other_player, -of_next)
            of_next = pairs.table(samples, 0.0).sum(axis=1)
        return pairs.table(pairs.after(bellman.last_mover, of_next), reading.loss)

    def largest_value(self, reading: Reading) -> float:
        """Returns the size of the largest value of a legal action under a reading."""
        return float(np.abs(self.action_values(reading)[self.pairs.legal]).max())
