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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._internal import limits
from nim_env._internal.checks import checked_bool, checked_integer, checked_integers


@dataclass(frozen=True, init=False)
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

    def __init__(
        self, heaps: Iterable[int] = (1, 3, 5, 7), max_take: int | None = None, misere: bool = True
    ) -> None:
        if not isinstance(heaps, Iterable):
            raise TypeError(f"heaps must hold one size for each heap; got {heaps!r}")
        sizes = tuple(checked_integer("heaps", size) for size in heaps)
        if not any(sizes) or min(sizes) < 0 or max(sizes) >= limits.INT64:
            raise ValueError(f"heaps must hold one size or more, each 0 to 2^63 - 2, not all 0; got {sizes}")
        limit = max(sizes) if max_take is None else checked_integer("max_take", max_take, minimum=1)
        n_actions = sum(min(size, limit) for size in sizes)
        remedy = "use smaller heaps or a smaller max_take"
        limits.check_size(n_actions, limits.ACTIONS, "actions", remedy)
        pairs = f"pairs of an action and one of {len(sizes):,} heaps"
        limits.check_size(n_actions * len(sizes), limits.PAIRS, pairs, remedy)
        object.__setattr__(self, "heaps", sizes)
        object.__setattr__(self, "max_take", None if limit >= max(sizes) else limit)  # None where it never binds
        object.__setattr__(self, "misere", checked_bool("misere", misere))

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
    def _small_counts(self) -> NDArray[Any]:
        """:attr:`move_counts` in the smallest dtype, in which comparisons of many positions are faster."""
        return self.move_counts.astype(np.min_scalar_type(max(self.heaps)))

    @cached_property
    def _actions(self) -> dict[tuple[int, int], int]:
        return {move: action for action, move in enumerate(self.moves)}

    @property
    def terminal_reward(self) -> float:
        """The reward of the player who takes the last object, 1.0 or in misère play -1.0."""
        return -1.0 if self.misere else 1.0

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of sizes of each heap, ``heaps + 1``. Positions are the indices of an array of this shape."""
        return tuple(size + 1 for size in self.heaps)

    @cached_property
    def n_positions(self) -> int:
        """The number of positions, the empty one included; exact however large."""
        return math.prod(self.shape)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """The strides of an array of :attr:`shape`, up to 64 bits: a position has index ``heaps @ strides``."""
        limits.check_size(self.n_positions, limits.INT64, f"positions of {self}", "an index has 64 bits")
        products = accumulate(reversed(self.shape[1:]), operator.mul, initial=1)
        return tuple(reversed(list(products)))

    @cached_property
    def _stride_array(self) -> NDArray[np.int64]:
        return np.array(self.strides)

    @cached_property
    def _shape_array(self) -> NDArray[np.int64]:
        return np.array(self.shape)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The number that each action subtracts from a position's index, ``n_actions`` of them."""
        return tuple(count * self.strides[heap] for heap, count in self.moves)

    def index(self, heaps: ArrayLike) -> np.int64 | NDArray[np.int64]:
        """The index of each position: int64 of shape ``(...)``, 0 for the empty position."""
        return self.checked_positions(heaps) @ self._stride_array

    def from_index(self, index: ArrayLike) -> NDArray[np.int64]:
        """The position of each index, int64 of shape ``(..., n_heaps)``: the inverse of :meth:`index`."""
        indices = checked_integers("index", index)
        outside = (indices < 0) | (indices >= self.n_positions)
        if outside.any():
            raise ValueError(f"index must be 0 or more and below {self.n_positions}; got {indices[outside][0]}")
        return indices[..., None] // self._stride_array % self._shape_array

    def all_positions(self) -> NDArray[np.int64]:
        """Every position in the order of its index: int64 of shape ``(n_positions, n_heaps)``."""
        n_sizes = self.n_positions * self.n_heaps
        limits.check_size(n_sizes, limits.LISTED, f"heaps in all positions of {self}", "use smaller heaps")
        return self.from_index(np.arange(self.n_positions))

    def action(self, heap: int, count: int) -> int:
        """The action that takes ``count`` objects from ``heap``: the index of the pair in :attr:`moves`."""
        move = checked_integer("heap", heap), checked_integer("count", count)
        if move not in self._actions:
            raise ValueError(f"heap={heap!r}, count={count!r} is not a move of {self}; rules.moves lists them")
        return self._actions[move]

    def checked_positions(self, heaps: ArrayLike) -> NDArray[np.int64]:
        """``heaps`` as a new array, int64 of shape ``(..., n_heaps)``, if they are positions of this game.

        Each heap is an integer from 0 to its starting size; True and 1.0 are not integers.
        """
        array = checked_integers("heaps", heaps)
        if array.ndim == 0 or array.shape[-1] != self.n_heaps:
            raise ValueError(
                f"heaps must have shape (..., {self.n_heaps}), one size per heap; got shape {array.shape}"
            )
        outside = (array < 0) | (array >= self._shape_array)
        if outside.any():
            first = array[outside.any(axis=-1)][0].tolist()
            raise ValueError(f"heaps must lie between 0 and {self.heaps}; got {first}")
        return array

    def action_mask(self, heaps: ArrayLike) -> NDArray[np.int8]:
        """The legal actions: int8 of shape ``(..., n_actions)``, 1 for legal and 0 for illegal."""
        sizes = self.checked_positions(heaps).astype(self._small_counts.dtype)
        return (sizes.take(self.move_heaps, axis=-1) >= self._small_counts).view(np.int8)

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

    def is_over(self, heaps: ArrayLike) -> np.bool_ | NDArray[np.bool_]:
        """Whether all heaps are empty: bool of shape ``(...)``."""
        return ~self.checked_positions(heaps).any(axis=-1)


def _read_only(numbers: list[int]) -> NDArray[np.int64]:
    array = np.array(numbers, dtype=np.int64)
    array.flags.writeable = False
    return array


def heap_name(heap: int) -> str:
    """The letters of a heap, numbered from 0: A to Z, then AA, AB and so on, as the columns of a spreadsheet."""
    name = ""
    while heap >= 0:
        name = chr(ord("A") + heap % 26) + name
        heap = heap // 26 - 1
    return name
