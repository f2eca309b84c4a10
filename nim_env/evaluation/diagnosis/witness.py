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
    from_target = evidence.distance(case, case.targets)
    others = case.is_trained & ~case.is_greedy
    n_others = case.sums(others)[case.position]
    n_away = case.sums(others & (from_target >= thresholds.NEAR))[case.position]
    is_late = case.is_greedy & case.counts_as_trained & (from_target > thresholds.APART)
    is_stuck = is_late & (n_others > 0) & (n_away == 0)
    is_impossible = case.is_trained & (evidence.distance_outside(case, case.targets) > thresholds.APART)
    candidates = np.flatnonzero(is_impossible if is_impossible.any() else is_stuck)
    if not len(candidates):
        return None
    i = candidates[np.lexsort((-from_target[candidates], case.n_objects[candidates]))[0]]
    means = (float(t.mean[i]) + 0.0 for t in case.targets)  # without a negative zero
    target = min(means, key=lambda mean: abs(mean - case.values[i]))
    heaps, move = tuple(case.heaps[i].tolist()), case.rules.moves[case.action[i]]
    return Witness(heaps, move, case.reward_scale * float(case.values[i]), case.reward_scale * target)
