"""The exact solution of Nim in closed form: which positions are winning, and which moves win.

A position is *winning* if the player to move wins under perfect play, and *losing* otherwise.

Each heap has a Grundy value g. Without a limit on takes it is the size of the heap. If at most k objects can be
taken, it is ``size % (k + 1)``. Let x be the nim-sum of these values, their bitwise xor. Then:

- In normal play, a position is winning if and only if x ≠ 0.
- In misère play, the same holds if some g is above 1. If every g is 0 or 1, a position is winning if and only
  if x = 0.

Sources:

- Bouton (1901), "Nim, a game with a complete mathematical theory", Annals of Mathematics 3: normal and misère
  play without a limit.
- Sprague (1935) and Grundy (1939): the values of heaps with a limit.
- Ferguson (1974), "On sums of graph games with last player losing", International Journal of Game Theory 3:
  misère play with a limit.

The argument ``heaps`` of every function is one position or a batch of positions, shape ``(..., n_heaps)``. If it
does not hold positions of the game, :meth:`NimRules.checked_positions` raises the error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env.rules import NimRules


def grundy(rules: NimRules, heaps: ArrayLike) -> np.int64 | NDArray[np.int64]:
    """Returns the Grundy value of each position, int64 of shape ``(...)`` (Sprague 1935, Grundy 1939).

    It is the bitwise xor of the heaps' Grundy values, and the same in normal and in misère play.
    """
    return np.bitwise_xor.reduce(_heap_values(rules, rules.checked_positions(heaps)), axis=-1)


def is_winning(rules: NimRules, heaps: ArrayLike) -> np.bool_ | NDArray[np.bool_]:
    """Returns whether the player to move wins under perfect play in each position, bool of shape ``(...)``.

    The empty position is winning in misère play, since the other player has just taken the last object. In normal
    play it is losing. The rule is due to Bouton (1901), and to Ferguson (1974) for misère play with a limit on
    takes.
    """
    heap_values = _heap_values(rules, rules.checked_positions(heaps))
    nim_sum = np.bitwise_xor.reduce(heap_values, axis=-1)
    is_inverted = rules.misere & ~(heap_values > 1).any(axis=-1)
    return (nim_sum != 0) ^ is_inverted


def winning_action_mask(rules: NimRules, heaps: ArrayLike) -> NDArray[np.int8]:
    """Returns whether each action wins under perfect play: int8 ones and zeros of shape ``(..., n_actions)``.

    An action wins if it leaves the other player a losing position. In a losing position all entries are 0, and in
    the empty position too, since it has no moves. :func:`is_winning` names the sources.
    """
    positions = rules.checked_positions(heaps)
    heap_values = _heap_values(rules, positions)
    nim_sum_of_others = np.bitwise_xor.reduce(heap_values, axis=-1, keepdims=True) ^ heap_values
    is_large = heap_values > 1
    n_large_others = is_large.sum(axis=-1, keepdims=True) - is_large
    target = nim_sum_of_others ^ (rules.misere & (n_large_others == 0))  # the value that must remain in each heap
    count = positions - target if rules.max_take is None else (positions - target) % (rules.largest_take + 1)
    count[(count < 0) | (count > positions) | (target > rules.largest_take)] = 0  # no move leaves this value
    small = np.min_scalar_type(rules.largest_take)  # NumPy compares small integers faster
    wins = count.astype(small).take(rules.move_heaps, axis=-1) == rules.move_counts.astype(small)
    return wins.view(np.int8)


def _heap_values(rules: NimRules, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the Grundy value of each heap of some positions, an array of the same shape as ``positions``."""
    return positions if rules.max_take is None else positions % (rules.largest_take + 1)
