"""Actions: their indices, the legal ones of masks, choices among them, and the arguments of an update."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

ILLEGAL = -1e308  # is added to the values of illegal actions
LOWEST = ILLEGAL / 2  # below the value of any legal action, above that of any illegal one
MAX_REWARD = 1e300  # so that sums of rewards stay finite


def action_index(action: Any, first_action: int, n_actions: int) -> int:
    """The index of an action, 0 for the first; a TypeError or ValueError if it is not an action."""
    if type(action) is not int:
        if isinstance(action, np.ndarray) and action.ndim == 0:
            action = action[()]
        if isinstance(action, bool) or not isinstance(action, int | np.integer):
            space = spaces.Discrete(n_actions, start=first_action)
            raise TypeError(f"action must be an integer of {space}; got {action!r}")
    index = operator.index(action) - first_action
    if not 0 <= index < n_actions:
        raise ValueError(f"action {action!r} is not in {spaces.Discrete(n_actions, start=first_action)}")
    return index


def action_indices(actions: NDArray[Any], first_action: int, n_actions: int) -> NDArray[np.int64]:
    """The indices of actions ``(n,)``; a TypeError or ValueError, as of :func:`action_index`, if one is wrong."""
    try:  # NumPy checks the actions
        indices: NDArray[np.int64] = np.ravel_multi_index((actions - first_action,), (n_actions,))
    except (TypeError, ValueError):
        indices = np.array([action_index(each, first_action, n_actions) for each in actions.tolist()], np.int64)
    return indices


def as_reward(reward: Any) -> float:
    """``reward`` as a float; a ValueError if it is not finite or too large."""
    number = float(reward)
    if not abs(number) <= MAX_REWARD:
        raise ValueError(f"reward must be finite, {MAX_REWARD:g} at most; got {reward}")
    return number


def checked_transitions(
    shape: tuple[int, ...], first_action: int, n_actions: int, *arguments: Any
) -> tuple[NDArray[Any], ...]:
    """The arguments of :meth:`Agent.update` for a batch, as arrays with one leading dimension.

    ``shape`` is that of an observation. The last array holds the legal next actions. A wrong kind of
    argument is a TypeError, a wrong shape or value a ValueError.
    """
    observation, action, reward, next_observation, terminated, next_action_mask = arguments
    action = _as_array("action", action, None, "iu")
    leading, n = action.shape, action.size
    observation = _as_array("observation", observation, leading + shape).reshape(n, *shape)
    rewards = _as_array("reward", reward, leading).reshape(n).astype(np.float64, copy=False)
    next_observation = _as_array("next_observation", next_observation, leading + shape).reshape(n, *shape)
    is_terminated = _as_array("terminated", terminated, leading).reshape(n) != 0
    legal = batch_mask(next_action_mask, leading, n_actions, "next_action_mask")
    action = action_indices(action.reshape(n), first_action, n_actions) + first_action
    if not (np.abs(rewards) <= MAX_REWARD).all():
        raise ValueError(f"reward must be finite, {MAX_REWARD:g} at most; got {reward!r}")
    return observation, action, rewards, next_observation, is_terminated, legal


def _as_array(name: str, value: Any, shape: tuple[int, ...] | None, kinds: str = "biuf") -> NDArray[Any]:
    """An argument of a batch as an array; a TypeError or ValueError if its dtype or shape is another."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be one array for the whole batch; {error}") from None
    if array.dtype.kind not in kinds:
        expected = "integers" if kinds == "iu" else "numbers"
        raise TypeError(f"{name} must hold {expected} in a batch; got {array!r}")
    if shape is not None and array.shape != shape:
        raise ValueError(f"{name} must have shape {shape} in this batch; got {array.shape}")
    return array


def legal_indices(action_mask: Any, n_actions: int, name: str = "action_mask") -> Sequence[int]:
    """The indices of the legal actions of one observation, all of them without a mask."""
    if action_mask is None:
        return range(n_actions)
    mask = np.asarray(action_mask)
    if mask.shape != (n_actions,):
        raise ValueError(f"{name} must have shape {(n_actions,)}; got {mask.shape}")
    return nonzero_bytes((mask if mask.itemsize == 1 else mask != 0).tobytes())


@lru_cache(maxsize=2**14)
def nonzero_bytes(mask: bytes) -> Sequence[int]:
    """The indices of the nonzero bytes; cached, since the same masks recur."""
    indices: list[int] = np.frombuffer(mask, dtype=np.uint8).nonzero()[0].tolist()
    return tuple(indices)


def legal_actions(action_mask: Any, n_actions: int) -> Sequence[int]:
    """:func:`legal_indices`; a ValueError if no action is legal."""
    legal = legal_indices(action_mask, n_actions)
    if not legal:
        raise ValueError("action_mask leaves no legal action")
    return legal


def batch_mask(action_mask: Any, leading: tuple[int, ...], n_actions: int, name: str) -> NDArray[np.bool_]:
    """The legal actions of a batch, all of them without a mask: bool, shape ``(n, n_actions)``."""
    shape = *leading, n_actions
    mask = np.ones(shape, np.bool_) if action_mask is None else _as_array(name, action_mask, shape) != 0
    return mask.reshape(math.prod(leading), n_actions)


def batch_legal_actions(action_mask: Any, leading: tuple[int, ...], n_actions: int) -> NDArray[np.bool_]:
    """:func:`batch_mask`; a ValueError if an observation has no legal action."""
    legal = batch_mask(action_mask, leading, n_actions, "action_mask")
    if not legal.any(axis=1).all():
        raise ValueError("action_mask leaves an observation without a legal action")
    return legal


def penalties(action_masks: NDArray[Any]) -> NDArray[np.float64]:
    """0 for legal actions and :data:`ILLEGAL` for others, to add to values; faster than ``np.where``."""
    illegal: NDArray[np.float64] = np.multiply(action_masks == 0, ILLEGAL)
    return illegal


def row_max(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The first index of the largest value of each row, and that value; faster than ``max`` on short rows."""
    indices = values.argmax(axis=1)
    return indices, values.reshape(-1).take(indices + _row_starts(*values.shape))


def uniform_choice(choices: NDArray[np.bool_], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    """A uniformly random index of each row among those, one or more, where ``choices`` is True.

    Args:
        choices: Shape ``(n, n_actions)``.
        uniforms: One draw from [0, 1) for each row, shape ``(n,)``.
    """
    counts = (choices.astype(np.float32) @ _ones(choices.shape[1])).astype(np.int64)  # faster than a sum
    nth = counts.cumsum()
    nth -= counts
    nth += (uniforms * counts).astype(np.int64)
    indices: NDArray[np.int64] = choices.reshape(-1).nonzero()[0].take(nth)
    indices -= _row_starts(*choices.shape)
    return indices


@lru_cache(maxsize=16)
def _row_starts(n: int, n_actions: int) -> NDArray[np.int64]:
    return np.arange(0, n * n_actions, n_actions)


@lru_cache(maxsize=16)
def _ones(n: int) -> NDArray[np.float32]:
    return np.ones(n, np.float32)
