"""Tabular Q-learning."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from agents.agent import Agent, Hyperparameter, checked_hyperparameter
from agents.q_table import Rows

Ties: TypeAlias = Literal["random", "first"]


class QLearningAgent(Agent):
    """Q-learning (Watkins 1989; Sutton and Barto 2018, section 6.5) with ε-greedy exploration.

    Another player is part of the world: in a game of turns the next observation is the one that the agent
    faces when it is to move again.

    Args:
        observation_space: What the agent sees, see :class:`Agent`.
        action_space: A ``Discrete`` space.
        learning_rate: How far a value moves towards its target, 0 to 1. This and the next two may be functions
            of the progress remaining, which falls from 1 to 0 over a training run.
        gamma: The discount of the future, 0 to 1.
        epsilon: The probability of a uniformly random legal action while exploring, 0 to 1.
        ties: Which of several best actions is taken while exploring, ``"random"`` or ``"first"``; without
            exploration it is always the first.
        seed: Seeds the agent's own generator.
        rows: How the table finds its rows, see :class:`agents.q_table.QTable`.
        memory_limit: The most bytes the table may take; by default half of the machine's memory.

    Raises:
        TypeError: A space or hyperparameter is of the wrong kind.
        ValueError: A hyperparameter is out of range, or the table would pass ``memory_limit``.
    """

    hyperparameters: ClassVar[tuple[str, ...]] = ("learning_rate", "gamma", "epsilon", "ties")

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        *,
        learning_rate: Hyperparameter = 0.5,
        gamma: Hyperparameter = 1.0,
        epsilon: Hyperparameter = 0.1,
        ties: Ties = "random",
        seed: int | None = None,
        rows: Rows = "auto",
        memory_limit: int | None = None,
    ) -> None:
        if ties not in ("random", "first"):
            raise ValueError(f'ties must be "random" or "first"; got {ties!r}')
        self.learning_rate = checked_hyperparameter("learning_rate", learning_rate)
        self.gamma = checked_hyperparameter("gamma", gamma)
        self.epsilon = checked_hyperparameter("epsilon", epsilon)
        self.ties = ties
        super().__init__(observation_space, action_space, seed=seed, rows=rows, memory_limit=memory_limit)

    def act(self, observation: Any, action_mask: Any = None, explore: bool = False) -> Any:
        """The best legal action, or while exploring sometimes a random one.

        Args:
            observation: One observation, or a batch with any number of leading dimensions.
            action_mask: Nonzero where an action is legal, shape ``(..., n_actions)``; ``None``: all are.
            explore: Whether to explore: with probability ``epsilon`` a uniformly random legal action, else the
                best, one of them at random where several are (``ties="random"``).

        Returns:
            An int, or for a batch an int64 array of shape ``(...)``.

        Raises:
            ValueError: An observation is not in the space, or a mask has the wrong shape or no legal action.
        """
        if self._is_batch(observation):
            return self._act_on_batch(np.asarray(observation), action_mask, explore)
        legal = self._legal(action_mask)
        random = self.generator.random
        if explore and random() < self._now(self.epsilon):
            return legal[int(random() * len(legal))] + self._first_action
        values = self._values_of(observation)
        best = max([values[action] for action in legal])
        if explore and self.ties == "random":
            legal = [action for action in legal if values[action] == best]
            return legal[int(random() * len(legal)) if len(legal) > 1 else 0] + self._first_action
        return next(action for action in legal if values[action] == best) + self._first_action

    def _act_on_batch(self, observations: NDArray[Any], action_mask: Any, explore: bool) -> NDArray[np.int64]:
        values = self.q_values(observations)
        legal = self._legal_in_batch(action_mask, values.shape)
        values = np.where(legal, values, -np.inf)
        actions = values.argmax(axis=-1)
        if explore:
            if self.ties == "random":
                actions = self._drawn(values == values.max(axis=-1, keepdims=True))
            explores = self.generator.random(actions.shape) < self._now(self.epsilon)
            actions = np.where(explores, self._drawn(legal), actions)
        chosen: NDArray[np.int64] = actions + self._first_action
        return chosen

    def action_probabilities(self, observation: Any, action_mask: Any = None) -> NDArray[np.float64]:
        """Probability 1 for the action of :meth:`act` without exploration, shape ``(..., n_actions)``.

        Raises:
            ValueError: As :meth:`act`.
        """
        actions = np.asarray(self.act(observation, action_mask)) - self._first_action
        return np.asarray(np.arange(self.n_actions) == actions[..., None], dtype=np.float64)

    def update(
        self,
        observation: Any,
        action: Any,
        reward: Any,
        next_observation: Any,
        terminated: Any,
        next_action_mask: Any = None,
    ) -> None:
        """Learns from one transition, or from a batch as if its transitions came one after another.

        Q(s, a) ← Q(s, a) + α ((r + γ max Q(s′, ·)) − Q(s, a)), the maximum over the legal actions of the next
        observation, which has no future if it is terminal. A truncated episode still has one.

        Args:
            observation: What the agent saw, one observation or a batch.
            action: What it did, an integer of the action space for each observation.
            reward: What it got.
            next_observation: What it sees when it is to act again, or last saw.
            terminated: Whether the episode ended for good.
            next_action_mask: Nonzero where an action is legal next, shape ``(..., n_actions)``; ``None``: all are.

        Raises:
            ValueError: An observation or action is not in its space, or a mask has the wrong shape.
        """
        if self._is_batch(observation):
            return self._update_from_batch(
                observation, action, reward, next_observation, terminated, next_action_mask
            )
        column = self._column(action)
        future = 0.0 if terminated else self._future(next_observation, next_action_mask)
        target = float(reward) + self._now(self.gamma) * future
        row = self.table.row(observation)
        values = self.table.values
        old = values.item(row, column)
        values[row, column] = old + self._now(self.learning_rate) * (target - old)
        return None

    def _update_from_batch(
        self,
        observation: Any,
        action: Any,
        reward: Any,
        next_observation: Any,
        terminated: Any,
        next_action_mask: Any,
    ) -> None:
        leading = np.shape(action)
        shape = self.observation_space.shape or ()
        masks = np.ones((*leading, self.n_actions)) if next_action_mask is None else np.asarray(next_action_mask)
        for transition in zip(
            np.reshape(observation, (-1, *shape)),
            np.ravel(action),
            np.ravel(reward),
            np.reshape(next_observation, (-1, *shape)),
            np.ravel(terminated),
            masks.reshape(-1, self.n_actions),
            strict=True,
        ):
            self.update(*transition)

    def _future(self, observation: Any, action_mask: Any) -> float:
        """What the next observation is worth to the mover: its best legal value, 0 where nothing is legal."""
        values = self._values_of(observation)
        if action_mask is None:
            return max(values)
        return max([values[action] for action in np.asarray(action_mask).nonzero()[0].tolist()], default=0.0)
