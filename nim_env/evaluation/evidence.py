"""How well values agree with an equation: which of them it explains, and which of them it rules out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nim_env.evaluation.equations import Bug, Case, Equation, Target
from nim_env.evaluation.learner import Bools, Floats, Learner
from nim_env.evaluation.thresholds import (
    APART,
    DISCOUNT,
    ENDGAME,
    FEW,
    HOLDS,
    LEARNED,
    NEAR,
    NEARER,
    NOISE,
    REFUTED,
    STILL,
    SURPRISE,
)
from nim_env.rules import heap_name

_ROUNDING = 1e-6  # of float32


class Witness(NamedTuple):
    """The first value that its own next values do not explain.

    Attributes:
        heaps: The heap sizes of the position.
        move: The heap and the number of objects that are taken from it.
        value: The value of the move.
        target: What Bellman's equation makes of the player's next values.
    """

    heaps: tuple[int, ...]
    move: tuple[int, int]
    value: float
    target: float

    def __str__(self) -> str:
        heap, count = self.move
        position = "-".join(map(str, self.heaps))
        worth = f"{self.value:.2f}; the next values make it {self.target:.2f}"
        return f"at {position}, take {count} from {heap_name(heap)} is worth {worth}"


def off(case: Case, targets: list[Target]) -> Floats:
    """Returns the distance of each value from the nearest target, less what the noise of samples explains."""
    distances = [np.abs(case.value - t.mean) - NOISE * t.deviation for t in targets]
    return np.min(distances, axis=0).clip(0)


def beyond(case: Case, targets: list[Target]) -> Floats:
    """Returns how far each value lies outside the nearest reach; below 0 if it lies within."""
    return np.min([np.maximum(t.low - case.value, case.value - t.high) for t in targets], axis=0)


def is_outside(case: Case, targets: list[Target]) -> Bools:
    """Returns which trained values lie clearly outside the reach of all targets: no such learner can have them."""
    return case.is_trained & (beyond(case, targets) > NEAR)


def n_unlikely(case: Case) -> float:
    """Returns how many values outside their reach are no longer chance.

    A few can be if replies are drawn, since the reach is then a rule and not a theorem.
    """
    return max(FEW, (1 - HOLDS) * case.may_be_trained.sum() if case.draws_replies else 0)


def explained(case: Case, targets: list[Target], among: Bools | None = None) -> float:
    """Returns the fraction of the values that are near a target, among the trained ones or the given ones.

    If both a value and its target are near 0, the value does not count.
    """
    is_judged = case.is_trained if among is None else among
    is_judged = is_judged & (np.maximum(np.abs(case.value), np.abs(targets[0].mean)) > APART)
    return float((is_judged & (off(case, targets) < NEAR)).sum() / max(is_judged.sum(), 1))


def prefers(case: Case, bug: Target, among: Bools, share: float) -> bool:
    """Whether at least this share of the values lies nearer to a bug's target than to Bellman's.

    Only values count whose two targets lie apart.
    """
    apart = among & (np.min([np.abs(t.mean - bug.mean) for t in case.targets], axis=0) > APART)
    distance = np.min([np.abs(t.mean - case.value) for t in case.targets], axis=0)
    is_nearer = np.abs(bug.mean - case.value) < distance
    return bool(apart.sum() >= FEW and (apart & is_nearer).sum() >= share * apart.sum())


def fits(case: Case, bug: Target, among: Bools, excluded: Bools | bool, least: float, nearer: float) -> bool:
    """Whether a bug explains the values better than Bellman's equation does.

    It must explain at least the fraction ``least``, and no less than Bellman's equation. Of the values that can
    tell the two apart, without the excluded ones, at least the fraction ``nearer`` must lie nearer to the bug's
    target.
    """
    share = explained(case, [bug], among)
    is_best = share >= max(least, explained(case, case.targets, among))
    return is_best and prefers(case, bug, (case.is_known | among) & ~np.asarray(excluded), nearer)


def likely_bugs(case: Case) -> list[Bug]:
    """Returns the bugs that explain more than Bellman's equation, and most of the trained or of all values."""
    every = np.ones_like(case.is_trained)
    return [
        bug
        for bug in case.bugs
        if any(fits(case, bug.target, among, False, 0.5, 0.5) for among in (case.is_trained, every))
    ]


def proven_bugs(case: Case) -> list[Bug]:
    """Returns the bugs whose equations the values satisfy.

    An on-policy learner has no maximum that can be wrong, and values of positions may belong to any policy.
    """
    has_maximum = not case.reading.on_policy and case.learner.has_action_values
    return [
        bug
        for bug in case.bugs
        if (bug.equation.future == case.bellman.future or has_maximum) and is_proven(case, bug)
    ]


def is_proven(case: Case, bug: Bug) -> bool:
    """Whether the values show a bug that a correct learner cannot have, by one of three proofs.

    1. Bellman's equation cannot have made these values, and the bug can.
    2. The bug explains nearly all values, and nearly all lie nearer to its targets.
    3. No value has gone where only Bellman's equation leads, although comparable values have been trained.
    """
    if case.start is None and not _has_learned_last_moves(case, bug.equation):
        return False
    refutes_bellman = is_outside(case, case.targets)
    refutes_bug = is_outside(case, [bug.target])
    n_for = (refutes_bellman & ~refutes_bug).sum()
    n_against = (refutes_bug & ~refutes_bellman).sum()
    if n_against > REFUTED * case.is_trained.sum():
        return False
    start = case.start or 0.0
    few = FEW if case.loss < start < case.win else n_unlikely(case)
    if n_for >= max(few, NEARER * (n_for + n_against)):
        return True
    ways = np.array([t.mean - start for t in case.targets])  # from the start to Bellman's targets
    way = bug.target.mean - start
    # from a start other than 0, a value on its way to Bellman's target passes the bug's
    is_passed = (start != 0) & ((way * ways >= 0) & (np.abs(way) <= np.abs(ways))).any(axis=0)
    trained = (case.is_trained, case.may_be_trained)
    if all(fits(case, bug.target, among, is_passed, HOLDS, NEARER) for among in trained):
        return True
    return bug.equation.future != "mean" and _avoids_bellman(case, bug.target, ways)


def _avoids_bellman(case: Case, bug: Target, ways: Floats) -> bool:
    """Whether no value has gone where only Bellman's equation leads, and this is not chance.

    Args:
        case: The case.
        bug: The target of the bug.
        ways: Bellman's targets minus the initial value, shape ``(n_targets, P)``.
    """
    start = case.start or 0.0
    is_shut = np.where(ways < 0, bug.low > start - _ROUNDING, bug.high < start + _ROUNDING)
    is_far = np.abs(ways) > APART
    is_forbidden = case.is_known & (is_shut & is_far).all(axis=0)  # the bug cannot move the value this way
    is_comparable = case.is_known & ~is_forbidden & is_far.any(axis=0)
    n_gone = (is_forbidden & (beyond(case, [bug]) > _ROUNDING)).sum()
    if n_gone > REFUTED * is_forbidden.sum():
        return False
    # the chance that a value has not moved, by Laplace's rule from the comparable ones
    chance = 1 - ((is_comparable & case.is_trained).sum() + 1) / (is_comparable.sum() + 2)
    return bool(-np.log(chance) * is_forbidden.sum() > SURPRISE)


def _has_learned_last_moves(case: Case, equation: Equation) -> bool:
    """Whether the last moves of a network lie near the reward of an equation: they are learned first."""
    is_near = np.abs(case.learner.last / case.unit - equation.mover) < LEARNED
    return bool(equation.mover and is_near.mean() >= HOLDS)


def other_discount(case: Case) -> tuple[float, str] | None:
    """Returns a discount that most values agree on and that is not the given one, by move or by own turn.

    None if there is none, or if the last moves have not reached their reward yet.
    """
    last = case.value[case.is_trained & case.is_last]
    n_arrived = (np.abs(last - case.bellman.mover) < DISCOUNT).sum()
    if n_arrived < max(1, NEARER * len(last)):
        return None
    targets_at_0 = case.targets_of(case.bellman._replace(sign=0.0))
    targets_at_1 = case.targets_of(case.bellman._replace(sign=1 / case.discount if case.discount else 1.0))
    steps = ("move", "own turn") if case.is_self_play else ("own turn",)
    found = None
    for at_0, at_1, step in zip(targets_at_0, targets_at_1, steps, strict=True):
        slope = at_1.mean - at_0.mean  # a target is linear in the discount
        is_judged = case.is_trained & (np.abs(slope) > APART) & (at_1.deviation < NEAR)
        discounts = (case.value - at_0.mean)[is_judged] / slope[is_judged]
        if len(discounts) < FEW:
            continue
        typical = float(np.median(discounts))
        given = (case.discount, case.discount**2)  # an own turn is two moves
        agreement = [(np.abs(discounts - discount) < DISCOUNT).mean() for discount in (*given, typical)]
        if max(agreement[:2]) >= 0.5 or min(abs(typical - discount) for discount in given) < DISCOUNT:
            return None
        if found is None and agreement[2] >= HOLDS and DISCOUNT < typical < 1 + DISCOUNT:
            found = typical, step
    return found


def holds(case: Case) -> bool:
    """Whether Bellman's equation explains the values, with the best moves near the end, and no bug does better."""
    is_tried = case.is_greedy & case.is_known & (case.objects <= ENDGAME)
    is_off = is_tried & (off(case, case.targets) > APART)
    is_explained = explained(case, case.targets) >= HOLDS and not is_off.any()
    return is_explained and not any(prefers(case, bug.target, case.is_trained, 0.5) for bug in case.bugs)


def n_still(case: Case) -> int:
    """Returns the number of best moves near the end that were off their targets earlier too, and have not moved.

    Another value of their position must have moved meanwhile: if none has, exploration has ended.
    """
    learner, earlier = case.learner, case.earlier
    if earlier is None or earlier.ndim != learner.given.ndim or case.reading.on_policy:
        return 0
    before = Case(Learner(case.rules, earlier, learner.opponent, learner.discount), case.reading)
    is_still = np.abs(case.value - before.value) < STILL
    is_still &= case.sums(case.value != before.value)[case.position] > 0
    for moment in (case, before):
        is_visited = moment.sums(moment.is_trained & ~moment.is_greedy)[moment.position] > 0
        is_off = off(moment, moment.targets) > APART
        is_still &= moment.is_greedy & moment.is_trained & is_visited & is_off
    return int((is_still & (case.objects <= ENDGAME)).sum())


def witness(case: Case) -> Witness | None:
    """Returns the first value that its next values cannot have made, else the first best move off its target.

    The first one has the fewest objects, then the largest distance. A best move counts only if the other values of
    its position have arrived: a correct learner tries best moves the most, so their values arrive first.
    """
    distance = off(case, case.targets)
    others = case.is_trained & ~case.is_greedy
    n_others = case.sums(others)[case.position]
    n_away = case.sums(others & (distance >= NEAR))[case.position]
    is_stuck = case.is_greedy & case.is_known & (distance > APART) & (n_others > 0) & (n_away == 0)
    is_impossible = case.is_trained & (beyond(case, case.targets) > APART)
    candidates = np.flatnonzero(is_impossible if is_impossible.any() else is_stuck)
    if not len(candidates):
        return None
    i = candidates[np.lexsort((-distance[candidates], case.objects[candidates]))[0]]
    means = (float(t.mean[i]) + 0.0 for t in case.targets)  # without a negative zero
    target = min(means, key=lambda mean: abs(mean - case.value[i]))
    heaps, move = tuple(case.heaps[i].tolist()), case.rules.moves[case.action[i]]
    return Witness(heaps, move, case.unit * float(case.value[i]), case.unit * target)
