"""Tabular Q-learning."""

import math
from collections.abc import Callable
from functools import lru_cache
from numbers import Real
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from agents._observations import legal_columns
from agents.tables import TabularAgent

# added to the values of illegal actions; np.where and -inf would make training 1.1 times slower
ILLEGAL_PENALTY = -1e308
BELOW_LEGAL = ILLEGAL_PENALTY / 2  # lies between the values of illegal actions and the values of legal ones
Schedule: TypeAlias = float | Callable[[float], float]
"""A number, or a function of the remaining fraction of the training run, which falls from 1 to 0."""


class QLearningAgent(TabularAgent):
    """Tabular Q-learning (Watkins 1989; Sutton and Barto 2018, section 6.5) with ε-greedy exploration.

    The agent can be trained in any environment with discrete actions. In a game it treats the other player as part
    of the environment: the next observation is what the agent sees when it is to move again. It can learn against
    an opponent or by self-play.

    For example, it learns simple Nim, in which the player who takes the last object wins. From 5, 6 and 7 objects
    it has learned to leave 4; the actions 0, 1 and 2 take one, two and three objects:

        >>> import agents
        >>> import gymnasium as gym
        >>> env = gym.make("nim_env:SimpleNim-v0", opponent="random")
        >>> agent = agents.QLearningAgent(env.observation_space, env.action_space, seed=0)
        >>> history = agents.train(agent, env, episodes=1_000, seed=0)
        >>> [agent.act([heap]) for heap in (5, 6, 7)]
        [0, 1, 2]

    The hyperparameters ``learning_rate``, ``gamma`` and ``epsilon`` are numbers from 0 to 1, or functions that
    return such a number. A function gets the fraction of the training run that is still to come, which falls from
    1 to 0, as in Stable-Baselines3.

    Args:
        observation_space: The space of the observations; :class:`Agent` describes which spaces are possible.
        action_space: A ``Discrete`` space.
        learning_rate: α, the step size.
        gamma: γ, the discount factor.
        epsilon: ε, the probability of a uniformly random legal action while the agent explores.
        ties: How the agent chooses between several best actions while it explores: ``"random"`` or ``"first"``.
            When it does not explore, it always takes the first.
        seed: The seed of the agent's own random generator.

    Raises:
        TypeError: If a space is of the wrong kind, or if a hyperparameter is neither a number nor a function.
        ValueError: If a hyperparameter is out of range, or if ``ties`` is neither ``"random"`` nor ``"first"``.
    """

    next_value_sign: ClassVar[float] = 1.0
    """The sign of V(s′), the value of the next observation, in the target of an update.

    It is 1 if the player who has acted sees the next observation, and -1 if its opponent does.
    """

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
        """Chooses the best legal action or, if ``explore`` is True, an ε-greedy action.

        While the agent explores, ``ties`` decides between several best actions.
        """
        legal = legal_columns(action_mask, self.n_actions)
        uniform = self.generator.random() if explore else 1.0
        epsilon = self._current_value("epsilon") if explore else 0.0
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
        epsilon = self._current_value("epsilon") if explore else 0.0
        if epsilon == 1.0:
            masks = np.ones((n, self.n_actions)) if action_masks is None else np.asarray(action_masks)
            return uniform_choice(masks != 0, random(n)) + self.first_action
        values = self._legal_values(observations, action_masks)
        # the choices of each observation are the actions with at least this value
        thresholds = np.maximum.reduce(values, initial=BELOW_LEGAL)
        uniforms = np.zeros(n)  # 0 draws the first of the choices
        if explore:
            is_random = random(n) < epsilon
            thresholds[is_random] = BELOW_LEGAL  # all legal actions
            uniforms[is_random] = random(np.count_nonzero(is_random))
            if self.ties == "random":
                uniforms[~is_random] = random(n - np.count_nonzero(is_random))
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
        """Learns from one transition (Sutton and Barto 2018, equation 6.8).

        The update is Q(s, a) ← Q(s, a) + α ((r + γ V(s′)) − Q(s, a)), where V(s′) is the maximum of Q(s′, ·) over
        the legal actions of the next observation. If the episode has terminated, or if no action is legal, V(s′)
        is 0. If it was only truncated, V(s′) counts as usual.
        """
        column = self.checked_action(action) - self.first_action
        target = float(reward)
        if not math.isfinite(target):
            raise ValueError(f"reward must be finite; got {reward!r}")
        if not terminated:
            values = self.table.get(next_observation)
            legal = legal_columns(next_action_mask, self.n_actions, may_be_empty=True)
            next_value = self.next_value_sign * max([values[column] for column in legal], default=0.0)
            target += self._current_value("gamma") * next_value
        learning_rate = self._current_value("learning_rate")
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
        """Learns from ``n`` transitions. All V(s′) are computed before the first update changes the table.

        If the same observation and action occur several times, each occurrence is an update.
        """
        learning_rate = self._current_value("learning_rate")
        targets = np.maximum.reduce(self._legal_values(next_observations, next_action_masks), initial=BELOW_LEGAL)
        is_terminal = np.asarray(terminated, np.bool_)  # as integers, 0 and 1 would be taken for indices
        targets[(targets == BELOW_LEGAL) | is_terminal] = 0.0  # no future, or no legal action
        targets *= self._current_value("gamma") * self.next_value_sign
        targets += rewards
        if np.count_nonzero(np.isfinite(targets)) < len(targets):
            raise ValueError(f"rewards must be finite; got {rewards!r}")
        rows = self.table.rows(observations)
        columns = np.subtract(actions, self.first_action)
        try:
            indices = np.ravel_multi_index((rows, columns), self.table.values.shape)
        except (TypeError, ValueError) as error:
            raise type(error)(f"actions must be integers in {self.action_space}; got {actions!r}") from None
        td_update(self.table.values.reshape(-1), indices, targets, learning_rate)

    def _current_value(self, name: str) -> float:
        """Returns the value of a hyperparameter at this point of the training run."""
        value = getattr(self, name)
        return _checked_schedule(name, value(self.progress_remaining)) if callable(value) else value

    def _legal_values(self, observations: Any, action_masks: Any) -> NDArray[np.float64]:
        """Returns the Q-values at ``n`` observations, shape ``(n_actions, n)``, very low for illegal actions."""
        values = self.table.values.take(self.table.rows(observations, add=False), axis=0)
        if action_masks is not None:
            values += np.multiply(np.asarray(action_masks) == 0, ILLEGAL_PENALTY)
        return np.ascontiguousarray(values.T)  # NumPy is faster along long rows


def _checked_schedule(name: str, value: Any) -> Any:
    """Checks a hyperparameter. Returns a function unchanged, and a number from 0 to 1 as a float.

    Raises TypeError or ValueError for anything else.
    """
    if callable(value):
        return value
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, or a function that returns one; got {value!r}")
    if not 0 <= float(value) <= 1:
        raise ValueError(f"{name} must be between 0 and 1; got {value!r}")
    return float(value)


def td_update(
    values: NDArray[np.float64], indices: NDArray[np.intp], targets: NDArray[np.float64], learning_rate: float
) -> None:
    """Updates ``values`` in place: moves the value v at each of ``indices`` to its target t by v ← v + α (t − v).

    If an index occurs several times, its updates follow one another. After k updates, with targets t₁ … t_k, the
    value is (1 − α)ᵏ v + Σ α (1 − α)ᵏ⁻ⁱ tᵢ. This sum is computed at once.
    """
    if learning_rate == 1.0 or not indices.size:
        values[indices] = targets  # if an index occurs several times, its last target stays
        return
    n = len(indices)
    # NumPy sorts integers of up to 16 bits by radix, which is several times faster than sorting wider ones
    order = indices.astype(np.min_scalar_type(values.size)).argsort(kind="stable")
    indices = indices.take(order)
    edges = np.concatenate([[0], np.flatnonzero(indices[1:] != indices[:-1]) + 1, [n]])
    first = edges[:-1]  # where the updates of each index begin
    counts = edges[1:] - first
    n_later = edges[1:].repeat(counts) - np.arange(1, n + 1)  # how many updates of the same index follow each one
    powers, weights = _powers(learning_rate, 1 << n.bit_length())
    new = weights.take(n_later) * targets.take(order)
    updated = indices.take(first)
    values[updated] = powers.take(counts) * values.take(updated) + np.add.reduceat(new, first)


@lru_cache(maxsize=1)
def _powers(learning_rate: float, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns two arrays for the learning rate α: (1 - α)ᵏ and α (1 - α)ᵏ, with k from 0 to n - 1.

    They are computed as products, which are the same on every processor, unlike the results of ``**``.
    """
    factors = np.full(n, 1.0 - learning_rate)
    factors[0] = 1.0
    powers = factors.cumprod()
    return powers, learning_rate * powers


def uniform_choice(choices: NDArray[np.bool_], uniforms: NDArray[np.float64]) -> NDArray[np.intp]:
    """Draws one column uniformly in each row of ``choices``, among the columns that are True.

    ``choices`` has the shape ``(n, n_actions)``, and ``uniforms`` holds one random number in [0, 1) for each row.
    Raises ValueError if a row has no True.
    """
    # a product is faster than a sum on large batches
    counts = (choices @ np.ones(choices.shape[1], np.float32)).astype(np.intp)
    if np.count_nonzero(counts) < len(counts):
        raise ValueError("action_mask must allow at least one action in each row; one row is all zeros")
    nth = counts.cumsum()
    nth -= counts  # the number of choices in the rows above
    nth += (uniforms * counts).astype(np.intp)
    columns = choices.reshape(-1).nonzero()[0].take(nth)
    columns -= np.arange(0, choices.size, choices.shape[1])
    return columns
