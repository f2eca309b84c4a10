"""The exact solution of Nim in closed form: which positions are won, and by which moves.

Sources:

- Bouton (1901), "Nim, a game with a complete mathematical theory", Annals of Mathematics 3: normal and misère
  play with unbounded takes.
- Sprague (1935) and Grundy (1939): a heap from which at most k objects may be taken has the value
  ``size % (k + 1)``.
- Ferguson (1974), "On sums of graph games with last player losing", International Journal of Game Theory 3:
  misère play with bounded takes.

With g the Grundy values of the heaps and x their nim-sum (bitwise xor):

- normal play: the player to move wins iff x ≠ 0;
- misère play: the player to move wins iff x ≠ 0, unless every g ≤ 1; then that player wins iff x = 0.

Every function takes one position or a batch of heap sizes, shape ``(..., n_heaps)``, and raises what
:meth:`NimRules.checked_positions` raises.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env.rules import NimRules


def grundy(rules: NimRules, heaps: ArrayLike) -> np.int64 | NDArray[np.int64]:
    """The Grundy value (nim-sum) of each position, int64 of shape ``(...)`` (Sprague 1935, Grundy 1939).

    It is the same for normal and misère play.
    """
    heap_values = _heap_values(rules, rules.checked_positions(heaps))
    return np.bitwise_xor.reduce(heap_values, axis=-1)


def is_winning(rules: NimRules, heaps: ArrayLike) -> np.bool_ | NDArray[np.bool_]:
    """Whether the player to move wins under perfect play: bool of shape ``(...)``.

    The empty position is won exactly in misère play: the other player has just taken the last object. The
    source is Bouton (1901), and Ferguson (1974) for misère play with bounded takes.
    """
    heap_values = _heap_values(rules, rules.checked_positions(heaps))
    nim_sum = np.bitwise_xor.reduce(heap_values, axis=-1)
    is_inverted = rules.misere & ~(heap_values > 1).any(axis=-1)
    return (nim_sum != 0) ^ is_inverted


def winning_action_mask(rules: NimRules, heaps: ArrayLike) -> NDArray[np.int8]:
    """The actions that leave the opponent a lost position: int8 of shape ``(..., n_actions)``.

    All are 0 where every move loses, and in the empty position. The sources are those of :func:`is_winning`.
    """
    positions = rules.checked_positions(heaps)
    heap_values = _heap_values(rules, positions)
    nim_sum_of_others = np.bitwise_xor.reduce(heap_values, axis=-1)[..., None] ^ heap_values
    is_large = heap_values > 1
    others_are_small = is_large.sum(axis=-1)[..., None] == is_large
    target = nim_sum_of_others ^ (rules.misere & others_are_small)  # the value to leave in each heap
    modulus = _modulus(rules)
    count = positions - target if rules.max_take is None else (positions - target) % modulus
    count[(count < 0) | (count > positions) | (target >= modulus)] = 0  # such a value cannot be left
    small = np.min_scalar_type(modulus)  # a narrow type makes the comparison over all actions faster
    wins = count.astype(small).take(rules.move_heaps, axis=-1) == rules.move_counts.astype(small)
    return wins.view(np.int8)


def _heap_values(rules: NimRules, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    return positions if rules.max_take is None else positions % _modulus(rules)


def _modulus(rules: NimRules) -> int:
    """The number of Grundy values that a heap can have."""
    largest = max(rules.heaps)
    return 1 + (largest if rules.max_take is None else min(rules.max_take, largest))
