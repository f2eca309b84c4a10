"""The test for another discount: Bellman's equation holds, but not with the discount that was given."""

from __future__ import annotations

from typing import Any

import numpy as np

from nim_env.evaluation.diagnosis import findings, thresholds, verdicts
from nim_env.evaluation.diagnosis.case import Case, Target
from nim_env.evaluation.diagnosis.pairs import Floats
from nim_env.evaluation.diagnosis.verdicts import Diagnosis


def other_discount(case: Case) -> Diagnosis | None:
    """Returns the diagnosis of Bellman's equation with another discount, or None if there is no such discount.

    The last moves must have reached their reward, since all other values depend on them. If the rewards seem
    smaller than 1, and the discount smaller by the same factor, the learner never finds its old value.
    """
    fitted = _fitted_discount(case) if _have_last_moves_arrived(case) else None
    if fitted is None:
        return None
    discount, step = fitted
    unit, given = case.reading.unit, case.learner.discount
    if unit < 1 and _are_same(discount, unit * given):
        text = f"the old value is never found: each value is {unit:.2g} of its last target"
        return verdicts.bug(text, findings.OLD_VALUE_IGNORED, place="in the update")
    text = (
        f"{findings.BELLMAN} holds with a discount of {discount:.2f} per {step}, not {given:g}. "
        "If this is your discount, pass it; if not, the update uses another one"
    )
    return verdicts.undecided(text, findings.OTHER_DISCOUNT, discount=discount)


def _fitted_discount(case: Case) -> tuple[float, str] | None:
    """A discount that most values agree on, and whether it is per move or per own turn.

    None if there is none, or if the values fit the given one.
    """
    given = case.learner.discount
    targets_at_0 = case.targets_of(case.bellman._replace(sign=0.0))
    targets_at_1 = case.targets_of(case.bellman._replace(sign=1 / given if given else 1.0))
    steps = ("move", "own turn") if case.learner.is_self_play else ("own turn",)
    shown = [_discounts(case, at_0, at_1) for at_0, at_1 in zip(targets_at_0, targets_at_1, strict=True)]
    of_steps = {
        step: found for step, found in zip(steps, shown, strict=True) if len(found) >= thresholds.MIN_COUNT
    }
    if any(_is_given(discounts, given) for discounts in of_steps.values()):
        return None
    for step, discounts in of_steps.items():
        typical = float(np.median(discounts))
        is_discount = thresholds.SAME_DISCOUNT < typical < 1 + thresholds.SAME_DISCOUNT
        if is_discount and _are_same(discounts, typical).mean() >= thresholds.MIN_EXPLAINED:
            return typical, step
    return None


def _have_last_moves_arrived(case: Case) -> bool:
    """Whether most of the last moves that were trained have reached their reward."""
    last = case.learned.values[case.learned.is_trained & case.pairs.is_last]
    n_arrived = _are_same(last, case.bellman.last_mover).sum()
    return bool(n_arrived >= max(1, thresholds.MIN_NEARER * len(last)))


def _discounts(case: Case, at_0: Target, at_1: Target) -> Floats:
    """The discount that each value shows. A target is linear in it, so two targets are enough, for 0 and 1."""
    slope = at_1.mean - at_0.mean
    is_judged = case.learned.is_trained & (np.abs(slope) > thresholds.APART) & (at_1.deviation < thresholds.NEAR)
    return (case.learned.values - at_0.mean)[is_judged] / slope[is_judged]


def _is_given(discounts: Floats, given: float) -> bool:
    """Whether most values show the given discount, or their median does. An own turn is two moves."""
    return any(
        _are_same(discounts, discount).mean() >= thresholds.MAJORITY
        or _are_same(float(np.median(discounts)), discount)
        for discount in (given, given**2)
    )


def _are_same(discounts: Any, discount: float) -> Any:
    return np.abs(discounts - discount) < thresholds.SAME_DISCOUNT
