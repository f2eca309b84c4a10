"""Exact values of every move, and exact best responses, by backward induction.

A move makes a position smaller, so positions with fewer objects are solved first (Zermelo 1913; for games of
perfect information Kuhn 1953, "Extensive games and the problem of information"). The solver does not use
:mod:`nim_env.theory`; the tests compare the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._chunks import chunks
from nim_env.policies import PolicyLike, UniformPolicy, checked_policy, query_policy
from nim_env.rules import NimRules, check_rules

_MAX_POSITIONS = 50_000_000  # a sweep takes about a gigabyte
_MAX_ENTRIES = 10_000_000_000  # positions times actions: a sweep takes minutes, with a slow policy hours
_MAX_REWARD = 1e300


@dataclass(frozen=True, eq=False)
class Solution(UniformPolicy):
    """The value of every move of a game to the player who makes it. As a policy it plays the best moves.

    The winner's reward at the end of the game is ``win_reward``, the loser's its negative. Each ply between a move
    and the end discounts it by ``gamma``.

    Attributes:
        rules: The game.
        table: The value of each position to the player who has just moved there (its afterstate value, Sutton and
            Barto 2018, section 6.8): float64 of shape ``(n_positions,)``, by the position's index.
    """

    rules: NimRules
    table: NDArray[np.float64] = field(repr=False)

    def afterstate_values(self, heaps: ArrayLike) -> NDArray[np.float64]:
        """The value of positions to the player who has just moved there.

        Args:
            heaps: One position or a batch, shape ``(..., n_heaps)``.

        Returns:
            float64 of shape ``(...)``.

        Raises:
            TypeError, ValueError: See :meth:`NimRules.positions`.
        """
        return self.table[self.rules.index(heaps)]

    def q_values(self, heaps: ArrayLike) -> NDArray[np.float64]:
        """The value of every move to the player who makes it.

        Args:
            heaps: One position or a batch, shape ``(..., n_heaps)``.

        Returns:
            float64 of shape ``(..., n_actions)``; -inf for illegal moves.

        Raises:
            TypeError, ValueError: See :meth:`NimRules.positions`.
        """
        legal = self.rules.action_mask(heaps)
        indices = np.asarray(self.rules.index(heaps))
        return np.where(legal, self.table[_next_indices(self.rules, indices, legal)], -np.inf)

    def values(self, heaps: ArrayLike) -> NDArray[np.float64]:
        """The value of positions to the player to move under best play.

        The value of the empty position is the reward of the player to move there, whose opponent took the last
        object.

        Args:
            heaps: One position or a batch, shape ``(..., n_heaps)``.

        Returns:
            float64 of shape ``(...)``.

        Raises:
            TypeError, ValueError: See :meth:`NimRules.positions`.
        """
        best: NDArray[np.float64] = self.q_values(heaps).max(axis=-1)
        values: NDArray[np.float64] = np.where(self.rules.is_over(heaps), -self.table[0], best)[()]
        return values

    def support(self, observation: ArrayLike, action_mask: Any = None) -> NDArray[np.int8]:  # noqa: ARG002
        """The best moves.

        Args:
            observation: Heap sizes, shape ``(..., n_heaps)``.
            action_mask: Unused; the legal moves follow from the heap sizes.

        Returns:
            int8 ones and zeros, shape ``(..., n_actions)``.

        Raises:
            TypeError, ValueError: See :meth:`NimRules.positions`.
        """
        values = self.q_values(observation)
        best: NDArray[np.int8] = np.isfinite(values) & (values == values.max(axis=-1, keepdims=True))
        return best.view(np.int8)


def solve(rules: NimRules, gamma: float = 1.0, win_reward: float = 1.0) -> Solution:
    """The value of every move in every position under perfect play.

    Q(s, a) is the reward where the move ends the game, else -γ max Q(s′, ·), since the game is zero-sum (the fixed
    point of minimax-Q; Littman 1994, "Markov games as a framework for multi-agent reinforcement learning"). With a
    small discount the values of long games underflow to 0: at 0.5 after a thousand plies.

    Args:
        rules: The game.
        gamma: The discount of a ply, 0 to 1. Below 1 an earlier win is worth more.
        win_reward: The winner's reward, above 0. The loser's is its negative.

    Returns:
        The solution. As a policy it plays perfectly.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: ``gamma`` or ``win_reward`` is out of range, or the game has too many positions.
    """
    _check_rewards(gamma, win_reward)
    batches = iter_positions(rules)
    afterstates = _terminal_values(rules, win_reward)
    for batch in batches:
        for layer in batch.layers:
            afterstates[batch.indices[layer]] = -gamma * batch.best(layer, afterstates)
    return Solution(rules, afterstates)


def best_response(rules: NimRules, policy: PolicyLike, gamma: float = 1.0, win_reward: float = 1.0) -> Solution:
    """The best play against a known policy, and the value of every move to the player who plays it.

    The policy plays the other side. Where it is stochastic, values are expectations.

    Args:
        rules: The game.
        policy: The policy to play against.
        gamma: The discount of a ply, 0 to 1.
        win_reward: The winner's reward, above 0. The loser's is its negative.

    Returns:
        The values of the response. As a policy it is the response.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: See :func:`solve`; or the policy is unknown, was made for another game, or returns
            anything but a distribution over legal actions.
    """
    _check_rewards(gamma, win_reward)
    opponent = checked_policy(policy, rules)
    batches = iter_positions(rules)
    response = ResponseValues(rules, win_reward, gamma)
    for batch in batches:
        response.update(batch, query_policy(opponent, batch.heaps, batch.action_mask))
    return Solution(rules, response.afterstates)


class PositionBatch(NamedTuple):
    """Unfinished positions and the positions that their moves lead to.

    A *layer* is a slice of positions with the same number of objects. Their moves lead to earlier positions only.
    """

    indices: NDArray[np.int64]
    """int64 of shape ``(n,)``."""
    heaps: NDArray[np.int64]
    """int64 of shape ``(n, n_heaps)``."""
    action_mask: NDArray[np.int8]
    """int8 of shape ``(n, n_actions)``."""
    next_indices: NDArray[np.int64]
    """int64 of shape ``(n, n_actions)``; 0 for illegal actions."""
    layers: list[slice]

    def best(self, layer: slice, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The largest value that a legal move leads to.

        Args:
            layer: One of ``layers``; it has ``n_layer`` positions.
            values: The value of each position by its index, shape ``(n_positions,)``.

        Returns:
            float64 of shape ``(n_layer,)``.
        """
        next_values, legal = values[self.next_indices[layer]], self.action_mask[layer].view(np.bool_)
        largest: NDArray[np.float64] = next_values.max(axis=1, where=legal, initial=-np.inf)
        return largest

    def expected(
        self, layer: slice, values: NDArray[np.float64], probabilities: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The mean value that the moves lead to.

        Args:
            layer: One of ``layers``; it has ``n_layer`` positions.
            values: The value of each position by its index, shape ``(n_positions,)``.
            probabilities: The probability of each move in the batch, shape ``(n, n_actions)``.

        Returns:
            float64 of shape ``(n_layer,)``; exactly 1 where all values are 1.
        """
        weights = probabilities[layer]
        mean: NDArray[np.float64] = (weights * values[self.next_indices[layer]]).sum(axis=1) / weights.sum(axis=1)
        return mean

    def all_lead_to(
        self, layer: slice, is_good: NDArray[np.bool_], chosen: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Whether every chosen move leads to a good position.

        Args:
            layer: One of ``layers``; it has ``n_layer`` positions.
            is_good: Whether each position is good, by its index, bool of shape ``(n_positions,)``.
            chosen: The chosen moves in the batch, bool of shape ``(n, n_actions)``.

        Returns:
            bool of shape ``(n_layer,)``; True where no move is chosen.
        """
        leads_to_good = is_good[self.next_indices[layer]]
        return np.asarray((leads_to_good | ~chosen[layer]).all(axis=1))


class ResponseValues:
    """The values of a best response, updated batch by batch in the order of :func:`iter_positions`.

    Args:
        rules: The game.
        win_reward: The winner's reward.
        gamma: The discount of a ply.

    Attributes:
        afterstates: The value of each position to the responding player who has just moved there,
            float64 of shape ``(n_positions,)``, by the position's index.
        values: The value of each position to the responding player who is to move there, discounted by one ply
            more except where the game is over, of the same shape.
    """

    def __init__(self, rules: NimRules, win_reward: float = 1.0, gamma: float = 1.0) -> None:
        self.gamma = gamma
        self.afterstates = _terminal_values(rules, win_reward)
        self.values = -self.afterstates

    def update(self, batch: PositionBatch, probabilities: NDArray[np.float64]) -> None:
        """Computes the values of a batch.

        Args:
            batch: The next batch of :func:`iter_positions`.
            probabilities: The policy's probabilities, shape ``(n, n_actions)``.
        """
        for layer in batch.layers:
            indices = batch.indices[layer]
            self.afterstates[indices] = self.gamma * batch.expected(layer, self.values, probabilities)
            self.values[indices] = self.gamma * batch.best(layer, self.afterstates)


def iter_positions(rules: NimRules) -> Iterator[PositionBatch]:
    """All positions except the empty one in batches, those with fewer objects first.

    Args:
        rules: The game.

    Returns:
        An iterator over the batches.

    Raises:
        TypeError: ``rules`` is not a NimRules.
        ValueError: The game has more than 50 million positions, or more than 10 billion positions times actions.
            The error is raised immediately.
    """
    check_rules(rules)
    if rules.n_positions > _MAX_POSITIONS or rules.n_positions * rules.n_actions > _MAX_ENTRIES:
        size = f"{rules.n_positions:,}" if rules.n_positions < 10**18 else "more than 10^18"
        raise ValueError(
            f"{rules} has {size} positions and {rules.n_actions:,} actions, too many for an exact sweep (up to "
            f"{_MAX_POSITIONS:,} positions, and {_MAX_ENTRIES:,} positions times actions); sample games with "
            "evaluation.play_match instead"
        )
    return _position_batches(rules)


def _position_batches(rules: NimRules) -> Iterator[PositionBatch]:
    totals = _total_objects(rules)
    order = totals.argsort(kind="stable")
    for part in chunks(rules, len(order) - 1, start=1):
        indices = order[part]
        heaps = rules.from_index(indices)
        mask = rules.action_mask(heaps)
        boundaries = np.flatnonzero(np.diff(totals[indices])) + 1
        layers = [slice(*pair) for pair in pairwise([0, *boundaries.tolist(), len(indices)])]
        yield PositionBatch(indices, heaps, mask, _next_indices(rules, indices, mask), layers)


def _total_objects(rules: NimRules) -> NDArray[Any]:
    """The number of objects of each position by index."""
    small = np.min_scalar_type(sum(rules.heaps))
    totals = np.zeros(1, dtype=small)
    for size in rules.heaps:
        totals = np.add.outer(totals, np.arange(size + 1, dtype=small)).ravel()
    return totals


def _next_indices(rules: NimRules, indices: NDArray[np.int64], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
    """The index that each legal action leads to, 0 for illegal actions: shape ``(..., n_actions)``."""
    next_indices: NDArray[np.int64] = (indices[..., None] - np.array(rules.offsets)) * action_mask
    return next_indices


def _terminal_values(rules: NimRules, win_reward: float) -> NDArray[np.float64]:
    """Values by index, of which only that of the empty position is set: to the player who has just moved there."""
    values = np.empty(rules.n_positions)
    values[0] = rules.terminal_reward * win_reward
    return values


def _check_rewards(gamma: float, win_reward: float) -> None:
    for name, value in (("gamma", gamma), ("win_reward", win_reward)):
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise TypeError(f"{name} must be a number; got {value!r}")
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma must lie between 0 and 1; got {gamma}")
    if not 0 < win_reward <= _MAX_REWARD:
        raise ValueError(f"win_reward must be above 0 and at most {_MAX_REWARD:g}; got {win_reward}")
