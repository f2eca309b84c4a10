"""What an equation makes of a player's own next values: the target of each value, and the reach of its samples.

With r the reward of the player who takes the last object, and s' the position after action a, the equation of a
learner by move is Q(s, a) = r - γ max Q(s', b) (Littman 1994, Markov games). That of a learner by own turn is
Q(s, a) = r + γ Σ π(b | s') max Q(s'', c), where s'' is the position after the reply b (Watkins 1989; Sutton and
Barto 2018, equation 6.8). A bug changes one of their parts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nim_env.policies import PolicyLike, tabulate
from nim_env.rules import NimRules

MAX_POSITIONS = 50_000  # of a larger game those with the fewest objects, where a learner is right first
EXPLORATIONS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)  # of the other player in self-play

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Equation(NamedTuple):
    """The future that an equation takes, and its factors of the future and of the rewards of a last move."""

    future: str = "best"
    sign: float = 1.0
    mover: float = 1.0  # who takes the last object
    other: float = 1.0


BELLMAN = Equation()
BUGS = {
    "opponent's reward": Equation(mover=-1.0, other=-1.0),
    "no minus sign": Equation(sign=-1.0),
    "maximum that starts from 0": Equation("best from 0"),
    "maximum over illegal actions": Equation("best of all"),
    "minimum in place of the maximum": Equation("worst"),
    "mean in place of the maximum": Equation("mean"),
    "last mover's reward dropped": Equation(mover=0.0),
    "other player's reward dropped": Equation(other=0.0),
}


class Target(NamedTuple):
    """What an equation says of each value: arrays of shape (P,)."""

    mean: Floats
    deviation: Floats  # of one sample
    low: Floats  # the reach runs from 0 to all samples, or from -1 to 1 where values do not start at 0
    high: Floats


class Values:
    """The values of a player for the P legal pairs of a position and an action, in N positions.

    Args:
        rules: The game.
        table: The values, float64 of shape (n_positions, n_actions).
        opponent: The policy that the learner plays; None for self-play.
        discount: That of the learner, with which the exploration of the other player in self-play is fitted.
    """

    def __init__(self, rules: NimRules, table: Floats, opponent: PolicyLike | None, discount: float) -> None:
        every = rules.all_positions()
        kept = every.sum(axis=1).argsort(kind="stable")[:MAX_POSITIONS]
        row = np.zeros(len(every), dtype=np.int64)
        row[kept] = np.arange(len(kept))
        table = table[kept]
        legal = rules.action_mask(every[kept]) > 0
        n_actions = legal.sum(axis=1).clip(1)
        best = np.where(legal, table, -np.inf).max(axis=1)
        worst = np.where(legal, table, np.inf).min(axis=1)
        best[0] = worst[0] = 0  # the empty position
        self.n_positions = len(kept)
        self.reward = rules.terminal_reward  # that of the player who takes the last object
        self.starts_at_0 = not np.nan_to_num(table[~legal]).any()  # as far as illegal actions tell
        self.position, self.action = legal.nonzero()  # of each pair, the position by its row: (P,)
        self.after = row[kept[self.position] - np.array(rules.offsets)[self.action]]  # the next position: (P,)
        self.heaps = every[kept][self.position]  # (P, n_heaps)
        self.objects = self.heaps.sum(axis=1)  # (P,)
        self.value = table[legal]  # (P,)
        self.is_greedy = self.value == best[self.position]  # whether it is the largest of its position: (P,)
        self.is_trained = (self.value != 0) | (not self.starts_at_0)  # whether it was updated: (P,)
        is_complete = self.sums(self.is_trained) == n_actions
        is_complete[0] = not self.is_trained[self.after == 0].any()
        self.is_known = (
            self.is_trained | is_complete[self.after]
        )  # or all next ones were, so 0 may be learned: (P,)
        self.futures = {  # what equations take of each position's values: (N,)
            "best": best,
            "best from 0": best.clip(0),
            "best of all": np.append(0, np.fmax.reduce(table[1:], axis=1)),
            "worst": worst,
            "mean": self.sums(self.value) / n_actions,
        }
        self.exploration: float | None = None  # of the other player in self-play
        self.replies = np.zeros(len(self.value))  # the probability of each pair as the other player's move: (P,)
        if opponent is not None:
            self.replies = tabulate(rules, opponent, np.float64).probabilities[kept][legal]
        else:
            self._explore(min(EXPLORATIONS, key=lambda share: self._misfit(share, discount)))

    def sums(self, of_pairs: NDArray[Any]) -> Floats:
        """The sums over the actions of each position: shapes (P,) in, (N,) out."""
        return np.bincount(self.position, of_pairs, self.n_positions).astype(np.float64)

    def targets(self, equation: Equation, discount: float) -> list[Target]:
        """The targets after a reply of the other player, and in self-play before them those by move."""
        by_turn = self._by_turn(equation, discount)
        return [by_turn] if self.exploration is None else [self._by_move(equation, discount), by_turn]

    def _explore(self, share: float) -> None:
        n_best = self.sums(self.is_greedy).clip(1)
        n_actions = self.sums(np.ones(len(self.value)))
        self.exploration = share
        self.replies = (1 - share) * self.is_greedy / n_best[self.position] + share / n_actions[self.position]

    def _misfit(self, exploration: float, discount: float) -> float:
        self._explore(exploration)
        distances = np.abs(self.value - self._by_turn(BELLMAN, discount).mean)
        return float(distances[self.is_trained].sum())

    def _by_move(self, equation: Equation, discount: float) -> Target:
        future = -discount * equation.sign * self.futures[equation.future][self.after]
        sample = np.where(self.after == 0, equation.mover * self.reward, future)
        return self._target(sample, np.zeros(len(sample)), sample, sample)

    def _by_turn(self, equation: Equation, discount: float) -> Target:
        future = discount * equation.sign * self.futures[equation.future][self.after]
        sample = np.where(self.after == 0, -equation.other * self.reward, future)
        low, high = np.zeros((2, self.n_positions))
        is_possible = (self.replies > 0) | (self.exploration is not None)  # in self-play any, at some time
        np.minimum.at(low, self.position[is_possible], sample[is_possible])
        np.maximum.at(high, self.position[is_possible], sample[is_possible])
        mean = self.sums(self.replies * sample)
        deviation = np.sqrt((self.sums(self.replies * sample**2) - mean**2).clip(0))
        last = equation.mover * self.reward
        at_end = zip((last, 0.0, last, last), (mean, deviation, low, high), strict=True)
        return self._target(*(np.where(self.after == 0, end, of_reply[self.after]) for end, of_reply in at_end))

    def _target(self, mean: Floats, deviation: Floats, low: Floats, high: Floats) -> Target:
        if self.starts_at_0:
            return Target(mean, deviation, low.clip(max=0), high.clip(min=0))
        return Target(mean, deviation, np.full(len(mean), -1.0), np.full(len(mean), 1.0))
