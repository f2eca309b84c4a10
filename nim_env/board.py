"""The board of a game: the state of a game is one number, and what is asked of it is a row of a table.

A position has an index (:meth:`NimRules.index`); a move subtracts its offset from it (:attr:`NimRules.offsets`).
The *state* of a game is the position and how the game began or ended, in one number. With n positions:

==============  ===========================================================================================
1 to n - 1      the game is in progress at the position of this index; n - 1 are the full heaps
0               the mover has taken the last object: the agent, in self-play the player who has just moved
n               the game begins: the full heaps, before an opening move of the opponent
n + 1           the opponent has taken the last object
n + 1 + i       the mover has made an illegal action at the position of index i
==============  ===========================================================================================

Reward, end and legal actions are functions of the state. A :class:`Board` computes them; for many games, a
:class:`TabulatedBoard` computes each for all states at its first call, and then looks states up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, wraps
from itertools import pairwise
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from nim_env._internal import limits
from nim_env._internal.limits import chunks
from nim_env.rules import NimRules

States = NDArray[np.int64]
_T = TypeVar("_T")


class Kept(dict[int, _T], Generic[_T]):
    """What was made for single states, by state. All of it is forgotten where it would take too much memory.

    Args:
        rules: The game.
        observation_bytes: The size of an observation.
    """

    def __init__(self, rules: NimRules, observation_bytes: int = 0) -> None:
        super().__init__()
        n_bytes = 1_000 + 20 * (rules.n_heaps + rules.n_actions) + observation_bytes
        self._max_rows = max(1, limits.KEPT_BYTES // n_bytes)

    def make(self, state: int) -> _T:
        """The row of a state."""
        raise NotImplementedError

    def __missing__(self, state: int) -> _T:
        if len(self) >= self._max_rows:
            self.clear()
        row = self[state] = self.make(state)
        return row


class Board:
    """The states of the games of one board.

    ``states`` are int64 of any shape ``(...)``, or a Python int, and are not checked.

    Args:
        rules: The game. A ValueError if it has more than 2⁶² positions.

    Attributes:
        rules: The game.
        n: The number of positions; that of states is ``2 * n + 1``.
        full: The state in which the heaps are full, ``n - 1``.
        begins: The state before an opening move, ``n``.
        lost: The state in which the opponent has taken the last object, ``n + 1``.
    """

    def __init__(self, rules: NimRules) -> None:
        limits.check_size(rules.n_positions, limits.STATES, f"positions of {rules}", "use smaller heaps")
        self.rules = rules
        self.n = rules.n_positions
        self.full = self.n - 1
        self.begins = self.n
        self.lost = self.n + 1
        self._offsets = np.array(rules.offsets)
        self._rewards = np.array([rules.terminal_reward, 0.0, -rules.terminal_reward, -1.0])

    def __reduce__(self) -> Any:
        return shared, (type(self), self.rules)  # a copied or unpickled environment shares it

    def positions(self, states: Any) -> Any:
        """The index of the position of each state."""
        return np.minimum(states % self.lost, self.full)

    def heaps(self, states: Any) -> NDArray[np.int64]:
        """The heap sizes, int64 of shape ``(..., n_heaps)``."""
        return self.rules.from_index(self.positions(states))

    def is_over(self, states: Any) -> Any:
        """Whether each game is over, bool."""
        return (states == 0) | (states > self.begins)

    def rewards(self, states: Any) -> NDArray[np.float64]:
        """The mover's reward, float64: 0 in games in progress, -1 for an illegal action."""
        return self._rewards.take(0 + (states > 0) + (states > self.begins) + (states > self.lost))

    def legal(self, states: Any, heaps: NDArray[np.int64]) -> NDArray[np.int8]:
        """The legal actions at the heap sizes, int8 ``(..., n_actions)``; all ones where a game is over."""
        return self.rules.action_mask(heaps) | np.asarray(self.is_over(states), dtype=np.int8)[..., None]

    def masks(self, states: States) -> NDArray[np.int8]:
        """The legal actions, int8 of shape ``(n, n_actions)``; all ones where the game is over."""
        masks = np.empty((len(states), self.rules.n_actions), dtype=np.int8)
        for part in chunks(len(states), self.rules.n_actions):
            masks[part] = self.legal(states[part], self.heaps(states[part]))
        return masks

    def moved(self, positions: States, actions: NDArray[np.int64] | slice = slice(None)) -> States:
        """The indices of the positions after legal actions; without ``actions`` one for each action."""
        after: States = positions - self._offsets[actions]
        return after

    def after(self, states: States, actions: NDArray[np.int64]) -> States:
        """The states after actions of the agent, shape ``(n,)``; ``begins`` in games that are over."""
        positions = self.positions(states)
        is_illegal = self.masks(states)[np.arange(len(states)), actions] == 0
        after = self.moved(positions, actions)
        np.copyto(after, positions + self.lost, where=is_illegal)
        np.copyto(after, self.begins, where=self.is_over(states))
        return after

    def after_reply(self, states: Any, actions: NDArray[np.int64]) -> States:
        """The states after legal actions of the opponent in games in progress."""
        after = self.moved(self.positions(states), actions)
        return after + (after == 0) * self.lost

    def random(self, generator: np.random.Generator, size: int | None = None) -> Any:
        """Uniformly drawn positions other than the empty one, an int or int64 of shape ``(size,)``."""
        return generator.integers(1, self.n, size)

    def heap_sums(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
        """The sum over the heaps of a function of their sizes, one for each position by its index."""
        small = np.min_scalar_type(sum(self.rules.heaps))
        sums = np.zeros(1, dtype=small)
        for size in self.rules.heaps:
            sums = np.add.outer(sums, function(np.arange(size + 1, dtype=small))).ravel()
        return sums

    def layers(self) -> Iterator[tuple[States, list[slice]]]:
        """All positions except the empty one in batches, those with fewer objects first.

        Each batch comes with slices of positions with the same number of objects. Their moves lead to earlier
        positions only.
        """
        totals = self.heap_sums(lambda sizes: sizes)
        order = totals.argsort(kind="stable")
        for part in chunks(self.n - 1, self.rules.n_actions, start=1):
            positions = order[part]
            bounds = np.flatnonzero(np.diff(totals[positions])) + 1
            yield positions, [slice(*pair) for pair in pairwise([0, *bounds.tolist(), len(positions)])]


def _looked_up(function: Any) -> Any:
    """The method that looks up what ``function`` computes for all states."""

    @wraps(function)
    def look_up(board: TabulatedBoard, states: States) -> NDArray[Any]:
        table = board.tables.get(function)
        if table is None:
            table = board.tables[function] = function(board, np.arange(2 * board.n + 1))
        return table.take(states, axis=0)

    return look_up


class TabulatedBoard(Board):
    """A board with a table of each function of states, made at its first call: for many games.

    Args:
        rules: The game.

    Attributes:
        tables: The tables, each with a row for every state, by the function of :class:`Board`.
    """

    def __init__(self, rules: NimRules) -> None:
        super().__init__(rules)
        self.tables: dict[Any, NDArray[Any]] = {}
        self._n_actions = rules.n_actions
        self._has_moves = 2 * self.n * rules.n_actions <= limits.TABULATED_MOVES

    positions = _looked_up(Board.positions)
    is_over = _looked_up(Board.is_over)
    rewards = _looked_up(Board.rewards)
    masks = _looked_up(Board.masks)

    def after(self, states: States, actions: NDArray[np.int64]) -> States:
        """The same, where it is small enough from a table of all states and actions."""
        if not self._has_moves:
            return super().after(states, actions)
        return self._moves.take(states * self._n_actions + actions)

    @cached_property
    def _moves(self) -> States:
        states = np.arange(2 * self.n + 1).repeat(self._n_actions)
        return super().after(states, np.tile(np.arange(self._n_actions), 2 * self.n + 1))


def _remembered(function: Any) -> Any:
    """The method that remembers the last answer of ``function``."""

    @wraps(function)
    def remember(board: LargeBoard, states: States) -> NDArray[Any]:
        asked, answer = board.last.get(function, (None, None))
        if not np.array_equal(asked, states):
            answer = function(board, states)
            board.last[function] = np.array(states), answer
        return answer.copy()

    return remember


class LargeBoard(Board):
    """A board without tables for many games, whose steps ask for the same states several times.

    Args:
        rules: The game.

    Attributes:
        last: The last states and their answer, by the function of :class:`Board`.
    """

    def __init__(self, rules: NimRules) -> None:
        super().__init__(rules)
        self.last: dict[Any, Any] = {}

    heaps = _remembered(Board.heaps)
    masks = _remembered(Board.masks)


def kind_for_many(rules: NimRules) -> type[Board]:
    """The fastest board for many games."""
    return TabulatedBoard if rules.n_positions * rules.n_actions <= limits.TABULATED else LargeBoard


_shared: WeakValueDictionary[Any, Any] = WeakValueDictionary()


def shared(kind: Callable[..., _T], *arguments: Any) -> _T:
    """What ``kind(*arguments)`` makes: the same object for all environments, freed with the last of them."""
    made = _shared.get((kind, *arguments))
    if made is None:
        made = _shared[(kind, *arguments)] = kind(*arguments)
    return made
