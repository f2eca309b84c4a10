"""Players that need no training. Each draws uniformly from a set of actions."""

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
    """A policy that draws uniformly from its :meth:`support`, a set of legal actions."""

    @abstractmethod
    def support(self, heaps: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:
        """Marks the actions that it draws from: int8 ones and zeros of shape ``(..., n_actions)``."""

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Returns the probability of each action in unfinished positions: float64, ``(..., n_actions)``."""
        support = self.support(observation, action_mask)
        return support / support.sum(axis=-1, keepdims=True)


@dataclass(frozen=True)
class RandomPolicy(UniformPolicy, is_fixed=True):
    """Draws uniformly from the legal actions."""

    def support(self, heaps: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:  # noqa: ARG002
        """Marks the legal actions."""
        return np.asarray(action_mask).astype(np.int8)


@dataclass(frozen=True)
class TakePolicy(UniformPolicy, is_fixed=True):
    """Takes ``n`` objects from a heap, which it draws uniformly from the non-empty heaps.

    If the heap holds fewer objects, or the rules allow fewer, it takes as many as it can.

    Args:
        rules: The game.
        n: The number of objects to take, 1 or more.
    """

    rules: NimRules
    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", checked_integer("n", self.n, minimum=1))

    def support(self, heaps: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:  # noqa: ARG002
        """Marks one action for each non-empty heap. The mask is ignored."""
        limit = min(self.n, max(self.rules.heaps), self.rules.max_take or self.n)
        count = np.minimum(self.rules.checked_positions(heaps), limit)
        takes = count[..., self.rules.move_heaps] == self.rules.move_counts
        return np.asarray(takes, dtype=np.int8)


@dataclass(frozen=True)
class ExpertPolicy(UniformPolicy, is_fixed=True):
    """Plays perfectly: draws a winning action, or any legal action if none wins.

    On one heap in normal play with takes of up to 3, it takes ``heap % 4`` objects, or a random number if that is
    0. :mod:`nim_env.theory` names the sources.

    Args:
        rules: The game.
    """

    rules: NimRules

    def support(self, heaps: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:
        """Marks the winning actions, or all legal actions if none wins."""
        winning = theory.winning_action_mask(self.rules, heaps)
        return np.where(winning.any(axis=-1, keepdims=True), winning, np.asarray(action_mask)).astype(np.int8)
