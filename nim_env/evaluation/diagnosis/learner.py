"""The learner that is diagnosed: its values as they were given, and what is assumed about it to read them."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nim_env import theory
from nim_env.evaluation.diagnosis.thresholds import MIN_COUNT
from nim_env.policies import PolicyLike, tabulate
from nim_env.rules import NimRules

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]


class Reading(NamedTuple):
    """What is assumed about a learner. A user can say it; otherwise the diagnosis tries several readings.

    Attributes:
        win: The reward of a win.
        loss: The reward of a loss.
        initial: The value of a pair of position and action that was never updated. None if the values started
            anywhere, as in a network.
        on_policy: True if the targets follow the learner's own moves, which are fitted to its values; the policy
            that they follow, if it is known; False for Q-learning.
    """

    win: float = 1.0
    loss: float = -1.0
    initial: float | None = 0.0
    on_policy: bool | PolicyLike = False

    def last_rewards(self, rules: NimRules) -> tuple[float, float]:
        """Returns the rewards of the player who takes the last object and of the other player."""
        return (self.loss, self.win) if rules.misere else (self.win, self.loss)


class Learner:
    """The values of a learner, before anything is assumed about it.

    Args:
        rules: The game.
        given: The values as they were given: float64 of shape ``(n_positions, n_actions)``, or ``(n_positions,)``
            if they are values of positions.
        opponent: The policy that the learner played against; None for self-play.
        discount: The discount of the training.

    Attributes:
        has_action_values: Whether the values are values of actions, and not of positions.
        heaps: All positions, int64 of shape ``(n_positions, n_heaps)``.
        legal: The legal actions in each position, bool of shape ``(n_positions, n_actions)``.
        next_indices: The index of the position after each action, ``np.intp`` of shape
            ``(n_positions, n_actions)``; 0 for illegal actions.
    """

    def __init__(self, rules: NimRules, given: Floats, opponent: PolicyLike | None, discount: float) -> None:
        self.rules = rules
        self.given = given
        self.opponent = opponent
        self.discount = discount
        self.has_action_values = given.ndim == 2
        self.heaps = rules.all_positions()
        self.legal = rules.action_mask(self.heaps) > 0
        indices = np.arange(rules.n_positions, dtype=np.intp)
        offsets = np.array(rules.offsets, dtype=np.intp)
        self.next_indices: Indices = (indices[:, None] - offsets) * self.legal

    @cached_property
    def replies(self) -> Floats:
        """The probability of each move of the opponent, shape ``(n_positions, n_actions)``; 0 in self-play."""
        if self.opponent is None:
            return np.zeros(self.legal.shape)
        return probabilities(self.rules, self.opponent)

    @cached_property
    def initial(self) -> float | None:
        """The initial value, as the entries for illegal actions show it, since no update changes them.

        It is 0 unless all these entries have another value that some legal action has too. None for values of
        positions, and for a network, whose entries for illegal actions are not all equal.
        """
        if not self.has_action_values:
            return None
        entries = self.given[1:][~self.legal[1:]]
        illegal = np.unique(entries[np.isfinite(entries)])
        if len(illegal) > 1:
            return None
        is_initial = len(illegal) == 1 and (self.given[self.legal] == illegal[0]).any()
        return float(illegal[0]) if is_initial else 0.0

    @cached_property
    def possible_initials(self) -> list[float]:
        """The values that look like initial ones: in a few positions all moves share them, mistakes too."""
        wins = theory.winning_action_mask(self.rules, self.heaps) > 0
        is_choice = wins.any(axis=1) & (self.legal & ~wins).any(axis=1)
        lowest = np.where(self.legal, self.given, np.inf).min(axis=1)
        is_same = lowest == np.where(self.legal, self.given, -np.inf).max(axis=1)
        values, counts = np.unique(lowest[is_choice & is_same], return_counts=True)
        return values[counts >= MIN_COUNT].tolist()

    @cached_property
    def last_moves(self) -> Floats:
        """The values of the moves that take the last object, or of the positions with one object."""
        if self.has_action_values:
            return self.given[self.legal & (self.next_indices == 0)]
        return self.given[self.heaps.sum(axis=1) == 1]

    @property
    def has_only_sorted_positions(self) -> bool:
        """Whether only positions with sorted heaps have values, although the board has many others."""
        if not self.has_action_values:
            return False
        is_trained = ((self.given != (self.initial or 0)) & self.legal).any(axis=1)
        steps = np.diff(self.heaps, axis=1)
        unsorted = [(steps < 0).any(axis=1), (steps > 0).any(axis=1)]  # not ascending, not descending
        return bool(
            is_trained.sum() >= MIN_COUNT
            and any(is_other.sum() >= MIN_COUNT and not is_trained[is_other].any() for is_other in unsorted)
        )

    def action_values(self, reading: Reading) -> Floats:
        """Returns the values of all actions under a reading, float64 of shape ``(n_positions, n_actions)``.

        A dictionary without an entry for a pair became a table with a 0 there; this 0 is read as the initial
        value. Values of positions become the values of the actions that lead there.
        """
        if self.has_action_values:
            has_learned_0 = 0 in (reading.win, reading.loss)  # then a 0 does not show that an entry is missing
            is_missing = self.legal & (self.given == 0) & (0.0 in self.possible_initials) & (not has_learned_0)
            return np.where(is_missing, reading.initial or 0.0, self.given)
        last_mover, other_player = reading.last_rewards(self.rules)
        is_last = self.next_indices == 0
        of_next = self.discount * self.given  # for the player to move there
        if self.opponent is not None:
            of_next = -(self.replies * np.where(is_last, other_player, of_next[self.next_indices])).sum(axis=1)
        return np.where(self.legal, np.where(is_last, last_mover, -of_next[self.next_indices]), reading.loss)


def probabilities(rules: NimRules, policy: PolicyLike) -> Floats:
    """Returns the probability of each action, shape ``(n_positions, n_actions)``; illegal actions get 0."""
    return tabulate(rules, policy, np.float64, illegal_action="lose").probabilities
