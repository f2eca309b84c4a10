"""The observations of a board's states through an encoding: those of many games from a table, where it fits."""

from __future__ import annotations

import math
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from nim_env import _limits
from nim_env.board import Board, Kept, States, TabulatedBoard
from nim_env.encodings import Encoding


class Observations(Kept[NDArray[Any]]):
    """The encoded heap sizes: ``observations[state]`` is shared, ``observations.of(states)`` a new array."""

    def __init__(self, board: Board, encoding: Encoding) -> None:
        self._board = board
        self._encoding = encoding
        super().__init__(board.rules, encoding.encode(board.heaps(board.full)).nbytes)
        is_small = board.n * math.prod(encoding.space.shape or ()) <= _limits.TABULATED_NUMBERS
        self._fits = is_small and isinstance(board, TabulatedBoard)
        self._table: NDArray[Any] | None = None

    def __reduce__(self) -> Any:
        return observations_of, (self._board, self._encoding)  # a copied or unpickled environment shares them

    def make(self, state: int) -> NDArray[Any]:
        """The observation of one state, an array or a NumPy number."""
        return self._encoding.encode(self._board[state].heaps.copy())

    def of(self, states: States) -> NDArray[Any]:
        """The observations of some states, shape ``(n, *shape)``."""
        if not self._fits:
            return self._encoding.encode(self._board.heaps(states))
        if self._table is None:
            self._table = self._encoding.encode(self._board.heaps(np.arange(2 * self._board.n + 1)))
        return self._table.take(states, axis=0)


_observations: WeakValueDictionary[Any, Observations] = WeakValueDictionary()


def observations_of(board: Board, encoding: Encoding) -> Observations:
    """The observations of a board, shared by its environments with the same encoding."""
    key = board.rules, type(board), encoding
    observations = _observations.get(key)
    if observations is None:
        observations = _observations[key] = Observations(board, encoding)
    return observations
