"""The tests for bugs. Each looks for one symptom of a bug in the values of a learner.

A test returns a diagnosis, or ``None`` if the values do not have its symptom. :func:`first_symptom` runs the
tests. They are in the order in which they run, except the one for another discount, which has several steps and is
last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nim_env.evaluation.diagnosis import evidence, findings, thresholds
from nim_env.evaluation.diagnosis.findings import Diagnosis
from nim_env.evaluation.diagnosis.inputs import Bools, Floats
from nim_env.evaluation.diagnosis.learner import Learner


def first_symptom(learner: Learner) -> Diagnosis | None:
    """Runs the tests and returns the diagnosis of the first one that finds its symptom, or ``None``.

    A symptom need not be a bug: the user may have meant to train with another discount, for example. The diagnosis
    is then undecided. For a network only two tests are run, since the others compare values with an initial value.
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
    if not learner.is_initial_known:
        tests = [_out_of_range, _known_bug]
    return next(filter(None, (test(learner) for test in tests)), None)


def _out_of_range(learner: Learner) -> Diagnosis | None:
    """Looks for values that are larger than any return can be.

    In a table one such value is enough. A network can overshoot, so more than a fifth of its values must be
    larger, and by more.
    """
    sizes, reward_size = np.abs(learner.values), learner.assumptions.reward_size
    largest, max_fraction = max(thresholds.MAX_VALUE, abs(learner.initial)), 0.0
    if not learner.is_initial_known:  # a network can overshoot
        largest, max_fraction = thresholds.MAX_VALUE + thresholds.APART, 1 - thresholds.MIN_EXPLAINED
    if (sizes > largest).mean() <= max_fraction:
        return None
    reached, of_last_moves = reward_size * sizes.max(), reward_size * sizes[learner.pairs.is_last].max()
    text = (
        f"values reach {reached:.3g} and last moves {of_last_moves:.3g}, but no return exceeds {reward_size:g}. "
        "The target continues after the last move (no done flag), or the update adds the target instead of its "
        "difference from the old value"
    )
    return findings.bug(text, findings.OUT_OF_RANGE, place="in the update")


def _last_moves_of_both_signs(learner: Learner) -> Diagnosis | None:
    """Looks for last moves, which end the game, with values both above and below the initial value.

    All last moves have the same reward, so a correct learner moves their values in one direction.
    """
    if min(_progress_of_last_moves(learner)) <= thresholds.NEAR:
        return None
    text = "last moves have values of both signs: the rewards are always from the same player's point of view"
    return findings.bug(text, findings.MIXED_SIGNS)


def _last_moves_of_another_reward(learner: Learner) -> Diagnosis | None:
    """Looks for last moves, which end the game, whose reward is 0 but whose values have moved away from 0.

    The test applies only if the initial value is 0. A correct learner then never changes these values.
    """
    furthest = learner.last_moves[np.abs(learner.last_moves).argmax()]
    if not (learner.bellman.last_mover == learner.scaled.initial == 0 and abs(furthest) > thresholds.NEAR):
        return None
    reached = learner.assumptions.reward_size * furthest
    return findings.bug(f"last moves reach {reached:.3g}, but their reward is 0", findings.OTHER_REWARD)


def _last_moves_of_the_wrong_sign(learner: Learner) -> Diagnosis | None:
    """Looks for last moves, which end the game, whose values have only moved away from their reward.

    The diagnosis is that the learner gets the opponent's reward, if nearly all values are possible with this bug.
    Otherwise it is an unknown bug.
    """
    toward, away = _progress_of_last_moves(learner)
    if toward > 0 or away <= thresholds.NEAR:
        return None
    text = "last moves have the wrong sign"
    max_impossible = thresholds.MAX_IMPOSSIBLE_WRONG_SIGN * learner.is_trained.sum()
    is_opponents_reward = any(
        evidence.impossible_values(learner, [bug.target]).sum() <= max_impossible
        for bug in learner.bugs
        if bug.name == findings.OPPONENTS_REWARD
    )
    if is_opponents_reward:
        text = f"{findings.KNOWN_BUGS[findings.OPPONENTS_REWARD]}: {text}"
        return findings.bug(text, findings.OPPONENTS_REWARD)
    return findings.bug(text, findings.UNKNOWN_BUG, place="in the update")


def _progress_of_last_moves(learner: Learner) -> tuple[float, float]:
    """Returns how far the values of last moves, which end the game, have moved from the initial value.

    Returns two numbers: the largest change toward the reward, and the largest change away from it.
    """
    progress = (learner.last_moves - learner.initial) * np.sign(learner.bellman.last_mover - learner.initial)
    return progress.max(), -progress.min()


def _no_last_move(learner: Learner) -> Diagnosis | None:
    """Looks for a learner in self-play that has never updated a last move, although each game ends with one."""
    is_trained, reward = learner.is_trained, learner.bellman.last_mover
    can_be_trained = learner.inputs.is_self_play and reward != learner.scaled.initial
    if not can_be_trained or is_trained[learner.pairs.is_last].any() or is_trained.sum() < thresholds.MIN_COUNT:
        return None
    return findings.known_bugs([findings.LAST_MOVER_DROPPED])


def _known_bug(learner: Learner) -> Diagnosis | None:
    """Looks for a known bug that the values prove.

    Bugs in the maximum are left out if a correct learner may have no maximum. This is so if the learner is
    on-policy. It is also so if the table has one value per position instead of one per action, since such a table
    may hold the values of any policy.
    """
    has_maximum = not learner.assumptions.on_policy and learner.inputs.has_action_values
    proven = [
        bug
        for bug in learner.bugs
        if (has_maximum or bug.equation.bootstrap == learner.bellman.bootstrap)
        and evidence.is_proven(learner, bug)
    ]
    return evidence.nearest_bug(learner, proven)


def _values_of_both_signs(learner: Learner) -> Diagnosis | None:
    """Looks for values both above and below 0, although the reward of a win or of a loss is 0.

    Then only the other reward differs from 0, so no value of a correct learner can have the opposite sign.
    """
    scaled, values = learner.scaled, learner.values
    has_both_signs = min(values.max(), -values.min()) > thresholds.NEAR
    is_between = scaled.loss <= learner.initial <= scaled.win  # otherwise initial values may differ in sign
    if 0 not in (scaled.win, scaled.loss) or not has_both_signs or not is_between:
        return None
    text = "values have both signs: the rewards are always from the same player's point of view"
    return findings.bug(text, findings.MIXED_SIGNS)


def _unknown_bug(learner: Learner) -> Diagnosis | None:
    """Looks for values that more training would not make right, although no known bug is proven.

    These are values that no correct learner can have, or that have stopped changing before they reached their
    targets. The diagnosis also names the most similar known bug if one is likely, and an example of such a value.
    """
    n_impossible = evidence.impossible_values(learner, learner.targets).sum()
    if n_impossible < evidence.min_impossible_values(learner) and _n_stuck(learner) < thresholds.MIN_COUNT:
        return None
    text = "more training will not fix these values"
    nearest = evidence.likely_bug(learner)
    names = nearest.findings if nearest else ()
    if names:
        text += f". The nearest known bug: {findings.known_bugs_in_words(names)}"
    witness = evidence.witness(learner)
    return findings.bug(text, findings.UNKNOWN_BUG, *names, place="in the update", witness=witness)


def _n_stuck(learner: Learner) -> int:
    """Counts best moves whose values are off their targets and have stopped changing.

    A value has stopped changing if it is about the same in the earlier table that the user passed, although
    another value of its position has changed since then. If all values of a position are unchanged, the learner
    may just not have visited it again. Only positions with few objects count. The result is 0 if there is no
    earlier table.
    """
    inputs = learner.inputs
    if inputs.earlier is None or inputs.earlier.ndim != inputs.table.ndim or learner.assumptions.on_policy:
        return 0
    before = Learner(replace(inputs, table=inputs.earlier, earlier=None), learner.assumptions)
    change = np.abs(learner.values - before.values)
    is_stuck = change < thresholds.MIN_CHANGE
    is_stuck &= learner.pairs.n_objects <= thresholds.ENDGAME_OBJECTS
    is_stuck &= learner.pairs.sums(change > 0)[learner.pairs.position] > 0
    return int((is_stuck & _is_off(learner) & _is_off(before)).sum())


def _is_off(learner: Learner) -> Bools:
    """Returns which values belong to best moves and are off their targets, bool of shape ``(n_pairs,)``.

    Only values that training has changed are considered, and only in positions in which it has also changed the
    value of a worse move.
    """
    pairs = learner.pairs
    is_tried = pairs.sums(learner.is_trained & ~learner.is_greedy)[pairs.position] > 0
    is_off = evidence.distance(learner, learner.targets) > thresholds.APART
    return learner.is_greedy & learner.is_trained & is_tried & is_off


def _other_discount(learner: Learner) -> Diagnosis | None:
    """Looks for a discount, other than the one that was passed, with which the values satisfy Bellman's equation.

    The test applies only if the values of last moves have reached their reward, since all other values depend on
    them. The diagnosis is undecided, since the user may have meant to use this discount.

    It is a bug, however, if both the rewards and the discount seem too small by the same factor. Then each value
    is this fraction of its target: an update never finds the old value, and adds only a step from 0.
    """
    passed, reward_size = learner.inputs.discount, learner.assumptions.reward_size
    by_step = _discounts_by_step(learner) if _have_last_moves_arrived(learner) else {}
    medians = {step: float(np.median(discounts)) for step, discounts in by_step.items()}
    # the square counts since an own turn is two moves
    if any(_are_same(median, given) for median in medians.values() for given in (passed, passed**2)):
        return None
    for step, discount in medians.items():
        is_discount = thresholds.SAME_DISCOUNT < discount < 1 + thresholds.SAME_DISCOUNT
        if not is_discount or _are_same(by_step[step], discount).mean() < thresholds.MIN_EXPLAINED:
            continue
        if reward_size < 1 and _are_same(discount, reward_size * passed):
            text = f"the old value is never found: each value is {reward_size:.2g} of its last target"
            return findings.bug(text, findings.OLD_VALUE_IGNORED, place="in the update")
        text = (
            f"{findings.BELLMAN} holds with a discount of {discount:.2f} per {step}, not {passed:g}. "
            "If this is your discount, pass it; if not, the update uses another one"
        )
        return findings.undecided(text, findings.OTHER_DISCOUNT, discount=discount)
    return None


def _have_last_moves_arrived(learner: Learner) -> bool:
    """Returns whether nearly all values of last moves, which end the game, have reached their reward.

    Values that still equal the initial value do not count. The answer is no if no other value is left.
    """
    last = learner.values[learner.is_trained & learner.pairs.is_last]
    n_arrived = _are_same(last, learner.bellman.last_mover).sum()
    return bool(n_arrived >= max(1, thresholds.MIN_NEARER * len(last)))


def _discounts_by_step(learner: Learner) -> dict[str, Floats]:
    """Computes for each value the discount with which the value would equal its target.

    A target is a linear function of the discount. So it is computed for two discounts, and the equation is solved
    for the discount. A value is left out if its target is noisy or hardly depends on the discount, or if the value
    still equals the initial value.

    Returns:
        The discounts by the step to which they apply. The key "own turn" has the discounts from one turn of the
        learner to its next. In self-play, the key "move" has the discounts from one move to the next. A key is
        missing if fewer than three values give a discount.
    """
    passed = learner.inputs.discount
    steps = ("move", "own turn") if learner.inputs.is_self_play else ("own turn",)
    targets_at_0 = learner.targets_of(learner.bellman._replace(sign=0.0))
    targets_at_1 = learner.targets_of(learner.bellman._replace(sign=1 / passed if passed else 1.0))
    by_step = {}
    for step, at_0, at_1 in zip(steps, targets_at_0, targets_at_1, strict=True):
        slope = at_1.mean - at_0.mean
        counts = learner.is_trained & (np.abs(slope) > thresholds.APART) & (at_1.deviation < thresholds.NEAR)
        if counts.sum() >= thresholds.MIN_COUNT:
            by_step[step] = (learner.values - at_0.mean)[counts] / slope[counts]
    return by_step


def _are_same(numbers: Any, other: float) -> Any:
    """Returns whether a number, or each number of an array, is nearly equal to another number."""
    return np.abs(numbers - other) < thresholds.SAME_DISCOUNT
