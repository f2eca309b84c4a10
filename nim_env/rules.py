"""The rules of Nim: positions, actions, transitions, indices and the terminal reward.

The other modules assume three things of a move. It takes from one heap, so the number of objects falls with every
move and every game ends. The index of a position falls by a constant of the action (:attr:`NimRules.offsets`).
Every move can be played from the starting heaps, so :attr:`NimRules.moves` lists all of them. A rule that breaks
one of these changes the solver, :mod:`nim_env.theory` and the environments too.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._checks import checked_bool, checked_integer, checked_integers

_MAX_ACTIONS = 1_000_000
_MAX_PAIRS = 100_000_000  # of a heap and an action, so that an environment starts within a second
_MAX_INT64 = int(np.iinfo(np.int64).max)
_MAX_LISTED = 100_000_000  # entries of all_positions(): 800 MB


@dataclass(frozen=True)
class NimRules:
    """One game of Nim: its starting heaps and its legal moves.

    Two players take turns. Each takes one object or more from a single heap. In normal play the player who
    takes the last object wins. In misère play that player loses.

    A *position* is an array of heap sizes, shape ``(n_heaps,)``. An *action* is an index into :attr:`moves`. The
    methods are pure functions of positions ``heaps``, one or a batch of shape ``(..., n_heaps)``: they take arrays
    and return new arrays. What is no position of this game is a ValueError, and what are no integers a TypeError.

    Args:
        heaps: Starting heap sizes, integers of 0 or more, not all 0.
        max_take: The maximum number of objects that one move may take, or ``None`` for no limit. A limit that no
            heap exceeds becomes ``None``.
        misere: Whether taking the last object loses (misère play) or wins (normal play).

    Raises:
        ValueError: No heaps, a negative one, all empty, ``max_take`` below 1, or more than a million actions or
            100 million pairs of a heap and an action.

    Example:
        >>> from nim_env import NimRules
        >>> rules = NimRules((1, 2), misere=False)
        >>> print(rules)
        Nim 1-2, normal play
        >>> rules.moves
        ((0, 1), (1, 1), (1, 2))
        >>> rules.apply((1, 2), rules.action(1, 2))
        array([1, 0])
    """

    heaps: tuple[int, ...] = (1, 3, 5, 7)
    max_take: int | None = None
    misere: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.heaps, Iterable):
            raise TypeError(f"heaps must hold one size for each heap; got {self.heaps!r}")
        heaps = tuple(checked_integer("heaps", size) for size in self.heaps)
        if not any(heaps) or min(heaps) < 0 or max(heaps) >= _MAX_INT64:
            raise ValueError(f"heaps must hold one size or more, each 0 to 2^63 - 2, not all 0; got {heaps}")
        max_take = None if self.max_take is None else checked_integer("max_take", self.max_take, minimum=1)
        if max_take is not None and max_take >= max(heaps):
            max_take = None  # it never binds
        n_actions = sum(heaps) if max_take is None else sum(min(size, max_take) for size in heaps)
        if n_actions > _MAX_ACTIONS or len(heaps) * n_actions > _MAX_PAIRS:
            raise ValueError(
                f"{len(heaps):,} heaps with {n_actions:,} actions are too many: up to {_MAX_ACTIONS:,} and "
                f"{_MAX_PAIRS:,} pairs of a heap and an action; use smaller heaps or a smaller max_take"
            )
        object.__setattr__(self, "heaps", heaps)
        object.__setattr__(self, "max_take", max_take)
        object.__setattr__(self, "misere", checked_bool("misere", self.misere))

    def __reduce__(self) -> tuple[type[NimRules], tuple[tuple[int, ...], int | None, bool]]:
        return NimRules, (self.heaps, self.max_take, self.misere)  # without the cached properties

    def __str__(self) -> str:
        heaps = "-".join(map(str, self.heaps))
        takes = "" if self.max_take is None else f", take 1 to {self.max_take}"
        return f"Nim {heaps}{takes}, {'misère' if self.misere else 'normal'} play"

    @property
    def n_heaps(self) -> int:
        """The number of heaps, empty ones included."""
        return len(self.heaps)

    @cached_property
    def moves(self) -> tuple[tuple[int, int], ...]:
        """Every ``(heap, count)`` playable from the starting heaps, heap by heap, with rising count."""
        limit = max(self.heaps) if self.max_take is None else self.max_take
        return tuple(
            (heap, count) for heap, size in enumerate(self.heaps) for count in range(1, min(size, limit) + 1)
        )

    @property
    def n_actions(self) -> int:
        """The number of actions, ``len(moves)``."""
        return len(self.moves)

    @cached_property
    def move_heaps(self) -> NDArray[np.int64]:
        """The heap that each action takes from, int64 of shape ``(n_actions,)``, read-only."""
        return _read_only([heap for heap, _ in self.moves])

    @cached_property
    def move_counts(self) -> NDArray[np.int64]:
        """The number of objects that each action takes, int64 of shape ``(n_actions,)``, read-only."""
        return _read_only([count for _, count in self.moves])

    @cached_property
    def _actions(self) -> dict[tuple[int, int], int]:
        return {move: action for action, move in enumerate(self.moves)}

    @property
    def terminal_reward(self) -> float:
        """The reward of the player who takes the last object, 1.0 or in misère play -1.0."""
        return -1.0 if self.misere else 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of sizes of each heap, ``heaps + 1``. Positions are the indices of an array of this shape."""
        return tuple(size + 1 for size in self.heaps)

    @property
    def n_positions(self) -> int:
        """The number of positions, the empty one included; exact however large."""
        return math.prod(self.shape)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """The strides of an array of :attr:`shape`, up to 64 bits: a position has index ``heaps @ strides``."""
        if self.n_positions > _MAX_INT64:
            raise ValueError(f"the indices of {self} exceed 64 bits")
        products = accumulate(reversed(self.shape[1:]), operator.mul, initial=1)
        return tuple(reversed(list(products)))

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The number that each action subtracts from a position's index, ``n_actions`` of them."""
        return tuple(count * self.strides[heap] for heap, count in self.moves)

    def index(self, heaps: ArrayLike) -> np.int64 | NDArray[np.int64]:
        """The index of each position: int64 of shape ``(...)``, 0 for the empty position."""
        return self.checked_positions(heaps) @ np.array(self.strides)

    def from_index(self, index: ArrayLike) -> NDArray[np.int64]:
        """The position of each index, int64 of shape ``(..., n_heaps)``: the inverse of :meth:`index`."""
        indices = checked_integers("index", index)
        outside = (indices < 0) | (indices >= self.n_positions)
        if outside.any():
            raise ValueError(f"index must be 0 or more and below {self.n_positions}; got {indices[outside][0]}")
        return indices[..., None] // np.array(self.strides) % np.array(self.shape)

    def all_positions(self) -> NDArray[np.int64]:
        """Every position in the order of its index: int64 of shape ``(n_positions, n_heaps)``."""
        if self.n_positions * self.n_heaps > _MAX_LISTED:
            raise ValueError(f"{self} has too many positions to list; use smaller heaps")
        return self.from_index(np.arange(self.n_positions))

    def action(self, heap: int, count: int) -> int:
        """The action that takes ``count`` objects from ``heap``: the index of the pair in :attr:`moves`."""
        if (heap, count) not in self._actions:
            raise ValueError(f"heap={heap!r}, count={count!r} is not a move of {self}; rules.moves lists them")
        return self._actions[heap, count]

    def checked_positions(self, heaps: ArrayLike) -> NDArray[np.int64]:
        """``heaps`` as a new array, int64 of shape ``(..., n_heaps)``, if they are positions of this game.

        Each heap is an integer from 0 to its starting size; True and 1.0 are not integers.
        """
        array = checked_integers("heaps", heaps)
        if array.ndim == 0 or array.shape[-1] != self.n_heaps:
            raise ValueError(
                f"heaps must have shape (..., {self.n_heaps}), one size per heap; got shape {array.shape}"
            )
        outside = (array < 0) | (array > np.array(self.heaps))
        if outside.any():
            first = array[outside.any(axis=-1)][0].tolist()
            raise ValueError(f"heaps must lie between 0 and {self.heaps}; got {first}")
        return array

    def action_mask(self, heaps: ArrayLike) -> NDArray[np.int8]:
        """The legal actions: int8 of shape ``(..., n_actions)``, 1 for legal and 0 for illegal."""
        is_legal = self.checked_positions(heaps).take(self.move_heaps, axis=-1) >= self.move_counts
        return is_legal.view(np.int8)

    def legal_moves(self, heaps: ArrayLike) -> list[tuple[int, int]]:
        """The ``(heap, count)`` pairs that are legal in one position, in the order of :attr:`moves`."""
        mask = self.action_mask(heaps)
        if mask.ndim != 1:
            raise ValueError(f"heaps must be one position, shape ({self.n_heaps},); got {np.shape(heaps)}")
        return [self.moves[action] for action in np.flatnonzero(mask)]

    def apply(self, heaps: ArrayLike, actions: ArrayLike) -> NDArray[np.int64]:
        """The positions after ``actions``: int64 of shape ``(..., n_heaps)``.

        The actions have shape ``(...)`` and are broadcast against the positions. An illegal one is a ValueError.
        """
        position = self.checked_positions(heaps)
        action = checked_integers("actions", actions)
        outside = (action < 0) | (action >= self.n_actions)
        if outside.any():
            raise ValueError(f"actions must lie in 0 to {self.n_actions - 1}; got {action[outside][0]}")
        is_heap = np.arange(self.n_heaps) == self.move_heaps[action][..., None]
        after: NDArray[np.int64] = position - self.move_counts[action][..., None] * is_heap
        if (after < 0).any():
            illegal = (after < 0).any(axis=-1)
            action = np.broadcast_to(action, illegal.shape)[illegal][0]
            before = np.broadcast_to(position, after.shape)[illegal][0]
            raise ValueError(self.illegal_action_message(int(action), before))
        return after

    def illegal_action_message(self, action: int, heaps: ArrayLike) -> str:
        """What an error says of an illegal action in one position, shape ``(n_heaps,)``."""
        heap, count = self.moves[action]
        sizes = self.checked_positions(heaps).tolist()
        legal = np.flatnonzero(self.action_mask(heaps)).tolist()
        return f"action {action}, take {count} from heap {heap}, is illegal at heaps {sizes}; legal are {legal}"

    def apply_one(self, heaps: tuple[int, ...], action: int) -> tuple[int, ...]:
        """Like :meth:`apply`, for one position as plain integers and a legal action: faster, without a check."""
        heap, count = self.moves[action]
        return *heaps[:heap], heaps[heap] - count, *heaps[heap + 1 :]

    def is_over(self, heaps: ArrayLike) -> np.bool_ | NDArray[np.bool_]:
        """Whether all heaps are empty: bool of shape ``(...)``."""
        return ~self.checked_positions(heaps).any(axis=-1)


def _read_only(numbers: list[int]) -> NDArray[np.int64]:
    array = np.array(numbers, dtype=np.int64)
    array.flags.writeable = False
    return array
