"""Equations that values can satisfy, and the targets that an equation makes of a player's own next values.

A learner moves each value toward a target that follows from its values of the next positions. Let s' be the
position after action a in position s, m the reward of the player who takes the last object, o the reward of the
other player, and γ the discount. For the last move of a game, Q(s, a) = m. For all other moves the equation
depends on the learner:

- By move, a learner looks at the next move of the other player: Q(s, a) = -γ max Q(s', b) (Littman 1994, "Markov
  games as a framework for multi-agent reinforcement learning").
- By own turn, it waits for a reply b, which leads to s''. Q(s, a) is a mean over the replies: o for a reply that
  ends the game, and γ max Q(s'', c) for all others (Watkins 1989; Sutton and Barto 2018, equation 6.8).
- On-policy, it takes the mean over its own policy instead of the maximum (Sutton and Barto 2018, equation 6.9).

All three are called Bellman's equation here. A bug changes one part of it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nim_env.evaluation.learner import Floats, Learner, Reading, probabilities

MAX_POSITIONS = 50_000
"""The number of positions that are judged. Larger games are judged by the positions with the fewest objects, whose
values are learned first."""

EXPLORATIONS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
"""The probabilities of a random move that are tried for a player who otherwise plays its best move (ε-greedy)."""


class Equation(NamedTuple):
    """One way to compute a target.

    Attributes:
        mover: The reward of the player who takes the last object.
        other: The reward of the other player.
        future: What is taken of the values of the next position: a key of :attr:`Case.futures`.
        sign: The factor of the future. By move, Bellman's equation has a minus sign in addition.
    """

    mover: float
    other: float
    future: str = "best"
    sign: float = 1.0


class Target(NamedTuple):
    """What an equation says about each value: arrays of shape ``(P,)``, for P legal pairs.

    Attributes:
        mean: The mean of the samples that a value is moved to.
        deviation: The standard deviation of one sample.
        low: The lower end of the reach. On its way from the initial value to its samples, a value stays within it.
        high: The upper end of the reach.
    """

    mean: Floats
    deviation: Floats
    low: Floats
    high: Floats


class Bug(NamedTuple):
    """A bug of the list: its name, its equation, and one of the targets of this equation."""

    name: str
    equation: Equation
    target: Target


def buggy_equations(bellman: Equation, start: float) -> dict[Equation, str]:
    """Returns what each bug makes of Bellman's equation, with the name of the bug.

    A learner that drops a reward learns 0 instead, or it makes no update and the value stays at ``start``. The
    opponent's reward is the other of the two rewards, or minus the own one.
    """
    mover, other = bellman[:2]
    return {
        bellman._replace(mover=other, other=mover): "opponent's reward",
        bellman._replace(mover=-mover, other=-other): "opponent's reward",
        bellman._replace(sign=-1.0): "no minus sign",
        bellman._replace(sign=0.0): "no future",
        bellman._replace(mover=0.0): "last mover's reward dropped",
        bellman._replace(mover=start): "last mover's reward dropped",
        bellman._replace(other=0.0): "other player's reward dropped",
        bellman._replace(other=start): "other player's reward dropped",
        bellman._replace(future="best from 0"): "maximum that starts from 0",
        bellman._replace(future="best of all"): "maximum over illegal actions",
        bellman._replace(future="worst"): "minimum in place of the maximum",
        bellman._replace(future="mean"): "mean in place of the maximum",
    }


class Case:
    """A learner under one reading: its values, and the targets that equations make of them.

    All values and rewards are divided by ``unit``, the larger reward, so no return exceeds 1. The arrays have
    an entry for each of the P legal pairs of a position and an action, or for each of the N positions.

    Args:
        learner: The learner.
        reading: What is assumed about it.
        earlier: The values of the same training at an earlier time, in the shape of ``learner.given``, or None.
    """

    def __init__(self, learner: Learner, reading: Reading, earlier: Floats | None = None) -> None:
        self.learner = learner
        self.rules = learner.rules
        self.reading = reading
        self.earlier = earlier
        self.discount = learner.discount
        self.is_self_play = learner.opponent is None
        self.unit = max(abs(reading.win), abs(reading.loss))
        self.win = reading.win / self.unit
        self.loss = reading.loss / self.unit
        self.start = None if reading.initial is None else reading.initial / self.unit  # None if it is not known
        mover, other = (self.loss, self.win) if self.rules.misere else (self.win, self.loss)
        self.bellman = Equation(mover, other, "best" if reading.on_policy is False else "own")
        kept = learner.heaps.sum(axis=1).argsort(kind="stable")[:MAX_POSITIONS]
        table = learner.table(reading)[kept] / self.unit
        legal = learner.legal[kept]
        self.n_positions = len(kept)
        self.position, self.action = legal.nonzero()  # the row of its position in this case, and its action: (P,)
        row = np.zeros(self.rules.n_positions, dtype=np.intp)
        row[kept] = np.arange(len(kept))
        self.after = row[learner.after[kept][legal]]  # the row of the next position: (P,)
        self.is_last = self.after == 0  # whether the pair takes the last object: (P,)
        self.heaps = learner.heaps[kept][self.position]  # (P, n_heaps)
        self.objects = self.heaps.sum(axis=1)  # (P,)
        self.value = table[legal]  # (P,)
        self.n_actions = legal.sum(axis=1).clip(1)  # (N,)
        best = np.where(legal, table, -np.inf).max(axis=1)
        worst = np.where(legal, table, np.inf).min(axis=1)
        best[0] = worst[0] = 0  # the empty position
        self.is_greedy = self.value == best[self.position]  # whether it is the best of its position: (P,)
        self.futures = {  # what equations take of the values of each position: (N,)
            "best": best,
            "best from 0": best.clip(0),
            "best of all": np.append(0, np.fmax.reduce(table[1:], axis=1)),
            "worst": worst,
            "mean": self.sums(self.value) / self.n_actions,
        }
        self._find_trained()
        self._fit_moves(kept, legal)
        self.draws_replies = bool(not self.is_self_play and ((self.replies > 0) & (self.replies < 1)).any())

    def _find_trained(self) -> None:
        """Finds out which values have been trained, as far as their distance from the initial value shows it."""
        self.is_trained = self.value != self.start  # (P,)
        n_trained = self.sums(self.is_trained)
        is_visited = n_trained > 0
        is_complete = n_trained == self.n_actions
        is_complete[0] = not self.is_trained[self.is_last].any()
        # a value at its start was learned too if the other values of its position moved and all next ones did
        self.is_known = self.is_trained | (is_complete[self.after] & is_visited[self.position])
        self.may_be_trained = self.is_trained  # and values whose training may have left them at the start
        if self.start in (self.win, self.loss):
            self.may_be_trained = self.is_trained | is_visited[self.position]

    def _fit_moves(self, kept: NDArray[np.intp], legal: NDArray[np.bool_]) -> None:
        """Finds the moves of the learner, if its equation needs them, and the replies of the other player."""
        on_policy = self.reading.on_policy
        self.replies = self.learner.replies[kept][legal]  # the probability of each pair as a reply: (P,)
        self.exploration: float | None = None  # the fitted probability of a random move
        if not self.is_self_play and on_policy is False:
            return
        if isinstance(on_policy, bool):
            self.exploration = min(EXPLORATIONS, key=lambda share: self._misfit(self._moves(share)))
            own_moves = self._moves(self.exploration)
        else:
            self.exploration = 0.0
            own_moves = probabilities(self.rules, on_policy)[kept][legal]
        self.futures["own"] = self._mean_value(own_moves)
        if self.is_self_play:
            self.replies = own_moves

    def _moves(self, exploration: float) -> Floats:
        """The probability of each pair if the player explores this often and otherwise plays a best move."""
        n_best = self.sums(self.is_greedy).clip(1)[self.position]
        return (1 - exploration) * self.is_greedy / n_best + exploration / self.n_actions[self.position]

    def _mean_value(self, own_moves: Floats) -> Floats:
        """The mean value of each position for a player who makes these moves; an illegal action loses: (N,)."""
        illegal = 1 - self.sums(own_moves)
        values = self.sums(own_moves * self.value) + illegal * self.loss
        values[0] = 0
        return values

    def _misfit(self, own_moves: Floats) -> float:
        """The distance of the trained values from Bellman's targets by turn, if the player makes these moves."""
        future = self._mean_value(own_moves) if self.bellman.future == "own" else self.futures["best"]
        samples = self._samples_of_replies(self.bellman, future)
        after_move = self.sums((own_moves if self.is_self_play else self.replies) * samples)
        targets = np.where(self.is_last, self.bellman.mover, after_move[self.after])
        return float(np.abs(self.value - targets)[self.is_trained].sum())

    @cached_property
    def targets(self) -> list[Target]:
        """The targets of Bellman's equation."""
        return self.targets_of(self.bellman)

    @cached_property
    def bugs(self) -> list[Bug]:
        """Each bug with each target of its equation, without those that leave the equation unchanged."""
        equations = buggy_equations(self.bellman, self.start or 0.0)
        return [
            Bug(name, equation, target)
            for equation, name in equations.items()
            if equation != self.bellman
            for target in self.targets_of(equation)
        ]

    def sums(self, of_pairs: NDArray[Any]) -> Floats:
        """Returns the sums over the actions of each position: shape ``(P,)`` in, ``(N,)`` out."""
        return np.bincount(self.position, of_pairs, self.n_positions).astype(np.float64)

    def targets_of(self, equation: Equation) -> list[Target]:
        """Returns the target by own turn, and in self-play before it the target by move."""
        by_turn = self._by_turn(equation)
        return [self._by_move(equation), by_turn] if self.is_self_play else [by_turn]

    def _by_move(self, equation: Equation) -> Target:
        """The target from the other player's next values. The rewards of both players have the same sum."""
        both = abs(equation.sign) * (self.win + self.loss)
        future = self.discount * (both - equation.sign * self.futures[equation.future])
        samples = np.where(self.is_last, equation.mover, future[self.after])
        first = self.discount * (both - equation.sign * self._first_future(equation))
        return self._target(equation, first, samples, np.zeros(len(samples)), samples, samples)

    def _by_turn(self, equation: Equation) -> Target:
        """The target from the player's own next values, after a reply."""
        samples = self._samples_of_replies(equation, self.futures[equation.future])
        low, high = np.full((2, self.n_positions), self.start or 0.0)
        is_possible = (self.replies > 0) | (self.exploration is not None)  # in self-play any, at some time
        np.minimum.at(low, self.position[is_possible], samples[is_possible])
        np.maximum.at(high, self.position[is_possible], samples[is_possible])
        mean = self.sums(self.replies * samples)
        deviation = np.sqrt((self.sums(self.replies * samples**2) - mean**2).clip(0))

        def of_pairs(at_end: float, after_move: Floats) -> Floats:
            return np.where(self.is_last, at_end, after_move[self.after])

        return self._target(
            equation,
            self.discount * (equation.sign * self._first_future(equation)),
            of_pairs(equation.mover, mean),
            of_pairs(0.0, deviation),
            of_pairs(equation.mover, low),
            of_pairs(equation.mover, high),
        )

    def _samples_of_replies(self, equation: Equation, future: Floats) -> Floats:
        """The sample that a learner gets if the other player replies with a pair, for each pair: (P,)."""
        later = self.discount * equation.sign * future
        return np.where(self.is_last, equation.other, later[self.after])

    def _first_future(self, equation: Equation) -> float:
        """What an equation takes of a position whose values are all initial ones."""
        start = self.start or 0.0
        return max(start, 0.0) if equation.future == "best from 0" else start

    def _target(
        self, equation: Equation, first: float, mean: Floats, deviation: Floats, low: Floats, high: Floats
    ) -> Target:
        """Adds to the reach of a target what a value can be on its way; ``first`` is its target at the start."""
        start = self.start or 0.0
        is_theorem = self.start is not None and self.reading.on_policy is False
        is_exact = is_theorem and (first == start or equation.sign == 0)  # else any return may come on the way
        any_return = [0.0, self.win, self.loss, equation.sign * self.win, equation.sign * self.loss]
        on_the_way = [start] if is_exact else [start, first, *any_return]
        at_end = any_return if self.start is None else [start]
        least, most = (np.where(self.is_last, limit(at_end), limit(on_the_way)) for limit in (min, max))
        return Target(mean, deviation, np.minimum(low, least), np.maximum(high, most))
