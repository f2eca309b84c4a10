"""Players: policies whose answers are checked, each with a rule for its illegal actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._internal.checks import checked_choice
from nim_env._internal.draws import draw
from nim_env.policies.base import Policy, attributes_of

_TOLERANCE = 1e-5  # for the sum of float32 probabilities, and between two answers of one policy
_ROUNDING = 1e-12  # for the sum of a row of float64 numbers that were divided by their sum
_ANSWERS_DIFFER = (
    "exact metrics need the same answer each time: switch exploration off, return probabilities (a policy), or "
    "measure frequencies by policies.SampledPolicy(function, n)"
)

IllegalAction: TypeAlias = Literal["raise", "lose"]
"""Whether an illegal action is an error or loses the game at once."""


class InvalidPolicyOutput(ValueError):  # noqa: N818  it names the fault, as gymnasium.error.InvalidAction does
    """A policy returned something that is not a legal action or not a distribution over legal actions."""


class MoveProbabilities(NamedTuple):
    """The probabilities of a player's moves in some positions.

    Attributes:
        probabilities: The probability of each legal action, float64 of shape ``(..., n_actions)``, 0 for illegal
            actions.
        illegal: The probability of losing by an illegal action, float64 of shape ``(...)``.
    """

    probabilities: NDArray[np.float64]
    illegal: NDArray[np.float64]


@dataclass(frozen=True)
class Player:
    """A policy with a rule for its illegal actions. It does not stand for one of the two sides of a game.

    With ``illegal_action="raise"``, the policy must return a distribution over the legal actions of each position.
    Anything else raises :class:`InvalidPolicyOutput`.

    With ``"lose"``, illegal actions can have positive probability, and the probabilities of a position can sum to
    less than 1. Both count as losing the game. A probability of losing below 1e-12 counts as 0.
    """

    policy: Policy
    illegal_action: IllegalAction = "raise"

    def __post_init__(self) -> None:
        checked_choice("illegal_action", self.illegal_action, get_args(IllegalAction))

    def query(
        self, heaps: NDArray[Any], action_mask: NDArray[np.int8], *, require_same_answer: bool = False
    ) -> MoveProbabilities:
        """Returns the policy's moves in positions of shape ``(..., n_heaps)``. The policy gets copies of them.

        Exact metrics pass ``require_same_answer=True``. Then the policy is queried twice, and answers to the same
        position that differ are an error. A policy whose answers are fixed or measured is queried only once.
        """
        probabilities = checked_probabilities(self.policy, heaps, action_mask)
        attributes = attributes_of(self.policy)  # read after the query, which sets the fault
        if require_same_answer and not (attributes.is_fixed or attributes.is_measurement):
            again = checked_probabilities(self.policy, heaps, action_mask)
            differs = np.abs(again - probabilities).max(axis=-1) > _TOLERANCE
            _refuse(self.policy, _ANSWERS_DIFFER, differs, heaps, probabilities, again)
        sums = probabilities.sum(axis=-1)
        is_complete = np.abs(sums - 1) <= _TOLERANCE
        if self.illegal_action == "raise":
            is_illegal = ((probabilities > 0) & (action_mask == 0)).any(axis=-1)
            fault = (
                attributes.fault
                or "illegal actions have positive probability, or the probabilities do not sum to 1"
            )
            _refuse(self.policy, fault, is_illegal | ~is_complete, heaps, probabilities)
            return MoveProbabilities(probabilities, np.zeros(sums.shape))
        probabilities *= action_mask
        probabilities /= np.where(is_complete, sums, 1.0)[..., None]
        missing = 1 - probabilities.sum(axis=-1)
        return MoveProbabilities(probabilities, np.where(missing > _ROUNDING, missing, 0.0))

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Returns the probabilities of the legal actions: float64 of shape ``(..., n_actions)``."""
        return self.query(np.asarray(observation), np.asarray(action_mask)).probabilities


def checked_probabilities(
    policy: Policy, heaps: NDArray[Any], action_mask: NDArray[np.int8]
) -> NDArray[np.float64]:
    """Returns a policy's probabilities as float64, after checking that they are 0 or more and sum to at most 1."""
    output = np.asarray(policy.action_probabilities(heaps.copy(), action_mask.copy()))
    if output.dtype.kind not in "biuf" or output.shape != action_mask.shape:
        raise InvalidPolicyOutput(
            f"{policy!r} must return probabilities of shape {action_mask.shape}, one for each action; "
            f"got {output.dtype} of shape {output.shape} at heaps {heaps.tolist()}"
        )
    probabilities = output.astype(np.float64, order="C")  # so sums are rounded alike for any layout
    is_right = (probabilities >= 0).all(axis=-1) & (probabilities.sum(axis=-1) - 1 <= _TOLERANCE)
    _refuse(policy, "a negative or undefined probability, or a sum above 1", ~is_right, heaps, probabilities)
    return probabilities


def _refuse(policy: Policy, fault: str, is_wrong: Any, heaps: NDArray[Any], *answers: NDArray[np.float64]) -> None:
    """Raises :class:`InvalidPolicyOutput` if an entry of ``is_wrong`` is True, with the answers at that entry."""
    if is_wrong.any():
        rows = " and then ".join(str(answer[is_wrong][0].tolist()) for answer in answers)
        raise InvalidPolicyOutput(f"{policy!r} returned {rows} at heaps {heaps[is_wrong][0].tolist()}: {fault}")


def sample(probabilities: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Draws one action from each distribution ``(..., n_actions)``: int64 of shape ``(...)``.

    The probabilities of a distribution need not sum to 1, but their sum must be positive. An action of probability
    0 is never drawn.
    """
    return draw(probabilities, generator.random(probabilities.shape[:-1]))
