"""A policy that is queried: its output is checked, and its illegal actions are an error or lose the game."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._chunks import chunks
from nim_env.rules import NimRules

_TOLERANCE = 1e-5  # of the sum of the probabilities of a float32 policy
_ROUNDING = 1e-12  # of the sum of a row of float64 numbers that were divided by their sum


@runtime_checkable
class Policy(Protocol):
    """Anything with ``action_probabilities``: a policy of :mod:`nim_env.policies`, an agent, or your own class."""

    def action_probabilities(self, observation: Any, action_mask: Any) -> NDArray[Any]:
        """In each position a distribution over its legal actions: numbers of shape ``(..., n_actions)``.

        ``observation`` holds the heap sizes of unfinished positions, int64 of shape ``(..., n_heaps)``, and
        ``action_mask`` their legal actions, int8 of shape ``(..., n_actions)``.
        """
        ...


IllegalAction: TypeAlias = Literal["raise", "lose"]
"""Whether an illegal action is an error or loses the game at once."""


class InvalidPolicyOutput(ValueError):  # noqa: N818  it names the fault, as gymnasium.error.InvalidAction does
    """A policy returned something that is not a legal action or not a distribution over legal actions."""


class MoveProbabilities(NamedTuple):
    """What a player does in some positions.

    Attributes:
        probabilities: Of the legal actions, float64 of shape ``(..., n_actions)``; 0 for illegal ones.
        illegal: The probability of losing by an illegal action, float64 of shape ``(...)``.
    """

    probabilities: NDArray[np.float64]
    illegal: NDArray[np.float64]


@dataclass(frozen=True)
class Player:
    """A policy of a game, and what its illegal actions do.

    With ``illegal_action="raise"``, anything but a distribution over legal actions for each position is an
    :class:`InvalidPolicyOutput`. With ``"lose"`` a row may name illegal actions and sum to less than 1: both lose
    the game. A probability of losing below 1e-12 counts as 0.
    """

    policy: Policy
    illegal_action: IllegalAction

    def query(self, heaps: NDArray[Any], action_mask: NDArray[np.int8]) -> MoveProbabilities:
        """The moves in positions of shape ``(..., n_heaps)``. The policy gets copies of the arrays."""
        output = np.asarray(self.policy.action_probabilities(heaps.copy(), action_mask.copy()))
        if output.dtype.kind not in "biuf" or output.shape != action_mask.shape:
            raise InvalidPolicyOutput(
                f"{self.policy!r} must return probabilities of shape {action_mask.shape}, one for each action; "
                f"got {output.dtype} of shape {output.shape} at heaps {heaps.tolist()}"
            )
        probabilities = output.astype(np.float64, order="C")  # sums over rows round alike in every layout
        sums = probabilities.sum(axis=-1)
        is_complete = np.abs(sums - 1) <= _TOLERANCE
        faults = {"a negative or undefined probability": ~(probabilities >= 0).all(axis=-1)}
        if self.illegal_action == "raise":
            is_illegal = (probabilities > 0) & (action_mask == 0)
            faults["a positive probability for an illegal action"] = is_illegal.any(axis=-1)
            faults["probabilities that do not sum to 1"] = ~is_complete
        else:
            faults["probabilities of a sum above 1"] = ~is_complete & (sums > 1)
        for fault, is_wrong in faults.items():
            if is_wrong.any():
                position = heaps[is_wrong][0].tolist()
                row = probabilities[is_wrong][0].tolist()
                raise InvalidPolicyOutput(f"{self.policy!r} returned {fault} at heaps {position}: {row}")
        if self.illegal_action == "raise":
            return MoveProbabilities(probabilities, np.zeros(sums.shape))
        probabilities *= action_mask
        probabilities /= np.where(is_complete, sums, 1.0)[..., None]
        lack = 1 - probabilities.sum(axis=-1)
        return MoveProbabilities(probabilities, np.where(lack > _ROUNDING, lack, 0.0))

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The probabilities of the legal actions: float64 of shape ``(..., n_actions)``."""
        return self.query(np.asarray(observation), np.asarray(action_mask)).probabilities

    def tabulated(self, rules: NimRules) -> TabulatedPlayer:
        """The same player with its moves in a table, which queries the policy on each position once."""
        heaps = rules.all_positions()
        table = MoveProbabilities(np.zeros((len(heaps), rules.n_actions)), np.zeros(len(heaps)))
        for rows in chunks(rules, len(heaps) - 1, start=1):
            moves = self.query(heaps[rows], rules.action_mask(heaps[rows]))
            table.probabilities[rows], table.illegal[rows] = moves
        return TabulatedPlayer(self.policy, self.illegal_action, rules, table)


@dataclass(frozen=True)
class TabulatedPlayer(Player):
    """A player whose moves are looked up: those of a position, by its index, in the rows of a table."""

    rules: NimRules
    table: MoveProbabilities

    def query(self, heaps: NDArray[Any], action_mask: NDArray[np.int8]) -> MoveProbabilities:  # noqa: ARG002
        """The rows of the positions."""
        indices = np.asarray(self.rules.index(heaps))
        return MoveProbabilities(*(column.take(indices, axis=0) for column in self.table))


def sample(probabilities: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Draws one action from each distribution ``(..., n_actions)``: int64 of shape ``(...)``.

    Each row may sum to any positive number. An action of probability 0 is never drawn.
    """
    cumulative = probabilities.cumsum(axis=-1)
    drawn = generator.random(probabilities.shape[:-1]) * cumulative[..., -1]
    return np.asarray((cumulative <= drawn[..., None]).sum(axis=-1))


def uniform_sample(support: NDArray[Any], draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Draws one action uniformly from the nonzero entries of each row, by ``draws`` of [0, 1): shape ``(n,)``."""
    candidates = np.flatnonzero(support)
    number = np.count_nonzero(support, axis=1)
    nth = number.cumsum() - number + (draws * number).astype(np.int64)
    return np.asarray(candidates[nth] - np.arange(len(support)) * support.shape[1])
