"""Actions, masks and transitions, checked, and choices among legal actions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.agent import Agent

ILLEGAL = -1e308  # is added to the values of illegal actions
LOWEST = ILLEGAL / 2  # below the value of any legal action, above that of any illegal one
MAX_REWARD = 1e300  # so that sums of rewards stay finite


def as_array(name: str, value: Any, shape: tuple[int, ...] | None = None, kinds: str = "biuf") -> NDArray[Any]:
    """An argument as an array; a TypeError if its dtype is of another kind, a ValueError if its shape differs."""
    array = np.asarray(value)
    if array.dtype.kind not in kinds:
        raise TypeError(f"{name} must hold {'integers' if kinds == 'iu' else 'numbers'}; got {value!r}")
    if shape is not None and array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}; got {array.shape}")
    return array


def action_indices(agent: Agent, actions: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The indices of actions, 0 for the first; a TypeError or ValueError if they are not actions of this shape."""
    array = as_array("action", actions, shape, "iu").astype(np.int64)
    try:
        indices: NDArray[np.int64] = np.ravel_multi_index((array - agent.first_action,), (agent.n_actions,))
    except ValueError:
        raise ValueError(f"action {actions!r} is not in {agent.action_space}") from None
    return indices


def action_index(agent: Agent, action: Any) -> int:
    """:func:`action_indices` of one action, faster for an int."""
    index = action - agent.first_action if type(action) is int else -1
    return index if 0 <= index < agent.n_actions else int(action_indices(agent, action, ()))


def as_reward(reward: Any) -> float:
    """``reward`` as a float; a TypeError if it is no number, a ValueError if it is not finite or too large."""
    try:
        number = float(reward)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"reward must be a finite number; got {reward!r}") from None
    if not abs(number) <= MAX_REWARD:
        raise ValueError(f"reward must be finite, {MAX_REWARD:g} at most; got {reward!r}")
    return number


def checked_transitions(
    agent: Agent,
    observation: Any,
    action: Any,
    reward: Any,
    next_observation: Any,
    terminated: Any,
    next_action_mask: Any,
) -> tuple[NDArray[Any], ...]:
    """The arguments of :meth:`Agent.update` for a batch, as arrays with one leading dimension.

    The last array holds the legal next actions. A wrong kind of argument is a TypeError, a wrong shape or value a
    ValueError.
    """
    leading, shape = np.shape(action), agent.observation_space.shape or ()
    observations, next_observations = (
        as_array(name, value, leading + shape).reshape(-1, *shape)
        for name, value in (("observation", observation), ("next_observation", next_observation))
    )
    actions = action_indices(agent, action, leading).reshape(-1) + agent.first_action
    rewards = as_array("reward", reward, leading).reshape(-1).astype(np.float64, copy=False)
    if not (np.abs(rewards) <= MAX_REWARD).all():
        raise ValueError(f"reward must be finite, {MAX_REWARD:g} at most; got {reward!r}")
    is_terminated = as_array("terminated", terminated, leading).reshape(-1) != 0
    legal = legal_batch(next_action_mask, leading, agent.n_actions, is_next=True)
    return observations, actions, rewards, next_observations, is_terminated, legal


def legal_indices(action_mask: Any, n_actions: int, is_next: bool = False) -> Sequence[int]:
    """The indices of the legal actions of one observation, all of them without a mask.

    A ValueError if the shape is wrong, or if no action is legal, except in the mask of a next observation.
    """
    if action_mask is None:
        return range(n_actions)
    mask = np.asarray(action_mask)
    if mask.shape != (n_actions,):
        as_array("next_action_mask" if is_next else "action_mask", mask, (n_actions,))
    indices = nonzero_bytes((mask if mask.itemsize == 1 else mask != 0).tobytes())
    if not indices and not is_next:
        raise ValueError("action_mask leaves no legal action")
    return indices


@lru_cache(maxsize=2**14)
def nonzero_bytes(mask: bytes) -> Sequence[int]:
    """The indices of the nonzero bytes; cached, since the same masks recur."""
    indices: list[int] = np.frombuffer(mask, dtype=np.uint8).nonzero()[0].tolist()
    return tuple(indices)


def legal_batch(
    action_mask: Any, leading: tuple[int, ...], n_actions: int, is_next: bool = False
) -> NDArray[np.bool_]:
    """:func:`legal_indices` for observations of these leading dimensions: bool, shape ``(n, n_actions)``."""
    if action_mask is None:
        return np.ones((math.prod(leading), n_actions), np.bool_)
    name = "next_action_mask" if is_next else "action_mask"
    legal: NDArray[np.bool_] = as_array(name, action_mask, (*leading, n_actions)).reshape(-1, n_actions) != 0
    if not is_next and not legal.any(axis=1).all():
        raise ValueError("action_mask leaves an observation without a legal action")
    return legal


def penalties(action_masks: NDArray[Any]) -> NDArray[np.float64]:
    """0 for legal actions and :data:`ILLEGAL` for others, to add to values; faster than ``np.where``."""
    illegal: NDArray[np.float64] = (action_masks == 0).astype(np.float64)
    illegal *= ILLEGAL
    return illegal


def row_max(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest value of each row; on short rows faster than ``max(axis=1)``."""
    largest: NDArray[np.float64] = np.maximum.reduce(np.ascontiguousarray(values.T))
    return largest


def uniform_choice(choices: NDArray[np.bool_], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    """A uniformly random index of each row among those, one or more, where ``choices`` is True.

    ``choices`` has the shape ``(n, n_actions)``; ``uniforms`` holds a draw from [0, 1) for each row.
    """
    counts = (choices.astype(np.float32) @ _ones(choices.shape[1])).astype(np.int64)  # faster than a sum
    nth = counts.cumsum()
    nth -= counts
    nth += (uniforms * counts).astype(np.int64)
    indices: NDArray[np.int64] = choices.reshape(-1).nonzero()[0].take(nth)
    indices -= np.arange(0, choices.size, choices.shape[1])
    return indices


@lru_cache(maxsize=16)
def _ones(n: int) -> NDArray[np.float32]:
    return np.ones(n, np.float32)
