"""The position cache: what an environment of one game needs to know of a position, by the position's index.

A move subtracts ``rules.offsets[action]`` from the index. The entries hold plain Python numbers, which are faster
than arrays where there is only one game.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nim_env.policies import UniformPolicy, query_policy
from nim_env.rules import NimRules

EMPTY_INDEX = 0  # of the position without objects
_CACHE_ENTRIES = 2**22  # heaps, actions and overhead of all cached positions of a game: about 64 MB


class Position(NamedTuple):
    """One position. The arrays are shared, so hand out copies."""

    heaps: NDArray[np.int64]
    action_mask: NDArray[np.int8]
    legal: bytes
    """``action_mask`` as bytes, which plain Python indexes fastest."""


class _IndexCache(dict[int, Any]):
    """A bounded cache of a function of a position's index. A full cache is cleared."""

    def __init__(self, rules: NimRules, function: Callable[[int], Any], reduced: tuple[Any, ...]) -> None:
        super().__init__()
        self._function, self._reduced = function, reduced
        self._capacity = max(1, _CACHE_ENTRIES // (60 + rules.n_heaps + rules.n_actions))

    def __missing__(self, index: int) -> Any:
        if len(self) >= self._capacity:
            self.clear()
        value = self[index] = self._function(index)
        return value

    def __reduce__(self) -> Any:
        return self._reduced  # a copied or unpickled environment shares the cache


@lru_cache(maxsize=16)
def position_cache(rules: NimRules) -> dict[int, Position]:
    """The positions of a game by index, shared by all its environments."""

    def position(index: int) -> Position:
        heaps = rules.from_index(index)
        mask = rules.action_mask(heaps)
        return Position(heaps, mask, mask.tobytes())

    return _IndexCache(rules, position, (position_cache, (rules,)))


@lru_cache(maxsize=16)
def support_cache(rules: NimRules, policy: UniformPolicy) -> dict[int, tuple[int, ...]]:
    """The support of a built-in policy by index, shared by all environments that it plays in."""
    positions = position_cache(rules)

    def support(index: int) -> tuple[int, ...]:
        position = positions[index]
        return tuple(np.flatnonzero(query_policy(policy, position.heaps, position.action_mask)).tolist())

    return _IndexCache(rules, support, (support_cache, (rules, policy)))
