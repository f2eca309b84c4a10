"""Which opponent plays a game: a policy, or the member of a pool that was drawn for it. It plays to the end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nim_env._internal import limits
from nim_env._internal.draws import AliasLists, joined
from nim_env.board import Board, States
from nim_env.envs._replies import STARTS, Replies, replies_of, start_row
from nim_env.policies import OpponentPool, Policy


class Source:
    """Where games that begin get their opponents: from a policy, from a pool, or in self-play from ``None``.

    Attributes:
        pool: The pool, or ``None`` if there is a policy or self-play.
        numbers: The numbers of the members, a range. A policy has the number 0.
        replies: The replies of each member, by its number.
    """

    def __init__(self, board: Board, opponent: Policy | OpponentPool | None, start: str) -> None:
        self._board = board
        self._policy = opponent if not isinstance(opponent, OpponentPool) else None
        self.pool = opponent if isinstance(opponent, OpponentPool) else None
        self.numbers = range(0)
        self.replies: dict[int, Replies] = {}
        self._start = ""  # the start that was checked last
        self.update(start)

    def update(self, start: str) -> None:
        """Takes the present members of the pool. Raises ValueError if one cannot play from this start."""
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

    def update_for_episode(self, start: str) -> None:
        """Does the same when a game begins. Raises ValueError also if no member of the pool can be drawn."""
        self.update(start)
        if self.pool is not None:
            _ = self.pool.probabilities

    def draw(self, generator: np.random.Generator, size: int | None = None) -> Any:
        """Draws the number of the opponent of one game, or of ``size`` games."""
        return 0 if self.pool is None else self.numbers.start + self.pool.draw(generator, size)


class Opponents:
    """The opponents of the games of a vector environment.

    A game that begins draws its opponent from ``source`` and keeps it to the end, even if the source is replaced
    or the pool removes it. Each opponent has a number that is never used again: its number in the source plus the
    number of opponents that earlier sources had. In the methods, ``opponents`` holds the number of each game's
    opponent, np.intp of shape ``(n,)``.

    Attributes:
        source: Where games that begin get their opponents.
        only: The replies of the policy that plays all games, or ``None`` if their opponents differ. The numbers of
            the opponents are not kept up to date while there is only one.
        has_members: Whether some opponents are members of a pool.
    """

    only: Replies | None = None

    def __init__(self, board: Board, source: Source) -> None:
        self._board = board
        self._replies: dict[int, Replies] = {}  # of the opponents that the source has or a game keeps
        self._members = np.empty(0, dtype=np.int64)  # the number of each opponent in its pool, -1 for none
        self._tables: dict[str, AliasLists | None] = {}  # by the start of the episodes
        self._first = 0  # the number of the source's opponent 0
        self.change(source, np.empty(0, dtype=np.intp))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tables": {}}  # the tables are made again

    def change(self, source: Source, opponents: NDArray[np.intp]) -> None:
        """Replaces the source of games that begin. Writes to ``opponents``."""
        if self.only is not None:
            opponents[:] = self._first
        self.source = source
        self._first = len(self._members)
        self._update(opponents)

    def members(self, opponents: NDArray[np.intp]) -> NDArray[np.int64]:
        """The number of each opponent in its pool, -1 for a policy."""
        return self._members.take(opponents)

    def many(
        self, states: States, opponents: NDArray[np.intp], start: str, generator: np.random.Generator
    ) -> tuple[States, NDArray[np.intp]]:
        """Returns the states after the replies, and the opponents, with new ones for games that begin."""
        if self.only is None:
            begins = (states == self._board.begins).nonzero()[0]
            if len(begins):
                opponents = self.begin(opponents, begins, start, generator)
        return self.replied(states, opponents, start, generator), opponents

    def begin(
        self, opponents: NDArray[np.intp], games: NDArray[np.intp], start: str, generator: np.random.Generator
    ) -> NDArray[np.intp]:
        """Returns the opponents after new ones were drawn for ``games``, which are indices."""
        self.source.update(start)
        if self._has_leavers or self.source.replies is not self._present:
            self._update(opponents)
        if self.only is None:
            opponents = opponents.copy()
            opponents[games] = self._first + self.source.draw(generator, len(games))
        return opponents

    def replied(
        self, states: States, opponents: NDArray[np.intp], start: str, generator: np.random.Generator
    ) -> States:
        """Returns the states after the replies of the opponents."""
        if self.only is not None:
            return self.only.many(states, start, generator)
        table = self._table(start)
        if table is not None:
            return table.draw(self._first_lists.take(opponents) + states, generator.random(len(states)))
        after = states.copy()
        for opponent in np.unique(opponents).tolist():
            games = (opponents == opponent).nonzero()[0]
            after[games] = self._replies[opponent].many(states[games], start, generator)
        return after

    def _update(self, opponents: NDArray[np.intp]) -> None:
        """Takes the members of the source, and forgets opponents that neither the source nor a game has."""
        present = {self._first + number: replies for number, replies in self.source.replies.items()}
        kept = {each: self._replies[each] for each in np.unique(opponents).tolist() if each in self._replies}
        new = np.arange(len(self._members) - self._first, self.source.numbers.stop)
        self._members = np.append(self._members, np.full_like(new, -1) if self.source.pool is None else new)
        self._present = self.source.replies
        self._has_leavers = not kept.keys() <= present.keys()
        self.only = None if self.source.pool or self._has_leavers else present[self._first]
        if kept.keys() | present.keys() == self._replies.keys():
            return
        self._replies = kept | present
        self.has_members = bool((self._members[list(self._replies)] >= 0).any())
        n_lists = start_row(self._board, STARTS[-1]) + 1  # of one opponent
        self._first_lists = np.zeros(len(self._members), dtype=np.intp)
        self._first_lists[list(self._replies)] = np.arange(len(self._replies)) * n_lists
        self._tables = {}

    def _table(self, start: str) -> AliasLists | None:
        """Returns the lists of all opponents, one after another.

        Returns ``None`` if some opponents are queried, or if there are too many.
        """
        if start not in self._tables:
            parts = [replies.every_list for replies in self._replies.values() if replies.is_joinable]
            is_joined = len(parts) == len(self._replies) and sum(map(len, parts)) <= limits.JOINED
            first = self._first_lists[list(self._replies)]
            begins, row = first + self._board.begins, first + start_row(self._board, start)
            self._tables[start] = joined(parts).redirected(begins, row) if is_joined else None
        return self._tables[start]
