"""What the values of a learner show under one reading, before any equation is tested.

Each class is computed by one function from what came before: first the values, and then the moves of both players.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nim_env.evaluation.diagnosis.equations import Bootstrap
from nim_env.evaluation.diagnosis.learner import Learner, Reading
from nim_env.evaluation.diagnosis.pairs import Bools, Floats, Pairs
from nim_env.evaluation.diagnosis.thresholds import EXPLORATIONS


@dataclass(frozen=True, eq=False)
class LearnedValues:
    """The values of P pairs in N rows, and which of them have been trained.

    Attributes:
        pairs: The pairs.
        values: The value of each pair in units of the larger reward, float64 of shape ``(P,)``.
        bootstraps: What equations take of the values of each row, by the name of the bootstrap: float64 of shape
            ``(N,)``, 0 for the empty position.
        is_greedy: Whether each pair has the largest value of its row, bool of shape ``(P,)``.
        is_trained: Whether each value differs from the initial one, bool of shape ``(P,)``.
        must_be_trained: The trained values, and values at the initial one that must have been learned as well,
            since the other values of their row have moved and all values of the next row have.
        may_be_trained: The trained values, and values that training may have left at the initial one.
    """

    pairs: Pairs
    values: Floats
    bootstraps: dict[Bootstrap, Floats]
    is_greedy: Bools
    is_trained: Bools
    must_be_trained: Bools
    may_be_trained: Bools

    def epsilon_greedy(self, exploration: float) -> Floats:
        """Returns the probability of each pair for a player who explores this often and else plays a best move."""
        n_best = self.pairs.sums(self.is_greedy).clip(1)[self.pairs.row]
        return (1 - exploration) * self.is_greedy / n_best + exploration / self.pairs.n_legal[self.pairs.row]

    def means(self, policy: Floats, loss: float) -> Floats:
        """Returns the mean value of each row under a policy, shape ``(P,)`` in, ``(N,)`` out.

        An illegal action loses. The policy makes one with the probability that is missing from a sum of 1.
        """
        means = self.pairs.sums(policy * self.values) + (1 - self.pairs.sums(policy)) * loss
        means[0] = 0
        return means


@dataclass(frozen=True, eq=False)
class Moves:
    """The moves that decide which values come next: the replies of the other player, and the learner's own moves.

    Attributes:
        replies: The probability of each pair as a reply of the other player, float64 of shape ``(P,)``. In
            self-play these are the learner's own moves.
        own_values: The mean value of each row under the learner's own moves, float64 of shape ``(N,)``. None if
            its equation does not need its own moves.
        exploration: The probability of a random move of the learner that fits its values best. 0 if its policy was
            given, and None if its equation does not need its own moves.
        opponent_draws: Whether an opponent draws its replies; False in self-play.
    """

    replies: Floats
    own_values: Floats | None = None
    exploration: float | None = None
    opponent_draws: bool = False


def learned_values(learner: Learner, reading: Reading) -> LearnedValues:
    """Returns the values under a reading, and which of them have been trained.

    A value has been trained if it differs from the initial one. If the initial value is a reward, training can
    also have led a value there. Then all values of a row may have been trained if one of them has moved.
    """
    pairs, scaled = learner.pairs, reading.in_units()
    table = learner.action_values(reading) / reading.unit
    values = table[pairs.legal]
    bootstraps = _bootstraps(pairs, table, values)
    is_trained = values != scaled.initial
    n_trained = pairs.sums(is_trained)
    is_visited = (n_trained > 0)[pairs.row]
    is_complete = n_trained == pairs.n_legal
    is_complete[0] = not is_trained[pairs.is_last].any()
    return LearnedValues(
        pairs,
        values,
        bootstraps,
        is_greedy=values == bootstraps["maximum"][pairs.row],
        is_trained=is_trained,
        must_be_trained=is_trained | (is_complete[pairs.next_row] & is_visited),
        may_be_trained=is_trained | (is_visited & (scaled.initial in (scaled.win, scaled.loss))),
    )


def _bootstraps(pairs: Pairs, table: Floats, values: Floats) -> dict[Bootstrap, Floats]:
    """What equations take of the values of each row; the learner's own policy is not yet known."""
    maximum = pairs.maxima(values)
    return {
        "maximum": maximum,
        "maximum from 0": maximum.clip(0),
        "maximum over all": np.append(0, np.fmax.reduce(table[1:], axis=1)),
        "minimum": -pairs.maxima(-values),
        "mean": pairs.sums(values) / pairs.n_legal,
    }


def moves_of(learner: Learner, reading: Reading, learned: LearnedValues) -> Moves:
    """Returns the moves of both players, as they were given or as the learner's values show them."""
    opponent, own_moves, exploration = learner.opponent, learner.behavior, 0.0
    opponent_draws = opponent is not None and bool(((opponent > 0) & (opponent < 1)).any())
    if opponent is not None and not reading.on_policy:
        return Moves(opponent, opponent_draws=opponent_draws)
    if own_moves is None:
        exploration = min(EXPLORATIONS, key=lambda share: _misfit(learner, reading, learned, share))
        own_moves = learned.epsilon_greedy(exploration)
    own_values = learned.means(own_moves, reading.in_units().loss)
    return Moves(own_moves if opponent is None else opponent, own_values, exploration, opponent_draws)


def _misfit(learner: Learner, reading: Reading, learned: LearnedValues, exploration: float) -> float:
    """The distance of the trained values from Bellman's targets by turn, if the learner explores this often."""
    pairs, scaled = learner.pairs, reading.in_units()
    bellman, own_moves = scaled.bellman(pairs.rules), learned.epsilon_greedy(exploration)
    of_rows = learned.means(own_moves, scaled.loss) if reading.on_policy else learned.bootstraps["maximum"]
    samples = pairs.after(bellman.other_player, learner.discount * of_rows)
    after_move = pairs.sums((own_moves if learner.opponent is None else learner.opponent) * samples)
    targets = pairs.after(bellman.last_mover, after_move)
    return float(np.abs(learned.values - targets)[learned.is_trained].sum())
