"""A *case* is a learner under some assumptions. This module computes the targets that equations give its values.

The values come first. Then come the moves of both players, which decide what the next position is, and last the
targets of Bellman's equation and of each bug.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nim_env.evaluation.diagnosis.assumptions import Assumptions
from nim_env.evaluation.diagnosis.equations import Bootstrap, Equation, buggy_equations
from nim_env.evaluation.diagnosis.learner import Bools, Floats, Learner, Pairs
from nim_env.evaluation.diagnosis.thresholds import EXPLORATIONS


class Target(NamedTuple):
    """What an equation says about the value of each legal action: four arrays of shape ``(P,)``.

    Attributes:
        mean: The mean of the samples that a value is moved toward.
        deviation: The standard deviation of one sample.
        low: The lower end of the range in which a value stays on its way from the initial value to its samples.
        high: The upper end of the same range.
    """

    mean: Floats
    deviation: Floats
    low: Floats
    high: Floats


class Bug(NamedTuple):
    """A known bug: its name, its equation, and a target of this equation, by move or by own turn."""

    name: str
    equation: Equation
    target: Target


@dataclass(frozen=True, eq=False)
class Case:
    """A learner under some assumptions. All values and targets are in units of the larger reward.

    There are N judged positions, and P legal actions in all of them together. Arrays of shape ``(N,)`` have an
    entry for each position, arrays of shape ``(P,)`` for each legal action.

    Attributes:
        learner: The learner.
        assumptions: What is assumed about it.
    """

    learner: Learner
    assumptions: Assumptions

    @property
    def pairs(self) -> Pairs:
        """The legal actions whose values are judged, each paired with its position."""
        return self.learner.pairs

    @cached_property
    def scaled(self) -> Assumptions:
        """The assumptions in units of the larger reward."""
        return self.assumptions.in_units()

    # The values, and which of them have been trained

    @cached_property
    def _table(self) -> Floats:
        """The values of all actions, including illegal ones, float64 of shape ``(N, n_actions)``."""
        return self.learner.action_values(self.assumptions) / self.assumptions.unit

    @cached_property
    def values(self) -> Floats:
        """The value of each legal action, float64 of shape ``(P,)``."""
        return self._table[self.pairs.legal]

    @cached_property
    def _maximum(self) -> Floats:
        """The largest value in each position, float64 of shape ``(N,)``."""
        return self.pairs.maxima(self.values)

    @cached_property
    def last_moves(self) -> Floats:
        """The values of the actions that take the last object."""
        return self.values[self.pairs.is_last]

    @cached_property
    def is_greedy(self) -> Bools:
        """Whether each legal action has the largest value in its position, bool of shape ``(P,)``."""
        return self.values == self._maximum[self.pairs.row]

    @cached_property
    def is_trained(self) -> Bools:
        """Whether each value is trained, that is, differs from the initial one. Bool of shape ``(P,)``."""
        return self.values != self.scaled.initial

    @cached_property
    def must_be_trained(self) -> Bools:
        """Whether each value is trained, or must have been updated although it still equals the initial one.

        It must have been updated if another value in its position is trained, and if all values in the next
        position are. Bool of shape ``(P,)``.
        """
        is_complete = self._n_trained == self.pairs.n_legal
        # row 0 is the empty position: last moves must have been updated if all of them have the initial value
        is_complete[0] = not self.is_trained[self.pairs.is_last].any()
        return self.is_trained | (is_complete[self.pairs.next_row] & self._is_visited)

    @cached_property
    def may_be_trained(self) -> Bools:
        """Whether each value is trained or counts as possibly trained, bool of shape ``(P,)``.

        A value that still equals the initial one counts if the initial value equals a reward, since an update can
        then leave it there, and if another value in its position is trained.
        """
        is_reward = self.scaled.initial in (self.scaled.win, self.scaled.loss)
        return self.is_trained | (self._is_visited & is_reward)

    @cached_property
    def _n_trained(self) -> Floats:
        """The number of trained values in each position, shape ``(N,)``."""
        return self.pairs.sums(self.is_trained)

    @property
    def _is_visited(self) -> Bools:
        """Whether any value in the position of each legal action is trained, bool of shape ``(P,)``."""
        return (self._n_trained > 0)[self.pairs.row]

    # The moves of both players, which decide what the next position is

    @cached_property
    def exploration(self) -> float:
        """The learner's probability of a random move, fitted to its values. It is 0 if its policy was given."""
        return 0.0 if self.learner.behavior is not None else min(EXPLORATIONS, key=self._misfit)

    @cached_property
    def own_moves(self) -> Floats:
        """The probability with which the learner itself plays each legal action, float64 of shape ``(P,)``."""
        behavior = self.learner.behavior
        return self._epsilon_greedy(self.exploration) if behavior is None else behavior

    def _replies(self, own_moves: Floats) -> Floats:
        """Returns the probability that each legal action is played in reply to the learner, shape ``(P,)``.

        In self-play these are ``own_moves``, otherwise the probabilities of the opponent.
        """
        return own_moves if self.learner.opponent is None else self.learner.opponent

    def _epsilon_greedy(self, exploration: float) -> Floats:
        """Returns the probability of each move in ε-greedy play, shape ``(P,)``. ``exploration`` is ε."""
        n_best = self.pairs.sums(self.is_greedy).clip(1)[self.pairs.row]
        return (1 - exploration) * self.is_greedy / n_best + exploration / self.pairs.n_legal[self.pairs.row]

    def _misfit(self, exploration: float) -> float:
        """Returns how badly the trained values fit Bellman's equation if the learner explores this often.

        It is the sum of their absolute distances from the targets by own turn. ``exploration`` is the probability
        of a random move.
        """
        own_moves = self._epsilon_greedy(exploration)
        of_rows = self._means(own_moves) if self.assumptions.on_policy else self._maximum
        samples = self.pairs.after(self.bellman.other_player, self.learner.discount * of_rows)
        targets = self.pairs.after(self.bellman.last_mover, self.pairs.sums(self._replies(own_moves) * samples))
        return float(np.abs(self.values - targets)[self.is_trained].sum())

    def _means(self, policy: Floats) -> Floats:
        """Returns the mean value of each position, shape ``(N,)``, over the moves of a policy, shape ``(P,)``.

        If the probabilities in a position sum to less than 1, the rest is the probability of an illegal action,
        which loses.
        """
        means = self.pairs.sums(policy * self.values) + (1 - self.pairs.sums(policy)) * self.scaled.loss
        means[0] = 0
        return means

    # The targets of the equations

    @cached_property
    def bellman(self) -> Equation:
        """Bellman's equation for this learner."""
        return self.scaled.bellman(self.pairs.rules)

    @cached_property
    def targets(self) -> list[Target]:
        """The targets of Bellman's equation."""
        return self.targets_of(self.bellman)

    @cached_property
    def bugs(self) -> list[Bug]:
        """All known bugs, one entry for each target of the bug's equation.

        A bug is left out if it does not change Bellman's equation for this learner.
        """
        equations = buggy_equations(self.bellman, self.scaled.initial_or_0)
        return [
            Bug(name, equation, target)
            for equation, name in equations.items()
            if equation != self.bellman
            for target in self.targets_of(equation)
        ]

    def targets_of(self, equation: Equation) -> list[Target]:
        """Returns the targets of an equation.

        In self-play there are two, first by move and then by own turn. Otherwise there is only the one by own
        turn.
        """
        by_turn = self._by_turn(equation)
        return [self._by_move(equation), by_turn] if self.learner.is_self_play else [by_turn]

    def _by_move(self, equation: Equation) -> Target:
        """Returns the target by move, which is computed from the other player's values of the next position.

        In every game the returns of the two players add up to the reward of a win plus the reward of a loss. So a
        player's future is this sum minus the future of the other player.
        """
        sum_of_returns = abs(equation.sign) * (self.scaled.win + self.scaled.loss)

        def future(bootstrap: Any) -> Any:
            return self.learner.discount * (sum_of_returns - equation.sign * bootstrap)

        samples = self.pairs.after(equation.last_mover, future(self._bootstraps[equation.bootstrap]))
        target = Target(samples, np.zeros(len(samples)), samples, samples)
        return self._with_values_on_the_way(target, equation, future(self._first_bootstrap(equation.bootstrap)))

    def _by_turn(self, equation: Equation) -> Target:
        """Returns the target by own turn, which is computed from the player's own values after a reply."""
        pairs, replies = self.pairs, self._replies(self.own_moves)
        factor = self.learner.discount * equation.sign
        samples = pairs.after(equation.other_player, factor * self._bootstraps[equation.bootstrap])
        mean = pairs.sums(replies * samples)
        deviation = np.sqrt((pairs.sums(replies * samples**2) - mean**2).clip(0))
        low, high = self._range_over_replies(replies, samples)
        mean, low, high = (pairs.after(equation.last_mover, of_rows) for of_rows in (mean, low, high))
        target = Target(mean, pairs.after(0.0, deviation), low, high)
        return self._with_values_on_the_way(target, equation, factor * self._first_bootstrap(equation.bootstrap))

    def _range_over_replies(self, replies: Floats, samples: Floats) -> tuple[Floats, Floats]:
        """Returns the smallest and the largest sample in each position, both of shape ``(N,)``.

        Both arguments have an entry for each reply, shape ``(P,)``: its probability, and the sample toward which
        the learner's value moves after it. Only replies with a positive probability count. In self-play every
        reply counts, since it can have been played at some time. Every reply also counts for on-policy learners,
        whose ranges are only approximate. The initial value counts as a sample too.
        """
        low, high = np.full((2, len(self.pairs.indices)), self.scaled.initial_or_0)
        is_possible = (replies > 0) | self.learner.is_self_play | self.assumptions.on_policy
        np.minimum.at(low, self.pairs.row[is_possible], samples[is_possible])
        np.maximum.at(high, self.pairs.row[is_possible], samples[is_possible])
        return low, high

    @cached_property
    def _bootstraps(self) -> dict[Bootstrap, Floats]:
        """For each bootstrap, its result in each position, float64 of shape ``(N,)``. It is 0 in the empty one."""
        bootstraps: dict[Bootstrap, Floats] = {
            "maximum": self._maximum,
            "maximum from 0": self._maximum.clip(0),
            "maximum over all": np.append(0, np.fmax.reduce(self._table[1:], axis=1)),
            "minimum": -self.pairs.maxima(-self.values),
            "mean": self.pairs.sums(self.values) / self.pairs.n_legal,
        }
        if self.assumptions.on_policy:
            bootstraps["own policy"] = self._means(self.own_moves)
        return bootstraps

    def _first_bootstrap(self, bootstrap: Bootstrap) -> float:
        """Returns the result of a bootstrap in a position in which every value is still the initial one."""
        initial = self.scaled.initial_or_0
        return max(initial, 0.0) if bootstrap == "maximum from 0" else initial

    def _with_values_on_the_way(self, target: Target, equation: Equation, first_target: float) -> Target:
        """Widens the range of a target by the values that a learner can have on its way to the target.

        Every value starts at the initial value. As long as the values of the next position are initial too, it
        moves toward ``first_target``. If ``first_target`` equals the initial value, or if the equation has no
        future, it moves straight from the initial value to its samples. Otherwise, and always for an on-policy
        learner, it can reach any return on the way. The value of a last move has only one target, so it always
        moves straight from the initial value to this target, unless the initial value is not known.
        docs/how_the_diagnosis_works.md gives the reasons.
        """
        scaled, initial, sign = self.scaled, self.scaled.initial_or_0, equation.sign
        returns = [0.0, scaled.win, scaled.loss, sign * scaled.win, sign * scaled.loss]
        is_known = scaled.initial is not None
        goes_straight = is_known and not self.assumptions.on_policy and (first_target == initial or sign == 0)
        of_last_moves = [initial] if is_known else returns
        of_others = [initial] if goes_straight else [initial, first_target, *returns]
        least, most = (np.where(self.pairs.is_last, end(of_last_moves), end(of_others)) for end in (min, max))
        return target._replace(low=np.minimum(target.low, least), high=np.maximum(target.high, most))
