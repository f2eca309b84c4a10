"""Checks of arguments. Each error message names the argument and its value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def checked_integer(name: str, value: Any, minimum: int | None = None) -> int:
    """Returns ``value`` as an int after checking that it is an integer, and at least ``minimum`` if one is given.

    NumPy integers, and arrays or tensors of shape ``()`` that hold an integer, are accepted too. Raises TypeError
    for anything else, such as True or 1.0, and ValueError below the minimum. The messages call the value ``name``.
    """
    if not isinstance(value, np.generic) and getattr(value, "ndim", None) == 0:
        value = np.asarray(value)[()]
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer; got {value!r}")
    if minimum is not None and value < minimum:
        raise ValueError(f"{name} must be at least {minimum}; got {value}")
    return int(value)


def checked_bool(name: str, value: Any) -> bool:
    """Returns ``value`` as a bool. Raises TypeError if it is not a bool; the message calls it ``name``."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False; got {value!r}")
    return bool(value)


def checked_choice(name: str, value: Any, choices: Sequence[str | None]) -> Any:
    """Returns ``value``. Raises ValueError if it is not one of ``choices``; the message calls it ``name``."""
    if not isinstance(value, str | None) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")
    return value


def checked_integers(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Returns a copy of ``values`` as an int64 array. Raises TypeError unless all of them are integers.

    True and 1.0 are not integers. The message calls the values ``name``.
    """
    array = np.asarray(values)
    # np.asarray converts [True, 2] to integers, so bools in lists are looked for separately
    has_bool = not isinstance(values, np.ndarray) and any(
        isinstance(value, bool | np.bool_) for value in np.asarray(values, dtype=object).flat
    )
    if array.dtype.kind not in "iu" or has_bool:
        raise TypeError(f"{name} must contain only integers; got {values!r}")
    return array.astype(np.int64)
