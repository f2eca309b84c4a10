"""Exact values of every move, and exact best responses, by backward induction.

A move leaves fewer objects, so the solver goes through the positions with fewer objects first. When it reaches a
position, the values of all positions that its moves lead to are known (Zermelo 1913; for games of perfect
information Kuhn 1953, "Extensive games and the problem of information").

The solver does not use the formulas of :mod:`nim_env.theory`, so the tests can compare the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._internal import limits
from nim_env.board import Board
from nim_env.policies import IllegalAction, PolicyLike, checked_player
from nim_env.policies.built_in import UniformPolicy
from nim_env.policies.player import MoveProbabilities, Player
from nim_env.rules import NimRules


@dataclass(frozen=True, eq=False)
class Solution(UniformPolicy):
    """The values of all positions and moves of a game, as a policy that plays a move with the largest value.

    If several moves have the largest value, the policy plays each of them with the same probability.

    Attributes:
        rules: The game.
        afterstates: The value of each position to the player who has just moved there, float64 of shape
            ``(n_positions,)``, in the order of the positions' indices. Sutton and Barto (2018, section 6.8) call
            it the afterstate value.
    """

    rules: NimRules
    afterstates: NDArray[np.float64] = field(repr=False)

    def q_values(self, heaps: ArrayLike) -> NDArray[np.float64]:
        """Returns the value of each move to the player who makes it, float64 of shape ``(..., n_actions)``.

        ``heaps`` holds positions, shape ``(..., n_heaps)``. The value of an illegal move is -inf.
        """
        legal = self.rules.action_mask(heaps)
        next_indices = Board(self.rules).next_indices(np.asarray(self.rules.index(heaps))[..., None]) * legal
        return np.where(legal, self.afterstates[next_indices], -np.inf)

    def values(self, heaps: ArrayLike) -> NDArray[np.float64]:
        """Returns the value of each position to the player to move, float64 of shape ``(...)``.

        It is the value of the best move. ``heaps`` holds positions, shape ``(..., n_heaps)``. If all heaps are
        empty, the other player has taken the last object, and the value is the reward of the player to move.
        """
        best = self.q_values(heaps).max(axis=-1)
        return np.where(self.rules.is_over(heaps), -self.afterstates[0], best)[()]

    def support(self, heaps: ArrayLike, action_mask: Any = None) -> NDArray[np.int8]:  # noqa: ARG002
        """Returns 1 for each move with the largest value and 0 for others, int8 of shape ``(..., n_actions)``.

        The mask is ignored.
        """
        values = self.q_values(heaps)
        return (values == values.max(axis=-1, keepdims=True)).view(np.int8)


def solve(rules: NimRules, discount: float = 1.0) -> Solution:
    """Returns the value of every move in every position under perfect play of both players.

    Q(s, a) is the value of the move a in the position s to the player who makes it. If the move ends the game, the
    value is the reward. Otherwise it is -γ max Q(s′, ·), where s′ is the position after the move, since one
    player's gain is the other's loss. These values are the fixed point of minimax-Q (Littman 1994, "Markov games
    as a framework for multi-agent reinforcement learning").

    Args:
        rules: The game.
        discount: The discount γ per move, 0 to 1. Below 1 an earlier win is worth more. With a small discount the
            values of long games underflow to 0; with 0.5 this happens after about a thousand moves.

    Returns:
        The values, as a :class:`Solution`. As a policy it plays perfectly.

    Raises:
        ValueError: If ``discount`` is not between 0 and 1, or the game is too large (see :func:`iter_positions`).
    """
    if not 0 <= discount <= 1:
        raise ValueError(f"discount must be between 0 and 1; got {discount}")
    batches = iter_positions(rules)  # raises an error if the game is too large
    afterstates = np.full(rules.n_positions, rules.terminal_reward)
    for batch in batches:
        for layer in batch.layers:
            afterstates[batch.indices[layer]] = -discount * best_value(batch, layer, afterstates)
    return Solution(rules, afterstates)


def best_response(rules: NimRules, policy: PolicyLike, *, illegal_action: IllegalAction | None = None) -> Solution:
    """Returns the best response to a policy: a policy with the largest possible expected result against it.

    Args:
        rules: The game.
        policy: The policy of the other player.
        illegal_action: What happens if the other player chooses an illegal action: ``"raise"`` or ``"lose"``, as
            in :mod:`nim_env.evaluation`.

    Returns:
        The best response, which also has the value of every move. The value of a move is the expected result of
        the game, from -1 to 1, if the player makes this move and then follows the best response.
    """
    return Solution(rules, response_values(rules, policy, illegal_action=illegal_action).going_second)


class ValuesByOrder(NamedTuple):
    """The values of all positions to one of the two players of a game.

    Attributes:
        going_first: The value of each position if this player is to move, float64 of shape ``(n_positions,)``, in
            the order of the positions' indices.
        going_second: The value of each position if the other player is to move, in the same form.
    """

    going_first: NDArray[np.float64]
    going_second: NDArray[np.float64]


def response_values(
    rules: NimRules, policy: PolicyLike, *, illegal_action: IllegalAction | None = None
) -> ValuesByOrder:
    """Returns the value of every position to a player who plays the best response to a policy.

    The value is the expected result of the game from this position, from -1 to 1.

    Args:
        rules: The game.
        policy: The policy of the other player.
        illegal_action: What happens if the other player chooses an illegal action: ``"raise"`` or ``"lose"``, as
            in :mod:`nim_env.evaluation`.

    Returns:
        The values if the best response makes the next move, and if the other player does.
    """
    player = checked_player(policy, rules, illegal_action=illegal_action)
    batches = iter_positions(rules)
    values = ExpectedReturns(rules)
    for batch in batches:
        values.add_batch(batch, None, batch.moves_of(player))
    return ValuesByOrder(values.going_first, values.going_second)


class ExpectedReturns:
    """The expected results of one player (*the player*) against another player, from every position of a game.

    A new object has the results for the empty position only. To compute the others, call :meth:`add_batch` with
    each batch of :func:`iter_positions`, in their order.

    Args:
        rules: The game.
        loss: The result of a game that the player loses. The result of a game that the player wins is 1. So with a
            loss of 0 the expected results are the probabilities of a win.

    Attributes:
        going_first: The expected result from each position if the player is to move, float64 of shape
            ``(n_positions,)``, in the order of the positions' indices.
        going_second: The expected result from each position if the other player is to move, in the same form.
    """

    def __init__(self, rules: NimRules, loss: float = -1.0) -> None:
        self.loss = loss
        last = 1.0 if rules.terminal_reward > 0 else loss  # the result of the side that takes the last object
        self.going_second = np.full(rules.n_positions, last)
        self.going_first = 1.0 + loss - self.going_second

    def add_batch(self, batch: PositionBatch, moves: MoveProbabilities | None, replies: MoveProbabilities) -> None:
        """Computes the expected results from the positions of a batch, and stores them in the two attributes.

        All earlier batches must have been added, since moves lead to their positions.

        Args:
            batch: The positions.
            moves: The probabilities of the player's moves in these positions, or ``None`` if the player always
                makes the best move.
            replies: The probabilities of the other player's moves in these positions.
        """
        for layer in batch.layers:
            indices = batch.indices[layer]
            self.going_first[indices] = (
                best_value(batch, layer, self.going_second)
                if moves is None
                else expected_value(batch, layer, self.going_second, moves, self.loss)
            )
            self.going_second[indices] = expected_value(batch, layer, self.going_first, replies, 1.0)


class PositionBatch(NamedTuple):
    """A batch of ``n`` positions with at least one object, and the positions to which their moves lead.

    Attributes:
        indices: The index of each position, ``np.intp`` of shape ``(n,)``.
        heaps: The heap sizes, int64 of shape ``(n, n_heaps)``.
        action_mask: 1 for each legal action and 0 for each illegal one, int8 of shape ``(n, n_actions)``.
        next_indices: The index of the position after each action, ``np.intp`` of shape ``(n, n_actions)``; 0 for
            illegal actions.
        layers: Slices that split the batch into layers. The positions of a layer have the same number of objects,
            so their moves lead only to positions in earlier layers of this batch or of earlier batches.
    """

    indices: NDArray[np.intp]
    heaps: NDArray[np.int64]
    action_mask: NDArray[np.int8]
    next_indices: NDArray[np.intp]
    layers: list[slice]

    def moves_of(self, player: Player) -> MoveProbabilities:
        """Returns the probabilities of a player's moves in the positions of the batch."""
        return player.query(self.heaps, self.action_mask, require_same_answer=True)


def iter_positions(rules: NimRules) -> Iterator[PositionBatch]:
    """Returns an iterator over batches that together hold all positions with at least one object.

    Positions with fewer objects come first. The function raises ValueError, before it returns the iterator, if the
    game has more than 50 million positions, or more than 10 billion pairs of a position and an action.
    """
    remedy = "sample positions with evaluation.sampled_mastery, or games with evaluation.play_match"
    limits.check_size(rules.n_positions, limits.SWEPT_POSITIONS, f"positions of {rules}", remedy)
    limits.check_size(rules.n_pairs, limits.SWEPT_PAIRS, f"positions times actions of {rules}", remedy)
    return _position_batches(Board(rules))


def _position_batches(board: Board) -> Iterator[PositionBatch]:
    """Yields the batches of :func:`iter_positions`, without the checks of that function."""
    for indices, layers in board.layers():
        mask = board.masks(indices)
        next_indices = (board.next_indices(indices[:, None]) * mask).astype(np.intp, copy=False)
        yield PositionBatch(indices, board.heaps(indices), mask, next_indices, layers)


def best_value(batch: PositionBatch, layer: slice, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the value after the best move from each position in one layer of a batch.

    Args:
        batch: The batch of positions.
        layer: The slice of the batch that is the layer.
        values: The values of all positions of the game, in the order of their indices, shape ``(n_positions,)``.

    Returns:
        The largest of the values after the legal moves, float64 of shape ``(n_layer,)``.
    """
    next_values = values.take(batch.next_indices[layer])
    legal = batch.action_mask[layer].view(np.bool_)
    return next_values.max(axis=1, where=legal, initial=-np.inf)


def expected_value(
    batch: PositionBatch,
    layer: slice,
    values: NDArray[np.float64],
    moves: MoveProbabilities,
    illegal_value: float,
) -> NDArray[np.float64]:
    """Returns the expected value after a player's move from each position in one layer of a batch.

    The probabilities are divided by their sum. So the result is exactly 1 if the values after all moves are 1.

    Args:
        batch: The batch of positions.
        layer: The slice of the batch that is the layer.
        values: The values of all positions of the game, in the order of their indices, shape
            ``(..., n_positions)``.
        moves: The probabilities of the player's moves in the positions of the batch.
        illegal_value: The value of an illegal action.

    Returns:
        The expected values, float64 of shape ``(..., n_layer)``.
    """
    weights = moves.probabilities[layer]
    illegal = moves.illegal[layer]
    next_values = values.take(batch.next_indices[layer], axis=-1)
    total = (weights * next_values).sum(axis=-1) + illegal * illegal_value
    return total / (weights.sum(axis=-1) + illegal)
