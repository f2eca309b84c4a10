"""Which opponent plays a game: a policy, or the member of a pool that was drawn for it. It plays to the end."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nim_env import _limits
from nim_env._alias import AliasLists, joined
from nim_env.board import Board, States
from nim_env.envs._replies import Replies, replies_of, start_row
from nim_env.policies import OpponentPool, Policy

Seats = NDArray[np.int64]
"""The opponent of each of many games, and its number in its pool, -1 for none: shape ``(2, n_games)``."""

NO_SEATS: Seats = np.empty((2, 0), dtype=np.int64)


class Source:
    """Where games that begin get their opponents: from a policy, from a pool, or in self-play from ``None``.

    Attributes:
        pool: The pool, if it is one.
        numbers: The number of each member, a range; a policy is number 0.
        replies: The replies of each member, by its number.
    """

    def __init__(self, board: Board, opponent: Policy | OpponentPool | None) -> None:
        self._board = board
        self._policy = None if isinstance(opponent, OpponentPool) else opponent
        self.pool = opponent if isinstance(opponent, OpponentPool) else None
        self.numbers = range(0)
        self.replies: dict[int, Replies] = {}
        self._start = ""  # the one that was checked last

    def check(self, start: str) -> None:
        """Raises now what a game with this start would raise later, and takes the pool's present members."""
        numbers = range(1) if self.pool is None else self.pool.numbers
        if numbers == self.numbers and start == self._start:
            return
        policies = (self._policy,) if self.pool is None else self.pool.policies
        replies = {}
        for number, policy in zip(numbers, policies, strict=True):
            if number in self.replies:
                replies[number] = self.replies[number]
                replies[number].check_start(start)
            else:
                replies[number] = replies_of(self._board, policy)
                replies[number].check(start)
        self.numbers = numbers
        self.replies = replies
        self._start = start

    def check_episode(self, start: str) -> None:
        """The same when a game begins: a pool needs a member that can be drawn."""
        self.check(start)
        if self.pool is not None:
            _ = self.pool.probabilities

    def draw(self, generator: np.random.Generator) -> tuple[int, Replies]:
        """The number of one game's opponent in the pool, -1 for none, and its replies."""
        if self.pool is None:
            return -1, self.replies[0]
        number = self.numbers[self.pool.draw(generator)]
        return number, self.replies[number]

    def draw_numbers(self, n: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """The numbers of the opponents of ``n`` games."""
        if self.pool is None:
            return np.zeros(n, dtype=np.int64)
        drawn: NDArray[np.int64] = self.pool.draw(generator, n) + self.numbers.start
        return drawn


class Opponents:
    """The opponents of the games of a vector environment, each a number that is never used again.

    A game that begins draws its opponent from ``source``. One in progress keeps its own, although the source has
    changed or the pool has removed it.

    Attributes:
        source: Where games that begin get their opponents.
        only: The replies of the one policy that plays all games, else ``None``. Then seats have no meaning.
    """

    def __init__(self, board: Board, source: Source) -> None:
        self._board = board
        self._replies: dict[int, Replies] = {}  # of the opponents that the source has or a game keeps
        self._next = 0  # the first number that was not used
        self._use(source, NO_SEATS)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_joined"}

    def change(self, source: Source, seats: Seats) -> None:
        """Sets the source of games that begin; ``seats`` are those of the present games, and are written to."""
        if self.only is not None:
            seats[:] = [[self._first], [-1]]
        self._use(source, seats)

    def many(
        self, states: States, seats: Seats, start: str, generator: np.random.Generator
    ) -> tuple[States, Seats]:
        """The states after the replies and the seats, new ones for games that begin."""
        if self.only is None:
            begins = (states == self._board.begins).nonzero()[0]
            if len(begins):
                seats = self.seated(seats, begins, start, generator)
        return self.replied(states, seats[0], start, generator), seats

    def seated(self, seats: Seats, games: NDArray[np.int64], start: str, generator: np.random.Generator) -> Seats:
        """The seats with a new opponent for each of ``games``, the indices of those that begin."""
        self.source.check_episode(start)
        if self.only is not None:
            return seats
        if self._has_leavers or self.source.replies is not self._present:
            self._update(seats)
        numbers = self.source.draw_numbers(len(games), generator)
        seats = seats.copy()
        seats[0, games] = numbers + self._first
        seats[1, games] = numbers if self.source.pool else -1
        return seats

    def replied(
        self, states: States, opponents: NDArray[np.int64], start: str, generator: np.random.Generator
    ) -> States:
        """The states after the replies of the ``opponents``, as :meth:`Replies.many`."""
        if self.only is not None:
            return self.only.many(states, start, generator)
        if self._joined is None:
            after = states.copy()
            for opponent in np.unique(opponents).tolist():
                games = (opponents == opponent).nonzero()[0]
                after[games] = self._replies[opponent].many(states[games], start, generator)
            return after
        lists, first_lists = self._joined
        rows = first_lists.take(opponents)
        rows += states
        rows[states == self._board.begins] += start_row(self._board, start) - self._board.begins
        return lists.draw(rows, generator.random(len(states)))

    def _use(self, source: Source, seats: Seats) -> None:
        self.source = source
        self._first = self._next  # the opponent that is number 0 of the source
        self._update(seats)

    def _update(self, seats: Seats) -> None:
        """Takes the members of the source, and forgets opponents that neither it nor a game has."""
        seated = set(np.unique(seats[0]).tolist())
        replies = {opponent: each for opponent, each in self._replies.items() if opponent in seated}
        replies |= {self._first + number: each for number, each in self.source.replies.items()}
        self._present = self.source.replies
        self._has_leavers = len(replies) > len(self._present)
        self.only = None if self.source.pool or self._has_leavers else replies[self._first]
        self._next = self._first + self.source.numbers.stop
        if replies.keys() != self._replies.keys():
            self._replies = replies
            self.__dict__.pop("_joined", None)

    @cached_property
    def _joined(self) -> tuple[AliasLists, NDArray[np.int64]] | None:
        """The lists of all opponents and the first of each; ``None`` if some are queried, or they are too many."""
        if not all(replies.is_joinable for replies in self._replies.values()):
            return None
        parts = [replies.every_list for replies in self._replies.values()]
        if sum(len(part.items) for part in parts) > _limits.JOINED:
            return None
        first_lists = np.zeros(self._next, dtype=np.int64)
        first_lists[list(self._replies)] = np.arange(len(parts)) * len(parts[0].counts)
        return joined(parts), first_lists
