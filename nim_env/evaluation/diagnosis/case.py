"""The case that is judged: a learner under one reading, with the targets of Bellman's equation and of each bug."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nim_env.evaluation.diagnosis.equations import Bootstrap, Equation, buggy_equations
from nim_env.evaluation.diagnosis.learner import Learner, Reading
from nim_env.evaluation.diagnosis.pairs import Floats, Pairs
from nim_env.evaluation.diagnosis.values import LearnedValues, Moves, learned_values, moves_of


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
    """A bug of the list: its name, its equation, and one of the targets of this equation."""

    name: str
    equation: Equation
    target: Target


@dataclass(frozen=True, eq=False)
class Case:
    """A learner under one reading, with what its values show, and the targets that equations make of them.

    Attributes:
        learner: The learner.
        reading: What is assumed about it.
        learned: The values, and which of them have been trained.
        moves: The moves of both players.
    """

    learner: Learner
    reading: Reading
    learned: LearnedValues
    moves: Moves

    @property
    def pairs(self) -> Pairs:
        """The pairs whose values are judged."""
        return self.learner.pairs

    @cached_property
    def scaled(self) -> Reading:
        """The reading in units of its larger reward, in which all values and targets of the case are."""
        return self.reading.in_units()

    @cached_property
    def bellman(self) -> Equation:
        """Bellman's equation for this learner."""
        return self.scaled.bellman(self.pairs.rules)

    @cached_property
    def last_moves(self) -> Floats:
        """The values of the pairs that take the last object."""
        return self.learned.values[self.pairs.is_last]

    @cached_property
    def targets(self) -> list[Target]:
        """The targets of Bellman's equation."""
        return self.targets_of(self.bellman)

    @cached_property
    def bugs(self) -> list[Bug]:
        """All bugs of the list, one entry for each target of the bug's equation.

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
        """The target from the other player's next values. The rewards of both players have the same sum."""
        both = abs(equation.sign) * (self.scaled.win + self.scaled.loss)
        discount = self.learner.discount
        future = discount * (both - equation.sign * self._bootstrap_values(equation.bootstrap))
        first = discount * (both - equation.sign * self._first_bootstrap(equation.bootstrap))
        samples = self.pairs.after(equation.last_mover, future)
        return self._with_way_there(equation, first, Target(samples, np.zeros(len(samples)), samples, samples))

    def _by_turn(self, equation: Equation) -> Target:
        """The target from the player's own next values, after a reply."""
        pairs, replies = self.pairs, self.moves.replies
        factor = self.learner.discount * equation.sign
        samples = pairs.after(equation.other_player, factor * self._bootstrap_values(equation.bootstrap))
        mean = pairs.sums(replies * samples)
        deviation = np.sqrt((pairs.sums(replies * samples**2) - mean**2).clip(0))
        low, high = np.full((2, len(mean)), self.scaled.initial_or_0)
        # In self-play any reply came at some time. The ranges of on-policy learners are a rule, and as wide.
        is_possible = (replies > 0) | self.learner.is_self_play | self.reading.on_policy
        np.minimum.at(low, pairs.row[is_possible], samples[is_possible])
        np.maximum.at(high, pairs.row[is_possible], samples[is_possible])
        at_end = equation.last_mover
        target = Target(
            pairs.after(at_end, mean),
            pairs.after(0.0, deviation),
            pairs.after(at_end, low),
            pairs.after(at_end, high),
        )
        return self._with_way_there(equation, factor * self._first_bootstrap(equation.bootstrap), target)

    def _bootstrap_values(self, bootstrap: Bootstrap) -> Floats:
        """What a bootstrap takes of the values of each row, float64 of shape ``(N,)``."""
        if bootstrap == "own policy" and self.moves.own_values is not None:
            return self.moves.own_values
        return self.learned.bootstraps[bootstrap]

    def _first_bootstrap(self, bootstrap: Bootstrap) -> float:
        """What a bootstrap takes of a position whose values are all initial ones."""
        initial = self.scaled.initial_or_0
        return max(initial, 0.0) if bootstrap == "maximum from 0" else initial

    def _with_way_there(self, equation: Equation, first: float, target: Target) -> Target:
        """Adds to the range of a target what a value can be on its way; ``first`` is its target at the start."""
        scaled, initial = self.scaled, self.scaled.initial_or_0
        is_theorem = scaled.initial is not None and not self.reading.on_policy
        is_exact = is_theorem and (first == initial or equation.sign == 0)  # else any return may come on the way
        any_return = [0.0, scaled.win, scaled.loss, equation.sign * scaled.win, equation.sign * scaled.loss]
        on_the_way = [initial] if is_exact else [initial, first, *any_return]
        at_end = any_return if scaled.initial is None else [initial]
        least, most = (np.where(self.pairs.is_last, limit(at_end), limit(on_the_way)) for limit in (min, max))
        return target._replace(low=np.minimum(target.low, least), high=np.maximum(target.high, most))


def case_of(learner: Learner, reading: Reading) -> Case:
    """Returns the case of a learner under a reading."""
    learned = learned_values(learner, reading)
    return Case(learner, reading, learned, moves_of(learner, reading, learned))
