"""A pool of opponents as one policy."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._checks import checked_integer
from nim_env.policies.arguments import PolicyLike, checked_policy
from nim_env.policies.player import Policy, answers_of, fault_of
from nim_env.rules import NimRules


class MixturePolicy:
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
                total += weight * answers_of(policy, heaps, mask)
        return total / float(weights.sum())

    @property
    def fault(self) -> str | None:
        """What was wrong with the last answer of a function among the members."""
        return next(filter(None, map(fault_of, self.policies)), None)
