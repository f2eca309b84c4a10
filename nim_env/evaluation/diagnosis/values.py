"""The values of a learner under one reading, arranged for the equations: legal pairs, next positions, replies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nim_env.evaluation.diagnosis.equations import Bootstrap, Equation
from nim_env.evaluation.diagnosis.learner import Floats, Learner, Reading, probabilities

MAX_POSITIONS = 50_000
"""The number of positions that are judged. Larger games are judged by the positions with the fewest objects, whose
values are learned first."""

EXPLORATIONS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
"""The probabilities of a random move that are tried for a player who otherwise plays its best move (ε-greedy)."""


class LearnedValues:
    """The values of a learner under one reading, and what follows from them before any equation is tested.

    There are N judged positions, in rows with the empty position first, and P legal pairs of a judged position and
    an action. All values and rewards are divided by ``reward_scale``, so no return exceeds 1.

    Args:
        learner: The learner.
        reading: What is assumed about it.

    Attributes:
        rules: The game.
        discount: The discount of the training.
        is_self_play: Whether the learner played both sides.
        reward_scale: The larger of the sizes of the two rewards.
        win: The reward of a win.
        loss: The reward of a loss.
        initial: The value of a pair that was never updated. None if it is not known, as for a network.
        bellman: Bellman's equation under the reading.
        n_positions: N.
        position: The row of the position of each pair, ``np.intp`` of shape ``(P,)``.
        action: The action of each pair, ``np.intp`` of shape ``(P,)``.
        next_position: The row of the position after each pair, ``np.intp`` of shape ``(P,)``.
        is_last: Whether each pair takes the last object, bool of shape ``(P,)``.
        heaps: The heap sizes before each pair, int64 of shape ``(P, n_heaps)``.
        n_objects: The number of objects before each pair, int64 of shape ``(P,)``.
        values: The value of each pair, float64 of shape ``(P,)``.
        is_greedy: Whether each pair has the largest value of its position, bool of shape ``(P,)``.
        is_trained: Whether each value differs from the initial one, bool of shape ``(P,)``.
        counts_as_trained: The trained values, and values at the initial one that must have been learned as well,
            since the other values of their position have moved and all values of the next one have.
        may_be_trained: The trained values, and values that training may have left at the initial one.
        n_legal: The number of legal actions in each position, at least 1, shape ``(N,)``.
        state_values: What equations take of the values of each position, by the name of the bootstrap: float64 of
            shape ``(N,)``, 0 in the empty position.
        replies: The probability of each pair as a reply of the other player, float64 of shape ``(P,)``. In
            self-play these are the learner's own moves.
        draws_replies: Whether the opponent draws its replies; False in self-play.
        exploration: The probability of a random move of the learner that fits its values best. 0 if its policy is
            known, and None if its equation does not need its own moves.
    """

    def __init__(self, learner: Learner, reading: Reading) -> None:
        self.learner = learner
        self.reading = reading
        self.rules = learner.rules
        self.discount = learner.discount
        self.is_self_play = learner.opponent is None
        self.reward_scale = max(abs(reading.win), abs(reading.loss))
        self.win = reading.win / self.reward_scale
        self.loss = reading.loss / self.reward_scale
        self.initial = None if reading.initial is None else reading.initial / self.reward_scale
        last_mover, other_player = (reward / self.reward_scale for reward in reading.last_rewards(self.rules))
        bootstrap: Bootstrap = "maximum" if reading.on_policy is False else "own policy"
        self.bellman = Equation(last_mover, other_player, bootstrap)
        self._judged = learner.heaps.sum(axis=1).argsort(kind="stable")[:MAX_POSITIONS]
        self._legal = learner.legal[self._judged]
        self.n_positions = len(self._judged)
        self.position, self.action = self._legal.nonzero()
        row = np.zeros(self.rules.n_positions, dtype=np.intp)
        row[self._judged] = np.arange(self.n_positions)
        self.next_position = row[self._of_pairs(learner.next_indices)]
        self.is_last = self.next_position == 0
        self.heaps = learner.heaps[self._judged][self.position]
        self.n_objects = self.heaps.sum(axis=1)
        self.n_legal = self._legal.sum(axis=1).clip(1)
        self._find_state_values(learner.action_values(reading)[self._judged] / self.reward_scale)
        self._find_trained()
        self.replies = self._of_pairs(learner.replies)
        self.draws_replies = bool(((self.replies > 0) & (self.replies < 1)).any())
        self.exploration: float | None = None
        if self.is_self_play or reading.on_policy is not False:
            self._find_own_moves()

    def _of_pairs(self, of_actions: NDArray[Any]) -> NDArray[Any]:
        """Selects the judged pairs from an array with all positions and actions."""
        return of_actions[self._judged][self._legal]

    def _find_state_values(self, table: Floats) -> None:
        """Finds the values of the pairs and of the positions in a table of shape ``(N, n_actions)``."""
        self.values = table[self._legal]
        maximum = np.where(self._legal, table, -np.inf).max(axis=1)
        minimum = np.where(self._legal, table, np.inf).min(axis=1)
        maximum[0] = minimum[0] = 0  # the empty position
        self.is_greedy = self.values == maximum[self.position]
        self.state_values: dict[Bootstrap, Floats] = {
            "maximum": maximum,
            "maximum from 0": maximum.clip(0),
            "maximum over all": np.append(0, np.fmax.reduce(table[1:], axis=1)),
            "minimum": minimum,
            "mean": self.sums(self.values) / self.n_legal,
        }

    def _find_trained(self) -> None:
        """Finds out which values have been trained, as far as their distance from the initial value shows it."""
        self.is_trained = self.values != self.initial
        n_trained = self.sums(self.is_trained)
        is_visited = n_trained > 0
        is_complete = n_trained == self.n_legal
        is_complete[0] = not self.is_trained[self.is_last].any()
        from_visited = is_visited[self.position]
        self.counts_as_trained = self.is_trained | (is_complete[self.next_position] & from_visited)
        self.may_be_trained = self.is_trained
        if self.initial in (self.win, self.loss):
            self.may_be_trained = self.is_trained | from_visited

    def _find_own_moves(self) -> None:
        """Finds the moves of the learner itself, which are also the replies in self-play."""
        on_policy = self.reading.on_policy
        if isinstance(on_policy, bool):
            self.exploration = min(EXPLORATIONS, key=lambda share: self._misfit(self._epsilon_greedy(share)))
            own_moves = self._epsilon_greedy(self.exploration)
        else:
            self.exploration = 0.0
            own_moves = self._of_pairs(probabilities(self.rules, on_policy))
        self.state_values["own policy"] = self._mean_value(own_moves)
        if self.is_self_play:
            self.replies = own_moves

    def _epsilon_greedy(self, exploration: float) -> Floats:
        """The probability of each pair if the player explores this often and otherwise plays a best move: (P,)."""
        n_best = self.sums(self.is_greedy).clip(1)[self.position]
        return (1 - exploration) * self.is_greedy / n_best + exploration / self.n_legal[self.position]

    def _mean_value(self, own_moves: Floats) -> Floats:
        """The mean value of each position for a player who makes these moves; an illegal action loses: (N,)."""
        illegal = 1 - self.sums(own_moves)
        values = self.sums(own_moves * self.values) + illegal * self.loss
        values[0] = 0
        return values

    def _misfit(self, own_moves: Floats) -> float:
        """The distance of the trained values from Bellman's targets by turn, if the player makes these moves."""
        is_own = self.bellman.bootstrap == "own policy"
        state_values = self._mean_value(own_moves) if is_own else self.state_values["maximum"]
        samples = self.samples_after_replies(self.bellman, state_values)
        after_move = self.sums((own_moves if self.is_self_play else self.replies) * samples)
        targets = np.where(self.is_last, self.bellman.last_mover, after_move[self.next_position])
        return float(np.abs(self.values - targets)[self.is_trained].sum())

    def sums(self, of_pairs: NDArray[Any]) -> Floats:
        """Returns the sums over the actions of each position: shape ``(P,)`` in, ``(N,)`` out."""
        return np.bincount(self.position, of_pairs, self.n_positions).astype(np.float64)

    def samples_after_replies(self, equation: Equation, state_values: Floats) -> Floats:
        """Returns the sample that the learner gets if each pair is the other player's reply, shape ``(P,)``."""
        later = self.discount * equation.sign * state_values
        return np.where(self.is_last, equation.other_player, later[self.next_position])
