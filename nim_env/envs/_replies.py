"""The opponent's half of a game: how an episode starts, and how the opponent replies.

The *state* of a game is a number (:mod:`nim_env.board`). A *reply* is the opponent's move after a move of the
agent. It changes the state of the game.

A policy returns probabilities, and the environment draws the reply from them. A policy is called *fixed* if these
probabilities never change, as for a built-in policy or a table. Its replies are still random, but it need not be
queried at each move. Instead, each state gets a list of the states that can follow the reply, and the environment
draws from this list. There is a class for each kind of policy:

- :class:`Replies`: for any policy. It queries the policy at each move.
- :class:`FixedReplies`: for a fixed policy. It queries the policy only to make the lists.
- :class:`MixtureReplies`: for a mixture. If all its members are fixed, it has lists, which are made again when the
  members or their weights change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nim_env._internal.caching import StateCache, shared_instance
from nim_env._internal.limits import chunks
from nim_env.board import Board, States, TabulatedBoard
from nim_env.envs._reply_distribution import ReplyDistribution, ReplyLists, Start
from nim_env.envs._results import StepResultCache
from nim_env.policies import MixturePolicy, OpponentPool, Policy, PolicyAttributes, TabularPolicy


class Replies:
    """Draws the replies of one opponent on a board.

    This class queries the opponent's policy at each move. Its subclasses avoid most of these queries.

    Attributes:
        board: The board.
        policy: The policy, or ``None`` in self-play, in which there is no opponent.
        batch_lists: The lists from which :meth:`draw_batch` draws. ``None`` if it queries the policy instead, as
            in this class.
    """

    batch_lists: ReplyLists | None = None

    def __init__(self, board: Board, policy: Policy | None) -> None:
        self.board = board
        self.policy = policy
        self._distribution = ReplyDistribution(board, policy)

    def __reduce__(self) -> Any:
        return replies_of, (self.board, self.policy)  # environments that are copied or unpickled share the lists

    def check_start(self, start: Start) -> None:
        """Raises ValueError if ``start`` lets the opponent move first but all its opening moves end the game."""
        if start in ("opponent", "random_player") and not self._distribution.is_opening.any():
            raise self._distribution.no_opening()

    def draw_start(self, start: Start, results: StepResultCache, generator: np.random.Generator) -> int:
        """Starts a single game, and returns the state in which the agent makes its first move.

        If ``start`` says so, the opponent makes an opening move or the position is random. ``results`` has the
        heap sizes and the action mask of each state.
        """
        if start == "random_position":
            return int(self.board.sample_indices(generator))
        if start == "opponent" or (start == "random_player" and generator.random() < 0.5):
            return self.draw(self.board.new_game, results, generator)
        return self.board.full_heaps

    def draw(self, state: int, results: StepResultCache, generator: np.random.Generator) -> int:
        """Draws the opponent's reply in a single game, and returns the state of the game after it.

        In the state ``new_game`` the reply is an opening move. ``results`` has the heap sizes and the action mask
        of each state.
        """
        result = results[state]
        uniform = generator.random()
        return int(self._distribution.draw(np.int64(state), uniform, result.heaps, result.action_mask))

    def draw_batch(self, states: States, start: Start, generator: np.random.Generator) -> States:
        """Draws the opponent's reply in each of ``n`` games, and returns the states after them, shape ``(n,)``.

        A game in the state ``new_game`` starts as ``start`` says. A game that is over keeps its state.
        """
        board = self.board
        uniforms = generator.random(len(states))
        is_new = states == board.new_game
        after = np.where(is_new, board.full_heaps, states)
        is_moving = (states > 0) & (states < board.n_positions)
        if start == "random_position":
            after[is_new] = board.sample_indices(generator, int(is_new.sum()))
        elif start == "opponent":
            is_moving |= is_new
        elif start == "random_player":
            is_moving |= is_new & (uniforms >= 0.5)
            uniforms[is_new] = 2 * uniforms[is_new] - 1  # uniform again, for the opponent's opening move
        if self.policy is not None:
            moving = is_moving.nonzero()[0]
            for part in chunks(len(moving), board.rules.n_actions):
                games = moving[part]
                after[games] = self._distribution.draw(states[games], uniforms[games])
        return after


class FixedReplies(Replies):
    """Draws the replies of a fixed policy, whose probabilities in a position never change.

    Each state has a list of the states that can follow the reply, and drawing from it is faster than a query to
    the policy. :meth:`draw` makes the list of a state at the first visit. :meth:`draw_batch` uses the lists of all
    states, or queries the policy if the board is too large for so many lists. In self-play there is no policy, and
    a game in progress keeps its state.
    """

    def __init__(self, board: Board, policy: Policy | None) -> None:
        super().__init__(board, policy)
        lists = ReplyLists(self._distribution)
        self._cache = StateCache(lists.of_state, 1_000 + 20 * board.rules.n_actions)
        self.batch_lists = lists if isinstance(board, TabulatedBoard) else None
        if isinstance(policy, TabularPolicy):
            # raises an error now that would otherwise occur later, in the middle of a game
            for part in chunks(board.n_positions - 1, board.rules.n_actions, start=1):
                self._distribution.weights(np.arange(part.start, part.stop, dtype=np.int64))

    def check_start(self, start: Start) -> None:
        if start in ("opponent", "random_player"):
            self._cache[self.board.new_game]  # raises an error if there is no opening move

    def draw(self, state: int, results: StepResultCache, generator: np.random.Generator) -> int:  # noqa: ARG002
        n_slots, states, aliases, keep = self._cache[state]
        scaled = generator.random() * n_slots
        slot = int(scaled)
        return states[slot] if keep is None or scaled - slot < keep[slot] else aliases[slot]

    def draw_batch(self, states: States, start: Start, generator: np.random.Generator) -> States:
        if self.batch_lists is None:
            return super().draw_batch(states, start, generator)
        return self.batch_lists.for_start(start).draw(states, generator.random(len(states)))


class MixtureReplies(Replies):
    """Draws the replies of a ``MixturePolicy``, whose members and weights can change while games are in progress.

    Before each draw, it checks whether they have changed. If the members themselves never change their move
    probabilities, the replies are drawn from lists that are made in advance.
    """

    def __init__(self, board: Board, policy: MixturePolicy) -> None:
        super().__init__(board, policy)
        self._mixture = policy
        self._made_for: Any = None  # the members and weights that the current replies were made for
        self._current: Replies

    def draw(self, state: int, results: StepResultCache, generator: np.random.Generator) -> int:
        return self._updated().draw(state, results, generator)

    def draw_batch(self, states: States, start: Start, generator: np.random.Generator) -> States:
        return self._updated().draw_batch(states, start, generator)

    def _updated(self) -> Replies:
        """Returns the object that draws the replies for the mixture's current members and weights.

        It is a new object if they have changed since the last call.
        """
        members, weights = members_and_weights(self._mixture)
        if self._made_for != (members, weights):
            kind = FixedReplies if all(map(is_fixed, members)) else Replies
            self._current = kind(self.board, self._mixture)
            self._made_for = members, weights
        return self._current


def members_and_weights(policy: Policy | OpponentPool | None) -> tuple[tuple[Any, ...], tuple[float, ...]]:
    """Returns the current members and weights of a mixture, which show whether the mixture has changed.

    Any other policy counts as a mixture with one member of weight 1.
    """
    return (policy.policies, tuple(policy.weights)) if isinstance(policy, MixturePolicy) else ((policy,), (1.0,))


def is_fixed(policy: Any) -> bool:
    """Returns whether a policy always returns the same probabilities in a position. False for a mixture.

    The probabilities of a mixture change when it gets a new member or new weights.
    """
    return policy is None or (isinstance(policy, PolicyAttributes) and policy.is_fixed)


def replies_of(board: Board, policy: Policy | None) -> Replies:
    """Returns an object that draws the replies of a policy, of the class that fits this kind of policy.

    If the policy is fixed or a mixture, all environments with the same board share the object and its lists.
    """
    if isinstance(policy, MixturePolicy):
        return shared_instance(MixtureReplies, board, policy)
    return shared_instance(FixedReplies, board, policy) if is_fixed(policy) else Replies(board, policy)
