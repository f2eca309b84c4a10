"""Positions of one game by index, in the form that an environment of a single game steps through.

A position's index is ``sum(heaps * rules.strides)``; a move subtracts ``rules.offsets[action]`` from it; the
empty position is index 0. Plain Python numbers, since one game at a time gains nothing from arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nim_env.rules import NimRules

T = TypeVar("T")
ENTRIES = 2**21  # mask entries remembered per game: 131,072 positions of 1-3-5-7, some tens of megabytes


class Position(NamedTuple):
    """What an environment needs to know of one position. The arrays are shared: hand out copies."""

    heaps: NDArray[np.int64]
    action_mask: NDArray[np.int8]
    legal: bytes
    """``action_mask`` as bytes, which plain Python indexes fastest."""
    actions: tuple[int, ...]
    """The legal actions, rising."""


class Memo(dict[int, T], Generic[T]):
    """A function of a position's index that remembers at most ``capacity`` answers.

    ``memo[index]`` costs a dictionary look-up. When full it forgets everything and starts anew.
    """

    def __init__(self, function: Callable[[int], T], capacity: int) -> None:
        super().__init__()
        self.function, self.capacity = function, capacity

    def __missing__(self, index: int) -> T:
        if len(self) >= self.capacity:
            self.clear()
        answer = self[index] = self.function(index)
        return answer

    def __deepcopy__(self, memo: dict[int, Any]) -> Memo[T]:
        return self  # what is remembered is the same for every copy of an environment

    def __reduce__(self) -> tuple[type[Memo[T]], tuple[Callable[[int], T], int]]:
        return Memo, (self.function, self.capacity)


def capacity(rules: NimRules) -> int:
    """How many positions of a game are remembered at most."""
    return max(1, ENTRIES // rules.n_actions)


@lru_cache(maxsize=16)
def positions(rules: NimRules) -> Memo[Position]:
    """The positions of a game by index, shared by all its environments."""
    return Memo(partial(_position, rules), capacity(rules))


def index_of(rules: NimRules, heaps: NDArray[np.int64]) -> int:
    """The index of one position, exact however large the game is."""
    return sum(size * stride for size, stride in zip(heaps.tolist(), rules.strides, strict=True))


def _position(rules: NimRules, index: int) -> Position:
    heaps = np.array(
        [index // stride % size for stride, size in zip(rules.strides, rules.shape, strict=True)],
        dtype=np.int64,
    )
    mask = rules.action_mask(heaps)
    return Position(heaps, mask, mask.tobytes(), tuple(np.flatnonzero(mask).tolist()))
