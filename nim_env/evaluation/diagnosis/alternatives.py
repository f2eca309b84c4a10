"""Tries other assumptions about a learner, after its values have been judged under the first ones.

The question is whether a correct learner with other rewards, another initial value or on-policy targets could have
the values.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nim_env.evaluation.diagnosis import evidence, findings, thresholds, verdicts
from nim_env.evaluation.diagnosis.assumptions import Assumptions
from nim_env.evaluation.diagnosis.case import Case
from nim_env.evaluation.diagnosis.findings import Diagnosis
from nim_env.evaluation.diagnosis.symptoms import first_symptom


def diagnosis_under_other_assumptions(
    case: Case, not_passed: set[str], suspected: Diagnosis | None
) -> Diagnosis | None:
    """Returns an undecided diagnosis if a correct learner under other assumptions can have the values.

    Args:
        case: The learner under the first assumptions.
        not_passed: The arguments of :func:`diagnose` that the user did not pass. Only these are varied.
        suspected: The diagnosis of a bug under the first assumptions. ``None`` if no bug was found.

    Returns:
        The undecided diagnosis. It asks the user whether the first assumption that fits is right. ``None`` if no
        other assumption fits.
    """
    for assumptions, premise in _alternatives(case, not_passed):
        other = Case(case.learner, assumptions)
        is_right = evidence.satisfies_bellman(other) and first_symptom(other) is None
        if suspected is None:
            if is_right and _can_be_correct(case, other, set()):
                return verdicts.undecided(premise, findings.BELLMAN)
            continue
        if not is_right and (either_bug := _either_bug(other, premise, suspected)):
            return either_bug
        if _can_be_correct(case, other, set(suspected.findings)):
            return verdicts.undecided(premise, otherwise=suspected)
    return None


def _alternatives(case: Case, not_passed: set[str]) -> Iterator[tuple[Assumptions, str]]:
    """Yields other assumptions that the values suggest, and the sentences that ask the user to confirm them."""
    first, unit = case.assumptions, case.assumptions.unit
    largest = max(case.learner.largest_value(first), unit)
    if "rewards" in not_passed:
        if largest > thresholds.MAX_VALUE * unit:
            yield first._replace(win=largest, loss=-largest), verdicts.if_rewards_are_larger(largest, unit)
        for win, loss in ((largest, 0.0), (0.0, -largest)):
            yield first._replace(win=win, loss=loss), verdicts.if_one_reward_is_0(win, loss)
    if "initial" in not_passed and first.initial is not None:
        for initial in _other_initials(case):
            yield first._replace(initial=initial), verdicts.if_values_start_at(initial)
    if "on_policy" in not_passed:
        yield first._replace(on_policy=True), verdicts.if_on_policy()


def _other_initials(case: Case) -> list[float]:
    """Returns the values from which the learner may have started instead of the assumed initial value."""
    initials, unit = case.learner.possible_initials, case.assumptions.unit
    outside = evidence.contradicts(case, case.targets)
    is_above = np.all([case.values > target.high for target in case.targets], axis=0)
    n_above = (outside & is_above).sum()
    n_below = outside.sum() - n_above
    is_enough = max(n_above, n_below) >= thresholds.MIN_COUNT or (outside & case.pairs.is_last).any()
    if is_enough and not min(n_above, n_below):
        # all of these values lie above their ranges, or all below, so they may have started there
        initials = [*initials, unit if n_above else -unit]
    return [initial for initial in dict.fromkeys(initials) if initial != case.assumptions.initial]


def _either_bug(other: Case, premise: str, suspected: Diagnosis) -> Diagnosis | None:
    """Returns an undecided diagnosis that names the suspected bug and another known bug, or ``None``.

    Rewards other than 1 and -1 can make a correct learner look as if it had one of a few bugs. If one of these is
    suspected, and the values show another known bug under the other assumptions, the learner has one of the two.
    ``premise`` asks the user about the other assumptions.
    """
    names = set(suspected.findings)
    if not names & _seeming_bugs(other):
        return None
    bug = first_symptom(other) or evidence.likely_bug(other)
    if bug is None or not findings.KNOWN_BUGS.keys() - names >= set(bug.findings):
        return None
    return verdicts.undecided(premise, *suspected.findings, otherwise=bug)


def _seeming_bugs(other: Case) -> set[str]:
    """Returns the bugs that a correct learner seems to have if its rewards are wrongly assumed to be 1 and -1.

    ``other`` has the right rewards.
    """
    if 0 in (other.scaled.win, other.scaled.loss):
        return {findings.LAST_MOVER_DROPPED, findings.OTHER_PLAYER_DROPPED}
    return {findings.OUT_OF_RANGE}


def _can_be_correct(case: Case, other: Case, suspected: set[str]) -> bool:
    """Returns whether a correct learner under other assumptions can have the values.

    ``case`` has the first assumptions, and ``other`` has the other ones. ``suspected`` are the names of the bugs
    that are suspected under the first assumptions.
    """
    # If the opponent draws its replies, ranges are approximate, so values of a correct learner can lie outside.
    draws = other.learner.opponent_draws
    max_share = 1 - thresholds.MIN_EXPLAINED if draws else thresholds.MAX_CONTRADICTING
    if evidence.contradicts(other, other.targets).sum() > max_share * other.is_trained.sum():
        return False
    if 0 in (other.scaled.win, other.scaled.loss):
        return _can_have_a_reward_of_0(other, suspected)
    if not _has_learned_a_last_move(other):
        return False
    if other.assumptions.on_policy:
        return _can_be_on_policy(case, other, suspected)
    # Larger rewards and another initial value move the targets of a bug as well as those of Bellman's equation. If
    # the values prove the suspected bug under these assumptions too, it does not depend on them.
    return not any(evidence.is_proven(other, bug) for bug in other.bugs if bug.name in suspected)


def _can_have_a_reward_of_0(other: Case, suspected: set[str]) -> bool:
    """Returns whether a reward of 0 can explain why a bug is suspected.

    If the suspected bug is a dropped reward, the answer is yes, since a reward of 0 has the same effect. A reward
    of 0 can also look like another known bug, such as a maximum that starts from 0. But then all returns have one
    sign, so values of both signs rule it out. It does not explain other findings, such as values out of range. If
    no bug is suspected, there is nothing to explain.
    """
    values = other.values
    has_both_signs = values.min() < -thresholds.NEAR and values.max() > thresholds.NEAR
    is_known = bool(suspected & findings.KNOWN_BUGS.keys())
    return bool(suspected & _seeming_bugs(other)) or (is_known and not has_both_signs)


def _has_learned_a_last_move(other: Case) -> bool:
    """Returns whether the value of some last move has moved away from the assumed initial value.

    Each game of self-play ends with a last move, so these values are learned first. If none of them has moved
    while others have, the values did not start there. Against an opponent the answer is always yes, since the
    learner may never have made a last move.
    """
    initial = other.scaled.initial_or_0
    if not other.learner.is_self_play or other.bellman.last_mover == initial:
        return True
    progress = np.abs(other.last_moves - initial).max()
    return bool(progress >= thresholds.NEAR)


def _can_be_on_policy(case: Case, other: Case, suspected: set[str]) -> bool:
    """Returns whether an on-policy learner can have the values for which a bug is suspected.

    An on-policy learner takes a mean over its own moves instead of the maximum. Only a bug that changes the
    maximum looks like this. The answer is yes if the on-policy equation explains more of the values than the bug
    does, and more than the maximum does.

    For an unknown bug, the answer is always yes. Such a bug is suspected because values lie outside their range or
    stay off their targets. Both are judged by the maximum, but the moves of an on-policy learner change during
    training, so it has other targets and no such range.
    """
    if suspected == {findings.UNKNOWN_BUG}:
        return True
    bugs = [bug for bug in other.bugs if bug.name in suspected]
    if all(bug.equation.bootstrap in ("maximum", "own policy") for bug in bugs):
        return False
    of_bugs = [evidence.share_explained(other, [bug.target]) for bug in bugs]
    of_maximum = evidence.share_explained(case, case.targets)
    return evidence.share_explained(other, other.targets) > max(of_maximum, *of_bugs)
