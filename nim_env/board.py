"""The state of a game as a single integer, and everything that an environment needs to know about it.

While a game is in progress, its *state* is the index of its position (:meth:`NimRules.index`). Other integers
stand for games that have not begun and for games that are over. The *mover* is the agent or, in self-play, the
player who has just moved. In a game with n positions, the states are:

==============  ===========================================================================================
1 to n - 1      The game is in progress. The state is the index of its position: n - 1 if all heaps are full.
0               The mover has taken the last object.
n               The game has not begun: all heaps are full, and the opponent can still make an opening move.
n + 1           The opponent has taken the last object.
n + 1 + i       The mover has chosen an illegal action in the position of index i.
==============  ===========================================================================================

A move subtracts a constant from the index of the position (:attr:`NimRules.offsets`), so a step is a subtraction.
Everything else that an environment returns depends only on the state: the reward, whether the game is over, the
legal actions and the observation.

:class:`Board` computes the reward and the other facts about a state. For many games at once,
:class:`TabulatedBoard` looks them up in tables. :class:`LargeBoard` is for games that are too large for tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, wraps
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nim_env._internal import limits
from nim_env._internal.caching import shared_instance
from nim_env._internal.limits import chunks
from nim_env.rules import NimRules

States = NDArray[np.int64]
"""An array of states of games, or of indices of positions."""


class Board:
    """Computes what an environment needs to know about states of a game, such as the heaps or the reward.

    A *state* is an integer: the index of the position while the game is in progress, and another number before it
    begins and when it is over. The module's docstring lists all states. The *mover* is the agent or, in self-play,
    the player who has just moved.

    The argument ``states`` of the methods is a Python int or an int64 array of any shape ``(...)``, unless a
    method says otherwise. It is not checked.

    Args:
        rules: The game.

    Attributes:
        rules: The game.
        n_positions: The number of positions, n.
        n_states: The number of states, 2n + 1.
        full_heaps: The state of a game in progress in which all heaps are full, n - 1.
        new_game: The state of a game that has not begun, n. All heaps are full, and the opponent can still make an
            opening move.
        opponent_took_last: The state in which the opponent has taken the last object, n + 1.

    Raises:
        ValueError: If the game has more than 2⁶¹ positions.
    """

    def __init__(self, rules: NimRules) -> None:
        limits.check_size(rules.n_positions, limits.BOARD_POSITIONS, f"positions of {rules}", "use smaller heaps")
        self.rules = rules
        n = rules.n_positions
        self.n_positions = n
        self.n_states = 2 * n + 1
        self.full_heaps = n - 1
        self.new_game = n
        self.opponent_took_last = n + 1
        self._offsets = np.array(rules.offsets, dtype=np.int64)
        # after the mover took the last object, in progress, after the opponent took it, after an illegal action
        self._rewards = np.array([rules.terminal_reward, 0.0, -rules.terminal_reward, -1.0])

    def __reduce__(self) -> Any:
        return shared_instance, (type(self), self.rules)  # copies and unpickled environments share the board

    def indices(self, states: Any) -> Any:
        """Returns the index of the position in each state (:meth:`NimRules.index`), int64 of shape ``(...)``."""
        # the remainder is the index of the position, except in the state n, whose position has the index n - 1
        return np.minimum(states % self.opponent_took_last, self.full_heaps, dtype=np.int64)

    def heaps(self, states: Any) -> NDArray[np.int64]:
        """Returns the heap sizes in each state, int64 of shape ``(..., n_heaps)``."""
        return self.rules.from_index(self.indices(states))

    def is_over(self, states: Any) -> Any:
        """Returns whether the game is over in each state, bool of shape ``(...)``."""
        return (states == 0) | (states > self.new_game)

    def is_illegal(self, states: Any) -> Any:
        """Returns whether each game has ended by an illegal action of the mover, bool of shape ``(...)``."""
        return states > self.opponent_took_last

    def states_after_illegal(self, indices: Any) -> Any:
        """Returns the states of games that have ended by an illegal action of the mover, shape ``(...)``.

        ``indices`` holds the index of the position in which each action was chosen.
        """
        return self.opponent_took_last + indices

    def rewards(self, states: Any) -> NDArray[np.float64]:
        """Returns the mover's reward for reaching each state, float64 of shape ``(...)``.

        It is 1 after a win, -1 after a loss, and 0 while the game is in progress.
        """
        # each condition that holds adds 1 to the index in the four rewards; the 0 turns the bools into integers
        return self._rewards[0 + (states > 0) + (states > self.new_game) + (states > self.opponent_took_last)]

    def masks(self, states: States) -> NDArray[np.int8]:
        """Returns whether each action is legal in each of ``n`` states: int8 ones and zeros, ``(n, n_actions)``.

        If the game is over, its row has only ones, since the next action is ignored.
        """
        masks = np.empty((len(states), self.rules.n_actions), dtype=np.int8)
        for part in chunks(len(states), self.rules.n_actions):
            is_over = self.is_over(states[part]).view(np.int8)
            masks[part] = self.rules.action_mask(self.heaps(states[part])) | is_over[:, None]
        return masks

    def next_indices(self, indices: States, actions: NDArray[np.int64] | slice = slice(None)) -> States:
        """Plays an action in each position and returns the indices of the new positions.

        ``indices`` holds the indices of the positions, and ``actions`` has the same shape. To play every action in
        each of ``n`` positions, leave ``actions`` out and pass indices of shape ``(n, 1)``. The result then has
        the shape ``(n, n_actions)``. The results for illegal actions have no meaning.
        """
        return indices - self._offsets[actions]

    def next_states(self, states: States, actions: NDArray[np.int64]) -> States:
        """Returns the state of each of ``n`` games after the mover's action, shape ``(n,)``.

        An illegal action ends the game. If a game is over, its next step begins a new game: the action is ignored,
        and the next state is ``new_game``.
        """
        indices = self.indices(states)
        is_illegal = self.masks(states)[np.arange(len(states)), actions] == 0
        after = self.next_indices(indices, actions)
        np.copyto(after, self.states_after_illegal(indices), where=is_illegal)
        np.copyto(after, self.new_game, where=self.is_over(states))
        return after

    def states_after_reply(self, states: Any, actions: NDArray[np.int64]) -> States:
        """Returns the state of each game after a legal action of the opponent, shape ``(...)``.

        The games must be in progress, or in the state ``new_game``.
        """
        after = self.next_indices(self.indices(states), actions)
        return np.where(after == 0, self.opponent_took_last, after)

    def sample_indices(self, generator: np.random.Generator, size: int | None = None) -> Any:
        """Draws positions uniformly from all positions with at least one object, and returns their indices.

        Returns one int, or an int64 array of shape ``(size,)`` if ``size`` is given.
        """
        return generator.integers(1, self.n_positions, size)

    def heap_sums(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
        """Returns the sum of ``function(size)`` over the heaps of each position, shape ``(n_positions,)``.

        The sums are in the order of the positions' indices. ``function`` gets an array of heap sizes and returns
        an array of the same shape. For example, ``heap_sums(lambda sizes: sizes)`` returns the number of objects
        in each position.
        """
        small = np.min_scalar_type(sum(self.rules.heaps))
        sums = np.zeros(1, dtype=small)
        for size in self.rules.heaps:
            sums = np.add.outer(sums, function(np.arange(size + 1, dtype=small))).ravel()
        return sums

    def layers(self) -> Iterator[tuple[States, list[slice]]]:
        """Yields all positions with at least one object in batches, those with the fewest objects first.

        A batch is a pair ``(indices, slices)``: the indices of its positions, and slices that split this array
        into *layers*. All positions of a layer have the same number of objects, so their moves lead only to
        earlier layers or to the position without objects.
        """
        totals = self.heap_sums(lambda sizes: sizes)
        order = totals.argsort(kind="stable")
        for part in chunks(self.n_positions - 1, self.rules.n_actions, start=1):
            indices = order[part]
            bounds = np.flatnonzero(np.diff(totals[indices])) + 1
            yield indices, [slice(*pair) for pair in pairwise([0, *bounds.tolist(), len(indices)])]


def _from_table(method: Any) -> Any:
    """Wraps a method of :class:`Board` so that it looks its results up in a table, for :class:`TabulatedBoard`.

    The table has a row for each state. The first call computes the whole table with the wrapped method.
    """

    @wraps(method)
    def look_up(board: TabulatedBoard, states: States) -> NDArray[Any]:
        table = board._tables.get(method)
        if table is None:
            table = board._tables[method] = method(board, np.arange(board.n_states, dtype=np.int64))
        if table.ndim == 1:
            return table[states]
        return table.take(np.asarray(states, dtype=np.intp), axis=0)  # faster than table[states] here

    return look_up


class TabulatedBoard(Board):
    """A board for many games at once, whose methods look their results up in tables, with a row for each state."""

    def __init__(self, rules: NimRules) -> None:
        super().__init__(rules)
        self._tables: dict[Any, NDArray[Any]] = {}  # the tables, by the methods of Board
        self._n_actions = rules.n_actions
        self._has_next_states = 2 * rules.n_pairs <= limits.TABULATED_MOVES

    indices = _from_table(Board.indices)
    is_over = _from_table(Board.is_over)
    rewards = _from_table(Board.rewards)
    masks = _from_table(Board.masks)

    def next_states(self, states: States, actions: NDArray[np.int64]) -> States:
        """Returns the state after each action, as :meth:`Board.next_states` does, in small games from a table."""
        if not self._has_next_states:
            return super().next_states(states, actions)
        return self._next_states[states * self._n_actions + actions]

    @cached_property
    def _next_states(self) -> States:
        states = np.arange(self.n_states, dtype=np.int64).repeat(self._n_actions)
        return super().next_states(states, np.tile(np.arange(self._n_actions), self.n_states))


def _with_last_result(method: Any) -> Any:
    """Wraps a method of :class:`Board` so that it caches its last result, for :class:`LargeBoard`.

    If the next call passes the same states, a copy of this result is returned instead of computing it again.
    """

    @wraps(method)
    def remember(board: LargeBoard, states: States) -> NDArray[Any]:
        last_states, result = board._last.get(method, (None, None))
        if not np.array_equal(last_states, states):
            result = method(board, states)
            board._last[method] = np.array(states), result
        return result.copy()

    return remember


class LargeBoard(Board):
    """A board for many games at once, for rules with too many positions for tables.

    A step of a vector environment asks for the heaps and the masks of the same states several times. So this board
    caches the last heaps and the last masks that it has computed.

    Args:
        rules: The game.
    """

    def __init__(self, rules: NimRules) -> None:
        super().__init__(rules)
        self._last: dict[Any, Any] = {}  # the last states and their result, by the methods of Board

    heaps = _with_last_result(Board.heaps)
    masks = _with_last_result(Board.masks)


def batch_board(rules: NimRules) -> Board:
    """Returns the board for playing many games of these rules at once.

    The board has tables if the game is small enough. All calls with equal rules return the same object.
    """
    is_small = rules.n_pairs <= limits.TABULATED_PAIRS
    return shared_instance(TabulatedBoard if is_small else LargeBoard, rules)
