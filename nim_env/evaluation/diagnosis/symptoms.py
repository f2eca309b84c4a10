"""The tests for bugs: each looks at the values for one symptom of a bug, under the reading of the case."""

from __future__ import annotations

import numpy as np

from nim_env.evaluation.diagnosis import evidence, findings, thresholds, verdicts
from nim_env.evaluation.diagnosis.case import Case
from nim_env.evaluation.diagnosis.known_bugs import likely_bugs, nearest_bug, proven_bugs
from nim_env.evaluation.diagnosis.learner import Learner
from nim_env.evaluation.diagnosis.verdicts import Diagnosis
from nim_env.evaluation.diagnosis.witness import first_witness


def first_symptom(case: Case) -> Diagnosis | None:
    """Returns the diagnosis of the first test that finds something, or None if no test does.

    A few of the diagnoses are undecided, as for another discount, which may be what the user meant.
    """
    tests = (
        _out_of_range,
        _wrong_last_moves,
        _no_last_move,
        _other_discount,
        _listed_bug,
        _values_of_both_signs,
        _unlisted_bug,
    )
    return next(filter(None, (test(case) for test in tests)), None)


def _out_of_range(case: Case) -> Diagnosis | None:
    """Values larger than every return."""
    sizes = np.abs(case.values)
    largest, share = max(thresholds.MAX_VALUE, abs(case.initial or 0)), 0.0
    if case.initial is None:  # a network can overshoot, and a few of its values lie anywhere
        largest, share = thresholds.MAX_VALUE + thresholds.APART, 1 - thresholds.MIN_EXPLAINED
    if (sizes > largest).mean() <= share:
        return None
    last_moves = case.reward_scale * sizes[case.is_last].max()
    text = (
        f"values reach {case.reward_scale * sizes.max():.3g} and last moves {last_moves:.3g}, but no return "
        f"exceeds {case.reward_scale:g}. The target continues after the last move (no done flag), or the update "
        "adds the target instead of its difference from the old value"
    )
    return verdicts.bug(text, findings.OUT_OF_RANGE, place="in the update")


def _wrong_last_moves(case: Case) -> Diagnosis | None:
    """Last moves on both sides of their initial value, or on the wrong side, although they all have one reward."""
    initial, reward, last = case.initial, case.bellman.last_mover, case.values[case.is_last]
    if initial is None:
        return None
    progress = (last - initial) * np.sign(reward - initial)  # above 0 on the side of the reward
    if min(progress.max(), -progress.min()) > thresholds.NEAR:
        text = "last moves have values of both signs: the rewards are always from the same player's point of view"
        return verdicts.bug(text, findings.BOTH_SIGNS)
    outside = np.maximum(last - max(initial, reward), min(initial, reward) - last)
    if reward == initial == 0 and outside.max() > thresholds.NEAR:
        furthest = case.reward_scale * last[outside.argmax()]
        text = f"last moves reach {furthest:.3g}, but their reward is {case.reward_scale * reward:g}"
        return verdicts.bug(text, findings.OTHER_REWARD)
    if not (progress.max() <= 0 and progress.min() < -thresholds.NEAR):
        return None
    # five times as many values as usual can contradict a bug here, since the sign already says most
    max_contradicting = 5 * thresholds.MAX_CONTRADICTING * case.is_trained.sum()
    name = findings.OPPONENTS_REWARD
    for bug in case.bugs:
        if bug.name == name and evidence.contradicts(case, [bug.target]).sum() <= max_contradicting:
            return verdicts.bug(f"{findings.LISTED_BUGS[name]}: last moves have the wrong sign", name)
    return verdicts.bug("last moves have the wrong sign", findings.UNLISTED_BUG, place="in the update")


def _no_last_move(case: Case) -> Diagnosis | None:
    """Last moves that were never updated, although each game of self-play has one."""
    is_updated = case.is_trained[case.is_last].any() or case.bellman.last_mover == case.initial
    is_young = case.is_trained.sum() < thresholds.MIN_COUNT
    if case.initial is None or not case.is_self_play or is_updated or is_young:
        return None
    name = findings.LAST_MOVER_DROPPED
    return verdicts.bug(findings.LISTED_BUGS[name], name)


def _other_discount(case: Case) -> Diagnosis | None:
    """Bellman's equation with another discount."""
    if case.initial is None:  # the values of a young network are all alike
        return None
    found = _fitted_discount(case)
    if found is None:
        return None
    discount, step = found
    scale = case.reward_scale
    if scale < 1 and abs(discount - scale * case.discount) < thresholds.SAME_DISCOUNT:
        text = f"the old value is never found: each value is {scale:.2g} of its last target"
        return verdicts.bug(text, findings.OLD_VALUE_IGNORED, place="in the update")
    name = f"{findings.OTHER_DISCOUNT} {discount:.2f} per {step}"
    text = f"{findings.BELLMAN} holds with a {name}, not {case.discount:g}"
    return verdicts.undecided(
        f"{text}. If this is your discount, pass it; if not, the update uses another one", name
    )


def _fitted_discount(case: Case) -> tuple[float, str] | None:
    """A discount per move or per own turn that most values agree on and that is not the given one.

    None if there is none, or if the last moves have not reached their reward yet.
    """
    last = case.values[case.is_trained & case.is_last]
    n_arrived = (np.abs(last - case.bellman.last_mover) < thresholds.SAME_DISCOUNT).sum()
    if n_arrived < max(1, thresholds.MIN_NEARER * len(last)):
        return None
    targets_at_0 = case.targets_of(case.bellman._replace(sign=0.0))
    targets_at_1 = case.targets_of(case.bellman._replace(sign=1 / case.discount if case.discount else 1.0))
    steps = ("move", "own turn") if case.is_self_play else ("own turn",)
    found = None
    for at_0, at_1, step in zip(targets_at_0, targets_at_1, steps, strict=True):
        slope = at_1.mean - at_0.mean  # a target is linear in the discount
        is_judged = case.is_trained & (np.abs(slope) > thresholds.APART) & (at_1.deviation < thresholds.NEAR)
        discounts = (case.values - at_0.mean)[is_judged] / slope[is_judged]
        if len(discounts) < thresholds.MIN_COUNT:
            continue
        typical = float(np.median(discounts))
        given = (case.discount, case.discount**2)  # an own turn is two moves
        of_given, of_squared, of_typical = (
            (np.abs(discounts - discount) < thresholds.SAME_DISCOUNT).mean() for discount in (*given, typical)
        )
        is_given = min(abs(typical - discount) for discount in given) < thresholds.SAME_DISCOUNT
        if max(of_given, of_squared) >= 0.5 or is_given:
            return None
        is_discount = thresholds.SAME_DISCOUNT < typical < 1 + thresholds.SAME_DISCOUNT
        if found is None and of_typical >= thresholds.MIN_EXPLAINED and is_discount:
            found = typical, step
    return found


def _listed_bug(case: Case) -> Diagnosis | None:
    """Values that satisfy the equation of a bug of the list."""
    return nearest_bug(case, proven_bugs(case))


def _values_of_both_signs(case: Case) -> Diagnosis | None:
    """Values on both sides of 0, although one of the rewards is 0."""
    if case.initial is None or 0 not in (case.win, case.loss) or not case.loss <= case.initial <= case.win:
        return None
    if min(case.values.max(), -case.values.min()) <= thresholds.NEAR:
        return None
    text = "values have both signs: the rewards are always from the same player's point of view"
    return verdicts.bug(text, findings.BOTH_SIGNS)


def _unlisted_bug(case: Case) -> Diagnosis | None:
    """A bug without a name: values that Bellman's equation cannot have made, or that do not move."""
    is_impossible = evidence.contradicts(case, case.targets).sum() >= evidence.min_contradictions(case)
    if case.initial is None or not (is_impossible or _n_stuck(case) >= thresholds.MIN_COUNT):
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
    learner, earlier = case.learner, case.earlier
    if earlier is None or earlier.ndim != learner.given.ndim or case.reading.on_policy:
        return 0
    before = Case(Learner(case.rules, earlier, learner.opponent, learner.discount), case.reading)
    is_stuck = np.abs(case.values - before.values) < thresholds.MIN_CHANGE
    is_stuck &= case.n_objects <= thresholds.ENDGAME_OBJECTS
    is_stuck &= case.sums(case.values != before.values)[case.position] > 0
    for moment in (case, before):
        is_visited = moment.sums(moment.is_trained & ~moment.is_greedy)[moment.position] > 0
        is_off = evidence.distance(moment, moment.targets) > thresholds.APART
        is_stuck &= moment.is_greedy & moment.is_trained & is_visited & is_off
    return int(is_stuck.sum())
