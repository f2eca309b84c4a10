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
    """The value of every move of a game, to the player who makes it. As a policy it plays the best moves.

    If several moves are best, the policy plays each of them with the same probability.

    Attributes:
        rules: The game.
        afterstates: The value of each position to the player who has just moved there (its afterstate value,
            Sutton and Barto 2018, section 6.8): float64 of shape ``(n_positions,)``, by the position's index.
    """

    rules: NimRules
    afterstates: NDArray[np.float64] = field(repr=False)

    def q_values(self, heaps: ArrayLike) -> NDArray[np.float64]:
        """Returns the value of each move to the player who makes it, float64 of shape ``(..., n_actions)``.

        ``heaps`` are positions, shape ``(..., n_heaps)``. The value of an illegal move is -inf.
        """
        legal = self.rules.action_mask(heaps)
        next_indices = Board(self.rules).next_indices(np.asarray(self.rules.index(heaps))[..., None]) * legal
        return np.where(legal, self.afterstates[next_indices], -np.inf)

    def values(self, heaps: ArrayLike) -> NDArray[np.float64]:
        """Returns the values of positions to the player to move under best play, float64 of shape ``(...)``.

        ``heaps`` are positions, shape ``(..., n_heaps)``. In the empty position the value is the reward of the
        player to move, whose opponent has taken the last object.
        """
        best = self.q_values(heaps).max(axis=-1)
        return np.where(self.rules.is_over(heaps), -self.afterstates[0], best)[()]

    def support(self, heaps: ArrayLike, action_mask: Any = None) -> NDArray[np.int8]:  # noqa: ARG002
        """Marks the best moves: int8 ones and zeros of shape ``(..., n_actions)``. The mask is ignored."""
        values = self.q_values(heaps)
        return (values == values.max(axis=-1, keepdims=True)).view(np.int8)


def solve(rules: NimRules, discount: float = 1.0) -> Solution:
    """Returns the value of every move in every position under perfect play.

    Q(s, a) is the reward if the move ends the game. Otherwise it is -γ max Q(s′, ·), since one player's gain is
    the other's loss. These values are the fixed point of minimax-Q (Littman 1994, "Markov games as a framework for
    multi-agent reinforcement learning").

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
    """Returns the value of every move against a known policy. As a policy, the result is the best response.

    The known policy plays one side, and the best response plays the other. The values are the expected results of
    the best response.

    Args:
        rules: The game.
        policy: The policy of the other side.
        illegal_action: What happens if the policy chooses an illegal action, as in :mod:`nim_env.evaluation`.

    Returns:
        The values, as a :class:`Solution`.
    """
    return Solution(rules, response_values(rules, policy, illegal_action=illegal_action).going_second)


class ValuesByOrder(NamedTuple):
    """The values of all positions for one side: if it makes the next move, and if the other side does.

    Attributes:
        going_first: The value of each position if this side is to move, float64 of shape ``(n_positions,)``, by
            the position's index.
        going_second: The value of each position if the other side is to move, with the same shape.
    """

    going_first: NDArray[np.float64]
    going_second: NDArray[np.float64]


def response_values(
    rules: NimRules, policy: PolicyLike, *, illegal_action: IllegalAction | None = None
) -> ValuesByOrder:
    """Returns the values of all positions to a player who plays the best response to a policy.

    Args:
        rules: The game.
        policy: The policy of the other side.
        illegal_action: What happens if the policy chooses an illegal action, as in :mod:`nim_env.evaluation`.

    Returns:
        The values to that player, if it makes the next move and if the other side does.
    """
    player = checked_player(policy, rules, illegal_action=illegal_action)
    batches = iter_positions(rules)
    values = ExpectedReturns(rules)
    for batch in batches:
        values.add_batch(batch, None, batch.moves_of(player))
    return ValuesByOrder(values.going_first, values.going_second)


class ExpectedReturns:
    """The expected result of one side of a game from every position, computed batch by batch.

    Call :meth:`add_batch` with each batch of :func:`iter_positions`, in their order.

    Args:
        rules: The game.
        loss: The result of a lost game. The result of a won game is 1.

    Attributes:
        going_first: The expected result from each position if this side is to move, float64 of shape
            ``(n_positions,)``, by the position's index.
        going_second: The same if the other side is to move.
    """

    def __init__(self, rules: NimRules, loss: float = -1.0) -> None:
        self.loss = loss
        last = 1.0 if rules.terminal_reward > 0 else loss  # the result of the side that takes the last object
        self.going_second = np.full(rules.n_positions, last)
        self.going_first = 1.0 + loss - self.going_second

    def add_batch(self, batch: PositionBatch, moves: MoveProbabilities | None, replies: MoveProbabilities) -> None:
        """Computes the expected results from the positions of a batch, given the moves of both sides there.

        ``moves`` are the moves of the side whose results are computed, or ``None`` if it plays its best moves.
        ``replies`` are the moves of the other side in the same positions.
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
    """A batch of positions that are not over, and the positions that their moves lead to.

    Attributes:
        indices: The index of each position, ``np.intp`` of shape ``(n,)``.
        heaps: The heap sizes, int64 of shape ``(n, n_heaps)``.
        action_mask: The legal actions, int8 of shape ``(n, n_actions)``.
        next_indices: The index of the position after each action, ``np.intp`` of shape ``(n, n_actions)``; 0 for
            illegal actions.
        layers: The layers, which are slices of the batch. A layer holds positions with the same number of objects,
            so moves from these positions lead only to positions in earlier layers.
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
    """Returns an iterator over batches of all positions except the empty one.

    Positions with fewer objects come first. The call itself raises ValueError if the game has more than 50 million
    positions, or more than 10 billion positions times actions.
    """
    remedy = "sample positions with evaluation.sampled_mastery, or games with evaluation.play_match"
    limits.check_size(rules.n_positions, limits.SWEPT_POSITIONS, f"positions of {rules}", remedy)
    limits.check_size(rules.n_pairs, limits.SWEPT_PAIRS, f"positions times actions of {rules}", remedy)
    return _position_batches(Board(rules))


def _position_batches(board: Board) -> Iterator[PositionBatch]:
    """Yields the batches of :func:`iter_positions`."""
    for indices, layers in board.layers():
        mask = board.masks(indices)
        next_indices = (board.next_indices(indices[:, None]) * mask).astype(np.intp, copy=False)
        yield PositionBatch(indices, board.heaps(indices), mask, next_indices, layers)


def best_value(batch: PositionBatch, layer: slice, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the largest value that a legal move can reach, for each position in one layer of a batch.

    Args:
        batch: The batch of positions.
        layer: The slice of the batch that is the layer.
        values: The value of every position by its index, shape ``(n_positions,)``.

    Returns:
        The largest values, float64 of shape ``(n_layer,)``.
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
    """Returns the expected value after a player's move, for each position in one layer of a batch.

    It is exactly 1 if all values that it averages are 1.

    Args:
        batch: The batch of positions.
        layer: The slice of the batch that is the layer.
        values: The value of every position by its index, shape ``(..., n_positions)``.
        moves: The probabilities of the moves in the batch.
        illegal_value: The value of an illegal action.

    Returns:
        The expected values, float64 of shape ``(..., n_layer)``.
    """
    weights = moves.probabilities[layer]
    illegal = moves.illegal[layer]
    next_values = values.take(batch.next_indices[layer], axis=-1)
    total = (weights * next_values).sum(axis=-1) + illegal * illegal_value
    return total / (weights.sum(axis=-1) + illegal)
