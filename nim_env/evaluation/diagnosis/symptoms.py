"""The tests for bugs: each looks at the values for one symptom of a bug, under the reading of the case."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nim_env.evaluation.diagnosis import evidence, findings, thresholds, verdicts
from nim_env.evaluation.diagnosis.case import Case, case_of
from nim_env.evaluation.diagnosis.known_bugs import likely_bugs, nearest_bug, proven_bugs
from nim_env.evaluation.diagnosis.other_discount import other_discount
from nim_env.evaluation.diagnosis.pairs import Bools
from nim_env.evaluation.diagnosis.verdicts import Diagnosis
from nim_env.evaluation.diagnosis.witness import first_witness


def first_symptom(case: Case) -> Diagnosis | None:
    """Returns the diagnosis of the first test that finds something, or None if no test does.

    A few of the diagnoses are undecided, as for another discount, which may be what the user meant. The values of
    a network start anywhere, so most symptoms would prove nothing, and only two of the tests apply.
    """
    tests = [
        _out_of_range,
        _last_moves_of_both_signs,
        _last_moves_of_another_reward,
        _last_moves_of_the_wrong_sign,
        _no_last_move,
        other_discount,
        _listed_bug,
        _values_of_both_signs,
        _unlisted_bug,
    ]
    if case.scaled.initial is None:
        tests = [_out_of_range, _listed_bug]
    return next(filter(None, (test(case) for test in tests)), None)


def _out_of_range(case: Case) -> Diagnosis | None:
    """Values larger than every return."""
    unit, sizes = case.reading.unit, np.abs(case.learned.values)
    largest, max_share = max(thresholds.MAX_VALUE, abs(case.scaled.initial_or_0)), 0.0
    if case.scaled.initial is None:  # a network can overshoot, and a few of its values lie anywhere
        largest, max_share = thresholds.MAX_VALUE + thresholds.APART, 1 - thresholds.MIN_EXPLAINED
    if (sizes > largest).mean() <= max_share:
        return None
    last_moves = unit * sizes[case.pairs.is_last].max()
    text = (
        f"values reach {unit * sizes.max():.3g} and last moves {last_moves:.3g}, but no return exceeds {unit:g}. "
        "The target continues after the last move (no done flag), or the update adds the target instead of its "
        "difference from the old value"
    )
    return verdicts.bug(text, findings.OUT_OF_RANGE, place="in the update")


def _last_moves_of_both_signs(case: Case) -> Diagnosis | None:
    """Last moves on both sides of their initial value, although they all have one reward."""
    if min(_furthest_of_last_moves(case)) <= thresholds.NEAR:
        return None
    text = "last moves have values of both signs: the rewards are always from the same player's point of view"
    return verdicts.bug(text, findings.BOTH_SIGNS)


def _last_moves_of_another_reward(case: Case) -> Diagnosis | None:
    """Last moves that have moved away from their initial value, although this is their reward, 0."""
    reward, unit, last = case.bellman.last_mover, case.reading.unit, case.last_moves
    if not (reward == case.scaled.initial == 0 and np.abs(last).max() > thresholds.NEAR):
        return None
    furthest = unit * last[np.abs(last).argmax()]
    text = f"last moves reach {furthest:.3g}, but their reward is {unit * reward:g}"
    return verdicts.bug(text, findings.OTHER_REWARD)


def _last_moves_of_the_wrong_sign(case: Case) -> Diagnosis | None:
    """Last moves that have all moved away from their reward."""
    toward, away = _furthest_of_last_moves(case)
    if toward > 0 or away <= thresholds.NEAR:
        return None
    name = findings.OPPONENTS_REWARD
    max_contradicting = thresholds.MAX_CONTRADICTING_WRONG_SIGN * case.learned.is_trained.sum()
    for bug in case.bugs:
        if bug.name == name and evidence.contradicts(case, [bug.target]).sum() <= max_contradicting:
            return verdicts.bug(f"{findings.LISTED_BUGS[name]}: last moves have the wrong sign", name)
    return verdicts.bug("last moves have the wrong sign", findings.UNLISTED_BUG, place="in the update")


def _furthest_of_last_moves(case: Case) -> tuple[float, float]:
    """How far last moves have moved from their initial value at most, toward their reward and away from it."""
    initial = case.scaled.initial_or_0
    progress = (case.last_moves - initial) * np.sign(case.bellman.last_mover - initial)
    return progress.max(), -progress.min()


def _no_last_move(case: Case) -> Diagnosis | None:
    """Last moves that were never updated, although each game of self-play has one."""
    is_trained, reward = case.learned.is_trained, case.bellman.last_mover
    can_be_trained = case.learner.is_self_play and reward != case.scaled.initial
    if not can_be_trained or is_trained[case.pairs.is_last].any() or is_trained.sum() < thresholds.MIN_COUNT:
        return None
    name = findings.LAST_MOVER_DROPPED
    return verdicts.bug(findings.LISTED_BUGS[name], name)


def _listed_bug(case: Case) -> Diagnosis | None:
    """Values that satisfy the equation of a bug of the list."""
    return nearest_bug(case, proven_bugs(case))


def _values_of_both_signs(case: Case) -> Diagnosis | None:
    """Values on both sides of 0, although one of the rewards is 0."""
    scaled, values = case.scaled, case.learned.values
    has_both_signs = min(values.max(), -values.min()) > thresholds.NEAR
    is_between = scaled.loss <= scaled.initial_or_0 <= scaled.win  # otherwise initial values have the other sign
    if 0 not in (scaled.win, scaled.loss) or not has_both_signs or not is_between:
        return None
    text = "values have both signs: the rewards are always from the same player's point of view"
    return verdicts.bug(text, findings.BOTH_SIGNS)


def _unlisted_bug(case: Case) -> Diagnosis | None:
    """A bug without a name: values that Bellman's equation cannot have made, or that do not move."""
    is_impossible = evidence.contradicts(case, case.targets).sum() >= evidence.min_contradictions(case)
    if not is_impossible and _n_stuck(case) < thresholds.MIN_COUNT:
        return None
    text = "more training will not fix these values"
    names: tuple[str, ...] = ()
    if nearest := nearest_bug(case, likely_bugs(case)):
        names = nearest.findings
        text += f". The nearest known bug: {verdicts.in_words(names)}"
    return verdicts.bug(text, findings.UNLISTED_BUG, *names, place="in the update", witness=first_witness(case))


def _n_stuck(case: Case) -> int:
    """The number of best moves near the end that were off their targets earlier too, and have not moved.

    Another value of their position must have moved meanwhile: if none has, exploration has ended.
    """
    learner = case.learner
    if learner.earlier is None or learner.earlier.ndim != learner.given.ndim or case.reading.on_policy:
        return 0
    before = case_of(replace(learner, given=learner.earlier, earlier=None), case.reading)
    values, values_before = case.learned.values, before.learned.values
    is_stuck = np.abs(values - values_before) < thresholds.MIN_CHANGE
    is_stuck &= case.pairs.n_objects <= thresholds.ENDGAME_OBJECTS
    is_stuck &= case.pairs.sums(values != values_before)[case.pairs.row] > 0
    return int((is_stuck & _is_off(case) & _is_off(before)).sum())


def _is_off(case: Case) -> Bools:
    """Which trained best moves are off their targets, although another move of their position was tried."""
    learned, pairs = case.learned, case.pairs
    is_tried = pairs.sums(learned.is_trained & ~learned.is_greedy)[pairs.row] > 0
    is_off = evidence.distance(case, case.targets) > thresholds.APART
    return learned.is_greedy & learned.is_trained & is_tried & is_off
