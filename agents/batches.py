"""Arithmetic on batches: choosing among actions, and applying many updates to one table."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

BELOW_ALL = 1e308  # what an illegal action is lowered by, so that no legal one is below it


def lowered(values: NDArray[np.float64], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
    """``values`` with illegal actions below all legal ones; by arithmetic, which is quicker than by choice."""
    low = legal.astype(np.float64)
    low -= 1.0
    low *= BELOW_ALL
    low += values
    return low


def row_counts(choices: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many are True in each row, by a product, which is quicker than a sum over short rows."""
    counts: NDArray[np.float32] = choices.astype(np.float32) @ _ones(choices.shape[1])
    return counts.astype(np.int64)


@lru_cache(maxsize=16)
def _ones(number: int) -> NDArray[np.float32]:
    return np.ones(number, dtype=np.float32)


def best_of(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The first column of the largest value in each row, and that value."""
    columns = values.argmax(axis=1)
    return columns, values.reshape(-1).take(columns + np.arange(0, values.size, values.shape[1]))


def one_of(choices: NDArray[np.bool_], number: NDArray[np.int64], draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """A column of each row where ``choices`` is True, by one uniform draw from [0, 1) for each row.

    Args:
        choices: One True or more in each row, shape ``(n, n_actions)``.
        number: How many, its :func:`row_counts`.
        draws: Shape ``(n,)``.
    """
    nth = number.cumsum() - number + (draws * number).astype(np.int64)
    columns: NDArray[np.int64] = np.flatnonzero(choices).take(nth) - np.arange(len(choices)) * choices.shape[1]
    return columns


def move_towards(
    values: NDArray[np.float64], entries: NDArray[np.int64], targets: NDArray[np.float64], share: float
) -> None:
    """Moves entries of a flat array towards their targets, one after another.

    Where an entry occurs k times, with targets t₁ … t_k, k steps v ← v + α (t − v) end at
    (1 − α)ᵏ v + Σ α (1 − α)ᵏ⁻ⁱ tᵢ, which is what this computes.

    Args:
        values: Changed in place.
        entries: Indices into ``values``, in order of time.
        targets: What each is moved towards.
        share: How far, α, 0 to 1.
    """
    if share == 1.0 or not entries.size:
        values[entries] = targets  # of several assignments to one entry the last stays
        return
    order = entries.argsort(kind="stable")
    entries = entries[order]
    first = np.flatnonzero(np.append(True, entries[1:] != entries[:-1]))
    number = np.diff(np.append(first, len(entries)))
    later = np.repeat(first + number, number) - np.arange(1, len(entries) + 1)  # how many come after each
    kept = (1.0 - share) ** later
    gained = np.add.reduceat(share * kept * targets[order], first)
    values[entries[first]] = (1.0 - share) ** number * values[entries[first]] + gained
