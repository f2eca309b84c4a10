"""Could a correct learner have the values, with other rewards, another initial value or on-policy targets?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nim_env.evaluation.diagnosis import evidence, findings, thresholds, verdicts
from nim_env.evaluation.diagnosis.case import Case
from nim_env.evaluation.diagnosis.known_bugs import is_proven, likely_bugs, nearest_bug
from nim_env.evaluation.diagnosis.learner import Reading
from nim_env.evaluation.diagnosis.symptoms import first_symptom
from nim_env.evaluation.diagnosis.verdicts import Diagnosis


def diagnosis_under_other_readings(case: Case, unknown: set[str], suspected: Diagnosis | None) -> Diagnosis | None:
    """Decides whether a correct learner under another reading can have the values.

    Args:
        case: The case under the first reading.
        unknown: The arguments of :func:`diagnose` that the user did not pass. Only these have other readings.
        suspected: The diagnosis of a bug under the first reading. None if none was found.

    Returns:
        An undecided diagnosis with the first of these readings as its premise. None if there is no such reading.
    """
    for reading, premise in _other_readings(case, unknown):
        other = Case(case.learner, reading, case.earlier)
        if found := _under_other_reading(case, other, premise, suspected):
            return found
    return None


def _other_readings(case: Case, unknown: set[str]) -> Iterator[tuple[Reading, str]]:
    """Other readings of a correct learner that the values hint at, each with its premise and what decides it."""
    reading, learner = case.reading, case.learner
    size = max(float(np.abs(learner.action_values(reading)[learner.legal]).max()), case.reward_scale)
    if "rewards" in unknown:
        decides = "pass them (rewards, --rewards)"
        if size > thresholds.MAX_VALUE * case.reward_scale:
            premise = f"values reach {size:.3g}, more than a return of {case.reward_scale:g}"
            premise += f". If the rewards are larger, {decides}"
            yield reading._replace(win=size, loss=-size), premise
        for win, loss, never in ((size, 0.0, "loss"), (0.0, -size, "win")):
            premise = f"no {never} was ever seen. If the rewards are {win:g} and {loss:g}, {decides}"
            yield reading._replace(win=win, loss=loss), f"{premise}; if one side always starts, let both start"
    if "initial" in unknown and reading.initial is not None:
        for initial in _other_initials(case):
            premise = f"values may start at {initial:g}. If they do, pass this value (initial, --initial)"
            yield reading._replace(initial=initial), premise
    if "on_policy" in unknown:
        premise = (
            "the learner may be on-policy, like SARSA or Monte Carlo. If it is, say so (on_policy, --on-policy)"
        )
        yield reading._replace(on_policy=True), premise


def _other_initials(case: Case) -> list[float]:
    """The other initial values that the values hint at."""
    initials = case.learner.possible_initials
    outside = evidence.contradicts(case, case.targets)
    n_above = (outside & np.all([case.values > target.high for target in case.targets], axis=0)).sum()
    n_below = outside.sum() - n_above
    is_enough = max(n_above, n_below) >= thresholds.MIN_COUNT or (outside & case.is_last).any()
    if is_enough and not min(n_above, n_below):
        # all of these values lie on the same side of their range, so they may have started on that side
        initials = [*initials, case.reward_scale if n_above else -case.reward_scale]
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
    if 0 in (other.win, other.loss):
        return {findings.LAST_MOVER_DROPPED, findings.OTHER_PLAYER_DROPPED}
    return {findings.OUT_OF_RANGE}


def _can_be_correct(case: Case, other: Case, suspected: set[str]) -> bool:
    """Whether a correct learner under another reading can have the values as well as one with a suspected bug.

    ``suspected`` are the names of the findings under the first reading, and empty if there are none.
    """
    share = 1 - thresholds.MIN_EXPLAINED if other.draws_replies else thresholds.MAX_CONTRADICTING
    if evidence.contradicts(other, other.targets).sum() > share * other.is_trained.sum():
        return False
    if 0 in (other.win, other.loss):
        has_both_signs = other.values.min() < -thresholds.NEAR and other.values.max() > thresholds.NEAR
        is_listed = bool(suspected & findings.LISTED_BUGS.keys())
        return bool(suspected & _seeming_bugs(other)) or (is_listed and not has_both_signs)
    initial = other.initial or 0
    progress = np.abs(other.values[other.is_last] - initial).max()
    if other.is_self_play and other.bellman.last_mover != initial and progress < thresholds.NEAR:
        return False  # last moves are learned first
    bugs = [bug for bug in other.bugs if bug.name in suspected]
    if other.reading.on_policy:
        of_a_maximum = [bug for bug in bugs if bug.equation.bootstrap not in ("maximum", "own policy")]
        fractions = [evidence.explained(other, [bug.target]) for bug in bugs]
        best = max([evidence.explained(case, case.targets), *fractions])
        is_better = bool(of_a_maximum) and evidence.explained(other, other.targets) > best
        return is_better or suspected == {findings.UNLISTED_BUG}
    return not any(is_proven(other, bug) for bug in bugs)
