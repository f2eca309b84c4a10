"""Win counting: an agent that draws its actions in proportion to how often they won."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from agents.agent import checked_action, legal_columns
from agents.tables import TabularAgent


class WinCountAgent(TabularAgent):
    """Counts, for every observation, how often each action was part of a won episode.

    All counts start at 1, and an action is drawn with a probability in proportion to its count among the legal
    ones. After a win (a positive reward at the end) the count of each action taken grows by 1. After a loss the
    count of each legal alternative to an action taken grows by 1. A draw or a truncated episode changes nothing.
    The source is a published learner of simple Nim, system 5 of docs/experiments/five_systems.md.

    It learns when an episode has ended, so it trains on single environments, not in vector environments.

    Args:
        observation_space: The space of the observations, see :class:`Agent`.
        action_space: A ``Discrete`` space.
        cutoff: Once the legal counts at an observation sum to more than this, their minimum less 1 is subtracted
            from all of them ("normalization", which speeds learning up); None: never.
        seed: Seeds the agent's own generator.

    Raises:
        TypeError: A space is of the wrong kind.
        ValueError: ``cutoff`` is below 1.
    """

    supports_self_play: ClassVar[bool] = False

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        *,
        cutoff: int | None = 1000,
        seed: int | None = None,
    ) -> None:
        super().__init__(observation_space, action_space, seed=seed)
        if cutoff is not None and cutoff < 1:
            raise ValueError(f"cutoff must be 1 or more, or None; got {cutoff!r}")
        self.cutoff = cutoff
        self._legal: dict[int, Sequence[int]] = {}  # by row, the indices of the actions that were legal in act
        self._episode: list[tuple[int, int]] = []  # row and action index of each transition so far

    def counts(self, observation: Any) -> NDArray[np.float64]:
        """The counts of one observation or a batch: float64 ``(..., n_actions)``."""
        return super().q_values(observation) + 1

    def q_values(self, observation: Any) -> NDArray[np.float64]:
        """A NotImplementedError: the agent has :meth:`counts`."""
        raise NotImplementedError(f"{type(self).__name__} has no Q-values; counts() returns its counts")

    def act(self, observation: Any, action_mask: Any = None, explore: bool = False) -> int:  # noqa: ARG002
        """A legal action, drawn in proportion to the counts, with or without exploration."""
        legal = legal_columns(action_mask, self.n_actions)
        row = self.table.row(observation)
        self._legal[row] = legal
        counts = self.table.values[row].tolist()
        remaining = self.generator.random() * (sum([counts[column] for column in legal]) + len(legal))
        for column in legal:
            remaining -= counts[column] + 1
            if remaining < 0:
                return column + self.first_action
        return legal[-1] + self.first_action  # after a rounding error

    def action_probabilities(self, observation: Any, action_mask: Any = None) -> NDArray[np.float64]:
        """The counts of the legal actions divided by their sum."""
        counts = self.counts(observation)
        if action_mask is not None:
            counts *= np.asarray(action_mask) != 0
        if not counts.any(axis=-1).all():
            raise ValueError("action_mask leaves an observation without a legal action")
        return counts / counts.sum(axis=-1, keepdims=True)

    def update(
        self,
        observation: Any,
        action: Any,
        reward: Any,
        next_observation: Any,  # noqa: ARG002
        terminated: Any,
        next_action_mask: Any = None,  # noqa: ARG002
    ) -> None:
        """Stores one action of the running episode, and counts them all where it has terminated.

        The legal alternatives to an action are those of the last mask that :meth:`act` got at the observation;
        without a mask, all actions.
        """
        column = checked_action(self, "update", action) - self.first_action
        if not math.isfinite(reward):
            raise ValueError(f"reward must be finite; got {reward!r}")
        self._episode.append((self.table.row(observation), column))
        if terminated and reward:
            for past_row, past_column in self._episode:
                self._count(past_row, past_column, won=reward > 0)

    def end_episode(self) -> None:
        """Forgets the actions of the episode."""
        self._episode.clear()

    def _count(self, row: int, column: int, won: bool) -> None:
        legal = self._legal.get(row, range(self.n_actions))
        counts: list[float] = self.table.values[row].tolist()  # less 1 each
        if won:
            counts[column] += 1
        else:
            for alternative in legal:
                counts[alternative] += 1
            counts[column] -= 1
        legal_counts = [counts[legal_column] for legal_column in legal]
        if self.cutoff is not None and sum(legal_counts) + len(legal) > self.cutoff:
            least = min(legal_counts)
            for legal_column in legal:
                counts[legal_column] -= least
        self.table.values[row] = counts
