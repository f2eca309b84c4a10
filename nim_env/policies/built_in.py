"""Policies that need no training: random play, perfect play, and taking a fixed number of objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env import theory
from nim_env._internal.checks import checked_integer
from nim_env.policies.base import PolicyAttributes
from nim_env.rules import NimRules


class UniformPolicy(PolicyAttributes, ABC):
    """A base class of policies that draw uniformly from a set of legal actions.

    A subclass defines this set in each position, by the method :meth:`support`.
    """

    @abstractmethod
    def support(self, heaps: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:
        """Returns an int8 array, ``(..., n_actions)``: 1 for actions that the policy can play, 0 for others."""

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Returns the probability of each action in each position: float64 of shape ``(..., n_actions)``."""
        support = self.support(observation, action_mask)
        return support / support.sum(axis=-1, keepdims=True)


@dataclass(frozen=True)
class RandomPolicy(UniformPolicy, is_fixed=True):
    """A policy that plays all legal actions with the same probability."""

    def support(self, heaps: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:  # noqa: ARG002
        """Returns the action mask as an int8 array, since the policy can play every legal action."""
        return np.asarray(action_mask).astype(np.int8)


@dataclass(frozen=True)
class TakePolicy(UniformPolicy, is_fixed=True):
    """A policy that takes ``n`` objects from a heap, which is drawn uniformly from the non-empty heaps.

    If the heap has fewer objects, or the rules allow fewer, the policy takes as many as possible.

    Args:
        rules: The game.
        n: The number of objects to take, 1 or more.
    """

    rules: NimRules
    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", checked_integer("n", self.n, minimum=1))

    def support(self, heaps: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:  # noqa: ARG002
        """Returns an int8 array, ``(..., n_actions)``: 1 for one action of each non-empty heap, 0 for others.

        The mask is ignored.
        """
        count = np.minimum(self.rules.checked_positions(heaps), min(self.n, self.rules.largest_take))
        takes = count[..., self.rules.move_heaps] == self.rules.move_counts
        return np.asarray(takes, dtype=np.int8)


@dataclass(frozen=True)
class ExpertPolicy(UniformPolicy, is_fixed=True):
    """A policy that plays perfectly: it draws uniformly from the actions that win.

    If no action wins, it draws uniformly from all legal actions. For example, on one heap in normal play with
    takes of up to 3, it takes ``heap % 4`` objects, or a random number if that is 0. :mod:`nim_env.theory` names
    the sources.

    Args:
        rules: The game.
    """

    rules: NimRules

    def support(self, heaps: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:
        """Returns an int8 array, ``(..., n_actions)``: 1 for winning actions or, if none wins, for legal ones."""
        winning = theory.winning_action_mask(self.rules, heaps)
        return np.where(winning.any(axis=-1, keepdims=True), winning, np.asarray(action_mask)).astype(np.int8)
