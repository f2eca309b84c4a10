"""Random draws in proportion to weights.

The argument ``uniforms`` of the functions holds random numbers from [0, 1), which decide what is drawn.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ROUNDING = 1e-6  # float32 probabilities that are equal may differ by this much, relative to their mean


def draw(weights: NDArray[Any], uniforms: Any) -> NDArray[np.intp]:
    """Draws one column from each row of ``weights``, with probabilities in proportion to the weights of the row.

    Args:
        weights: The weights, numbers of 0 or more, shape ``(..., n_columns)``. The sum of each row is positive,
            but need not be 1. A column of weight 0 is never drawn.
        uniforms: Random numbers from [0, 1), one for each row, shape ``(...)``.

    Returns:
        The numbers of the drawn columns, ``np.intp`` of shape ``(...)``.
    """
    cumulative = weights.cumsum(axis=-1)
    thresholds = uniforms * cumulative[..., -1]
    return np.asarray((cumulative <= thresholds[..., None]).sum(axis=-1))


def draw_uniformly(weights: NDArray[Any], uniforms: NDArray[np.float64]) -> NDArray[np.intp]:
    """Draws one column from each row, uniformly from the columns that have a 1 in this row.

    The result is the same as that of :func:`draw`, but is computed faster.

    Args:
        weights: Zeros and ones, shape ``(n_rows, n_columns)``. Each row has at least one 1.
        uniforms: Random numbers from [0, 1), one for each row, shape ``(n_rows,)``.

    Returns:
        The numbers of the drawn columns, ``np.intp`` of shape ``(n_rows,)``.
    """
    counts = np.count_nonzero(weights, axis=1)
    before = counts.cumsum() - counts  # the number of ones in earlier rows
    chosen = before + (uniforms * counts).astype(np.intp)
    return np.flatnonzero(weights)[chosen] - np.arange(len(weights)) * weights.shape[1]


class AliasLists:
    """Lists of weighted items, from which items are drawn in constant time by the alias method (Walker 1977).

    A list has one *slot* for each of its items. A slot stores its item, another item of the list (its *alias*) and
    a probability ``keep``. To draw from a list, choose one of its slots uniformly. The result is the slot's item
    with the probability ``keep``, and its alias otherwise. :func:`alias_lists` chooses the aliases and the
    probabilities so that each item is drawn in proportion to its weight.

    The slots of all lists are stored one after another in the same arrays, so one call draws from many lists.

    Args:
        counts: The number of slots of each list, shape ``(n_lists,)``.
        items: The item of each slot, int64 of shape ``(n_slots,)``.
        aliases: The alias of each slot, int64 of shape ``(n_slots,)``; by default its item.
        keep: The probability of each slot's item, float64 of shape ``(n_slots,)``, or ``None`` if all are 1.

    Attributes:
        counts: The number of slots of each list, ``np.intp`` of shape ``(n_lists,)``.
        first: The number of the first slot of each list, ``np.intp`` of shape ``(n_lists,)``.
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
        # in the results, the item of slot i is at 2 * i, and its alias at 2 * i + 1
        self._results = items if keep is None else np.column_stack([self.items, self.aliases]).ravel()

    def __len__(self) -> int:
        """The number of slots of all lists together."""
        return len(self.items)

    def draw(self, lists: Any, uniforms: Any) -> Any:
        """Draws items from the lists and returns them, int64 of the shape of ``uniforms``.

        Each random number from [0, 1) in ``uniforms`` draws one item. ``lists`` has the index of the list from
        which it is drawn, for each item or one for all.
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

    def map_items(
        self, function: Callable[[NDArray[np.intp], NDArray[np.int64]], NDArray[np.int64]]
    ) -> AliasLists:
        """Returns lists with other items, which are drawn with the same probabilities as the present ones.

        For example, lists of actions become lists of the states after these actions. ``function(lists, items)``
        returns the new item of each slot, shape ``(n_slots,)``. It gets two arrays of this shape: the number of
        the slot's list, and the slot's present item. The new aliases are computed in the same way.
        """
        lists = np.arange(len(self.counts)).repeat(self.counts)
        items = function(lists, self.items)
        aliases = items if self.keep is None else function(lists, self.aliases)
        return AliasLists(self.counts, items, aliases, self.keep)

    def with_list_replaced(self, number: Any, replacement: Any) -> AliasLists:
        """Returns a copy in which the list numbered ``number`` has the items of the list numbered ``replacement``.

        To replace several lists, pass two arrays of numbers.
        """
        lists = copy.copy(self)
        lists.counts = self.counts.copy()
        lists.counts[number] = self.counts[replacement]
        lists.first = self.first.copy()
        lists.first[number] = self.first[replacement]
        return lists


def concatenated(parts: Sequence[AliasLists]) -> AliasLists:
    """Returns one object with the lists of all ``parts``: first those of the first part, and so on."""
    counts = np.concatenate([part.counts for part in parts])
    items = np.concatenate([part.items for part in parts])
    aliases = np.concatenate([part.aliases for part in parts])
    if all(part.keep is None for part in parts):
        return AliasLists(counts, items, aliases)
    keep = [np.ones(len(part)) if part.keep is None else part.keep for part in parts]
    return AliasLists(counts, items, aliases, np.concatenate(keep))


def alias_lists(weights: NDArray[Any]) -> AliasLists:
    """Returns lists for drawing columns in proportion to ``weights``, one list for each row (Vose 1991).

    ``weights`` has shape ``(n_rows, n_columns)``. The items of a list are the numbers of the columns with a
    positive weight in its row. An int8 array must consist of zeros and ones. If the weights of a row differ by no
    more than the rounding errors of float32 numbers, they are treated as equal.
    """
    row, column = weights.nonzero()
    counts = np.count_nonzero(weights, axis=1)
    if weights.dtype == np.int8:
        return AliasLists(counts, column)
    mean = weights.sum(axis=1) / counts.clip(1)
    relative = weights[row, column] / mean[row]  # 1 if all items of the list have the same weight
    is_uneven = np.abs(relative - 1) > _ROUNDING
    if not is_uneven.any():
        return AliasLists(counts, column)
    keep = np.ones(len(relative))
    aliases = column.copy()
    first = counts.cumsum() - counts
    uneven = np.unique(row[is_uneven])
    for count in np.unique(counts[uneven]).tolist():  # all lists of this length at once
        slots = first[uneven[counts[uneven] == count]][:, None] + np.arange(count)
        remaining = relative[slots]  # the weight of each item that no slot has yet; NaN if its own slot is full
        lists = np.arange(len(slots))
        for _ in range(count - 1):  # fill the slot of the lightest item with a part of the heaviest item
            light = np.nanargmin(remaining, axis=1)
            heavy = np.nanargmax(remaining, axis=1)
            slot = slots[lists, light]
            keep[slot] = remaining[lists, light]
            aliases[slot] = column[slots[lists, heavy]]
            remaining[lists, heavy] -= 1 - keep[slot]
            remaining[lists, light] = np.nan
    return AliasLists(counts, column, aliases, keep)
