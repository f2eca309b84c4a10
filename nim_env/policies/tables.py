"""Tables of probabilities, and mixtures of policies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from nim_env._checks import checked_integer
from nim_env.policies.built_in import PolicyLike, checked_player, checked_policy
from nim_env.policies.functions import FunctionCaller, asked
from nim_env.policies.player import IllegalAction, Player, Policy
from nim_env.rules import NimRules

MAX_TABLE_ENTRIES = 50_000_000  # positions times actions: 400 MB


class TabularPolicy:
    """A policy that looks its probabilities up in a table.

    Args:
        rules: The game.
        probabilities: The distribution of each position by its index, shape ``(n_positions, n_actions)``.
    """

    def __init__(self, rules: NimRules, probabilities: ArrayLike) -> None:
        self.rules = rules
        self.probabilities = np.asarray(probabilities)
        expected = rules.n_positions, rules.n_actions
        if self.probabilities.shape != expected:
            raise ValueError(f"probabilities must have shape {expected}; got {self.probabilities.shape}")

    def action_probabilities(self, observation: ArrayLike, action_mask: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """The rows of the table; the mask is not used."""
        return self.probabilities.take(self.rules.index(observation), axis=0)  # a copy


def tabulate(
    rules: NimRules,
    policy: PolicyLike,
    dtype: DTypeLike = np.float32,
    illegal_action: IllegalAction = "raise",
) -> TabularPolicy:
    """A copy of a policy as a table, which does not change when the policy learns more.

    The policy is queried and checked as in :mod:`nim_env.evaluation`. A table has up to 50 million entries, of the
    given dtype.
    """
    player = checked_player(policy, rules, illegal_action)
    if rules.n_positions * rules.n_actions > MAX_TABLE_ENTRIES:
        raise ValueError(f"{rules} has more than {MAX_TABLE_ENTRIES:,} entries in a table; use a smaller game")
    return TabularPolicy(rules, player.tabulated(rules).table.probabilities.astype(dtype))


class MixturePolicy(FunctionCaller):
    """A weighted mixture of policies: at each move one member, drawn by weight, chooses.

    It serves as the opponent pool of self-play: :meth:`add` a snapshot of the learner at intervals
    (:func:`tabulate` makes one) and pass the mixture as ``opponent``.

    Args:
        rules: The game.
        policies: The first members, the oldest first.
        max_size: The maximum number of members. :meth:`add` removes the oldest beyond it. ``None`` for no limit.
        weights: The weight of each member, 0 or more. They need not sum to 1. ``None`` for equal weights.
    """

    def __init__(
        self,
        rules: NimRules,
        policies: Iterable[PolicyLike] = (),
        max_size: int | None = None,
        weights: Iterable[float] | None = None,
    ) -> None:
        self.rules = rules
        self.max_size = None if max_size is None else checked_integer("max_size", max_size, minimum=1)
        self.policies: list[Policy] = []
        self.weights: list[float] = []
        members = list(policies)
        member_weights = [1.0] * len(members) if weights is None else list(weights)
        if len(member_weights) != len(members):
            raise ValueError(f"weights must hold one number for each of {len(members)} policies; got {weights!r}")
        for policy, weight in zip(members, member_weights, strict=True):
            self.add(policy, weight)

    def add(self, policy: PolicyLike, weight: float = 1.0) -> None:
        """Adds a member of a weight of 0 or more, and removes the oldest beyond ``max_size``."""
        member = checked_policy(policy, self.rules)
        if not 0 <= weight < np.inf:
            raise ValueError(f"weight must be 0 or more and finite; got {weight!r}")
        self.policies.append(member)
        self.weights.append(float(weight))
        if self.max_size is not None:
            del self.policies[: -self.max_size]
            del self.weights[: -self.max_size]

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The weighted mean of the members' probabilities. Members of weight 0 are not queried."""
        if not any(self.weights):
            raise ValueError(f"the mixture needs a member of positive weight, add one first; got {self.weights}")
        weights = np.array(self.weights) / max(self.weights)  # so that their sum is finite
        heaps = np.asarray(observation)
        mask = np.asarray(action_mask)
        total = np.zeros(mask.shape)
        for policy, weight in zip(self.policies, weights.tolist(), strict=True):
            if weight:
                member = Player(asked(policy, self.illegal_action, self.asks_twice), self.illegal_action)
                total += weight * member.query(heaps, mask).probabilities
        return total / float(weights.sum())
