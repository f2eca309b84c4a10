"""Tabular Q-learning."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from agents.agent import MOST, Agent, Batch
from agents.batches import BELOW_ALL, best_of, lowered, move_towards, one_of, row_counts
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

    next_mover: ClassVar[float] = 1.0
    """Whose the value of the next observation is: 1 for the agent's own, -1 for the other player's."""
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
        leading = self._leading(observations)
        legal, number = self._some_legal_in_batch(action_mask, leading)
        epsilon = self._now("epsilon") if explore else 0.0
        if epsilon == 1.0:
            return (one_of(legal, number, self.generator.random(len(legal))) + self._first_action).reshape(leading)
        explores = np.zeros(len(legal), dtype=np.bool_)
        if explore:
            explores = self.generator.random(len(legal)) < epsilon
        columns = np.empty(len(legal), dtype=np.int64)
        if (random := explores.nonzero()[0]).size:
            columns[random] = one_of(
                legal.take(random, axis=0), number[random], self.generator.random(random.size)
            )
        if (greedy := (~explores).nonzero()[0]).size:
            seen = observations.reshape(len(legal), *observations.shape[len(leading) :]).take(greedy, axis=0)
            values = lowered(self._values_of_batch(seen), legal.take(greedy, axis=0))
            columns[greedy], best = best_of(values)
            if explore and self.ties == "random":
                ties = values == best[:, None]
                columns[greedy] = one_of(ties, row_counts(ties), self.generator.random(greedy.size))
        return (columns + self._first_action).reshape(leading)

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
        """Learns from one transition, or from a batch.

        Q(s, a) ← Q(s, a) + α ((r + γ V(s′)) − Q(s, a)) with V(s′) = max Q(s′, ·) over the legal actions of the
        next observation, 0 if it is terminal. A truncated episode still has a future.

        In a batch every V(s′) is what it was before the batch; then the updates are applied one after another, so
        that a pair that occurs several times counts each time.

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
            self._learn(
                self._checked_batch(observation, action, reward, next_observation, terminated, next_action_mask)
            )
            return
        column = self._column(action)
        reward = float(reward)
        if not abs(reward) <= MOST:
            raise ValueError(f"reward must be finite, {MOST:g} at most; got {reward}")
        future = 0.0 if terminated else self._future(next_observation, next_action_mask)
        target = reward + self._now("gamma") * future
        row = self.table.row(observation)
        values = self.table.values
        share = self._now("learning_rate")
        values[row, column] = (1.0 - share) * values.item(row, column) + share * target  # at 1 the target itself

    def _learn(self, batch: Batch) -> None:
        share, gamma = self._now("learning_rate"), self._now("gamma")
        goes_on = (~batch.terminated).nonzero()[0]
        legal = None if batch.next_legal is None else batch.next_legal.take(goes_on, axis=0)
        futures = np.zeros(len(batch.rewards))
        futures[goes_on] = self._futures(batch.next_observations.take(goes_on, axis=0), legal)
        targets = batch.rewards + gamma * futures
        rows = self.table.rows(batch.observations, add=True)
        entries = rows * self.n_actions + batch.columns
        move_towards(self.table.values.reshape(-1), entries, targets, share)

    def _future(self, observation: Any, action_mask: Any) -> float:
        """What the next observation is worth: its best legal value, 0 where nothing is legal."""
        values = self._values_of(observation)
        legal = values
        if action_mask is not None:
            legal = [values[action] for action in self._legal(action_mask, "next_action_mask")]
        return self.next_mover * max(legal, default=0.0)

    def _futures(self, observations: NDArray[Any], legal: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        """:meth:`_future` of a batch."""
        values = self._values_of_batch(observations)
        _, best = best_of(values if legal is None else lowered(values, legal))
        best[best <= -BELOW_ALL / 2] = 0.0  # nothing is legal there
        return self.next_mover * best
