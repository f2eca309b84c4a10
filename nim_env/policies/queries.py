"""What a policy is, and how one is queried: checked probabilities and sampled actions."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

_TOLERANCE = 1e-5  # of the sum of the probabilities of a float32 policy


@runtime_checkable
class Policy(Protocol):
    """Anything with ``action_probabilities``: the policies of this package, an agent, or your own class."""

    def action_probabilities(self, observation: Any, action_mask: Any) -> NDArray[Any]:
        """In each position a distribution over its legal actions: numbers of shape ``(..., n_actions)``.

        ``observation`` holds the heap sizes of unfinished positions, int64 of shape ``(..., n_heaps)``, and
        ``action_mask`` their legal actions, int8 of shape ``(..., n_actions)``.
        """
        ...


class InvalidPolicyOutput(ValueError):  # noqa: N818  it names the fault, as gymnasium.error.InvalidAction does
    """A policy returned something that is not a legal action or not a distribution over legal actions."""


def query_policy(policy: Policy, observation: NDArray[Any], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
    """A policy's probabilities, float64 of shape ``(..., n_actions)``. The policy gets copies of the arrays.

    Anything but a distribution over legal actions for each position is an :class:`InvalidPolicyOutput`.
    """
    output = np.asarray(policy.action_probabilities(observation.copy(), action_mask.copy()))
    if output.dtype.kind not in "biuf" or output.shape != action_mask.shape:
        raise InvalidPolicyOutput(
            f"{policy!r} must return probabilities of shape {action_mask.shape}, one for each action; "
            f"got {output.dtype} of shape {output.shape} at heaps {observation.tolist()}"
        )
    probabilities = output.astype(np.float64, order="C")  # sums over rows round alike in every layout
    checks = {
        "a negative or undefined probability": (probabilities >= 0).all(axis=-1),
        "a positive probability for an illegal action": ~((probabilities > 0) & (action_mask == 0)).any(axis=-1),
        "probabilities that do not sum to 1": np.abs(probabilities.sum(axis=-1) - 1) <= _TOLERANCE,
    }
    for fault, is_valid in checks.items():
        if not np.all(is_valid):
            is_wrong = ~np.asarray(is_valid)
            heaps = observation[is_wrong][0].tolist()
            row = probabilities[is_wrong][0].tolist()
            raise InvalidPolicyOutput(f"{policy!r} returned {fault} at heaps {heaps}: {row}")
    return probabilities


def sample(probabilities: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Draws one action from each distribution ``(..., n_actions)``: int64 of shape ``(...)``.

    Each row may sum to any positive number. An action of probability 0 is never drawn.
    """
    cumulative = probabilities.cumsum(axis=-1)
    drawn = generator.random(probabilities.shape[:-1]) * cumulative[..., -1]
    actions: NDArray[np.int64] = (cumulative <= drawn[..., None]).sum(axis=-1)
    return actions


def uniform_sample(support: NDArray[Any], draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Draws one action uniformly from the nonzero entries of each row ``(n, n_actions)``: int64 of shape ``(n,)``.

    ``draws`` has one number from [0, 1) for each row.
    """
    candidates = np.flatnonzero(support)
    number = np.count_nonzero(support, axis=1)
    nth = number.cumsum() - number + (draws * number).astype(np.int64)
    actions: NDArray[np.int64] = candidates[nth] - np.arange(len(support)) * support.shape[1]
    return actions
