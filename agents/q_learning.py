"""Tabular Q-learning."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from agents.agent import Agent
from agents.checks import Hyperparameter, as_hyperparameter
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
        self.learning_rate = as_hyperparameter("learning_rate", learning_rate)
        self.gamma = as_hyperparameter("gamma", gamma)
        self.epsilon = as_hyperparameter("epsilon", epsilon)
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
        legal = self._some_legal(action_mask)
        drawn = self.generator.random() if explore else 1.0
        epsilon = self._now("epsilon") if explore else 0.0
        if drawn < epsilon:
            return legal[int(drawn / epsilon * len(legal))] + self._first_action
        values = self._values_of(observation)
        best = max([values[action] for action in legal])
        ties = [action for action in legal if values[action] == best]
        if len(ties) == 1 or not explore or self.ties == "first":
            return ties[0] + self._first_action
        return ties[int(self.generator.random() * len(ties))] + self._first_action

    def _act_on_batch(self, observations: NDArray[Any], action_mask: Any, explore: bool) -> NDArray[np.int64]:
        values = self.q_values(observations)
        legal = self._legal_in_batch(action_mask, values.shape)
        values = np.where(legal, values, -np.inf)
        actions = values.argmax(axis=-1)
        if explore:
            if self.ties == "random":
                actions = self._drawn(values == values.max(axis=-1, keepdims=True))
            explores = self.generator.random(actions.shape) < self._now("epsilon")
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

        Q(s, a) ← Q(s, a) + α ((r + γ V(s′)) − Q(s, a)) with V(s′) = max Q(s′, ·) over the legal actions of the
        next observation, 0 if it is terminal. A truncated episode still has a future.

        Args:
            observation: What the agent saw, one observation or a batch.
            action: What it did, an integer of the action space for each observation.
            reward: What it got.
            next_observation: What it sees when it is to act again, or last saw.
            terminated: Whether the episode ended for good.
            next_action_mask: Nonzero where an action is legal next, shape ``(..., n_actions)``; ``None``: all are.

        Raises:
            TypeError: An action is not an integer.
            ValueError: An observation or action is not in its space, a mask has the wrong shape, a reward is not
                finite, or the parts of a batch differ in their leading dimensions. Nothing has been learnt then.
        """
        if self._is_batch(observation):
            return self._update_from_batch(
                observation, action, reward, next_observation, terminated, next_action_mask
            )
        column = self._column(action)
        reward = float(reward)
        if not math.isfinite(reward):
            raise ValueError(f"reward must be finite; got {reward}")
        future = 0.0 if terminated else self._future(next_observation, next_action_mask)
        target = reward + self._now("gamma") * future
        row = self.table.row(observation)
        values = self.table.values
        old = values.item(row, column)
        values[row, column] = old + self._now("learning_rate") * (target - old)
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
        shape, leading = self.observation_space.shape or (), np.shape(action)
        if next_action_mask is None:
            next_action_mask = np.ones((*leading, self.n_actions), dtype=np.int8)
        parts = {
            "observation": (np.asarray(observation), shape),
            "action": (np.asarray(action), ()),
            "reward": (np.asarray(reward, dtype=np.float64), ()),
            "next_observation": (np.asarray(next_observation), shape),
            "terminated": (np.asarray(terminated), ()),
            "next_action_mask": (np.asarray(next_action_mask), (self.n_actions,)),
        }
        for name, (part, own_shape) in parts.items():
            if part.shape != leading + own_shape:
                raise ValueError(f"{name} must have shape {leading + own_shape}, as action has; got {part.shape}")
        self.table.rows(parts["observation"][0])  # these three raise before anything is learnt
        self.table.rows(parts["next_observation"][0])
        for each in parts["action"][0].ravel():
            self._column(each)
        if not np.isfinite(parts["reward"][0]).all():
            raise ValueError(f"reward must be finite; got {reward!r}")
        flat = (part.reshape(math.prod(leading), *own_shape) for part, own_shape in parts.values())
        for transition in zip(*flat, strict=True):
            self.update(*transition)

    def _future(self, observation: Any, action_mask: Any) -> float:
        """What the next observation is worth to the mover: its best legal value, 0 where nothing is legal."""
        values = self._values_of(observation)
        if action_mask is None:
            return max(values)
        return max([values[action] for action in self._legal(action_mask, "next_action_mask")], default=0.0)
