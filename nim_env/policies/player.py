"""Players: a player is a policy whose probabilities are checked, with a rule for its illegal actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._internal.checks import checked_choice
from nim_env._internal.draws import draw
from nim_env.policies.base import Policy

_TOLERANCE = 1e-5  # for the sum of float32 probabilities, and between two answers of one policy
_ROUNDING = 1e-12  # for the sum of a row of float64 numbers that were divided by their sum
_NOT_LEGAL = "illegal actions have positive probability, or the probabilities do not sum to 1"
_ANSWERS_DIFFER = (
    "exact metrics need the same answer each time: switch exploration off, return probabilities (a policy), or "
    "measure frequencies by policies.SampledPolicy(rules, function, n)"
)

IllegalAction: TypeAlias = Literal["raise", "lose"]
"""What an illegal action does: raise an error, or lose the game at once."""


class InvalidPolicyOutput(ValueError):  # noqa: N818  it names the fault, as gymnasium.error.InvalidAction does
    """An error that says that a policy did not return a legal action or a distribution over legal actions."""


class MoveProbabilities(NamedTuple):
    """The probabilities of a player's moves in each position of a batch.

    Attributes:
        probabilities: The probability of each action, float64 of shape ``(..., n_actions)``; 0 for illegal
            actions.
        illegal: The probability that the player chooses an illegal action and loses, float64 of shape ``(...)``.
    """

    probabilities: NDArray[np.float64]
    illegal: NDArray[np.float64]


@dataclass(frozen=True)
class Player:
    """A policy whose probabilities are checked, with a rule for its illegal actions.

    Args:
        policy: The policy.
        illegal_action: The rule. With ``"raise"``, the policy must return a distribution over the legal actions of
            each position, and anything else raises :class:`InvalidPolicyOutput`. With ``"lose"``, the player loses
            the game if an illegal action is drawn. If the probabilities sum to less than 1, the difference counts
            as the probability of an illegal action. A probability of losing below 1e-12 counts as 0.
    """

    policy: Policy
    illegal_action: IllegalAction = "raise"

    def __post_init__(self) -> None:
        checked_choice("illegal_action", self.illegal_action, get_args(IllegalAction))

    def query(
        self, heaps: NDArray[Any], action_mask: NDArray[np.int8], *, require_same_answer: bool = False
    ) -> MoveProbabilities:
        """Returns the probabilities of the player's moves in some positions, after asking the policy for them.

        ``heaps`` has shape ``(..., n_heaps)`` and ``action_mask`` shape ``(..., n_actions)``. Exact metrics pass
        ``require_same_answer=True``, which queries the policy twice, unless it has ``is_fixed`` or
        ``is_measurement``. Raises :class:`InvalidPolicyOutput` if an answer is invalid or the two answers differ.
        """
        probabilities = checked_probabilities(self.policy, heaps, action_mask)
        is_same = getattr(self.policy, "is_fixed", False) or getattr(self.policy, "is_measurement", False)
        if require_same_answer and not is_same:
            again = checked_probabilities(self.policy, heaps, action_mask)
            differs = np.abs(again - probabilities).max(axis=-1) > _TOLERANCE
            _refuse(self.policy, _ANSWERS_DIFFER, differs, heaps, probabilities, again)
        sums = probabilities.sum(axis=-1)
        is_complete = np.abs(sums - 1) <= _TOLERANCE
        if self.illegal_action == "raise":
            is_illegal = ((probabilities > 0) & (action_mask == 0)).any(axis=-1)
            fault = getattr(self.policy, "fault", None) or _NOT_LEGAL
            _refuse(self.policy, fault, is_illegal | ~is_complete, heaps, probabilities)
            return MoveProbabilities(probabilities, np.zeros(sums.shape))
        probabilities *= action_mask
        probabilities /= np.where(is_complete, sums, 1.0)[..., None]
        missing = 1 - probabilities.sum(axis=-1)
        return MoveProbabilities(probabilities, np.where(missing > _ROUNDING, missing, 0.0))

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Returns the checked probability of each action, float64 of shape ``(..., n_actions)``."""
        return self.query(np.asarray(observation), np.asarray(action_mask)).probabilities


def checked_probabilities(
    policy: Policy, heaps: NDArray[Any], action_mask: NDArray[np.int8]
) -> NDArray[np.float64]:
    """Asks a policy for its probabilities and returns them, float64 of shape ``(..., n_actions)``.

    Raises :class:`InvalidPolicyOutput` if the shape is wrong, a number is negative or NaN, or a sum is above 1.
    """
    output = np.asarray(policy.action_probabilities(heaps.copy(), action_mask.copy()))
    if output.dtype.kind not in "biuf" or output.shape != action_mask.shape:
        raise InvalidPolicyOutput(
            f"{policy!r} must return probabilities of shape {action_mask.shape}, one for each action; "
            f"got {output.dtype} of shape {output.shape} at heaps {heaps.tolist()}"
        )
    probabilities = output.astype(np.float64, order="C")  # so rounding does not depend on the memory layout
    is_right = (probabilities >= 0).all(axis=-1) & (probabilities.sum(axis=-1) - 1 <= _TOLERANCE)
    _refuse(policy, "a negative or undefined probability, or a sum above 1", ~is_right, heaps, probabilities)
    return probabilities


def _refuse(policy: Policy, fault: str, is_wrong: Any, heaps: NDArray[Any], *answers: NDArray[np.float64]) -> None:
    """Raises :class:`InvalidPolicyOutput` if a policy's answer is wrong in any position.

    ``is_wrong`` says for each position whether the answer is wrong. The message says what is wrong (``fault``),
    and shows the heaps of the first such position and the rows of all ``answers`` there.
    """
    if is_wrong.any():
        rows = " and then ".join(str(answer[is_wrong][0].tolist()) for answer in answers)
        raise InvalidPolicyOutput(f"{policy!r} returned {rows} at heaps {heaps[is_wrong][0].tolist()}: {fault}")


def sample(probabilities: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Draws one action from each row of ``probabilities``, in proportion to the numbers of the row.

    ``probabilities`` has shape ``(..., n_actions)``. The sum of a row must be positive, but need not be 1. Returns
    the actions, int64 of shape ``(...)``. An action of probability 0 is never drawn.
    """
    return draw(probabilities, generator.random(probabilities.shape[:-1]))
