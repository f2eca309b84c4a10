"""The case that is judged: a learner under one reading, with the targets of Bellman's equation and of each bug."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from nim_env.evaluation.diagnosis.equations import Equation, buggy_equations
from nim_env.evaluation.diagnosis.learner import Floats, Learner, Reading
from nim_env.evaluation.diagnosis.values import LearnedValues


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


class Case(LearnedValues):
    """The values of a learner under one reading, with the targets that equations make of them.

    The attributes of :class:`LearnedValues` describe the values.

    Args:
        learner: The learner.
        reading: What is assumed about it.
        earlier: The values of the same training at an earlier time, in the shape of ``learner.given``, or None.
    """

    def __init__(self, learner: Learner, reading: Reading, earlier: Floats | None = None) -> None:
        super().__init__(learner, reading)
        self.earlier = earlier

    @cached_property
    def targets(self) -> list[Target]:
        """The targets of Bellman's equation."""
        return self.targets_of(self.bellman)

    @cached_property
    def bugs(self) -> list[Bug]:
        """All bugs of the list, one entry for each target of the bug's equation.

        A bug is left out if it does not change Bellman's equation for this learner.
        """
        return [
            Bug(name, equation, target)
            for equation, name in buggy_equations(self.bellman, self.initial or 0.0).items()
            if equation != self.bellman
            for target in self.targets_of(equation)
        ]

    def targets_of(self, equation: Equation) -> list[Target]:
        """Returns the target by own turn, and in self-play before it the target by move."""
        by_turn = self._by_turn(equation)
        return [self._by_move(equation), by_turn] if self.is_self_play else [by_turn]

    def _by_move(self, equation: Equation) -> Target:
        """The target from the other player's next values. The rewards of both players have the same sum."""
        both = abs(equation.sign) * (self.win + self.loss)
        future = self.discount * (both - equation.sign * self.state_values[equation.bootstrap])
        samples = np.where(self.is_last, equation.last_mover, future[self.next_position])
        first = self.discount * (both - equation.sign * self._first_bootstrap(equation))
        return self._target(equation, first, samples, np.zeros(len(samples)), samples, samples)

    def _by_turn(self, equation: Equation) -> Target:
        """The target from the player's own next values, after a reply."""
        samples = self.samples_after_replies(equation, self.state_values[equation.bootstrap])
        low, high = np.full((2, self.n_positions), self.initial or 0.0)
        is_possible = (self.replies > 0) | (self.exploration is not None)  # in self-play any, at some time
        np.minimum.at(low, self.position[is_possible], samples[is_possible])
        np.maximum.at(high, self.position[is_possible], samples[is_possible])
        mean = self.sums(self.replies * samples)
        deviation = np.sqrt((self.sums(self.replies * samples**2) - mean**2).clip(0))

        def of_pairs(at_end: float, after_move: Floats) -> Floats:
            return np.where(self.is_last, at_end, after_move[self.next_position])

        return self._target(
            equation,
            self.discount * (equation.sign * self._first_bootstrap(equation)),
            of_pairs(equation.last_mover, mean),
            of_pairs(0.0, deviation),
            of_pairs(equation.last_mover, low),
            of_pairs(equation.last_mover, high),
        )

    def _first_bootstrap(self, equation: Equation) -> float:
        """What an equation takes of a position whose values are all initial ones."""
        initial = self.initial or 0.0
        return max(initial, 0.0) if equation.bootstrap == "maximum from 0" else initial

    def _target(
        self, equation: Equation, first: float, mean: Floats, deviation: Floats, low: Floats, high: Floats
    ) -> Target:
        """Adds to the range of a target what a value can be on its way; ``first`` is its target at the start."""
        initial = self.initial or 0.0
        is_theorem = self.initial is not None and self.reading.on_policy is False
        is_exact = is_theorem and (first == initial or equation.sign == 0)  # else any return may come on the way
        any_return = [0.0, self.win, self.loss, equation.sign * self.win, equation.sign * self.loss]
        on_the_way = [initial] if is_exact else [initial, first, *any_return]
        at_end = any_return if self.initial is None else [initial]
        least, most = (np.where(self.is_last, limit(at_end), limit(on_the_way)) for limit in (min, max))
        return Target(mean, deviation, np.minimum(low, least), np.maximum(high, most))
