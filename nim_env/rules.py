"""The rules of Nim: positions, actions, transitions, indices and the terminal reward.

The other modules rely on three properties of a move:

- A move takes objects from one heap. The number of objects falls with every move, so every game ends.
- A move lowers the index of the position by a number that depends only on the action (:attr:`NimRules.offsets`).
- Every move can be played from the starting heaps, so :attr:`NimRules.moves` lists all of them.

A variant of the rules that breaks one of these properties needs changes in the solver, :mod:`nim_env.theory` and
the environments too.
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

    Two players take turns removing any number of objects from a single heap, but at least one. In normal play the
    player who takes the last object wins. In misère play that player loses.

    A *position* is an array of heap sizes, shape ``(n_heaps,)``. An *action* is an index into :attr:`moves`.

    The methods do not keep track of a game. They take positions as the argument ``heaps``, either one position or
    a batch of shape ``(..., n_heaps)``, and return new arrays. They raise ValueError if ``heaps`` is not a
    position of this game, and TypeError if it does not hold integers.

    Args:
        heaps: The starting heap sizes: non-negative integers, at least one of them positive.
        max_take: The maximum number of objects that one move can take, or ``None`` for no limit. A limit that is
            at least as large as every heap never matters, so it becomes ``None``.
        misere: Whether the player who takes the last object loses (misère play) or wins (normal play).

    Raises:
        ValueError: If there are no heaps, a size is negative, all heaps are empty, or ``max_take`` is below 1.
            Also if the game has more than a million actions, or more than 100 million pairs of a heap and an
            action.
        TypeError: If a heap size or ``max_take`` is not an integer, or ``misere`` is not a bool.

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
            raise TypeError(f"heaps must be a sequence of heap sizes, such as (1, 3, 5, 7); got {heaps!r}")
        sizes = tuple(checked_integer("heaps", size) for size in heaps)
        if not any(sizes) or min(sizes) < 0 or max(sizes) >= limits.INT64:
            raise ValueError(
                f"heaps must be non-negative integers below 2^63 - 1, at least one of them positive; got {sizes}"
            )
        limit = max(sizes) if max_take is None else checked_integer("max_take", max_take, minimum=1)
        n_actions = sum(min(size, limit) for size in sizes)
        remedy = "use smaller heaps or a smaller max_take"
        limits.check_size(n_actions, limits.ACTIONS, "actions", remedy)
        pairs = f"pairs of an action and one of {len(sizes):,} heaps"
        limits.check_size(n_actions * len(sizes), limits.HEAPS_TIMES_ACTIONS, pairs, remedy)
        object.__setattr__(self, "heaps", sizes)
        object.__setattr__(self, "max_take", None if limit >= max(sizes) else limit)  # None if it never matters
        object.__setattr__(self, "misere", checked_bool("misere", misere))

    def __reduce__(self) -> tuple[type[NimRules], tuple[tuple[int, ...], int | None, bool]]:
        return NimRules, (self.heaps, self.max_take, self.misere)  # a pickle leaves out the cached properties

    def __str__(self) -> str:
        takes = "" if self.max_take is None else f", take 1 to {self.max_take}"
        return f"Nim {position_name(self.heaps)}{takes}, {'misère' if self.misere else 'normal'} play"

    @property
    def n_heaps(self) -> int:
        """The number of heaps, including empty ones."""
        return len(self.heaps)

    @property
    def largest_take(self) -> int:
        """The largest number of objects that one move can take.

        It is ``max_take`` or, without a limit, the size of the largest heap.
        """
        return max(self.heaps) if self.max_take is None else self.max_take

    @cached_property
    def moves(self) -> tuple[tuple[int, int], ...]:
        """All moves that are legal in the starting position, as pairs ``(heap, count)``.

        A move takes ``count`` objects from the heap with the number ``heap``. The moves are in the order of the
        heaps and, for each heap, in the order of the counts. An action is an index into this tuple.
        """
        limit = self.largest_take
        return tuple(
            (heap, count) for heap, size in enumerate(self.heaps) for count in range(1, min(size, limit) + 1)
        )

    @property
    def n_actions(self) -> int:
        """The number of actions, ``len(moves)``."""
        return len(self.moves)

    @cached_property
    def move_heaps(self) -> NDArray[np.intp]:
        """The heap from which each action takes objects, as an index into ``heaps``.

        A read-only array, ``np.intp`` of shape ``(n_actions,)``.
        """
        return _read_only(np.array([heap for heap, _ in self.moves], dtype=np.intp))

    @cached_property
    def move_counts(self) -> NDArray[np.int64]:
        """The number of objects that each action takes.

        A read-only array, int64 of shape ``(n_actions,)``.
        """
        return _read_only(np.array([count for _, count in self.moves], dtype=np.int64))

    @cached_property
    def _small_counts(self) -> NDArray[Any]:
        """The numbers of :attr:`move_counts` in the smallest dtype that can hold every heap size.

        NumPy compares arrays of small integers faster.
        """
        return self.move_counts.astype(np.min_scalar_type(max(self.heaps)))

    @cached_property
    def _actions(self) -> dict[tuple[int, int], int]:
        return {move: action for action, move in enumerate(self.moves)}

    @property
    def terminal_reward(self) -> float:
        """The reward of the player who takes the last object, 1.0 in normal play and -1.0 in misère play."""
        return -1.0 if self.misere else 1.0

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The starting size of each heap plus 1, which is the shape of an array with one element per position.

        For example, ``np.zeros(rules.shape)[1, 2]`` is the element for the position ``(1, 2)``.
        """
        return tuple(size + 1 for size in self.heaps)

    @cached_property
    def n_positions(self) -> int:
        """The number of positions, including the one in which all heaps are empty. The int never overflows."""
        return math.prod(self.shape)

    @property
    def n_pairs(self) -> int:
        """The number of pairs of a position and an action, such as the entries of a table of Q-values."""
        return self.n_positions * self.n_actions

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """The factor of each heap size in the index of a position, a tuple of ``n_heaps`` integers.

        The index is the sum of ``heaps[i] * strides[i]``. The factors are the strides, counted in elements, of an
        array of :attr:`shape`. Raises ValueError if the game has more than 2⁶³ - 1 positions, since an index has
        64 bits.
        """
        limits.check_size(self.n_positions, limits.INT64, f"positions of {self}", "an index has 64 bits")
        products = accumulate(reversed(self.shape[1:]), operator.mul, initial=1)
        return tuple(reversed(list(products)))

    @cached_property
    def _stride_array(self) -> NDArray[np.int64]:
        return np.array(self.strides, dtype=np.int64)

    @cached_property
    def _shape_array(self) -> NDArray[np.int64]:
        return np.array(self.shape, dtype=np.int64)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """How much each action lowers the index of the position (:meth:`index`): a tuple of ``n_actions`` ints."""
        return tuple(count * self.strides[heap] for heap, count in self.moves)

    def index(self, heaps: ArrayLike) -> np.int64 | NDArray[np.int64]:
        """Returns the index of each position: its number in the order of :meth:`all_positions`.

        The result is int64 of shape ``(...)``. The position in which all heaps are empty has the index 0.
        """
        return self.checked_positions(heaps) @ self._stride_array

    def from_index(self, index: ArrayLike) -> NDArray[np.int64]:
        """Returns the position with each index, int64 of shape ``(..., n_heaps)``; the inverse of ``index``."""
        indices = checked_integers("index", index)
        outside = (indices < 0) | (indices >= self.n_positions)
        if outside.any():
            raise ValueError(f"index must be at least 0 and below {self.n_positions}; got {indices[outside][0]}")
        return indices[..., None] // self._stride_array % self._shape_array

    def all_positions(self) -> NDArray[np.int64]:
        """Returns all positions, int64 of shape ``(n_positions, n_heaps)``, in lexicographic order.

        Raises ValueError if the array would hold more than 100 million heap sizes (800 MB).
        """
        what = f"heaps in all positions of {self}"
        limits.check_size(self.n_positions * self.n_heaps, limits.LISTED_HEAP_SIZES, what, "use smaller heaps")
        return self.from_index(np.arange(self.n_positions))

    def action(self, heap: int, count: int) -> int:
        """Returns the action that takes ``count`` objects from ``heap``, an index into :attr:`moves`.

        Raises ValueError if this game does not have the move.
        """
        move = checked_integer("heap", heap), checked_integer("count", count)
        if move not in self._actions:
            raise ValueError(f"heap={heap!r}, count={count!r} is not a move of {self}; see rules.moves")
        return self._actions[move]

    def checked_positions(self, heaps: ArrayLike) -> NDArray[np.int64]:
        """Checks that ``heaps`` holds positions of this game, and returns them as a new array.

        The array is int64 of shape ``(..., n_heaps)``. Raises ValueError if the shape is wrong or a heap is not
        between 0 and its starting size. Raises TypeError if a heap is not an integer, such as True or 1.0.
        """
        array = checked_integers("heaps", heaps)
        if array.ndim == 0 or array.shape[-1] != self.n_heaps:
            raise ValueError(
                f"heaps must have shape (..., {self.n_heaps}), with one size per heap; got shape {array.shape}"
            )
        outside = (array < 0) | (array >= self._shape_array)
        if outside.any():
            first = array[outside.any(axis=-1)][0].tolist()
            raise ValueError(f"heaps must lie between 0 and the starting sizes {self.heaps}; got {first}")
        return array

    def action_mask(self, heaps: ArrayLike) -> NDArray[np.int8]:
        """Returns whether each action is legal in each position: int8 ones and zeros, ``(..., n_actions)``."""
        sizes = self.checked_positions(heaps).astype(self._small_counts.dtype)
        return (sizes.take(self.move_heaps, axis=-1) >= self._small_counts).view(np.int8)

    def legal_moves(self, heaps: ArrayLike) -> list[tuple[int, int]]:
        """Returns the ``(heap, count)`` pairs that are legal in one position, in the order of :attr:`moves`."""
        mask = self.action_mask(heaps)
        if mask.ndim != 1:
            raise ValueError(f"heaps must be one position of shape ({self.n_heaps},); got shape {np.shape(heaps)}")
        return [self.moves[action] for action in np.flatnonzero(mask)]

    def apply(self, heaps: ArrayLike, actions: ArrayLike) -> NDArray[np.int64]:
        """Plays an action in each position and returns the new positions, int64 of shape ``(..., n_heaps)``.

        ``actions`` has shape ``(...)`` and is broadcast against the positions. Raises ValueError if an action is
        illegal.
        """
        position = self.checked_positions(heaps)
        action = checked_integers("actions", actions)
        outside = (action < 0) | (action >= self.n_actions)
        if outside.any():
            raise ValueError(f"actions must lie between 0 and {self.n_actions - 1}; got {action[outside][0]}")
        is_heap = np.arange(self.n_heaps) == self.move_heaps[action][..., None]
        after: NDArray[np.int64] = position - self.move_counts[action][..., None] * is_heap
        if (after < 0).any():
            illegal = (after < 0).any(axis=-1)
            action = np.broadcast_to(action, illegal.shape)[illegal][0]
            before = np.broadcast_to(position, after.shape)[illegal][0]
            raise ValueError(self.illegal_action_message(int(action), before))
        return after

    def illegal_action_message(self, action: int, heaps: ArrayLike) -> str:
        """Returns the error message for an illegal action in the position ``heaps``, shape ``(n_heaps,)``."""
        heap, count = self.moves[action]
        sizes = self.checked_positions(heaps).tolist()
        legal = np.flatnonzero(self.action_mask(heaps)).tolist()
        return (
            f"action {action} (take {count} from heap {heap}) is illegal at heaps {sizes}; "
            f"the legal actions are {legal}"
        )

    def is_over(self, heaps: ArrayLike) -> np.bool_ | NDArray[np.bool_]:
        """Returns whether the game is over in each position, bool of shape ``(...)``.

        It is over if all heaps are empty.
        """
        return ~self.checked_positions(heaps).any(axis=-1)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def heap_name(heap: int) -> str:
    """Returns the name of a heap: A for heap 0, then B to Z, AA, AB and so on, as in a spreadsheet."""
    name = ""
    while heap >= 0:
        name = chr(ord("A") + heap % 26) + name
        heap = heap // 26 - 1
    return name


def position_name(heaps: Iterable[int]) -> str:
    """Returns a position as text, such as "1-3-5-7"."""
    return "-".join(map(str, heaps))
