"""A table of action values whose rows are found by arithmetic or by hashing."""

from __future__ import annotations

import math
import operator
from itertools import accumulate
from typing import Any, Literal, TypeAlias

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

Rows: TypeAlias = Literal["auto", "arithmetic", "hashed"]
FIRST_ROWS = 64  # of a hashed table, which doubles when full
RECENT_ROWS = 2**14
KEY_BYTES = 120  # what a dictionary entry takes besides the key's own bytes


class QTable:
    """Action values, one row for each observation, 0 where nothing was learnt.

    The row of an observation is found by arithmetic where the space is discrete (``Discrete``,
    ``MultiDiscrete`` and ``MultiBinary``: every observation has its row from the start), and by hashing
    otherwise (rows are added as observations turn up).

    Args:
        space: The observation space.
        n_actions: How many actions, the length of a row.
        rows: ``"arithmetic"``, ``"hashed"``, or ``"auto"`` for the former where it is possible.
        memory_limit: The most bytes that values and keys may take.

    Raises:
        TypeError: The space does not hold arrays of a fixed shape, or tuples or dictionaries of them.
        ValueError: The table would pass ``memory_limit``, or ``"arithmetic"`` rows of a space that is not
            discrete.
    """

    def __init__(self, space: Space[Any], n_actions: int, rows: Rows, memory_limit: int) -> None:
        if not space.is_np_flattenable:
            raise TypeError(f"observation_space must hold arrays of a fixed shape; got {space}")
        sizes = _sizes(space)
        if rows not in ("auto", "arithmetic", "hashed"):
            raise ValueError(f'rows must be "auto", "arithmetic" or "hashed"; got {rows!r}')
        if rows == "arithmetic" and sizes is None:
            raise ValueError(f'rows="arithmetic" needs a discrete observation space, not {space}; use "hashed"')
        self.space, self.n_actions, self.memory_limit = space, n_actions, memory_limit
        self.hashed = rows == "hashed" or sizes is None
        self._shape = space.shape
        self._keys: dict[bytes, int] = {}
        self._recent: dict[bytes, int] = {}  # arithmetic rows found lately: a look-up beats the arithmetic
        self._dtype = space.dtype
        self._looks_up = math.prod(space.shape or ()) <= 64  # longer observations would cost memory
        self._sizes: list[int] | None = None
        self._strides: NDArray[np.int64] | None = None  # of indices that fit 64 bits
        number = FIRST_ROWS
        if sizes is not None:
            self._sizes = sizes.ravel().tolist()
            self._start = np.broadcast_to(getattr(space, "start", 0), sizes.shape).ravel().tolist()
            self._is_shifted = any(self._start)
            self._starts, self._ends = (
                np.array(self._start, dtype=np.int64),
                np.array(self._sizes, dtype=np.uint64),
            )
            n_observations = math.prod(self._sizes)
            if n_observations < 2**63:
                strides = accumulate(reversed(self._sizes[1:]), operator.mul, initial=1)
                self._strides = np.array(list(strides)[::-1], dtype=np.int64)
            self._key_bytes = (n_observations.bit_length() + 7) // 8
            number = min(number, n_observations) if self.hashed else n_observations
        self._check_memory(number)
        self.values: NDArray[np.float64] = np.zeros((number, n_actions))

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
        return self._row_of(self._key(observation)) if self.hashed else self._arithmetic_row(observation)

    def _row_of(self, key: bytes) -> int:
        row = self._keys.get(key)
        if row is None:
            row = len(self._keys)
            if row == len(self.values):
                self._check_memory(2 * row, beside=row)
                grown = np.zeros((2 * row, self.n_actions))
                grown[:row] = self.values
                self.values = grown
            self._keys[key] = row
        return row

    def rows(self, observations: NDArray[Any], add: bool = False) -> NDArray[np.int64]:
        """The rows of a batch of observations, -1 for those that a hashed table has not seen.

        Args:
            observations: Any number of leading dimensions before the space's own shape.
            add: Whether to add those that are new to a hashed table instead.

        Raises:
            ValueError: An observation is not in the space, or the table would pass its memory limit.
        """
        shape = self._shape
        if shape is None:
            raise ValueError(f"observations of {self.space} do not come in batches")
        leading = observations.shape[: observations.ndim - len(shape)]
        if observations.shape[len(leading) :] != shape:
            raise ValueError(f"observation must have shape (..., *{shape}); got {observations.shape}")
        flat = observations.reshape(math.prod(leading), *shape)
        if self.hashed:
            keys = self._batch_keys(flat)
            found = [self._row_of(key) for key in keys] if add else [self._keys.get(key, -1) for key in keys]
            return np.array(found, dtype=np.int64).reshape(leading)
        return self._arithmetic_rows(flat).reshape(leading)

    def _arithmetic_rows(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        if observations.dtype.kind not in "iub":
            raise self._not_in_space(observations[:1])
        flat = observations.reshape(len(observations), len(self._starts))
        digits = np.ascontiguousarray(flat, dtype=np.int64)
        if self._is_shifted:
            digits = digits - self._starts
        assert self._sizes is not None
        assert self._strides is not None
        rows: NDArray[np.int64] = digits @ self._strides
        if digits.size > len(self._ends):
            self._ends = np.tile(self._sizes, 2 * len(digits)).astype(np.uint64)
        is_outside = digits.reshape(-1).view(np.uint64) >= self._ends[: digits.size]  # negative ones too
        if is_outside.any():
            raise self._not_in_space(observations[is_outside.argmax() // len(self._starts)])
        return rows

    def _batch_keys(self, observations: NDArray[Any]) -> list[bytes]:
        if self._strides is None:
            return [self._key(observation) for observation in observations]
        indices = self._arithmetic_rows(observations).tolist()
        return [index.to_bytes(self._key_bytes, "big") for index in indices]

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
        if not np.isfinite(values).all():
            raise ValueError("values must be finite")
        if self.hashed:
            keys, width = arrays["keys"], len(self._key(self.space.sample()))
            self._keys = {key.tobytes(): row for row, key in enumerate(keys)}
            if len(self._keys) != len(values) or (len(keys) and keys.shape[1:] != (width,)):
                raise ValueError(f"keys must be {len(values)} different ones of {width} bytes; got {keys.shape}")
            values = np.concatenate([values, np.zeros((FIRST_ROWS, self.n_actions))])
        self.values = np.ascontiguousarray(values)

    def _arithmetic_row(self, observation: Any) -> int:
        if not self._looks_up or not isinstance(observation, np.ndarray):
            return self._computed_row(observation)
        if observation.dtype is not self._dtype and observation.dtype != self._dtype:
            return self._computed_row(observation)
        if observation.shape != self._shape:
            raise self._not_in_space(observation)
        key = observation.tobytes()
        row = self._recent.get(key)
        if row is None:
            if len(self._recent) >= RECENT_ROWS:
                self._recent.clear()
            row = self._recent[key] = self._computed_row(observation)
        return row

    def _computed_row(self, observation: Any) -> int:
        assert self._sizes is not None
        array = np.asarray(observation)
        if array.shape != self._shape or array.dtype.kind not in "iub":
            raise self._not_in_space(observation)
        digits: list[int] = array.ravel().tolist()
        if self._is_shifted:
            digits = [digit - start for digit, start in zip(digits, self._start, strict=True)]
        row = 0
        for digit, size in zip(digits, self._sizes):  # noqa: B905  their lengths are equal
            if not 0 <= digit < size:
                raise self._not_in_space(observation)
            row = row * size + digit
        return row

    def _key(self, observation: Any) -> bytes:
        if self._sizes is not None:
            return self._arithmetic_row(observation).to_bytes(self._key_bytes, "big")
        if self.space.shape is None:
            if not self.space.contains(observation):
                raise self._not_in_space(observation)
            array = np.asarray(spaces.flatten(self.space, observation))
        else:
            array = np.asarray(observation)
            dtype = np.dtype(self.space.dtype)
            if array.shape != self.space.shape or not np.can_cast(array.dtype, dtype, "same_kind"):
                raise self._not_in_space(observation)
            array = array.astype(dtype, copy=False)
        if array.dtype.kind == "f":
            array = array + 0.0  # -0.0 is 0.0
        return array.tobytes()

    def _not_in_space(self, observation: Any) -> ValueError:
        return ValueError(f"observation {observation!r} is not in {self.space}")

    def _check_memory(self, n_rows: int, beside: int = 0) -> None:
        """Refuses a table of so many rows; while one grows, the old is still ``beside`` it."""
        key_bytes = len(next(iter(self._keys), b"")) + KEY_BYTES if self.hashed else 0
        row_bytes = self.n_actions * np.dtype(np.float64).itemsize
        needed = n_rows * (row_bytes + key_bytes) + beside * row_bytes
        if needed > self.memory_limit:
            remedy = "" if self.hashed else ', or use rows="hashed", which grows only with what is seen'
            raise ValueError(
                f"a table of {_figure(n_rows)} observations by {self.n_actions:,} actions takes "
                f"{_figure(-(-needed // 10**6))} MB, "
                f"more than memory_limit={self.memory_limit / 1e6:,.1f} MB; raise memory_limit{remedy}"
            )


def _figure(number: int) -> str:
    return f"{number:,}" if number < 10**18 else "more than 10^18"


def _sizes(space: Space[Any]) -> NDArray[np.int64] | None:
    """How many values each component of a discrete space has, or None for any other space."""
    if isinstance(space, spaces.Discrete):
        return np.array([space.n])
    if isinstance(space, spaces.MultiDiscrete):
        return np.asarray(space.nvec)
    if isinstance(space, spaces.MultiBinary):
        return np.full(space.shape, 2)
    return None
