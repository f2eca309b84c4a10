"""Which equation a player's values satisfy: Bellman's, or the one that a known bug of self-play puts in its place.

A learner moves each value toward a target that follows from its values of the next positions. So trained values
satisfy the equation of their learner, be it right or wrong, and each pair of a position and an action is a test.

With r the reward of the player who takes the last object, 0 before, and s' the position after action a, the
equation for two players of opposite rewards is Q(s, a) = r - max Q(s', b) (Bellman 1957, Dynamic Programming;
Littman 1994, Markov games). For a learner that observes its own turns alone it is Q(s, a) = max Q(s'', b), where
s'' is the position after the reply (Watkins 1989; Sutton and Barto 2018, equation 6.8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env import theory
from nim_env.policies import PolicyLike, tabulate
from nim_env.rules import NimRules

_MAX_POSITIONS = 50_000  # of a larger game those with the fewest objects, where a learner is right first
_APART = 0.3  # a distance of two targets that values can tell apart
_NEAR = 0.1  # a distance of a value from a target that it has reached

_VERDICTS = {
    "untrained": "The player is untrained: all its values are 0.",
    "train longer": "No equation holds yet: train longer.",
    "values too small": "Values are on the way from 0 to their targets, as those of rarely tried moves: train "
    "longer, or explore more. Truncation taken as termination and a learned autoreset step leave the same trace.",
    "last moves of both signs": "No equation holds, and last moves have values of both signs: look for rewards of "
    "the wrong player's view. A network may need more training.",
}


@dataclass(frozen=True)
class Equation:
    """How well one equation fits. Values and distances are relative to the largest absolute value.

    Attributes:
        name: Bellman's equation, or the bug that it belongs to.
        share: Of the pairs where its target lies apart from Bellman's, the fraction whose value is nearer to it.
            For Bellman's equation the same as ``explained``.
        distance: The median distance of the values from the target in these pairs.
        pairs: The number of these pairs of a position and an action; of positions, where those have the values.
        explained: Of all trained pairs, the fraction whose value lies within 0.1 of the target.
        holds: Whether the values satisfy it.
    """

    name: str
    share: float
    distance: float
    pairs: int
    explained: float
    holds: bool


@dataclass(frozen=True)
class Diagnosis:
    """What the values or the moves of a player say about its training.

    Attributes:
        verdict: The result in one or two sentences.
        findings: The names of the equations that hold, more than one where they cannot be told apart. Where none
            holds, ``"untrained"``, ``"train longer"``, ``"values too small"`` or ``"last moves of both signs"``.
        equations: Bellman's equation, and those of the bugs, the best first; none for moves. One bug may have two:
            for the next player's values, and for those of the player's own next turn.
    """

    verdict: str
    findings: tuple[str, ...]
    equations: tuple[Equation, ...] = ()

    def __str__(self) -> str:
        """The verdict, and a line for each equation."""
        rows = [f"{e.share:6.2f}{e.distance:10.2f}{e.pairs:10,}  {e.name}" for e in self.equations]
        return "\n".join([self.verdict, " share  distance     pairs  equation", *rows])


class _Values:
    """A player's values, and what targets are made of: arrays over positions, and over their legal actions."""

    def __init__(self, rules: NimRules, given: NDArray[Any]) -> None:
        heaps = rules.all_positions()
        kept = heaps.sum(axis=1).argsort(kind="stable")[:_MAX_POSITIONS]
        row = np.zeros(len(heaps), dtype=np.int64)
        row[kept] = np.arange(len(kept))
        legal = rules.action_mask(heaps[kept]) > 0
        self.position, action = legal.nonzero()
        self.after = row[kept[self.position] - np.array(rules.offsets)[action]]
        self.ends = self.after == 0
        self.last_reward = rules.terminal_reward
        self.of_positions = given.ndim == 1
        given = given[kept].astype(np.float64)
        values = given[1:] if self.of_positions else given[legal]
        if not np.isfinite(values).all():
            raise ValueError(f"q_values must be finite where legal; got {values[~np.isfinite(values)][0]}")
        self.scale = float(np.abs(values).max())
        self.values = values / (self.scale or 1)
        if self.of_positions:
            self.best = self.best_of_all = np.append(0, self.values)
            self.of_actions = self.by_move(self.best)
            self.is_last = self.mean(self.ends)[1:] == 1
            self.is_trained = self.is_known = np.ones(len(values), dtype=bool)
        else:
            self.best = self.most(self.values)
            self.best_of_all = np.append(0, np.nanmax(given[1:], axis=1) / (self.scale or 1))
            self.of_actions = self.values
            self.is_last = self.ends
            self.is_trained = self.values != 0
            is_complete = self.mean(self.is_trained) == 1
            is_complete[0] = not self.is_trained[self.ends].any()
            self.is_known = self.is_trained | is_complete[self.after]  # a value of 0 may be learned
        greedy = np.flatnonzero(self.of_actions == self.most(self.of_actions)[self.position])
        self.reply = np.append(0, greedy[np.unique(self.position[greedy], return_index=True)[1]])

    def most(self, of_pairs: NDArray[Any]) -> NDArray[Any]:
        """The maximum over the actions of each position, 0 in the empty one."""
        starts = np.flatnonzero(np.diff(self.position, prepend=0))
        return np.append(0, np.maximum.reduceat(of_pairs, starts))

    def mean(self, of_pairs: NDArray[Any]) -> NDArray[Any]:
        """The mean over the actions of each position, 0 in the empty one."""
        return np.bincount(self.position, of_pairs) / np.bincount(self.position).clip(1)

    def by_move(self, future: NDArray[Any], weight: float = 1.0, reward: float = 1.0) -> NDArray[Any]:
        """The target of each pair from the value of the next position, which is the other player's."""
        return np.where(self.ends, reward * self.last_reward, -weight * future[self.after])

    def targets(
        self, own_turn: bool, future: NDArray[Any], weight: float = 1.0, reward: float = 1.0, other: float = 1.0
    ) -> NDArray[Any]:
        """The targets of the values from the next position, or from the own next turn after a greedy reply."""
        if own_turn:
            future = self.by_move(future, weight, other)[self.reply]
            weight = 1.0
        of_pairs = self.by_move(future, weight, reward)
        return self.most(of_pairs)[1:] if self.of_positions else of_pairs


_BELLMAN = "Bellman's equation"
_BUGS: dict[str, Callable[[_Values], dict[str, Any]]] = {  # the arguments of the targets
    "opponent's reward": lambda v: {"future": v.best, "reward": -1.0, "other": -1.0},
    "no minus sign": lambda v: {"future": v.best, "weight": -1.0},
    "maximum that starts from 0": lambda v: {"future": v.best.clip(0)},
    "last mover's reward dropped": lambda v: {"future": v.best, "reward": 0.0},
    "other player's reward dropped": lambda v: {"future": v.best, "other": 0.0},
    "maximum over illegal actions": lambda v: {"future": v.best_of_all},
    "minimum in place of the maximum": lambda v: {"future": -v.most(-v.of_actions)},
    "mean in place of the maximum": lambda v: {"future": v.mean(v.of_actions)},
    "random opponent": lambda v: {"future": v.mean(v.by_move(v.best))},
}


def diagnose(rules: NimRules, q_values: ArrayLike) -> Diagnosis:
    """Names the equation that the values of a player satisfy.

    The values must have started at 0, and a win must be worth as much as a loss. A correct learner may be told to
    train longer at any time; docs/test_your_agent.md has the rates. Games of more than 50,000 positions are judged
    by those with the fewest objects.

    Args:
        rules: The game.
        q_values: The value of each action for the player to move, shape ``(n_positions, n_actions)``, a row for
            each position by its index, 0 where it was never updated. Illegal entries matter to one equation, the
            maximum over them, and may be NaN. Or the value of each position, shape ``(n_positions,)``.

    Returns:
        The diagnosis.

    Raises:
        ValueError: Another shape, or a value of a legal action or of a position that is not finite.
    """
    given = np.asarray(q_values)
    shapes = (rules.n_positions, rules.n_actions), (rules.n_positions,)
    if given.shape not in shapes:
        raise ValueError(f"q_values must have shape {shapes[0]} or {shapes[1]}; got {given.shape}")
    player = _Values(rules, given)
    if not player.scale:
        return Diagnosis(_VERDICTS["untrained"], ("untrained",))
    right, *bugs = equations = tuple(_equations(player))
    holding = [bug for bug in bugs if bug.holds]
    last_values = player.values[player.is_last]
    if holding:
        most = max(bug.explained for bug in holding)
        findings = tuple(dict.fromkeys(bug.name for bug in holding if bug.explained > most - 0.05))
        doubt = ", which these values cannot tell apart" if len(findings) > 1 else ""
        verdict = f"In place of {_BELLMAN} the values satisfy another: {' or '.join(findings)}{doubt}."
        if "opponent's reward" in findings:
            verdict += " The rules of the other variant look the same."
        return Diagnosis(verdict, findings, equations)
    if last_values.min() < -_NEAR and last_values.max() > _NEAR:
        finding = "last moves of both signs"
    elif right.holds and not any(bug.share >= 0.8 and bug.pairs >= 3 for bug in bugs):
        is_scaled = not 0.8 < player.scale < 1.25
        rewards = f", for rewards of {player.scale:.3g} in place of 1" if is_scaled else ""
        kind = "positions" if player.of_positions else "pairs"
        verdict = f"{_BELLMAN} holds in {right.share:.0%} of {right.pairs:,} trained {kind}{rewards}."
        return Diagnosis(verdict, ("rewards of a scale other than 1" if is_scaled else _BELLMAN,), equations)
    else:
        target = player.targets(False, player.best)
        lack = np.median(((target - player.values) * np.sign(target))[player.is_trained])
        finding = "values too small" if 0.005 < lack < 1 else "train longer"
    return Diagnosis(_VERDICTS[finding], (finding,), equations)


def _equations(player: _Values) -> list[Equation]:
    """Bellman's equation, then those of the bugs that lie apart from it, the best first.

    A value of a correct learner lies between 0, where it started, and its target. So a bug's equation holds only
    where the values lie outside that range, or where it explains most values. Values of 0 count for the latter
    when all last moves have reached their reward: before, they may be untrained.
    """
    values = player.values
    bellman = np.array([player.targets(own_turn, player.best) for own_turn in (False, True)])
    nearest = np.abs(bellman - values).min(axis=0)
    tells = player.is_trained & (np.maximum(np.abs(values), np.abs(bellman[0])) > _APART)
    last_values = np.abs(values[player.is_last])
    is_done = bool((last_values > 1 - _NEAR).all() or not last_values.any())
    low = bellman.min(axis=0).clip(max=0) - _NEAR
    high = bellman.max(axis=0).clip(min=0) + _NEAR
    is_outside = ((values < low) | (values > high)) & (not player.of_positions)  # a network starts anywhere
    explained = float((nearest[tells] < _NEAR).mean())
    median = float(np.median(nearest[tells]))
    holds = (median <= 0.02 and player.scale > 0.8) or (explained >= 0.8 and is_done)
    right = Equation(_BELLMAN, explained, median, int(player.is_trained.sum()), explained, holds)
    bugs = []
    for name, target, size in _candidates(player, is_done):
        distance = np.abs(target - values)
        is_apart = player.is_known & (np.abs(target - bellman).min(axis=0) > _APART * size)
        if is_apart.any():
            share = float(np.sign(nearest - distance)[is_apart].mean() + 1) / 2
            median = float(np.median(distance[is_apart]))
            explained = float((distance[tells] < _NEAR * size).mean())
            n_apart = int(is_apart.sum())
            n_sure = (is_apart & (player.is_trained | is_done)).sum()
            is_proved = is_outside[is_apart].mean() >= 0.9 and n_apart >= 3 and right.pairs >= 12
            is_likely = explained >= 0.55 and right.explained >= 0.2 and player.scale > 0.9 and n_sure >= 5
            holds = bool(share >= 0.95 and median < _NEAR * size and (is_proved or is_likely))
            bugs.append(Equation(name, share, median, n_apart, explained, holds))
    return [right, *sorted(bugs, key=lambda bug: (not bug.holds, -bug.share))]


def _candidates(player: _Values, is_done: bool) -> Iterator[tuple[str, NDArray[Any], float]]:
    """The name and the targets of each equation, and the size of what it changes."""
    for name, arguments in _BUGS.items():
        for own_turn in (False, True):
            yield name, player.targets(own_turn, **arguments(player)), 1.0
    for own_turn, step in ((False, "move"), (True, "own turn")):
        whole = player.targets(own_turn, player.best)
        is_future = player.targets(own_turn, player.best, weight=0.0) == 0
        is_future &= player.is_trained & (np.abs(whole) > _NEAR)
        if is_done and is_future.sum() >= 10:
            discount = float(np.median(player.values[is_future] / whole[is_future]))
            if 0.3 < discount < 0.995:
                targets = player.targets(own_turn, player.best, discount)
                yield f"discount of {discount:.2f} per {step}", targets, 1 - discount


def diagnose_moves(rules: NimRules, policy: PolicyLike) -> Diagnosis:
    """Says what the moves of a player without values tell, by where its mistakes lie.

    Args:
        rules: The game.
        policy: The player, which is queried as in :func:`mastery`. It may play illegal actions.

    Returns:
        The diagnosis, without equations. Its ``findings`` are one of ``"perfect play"``,
        ``"no mask at prediction"``, ``"opponent's reward"``, ``"minimum in place of the maximum"`` and
        ``"train longer"``.
    """
    probabilities = tabulate(rules, policy, np.float64, "lose").probabilities[1:]
    heaps = rules.all_positions()[1:]
    best = theory.winning_action_mask(rules, heaps) > 0
    other = theory.winning_action_mask(replace(rules, misere=not rules.misere), heaps) > 0
    worst = (rules.action_mask(heaps) > 0) & ~best
    is_choice = np.logical_and(best.any(axis=1), worst.any(axis=1))
    is_swapped = is_choice & np.logical_and(other.any(axis=1), ~(best & other).any(axis=1))

    def plays(moves: NDArray[np.bool_], where: NDArray[np.bool_]) -> float:
        return float((probabilities * moves).sum(axis=1)[where].mean())

    if n_illegal := int((probabilities.sum(axis=1) < 1 - 1e-5).sum()):
        verdict = f"It may play illegal actions in {n_illegal:,} positions: predict with the mask."
        return Diagnosis(verdict, ("no mask at prediction",))
    if not is_choice.any() or plays(best, is_choice) >= 0.999:
        return Diagnosis("Every move is right.", ("perfect play",))
    if is_swapped.sum() >= 5 and plays(other, is_swapped) >= 0.95:
        verdict = "It plays the other variant: look at the sign of the reward and at the rules."
        return Diagnosis(verdict, ("opponent's reward",))
    if is_choice.sum() >= 10 and plays(worst, is_choice) >= 0.95:
        return Diagnosis("It chooses the worst move in place of the best.", ("minimum in place of the maximum",))
    return Diagnosis("The mistakes have no pattern of a known bug: train longer.", ("train longer",))
