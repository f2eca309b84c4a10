"""Checks of schedules and actions."""

from collections.abc import Callable
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces

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


def checked_action(name: str, action: Any, space: spaces.Discrete) -> int:
    """``action`` as an int; a TypeError or ValueError unless it is an action of ``space``."""
    if type(action) is int and 0 <= action - space.start < space.n:
        return action
    is_integer = np.asarray(action).dtype.kind in "iu"
    if not is_integer or action not in space:
        error = ValueError if is_integer else TypeError
        raise error(f"{name} must be an integer in {space}; got {action!r}")
    return int(action)
