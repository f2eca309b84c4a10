"""Checks of schedules and actions."""

from collections.abc import Callable
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

Schedule: TypeAlias = float | Callable[[float], float]
"""A number, or a function of the progress remaining, which falls from 1 to 0 over a training run."""


def checked_schedule(name: str, value: Any) -> Schedule:
    """``value`` if it is a function, else as a float; an error if it is not a number between 0 and 1."""
    if callable(value):
        return value
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number or a function; got {value!r}")
    return _checked_fraction(name, value)


def current_value(name: str, schedule: Schedule, progress_remaining: float) -> float:
    """The value of a schedule at this point of the training run."""
    return _checked_fraction(name, schedule(progress_remaining)) if callable(schedule) else schedule


def _checked_fraction(name: str, value: Any) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie between 0 and 1; got {value!r}")
    return float(value)


def checked_actions(name: str, actions: Any, shape: tuple[int, ...], space: spaces.Discrete) -> NDArray[np.int64]:
    """``actions`` as int64 of this shape; a TypeError or ValueError unless they are actions of ``space``."""
    array = np.asarray(actions)
    is_integer = array.dtype.kind in "iu"
    is_right = is_integer and array.shape == shape
    if not is_right or (array < space.start).any() or (array >= space.start + space.n).any():
        error = ValueError if is_integer else TypeError
        raise error(f"{name} must be integers of shape {shape} in {space}; got {actions!r}")
    return array.astype(np.int64)


def checked_action(name: str, action: Any, space: spaces.Discrete) -> int:
    """:func:`checked_actions` for one action, as an int."""
    is_action = type(action) is int and 0 <= action - space.start < space.n
    return action if is_action else int(checked_actions(name, action, (), space))
