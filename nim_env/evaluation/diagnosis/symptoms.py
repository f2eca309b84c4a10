"""The tests for bugs: each looks at the values for one symptom of a bug, under the assumptions of the case.

A test returns the diagnosis of what it has found, or ``None`` if the values do not have its symptom. The tests are
in the order in which they are run, except that the one for another discount is last, since it has several steps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nim_env.evaluation.diagnosis import evidence, findings, thresholds, verdicts
from nim_env.evaluation.diagnosis.case import Case, Target
from nim_env.evaluation.diagnosis.findings import Diagnosis
from nim_env.evaluation.diagnosis.learner import Bools, Floats


def first_symptom(case: Case) -> Diagnosis | None:
    """Returns the diagnosis of the first test that finds something, or ``None`` if no test does.

    A few of the diagnoses are undecided. For example, the user may have meant to train with another discount. The
    values of a network start anywhere, so most symptoms would prove nothing, and only two of the tests apply.
    """
    tests = [
        _out_of_range,
        _last_moves_of_both_signs,
        _last_moves_of_another_reward,
        _last_moves_of_the_wrong_sign,
        _no_last_move,
        _other_discount,
        _known_bug,
        _values_of_both_signs,
        _unknown_bug,
    ]
    if case.scaled.initial is None:
        tests = [_out_of_range, _known_bug]
    return next(filter(None, (test(case) for test in tests)), None)


def _out_of_range(case: Case) -> Diagnosis | None:
    """Looks for values that are larger than any return can be."""
    unit, sizes = case.assumptions.unit, np.abs(case.values)
    largest, max_share = max(thresholds.MAX_VALUE, abs(case.scaled.initial_or_0)), 0.0
    if case.scaled.initial is None:  # a network can overshoot, and a few of its values lie anywhere
        largest, max_share = thresholds.MAX_VALUE + thresholds.APART, 1 - thresholds.MIN_EXPLAINED
    if (sizes > largest).mean() <= max_share:
        return None
    return verdicts.out_of_range(unit * sizes.max(), unit * sizes[case.pairs.is_last].max(), unit)


def _last_moves_of_both_signs(case: Case) -> Diagnosis | None:
    """Looks for last moves with values above and below the initial one, although all have the same reward."""
    return verdicts.mixed_signs("last moves") if min(_progress_of_last_moves(case)) > thresholds.NEAR else None


def _last_moves_of_another_reward(case: Case) -> Diagnosis | None:
    """Looks for last moves whose values have left 0, although their reward and their initial value are 0."""
    furthest = case.last_moves[np.abs(case.last_moves).argmax()]
    if not (case.bellman.last_mover == case.scaled.initial == 0 and abs(furthest) > thresholds.NEAR):
        return None
    return verdicts.other_reward(case.assumptions.unit * furthest)


def _last_moves_of_the_wrong_sign(case: Case) -> Diagnosis | None:
    """Looks for last moves whose values have all moved away from their reward."""
    toward, away = _progress_of_last_moves(case)
    if toward > 0 or away <= thresholds.NEAR:
        return None
    max_contradicting = thresholds.MAX_CONTRADICTING_WRONG_SIGN * case.is_trained.sum()
    is_opponents_reward = any(
        evidence.contradicts(case, [bug.target]).sum() <= max_contradicting
        for bug in case.bugs
        if bug.name == findings.OPPONENTS_REWARD
    )
    return verdicts.wrong_sign(is_opponents_reward)


def _progress_of_last_moves(case: Case) -> tuple[float, float]:
    """Returns how far the values of last moves have moved from the initial value.

    The first number is the largest change toward the reward, the second is the largest change away from it.
    """
    initial = case.scaled.initial_or_0
    progress = (case.last_moves - initial) * np.sign(case.bellman.last_mover - initial)
    return progress.max(), -progress.min()


def _no_last_move(case: Case) -> Diagnosis | None:
    """Looks for last moves that were never updated, although each game of self-play has one."""
    is_trained, reward = case.is_trained, case.bellman.last_mover
    can_be_trained = case.learner.is_self_play and reward != case.scaled.initial
    if not can_be_trained or is_trained[case.pairs.is_last].any() or is_trained.sum() < thresholds.MIN_COUNT:
        return None
    return verdicts.known_bugs([findings.LAST_MOVER_DROPPED])


def _known_bug(case: Case) -> Diagnosis | None:
    """Looks for a known bug that the values prove."""
    return evidence.nearest_bug(case, evidence.proven_bugs(case))


def _values_of_both_signs(case: Case) -> Diagnosis | None:
    """Looks for values on both sides of 0, although one of the rewards is 0."""
    scaled, values = case.scaled, case.values
    has_both_signs = min(values.max(), -values.min()) > thresholds.NEAR
    is_between = scaled.loss <= scaled.initial_or_0 <= scaled.win  # otherwise initial values may differ in sign
    if 0 not in (scaled.win, scaled.loss) or not has_both_signs or not is_between:
        return None
    return verdicts.mixed_signs("values")


def _unknown_bug(case: Case) -> Diagnosis | None:
    """Looks for values that no correct learner can have, or that have stopped before reaching their targets."""
    is_impossible = evidence.contradicts(case, case.targets).sum() >= evidence.min_contradictions(case)
    if not is_impossible and _n_stuck(case) < thresholds.MIN_COUNT:
        return None
    nearest = evidence.likely_bug(case)
    return verdicts.unknown_bug(nearest.findings if nearest else (), evidence.first_witness(case))


def _n_stuck(case: Case) -> int:
    """Counts the best moves near the end of the game whose values are stuck: off their targets and unchanged.

    Unchanged means that the value is the same as in the earlier table. Another value of the same position must
    have changed in the meantime. If none has, exploration has ended.
    """
    learner = case.learner
    if learner.earlier is None or learner.earlier.ndim != learner.given.ndim or case.assumptions.on_policy:
        return 0
    before = Case(replace(learner, given=learner.earlier, earlier=None), case.assumptions)
    change = np.abs(case.values - before.values)
    is_stuck = change < thresholds.MIN_CHANGE
    is_stuck &= case.pairs.n_objects <= thresholds.ENDGAME_OBJECTS
    is_stuck &= case.pairs.sums(change > 0)[case.pairs.row] > 0
    return int((is_stuck & _is_off(case) & _is_off(before)).sum())


def _is_off(case: Case) -> Bools:
    """Returns which best moves have trained values that are off their targets.

    Only positions in which another move was tried too are considered.
    """
    pairs = case.pairs
    is_tried = pairs.sums(case.is_trained & ~case.is_greedy)[pairs.row] > 0
    is_off = evidence.distance(case, case.targets) > thresholds.APART
    return case.is_greedy & case.is_trained & is_tried & is_off


def _other_discount(case: Case) -> Diagnosis | None:
    """Checks whether Bellman's equation holds with a discount other than the given one.

    The values of last moves must have reached their reward, since all other values depend on them. If the rewards
    seem smaller than 1, and the discount smaller by the same factor, the bug is that the learner never finds its
    old value.
    """
    unit, given = case.assumptions.unit, case.learner.discount
    fitted = _fitted_discount(_shown_discounts(case), given) if _have_last_moves_arrived(case) else None
    if fitted is None:
        return None
    discount, step = fitted
    if unit < 1 and _are_same(discount, unit * given):
        return verdicts.old_value_ignored(unit)
    return verdicts.other_discount(discount, step, given)


def _shown_discounts(case: Case) -> dict[str, Floats]:
    """Computes the discount at which each value would equal its target, by own turn and in self-play also by move.

    Returns arrays of these discounts under the keys "own turn" and "move". A key is missing if too few values show
    a discount.
    """
    given = case.learner.discount
    steps = ("move", "own turn") if case.learner.is_self_play else ("own turn",)
    targets_at_0 = case.targets_of(case.bellman._replace(sign=0.0))
    targets_at_1 = case.targets_of(case.bellman._replace(sign=1 / given if given else 1.0))
    shown = {
        step: _discounts(case, at_0, at_1)
        for step, at_0, at_1 in zip(steps, targets_at_0, targets_at_1, strict=True)
    }
    return {step: discounts for step, discounts in shown.items() if len(discounts) >= thresholds.MIN_COUNT}


def _fitted_discount(shown: dict[str, Floats], given: float) -> tuple[float, str] | None:
    """Returns the discount that most values show, and the step that it applies to: "move" or "own turn".

    For each of the two steps, ``shown`` has the discounts that the values imply, one per value. Returns ``None``
    if most values show no common discount, or if they fit the ``given`` one.
    """
    if any(_is_given(discounts, given) for discounts in shown.values()):
        return None
    for step, discounts in shown.items():
        typical = float(np.median(discounts))
        is_discount = thresholds.SAME_DISCOUNT < typical < 1 + thresholds.SAME_DISCOUNT
        if is_discount and _are_same(discounts, typical).mean() >= thresholds.MIN_EXPLAINED:
            return typical, step
    return None


def _have_last_moves_arrived(case: Case) -> bool:
    """Returns whether nearly all trained values of last moves have reached their reward."""
    last = case.values[case.is_trained & case.pairs.is_last]
    n_arrived = _are_same(last, case.bellman.last_mover).sum()
    return bool(n_arrived >= max(1, thresholds.MIN_NEARER * len(last)))


def _discounts(case: Case, at_0: Target, at_1: Target) -> Floats:
    """Returns the discount at which each value would equal its target.

    A target is linear in the discount, so the targets for a discount of 0 (``at_0``) and of 1 (``at_1``) are
    enough to compute it. Values with noisy targets, or with targets that hardly depend on the discount, are left
    out.
    """
    slope = at_1.mean - at_0.mean
    is_judged = case.is_trained & (np.abs(slope) > thresholds.APART) & (at_1.deviation < thresholds.NEAR)
    return (case.values - at_0.mean)[is_judged] / slope[is_judged]


def _is_given(discounts: Floats, given: float) -> bool:
    """Returns whether most of the discounts, or their median, are the given one or its square.

    The square counts since a turn is two moves.
    """
    return any(
        _are_same(discounts, discount).mean() >= thresholds.MAJORITY
        or _are_same(float(np.median(discounts)), discount)
        for discount in (given, given**2)
    )


def _are_same(discounts: Any, discount: float) -> Any:
    """Returns whether each number is nearly equal to ``discount``."""
    return np.abs(discounts - discount) < thresholds.SAME_DISCOUNT
