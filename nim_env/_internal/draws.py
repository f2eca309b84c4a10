"""Random draws in proportion to weights.

The functions have no random generator of their own. The caller passes random numbers from [0, 1) as ``uniforms``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ROUNDING = 1e-6  # float32 probabilities that are equal may differ by this much, relative to their mean


def draw(weights: NDArray[Any], uniforms: Any) -> NDArray[np.intp]:
    """Draws one column for each row of ``weights``, in proportion to the weights of the row.

    Args:
        weights: The weights, shape ``(..., n)``. Each row has a positive sum, which need not be 1. A column of
            weight 0 is never drawn.
        uniforms: Random numbers from [0, 1), shape ``(...)``.

    Returns:
        The columns, ``np.intp`` of shape ``(...)``.
    """
    cumulative = weights.cumsum(axis=-1)
    thresholds = uniforms * cumulative[..., -1]
    return np.asarray((cumulative <= thresholds[..., None]).sum(axis=-1))


def draw_uniformly(weights: NDArray[Any], uniforms: NDArray[np.float64]) -> NDArray[np.intp]:
    """Does the same as :func:`draw`, but faster. All weights, of shape ``(n_rows, n_columns)``, must be 0 or 1."""
    counts = np.count_nonzero(weights, axis=1)
    before = counts.cumsum() - counts  # the number of ones in earlier rows
    chosen = before + (uniforms * counts).astype(np.intp)
    return np.flatnonzero(weights)[chosen] - np.arange(len(weights)) * weights.shape[1]


class AliasLists:
    """Lists of weighted items, from which an item is drawn in constant time (the alias method, Walker 1977).

    A list has one *slot* for each of its items. To draw from a list, a slot is chosen uniformly. With the slot's
    probability ``keep`` the result is the slot's item, and otherwise it is the slot's *alias*, another item of the
    list. With suitable aliases and probabilities, which :func:`alias_lists` computes, each item is drawn in
    proportion to its weight.

    The slots of all lists are stored one after another, so one call draws from many lists.

    Args:
        counts: The number of slots of each list, shape ``(n_lists,)``.
        items: The item of each slot, int64 of shape ``(n_slots,)``.
        aliases: The alias of each slot, int64 of shape ``(n_slots,)``; by default its item.
        keep: The probability of each slot's item, float64 of shape ``(n_slots,)``, or ``None`` if all are 1.

    Attributes:
        counts: The number of slots of each list, ``np.intp`` of shape ``(n_lists,)``.
        first: The first slot of each list, ``np.intp`` of shape ``(n_lists,)``.
        items: The item of each slot. The arguments ``aliases`` and ``keep`` are attributes too.
    """

    def __init__(
        self,
        counts: NDArray[Any],
        items: NDArray[np.int64],
        aliases: NDArray[np.int64] | None = None,
        keep: NDArray[np.float64] | None = None,
    ) -> None:
        self.counts = counts.astype(np.intp, copy=False)
        self.first = self.counts.cumsum() - self.counts
        self.items = items
        self.aliases = items if aliases is None else aliases
        self.keep = keep
        # the item and the alias of slot i are results 2 * i and 2 * i + 1
        self._results = items if keep is None else np.column_stack([self.items, self.aliases]).ravel()

    def __len__(self) -> int:
        """The number of slots."""
        return len(self.items)

    def draw(self, lists: NDArray[Any], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """Draws an item from each list whose number is in ``lists``. A number can occur several times.

        ``lists``, ``uniforms`` and the result have shape ``(n,)``.
        """
        scaled = uniforms * self.counts[lists]
        nth_slot = scaled.astype(np.intp)
        chosen = self.first[lists]
        chosen += nth_slot
        if self.keep is not None:
            scaled -= nth_slot  # what remains is again uniform on [0, 1)
            is_alias = scaled >= self.keep[chosen]
            chosen += chosen
            chosen += is_alias
        return self._results[chosen]

    def draw_from_one(self, uniforms: Any) -> Any:
        """Draws items like :meth:`draw`, but faster. There must be only one list.

        ``uniforms`` is a float or an array of any shape. The result has the same shape.
        """
        scaled = np.asarray(uniforms * len(self.items))
        slots = scaled.astype(np.intp)
        drawn = self.items[slots]
        if self.keep is None:
            return drawn
        return np.where(scaled - slots < self.keep[slots], drawn, self.aliases[slots])[()]

    def map_items(
        self, function: Callable[[NDArray[np.intp], NDArray[np.int64]], NDArray[np.int64]]
    ) -> AliasLists:
        """Returns new lists, with all items and aliases replaced by the results of a function.

        It is called as ``function(lists, items)`` with two arrays: the number of each item's list, and the items.
        """
        lists = np.arange(len(self.counts)).repeat(self.counts)
        items = function(lists, self.items)
        aliases = items if self.keep is None else function(lists, self.aliases)
        return AliasLists(self.counts, items, aliases, self.keep)

    def with_list_replaced(self, number: Any, by: Any) -> AliasLists:
        """Returns a copy in which list ``number`` equals list ``by``. Both can be arrays of list numbers."""
        lists = copy.copy(self)
        lists.counts = self.counts.copy()
        lists.counts[number] = self.counts[by]
        lists.first = self.first.copy()
        lists.first[number] = self.first[by]
        return lists


def concatenated(parts: Sequence[AliasLists]) -> AliasLists:
    """Returns the lists of all ``parts`` in one object, one part after another."""
    counts = np.concatenate([part.counts for part in parts])
    items = np.concatenate([part.items for part in parts])
    aliases = np.concatenate([part.aliases for part in parts])
    if all(part.keep is None for part in parts):
        return AliasLists(counts, items, aliases)
    keep = [np.ones(len(part)) if part.keep is None else part.keep for part in parts]
    return AliasLists(counts, items, aliases, np.concatenate(keep))


def alias_lists(weights: NDArray[Any]) -> AliasLists:
    """Returns a list for each row of ``weights``, shape ``(n_rows, n_columns)``, made by Vose's method (1991).

    The items of a list are the columns of positive weight. Weights of type int8 must be 0 or 1. Weights of a row
    that differ only by rounding count as equal.
    """
    row, column = weights.nonzero()
    counts = np.count_nonzero(weights, axis=1)
    if weights.dtype == np.int8:
        return AliasLists(counts, column)
    mean = weights.sum(axis=1) / counts.clip(1)
    share = weights[row, column] / mean[row]  # 1 if all items of the list are equally likely
    is_uneven = np.abs(share - 1) > _ROUNDING
    if not is_uneven.any():
        return AliasLists(counts, column)
    keep = np.ones(len(share))
    aliases = column.copy()
    first = counts.cumsum() - counts
    uneven = np.unique(row[is_uneven])
    for count in np.unique(counts[uneven]).tolist():  # all lists of this length at once
        slots = first[uneven[counts[uneven] == count]][:, None] + np.arange(count)
        left = share[slots]  # the share that each item has not yet been given, NaN for filled slots
        lists = np.arange(len(slots))
        for _ in range(count - 1):  # fill the slot of the smallest share with the item of the largest
            small = np.nanargmin(left, axis=1)
            large = np.nanargmax(left, axis=1)
            slot = slots[lists, small]
            keep[slot] = left[lists, small]
            aliases[slot] = column[slots[lists, large]]
            left[lists, large] -= 1 - keep[slot]
            left[lists, small] = np.nan
    return AliasLists(counts, column, aliases, keep)
