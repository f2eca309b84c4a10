"""A weighted mixture of policies, the opponent pool of self-play."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env.policies.adapters import PolicyLike, checked_policy
from nim_env.policies.queries import Policy, query_policy
from nim_env.rules import NimRules, checked_integer


class MixturePolicy:
    """A weighted mixture of policies: at each move one member, drawn by weight, chooses.

    Its probabilities at a position are the weighted means of the members'. It serves as the opponent pool of
    self-play: :meth:`add` a snapshot of the learner at intervals (:func:`nim_env.policies.tabulate` makes one) and
    pass the mixture as ``opponent``.

    Args:
        rules: The game.
        policies: The first members.
        max_size: The maximum number of members. :meth:`add` removes the oldest beyond it. ``None`` for no limit.
        weights: The weight of each of ``policies``, 0 or more. They need not sum to 1. ``None`` for equal weights.

    Attributes:
        policies: The members, the oldest first.
        weights: The weight of each member, a list of floats.
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
        for policy, weight in zip(members, [1.0] * len(members) if weights is None else weights, strict=True):
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
        total = np.zeros(np.shape(action_mask))
        for policy, weight in zip(self.policies, weights.tolist(), strict=True):
            if weight:
                total += weight * query_policy(policy, np.asarray(observation), np.asarray(action_mask))
        mean: NDArray[np.float64] = total / weights.sum()
        return mean
