"""Other assumptions about a learner, tried before the diagnosis reports a bug or the advice to train longer.

The diagnosis first assumes Q-learning, one initial value, and rewards of the same size for a win and a loss, such
as 1 and -1. If these assumptions are wrong, a correct learner can look as if it had a bug. So this module tries
other rewards, another initial value, and an on-policy learner. If a correct learner can have the values under one
of these, the diagnosis is undecided and asks the user.
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
        learner: The learner under the first assumptions.
        not_passed: The arguments of :func:`diagnose` that the user did not pass. Only these assumptions change.
        suspected: The diagnosis of a bug under the first assumptions. ``None`` if no bug was found.

    Returns:
        The undecided diagnosis. It asks the user whether the other assumption is right. If several assumptions are
        possible, it asks about the first. ``None`` if none is possible.
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
    """Yields other assumptions to try, each with a text that asks the user whether it is right.

    Only one of the rewards, the initial value and the kind of targets changes at a time. An assumption that the
    user passed to :func:`diagnose` stays: ``not_passed`` has the names of the arguments that may change.
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
    """Returns numbers that may be the initial value, other than the assumed one.

    Some are values that all moves of several positions share, as if they were never updated
    (:attr:`Inputs.possible_initials`). The last one is the reward of a win, if several values are too high for a
    correct learner and none is too low: they may have started high. If they are too low, it is the reward of a
    loss.
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
    """Returns whether a learner's values satisfy Bellman's equation and show no symptom of a bug.

    ``other`` is the learner under other assumptions than the first ones.
    """
    return evidence.satisfies_bellman(other) and first_symptom(other) is None


def _either_bug(other: Learner, question: str, suspected: Diagnosis) -> Diagnosis | None:
    """Returns an undecided diagnosis that names two bugs, one for each answer to ``question``.

    A correct learner that is judged with wrong rewards seems to have one of a few bugs. If one of these bugs is
    suspected, other rewards are tried. The values can then show a different known bug. In this case the learner
    has the suspected bug if the first rewards are right, and the other bug if the other rewards are right.

    Args:
        other: The learner under the other assumptions.
        question: The text that asks the user whether the other assumptions are right.
        suspected: The diagnosis of the suspected bug, under the first assumptions.

    Returns:
        The diagnosis, or ``None`` if the values do not show another known bug.
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

    ``other`` is the learner with the right rewards. If one of these is 0, a reward seems to be dropped. If they
    are larger than assumed, values seem to be out of range.
    """
    if 0 in (other.scaled.win, other.scaled.loss):
        return {findings.LAST_MOVER_DROPPED, findings.OTHER_PLAYER_DROPPED}
    return {findings.OUT_OF_RANGE}


def _can_be_correct(learner: Learner, other: Learner, suspected: set[str]) -> bool:
    """Returns whether a correct learner can have the values if other assumptions than the first ones are right.

    Args:
        learner: The learner under the first assumptions.
        other: The learner under the other assumptions.
        suspected: The names of the bugs that are suspected under the first assumptions. Empty if there are none.

    Returns:
        True if hardly any value is impossible under the other assumptions, and if they explain the suspected bugs.
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
    """Returns whether a bug may be suspected only because one of the rewards is 0, which was not assumed.

    A reward of 0 looks like a dropped reward, so the answer is yes if this bug is suspected. It can also look like
    other known bugs, such as a maximum that starts from 0. For these the answer is yes unless there are values
    above and below 0, since all returns have the same sign if one reward is 0. For other findings, such as values
    out of range, the answer is no.

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
    """Returns whether some last move, which ends the game, has a value other than the initial value of ``other``.

    If not, this is the wrong initial value. In self-play each game ends with a last move, so the values of last
    moves are learned first. Against an opponent the answer is always yes, since the learner may never have made a
    last move. It is also yes if the reward of last moves equals the initial value, since updates do not change
    their values then.
    """
    if not other.inputs.is_self_play or other.bellman.last_mover == other.initial:
        return True
    progress = np.abs(other.last_moves - other.initial).max()
    return bool(progress >= thresholds.NEAR)


def _can_be_on_policy(learner: Learner, other: Learner, suspected: set[str]) -> bool:
    """Returns whether a bug may be suspected only because the learner is on-policy, which was not assumed.

    The target of an on-policy learner has the mean over its own moves instead of the maximum. So only a bug in the
    maximum can look like it. The answer is yes if the on-policy targets explain more of the values than the bug
    does, and more than the targets of Q-learning do.

    If the suspected bug is unknown, the answer is always yes. Such a bug is suspected if values are outside their
    range, or if they are off their targets and no longer change. Neither rules out an on-policy learner: its moves
    change during the training, and its targets change with them.

    Args:
        learner: The learner with the targets of Q-learning.
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
