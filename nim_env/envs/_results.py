"""What a step returns, looked up by the state of the game.

The *state* of a game is a number (:mod:`nim_env.board`). The observation, the action mask, the reward and whether
the game is over depend only on the state, so they are computed once for each state. The environments with a single
game store them together in a :class:`StepResult`. The vector environment looks up the observations in
:class:`Observations`, and the rest in tables of :class:`nim_env.board.TabulatedBoard`.
"""

from __future__ import annotations

import math
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nim_env._internal import limits
from nim_env._internal.caching import StateCache, shared_instance
from nim_env.board import Board, States, TabulatedBoard
from nim_env.encodings import Encoding


class StepResult:
    """What a single game returns when it reaches a state.

    All environments of the same game and encoding share the arrays, and return copies to their callers.

    Attributes:
        state: The state, as :mod:`nim_env.board` numbers states.
        heaps: The heap sizes, int64 of shape ``(n_heaps,)``.
        observation: The encoded heap sizes, an array or a NumPy number.
        action_mask: The legal actions, int8 of shape ``(n_actions,)``; all ones if the game is over.
        is_legal: The action mask as bytes, which Python indexes faster than an array.
        is_over: Whether the game is over.
        is_illegal: Whether an illegal action has ended the game.
        reward: The agent's reward. In self-play, the reward of the player who has just moved.
    """

    __slots__ = ("action_mask", "heaps", "is_illegal", "is_legal", "is_over", "observation", "reward", "state")

    def __init__(self, board: Board, encoding: Encoding, state: int) -> None:
        self.state = state
        self.heaps = board.heaps(state)
        self.observation = encoding.encode(self.heaps.copy())
        self.is_over: bool = board.is_over(state)
        self.is_illegal: bool = board.is_illegal(state)
        self.reward: float = board.rewards(state).item()
        self.is_legal = (board.rules.action_mask(self.heaps) | self.is_over).tobytes()
        self.action_mask: NDArray[np.int8] = np.frombuffer(self.is_legal, dtype=np.int8)


class StepResultCache(StateCache[StepResult]):
    """A cache with the :class:`StepResult` of each state that a single game has reached so far."""

    def __init__(self, board: Board, encoding: Encoding) -> None:
        self._arguments = board, encoding
        n_bytes = encoding.encode(board.heaps(board.full_heaps)).nbytes
        n_bytes += 1_000 + 20 * (board.rules.n_heaps + board.rules.n_actions)
        super().__init__(partial(StepResult, board, encoding), n_bytes)

    def __reduce__(self) -> Any:
        return shared_instance, (StepResultCache, *self._arguments)  # copied and unpickled environments share them


class Observations:
    """Converts many states to observations at once. On a small board they are looked up in a table."""

    def __init__(self, board: Board, encoding: Encoding) -> None:
        self._board = board
        self._encoding = encoding

    def __reduce__(self) -> Any:
        return shared_instance, (Observations, self._board, self._encoding)  # copied environments share the table

    def of(self, states: States) -> NDArray[Any]:
        """Returns the observations of ``n`` states, a new array with ``n`` rows."""
        if self._table is None:
            return self._encoding.encode(self._board.heaps(states))
        return self._table.take(states.astype(np.intp, copy=False), axis=0)

    @cached_property
    def _table(self) -> NDArray[Any] | None:
        """The observations of all states, a row for each, or ``None`` if the board is too large for a table."""
        n_numbers = self._board.n_positions * math.prod(self._encoding.space.shape or ())
        if not isinstance(self._board, TabulatedBoard) or n_numbers > limits.TABULATED_NUMBERS:
            return None
        states = np.arange(self._board.n_states, dtype=np.int64)
        return self._encoding.encode(self._board.heaps(states))
