"""Draws in proportion to weights."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_EVEN = 1e-6  # the largest distance of a weight from the mean, relative to it, that counts as rounding of float32


def draw(weights: NDArray[Any], uniforms: Any) -> NDArray[np.int64]:
    """A column of each row of ``weights``, shape ``(..., n)``, in proportion to them: int64 of shape ``(...)``.

    ``uniforms``, numbers of [0, 1) of shape ``(...)``, decide. A row may have any positive sum. A column of weight
    0 is never drawn.
    """
    cumulative = weights.cumsum(axis=-1)
    return np.asarray((cumulative <= (uniforms * cumulative[..., -1])[..., None]).sum(axis=-1))


def draw_equal(weights: NDArray[Any], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    """The same for weights of 0 and 1, shape ``(n, m)``: faster."""
    counts = np.count_nonzero(weights, axis=1)
    nth = counts.cumsum() - counts + (uniforms * counts).astype(np.int64)
    return np.flatnonzero(weights)[nth] - np.arange(len(weights)) * weights.shape[1]


class AliasLists:
    """Lists of items, from which one is drawn in proportion to its weight by two look-ups (Walker 1977).

    A list has a slot for each of its items. A draw is a slot, uniformly, and then the slot's item with the
    probability ``keep``, else its alias.

    Attributes:
        counts: The number of slots of each list, int64 of shape ``(n_lists,)``.
        first: The first slot of each list, int64 of shape ``(n_lists,)``.
        items: The item of each slot, int64 of shape ``(n_slots,)``.
        aliases: The alias of each slot, an item of the same list, int64 of shape ``(n_slots,)``.
        keep: The probability of each slot, float64 of shape ``(n_slots,)``; ``None`` where all are 1.
    """

    def __init__(
        self,
        counts: NDArray[np.int64],
        items: NDArray[np.int64],
        aliases: NDArray[np.int64] | None = None,
        keep: NDArray[np.float64] | None = None,
    ) -> None:
        self.counts = counts
        self.first = counts.cumsum() - counts
        self.items = items
        self.aliases = items if aliases is None else aliases
        self.keep = keep
        self._choices = items if keep is None else np.column_stack([self.items, self.aliases]).ravel()

    def __len__(self) -> int:
        """The number of slots."""
        return len(self.items)

    def draw(self, lists: NDArray[np.int64], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """An item of each of ``lists``, as ``uniforms`` of [0, 1) decide: all of shape ``(n,)``."""
        scaled = uniforms * self.counts.take(lists)
        nth = scaled.astype(np.int64)
        choices: NDArray[np.int64] = self.first.take(lists)
        choices += nth
        if self.keep is not None:
            scaled -= nth
            is_alias = scaled >= self.keep.take(choices)
            choices += choices
            choices += is_alias
        return self._choices.take(choices)

    def draw_from_one(self, uniforms: Any) -> Any:
        """The same where there is one list, faster: ``uniforms`` are of any shape, also a float."""
        scaled = np.asarray(uniforms * len(self.items))
        nth = scaled.astype(np.int64)
        drawn = self.items.take(nth)
        if self.keep is None:
            return drawn
        return np.where(scaled - nth < self.keep.take(nth), drawn, self.aliases.take(nth))[()]

    def mapped(self, function: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]) -> AliasLists:
        """The lists with other items: ``function`` of the list of each slot and of its item."""
        lists = np.arange(len(self.counts)).repeat(self.counts)
        items = function(lists, self.items)
        aliases = items if self.keep is None else function(lists, self.aliases)
        return AliasLists(self.counts, items, aliases, self.keep)

    def redirected(self, one: Any, other: Any) -> AliasLists:
        """The lists with the list ``other`` in the place of ``one`` too; both may be arrays."""
        lists = copy.copy(self)
        for name in ("counts", "first"):
            numbers = getattr(self, name).copy()
            numbers[one] = numbers[other]
            setattr(lists, name, numbers)
        return lists


def joined(parts: Sequence[AliasLists]) -> AliasLists:
    """The lists of each part, one part after another."""
    keep = None
    if any(part.keep is not None for part in parts):
        keep = np.concatenate([np.ones(len(part.items)) if part.keep is None else part.keep for part in parts])
    counts, items, aliases = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("counts", "items", "aliases")
    )
    return AliasLists(counts, items, aliases, keep)


def alias_lists(weights: NDArray[Any]) -> AliasLists:
    """A list for each row of ``weights``, shape ``(n, m)``: the columns of positive weight (Vose 1991).

    Weights of one row that differ by rounding alone count as equal. Weights of int8 are 0 or 1.
    """
    row, column = weights.nonzero()
    counts = np.count_nonzero(weights, axis=1)
    if weights.dtype == np.int8:
        return AliasLists(counts, column)
    mean = weights.sum(axis=1) / counts.clip(1)
    share = weights[row, column] / mean[row]
    is_uneven = np.abs(share - 1) > _EVEN
    if not is_uneven.any():
        return AliasLists(counts, column)
    keep = np.ones(len(share))
    aliases = column.copy()
    first = counts.cumsum() - counts
    uneven = np.unique(row[is_uneven])
    for count in np.unique(counts[uneven]).tolist():  # all lists of one length at once
        slots = first[uneven[counts[uneven] == count]][:, None] + np.arange(count)
        left = share[slots]
        lists = np.arange(len(slots))
        for _ in range(count - 1):  # what the smallest share lacks comes from the largest
            small = np.nanargmin(left, axis=1)
            large = np.nanargmax(left, axis=1)
            slot = slots[lists, small]
            keep[slot] = left[lists, small]
            aliases[slot] = column[slots[lists, large]]
            left[lists, large] -= 1 - keep[slot]
            left[lists, small] = np.nan
    return AliasLists(counts, column, aliases, keep)
