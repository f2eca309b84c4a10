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
    heap = rules.move_heaps
    left = positions[..., heap] - rules.move_counts
    value_left = _heap_values(rules, np.maximum(left, 0))
    nim_sum = np.bitwise_xor.reduce(values, axis=-1)[..., None] ^ values[..., heap] ^ value_left
    large = values > 1
    other_large = large.sum(axis=-1)[..., None] - large[..., heap]
    other_wins = _mover_wins(rules, nim_sum, (other_large > 0) | (value_left > 1))
    mask: NDArray[np.int8] = (~other_wins & (left >= 0)).astype(np.int8)
    return mask


def _heap_values(rules: NimRules, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    if rules.max_take is None:
        return positions
    return positions % (min(rules.max_take, max(rules.heaps)) + 1)


def _mover_wins(
    rules: NimRules, nim_sum: np.int64 | NDArray[np.int64], any_large: np.bool_ | NDArray[np.bool_]
) -> np.bool_ | NDArray[np.bool_]:
    turned_round = rules.misere & ~any_large  # misère play without a heap of value above 1
    wins: np.bool_ | NDArray[np.bool_] = (nim_sum != 0) ^ turned_round
    return wins
