"""The opponent's half of a game: how an episode starts, and how the opponent replies.

The *state* of a game is a number (:mod:`nim_env.board`). A *reply* is the opponent's move after a move of the
agent. It changes the state of the game.

A policy is called *fixed* if it always gives the same answer to a position: a built-in policy, a table, or a
mixture of these. For a fixed policy, each state has a *list*: the states after the possible replies, with their
probabilities. The lists are created once, and each reply is drawn from one of them. Any other policy is queried at
each move.

An episode has one of four *starts*:

- ``"agent"``: the agent moves first.
- ``"opponent"``: the opponent moves first.
- ``"random"``: either of them moves first, with equal probability.
- ``"anywhere"``: the agent moves first, from a random position.
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
    """The list of one state in plain Python numbers, from which a single game draws faster.

    Attributes:
        n_slots: The number of slots. A draw chooses one of them with equal probabilities.
        states: The state of each slot.
        aliases: The other state of each slot.
        keep: The probability of the first of the two states; ``None`` if it is always 1.
    """

    n_slots: int
    states: list[int]
    aliases: list[int]
    keep: list[float] | None


class Replies(Kept[Choices]):
    """The replies of one policy on a board. In self-play there is no policy, and no replies.

    As a dictionary, it holds the :class:`Choices` of the states that single games have visited.

    Attributes:
        board: The board.
        policy: The policy, or ``None`` in self-play.
    """

    def __init__(self, board: Board, policy: Policy | None) -> None:
        super().__init__(board.rules)
        self.board = board
        self.policy = policy
        self._is_fixed = is_fixed(policy)
        self._is_opening = np.array(board.rules.offsets) != board.full  # an opening move does not end the game
        self._tables: dict[str, AliasLists] = {}  # for each start, a list for every state
        if isinstance(policy, TabularPolicy):
            # raises an error now that would otherwise occur later, in the middle of a game
            for part in chunks(board.n - 1, board.rules.n_actions, start=1):
                self._weights(np.arange(part.start, part.stop, dtype=np.int64))

    def __reduce__(self) -> Any:
        return replies_of, (self.board, self.policy)  # environments that are copied or unpickled share the lists

    def check_start(self, start: str) -> None:
        """Raises ValueError if the opponent can move first but every opening move would end the game."""
        if start in ("opponent", "random"):
            if self._is_fixed:
                self[self.board.begins]  # raises the error
            elif not self._is_opening.any():
                raise self._no_opening()

    def begin(self, start: str, rows: Rows, generator: np.random.Generator) -> int:
        """Draws the state in which the agent makes its first move, for a single game."""
        if start == "anywhere":
            return int(self.board.random(generator))
        if start == "opponent" or (start == "random" and generator.random() < 0.5):
            return self.one(self.board.begins, rows, generator)
        return self.board.full

    def one(self, state: int, rows: Rows, generator: np.random.Generator) -> int:
        """Draws the state after the reply in a single game; in the state ``begins``, after an opening move."""
        if not self._is_fixed:
            row = rows[state]
            weights = self._weights(np.int64(state), row.heaps, row.action_mask)
            return int(self._drawn(np.int64(state), weights, generator.random()))
        n_slots, states, aliases, keep = self[state]
        scaled = generator.random() * n_slots
        slot = int(scaled)
        return states[slot] if keep is None or scaled - slot < keep[slot] else aliases[slot]

    def many(self, states: States, start: str, generator: np.random.Generator) -> States:
        """The states after the replies; after ``begins``, first states. Games that are over keep their state."""
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
            uniforms[begins] = 2 * uniforms[begins] - 1  # again uniform for the opponent's move, if it starts
        if self.policy is not None:
            moving = is_moving.nonzero()[0]
            for part in chunks(len(moving), board.rules.n_actions):
                rows = moving[part]
                after[rows] = self._drawn(states[rows], self._weights(states[rows]), uniforms[rows])
        return after

    def make(self, state: int) -> Choices:
        """Creates the choices of one state. On a small board, all lists are created at once, which is faster."""
        if self.board.n * self.board.rules.n_actions <= limits.REPLIES:
            lists = self.every_list
            row = start_row(self.board, "opponent") if state == self.board.begins else state
        else:
            lists = self._lists(np.array([state], dtype=np.int64))
            row = 0
        n_slots = int(lists.counts[row])
        if not n_slots:
            raise self._no_opening()
        slots = slice(lists.first[row], lists.first[row] + n_slots)
        keep = None if lists.keep is None else lists.keep[slots].tolist()
        return Choices(n_slots, lists.items[slots].tolist(), lists.aliases[slots].tolist(), keep)

    def _weights(self, states: Any, heaps: Any = None, masks: Any = None) -> NDArray[Any]:
        """Numbers in proportion to the probabilities of the moves: an array of shape ``(..., n_actions)``."""
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
        """Draws moves in proportion to ``weights``, and returns the states after them."""
        if not weights.any(axis=-1).all():
            raise self._no_opening()
        actions = draw_equal(weights, uniforms) if weights.dtype == np.int8 else draw(weights, uniforms)
        return self.board.after_reply(states, actions)

    def _no_opening(self) -> ValueError:
        """The error for an opponent that cannot move first."""
        return ValueError(
            f"opponent={self.policy!r} cannot move first, since each of its opening moves from heaps "
            f'{self.board.rules.heaps} would end the game; pass first_player="agent"'
        )

    def _lists(self, states: States) -> AliasLists:
        """A list for each of ``states``: the states after the replies."""
        if self.policy is None:
            return _unchanged(states)
        after = self.board.after_reply
        return alias_lists(self._weights(states)).mapped(lambda rows, actions: after(states[rows], actions))

    def _table(self, start: str) -> AliasLists:
        """A list for every state. The list of ``begins`` has the first states of episodes with this start."""
        lists = self._tables.get(start)
        if lists is None:
            row = start_row(self.board, start)
            if not self.every_list.counts[row]:
                raise self._no_opening()
            lists = self._tables[start] = self.every_list.redirected(self.board.begins, row)
        return lists

    @property
    def is_joinable(self) -> bool:
        """Whether all replies to many games can be drawn from :attr:`every_list`, and it never changes."""
        return isinstance(self.board, TabulatedBoard) and is_fixed(self.policy)

    @cached_property
    def every_list(self) -> AliasLists:
        """The lists of all states, and then a list for each start: the first states of episodes."""
        board = self.board
        full = np.array([board.full], dtype=np.int64)
        in_progress = np.arange(1, board.n, dtype=np.int64)
        replies = [self._lists(in_progress[part]) for part in chunks(board.n - 1, board.rules.n_actions)]
        opened = self._lists(np.array([board.begins], dtype=np.int64))
        # full heaps have as many slots as the opening moves, so both players start equally often
        both = joined([opened.mapped(lambda _, states: np.full_like(states, board.full)), opened])
        either = AliasLists(2 * opened.counts, both.items, both.aliases, both.keep)
        anywhere = AliasLists(np.array([board.n - 1]), in_progress)
        over = np.arange(board.lost, 2 * board.n + 1, dtype=np.int64)
        starts = [_unchanged(full), opened, either, anywhere]
        return joined([_unchanged(full * 0), *replies, _unchanged(full), _unchanged(over), *starts])


class MixtureReplies(Replies):
    """The replies of a mixture, whose members and weights can change while games are in progress."""

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
        """Deletes the lists if the members or the weights have changed."""
        members = self._mixture.policies, self._mixture.weights
        if members != self._members:
            self.clear()
            self._tables.clear()
            self.__dict__.pop("every_list", None)
            self._members = members[0], members[1][:]
            self._is_fixed = all(map(is_fixed, members[0]))


def start_row(board: Board, start: str) -> int:
    """The position in :attr:`Replies.every_list` of the list of the first states of episodes with this start."""
    return 2 * board.n + 1 + STARTS.index(start)


def _unchanged(states: States) -> AliasLists:
    """A list for each of ``states`` that holds only the state itself."""
    return AliasLists(np.ones_like(states), states)


def is_fixed(policy: Any) -> bool:
    """Whether a policy always gives the same answer to a position. False for a mixture: its members can change."""
    return policy is None or (isinstance(policy, NimPolicy) and policy.is_fixed)


def replies_of(board: Board, policy: Policy | None) -> Replies:
    """The replies of a policy. Environments with the same board share them if it is fixed or a mixture."""
    if isinstance(policy, MixturePolicy):
        return shared(MixtureReplies, board, policy)
    return shared(Replies, board, policy) if is_fixed(policy) else Replies(board, policy)
