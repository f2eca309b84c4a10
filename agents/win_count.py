"""Win counting: an agent that chooses its actions in proportion to how often they have won."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from agents._observations import legal_columns
from agents.agent import Agent
from agents.tables import TabularAgent


class WinCountAgent(TabularAgent):
    """An agent that counts, for every observation, how often each action was part of a won episode.

    It draws its actions at random, each legal action with a probability in proportion to its count. All counts
    start at 1. The agent learns when an episode has ended:

    - After a win (a positive last reward), the count of each action that it took grows by 1.
    - After a loss (a negative last reward), the counts of the legal alternatives to each of its actions grow by 1.
    - After a draw or a truncated episode, nothing changes.

    The table holds the counts, each reduced by 1, because a new entry of a table is 0. The agent has no Q-values,
    so :meth:`q_values` raises NotImplementedError.

    The agent can be trained against an opponent in a single environment, but not by self-play and not in vector
    environments. It comes from a published program that learns simple Nim, system 5 in
    docs/experiments/five_systems.md.

    For example, from 5 objects the winning move is to take 1, and the agent has learned to prefer it:

        >>> import agents
        >>> import gymnasium as gym
        >>> env = gym.make("nim_env:SimpleNim-v0", opponent="random")
        >>> agent = agents.WinCountAgent(env.observation_space, env.action_space, seed=0)
        >>> history = agents.train(agent, env, episodes=5_000, seed=0)
        >>> agent.action_probabilities([5]).round(2)
        array([0.8 , 0.17, 0.03])

    Args:
        observation_space: The space of the observations; :class:`Agent` describes which spaces are possible.
        action_space: A ``Discrete`` space.
        cutoff: The limit for the sum of the counts of all legal actions at an observation. When the sum exceeds
            the limit, the same number is subtracted from all of these counts, so the smallest is 1 again. The
            probabilities of the actions then differ more, so the agent learns faster. The published program calls
            this normalization. ``None`` for no limit.
        seed: The seed of the agent's own random generator.

    Raises:
        TypeError: If a space is of the wrong kind.
        ValueError: If ``cutoff`` is below 1.
    """

    supports_self_play: ClassVar[bool] = False
    q_values = Agent.q_values  # raises an error, since the table holds counts

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
        self._legal: dict[int, Sequence[int]] = {}  # by row: the columns that were legal in act
        self._episode: list[tuple[int, int]] = []  # the row and column of each action so far

    def counts(self, observation: Any) -> NDArray[np.float64]:
        """Returns the counts of one observation or of a batch.

        Args:
            observation: An observation, or a batch with leading dimensions ``(...)``.

        Returns:
            The count of each action, float64 of shape ``(..., n_actions)``.
        """
        return self.table.values.take(self.table.rows(observation, add=False), axis=0) + 1

    def act(self, observation: Any, action_mask: Any = None, explore: bool = False) -> int:  # noqa: ARG002
        """Draws a legal action with a probability in proportion to its count. ``explore`` is ignored."""
        legal = legal_columns(action_mask, self.n_actions)
        row = self.table.row(observation)
        self._legal[row] = legal
        counts = self.table.values[row].tolist()
        remaining = self.generator.random() * (sum([counts[column] for column in legal]) + len(legal))
        for column in legal:
            remaining -= counts[column] + 1
            if remaining < 0:
                return column + self.first_action
        return legal[-1] + self.first_action  # in case of a rounding error

    def action_probabilities(self, observation: Any, action_mask: Any = None) -> NDArray[np.float64]:
        """Returns the counts of the legal actions, divided by their sum."""
        counts = self.counts(observation)
        if action_mask is not None:
            counts *= np.asarray(action_mask) != 0
        if not counts.any(axis=-1).all():
            raise ValueError("action_mask must allow at least one action in each row; one row is all zeros")
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
        """Remembers one action of the current episode, and updates the counts when the episode has terminated.

        After a loss, the counts of the legal alternatives to each action grow. Which actions were legal is known
        from :meth:`act`, which remembers the mask of each observation. Without a mask, all actions count as legal.
        """
        column = self.checked_action(action) - self.first_action
        if not math.isfinite(reward):
            raise ValueError(f"reward must be finite; got {reward!r}")
        self._episode.append((self.table.row(observation), column))
        if terminated and reward:
            for past_row, past_column in self._episode:
                self._count(past_row, past_column, is_win=reward > 0)

    def end_episode(self) -> None:
        """Forgets the actions of the episode that has ended."""
        self._episode.clear()

    def _count(self, row: int, column: int, is_win: bool) -> None:
        """Adds 1 to the count of an action after a win, or to the counts of its alternatives after a loss.

        Then it applies the cutoff.
        """
        legal = self._legal.get(row, range(self.n_actions))
        counts: list[float] = self.table.values[row].tolist()  # each less 1, as the table stores them
        if is_win:
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
