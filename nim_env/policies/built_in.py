"""The players that need no training, tables and mixtures; and players by name, and the checks at the door."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard, get_args

import numpy as np
from gymnasium import Space
from numpy.typing import ArrayLike, DTypeLike, NDArray

from nim_env import theory
from nim_env._checks import checked_choice, checked_integer
from nim_env.policies.functions import FunctionCaller, as_policy, asked
from nim_env.policies.player import IllegalAction, Player, Policy
from nim_env.rules import NimRules

MAX_TABLE_ENTRIES = 50_000_000  # positions times actions: 400 MB


class UniformPolicy(ABC):
    """A policy that draws uniformly from its :meth:`support`, a set of legal actions."""

    @abstractmethod
    def support(self, heaps: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:
        """The actions of positive probability: int8 ones and zeros of shape ``(..., n_actions)``."""

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The probability of each action in unfinished positions: float64 of shape ``(..., n_actions)``."""
        support = self.support(observation, action_mask)
        return support / support.sum(axis=-1, keepdims=True)


@dataclass(frozen=True)
class RandomPolicy(UniformPolicy):
    """Draws uniformly from the legal actions."""

    def support(self, heaps: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:  # noqa: ARG002
        """The legal actions."""
        return np.asarray(action_mask).astype(np.int8)


@dataclass(frozen=True)
class TakePolicy(UniformPolicy):
    """Takes ``n`` objects, or as many as are left or allowed, from a non-empty heap drawn uniformly.

    Args:
        rules: The game.
        n: The number of objects to take, 1 or more.
    """

    rules: NimRules
    n: int

    def __post_init__(self) -> None:
        checked_integer("n", self.n, minimum=1)

    def support(self, heaps: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:  # noqa: ARG002
        """One action for each non-empty heap; it follows from the heap sizes alone."""
        limit = min(self.n, max(self.rules.heaps), self.rules.max_take or self.n)
        count = np.minimum(self.rules.checked_positions(heaps), limit)
        takes = count[..., self.rules.move_heaps] == self.rules.move_counts
        return np.asarray(takes, dtype=np.int8)


@dataclass(frozen=True)
class ExpertPolicy(UniformPolicy):
    """Plays perfectly: draws a winning action, or any legal action where no action wins.

    On one heap in normal play with takes of up to 3 it takes ``heap % 4``, or a random number where that is 0.
    :mod:`nim_env.theory` names the sources.

    Args:
        rules: The game.
    """

    rules: NimRules

    def support(self, heaps: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:
        """The winning actions, or all legal actions where none wins."""
        winning = theory.winning_action_mask(self.rules, heaps)
        return np.where(winning.any(axis=-1, keepdims=True), winning, np.asarray(action_mask)).astype(np.int8)


def is_built_in(policy: Any) -> TypeGuard[UniformPolicy]:
    """Whether ``policy`` is a RandomPolicy, TakePolicy or ExpertPolicy, which the environments tabulate."""
    return type(policy) in (RandomPolicy, TakePolicy, ExpertPolicy)


PolicyLike: TypeAlias = str | Policy | Callable[[Any, Any], Any]
"""A name, an object with ``action_probabilities``, or a callable on one position."""


def checked_policy(policy: PolicyLike, rules: NimRules, name: str = "policy") -> Policy:
    """Makes a :class:`Policy` of a name, a policy, or a callable on one position; errors name the argument.

    It refuses an unknown name, a policy of another game, and an agent that observes anything but heap sizes.
    """
    if isinstance(policy, str):
        return _named_policy(name, policy, rules)
    checked = as_policy(name, policy)
    made_for = getattr(policy, "rules", None)
    if isinstance(made_for, NimRules) and made_for != rules:
        raise ValueError(f"{name} was made for {made_for}, but the game is {rules}")
    n_actions = getattr(getattr(policy, "action_space", None), "n", rules.n_actions)  # an agent has spaces
    if n_actions != rules.n_actions:
        raise ValueError(f"{name} was made for {n_actions} actions, but {rules} has {rules.n_actions}")
    space = getattr(policy, "observation_space", None)
    full = np.array(rules.heaps)
    if isinstance(space, Space) and not (space.shape == full.shape and full.astype(space.dtype) in space):
        raise ValueError(
            f"{name} must observe heap sizes such as {rules.heaps}, but it observes {space}; pass "
            "EncodedPolicy(policy, encoding) with the encoding it was trained on, env.unwrapped.encoding"
        )
    return checked


def _named_policy(name: str, policy: str, rules: NimRules) -> Policy:
    if policy == "random":
        return RandomPolicy()
    if policy == "expert":
        return ExpertPolicy(rules)
    if take := re.fullmatch(r"take-([1-9][0-9]{0,17})", policy):
        return TakePolicy(rules, int(take[1]))
    raise ValueError(f'{name} must be "random", "expert" or "take-N" with N of 1 or more; got {policy!r}')


def checked_player(
    policy: PolicyLike,
    rules: NimRules,
    illegal_action: IllegalAction = "raise",
    name: str = "policy",
    asks_twice: bool = True,
) -> Player:
    """A checked policy and its way of treating illegal actions, to be passed on; a :class:`Player` as it is.

    With ``asks_twice`` a function must answer each position twice alike, as exact figures need.
    """
    checked = checked_policy(policy, rules, name)
    if isinstance(checked, Player):
        return checked
    checked_choice("illegal_action", illegal_action, get_args(IllegalAction))
    return Player(asked(checked, illegal_action, asks_twice), illegal_action)


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
