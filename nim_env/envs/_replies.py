"""The opponent's half of a game: how an episode begins, and the replies, as states of a board.

A *fixed* policy always answers a position alike: it is built in, a table, or a mixture of such. Its replies are
drawn from lists of states, which are made once. Any other policy is queried at each move.

An episode has one of four starts: the ``"agent"`` moves first, the ``"opponent"`` does, either at ``"random"``, or
the agent from a random position, ``"anywhere"``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nim_env._internal import limits
from nim_env._internal.draws import AliasLists, alias_lists, draw, draw_equal, joined
from nim_env._internal.limits import chunks
from nim_env.board import Board, Kept, States, TabulatedBoard, shared
from nim_env.envs._rows import Rows
from nim_env.policies import MixturePolicy, NimPolicy, Player, Policy, TabularPolicy
from nim_env.policies.built_in import UniformPolicy

STARTS = ("agent", "opponent", "random", "anywhere")


class Choices(NamedTuple):
    """The :class:`AliasLists` of one state in plain Python numbers, which one game draws from faster."""

    n_slots: int
    states: list[int]
    aliases: list[int]
    keep: list[float] | None


class Replies(Kept[Choices]):
    """The replies of a policy on a board; in self-play, without a policy, of nobody."""

    def __init__(self, board: Board, policy: Policy | None) -> None:
        super().__init__(board.rules)
        self.board = board
        self.policy = policy
        self._is_fixed = is_fixed(policy)
        self._is_opening = np.array(board.rules.offsets) != board.full  # a move that opens a game does not end it
        self._tables: dict[str, AliasLists] = {}  # by the start of the episodes
        if isinstance(policy, TabularPolicy):  # raises now if a row is not a distribution over legal actions
            for part in chunks(board.n - 1, board.rules.n_actions, start=1):
                self._weights(np.arange(part.start, part.stop, dtype=np.int64))

    def __reduce__(self) -> Any:
        return replies_of, (self.board, self.policy)  # a copied or unpickled environment shares them

    def check_start(self, start: str) -> None:
        """A ValueError where the opponent may start and no opening move leaves the game in progress."""
        if start in ("opponent", "random"):
            if self._is_fixed:
                self[self.board.begins]
            elif not self._is_opening.any():
                raise self._no_opening()

    def begin(self, start: str, rows: Rows, generator: np.random.Generator) -> int:
        """The first state of one game."""
        if start == "anywhere":
            return int(self.board.random(generator))
        if start == "opponent" or (start == "random" and generator.random() < 0.5):
            return self.one(self.board.begins, rows, generator)
        return self.board.full

    def one(self, state: int, rows: Rows, generator: np.random.Generator) -> int:
        """The state after the reply in a game in progress; from ``begins`` after an opening move."""
        if not self._is_fixed:
            row = rows[state]
            weights = self._weights(np.int64(state), row.heaps, row.action_mask)
            return int(self._drawn(np.int64(state), weights, generator.random()))
        n_slots, states, aliases, keep = self[state]
        scaled = generator.random() * n_slots
        slot = int(scaled)
        return states[slot] if keep is None or scaled - slot < keep[slot] else aliases[slot]

    def many(self, states: States, start: str, generator: np.random.Generator) -> States:
        """The states after the replies, from ``begins`` the first states; games that are over stay as they are."""
        uniforms = generator.random(len(states))
        if self._is_fixed and isinstance(self.board, TabulatedBoard):
            return self._table(start).draw(states, uniforms)
        board = self.board
        begins = states == board.begins
        after = np.where(begins, board.full, states)
        is_moving = (states > 0) & (states < board.n)
        if start == "anywhere":
            after[begins] = board.random(generator, int(begins.sum()))
        elif start == "opponent":
            is_moving |= begins
        elif start == "random":
            is_moving |= begins & (uniforms >= 0.5)
            uniforms[begins] = 2 * uniforms[begins] - 1  # where the opponent starts, uniform for its move
        if self.policy is not None:
            moving = is_moving.nonzero()[0]
            for part in chunks(len(moving), board.rules.n_actions):
                rows = moving[part]
                after[rows] = self._drawn(states[rows], self._weights(states[rows]), uniforms[rows])
        return after

    def make(self, state: int) -> Choices:
        """The choices in one state; on a small board those of all states are made at once, which is faster."""
        if self.board.n * self.board.rules.n_actions <= limits.REPLIES:
            lists = self.every_list
            row = start_row(self.board, "opponent") if state == self.board.begins else state
        else:
            lists = self._lists(np.array([state]))
            row = 0
        n_slots = int(lists.counts[row])
        if not n_slots:
            raise self._no_opening()
        slots = slice(lists.first[row], lists.first[row] + n_slots)
        keep = None if lists.keep is None else lists.keep[slots].tolist()
        return Choices(n_slots, lists.items[slots].tolist(), lists.aliases[slots].tolist(), keep)

    def _weights(
        self, states: Any, heaps: NDArray[np.int64] | None = None, masks: NDArray[np.int8] | None = None
    ) -> NDArray[Any]:
        """Numbers in proportion to the probabilities of the moves, shape ``(..., n_actions)``; of openings too."""
        heaps = self.board.heaps(states) if heaps is None else heaps
        masks = self.board.masks(states) if masks is None else masks
        if isinstance(self.policy, UniformPolicy) and self.policy.is_fixed:
            weights: NDArray[Any] = self.policy.support(heaps, masks)
        else:
            assert self.policy is not None
            weights = Player(self.policy, "raise").query(heaps, masks).probabilities
        opens = states == self.board.begins
        return weights * (self._is_opening | ~opens[..., None]).view(np.int8) if opens.any() else weights

    def _drawn(self, states: Any, weights: NDArray[Any], uniforms: Any) -> Any:
        """The states after moves that are drawn in proportion to the weights."""
        if not weights.any(axis=-1).all():
            raise self._no_opening()
        actions = draw_equal(weights, uniforms) if weights.dtype == np.int8 else draw(weights, uniforms)
        return self.board.after_reply(states, actions)

    def _no_opening(self) -> ValueError:
        return ValueError(
            f'use first_player="agent": opponent={self.policy!r} has no opening move from heaps '
            f"{self.board.rules.heaps} that leaves the game in progress"
        )

    def _lists(self, states: States) -> AliasLists:
        """A list for each state: the states after the moves."""
        after = self.board.after_reply
        return alias_lists(self._weights(states)).mapped(lambda rows, actions: after(states[rows], actions))

    def _table(self, start: str) -> AliasLists:
        """A list for every state; that of ``begins`` has the first states of episodes with this start."""
        lists = self._tables.get(start)
        if lists is None:
            row = start_row(self.board, start)
            if not self.every_list.counts[row]:
                raise self._no_opening()
            lists = self._tables[start] = self.every_list.redirected(self.board.begins, row)
        return lists

    @property
    def is_joinable(self) -> bool:
        """Whether :attr:`every_list` holds all that many games need, and never changes."""
        return isinstance(self.board, TabulatedBoard) and is_fixed(self.policy)

    @cached_property
    def every_list(self) -> AliasLists:
        """The lists of all states, and after them one for each start: the first states of episodes."""
        board = self.board
        full = np.array([board.full])
        in_progress = np.arange(1, board.n)
        if self.policy is None:
            replies = [_unchanged(in_progress)]
            opened = AliasLists(np.zeros_like(full), full[:0])
        else:
            replies = [self._lists(in_progress[part]) for part in chunks(board.n - 1, board.rules.n_actions)]
            opened = self._lists(np.array([board.begins]))
        # the full heaps in as many slots as the opening moves, so that both players start equally often
        both = joined([opened.mapped(lambda _, states: np.full_like(states, board.full)), opened])
        either = AliasLists(2 * opened.counts, both.items, both.aliases, both.keep)
        anywhere = AliasLists(np.array([board.n - 1]), in_progress)
        over = np.arange(board.lost, 2 * board.n + 1)
        starts = [_unchanged(full), opened, either, anywhere]
        return joined([_unchanged(full * 0), *replies, _unchanged(full), _unchanged(over), *starts])


class MixtureReplies(Replies):
    """The replies of a mixture, whose members may change while games are in progress."""

    def __init__(self, board: Board, policy: MixturePolicy) -> None:
        super().__init__(board, policy)
        self._mixture = policy
        self._members: tuple[tuple[Policy, ...], list[float]] = ((), [])

    def one(self, state: int, rows: Rows, generator: np.random.Generator) -> int:
        self._update()
        return super().one(state, rows, generator)

    def many(self, states: States, start: str, generator: np.random.Generator) -> States:
        self._update()
        return super().many(states, start, generator)

    def _update(self) -> None:
        """Forgets the lists if the members have changed."""
        members = self._mixture.policies, self._mixture.weights
        if members != self._members:
            self.clear()
            self._tables.clear()
            self.__dict__.pop("every_list", None)
            self._members = members[0], members[1][:]
            self._is_fixed = all(map(is_fixed, members[0]))


def start_row(board: Board, start: str) -> int:
    """The list of the first states of episodes with this start, in the lists of all states."""
    return 2 * board.n + 1 + STARTS.index(start)


def _unchanged(states: States) -> AliasLists:
    """Lists of which each holds its own state alone."""
    return AliasLists(np.ones_like(states), states)


def is_fixed(policy: Any) -> bool:
    """Whether a policy always answers a position alike; a mixture's members decide."""
    return policy is None or (isinstance(policy, NimPolicy) and policy.is_fixed)


def replies_of(board: Board, policy: Policy | None) -> Replies:
    """The replies of a policy, those of a fixed one and of a mixture shared by all environments of the board."""
    if isinstance(policy, MixturePolicy):
        return shared(MixtureReplies, board, policy)
    return shared(Replies, board, policy) if is_fixed(policy) else Replies(board, policy)
