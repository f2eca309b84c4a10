"""What a step returns, looked up by the state of the game.

The *state* of a game is a number (:mod:`nim_env.board`). The observation, the action mask, the reward and whether
the game is over depend only on the state, so they are computed once for each state. For single games, all of them
are stored in the *row* of the state. For many games, there is a table of the observations; the board has the other
tables.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nim_env._internal import limits
from nim_env.board import Board, Kept, States, TabulatedBoard, shared
from nim_env.encodings import Encoding


class Row:
    """Everything that an environment with one game returns in a state.

    All environments of the same game and encoding share the arrays, so they return copies of them.

    Attributes:
        state: The state.
        heaps: The heap sizes, int64 of shape ``(n_heaps,)``.
        observation: The encoded heap sizes, an array or a NumPy number.
        action_mask: The legal actions, int8 of shape ``(n_actions,)``; all ones if the game is over.
        is_legal: The action mask as bytes, which Python indexes faster than an array.
        is_over: Whether the game is over.
        is_illegal: Whether an illegal action has ended the game.
        reward: The reward of the agent; in self-play, of the player who has just moved.
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
    """The row of each state of a board, and the observations of many states.

    A row is created when its state is first visited. The observations of many states come from a table, if the
    board is small enough for one.
    """

    def __init__(self, board: Board, encoding: Encoding) -> None:
        self.board = board
        self.encoding = encoding
        super().__init__(board.rules, encoding.encode(board.heaps(board.full)).nbytes)
        is_small = board.n * math.prod(encoding.space.shape or ()) <= limits.TABULATED_NUMBERS
        self._fits = is_small and isinstance(board, TabulatedBoard)
        self._observations: NDArray[Any] | None = None

    def __reduce__(self) -> Any:
        return shared, (Rows, self.board, self.encoding)  # environments that are copied or unpickled share them

    def make(self, state: int) -> Row:
        """Creates the row of a state."""
        return Row(self.board, self.encoding, state)

    def observations(self, states: States) -> NDArray[Any]:
        """The observations of ``n`` states: a new array of shape ``(n, *shape)``."""
        if not self._fits:
            return self.encoding.encode(self.board.heaps(states))
        if self._observations is None:
            self._observations = self.encoding.encode(
                self.board.heaps(np.arange(self.board.n_states, dtype=np.int64))
            )
        return self._observations.take(states.astype(np.intp, copy=False), axis=0)
