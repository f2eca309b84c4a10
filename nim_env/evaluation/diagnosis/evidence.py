"""How well values agree with the targets of an equation: which it explains, and which contradict it."""

from __future__ import annotations

import numpy as np

from nim_env.evaluation.diagnosis import thresholds
from nim_env.evaluation.diagnosis.case import Case, Target
from nim_env.evaluation.diagnosis.pairs import Bools, Floats


def distance(case: Case, targets: list[Target]) -> Floats:
    """Returns the distance of each value from the nearest target, less what the noise of samples explains."""
    distances = [np.abs(case.learned.values - t.mean) - thresholds.NOISE * t.deviation for t in targets]
    return np.min(distances, axis=0).clip(0)


def distance_outside(case: Case, targets: list[Target]) -> Floats:
    """Returns how far each value lies outside the nearest range of a target; below 0 if it lies within."""
    values = case.learned.values
    return np.min([np.maximum(t.low - values, values - t.high) for t in targets], axis=0)


def contradicts(case: Case, targets: list[Target]) -> Bools:
    """Returns which trained values lie clearly outside all ranges: no learner with these targets can have them."""
    return case.learned.is_trained & (distance_outside(case, targets) > thresholds.NEAR)


def min_contradictions(case: Case) -> float:
    """Returns how many values must contradict Bellman's equation before this is not chance.

    Some can if replies are drawn, since the range of a target is then a rule and not a theorem.
    """
    n_by_chance = (1 - thresholds.MIN_EXPLAINED) * case.learned.may_be_trained.sum()
    return max(thresholds.MIN_COUNT, n_by_chance if case.moves.opponent_draws else 0)


def share_explained(case: Case, targets: list[Target], among: Bools | None = None) -> float:
    """Returns the fraction of the values that are near a target, among the trained ones or the given ones.

    If both a value and its target are near 0, the value does not count.
    """
    is_judged = case.learned.is_trained if among is None else among
    sizes = np.maximum(np.abs(case.learned.values), np.abs(targets[0].mean))
    is_judged = is_judged & (sizes > thresholds.APART)
    n_near = (is_judged & (distance(case, targets) < thresholds.NEAR)).sum()
    return float(n_near / max(is_judged.sum(), 1))


def most_are_nearer(case: Case, bug: Target, among: Bools, min_share: float) -> bool:
    """Whether at least this share of the values lies nearer to a bug's target than to Bellman's.

    Only values count whose two targets lie apart.
    """
    is_apart = np.min([np.abs(t.mean - bug.mean) for t in case.targets], axis=0) > thresholds.APART
    from_bellman = np.min([np.abs(t.mean - case.learned.values) for t in case.targets], axis=0)
    is_nearer = np.abs(bug.mean - case.learned.values) < from_bellman
    n_apart = (among & is_apart).sum()
    n_nearer = (among & is_apart & is_nearer).sum()
    return bool(n_apart >= thresholds.MIN_COUNT and n_nearer >= min_share * n_apart)


def satisfies_bellman(case: Case) -> bool:
    """Whether Bellman's equation explains the values, with the best moves near the end, and no bug does better."""
    learned = case.learned
    is_tried = learned.is_greedy & learned.must_be_trained & (case.pairs.n_objects <= thresholds.ENDGAME_OBJECTS)
    is_off = is_tried & (distance(case, case.targets) > thresholds.APART)
    is_explained = share_explained(case, case.targets) >= thresholds.MIN_EXPLAINED and not is_off.any()
    return is_explained and not any(
        most_are_nearer(case, bug.target, learned.is_trained, thresholds.MAJORITY) for bug in case.bugs
    )
