"""Which bugs of the list the values prove, which they make likely, and which is the nearest."""

from __future__ import annotations

import numpy as np

from nim_env.evaluation.diagnosis import evidence, thresholds, verdicts
from nim_env.evaluation.diagnosis.case import Bug, Case, Target
from nim_env.evaluation.diagnosis.equations import Equation
from nim_env.evaluation.diagnosis.learner import Bools, Floats
from nim_env.evaluation.diagnosis.verdicts import Diagnosis
from nim_env.evaluation.diagnosis.witness import first_witness

_ROUNDING = 1e-6  # of float32


def likely_bugs(case: Case) -> list[Bug]:
    """Returns the bugs that explain more than Bellman's equation, and most of the trained or of all values."""
    every = np.ones_like(case.is_trained)
    return [
        bug
        for bug in case.bugs
        if any(_fits_better(case, bug.target, among, every, 0.5, 0.5) for among in (case.is_trained, every))
    ]


def proven_bugs(case: Case) -> list[Bug]:
    """Returns the bugs whose equations the values satisfy.

    An on-policy learner has no maximum that can be wrong, and values of positions may belong to any policy.
    """
    has_maximum = not case.reading.on_policy and case.learner.has_action_values
    return [
        bug
        for bug in case.bugs
        if (bug.equation.bootstrap == case.bellman.bootstrap or has_maximum) and is_proven(case, bug)
    ]


def nearest_bug(case: Case, bugs: list[Bug]) -> Diagnosis | None:
    """Returns the diagnosis of the bug whose targets are nearest to the values, with those about as near.

    None if there are no bugs.
    """
    distances = {
        bug.name: float(np.abs(case.values - bug.target.mean)[case.counts_as_trained].sum()) for bug in bugs
    }
    if not distances:
        return None
    limit = thresholds.TIE_FACTOR * min(distances.values()) + 1e-9
    names = [name for name, total in distances.items() if total <= limit]
    return verdicts.bug(verdicts.in_words(names), *names, witness=first_witness(case))


def is_proven(case: Case, bug: Bug) -> bool:
    """Whether the values show a bug that a correct learner cannot have, by one of three proofs.

    1. Bellman's equation cannot have made these values, and the bug can.
    2. The bug explains nearly all values, and nearly all lie nearer to its targets.
    3. No value has gone where only Bellman's equation leads, although comparable values have been trained.
    """
    if case.initial is None and not _has_learned_last_moves(case, bug.equation):
        return False
    contradicts_bellman = evidence.contradicts(case, case.targets)
    contradicts_bug = evidence.contradicts(case, [bug.target])
    n_for = (contradicts_bellman & ~contradicts_bug).sum()
    n_against = (contradicts_bug & ~contradicts_bellman).sum()
    if n_against > thresholds.MAX_CONTRADICTING * case.is_trained.sum():
        return False
    initial = case.initial or 0.0
    is_between = case.loss < initial < case.win
    min_for = thresholds.MIN_COUNT if is_between else evidence.min_contradictions(case)
    if n_for >= max(min_for, thresholds.MIN_NEARER * (n_for + n_against)):
        return True
    to_bellman = np.array([t.mean - initial for t in case.targets])
    if _explains_nearly_all(case, bug.target, to_bellman):
        return True
    return bug.equation.bootstrap != "mean" and _avoids_bellman(case, bug.target, to_bellman)


def _explains_nearly_all(case: Case, bug: Target, to_bellman: Floats) -> bool:
    """The second proof. ``to_bellman`` are Bellman's targets minus the initial value, shape ``(n_targets, P)``.

    From an initial value other than 0, a value may pass the target of the bug on its way to Bellman's target. Such
    a value does not count as evidence for the bug.
    """
    initial = case.initial or 0.0
    to_bug = bug.mean - initial
    is_on_way = (to_bug * to_bellman >= 0) & (np.abs(to_bug) <= np.abs(to_bellman))
    counts = np.asarray(~is_on_way.any(axis=0) | (initial == 0))
    return all(
        _fits_better(case, bug, among, counts, thresholds.MIN_EXPLAINED, thresholds.MIN_NEARER)
        for among in (case.is_trained, case.may_be_trained)
    )


def _avoids_bellman(case: Case, bug: Target, to_bellman: Floats) -> bool:
    """The third proof: no value has gone where only Bellman's equation leads, and this is not chance."""
    initial = case.initial or 0.0
    is_shut = np.where(to_bellman < 0, bug.low > initial - _ROUNDING, bug.high < initial + _ROUNDING)
    is_far = np.abs(to_bellman) > thresholds.APART
    is_forbidden = case.counts_as_trained & (is_shut & is_far).all(axis=0)  # the bug cannot move it this way
    is_comparable = case.counts_as_trained & ~is_forbidden & is_far.any(axis=0)
    n_gone = (is_forbidden & (evidence.distance_outside(case, [bug]) > _ROUNDING)).sum()
    if n_gone > thresholds.MAX_CONTRADICTING * is_forbidden.sum():
        return False
    # the probability that a value has not moved, by Laplace's rule from the comparable ones
    chance = 1 - ((is_comparable & case.is_trained).sum() + 1) / (is_comparable.sum() + 2)
    return bool(-np.log(chance) * is_forbidden.sum() > thresholds.MIN_SURPRISAL)


def _fits_better(
    case: Case, bug: Target, among: Bools, counts: Bools, min_explained: float, min_nearer: float
) -> bool:
    """Whether a bug explains the values better than Bellman's equation does.

    It must explain at least the fraction ``min_explained`` of the values in ``among``, and no less than Bellman's
    equation. At least the fraction ``min_nearer`` of the values that can tell the two apart must lie nearer to the
    bug's target; only values in ``counts`` are counted for this.
    """
    share = evidence.explained(case, [bug], among)
    is_best = share >= max(min_explained, evidence.explained(case, case.targets, among))
    return is_best and evidence.prefers(case, bug, (case.counts_as_trained | among) & counts, min_nearer)


def _has_learned_last_moves(case: Case, equation: Equation) -> bool:
    """Whether the last moves of a network lie near the reward of an equation: they are learned first."""
    last_moves = case.learner.last_moves / case.reward_scale
    is_near = np.abs(last_moves - equation.last_mover) < thresholds.LEARNED_LAST_MOVE
    return bool(equation.last_mover and is_near.mean() >= thresholds.MIN_EXPLAINED)
