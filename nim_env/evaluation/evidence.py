"""What values say of an equation: how many it explains, which ones it cannot have made, and the first of these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nim_env.evaluation.equations import FEW, Bools, Equation, Floats, Learner, Reading, Target, Values, bugs
from nim_env.rules import heap_name

LIMITS = {  # where each comes from: a theorem, a definition, or the runs of docs/experiments/diagnosis.md
    "range": 1.1,  # theorem: a mean of returns of at most 1 is at most 1; the rest is for a small cost per step
    "same": 0.01,  # last moves of one reward agree; on their way from 0 they differ by their number of updates
    "near": 0.1,  # definition: a value has reached its target, or lies within its reach
    "apart": 0.2,  # definition: values can tell two targets apart, twice the above
    "noise": 0.5,  # a learning rate of 0.4 keeps half of the deviation of a sample, √(0.4 / 1.6)
    "few": FEW,  # definition: fewer values than this tell nothing
    "refuted": 0.02,  # runs: of the trained values, those that an equation need not explain
    "nearer": 0.85,  # runs: of the values that tell two targets apart, those nearer to the bug's
    "surprise": 8,  # runs: minus the logarithm of a probability too small for chance
    "tie": 1.3,  # definition: two bugs whose mean distances differ by less are named together
    "discount": 0.04,  # definition: a discount closer than this is the same
    "holds": 0.8,  # definition: of the trained values, those that an equation has to explain
    "endgame": 5,  # the maximum number of objects in positions whose best moves are tried again and again
    "still": 0.02,  # definition: a value that moved less between two tables has not moved
    "learned": 0.25,  # definition: how near to their reward a network's last moves are once they are learned
}
_ROUNDING = 1e-6  # of float32


class Witness(NamedTuple):
    """The first value that its own next values do not explain."""

    heaps: tuple[int, ...]
    move: tuple[int, int]  # heap and count
    value: float
    target: float  # what Bellman's equation makes of the player's next values

    def __str__(self) -> str:
        move = f"take {self.move[1]} from {heap_name(self.move[0])}"
        worth = f"{self.value:.2f}; the next values make it {self.target:.2f}"
        return f"at {'-'.join(map(str, self.heaps))}, {move} is worth {worth}"


class Case:
    """The values of a learner under one reading of it, in units of the larger reward.

    Args:
        learner: The values and what is known of them.
        reading: What is assumed.
        earlier: The values of the same training at an earlier time, or None.
    """

    def __init__(self, learner: Learner, reading: Reading, earlier: Floats | None = None) -> None:
        self.rules = learner.rules
        self.learner = learner
        self.reading = reading
        self.earlier = earlier
        self.unit = max(abs(reading.win), abs(reading.loss))
        self.v = self._values(learner)
        self.bellman = self.v.bellman(self.rules)
        self.own = self.v.targets(self.bellman)
        self.last = self.v.value[self.v.is_last]
        self.explained = explained(self.v, self.own)
        self.n_beyond = int((self.v.is_trained & (beyond(self.v, self.own) > LIMITS["near"])).sum())
        least = (1 - LIMITS["holds"]) * self.v.may_be_trained.sum() if self.v.draws_replies else 0
        self.n_unlikely = max(LIMITS["few"], least)  # so many values out of reach are no chance of drawn replies
        self.bugs = [
            (name, equation, target)
            for equation, name in bugs(self.bellman, self.v.reading.initial or 0.0).items()
            if equation != self.bellman
            for target in self.v.targets(equation)
        ]

    def _values(self, learner: Learner) -> Values:
        win, loss, initial, on_policy = self.reading
        start = None if initial is None else initial / self.unit
        reading = Reading(win / self.unit, loss / self.unit, start, on_policy)
        table = learner.table(self.reading) / self.unit
        return Values(self.rules, table, learner.opponent, learner.discount, reading)

    def named(self) -> list[tuple[str, Target]]:
        """The bugs whose equations the values satisfy, with their targets.

        An on-policy learner has no maximum, and values of positions may be those of any policy.
        """
        has_maximum = not self.reading.on_policy and self.learner.given.ndim == 2
        return [
            (name, target)
            for name, equation, target in self.bugs
            if equation.future == self.bellman.future or has_maximum
            if is_named(self, equation, target)
        ]

    def likely(self) -> list[tuple[str, Target]]:
        """The bugs that explain most values, and more than Bellman's equation: of the trained ones, or of all."""
        every = np.ones_like(self.v.is_trained)
        return [
            (name, bug)
            for name, _, bug in self.bugs
            if any(fits(self, bug, where, every, 0.5, 0.5) for where in (self.v.is_trained, every))
        ]

    def n_still(self) -> int:
        """The number of best moves near the end that were off their targets earlier too, and have not moved.

        Another value of their position has changed meanwhile: if none has, exploration has ended.
        """
        if self.earlier is None or self.earlier.ndim != self.learner.given.ndim or self.reading.on_policy:
            return 0
        v = self.v
        before = self._values(Learner(self.rules, self.earlier, self.learner.opponent, self.learner.discount))
        is_still = np.abs(v.value - before.value) < LIMITS["still"]
        is_still &= v.sums(v.value != before.value)[v.position] > 0
        for w in (v, before):
            is_visited = w.sums(w.is_trained & ~w.is_greedy)[w.position] > 0
            is_off = off(w, w.targets(self.bellman)) > LIMITS["apart"]
            is_still &= w.is_greedy & w.is_trained & is_visited & is_off
        return int((is_still & (v.objects <= LIMITS["endgame"])).sum())


def off(v: Values, targets: list[Target]) -> Floats:
    """The distance of each value from the nearest target, less what the noise of samples explains."""
    return np.min([np.abs(v.value - t.mean) - LIMITS["noise"] * t.deviation for t in targets], axis=0).clip(0)


def above(v: Values, targets: list[Target]) -> Floats:
    """How far each value lies above the nearest reach."""
    return np.min([v.value - t.high for t in targets], axis=0)


def beyond(v: Values, targets: list[Target]) -> Floats:
    """How far each value lies outside of the nearest reach."""
    return np.min([np.maximum(t.low - v.value, v.value - t.high) for t in targets], axis=0)


def explained(v: Values, targets: list[Target], where: Bools | None = None) -> float:
    """The share of values near a target, of the trained ones if value or target is not near 0."""
    tells = (v.is_trained if where is None else where) & (
        np.maximum(np.abs(v.value), np.abs(targets[0].mean)) > LIMITS["apart"]
    )
    return float((tells & (off(v, targets) < LIMITS["near"])).sum() / max(tells.sum(), 1))


def prefers(v: Values, own: list[Target], bug: Target, where: Bools, share: float) -> bool:
    """Whether so many values are nearer to the bug's target than to Bellman's, if they lie apart."""
    apart = where & (np.min([np.abs(t.mean - bug.mean) for t in own], axis=0) > LIMITS["apart"])
    is_nearer = np.abs(bug.mean - v.value) < np.min([np.abs(t.mean - v.value) for t in own], axis=0)
    return bool(apart.sum() >= LIMITS["few"] and (apart & is_nearer).sum() >= share * apart.sum())


def fits(case: Case, bug: Target, where: Bools, tells: Bools, least: float, nearer: float) -> bool:
    """Whether a bug explains so many values, no fewer than Bellman's equation, and so many lie nearer to it."""
    v, own = case.v, case.own
    share = explained(v, [bug], where)
    is_best = share >= max(least, explained(v, own, where))
    return is_best and prefers(v, own, bug, (v.is_known | where) & tells, nearer)


def is_named(case: Case, equation: Equation, bug: Target) -> bool:
    """Whether the values are those of a bug, by one of three ways."""
    v, own = case.v, case.own
    initial = v.reading.initial
    if initial is None and not _has_learned_last_moves(case, equation):
        return False
    is_outside = v.is_trained & (beyond(v, own) > LIMITS["near"])
    is_refuted = v.is_trained & (beyond(v, [bug]) > LIMITS["near"])
    n_impossible = (is_outside & ~is_refuted).sum()
    n_against = (is_refuted & ~is_outside).sum()
    if n_against > LIMITS["refuted"] * v.is_trained.sum():
        return False
    start = initial or 0.0
    few = LIMITS["few"] if v.reading.loss < start < v.reading.win else case.n_unlikely
    if n_impossible >= max(few, LIMITS["nearer"] * (n_impossible + n_against)):
        return True  # Bellman's equation cannot have made these values, the bug can
    ways = np.array([t.mean - start for t in own])  # where Bellman's equation leads
    part = bug.mean - start
    is_passed = (start != 0) & ((part * ways >= 0) & (np.abs(part) <= np.abs(ways))).any(axis=0)
    trained = (v.is_trained, v.may_be_trained)
    if all(fits(case, bug, where, ~is_passed, LIMITS["holds"], LIMITS["nearer"]) for where in trained):
        return True
    is_shut = np.where(ways < 0, bug.low > start - _ROUNDING, bug.high < start + _ROUNDING)
    is_far = np.abs(ways) > LIMITS["apart"]
    is_forbidden = v.is_known & (is_shut & is_far).all(axis=0)
    is_comparable = v.is_known & ~is_forbidden & is_far.any(axis=0)
    n_gone = (is_forbidden & (beyond(v, [bug]) > _ROUNDING)).sum()
    chance = 1 - ((is_comparable & v.is_trained).sum() + 1) / (is_comparable.sum() + 2)
    if equation.future == "mean" or n_gone > LIMITS["refuted"] * is_forbidden.sum():
        return False
    # none has gone where Bellman's equation leads and the bug does not, though comparable values have
    return bool(-np.log(chance) * is_forbidden.sum() > LIMITS["surprise"])


def _has_learned_last_moves(case: Case, equation: Equation) -> bool:
    """Whether the last moves of a network lie near the reward of an equation: they are learned first."""
    is_near = np.abs(case.learner.last / case.unit - equation.mover) < LIMITS["learned"]
    return bool(equation.mover and is_near.mean() >= LIMITS["holds"])


def other_discount(case: Case) -> tuple[float, str] | None:
    """The discount, by move or own turn, that most values agree on, if the last moves have arrived."""
    v = case.v
    last = v.value[v.is_trained & v.is_last]
    has_arrived = (np.abs(last - case.bellman.mover) < LIMITS["discount"]).sum() >= max(
        1, LIMITS["nearer"] * len(last)
    )
    if not has_arrived:
        return None
    without = case.bellman._replace(sign=0.0)
    whole = case.bellman._replace(sign=1 / v.discount if v.discount else 1.0)
    steps = ("move", "own turn") if v.is_self_play else ("own turn",)
    found = None
    for none, all_of_it, step in zip(v.targets(without), v.targets(whole), steps, strict=True):
        slope = all_of_it.mean - none.mean
        tells = v.is_trained & (np.abs(slope) > LIMITS["apart"]) & (all_of_it.deviation < LIMITS["near"])
        ratios = (v.value - none.mean)[tells] / slope[tells]
        if len(ratios) >= LIMITS["few"]:
            weights = np.array([v.discount, v.discount**2, np.median(ratios)])  # an own turn is two moves
            shares = (np.abs(ratios - weights[:, None]) < LIMITS["discount"]).mean(axis=1)
            if max(shares[:2]) >= 0.5 or min(abs(weights[2] - weights[:2])) < LIMITS["discount"]:
                return None
            if shares[2] >= LIMITS["holds"] and LIMITS["discount"] < weights[2] < 1 + LIMITS["discount"]:
                found = found or (float(weights[2]), step)
    return found


def holds(case: Case) -> bool:
    """Whether Bellman's equation explains the values, the best ones near the end too, and no bug does better."""
    v = case.v
    is_tried = v.is_greedy & v.is_known & (v.objects <= LIMITS["endgame"])
    is_off = is_tried & (off(v, case.own) > LIMITS["apart"])
    is_explained = case.explained >= LIMITS["holds"] and not is_off.any()
    return is_explained and not any(prefers(v, case.own, bug, v.is_trained, 0.5) for *_, bug in case.bugs)


def witness(case: Case) -> Witness | None:
    """The value of the fewest objects that its next values cannot have made, else of a best move off its target.

    The other values of its position have arrived: best moves are tried the most, so a correct one arrives first.
    """
    v, own = case.v, case.own
    distance = off(v, own)
    others = v.is_trained & ~v.is_greedy
    n_others, n_away = (v.sums(w)[v.position] for w in (others, others & (distance >= LIMITS["near"])))
    is_stuck = v.is_greedy & v.is_known & (distance > LIMITS["apart"]) & (n_others > 0) & (n_away == 0)
    is_impossible = v.is_trained & (beyond(v, own) > LIMITS["apart"])
    candidates = np.flatnonzero(is_impossible if is_impossible.any() else is_stuck)
    if not len(candidates):
        return None
    i = candidates[np.lexsort((-distance[candidates], v.objects[candidates]))[0]]
    target = min((float(t.mean[i]) + 0.0 for t in own), key=lambda mean: abs(mean - v.value[i]))
    heaps, move = tuple(v.heaps[i].tolist()), case.rules.moves[v.action[i]]
    return Witness(heaps, move, case.unit * float(v.value[i]), case.unit * target)
