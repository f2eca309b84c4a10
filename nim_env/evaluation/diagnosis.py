"""Which equation a player's values satisfy: Bellman's, or the one that a known bug of self-play puts in its place.

A learner moves each value toward a target that it computes from its other values. So trained values satisfy the
equation of their learner, be it right or wrong. The targets of every equation follow from the values of the next
positions, so each pair of a position and an action is a test of its own, exact and without convergence elsewhere.

With r the reward of the player who takes the last object, 0 before, and s' the position after action a, the
equation for two players of opposite rewards is Q(s, a) = r - max Q(s', b) (Bellman 1957, Dynamic Programming;
Littman 1994, Markov games). For a learner that observes its own turns alone it is Q(s, a) = max Q(s'', b), where
s'' is the position after the reply (Watkins 1989; Sutton and Barto 2018, equation 6.8).

A value of a correct learner lies between 0, where it started, and its target. So a bug is named only where the
values lie outside that range, or where most of them satisfy the bug's equation.
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
    "values too small": "No equation holds, the values are too small: train longer. If nothing changes, look for "
    "truncation taken as termination, a learned autoreset step or a discount.",
    "last moves of both signs": "No equation holds, and last moves have values of both signs: look for rewards of "
    "the wrong player's view. A network may need more training.",
}


@dataclass(frozen=True)
class Equation:
    """How well one equation fits. Values and distances are relative to the largest absolute value.

    Attributes:
        name: The bug that it belongs to.
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
        equations: All equations, the best first. A bug is listed twice where its equation for the next position
            and the one for the player's own next turn differ from Bellman's.
    """

    verdict: str
    findings: tuple[str, ...]
    equations: tuple[Equation, ...] = ()

    def __str__(self) -> str:
        """The verdict, and a line for each equation."""
        rows = [f"{e.share:6.2f}{e.distance:10.2f}{e.pairs:10,}  {e.name}" for e in self.equations]
        return "\n".join([self.verdict, " share  distance     pairs  equation", *rows])


class _Backup:
    """What targets are made of: arrays over positions, and over pairs of a position and a legal action."""

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
            self.action_values = self.by_move(self.best)
        else:
            self.best = self.most(self.values)
            self.best_of_all = np.append(0, np.nanmax(given[1:], axis=1) / (self.scale or 1))
            self.action_values = self.values
        greedy = np.flatnonzero(self.action_values == self.most(self.action_values)[self.position])
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
        self,
        own_turns: bool,
        future: NDArray[Any],
        weight: float = 1.0,
        reward: float = 1.0,
        other_reward: float = 1.0,
    ) -> NDArray[Any]:
        """The targets from the next position, or from the own next turn after a greedy reply."""
        if own_turns:
            future = self.by_move(future, weight, other_reward)[self.reply]
            weight = 1.0
        of_pairs = self.by_move(future, weight, reward)
        return self.most(of_pairs)[1:] if self.of_positions else of_pairs


_BELLMAN = "Bellman's equation"
_BUGS: dict[str, Callable[[_Backup], dict[str, Any]]] = {  # the arguments of the targets
    "opponent's reward": lambda b: {"future": b.best, "reward": -1.0, "other_reward": -1.0},
    "no minus sign": lambda b: {"future": b.best, "weight": -1.0},
    "maximum that starts from 0": lambda b: {"future": b.best.clip(0)},
    "last mover's reward dropped": lambda b: {"future": b.best, "reward": 0.0},
    "other player's reward dropped": lambda b: {"future": b.best, "other_reward": 0.0},
    "maximum over illegal actions": lambda b: {"future": b.best_of_all},
    "minimum in place of the maximum": lambda b: {"future": -b.most(-b.action_values)},
    "mean in place of the maximum": lambda b: {"future": b.mean(b.action_values)},
    "random opponent": lambda b: {"future": b.mean(b.by_move(b.best))},
}


def diagnose(rules: NimRules, q_values: ArrayLike) -> Diagnosis:
    """Names the equation that the values of a player satisfy.

    A correct learner may be told to train longer at any time, but not that it has a bug. Games of more than 50,000
    positions are judged by those with the fewest objects.

    Args:
        rules: The game.
        q_values: The value of each action for the player to move, shape ``(n_positions, n_actions)``, a row for
            each position by its index, 0 where it was never updated. Illegal entries matter to one equation, the
            maximum over them, and may be NaN. Or the value of each position, shape ``(n_positions,)``.

    Returns:
        The diagnosis.

    Raises:
        ValueError: Another shape, or a value of a legal action or of a position that is not finite.

    Example:
        >>> import numpy as np
        >>> from nim_env import NimRules, evaluation, theory
        >>> rules = NimRules((1, 2, 3))
        >>> wins = theory.winning_action_mask(rules, rules.all_positions())
        >>> print(evaluation.diagnose(rules, np.where(wins, 1, -1)).verdict)
        Bellman's equation holds in 100% of 72 trained pairs.
    """
    given = np.asarray(q_values)
    shapes = (rules.n_positions, rules.n_actions), (rules.n_positions,)
    if given.shape not in shapes:
        raise ValueError(f"q_values must have shape {shapes[0]} or {shapes[1]}; got {given.shape}")
    backup = _Backup(rules, given)
    values, scale = backup.values, backup.scale
    if not scale:
        return Diagnosis(_VERDICTS["untrained"], ("untrained",))

    last_values = values[backup.mean(backup.ends)[1:] == 1 if backup.of_positions else backup.ends]
    is_done = bool((np.abs(last_values) > 1 - _NEAR).all() or not last_values.any())
    is_trained = (values != 0) | backup.of_positions
    is_known = is_trained
    if not backup.of_positions:  # a value of 0 may be learned
        is_complete = backup.mean(is_trained) == 1
        is_complete[0] = not last_values.any()
        is_known = is_trained | is_complete[backup.after]

    bellman = np.array([backup.targets(own_turns, backup.best) for own_turns in (False, True)])
    nearest = np.abs(bellman - values).min(axis=0)
    tells = is_trained & (np.maximum(np.abs(values), np.abs(bellman[0])) > _APART)
    median = float(np.median(nearest[tells]))
    explained = float((nearest[tells] < _NEAR).mean())
    holds = (median <= 0.02 and scale > 0.8) or (explained >= 0.8 and is_done)
    right = Equation(_BELLMAN, explained, median, int(is_trained.sum()), explained, holds)

    # values that no correct learner has on its way from 0; a network starts anywhere
    low = bellman.min(axis=0).clip(max=0) - _NEAR
    high = bellman.max(axis=0).clip(min=0) + _NEAR
    is_outside = ((values < low) | (values > high)) & (not backup.of_positions)
    bugs = []
    for name, target, size in _candidates(backup, bellman, is_trained, is_done):
        distance = np.abs(target - values)
        is_apart = is_known & (np.abs(target - bellman).min(axis=0) > _APART * size)
        if is_apart.any():
            share = float(np.sign(nearest - distance)[is_apart].mean() + 1) / 2
            median = float(np.median(distance[is_apart]))
            explained = float((distance[tells] < _NEAR * size).mean())
            is_likely = explained >= 0.55 and right.explained >= 0.2 and scale > 0.9
            is_likely &= is_done or (is_apart & is_trained).sum() >= 4
            is_proof = is_outside[is_apart].mean() >= 0.9
            is_fit = share >= 0.95 and median < _NEAR * size and is_apart.sum() >= 4
            holds = bool(is_fit and (is_likely or is_proof))
            bugs.append((Equation(name, share, median, int(is_apart.sum()), explained, holds), target))
    bugs.sort(key=lambda bug: (not bug[0].holds, -bug[0].share))
    equations = (right, *(equation for equation, _ in bugs))

    holding = [bug for bug in bugs if bug[0].holds]
    if holding:
        best = max(holding, key=lambda bug: bug[0].explained)[1]
        names = dict.fromkeys(e.name for e, target in holding if not _is_beaten(values, is_trained, target, best))
        doubt = ", which these values cannot tell apart" if len(names) > 1 else ""
        verdict = f"In place of Bellman's equation the values satisfy that of a bug: {' or '.join(names)}{doubt}."
        return Diagnosis(verdict, tuple(names), equations)
    shortfall = np.median(((bellman[0] - values) * np.sign(bellman[0]))[tells])
    if last_values.min() < -_NEAR and last_values.max() > _NEAR:
        finding = "last moves of both signs"
    elif right.holds and not any(e.share >= 0.8 and e.pairs >= 3 for e, _ in bugs):
        is_scaled = not 0.8 < scale < 1.25
        rewards = f", for rewards of {scale:.3g} in place of 1" if is_scaled else ""
        kind = "positions" if backup.of_positions else "pairs"
        verdict = f"{_BELLMAN} holds in {right.share:.0%} of {right.pairs:,} trained {kind}{rewards}."
        return Diagnosis(verdict, ("rewards of a scale other than 1" if is_scaled else _BELLMAN,), equations)
    else:
        finding = "values too small" if 0.005 < shortfall < 1 else "train longer"
    return Diagnosis(_VERDICTS[finding], (finding,), equations)


def _candidates(
    backup: _Backup, bellman: NDArray[Any], is_trained: NDArray[np.bool_], is_done: bool
) -> Iterator[tuple[str, NDArray[Any], float]]:
    """The name and the targets of each equation, and the size of what it changes."""
    for name, arguments in _BUGS.items():
        for own_turns in (False, True):
            yield name, backup.targets(own_turns, **arguments(backup)), 1.0
    for own_turns, step in ((False, "move"), (True, "own turn")):
        whole = bellman[int(own_turns)]
        is_future = is_trained & (backup.targets(own_turns, backup.best, 0.0) == 0) & (np.abs(whole) > _NEAR)
        if is_done and is_future.sum() >= 10:
            discount = float(np.median(backup.values[is_future] / whole[is_future]))
            if 0.3 < discount < 0.995:
                targets = backup.targets(own_turns, backup.best, discount)
                yield f"discount of {discount:.2f} per {step}", targets, 1 - discount


def _is_beaten(
    values: NDArray[Any], is_trained: NDArray[np.bool_], target: NDArray[Any], best: NDArray[Any]
) -> bool:
    """Whether the values are nearer to the best target, where the two lie apart."""
    is_apart = is_trained & (np.abs(target - best) > _APART)
    is_nearer = np.abs(best - values) < np.abs(target - values)
    return bool(is_apart.sum() >= 5 and is_nearer[is_apart].mean() >= 0.8)


def diagnose_moves(rules: NimRules, policy: PolicyLike) -> Diagnosis:
    """Says what the moves of a player without values tell, by where its mistakes lie.

    Args:
        rules: The game.
        policy: The player, which is queried on each position once. It may play illegal actions.

    Returns:
        The diagnosis. Its equations are ways to play: ``share`` is the mean probability of their moves in the
        ``pairs`` positions that tell, ``distance`` what the median lacks to 1. ``findings`` is one of
        ``"perfect play"``, ``"no mask at prediction"``, ``"opponent's reward"``, ``"minimum in place of the
        maximum"`` and ``"train longer"``.
    """
    probabilities = tabulate(rules, policy, np.float64, "lose").probabilities[1:]
    heaps = rules.all_positions()[1:]
    best = theory.winning_action_mask(rules, heaps) > 0
    other = theory.winning_action_mask(replace(rules, misere=not rules.misere), heaps) > 0
    worst = (rules.action_mask(heaps) > 0) & ~best
    is_choice = np.logical_and(best.any(axis=1), worst.any(axis=1))
    is_swapped = is_choice & np.logical_and(other.any(axis=1), ~(best & other).any(axis=1))

    def fit(name: str, description: str, moves: NDArray[np.bool_], tells: NDArray[np.bool_]) -> Equation:
        chosen = (probabilities * moves).sum(axis=1)[tells] if tells.any() else np.zeros(1)
        share = float(chosen.mean())
        return Equation(name, description, share, 1 - float(np.median(chosen)), int(tells.sum()), share)

    perfect = fit("perfect play", "the winning moves", best, is_choice)
    elsewhere = fit("perfect play", "the winning moves where the variants agree", best, is_choice & ~is_swapped)
    variant = fit("opponent's reward", "the winning moves of the other variant", other, is_swapped)
    reverse = fit("minimum in place of the maximum", "the losing moves", worst, is_choice)
    n_illegal = int((probabilities.sum(axis=1) < 1 - 1e-5).sum())
    finding, verdict = "train longer", "The mistakes have no pattern of a known bug: train longer."
    if n_illegal:
        finding = "no mask at prediction"
        verdict = f"It may play illegal actions in {n_illegal:,} positions: predict with the mask."
    elif perfect.share >= 0.999 or not is_choice.any():
        finding, verdict = "perfect play", "Every move is right."
    elif variant.pairs >= 5 and variant.share >= 0.95 and (elsewhere.share >= 0.9 or not elsewhere.pairs):
        finding = variant.name
        verdict = "It plays the other variant: look at the sign of the reward and at the rules."
    elif reverse.pairs >= 10 and reverse.share >= 0.95:
        finding, verdict = reverse.name, "It chooses the worst move in place of the best."
    ways = sorted((perfect, elsewhere, variant, reverse), key=lambda way: -way.share)
    return Diagnosis(verdict, (finding,), tuple(ways))
