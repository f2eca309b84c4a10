"""Tables of action values, dense for small discrete spaces and else hash tables, and agents that learn in them."""

import math
from itertools import repeat
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from agents.agent import Agent

MAX_DENSE_VALUES = 2**25  # 256 MB
INITIAL_VALUES = 2**12  # of a hash table, which doubles when full


class Table:
    """Action values, one row for each observation, 0 for every pair never updated.

    A dense table has a row for every observation of a discrete space, if that makes at most 2²⁵ values (256 MB). A
    hash table for other spaces adds rows as observations occur.

    Args:
        space: The observation space, whose observations are arrays of one shape.
        n_actions: The number of actions, the length of a row.

    Attributes:
        values: The values, float64 of shape ``(at least n_rows, n_actions)``, to be changed in place. A hash table
            replaces the array when it grows; its last row stays 0.
    """

    def __init__(self, space: Space[Any], n_actions: int) -> None:
        self._space = space
        self._start = np.ravel(getattr(space, "start", 0))
        sizes: Any = getattr(space, "nvec", getattr(space, "n", None))  # of MultiBinary n is the shape
        sizes = 2 if isinstance(space, spaces.MultiBinary) else sizes
        is_discrete = isinstance(space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary)
        self._sizes = np.broadcast_to(sizes, space.shape or (1,)).ravel() if is_discrete else None
        shape = None if self._sizes is None or self._start.any() else tuple(self._sizes.tolist())
        # NumPy computes indices of up to 32 dimensions
        is_dense = shape is not None and len(shape) <= 32 and math.prod(shape) * n_actions <= MAX_DENSE_VALUES
        self._dense_shape = shape if is_dense else None  # None: a hash table
        self._shape: tuple[int, ...] = space.shape or ()
        self._dtype = np.dtype(space.dtype)
        self._is_float = self._dtype.kind == "f"
        # by the bytes of the observation, of a dense table those looked up one by one
        self._rows: dict[bytes, int] = {}
        n_rows = INITIAL_VALUES // n_actions + 2 if self._dense_shape is None else math.prod(self._dense_shape)
        self.values = np.zeros((n_rows, n_actions))

    @property
    def n_rows(self) -> int:
        """The number of rows in use, all of a dense table and those of known observations of a hash table."""
        return len(self._rows) if self._dense_shape is None else len(self.values)

    def row(self, observation: Any, add: bool = True) -> int:
        """The row of one observation; without ``add``, that of an unknown one is -1, a row of zeros.

        A ValueError if the observation is not in the space; of a space that is not discrete the shape is checked.
        """
        array = observation
        if type(array) is not np.ndarray or array.dtype is not self._dtype or array.shape != self._shape:
            array = np.asarray(observation).astype(self._dtype, casting="same_kind")
            if array.shape != self._shape:
                raise self._not_in_space(observation)
        key = (array + 0.0 if self._is_float else array).tobytes()  # turns -0.0 into 0.0
        row = self._rows.get(key)
        if row is None:
            row = int(self.rows(array[None], add)[0])
            if self._dense_shape is not None:
                self._rows[key] = row
        return row

    def rows(self, observations: Any, add: bool = False) -> NDArray[np.intp]:
        """:meth:`row` of observations of shape ``(..., *space.shape)``: np.intp of shape ``(...)``."""
        observations = np.asarray(observations)
        n_leading = observations.ndim - len(self._shape)
        leading = observations.shape[:n_leading]
        if observations.shape[n_leading:] != self._shape:
            raise ValueError(f"observations must be a batch of {self._space}; got the shape {observations.shape}")
        batch = observations.reshape(-1, math.prod(self._shape))
        if self._dense_shape is None:
            return self._hashed(batch, add).reshape(leading)
        try:
            return np.asarray(np.ravel_multi_index(tuple(batch.T), self._dense_shape)).reshape(leading)
        except (TypeError, ValueError):
            raise self._not_in_space(observations) from None

    def _hashed(self, batch: NDArray[Any], add: bool) -> NDArray[np.intp]:
        """The rows of observations of a hash table, which are the rows of ``batch``."""
        batch = batch.astype(self._dtype, order="C", casting="same_kind", copy=False)
        if self._is_float:
            batch = batch + 0.0
        keys = batch.view(f"V{batch.shape[1] * batch.itemsize}").ravel().tolist()
        rows = np.fromiter(map(self._rows.get, keys, repeat(-1)), np.intp, len(keys))
        missing = (rows < 0).nonzero()[0]
        if missing.size and self._sizes is not None:
            unknown = batch.take(missing, axis=0)
            if not ((self._start <= unknown) & (unknown <= self._start + (self._sizes - 1))).all():
                raise self._not_in_space(unknown)
        if add:
            for index in missing.tolist():
                rows[index] = self._rows.setdefault(keys[index], len(self._rows))
            while len(self._rows) >= len(self.values):  # the last row is that of all missing observations
                self.values = np.concatenate([self.values, np.zeros_like(self.values)])
        return rows

    def _not_in_space(self, observation: Any) -> ValueError:
        return ValueError(f"observation {observation!r} is not in {self._space}")

    def get(self, observation: Any) -> list[float]:
        """The ``n_actions`` values of one observation; a ValueError if it is not in the space."""
        return self.values[self.row(observation, False)].tolist()

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """``values``, float64 ``(n_rows, n_actions)``; a hash table adds ``keys``, uint8 ``(n_rows, n_bytes)``."""
        values = self.values[: self.n_rows].copy()
        if self._dense_shape is not None:
            return {"values": values}
        keys = np.frombuffer(b"".join(self._rows), np.uint8)
        return {"values": values, "keys": keys.reshape(self.n_rows, -1 if self.n_rows else 0)}

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restores what :meth:`state_dict` returned, in an empty table; a ValueError if it does not fit."""
        values = arrays["values"]
        if self._dense_shape is None:
            self._rows = {key.tobytes(): row for row, key in enumerate(arrays["keys"])}
        shape = self.n_rows, self.values.shape[1]
        if values.shape != shape or values.dtype != np.float64 or not np.isfinite(values).all():
            raise ValueError(f"values must be finite numbers, float64 of shape {shape}")
        self.values = np.concatenate([values, self.values]) if self._dense_shape is None else values.copy()


class TabularAgent(Agent):
    """An :class:`Agent`, with its arguments, that learns in ``table``, a :class:`agents.tables.Table`."""

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], *, seed: int | None = None
    ) -> None:
        super().__init__(observation_space, action_space, seed=seed)
        self.table = Table(self.observation_space, self.n_actions)

    def q_values(self, observation: Any) -> NDArray[np.float64]:
        return self.table.values.take(self.table.rows(observation), axis=0)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        return self.table.state_dict()

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        table = Table(self.observation_space, self.n_actions)
        table.load_state_dict(arrays)
        self.table = table
