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
from nim_env.policies import Policy
from nim_env.policies.built_in import UniformPolicy, is_built_in
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
        sizes = np.array(heaps)
        self._positions = positions
        self.heaps = heaps
        self.is_empty = not any(heaps)
        self.is_legal = positions.rules.action_mask(sizes).tobytes()
        self.observation = positions.encoding.encode(sizes)
        self.action_mask: NDArray[np.int8] = np.frombuffer(self.is_legal, dtype=np.int8)
        self.after = Successors(positions, heaps)

    def __reduce__(self) -> Any:
        return self._positions.__getitem__, (self.heaps,)


class Successors(dict[int, Position]):
    """The positions after the actions that were played so far."""

    def __init__(self, positions: Positions, heaps: tuple[int, ...]) -> None:
        super().__init__()
        self._positions = positions
        self._heaps = heaps

    def __missing__(self, action: int) -> Position:
        position = self[action] = self._positions[self._positions.rules.apply_one(self._heaps, action)]
        return position


class Replies(dict[Position, "array[int]"]):
    """The actions that a built-in policy draws from, by position."""

    def __init__(self, positions: Positions, policy: UniformPolicy) -> None:
        super().__init__()
        self._positions = positions
        self._policy = policy

    def __missing__(self, position: Position) -> array[int]:
        support = self._policy.support(position.heaps, position.action_mask)
        actions = self[position] = array("i", support.nonzero()[0].tolist())
        return actions

    def __reduce__(self) -> Any:
        return self._positions.replies_of, (self._policy,)


class Positions(dict[tuple[int, ...], Position]):
    """The positions of a game by heap sizes. :func:`positions_of` makes them."""

    def __init__(self, rules: NimRules, encoding: Encoding) -> None:
        super().__init__()
        self.rules = rules
        self.encoding = encoding
        self._replies: dict[UniformPolicy, Replies] = {}
        # of one position, about: its numbers, what it holds for each action, and its observation
        n_bytes = 1_000 + 20 * (rules.n_heaps + rules.n_actions) + encoding.encode(np.array(rules.heaps)).nbytes
        self._max_positions = max(1, _MAX_BYTES // n_bytes)

    def __missing__(self, heaps: tuple[int, ...]) -> Position:
        if len(self) >= self._max_positions:
            self._forget()
        position = self[heaps] = Position(self, heaps)
        return position

    def _forget(self) -> None:
        for position in self.values():
            position.after.clear()  # so that a position in use does not keep those after it
        for replies in self._replies.values():
            replies.clear()
        self.clear()

    def replies_of(self, policy: Policy | None) -> Replies | None:
        """The replies of a policy, shared by all environments that it plays in; ``None`` if it is not built in."""
        return self._replies.setdefault(policy, Replies(self, policy)) if is_built_in(policy) else None

    def __reduce__(self) -> Any:
        return positions_of, (self.rules, self.encoding)  # a copied or unpickled environment shares them


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
