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
        pool: The pool, if it is one.
        numbers: The number of each member, a range; a policy is number 0.
        replies: The replies of each member, by its number.
    """

    def __init__(self, board: Board, opponent: Policy | OpponentPool | None) -> None:
        self._board = board
        self.pool = opponent if isinstance(opponent, OpponentPool) else None
        self._policy = None if isinstance(opponent, OpponentPool) else opponent
        self.numbers = range(0)
        self.replies: dict[int, Replies] = {}
        self._start = ""  # the one that was checked last

    def check(self, start: str) -> None:
        """Raises now what a game with this start would raise later, and takes the pool's present members."""
        if start == self._start and (self.pool is None or self.pool.numbers == self.numbers):
            return
        policies = {0: self._policy}
        if self.pool is not None:
            policies = dict(zip(self.pool.numbers, self.pool.policies, strict=True))
        replies = {}
        for number, policy in policies.items():
            known = self.replies.get(number)
            replies[number] = replies_of(self._board, policy) if known is None else known
            if known is None:
                replies[number].check(start)
            else:
                known.check_start(start)
        self.numbers = range(1) if self.pool is None else self.pool.numbers
        self.replies = replies
        self._start = start

    def check_episode(self, start: str) -> None:
        """The same when a game begins: a pool needs a member that can be drawn."""
        self.check(start)
        if self.pool is not None:
            _ = self.pool.probabilities

    def draw(self, generator: np.random.Generator, size: int | None = None) -> Any:
        """The number of the opponent of one game, or of ``size`` games; 0 is a policy."""
        return 0 if self.pool is None else self.numbers.start + self.pool.draw(generator, size)


class Opponents:
    """The opponents of the games of a vector environment, each a number that is never used again.

    A game that begins draws its opponent from ``source``. One in progress keeps its own, although the source has
    changed or the pool has removed it. ``opponents`` are those of all games, int64 of shape ``(n,)``.

    Attributes:
        source: Where games that begin get their opponents.
        only: The replies of the one policy that plays all games, else ``None``. Then ``opponents`` mean nothing.
    """

    only: Replies | None = None

    def __init__(self, board: Board, source: Source) -> None:
        self._board = board
        self._replies: dict[int, Replies] = {}  # of the opponents that the source has or a game keeps
        self._members = np.empty(0, dtype=np.int64)  # the number of each opponent in its pool, -1 for none
        self._tables: dict[str, AliasLists | None] = {}  # by the start of the episodes
        self._first = 0  # the opponent that is number 0 of the source
        self.change(source, self._members)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tables": {}}  # which are made again

    def change(self, source: Source, opponents: NDArray[np.int64]) -> None:
        """Sets the source of games that begin; ``opponents`` are those of all games, and are written to."""
        if self.only is not None:
            opponents[:] = self._first
        self.source = source
        self._first = len(self._members)
        self._update(opponents)

    def infos(self, opponents: NDArray[np.int64], is_new: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        """The number of each opponent in its pool, -1 for none; nothing if all come from policies."""
        if self.source.pool is not None and not self._has_leavers:
            return {"opponent": opponents - self._first, "_opponent": is_new.copy()}
        members = self._members.take(opponents)
        return {"opponent": members, "_opponent": is_new & (members >= 0)} if members.max() >= 0 else {}

    def many(
        self, states: States, opponents: NDArray[np.int64], start: str, generator: np.random.Generator
    ) -> tuple[States, NDArray[np.int64]]:
        """The states after the replies, and the opponents, new ones in games that begin."""
        if self.only is not None:
            return self.only.many(states, start, generator), opponents
        begins = (states == self._board.begins).nonzero()[0]
        if len(begins):
            opponents = self.begin(opponents, begins, start, generator)
        return self.replied(states, opponents, start, generator), opponents

    def begin(
        self, opponents: NDArray[np.int64], games: NDArray[np.int64], start: str, generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """The opponents after new ones were drawn for ``games``, indices."""
        self.source.check(start)
        if self._has_leavers or self.source.replies is not self._present:
            self._update(opponents)
        if self.only is None:
            opponents = opponents.copy()
            opponents[games] = self._first + self.source.draw(generator, len(games))
        return opponents

    def replied(
        self, states: States, opponents: NDArray[np.int64], start: str, generator: np.random.Generator
    ) -> States:
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

    def _update(self, opponents: NDArray[np.int64]) -> None:
        """Takes the members of the source, and forgets opponents that neither it nor a game has."""
        present = {self._first + number: replies for number, replies in self.source.replies.items()}
        seated = {each: self._replies[each] for each in np.unique(opponents).tolist() if each in self._replies}
        self._present = self.source.replies
        self._has_leavers = not seated.keys() <= present.keys()
        self.only = None if self.source.pool or self._has_leavers else present[self._first]
        if seated.keys() | present.keys() != self._replies.keys():
            self._replies = seated | present
            new = np.arange(len(self._members) - self._first, self.source.numbers.stop)
            self._members = np.append(self._members, new if self.source.pool else np.full_like(new, -1))
            n_lists = start_row(self._board, STARTS[-1]) + 1  # of one opponent
            self._first_lists = np.zeros(len(self._members), dtype=np.int64)
            self._first_lists[list(self._replies)] = np.arange(len(self._replies)) * n_lists
            self._tables = {}

    def _table(self, start: str) -> AliasLists | None:
        """The lists of all opponents in turn; ``None`` if some are queried, or they are too many."""
        if start not in self._tables:
            parts = [replies.every_list for replies in self._replies.values() if replies.is_joinable]
            is_joined = len(parts) == len(self._replies) and sum(map(len, parts)) <= limits.JOINED
            first = self._first_lists[list(self._replies)]
            begins, row = first + self._board.begins, first + start_row(self._board, start)
            self._tables[start] = joined(parts).redirected(begins, row) if is_joined else None
        return self._tables[start]
