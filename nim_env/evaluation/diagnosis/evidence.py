"""How well values agree with the targets of an equation, and which known bugs they prove.

The first part measures how far values lie from their targets, and which of them the targets cannot explain. The
next part finds the known bugs that are proven, likely or nearest. The last part finds the witness, the value
that shows a bug most clearly.
"""

from __future__ import annotations

import numpy as np

from nim_env.evaluation.diagnosis import thresholds, verdicts
from nim_env.evaluation.diagnosis.case import Bug, Case, Target
from nim_env.evaluation.diagnosis.equations import Equation
from nim_env.evaluation.diagnosis.findings import Diagnosis, Witness
from nim_env.evaluation.diagnosis.learner import Bools, Floats

# How well values agree with targets


def distance(case: Case, targets: list[Target]) -> Floats:
    """Returns the distance of each value from its nearest target, shape ``(P,)``.

    The part that the noise of samples can explain is subtracted. The result is never below 0.
    """
    distances = [np.abs(case.values - target.mean) - thresholds.NOISE * target.deviation for target in targets]
    return np.min(distances, axis=0).clip(0)


def distance_outside(case: Case, targets: list[Target]) -> Floats:
    """Returns how far each value lies outside the nearest range of a target. It is negative inside a range."""
    values = case.values
    return np.min([np.maximum(target.low - values, values - target.high) for target in targets], axis=0)


def contradicts(case: Case, targets: list[Target]) -> Bools:
    """Returns which trained values no learner with these targets can have: they lie clearly outside all ranges."""
    return case.is_trained & (distance_outside(case, targets) > thresholds.NEAR)


def min_contradictions(case: Case) -> float:
    """Returns how many values must contradict Bellman's equation to be evidence of a bug.

    If the opponent draws its replies, the range of a target is only approximate, so a few values of a correct
    learner can lie outside it.
    """
    n_by_chance = (1 - thresholds.MIN_EXPLAINED) * case.may_be_trained.sum()
    return max(thresholds.MIN_COUNT, n_by_chance if case.learner.opponent_draws else 0)


def share_explained(case: Case, targets: list[Target], among: Bools | None = None) -> float:
    """Returns the fraction of the values that are near one of their targets.

    It is a fraction of the values in ``among``, by default of the trained values. A value is left out if both the
    value and its target are near 0.
    """
    is_judged = case.is_trained if among is None else among
    sizes = np.maximum(np.abs(case.values), np.abs(targets[0].mean))
    is_judged = is_judged & (sizes > thresholds.APART)
    n_near = (is_judged & (distance(case, targets) < thresholds.NEAR)).sum()
    return float(n_near / max(is_judged.sum(), 1))


def most_are_nearer(case: Case, bug: Target, among: Bools, min_share: float) -> bool:
    """Returns whether most values in ``among`` are nearer to a bug's target than to Bellman's.

    At least the fraction ``min_share`` of them must be nearer. A value whose two targets are close to each other
    is left out.
    """
    is_apart = np.min([np.abs(target.mean - bug.mean) for target in case.targets], axis=0) > thresholds.APART
    from_bellman = np.min([np.abs(target.mean - case.values) for target in case.targets], axis=0)
    is_nearer = np.abs(bug.mean - case.values) < from_bellman
    n_apart = (among & is_apart).sum()
    n_nearer = (among & is_apart & is_nearer).sum()
    return bool(n_apart >= thresholds.MIN_COUNT and n_nearer >= min_share * n_apart)


def satisfies_bellman(case: Case) -> bool:
    """Returns whether Bellman's equation explains the values, and no known bug explains them better.

    It must explain most values, and the values of all best moves near the end of the game.
    """
    is_tried = case.is_greedy & case.must_be_trained & (case.pairs.n_objects <= thresholds.ENDGAME_OBJECTS)
    is_off = is_tried & (distance(case, case.targets) > thresholds.APART)
    is_explained = share_explained(case, case.targets) >= thresholds.MIN_EXPLAINED and not is_off.any()
    return is_explained and not any(
        most_are_nearer(case, bug.target, case.is_trained, thresholds.MAJORITY) for bug in case.bugs
    )


# The known bugs


def proven_bugs(case: Case) -> list[Bug]:
    """Returns the known bugs that the values prove.

    Bugs in the maximum are left out for an on-policy learner, which has no maximum, and for values of positions,
    which may belong to any policy.
    """
    has_maximum = not case.assumptions.on_policy and case.learner.has_action_values
    return [
        bug
        for bug in case.bugs
        if (has_maximum or bug.equation.bootstrap == case.bellman.bootstrap) and is_proven(case, bug)
    ]


def nearest_bug(case: Case, bugs: list[Bug]) -> Diagnosis | None:
    """Returns the diagnosis that names the bug whose targets are nearest to the values.

    It also names the bugs whose targets are almost as near. Returns ``None`` if ``bugs`` is empty.
    """
    if not bugs:
        return None
    values, is_counted = case.values, case.must_be_trained
    distances = {bug.name: float(np.abs(values - bug.target.mean)[is_counted].sum()) for bug in bugs}
    limit = thresholds.TIE_FACTOR * min(distances.values()) + thresholds.ROUNDING
    names = [name for name, total in distances.items() if total <= limit]
    return verdicts.known_bugs(names, first_witness(case))


def likely_bug(case: Case) -> Diagnosis | None:
    """Returns the diagnosis of the nearest bug that is likely, or ``None`` if there is none.

    A bug is likely if it explains the values better than Bellman's equation does. It must explain most of the
    trained values, or most of all values.
    """
    every = np.ones_like(case.is_trained)
    most = thresholds.MAJORITY
    likely = [
        bug
        for bug in case.bugs
        if any(_fits_better(case, bug.target, among, every, most, most) for among in (case.is_trained, every))
    ]
    return nearest_bug(case, likely)


def is_proven(case: Case, bug: Bug) -> bool:
    """Returns whether the values prove a bug that a correct learner cannot have. One of three proofs is enough.

    1. Bellman's equation cannot have made these values, and the bug can.
    2. The bug explains nearly all values, and nearly all lie nearer to its targets.
    3. Some values would move in a certain direction only under Bellman's equation. None of them has moved there,
       although comparable values have been trained. This proof is not used for a bug that takes the mean, whose
       sign can change during training.

    The last moves of a network must have been learned, since its other values depend on them. A bug is never
    proven if it cannot have made these values and Bellman's equation can.
    """
    if case.scaled.initial is None and not _has_learned_last_moves(case, bug.equation):
        return False
    from_bellman = contradicts(case, case.targets)
    from_bug = contradicts(case, [bug.target])
    n_for, n_against = (from_bellman & ~from_bug).sum(), (from_bug & ~from_bellman).sum()
    if n_against > thresholds.MAX_CONTRADICTING * case.is_trained.sum():
        return False
    return (
        _only_the_bug_can(case, n_for, n_against)
        or _explains_nearly_all(case, bug.target)
        or (bug.equation.bootstrap != "mean" and _avoids_bellman(case, bug.target))
    )


def _only_the_bug_can(case: Case, n_for: int, n_against: int) -> bool:
    """Returns whether the first proof of :func:`is_proven` holds: only the bug can have made these values.

    Args:
        case: The case.
        n_for: The number of values that only the bug can have made.
        n_against: The number of values that only Bellman's equation can have made.

    Returns:
        Whether there are enough values that only the bug can have made, and whether these are nearly all of both
        kinds. ``MIN_COUNT`` of them are enough if the initial value lies between the two rewards. Otherwise the
        initial value is an end of a range, and :func:`min_contradictions` of them are needed, since ranges are
        only approximate if the opponent draws its replies.
    """
    is_between = case.scaled.loss < case.scaled.initial_or_0 < case.scaled.win
    min_for = thresholds.MIN_COUNT if is_between else min_contradictions(case)
    return bool(n_for >= max(min_for, thresholds.MIN_NEARER * (n_for + n_against)))


def _explains_nearly_all(case: Case, bug: Target) -> bool:
    """Returns whether the second proof of :func:`is_proven` holds: the bug explains nearly all values.

    From an initial value other than 0, a value may pass the target of the bug on its way to Bellman's target. Such
    a value does not count as evidence for the bug.
    """
    to_bug, to_bellman = _from_initial(case, [bug]), _from_initial(case, case.targets)
    is_on_way = (to_bug * to_bellman >= 0) & (np.abs(to_bug) <= np.abs(to_bellman))
    counts = np.asarray(~is_on_way.any(axis=0) | (case.scaled.initial_or_0 == 0))
    return all(
        _fits_better(case, bug, among, counts, thresholds.MIN_EXPLAINED, thresholds.MIN_NEARER)
        for among in (case.is_trained, case.may_be_trained)
    )


def _avoids_bellman(case: Case, bug: Target) -> bool:
    """Returns whether the third proof of :func:`is_proven` holds: no value went where only Bellman's leads.

    A value is *telling* if Bellman's equation moves it far, in a direction in which the bug never moves it. The
    proof needs so many telling values that chance cannot explain why they have not moved. The probability of this
    is estimated from the fraction of comparable values that have been trained.
    """
    initial, to_bellman = case.scaled.initial_or_0, _from_initial(case, case.targets)
    bug_raises, bug_lowers = bug.high >= initial + thresholds.ROUNDING, bug.low <= initial - thresholds.ROUNDING
    is_only_bellman = np.where(to_bellman < 0, ~bug_lowers, ~bug_raises)  # in the direction of Bellman's target
    is_far = np.abs(to_bellman) > thresholds.APART
    is_telling = case.must_be_trained & (is_only_bellman & is_far).all(axis=0)
    is_comparable = case.must_be_trained & ~is_telling & is_far.any(axis=0)
    n_moved = (is_telling & (distance_outside(case, [bug]) > thresholds.ROUNDING)).sum()
    if n_moved > thresholds.MAX_CONTRADICTING * is_telling.sum():
        return False
    # the probability that a value has stayed by chance, by Laplace's rule from the comparable ones
    chance = 1 - ((is_comparable & case.is_trained).sum() + 1) / (is_comparable.sum() + 2)
    return bool(-np.log(chance) * is_telling.sum() > thresholds.MIN_SURPRISAL)


def _from_initial(case: Case, targets: list[Target]) -> Floats:
    """Returns how far each target lies above the initial value, float64 of shape ``(n_targets, P)``."""
    return np.array([target.mean for target in targets]) - case.scaled.initial_or_0


def _fits_better(
    case: Case, bug: Target, among: Bools, counts: Bools, min_explained: float, min_nearer: float
) -> bool:
    """Returns whether a bug explains the values better than Bellman's equation does.

    It must explain at least the fraction ``min_explained`` of the values in ``among``, and no fewer than Bellman's
    equation does. Of the values in ``counts`` that can tell the two apart, at least the fraction ``min_nearer``
    must lie nearer to the bug's target.
    """
    share = share_explained(case, [bug], among)
    is_counted = (case.must_be_trained | among) & counts
    is_best = share >= max(min_explained, share_explained(case, case.targets, among))
    return is_best and most_are_nearer(case, bug, is_counted, min_nearer)


def _has_learned_last_moves(case: Case, equation: Equation) -> bool:
    """Returns whether the values of a network's last moves, which are learned first, are near their reward."""
    last_moves = case.learner.last_moves / case.assumptions.unit
    is_near = np.abs(last_moves - equation.last_mover) < thresholds.LEARNED_LAST_MOVE
    return bool(equation.last_mover and is_near.mean() >= thresholds.MIN_EXPLAINED)


# The witness


def first_witness(case: Case) -> Witness | None:
    """Returns the value that shows a bug most clearly, or ``None`` if no value shows one.

    The clearest kind is a value that no learner can have, given its values of the next positions. If there is
    none, it is the value of a best move that is off its target, although the other values in the same position
    have reached theirs. A correct learner tries best moves the most, so it learns their values first.

    If there are several such values, the one in the position with the fewest objects is returned. Among values in
    positions of this size, it is the one that is furthest from its target.
    """
    pairs = case.pairs
    from_target = distance(case, case.targets)
    outside = distance_outside(case, case.targets)
    is_impossible = case.is_trained & (outside > thresholds.APART)
    others = case.is_trained & ~case.is_greedy
    n_others = pairs.sums(others)[pairs.row]
    n_away = pairs.sums(others & (from_target >= thresholds.NEAR))[pairs.row]
    is_late = case.is_greedy & case.must_be_trained & (from_target > thresholds.APART)
    is_stuck = is_late & (n_others > 0) & (n_away == 0)
    candidates = np.flatnonzero(is_impossible if is_impossible.any() else is_stuck)
    if not len(candidates):
        return None
    return _witness(case, candidates[np.lexsort((-from_target[candidates], pairs.n_objects[candidates]))[0]])


def _witness(case: Case, pair: int) -> Witness:
    """Returns the :class:`Witness` for the pair of a position and an action with this index.

    Its ``target`` is the one of the case's targets nearest to the value. Both are in the units of the user's
    values.
    """
    pairs, unit, value = case.pairs, case.assumptions.unit, float(case.values[pair])
    means = (float(target.mean[pair]) + 0.0 for target in case.targets)  # without a negative zero
    target = min(means, key=lambda mean: abs(mean - value))
    heaps = tuple(pairs.positions[pairs.row[pair]].tolist())
    return Witness(heaps, pairs.rules.moves[pairs.action[pair]], unit * value, unit * target)
