"""Which equation a player's values satisfy: Bellman's, or the one that a known bug puts in its place.

A learner moves each value toward a target that follows from its values of the next positions. So each value tests
the equation of its learner, be it right or wrong. A value that starts at 0 never passes its current target where
the learner sees each move, at any learning rate, exploration or time: docs/test_your_agent.md has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nim_env import theory
from nim_env.appearance import heap_name
from nim_env.evaluation.equations import BELLMAN, BUGS, Bools, Equation, Floats, Target, Values
from nim_env.policies import PolicyLike, tabulate
from nim_env.rules import NimRules

LIMITS = {  # where each comes from: a theorem, a definition, or the runs of docs/experiments/diagnosis.md
    "range": 1.001,  # theorem: a mean of returns of at most 1 is at most 1; the rest is for float32
    "same": 0.01,  # last moves of one reward agree; on their way from 0 they differ by their number of updates
    "near": 0.1,  # definition: a value has reached its target, or lies within its reach
    "apart": 0.2,  # definition: values can tell two targets apart, twice the above
    "noise": 0.5,  # a learning rate of 0.4 keeps half of the deviation of a sample, √(0.4 / 1.6)
    "few": 3,  # definition: fewer values than this tell nothing
    "refuted": 0.02,  # runs: of the trained values, those that a bug cannot have made
    "nearer": 0.85,  # runs: of the values that tell two targets apart, those nearer to the bug's
    "explained": 0.5,  # runs: of the trained values, those that a bug has to explain
    "surprise": 8,  # runs: minus the logarithm of a probability that is no chance
    "tie": 1.3,  # definition: two bugs whose mean distances differ by less are named together
    "discount": 0.04,  # definition: a discount closer than this is the same
    "holds": 0.8,  # definition: of the trained values, those that Bellman's has to explain
    "endgame": 5,  # the maximum number of objects where best moves are tried again and again
    "still": 0.02,  # definition: a value that moved less between two tables has not moved
}
_ROUNDING = 1e-6  # of float32
_BELLMAN = "Bellman's equation"
_OR = {  # what values cannot tell from a bug
    "opponent's reward": "the rules of the other variant",
    "no minus sign": "a bootstrap one ply too late",
    "minimum in place of the maximum": "a bootstrap one ply too late",
    "maximum that starts from 0": "a stale mask",
}


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


@dataclass(frozen=True)
class Diagnosis:
    """What the values or the moves of a player say about its training.

    Attributes:
        verdict: The result and what to do next, in a few sentences.
        findings: The names of what was found, more than one where values cannot tell them apart.
        witness: The first value that its own next values do not explain; None where there is none, and for moves.
    """

    verdict: str
    findings: tuple[str, ...]
    witness: Witness | None = None


def diagnose(
    rules: NimRules,
    q_values: ArrayLike,
    opponent: PolicyLike | None = None,
    discount: float = 1.0,
    earlier: ArrayLike | None = None,
) -> Diagnosis:
    """Names the equation that the values of a player satisfy.

    Values that start at 0 are also judged by their reach, and others, such as those of a network, by equations
    alone. The entries of illegal actions tell which: all 0 or NaN in the first case. Games of more than 50,000
    positions are judged by those with the fewest objects.

    Args:
        rules: The game.
        q_values: The value of each action for the player to move, shape ``(n_positions, n_actions)``, a row for
            each position by its index, 0 where it was never updated. Against an opponent the learner is to move in
            every position. Or the value of each position, shape ``(n_positions,)``.
        opponent: The policy that the player learned against; None for self-play, in which it plays both sides.
        discount: That of the training, from 0 to 1: by move, or by own turn for a learner that sees its own turns.
        earlier: The values of the same training at an earlier time. Values that lie off their targets at both
            times and have not moved, while another of their position has, are those of a bug.

    Returns:
        The diagnosis. Its ``findings`` are names of bugs, or one of ``"Bellman's equation"``, ``"train longer"``,
        ``"untrained"``, ``"a bug in no list"``, ``"values out of range"``, ``"last moves of both signs"``,
        ``"rewards of a scale other than 1"``, and such as ``"discount of 0.90 per move"`` or ``"per own turn"``.

    Raises:
        ValueError: Another shape or discount, or a value of a legal action or a position that is not finite.
    """
    if not 0 <= discount <= 1:
        raise ValueError(f"discount must lie between 0 and 1; got {discount!r}")
    table = _table(rules, "q_values", q_values, opponent, discount)
    v = Values(rules, table, opponent, discount)
    scale = _scale(v)
    if scale != 1:
        v = Values(rules, table / scale, opponent, discount)
    most = np.abs(v.value).max()
    last = v.value[v.after == 0]
    if not most:
        return Diagnosis("All values are 0: nothing was learned.", ("untrained",))
    overshoot, share = (0, 0) if v.starts_at_0 else (LIMITS["apart"], 1 - LIMITS["holds"])  # a network's
    if (np.abs(v.value) > LIMITS["range"] + overshoot).mean() > share:
        verdict = (
            f"Values reach {most:.3g} and last moves {np.abs(last).max():.3g}, where every return is 1 or -1. "
            "Look for a target that goes on after the last move (no done flag), an update that adds the target, "
            "not its difference from the old value, or rewards of another size."
        )
        return Diagnosis(verdict, ("values out of range",))
    if v.starts_at_0 and min(-last.min(), last.max()) > LIMITS["near"]:
        verdict = "Last moves have values of both signs: look for rewards of the wrong player's view."
        return Diagnosis(verdict, ("last moves of both signs",))
    own = v.targets(BELLMAN, discount)
    witness = _witness(rules, v, own)
    right = rules.terminal_reward * last  # above 0 where its sign is that of the reward
    if v.starts_at_0 and right.max() <= 0 and right.min() < -LIMITS["near"]:
        bug = "opponent's reward"
        return Diagnosis(f"Last moves have the wrong sign. Look for: {bug}, or {_OR[bug]}.", (bug,), witness)
    if other := _other_discount(v, discount):
        verdict = f"{_BELLMAN} holds with a {other}, not {discount}. Look for it in the update, or pass it."
        return Diagnosis(verdict, (other,))
    bugs = [(name, bug, target) for name, bug in BUGS.items() for target in v.targets(bug, discount)]
    named = [(name, target) for name, bug, target in bugs if _is_named(v, own, bug, target)]
    found = {name: np.abs(v.value - target.mean)[v.is_known].mean() for name, target in named}
    if found:
        names = tuple(name for name in found if found[name] <= LIMITS["tie"] * min(found.values()) + 1e-9)
        verdict = "Another equation than Bellman's holds. Look for: "
        verdict += ", or ".join(dict.fromkeys([*names, *(_OR[name] for name in names if name in _OR)]))
        return Diagnosis(f"{verdict}.", names, witness)
    if _holds(v, own, [target for *_, target in bugs]):
        verdict = f"{_BELLMAN} holds in {_explained(v, own):.0%} of the trained values"
        if scale != 1:
            verdict = f"{verdict}, for rewards of {scale:.3g} in place of 1."
            return Diagnosis(verdict, ("rewards of a scale other than 1",))
        if v.exploration == 1 and _explained(v, own[1:]) > _explained(v, own[:1]):
            verdict += ", those of a player whose replies are drawn at random: explore less"
        return Diagnosis(f"{verdict}.", (_BELLMAN,))
    name = "train longer"
    verdict = "No equation holds yet: train longer."
    n_beyond = (v.is_trained & (_beyond(v, own) > LIMITS["near"])).sum()
    is_bug = n_beyond >= LIMITS["few"] and n_beyond > (1 - LIMITS["holds"]) * v.is_trained.sum()
    if earlier is not None:
        before = _table(rules, "earlier", earlier, opponent, discount) / scale
        is_bug |= _n_still(v, Values(rules, before, opponent, discount), discount) >= LIMITS["few"]
    if is_bug:
        name = "a bug in no list"
        verdict = "A bug in no list: more training does not mend it."
    if np.abs(last).max() < 1 - LIMITS["near"]:
        verdict += " No last move is worth 1 or -1 yet, though these values are learned first."
    if not v.starts_at_0:
        verdict += " Equations alone judge these values, which did not start at 0."
    if witness:
        verdict += f" {'Look at' if is_bug else 'If this value stays, look at'} its update: {witness}."
    return Diagnosis(verdict, (name,), witness)


def _table(rules: NimRules, name: str, given: ArrayLike, opponent: PolicyLike | None, discount: float) -> Floats:
    """The checked values of actions, or those that follow from values of positions."""
    array = np.array(given, dtype=np.float64)
    shapes = (rules.n_positions, rules.n_actions), (rules.n_positions,)
    if array.shape not in shapes:
        raise ValueError(f"{name} must have shape {shapes[0]} or {shapes[1]}; got {array.shape}")
    legal = rules.action_mask(rules.all_positions()) > 0
    array[0] = 0  # the empty position
    wrong = array[~np.isfinite(array) & (legal if array.ndim == 2 else True)]
    if len(wrong):
        raise ValueError(f"{name} must be finite where legal; got {wrong[0]}")
    if array.ndim == 2:
        return array
    after = (np.arange(len(array))[:, None] - np.array(rules.offsets)) * legal
    of_next = discount * array  # for the player to move there
    if opponent is not None:
        replies = tabulate(rules, opponent, np.float64).probabilities
        of_next = -(replies * np.where(after == 0, -rules.terminal_reward, of_next[after])).sum(axis=1)
    return np.where(legal, np.where(after == 0, rules.terminal_reward, -of_next[after]), -1.0)


def _scale(v: Values) -> float:
    """The size of the rewards, where all last moves agree on another one than 1."""
    last = np.abs(v.value[v.after == 0])
    scale = float(np.median(last))
    agrees = len(last) >= LIMITS["few"] and (np.abs(last - scale) <= LIMITS["same"] * scale).all()
    is_largest = np.abs(v.value).max() <= LIMITS["range"] * scale  # else a small one is on its way from 0
    is_other = scale > 1 + LIMITS["near"] or (0 < scale < 1 - LIMITS["near"] and is_largest)
    return scale if agrees and is_other else 1.0


def _off(v: Values, targets: list[Target]) -> Floats:
    """The distance of each value from the nearest target, less what the noise of samples explains."""
    return np.min([np.abs(v.value - t.mean) - LIMITS["noise"] * t.deviation for t in targets], axis=0).clip(0)


def _beyond(v: Values, targets: list[Target]) -> Floats:
    """How far each value lies outside of the nearest reach."""
    return np.min([np.maximum(t.low - v.value, v.value - t.high) for t in targets], axis=0)


def _explained(v: Values, targets: list[Target]) -> float:
    """The share of values near a target, of the trained ones where value or target is not near 0."""
    tells = v.is_trained & (np.maximum(np.abs(v.value), np.abs(targets[0].mean)) > LIMITS["apart"])
    return float((tells & (_off(v, targets) < LIMITS["near"])).sum() / max(tells.sum(), 1))


def _prefers(v: Values, own: list[Target], bug: Target, where: Bools, share: float) -> bool:
    """Whether so many values are nearer to the bug's target than to Bellman's, where they lie apart."""
    apart = where & (np.min([np.abs(t.mean - bug.mean) for t in own], axis=0) > LIMITS["apart"])
    is_nearer = np.abs(bug.mean - v.value) < np.min([np.abs(t.mean - v.value) for t in own], axis=0)
    return bool(apart.sum() >= LIMITS["few"] and (apart & is_nearer).sum() >= share * apart.sum())


def _is_named(v: Values, own: list[Target], equation: Equation, bug: Target) -> bool:
    """Whether the values are those of a bug, by one of three ways."""
    is_outside = v.is_trained & (_beyond(v, own) > LIMITS["near"])
    is_refuted = v.is_trained & (_beyond(v, [bug]) > LIMITS["near"])
    n_impossible = (is_outside & ~is_refuted).sum()
    n_against = (is_refuted & ~is_outside).sum()
    if n_against > LIMITS["refuted"] * v.is_trained.sum():
        return False
    if n_impossible >= max(LIMITS["few"], LIMITS["nearer"] * (n_impossible + n_against)):
        return True  # Bellman's equation cannot have made these values, the bug can
    is_explained = _explained(v, [bug]) >= max(LIMITS["explained"], _explained(v, own))
    if is_explained and _prefers(v, own, bug, v.is_known, LIMITS["nearer"]):
        return True  # the values have arrived at the bug's targets
    means = np.array([t.mean for t in own])
    is_way_shut = np.where(means < 0, bug.low > -_ROUNDING, bug.high < _ROUNDING) & (
        np.abs(means) > LIMITS["apart"]
    )
    is_forbidden = v.is_known & is_way_shut.all(axis=0)
    is_comparable = v.is_known & ~is_forbidden & (np.abs(means).max(axis=0) > LIMITS["apart"])
    n_gone = (is_forbidden & (_beyond(v, [bug]) > _ROUNDING)).sum()
    chance = 1 - ((is_comparable & v.is_trained).sum() + 1) / (is_comparable.sum() + 2)
    if equation.future == "mean" or n_gone > LIMITS["refuted"] * is_forbidden.sum():
        return False
    # none has gone where Bellman's equation leads and the bug does not, though comparable values have
    return bool(-np.log(chance) * is_forbidden.sum() > LIMITS["surprise"])


def _other_discount(v: Values, discount: float) -> str | None:
    """The discount, by move or own turn, that most values agree on, where the last moves have arrived."""
    last = np.abs(v.value[v.is_trained & (v.after == 0)])
    has_arrived = (np.abs(last - 1) < LIMITS["discount"]).sum() >= max(1, LIMITS["nearer"] * len(last))
    if not (has_arrived and v.starts_at_0):  # the values of a young network are all alike
        return None
    steps = ("move", "own turn") if v.exploration is not None else ("own turn",)
    found = None
    for none, whole, step in zip(v.targets(BELLMAN, 0.0), v.targets(BELLMAN, 1.0), steps, strict=True):
        slope = whole.mean - none.mean
        tells = v.is_trained & (np.abs(slope) > LIMITS["apart"]) & (whole.deviation < LIMITS["near"])
        ratios = (v.value - none.mean)[tells] / slope[tells]
        if len(ratios) >= LIMITS["few"]:
            weights = np.array([discount, discount**2, np.median(ratios)])  # an own turn is two moves
            shares = (np.abs(ratios - weights[:, None]) < LIMITS["discount"]).mean(axis=1)
            if max(shares[:2]) >= LIMITS["explained"] or min(abs(weights[2] - weights[:2])) < LIMITS["discount"]:
                return None
            if shares[2] >= LIMITS["holds"] and LIMITS["discount"] < weights[2] < 1 + LIMITS["discount"]:
                found = found or f"discount of {weights[2]:.2f} per {step}"
    return found


def _holds(v: Values, own: list[Target], bugs: list[Target]) -> bool:
    """Whether Bellman's equation explains the values, the best ones near the end too, and no bug does better."""
    is_tried = v.is_greedy & v.is_known & (v.objects <= LIMITS["endgame"])
    is_off = is_tried & (_off(v, own) > LIMITS["apart"])
    is_explained = _explained(v, own) >= LIMITS["holds"] and not is_off.any()
    return is_explained and not any(_prefers(v, own, bug, v.is_trained, 0.5) for bug in bugs)


def _witness(rules: NimRules, v: Values, own: list[Target]) -> Witness | None:
    """The value of the fewest objects that its next values cannot have made, else of a best move off its target.

    The other values of its position have arrived: best moves are tried the most, so a correct one arrives first.
    """
    off = _off(v, own)
    others = v.is_trained & ~v.is_greedy
    n_others, n_away = (np.bincount(v.position, w)[v.position] for w in (others, others & (off >= LIMITS["near"])))
    is_stuck = v.is_greedy & v.is_known & (off > LIMITS["apart"]) & (n_others > 0) & (n_away == 0)
    is_impossible = v.is_trained & (_beyond(v, own) > LIMITS["apart"])
    candidates = np.flatnonzero(is_impossible if is_impossible.any() else is_stuck)
    if not len(candidates):
        return None
    i = candidates[np.lexsort((-off[candidates], v.objects[candidates]))[0]]
    target = min((float(t.mean[i]) + 0.0 for t in own), key=lambda mean: abs(mean - v.value[i]))
    return Witness(tuple(v.heaps[i].tolist()), rules.moves[v.action[i]], float(v.value[i]), target)


def _n_still(v: Values, before: Values, discount: float) -> int:
    """The number of best moves near the end that lie off their targets at both times, and have not moved.

    Another value of their position has changed meanwhile: where none has, exploration has ended.
    """
    is_still = np.abs(v.value - before.value) < LIMITS["still"]
    is_still &= np.bincount(v.position, v.value != before.value)[v.position] > 0
    for w in (v, before):
        is_visited = np.bincount(w.position, w.is_trained & ~w.is_greedy)[w.position] > 0
        is_off = _off(w, w.targets(BELLMAN, discount)) > LIMITS["apart"]
        is_still &= w.is_greedy & w.is_known & is_visited & is_off
    return int((is_still & (v.objects <= LIMITS["endgame"])).sum())


def diagnose_moves(rules: NimRules, policy: PolicyLike) -> Diagnosis:
    """Says what the moves of a player without values tell, by where its mistakes lie.

    Args:
        rules: The game.
        policy: The player, which is queried as in :func:`mastery`. It may play illegal actions.

    Returns:
        The diagnosis. Its ``findings`` are one of ``"perfect play"``, ``"no mask at prediction"``,
        ``"opponent's reward"``, ``"minimum in place of the maximum"`` and ``"train longer"``.
    """
    plays = tabulate(rules, policy, np.float64, "lose").probabilities[1:]
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
        return Diagnosis(verdict, ("no mask at prediction",))
    if not ((plays * ~best).sum(axis=1) > 0.001)[is_choice].any():
        return Diagnosis("Every move is right.", ("perfect play",))
    if chooses(other, is_swapped):
        verdict = "It plays the other variant: look at the sign of the reward and at the rules."
        return Diagnosis(verdict, ("opponent's reward",))
    if chooses(legal & ~best, is_choice):
        return Diagnosis("It chooses the worst move in place of the best.", ("minimum in place of the maximum",))
    verdict = "The mistakes have no pattern of a known bug. Train a learner longer, or let a search look deeper."
    return Diagnosis(verdict, ("train longer",))
