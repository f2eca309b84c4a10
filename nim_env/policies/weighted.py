"""Several policies with weights: a mixture draws one of them at each move, and a pool one for each game."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._internal.checks import checked_integer
from nim_env._internal.draws import AliasLists, alias_lists
from nim_env.policies.base import CompositePolicy, MixedStrategy, Policy
from nim_env.policies.player import IllegalAction, Player, checked_probabilities
from nim_env.policies.policy_like import PolicyLike, checked_player, checked_policy
from nim_env.rules import NimRules


class WeightedPolicies:
    """Policies of a game, each with a weight.

    Args:
        rules: The game.
        policies: The initial members.
        weights: The weight of each member. ``None`` for equal weights.

    Attributes:
        rules: The game.
        policies: The members, a tuple with the oldest first.
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
        """The weight of each member, 0 or more. You can assign a new list or change this one in place."""
        return self._weights

    @weights.setter
    def weights(self, weights: Iterable[float]) -> None:
        self._weights = _checked_weights(weights, len(self.policies))

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The weights divided by their sum, float64 of shape ``(len(policies),)``.

        Raises ValueError if no weight is positive, for example because there are no members, or if a weight is
        negative or not finite.
        """
        return _distribution(tuple(self._weights), len(self.policies)).probabilities.copy()

    def add(self, policy: PolicyLike, weight: float = 1.0) -> None:
        """Adds a member with a weight of 0 or more."""
        member = checked_policy(policy, self.rules)
        self._weights += _checked_weights([weight], 1)
        self.policies += (member,)


def _checked_weights(weights: Iterable[float], n: int) -> list[float]:
    """Returns a new list of the weights, which must be ``n`` finite numbers of 0 or more."""
    checked = [float(weight) for weight in weights]
    if len(checked) != n or not all(0 <= weight < np.inf for weight in checked):
        wanted = f"one finite number of 0 or more for each of {n} policies"
        raise ValueError(f"weights must hold {wanted}; got {checked}")
    return checked


class MixturePolicy(WeightedPolicies, CompositePolicy):
    """A weighted mixture of policies: a member is drawn at each move and chooses the action.

    Its probabilities are the weighted mean of its members' probabilities, so it is a policy itself (in game
    theory, a behavior strategy). To draw one member for a whole game instead, use :class:`OpponentPool`. For
    example, an opponent that makes one move in ten at random::

        opponent = MixturePolicy(rules, ["expert", "random"], weights=[0.9, 0.1])

    Args:
        rules: The game.
        policies: The initial members. Each can be anything that a function takes as a policy.
        weights: The weight of each member, 0 or more. They need not sum to 1. ``None`` for equal weights.
    """

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Returns the weighted mean of the members' probabilities. Members with weight 0 are not queried."""
        heaps = np.asarray(observation)
        mask = np.asarray(action_mask)
        total = np.zeros(mask.shape)
        for policy, probability in zip(self.policies, self.probabilities.tolist(), strict=True):
            if probability:
                total += probability * checked_probabilities(policy, heaps, mask)
        return total


class OpponentPool(WeightedPolicies, MixedStrategy):
    """A pool of opponents: one member is drawn for each game and makes all of its moves.

    Pass it as ``opponent`` to the Gymnasium environments. When an episode begins, a member is drawn in proportion
    to its weight, and ``info["opponent"]`` is its number. You can add members and change weights at any time; this
    affects episodes that begin later. A game in progress keeps its opponent, even if ``max_size`` has removed it
    from the pool.

    For example, to train against snapshots of the learner::

        pool = OpponentPool(rules, ["random"], max_size=20)
        envs = gym.make_vec("Nim-v0", num_envs=64, opponent=pool)
        ...
        pool.add(tabulate(rules, agent))

    In game theory, a pool is a mixed strategy. It is not a policy, since its next move depends on the member that
    was drawn, so functions that need a policy refuse it. These functions take a pool:
    :func:`nim_env.evaluation.mixed_exploitability`, :func:`~nim_env.evaluation.payoff_matrix`,
    :func:`~nim_env.evaluation.win_probability` and :func:`~nim_env.evaluation.play_match`. To draw a member at
    each move instead, use :class:`MixturePolicy`.

    Args:
        rules: The game.
        policies: The initial members, the oldest first. Each can be anything that an environment takes as an
            opponent.
        weights: The weight of each member, 0 or more. They need not sum to 1. ``None`` for equal weights.
        max_size: The maximum number of members, or ``None`` for no limit. When there are more, the oldest are
            removed.

    Attributes:
        rules: The game.
        policies: The members, a tuple with the oldest first.
        numbers: The numbers of the members, a range. Members are numbered from 0 in the order in which they were
            added, and numbers are never used again. The member with number ``k`` is
            ``policies[k - numbers.start]``.
        max_size: The maximum number of members, or ``None``.

    Raises:
        TypeError: If ``max_size`` is not an integer, or a member is not a policy.
        ValueError: If a member was made for another game, a weight is negative or not finite, the number of
            weights differs from the number of members, or ``max_size`` is below 1.
    """

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
        """Adds a member with a weight of 0 or more, and removes the oldest if there are more than ``max_size``."""
        super().add(policy, weight)
        self.numbers = range(self.numbers.start, self.numbers.stop + 1)
        self._remove_oldest()

    def draw(self, generator: np.random.Generator, size: int | None = None) -> Any:
        """Draws members in proportion to their weights.

        Returns an index into ``policies``, or an array of ``size`` indices, int64. For example,
        ``pool.policies[pool.draw(generator)]`` is the opponent of one game.
        """
        distribution = _distribution(tuple(self._weights), len(self.policies))
        return distribution.members.draw_from_one(generator.random(size))

    def _remove_oldest(self) -> None:
        n_removed = 0 if self.max_size is None else max(0, len(self.policies) - self.max_size)
        self.policies = self.policies[n_removed:]
        self.numbers = self.numbers[n_removed:]
        del self._weights[:n_removed]


class _Distribution(NamedTuple):
    """The probabilities of members, and a single list in :class:`AliasLists` from which members are drawn fast."""

    probabilities: NDArray[np.float64]
    members: AliasLists


@lru_cache
def _distribution(weights: tuple[float, ...], n: int) -> _Distribution:
    """Returns the distribution over ``n`` members with these weights."""
    checked = _checked_weights(weights, n)
    if not any(checked):
        raise ValueError(f"at least one member must have a positive weight; got weights={checked}")
    scaled = np.array(checked) / max(checked)  # with a finite sum
    probabilities = scaled / scaled.sum()
    return _Distribution(probabilities, alias_lists(probabilities[None]))


def checked_pool(pool: OpponentPool, rules: NimRules, name: str) -> OpponentPool:
    """Returns the pool. Raises ValueError if it was made for another game."""
    if pool.rules != rules:
        raise ValueError(f"{name} was made for {pool.rules}, but the game is {rules}")
    return pool


def weighted_players(
    policy: PolicyLike | OpponentPool,
    rules: NimRules,
    *,
    illegal_action: IllegalAction | None = None,
    name: str = "policy",
) -> tuple[list[Player], NDArray[np.float64]]:
    """Returns a list of players and the probability of each: the members of a pool, or the only policy.

    Members with weight 0 are left out. The probability of a single policy is 1.
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
