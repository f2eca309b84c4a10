"""Array operations on batches: masked argmax, uniform sampling of legal actions, and the batched TD update."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

ILLEGAL_PENALTY = 1e308  # is subtracted from the values of illegal actions; larger than any value


def masked_values(values: NDArray[np.float64], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
    """``values`` with illegal actions below all legal ones; arithmetic is faster than ``np.where`` here."""
    masked = legal.astype(np.float64)
    masked -= 1.0
    masked *= ILLEGAL_PENALTY
    masked += values
    return masked


def row_counts(choices: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The number of True in each row; a matrix product is faster than a sum over short rows."""
    counts: NDArray[np.float32] = choices.astype(np.float32) @ _ones(choices.shape[1])
    return counts.astype(np.int64)


@lru_cache(maxsize=16)
def _ones(n: int) -> NDArray[np.float32]:
    return np.ones(n, dtype=np.float32)


def argmax_and_max(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The first index of the largest value in each row, and that value: shapes ``(n,)``."""
    indices = values.argmax(axis=1)
    return indices, values.reshape(-1).take(indices + np.arange(0, values.size, values.shape[1]))


def uniform_sample(
    choices: NDArray[np.bool_], counts: NDArray[np.int64], uniforms: NDArray[np.float64]
) -> NDArray[np.int64]:
    """A uniformly random index of each row among those where ``choices`` is True.

    Args:
        choices: At least one True in each row, shape ``(n, n_actions)``.
        counts: The :func:`row_counts` of ``choices``, shape ``(n,)``.
        uniforms: One draw from [0, 1) for each row, shape ``(n,)``.
    """
    nth = counts.cumsum() - counts + (uniforms * counts).astype(np.int64)
    indices: NDArray[np.int64] = np.flatnonzero(choices).take(nth) - np.arange(len(choices)) * choices.shape[1]
    return indices


def td_update(
    values: NDArray[np.float64], indices: NDArray[np.int64], targets: NDArray[np.float64], learning_rate: float
) -> None:
    """Applies v ← v + α (t − v) for each index and target, one after another.

    Where an index occurs k times, with targets t₁ … t_k, the k updates give
    (1 − α)ᵏ v + Σ α (1 − α)ᵏ⁻ⁱ tᵢ, which is computed in one step.

    Args:
        values: A flat array, changed in place.
        indices: Indices into ``values``, in the order of the updates.
        targets: The target of each update.
        learning_rate: α, 0 to 1.
    """
    if learning_rate == 1.0 or not indices.size:
        values[indices] = targets  # of several assignments to one index the last one stays
        return
    order = indices.argsort(kind="stable")
    indices = indices[order]
    edges = np.concatenate([[0], (indices[1:] != indices[:-1]).nonzero()[0] + 1, [len(indices)]])
    first, end = edges[:-1], edges[1:]
    counts, where = end - first, indices[first]
    n_later = end.repeat(counts) - np.arange(1, len(indices) + 1)  # updates after each one
    powers = np.full(counts.max() + 1, 1.0 - learning_rate)
    powers[0] = 1.0
    powers = powers.cumprod()  # products, unlike **, are the same on every processor
    new = np.add.reduceat(learning_rate * powers[n_later] * targets[order], first)
    values[where] = powers[counts] * values[where] + new
