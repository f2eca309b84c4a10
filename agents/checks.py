"""Checks of what callers give; each names the argument, what it was and what would do."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Hyperparameter: TypeAlias = float | Callable[[float], float]
"""A number, or a function of the progress remaining, which falls from 1 to 0 over a training run."""


def as_integer(name: str, value: Any, least: int) -> int:
    """``value`` as an int.

    Raises:
        TypeError: It is no Python or NumPy integer.
        ValueError: It is below ``least``.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer; got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be {least} or more; got {value}")
    return operator.index(value)


def as_share(name: str, value: Any) -> float:
    """``value`` as a float.

    Raises:
        TypeError: It is not a number.
        ValueError: It is not between 0 and 1.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number or a function of the progress remaining; got {value!r}")
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie between 0 and 1; got {value!r}")
    return float(value)


def as_hyperparameter(name: str, value: Any) -> Hyperparameter:
    """``value`` if it is a function of the progress remaining, else :func:`as_share` of it."""
    if callable(value):
        function: Callable[[float], float] = value
        return function
    return as_share(name, value)
