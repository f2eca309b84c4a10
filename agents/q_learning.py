"""Tabular Q-learning."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from agents._batches import ILLEGAL_PENALTY, argmax_and_max, masked_values, row_counts, td_update, uniform_sample
from agents._checks import (
    Batch,
    Schedule,
    action_index,
    as_reward,
    as_schedule,
    batch_legal_actions,
    checked_batch,
    current_value,
    legal_actions,
    mask_to_actions,
)
from agents.tables import TableKind, TabularAgent

Ties: TypeAlias = Literal["random", "first"]


class QLearningAgent(TabularAgent):
    """Q-learning (Watkins 1989; Sutton and Barto 2018, section 6.5) with ε-greedy exploration.

    In a game the other player is part of the environment: the next observation is what the agent observes when
    it is to move again.

    Args:
        observation_space: The space of the observations, see :class:`Agent`.
        action_space: A ``Discrete`` space.
        learning_rate: α, the step size, 0 to 1. This and the next two may be functions of the progress remaining,
            which falls from 1 to 0 over a training run.
        gamma: γ, the discount factor, 0 to 1.
        epsilon: ε, the probability of a uniformly random legal action while exploring, 0 to 1.
        ties: Which of several best actions is taken while exploring, ``"random"`` or ``"first"``; without
            exploration it is always the first.
        seed: Seeds the agent's own generator.
        table: ``"dense"``, ``"hash"`` or ``"auto"``, see :func:`agents.tables.make_table`.

    Raises:
        TypeError: A space or hyperparameter is of the wrong kind.
        ValueError: A hyperparameter is out of range, or ``table`` does not suit the space.
    """

    batched: ClassVar[bool] = True
    next_value_sign: ClassVar[float] = 1.0
    """1 if the next observation is the same player's, -1 if it is the opponent's in a zero-sum game."""

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        *,
        learning_rate: Schedule = 0.5,
        gamma: Schedule = 1.0,
        epsilon: Schedule = 0.1,
        ties: Ties = "random",
        seed: int | None = None,
        table: TableKind = "auto",
    ) -> None:
        if ties not in ("random", "first"):
            raise ValueError(f'ties must be "random" or "first"; got {ties!r}')
        self.learning_rate = as_schedule("learning_rate", learning_rate)
        self.gamma = as_schedule("gamma", gamma)
        self.epsilon = as_schedule("epsilon", epsilon)
        self.ties = ties
        super().__init__(observation_space, action_space, seed=seed, table=table)

    def act(self, observation: Any, action_mask: Any = None, explore: bool = False) -> Any:
        """The best legal action, or while exploring sometimes a random one.

        Args:
            observation: One observation, or a batch with any number of leading dimensions.
            action_mask: Nonzero where an action is legal, shape ``(..., n_actions)``; None: all are.
            explore: Whether to explore: with probability ``epsilon`` a uniformly random legal action, else the
                best, one of them at random where several are (``ties="random"``).

        Returns:
            An int, or for a batch an int64 array of shape ``(...)``.

        Raises:
            TypeError: The mask of a batch does not hold numbers.
            ValueError: An observation is not in the space, or a mask has the wrong shape or no legal action.
        """
        if self.is_batch(observation):
            return self._act_on_batch(np.asarray(observation), action_mask, explore)
        legal = legal_actions(action_mask, self.n_actions)
        uniform = self.generator.random() if explore else 1.0
        epsilon = current_value("epsilon", self.epsilon, self.progress_remaining) if explore else 0.0
        if uniform < epsilon:
            return legal[int(uniform / epsilon * len(legal))] + self.first_action
        values = self.table.get(observation)
        best = max([values[index] for index in legal])
        ties = [index for index in legal if values[index] == best]
        if len(ties) == 1 or not explore or self.ties == "first":
            return ties[0] + self.first_action
        return ties[int(self.generator.random() * len(ties))] + self.first_action

    def _act_on_batch(self, observations: NDArray[Any], action_mask: Any, explore: bool) -> NDArray[np.int64]:
        leading = observations.shape[: observations.ndim - len(self.observation_space.shape or ())]
        legal, counts = batch_legal_actions(action_mask, leading, self.n_actions)
        n, random = len(legal), self.generator.random
        epsilon = current_value("epsilon", self.epsilon, self.progress_remaining) if explore else 0.0
        if epsilon == 1.0:
            return (uniform_sample(legal, counts, random(n)) + self.first_action).reshape(leading)
        is_random = random(n) < epsilon if explore else np.zeros(n, dtype=np.bool_)
        indices = np.empty(n, dtype=np.int64)
        if (explorers := is_random.nonzero()[0]).size:
            indices[explorers] = uniform_sample(
                legal.take(explorers, axis=0), counts[explorers], random(explorers.size)
            )
        if (greedy := (~is_random).nonzero()[0]).size:
            greedy_observations = observations.reshape(n, *observations.shape[len(leading) :]).take(greedy, axis=0)
            values = masked_values(self.table.get_batch(greedy_observations), legal.take(greedy, axis=0))
            indices[greedy], best = argmax_and_max(values)
            if explore and self.ties == "random":
                ties = values == best[:, None]
                indices[greedy] = uniform_sample(ties, row_counts(ties), random(greedy.size))
        return (indices + self.first_action).reshape(leading)

    def update(
        self,
        observation: Any,
        action: Any,
        reward: Any,
        next_observation: Any,
        terminated: Any,
        next_action_mask: Any = None,
    ) -> None:
        """Learns from one transition or a batch.

        Q(s, a) ← Q(s, a) + α ((r + γ V(s′)) − Q(s, a)) with V(s′) = max Q(s′, ·) over the legal actions of the
        next observation, 0 if it is terminal (Sutton and Barto 2018, equation 6.8). After truncation V(s′) counts.

        In a batch every V(s′) is computed before any update; then the updates are applied one after another, so
        that a pair that occurs several times is updated each time.

        Args:
            observation: What the player observed, one observation or a batch.
            action: What it did, an integer of the action space for each observation.
            reward: Its reward.
            next_observation: What it observes when it is to act again, or the last observation.
            terminated: Whether the episode has ended for good.
            next_action_mask: Nonzero where an action is legal next, shape ``(..., n_actions)``; None: all are.

        Raises:
            TypeError: An action is not an integer, or an array of a batch does not hold numbers.
            ValueError: An observation or action is not in its space, a mask has the wrong shape, a reward is not
                finite, or the arrays of a batch differ in their leading dimensions. The table is unchanged then.
        """
        if self.is_batch(observation):
            self._update_batch(
                checked_batch(self, observation, action, reward, next_observation, terminated, next_action_mask)
            )
            return
        index, reward = action_index(self, action), as_reward(reward)
        next_value = 0.0 if terminated else self._next_value(next_observation, next_action_mask)
        target = reward + current_value("gamma", self.gamma, self.progress_remaining) * next_value
        learning_rate = current_value("learning_rate", self.learning_rate, self.progress_remaining)
        row, values = self.table.row(observation), self.table.values
        values[row, index] = (1.0 - learning_rate) * values.item(row, index) + learning_rate * target

    def _next_value(self, observation: Any, action_mask: Any) -> float:
        """V(s′), with the sign of :attr:`next_value_sign`; 0 where no action is legal."""
        values = self.table.get(observation)
        if action_mask is not None:
            legal = mask_to_actions(action_mask, self.n_actions, "next_action_mask")
            values = [values[index] for index in legal]
        return self.next_value_sign * max(values, default=0.0)

    def _update_batch(self, batch: Batch) -> None:
        learning_rate = current_value("learning_rate", self.learning_rate, self.progress_remaining)
        gamma = current_value("gamma", self.gamma, self.progress_remaining)
        alive = (~batch.terminated).nonzero()[0]
        legal = None if batch.next_legal is None else batch.next_legal.take(alive, axis=0)
        next_values = np.zeros(len(batch.rewards))
        next_values[alive] = self._next_values(batch.next_observations.take(alive, axis=0), legal)
        targets = batch.rewards + gamma * next_values
        rows = self.table.rows(batch.observations, add=True)
        indices = rows * self.n_actions + batch.action_indices
        td_update(self.table.values.reshape(-1), indices, targets, learning_rate)

    def _next_values(self, observations: NDArray[Any], legal: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        """:meth:`_next_value` of a batch."""
        values = self.table.get_batch(observations)
        _, best = argmax_and_max(values if legal is None else masked_values(values, legal))
        best[best <= -ILLEGAL_PENALTY / 2] = 0.0  # no action is legal there
        return self.next_value_sign * best
