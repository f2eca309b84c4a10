"""Which bugs of the list the values prove, which they make likely, and which is the nearest."""

from __future__ import annotations

import numpy as np

from nim_env.evaluation.diagnosis import evidence, thresholds, verdicts
from nim_env.evaluation.diagnosis.case import Bug, Case, Target
from nim_env.evaluation.diagnosis.equations import Equation
from nim_env.evaluation.diagnosis.pairs import Bools, Floats
from nim_env.evaluation.diagnosis.verdicts import Diagnosis
from nim_env.evaluation.diagnosis.witness import first_witness


def likely_bugs(case: Case) -> list[Bug]:
    """Returns the bugs that explain more than Bellman's equation, and most of the trained or of all values."""
    every = np.ones_like(case.learned.is_trained)
    most = thresholds.MAJORITY
    return [
        bug
        for bug in case.bugs
        if _fits_better(case, bug.target, case.learned.is_trained, every, most, most)
        or _fits_better(case, bug.target, every, every, most, most)
    ]


def proven_bugs(case: Case) -> list[Bug]:
    """Returns the bugs whose equations the values satisfy.

    An on-policy learner has no maximum that can be wrong, and values of positions may belong to any policy.
    """
    has_maximum = not case.reading.on_policy and case.learner.has_action_values
    return [
        bug
        for bug in case.bugs
        if (has_maximum or bug.equation.bootstrap == case.bellman.bootstrap) and is_proven(case, bug)
    ]


def nearest_bug(case: Case, bugs: list[Bug]) -> Diagnosis | None:
    """Returns the diagnosis of the bug whose targets are nearest to the values, with those about as near.

    None if there are no bugs.
    """
    if not bugs:
        return None
    values, is_counted = case.learned.values, case.learned.must_be_trained
    distances = {bug.name: float(np.abs(values - bug.target.mean)[is_counted].sum()) for bug in bugs}
    limit = thresholds.TIE_FACTOR * min(distances.values()) + thresholds.ROUNDING
    names = [name for name, total in distances.items() if total <= limit]
    return verdicts.bug(verdicts.in_words(names), *names, witness=first_witness(case))


def is_proven(case: Case, bug: Bug) -> bool:
    """Returns whether the values prove a bug that a correct learner cannot have. One of three proofs is enough.

    1. Bellman's equation cannot have made these values, and the bug can.
    2. The bug explains nearly all values, and nearly all lie nearer to its targets.
    3. Some values could move in a certain direction only under Bellman's equation. None of them has moved there,
       although comparable values have been trained. This third proof is not used for a mean, whose sign can change
       during training.

    The last moves of a network must have been learned, since its other values depend on them. A bug is never
    proven if it cannot have made these values and Bellman's equation can.
    """
    if case.scaled.initial is None and not _has_learned_last_moves(case, bug.equation):
        return False
    from_bellman = evidence.contradicts(case, case.targets)
    from_bug = evidence.contradicts(case, [bug.target])
    n_for, n_against = (from_bellman & ~from_bug).sum(), (from_bug & ~from_bellman).sum()
    if n_against > thresholds.MAX_CONTRADICTING * case.learned.is_trained.sum():
        return False
    return (
        _only_the_bug_can(case, n_for, n_against)
        or _explains_nearly_all(case, bug.target)
        or (bug.equation.bootstrap != "mean" and _avoids_bellman(case, bug.target))
    )


def _only_the_bug_can(case: Case, n_for: int, n_against: int) -> bool:
    """The first proof, from the number of values that only the bug can have made, and only Bellman's equation.

    If the initial value is itself a reward or lies beyond both, more of them are needed when replies are drawn.
    The range of a target is then a rule and not a theorem, and it ends at the initial value.
    """
    is_between = case.scaled.loss < case.scaled.initial_or_0 < case.scaled.win
    min_for = thresholds.MIN_COUNT if is_between else evidence.min_contradictions(case)
    return bool(n_for >= max(min_for, thresholds.MIN_NEARER * (n_for + n_against)))


def _explains_nearly_all(case: Case, bug: Target) -> bool:
    """The second proof.

    From an initial value other than 0, a value may pass the target of the bug on its way to Bellman's target. Such
    a value does not count as evidence for the bug.
    """
    to_bug, to_bellman = _from_initial(case, [bug]), _from_initial(case, case.targets)
    is_on_way = (to_bug * to_bellman >= 0) & (np.abs(to_bug) <= np.abs(to_bellman))
    counts = np.ones_like(case.learned.is_trained)
    if case.scaled.initial_or_0 != 0:
        counts = np.asarray(~is_on_way.any(axis=0))
    return all(
        _fits_better(case, bug, among, counts, thresholds.MIN_EXPLAINED, thresholds.MIN_NEARER)
        for among in (case.learned.is_trained, case.learned.may_be_trained)
    )


def _avoids_bellman(case: Case, bug: Target) -> bool:
    """The third proof: no value has gone where only Bellman's equation leads, and this is not chance."""
    initial, to_bellman = case.scaled.initial_or_0, _from_initial(case, case.targets)
    must_be_trained = case.learned.must_be_trained
    is_up, is_down = bug.high >= initial + thresholds.ROUNDING, bug.low <= initial - thresholds.ROUNDING
    is_shut = np.where(to_bellman < 0, ~is_down, ~is_up)  # the bug cannot move the value this way
    is_far = np.abs(to_bellman) > thresholds.APART
    is_forbidden = must_be_trained & (is_shut & is_far).all(axis=0)
    is_comparable = must_be_trained & ~is_forbidden & is_far.any(axis=0)
    n_gone = (is_forbidden & (evidence.distance_outside(case, [bug]) > thresholds.ROUNDING)).sum()
    if n_gone > thresholds.MAX_CONTRADICTING * is_forbidden.sum():
        return False
    # the probability that a value has not moved, by Laplace's rule from the comparable ones
    chance = 1 - ((is_comparable & case.learned.is_trained).sum() + 1) / (is_comparable.sum() + 2)
    return bool(-np.log(chance) * is_forbidden.sum() > thresholds.MIN_SURPRISAL)


def _from_initial(case: Case, targets: list[Target]) -> Floats:
    """The means of targets minus the initial value, float64 of shape ``(n_targets, P)``."""
    return np.array([t.mean for t in targets]) - case.scaled.initial_or_0


def _fits_better(
    case: Case, bug: Target, among: Bools, counts: Bools, min_explained: float, min_nearer: float
) -> bool:
    """Whether a bug explains the values better than Bellman's equation does.

    It must explain at least the fraction ``min_explained`` of the values in ``among``, and no less than Bellman's
    equation. At least the fraction ``min_nearer`` of the values that can tell the two apart must lie nearer to the
    bug's target; only values in ``counts`` are counted for this.
    """
    share = evidence.share_explained(case, [bug], among)
    is_counted = (case.learned.must_be_trained | among) & counts
    is_best = share >= max(min_explained, evidence.share_explained(case, case.targets, among))
    return is_best and evidence.most_are_nearer(case, bug, is_counted, min_nearer)


def _has_learned_last_moves(case: Case, equation: Equation) -> bool:
    """Whether the last moves of a network lie near the reward of an equation: they are learned first."""
    last_moves = case.learner.last_moves / case.reading.unit
    is_near = np.abs(last_moves - equation.last_mover) < thresholds.LEARNED_LAST_MOVE
    return bool(equation.last_mover and is_near.mean() >= thresholds.MIN_EXPLAINED)
