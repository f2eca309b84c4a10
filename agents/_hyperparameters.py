"""Checks of hyperparameters: integers, fractions and schedules."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Schedule: TypeAlias = float | Callable[[float], float]
"""A number, or a function of the progress remaining, which falls from 1 to 0 over a training run."""


def as_integer(name: str, value: Any, minimum: int) -> int:
    """``value`` as an int; a TypeError if it is not an integer, a ValueError if it is below ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer; got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be {minimum} or more; got {value}")
    return operator.index(value)


def as_schedule(name: str, value: Any) -> Schedule:
    """``value`` if it is a function, else as a float; an error if it is not a number between 0 and 1."""
    schedule: Schedule = value if callable(value) else _as_fraction(name, value)
    return schedule


def current_value(name: str, schedule: Schedule, progress_remaining: float) -> float:
    """The value of a schedule at this point of the training run."""
    return _as_fraction(name, schedule(progress_remaining)) if callable(schedule) else schedule


def _as_fraction(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number or a function of the progress remaining; got {value!r}")
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie between 0 and 1; got {value!r}")
    return float(value)
