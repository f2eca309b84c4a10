"""Action masks, and choices among legal actions."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

ILLEGAL = -1e308  # added to the values of illegal actions; training is 1.1 times as fast as with -inf by np.where
LOWEST = ILLEGAL / 2  # below the value of any legal action, above that of any illegal one


def legal_indices(action_mask: Any, n_actions: int, may_be_empty: bool = False) -> Sequence[int]:
    """The indices of the legal actions of one observation, all of them without a mask.

    A ValueError if the shape is wrong, or if no action is legal, unless the indices ``may_be_empty``.
    """
    if action_mask is None:
        return range(n_actions)
    mask = np.asarray(action_mask)
    if mask.shape != (n_actions,):
        raise ValueError(f"action_mask must have shape {(n_actions,)}; got {mask.shape}")
    indices = _nonzero_bytes((mask if mask.itemsize == 1 else mask != 0).tobytes())
    if not indices and not may_be_empty:
        raise ValueError("action_mask leaves no legal action")
    return indices


@lru_cache(maxsize=2**14)
def _nonzero_bytes(mask: bytes) -> Sequence[int]:
    """The indices of the nonzero bytes; cached, since the same masks recur."""
    return tuple(np.frombuffer(mask, np.uint8).nonzero()[0].tolist())


def row_max(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest value of each row, :data:`LOWEST` where no action is legal; faster than ``max(axis=1)``."""
    return np.maximum.reduce(np.ascontiguousarray(values.T), initial=LOWEST)


def uniform_choice(choices: NDArray[np.bool_], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    """A uniformly random index of each row among those, one or more, where ``choices`` is True.

    ``choices`` has the shape ``(n, n_actions)``; ``uniforms`` holds a draw from [0, 1) for each row.
    """
    # on large batches faster than a sum
    counts = (choices @ np.ones(choices.shape[1], np.float32)).astype(np.int64)
    if np.count_nonzero(counts) < len(counts):
        raise ValueError("action_mask leaves an observation without a legal action")
    nth = counts.cumsum()
    nth -= counts  # where each row begins among all choices
    nth += (uniforms * counts).astype(np.int64)
    return choices.reshape(-1).nonzero()[0].take(nth) % choices.shape[1]
