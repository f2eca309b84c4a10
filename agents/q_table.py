"""A table of action values whose rows are found by arithmetic or by hashing."""

from __future__ import annotations

import math
import operator
from typing import Any, Literal, TypeAlias

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

Rows: TypeAlias = Literal["auto", "arithmetic", "hashed"]
FIRST_ROWS = 64  # of a hashed table, which doubles when full


class QTable:
    """Action values, one row for each observation, 0 where nothing was learnt.

    The row of an observation is found by arithmetic where the space is discrete (``Discrete``,
    ``MultiDiscrete`` and ``MultiBinary``: every observation has its row from the start), and by hashing
    otherwise (rows are added as observations turn up).

    Args:
        space: The observation space.
        n_actions: How many actions, the length of a row.
        rows: ``"arithmetic"``, ``"hashed"``, or ``"auto"`` for the former where it is possible.
        memory_limit: The most bytes that the values may take.

    Raises:
        ValueError: The table would pass ``memory_limit``, or ``"arithmetic"`` rows of a space that is not
            discrete.
    """

    def __init__(self, space: Space[Any], n_actions: int, rows: Rows, memory_limit: int) -> None:
        sizes = _sizes(space)
        if not space.is_np_flattenable:
            raise TypeError(f"observation_space must hold arrays of a fixed shape; got {space}")
        if rows not in ("auto", "arithmetic", "hashed"):
            raise ValueError(f'rows must be "auto", "arithmetic" or "hashed"; got {rows!r}')
        if rows == "arithmetic" and sizes is None:
            raise ValueError(f'rows="arithmetic" needs a discrete observation space, not {space}; use "hashed"')
        self.space, self.n_actions, self.memory_limit = space, n_actions, memory_limit
        self.hashed = rows == "hashed" or sizes is None
        self._keys: dict[bytes, int] = {}
        if self.hashed:
            self.values: NDArray[np.float64] = np.zeros((FIRST_ROWS, n_actions))
            return
        assert sizes is not None
        self._sizes = sizes.ravel().tolist()
        self._start = np.broadcast_to(getattr(space, "start", 0), sizes.shape).ravel().tolist()
        self._is_shifted = any(self._start)
        number = math.prod(self._sizes)
        self._check_memory(number)
        self._strides = np.array(
            [math.prod(self._sizes[i + 1 :]) for i in range(len(self._sizes))], dtype=np.int64
        )
        self.values = np.zeros((number, n_actions))

    @property
    def n_rows(self) -> int:
        """How many rows are in use."""
        return len(self._keys) if self.hashed else len(self.values)

    def find(self, observation: Any) -> int:
        """The row of one observation, -1 if a hashed table has not seen it.

        Raises:
            ValueError: The observation is not in the space.
        """
        if self.hashed:
            return self._keys.get(self._key(observation), -1)
        return self._arithmetic_row(observation)

    def row(self, observation: Any) -> int:
        """The row of one observation, added if it is new to a hashed table.

        Raises:
            ValueError: The observation is not in the space, or the table would pass its memory limit.
        """
        if not self.hashed:
            return self._arithmetic_row(observation)
        key = self._key(observation)
        row = self._keys.get(key)
        if row is None:
            row = len(self._keys)
            if row == len(self.values):
                self._check_memory(2 * row)
                self.values = np.concatenate([self.values, np.zeros_like(self.values)])
            self._keys[key] = row
        return row

    def rows(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """The rows of a batch of observations, -1 for those that a hashed table has not seen.

        Args:
            observations: Any number of leading dimensions before the space's own shape.

        Raises:
            ValueError: An observation is not in the space.
        """
        shape = self.space.shape or ()
        leading = observations.shape[: observations.ndim - len(shape)]
        if observations.shape[len(leading) :] != shape:
            raise ValueError(f"observations must have shape (..., *{shape}); got {observations.shape}")
        flat = observations.reshape(-1, *shape)
        if self.hashed:
            found = [self._keys.get(self._key(observation), -1) for observation in flat]
            return np.array(found, dtype=np.int64).reshape(leading)
        digits = flat.reshape(len(flat), -1) - np.array(self._start)
        outside = (digits < 0) | (digits >= np.array(self._sizes))
        if outside.any() or flat.dtype.kind not in "iub":
            raise ValueError(f"observation {flat[outside.any(axis=1)][:1].tolist()} is not in {self.space}")
        rows: NDArray[np.int64] = (digits @ self._strides).reshape(leading)
        return rows

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What the table has learnt: ``values``, and for a hashed table ``keys``, one of equal length a row."""
        if not self.hashed:
            return {"values": self.values}
        keys = np.frombuffer(b"".join(self._keys), dtype=np.uint8).reshape(self.n_rows, -1 if self.n_rows else 0)
        return {"values": self.values[: self.n_rows], "keys": keys}

    def from_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Takes over what :meth:`to_arrays` gave.

        Raises:
            KeyError: An array is missing.
            ValueError: The arrays do not fit this table.
        """
        values = arrays["values"]
        expected = (len(values) if self.hashed else len(self.values), self.n_actions)
        if values.shape != expected or values.dtype != np.float64:
            raise ValueError(f"values must be float64 of shape {expected}; got {values.dtype} of {values.shape}")
        if self.hashed:
            self._keys = {key.tobytes(): row for row, key in enumerate(arrays["keys"])}
            if len(self._keys) != len(values):
                raise ValueError(f"there must be {len(values)} different keys; got {len(self._keys)}")
            values = np.concatenate([values, np.zeros((FIRST_ROWS, self.n_actions))])
        self.values = values

    def _arithmetic_row(self, observation: Any) -> int:
        digits = observation.ravel().tolist() if isinstance(observation, np.ndarray) else observation
        if not isinstance(digits, list | tuple):
            digits = (digits,)
        if self._is_shifted:
            digits = [digit - start for digit, start in zip(digits, self._start, strict=False)]
        row = 0
        if len(digits) != len(self._sizes):
            raise ValueError(f"observation {observation!r} is not in {self.space}")
        for digit, size in zip(digits, self._sizes):  # noqa: B905  their lengths are equal
            if not 0 <= digit < size:
                raise ValueError(f"observation {observation!r} is not in {self.space}")
            row = row * size + digit
        return operator.index(row)

    def _key(self, observation: Any) -> bytes:
        if self.space.shape is None:
            return np.asarray(spaces.flatten(self.space, observation)).tobytes()
        array = np.asarray(observation, dtype=self.space.dtype)
        if array.shape != self.space.shape:
            raise ValueError(f"observation {observation!r} is not in {self.space}")
        return array.tobytes()

    def _check_memory(self, n_rows: int) -> None:
        needed = n_rows * self.n_actions * np.dtype(np.float64).itemsize
        if needed > self.memory_limit:
            raise ValueError(
                f"a table of {n_rows:,} observations by {self.n_actions:,} actions takes {needed / 1e9:,.2f} GB, "
                f"more than memory_limit={self.memory_limit / 1e9:,.2f} GB; raise memory_limit, or use "
                'rows="hashed", which grows only with what is seen'
            )


def _sizes(space: Space[Any]) -> NDArray[np.int64] | None:
    """How many values each component of a discrete space has, or None for any other space."""
    if isinstance(space, spaces.Discrete):
        return np.array([space.n])
    if isinstance(space, spaces.MultiDiscrete):
        return np.asarray(space.nvec)
    if isinstance(space, spaces.MultiBinary):
        return np.full(space.shape, 2)
    return None
