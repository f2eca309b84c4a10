"""Tables of action values, dense or hashed."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, Literal, TypeAlias

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

TableKind: TypeAlias = Literal["auto", "dense", "hash"]
AUTO_DENSE_VALUES = 2**25  # up to this many values "auto" is a dense table: 256 MB
MAX_DENSE_VALUES = 2**31
MAX_DENSE_COMPONENTS = 32  # of an observation; NumPy computes indices of up to this many dimensions
INITIAL_VALUES = 2**12  # of a hash table, which doubles when full
KNOWN_ROWS = 2**16  # observations whose row a dense table keeps, since a look-up is faster than the arithmetic


def make_table(space: Space[Any], n_actions: int, table: TableKind = "auto") -> Table:
    """Makes an empty table.

    Args:
        space: The observation space.
        n_actions: The number of actions, the length of a row.
        table: ``"dense"``: a row for every observation, for a ``Discrete``, ``MultiDiscrete`` or ``MultiBinary``
            space of up to 32 components. ``"hash"``: rows are added as observations occur. ``"auto"``: dense if
            such a table has at most 2²⁵ values (256 MB), else hash.

    Returns:
        A :class:`DenseTable` or :class:`HashTable`.

    Raises:
        TypeError: The space does not hold arrays of a fixed shape, or tuples or dictionaries of them.
        ValueError: ``table`` is none of the three, or ``"dense"`` for another space or more than 2³¹ values.
    """
    if not space.is_np_flattenable:
        raise TypeError(f"observation_space must hold arrays of a fixed shape; got {space}")
    if table not in ("auto", "dense", "hash"):
        raise ValueError(f'table must be "auto", "dense" or "hash"; got {table!r}')
    n_values = math.prod(map(float, _sizes(space))) * n_actions
    if table == "dense" and n_values > MAX_DENSE_VALUES:
        needed = "a discrete observation space of up to 32 components and at most 2**31 values"
        raise ValueError(f'table="dense" needs {needed}, not {space}; use table="hash"')
    if table == "dense" or (table == "auto" and n_values <= AUTO_DENSE_VALUES):
        return DenseTable(space, n_actions)
    return HashTable(space, n_actions)


def _sizes(space: Any) -> list[float]:
    """The numbers of values of each component of a dense table's observations; infinite for other spaces."""
    if isinstance(space, spaces.Discrete):
        return [int(space.n)]
    is_discrete = isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary)
    if not is_discrete or math.prod(space.shape) > MAX_DENSE_COMPONENTS:
        return [math.inf]
    sizes = space.nvec if isinstance(space, spaces.MultiDiscrete) else np.full(space.shape, 2)
    return sizes.ravel().tolist()  # type: ignore[no-any-return]


class Table(ABC):
    """Action values, one row for each observation, 0 for every pair never updated; see :func:`make_table`.

    Args:
        space: The observation space.
        n_actions: The number of actions, the length of a row.

    Attributes:
        space: The observation space.
        values: The values, float64 of shape ``(at least n_rows, n_actions)``, to be changed in place. A hash table
            replaces the array when it grows; its last row stays 0.
    """

    values: NDArray[np.float64]

    def __init__(self, space: Space[Any], n_actions: int) -> None:
        self.space = space
        self._n_actions = n_actions
        self._shape = space.shape
        self._dtype = None if space.shape is None else np.dtype(space.dtype)
        self._is_float = self._dtype is None or self._dtype.kind == "f"
        self._rows: dict[bytes, int] = {}  # by the bytes of the observation

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.space}, {self._n_actions} actions, {self.n_rows} rows>"

    @property
    def n_rows(self) -> int:
        """The number of rows in use, all of a dense table and those of known observations of a hash table."""
        return len(self.values)

    def row(self, observation: Any, add: bool = True) -> int:
        """The row of one observation. With ``add`` a missing row is added; otherwise it is -1, a row of zeros.

        A ValueError if the observation is not in the space; the bounds of a ``Box`` are not checked.
        """
        array = observation
        if type(array) is not np.ndarray or array.dtype is not self._dtype or array.shape != self._shape:
            array = self._converted(observation)
        key = (array + 0.0 if self._is_float else array).tobytes()  # turns -0.0 into 0.0
        row = self._rows.get(key)
        return self._missing_row(key, array, add) if row is None else row

    def rows(self, observations: NDArray[Any], add: bool = False) -> NDArray[np.int64]:
        """The rows of observations ``(..., *space.shape)``, as :meth:`row` finds them: int64 of shape ``(...)``.

        Observations of tuples and dictionaries do not come in batches, which is a ValueError.
        """
        if self._shape is None:
            raise ValueError(f"observations of {self.space} do not come in batches")
        leading = observations.shape[: observations.ndim - len(self._shape)]
        if observations.shape != leading + self._shape:
            raise ValueError(f"observation must have shape (..., *{self._shape}); got {observations.shape}")
        return self._rows_of(observations.reshape(math.prod(leading), *self._shape), add).reshape(leading)

    @abstractmethod
    def _missing_row(self, key: bytes, observation: NDArray[Any], add: bool) -> int:
        """:meth:`row` of an observation whose row is not known."""

    @abstractmethod
    def _rows_of(self, observations: NDArray[Any], add: bool) -> NDArray[np.int64]:
        """:meth:`rows` for one leading dimension."""

    def _converted(self, observation: Any) -> NDArray[Any]:
        """An observation as an array of the dtype of the space; of tuples and dictionaries, flattened."""
        if self._shape is None:
            self._check(observation)
            return np.asarray(spaces.flatten(self.space, observation))
        array = np.asarray(observation)
        if array.shape != self._shape or not np.can_cast(array.dtype, self.space.dtype, "same_kind"):
            raise self._not_in_space(observation)
        self._check(array)
        return array.astype(self._dtype)

    def _check(self, observation: Any) -> None:
        if not isinstance(self.space, spaces.Box) and not self.space.contains(observation):
            raise self._not_in_space(observation)

    def _not_in_space(self, observation: Any) -> ValueError:
        return ValueError(f"observation {observation!r} is not in {self.space}")

    def get(self, observation: Any) -> list[float]:
        """The ``n_actions`` values of one observation; a ValueError if it is not in the space."""
        values: list[float] = self.values[self.row(observation, False)].tolist()
        return values

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """``values``, float64 ``(n_rows, n_actions)``; a hash table adds ``keys``, uint8 ``(n_rows, n_bytes)``."""
        return {"values": self.values[: self.n_rows]}

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restores what :meth:`state_dict` returned; a ValueError if it does not fit this table."""
        values = arrays["values"]
        if values.dtype != np.float64 or not np.isfinite(values).all():
            raise ValueError(f"values must be finite numbers of float64; got {values.dtype}")
        self.values = values


class DenseTable(Table):
    """A table with a row for every observation of a discrete space; see :func:`make_table`."""

    def __init__(self, space: Space[Any], n_actions: int) -> None:
        super().__init__(space, n_actions)
        self._sizes = tuple(_sizes(space))
        self._start = np.ravel(getattr(space, "start", 0))
        self.values = np.zeros((math.prod(self._sizes), n_actions))

    def _missing_row(self, key: bytes, observation: NDArray[Any], add: bool) -> int:  # noqa: ARG002
        if len(self._rows) == KNOWN_ROWS:
            self._rows.clear()
        row = self._rows[key] = int(self._rows_of(observation[None], True)[0])
        return row

    def _rows_of(self, observations: NDArray[Any], add: bool) -> NDArray[np.int64]:  # noqa: ARG002
        digits = observations.reshape(len(observations), len(self._sizes))
        if self._start.any():
            digits = digits - self._start
        try:
            indices: NDArray[np.int64] = np.ravel_multi_index(tuple(digits.T), self._sizes)
        except (TypeError, ValueError):
            raise self._not_in_space(observations) from None
        return indices

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        if arrays["values"].shape != self.values.shape:
            raise ValueError(f"values must have shape {self.values.shape}; got {arrays['values'].shape}")
        super().load_state_dict(arrays)


class HashTable(Table):
    """A table that finds rows by hashing and adds them as observations occur; see :func:`make_table`."""

    def __init__(self, space: Space[Any], n_actions: int) -> None:
        super().__init__(space, n_actions)
        self.values = np.zeros((INITIAL_VALUES // n_actions + 2, n_actions))

    @property
    def n_rows(self) -> int:
        return len(self._rows)

    def _missing_row(self, key: bytes, observation: NDArray[Any], add: bool) -> int:
        if self._shape is not None:
            self._check(observation)
        if not add:
            return -1
        row = self._rows[key] = len(self._rows)
        if row + 1 == len(self.values):  # the last row is -1, the zeros of all missing rows
            self.values = np.concatenate([self.values, np.zeros_like(self.values)])
        return row

    def _rows_of(self, observations: NDArray[Any], add: bool) -> NDArray[np.int64]:
        if observations.dtype != self._dtype:
            return np.array([self.row(observation, add) for observation in observations], np.int64)
        size = math.prod(observations.shape[1:])
        array = np.ascontiguousarray(observations + 0.0 if self._is_float else observations)
        keys = array.reshape(len(array), size).view(f"V{size * array.itemsize}").ravel().tolist()
        rows = np.array([self._rows.get(key, -1) for key in keys], np.int64)
        for index in (rows < 0).nonzero()[0]:
            rows[index] = self.row(observations[index], add)
        return rows

    def state_dict(self) -> dict[str, NDArray[Any]]:
        keys = np.frombuffer(b"".join(self._rows), np.uint8).reshape(self.n_rows, -1 if self.n_rows else 0)
        return {**super().state_dict(), "keys": keys}

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        keys = arrays["keys"]
        rows = {key.tobytes(): row for row, key in enumerate(keys)}
        space = spaces.flatten_space(self.space) if self._shape is None else self.space
        n_bytes = math.prod(space.shape or ()) * np.dtype(space.dtype).itemsize
        shape = len(rows), self._n_actions  # fewer rows where two keys are equal
        if keys.dtype != np.uint8 or (rows and keys.shape[1] != n_bytes) or arrays["values"].shape != shape:
            raise ValueError(
                f"keys must be {n_bytes} bytes of uint8 for each row of values, different from each other"
            )
        super().load_state_dict(arrays)
        self._rows = rows
        self.values = np.concatenate(
            [self.values, np.zeros((INITIAL_VALUES // self._n_actions + 2, self._n_actions))]
        )
