"""The diagnosis of a learner: does it satisfy Bellman's equation, or the one that a known bug makes of it?

A learner moves each value toward a target that follows from its values of the next positions. So each value tests
the equation of its learner, whether or not the value itself is right yet. If a learner sees each move, a value
never passes its current target, at any learning rate, exploration and time: docs/test_your_agent.md has the proof
and its premises.

A bug is named only under premises that were checked. If a correct learner with other rewards, other initial values
or an on-policy target can have the same values, the diagnosis is undecided and says what would decide it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from nim_env import theory
from nim_env.evaluation import evidence
from nim_env.evaluation.equations import Bug, Case
from nim_env.evaluation.evidence import Witness, explained, is_outside
from nim_env.evaluation.learner import Bools, Floats, Learner, Reading, probabilities
from nim_env.evaluation.thresholds import (
    APART,
    DISCOUNT,
    FEW,
    HOLDS,
    NEAR,
    NEARER,
    RANGE,
    REFUTED,
    SAME,
    SURPRISE,
    TIE,
)
from nim_env.policies import PolicyLike
from nim_env.rules import NimRules, heap_name

BELLMAN = "Bellman's equation"
NO_LIST = "a bug in no list"
OUT_OF_RANGE = "values out of range"
NO_MASK = "no mask at prediction"
OPPONENTS_REWARD = "opponent's reward"
LAST_DROPPED = "last mover's reward dropped"
OTHER_DROPPED = "other player's reward dropped"
MINIMUM = "minimum in place of the maximum"
SAID = {  # each bug of the list in words, with what values cannot tell from it
    OPPONENTS_REWARD: "the learner gets the opponent's reward, or follows the rules of the other variant",
    "no minus sign": "a minus sign is missing before the next value, or the bootstrap comes one ply too late",
    "no future": "the next values are left out: the bootstrap is always 0",
    "maximum that starts from 0": "the maximum starts from 0, or a stale mask lets it run over illegal actions",
    "maximum over illegal actions": "the maximum runs over illegal actions",
    MINIMUM: "the minimum of the next values instead of the maximum, or a bootstrap one ply too late",
    "mean in place of the maximum": "the mean of the next values instead of the maximum",
    LAST_DROPPED: "the reward of the player who takes the last object is dropped",
    OTHER_DROPPED: "the reward of the player who does not take the last object is dropped",
}
_SAME_ANSWER = {"maximum over illegal actions": "maximum that starts from 0"}  # if the illegal values stay 0


@dataclass(frozen=True)
class Diagnosis:
    """What the values or the moves of a player show about its training.

    Attributes:
        result: ``"no bug found"``, ``"bug"`` or ``"undecided"``.
        verdict: The result and what to do next, in a few sentences.
        findings: The names of what was found. There are several if values cannot tell them apart.
        witness: The first value that its own next values do not explain. None if there is none, and
            in a diagnosis of moves.
    """

    result: str
    verdict: str
    findings: tuple[str, ...]
    witness: Witness | None = None


def _no_bug(text: str, *findings: str) -> Diagnosis:
    return Diagnosis("no bug found", f"No bug found. {text[0].upper()}{text[1:]}.", findings)


def _undecided(text: str, *findings: str) -> Diagnosis:
    return Diagnosis("undecided", f"Undecided: {text}.", findings)


def _bug(text: str, *findings: str, place: str = "", seen: Witness | None = None) -> Diagnosis:
    title = f"Bug {place}" if place else "Bug"
    looked = f" Look at its update: {seen}." if seen else ""
    return Diagnosis("bug", f"{title}: {text}.{looked}", findings, seen)


def _in_words(names: Sequence[str]) -> str:
    return "; or ".join(SAID[name] for name in answers(names))


def _either(premise: str, bug: Diagnosis, *findings: str) -> Diagnosis:
    """The premise under which the learner is correct, and the bug as the second reading."""
    second = bug.verdict[0].lower() + bug.verdict[1:].removesuffix(".")
    return _undecided(f"{premise}. Otherwise: {second}", *findings, *bug.findings)


def _unless(
    case: Case, bugs: list[Bug], diagnosis: Callable[..., Diagnosis], text: str, finding: str
) -> Diagnosis:
    """The diagnosis with this text; undecided, with these bugs as the second reading, if there are any."""
    second = _nearest(case, bugs)
    return _either(text, second, finding) if second else diagnosis(text, finding)


def answers(findings: Sequence[str]) -> list[str]:
    """Returns the findings without those whose answer is already given by another one."""
    return [name for name in findings if _SAME_ANSWER.get(name) not in findings]


def diagnose(
    rules: NimRules,
    q_values: ArrayLike,
    opponent: PolicyLike | None = None,
    discount: float = 1.0,
    earlier: ArrayLike | None = None,
    rewards: tuple[float, float] | None = None,
    initial: float | None = None,
    on_policy: bool | PolicyLike | None = None,
) -> Diagnosis:
    """Finds out which equation the values of a player satisfy: Bellman's, or the one that a known bug makes of it.

    A bug is named only if no correct learner can have the values. For example, this diagnoses a table that was
    learned against random play with a discount of 0.9::

        diagnosis = evaluation.diagnose(rules, table, opponent="random", discount=0.9)
        print(diagnosis.verdict)

    Whatever you do not pass about the training is found out from the values, as far as they show it. If a verdict
    depends on something that they do not show, it says which argument decides.

    The values of a network can start anywhere, so no initial value helps to judge them. A network is recognized by
    its entries for illegal actions, which are not all equal. Games of more than 50,000 positions are judged by the
    positions with the fewest objects.

    Args:
        rules: The game.
        q_values: The value of each action for the player to move, shape ``(n_positions, n_actions)``, with the row
            of a position at its index; or the value of each position for the player to move, shape
            ``(n_positions,)``. If there is an opponent, the learner is the player to move in every position.
        opponent: The policy that the player learned against. None for self-play, in which it played both sides.
        discount: The discount of the training, from 0 to 1. It applies to each move, or to each own turn if the
            learner only sees its own turns.
        earlier: The values of the same training at an earlier time, in one of the two shapes. Values that are off
            their targets at both times show a bug if they have not moved while another value of their position
            has.
        rewards: The rewards of a win and of a loss. None to find them out.
        initial: The value of a pair of position and action that was never updated. None to find it out.
        on_policy: True if the targets follow the learner's own moves, as in SARSA, expected SARSA and Monte Carlo.
            False for Q-learning. For a critic, the policy to which its values belong. None to find it out.

    Returns:
        The diagnosis. Its ``findings`` are names of bugs, or one of ``"Bellman's equation"``, ``"perfect play"``,
        ``"train longer"``, ``"untrained"``, ``"a bug in no list"``, ``"values out of range"``,
        ``"last moves of both signs"``, ``"last moves of another reward"``, ``"rewards of a scale other than 1"``,
        ``"values that are not finite"``, ``"future of a finished game"``, ``"old value ignored"``,
        ``"another initial value"``, ``"sorted positions"``, and for example ``"discount of 0.90 per move"``.

    Raises:
        ValueError: If ``q_values`` or ``earlier`` has another shape, if ``discount`` is not from 0 to 1, if
            ``rewards`` or ``initial`` is not finite, or if a win is not worth more than a loss.
    """
    if not 0 <= discount <= 1:
        raise ValueError(f"discount must be between 0 and 1; got {discount!r}")
    win, loss = (1.0, -1.0) if rewards is None else rewards
    if not (np.isfinite((win, loss)).all() and win > loss):
        raise ValueError(f"rewards must be two finite numbers, first the larger one for a win; got {rewards!r}")
    if initial is not None and not np.isfinite(initial):
        raise ValueError(f"initial must be a finite number; got {initial!r}")
    before = None if earlier is None else _checked(rules, "earlier", earlier)
    given = _checked(rules, "q_values", q_values)
    if place := _first_undefined(rules, given):
        return _bug(f"{place} is not finite", "values that are not finite", place="in the values")
    learner = Learner(rules, given, opponent, discount)
    start = learner.initial if initial is None or not learner.has_action_values else float(initial)
    if start is not None and learner.initial not in (None, 0, start):
        text = f"the entries for illegal actions hold {learner.initial:g}, not the initial value {start:g}"
        return _undecided(text, "another initial value")
    reading = Reading(float(win), float(loss), start, on_policy or False)
    if future := _future_of_the_end(learner, reading):
        return _bug(f"a finished game has a future of {future:.3g} instead of 0", "future of a finished game")
    if rewards is None:
        scale = _scale(learner)
        reading = reading._replace(win=scale, loss=-scale)
    told = {"rewards": rewards, "initial": initial, "on_policy": on_policy}
    return _judged(Case(learner, reading, before), {name for name, value in told.items() if value is None})


def _checked(rules: NimRules, name: str, given: ArrayLike) -> Floats:
    """A copy of values in one of the two shapes, with 0 for the empty position."""
    array = np.array(given, dtype=np.float64)
    shapes = (rules.n_positions, rules.n_actions), (rules.n_positions,)
    if array.shape not in shapes:
        raise ValueError(f"{name} must have the shape {shapes[0]} or {shapes[1]}; got {array.shape}")
    array[0] = 0
    return array


def _first_undefined(rules: NimRules, given: Floats) -> str:
    """The first value that is not finite, in words. Empty if all values of legal actions are finite."""
    heaps = rules.all_positions()
    is_wrong = ~np.isfinite(given)
    if given.ndim == 2:
        is_wrong &= rules.action_mask(heaps) > 0
    if not is_wrong.any():
        return ""
    row, *action = min(np.argwhere(is_wrong).tolist(), key=lambda at: heaps[at[0]].sum())
    place = f"the value at {'-'.join(map(str, heaps[row]))}"
    if action:
        heap, count = rules.moves[action[0]]
        place += f", take {count} from {heap_name(heap)},"
    return f"{place} is {given[(row, *action)]}"


def _scale(learner: Learner) -> float:
    """The size of the rewards, if all last moves that were learned agree on one other than 1; otherwise 1."""
    last = np.abs(learner.last[learner.last != (learner.initial or 0)])
    if len(last) < FEW:
        return 1.0
    scale = float(np.median(last))
    agrees = (np.abs(last - scale) <= SAME * scale).all()
    largest = np.abs(learner.table(Reading())[learner.legal]).max()
    is_largest = largest <= RANGE * scale  # otherwise a small one is on its way from 0
    is_other = scale > 1 + NEAR or (0 < scale < 1 - NEAR and is_largest)
    return scale if agrees and is_other else 1.0


def _future_of_the_end(learner: Learner, reading: Reading) -> float:
    """The future that a learner adds to the last reward, if it is far larger than the rewards; otherwise 0."""
    last = learner.last
    mover = reading.loss if learner.rules.misere else reading.win
    future = float(np.median(last)) - mover
    size = max(abs(reading.win), abs(reading.loss))
    agrees = (np.abs(last - np.median(last)) <= SAME * abs(future)).all()
    if reading.initial is None or not agrees or abs(future) < size / SAME**2:
        return 0.0
    shifted = Case(learner, reading._replace(win=reading.win + future, loss=reading.loss + future))
    return future if explained(shifted, shifted.targets) >= HOLDS else 0.0


def _judged(case: Case, unknown: set[str]) -> Diagnosis:
    """Decides between a correct learner under the reading of the case, one under another reading, and a bug.

    ``unknown`` has the arguments of :func:`diagnose` that the user did not pass. Only these have other readings.
    """
    if early := _untrained(case) or _only_sorted(case):
        return early
    suspect = _suspect(case)
    if suspect is None:
        if correct := _settled(case) or _perfect(case):
            return correct
    elif suspect.result == "undecided":
        return suspect
    for reading, premise in _other_readings(case, unknown):
        other = Case(case.learner, reading, case.earlier)
        if found := _under_another_reading(case, other, premise, suspect):
            return found
    return suspect or _on_its_way(case)


def _untrained(case: Case) -> Diagnosis | None:
    """Values that never moved, unless a bug keeps all values where they start."""
    if case.is_trained.any():
        return None
    stays = [bug for bug in case.bugs if np.all(bug.target.mean == case.start)]
    text = "all values are still the initial one: nothing was learned"
    return _unless(case, stays, _undecided, text, "untrained")


def _only_sorted(case: Case) -> Diagnosis | None:
    if not case.learner.is_sorted:
        return None
    text = "only positions with sorted heaps have values. Copy these values to the other positions"
    return _undecided(text, "sorted positions")


def _settled(case: Case) -> Diagnosis | None:
    """Values that satisfy Bellman's equation."""
    if not evidence.holds(case):
        return None
    text = f"{_share(case)} where {BELLMAN} puts them"
    if case.unit != 1:
        return _no_bug(f"{text}, for rewards of {case.unit:.3g} instead of 1", "rewards of a scale other than 1")
    if case.is_self_play and case.exploration == 1:
        by_move, by_turn = case.targets
        if explained(case, [by_turn]) > explained(case, [by_move]):
            text += ", for replies drawn at random: explore less"
    return _no_bug(text, BELLMAN)


def _perfect(case: Case) -> Diagnosis | None:
    """Right moves, although not all values have settled."""
    if not _plays_right(case):
        return None
    return _unless(
        case, evidence.likely_bugs(case), _no_bug, f"every move is right; {_share(case)} so far", "perfect play"
    )


def _on_its_way(case: Case) -> Diagnosis:
    """Values that show no bug and have not settled yet."""
    text = f"train longer: {_share(case)} so far"
    never = "win" if case.value.max() <= 0 else "loss" if case.value.min() >= 0 else ""
    if never and not case.is_self_play:
        text = f"no {never} was ever seen. Let both sides start, and {text}"
    if np.abs(_last(case) - case.bellman.mover).min() > NEAR:
        text += ". No last move has reached its reward yet, though these values are learned first"
    return _unless(case, evidence.likely_bugs(case), _undecided, text, "train longer")


def _share(case: Case) -> str:
    return f"{explained(case, case.targets):.0%} of the trained values have settled"


def _last(case: Case) -> Floats:
    """The values of the moves that take the last object, in units of the larger reward."""
    return case.value[case.is_last]


def _plays_right(case: Case) -> bool:
    """Whether the greedy player wins wherever it can. Of several best moves it plays the first."""
    wins = theory.winning_action_mask(case.rules, case.heaps)[np.arange(len(case.action)), case.action] > 0
    can_win = case.sums(wins)[case.position] > 0
    best = np.flatnonzero(case.is_greedy)
    played = best[np.unique(case.position[best], return_index=True)[1]]
    return not (can_win & ~wins)[played].any()


def _suspect(case: Case) -> Diagnosis | None:
    """The bug that the values show under the reading of the case: the first test that finds one decides."""
    return next(filter(None, (test(case) for test in _TESTS)), None)


def _range(case: Case) -> Diagnosis | None:
    """Values larger than every return."""
    sizes = np.abs(case.value)
    largest, share = max(RANGE, abs(case.start or 0)), 0.0
    if case.start is None:  # a network can overshoot, and a few of its values lie anywhere
        largest, share = RANGE + APART, 1 - HOLDS
    if (sizes > largest).mean() <= share:
        return None
    reached = f"{case.unit * sizes.max():.3g} and last moves {case.unit * np.abs(_last(case)).max():.3g}"
    text = (
        f"values reach {reached}, but no return exceeds {case.unit:g}. The target continues after the last move "
        "(no done flag), or the update adds the target instead of its difference from the old value"
    )
    return _bug(text, OUT_OF_RANGE, place="in the update")


def _last_moves(case: Case) -> Diagnosis | None:
    """Last moves on both sides of their start, or on the wrong side, although they all have one reward."""
    start, reward, last = case.start, case.bellman.mover, _last(case)
    if start is None:
        return None
    right = (last - start) * np.sign(reward - start)  # above 0 on the side of the reward
    if min(right.max(), -right.min()) > NEAR:
        text = "last moves have values of both signs: the rewards are always from the same player's point of view"
        return _bug(text, "last moves of both signs")
    outside = np.maximum(last - max(start, reward), min(start, reward) - last)
    if reward == start == 0 and outside.max() > NEAR:
        furthest = case.unit * last[outside.argmax()]
        text = f"last moves reach {furthest:.3g}, but their reward is {case.unit * reward:g}"
        return _bug(text, "last moves of another reward")
    if not (right.max() <= 0 and right.min() < -NEAR):
        return None
    for bug in case.bugs:
        # five times as many values as usual can contradict this bug, since the sign already says most
        is_refuted = is_outside(case, [bug.target]).sum() > 5 * REFUTED * case.is_trained.sum()
        if bug.name == OPPONENTS_REWARD and not is_refuted:
            return _bug(f"{SAID[bug.name]}: last moves have the wrong sign", bug.name)
    return _bug("last moves have the wrong sign", NO_LIST, place="in the update")


def _no_last_move(case: Case) -> Diagnosis | None:
    """Last moves that were never updated, although each game of self-play has one."""
    is_updated = case.is_trained[case.is_last].any() or case.bellman.mover == case.start
    if case.start is None or not case.is_self_play or is_updated or case.is_trained.sum() < FEW:
        return None
    return _bug(SAID[LAST_DROPPED], LAST_DROPPED)


def _discount(case: Case) -> Diagnosis | None:
    """Bellman's equation with another discount."""
    if case.start is None:  # the values of a young network are all alike
        return None
    found = evidence.other_discount(case)
    if found is None:
        return None
    other, step = found
    if case.unit < 1 and abs(other - case.unit * case.discount) < DISCOUNT:
        text = f"the old value is never found: each value is {case.unit:.2g} of its last target"
        return _bug(text, "old value ignored", place="in the update")
    name = f"discount of {other:.2f} per {step}"
    holds_with = f"{BELLMAN} holds with a {name}, not {case.discount:g}"
    return _undecided(
        f"{holds_with}. If this is your discount, pass it; if not, the update uses another one", name
    )


def _proven(case: Case) -> Diagnosis | None:
    """Values that satisfy the equation of a bug."""
    return _nearest(case, evidence.proven_bugs(case))


def _nearest(case: Case, bugs: list[Bug]) -> Diagnosis | None:
    """The bug whose targets are nearest to the values, with those that are about as near."""
    distances = {bug.name: float(np.abs(case.value - bug.target.mean)[case.is_known].sum()) for bug in bugs}
    if not distances:
        return None
    names = [name for name in distances if distances[name] <= TIE * min(distances.values()) + 1e-9]
    return _bug(_in_words(names), *names, seen=evidence.witness(case))


def _both_signs(case: Case) -> Diagnosis | None:
    """Values on both sides of 0, although one of the rewards is 0."""
    has_one_sign = case.start is not None and 0 in (case.win, case.loss) and case.loss <= case.start <= case.win
    if not has_one_sign or min(case.value.max(), -case.value.min()) <= NEAR:
        return None
    text = "values have both signs: the rewards are always from the same player's point of view"
    return _bug(text, "last moves of both signs")


def _no_list(case: Case) -> Diagnosis | None:
    """A bug without a name: values that Bellman's equation cannot have made, or that do not move."""
    is_impossible = is_outside(case, case.targets).sum() >= evidence.n_unlikely(case)
    if case.start is None or not (is_impossible or evidence.n_still(case) >= FEW):
        return None
    text = "more training will not fix these values"
    names: tuple[str, ...] = ()
    if nearest := _nearest(case, evidence.likely_bugs(case)):
        names = nearest.findings
        text += f". The nearest known bug: {_in_words(names)}"
    return _bug(text, NO_LIST, *names, place="in the update", seen=evidence.witness(case))


_TESTS = (_range, _last_moves, _no_last_move, _discount, _proven, _both_signs, _no_list)


def _other_readings(case: Case, unknown: set[str]) -> Iterator[tuple[Reading, str]]:
    """Other readings of a correct learner that the values hint at, each with its premise and what decides it."""
    reading, learner = case.reading, case.learner
    size = max(float(np.abs(learner.table(reading)[learner.legal]).max()), case.unit)
    if "rewards" in unknown:
        decides = "pass them (rewards, --rewards)"
        if size > RANGE * case.unit:
            premise = f"values reach {size:.3g}, more than a return of {case.unit:g}. If the rewards are larger, "
            yield reading._replace(win=size, loss=-size), premise + decides
        for win, loss, never in ((size, 0.0, "loss"), (0.0, -size, "win")):
            premise = f"no {never} was ever seen. If the rewards are {win:g} and {loss:g}, {decides}"
            yield reading._replace(win=win, loss=loss), f"{premise}; if one side always starts, let both start"
    if "initial" in unknown and reading.initial is not None:
        for start in _other_starts(case):
            premise = f"values may start at {start:g}. If they do, pass this value (initial, --initial)"
            yield reading._replace(initial=start), premise
    if "on_policy" in unknown:
        premise = (
            "the learner may be on-policy, like SARSA or Monte Carlo. If it is, say so (on_policy, --on-policy)"
        )
        yield reading._replace(on_policy=True), premise


def _other_starts(case: Case) -> list[float]:
    """The other initial values that the values hint at."""
    starts = case.learner.untouched
    outside = is_outside(case, case.targets)
    n_above = (outside & np.all([case.value > target.high for target in case.targets], axis=0)).sum()
    n_below = outside.sum() - n_above
    is_enough = max(n_above, n_below) >= FEW or (outside & case.is_last).any()
    if is_enough and not min(n_above, n_below):
        # all of these values lie on the same side of their reach, so they may have started on that side
        starts = [*starts, case.unit if n_above else -case.unit]
    return [start for start in dict.fromkeys(starts) if start != case.reading.initial]


def _under_another_reading(case: Case, other: Case, premise: str, suspect: Diagnosis | None) -> Diagnosis | None:
    """The diagnosis if another reading may be the true one; None if it explains the values no better."""
    is_right = evidence.holds(other) and _suspect(other) is None
    if suspect and not is_right and not _looks_of(other).isdisjoint(suspect.findings):
        bug = _suspect(other) or _nearest(other, evidence.likely_bugs(other))
        if bug and SAID.keys() - set(suspect.findings) >= set(bug.findings):
            return _either(premise, bug, *suspect.findings)
    if not (suspect or is_right) or not _is_innocent(case, other, suspect):
        return None
    return _either(premise, suspect) if suspect else _undecided(premise, BELLMAN)


def _looks_of(other: Case) -> set[str]:
    """The bugs that the values of a correct learner with these rewards seem to have, if one assumes 1 and -1."""
    return {LAST_DROPPED, OTHER_DROPPED} if 0 in (other.win, other.loss) else {OUT_OF_RANGE}


def _is_innocent(case: Case, other: Case, suspect: Diagnosis | None) -> bool:
    """Whether a correct learner under another reading can have the values as well as one with the bug."""
    share = 1 - HOLDS if other.draws_replies else REFUTED
    if is_outside(other, other.targets).sum() > share * other.is_trained.sum():
        return False
    names = set(suspect.findings) if suspect else set()
    if 0 in (other.win, other.loss):
        has_both_signs = other.value.min() < -NEAR and other.value.max() > NEAR
        return bool(names & _looks_of(other)) or bool(names & SAID.keys() and not has_both_signs)
    start = other.start or 0
    if other.is_self_play and other.bellman.mover != start and np.abs(_last(other) - start).max() < NEAR:
        return False  # last moves are learned first
    suspected = [bug for bug in other.bugs if bug.name in names]
    if other.reading.on_policy:
        of_a_maximum = [bug for bug in suspected if bug.equation.future not in ("best", "own")]
        fractions = [explained(other, [bug.target]) for bug in suspected]
        best = max([explained(case, case.targets), *fractions])
        return names == {NO_LIST} or bool(of_a_maximum and explained(other, other.targets) > best)
    return not any(evidence.is_proven(other, bug) for bug in suspected)


def diagnose_moves(rules: NimRules, policy: PolicyLike) -> Diagnosis:
    """Finds out what the mistakes of a player show about its training, if it has no values.

    Args:
        rules: The game.
        policy: The player, which is queried as by :func:`mastery`. It can play illegal actions.

    Returns:
        The diagnosis, without a witness. Its only finding is one of ``"perfect play"``,
        ``"no mask at prediction"``, ``"opponent's reward"``, ``"minimum in place of the maximum"`` and
        ``"train longer"``.
    """
    plays = probabilities(rules, policy)[1:]
    heaps = rules.all_positions()[1:]
    legal = rules.action_mask(heaps) > 0
    best = theory.winning_action_mask(rules, heaps) > 0
    best_in_other = theory.winning_action_mask(replace(rules, misere=not rules.misere), heaps) > 0
    is_choice = np.logical_and(best.any(axis=1), (legal & ~best).any(axis=1))
    is_swapped = is_choice & np.logical_and(best_in_other.any(axis=1), ~(best & best_in_other).any(axis=1))

    def chooses(moves: Bools, among: Bools) -> bool:
        """Whether it plays these moves in these positions, and not by chance."""
        chance = moves[among].sum(axis=1) / legal[among].sum(axis=1)
        n_others = (1 - (plays * moves)[among].sum(axis=1)).sum()
        is_most = n_others <= (1 - NEARER) * (1 - chance).sum()
        return bool(is_most and -np.log(chance).sum() > SURPRISE)

    if n_illegal := (plays.sum(axis=1) < 1 - 1e-5).sum():
        text = (
            f"it can play illegal actions in {n_illegal:,} positions. Pass the action mask when a model predicts, "
            "and return a legal move in each position from a function"
        )
        return _bug(text, NO_MASK, place="in the choice")
    if not ((plays * ~best).sum(axis=1) > 0.001)[is_choice].any():
        return _no_bug("every move is right", "perfect play")
    if chooses(best_in_other, is_swapped):
        text = "it plays the other variant. Look at the sign of the reward and at the rules"
        return _bug(text, OPPONENTS_REWARD)
    if chooses(legal & ~best, is_choice):
        return _bug("it plays the worst move instead of the best", MINIMUM, place="in the choice")
    text = (
        "the mistakes do not have the pattern of a known bug. Train a learner longer, or let a search look deeper"
    )
    return _undecided(text, "train longer")
