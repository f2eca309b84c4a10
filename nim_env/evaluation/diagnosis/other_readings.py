"""Could a correct learner have the values, with other rewards, another initial value or on-policy targets?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nim_env.evaluation.diagnosis import evidence, findings, thresholds, verdicts
from nim_env.evaluation.diagnosis.case import Case, case_of
from nim_env.evaluation.diagnosis.known_bugs import is_proven, likely_bugs, nearest_bug
from nim_env.evaluation.diagnosis.learner import Reading
from nim_env.evaluation.diagnosis.symptoms import first_symptom
from nim_env.evaluation.diagnosis.verdicts import Diagnosis


def diagnosis_under_other_readings(
    case: Case, not_told: set[str], suspected: Diagnosis | None
) -> Diagnosis | None:
    """Decides whether a correct learner under another reading can have the values.

    Args:
        case: The case under the first reading.
        not_told: The arguments of :func:`diagnose` that the user did not pass. Only these have other readings.
        suspected: The diagnosis of a bug under the first reading. None if none was found.

    Returns:
        An undecided diagnosis with the first of these readings as its premise. None if there is no such reading.
    """
    for reading, premise in _other_readings(case, not_told):
        other = case_of(case.learner, reading)
        if found := _under_other_reading(case, other, premise, suspected):
            return found
    return None


def _other_readings(case: Case, not_told: set[str]) -> Iterator[tuple[Reading, str]]:
    """Other readings of a correct learner that the values hint at, each with its premise and what decides it."""
    reading, learner = case.reading, case.learner
    unit = case.reading.unit
    size = max(learner.largest_value(reading), unit)
    if "rewards" in not_told:
        decides = "pass them (rewards, --rewards)"
        if size > thresholds.MAX_VALUE * unit:
            premise = f"values reach {size:.3g}, more than a return of {unit:g}"
            premise += f". If the rewards are larger, {decides}"
            yield reading._replace(win=size, loss=-size), premise
        for win, loss, never in ((size, 0.0, "loss"), (0.0, -size, "win")):
            premise = f"no {never} was ever seen. If the rewards are {win:g} and {loss:g}, {decides}"
            yield reading._replace(win=win, loss=loss), f"{premise}; if one side always starts, let both start"
    if "initial" in not_told and reading.initial is not None:
        for initial in _other_initials(case):
            premise = f"values may start at {initial:g}. If they do, pass this value (initial, --initial)"
            yield reading._replace(initial=initial), premise
    if "on_policy" in not_told:
        premise = (
            "the learner may be on-policy, like SARSA or Monte Carlo. If it is, say so (on_policy, --on-policy)"
        )
        yield reading._replace(on_policy=True), premise


def _other_initials(case: Case) -> list[float]:
    """The other initial values that the values hint at."""
    initials = case.learner.possible_initials
    outside = evidence.contradicts(case, case.targets)
    is_above = np.all([case.learned.values > target.high for target in case.targets], axis=0)
    n_above = (outside & is_above).sum()
    n_below = outside.sum() - n_above
    is_enough = max(n_above, n_below) >= thresholds.MIN_COUNT or (outside & case.pairs.is_last).any()
    if is_enough and not min(n_above, n_below):
        # all of these values lie on the same side of their range, so they may have started on that side
        initials = [*initials, case.reading.unit if n_above else -case.reading.unit]
    return [initial for initial in dict.fromkeys(initials) if initial != case.reading.initial]


def _under_other_reading(case: Case, other: Case, premise: str, suspected: Diagnosis | None) -> Diagnosis | None:
    """The diagnosis if another reading may be the true one; None if it explains the values no better.

    Rewards other than 1 and -1 can make a correct learner look as if it had one of a few bugs. If one of these is
    suspected, and the values show a bug of the list under the other reading too, the two bugs are the two answers.
    """
    is_right = evidence.satisfies_bellman(other) and first_symptom(other) is None
    if suspected is None:
        is_possible = is_right and _can_be_correct(case, other, set())
        return verdicts.undecided(premise, findings.BELLMAN) if is_possible else None
    names = set(suspected.findings)
    if not is_right and names & _seeming_bugs(other):
        bug = first_symptom(other) or nearest_bug(other, likely_bugs(other))
        if bug and findings.LISTED_BUGS.keys() - names >= set(bug.findings):
            return verdicts.undecided_between(premise, bug, *suspected.findings)
    return verdicts.undecided_between(premise, suspected) if _can_be_correct(case, other, names) else None


def _seeming_bugs(other: Case) -> set[str]:
    """The bugs that the values of a correct learner with these rewards seem to have, if one assumes 1 and -1."""
    if 0 in (other.scaled.win, other.scaled.loss):
        return {findings.LAST_MOVER_DROPPED, findings.OTHER_PLAYER_DROPPED}
    return {findings.OUT_OF_RANGE}


def _can_be_correct(case: Case, other: Case, suspected: set[str]) -> bool:
    """Whether a correct learner under another reading can have the values as well as one with a suspected bug.

    ``suspected`` are the names of the findings under the first reading, and empty if there are none.
    """
    # Where replies are drawn, ranges are a rule and not a theorem, so values of a correct learner may lie outside.
    max_share = thresholds.MAX_CONTRADICTING
    if other.moves.opponent_draws:
        max_share = 1 - thresholds.MIN_EXPLAINED
    if evidence.contradicts(other, other.targets).sum() > max_share * other.learned.is_trained.sum():
        return False
    if 0 in (other.scaled.win, other.scaled.loss):
        return _can_have_a_reward_of_0(other, suspected)
    if not _has_learned_a_last_move(other):
        return False
    if other.reading.on_policy:
        return _can_be_on_policy(case, other, suspected)
    # Larger rewards and another initial value move the targets of a bug as well as those of Bellman's equation. If
    # the values prove the suspected bug under this reading too, it does not depend on the reading.
    return not any(is_proven(other, bug) for bug in other.bugs if bug.name in suspected)


def _can_have_a_reward_of_0(other: Case, suspected: set[str]) -> bool:
    """Whether rewards of which one is 0 can be the reason why a bug is suspected.

    A reward of 0 teaches the same as a reward that is dropped, so it always explains this suspicion. It can look
    like another bug of the list too, such as a maximum that starts from 0. But then all returns have one sign, so
    values of both signs rule it out. Findings that are not in the list, such as values out of range, do not come
    from a reward of 0, and without a suspicion there is nothing to explain.
    """
    values = other.learned.values
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
