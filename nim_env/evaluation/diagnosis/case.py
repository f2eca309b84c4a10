"""The case that is judged: a learner under some assumptions, and what equations say about its values.

The values come first, then the moves of both players, which decide which values come next, and last the targets of
Bellman's equation and of each bug.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nim_env.evaluation.diagnosis.assumptions import Assumptions
from nim_env.evaluation.diagnosis.equations import Bootstrap, Equation, buggy_equations
from nim_env.evaluation.diagnosis.learner import Bools, Floats, Learner, Pairs
from nim_env.evaluation.diagnosis.thresholds import EXPLORATIONS


class Target(NamedTuple):
    """What an equation says about each value: arrays of shape ``(P,)``, for P legal pairs.

    Attributes:
        mean: The mean of the samples that a value is moved to.
        deviation: The standard deviation of one sample.
        low: The lower end of the range in which a value stays on its way from the initial value to its samples.
        high: The upper end of this range.
    """

    mean: Floats
    deviation: Floats
    low: Floats
    high: Floats


class Bug(NamedTuple):
    """A known bug: its name, its equation, and one of the targets of this equation."""

    name: str
    equation: Equation
    target: Target


@dataclass(frozen=True, eq=False)
class Case:
    """A learner under some assumptions. All values and targets are in units of the larger reward.

    There are N rows, one for each judged position, and P pairs of a position and a legal action.

    Attributes:
        learner: The learner.
        assumptions: What is assumed about it.
    """

    learner: Learner
    assumptions: Assumptions

    @property
    def pairs(self) -> Pairs:
        """The pairs whose values are judged."""
        return self.learner.pairs

    @cached_property
    def scaled(self) -> Assumptions:
        """The assumptions in units of the larger reward."""
        return self.assumptions.in_units()

    # The values, and which of them have been trained

    @cached_property
    def _table(self) -> Floats:
        """The values of all actions, float64 of shape ``(N, n_actions)``."""
        return self.learner.action_values(self.assumptions) / self.assumptions.unit

    @cached_property
    def values(self) -> Floats:
        """The value of each pair, float64 of shape ``(P,)``."""
        return self._table[self.pairs.legal]

    @cached_property
    def _maximum(self) -> Floats:
        """The largest value of each row, float64 of shape ``(N,)``."""
        return self.pairs.maxima(self.values)

    @cached_property
    def last_moves(self) -> Floats:
        """The values of the pairs that take the last object."""
        return self.values[self.pairs.is_last]

    @cached_property
    def is_greedy(self) -> Bools:
        """Whether each pair has the largest value of its row, bool of shape ``(P,)``."""
        return self.values == self._maximum[self.pairs.row]

    @cached_property
    def is_trained(self) -> Bools:
        """Whether each value differs from the initial one, bool of shape ``(P,)``."""
        return self.values != self.scaled.initial

    @cached_property
    def must_be_trained(self) -> Bools:
        """The trained values, and values at the initial one that must have been learned as well.

        They must if other values of their row have moved, and all values of the next row have.
        """
        is_complete = self._n_trained == self.pairs.n_legal
        is_complete[0] = not self.is_trained[self.pairs.is_last].any()
        return self.is_trained | (is_complete[self.pairs.next_row] & self._is_visited)

    @cached_property
    def may_be_trained(self) -> Bools:
        """The trained values, and values that training may have left at the initial one or led back there.

        This is possible if the initial value is a reward, and if other values of the row have moved.
        """
        is_reward = self.scaled.initial in (self.scaled.win, self.scaled.loss)
        return self.is_trained | (self._is_visited & is_reward)

    @cached_property
    def _n_trained(self) -> Floats:
        """The number of trained values of each row, shape ``(N,)``."""
        return self.pairs.sums(self.is_trained)

    @property
    def _is_visited(self) -> Bools:
        """Whether a value of the same row has been trained, bool of shape ``(P,)``."""
        return (self._n_trained > 0)[self.pairs.row]

    # The moves of both players, which decide which values come next

    @cached_property
    def exploration(self) -> float:
        """The probability of a random move of the learner that fits its values best; 0 if its policy was given."""
        return 0.0 if self.learner.behavior is not None else min(EXPLORATIONS, key=self._misfit)

    @cached_property
    def own_moves(self) -> Floats:
        """The probability of each pair as a move of the learner itself, float64 of shape ``(P,)``."""
        behavior = self.learner.behavior
        return self._epsilon_greedy(self.exploration) if behavior is None else behavior

    @property
    def replies(self) -> Floats:
        """The probability of each pair as a reply, shape ``(P,)``. In self-play the learner replies to itself."""
        return self.own_moves if self.learner.opponent is None else self.learner.opponent

    def _epsilon_greedy(self, exploration: float) -> Floats:
        """Returns the probability of each pair for a player who explores this often and else plays a best move."""
        n_best = self.pairs.sums(self.is_greedy).clip(1)[self.pairs.row]
        return (1 - exploration) * self.is_greedy / n_best + exploration / self.pairs.n_legal[self.pairs.row]

    def _misfit(self, exploration: float) -> float:
        """Returns the distance of the trained values from Bellman's targets by turn, with this exploration."""
        own_moves = self._epsilon_greedy(exploration)
        replies = own_moves if self.learner.opponent is None else self.learner.opponent
        of_rows = self._means(own_moves) if self.assumptions.on_policy else self._maximum
        samples = self.pairs.after(self.bellman.other_player, self.learner.discount * of_rows)
        targets = self.pairs.after(self.bellman.last_mover, self.pairs.sums(replies * samples))
        return float(np.abs(self.values - targets)[self.is_trained].sum())

    def _means(self, policy: Floats) -> Floats:
        """Returns the mean value of each row under a policy, shape ``(P,)`` in, ``(N,)`` out.

        An illegal action loses. The policy makes one with the probability that is missing from a sum of 1.
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
        """Returns the target by own turn, and in self-play before it the target by move."""
        by_turn = self._by_turn(equation)
        return [self._by_move(equation), by_turn] if self.learner.is_self_play else [by_turn]

    def _by_move(self, equation: Equation) -> Target:
        """Returns the target from the other player's next values. Both players' rewards have the same sum."""
        both = abs(equation.sign) * (self.scaled.win + self.scaled.loss)
        discount = self.learner.discount
        future = discount * (both - equation.sign * self._bootstraps[equation.bootstrap])
        first = discount * (both - equation.sign * self._first_bootstrap(equation.bootstrap))
        samples = self.pairs.after(equation.last_mover, future)
        return self._with_path_from_initial(
            equation, first, Target(samples, np.zeros(len(samples)), samples, samples)
        )

    def _by_turn(self, equation: Equation) -> Target:
        """Returns the target from the player's own next values, after a reply."""
        pairs, replies = self.pairs, self.replies
        factor = self.learner.discount * equation.sign
        samples = pairs.after(equation.other_player, factor * self._bootstraps[equation.bootstrap])
        mean = pairs.sums(replies * samples)
        deviation = np.sqrt((pairs.sums(replies * samples**2) - mean**2).clip(0))
        low, high = self._range_over_replies(samples)
        at_end = equation.last_mover
        target = Target(
            pairs.after(at_end, mean),
            pairs.after(0.0, deviation),
            pairs.after(at_end, low),
            pairs.after(at_end, high),
        )
        return self._with_path_from_initial(equation, factor * self._first_bootstrap(equation.bootstrap), target)

    def _range_over_replies(self, samples: Floats) -> tuple[Floats, Floats]:
        """Returns the least and the largest sample after a possible reply, or the initial value if it is beyond.

        ``samples`` has an entry for each reply, shape ``(P,)``, and the results have the shape ``(N,)``. In
        self-play any reply came at some time. The ranges of on-policy learners are approximate, and as wide.
        """
        low, high = np.full((2, len(self.pairs.indices)), self.scaled.initial_or_0)
        is_possible = (self.replies > 0) | self.learner.is_self_play | self.assumptions.on_policy
        np.minimum.at(low, self.pairs.row[is_possible], samples[is_possible])
        np.maximum.at(high, self.pairs.row[is_possible], samples[is_possible])
        return low, high

    @cached_property
    def _bootstraps(self) -> dict[Bootstrap, Floats]:
        """What each bootstrap takes of the values of each row: float64 of shape ``(N,)``, 0 for the first row."""
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
        """Returns what a bootstrap takes of a position whose values are all initial ones."""
        initial = self.scaled.initial_or_0
        return max(initial, 0.0) if bootstrap == "maximum from 0" else initial

    def _with_path_from_initial(self, equation: Equation, first: float, target: Target) -> Target:
        """Widens the range of a target by the values on the path to it; ``first`` is the target at the start."""
        scaled, initial = self.scaled, self.scaled.initial_or_0
        is_theorem = scaled.initial is not None and not self.assumptions.on_policy
        is_exact = is_theorem and (first == initial or equation.sign == 0)  # else any return may come on the way
        any_return = [0.0, scaled.win, scaled.loss, equation.sign * scaled.win, equation.sign * scaled.loss]
        on_the_way = [initial] if is_exact else [initial, first, *any_return]
        at_end = any_return if scaled.initial is None else [initial]
        least, most = (np.where(self.pairs.is_last, limit(at_end), limit(on_the_way)) for limit in (min, max))
        return target._replace(low=np.minimum(target.low, least), high=np.maximum(target.high, most))
