"""Compares the values of a learner with the targets of an equation, and decides which known bugs they prove."""

from __future__ import annotations

import numpy as np

from nim_env.evaluation.diagnosis import findings, thresholds
from nim_env.evaluation.diagnosis.equations import Equation
from nim_env.evaluation.diagnosis.findings import Diagnosis, Witness
from nim_env.evaluation.diagnosis.inputs import Bools, Floats
from nim_env.evaluation.diagnosis.learner import Bug, Learner, Target

# How well the values agree with targets


def distance(learner: Learner, targets: list[Target]) -> Floats:
    """Returns the distance of each action value from the nearest of its targets, float64 of shape ``(n_pairs,)``.

    The part of it that random replies can explain is subtracted. The result is never below 0.
    """
    distances = [np.abs(learner.values - target.mean) - thresholds.NOISE * target.deviation for target in targets]
    return np.min(distances, axis=0).clip(0)


def distance_outside(learner: Learner, targets: list[Target]) -> Floats:
    """Returns how far each action value lies outside its range, float64 of shape ``(n_pairs,)``.

    The range has all values that a learner with the target can have during its training. The result is negative
    for a value inside the range. If there are several targets, the nearest of their ranges counts.
    """
    values = learner.values
    return np.min([np.maximum(target.low - values, values - target.high) for target in targets], axis=0)


def impossible_values(learner: Learner, targets: list[Target]) -> Bools:
    """Returns which action values a learner with these targets cannot have, bool of shape ``(n_pairs,)``.

    These values are clearly outside the ranges in which a learner with one of the targets stays. A value that
    still equals the initial value is always possible.
    """
    return learner.is_trained & (distance_outside(learner, targets) > thresholds.NEAR)


def min_impossible_values(learner: Learner) -> float:
    """Returns the number of values that must be impossible for a correct learner before they prove a bug.

    The number is three, or more if the opponent draws its replies at random. In that case the ranges of possible
    values are only approximate, so some values of a correct learner can lie outside.
    """
    n_by_chance = (1 - thresholds.MIN_EXPLAINED) * learner.may_be_trained.sum()
    return max(thresholds.MIN_COUNT, n_by_chance if learner.inputs.has_random_opponent else 0)


def fraction_explained(learner: Learner, targets: list[Target], among: Bools | None = None) -> float:
    """Returns the fraction of the action values that lie near one of their targets.

    Args:
        learner: The learner.
        targets: The targets to try for each value. In self-play, for example, Bellman's equation has two.
        among: Which values count, bool of shape ``(n_pairs,)``. ``None`` for the values that differ from the
            initial value. A value never counts if it and its target are near 0: it may just not have moved.

    Returns:
        The fraction, from 0 to 1. It is 0 if no value counts.
    """
    is_judged = learner.is_trained if among is None else among
    sizes = np.maximum(np.abs(learner.values), np.abs(targets[0].mean))
    is_judged = is_judged & (sizes > thresholds.APART)
    n_near = (is_judged & (distance(learner, targets) < thresholds.NEAR)).sum()
    return float(n_near / max(is_judged.sum(), 1))


def most_are_nearer(learner: Learner, bug: Target, among: Bools, min_fraction: float) -> bool:
    """Returns whether most values lie nearer to the target of a bug than to those of Bellman's equation.

    Args:
        learner: The learner.
        bug: The target of the bug.
        among: Which values count, bool of shape ``(n_pairs,)``. A value never counts if its two targets, that of
            the bug and that of Bellman's equation, are close together, since it cannot tell the two apart.
        min_fraction: The fraction of the values that must lie nearer to the bug's target.

    Returns:
        Whether at least this fraction does. False if fewer than three values count.
    """
    is_apart = np.min([np.abs(target.mean - bug.mean) for target in learner.targets], axis=0) > thresholds.APART
    from_bellman = np.min([np.abs(target.mean - learner.values) for target in learner.targets], axis=0)
    is_nearer = np.abs(bug.mean - learner.values) < from_bellman
    n_apart = (among & is_apart).sum()
    n_nearer = (among & is_apart & is_nearer).sum()
    return bool(n_apart >= thresholds.MIN_COUNT and n_nearer >= min_fraction * n_apart)


def satisfies_bellman(learner: Learner) -> bool:
    """Returns whether the values satisfy Bellman's equation.

    Three conditions must hold. Most values lie near their targets. In positions with few objects, no value of a
    best move is off its target. No known bug has targets that are nearer to most of the values.
    """
    is_at_end = learner.pairs.n_objects <= thresholds.ENDGAME_OBJECTS
    if (_are_best_moves_off(learner) & is_at_end).any():
        return False
    if fraction_explained(learner, learner.targets) < thresholds.MIN_EXPLAINED:
        return False
    return not any(
        most_are_nearer(learner, bug.target, learner.is_trained, thresholds.MAJORITY) for bug in learner.bugs
    )


def _are_best_moves_off(learner: Learner) -> Bools:
    """Returns which values belong to best moves and are off their targets, bool of shape ``(n_pairs,)``.

    A best move has the largest value in its position. Values that were never updated do not count.
    """
    is_off = distance(learner, learner.targets) > thresholds.APART
    return learner.is_greedy & learner.must_be_trained & is_off


# The known bugs


def nearest_bug(learner: Learner, bugs: list[Bug]) -> Diagnosis | None:
    """Returns the diagnosis of the bug whose targets are nearest to the values, out of a list of bugs.

    If other bugs are almost as near, the diagnosis names them too. ``None`` if ``bugs`` is empty.
    """
    if not bugs:
        return None
    values, is_counted = learner.values, learner.must_be_trained
    distances = {bug.name: float(np.abs(values - bug.target.mean)[is_counted].sum()) for bug in bugs}
    limit = thresholds.TIE_FACTOR * min(distances.values()) + thresholds.ROUNDING
    return findings.known_bugs([name for name, total in distances.items() if total <= limit], witness(learner))


def likely_bug(learner: Learner) -> Diagnosis | None:
    """Returns the diagnosis of a likely bug, or ``None`` if no bug is likely.

    A likely bug is not proven.

    A bug is likely if it explains the values better than Bellman's equation does. It must also explain most of the
    values that differ from the initial value, or most of all values. Of several likely bugs, the
    one with the targets nearest to the values is chosen.
    """
    every = np.ones_like(learner.is_trained)
    most = thresholds.MAJORITY
    likely = [
        bug
        for bug in learner.bugs
        if any(
            _fits_better(learner, bug.target, among, every, most, most) for among in (learner.is_trained, every)
        )
    ]
    return nearest_bug(learner, likely)


def is_proven(learner: Learner, bug: Bug) -> bool:
    """Returns whether the values prove that the learner has a certain known bug.

    One of three proofs is enough:

    1. Several values are possible with the bug, but not with Bellman's equation.
    2. Nearly all values lie near the bug's targets, and nearer to these than to Bellman's targets.
    3. Bellman's equation would have moved many values in one direction, for example up, but hardly any has moved
       that way, and with the bug none could have. This proof is not used for a bug that takes the mean of the next
       values. That mean can change its sign during the training, so the bug can move a value in both directions.

    There is no proof if several values are possible with Bellman's equation, but not with the bug. For a network,
    there is no proof before it has learned the values of last moves, since all other values depend on them.
    """
    if not learner.is_initial_known and not _has_learned_last_moves(learner, bug.equation):
        return False
    not_by_bellman = impossible_values(learner, learner.targets)
    not_by_bug = impossible_values(learner, [bug.target])
    n_for, n_against = (not_by_bellman & ~not_by_bug).sum(), (not_by_bug & ~not_by_bellman).sum()
    if n_against > thresholds.MAX_IMPOSSIBLE * learner.is_trained.sum():
        return False
    return (
        _only_the_bug_can(learner, n_for, n_against)
        or _explains_nearly_all(learner, bug.target)
        or (bug.equation.bootstrap != "mean" and _avoids_bellman(learner, bug.target))
    )


def _only_the_bug_can(learner: Learner, n_for: int, n_against: int) -> bool:
    """Returns whether enough values are possible with a bug only, and hardly any with Bellman's equation only.

    Three values are enough if the initial value lies between the two rewards. If it does not, it is one end of the
    range of possible values. Against an opponent that draws its replies at random, this range is only approximate,
    and more values are needed.

    Args:
        learner: The learner.
        n_for: The number of values that are possible with the bug, but not with Bellman's equation.
        n_against: The number of values that are possible with Bellman's equation, but not with the bug.

    Returns:
        Whether both conditions hold.
    """
    is_between = learner.scaled.loss < learner.initial < learner.scaled.win
    min_for = thresholds.MIN_COUNT if is_between else min_impossible_values(learner)
    return bool(n_for >= max(min_for, thresholds.MIN_NEARER * (n_for + n_against)))


def _explains_nearly_all(learner: Learner, bug: Target) -> bool:
    """Returns whether nearly all values lie near a bug's target, and nearer to it than to Bellman's target.

    If the bug's target lies between the initial value and Bellman's target, a correct value passes it on its way.
    Such a value need not be nearer to the bug's target, unless the initial value is 0.
    """
    to_bug, to_bellman = _from_initial(learner, [bug]), _from_initial(learner, learner.targets)
    may_pass_bug = (to_bug * to_bellman >= 0) & (np.abs(to_bug) <= np.abs(to_bellman))
    is_evidence = np.asarray(~may_pass_bug.any(axis=0) | (learner.initial == 0))
    return all(
        _fits_better(learner, bug, among, is_evidence, thresholds.MIN_EXPLAINED, thresholds.MIN_NEARER)
        for among in (learner.is_trained, learner.may_be_trained)
    )


def _avoids_bellman(learner: Learner, bug: Target) -> bool:
    """Returns whether values have stayed where they were although Bellman's equation would have moved them.

    The test uses the values that Bellman's equation would have moved far, in a direction in which the bug never
    moves them. It returns True only if nearly all of these values have not moved that way. In a short training,
    values can also stay by chance, so there must be more of them than chance explains. The probability of this is
    estimated from the other values that Bellman's equation would have moved far.
    """
    initial, to_bellman = learner.initial, _from_initial(learner, learner.targets)
    bug_raises, bug_lowers = bug.high >= initial + thresholds.ROUNDING, bug.low <= initial - thresholds.ROUNDING
    is_only_bellman = np.where(to_bellman < 0, ~bug_lowers, ~bug_raises)
    is_far = np.abs(to_bellman) > thresholds.APART
    counts = learner.must_be_trained & (is_only_bellman & is_far).all(axis=0)
    is_comparable = learner.must_be_trained & ~counts & is_far.any(axis=0)
    n_moved = (counts & (distance_outside(learner, [bug]) > thresholds.ROUNDING)).sum()
    if n_moved > thresholds.MAX_IMPOSSIBLE * counts.sum():
        return False
    # Laplace's rule of succession
    chance = 1 - ((is_comparable & learner.is_trained).sum() + 1) / (is_comparable.sum() + 2)
    return bool(-np.log(chance) * counts.sum() > thresholds.MIN_SURPRISAL)


def _from_initial(learner: Learner, targets: list[Target]) -> Floats:
    """Returns how far each target lies above the initial value, float64 of shape ``(n_targets, n_pairs)``.

    It is negative for a target below the initial value.
    """
    return np.array([target.mean for target in targets]) - learner.initial


def _fits_better(
    learner: Learner, bug: Target, among: Bools, is_evidence: Bools, min_explained: float, min_nearer: float
) -> bool:
    """Returns whether a bug explains the values better than Bellman's equation does.

    There are two conditions. Enough values lie near the bug's target, and at least as many as near Bellman's
    target. Enough values lie nearer to the bug's target than to Bellman's.

    Args:
        learner: The learner.
        bug: The target of the bug.
        among: Which values count for the first condition, bool of shape ``(n_pairs,)``.
        is_evidence: Which values can count for the second condition, bool of shape ``(n_pairs,)``. Each of them
            counts only if it is also in ``among``, or was updated.
        min_explained: The fraction that is enough for the first condition.
        min_nearer: The fraction that is enough for the second condition.

    Returns:
        Whether both conditions hold.
    """
    explained = fraction_explained(learner, [bug], among)
    is_counted = (learner.must_be_trained | among) & is_evidence
    is_best = explained >= max(min_explained, fraction_explained(learner, learner.targets, among))
    return is_best and most_are_nearer(learner, bug, is_counted, min_nearer)


def _has_learned_last_moves(learner: Learner, equation: Equation) -> bool:
    """Returns whether most values of last moves, which end the game, are near their reward in an equation.

    The answer is no if this reward is 0, since the values of an untrained network are near 0 too.
    """
    last_moves = learner.inputs.last_moves / learner.assumptions.reward_size
    is_near = np.abs(last_moves - equation.last_mover) < thresholds.LEARNED_LAST_MOVE
    return bool(equation.last_mover and is_near.mean() >= thresholds.MIN_EXPLAINED)


# The witness


def witness(learner: Learner) -> Witness | None:
    """Returns the value that shows a bug most clearly, or ``None`` if no value shows one.

    The search is for one of two kinds of value. The first is a value that no correct learner can have. If there is
    none, it is a value of a best move that is off its target, although the other values of the same position have
    reached their targets. A correct learner plays best moves the most, so it would have learned this value first.

    Of several such values, the witness is one in a position with the fewest objects. If there is still a choice,
    it is the one that is furthest from its target. The value and the target of the witness are in the units of the
    user's table.
    """
    pairs = learner.pairs
    from_target = distance(learner, learner.targets)
    is_impossible = learner.is_trained & (distance_outside(learner, learner.targets) > thresholds.APART)
    others = learner.is_trained & ~learner.is_greedy
    n_others = pairs.sums(others)[pairs.position]
    n_away = pairs.sums(others & (from_target >= thresholds.NEAR))[pairs.position]
    is_stuck = _are_best_moves_off(learner) & (n_others > 0) & (n_away == 0)
    candidates = np.flatnonzero(is_impossible if is_impossible.any() else is_stuck)
    if not len(candidates):
        return None
    pair = candidates[np.lexsort((-from_target[candidates], pairs.n_objects[candidates]))[0]]
    value, unit = float(learner.values[pair]), learner.assumptions.reward_size
    means = (float(target.mean[pair]) + 0.0 for target in learner.targets)  # without a negative zero
    target = min(means, key=lambda mean: abs(mean - value))
    heaps = tuple(pairs.positions[pairs.position[pair]].tolist())
    return Witness(heaps, pairs.rules.moves[pairs.action[pair]], unit * value, unit * target)
