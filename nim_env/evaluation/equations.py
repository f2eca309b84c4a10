"""Targets: what an equation makes of a player's own next values, and how far its samples reach.

Let m be the reward of the player who takes the last object, o the reward of the other player, and s' the position
after action a. A learner by move satisfies Q(s, a) = m at the end and -γ max Q(s', b) before it (Littman 1994,
Markov games). A learner by own turn satisfies Q(s, a) = m at the end. Before it, Q(s, a) is a mean over the
replies b: of o if b ends the game, and otherwise of γ max Q(s'', c), where s'' is the position after b (Watkins
1989; Sutton and Barto 2018, equation 6.8). An on-policy learner has the mean over its own policy instead of the
maximum (equation 6.9). A bug changes one part of its equation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nim_env import theory
from nim_env.policies import PolicyLike, tabulate
from nim_env.rules import NimRules

MAX_POSITIONS = 50_000  # of a larger game those with the fewest objects, where a learner is right first
EXPLORATIONS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)  # of an ε-greedy player, fitted to its values

FEW = 3  # fewer values than this tell nothing

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Reading(NamedTuple):
    """What is assumed about a learner: its rewards, the value it starts from, and whose moves its targets take."""

    win: float = 1.0
    loss: float = -1.0
    initial: float | None = 0.0  # None: values that start anywhere, such as those of a network
    on_policy: bool | PolicyLike = False


class Equation(NamedTuple):
    """The two rewards of an equation, and the future that it takes, with its factor."""

    mover: float  # the reward of the player who takes the last object
    other: float
    future: str = "best"
    sign: float = 1.0


def bugs(bellman: Equation, start: float) -> dict[Equation, str]:
    """What each bug makes of the equation of a correct learner, with its name.

    A dropped reward is 0, or its values stay where they start. The opponent's reward is also minus the own one.
    """
    mover, other = bellman[:2]
    return {
        bellman._replace(mover=other, other=mover): "opponent's reward",
        bellman._replace(mover=-mover, other=-other): "opponent's reward",
        bellman._replace(sign=-1.0): "no minus sign",
        bellman._replace(sign=0.0): "no future",
        bellman._replace(mover=0.0): "last mover's reward dropped",
        bellman._replace(mover=start): "last mover's reward dropped",
        bellman._replace(other=0.0): "other player's reward dropped",
        bellman._replace(other=start): "other player's reward dropped",
        bellman._replace(future="best from 0"): "maximum that starts from 0",
        bellman._replace(future="best of all"): "maximum over illegal actions",
        bellman._replace(future="worst"): "minimum in place of the maximum",
        bellman._replace(future="mean"): "mean in place of the maximum",
    }


class Target(NamedTuple):
    """What an equation says of each value: arrays of shape (P,)."""

    mean: Floats
    deviation: Floats  # the standard deviation of one sample
    low: Floats  # the reach: from the initial value to all samples
    high: Floats
    is_exact: bool  # whether the theorem gives the reach


class Learner:
    """The values of a learner, before anything is assumed of it.

    Args:
        rules: The game.
        given: Its values, float64 of shape (n_positions, n_actions), or (n_positions,) of positions.
        opponent: The policy that it plays; None for self-play.
        discount: Its discount.
    """

    def __init__(self, rules: NimRules, given: Floats, opponent: PolicyLike | None, discount: float) -> None:
        self.rules = rules
        self.given = given
        self.opponent = opponent
        self.discount = discount
        self.legal = rules.action_mask(rules.all_positions()) > 0  # (n_positions, n_actions)
        self.after = (np.arange(rules.n_positions)[:, None] - np.array(rules.offsets)) * self.legal

    @property
    def initial(self) -> float | None:
        """The value that the entries of illegal actions kept: 0, or another one that legal actions have too."""
        if self.given.ndim == 1:
            return None
        illegal = np.unique(self.given[1:][~self.legal[1:] & np.isfinite(self.given[1:])])
        if len(illegal) > 1:
            return None  # a network
        is_start = len(illegal) == 1 and (self.given[self.legal] == illegal[0]).any()
        return float(illegal[0]) if is_start else 0.0

    @property
    def untouched(self) -> list[float]:
        """The values that all moves of a few positions share, mistakes too: no update has changed them."""
        heaps = self.rules.all_positions()
        wins = theory.winning_action_mask(self.rules, heaps) > 0
        is_choice = wins.any(axis=1) & (self.legal & ~wins).any(axis=1)
        lowest = np.where(self.legal, self.given, np.inf).min(axis=1)
        is_same = lowest == np.where(self.legal, self.given, -np.inf).max(axis=1)
        values, counts = np.unique(lowest[is_choice & is_same], return_counts=True)
        return values[counts >= FEW].tolist()

    @property
    def last(self) -> Floats:
        """The values of the moves that take the last object, or of the positions with one object."""
        if self.given.ndim == 1:
            return self.given[self.rules.all_positions().sum(axis=1) == 1]
        return self.given[self.legal & (self.after == 0)]

    @property
    def is_sorted(self) -> bool:
        """Whether only positions with sorted heaps have values, although the board has many others."""
        if self.given.ndim == 1:
            return False
        is_trained = ((self.given != (self.initial or 0)) & self.legal).any(axis=1)
        steps = np.diff(self.rules.all_positions(), axis=1)
        unsorted = [(steps < 0).any(axis=1), (steps > 0).any(axis=1)]
        return bool(
            is_trained.sum() >= FEW
            and any(is_other.sum() >= FEW and not is_trained[is_other].any() for is_other in unsorted)
        )

    def table(self, reading: Reading) -> Floats:
        """The values of actions under a reading; those that no dictionary held are the initial one."""
        win, loss, initial, _ = reading
        if self.given.ndim == 2:
            has_learned_0 = 0 in (win, loss)  # then 0 is no sign of a missing entry
            is_missing = self.legal & (self.given == 0) & (0.0 in self.untouched) & (not has_learned_0)
            return np.where(is_missing, initial or 0.0, self.given)
        mover, other = (loss, win) if self.rules.misere else (win, loss)
        of_next = self.discount * self.given  # for the player to move there
        if self.opponent is not None:
            replies = probabilities(self.rules, self.opponent)
            of_next = -(replies * np.where(self.after == 0, other, of_next[self.after])).sum(axis=1)
        return np.where(self.legal, np.where(self.after == 0, mover, -of_next[self.after]), loss)


class Values:
    """The values of a player for the P legal pairs of a position and an action, in N positions.

    Args:
        rules: The game.
        table: The values, float64 of shape (n_positions, n_actions), in units in which no return exceeds 1.
        opponent: The policy that the learner plays; None for self-play.
        discount: The discount of the learner.
        reading: What is assumed about the learner, in the same units.
    """

    def __init__(
        self, rules: NimRules, table: Floats, opponent: PolicyLike | None, discount: float, reading: Reading
    ) -> None:
        every = rules.all_positions()
        kept = every.sum(axis=1).argsort(kind="stable")[:MAX_POSITIONS]
        row = np.zeros(len(every), dtype=np.int64)
        row[kept] = np.arange(len(kept))
        table = table[kept]
        legal = rules.action_mask(every[kept]) > 0
        self.discount = discount
        self.reading = reading
        self.n_positions = len(kept)
        self.position, self.action = legal.nonzero()  # of each pair, the position by its row: (P,)
        self.after = row[kept[self.position] - np.array(rules.offsets)[self.action]]  # the next position: (P,)
        self.is_last = self.after == 0  # whether it takes the last object: (P,)
        self.heaps = every[kept][self.position]  # (P, n_heaps)
        self.objects = self.heaps.sum(axis=1)  # (P,)
        self.value = table[legal]  # (P,)
        self.is_trained = self.value != reading.initial  # (P,)
        self.may_be_trained = self.is_trained  # also those that may have learned what they started with
        self.n_actions = legal.sum(axis=1).clip(1)  # (N,)
        n_trained = self.sums(self.is_trained)
        is_complete = n_trained == self.n_actions
        is_complete[0] = not self.is_trained[self.is_last].any()
        is_visited = n_trained > 0
        if reading.initial in reading[:2]:
            self.may_be_trained = self.is_trained | is_visited[self.position]
        # a value that never left its start counts too if it was learned: the others of its position moved
        self.is_known = self.is_trained | (is_complete[self.after] & is_visited[self.position])
        best = np.where(legal, table, -np.inf).max(axis=1)
        worst = np.where(legal, table, np.inf).min(axis=1)
        best[0] = worst[0] = 0  # the empty position
        self.is_greedy = self.value == best[self.position]  # whether it is the largest of its position: (P,)
        self.futures = {  # what equations take of each position's values: (N,)
            "best": best,
            "best from 0": best.clip(0),
            "best of all": np.append(0, np.fmax.reduce(table[1:], axis=1)),
            "worst": worst,
            "mean": self.sums(self.value) / self.n_actions,
        }
        self.exploration: float | None = None  # of an ε-greedy player whose moves were fitted
        self.replies = np.zeros(len(self.value))  # the probability of each pair as the other player's move: (P,)
        actor = (
            None if isinstance(reading.on_policy, bool) else probabilities(rules, reading.on_policy)[kept][legal]
        )
        if opponent is not None:
            self.replies = probabilities(rules, opponent)[kept][legal]
        bellman = self.bellman(rules)

        def explore(share: float) -> float:
            """Sets the moves of a player that explores this often; returns how far the values are off."""
            n_best = self.sums(self.is_greedy).clip(1)[self.position]
            moves = (1 - share) * self.is_greedy / n_best + share / self.n_actions[self.position]
            own_moves = moves if actor is None else actor
            if opponent is None:
                self.replies = own_moves
            lost = (1 - self.sums(own_moves)) * reading.loss  # the rest are illegal actions
            self.futures["own"] = self.sums(own_moves * self.value) + lost
            self.futures["own"][0] = 0
            self.exploration = share
            return float(np.abs(self.value - self.by_turn(bellman).mean)[self.is_trained].sum())

        if opponent is None or reading.on_policy is not False:
            explore(min(EXPLORATIONS, key=explore))
        self.is_self_play = opponent is None
        self.draws_replies = bool(not self.is_self_play and ((self.replies > 0) & (self.replies < 1)).any())

    def bellman(self, rules: NimRules) -> Equation:
        """The equation of a correct learner."""
        win, loss, _, on_policy = self.reading
        mover, other = (loss, win) if rules.misere else (win, loss)
        return Equation(mover, other, "best" if on_policy is False else "own")

    def sums(self, of_pairs: NDArray[Any]) -> Floats:
        """The sums over the actions of each position: shapes (P,) in, (N,) out."""
        return np.bincount(self.position, of_pairs, self.n_positions).astype(np.float64)

    def targets(self, equation: Equation) -> list[Target]:
        """The targets after a reply of the other player, and in self-play before them those by move."""
        by_turn = self.by_turn(equation)
        return [self.by_move(equation), by_turn] if self.is_self_play else [by_turn]

    def by_move(self, equation: Equation) -> Target:
        """The target from the other player's next values; both share the sum of the rewards."""
        both = abs(equation.sign) * (self.reading.win + self.reading.loss)
        future = self.discount * (both - equation.sign * self.futures[equation.future])
        sample = np.where(self.is_last, equation.mover, future[self.after])
        return self._target(equation, both, -1, sample, np.zeros(len(sample)), sample, sample)

    def by_turn(self, equation: Equation) -> Target:
        """The target from the player's own next values, after a reply."""
        future = self.discount * equation.sign * self.futures[equation.future]
        sample = np.where(self.is_last, equation.other, future[self.after])
        low, high = np.full((2, self.n_positions), self.reading.initial or 0.0)
        is_possible = (self.replies > 0) | (self.exploration is not None)  # in self-play any, at some time
        np.minimum.at(low, self.position[is_possible], sample[is_possible])
        np.maximum.at(high, self.position[is_possible], sample[is_possible])
        mean = self.sums(self.replies * sample)
        deviation = np.sqrt((self.sums(self.replies * sample**2) - mean**2).clip(0))
        ends = zip((equation.mover, 0.0, *2 * [equation.mover]), (mean, deviation, low, high), strict=True)
        parts = (np.where(self.is_last, end, of_reply[self.after]) for end, of_reply in ends)
        return self._target(equation, 0.0, 1, *parts)

    def _target(self, equation: Equation, both: float, side: int, *parts: Floats) -> Target:
        """Adds to the reach of a target what a value may hold on its way."""
        mean, deviation, low, high = parts
        win, loss, initial, on_policy = self.reading
        start = initial or 0.0
        future = max(start, 0.0) if equation.future == "best from 0" else start
        first = self.discount * (both + side * equation.sign * future)  # the target while all values are new
        any_return = [0.0, win, loss, equation.sign * win, equation.sign * loss]
        is_exact = initial is not None and on_policy is False and (first == start or equation.sign == 0)
        on_the_way = [start] if is_exact else [start, first, *any_return]
        at_end = any_return if initial is None else [start]
        least, most = ((np.where(self.is_last, f(at_end), f(on_the_way))) for f in (min, max))
        return Target(mean, deviation, np.minimum(low, least), np.maximum(high, most), is_exact)


def probabilities(rules: NimRules, policy: PolicyLike) -> Floats:
    """The probability of each action, (n_positions, n_actions); illegal ones are left out."""
    return tabulate(rules, policy, np.float64, illegal_action="lose").probabilities
