"""Tables of action values: a dense array for small discrete spaces, a hash table for others."""

import math
from typing import Any, Literal, TypeAlias

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

TableKind: TypeAlias = Literal["auto", "dense", "hash"]
MAX_DENSE_VALUES = {"auto": 2**25, "dense": 2**31, "hash": -1}
INITIAL_VALUES = 2**12  # of a hash table, which doubles when full
KNOWN_ROWS = 2**16  # observations whose row a dense table keeps: looking it up is faster than computing it


class Table:
    """Action values, one row for each observation, 0 for every pair never updated.

    Args:
        space: The observation space.
        n_actions: The number of actions, the length of a row.
        kind: ``"dense"``: a row for every observation, for a ``Discrete``, ``MultiDiscrete`` or ``MultiBinary``
            space of up to 32 components. ``"hash"``: rows are added as observations occur. ``"auto"``: dense if
            such a table has at most 2²⁵ values (256 MB), else hash.

    Attributes:
        values: The values, float64 of shape ``(at least n_rows, n_actions)``, to be changed in place. A hash table
            replaces the array when it grows; its last row stays 0.

    Raises:
        TypeError: The space does not hold arrays of a fixed shape, or tuples or dictionaries of them.
        ValueError: ``kind`` is none of the three, or ``"dense"`` for another space or more than 2³¹ values.
    """

    def __init__(self, space: Space[Any], n_actions: int, kind: TableKind = "auto") -> None:
        if not space.is_np_flattenable:
            raise TypeError(f"observation_space must hold arrays of a fixed shape; got {space}")
        if kind not in MAX_DENSE_VALUES:
            raise ValueError(f'table must be "auto", "dense" or "hash"; got {kind!r}')
        sizes = _sizes(space)
        is_dense = sizes is not None and math.prod(sizes) * n_actions <= MAX_DENSE_VALUES[kind]
        if kind == "dense" and not is_dense:
            needed = "a discrete observation space of up to 32 components and at most 2**31 values"
            raise ValueError(f'table="dense" needs {needed}, not {space}; use table="hash"')
        self._sizes = sizes if is_dense else None  # None: a hash table
        self._space: Any = space
        self._shape: Any = space.shape
        self._dtype: Any = None if space.shape is None else np.dtype(space.dtype)
        self._is_float = self._dtype is None or self._dtype.kind == "f"
        self._start = np.ravel(getattr(space, "start", 0))
        self._has_start = self._start.any()
        self._rows: dict[bytes, int] = {}  # by the bytes of the observation
        n_rows = INITIAL_VALUES // n_actions + 2 if self._sizes is None else math.prod(self._sizes)
        self.values = np.zeros((n_rows, n_actions))

    @property
    def n_rows(self) -> int:
        """The number of rows in use, all of a dense table and those of known observations of a hash table."""
        return len(self._rows) if self._sizes is None else len(self.values)

    def row(self, observation: Any, add: bool = True) -> int:
        """The row of one observation; without ``add``, that of an unknown one is -1, a row of zeros.

        A ValueError if the observation is not in the space; the bounds of a ``Box`` are not checked.
        """
        array = observation
        if type(array) is not np.ndarray or array.dtype is not self._dtype or array.shape != self._shape:
            array = self._converted(observation)
        key = (array + 0.0 if self._is_float else array).tobytes()  # turns -0.0 into 0.0
        row = self._rows.get(key)
        return self._missing_row(key, array, add) if row is None else row

    def _converted(self, observation: Any) -> NDArray[Any]:
        """An observation as an array of the dtype of the space; of tuples and dictionaries, flattened."""
        if self._shape is None:
            self._check(observation)
            return np.asarray(spaces.flatten(self._space, observation))
        array = np.asarray(observation)
        self._check(array, array.shape == self._shape and np.can_cast(array.dtype, self._dtype, "same_kind"))
        return array.astype(self._dtype)

    def _check(self, observation: Any, fits: bool = True) -> None:
        if not fits or not (isinstance(self._space, spaces.Box) or self._space.contains(observation)):
            raise ValueError(f"observation {observation!r} is not in {self._space}")

    def _missing_row(self, key: bytes, array: NDArray[Any], add: bool) -> int:
        if self._sizes is not None:
            if len(self._rows) == KNOWN_ROWS:
                self._rows.clear()
            row = int(self._indices(array[None])[0])
        else:
            if self._shape is not None:
                self._check(array)
            if not add:
                return -1
            row = len(self._rows)
            if row + 1 == len(self.values):  # the last row is -1, the zeros of all missing rows
                self.values = np.concatenate([self.values, np.zeros_like(self.values)])
        self._rows[key] = row
        return row

    def rows(
        self, observations: NDArray[Any], add: bool = False, is_last: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """:meth:`row` of observations of shape ``(..., *space.shape)``: int64 of shape ``(...)``.

        Where ``is_last``, bool ``(...)``, says that an episode has ended, no row is added.
        """
        leading = observations.shape[: observations.ndim - len(self._shape or ())]
        if self._shape is None or observations.shape != leading + self._shape:
            raise ValueError(f"observations must be a batch of {self._space}; got the shape {observations.shape}")
        batch = observations.reshape(math.prod(leading), *self._shape)
        if self._sizes is not None:
            return self._indices(batch).reshape(leading)
        if batch.dtype != self._dtype:
            return np.array([self.row(observation, add) for observation in batch], np.int64).reshape(leading)
        size = math.prod(self._shape)
        array = np.ascontiguousarray(batch + 0.0 if self._is_float else batch).reshape(len(batch), size)
        keys = array.view(f"V{size * array.itemsize}").ravel().tolist()
        rows = np.array([self._rows.get(key, -1) for key in keys], np.int64)
        is_missing = rows < 0
        if is_last is not None:
            is_missing &= ~is_last.reshape(-1)
        for index in is_missing.nonzero()[0]:
            rows[index] = self.row(batch[index], add)
        return rows.reshape(leading)

    def _indices(self, batch: NDArray[Any]) -> NDArray[np.int64]:
        """The row-major indices of observations of a dense table; a ValueError if one is not in the space."""
        assert self._sizes is not None
        digits = batch.reshape(len(batch), len(self._sizes))
        if self._has_start:
            digits = digits - self._start
        try:
            return np.asarray(np.ravel_multi_index(tuple(digits.T), self._sizes))
        except (TypeError, ValueError):
            raise ValueError(f"observation {batch!r} is not in {self._space}") from None

    def get(self, observation: Any) -> list[float]:
        """The ``n_actions`` values of one observation; a ValueError if it is not in the space."""
        return self.values[self.row(observation, False)].tolist()

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """``values``, float64 ``(n_rows, n_actions)``; a hash table adds ``keys``, uint8 ``(n_rows, n_bytes)``."""
        values = self.values[: self.n_rows].copy()
        if self._sizes is not None:
            return {"values": values}
        keys = np.frombuffer(b"".join(self._rows), np.uint8)
        return {"values": values, "keys": keys.reshape(self.n_rows, -1 if self.n_rows else 0)}

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restores what :meth:`state_dict` returned, in an empty table; a ValueError if it does not fit."""
        values = arrays["values"]
        n_rows = len(self.values)
        if self._sizes is None:
            keys = arrays["keys"]
            space = spaces.flatten_space(self._space) if self._shape is None else self._space
            n_bytes = math.prod(space.shape or ()) * np.dtype(space.dtype).itemsize
            self._rows = {key.tobytes(): row for row, key in enumerate(keys)}
            n_rows = len(self._rows)  # fewer than keys where two are equal
            if keys.dtype != np.uint8 or keys.shape not in ((n_rows, n_bytes), (0, 0)):
                raise ValueError(f"keys must be different rows of {n_bytes} bytes; got the shape {keys.shape}")
        shape = n_rows, self.values.shape[1]
        if values.shape != shape or values.dtype != np.float64 or not np.isfinite(values).all():
            raise ValueError(f"values must be finite numbers, float64 of shape {shape}")
        self.values = np.concatenate([values, self.values]) if self._sizes is None else values.copy()


def _sizes(space: Space[Any]) -> tuple[int, ...] | None:
    """The numbers of values of the components of a discrete space; None for a space that no dense table holds."""
    if isinstance(space, spaces.Discrete):
        return (int(space.n),)
    is_discrete = isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary)
    if not is_discrete or math.prod(space.shape or ()) > 32:  # NumPy computes indices of up to 32 dimensions
        return None
    return tuple(np.broadcast_to(getattr(space, "nvec", 2), space.shape or ()).ravel().tolist())
