"""Exact values of every move, and exact best responses, by backward induction.

A move makes a position smaller, so the positions with fewer objects are worked out first (Zermelo 1913; for games
of perfect information Kuhn 1953, "Extensive games and the problem of information"). Nothing here knows the theory
of Nim: the two are held against each other in the tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env.policies import PolicyLike, UniformPolicy, as_policy, ask
from nim_env.rules import NimRules

MAX_POSITIONS = 50_000_000  # of a game that is swept; they take a gigabyte, a few where most are mistakes
MAX_ENTRIES = 10_000_000_000  # positions times actions; they take minutes, and hours with a slow policy
MOST = 1e300  # a reward may be
BATCH_ENTRIES = 2**22  # worked on at once, 32 MB for an array of them


@dataclass(frozen=True, eq=False)
class Solution(UniformPolicy):
    """What every move of a game is worth to whoever makes it; as a policy it makes the best ones.

    Rewards come at the end of the game: ``win_reward`` to the winner, its negative to the loser. Each ply that
    lies between a move and the end discounts them by ``gamma``.

    Attributes:
        rules: The game.
        table: What each position is worth to the player who has just moved there (its afterstate value, Sutton
            and Barto 2018, section 6.8): float64 of shape ``(n_positions,)``, by index.
    """

    rules: NimRules
    table: NDArray[np.float64] = field(repr=False)

    def afterstate_values(self, heaps: ArrayLike) -> NDArray[np.float64]:
        """What positions are worth to the player who has just moved there: float64, shape ``(...)``.

        Raises:
            TypeError, ValueError: As :meth:`NimRules.positions`.
        """
        return self.table[self._indices(self.rules.positions(heaps))]

    def q_values(self, heaps: ArrayLike) -> NDArray[np.float64]:
        """What every move is worth to the player who makes it: float64, shape ``(..., n_actions)``.

        Illegal moves are -inf, so that a maximum is over the legal ones.

        Raises:
            TypeError, ValueError: As :meth:`NimRules.positions`.
        """
        positions = self.rules.positions(heaps)
        legal = self.rules.action_mask(positions)
        after = self.table[_next_indices(self.rules, self._indices(positions), legal)]
        return np.where(legal, after, -np.inf)

    def values(self, heaps: ArrayLike) -> NDArray[np.float64]:
        """What positions are worth to the player to move, who plays the best move: float64, shape ``(...)``.

        In the empty position the game is over, and the value is what the player to move then gets.

        Raises:
            TypeError, ValueError: As :meth:`NimRules.positions`.
        """
        best: NDArray[np.float64] = self.q_values(heaps).max(axis=-1)
        values: NDArray[np.float64] = np.where(self.rules.is_over(heaps), -self.table[0], best)[()]
        return values

    def choices(self, observation: ArrayLike, action_mask: Any = None) -> NDArray[np.int8]:  # noqa: ARG002
        """The best moves: int8 ones and zeros, shape ``(..., n_actions)``.

        Args:
            observation: Heap sizes, shape ``(..., n_heaps)``.
            action_mask: Without effect, the rules say what is legal.

        Raises:
            TypeError, ValueError: As :meth:`NimRules.positions`.
        """
        values = self.q_values(observation)
        best: NDArray[np.int8] = np.isfinite(values) & (values == values.max(axis=-1, keepdims=True))
        return best.view(np.int8)

    def _indices(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        indices: NDArray[np.int64] = positions @ np.array(self.rules.strides)
        return indices


def solve(rules: NimRules, gamma: float = 1.0, win_reward: float = 1.0) -> Solution:
    """What every move of every position is worth under perfect play, in the mover's view.

    Q(s, a) is the reward where the move ends the game, else -γ max Q(s′, ·), since what one player wins the other
    loses (the fixed point of minimax-Q; Littman 1994, "Markov games as a framework for multi-agent reinforcement
    learning"). With a small discount values of long games come to lie below the smallest float64, which is 0: at
    0.5 after a thousand plies.

    Args:
        rules: The game.
        gamma: The discount of a ply, 0 to 1. Below 1 a win is worth more the sooner it comes.
        win_reward: What the winner gets and the loser pays, above 0.

    Raises:
        TypeError: An argument is of the wrong kind.
        ValueError: ``gamma`` or ``win_reward`` is out of range, or the game has more positions than can be swept.
    """
    _check_rewards(gamma, win_reward)
    parts = sweep(rules)
    afterstates = _ends(rules, win_reward)
    for part in parts:
        for layer in part.layers:
            afterstates[part.indices[layer]] = -gamma * part.best(layer, afterstates)
    return Solution(rules, afterstates)


def best_response(rules: NimRules, policy: PolicyLike, gamma: float = 1.0, win_reward: float = 1.0) -> Solution:
    """The best play against a policy that is known, and what every move is then worth to whoever responds.

    The policy plays the other side; where it draws its moves, values are expectations.

    Args:
        rules: The game.
        policy: The policy to play against.
        gamma: The discount of a ply, 0 to 1.
        win_reward: What the winner gets and the loser pays, above 0.

    Raises:
        TypeError: An argument is of the wrong kind.
        ValueError: As :func:`solve`; or the policy answers anything but a distribution over legal actions.
    """
    _check_rewards(gamma, win_reward)
    player = as_policy(policy, rules)
    parts = sweep(rules)
    mine = _ends(rules, win_reward)  # what positions are worth to the response that has just moved there
    theirs = -mine  # and where the policy has
    for part in parts:
        probabilities = ask(player, part.heaps, part.action_mask)
        for layer in part.layers:
            here = part.indices[layer]
            mine[here] = gamma * part.expected(layer, theirs, probabilities)
            theirs[here] = gamma * part.best(layer, mine)
    return Solution(rules, mine)


class Part(NamedTuple):
    """Some positions of a sweep, none of them the empty one, and where their moves lead.

    A *layer* is a slice of them whose positions lead to none of each other, but to earlier ones alone.
    """

    indices: NDArray[np.int64]
    """Shape ``(n,)``."""
    heaps: NDArray[np.int64]
    """Shape ``(n, n_heaps)``."""
    action_mask: NDArray[np.int8]
    """Shape ``(n, n_actions)``."""
    next_indices: NDArray[np.int64]
    """Shape ``(n, n_actions)``; of illegal moves 0."""
    layers: list[slice]

    def best(self, layer: slice, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The largest value that a legal move leads to."""
        led_to, legal = values[self.next_indices[layer]], self.action_mask[layer].view(np.bool_)
        largest: NDArray[np.float64] = led_to.max(axis=1, where=legal, initial=-np.inf)
        return largest

    def expected(
        self, layer: slice, values: NDArray[np.float64], probabilities: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The mean of the values led to; exactly 1 where all are 1, however the probabilities were rounded."""
        weights = probabilities[layer]
        mean: NDArray[np.float64] = (weights * values[self.next_indices[layer]]).sum(axis=1) / weights.sum(axis=1)
        return mean

    def all_lead_to(
        self, layer: slice, is_good: NDArray[np.bool_], chosen: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Whether every chosen move leads to a good position; True where none is chosen."""
        leads_to_good = is_good[self.next_indices[layer]]
        return np.asarray((leads_to_good | ~chosen[layer]).all(axis=1))


def sweep(rules: NimRules) -> Iterator[Part]:
    """All positions but the empty one, those with fewer objects first.

    Raises:
        TypeError: ``rules`` are no NimRules.
        ValueError: The game has more positions or moves than can be swept.
    """
    if not isinstance(rules, NimRules):
        raise TypeError(f"rules must be NimRules; got {rules!r}")
    if rules.n_positions > MAX_POSITIONS or rules.n_positions * rules.n_actions > MAX_ENTRIES:
        size = f"{rules.n_positions:,}" if rules.n_positions < 10**18 else "more than 10^18"
        raise ValueError(
            f"a game of {rules.n_heaps:,} heaps, {size} positions and {rules.n_actions:,} moves is too large to "
            f"sweep (up to {MAX_POSITIONS:,} positions, and {MAX_ENTRIES:,} moves in all of them); "
            "sample games with evaluation.play_match instead"
        )
    return _parts(rules)


def batch_size(rules: NimRules) -> int:
    """How many positions of a game are worked on at once."""
    return max(1, BATCH_ENTRIES // rules.n_actions)


def _parts(rules: NimRules) -> Iterator[Part]:
    totals = _totals(rules)
    order = totals.argsort(kind="stable")[1:]
    for start in range(0, len(order), batch_size(rules)):
        indices = order[start : start + batch_size(rules)]
        heaps = indices[:, None] // np.array(rules.strides) % np.array(rules.shape)
        mask = rules.action_mask(heaps)
        cuts = np.flatnonzero(np.diff(totals[indices])) + 1
        ends = [0, *cuts.tolist(), len(indices)]
        layers = [slice(*pair) for pair in pairwise(ends)]
        yield Part(indices, heaps, mask, _next_indices(rules, indices, mask), layers)


def _totals(rules: NimRules) -> NDArray[Any]:
    """How many objects each position has, by index."""
    small = np.min_scalar_type(sum(rules.heaps))
    totals = np.zeros(1, dtype=small)
    for size in rules.heaps:
        totals = np.add.outer(totals, np.arange(size + 1, dtype=small)).ravel()
    return totals


def _next_indices(rules: NimRules, indices: NDArray[np.int64], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
    """Where each legal action leads, 0 for illegal ones: shape ``(..., n_actions)``."""
    after: NDArray[np.int64] = (indices[..., None] - np.array(rules.offsets)) * action_mask
    return after


def _ends(rules: NimRules, win_reward: float) -> NDArray[np.float64]:
    """Room for the values of all positions, with that of the empty one to whoever has just emptied it."""
    values = np.empty(rules.n_positions)
    values[0] = win_reward if rules.last_mover_wins else -win_reward
    return values


def _check_rewards(gamma: float, win_reward: float) -> None:
    for name, value in (("gamma", gamma), ("win_reward", win_reward)):
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise TypeError(f"{name} must be a number; got {value!r}")
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma must lie between 0 and 1; got {gamma}")
    if not 0 < win_reward <= MOST:
        raise ValueError(f"win_reward must be above 0 and at most {MOST:g}; got {win_reward}")
