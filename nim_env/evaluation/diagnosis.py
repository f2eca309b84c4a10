"""Which equation a player's values satisfy: Bellman's equation, or the one that a known bug puts in its place.

A learner moves each value toward a target that follows from its values of the next positions. So each value tests
the equation of its learner, be it right or wrong. A value never passes its current target if the learner sees each
move, at any learning rate, exploration or time: docs/test_your_agent.md has the proof and its premises.

A bug is named only under premises that were checked. If a correct learner with other rewards, other initial values
or an on-policy target can have the same values, the diagnosis is undecided and says what decides it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from nim_env import theory
from nim_env.evaluation.equations import Bools, Floats, Learner, Reading, Target
from nim_env.evaluation.evidence import (
    LIMITS,
    Case,
    Witness,
    above,
    beyond,
    explained,
    holds,
    is_named,
    other_discount,
    witness,
)
from nim_env.policies import PolicyLike, tabulate
from nim_env.rules import NimRules, heap_name

BELLMAN = "Bellman's equation"
NO_LIST = "a bug in no list"
RANGE = "values out of range"
_OPPONENTS = "opponent's reward"
_SAME = {"maximum over illegal actions": "maximum that starts from 0"}  # if illegal values stay 0
_DROPPED = {"last mover's reward dropped", "other player's reward dropped"}
SAID = {  # what a name stands for, with what values cannot tell from it
    "opponent's reward": "the learner gets the opponent's reward, or the rules of the other variant",
    "no minus sign": "a minus sign is missing before the next value, or the bootstrap comes one ply too late",
    "no future": "the next values are left out: the bootstrap is always 0",
    "maximum that starts from 0": "the maximum starts from 0, or a stale mask lets it run over illegal actions",
    "maximum over illegal actions": "the maximum runs over illegal actions",
    "minimum in place of the maximum": "the minimum of the next values instead of the maximum, or a bootstrap one "
    "ply too late",
    "mean in place of the maximum": "the mean of the next values instead of the maximum",
    "last mover's reward dropped": "the reward of the player who takes the last object is dropped",
    "other player's reward dropped": "the reward of the player who does not take the last object is dropped",
}


@dataclass(frozen=True)
class Diagnosis:
    """What the values or the moves of a player say about its training.

    Attributes:
        result: ``"no bug found"``, ``"bug"`` or ``"undecided"``.
        verdict: The result and what to do next, in a few sentences.
        findings: The names of what was found, more than one if values cannot tell them apart.
        witness: The first value that its own next values do not explain; None if there is none, and for moves.
    """

    result: str
    verdict: str
    findings: tuple[str, ...]
    witness: Witness | None = None


def _no_bug(verdict: str, *findings: str) -> Diagnosis:
    return Diagnosis("no bug found", f"No bug found. {verdict}", findings)


def _bug(verdict: str, *findings: str, what: str = "Bug", seen: Witness | None = None) -> Diagnosis:
    looked = f" Look at its update: {seen}." if seen else ""
    return Diagnosis("bug", f"{what}: {verdict}{looked}", findings, seen)


def _undecided(verdict: str, *findings: str) -> Diagnosis:
    return Diagnosis("undecided", f"Undecided: {verdict}", findings)


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
    """Names the equation that the values of a player satisfy.

    What is not told is found out, as far as values tell it; otherwise the verdict says which argument decides. The
    values of a network, which start anywhere, are judged by equations alone: the entries of illegal actions show
    them. Games of more than 50,000 positions are judged by the positions with the fewest objects.

    Args:
        rules: The game.
        q_values: The value of each action for the player to move, shape ``(n_positions, n_actions)``, a row for
            each position by its index. Against an opponent the learner is to move in every position. Or the value
            of each position, shape ``(n_positions,)``.
        opponent: The policy that the player learned against; None for self-play, in which it plays both sides.
        discount: The discount of the training, from 0 to 1: by move, or by own turn if the learner sees only its
            own turns.
        earlier: The values of the same training at an earlier time. Values that lie off their targets at both
            times and have not moved, while another of their position has, are those of a bug.
        rewards: The rewards of a win and of a loss; None to find them out.
        initial: The value of a pair that was never updated; None to find it out.
        on_policy: True if the targets follow the learner's own moves (SARSA, expected SARSA, Monte Carlo), the
            policy whose values these are (an actor), or False for Q-learning; None to find it out.

    Returns:
        The diagnosis. Its ``findings`` are names of bugs, or one of ``"Bellman's equation"``, ``"train longer"``,
        ``"untrained"``, ``"a bug in no list"``, ``"values out of range"``, ``"last moves of both signs"``,
        ``"rewards of a scale other than 1"``, ``"values that are not finite"``, ``"sorted positions"``, and for
        example ``"discount of 0.90 per move"``.

    Raises:
        ValueError: Another shape, or a discount, rewards or an initial value that cannot be.
    """
    if not 0 <= discount <= 1:
        raise ValueError(f"discount must lie between 0 and 1; got {discount!r}")
    win, loss = (1.0, -1.0) if rewards is None else rewards
    if not (np.isfinite((win, loss)).all() and win > loss):
        raise ValueError(f"rewards must be finite, that of a win above that of a loss; got {rewards!r}")
    if initial is not None and not np.isfinite(initial):
        raise ValueError(f"initial must be finite; got {initial!r}")
    before = None if earlier is None else _checked(rules, "earlier", earlier)
    given = _checked(rules, "q_values", q_values)
    if place := _first_undefined(rules, given):
        return _bug(f"{place} is not finite.", "values that are not finite", what="Bug in the values")
    learner = Learner(rules, given, opponent, discount)
    start = learner.initial if initial is None or given.ndim == 1 else float(initial)
    if start is not None and learner.initial not in (None, 0, start):
        verdict = f"the entries of illegal actions hold {learner.initial:g}, not the initial value {start:g}."
        return _undecided(verdict, "another initial value")
    reading = Reading(float(win), float(loss), start, on_policy or False)
    if future := _future_of_the_end(learner, reading):
        verdict = f"a finished game has a future of {future:.3g} instead of 0."
        return _bug(verdict, "future of a finished game")
    if rewards is None:
        scale = _scale(learner)
        reading = reading._replace(win=scale, loss=-scale)
    case = Case(learner, reading, before)
    told = {"rewards": rewards, "initial": initial, "on_policy": on_policy}
    return _judged(case, {name for name, value in told.items() if value is None})


def answers(findings: Sequence[str]) -> list[str]:
    """The findings without those that share the answer of another one."""
    return [name for name in findings if _SAME.get(name) not in findings]


def _judged(case: Case, unknown: set[str]) -> Diagnosis:
    """The first reading under which the values are those of a correct learner, else the bug."""
    if not case.v.is_trained.any():
        stays = [(name, target) for name, _, target in case.bugs if np.all(target.mean == case.reading.initial)]
        untrained = _undecided("all values are still the initial one: nothing was learned.", "untrained")
        return _or(case, untrained, stays)
    if case.learner.is_sorted:
        verdict = "only positions with sorted heaps have values. Copy them to the other positions."
        return _undecided(verdict, "sorted positions")
    suspect = _suspect(case)
    if suspect is None and holds(case):
        return _settled(case)
    if suspect is not None and suspect.result == "undecided":
        return suspect
    if suspect is None and _plays_right(case):
        perfect = _no_bug(f"Every move is right; {_share(case)} so far.", "perfect play")
        return _or(case, perfect, case.likely())
    for reading, premise in _readings(case, unknown):
        other = Case(case.learner, reading, case.earlier)
        is_right = holds(other) and _suspect(other) is None
        looks = _DROPPED if 0 in reading[:2] else {RANGE}  # what correct values of these rewards look like
        if suspect and not is_right and looks.intersection(suspect.findings):
            likely = _suspect(other) or _named(other, other.likely())
            if likely and SAID.keys() - set(suspect.findings) >= set(likely.findings):
                return _either(premise, likely, *suspect.findings)
        if (suspect or is_right) and _is_innocent(case, other, suspect):
            return _either(premise, suspect) if suspect else _undecided(f"{premise}.", BELLMAN)
    return suspect or _or(case, _on_its_way(case), case.likely())


def _checked(rules: NimRules, name: str, given: ArrayLike) -> Floats:
    """Values of one of the two shapes; those of the empty position are 0."""
    array = np.array(given, dtype=np.float64)
    shapes = (rules.n_positions, rules.n_actions), (rules.n_positions,)
    if array.shape not in shapes:
        raise ValueError(f"{name} must have shape {shapes[0]} or {shapes[1]}; got {array.shape}")
    array[0] = 0
    return array


def _first_undefined(rules: NimRules, given: Floats) -> str:
    """The first value that is not finite, in words; empty if all are finite that count."""
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
    """The size of the rewards, if all last moves that were learned agree on another one than 1."""
    last = np.abs(learner.last[learner.last != (learner.initial or 0)])
    scale = float(np.median(last)) if len(last) else 1.0
    agrees = len(last) >= LIMITS["few"] and (np.abs(last - scale) <= LIMITS["same"] * scale).all()
    largest = np.abs(learner.table(Reading())[learner.legal]).max()
    is_largest = largest <= LIMITS["range"] * scale  # else a small one is on its way from 0
    is_other = scale > 1 + LIMITS["near"] or (0 < scale < 1 - LIMITS["near"] and is_largest)
    return scale if agrees and is_other else 1.0


def _future_of_the_end(learner: Learner, reading: Reading) -> float:
    """A future of the finished game, which is added to the rewards and far larger; 0 if there is none."""
    last = learner.last
    mover = reading.loss if learner.rules.misere else reading.win
    future = float(np.median(last)) - mover
    size = max(abs(reading.win), abs(reading.loss))
    agrees = (np.abs(last - np.median(last)) <= LIMITS["same"] * abs(future)).all()
    if reading.initial is None or not agrees or abs(future) < size / LIMITS["same"] ** 2:
        return 0.0
    shifted = reading._replace(win=reading.win + future, loss=reading.loss + future)
    return future if Case(learner, shifted).explained >= LIMITS["holds"] else 0.0


def _readings(case: Case, unknown: set[str]) -> Iterator[tuple[Reading, str]]:
    """Other readings of a correct learner that the values hint at, each with its premise and what decides it."""
    reading, learner = case.reading, case.learner
    size = max(float(np.abs(learner.table(reading)[learner.legal]).max()), case.unit)
    if "rewards" in unknown:
        if size > LIMITS["range"] * case.unit:
            larger = (
                f"values reach {size:.3g}, more than a return of {case.unit:g}. If the rewards are larger, pass"
            )
            yield reading._replace(win=size, loss=-size), f"{larger} them (rewards, --rewards)"
        for win, loss, never in ((size, 0.0, "loss"), (0.0, -size, "win")):
            said = f"no {never} was ever seen. If the rewards are {win:g} and {loss:g}, pass them"
            both = "if one side always starts, let both start"
            yield reading._replace(win=win, loss=loss), f"{said} (rewards, --rewards); {both}"
    if "initial" in unknown and reading.initial is not None:
        starts = learner.untouched
        outside = case.v.is_trained & (beyond(case.v, case.own) > LIMITS["near"])
        n_above = (outside & (above(case.v, case.own) > 0)).sum()
        n_below = outside.sum() - n_above
        is_enough = max(n_above, n_below) >= LIMITS["few"] or (outside & case.v.is_last).any()
        if is_enough and not min(n_above, n_below):
            # all of these lie on one side of what they can be, so they may come from there
            starts = [*starts, case.unit if n_above else -case.unit]
        for start in dict.fromkeys(starts):
            if start != reading.initial:
                said = f"values may start at {start:g}. If they do, pass it (initial, --initial)"
                yield reading._replace(initial=start), said
    if "on_policy" in unknown:
        said = "the learner may be on-policy, as SARSA or Monte Carlo. If it is, say so (on_policy, --on-policy)"
        yield reading._replace(on_policy=True), said


def _suspect(case: Case) -> Diagnosis | None:
    """The bug that the values show under a reading, by the first test that shows one."""
    for test in (_range, _last_moves, _no_last_move, _discount, _names, _both_signs, _no_list):
        if suspect := test(case):
            return suspect
    return None


def _range(case: Case) -> Diagnosis | None:
    """Values larger than every return."""
    sizes = np.abs(case.v.value)
    # a network may overshoot, and a few of its values lie anywhere
    overshoot, share = (LIMITS["apart"], 1 - LIMITS["holds"]) if case.v.reading.initial is None else (0, 0)
    if (sizes > max(LIMITS["range"] + overshoot, abs(case.v.reading.initial or 0))).mean() <= share:
        return None
    reached = f"{case.unit * sizes.max():.3g} and last moves {case.unit * np.abs(case.last).max():.3g}"
    verdict = (
        f"values reach {reached}, but no return exceeds {case.unit:g}. The target goes on after the last move (no "
        "done flag), or the update adds the target instead of its difference from the old value."
    )
    return _bug(verdict, RANGE, what="Bug in the update")


def _last_moves(case: Case) -> Diagnosis | None:
    """Last moves that lie on both sides of their start, or on the wrong one: they all have one reward."""
    start, reward = case.v.reading.initial, case.bellman.mover
    if start is None:
        return None
    right = (case.last - start) * np.sign(reward - start)
    if min(right.max(), -right.min()) > LIMITS["near"]:
        verdict = "last moves have values of both signs: the rewards are those of one player's view."
        return _bug(verdict, "last moves of both signs")
    outside = np.maximum(case.last - max(start, reward), min(start, reward) - case.last)
    if reward == start == 0 and outside.max() > LIMITS["near"]:
        furthest = case.unit * case.last[outside.argmax()]
        verdict = f"last moves reach {furthest:.3g}, but their reward is {case.unit * reward:g}."
        return _bug(verdict, "last moves of another reward")
    if not (right.max() <= 0 and right.min() < -LIMITS["near"]):
        return None
    for target in (target for name, _, target in case.bugs if name == _OPPONENTS):
        n_refuted = (case.v.is_trained & (beyond(case.v, [target]) > LIMITS["near"])).sum()
        if n_refuted <= 5 * LIMITS["refuted"] * case.v.is_trained.sum():  # the sign says most of it
            return _bug(f"{SAID[_OPPONENTS]}: last moves have the wrong sign.", _OPPONENTS)
    return _bug("last moves have the wrong sign.", NO_LIST, what="Bug in the update")


def _no_last_move(case: Case) -> Diagnosis | None:
    """Last moves that were never updated, although each game of self-play has one."""
    v = case.v
    is_updated = v.is_trained[v.is_last].any() or case.bellman.mover == v.reading.initial
    if v.reading.initial is None or not v.is_self_play or is_updated or v.is_trained.sum() < LIMITS["few"]:
        return None
    name = "last mover's reward dropped"
    return _bug(f"{SAID[name]}.", name)


def _discount(case: Case) -> Diagnosis | None:
    """Bellman's equation with another discount."""
    if case.v.reading.initial is None:  # the values of a young network are all alike
        return None
    found = other_discount(case)
    if found is None:
        return None
    other, step = found
    if case.unit < 1 and abs(other - case.unit * case.v.discount) < LIMITS["discount"]:
        verdict = f"the old value is never found: each value is {case.unit:.2g} of its last target."
        return _bug(verdict, "old value ignored", what="Bug in the update")
    name = f"discount of {other:.2f} per {step}"
    holds_with = f"{BELLMAN} holds with a {name}, not {case.v.discount:g}"
    return _undecided(
        f"{holds_with}. If this is your discount, pass it; if not, the update has another one.", name
    )


def _names(case: Case) -> Diagnosis | None:
    """The bugs whose equations the values satisfy."""
    return _named(case, case.named())


def _named(case: Case, bugs: list[tuple[str, Target]]) -> Diagnosis | None:
    """The nearest of these bugs, and those that are about as near."""
    v = case.v
    found = {name: float(np.abs(v.value - target.mean)[v.is_known].sum()) for name, target in bugs}
    if not found:
        return None
    names = [name for name in found if found[name] <= LIMITS["tie"] * min(found.values()) + 1e-9]
    said = "; or ".join(SAID[name] for name in answers(names))
    return _bug(f"{said}.", *names, seen=witness(case))


def _or(case: Case, diagnosis: Diagnosis, bugs: list[tuple[str, Target]]) -> Diagnosis:
    """The diagnosis, with these bugs as the second reading if there are any."""
    second = _named(case, bugs)
    if second is None:
        return diagnosis
    first = diagnosis.verdict.removeprefix("No bug found. ").removeprefix("Undecided: ").rstrip(".")
    return _either(first[0].lower() + first[1:], second, *diagnosis.findings)


def _both_signs(case: Case) -> Diagnosis | None:
    """Values on both sides of 0, although one of the rewards is 0."""
    v = case.v
    win, loss, start, _ = v.reading
    has_one_sign = start is not None and 0 in (win, loss) and loss <= start <= win
    if not has_one_sign or min(v.value.max(), -v.value.min()) <= LIMITS["near"]:
        return None
    return _bug("values have both signs: the rewards are those of one player's view.", "last moves of both signs")


def _no_list(case: Case) -> Diagnosis | None:
    """A bug that has no name: values that Bellman's equation cannot have made, or that do not move."""
    v = case.v
    is_impossible = case.n_beyond >= case.n_unlikely
    if v.reading.initial is None or not (is_impossible or case.n_still() >= LIMITS["few"]):
        return None
    verdict = "more training does not mend these values."
    nearest = _named(case, case.likely())
    if nearest:
        verdict += f" Nearest: {nearest.verdict.removeprefix('Bug: ')}"
    names = nearest.findings if nearest else ()
    return _bug(verdict, NO_LIST, *names, what="Bug in the update", seen=witness(case))


def _share(case: Case) -> str:
    return f"{case.explained:.0%} of the trained values have settled"


def _settled(case: Case) -> Diagnosis:
    """Values of a correct learner."""
    verdict = f"{_share(case)} where {BELLMAN} puts them"
    if case.unit != 1:
        return _no_bug(
            f"{verdict}, for rewards of {case.unit:.3g} instead of 1.", "rewards of a scale other than 1"
        )
    v = case.v
    if v.is_self_play and v.exploration == 1 and explained(v, case.own[1:]) > explained(v, case.own[:1]):
        verdict += ", for replies drawn at random: explore less"
    return _no_bug(f"{verdict}.", BELLMAN)


def _either(premise: str, suspect: Diagnosis, *symptoms: str) -> Diagnosis:
    """The premise that decides, and the bug as the second reading."""
    second = suspect.verdict
    return _undecided(f"{premise}. Otherwise: {second[0].lower()}{second[1:]}", *symptoms, *suspect.findings)


def _on_its_way(case: Case) -> Diagnosis:
    """Values that show no bug and have not settled yet."""
    verdict = f"train longer: {_share(case)} so far."
    never = "win" if case.v.value.max() <= 0 else "loss" if case.v.value.min() >= 0 else ""
    if never and not case.v.is_self_play:
        verdict = f"no {never} was ever seen. Let both sides start, and {verdict}"
    if np.abs(case.last - case.bellman.mover).min() > LIMITS["near"]:
        verdict += " No last move has reached its reward yet, though these values are learned first."
    return _undecided(verdict, "train longer")


def _is_innocent(case: Case, other: Case, suspect: Diagnosis | None) -> bool:
    """Whether a correct learner under another reading can have the values, and explains them as well as a bug."""
    v = other.v
    share = 1 - LIMITS["holds"] if v.draws_replies else LIMITS["refuted"]
    if other.n_beyond > share * v.is_trained.sum():
        return False
    names = suspect.findings if suspect else ()
    named = [found for found in other.bugs if found[0] in names]
    if 0 in other.reading[:2]:  # one of the rewards
        has_both_signs = v.value.min() < -LIMITS["near"] and v.value.max() > LIMITS["near"]
        return bool(_DROPPED.intersection(names)) or bool(SAID.keys() & set(names) and not has_both_signs)
    start = v.reading.initial or 0
    if v.is_self_play and other.bellman.mover != start and np.abs(other.last - start).max() < LIMITS["near"]:
        return False  # last moves are learned first
    if other.reading.on_policy:
        has_maximum = [equation for _, equation, _ in named if equation.future not in ("best", "own")]
        best = max([case.explained, *(explained(v, [target]) for *_, target in named)])
        return names == (NO_LIST,) or bool(has_maximum and other.explained > best)
    return not any(is_named(other, equation, target) for _, equation, target in named)


def _plays_right(case: Case) -> bool:
    """Whether the greedy player wins wherever it can; of several best moves it plays the first."""
    v = case.v
    wins = theory.winning_action_mask(case.rules, v.heaps)[np.arange(len(v.action)), v.action] > 0
    can_win = v.sums(wins)[v.position] > 0
    best = np.flatnonzero(v.is_greedy)
    played = best[np.unique(v.position[best], return_index=True)[1]]
    return not (can_win & ~wins)[played].any()


def diagnose_moves(rules: NimRules, policy: PolicyLike) -> Diagnosis:
    """Says what the moves of a player without values tell, by where its mistakes lie.

    Args:
        rules: The game.
        policy: The player, which is queried as in :func:`mastery`. It may play illegal actions.

    Returns:
        The diagnosis. Its ``findings`` are one of ``"perfect play"``, ``"no mask at prediction"``,
        ``"opponent's reward"``, ``"minimum in place of the maximum"`` and ``"train longer"``.
    """
    plays = tabulate(rules, policy, np.float64, illegal_action="lose").probabilities[1:]
    heaps = rules.all_positions()[1:]
    legal = rules.action_mask(heaps) > 0
    best = theory.winning_action_mask(rules, heaps) > 0
    other = theory.winning_action_mask(replace(rules, misere=not rules.misere), heaps) > 0
    is_choice = np.logical_and(best.any(axis=1), (legal & ~best).any(axis=1))
    is_swapped = is_choice & np.logical_and(other.any(axis=1), ~(best & other).any(axis=1))

    def chooses(moves: Bools, where: Bools) -> bool:
        """Whether it plays these moves, and not by chance."""
        chance = moves[where].sum(axis=1) / legal[where].sum(axis=1)
        n_others = (1 - (plays * moves)[where].sum(axis=1)).sum()
        is_most = n_others <= (1 - LIMITS["nearer"]) * (1 - chance).sum()
        return bool(is_most and -np.log(chance).sum() > LIMITS["surprise"])

    if n_illegal := (plays.sum(axis=1) < 1 - 1e-5).sum():
        verdict = (
            f"It may play illegal actions in {n_illegal:,} positions. A model predicts with the mask, and a "
            "function returns a legal move in each position."
        )
        return _bug(verdict, "no mask at prediction", what="Bug in the choice")
    if not ((plays * ~best).sum(axis=1) > 0.001)[is_choice].any():
        return _no_bug("Every move is right.", "perfect play")
    if chooses(other, is_swapped):
        verdict = "It plays the other variant: look at the sign of the reward and at the rules."
        return _bug(verdict, "opponent's reward")
    if chooses(legal & ~best, is_choice):
        return _bug(
            "it plays the worst move instead of the best.",
            "minimum in place of the maximum",
            what="Bug in the choice",
        )
    verdict = "The mistakes have no pattern of a known bug. Train a learner longer, or let a search look deeper."
    return _undecided(verdict, "train longer")
