"""Who wins a position of Nim and by which moves, in closed form.

Bouton (1901), "Nim, a game with a complete mathematical theory", Annals of Mathematics 3, gives normal
and misère play with unbounded takes; Sprague (1935) and Grundy (1939) give the value of a heap from which
at most k may be taken, its size modulo k + 1; Ferguson (1974), "On sums of graph games with last player
losing", International Journal of Game Theory 3, carries misère play over to such heaps. With g the values of
the heaps and x their nim-sum (xor):

- normal play: the mover wins iff x ≠ 0;
- misère play: the mover wins iff x ≠ 0, unless every g ≤ 1, when it wins iff x = 0.

Every function takes one position or a batch, shape ``(..., n_heaps)``, of heap sizes of the game, and
raises what :meth:`NimRules.positions` raises.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env.rules import NimRules


def grundy(rules: NimRules, heaps: ArrayLike) -> np.int64 | NDArray[np.int64]:
    """The Grundy value (nim-sum) of each position, int64 of shape ``(...)``.

    It is the same for normal and misère play; the source is the module's.
    """
    values: np.int64 | NDArray[np.int64] = np.bitwise_xor.reduce(
        _heap_values(rules, rules.positions(heaps)), axis=-1
    )
    return values


def is_winning(rules: NimRules, heaps: ArrayLike) -> np.bool_ | NDArray[np.bool_]:
    """Whether the player to move wins under perfect play, booleans of shape ``(...)``.

    The empty position is winning exactly in misère play: the other player has just taken the last object.
    """
    values = _heap_values(rules, rules.positions(heaps))
    return _mover_wins(rules, np.bitwise_xor.reduce(values, axis=-1), (values > 1).any(axis=-1))


def winning_action_mask(rules: NimRules, heaps: ArrayLike) -> NDArray[np.int8]:
    """Which actions leave the other player a lost position: int8, shape ``(..., n_actions)``.

    All zeros where every move loses, and in the empty position.
    """
    positions = rules.positions(heaps)
    values = _heap_values(rules, positions)
    rest = np.bitwise_xor.reduce(values, axis=-1)[..., None] ^ values  # the nim-sum of the other heaps
    large = values > 1
    others_small = large.sum(axis=-1)[..., None] == large
    target = rest ^ (rules.misere & others_small)  # the value to leave in each heap
    count = positions - target if rules.max_take is None else (positions - target) % _modulus(rules)
    count[(count < 0) | (count > positions) | (target >= _modulus(rules))] = 0  # such a value cannot be left
    small = np.min_scalar_type(_modulus(rules))  # moves outnumber heaps, so a batch of them is worth packing
    wins = count.astype(small).take(rules.move_heaps, axis=-1) == rules.move_counts.astype(small)
    mask: NDArray[np.int8] = wins.view(np.int8)
    return mask


def _heap_values(rules: NimRules, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    return positions if rules.max_take is None else positions % _modulus(rules)


def _modulus(rules: NimRules) -> int:
    """The number of values that a heap can have."""
    largest = max(rules.heaps)
    return 1 + (largest if rules.max_take is None else min(rules.max_take, largest))


def _mover_wins(
    rules: NimRules, nim_sum: np.int64 | NDArray[np.int64], any_large: np.bool_ | NDArray[np.bool_]
) -> np.bool_ | NDArray[np.bool_]:
    turned_round = rules.misere & ~any_large  # misère play without a heap of value above 1
    wins: np.bool_ | NDArray[np.bool_] = (nim_sum != 0) ^ turned_round
    return wins
