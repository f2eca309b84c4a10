"""Tables of action values, and the base class of the agents that learn in them.

A table is dense if the observation space is discrete and small, and a hash table otherwise.
"""

import math
from itertools import repeat
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from agents.agent import Agent

MAX_DENSE_VALUES = 2**25  # 256 MB
MAX_DENSE_COMPONENTS = 32  # the dimensions that np.ravel_multi_index takes
INITIAL_VALUES = 2**12  # the initial size of a hash table, which doubles when it is full


def component_sizes(space: Space[Any]) -> NDArray[np.integer] | None:
    """Returns how many values each component of an observation can have.

    Returns ``None`` for a space other than ``Discrete``, ``MultiDiscrete`` and ``MultiBinary``.
    """
    if isinstance(space, spaces.Discrete):
        return np.array([space.n])
    if isinstance(space, spaces.MultiDiscrete):
        return space.nvec.ravel()
    if isinstance(space, spaces.MultiBinary):
        return np.full(math.prod(space.shape), 2)
    return None


class Table:
    """A table of action values, with a row for each observation and a column for each action.

    An agent looks up the row of an observation with :meth:`row`, or many rows with :meth:`rows`, and then reads
    and changes ``values``. A value that has never been changed is 0.

        >>> from gymnasium import spaces
        >>> from agents.tables import Table
        >>> table = Table(spaces.MultiDiscrete([2, 3]), n_actions=2)
        >>> table.values[table.row([1, 2]), 0] = 0.5
        >>> table.get([1, 2])
        [0.5, 0.0]

    There are two kinds of tables. A dense table has a row for every observation in the space. It is used if the
    space is ``Discrete``, ``MultiDiscrete`` or ``MultiBinary``, starts at 0 and has up to 32 components. It must
    also have at most 2²⁵ values (256 MB). In all other cases the table is a hash table, which starts empty and
    adds rows as they are needed.

    Args:
        space: The observation space. All its observations must be arrays of the same shape.
        n_actions: The number of actions, which is the number of columns.

    Attributes:
        values: The values, float64. Change them in place. In a dense table their shape is ``(n_rows, n_actions)``.
            In a hash table the array is larger, because it has unused rows at the end for observations to come.
            When no row is left, a larger array replaces it. The last row is never used and stays 0, so an index of
            -1 gives the values of an unknown observation.
    """

    def __init__(self, space: Space[Any], n_actions: int) -> None:
        self._space = space
        self._start = np.ravel(getattr(space, "start", 0))
        self._sizes = component_sizes(space)
        self._dense_shape: tuple[int, ...] | None = None  # None for a hash table
        if self._sizes is not None and not self._start.any() and len(self._sizes) <= MAX_DENSE_COMPONENTS:
            shape = tuple(self._sizes.tolist())
            if math.prod(shape) * n_actions <= MAX_DENSE_VALUES:
                self._dense_shape = shape
        self._shape: tuple[int, ...] = space.shape or ()
        self._dtype = np.dtype(space.dtype)
        self._is_float = self._dtype.kind == "f"
        # the row of each observation, by its bytes; for a dense table only a cache, filled by method row
        self._rows: dict[bytes, int] = {}
        n_rows = INITIAL_VALUES // n_actions + 2 if self._dense_shape is None else math.prod(self._dense_shape)
        self.values = np.zeros((n_rows, n_actions))

    @property
    def n_rows(self) -> int:
        """The number of rows in use. In a hash table, this is the number of known observations."""
        return len(self._rows) if self._dense_shape is None else len(self.values)

    def row(self, observation: Any, *, add: bool = True) -> int:
        """Returns the row of one observation, as an index into ``values``.

        If the observation is new to a hash table, the table gets a row for it. With ``add=False`` no row is added,
        and the result is -1, the index of a row of zeros.

        Raises TypeError or ValueError if the observation is not in the space. If the space is not discrete, only
        the kind of the observation's numbers and its shape are checked.
        """
        array = np.asarray(observation)
        if array.dtype is not self._dtype or array.shape != self._shape:
            array = array.astype(self._dtype, casting="same_kind")
            if array.shape != self._shape:
                raise self._not_in_space(observation)
        key = (array + 0.0 if self._is_float else array).tobytes()  # + 0.0 turns -0.0 into 0.0
        row = self._rows.get(key)
        if row is None:
            row = int(self.rows(array[None], add=add)[0])
            if self._dense_shape is not None:
                self._rows[key] = row
        return row

    def rows(self, observations: Any, *, add: bool = True) -> NDArray[np.intp]:
        """Returns the index of the row of each observation, np.intp of shape ``(...)``.

        ``observations`` has shape ``(..., *space.shape)``. ``add`` means the same as in :meth:`row`.
        """
        observations = np.asarray(observations)
        n_leading = observations.ndim - len(self._shape)
        leading = observations.shape[:n_leading]
        if observations.shape[n_leading:] != self._shape:
            raise ValueError(f"observations must be arrays of shape {self._shape}; got shape {observations.shape}")
        batch = observations.reshape(-1, math.prod(self._shape))
        if self._dense_shape is None:
            return self._hashed(batch, add).reshape(leading)
        try:
            return np.asarray(np.ravel_multi_index(tuple(batch.T), self._dense_shape)).reshape(leading)
        except (TypeError, ValueError):
            raise self._not_in_space(observations) from None

    def _hashed(self, batch: NDArray[Any], add: bool) -> NDArray[np.intp]:
        """Returns the row of each observation in a hash table. ``batch`` has the shape ``(n, n_components)``.

        With ``add``, the table gets a row for each new observation. Otherwise the result for it is -1.
        """
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
            while len(self._rows) >= len(self.values):  # the last row is for unknown observations
                self.values = np.concatenate([self.values, np.zeros_like(self.values)])
        return rows

    def _not_in_space(self, observation: Any) -> ValueError:
        return ValueError(f"observation {observation!r} is not in {self._space}")

    def get(self, observation: Any) -> list[float]:
        """Returns the ``n_actions`` values of an observation as a list, all 0.0 if the observation is new.

        Raises TypeError or ValueError if the observation is not in the space.
        """
        return self.values[self.row(observation, add=False)].tolist()

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Returns copies of the table's arrays, for saving.

        Returns:
            ``values``, float64 of shape ``(n_rows, n_actions)``. For a hash table there is also ``keys``, the
            bytes of the observation of each row, uint8 of shape ``(n_rows, n_bytes)``.
        """
        values = self.values[: self.n_rows].copy()
        if self._dense_shape is not None:
            return {"values": values}
        keys = np.frombuffer(b"".join(self._rows), np.uint8)
        return {"values": values, "keys": keys.reshape(self.n_rows, -1 if self.n_rows else 0)}

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restores what :meth:`state_dict` returned, in a new table.

        Args:
            arrays: The arrays by name.

        Raises:
            ValueError: If the values do not fit the table or are not finite.
        """
        values = arrays["values"]
        if self._dense_shape is None:
            self._rows = {key.tobytes(): row for row, key in enumerate(arrays["keys"])}
        shape = self.n_rows, self.values.shape[1]
        if values.shape != shape or values.dtype != np.float64 or not np.isfinite(values).all():
            raise ValueError(f"values must be finite float64 numbers of shape {shape}; got {values.shape}")
        self.values = np.concatenate([values, self.values]) if self._dense_shape is None else values.copy()


class TabularAgent(Agent):
    """The base class of agents that learn in a table, usually Q-values.

    Its attribute ``table`` is a :class:`agents.tables.Table` with a row for each observation and a column for each
    action. The class defines :meth:`q_values`, :meth:`agents.Agent.state_dict` and
    :meth:`agents.Agent.load_state_dict`, which use the table. A subclass defines :meth:`agents.Agent.act` and
    :meth:`agents.Agent.update`. The arguments are the same as for :class:`agents.Agent`.
    """

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], *, seed: int | None = None
    ) -> None:
        super().__init__(observation_space, action_space, seed=seed)
        self.table = Table(self.observation_space, self.n_actions)

    def q_values(self, observation: Any) -> NDArray[np.float64]:
        return self.table.values.take(self.table.rows(observation, add=False), axis=0)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        return self.table.state_dict()

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        table = Table(self.observation_space, self.n_actions)
        table.load_state_dict(arrays)
        self.table = table
