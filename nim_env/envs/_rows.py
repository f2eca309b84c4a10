"""What the environments look up of the states of a board through an encoding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nim_env._internal import limits
from nim_env.board import Board, Kept, States, TabulatedBoard, shared
from nim_env.encodings import Encoding


class Row:
    """What one game looks up of its state. The arrays are shared, so an environment returns copies.

    Attributes:
        state: The state.
        heaps: The heap sizes, int64 of shape ``(n_heaps,)``.
        observation: The encoded heap sizes, an array or a NumPy number.
        action_mask: The legal actions, int8 of shape ``(n_actions,)``; all ones where the game is over.
        is_legal: The action mask as bytes, which plain Python indexes fastest.
        is_over: Whether the game is over.
        is_illegal: Whether it is over by an illegal action.
        reward: The mover's reward.
    """

    __slots__ = ("action_mask", "heaps", "is_illegal", "is_legal", "is_over", "observation", "reward", "state")

    def __init__(self, board: Board, encoding: Encoding, state: int) -> None:
        self.state = state
        self.heaps = board.heaps(state)
        self.observation = encoding.encode(self.heaps.copy())
        self.is_legal = board.legal(state, self.heaps).tobytes()
        self.action_mask: NDArray[np.int8] = np.frombuffer(self.is_legal, dtype=np.int8)
        self.is_over: bool = board.is_over(state)
        self.is_illegal = state > board.lost
        self.reward: float = board.rewards(state).item()


class Rows(Kept[Row]):
    """The rows of the states of a board; the observations of many states from a table, where it fits."""

    def __init__(self, board: Board, encoding: Encoding) -> None:
        self.board = board
        self.encoding = encoding
        super().__init__(board.rules, encoding.encode(board.heaps(board.full)).nbytes)
        is_small = board.n * math.prod(encoding.space.shape or ()) <= limits.TABULATED_NUMBERS
        self._fits = is_small and isinstance(board, TabulatedBoard)
        self._observations: NDArray[Any] | None = None

    def __reduce__(self) -> Any:
        return shared, (Rows, self.board, self.encoding)  # a copied or unpickled environment shares them

    def make(self, state: int) -> Row:
        return Row(self.board, self.encoding, state)

    def observations(self, states: States) -> NDArray[Any]:
        """The observations of some states: a new array of shape ``(n, *shape)``."""
        if not self._fits:
            return self.encoding.encode(self.board.heaps(states))
        if self._observations is None:
            self._observations = self.encoding.encode(self.board.heaps(np.arange(2 * self.board.n + 1)))
        return self._observations.take(states, axis=0)
