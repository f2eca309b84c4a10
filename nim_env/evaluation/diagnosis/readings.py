"""What was not passed about the training: the first reading of the values, and the other readings that they allow.

The first reading is found before the values are judged. The other readings are tried afterwards: could a correct
learner have the values, with other rewards, another initial value or on-policy targets?
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nim_env.evaluation.diagnosis import evidence, findings, thresholds
from nim_env.evaluation.diagnosis.case import Case
from nim_env.evaluation.diagnosis.equations import Reading
from nim_env.evaluation.diagnosis.findings import Diagnosis
from nim_env.evaluation.diagnosis.learner import Learner
from nim_env.evaluation.diagnosis.symptoms import first_symptom


def first_reading(
    learner: Learner, rewards: tuple[float, float] | None, initial: float | None, on_policy: bool
) -> Reading | Diagnosis:
    """Finds the rewards and the initial value of a learner, if the user did not pass them.

    Args:
        learner: The learner.
        rewards: The rewards of a win and of a loss. ``None`` to find them.
        initial: The initial value. ``None`` to find it. Values of positions and networks have none.
        on_policy: Whether the targets follow the learner's own moves.

    Returns:
        The reading; or the diagnosis, if the values contradict the initial value that was passed, or if no reading
        explains the values of last moves.
    """
    found = learner.initial
    first_value = found if initial is None or not learner.has_action_values else float(initial)
    if first_value is not None and found not in (None, 0, first_value):
        return findings.other_initial(found, first_value)
    win, loss = (1.0, -1.0) if rewards is None else rewards
    reading = Reading(float(win), float(loss), first_value, on_policy)
    if future := _future_at_end(learner, reading):
        return findings.future_at_end(future)
    if rewards is None:
        scale = _reward_scale(learner)
        reading = reading._replace(win=scale, loss=-scale)
    return reading


def _future_at_end(learner: Learner, reading: Reading) -> float:
    """The future that a learner adds to the last reward, if it is far larger than the rewards; otherwise 0."""
    last = learner.last_moves
    typical = float(np.median(last))
    future = typical - reading.bellman(learner.pairs.rules).last_mover
    agrees = (np.abs(last - typical) <= thresholds.SAME_REWARD * abs(future)).all()
    is_far_larger = abs(future) >= thresholds.FAR_LARGER * reading.unit
    if reading.initial is None or not (agrees and is_far_larger):
        return 0.0
    shifted = Case(learner, reading._replace(win=reading.win + future, loss=reading.loss + future))
    is_explained = evidence.share_explained(shifted, shifted.targets) >= thresholds.MIN_EXPLAINED
    return future if is_explained else 0.0


def _reward_scale(learner: Learner) -> float:
    """The size of the rewards, if all last moves that were learned agree on one other than 1; otherwise 1."""
    last = np.abs(learner.last_moves[learner.last_moves != (learner.initial or 0)])
    if len(last) < thresholds.MIN_COUNT:
        return 1.0
    scale = float(np.median(last))
    agrees = (np.abs(last - scale) <= thresholds.SAME_REWARD * scale).all()
    # the largest value is a reward; if others are larger, last moves of a small value are on their way from 0
    is_largest = learner.largest_value(Reading()) <= thresholds.MAX_VALUE * scale
    is_other = scale > 1 + thresholds.NEAR or (0 < scale < 1 - thresholds.NEAR and is_largest)
    return scale if agrees and is_other else 1.0


def diagnosis_under_other_readings(
    case: Case, not_passed: set[str], suspected: Diagnosis | None
) -> Diagnosis | None:
    """Decides whether a correct learner under another reading can have the values.

    Args:
        case: The case under the first reading.
        not_passed: The arguments of :func:`diagnose` that the user did not pass. Only these have other readings.
        suspected: The diagnosis of a bug under the first reading. ``None`` if none was found.

    Returns:
        An undecided diagnosis with the first of these readings as its premise; ``None`` if there is none.
    """
    for reading, premise in _other_readings(case, not_passed):
        other = Case(case.learner, reading)
        if found := _under_other_reading(case, other, premise, suspected):
            return found
    return None


def _other_readings(case: Case, not_passed: set[str]) -> Iterator[tuple[Reading, str]]:
    """Other readings of a correct learner that the values hint at, each with its premise and what decides it."""
    reading, unit = case.reading, case.reading.unit
    size = max(case.learner.largest_value(reading), unit)
    if "rewards" in not_passed:
        if size > thresholds.MAX_VALUE * unit:
            yield reading._replace(win=size, loss=-size), findings.if_rewards_are_larger(size, unit)
        for win, loss in ((size, 0.0), (0.0, -size)):
            yield reading._replace(win=win, loss=loss), findings.if_one_reward_is_0(win, loss)
    if "initial" in not_passed and reading.initial is not None:
        for initial in _other_initials(case):
            yield reading._replace(initial=initial), findings.if_values_start_at(initial)
    if "on_policy" in not_passed:
        yield reading._replace(on_policy=True), findings.if_on_policy()


def _other_initials(case: Case) -> list[float]:
    """The other initial values that the values hint at."""
    initials = case.learner.possible_initials
    outside = evidence.contradicts(case, case.targets)
    is_above = np.all([case.values > target.high for target in case.targets], axis=0)
    n_above = (outside & is_above).sum()
    n_below = outside.sum() - n_above
    is_enough = max(n_above, n_below) >= thresholds.MIN_COUNT or (outside & case.pairs.is_last).any()
    if is_enough and not min(n_above, n_below):
        # all of these values lie on the same side of their range, so they may have started on that side
        initials = [*initials, case.reading.unit if n_above else -case.reading.unit]
    return [initial for initial in dict.fromkeys(initials) if initial != case.reading.initial]


def _under_other_reading(case: Case, other: Case, premise: str, suspected: Diagnosis | None) -> Diagnosis | None:
    """The diagnosis if another reading may be the true one; ``None`` if it explains the values no better.

    Rewards other than 1 and -1 can make a correct learner look as if it had one of a few bugs. If one of these is
    suspected, and the values show a bug of the list under the other reading too, the two bugs are the two answers.
    """
    is_right = evidence.satisfies_bellman(other) and first_symptom(other) is None
    if suspected is None:
        is_possible = is_right and _can_be_correct(case, other, set())
        return findings.undecided(premise, findings.BELLMAN) if is_possible else None
    names = set(suspected.findings)
    if not is_right and names & _seeming_bugs(other):
        bug = first_symptom(other) or evidence.likely_bug(other)
        if bug and findings.LISTED_BUGS.keys() - names >= set(bug.findings):
            return findings.undecided(premise, *suspected.findings, otherwise=bug)
    is_possible = _can_be_correct(case, other, names)
    return findings.undecided(premise, otherwise=suspected) if is_possible else None


def _seeming_bugs(other: Case) -> set[str]:
    """The bugs that the values of a correct learner with these rewards seem to have, if one assumes 1 and -1."""
    if 0 in (other.scaled.win, other.scaled.loss):
        return {findings.LAST_MOVER_DROPPED, findings.OTHER_PLAYER_DROPPED}
    return {findings.OUT_OF_RANGE}


def _can_be_correct(case: Case, other: Case, suspected: set[str]) -> bool:
    """Whether a correct learner under another reading can have the values as well as one with a suspected bug.

    ``suspected`` are the names of the findings under the first reading, and empty if there are none.
    """
    # If replies are drawn, ranges are only approximate, so values of a correct learner may lie outside.
    draws = other.learner.opponent_draws
    max_share = 1 - thresholds.MIN_EXPLAINED if draws else thresholds.MAX_CONTRADICTING
    if evidence.contradicts(other, other.targets).sum() > max_share * other.is_trained.sum():
        return False
    if 0 in (other.scaled.win, other.scaled.loss):
        return _can_have_a_reward_of_0(other, suspected)
    if not _has_learned_a_last_move(other):
        return False
    if other.reading.on_policy:
        return _can_be_on_policy(case, other, suspected)
    # Larger rewards and another initial value move the targets of a bug as well as those of Bellman's equation. If
    # the values prove the suspected bug under this reading too, it does not depend on the reading.
    return not any(evidence.is_proven(other, bug) for bug in other.bugs if bug.name in suspected)


def _can_have_a_reward_of_0(other: Case, suspected: set[str]) -> bool:
    """Whether rewards of which one is 0 can be the reason why a bug is suspected.

    A reward of 0 teaches the same as a reward that is dropped, so it always explains this suspicion. It can look
    like another bug of the list too, such as a maximum that starts from 0. But then all returns have one sign, so
    values of both signs rule it out. Findings that are not in the list, such as values out of range, do not come
    from a reward of 0, and without a suspicion there is nothing to explain.
    """
    values = other.values
    has_both_signs = values.min() < -thresholds.NEAR and values.max() > thresholds.NEAR
    is_listed = bool(suspected & findings.LISTED_BUGS.keys())
    return bool(suspected & _seeming_bugs(other)) or (is_listed and not has_both_signs)


def _has_learned_a_last_move(other: Case) -> bool:
    """Whether a last move has left the initial value of a reading.

    Each game of self-play ends with a last move, so these are learned first. If none has left this value, while
    others have, the values did not start there. Against an opponent, the learner may never have made a last move.
    """
    initial = other.scaled.initial_or_0
    if not other.learner.is_self_play or other.bellman.last_mover == initial:
        return True
    progress = np.abs(other.last_moves - initial).max()
    return bool(progress >= thresholds.NEAR)


def _can_be_on_policy(case: Case, other: Case, suspected: set[str]) -> bool:
    """Whether targets that follow the learner's own moves can be the reason why a bug is suspected.

    An on-policy learner takes a mean over its own moves instead of the maximum. Only a bug that changes the
    maximum looks like this. Its name is doubted if the on-policy equation explains more of the values than this
    bug and than the maximum do. A bug without a name is suspected because values lie outside their range or stay
    off their targets, and both are judged by the maximum. A mean over moves that change during training has
    another target and no such range, so an on-policy learner can have these values.
    """
    if suspected == {findings.UNLISTED_BUG}:
        return True
    bugs = [bug for bug in other.bugs if bug.name in suspected]
    if all(bug.equation.bootstrap in ("maximum", "own policy") for bug in bugs):
        return False
    of_bugs = [evidence.share_explained(other, [bug.target]) for bug in bugs]
    of_maximum = evidence.share_explained(case, case.targets)
    return evidence.share_explained(other, other.targets) > max(of_maximum, *of_bugs)
