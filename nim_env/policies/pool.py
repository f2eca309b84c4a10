"""Policies with weights: what a mixture and a pool of opponents share, and the pool."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nim_env._internal.checks import checked_integer
from nim_env._internal.draws import AliasLists, alias_lists
from nim_env.policies.arguments import PolicyLike, checked_player, checked_policy
from nim_env.policies.player import IllegalAction, Player, Policy
from nim_env.rules import NimRules


class WeightedPolicies:
    """Policies of a game with a weight for each.

    Args:
        rules: The game.
        policies: The first members.
        weights: The weight of each member. ``None`` for equal weights.

    Attributes:
        rules: The game.
        policies: The members, a tuple, the oldest first.
    """

    def __init__(
        self, rules: NimRules, policies: Iterable[PolicyLike] = (), weights: Iterable[float] | None = None
    ) -> None:
        self.rules = rules
        self.policies: tuple[Policy, ...] = tuple(checked_policy(policy, rules) for policy in policies)
        self.weights = [1.0] * len(self.policies) if weights is None else weights

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rules}, {len(self.policies)} policies, weights={self.weights})"

    @property
    def weights(self) -> list[float]:
        """The weight of each member, 0 or more. The list may be changed in place or assigned."""
        return self._weights

    @weights.setter
    def weights(self, weights: Iterable[float]) -> None:
        self._weights = _checked_weights(weights, len(self.policies))

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The weights as probabilities, float64 of shape ``(len(policies),)``.

        A ValueError where no weight is positive, as without members, or one is negative or not finite.
        """
        return _distribution(tuple(self._weights), len(self.policies))[0].copy()

    def add(self, policy: PolicyLike, weight: float = 1.0) -> None:
        """Adds a member of a weight of 0 or more."""
        member = checked_policy(policy, self.rules)
        self._weights += _checked_weights([weight], 1)
        self.policies += (member,)


def _checked_weights(weights: Iterable[float], n: int) -> list[float]:
    """The weights as a new list of ``n`` finite numbers of 0 or more."""
    checked = [float(weight) for weight in weights]
    if len(checked) != n or not all(0 <= weight < np.inf for weight in checked):
        raise ValueError(f"weights must hold a finite number of 0 or more for each of {n} policies; got {checked}")
    return checked


class OpponentPool(WeightedPolicies):
    """Policies of which one is drawn for each game and makes all of its moves: a mixed strategy.

    It is an ``opponent`` of the Gymnasium environments: each episode draws a member by weight. New members and new
    weights hold for episodes that begin later. A game in progress keeps its member, even one that ``max_size`` has
    removed. ``info["opponent"]`` is the number of the member.

    For example, in self-play against snapshots of the learner::

        pool = OpponentPool(rules, ["random"], max_size=20)
        envs = gym.make_vec("Nim-v0", num_envs=64, opponent=pool)
        ...
        pool.add(tabulate(rules, agent))

    A pool is no policy, since its next move depends on the member that was drawn, so functions of a policy refuse
    it. :func:`nim_env.evaluation.mixed_exploitability`, :func:`~nim_env.evaluation.payoff_matrix`,
    :func:`~nim_env.evaluation.win_probability` and :func:`~nim_env.evaluation.play_match` take it.
    :class:`MixturePolicy` is the policy that draws at each move.

    Args:
        rules: The game.
        policies: The first members, the oldest first. They may be whatever an opponent may be.
        weights: The weight of each member, 0 or more. They need not sum to 1. ``None`` for equal weights.
        max_size: The maximum number of members. :meth:`add` removes the oldest beyond it. ``None`` for no limit.

    Attributes:
        rules: The game.
        policies: The members, a tuple, the oldest first.
        numbers: The number of each member, a range: the members are numbered from 0 in the order of adding, and a
            number is never used again.
        max_size: The maximum number of members, or ``None``.

    The weights, and their probabilities, are those of :class:`WeightedPolicies`.

    Raises:
        TypeError: ``max_size`` is no integer, or a member is no policy.
        ValueError: A member was made for another game, a weight is negative or not finite, there is not one weight
            for each member, or ``max_size`` is below 1.
    """

    not_a_policy = (
        "an OpponentPool draws a policy for each game; mixed_exploitability, payoff_matrix, win_probability and "
        "play_match take one"
    )

    def __init__(
        self,
        rules: NimRules,
        policies: Iterable[PolicyLike] = (),
        weights: Iterable[float] | None = None,
        max_size: int | None = None,
    ) -> None:
        super().__init__(rules, policies, weights)
        self.max_size = None if max_size is None else checked_integer("max_size", max_size, minimum=1)
        self.numbers = range(len(self.policies))
        self._remove_oldest()

    def add(self, policy: PolicyLike, weight: float = 1.0) -> None:
        """Adds a member of a weight of 0 or more, and removes the oldest beyond ``max_size``."""
        super().add(policy, weight)
        self.numbers = range(self.numbers.start, self.numbers.stop + 1)
        self._remove_oldest()

    def draw(self, generator: np.random.Generator, size: int | None = None) -> Any:
        """Draws members by weight: an index into ``policies``, or int64 of shape ``(size,)``.

        ``pool.policies[pool.draw(generator)]`` is the player of one game.
        """
        one_list = _distribution(tuple(self._weights), len(self.policies))[1]
        return one_list.draw_from_one(generator.random(size))

    def _remove_oldest(self) -> None:
        n_removed = 0 if self.max_size is None else max(0, len(self.policies) - self.max_size)
        self.policies = self.policies[n_removed:]
        self.numbers = self.numbers[n_removed:]
        del self._weights[:n_removed]


@lru_cache
def _distribution(weights: tuple[float, ...], n: int) -> tuple[NDArray[np.float64], AliasLists]:
    """The probabilities of ``n`` members, and the list from which one is drawn."""
    checked = _checked_weights(weights, n)
    if not any(checked):
        raise ValueError(f"a member of positive weight is needed, add one first; got weights={checked}")
    scaled = np.array(checked) / max(checked)  # so that their sum is finite
    probabilities = scaled / scaled.sum()
    return probabilities, alias_lists(probabilities[None])


def checked_pool(pool: OpponentPool, rules: NimRules, name: str) -> OpponentPool:
    """A pool for this game; a ValueError names the argument."""
    if pool.rules != rules:
        raise ValueError(f"{name} was made for {pool.rules}, but the game is {rules}")
    return pool


def checked_strategy(
    policy: PolicyLike | OpponentPool,
    rules: NimRules,
    *,
    illegal_action: IllegalAction | None = None,
    name: str = "policy",
) -> tuple[list[Player], NDArray[np.float64]]:
    """The players of a mixed strategy and their probabilities; a policy is one player of probability 1.

    Members of weight 0 are left out.
    """
    if not isinstance(policy, OpponentPool):
        return [checked_player(policy, rules, illegal_action=illegal_action, name=name)], np.ones(1)
    pool = checked_pool(policy, rules, name)
    members = [
        (checked_player(member, rules, illegal_action=illegal_action, name=f"{name}.policies[{i}]"), probability)
        for i, (member, probability) in enumerate(zip(pool.policies, pool.probabilities, strict=True))
        if probability
    ]
    return [player for player, _ in members], np.array([probability for _, probability in members])
