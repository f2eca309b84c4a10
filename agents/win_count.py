"""Win counting: an agent that draws its actions in proportion to how often they won."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from agents._actions import (
    action_index,
    as_reward,
    checked_transitions,
    legal_batch,
    legal_indices,
    nonzero_bytes,
)
from agents._hyperparameters import as_integer
from agents.tables import TableKind
from agents.tabular_agent import TabularAgent


class WinCountAgent(TabularAgent):
    """Counts, for every observation, how often each action was part of a won episode.

    All counts start at 1, and an action is drawn with a probability in proportion to its count among the legal
    ones. After a win (a positive reward at the end) the count of each action taken grows by 1. After a loss the
    count of each legal alternative to an action taken grows by 1. A draw changes nothing. The source is a
    published learner of simple Nim, system 5 of docs/experiments/five_systems.md.

    Args:
        observation_space: The space of the observations, see :class:`Agent`.
        action_space: A ``Discrete`` space.
        cutoff: Once the legal counts at an observation sum to more than this, their minimum less 1 is subtracted
            from all of them ("normalization", which speeds learning up); None: never.
        seed: Seeds the agent's own generator.
        table: ``"dense"``, ``"hash"`` or ``"auto"``, see :func:`agents.tables.make_table`.

    Raises:
        TypeError: A space is of a kind that a table cannot hold, or ``cutoff`` is not an integer.
        ValueError: ``cutoff`` is below 1, or ``table`` does not suit the space.
    """

    batched: ClassVar[bool] = True
    episodic: ClassVar[bool] = True
    supports_self_play: ClassVar[bool] = False

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        *,
        cutoff: int | None = 1000,
        seed: int | None = None,
        table: TableKind = "auto",
    ) -> None:
        super().__init__(observation_space, action_space, seed=seed, table=table)
        self.cutoff = None if cutoff is None else as_integer("cutoff", cutoff, 1)
        self._legal: dict[int, Sequence[int]] = {}  # by row, the indices of the actions that were legal in act
        self._episode: list[tuple[int, int]] = []  # row and action index of each transition so far

    def counts(self, observation: Any) -> NDArray[np.float64]:
        """The counts, 1 more than :meth:`Agent.q_values`.

        Args:
            observation: One observation, or a batch with any number of leading dimensions.

        Returns:
            float64 of shape ``(..., n_actions)``.

        Raises:
            ValueError: An observation is not in the space.
        """
        return self.q_values(observation) + 1

    def act(self, observation: Any, action_mask: Any = None, explore: bool = False) -> int | NDArray[np.int64]:  # noqa: ARG002
        """A legal action, drawn in proportion to the counts, with or without exploration."""
        if self.is_batch(observation):
            rows = self.table.rows(np.asarray(observation), add=True)
            legal_actions = legal_batch(action_mask, rows.shape, self.n_actions)
            return self.act_encoded(rows.reshape(-1), legal_actions, np.arange(rows.size)).reshape(rows.shape)
        legal = legal_indices(action_mask, self.n_actions)
        row = self.table.row(observation)
        self._legal[row] = legal
        counts = self.table.values[row].tolist()
        remaining = self.generator.random() * (sum([counts[index] for index in legal]) + len(legal))
        for index in legal:
            remaining -= counts[index] + 1
            if remaining < 0:
                return index + self.first_action
        return legal[-1] + self.first_action  # after a rounding error

    def encode(
        self, observations: NDArray[Any], action_masks: NDArray[Any] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The rows of the table, and the legal actions."""
        rows = self.table.rows(observations, add=True)
        return rows, np.ones((len(rows), self.n_actions), np.bool_) if action_masks is None else action_masks != 0

    def act_encoded(
        self, rows: NDArray[np.int64], legal: NDArray[np.bool_], ids: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        actions = np.full(len(rows), self.first_action)
        rows, legal = rows.take(ids), legal.take(ids, axis=0)
        masks = legal.tobytes()
        for row, start in zip(rows.tolist(), range(0, len(masks), self.n_actions), strict=True):
            self._legal[row] = nonzero_bytes(masks[start : start + self.n_actions])
        cumulative = ((self.table.values.take(rows, axis=0) + 1) * legal).cumsum(axis=1)
        drawn = self.generator.random(len(rows)) * cumulative[:, -1]
        actions[ids] += (cumulative <= drawn[:, None]).sum(axis=1)
        return actions

    def action_probabilities(self, observation: Any, action_mask: Any = None) -> NDArray[np.float64]:
        """The counts of the legal actions divided by their sum."""
        counts = self.counts(observation)
        legal = legal_batch(action_mask, counts.shape[:-1], self.n_actions)
        counts *= legal.reshape(counts.shape)
        probabilities: NDArray[np.float64] = counts / counts.sum(axis=-1, keepdims=True)
        return probabilities

    def update(
        self,
        observation: Any,
        action: Any,
        reward: Any,
        next_observation: Any,
        terminated: Any,
        next_action_mask: Any = None,
    ) -> None:
        """Stores one action of the running episode; at its end, counts them all.

        In a batch the transitions are in order, those of one episode before another's. The legal alternatives to
        an action are those of the last mask that :meth:`act` got at the observation; without a mask, all actions.
        """
        if self.is_batch(observation):
            batch = observation, action, reward, next_observation, terminated, next_action_mask
            observations, actions, rewards, _, is_terminated, legal = checked_transitions(self, *batch)
            self.update_encoded(
                self.table.rows(observations, add=True), actions, rewards, None, is_terminated, legal
            )
        else:
            index, reward = action_index(self, action), as_reward(reward)
            self._add(self.table.row(observation), index, reward, terminated)

    def update_encoded(
        self,
        rows: NDArray[np.int64],
        actions: NDArray[np.int64],
        rewards: NDArray[np.float64],
        next_rows: Any,  # noqa: ARG002
        terminated: NDArray[np.bool_],
        next_legal: NDArray[np.bool_],  # noqa: ARG002
        ids: NDArray[np.intp] | None = None,  # noqa: ARG002
    ) -> None:
        columns = rows, actions - self.first_action, rewards, terminated
        for step in zip(*(column.tolist() for column in columns), strict=True):
            self._add(*step)

    def _add(self, row: int, index: int, reward: float, terminated: bool) -> None:
        self._episode.append((row, index))
        if terminated:
            if reward:
                for step in self._episode:
                    self._count(*step, won=reward > 0)
            self._episode.clear()

    def start_training(self) -> None:
        """Discards the actions of an episode that an interrupted run has left unfinished."""
        self._episode.clear()

    def end_episode(self) -> None:
        """Discards the actions of a truncated episode, which is neither won nor lost."""
        self._episode.clear()

    def _count(self, row: int, index: int, won: bool) -> None:
        legal = self._legal.get(row, range(self.n_actions))
        counts: list[float] = self.table.values[row].tolist()  # less 1 each
        if won:
            counts[index] += 1
        else:
            for alternative in legal:
                counts[alternative] += 1
            counts[index] -= 1
        if self.cutoff is not None and sum(counts) + len(legal) > self.cutoff:  # illegal ones included: no less
            legal_counts = [counts[each] for each in legal]
            if sum(legal_counts) + len(legal) > self.cutoff:
                least = min(legal_counts)
                for each in legal:
                    counts[each] -= least
        self.table.values[row] = counts
