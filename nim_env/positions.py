"""Positions of one game by index, in the form that an environment of a single game steps through.

A position's index is ``sum(heaps * rules.strides)``; a move subtracts ``rules.offsets[action]`` from it; the
empty position is index 0. Plain Python numbers, since one game at a time gains nothing from arrays.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nim_env.policies import UniformPolicy, opponent_probabilities
from nim_env.rules import NimRules

T = TypeVar("T")
MEMORY = 2**26  # bytes that one game's positions may take, about: 64 MiB
POSITION_BYTES = 700  # a generous guess at what a position takes besides its heaps and actions


class Position(NamedTuple):
    """What an environment needs to know of one position. The arrays are shared: hand out copies."""

    heaps: NDArray[np.int64]
    action_mask: NDArray[np.int8]
    legal: bytes
    """``action_mask`` as bytes, which plain Python indexes fastest."""
    actions: tuple[int, ...]
    """The legal actions, rising."""


class Memo(dict[int, T], Generic[T]):
    """A function of a position's index that remembers a bounded number of answers.

    ``memo[index]`` costs a dictionary look-up. When full it forgets everything and starts anew.
    """

    def __init__(self, rules: NimRules) -> None:
        super().__init__()
        self.rules, self.capacity = rules, capacity(rules)

    @abstractmethod
    def make(self, index: int) -> T:
        """The answer for one index."""

    def __missing__(self, index: int) -> T:
        if len(self) >= self.capacity:
            self.clear()
        answer = self[index] = self.make(index)
        return answer


class Positions(Memo[Position]):
    """The positions of a game."""

    def make(self, index: int) -> Position:
        """The position at one index."""
        sizes = zip(self.rules.strides, self.rules.shape, strict=True)
        heaps = np.array([index // stride % size for stride, size in sizes], dtype=np.int64)
        mask = self.rules.action_mask(heaps)
        return Position(heaps, mask, mask.tobytes(), tuple(np.flatnonzero(mask).tolist()))

    def __reduce__(self) -> Any:
        return positions, (self.rules,)  # a copied or unpickled environment shares what is remembered


class Choices(Memo[tuple[int, ...]]):
    """The actions that a uniform policy draws from."""

    def __init__(self, rules: NimRules, policy: UniformPolicy) -> None:
        super().__init__(rules)
        self.policy = policy

    def make(self, index: int) -> tuple[int, ...]:
        """The policy's actions at one index."""
        position = positions(self.rules)[index]
        answer = opponent_probabilities(self.policy, position.heaps, position.action_mask)
        return tuple(np.flatnonzero(answer).tolist())

    def __reduce__(self) -> Any:
        return choices, (self.rules, self.policy)


@lru_cache(maxsize=16)
def positions(rules: NimRules) -> Positions:
    """The positions of a game by index, shared by all its environments."""
    return Positions(rules)


@lru_cache(maxsize=16)
def choices(rules: NimRules, policy: UniformPolicy) -> Choices:
    """The choices of a policy by index, shared by all environments it plays in."""
    return Choices(rules, policy)


def capacity(rules: NimRules) -> int:
    """How many positions of a game are remembered at most, so that they take about ``MEMORY`` bytes."""
    return max(1, MEMORY // (POSITION_BYTES + 8 * rules.n_heaps + 12 * rules.n_actions))


def index_of(rules: NimRules, heaps: NDArray[np.int64]) -> int:
    """The index of one position, exact however large the game is."""
    return sum(size * stride for size, stride in zip(heaps.tolist(), rules.strides, strict=True))
