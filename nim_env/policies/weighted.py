"""Mixtures and pools of policies. A mixture draws one of its policies for each move, a pool one for each game."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._internal.checks import checked_integer
from nim_env._internal.draws import AliasLists, alias_lists
from nim_env.policies.base import CompositePolicy, Policy
from nim_env.policies.player import IllegalAction, Player, checked_probabilities
from nim_env.policies.policy_like import PolicyLike, checked_player, checked_policy
from nim_env.rules import NimRules


class WeightedPolicies:
    """Several policies (the *members*) for the same game, each with a weight of 0 or more.

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
        """The weight of each member, 0 or more. You can assign a new list or change the list in place."""
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
        return _probabilities(tuple(self._weights), len(self.policies)).copy()

    def add(self, policy: PolicyLike, weight: float = 1.0) -> None:
        """Adds a policy as a member. Its weight must be 0 or more."""
        member = checked_policy(policy, self.rules)
        self._weights += _checked_weights([weight], 1)
        self.policies += (member,)


def _checked_weights(weights: Iterable[float], n: int) -> list[float]:
    """Returns the weights as a new list. Raises ValueError unless they are ``n`` finite numbers of 0 or more."""
    checked = [float(weight) for weight in weights]
    if len(checked) != n or not all(0 <= weight < np.inf for weight in checked):
        wanted = f"one finite number of 0 or more for each of {n} policies"
        raise ValueError(f"weights must hold {wanted}; got {checked}")
    return checked


class MixturePolicy(WeightedPolicies, CompositePolicy):
    """A policy that draws one of several policies at each move and plays an action of the drawn policy.

    The drawn policies are called *members*. The probabilities of the mixture are the weighted mean of the members'
    probabilities. In game theory, a mixture is a behavior strategy. To draw one member for a whole game instead,
    use :class:`OpponentPool`. This opponent, for example, makes one move in ten at random::

        opponent = MixturePolicy(rules, ["expert", "random"], weights=[0.9, 0.1])

    Args:
        rules: The game.
        policies: The initial members. Each can be anything that a function takes as a policy.
        weights: The weight of each member, 0 or more. They need not sum to 1. ``None`` for equal weights.
    """

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Returns the weighted mean of the members' probabilities, float64 of shape ``(..., n_actions)``.

        Members with weight 0 are not queried.
        """
        heaps = np.asarray(observation)
        mask = np.asarray(action_mask)
        total = np.zeros(mask.shape)
        for policy, probability in zip(self.policies, self.probabilities.tolist(), strict=True):
            if probability:
                total += probability * checked_probabilities(policy, heaps, mask)
        return total


class OpponentPool(WeightedPolicies):
    """Several opponents, one of which is drawn for each game and makes all the opponent's moves in this game.

    Pass a pool as ``opponent`` to the Gymnasium environments. When an episode begins, a member of the pool is
    drawn in proportion to its weight, and ``info["opponent"]`` is the member's number. You can add members and
    change weights at any time; this affects episodes that begin later. A game in progress keeps its opponent, even
    if ``max_size`` has removed this member from the pool.

    For example, to train against snapshots of the learner::

        pool = OpponentPool(rules, ["random"], max_size=20)
        envs = gym.make_vec("Nim-v0", num_envs=64, opponent=pool)
        ...
        pool.add(tabulate(rules, agent))

    In game theory, a pool is a mixed strategy. It is not a policy, since its moves depend on the member that was
    drawn. So functions that need a policy refuse a pool, but these functions take one:
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
        numbers: The numbers of the members, a range. Members are numbered from 0 in the order in which they are
            added, and the numbers of removed members are not used again. The member with the number ``k`` is
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
        """Adds a policy as a member with a weight of 0 or more.

        If there are then more than ``max_size`` members, the oldest one is removed.
        """
        super().add(policy, weight)
        self.numbers = range(self.numbers.start, self.numbers.stop + 1)
        self._remove_oldest()

    def draw(self, generator: np.random.Generator, size: int | None = None) -> Any:
        """Draws one member, or ``size`` members, in proportion to their weights.

        Returns the index of the member in ``policies``, or an int64 array of ``size`` indices. For example,
        ``pool.policies[pool.draw(generator)]`` is the opponent of one game.
        """
        return _alias_list(tuple(self._weights), len(self.policies)).draw(0, generator.random(size))

    def _remove_oldest(self) -> None:
        n_removed = 0 if self.max_size is None else max(0, len(self.policies) - self.max_size)
        self.policies = self.policies[n_removed:]
        self.numbers = self.numbers[n_removed:]
        del self._weights[:n_removed]


@lru_cache
def _probabilities(weights: tuple[float, ...], n: int) -> NDArray[np.float64]:
    """Returns the weights divided by their sum, after checking that they are valid weights of ``n`` policies."""
    checked = _checked_weights(weights, n)
    if not any(checked):
        raise ValueError(f"at least one member must have a positive weight; got weights={checked}")
    scaled = np.array(checked) / max(checked)  # so the sum is finite
    return scaled / scaled.sum()


@lru_cache
def _alias_list(weights: tuple[float, ...], n: int) -> AliasLists:
    """Returns one list, from which indices of ``n`` policies are drawn in proportion to their weights."""
    return alias_lists(_probabilities(weights, n)[None])


def checked_pool(pool: OpponentPool, rules: NimRules, name: str) -> OpponentPool:
    """Returns ``pool``. Raises ValueError if it was made for another game; the message calls the pool ``name``."""
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
    """Converts a pool to a list of players and an array with the probability of each of them.

    The players are the members of the pool, except for those with weight 0. A policy that is not a pool becomes a
    single player with the probability 1. The other arguments are those of :func:`checked_player`.
    """
    if not isinstance(policy, OpponentPool):
        return [checked_player(policy, rules, illegal_action=illegal_action, name=name)], np.ones(1)
    pool = checked_pool(policy, rules, name)
    probabilities = pool.probabilities
    drawn = probabilities.nonzero()[0]
    players = [
        checked_player(pool.policies[i], rules, illegal_action=illegal_action, name=f"{name}.policies[{i}]")
        for i in drawn.tolist()
    ]
    return players, probabilities[drawn]
