"""Which opponent plays each game.

A game that begins gets its opponent from a *source*: the opponent is a policy, or a member of a pool that is drawn
for this game. It plays to the end of the game, even if ``set_opponent`` replaces the source in the meantime or the
pool removes the member.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nim_env._internal import limits
from nim_env._internal.draws import AliasLists, joined
from nim_env.board import Board, States
from nim_env.envs._replies import STARTS, Replies, replies_of, start_row
from nim_env.policies import OpponentPool, Policy

Indices: TypeAlias = NDArray[np.intp]


class Source:
    """The source of the opponents of games that begin: a policy, a pool, or ``None`` in self-play.

    Each opponent has a number: a member of a pool has its number in the pool, and a policy is number 0.

    Attributes:
        pool: The pool, or ``None`` if the source is a policy.
        numbers: The numbers of all opponents of the source, as of the last check.
        replies: The replies of each opponent, by its number.
    """

    def __init__(self, board: Board, opponent: Policy | OpponentPool | None, start: str) -> None:
        self._board = board
        self.pool = opponent if isinstance(opponent, OpponentPool) else None
        self._policy = None if isinstance(opponent, OpponentPool) else opponent
        self.numbers = range(0)
        self.replies: dict[int, Replies] = {}
        self._start = ""  # the start of the last check
        self.check(start)

    def check(self, start: str) -> None:
        """Adopts changes of the pool, and checks that all opponents can play games with this start.

        Raises ValueError if the table of an opponent has an invalid row, or if an opponent cannot move first.
        """
        numbers = range(1) if self.pool is None else self.pool.numbers
        if start == self._start and numbers == self.numbers:
            return
        policies = (self._policy,) if self.pool is None else self.pool.policies
        replies = {
            number: self.replies[number] if number in self.replies else replies_of(self._board, policy)
            for number, policy in zip(numbers, policies, strict=True)
        }
        for each in replies.values():
            each.check_start(start)
        self.numbers = numbers
        self.replies = replies
        self._start = start

    def check_episode(self, start: str) -> None:
        """The same, and raises ValueError if no member of the pool has a positive weight."""
        self.check(start)
        if self.pool is not None:
            _ = self.pool.probabilities

    def draw(self, generator: Generator, size: int | None = None) -> Any:
        """Draws the number of the opponent of one game, or of ``size`` games."""
        return 0 if self.pool is None else self.numbers.start + self.pool.draw(generator, size)


class Opponents:
    """The opponents of the games of a vector environment.

    Games can have opponents from an earlier source, so every opponent gets a number here that is never used again.
    Several methods take or return ``opponents``, the number of the opponent of each game: np.intp, shape ``(n,)``.

    Attributes:
        source: The source of the opponents of games that begin.
        only: If a single policy plays all games, its replies, and ``opponents`` are not used. Otherwise ``None``.
        has_members: Whether an opponent that is in the source or plays a game is a member of a pool.
    """

    only: Replies | None = None

    def __init__(self, board: Board, source: Source) -> None:
        self._board = board
        self._replies: dict[int, Replies] = {}  # of each opponent that is in the source or plays a game
        self._members = np.empty(0, dtype=np.int64)  # the number of each opponent in its pool, -1 for a policy
        self._tables: dict[str, AliasLists | None] = {}  # for each start, the lists of all opponents
        self._first = 0  # the opponent whose number in the source is 0
        self.change(source, np.empty(0, dtype=np.intp))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tables": {}}  # the tables are created again

    def change(self, source: Source, opponents: Indices) -> None:
        """Replaces the source. Writes the present opponents of all games to ``opponents``."""
        if self.only is not None:
            opponents[:] = self._first
        self.source = source
        self._first = len(self._members)
        self._update(opponents)

    def members(self, opponents: Indices) -> NDArray[np.int64]:
        """The number of each opponent in its pool, -1 for a policy."""
        return self._members.take(opponents)

    def many(self, states: States, opponents: Indices, start: str, generator: Generator) -> tuple[States, Indices]:
        """Lets the opponents reply in many games, and draws new opponents for those that begin.

        Returns the states after the replies, and the opponents.
        """
        if self.only is None:
            begins = (states == self._board.begins).nonzero()[0]
            if len(begins):
                opponents = self.begin(opponents, begins, start, generator)
        return self.replied(states, opponents, start, generator), opponents

    def begin(self, opponents: Indices, games: Indices, start: str, generator: Generator) -> Indices:
        """Draws new opponents for ``games``, which are indices. Returns the opponents of all games."""
        self.source.check(start)
        if self._has_leavers or self.source.replies is not self._present:
            self._update(opponents)
        if self.only is None:
            opponents = opponents.copy()
            opponents[games] = self._first + self.source.draw(generator, len(games))
        return opponents

    def replied(self, states: States, opponents: Indices, start: str, generator: Generator) -> States:
        """The states after the replies of the opponents."""
        if self.only is not None:
            return self.only.many(states, start, generator)
        table = self._table(start)
        if table is not None:
            lists = self._first_lists.take(opponents)
            lists += states
            return table.draw(lists, generator.random(len(states)))
        after = states.copy()
        for opponent in np.unique(opponents).tolist():
            games = (opponents == opponent).nonzero()[0]
            after[games] = self._replies[opponent].many(states[games], start, generator)
        return after

    def _update(self, opponents: Indices) -> None:
        """Adds the new opponents of the source, and deletes those that are not in the source and play no game."""
        present = {self._first + number: replies for number, replies in self.source.replies.items()}
        seated = {each: self._replies[each] for each in np.unique(opponents).tolist() if each in self._replies}
        self._present = self.source.replies
        self._has_leavers = not seated.keys() <= present.keys()
        self.only = None if self.source.pool or self._has_leavers else present[self._first]
        if seated.keys() | present.keys() != self._replies.keys():
            self._replies = seated | present
            new = np.arange(len(self._members) - self._first, self.source.numbers.stop)
            self._members = np.append(self._members, new if self.source.pool else np.full_like(new, -1))
            self.has_members = bool((self._members[list(self._replies)] >= 0).any())
            n_lists = start_row(self._board, STARTS[-1]) + 1  # for each opponent
            self._first_lists = np.zeros(len(self._members), dtype=np.int64)
            self._first_lists[list(self._replies)] = np.arange(len(self._replies), dtype=np.int64) * n_lists
            self._tables = {}

    def _table(self, start: str) -> AliasLists | None:
        """The lists of all opponents, joined; ``None`` if an opponent is queried or the lists are too large."""
        if start not in self._tables:
            parts = [replies.every_list for replies in self._replies.values() if replies.is_joinable]
            is_joined = len(parts) == len(self._replies) and sum(map(len, parts)) <= limits.JOINED
            first = self._first_lists[list(self._replies)]
            begins, row = first + self._board.begins, first + start_row(self._board, start)
            self._tables[start] = joined(parts).redirected(begins, row) if is_joined else None
        return self._tables[start]
