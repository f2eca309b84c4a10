"""Tables of action values, dense or hashed, and the agents that learn in one."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from itertools import accumulate
from typing import Any, Literal, TypeAlias

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from agents._array_file import ArrayHeader
from agents.agent import Agent

TableKind: TypeAlias = Literal["auto", "dense", "hash"]
AUTO_DENSE_VALUES = 2**25  # up to so many values "auto" is a dense table: 256 MB
MAX_DENSE_VALUES = 2**31
INITIAL_VALUES = 2**12  # of a hash table, which doubles when full
CACHE_SIZE = 2**14  # observations whose index is kept
MAX_FLATTENED = 10**6  # numbers of a flattened tuple or dictionary, which is one-hot where it is discrete
MAX_SHORT = 1000  # components of an observation whose index is computed one by one


def make_table(space: Space[Any], n_actions: int, table: TableKind = "auto") -> Table:
    """Makes an empty table.

    Args:
        space: The observation space.
        n_actions: The number of actions, the length of a row.
        table: ``"dense"``: a row for every observation, for a ``Discrete``, ``MultiDiscrete`` or ``MultiBinary``
            space. ``"hash"``: rows are added as observations occur. ``"auto"``: dense if the space is discrete
            and the table has at most 2²⁵ values (256 MB), else hash.

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
    index = _ObservationIndex(space) if _sizes(space) is not None else None
    if table == "dense" and index is None:
        raise ValueError(f'table="dense" needs a discrete observation space, not {space}; use table="hash"')
    if index is None or table == "hash":
        return HashTable(space, n_actions, index)
    n_values = index.n_observations * n_actions
    if table == "dense" and n_values > MAX_DENSE_VALUES:
        raise ValueError(f'table="dense" would have more than 2**31 values for {space}; use table="hash"')
    if table == "auto" and n_values > AUTO_DENSE_VALUES:
        return HashTable(space, n_actions, index)
    return DenseTable(space, n_actions, index)


class Table(ABC):
    """Action values, one row for each observation, 0 for every pair never updated.

    Args:
        space: The observation space.
        n_actions: The number of actions, the length of a row.
        index: The index of the observations of a discrete space.

    Attributes:
        values: The values, float64 of shape ``(at least n_rows, n_actions)``, to be changed in place. A hash table
            replaces the array when it grows.
    """

    values: NDArray[np.float64]

    def __init__(self, space: Space[Any], n_actions: int, index: _ObservationIndex | None) -> None:
        self._space, self._n_actions, self._index = space, n_actions, index

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows in use."""

    @abstractmethod
    def find(self, observation: Any) -> int:
        """The row of one observation, -1 if it has none; a ValueError if it is not in the space."""

    @abstractmethod
    def row(self, observation: Any) -> int:
        """The row of one observation, added if it has none; a ValueError if it is not in the space."""

    @abstractmethod
    def rows(self, observations: NDArray[Any], add: bool = False) -> NDArray[np.int64]:
        """The rows of a batch.

        Args:
            observations: Any number of leading dimensions before the shape of the space.
            add: Whether to add missing rows.

        Returns:
            int64 of shape ``(...)``, the leading dimensions; -1 for observations without a row.

        Raises:
            ValueError: An observation is not in the space, or the space is one of tuples or dictionaries, which
                do not come in batches.
        """

    def get(self, observation: Any) -> list[float]:
        """The ``n_actions`` values of one observation; a ValueError if it is not in the space."""
        row = self.find(observation)
        values: list[float] = self.values[row].tolist() if row >= 0 else [0.0] * self._n_actions
        return values

    def get_batch(self, observations: NDArray[Any]) -> NDArray[np.float64]:
        """A copy of the values of a batch.

        Args:
            observations: Any number of leading dimensions before the shape of the space.

        Returns:
            float64 of shape ``(..., n_actions)``.

        Raises:
            ValueError: As :meth:`rows`.
        """
        rows = self.rows(observations)
        values = self.values.take(rows, axis=0, mode="clip")  # the mode that NumPy is fastest at
        values[rows < 0] = 0.0
        return values

    @abstractmethod
    def state_dict(self) -> dict[str, NDArray[Any]]:
        """The table as arrays.

        Returns:
            ``values``, float64 of shape ``(n_rows, n_actions)``, and of a hash table ``keys``, uint8 of shape
            ``(n_rows, n_bytes)``.
        """

    def check_headers(self, headers: dict[str, ArrayHeader]) -> None:
        """Checks whether arrays can be those of a table for the spaces, dense or hashed.

        Args:
            headers: The shape and dtype of each array, by name as in :meth:`state_dict`.

        Raises:
            KeyError: An array is missing.
            ValueError: An array does not fit the spaces.
        """
        n_observations = math.inf if self._index is None else self._index.n_observations
        if "keys" not in headers and n_observations * self._n_actions <= MAX_DENSE_VALUES:
            n_rows = int(n_observations)
        else:
            keys, n_bytes = headers["keys"], self._n_key_bytes()
            if keys.dtype != np.uint8 or len(keys.shape) != 2 or (keys.shape[0] and keys.shape[1] != n_bytes):
                raise ValueError(f"keys must be rows of {n_bytes} bytes; got {keys.dtype} of shape {keys.shape}")
            n_rows = keys.shape[0]
            if n_rows > n_observations:
                raise ValueError(f"keys must be {n_observations} at most, one for each observation; got {n_rows}")
        values = headers["values"]
        if values.shape != (n_rows, self._n_actions) or values.dtype != np.float64:
            raise ValueError(
                f"values must be float64 of shape {(n_rows, self._n_actions)}; "
                f"got {values.dtype} of {values.shape}"
            )

    @abstractmethod
    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restores what :meth:`state_dict` returned; a KeyError or ValueError if it does not fit this table."""

    def _flattened(self, observations: NDArray[Any]) -> tuple[NDArray[Any], tuple[int, ...]]:
        """A batch with one leading dimension, and the leading dimensions that it had."""
        shape = self._space.shape
        if shape is None:
            raise ValueError(f"observations of {self._space} do not come in batches")
        leading = observations.shape[: observations.ndim - len(shape)]
        if observations.shape[len(leading) :] != shape:
            raise ValueError(f"observation must have shape (..., *{shape}); got {observations.shape}")
        return observations.reshape(math.prod(leading), *shape), leading

    def _n_key_bytes(self) -> int:
        """The length of the key of an observation in a hash table."""
        if self._index is not None:
            return self._index.n_bytes
        space = spaces.flatten_space(self._space) if self._space.shape is None else self._space
        return math.prod(space.shape or ()) * np.dtype(space.dtype).itemsize

    def _loaded_values(self, arrays: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
        headers = {name: ArrayHeader(array.shape, array.dtype) for name, array in arrays.items()}
        self.check_headers(headers)
        if not np.isfinite(arrays["values"]).all():
            raise ValueError("values must be finite")
        return np.ascontiguousarray(arrays["values"])


class DenseTable(Table):
    """A table with a row for every observation of a discrete space; see :func:`make_table`."""

    _index: _ObservationIndex

    def __init__(self, space: Space[Any], n_actions: int, index: _ObservationIndex) -> None:
        super().__init__(space, n_actions, index)
        self.values = np.zeros((index.n_observations, n_actions))

    @property
    def n_rows(self) -> int:
        """The number of observations of the space."""
        return len(self.values)

    def find(self, observation: Any) -> int:
        """See :meth:`Table.find`; every observation has a row."""
        return self._index.of(observation)

    def row(self, observation: Any) -> int:
        """See :meth:`Table.row`."""
        return self._index.of(observation)

    def rows(self, observations: NDArray[Any], add: bool = False) -> NDArray[np.int64]:  # noqa: ARG002
        """See :meth:`Table.rows`."""
        flat, leading = self._flattened(observations)
        return self._index.of_batch(flat).reshape(leading)

    def get_batch(self, observations: NDArray[Any]) -> NDArray[np.float64]:
        """See :meth:`Table.get_batch`."""
        return self.values.take(self.rows(observations), axis=0, mode="clip")

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """See :meth:`Table.state_dict`."""
        return {"values": self.values}

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        """See :meth:`Table.load_state_dict`."""
        self.values = self._loaded_values(arrays)


class HashTable(Table):
    """A table that finds rows by hashing and adds them as observations occur; see :func:`make_table`."""

    def __init__(self, space: Space[Any], n_actions: int, index: _ObservationIndex | None) -> None:
        super().__init__(space, n_actions, index)
        self._rows: dict[bytes, int] = {}
        self.values = self._new_rows()

    @property
    def n_rows(self) -> int:
        """The number of observations that have a row."""
        return len(self._rows)

    def find(self, observation: Any) -> int:
        """See :meth:`Table.find`."""
        return self._rows.get(self._key(observation), -1)

    def row(self, observation: Any) -> int:
        """See :meth:`Table.row`."""
        return self._add(self._key(observation))

    def rows(self, observations: NDArray[Any], add: bool = False) -> NDArray[np.int64]:
        """See :meth:`Table.rows`."""
        flat, leading = self._flattened(observations)
        keys = self._batch_keys(flat)
        rows = [self._add(key) for key in keys] if add else [self._rows.get(key, -1) for key in keys]
        return np.array(rows, dtype=np.int64).reshape(leading)

    def _add(self, key: bytes) -> int:
        row = self._rows.get(key)
        if row is None:
            row = len(self._rows)
            if row == len(self.values):
                self.values = np.concatenate([self.values, np.zeros_like(self.values)])
            self._rows[key] = row
        return row

    def _batch_keys(self, observations: NDArray[Any]) -> list[bytes]:
        if self._index is None or not self._index.fits_int64:
            return [self._key(observation) for observation in observations]
        return [self._index.to_bytes(index) for index in self._index.of_batch(observations).tolist()]

    def _key(self, observation: Any) -> bytes:
        if self._index is not None:
            return self._index.to_bytes(self._index.of(observation))
        if self._space.shape is None:
            if not self._space.contains(observation):
                raise _not_in_space(observation, self._space)
            array = np.asarray(spaces.flatten(self._space, observation))
        else:
            array = np.asarray(observation)
            dtype = np.dtype(self._space.dtype)
            if array.shape != self._space.shape or not np.can_cast(array.dtype, dtype, "same_kind"):
                raise _not_in_space(observation, self._space)
            array = array.astype(dtype, copy=False)
        if array.dtype.kind == "f":
            array = array + 0.0  # turns -0.0 into 0.0
        return array.tobytes()

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """See :meth:`Table.state_dict`."""
        keys = np.frombuffer(b"".join(self._rows), dtype=np.uint8).reshape(self.n_rows, -1 if self.n_rows else 0)
        return {"values": self.values[: self.n_rows], "keys": keys}

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        """See :meth:`Table.load_state_dict`."""
        values = self._loaded_values(arrays)
        rows: dict[bytes, int] = {}
        for row, key in enumerate(arrays["keys"]):
            if rows.setdefault(key.tobytes(), row) != row:
                raise ValueError(f"keys must be different from each other; that of row {row} is repeated")
        self._rows, self.values = rows, np.concatenate([values, self._new_rows()])

    def _new_rows(self) -> NDArray[np.float64]:
        return np.zeros((INITIAL_VALUES // self._n_actions + 1, self._n_actions))


class _ObservationIndex:
    """The row-major index of each observation of a discrete space."""

    def __init__(self, space: Space[Any]) -> None:
        sizes = _sizes(space)
        assert sizes is not None
        self._space, self._shape, self._dtype = space, space.shape, space.dtype
        self._sizes: list[int] = sizes.ravel().tolist()
        self._start: list[int] = np.broadcast_to(getattr(space, "start", 0), sizes.shape).ravel().tolist()
        self._has_start = any(self._start)
        self._start_array = np.array(self._start, dtype=np.int64)
        self._batch_sizes = np.array(self._sizes, dtype=np.uint64)  # repeated for the largest batch so far
        self._cache: dict[bytes, int] = {}  # a look-up is faster than the arithmetic
        self._is_cached = math.prod(space.shape or ()) <= 64  # long observations would take too much memory
        self.n_observations = _product(self._sizes)
        self.fits_int64 = self.n_observations < 2**63
        strides = [0]
        if self.fits_int64:
            strides = list(accumulate(reversed(self._sizes[1:]), operator.mul, initial=1))[::-1]
        self._strides = np.array(strides, dtype=np.int64)
        self.n_bytes = (self.n_observations.bit_length() + 7) // 8  # of the key of an index

    def to_bytes(self, index: int) -> bytes:
        """The key of an index in a hash table."""
        return index.to_bytes(self.n_bytes, "big")

    def of(self, observation: Any) -> int:
        """The index of one observation; a ValueError if it is not in the space."""
        if not self._is_cached or not isinstance(observation, np.ndarray):
            return self._compute(observation)
        if observation.dtype is not self._dtype and observation.dtype != self._dtype:
            return self._compute(observation)
        if observation.shape != self._shape:
            raise _not_in_space(observation, self._space)
        key = observation.tobytes()
        index = self._cache.get(key)
        if index is None:
            if len(self._cache) >= CACHE_SIZE:
                self._cache.clear()
            index = self._cache[key] = self._compute(observation)
        return index

    def _compute(self, observation: Any) -> int:
        array = np.asarray(observation)
        if array.shape != self._shape or array.dtype.kind not in "iub":
            raise _not_in_space(observation, self._space)
        digits: list[int] = array.ravel().tolist()
        if self._has_start:
            digits = [digit - start for digit, start in zip(digits, self._start, strict=True)]
        if len(digits) > MAX_SHORT:
            if any(not 0 <= digit < size for digit, size in zip(digits, self._sizes, strict=True)):
                raise _not_in_space(observation, self._space)
            return _mixed_radix(digits, self._sizes)
        index = 0
        for digit, size in zip(digits, self._sizes):  # noqa: B905  their lengths are equal
            if not 0 <= digit < size:
                raise _not_in_space(observation, self._space)
            index = index * size + digit
        return index

    def of_batch(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """The indices of ``(n, *shape)`` observations, if they fit int64; a ValueError as for :meth:`of`."""
        if observations.dtype.kind not in "iub":
            raise _not_in_space(observations[:1], self._space)
        n_digits = len(self._sizes)
        digits = np.ascontiguousarray(observations.reshape(len(observations), n_digits), dtype=np.int64)
        if self._has_start:
            digits = digits - self._start_array
        indices: NDArray[np.int64] = digits @ self._strides
        if digits.size > len(self._batch_sizes):
            self._batch_sizes = np.tile(self._sizes, 2 * len(digits)).astype(np.uint64)
        # as unsigned numbers, negative digits are too large as well
        is_outside = digits.reshape(-1).view(np.uint64) >= self._batch_sizes[: digits.size]
        if is_outside.any():
            raise _not_in_space(observations[is_outside.argmax() // n_digits], self._space)
        return indices


def _sizes(space: Space[Any]) -> NDArray[np.int64] | None:
    """The number of values of each component of a discrete space, None for any other space."""
    if isinstance(space, spaces.Discrete):
        return np.array([space.n])
    if isinstance(space, spaces.MultiDiscrete):
        return np.asarray(space.nvec)
    if isinstance(space, spaces.MultiBinary):
        return np.full(space.shape, 2)
    return None


def _mixed_radix(digits: list[int], sizes: list[int]) -> int:
    """The index of many digits; pairs of like size combine faster than one after another."""
    while len(digits) > 1:
        if len(digits) % 2:
            digits, sizes = [0, *digits], [1, *sizes]
        digits = [
            high * size + low for high, low, size in zip(digits[::2], digits[1::2], sizes[1::2], strict=True)
        ]
        sizes = [math.prod(sizes[i : i + 2]) for i in range(0, len(sizes), 2)]
    return digits[0]


def _product(factors: list[int]) -> int:
    """The product of many factors; pairs of like size multiply faster than one after another."""
    while len(factors) > 1:
        factors = [math.prod(factors[i : i + 2]) for i in range(0, len(factors), 2)]
    return factors[0] if factors else 1


def _not_in_space(observation: Any, space: Space[Any]) -> ValueError:
    return ValueError(f"observation {observation!r} is not in {space}")


class TabularAgent(Agent):
    """An agent that learns in a table with a row for each observation and a column for each action.

    A subclass defines :meth:`Agent.act` and :meth:`Agent.update`; the table is saved and loaded.

    Args:
        observation_space: The space of the observations, see :class:`Agent`.
        action_space: A ``Discrete`` space.
        seed: Seeds the agent's own generator.
        table: ``"dense"``, ``"hash"`` or ``"auto"``, see :func:`agents.tables.make_table`.

    Attributes:
        table: The :class:`agents.tables.Table`.

    Raises:
        TypeError: A space is of a kind that a table cannot hold, or ``seed`` is not an integer.
        ValueError: ``table`` does not suit the space, or ``seed`` is below 0.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        *,
        seed: int | None = None,
        table: TableKind = "auto",
    ) -> None:
        super().__init__(observation_space, action_space, seed=seed)
        self.table = make_table(self.observation_space, self.n_actions, table)

    def q_values(self, observation: Any) -> NDArray[np.float64]:
        """The values of all actions, 0 for pairs never updated.

        Args:
            observation: One observation, or a batch with any number of leading dimensions.

        Returns:
            A copy, float64 of shape ``(..., n_actions)``.

        Raises:
            ValueError: An observation is not in the observation space.
        """
        if self.is_batch(observation):
            return self.table.get_batch(np.asarray(observation))
        return np.array(self.table.get(observation))

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """The arrays of the table, see :meth:`agents.tables.Table.state_dict`."""
        return self.table.state_dict()

    def check_headers(self, headers: dict[str, ArrayHeader]) -> None:
        """Checks the arrays of the table, see :meth:`Agent.check_headers`.

        Args:
            headers: The shape and dtype of each array of the file, by name.

        Raises:
            KeyError: An array is missing.
            ValueError: An array does not fit the spaces, or is not one of the table; a class that has others
                overrides :meth:`state_dict`.
        """
        self.table.check_headers(headers)
        unknown = set(headers) - {"values", "keys"}
        if unknown and type(self).state_dict is TabularAgent.state_dict:
            raise ValueError(f"the file holds unknown arrays: {', '.join(sorted(unknown))}")

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restores what :meth:`state_dict` returned.

        Args:
            arrays: The arrays of the table by name.

        Raises:
            KeyError: An array is missing.
            ValueError: An array does not fit the spaces.
        """
        kind: TableKind = "hash" if "keys" in arrays else "dense"
        table = make_table(self.observation_space, self.n_actions, kind)
        table.load_state_dict(arrays)
        self.table = table
