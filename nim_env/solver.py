"""Exact values of every move, and exact best responses, by backward induction.

A move makes a position smaller, so positions with fewer objects are solved first (Zermelo 1913; for games of
perfect information Kuhn 1953, "Extensive games and the problem of information"). The solver does not use
:mod:`nim_env.theory`; the tests compare the two.
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
    """The value of every move of a game to the player who makes it. As a policy it plays the best moves.

    Attributes:
        rules: The game.
        table: The value of each position to the player who has just moved there (its afterstate value, Sutton and
            Barto 2018, section 6.8): float64 of shape ``(n_positions,)``, by the position's index.
    """

    rules: NimRules
    table: NDArray[np.float64] = field(repr=False)

    def afterstate_values(self, heaps: ArrayLike) -> NDArray[np.float64]:
        """The value of positions, shape ``(..., n_heaps)``, to the player who has just moved there."""
        return self.table[self.rules.index(heaps)]

    def q_values(self, heaps: ArrayLike) -> NDArray[np.float64]:
        """The value of each move to the player who makes it, shape ``(..., n_actions)``; -inf if it is illegal."""
        legal = self.rules.action_mask(heaps)
        next_indices = Board(self.rules).moved(np.asarray(self.rules.index(heaps))[..., None]) * legal
        return np.where(legal, self.table[next_indices], -np.inf)

    def values(self, heaps: ArrayLike) -> NDArray[np.float64]:
        """The value of positions, shape ``(..., n_heaps)``, to the player to move under best play.

        In the empty position it is the reward of the player to move, whose opponent took the last object.
        """
        best = self.q_values(heaps).max(axis=-1)
        return np.where(self.rules.is_over(heaps), -self.table[0], best)[()]

    def support(self, heaps: ArrayLike, action_mask: Any = None) -> NDArray[np.int8]:  # noqa: ARG002
        """The best moves; ``action_mask`` is ignored."""
        values = self.q_values(heaps)
        return (values == values.max(axis=-1, keepdims=True)).view(np.int8)


def solve(rules: NimRules, gamma: float = 1.0) -> Solution:
    """The value of every move in every position under perfect play.

    Q(s, a) is the reward where the move ends the game, else -γ max Q(s′, ·), since the game is zero-sum (the fixed
    point of minimax-Q; Littman 1994, "Markov games as a framework for multi-agent reinforcement learning"). With a
    small discount the values of long games underflow to 0: at 0.5 after a thousand plies.

    ``gamma`` is the discount of a ply, 0 to 1: below 1 an earlier win is worth more. As a policy the solution
    plays perfectly.
    """
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma must lie between 0 and 1; got {gamma}")
    batches = iter_positions(rules)
    afterstates = np.full(rules.n_positions, rules.terminal_reward)
    for batch in batches:
        for layer in batch.layers:
            afterstates[batch.indices[layer]] = -gamma * batch.best(layer, afterstates)
    return Solution(rules, afterstates)


def best_response(rules: NimRules, policy: PolicyLike, *, illegal_action: IllegalAction | None = None) -> Solution:
    """The best play against a known policy, and the value of every move to the player who plays it.

    The policy plays the other side. Where it is stochastic, values are expectations. ``illegal_action`` is as in
    :mod:`nim_env.evaluation`. As a policy the solution is the response.
    """
    return Solution(rules, response_values(rules, policy, illegal_action=illegal_action)[0])


def response_values(
    rules: NimRules, policy: PolicyLike, *, illegal_action: IllegalAction | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The values of all positions to the player of :func:`best_response`, which takes the same arguments.

    They are the value of each position where that player has just moved, and where it is to move: float64 of shape
    ``(n_positions,)`` by the position's index.
    """
    player = checked_player(policy, rules, illegal_action=illegal_action)
    batches = iter_positions(rules)
    values = ExpectedReturns(rules)
    for batch in batches:
        values.enter(batch, None, batch.moves_of(player))
    return values.going_second, values.going_first


class ExpectedReturns:
    """The mean result of one side from all positions, entered batch by batch.

    Args:
        rules: The game.
        loss: The result of a lost game; that of a won one is 1.

    Attributes:
        going_first: The means by the position's index, where the side is to move: float64 of shape
            ``(n_positions,)``.
        going_second: The same where it has just moved.
    """

    def __init__(self, rules: NimRules, loss: float = -1.0) -> None:
        self.loss = loss
        last = 1.0 if rules.terminal_reward > 0 else loss  # of the side that has taken the last object
        self.going_second = np.full(rules.n_positions, last)
        self.going_first = 1.0 + loss - self.going_second

    def enter(self, batch: PositionBatch, moves: MoveProbabilities | None, replies: MoveProbabilities) -> None:
        """Enters a batch, given the moves of both sides in its positions; ``None`` for the side's best ones."""
        for layer in batch.layers:
            indices = batch.indices[layer]
            self.going_first[indices] = (
                batch.best(layer, self.going_second)
                if moves is None
                else batch.expected(layer, self.going_second, moves, self.loss)
            )
            self.going_second[indices] = batch.expected(layer, self.going_first, replies, 1.0)


class PositionBatch(NamedTuple):
    """Unfinished positions and the positions that their moves lead to.

    Attributes:
        indices: int64 of shape ``(n,)``.
        heaps: int64 of shape ``(n, n_heaps)``.
        action_mask: int8 of shape ``(n, n_actions)``.
        next_indices: int64 of shape ``(n, n_actions)``; 0 for illegal actions.
        layers: Slices of the batch, each of positions with the same number of objects. Their moves lead to earlier
            positions only.
    """

    indices: NDArray[np.int64]
    heaps: NDArray[np.int64]
    action_mask: NDArray[np.int8]
    next_indices: NDArray[np.int64]
    layers: list[slice]

    def moves_of(self, player: Player) -> MoveProbabilities:
        """What a player does in the positions."""
        return player.query(self.heaps, self.action_mask, twice=True)

    def best(self, layer: slice, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The largest of ``values``, given by index, that a legal move from each position of a layer leads to."""
        next_values = values.take(self.next_indices[layer])
        legal = self.action_mask[layer].view(np.bool_)
        return next_values.max(axis=1, where=legal, initial=-np.inf)

    def expected(
        self, layer: slice, values: NDArray[np.float64], moves: MoveProbabilities, illegal_value: float
    ) -> NDArray[np.float64]:
        """The mean of ``values`` that the moves from each position of a layer lead to; exactly 1 where all are 1.

        ``values``, shape ``(..., n_positions)``, are given by index; an illegal action has ``illegal_value``. The
        result is float64 of shape ``(..., n_layer)``.
        """
        weights = moves.probabilities[layer]
        illegal = moves.illegal[layer]
        next_values = values.take(self.next_indices[layer], axis=-1)
        total = (weights * next_values).sum(axis=-1) + illegal * illegal_value
        return total / (weights.sum(axis=-1) + illegal)


def iter_positions(rules: NimRules) -> Iterator[PositionBatch]:
    """All positions except the empty one in batches, those with fewer objects first.

    A ValueError is raised immediately if the game has more than 50 million positions, or more than 10 billion
    positions times actions.
    """
    remedy = "sample positions with evaluation.sampled_mastery, or games with evaluation.play_match"
    limits.check_size(rules.n_positions, limits.SWEPT_POSITIONS, f"positions of {rules}", remedy)
    n_entries = rules.n_positions * rules.n_actions
    limits.check_size(n_entries, limits.SWEPT, f"positions times actions of {rules}", remedy)
    return _position_batches(Board(rules))


def _position_batches(board: Board) -> Iterator[PositionBatch]:
    for indices, layers in board.layers():
        mask = board.masks(indices)
        yield PositionBatch(indices, board.heaps(indices), mask, board.moved(indices[:, None]) * mask, layers)
