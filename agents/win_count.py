"""Counting wins: the learner that draws its moves in proportion to how often they won."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from agents.agent import MOST, Agent
from agents.checks import as_integer
from agents.q_table import Rows


class WinCountAgent(Agent):
    """Counts, for every observation, how often each action was part of a won episode.

    All counts start at 1, and an action is drawn with a probability in proportion to its count among the legal
    ones. After a win (a positive reward at the end) each action taken counts 1 more. After a loss each legal
    alternative to an action taken counts 1 more. A draw changes nothing. The source is the fifth system in the
    project's README, a learner of simple Nim.

    Args:
        observation_space: What the agent sees, see :class:`Agent`.
        action_space: A ``Discrete`` space.
        cutoff: Once the legal counts at an observation sum to more than this, their minimum less 1 is subtracted
            from all of them ("normalization", which speeds learning up); ``None``: never.
        seed: Seeds the agent's own generator.
        rows: How the table finds its rows, see :class:`agents.q_table.QTable`.
        memory_limit: The most bytes the table may take; by default half of the machine's memory.

    Raises:
        TypeError: A space is of a kind that a table cannot hold, or ``cutoff`` is not a number.
        ValueError: ``cutoff`` is below 1, or the table would pass ``memory_limit``.
    """

    hyperparameters: ClassVar[tuple[str, ...]] = ("cutoff",)
    learns_whole_episodes: ClassVar[bool] = True
    self_play: ClassVar[Literal["own turns", "every ply"] | None] = None

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        *,
        cutoff: int | None = 1000,
        seed: int | None = None,
        rows: Rows = "auto",
        memory_limit: int | None = None,
    ) -> None:
        super().__init__(observation_space, action_space, seed=seed, rows=rows, memory_limit=memory_limit)
        self.cutoff = None if cutoff is None else as_integer("cutoff", cutoff, 1)
        self._legal_here: list[int] | None = None  # the columns that :meth:`act` has just chosen from
        self._legal_at: dict[int, bytes] = {}  # those of batches by row, as a mask of a byte for each
        self._taken: list[tuple[int, int, list[int]]] = []  # of the episode so far: row, column, legal columns

    def counts(self, observation: Any) -> NDArray[np.float64]:
        """The counts behind the draw, 1 more than :meth:`q_values`: float64, shape ``(..., n_actions)``."""
        return self.q_values(observation) + 1

    def act(self, observation: Any, action_mask: Any = None, explore: bool = False) -> Any:  # noqa: ARG002
        """A legal action, drawn in proportion to the counts, with or without exploration.

        Args:
            observation: One observation, or a batch with any number of leading dimensions.
            action_mask: Nonzero where an action is legal, shape ``(..., n_actions)``; ``None``: all are.
            explore: Without effect, the draw itself explores.

        Returns:
            An int, or for a batch an int64 array of shape ``(...)``.

        Raises:
            ValueError: An observation is not in the space, or a mask has the wrong shape or no legal action.
        """
        if self._is_batch(observation):
            return self._act_on_batch(np.asarray(observation), action_mask)
        counts = self._values_of(observation)
        legal = self._legal_here = self._some_legal(action_mask)
        left = self.generator.random() * (sum([counts[action] for action in legal]) + len(legal))
        for action in legal:
            left -= counts[action] + 1
            if left < 0:
                return action + self._first_action
        return legal[-1] + self._first_action  # where rounding has left a little over

    def _act_on_batch(self, observations: NDArray[Any], action_mask: Any) -> NDArray[np.int64]:
        leading = self._leading(observations)
        legal, _ = self._some_legal_in_batch(action_mask, leading)
        rows = self.table.rows(observations, add=True).ravel()
        masks = legal.tobytes()
        for row, start in zip(rows.tolist(), range(0, len(masks), self.n_actions), strict=True):
            self._legal_at[row] = masks[start : start + self.n_actions]
        cumulative = ((self.table.values[rows] + 1) * legal).cumsum(axis=1)
        drawn = self.generator.random(len(rows)) * cumulative[:, -1]
        actions: NDArray[np.int64] = (cumulative <= drawn[:, None]).sum(axis=1) + self._first_action
        return actions.reshape(leading)

    def action_probabilities(self, observation: Any, action_mask: Any = None) -> NDArray[np.float64]:
        """The shares of the counts among the legal actions, float64 of shape ``(..., n_actions)``.

        Raises:
            ValueError: As :meth:`act`.
        """
        counts = self.counts(observation)
        legal, _ = self._some_legal_in_batch(action_mask, counts.shape[:-1])
        counts *= legal.reshape(counts.shape)
        shares: NDArray[np.float64] = counts / counts.sum(axis=-1, keepdims=True)
        return shares

    def update(
        self,
        observation: Any,
        action: Any,
        reward: Any,
        next_observation: Any,
        terminated: Any,
        next_action_mask: Any = None,
    ) -> None:
        """Remembers one action of the running episode; at its end, counts them all.

        In a batch the transitions come one after another, so that those of one episode end before another's
        begin. The legal alternatives are those that :meth:`act` has just chosen from, in batches those that it
        last chose from at the observation; without it, all actions.

        Args:
            observation: What the agent saw, one observation or a batch.
            action: What it did, an integer of the action space for each observation.
            reward: What it got; at the end, above 0 is a win and below 0 a loss.
            next_observation: Without effect.
            terminated: Whether the episode ended for good.
            next_action_mask: Without effect.

        Raises:
            TypeError: An action is not an integer.
            ValueError: An observation or action is not in its space, a reward is not finite, or the parts of a
                batch differ in their leading dimensions.
        """
        if self._is_batch(observation):
            batch = self._checked_batch(
                observation, action, reward, next_observation, terminated, next_action_mask
            )
            rows = self.table.rows(batch.observations, add=True)
            steps = rows.tolist(), batch.columns.tolist(), batch.rewards.tolist(), batch.terminated.tolist()
            for row, column, reward, terminated in zip(*steps, strict=True):
                self._taken.append((row, column, self._legal_in(row)))
                if terminated:
                    self._count_episode(reward)
            return
        column, reward = self._column(action), float(reward)
        if not abs(reward) <= MOST:
            raise ValueError(f"reward must be finite, {MOST:g} at most; got {reward}")
        row = self.table.row(observation)
        legal = self._legal_in(row) if self._legal_here is None else self._legal_here
        self._legal_here = None
        self._taken.append((row, column, legal))
        if terminated:
            self._count_episode(reward)

    def _legal_in(self, row: int) -> list[int]:
        mask = self._legal_at.get(row)
        return [action for action in range(self.n_actions) if mask is None or mask[action]]

    def _count_episode(self, reward: float) -> None:
        if reward:
            for turn in self._taken:
                self._count(*turn, won=reward > 0)
        self._taken.clear()

    def end_episode(self) -> None:
        """Forgets the actions of an episode that was cut short: it was neither won nor lost."""
        self._taken.clear()
        self._legal_here = None

    def _count(self, row: int, column: int, legal: list[int], won: bool) -> None:
        counts: list[float] = self.table.values[row].tolist()
        if won:
            counts[column] += 1
        else:
            for alternative in legal:
                counts[alternative] += 1
            counts[column] -= 1
        if self.cutoff is not None and sum(counts) + len(legal) > self.cutoff:  # all of them, a quick first look
            legal_counts = [counts[each] for each in legal]
            if sum(legal_counts) + len(legal) > self.cutoff:
                for each in legal:
                    counts[each] -= min(legal_counts)
        self.table.values[row] = counts
