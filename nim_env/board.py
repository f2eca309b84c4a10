"""The board of a game, on which the environments play. The state of a game is a single integer.

A *state* is one number that tells the position of a game and how the game began or ended. A position has an index
(:meth:`NimRules.index`), and in a game in progress the state is this index. A few more numbers stand for games
that begin or are over. The *mover* is the agent or, in self-play, the player who has just moved. With n positions,
the states are:

==============  ===========================================================================================
1 to n - 1      The game is in progress, and the position has this index. In state n - 1 all heaps are full.
0               The mover has taken the last object.
n               A game begins. All heaps are full, and the opponent may be about to make an opening move.
n + 1           The opponent has taken the last object.
n + 1 + i       The mover has chosen an illegal action in the position of index i.
==============  ===========================================================================================

A move subtracts a constant from the index of the position (:attr:`NimRules.offsets`), so a step is a subtraction.
Everything else that an environment returns is a function of the state: the reward, whether the game is over, the
legal actions and the observation.

:class:`Board` computes these functions. For many games at once, :class:`TabulatedBoard` computes each function
only once, for all states, and then reads the results from its tables. :class:`LargeBoard` is for games with too
many positions for tables.
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
"""An array of states, or of indices of positions."""


class Board:
    """The positions and states of one game. Its methods compute what an environment has to know about a state.

    The argument ``states`` of its methods is a Python int or an int64 array of any shape ``(...)``, unless a
    method says otherwise. It is not checked.

    Args:
        rules: The game.

    Attributes:
        rules: The game.
        n_positions: The number of positions, n.
        n_states: The number of states, 2n + 1.
        full_heaps: The state in which all heaps are full and the game is in progress, n - 1.
        new_game: The state before an opening move of the opponent, n.
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
        # if the mover took the last object, in progress, if the opponent took it, after an illegal action
        self._rewards = np.array([rules.terminal_reward, 0.0, -rules.terminal_reward, -1.0])

    def __reduce__(self) -> Any:
        return shared_instance, (type(self), self.rules)  # copies and unpickled environments share the board

    def indices(self, states: Any) -> Any:
        """Returns the index of each state's position."""
        # the remainder is the index, except in the state n, where it is n and the index is n - 1
        return np.minimum(states % self.opponent_took_last, self.full_heaps, dtype=np.int64)

    def heaps(self, states: Any) -> NDArray[np.int64]:
        """Returns the heap sizes of each state, int64 of shape ``(..., n_heaps)``."""
        return self.rules.from_index(self.indices(states))

    def is_over(self, states: Any) -> Any:
        """Returns whether each game is over, bool of shape ``(...)``."""
        return (states == 0) | (states > self.new_game)

    def is_illegal(self, states: Any) -> Any:
        """Returns whether an illegal action of the mover has ended each game, bool of shape ``(...)``."""
        return states > self.opponent_took_last

    def states_after_illegal(self, indices: Any) -> Any:
        """Returns the states after illegal actions of the mover in the positions with these indices."""
        return self.opponent_took_last + indices

    def rewards(self, states: Any) -> NDArray[np.float64]:
        """Returns the mover's reward in each state, float64 of shape ``(...)``.

        The reward is 0 during a game, and 1 or -1 when the game is over. After an illegal action it is -1.
        """
        # the index is the number of these limits that a state exceeds; the 0 turns the bools into integers
        return self._rewards[0 + (states > 0) + (states > self.new_game) + (states > self.opponent_took_last)]

    def masks(self, states: States) -> NDArray[np.int8]:
        """Returns the action masks of states of shape ``(n,)``: int8 of shape ``(n, n_actions)``, 1 if legal.

        All entries are 1 if the game is over.
        """
        masks = np.empty((len(states), self.rules.n_actions), dtype=np.int8)
        for part in chunks(len(states), self.rules.n_actions):
            is_over = self.is_over(states[part]).view(np.int8)
            masks[part] = self.rules.action_mask(self.heaps(states[part])) | is_over[:, None]
        return masks

    def next_indices(self, indices: States, actions: NDArray[np.int64] | slice = slice(None)) -> States:
        """Returns the indices of the positions after legal actions.

        If ``actions`` is left out, ``indices`` must have the shape ``(n, 1)``. The result then has the shape
        ``(n, n_actions)``, with the index after every action. The numbers for illegal actions have no meaning.
        """
        return indices - self._offsets[actions]

    def next_states(self, states: States, actions: NDArray[np.int64]) -> States:
        """Returns the state of each game after the mover's action, shape ``(n,)``.

        If a game is over, its next state is ``new_game``.
        """
        indices = self.indices(states)
        is_illegal = self.masks(states)[np.arange(len(states)), actions] == 0
        after = self.next_indices(indices, actions)
        np.copyto(after, self.states_after_illegal(indices), where=is_illegal)
        np.copyto(after, self.new_game, where=self.is_over(states))
        return after

    def states_after_reply(self, states: Any, actions: NDArray[np.int64]) -> States:
        """Returns the states after legal actions of the opponent in games in progress."""
        after = self.next_indices(self.indices(states), actions)
        return np.where(after == 0, self.opponent_took_last, after)

    def sample_indices(self, generator: np.random.Generator, size: int | None = None) -> Any:
        """Draws positions uniformly from all except the empty one, and returns their indices.

        Returns an int, or int64 of shape ``(size,)`` if ``size`` is given.
        """
        return generator.integers(1, self.n_positions, size)

    def heap_sums(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
        """Returns, for each position, the sum of ``function(size)`` over its heaps.

        The sums have the shape ``(n_positions,)``, in the order of the indices. ``function`` gets an array of heap
        sizes and returns an array of the same shape. For example, ``heap_sums(lambda sizes: sizes)`` is the number
        of objects in each position.
        """
        small = np.min_scalar_type(sum(self.rules.heaps))
        sums = np.zeros(1, dtype=small)
        for size in self.rules.heaps:
            sums = np.add.outer(sums, function(np.arange(size + 1, dtype=small))).ravel()
        return sums

    def layers(self) -> Iterator[tuple[States, list[slice]]]:
        """Yields all positions except the empty one in batches ``(indices, layers)``, fewest objects first.

        ``layers`` are slices of the array ``indices``. Each layer holds positions with the same number of objects,
        so moves from these positions lead only to earlier layers or to the empty position.
        """
        totals = self.heap_sums(lambda sizes: sizes)
        order = totals.argsort(kind="stable")
        for part in chunks(self.n_positions - 1, self.rules.n_actions, start=1):
            indices = order[part]
            bounds = np.flatnonzero(np.diff(totals[indices])) + 1
            yield indices, [slice(*pair) for pair in pairwise([0, *bounds.tolist(), len(indices)])]


def _from_table(method: Any) -> Any:
    """Turns a method of :class:`Board` into one of :class:`TabulatedBoard` that reads its results from a table.

    The table has a row for each state. The new method makes it when it is first called.
    """

    @wraps(method)
    def look_up(board: TabulatedBoard, states: States) -> NDArray[Any]:
        table = board._tables.get(method)
        if table is None:
            table = board._tables[method] = method(board, np.arange(board.n_states, dtype=np.int64))
        if table.ndim == 1:
            return table[states]
        return table.take(np.asarray(states, dtype=np.intp), axis=0)  # faster for rows

    return look_up


class TabulatedBoard(Board):
    """A board for many games at once. It looks up the results of its methods in tables.

    A table has a row for each state. It is made when its method is first called.

    Args:
        rules: The game.
    """

    def __init__(self, rules: NimRules) -> None:
        super().__init__(rules)
        self._tables: dict[Any, NDArray[Any]] = {}  # the key is the method of Board
        self._n_actions = rules.n_actions
        self._has_next_states = 2 * rules.n_pairs <= limits.TABULATED_MOVES

    indices = _from_table(Board.indices)
    is_over = _from_table(Board.is_over)
    rewards = _from_table(Board.rewards)
    masks = _from_table(Board.masks)

    def next_states(self, states: States, actions: NDArray[np.int64]) -> States:
        """Returns the states after the mover's actions. In a small game they are looked up in a table."""
        if not self._has_next_states:
            return super().next_states(states, actions)
        return self._next_states[states * self._n_actions + actions]

    @cached_property
    def _next_states(self) -> States:
        states = np.arange(self.n_states, dtype=np.int64).repeat(self._n_actions)
        return super().next_states(states, np.tile(np.arange(self._n_actions), self.n_states))


def _with_last_result(method: Any) -> Any:
    """Turns a method of :class:`Board` into one of :class:`LargeBoard` that remembers its last result."""

    @wraps(method)
    def remember(board: LargeBoard, states: States) -> NDArray[Any]:
        last_states, result = board._last.get(method, (None, None))
        if not np.array_equal(last_states, states):
            result = method(board, states)
            board._last[method] = np.array(states), result
        return result.copy()

    return remember


class LargeBoard(Board):
    """A board for many games at once that has too many positions for tables.

    A step of a vector environment needs the heaps and the masks of the same states several times. So the board
    remembers the last heaps and the last masks that it has computed.

    Args:
        rules: The game.
    """

    def __init__(self, rules: NimRules) -> None:
        super().__init__(rules)
        self._last: dict[Any, Any] = {}  # by the method of Board: the last states and their result

    heaps = _with_last_result(Board.heaps)
    masks = _with_last_result(Board.masks)


def batch_board(rules: NimRules) -> Board:
    """Returns the board for many games at once. All calls with the same rules return the same object."""
    is_small = rules.n_pairs <= limits.TABULATED_PAIRS
    return shared_instance(TabulatedBoard if is_small else LargeBoard, rules)
