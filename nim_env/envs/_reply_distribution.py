"""The distribution of an opponent's replies, and the lists from which replies are drawn fast.

An episode has one of four *starts*, which determine the state in which the agent makes its first move:

- ``"agent"``: the agent moves first.
- ``"opponent"``: the opponent moves first.
- ``"random_player"``: either of them moves first, with equal probability.
- ``"random_position"``: the agent moves first, from a random position.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from nim_env._internal import limits
from nim_env._internal.draws import AliasLists, alias_lists, concatenated, draw, draw_uniformly
from nim_env._internal.limits import chunks
from nim_env.board import Board, States
from nim_env.policies import Player, Policy
from nim_env.policies.built_in import UniformPolicy

Start: TypeAlias = Literal["agent", "opponent", "random_player", "random_position"]
STARTS: tuple[Start, ...] = get_args(Start)


class ReplyList(NamedTuple):
    """A list from which a single game draws the state after the opponent's reply.

    To draw a state, choose one of the slots uniformly. The result is the slot's state with the probability
    ``keep``, and otherwise its alias (the alias method, as in :class:`~nim_env._internal.draws.AliasLists`). All
    numbers are plain Python numbers, which is faster.

    Attributes:
        n_slots: The number of slots.
        states: The state of each slot.
        aliases: The alias of each slot, which is a state too.
        keep: The probability of each slot's state, or ``None`` if all are 1.
    """

    n_slots: int
    states: list[int]
    aliases: list[int]
    keep: list[float] | None


class ReplyDistribution:
    """The probabilities of an opponent's replies on a board. They come from queries to its policy.

    In the state ``new_game``, in which a game begins, the reply is an opening move. Opening moves that would end
    the game get the probability 0.

    Attributes:
        board: The board.
        policy: The policy, or ``None`` in self-play, in which there is no opponent.
        is_opening: Whether each action is an opening move that does not end the game, bool of shape
            ``(n_actions,)``.
    """

    def __init__(self, board: Board, policy: Policy | None) -> None:
        self.board = board
        self.policy: Any = policy
        self.is_opening = np.array(board.rules.offsets) != board.full_heaps

    def weights(self, states: Any, heaps: Any = None, masks: Any = None) -> NDArray[Any]:
        """Returns weights in proportion to the probabilities of the replies in ``states``: ``(..., n_actions)``.

        The heap sizes and the action masks of the states are computed if they are not given.
        """
        heaps = self.board.heaps(states) if heaps is None else heaps
        masks = self.board.masks(states) if masks is None else masks
        if isinstance(self.policy, UniformPolicy) and self.policy.is_fixed:
            weights: NDArray[Any] = self.policy.support(heaps, masks)
        else:
            weights = Player(self.policy, "raise").query(heaps, masks).probabilities
        weights[states == self.board.new_game] *= self.is_opening
        return weights

    def draw(self, states: Any, uniforms: Any, heaps: Any = None, masks: Any = None) -> Any:
        """Draws a reply in each of ``states``, and returns the states after the replies.

        ``uniforms`` are random numbers from [0, 1), one for each state. The other arguments are the same as for
        :meth:`weights`.
        """
        weights = self.weights(states, heaps, masks)
        if not weights.any(axis=-1).all():
            raise self.no_opening()
        actions = draw_uniformly(weights, uniforms) if weights.dtype == np.int8 else draw(weights, uniforms)
        return self.board.states_after_reply(states, actions)

    def no_opening(self) -> ValueError:
        """Returns the error for an opponent that cannot move first."""
        return ValueError(
            f"opponent={self.policy!r} cannot move first, since each of its opening moves from heaps "
            f'{self.board.rules.heaps} would end the game; pass first_player="agent"'
        )


class ReplyLists:
    """The lists from which an opponent's replies are drawn.

    Each state of a game has a list, with the states to which the opponent's possible replies lead.
    :class:`~nim_env._internal.draws.AliasLists` explains how to draw from a list. The lists are made when they are
    first needed.
    """

    def __init__(self, distribution: ReplyDistribution) -> None:
        self._distribution = distribution
        self._board = distribution.board
        self._by_start: dict[Start, AliasLists] = {}

    def of_state(self, state: int) -> ReplyList:
        """Returns the list of one state, with the states to which the opponent's possible replies lead.

        Raises ValueError if ``state`` is ``new_game`` and the opponent has no possible opening move.
        """
        board = self._board
        if board.rules.n_pairs <= limits.PREPARED_REPLIES:
            lists, index = self.all_lists, state
        else:
            lists, index = self._new_lists(np.array([state], dtype=np.int64)), 0
        n_slots = int(lists.counts[index])
        if not n_slots:
            raise self._distribution.no_opening()
        slots = slice(lists.first[index], lists.first[index] + n_slots)
        keep = None if lists.keep is None else lists.keep[slots].tolist()
        return ReplyList(n_slots, lists.items[slots].tolist(), lists.aliases[slots].tolist(), keep)

    def for_start(self, start: Start) -> AliasLists:
        """Returns a list for each state: the states to which the opponent's possible replies lead.

        For the state ``new_game``, these are the states in which an episode with this start can begin. Raises
        ValueError if there are none, because the opponent moves first and has no possible opening move.
        """
        if start not in self._by_start:
            index = start_index(self._board, start)
            if not self.all_lists.counts[index]:
                raise self._distribution.no_opening()
            self._by_start[start] = self.all_lists.with_list_replaced(self._board.new_game, index)
        return self._by_start[start]

    @cached_property
    def all_lists(self) -> AliasLists:
        """The lists of all states, then one list for each of the four starts, with an episode's first states."""
        board = self._board
        moving = np.arange(1, board.new_game + 1, dtype=np.int64)  # the last two are full_heaps and new_game
        replies = [self._new_lists(moving[part]) for part in chunks(len(moving), board.rules.n_actions)]
        over = np.arange(board.opponent_took_last, board.n_states, dtype=np.int64)
        opened = self._new_lists(moving[-1:])
        # full heaps have as many slots as the opening moves, so both players start equally often
        both = concatenated([opened.map_items(lambda _, states: np.full_like(states, board.full_heaps)), opened])
        random_player = AliasLists(2 * opened.counts, both.items, both.aliases, both.keep)
        random_position = AliasLists(np.array([board.full_heaps]), moving[:-1])
        by_start = [_unchanged(moving[-2:-1]), opened, random_player, random_position]  # in the order of STARTS
        return concatenated([_unchanged(np.zeros(1, dtype=np.int64)), *replies, _unchanged(over), *by_start])

    def _new_lists(self, states: States) -> AliasLists:
        """Returns one list for each of ``states``, with the states to which the possible replies lead."""
        if self._distribution.policy is None:
            return _unchanged(states)
        after = self._board.states_after_reply
        weights = self._distribution.weights(states)
        return alias_lists(weights).map_items(lambda lists, actions: after(states[lists], actions))


def start_index(board: Board, start: Start) -> int:
    """Returns the index in :attr:`ReplyLists.all_lists` of the list for episodes with this start."""
    return board.n_states + STARTS.index(start)


def _unchanged(states: States) -> AliasLists:
    """Returns lists for states in which there is no reply. The only item of each list is the state itself."""
    return AliasLists(np.ones_like(states), states)
