"""Tabular Q-learning."""

import math
from collections.abc import Callable
from functools import lru_cache
from numbers import Real
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from agents.agent import checked_action, legal_columns
from agents.tables import TabularAgent

ILLEGAL = -1e308  # added to the values of illegal actions; training is 1.1 times as fast as with -inf by np.where
LOWEST = ILLEGAL / 2  # below the value of any legal action, above that of any illegal one
Schedule: TypeAlias = float | Callable[[float], float]
"""A number, or a function of the progress remaining, which falls from 1 to 0 over a training run."""


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

    Raises:
        TypeError: A space is of the wrong kind.
        ValueError: A hyperparameter is out of range.
    """

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
        ties: Literal["random", "first"] = "random",
        seed: int | None = None,
    ) -> None:
        super().__init__(observation_space, action_space, seed=seed)
        if ties not in ("random", "first"):
            raise ValueError(f'ties must be "random" or "first"; got {ties!r}')
        self.learning_rate = _checked_schedule("learning_rate", learning_rate)
        self.gamma = _checked_schedule("gamma", gamma)
        self.epsilon = _checked_schedule("epsilon", epsilon)
        self.ties = ties

    def act(self, observation: Any, action_mask: Any = None, explore: bool = False) -> int:
        """The best legal action, the first of several; while exploring, as the arguments say."""
        legal = legal_columns(action_mask, self.n_actions)
        uniform = self.generator.random() if explore else 1.0
        epsilon = self._current("epsilon") if explore else 0.0
        if uniform < epsilon:
            return legal[int(uniform / epsilon * len(legal))] + self.first_action
        values = self.table.get(observation)
        best = max([values[column] for column in legal])
        choices = [column for column in legal if values[column] == best]
        if len(choices) == 1 or not explore or self.ties == "first":
            return choices[0] + self.first_action
        return choices[int(self.generator.random() * len(choices))] + self.first_action

    def act_batch(self, observations: Any, action_masks: Any = None, explore: bool = False) -> NDArray[np.integer]:
        n = len(observations)
        random = self.generator.random
        epsilon = self._current("epsilon") if explore else 0.0
        if epsilon == 1.0:
            masks = np.ones((n, self.n_actions)) if action_masks is None else np.asarray(action_masks)
            return uniform_choice(masks != 0, random(n)) + self.first_action
        values = self._legal_values(observations, action_masks)
        thresholds = np.maximum.reduce(values, initial=LOWEST)
        uniforms = np.zeros(n)  # 0 chooses the first
        if explore:
            is_random = random(n) < epsilon
            thresholds[is_random] = LOWEST
            n_random = np.count_nonzero(is_random)
            draws = random(n if self.ties == "random" else n_random)
            uniforms[is_random] = draws[:n_random]
            if self.ties == "random":
                uniforms[~is_random] = draws[n_random:]
        return uniform_choice(np.ascontiguousarray((values >= thresholds).T), uniforms) + self.first_action

    def update(
        self,
        observation: Any,
        action: Any,
        reward: Any,
        next_observation: Any,
        terminated: Any,
        next_action_mask: Any = None,
    ) -> None:
        """Learns from one transition.

        Q(s, a) ← Q(s, a) + α ((r + γ V(s′)) − Q(s, a)) with V(s′) = max Q(s′, ·) over the legal actions of the
        next observation, 0 if it is terminal (Sutton and Barto 2018, equation 6.8). After truncation V(s′) counts.
        """
        column = checked_action(self, "update", action) - self.first_action
        target = float(reward)
        if not math.isfinite(target):
            raise ValueError(f"reward must be finite; got {reward!r}")
        if not terminated:
            values = self.table.get(next_observation)
            legal = legal_columns(next_action_mask, self.n_actions, may_be_empty=True)
            next_value = self.next_value_sign * max([values[column] for column in legal], default=0.0)
            target += self._current("gamma") * next_value
        learning_rate = self._current("learning_rate")
        row = self.table.row(observation)
        old = self.table.values.item(row, column)
        self.table.values[row, column] = (1.0 - learning_rate) * old + learning_rate * target

    def update_batch(
        self,
        observations: Any,
        actions: Any,
        rewards: Any,
        next_observations: Any,
        terminated: Any,
        next_action_masks: Any = None,
    ) -> None:
        """:meth:`update` for many transitions: every V(s′), then one update after another, a pair's too."""
        learning_rate = self._current("learning_rate")
        targets = np.maximum.reduce(self._legal_values(next_observations, next_action_masks), initial=LOWEST)
        is_terminal = np.asarray(terminated, np.bool_)  # 0 and 1 are not indices
        targets[(targets == LOWEST) | is_terminal] = 0.0  # there is no future, or no legal action
        targets *= self._current("gamma") * self.next_value_sign
        targets += rewards
        if np.count_nonzero(np.isfinite(targets)) < len(targets):
            raise ValueError(f"rewards must be finite; got {rewards!r}")
        rows = self.table.rows(observations, add=True)
        columns = np.subtract(actions, self.first_action)
        try:
            pairs = np.ravel_multi_index((rows, columns), self.table.values.shape)
        except (TypeError, ValueError) as error:
            raise type(error)(f"actions must be integers in {self.action_space}; got {actions!r}") from None
        td_update(self.table.values.reshape(-1), pairs, targets, learning_rate)

    def _current(self, name: str) -> float:
        """The value of a schedule at this point of the training run."""
        value = getattr(self, name)
        return _checked_schedule(name, value(self.progress_remaining)) if callable(value) else value

    def _legal_values(self, observations: Any, action_masks: Any) -> NDArray[np.float64]:
        """The values of ``n`` observations, below :data:`LOWEST` for illegal actions: ``(n_actions, n)``."""
        values = self.table.values.take(self.table.rows(observations), axis=0)
        if action_masks is not None:
            values += np.multiply(np.asarray(action_masks) == 0, ILLEGAL)
        return np.ascontiguousarray(values.T)  # NumPy is faster along long rows


def _checked_schedule(name: str, value: Any) -> Any:
    """``value`` if it is a function, else as a float; an error if it is not a number between 0 and 1."""
    if callable(value):
        return value
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number or a function; got {value!r}")
    if not 0 <= float(value) <= 1:
        raise ValueError(f"{name} must lie between 0 and 1; got {value!r}")
    return float(value)


def td_update(
    values: NDArray[np.float64], indices: NDArray[np.intp], targets: NDArray[np.float64], learning_rate: float
) -> None:
    """Applies v ← v + α (t − v) to a flat array in place, for each index and target, one after another.

    Where an index occurs k times, with targets t₁ … t_k, the k updates give
    (1 − α)ᵏ v + Σ α (1 − α)ᵏ⁻ⁱ tᵢ, which is computed in one step.
    """
    if learning_rate == 1.0 or not indices.size:
        values[indices] = targets  # of several assignments to one index the last one stays
        return
    n = len(indices)
    # NumPy sorts integers of up to 16 bits by radix, several times as fast as wider ones
    order = indices.astype(np.min_scalar_type(values.size)).argsort(kind="stable")
    indices = indices.take(order)
    is_first = np.empty(n + 1, np.bool_)
    is_first[0] = is_first[n] = True
    np.not_equal(indices[1:], indices[:-1], out=is_first[1:-1])
    edges = is_first.nonzero()[0]
    first = edges[:-1]
    counts = edges[1:] - first
    n_later = edges[1:].repeat(counts) - np.arange(1, n + 1)  # updates after each one
    powers, weights = _powers(learning_rate, 1 << n.bit_length())
    new = weights.take(n_later) * targets.take(order)
    updated = indices.take(first)
    values[updated] = powers.take(counts) * values.take(updated) + np.add.reduceat(new, first)


@lru_cache(maxsize=1)
def _powers(learning_rate: float, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(1 - α)ᵏ and α (1 - α)ᵏ for k below n, by products, which unlike ** are the same on every processor."""
    factors = np.full(n, 1.0 - learning_rate)
    factors[0] = 1.0
    powers = factors.cumprod()
    return powers, learning_rate * powers


def uniform_choice(choices: NDArray[np.bool_], uniforms: NDArray[np.float64]) -> NDArray[np.intp]:
    """A uniformly random index of each row among those, one or more, where ``choices`` is True.

    ``choices`` has the shape ``(n, n_actions)``; ``uniforms`` holds a draw from [0, 1) for each row.
    """
    # on large batches faster than a sum
    counts = (choices @ np.ones(choices.shape[1], np.float32)).astype(np.intp)
    if np.count_nonzero(counts) < len(counts):
        raise ValueError("action_mask leaves an observation without a legal action")
    nth = counts.cumsum()
    nth -= counts  # where each row begins among all choices
    nth += (uniforms * counts).astype(np.intp)
    columns = choices.reshape(-1).nonzero()[0].take(nth)
    columns -= np.arange(0, choices.size, choices.shape[1])
    return columns
