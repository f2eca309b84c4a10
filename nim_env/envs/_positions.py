"""The positions of a game: each is made once, at its first visit, and linked to the positions after its moves.

They hold what an environment of one game looks up in a step. Plain Python numbers are faster than arrays there.
"""

from __future__ import annotations

from array import array
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from nim_env.encodings import Encoding
from nim_env.policies import UniformPolicy
from nim_env.rules import NimRules

_MAX_BYTES = 120_000_000  # about, of the positions of one game; above it all of them are forgotten


class Position:
    """A position. Its arrays are shared, so an environment returns copies.

    Attributes:
        heaps: The heap sizes.
        is_empty: Whether no object is left.
        observation: The encoded heap sizes.
        action_mask: The legal actions, int8 of shape ``(n_actions,)``.
        is_legal: The action mask as bytes, which plain Python indexes fastest.
        after: The position after each legal action.
    """

    __slots__ = ("_positions", "action_mask", "after", "heaps", "is_empty", "is_legal", "observation")

    def __init__(self, positions: Positions, heaps: tuple[int, ...]) -> None:
        self._positions, self.heaps, self.is_empty = positions, heaps, not any(heaps)
        sizes = np.array(heaps)
        self.is_legal = positions.rules.action_mask(sizes).tobytes()
        self.observation = positions.encoding.encode(sizes)
        self.action_mask: NDArray[np.int8] = np.frombuffer(self.is_legal, dtype=np.int8)
        self.after = _After(positions, heaps)

    def __reduce__(self) -> Any:
        return self._positions.__getitem__, (self.heaps,)


class _After(dict[int, Position]):
    """The positions after the actions that were played so far."""

    __slots__ = ("_heaps", "_positions")

    def __init__(self, positions: Positions, heaps: tuple[int, ...]) -> None:
        self._positions, self._heaps = positions, heaps

    def __missing__(self, action: int) -> Position:
        heaps = self._positions.rules.apply_one(self._heaps, action)
        position = self[action] = self._positions[heaps]
        self._positions.used_bytes += 40
        return position


class Positions(dict[tuple[int, ...], Position]):
    """The positions of a game by heap sizes. :func:`positions_of` makes them.

    Attributes:
        rules: The game.
        encoding: The encoding of the observations.
        used_bytes: The memory in use, about: the sum of measured averages.
    """

    def __init__(self, rules: NimRules, encoding: Encoding) -> None:
        super().__init__()
        self.rules, self.encoding, self.used_bytes = rules, encoding, 0
        self._replies: dict[UniformPolicy, Replies] = {}

    def __missing__(self, heaps: tuple[int, ...]) -> Position:
        if self.used_bytes > _MAX_BYTES:
            self._forget()
        position = self[heaps] = Position(self, heaps)
        self.used_bytes += 700 + 20 * len(heaps) + len(position.is_legal) + position.observation.nbytes
        return position

    def _forget(self) -> None:
        for position in self.values():
            position.after.clear()  # so that a position in use does not keep those after it
        for replies in self._replies.values():
            replies.clear()
        self.clear()
        self.used_bytes = 0

    def replies_of(self, policy: UniformPolicy) -> Replies:
        """The replies of a built-in policy, shared by all environments that it plays in."""
        if policy not in self._replies:
            self._replies[policy] = Replies(self, policy)
        return self._replies[policy]

    def __reduce__(self) -> Any:
        return positions_of, (self.rules, self.encoding)  # a copied or unpickled environment shares them


class Replies(dict[Position, "array[int]"]):
    """The actions that a built-in policy draws from, by position."""

    def __init__(self, positions: Positions, policy: UniformPolicy) -> None:
        super().__init__()
        self._positions, self._policy = positions, policy

    def __missing__(self, position: Position) -> array[int]:
        support = self._policy.support(position.heaps, position.action_mask)
        actions = self[position] = array("i", support.nonzero()[0].tolist())
        self._positions.used_bytes += 200 + 4 * len(actions)
        return actions

    def __reduce__(self) -> Any:
        return self._positions.replies_of, (self._policy,)


_all_positions: WeakValueDictionary[tuple[NimRules, Encoding], Positions] = WeakValueDictionary()


def positions_of(rules: NimRules, encoding: Encoding) -> Positions:
    """The positions of a game, shared by all its environments and freed some time after the last of them."""
    positions = _all_positions.get((rules, encoding))
    if positions is None:
        positions = _all_positions[rules, encoding] = Positions(rules, encoding)
    return positions


def random_heaps(rules: NimRules, generator: np.random.Generator) -> tuple[int, ...]:
    """A uniformly drawn position other than the empty one."""
    while True:
        heaps: NDArray[np.int64] = generator.integers(rules.shape)
        if heaps.any():
            return tuple(heaps.tolist())
