"""Which opponent plays each game.

When a game begins, an :class:`OpponentSampler` draws its opponent: a policy, or a member of a pool. The opponent
plays to the end of the game, even if ``set_opponent`` replaces the sampler in the meantime or the pool removes the
member. In a vector environment, :class:`GameOpponents` says who plays each game.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nim_env._internal import limits
from nim_env._internal.draws import AliasLists, concatenated
from nim_env.board import Board, States
from nim_env.envs._replies import Replies, replies_of
from nim_env.envs._reply_distribution import STARTS, Start, start_index
from nim_env.policies import OpponentPool, Policy

Indices: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Opponent:
    """A policy that plays as the opponent.

    Attributes:
        replies: The object that draws the policy's replies.
        member_number: The policy's number in its pool, or -1 if it is not from a pool.
    """

    replies: Replies
    member_number: int


class OpponentSampler:
    """Draws an opponent for each game that begins: always the same policy, or a member of a pool.

    Args:
        board: The board.
        source: A policy, a pool, or ``None`` in self-play.
        start: Who moves first in an episode, as :mod:`nim_env.envs._reply_distribution` describes.

    Attributes:
        opponents: The opponents that can be drawn. :meth:`refresh` updates them.
    """

    def __init__(self, board: Board, source: Policy | OpponentPool | None, start: Start) -> None:
        self._board = board
        self._pool = source if isinstance(source, OpponentPool) else None
        self._policy = None if isinstance(source, OpponentPool) else source
        self._refreshed_for: Any = None  # the members' numbers and the start at the last refresh
        self.opponents: tuple[Opponent, ...] = ()
        self.refresh(start)

    def refresh(self, start: Start) -> None:
        """Updates :attr:`opponents`, because members can have been added to the pool or removed.

        Then checks that each opponent can play. Raises ValueError if an opponent is a table with invalid
        probabilities, or if ``start`` lets an opponent move first whose opening moves would all end the game.
        """
        numbers = range(-1, 0) if self._pool is None else self._pool.numbers
        if self._refreshed_for == (numbers, start):
            return
        policies = (self._policy,) if self._pool is None else self._pool.policies
        known = {opponent.member_number: opponent for opponent in self.opponents}
        opponents = tuple(
            known.get(number) or Opponent(replies_of(self._board, policy), number)
            for number, policy in zip(numbers, policies, strict=True)
        )
        for opponent in opponents:
            opponent.replies.check_start(start)
        self.opponents = opponents
        self._refreshed_for = numbers, start

    def draw(self, generator: Generator, size: int | None = None) -> Any:
        """Draws an index into :attr:`opponents` for one game, or indices for ``size`` games.

        Raises ValueError if no member of the pool has a positive weight.
        """
        return 0 if self._pool is None else self._pool.draw(generator, size)


class Roster:
    """All opponents of a vector environment at one time. A roster never changes; a new one replaces it.

    The *current* opponents are those that can be drawn for games that begin. The *former* opponents can no longer
    be drawn, and only finish the games that they are playing.

    Args:
        board: The board.
        former: The former opponents.
        current: The current opponents, which are those of an :class:`OpponentSampler`.

    Attributes:
        board: The board. ``former`` and ``current`` are attributes too.
        opponents: The former opponents, and then the current ones.
        member_numbers: The number of each opponent in its pool, int64, or -1 if it is not from a pool.
        has_members: Whether any of the opponents is a member of a pool.
        only_replies: The :class:`Replies` of the only opponent, or ``None`` if there are several opponents or a
            pool.
    """

    def __init__(self, board: Board, former: tuple[Opponent, ...], current: tuple[Opponent, ...]) -> None:
        self.board = board
        self.former = former
        self.current = current
        self.opponents = former + current
        self.member_numbers = np.array([opponent.member_number for opponent in self.opponents], dtype=np.int64)
        self.has_members = bool((self.member_numbers >= 0).any())
        is_single = len(current) == 1 and not former and not self.has_members
        self.only_replies = current[0].replies if is_single else None
        self._n_lists = board.n_states + len(STARTS)  # the number of lists of each opponent
        self._joined_lists: dict[Start, AliasLists | None] = {}  # the lists of all opponents, for each start

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_joined_lists": {}}  # a copy makes the lists again

    def draw_replies(self, states: States, indices: Indices, start: Start, generator: Generator) -> States:
        """Draws a reply in each game, and returns the states after them. Game i has opponent ``indices[i]``."""
        if self.only_replies is not None:
            return self.only_replies.draw_batch(states, start, generator)
        lists = self._lists(start)
        if lists is not None:
            return lists.draw(indices * self._n_lists + states, generator.random(len(states)))
        after = states.copy()
        for index in np.unique(indices).tolist():
            games = (indices == index).nonzero()[0]
            after[games] = self.opponents[index].replies.draw_batch(states[games], start, generator)
        return after

    def _lists(self, start: Start) -> AliasLists | None:
        """Returns the lists from which the replies of all opponents are drawn, joined in one object.

        The lists of the first opponent come first. With them, one call draws the replies in all games. Returns
        ``None`` if an opponent has no lists, because its policy must be queried at each move, or if all lists
        together are too large. The result is stored for later calls with the same start.
        """
        if start not in self._joined_lists:
            self._joined_lists[start] = self._join_lists(start)
        return self._joined_lists[start]

    def _join_lists(self, start: Start) -> AliasLists | None:
        parts = [opponent.replies.batch_lists for opponent in self.opponents]
        lists = [part.all_lists for part in parts if part is not None]
        if len(lists) < len(parts) or sum(map(len, lists)) > limits.JOINED_REPLIES:
            return None
        first = np.arange(len(parts)) * self._n_lists  # the first list of each opponent
        new_game = first + self.board.new_game
        return concatenated(lists).with_list_replaced(new_game, first + start_index(self.board, start))


class GameOpponents(NamedTuple):
    """The opponent of each game of a vector environment. Its methods return a new object instead of changing it.

    Attributes:
        roster: The opponents that the games can have.
        indices: The index of each game's opponent in ``roster.opponents``, np.intp of shape ``(n,)``.
    """

    roster: Roster
    indices: Indices

    def with_new_opponents(
        self, games: Indices, sampler: OpponentSampler, start: Start, generator: Generator
    ) -> GameOpponents:
        """Lets ``sampler`` draw opponents for the new games ``games``, and returns the opponents of all games."""
        sampler.refresh(start)
        roster, indices = self.with_sampler(sampler)
        indices = indices.copy()
        indices[games] = len(roster.former) + sampler.draw(generator, len(games))
        return GameOpponents(roster, indices)

    def with_sampler(self, sampler: OpponentSampler) -> GameOpponents:
        """Returns the opponents of the games after ``sampler`` has replaced the sampler of the environment.

        Each game keeps its opponent. In the new roster, the opponents of ``sampler`` are the current ones. All
        others that still play a game are the former ones.
        """
        roster = self.roster
        if not roster.former and roster.current == sampler.opponents:
            return self  # nothing has changed, as at nearly every step
        playing = [roster.opponents[index] for index in np.bincount(self.indices).nonzero()[0].tolist()]
        former = tuple(opponent for opponent in playing if opponent not in sampler.opponents)
        if former == roster.former and roster.current == sampler.opponents:
            return self
        new = Roster(roster.board, former, sampler.opponents)
        index_of = {opponent: index for index, opponent in enumerate(new.opponents)}
        # an opponent that no longer plays gets the index -1, which is never looked up
        new_indices = np.array([index_of.get(opponent, -1) for opponent in roster.opponents], dtype=np.intp)
        return GameOpponents(new, new_indices.take(self.indices))
