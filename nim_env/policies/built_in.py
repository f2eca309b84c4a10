"""The players that need no training, players by name, and the checks of a policy at the door."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard, get_args

import numpy as np
from gymnasium import Space
from numpy.typing import ArrayLike, NDArray

from nim_env import theory
from nim_env._checks import checked_choice, checked_integer
from nim_env.policies.functions import as_policy, asked
from nim_env.policies.player import IllegalAction, Player, Policy
from nim_env.rules import NimRules


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
