"""Checks of arguments and of batches; each error names the argument, its value and what is expected."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from agents._batches import row_counts

if TYPE_CHECKING:
    from agents.agent import Agent

Schedule: TypeAlias = float | Callable[[float], float]
"""A number, or a function of the progress remaining, which falls from 1 to 0 over a training run."""
MAX_REWARD = 1e300  # so that sums of rewards stay finite


def as_integer(name: str, value: Any, minimum: int) -> int:
    """``value`` as an int; a TypeError if it is no integer, a ValueError if it is below ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer; got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be {minimum} or more; got {value}")
    return operator.index(value)


def as_fraction(name: str, value: Any) -> float:
    """``value`` as a float; a TypeError if it is no number, a ValueError if it is not between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number or a function of the progress remaining; got {value!r}")
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie between 0 and 1; got {value!r}")
    return float(value)


def as_schedule(name: str, value: Any) -> Schedule:
    """``value`` if it is a function of the progress remaining, else :func:`as_fraction` of it."""
    if callable(value):
        function: Callable[[float], float] = value
        return function
    return as_fraction(name, value)


def current_value(name: str, schedule: Schedule, progress_remaining: float) -> float:
    """The value of a schedule at this point of the training run."""
    return as_fraction(name, schedule(progress_remaining)) if callable(schedule) else schedule


def as_reward(reward: Any) -> float:
    """``reward`` as a float; a ValueError if it is not finite or too large."""
    number = float(reward)
    if not abs(number) <= MAX_REWARD:
        raise ValueError(f"reward must be finite, {MAX_REWARD:g} at most; got {reward}")
    return number


def action_index(agent: Agent, action: Any) -> int:
    """The index of an action, 0 for the first of the action space.

    Raises:
        TypeError: The action is not an integer.
        ValueError: The action is not in the action space.
    """
    if type(action) is not int:
        if isinstance(action, np.ndarray) and action.ndim == 0:
            action = action[()]
        if isinstance(action, bool) or not isinstance(action, int | np.integer):
            raise TypeError(f"action must be an integer of {agent.action_space}; got {action!r}")
    index = operator.index(action) - agent.first_action
    if not 0 <= index < agent.n_actions:
        raise ValueError(f"action {action!r} is not in {agent.action_space}")
    return index


def action_indices(agent: Agent, actions: NDArray[Any]) -> NDArray[np.int64]:
    """The indices of a batch of actions; a ValueError if one is not in the action space."""
    indices = actions.astype(np.int64, copy=False)
    if agent.first_action:
        indices = indices - agent.first_action
    is_outside = indices.view(np.uint64) >= agent.n_actions  # a negative index is a large unsigned one
    if is_outside.any():
        raise ValueError(f"action {actions[is_outside][0]!r} is not in {agent.action_space}")
    return indices


def checked_action(agent: Agent, action: Any) -> int:
    """What :meth:`Agent.act` returned for one observation, as an int.

    Raises:
        TypeError: It is not an integer.
        ValueError: It is not in the action space.
    """
    try:
        return action_index(agent, action) + agent.first_action
    except (TypeError, ValueError) as error:
        message = f"{type(agent).__name__}.act must return an action of {agent.action_space}; got {action!r}"
        raise type(error)(message) from None


def checked_actions(agent: Agent, actions: Any, n: int) -> NDArray[np.int64]:
    """What :meth:`Agent.act` returned for a batch of ``n`` observations.

    Raises:
        TypeError: It does not hold integers.
        ValueError: It has another shape than ``(n,)``, or an action is not in the action space.
    """
    name = type(agent).__name__
    array = np.asarray(actions)
    if array.shape != (n,):
        raise ValueError(
            f"{name}.act must return an array of shape ({n},) for a batch of {n} observations; got {actions!r} "
            f"(an agent with batched = False is queried on one observation at a time)"
        )
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}.act must return actions of {agent.action_space}; got {actions!r}")
    try:
        action_indices(agent, array)
    except ValueError as error:
        raise ValueError(f"{name}.act must return actions of {agent.action_space}; {error}") from None
    return array


def mask_to_actions(action_mask: Any, n_actions: int, name: str = "action_mask") -> Sequence[int]:
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
    """:func:`mask_to_actions`; a ValueError if no action is legal."""
    legal = mask_to_actions(action_mask, n_actions)
    if not legal:
        raise ValueError("action_mask leaves no legal action")
    return legal


def batch_mask(
    action_mask: Any, leading: tuple[int, ...], n_actions: int, name: str = "action_mask"
) -> NDArray[np.bool_]:
    """The legal actions of a batch, all of them without a mask: bool, shape ``(n, n_actions)``.

    Args:
        action_mask: Shape ``(*leading, n_actions)``, or None.
        leading: The shape of the batch, n its product.
        n_actions: The number of actions.
        name: The argument's name in errors.
    """
    shape = *leading, n_actions
    if action_mask is None:
        legal = np.ones(shape, dtype=np.bool_)
    else:
        legal = _as_array(name, action_mask, "biuf") != 0
        if legal.shape != shape:
            raise ValueError(f"{name} must have shape {shape}; got {legal.shape}")
    return legal.reshape(math.prod(leading), n_actions)


def batch_legal_actions(
    action_mask: Any, leading: tuple[int, ...], n_actions: int
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """:func:`batch_mask` and the number of legal actions, ``(n,)``; a ValueError if one has none."""
    legal = batch_mask(action_mask, leading, n_actions)
    counts = row_counts(legal)
    if not counts.all():
        raise ValueError("action_mask leaves an observation without a legal action")
    return legal, counts


class Batch(NamedTuple):
    """A checked batch of n transitions; ``next_legal`` is None where all actions are legal."""

    observations: NDArray[Any]
    action_indices: NDArray[np.int64]
    rewards: NDArray[np.float64]
    next_observations: NDArray[Any]
    terminated: NDArray[np.bool_]
    next_legal: NDArray[np.bool_] | None


def checked_batch(
    agent: Agent,
    observation: Any,
    action: Any,
    reward: Any,
    next_observation: Any,
    terminated: Any,
    next_action_mask: Any,
) -> Batch:
    """The arguments of :meth:`Agent.update` for a batch, checked, the leading dimensions flattened to one.

    Raises:
        TypeError: An array is of the wrong kind.
        ValueError: An array is of the wrong shape, an action is not in the space, or a reward is not finite.
    """
    observation = _as_array("observation", observation, "biuf")
    action = _as_array("action", action, "iu")
    reward = _as_array("reward", reward, "biuf").astype(np.float64, copy=False)
    next_observation = _as_array("next_observation", next_observation, "biuf")
    terminated = _as_array("terminated", terminated, "biuf") != 0
    leading, shape = action.shape, agent.observation_space.shape or ()
    for name, array, expected in (
        ("observation", observation, leading + shape),
        ("reward", reward, leading),
        ("next_observation", next_observation, leading + shape),
        ("terminated", terminated, leading),
    ):
        if array.shape != expected:
            raise ValueError(f"{name} must have shape {expected}, as action has; got {array.shape}")
    n = math.prod(leading)
    legal = None
    if next_action_mask is not None:
        legal = batch_mask(next_action_mask, leading, agent.n_actions, "next_action_mask")
    indices = action_indices(agent, action.reshape(n))
    if not (np.abs(reward) <= MAX_REWARD).all():
        raise ValueError(f"reward must be finite, {MAX_REWARD:g} at most; got {reward!r}")
    return Batch(
        observation.reshape(n, *shape),
        indices,
        reward.reshape(n),
        next_observation.reshape(n, *shape),
        terminated.reshape(n),
        legal,
    )


def _as_array(name: str, value: Any, kinds: str) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be one array for the whole batch; {error}") from None
    if array.dtype.kind not in kinds:
        expected = "integers" if kinds == "iu" else "numbers"
        raise TypeError(f"{name} must hold {expected} in a batch; got {array!r}")
    return array
