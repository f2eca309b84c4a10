"""Tables of action values, dense or hashed."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from agents.saving import ArrayHeader

TableKind: TypeAlias = Literal["auto", "dense", "hash"]
AUTO_DENSE_VALUES = 2**25  # up to this many values "auto" is a dense table: 256 MB
MAX_DENSE_VALUES = 2**31
INITIAL_VALUES = 2**12  # of a hash table, which doubles when full
CACHE_SIZE = 2**16  # components of the observations whose index is kept
MAX_FLATTENED = 10**6  # numbers of a flattened tuple or dictionary, which is one-hot where it is discrete
MAX_INDEXED = 1000  # components of an observation that has an index


def make_table(space: Space[Any], n_actions: int, table: TableKind = "auto") -> Table:
    """Makes an empty table.

    Args:
        space: The observation space.
        n_actions: The number of actions, the length of a row.
        table: ``"dense"``: a row for every observation, for a ``Discrete``, ``MultiDiscrete`` or ``MultiBinary``
            space of up to 1,000 components. ``"hash"``: rows are added as observations occur. ``"auto"``: dense if
            such a table has at most 2²⁵ values (256 MB), else hash.

    Returns:
        A :class:`DenseTable` or :class:`HashTable`.

    Raises:
        TypeError: The space does not hold arrays of a fixed shape, or tuples or dictionaries of them.
        ValueError: ``table`` is none of the three, or ``"dense"`` for a space that is not discrete or whose table
            would have more than 2³¹ values; or a tuple or dictionary flattens to more than a million numbers.
    """
    if not space.is_np_flattenable:
        raise TypeError(f"observation_space must hold arrays of a fixed shape; got {space}")
    if space.shape is None and spaces.flatdim(space) > MAX_FLATTENED:
        raise ValueError(f"observations of {space} flatten to over {MAX_FLATTENED:,} numbers; use smaller spaces")
    if table not in ("auto", "dense", "hash"):
        raise ValueError(f'table must be "auto", "dense" or "hash"; got {table!r}')
    is_discrete = isinstance(space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary)
    has_index = is_discrete and math.prod(space.shape or ()) <= MAX_INDEXED
    keys = _Index(space) if has_index else _Bytes(space)
    n_values = keys.n_observations * n_actions
    if table == "dense" and n_values > MAX_DENSE_VALUES:
        needed = "a discrete observation space of up to 1,000 components and at most 2**31 values"
        raise ValueError(f'table="dense" needs {needed}, not {space}; use table="hash"')
    if isinstance(keys, _Index) and (table == "dense" or (table == "auto" and n_values <= AUTO_DENSE_VALUES)):
        return DenseTable(space, n_actions, keys)
    return HashTable(space, n_actions, keys)


class Table(ABC):
    """Action values, one row for each observation, 0 for every pair never updated; see :func:`make_table`.

    Args:
        space: The observation space.
        n_actions: The number of actions, the length of a row.
        keys: Finds the key of each observation.

    Attributes:
        values: The values, float64 of shape ``(at least n_rows, n_actions)``, to be changed in place. A hash table
            replaces the array when it grows; its last row stays 0.
    """

    values: NDArray[np.float64]

    def __init__(self, space: Space[Any], n_actions: int, keys: _Index | _Bytes) -> None:
        self._space, self._n_actions, self._keys = space, n_actions, keys

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._space}, {self._n_actions} actions, {self.n_rows} rows>"

    @property
    def n_rows(self) -> int:
        """The number of rows in use, all of a dense table and those of known observations of a hash table."""
        return len(self.values)

    @abstractmethod
    def row(self, observation: Any, add: bool = True) -> int:
        """The row of one observation. With ``add`` a missing row is added; otherwise it is -1, a row of zeros.

        A ValueError if the observation is not in the space.
        """

    def rows(self, observations: NDArray[Any], add: bool = False) -> NDArray[np.int64]:
        """The rows of observations ``(..., *space.shape)``, as :meth:`row` finds them: int64 of shape ``(...)``.

        Observations of tuples and dictionaries do not come in batches, which is a ValueError.
        """
        shape = self._space.shape
        if shape is None:
            raise ValueError(f"observations of {self._space} do not come in batches")
        leading = observations.shape[: observations.ndim - len(shape)]
        if observations.shape != leading + shape:
            raise ValueError(f"observation must have shape (..., *{shape}); got {observations.shape}")
        return self._rows_of(observations.reshape(math.prod(leading), *shape), add).reshape(leading)

    @abstractmethod
    def _rows_of(self, observations: NDArray[Any], add: bool) -> NDArray[np.int64]:
        """:meth:`rows` for one leading dimension."""

    def get(self, observation: Any) -> list[float]:
        """The ``n_actions`` values of one observation; a ValueError if it is not in the space."""
        values: list[float] = self.values[self.row(observation, False)].tolist()
        return values

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """``values``, float64 ``(n_rows, n_actions)``; a hash table adds ``keys``, uint8 ``(n_rows, n_bytes)``."""
        return {"values": self.values[: self.n_rows]}

    def check_headers(self, headers: Mapping[str, ArrayHeader | NDArray[Any]]) -> None:
        """A KeyError or ValueError unless arrays of these shapes and dtypes can be a dense or a hash table."""
        n_rows = most = self._keys.n_observations
        if "keys" in headers:
            keys, n_bytes = headers["keys"], self._keys.n_bytes
            n_rows = keys.shape[0] if len(keys.shape) == 2 else math.inf
            if keys.dtype != np.uint8 or n_rows > most or keys.shape not in ((n_rows, n_bytes), (0, 0)):
                expected = f"uint8, one row of {n_bytes} bytes for each of at most {most} observations"
                raise ValueError(f"keys must be {expected}; got {keys.dtype} of shape {keys.shape}")
        values, shape = headers["values"], (n_rows, self._n_actions)
        if values.shape != shape or values.dtype != np.float64:
            raise ValueError(f"values must be float64 of shape {shape}; got {values.dtype} of {values.shape}")

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restores what :meth:`state_dict` returned; a KeyError or ValueError if it does not fit this table."""
        self.check_headers(arrays)
        if not np.isfinite(arrays["values"]).all():
            raise ValueError("values must be finite")
        self.values = np.ascontiguousarray(arrays["values"])


class DenseTable(Table):
    """A table with a row for every observation of a discrete space; see :func:`make_table`."""

    _keys: _Index

    def __init__(self, space: Space[Any], n_actions: int, index: _Index) -> None:
        super().__init__(space, n_actions, index)
        self.values = np.zeros((index.n_observations, n_actions))

    def row(self, observation: Any, add: bool = True) -> int:  # noqa: ARG002
        return self._keys.index(observation)

    def _rows_of(self, observations: NDArray[Any], add: bool) -> NDArray[np.int64]:  # noqa: ARG002
        return self._keys.indices(observations)


class HashTable(Table):
    """A table that finds rows by hashing and adds them as observations occur; see :func:`make_table`."""

    def __init__(self, space: Space[Any], n_actions: int, keys: _Index | _Bytes) -> None:
        super().__init__(space, n_actions, keys)
        self._rows: dict[bytes, int] = {}
        self.values = self._new_rows()

    @property
    def n_rows(self) -> int:
        return len(self._rows)

    def row(self, observation: Any, add: bool = True) -> int:
        key = self._keys.key(observation)
        return self._add(key) if add else self._rows.get(key, -1)

    def _rows_of(self, observations: NDArray[Any], add: bool) -> NDArray[np.int64]:
        keys = self._keys.keys(observations)
        return np.array([self._add(key) if add else self._rows.get(key, -1) for key in keys], dtype=np.int64)

    def _add(self, key: bytes) -> int:
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = len(self._rows)
            if row + 1 == len(self.values):  # the last row is -1, the zeros of all missing rows
                self.values = np.concatenate([self.values, np.zeros_like(self.values)])
        return row

    def _new_rows(self) -> NDArray[np.float64]:
        return np.zeros((INITIAL_VALUES // self._n_actions + 2, self._n_actions))

    def state_dict(self) -> dict[str, NDArray[Any]]:
        keys = np.frombuffer(b"".join(self._rows), dtype=np.uint8).reshape(self.n_rows, -1 if self.n_rows else 0)
        return {**super().state_dict(), "keys": keys}

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        rows = {key.tobytes(): row for row, key in enumerate(arrays["keys"])}
        if len(rows) < len(arrays["keys"]):
            raise ValueError("keys must be different from each other")
        super().load_state_dict(arrays)
        self._rows, self.values = rows, np.concatenate([self.values, self._new_rows()])


class _Index:
    """The row-major index of each observation of a discrete space; as a key, its bytes."""

    def __init__(self, space: Any) -> None:
        self._space, self._shape, self._dtype = space, space.shape, np.dtype(space.dtype)
        n = space.n if isinstance(space, spaces.Discrete) else 2
        sizes = space.nvec if isinstance(space, spaces.MultiDiscrete) else n
        self._sizes = tuple(np.broadcast_to(sizes, space.shape).ravel().tolist())
        self._start = np.broadcast_to(getattr(space, "start", 0), space.shape).ravel().astype(np.int64)
        self._has_start = self._start.any()
        self._cache: dict[bytes, int] = {}  # a look-up is faster than the arithmetic
        self.n_observations: int = math.prod(self._sizes)
        self.n_bytes = (self.n_observations.bit_length() + 7) // 8

    def key(self, observation: Any) -> bytes:
        return self.index(observation).to_bytes(self.n_bytes, "big")

    def keys(self, observations: NDArray[Any]) -> list[bytes]:
        return [index.to_bytes(self.n_bytes, "big") for index in self.indices(observations).tolist()]

    def index(self, observation: Any) -> int:
        """The index of one observation; a ValueError if it is not in the space."""
        is_array = type(observation) is np.ndarray and observation.dtype is self._dtype
        if not is_array or observation.shape != self._shape:
            return self._compute(observation)
        key = observation.tobytes()
        index = self._cache.get(key)
        if index is None:
            if len(self._cache) * len(self._sizes) >= CACHE_SIZE:
                self._cache.clear()
            index = self._cache[key] = self._compute(observation)
        return index

    def _compute(self, observation: Any) -> int:
        array = np.asarray(observation)
        if array.shape != self._shape or array.dtype.kind not in "iub":
            raise _not_in_space(observation, self._space)
        digits = array.reshape(-1).astype(np.int64) - self._start
        index = 0
        for digit, size in zip(digits.tolist(), self._sizes):  # noqa: B905  their lengths are equal
            if not 0 <= digit < size:
                raise _not_in_space(observation, self._space)
            index = index * size + digit
        return index

    def indices(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """The indices of ``(n, *shape)`` observations; a ValueError as for :meth:`index`."""
        digits = observations.reshape(len(observations), len(self._sizes))
        try:
            if self._has_start:
                digits = digits.astype(np.int64, casting="same_kind") - self._start
            indices: NDArray[np.int64] = np.ravel_multi_index(tuple(digits.T), self._sizes)
        except (TypeError, ValueError):  # an observation is not in the space, or the space is too large for NumPy
            dtype = np.int64 if self.n_bytes < 8 else object
            indices = np.array([self._compute(observation) for observation in observations], dtype)
        return indices


class _Bytes:
    """The keys of observations without an index: their bytes, of tuples and dictionaries flattened."""

    n_observations = math.inf

    def __init__(self, space: Space[Any]) -> None:
        self._space = space

    @property
    def n_bytes(self) -> int:
        space = spaces.flatten_space(self._space) if self._space.shape is None else self._space
        n_numbers: int = math.prod(space.shape or ())
        return n_numbers * np.dtype(space.dtype).itemsize

    def keys(self, observations: NDArray[Any]) -> list[bytes]:
        return [self.key(observation) for observation in observations]

    def key(self, observation: Any) -> bytes:
        space = self._space
        if space.shape is None:
            if not space.contains(observation):
                raise _not_in_space(observation, space)
            array = np.asarray(spaces.flatten(space, observation))
        else:
            array, dtype = np.asarray(observation), np.dtype(space.dtype)
            if array.shape != space.shape or not np.can_cast(array.dtype, dtype, "same_kind"):
                raise _not_in_space(observation, space)
            array = array.astype(dtype, copy=False)
            if not isinstance(space, spaces.Box) and not space.contains(array):
                raise _not_in_space(observation, space)
        return (array + 0.0 if array.dtype.kind == "f" else array).tobytes()  # turns -0.0 into 0.0


def _not_in_space(observation: Any, space: Space[Any]) -> ValueError:
    return ValueError(f"observation {observation!r} is not in {space}")
