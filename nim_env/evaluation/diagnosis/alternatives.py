"""Whether a correct learner under other assumptions can have the values.

The diagnosis first assumes rewards of one size, an initial value and Q-learning. The other assumptions are other
rewards, another initial value, and on-policy targets.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nim_env.evaluation.diagnosis import evidence, findings, thresholds
from nim_env.evaluation.diagnosis.equations import Assumptions
from nim_env.evaluation.diagnosis.findings import Diagnosis
from nim_env.evaluation.diagnosis.learner import Learner
from nim_env.evaluation.diagnosis.symptoms import first_symptom


def diagnosis_under_other_assumptions(
    learner: Learner, not_passed: set[str], suspected: Diagnosis | None
) -> Diagnosis | None:
    """Returns an undecided diagnosis if a correct learner under other assumptions can have the values.

    Args:
        learner: The learner under the assumptions that were tried before.
        not_passed: The arguments of :func:`diagnose` that the user did not pass. Only these are varied.
        suspected: The diagnosis of a bug under those assumptions. ``None`` if no bug was found.

    Returns:
        The undecided diagnosis. It asks the user about the first assumption with which a correct learner can have
        the values. ``None`` if there is no such assumption.
    """
    for assumptions, question in _other_assumptions(learner, not_passed):
        other = Learner(learner.inputs, assumptions)
        if suspected is None:
            if _has_no_bug(other) and _can_be_correct(learner, other, set()):
                return findings.undecided(question, findings.BELLMAN)
        elif either_bug := _either_bug(other, question, suspected):
            return either_bug
        elif _can_be_correct(learner, other, set(suspected.findings)):
            return findings.undecided(question, otherwise=suspected)
    return None


def _other_assumptions(learner: Learner, not_passed: set[str]) -> Iterator[tuple[Assumptions, str]]:
    """Yields other assumptions that the values suggest, and sentences that ask the user to confirm them.

    ``not_passed`` are the arguments of :func:`diagnose` that the user did not pass. Only these are varied.
    """
    first, reward_size = learner.assumptions, learner.assumptions.reward_size
    largest = reward_size * max(float(np.abs(learner.values).max()), 1.0)
    if "rewards" in not_passed:
        pass_them = "pass them (rewards, --rewards)"
        if largest > thresholds.MAX_VALUE * reward_size:
            values = f"values reach {largest:.3g}, more than a return of {reward_size:g}"
            yield first._replace(win=largest, loss=-largest), f"{values}. If the rewards are larger, {pass_them}"
        for win, loss, never in ((largest, 0.0, "loss"), (0.0, -largest, "win")):
            rewards = f"If the rewards are {win:g} and {loss:g}, {pass_them}"
            question = f"no {never} was ever seen. {rewards}; if one side always starts, let both start"
            yield first._replace(win=win, loss=loss), question
    if "initial" in not_passed and first.initial is not None:
        for initial in _other_initials(learner):
            question = f"values may start at {initial:g}. If they do, pass this value (initial, --initial)"
            yield first._replace(initial=initial), question
    if "on_policy" in not_passed:
        question = (
            "the learner may be on-policy, like SARSA or Monte Carlo. If it is, say so (on_policy, --on-policy)"
        )
        yield first._replace(on_policy=True), question


def _other_initials(learner: Learner) -> list[float]:
    """Returns numbers that may be the initial value instead of the assumed one.

    The first numbers are values that look as if they were never updated. The last one is the reward of a win if
    several values lie above the range of Bellman's equation and none below, and the reward of a loss if it is the
    other way around.
    """
    initials, reward_size = learner.inputs.possible_initials, learner.assumptions.reward_size
    is_outside = evidence.impossible_values(learner, learner.targets)
    is_above = np.all([learner.values > target.high for target in learner.targets], axis=0)
    n_above = (is_outside & is_above).sum()
    n_below = is_outside.sum() - n_above
    is_enough = max(n_above, n_below) >= thresholds.MIN_COUNT or (is_outside & learner.pairs.is_last).any()
    if is_enough and not min(n_above, n_below):
        # all of these values lie above their ranges, or all below, so they may have started there
        initials = [*initials, reward_size if n_above else -reward_size]
    return [initial for initial in dict.fromkeys(initials) if initial != learner.assumptions.initial]


def _has_no_bug(other: Learner) -> bool:
    """Returns whether the values satisfy Bellman's equation and show no symptom of a bug."""
    return evidence.satisfies_bellman(other) and first_symptom(other) is None


def _either_bug(other: Learner, question: str, suspected: Diagnosis) -> Diagnosis | None:
    """Returns an undecided diagnosis that names the suspected bug and another known bug.

    Other rewards than the assumed ones can make a correct learner look as if it had one of a few bugs. If one of
    these is suspected, and the values show another known bug under the other rewards, the learner has one of the
    two.

    Args:
        other: The learner under other assumptions than those under which the bug is suspected.
        question: Sentences that ask the user whether these other assumptions are right.
        suspected: The diagnosis of the suspected bug.

    Returns:
        The diagnosis, or ``None`` if there is no other known bug.
    """
    names = set(suspected.findings)
    if not names & _bugs_that_rewards_explain(other) or _has_no_bug(other):
        return None
    bug = first_symptom(other) or evidence.likely_bug(other)
    if bug is None or not findings.KNOWN_BUGS.keys() - names >= set(bug.findings):
        return None
    return findings.undecided(question, *suspected.findings, otherwise=bug)


def _bugs_that_rewards_explain(other: Learner) -> set[str]:
    """Returns the names of the bugs that a correct learner seems to have if it is judged with wrong rewards.

    ``other`` is the learner with the right rewards.
    """
    if 0 in (other.scaled.win, other.scaled.loss):
        return {findings.LAST_MOVER_DROPPED, findings.OTHER_PLAYER_DROPPED}
    return {findings.OUT_OF_RANGE}


def _can_be_correct(learner: Learner, other: Learner, suspected: set[str]) -> bool:
    """Returns whether a correct learner under other assumptions can have the values.

    Args:
        learner: The learner under the assumptions that were tried before.
        other: The learner under the other assumptions.
        suspected: The names of the bugs that are suspected under the assumptions that were tried before.

    Returns:
        Whether it can.
    """
    # If the opponent draws its replies, ranges are approximate, so values of a correct learner can lie outside.
    is_random = other.inputs.has_random_opponent
    max_fraction = 1 - thresholds.MIN_EXPLAINED if is_random else thresholds.MAX_IMPOSSIBLE
    if evidence.impossible_values(other, other.targets).sum() > max_fraction * other.is_trained.sum():
        return False
    if 0 in (other.scaled.win, other.scaled.loss):
        return _can_have_a_reward_of_0(other, suspected)
    if not _has_learned_a_last_move(other):
        return False
    if other.assumptions.on_policy:
        return _can_be_on_policy(learner, other, suspected)
    # Larger rewards and another initial value move the targets of a bug as well as those of Bellman's equation. If
    # the values prove the suspected bug under these assumptions too, it does not depend on them.
    return not any(evidence.is_proven(other, bug) for bug in other.bugs if bug.name in suspected)


def _can_have_a_reward_of_0(other: Learner, suspected: set[str]) -> bool:
    """Returns whether a reward of 0 can explain why a bug is suspected.

    If the suspected bug is a dropped reward, the answer is yes, since a reward of 0 has the same effect. A reward
    of 0 can also look like another known bug, such as a maximum that starts from 0. But then all returns have one
    sign, so values of both signs rule it out. It does not explain other findings, such as values out of range.

    Args:
        other: The learner with a reward of 0 for a win or for a loss.
        suspected: The names of the suspected bugs. The answer is no if there are none.

    Returns:
        The answer.
    """
    values = other.values
    has_both_signs = values.min() < -thresholds.NEAR and values.max() > thresholds.NEAR
    is_known = bool(suspected & findings.KNOWN_BUGS.keys())
    return bool(suspected & _bugs_that_rewards_explain(other)) or (is_known and not has_both_signs)


def _has_learned_a_last_move(other: Learner) -> bool:
    """Returns whether the value of some last move, which ends the game, has left the assumed initial value.

    Each game of self-play ends with a last move, so these values are learned first. If none of them has moved
    while others have, the values did not start there. Against an opponent the answer is always yes, since the
    learner may never have made a last move.
    """
    if not other.inputs.is_self_play or other.bellman.last_mover == other.initial:
        return True
    progress = np.abs(other.last_moves - other.initial).max()
    return bool(progress >= thresholds.NEAR)


def _can_be_on_policy(learner: Learner, other: Learner, suspected: set[str]) -> bool:
    """Returns whether an on-policy learner can have the values for which a bug is suspected.

    An on-policy learner takes a mean over its own moves instead of the maximum. Only a bug that changes the
    maximum looks like this. The answer is yes if the on-policy equation explains more of the values than the bug
    does, and more than the maximum does.

    For an unknown bug, the answer is always yes. Such a bug is suspected because values lie outside their range or
    stay off their targets. Both are judged by the maximum, but the moves of an on-policy learner change during
    training, so it has other targets and no such range.

    Args:
        learner: The learner with the maximum.
        other: The learner with on-policy targets.
        suspected: The names of the suspected bugs.

    Returns:
        The answer.
    """
    if suspected == {findings.UNKNOWN_BUG}:
        return True
    bugs = [bug for bug in other.bugs if bug.name in suspected]
    if all(bug.equation.bootstrap in ("maximum", "own policy") for bug in bugs):
        return False
    by_bugs = [evidence.fraction_explained(other, [bug.target]) for bug in bugs]
    by_maximum = evidence.fraction_explained(learner, learner.targets)
    return evidence.fraction_explained(other, other.targets) > max(by_maximum, *by_bugs)
