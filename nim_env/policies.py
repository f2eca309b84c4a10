"""Players of Nim as distributions over actions.

A policy has one method, ``action_probabilities(observation, action_mask)``. It takes observations of shape
``(..., n_heaps)`` and masks of shape ``(..., n_actions)`` and returns probabilities of shape ``(..., n_actions)``.
It is never queried on a finished game.

Where a function or an environment takes a policy, it takes a name (``"random"``, ``"take-N"``, ``"expert"``), an
object with ``action_probabilities``, or a callable ``(observation, action_mask) -> action``. A callable gets one
position at a time, shapes ``(n_heaps,)`` and ``(n_actions,)``. :func:`batched` wraps a batched function as a
policy.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias, TypeGuard

import numpy as np
from gymnasium import Space
from numpy.typing import ArrayLike, DTypeLike, NDArray

from nim_env import theory
from nim_env._chunks import chunks
from nim_env._queries import (
    EncodedPolicy,
    FunctionPolicy,
    InvalidPolicyOutput,
    Policy,
    batched,
    batched_by_position,
    query_each,
    query_opponent,
    query_policy,
    sample,
    uniform_sample,
)
from nim_env.rules import NimRules, check_rules, checked_integer

__all__ = [
    "EncodedPolicy",
    "ExpertPolicy",
    "FunctionPolicy",
    "InvalidPolicyOutput",
    "MixturePolicy",
    "Policy",
    "PolicyLike",
    "RandomPolicy",
    "TabularPolicy",
    "TakePolicy",
    "UniformPolicy",
    "batched",
    "batched_by_position",
    "checked_policy",
    "is_built_in",
    "is_drawn_per_game",
    "query_each",
    "query_opponent",
    "query_policy",
    "sample",
    "tabulate",
    "uniform_sample",
]

_MAX_TABLE_ENTRIES = 100_000_000  # of tabulate: 400 MB

PolicyLike: TypeAlias = str | Policy | Callable[[Any, Any], Any]
"""A name, an object with ``action_probabilities``, or a callable on one position."""


class UniformPolicy(ABC):
    """A policy that draws uniformly from its :meth:`support`, a set of legal actions."""

    @abstractmethod
    def support(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:
        """The actions of positive probability.

        Args:
            observation: Heap sizes, shape ``(..., n_heaps)``.
            action_mask: The legal actions, shape ``(..., n_actions)``.

        Returns:
            int8 ones and zeros, shape ``(..., n_actions)``.

        Raises:
            TypeError, ValueError: ``observation`` holds anything but positions of the policy's game.
        """

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The probability of each action.

        Args:
            observation: Heap sizes of unfinished positions, shape ``(..., n_heaps)``.
            action_mask: Their legal actions, shape ``(..., n_actions)``.

        Returns:
            float64 of shape ``(..., n_actions)``.

        Raises:
            TypeError: See :meth:`support`.
            ValueError: See :meth:`support`; or ``action_mask`` has a position without a legal action.
        """
        support = self.support(observation, action_mask)
        number = support.sum(axis=-1, keepdims=True)
        if not number.all():
            raise ValueError("action_mask has a position without a legal action; query unfinished games only")
        probabilities: NDArray[np.float64] = support / number
        return probabilities


@dataclass(frozen=True)
class RandomPolicy(UniformPolicy):
    """Draws uniformly from the legal actions."""

    def support(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:  # noqa: ARG002
        """The legal actions: int8, shape ``(..., n_actions)``."""
        return np.asarray(action_mask).astype(np.int8)


@dataclass(frozen=True)
class TakePolicy(UniformPolicy):
    """Takes ``n`` objects, or as many as are left or allowed, from a non-empty heap drawn uniformly.

    Args:
        rules: The game.
        n: The number of objects to take, 1 or more.

    Raises:
        TypeError: ``rules`` is not a NimRules, or ``n`` is not an integer.
        ValueError: ``n`` is below 1.
    """

    rules: NimRules
    n: int

    def __post_init__(self) -> None:
        check_rules(self.rules)
        checked_integer("n", self.n, 1)

    def support(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:  # noqa: ARG002
        """One action for each non-empty heap.

        Args:
            observation: Heap sizes, shape ``(..., n_heaps)``.
            action_mask: Unused; the legal moves follow from the heap sizes.

        Returns:
            int8 ones and zeros, shape ``(..., n_actions)``.

        Raises:
            TypeError, ValueError: See :meth:`NimRules.positions`.
        """
        limit = min(self.n, max(self.rules.heaps), self.rules.max_take or self.n)
        count = np.minimum(self.rules.positions(observation), limit)
        support: NDArray[np.int8] = (count[..., self.rules.move_heaps] == self.rules.move_counts).astype(np.int8)
        return support


@dataclass(frozen=True)
class ExpertPolicy(UniformPolicy):
    """Plays perfectly: draws a winning action, or any legal action where no action wins.

    On one heap in normal play with takes of up to 3 it takes ``heap % 4``, or a random number where that is 0.
    :mod:`nim_env.theory` names the sources.

    Args:
        rules: The game.

    Raises:
        TypeError: ``rules`` is not a NimRules.
    """

    rules: NimRules

    def __post_init__(self) -> None:
        check_rules(self.rules)

    def support(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:
        """The winning actions, or all legal actions where none wins.

        Args:
            observation: Heap sizes, shape ``(..., n_heaps)``.
            action_mask: The legal actions, shape ``(..., n_actions)``.

        Returns:
            int8 ones and zeros, shape ``(..., n_actions)``.

        Raises:
            TypeError, ValueError: See :meth:`NimRules.positions`.
        """
        winning = theory.winning_action_mask(self.rules, observation)
        return np.where(winning.any(axis=-1, keepdims=True), winning, np.asarray(action_mask)).astype(np.int8)


class TabularPolicy:
    """A policy that looks its probabilities up in a table.

    Args:
        rules: The game.
        probabilities: The distribution of each position by its index, shape ``(n_positions, n_actions)``. The row
            of the empty position is ignored.

    Raises:
        TypeError: ``rules`` is not a NimRules.
        ValueError: ``probabilities`` has another shape.
    """

    def __init__(self, rules: NimRules, probabilities: ArrayLike) -> None:
        check_rules(rules)
        self.rules, self.probabilities = rules, np.asarray(probabilities)
        if self.probabilities.shape != (rules.n_positions, rules.n_actions):
            raise ValueError(
                f"probabilities must have shape {(rules.n_positions, rules.n_actions)}, one row for each position "
                f"of {rules}; got {self.probabilities.shape}"
            )

    def action_probabilities(self, observation: ArrayLike, action_mask: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """The probability of each action.

        Args:
            observation: Heap sizes, shape ``(..., n_heaps)``.
            action_mask: Unused; the table has the probabilities.

        Returns:
            Shape ``(..., n_actions)``, of the table's dtype.

        Raises:
            TypeError, ValueError: See :meth:`NimRules.index`.
        """
        probabilities: NDArray[Any] = self.probabilities[self.rules.index(observation)]
        return probabilities


def tabulate(rules: NimRules, policy: PolicyLike, dtype: DTypeLike = np.float32) -> TabularPolicy:
    """A copy of a policy as a table. It does not change when the policy learns more.

    Args:
        rules: The game.
        policy: The policy. It is queried on each position once.
        dtype: The dtype of the table.

    Returns:
        The table, whose ``probabilities`` have shape ``(n_positions, n_actions)``.

    Raises:
        TypeError: ``policy`` is not a policy.
        ValueError: The table would have more than 100 million entries, ``policy`` is unknown or was made for
            another game, or it returns anything but a distribution over legal actions.
    """
    player = checked_policy(policy, rules)
    if rules.n_positions * rules.n_actions > _MAX_TABLE_ENTRIES:
        raise ValueError(
            f"the table of {rules} would have more than {_MAX_TABLE_ENTRIES:,} entries; use a smaller game"
        )
    heaps = rules.all_positions()
    table = np.zeros((len(heaps), rules.n_actions), dtype=dtype)
    for rows in chunks(rules, len(heaps) - 1, start=1):
        table[rows] = query_policy(player, heaps[rows], rules.action_mask(heaps[rows]))
    return TabularPolicy(rules, table)


class MixturePolicy:
    """A weighted mixture of policies: one member, drawn by weight, chooses the moves.

    With ``draw="move"`` a member is drawn at each move. The mixture is then a policy: a behavior strategy, whose
    probabilities at a position are the weighted means of the members'. With ``draw="game"`` a member is drawn
    at the start of each game and makes all its moves. That is a mixed strategy, as meta-strategies are (Lanctot et
    al. 2017). It has no probabilities at a position, since they depend on the moves before it. Environments,
    :func:`nim_env.evaluation.win_probability`, :func:`nim_env.evaluation.payoff_matrix` and
    :func:`nim_env.evaluation.play_match` take it; functions that query single positions raise an error.

    It serves as the opponent pool of self-play: :meth:`add` a snapshot of the learner at intervals
    (:func:`tabulate` makes one) and pass the mixture as ``opponent``.

    Args:
        rules: The game.
        policies: The first members.
        max_size: The maximum number of members. :meth:`add` removes the oldest beyond it. ``None`` for no limit.
        weights: The weight of each of ``policies``, shape ``(len(policies),)``, 0 or more. They need not sum to
            1. ``None`` for equal weights.
        draw: ``"move"`` or ``"game"``.

    Attributes:
        policies: The members, the oldest first.
        weights: The weight of each member as it was given, a list of floats.

    Raises:
        TypeError: ``rules`` is not a NimRules, ``policies`` is not a sequence, a member is not a policy, a weight
            is not a number, or ``max_size`` is not an integer.
        ValueError: A member is unknown, was made for another game or is itself drawn per game; ``max_size`` is
            below 1; ``draw`` is unknown; a weight is negative or not finite; or ``weights`` has another length
            than ``policies``.
    """

    def __init__(
        self,
        rules: NimRules,
        policies: Sequence[PolicyLike] = (),
        max_size: int | None = None,
        weights: Sequence[float] | NDArray[Any] | None = None,
        draw: Literal["move", "game"] = "move",
    ) -> None:
        check_rules(rules)
        check_policies(policies)
        policies = list(policies)
        if max_size is not None:
            max_size = checked_integer("max_size", max_size, 1, ", or None for no limit")
        if draw not in ("move", "game"):
            raise ValueError(f'draw must be "move" or "game"; got {draw!r}')
        if weights is None:
            weights = [1.0] * len(policies)
        if np.shape(weights) != (len(policies),):
            raise ValueError(f"weights must have one number for each of {len(policies)} policies; got {weights!r}")
        self.rules, self.max_size, self.draw = rules, max_size, draw
        self.policies: list[Policy] = []
        self.weights: list[float] = []
        for policy, weight in zip(policies, weights, strict=True):
            self.add(policy, weight)

    def add(self, policy: PolicyLike, weight: float = 1.0) -> None:
        """Adds a member, and removes the oldest beyond ``max_size``.

        Args:
            policy: A name, a policy, or a callable on one position.
            weight: Its weight, 0 or more.

        Raises:
            TypeError: ``policy`` is not a policy, or ``weight`` is not a number.
            ValueError: ``policy`` is not a policy of this game, is the mixture itself or is drawn per game, or
                ``weight`` is negative or not finite.
        """
        member = checked_policy(policy, self.rules)
        if member is self:
            raise ValueError("policy must not be the mixture itself; add a copy of it")
        if is_drawn_per_game(member):
            raise ValueError(f'policy must not be a mixture with draw="game"; got {policy!r}, add its members')
        if isinstance(weight, bool | np.bool_) or not isinstance(weight, Real):
            raise TypeError(f"weight must be a number; got {weight!r}")
        if not 0 <= weight < np.inf:
            raise ValueError(f"weight must be 0 or more and finite; got {weight!r}")
        self.policies.append(member)
        self.weights.append(float(weight))
        if self.max_size is not None:
            del self.policies[: -self.max_size], self.weights[: -self.max_size]

    @property
    def member_probabilities(self) -> NDArray[np.float64]:
        """The weights divided by their sum, float64 of shape ``(n_members,)``.

        Raises:
            ValueError: There are no members, or no weight is positive.
        """
        weights = self._scaled_weights()
        probabilities: NDArray[np.float64] = weights / weights.sum()
        return probabilities

    def _scaled_weights(self) -> NDArray[np.float64]:
        """The weights divided by the largest, so that their sum is finite."""
        weights = np.array(self.weights)
        if not weights.any():
            raise ValueError(f"the mixture needs members with positive weights, add one first; got {self.weights}")
        scaled: NDArray[np.float64] = weights / weights.max()
        return scaled

    def draw_members(self, generator: np.random.Generator, games: int) -> list[Policy]:
        """Draws members by weight, one for each of a number of games.

        Environments with an opponent draw by themselves. In the AEC environment it gives the player of each game.

        Args:
            generator: Draws the members. A member of weight 0 is never drawn.
            games: The number of games, 0 or more.

        Returns:
            A list of ``games`` members.

        Raises:
            ValueError: There are no members, or no weight is positive.
        """
        weights = np.tile(self._scaled_weights(), (games, 1))
        return [self.policies[index] for index in sample(weights, generator).tolist()]

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The weighted mean of the members' probabilities. Members of weight 0 are not queried.

        Args:
            observation: Heap sizes of unfinished positions, shape ``(..., n_heaps)``.
            action_mask: Their legal actions, shape ``(..., n_actions)``.

        Returns:
            float64 of shape ``(..., n_actions)``.

        Raises:
            TypeError, ValueError: See :func:`query_policy`, for any member; or there are no members, no weight is
                positive, or a member is drawn per game.
        """
        if self.draw == "game":
            raise ValueError(
                'a mixture with draw="game" has no probabilities at a position, since they depend on the moves '
                'before it; use its members (policies) one by one, or a mixture with draw="move"'
            )
        weights, total = self._scaled_weights(), np.zeros(np.shape(action_mask))
        for policy, weight in zip(self.policies, weights.tolist(), strict=True):
            if weight:
                total += weight * query_policy(policy, np.asarray(observation), np.asarray(action_mask))
        mean: NDArray[np.float64] = total / weights.sum()
        return mean


def is_drawn_per_game(policy: Any) -> TypeGuard[MixturePolicy]:
    """Whether ``policy`` is a :class:`MixturePolicy` with ``draw="game"``."""
    return isinstance(policy, MixturePolicy) and policy.draw == "game"


def checked_policy(policy: PolicyLike, rules: NimRules, name: str = "policy") -> Policy:
    """Resolves ``policy`` to a :class:`Policy`.

    Args:
        policy: A name, a policy, or a callable on one position.
        rules: The game.
        name: The argument to name in an error.

    Returns:
        ``policy`` itself if it has ``action_probabilities``.

    Raises:
        TypeError: ``policy`` is not a name, a policy or a callable, or ``rules`` is not a NimRules.
        ValueError: No policy has that name, the policy was made for another game, or it is an agent that observes
            anything but heap sizes.
    """
    check_rules(rules)
    if isinstance(policy, str):
        return _named_policy(policy, rules, name)
    if isinstance(policy, type):
        raise TypeError(f"{name} must be a policy, not a class; got {policy!r}, make an instance of it")
    if not isinstance(policy, Policy) and hasattr(policy, "predict") and hasattr(policy, "observation_space"):
        raise TypeError(
            f"{name} must be a policy, not a model; got a {type(policy).__name__}, wrap a model of "
            "Stable-Baselines3 as nim_env.sb3.ModelPolicy(model, env)"
        )
    made_for = getattr(policy, "rules", rules)
    if isinstance(made_for, NimRules) and made_for != rules:
        raise ValueError(f"{name} was made for {made_for}, but the game is {rules}")
    n_actions = getattr(getattr(policy, "action_space", None), "n", rules.n_actions)  # an agent has spaces
    if n_actions != rules.n_actions:
        raise ValueError(f"{name} was made for {n_actions} actions, but {rules} has {rules.n_actions}")
    space = getattr(policy, "observation_space", None)  # of an agent
    if isinstance(space, Space) and not _holds_heaps(space, rules):
        raise ValueError(
            f"{name} must observe heap sizes such as {rules.heaps}, but it observes {space}; pass "
            "EncodedPolicy(policy, encoding) with the encoding it was trained on, env.unwrapped.encoding"
        )
    if isinstance(policy, Policy):
        return policy
    if callable(policy):
        return batched_by_position(policy)
    raise TypeError(
        f"{name} must be a name, an object with action_probabilities, or a callable "
        f"(observation, action_mask) -> action; got {policy!r}"
    )


def _holds_heaps(space: Space[Any], rules: NimRules) -> bool:
    return space.shape == (rules.n_heaps,) and space.contains(np.array(rules.heaps).astype(space.dtype))


def check_policies(policies: Any) -> None:
    """Raises TypeError if ``policies`` is not an iterable, or is one name."""
    if isinstance(policies, str) or not isinstance(policies, Iterable):
        raise TypeError(f'policies must be a sequence, such as ["random", "take-3"]; got {policies!r}')


def is_built_in(policy: Any) -> TypeGuard[UniformPolicy]:
    """Whether ``policy`` is a RandomPolicy, TakePolicy or ExpertPolicy, which the environments tabulate."""
    return type(policy) in (RandomPolicy, TakePolicy, ExpertPolicy)


def _named_policy(policy: str, rules: NimRules, name: str) -> Policy:
    if policy == "random":
        return RandomPolicy()
    if policy == "expert":
        return ExpertPolicy(rules)
    if take := re.fullmatch(r"take-([1-9][0-9]{0,17})", policy):
        return TakePolicy(rules, int(take[1]))
    raise ValueError(f'{name} must be "random", "expert" or "take-N" with N of 1 or more; got {policy!r}')
