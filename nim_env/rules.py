"""The rules of Nim, alone: positions, moves and transitions. No players, no randomness, no API."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

MAX_ACTIONS = 1_000_000
MAX_HEAPS = 10_000
MAX_HEAP = int(np.iinfo(np.int64).max) - 1  # so that a heap size, and the number of its values, fit an int64


@dataclass(frozen=True)
class NimRules:
    """One game of Nim: its starting heaps and what may be done with them.

    Players take turns; each takes one object or more from a single heap. In normal play whoever takes
    the last object wins; in misère play whoever takes it loses.

    A *position* is an array of heap sizes, shape ``(..., n_heaps)``: one position, or any number of
    leading dimensions. An *action* is an index into :attr:`moves`. The methods are pure: arrays in, new
    arrays out.

    Args:
        heaps: Starting heap sizes, integers of 0 or more, not all 0.
        max_take: The most objects one move may take, or ``None`` for no limit.
        misere: Whether taking the last object loses (misère play) or wins (normal play).

    Raises:
        TypeError: An argument is of the wrong kind (a boolean is not a number here, nor is 3.0).
        ValueError: No heaps, a negative one, all empty, ``max_take`` below 1, or a game of more than a
            million actions or ten thousand heaps.
    """

    heaps: tuple[int, ...] = (1, 3, 5, 7)
    max_take: int | None = None
    misere: bool = True

    def __post_init__(self) -> None:
        heaps = _heap_sizes(self.heaps)
        max_take = None if self.max_take is None else as_integer("max_take", self.max_take)
        if max_take is not None and max_take < 1:
            raise ValueError(f"max_take must be 1 or more, or None for no limit; got {max_take}")
        if not isinstance(self.misere, bool | np.bool_):
            raise TypeError(f"misere must be True or False; got {self.misere!r}")
        n_actions = sum(heaps) if max_take is None else sum(min(size, max_take) for size in heaps)
        if n_actions > MAX_ACTIONS:
            raise ValueError(
                f"heaps={_shortened(heaps)} with max_take={max_take} has {n_actions:,} actions, "
                f"more than {MAX_ACTIONS:,}; use smaller heaps or a smaller max_take"
            )
        object.__setattr__(self, "heaps", heaps)
        object.__setattr__(self, "max_take", max_take)
        object.__setattr__(self, "misere", bool(self.misere))

    def __reduce__(self) -> tuple[type[NimRules], tuple[tuple[int, ...], int | None, bool]]:
        return NimRules, (self.heaps, self.max_take, self.misere)  # what is derived is not worth storing

    @property
    def n_heaps(self) -> int:
        """The number of heaps, empty ones included."""
        return len(self.heaps)

    @cached_property
    def moves(self) -> tuple[tuple[int, int], ...]:
        """Every ``(heap, count)`` playable from the starting heaps: heap by heap, count rising."""
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
        """The heap each action takes from, shape ``(n_actions,)``, read-only."""
        return _read_only(np.array([heap for heap, _ in self.moves], dtype=np.int64))

    @cached_property
    def move_counts(self) -> NDArray[np.int64]:
        """How many objects each action takes, shape ``(n_actions,)``, read-only."""
        return _read_only(np.array([count for _, count in self.moves], dtype=np.int64))

    @cached_property
    def _actions(self) -> dict[tuple[int, int], int]:
        return {move: action for action, move in enumerate(self.moves)}

    @property
    def last_mover_wins(self) -> bool:
        """Whether whoever takes the last object wins."""
        return not self.misere

    @property
    def shape(self) -> tuple[int, ...]:
        """How many sizes each heap can have, so positions are the indices of an array of this shape."""
        return tuple(size + 1 for size in self.heaps)

    @property
    def n_positions(self) -> int:
        """The number of positions, the empty one included; exact however large."""
        return math.prod(self.shape)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """A position's index is ``sum(heaps * strides)``, last heap fastest, as in an array of :attr:`shape`."""
        products = accumulate(reversed(self.shape[1:]), operator.mul, initial=1)
        return tuple(reversed(list(products)))

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """What each action subtracts from a position's index; the empty position has index 0."""
        return tuple(count * self.strides[heap] for heap, count in self.moves)

    def action(self, heap: int, count: int) -> int:
        """The action that takes ``count`` objects from ``heap``: the inverse of :attr:`moves`.

        Raises:
            TypeError: ``heap`` or ``count`` is not an integer.
            ValueError: The pair is not a move of this game.
        """
        move = as_integer("heap", heap), as_integer("count", count)
        if move not in self._actions:
            raise ValueError(
                f"heap={move[0]}, count={move[1]} is no move of {self}; heaps are 0 to {self.n_heaps - 1}, "
                f"counts from 1 to the size of the heap{'' if self.max_take is None else ' or max_take'}"
            )
        return self._actions[move]

    def positions(self, heaps: ArrayLike) -> NDArray[np.int64]:
        """``heaps`` as a new int64 array of positions of this game, shape ``(..., n_heaps)``.

        Raises:
            TypeError: ``heaps`` holds anything but integers (booleans and whole floats included).
            ValueError: The last axis is not ``n_heaps`` long, or a heap is negative or above its start.
        """
        array = _integer_array("heaps", heaps)
        if array.ndim == 0 or array.shape[-1] != self.n_heaps:
            raise ValueError(
                f"heaps must have shape (..., {self.n_heaps}), one size per heap; got shape {array.shape}"
            )
        outside = (array < 0) | (array > np.array(self.heaps))
        if outside.any():
            first = tuple(np.argwhere(outside)[0])
            raise ValueError(
                f"heaps must lie between 0 and the starting heaps {_shortened(self.heaps)}; "
                f"got {array[first]} in heap {first[-1]}{_of(first[:-1])}"
            )
        return array

    def action_mask(self, heaps: ArrayLike) -> NDArray[np.int8]:
        """Which actions are legal: int8 ones and zeros, shape ``(..., n_actions)``.

        Raises:
            TypeError, ValueError: As :meth:`positions`.
        """
        mask: NDArray[np.int8] = (self.positions(heaps).take(self.move_heaps, axis=-1) >= self.move_counts).view(
            np.int8
        )
        return mask

    def legal_moves(self, heaps: ArrayLike) -> list[tuple[int, int]]:
        """The ``(heap, count)`` pairs that are legal in one position, in the order of :attr:`moves`.

        Raises:
            TypeError, ValueError: As :meth:`positions`; also for more than one position.
        """
        position = self.positions(heaps)
        if position.ndim != 1:
            raise ValueError(f"heaps must be one position, shape ({self.n_heaps},); got {position.shape}")
        return [self.moves[action] for action in np.flatnonzero(self.action_mask(position))]

    def apply(self, heaps: ArrayLike, actions: ArrayLike) -> NDArray[np.int64]:
        """The positions after ``actions``, int64, leading dimensions broadcast against each other.

        Raises:
            TypeError: ``heaps`` or ``actions`` holds anything but integers.
            ValueError: An action is out of range or illegal in its position, or the leading dimensions do not
                fit together.
        """
        position = self.positions(heaps)
        action = _integer_array("actions", actions)
        try:
            np.broadcast_shapes(position.shape[:-1], action.shape)
        except ValueError:
            raise ValueError(
                f"actions must have one entry for each position, shape {position.shape[:-1]}; got {action.shape}"
            ) from None
        outside = (action < 0) | (action >= self.n_actions)
        if outside.any():
            raise ValueError(f"actions must lie in 0 to {self.n_actions - 1}; got {action[outside][0]}")
        heap, count = self.move_heaps[action], self.move_counts[action]
        after: NDArray[np.int64] = position - count[..., None] * (np.arange(self.n_heaps) == heap[..., None])
        if (after < 0).any():
            first = tuple(np.argwhere((after < 0).any(axis=-1))[0])
            wrong = np.broadcast_to(action, after.shape[:-1])[first]
            before = np.broadcast_to(position, after.shape)[first]
            raise ValueError(
                f"action {wrong}, take {self.move_counts[wrong]} from heap {self.move_heaps[wrong]}, "
                f"is illegal at {before.tolist()}{_of(first)}; see action_mask(heaps)"
            )
        return after

    def is_over(self, heaps: ArrayLike) -> np.bool_ | NDArray[np.bool_]:
        """Whether nothing is left to take, booleans of shape ``(...)``.

        Raises:
            TypeError, ValueError: As :meth:`positions`.
        """
        over: np.bool_ | NDArray[np.bool_] = ~self.positions(heaps).any(axis=-1)
        return over


def as_integer(name: str, value: Any) -> int:
    """``value`` as an int if it is one (a Python or NumPy integer, or a 0-d integer array), else TypeError."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer; got {value!r}")
    return operator.index(value)


def _of(position: tuple[np.intp, ...]) -> str:
    return f" of position {', '.join(map(str, position))}" if position else ""


def _heap_sizes(heaps: Any) -> tuple[int, ...]:
    if isinstance(heaps, str | bytes) or not isinstance(heaps, Sequence | np.ndarray):
        raise TypeError(f"heaps must be a sequence of integers such as (1, 3, 5, 7); got {heaps!r}")
    if isinstance(heaps, np.ndarray) and heaps.ndim != 1:
        raise ValueError(f"heaps must be one-dimensional, one size per heap; got shape {heaps.shape}")
    if len(heaps) > MAX_HEAPS:
        raise ValueError(f"heaps must hold {MAX_HEAPS:,} sizes or fewer; got {len(heaps):,}")
    sizes = tuple(as_integer(f"heaps[{index}]", size) for index, size in enumerate(heaps))
    if not sizes or min(sizes) < 0 or max(sizes) > MAX_HEAP or not any(sizes):
        raise ValueError(
            f"heaps must hold one size or more, each 0 to {MAX_HEAP}, not all 0; got {_shortened(sizes)}"
        )
    return sizes


def _integer_array(name: str, values: ArrayLike) -> NDArray[np.int64]:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must be a regular array of integers; {error}") from None
    if array.dtype.kind == "u" or (array.dtype.kind == "O" and all(type(value) is int for value in array.flat)):
        if (abs(array) > MAX_HEAP).any():
            raise ValueError(f"{name} must lie within 64 bits; got {_shortened(values)}")
        array = array.astype(np.int64)
    holds_bool = not isinstance(values, np.ndarray) and array.size and _has_boolean(values)
    if array.dtype.kind != "i" or holds_bool:
        raise TypeError(f"{name} must hold integers alone; got {_shortened(values)}")
    return array.astype(np.int64)


def _has_boolean(values: Any) -> bool:
    # NumPy turns [True, 2] into integers, so a sequence is searched before it is trusted
    if isinstance(values, list | tuple):
        return any(_has_boolean(value) for value in values)
    return isinstance(values, bool | np.bool_)


def _read_only(array: NDArray[np.int64]) -> NDArray[np.int64]:
    array.setflags(write=False)
    return array


def _shortened(values: Any) -> str:
    text = repr(values)
    return text if len(text) <= 80 else f"{text[:77]}..."
