"""The witness of a bug: the first value that its own next values do not explain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nim_env.evaluation.diagnosis import evidence, thresholds
from nim_env.evaluation.diagnosis.case import Case
from nim_env.rules import heap_name


class Witness(NamedTuple):
    """The first value that its own next values do not explain.

    Attributes:
        heaps: The heap sizes of the position.
        move: The heap and the number of objects that are taken from it.
        value: The value of the move.
        target: What Bellman's equation makes of the player's next values.
    """

    heaps: tuple[int, ...]
    move: tuple[int, int]
    value: float
    target: float

    def __str__(self) -> str:
        heap, count = self.move
        position = "-".join(map(str, self.heaps))
        worth = f"{self.value:.2f}; the next values make it {self.target:.2f}"
        return f"at {position}, take {count} from {heap_name(heap)} is worth {worth}"


def first_witness(case: Case) -> Witness | None:
    """Returns the first value that its next values cannot have made, else the first best move off its target.

    The first one has the fewest objects, then the largest distance. A best move counts only if the other values of
    its position have arrived: a correct learner tries best moves the most, so their values arrive first.
    """
    pairs, learned = case.pairs, case.learned
    from_target = evidence.distance(case, case.targets)
    outside = evidence.distance_outside(case, case.targets)
    is_impossible = learned.is_trained & (outside > thresholds.APART)
    others = learned.is_trained & ~learned.is_greedy
    n_others = pairs.sums(others)[pairs.row]
    n_away = pairs.sums(others & (from_target >= thresholds.NEAR))[pairs.row]
    is_late = learned.is_greedy & learned.must_be_trained & (from_target > thresholds.APART)
    is_stuck = is_late & (n_others > 0) & (n_away == 0)
    candidates = np.flatnonzero(is_impossible if is_impossible.any() else is_stuck)
    if not len(candidates):
        return None
    return _witness(case, candidates[np.lexsort((-from_target[candidates], pairs.n_objects[candidates]))[0]])


def _witness(case: Case, pair: int) -> Witness:
    """The value of a pair and the nearest of its targets, in the units in which the values were given."""
    pairs, unit, value = case.pairs, case.reading.unit, float(case.learned.values[pair])
    means = (float(t.mean[pair]) + 0.0 for t in case.targets)  # without a negative zero
    target = min(means, key=lambda mean: abs(mean - value))
    heaps = tuple(pairs.positions[pairs.row[pair]].tolist())
    return Witness(heaps, pairs.rules.moves[pairs.action[pair]], unit * value, unit * target)
