"""The base class of agents that learn in a table."""

from typing import Any

import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from agents.agent import Agent
from agents.tables import Table, TableKind


class TabularAgent(Agent):
    """An agent that learns in a table with a row for each observation and a column for each action.

    Args:
        observation_space: The space of the observations, see :class:`Agent`.
        action_space: A ``Discrete`` space.
        seed: Seeds the agent's own generator.
        table: ``"dense"``, ``"hash"`` or ``"auto"``, see :class:`agents.tables.Table`, as for the errors.

    Attributes:
        table: The table.
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
        self.table = Table(self.observation_space, self.n_actions, table)

    def q_values(self, observation: Any) -> NDArray[np.float64]:
        if self.is_batch(observation):
            return self.table.values.take(self.table.rows(np.asarray(observation)), axis=0)
        return np.array(self.table.get(observation))

    def state_dict(self) -> dict[str, NDArray[Any]]:
        return self.table.state_dict()

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        table = Table(self.observation_space, self.n_actions, "hash" if "keys" in arrays else "dense")
        table.load_state_dict(arrays)
        self.table = table
