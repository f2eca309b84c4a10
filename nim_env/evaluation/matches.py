"""Sampled games and positions, for boards with too many positions for exact evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from nim_env import theory
from nim_env._internal import limits
from nim_env._internal.checks import checked_bool, checked_integer
from nim_env._internal.limits import chunks
from nim_env.evaluation.exact import right_probabilities
from nim_env.policies import (
    IllegalAction,
    OpponentPool,
    Player,
    PolicyLike,
    checked_player,
    checked_strategy,
    sample,
)
from nim_env.rules import NimRules


@dataclass(frozen=True)
class MatchResult:
    """The result of :func:`play_match`: ``wins`` of ``games``."""

    wins: int
    games: int

    @property
    def win_rate(self) -> float:
        """The fraction of games won."""
        return self.wins / self.games

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The bounds of the Wilson score interval of the win probability (Wilson 1927, JASA 22, p. 209)."""
        return _wilson_interval(self.win_rate, self.games, confidence)


def _wilson_interval(rate: float, n: int, confidence: float) -> tuple[float, float]:
    z = NormalDist().inv_cdf((1 + confidence) / 2)

    def lower(rate: float) -> float:  # the smaller root without a difference, so that it is 0 at 0
        return 2 * n * rate**2 / (2 * n * rate + z**2 + z * sqrt(z**2 + 4 * n * rate * (1 - rate)))

    return lower(rate), 1 - lower(1 - rate)


def play_match(
    rules: NimRules,
    policy: PolicyLike | OpponentPool,
    opponent: PolicyLike | OpponentPool,
    games: int,
    seed: int | None = None,
    moves_first: bool | None = None,
    *,
    illegal_action: IllegalAction | None = None,
) -> MatchResult:
    """Samples games from the full heaps between ``policy``, whose wins count, and ``opponent``.

    ``seed`` seeds the draws of actions, and of a pool's member for each game. ``moves_first`` says whether
    ``policy`` moves first; ``None`` for every other game, the first game included. ``illegal_action`` is that of
    the exact metrics.
    """
    games = checked_integer("games", games, 1)
    strategies = (
        checked_strategy(policy, rules, illegal_action=illegal_action),
        checked_strategy(opponent, rules, illegal_action=illegal_action, name="opponent"),
    )
    generator = np.random.default_rng(seed)
    movers = np.arange(games) % 2
    if moves_first is not None:
        movers[:] = 0 if checked_bool("moves_first", moves_first) else 1
    own, other = (
        generator.choice(len(players), games, p=chances) if len(players) > 1 else np.zeros(games, np.int64)
        for players, chances in strategies
    )
    wins = 0
    for i, player in enumerate(strategies[0][0]):
        for j, reply in enumerate(strategies[1][0]):
            of_pair = movers[(own == i) & (other == j)]
            for part in chunks(len(of_pair), rules.n_actions, size=limits.MATCH):
                wins += int((_rewards(rules, (player, reply), of_pair[part], generator) > 0).sum())
    return MatchResult(wins, games)


def _rewards(
    rules: NimRules,
    players: tuple[Player, Player],
    movers: NDArray[np.int64],
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """The reward of player 0 in one game for each entry of ``movers``, the player who moves first."""
    heaps = np.tile(np.array(rules.heaps), (len(movers), 1))
    rewards = np.zeros(len(movers))
    while (is_running := rewards == 0).any():
        for player, sign in zip(players, (1, -1), strict=True):
            games = np.flatnonzero(is_running & (movers == (sign < 0)))
            if not len(games):
                continue
            probabilities, illegal = player.query(heaps[games], rules.action_mask(heaps[games]))
            if player.illegal_action == "lose":
                is_illegal = generator.random(len(games)) < illegal
                rewards[games[is_illegal]] = -sign
                games = games[~is_illegal]
                probabilities = probabilities[~is_illegal]
            heaps[games] = rules.apply(heaps[games], sample(probabilities, generator))
            over = games[rules.is_over(heaps[games])]
            rewards[over] = sign * rules.terminal_reward
        movers = 1 - movers
    return rewards


def sample_positions(
    rules: NimRules, n: int, generator: np.random.Generator, won: bool = True
) -> NDArray[np.int64]:
    """Draws won positions, each with the same probability: int64 of shape ``(n, n_heaps)``.

    A position may be drawn twice; the empty one never is. ``won=False`` draws lost ones. It is a ValueError where
    fewer than one of 10,000 positions qualify, or none: a single object in misère play has no won position.
    ``generator`` draws from all positions, 100,000 at a time.
    """
    n = checked_integer("n", n, 1)
    found: list[NDArray[np.int64]] = []
    n_found = n_drawn = 0
    while n_found < n:
        for _ in range(100):
            heaps = generator.integers(np.array(rules.heaps) + 1, size=(1_000, rules.n_heaps))
            heaps = heaps[(theory.is_winning(rules, heaps) == won) & heaps.any(axis=1)]
            found.append(heaps[: max(n - n_found, 0)])
            n_found += len(heaps)
        n_drawn += 100_000
        if n_found < min(n, n_drawn / 10_000):
            raise ValueError(f"{n_found} of {n_drawn:,} positions drawn on {rules} are {'won' if won else 'lost'}")
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class SampledMastery:
    """The result of :func:`sampled_mastery`.

    Attributes:
        expert: The estimate of expert mastery, a fraction: the mean of ``winning_move``.
        positions: The won positions that were drawn, int64 of shape ``(n, n_heaps)``.
        winning_move: The probability of a winning move in each of them, float64 of shape ``(n,)``.
    """

    expert: float
    positions: NDArray[np.int64] = field(repr=False)
    winning_move: NDArray[np.float64] = field(repr=False)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The bounds of the Wilson score interval of expert mastery, as in :meth:`MatchResult.interval`.

        A probability with mean p varies by p (1 - p) at most, as a win does that has the probability p. So the
        interval has its confidence where the policy is deterministic, and is wider than needed elsewhere.
        """
        return _wilson_interval(self.expert, len(self.positions), confidence)


def sampled_mastery(
    rules: NimRules,
    policy: PolicyLike,
    n: int = 20_000,
    seed: int | np.random.Generator | None = None,
    *,
    illegal_action: IllegalAction | None = None,
) -> SampledMastery:
    """Estimates expert mastery (:class:`Mastery`) on a board of any size, from ``n`` won positions.

    The positions are drawn by :func:`sample_positions` and judged by :mod:`nim_env.theory`. Of a stochastic policy
    the probability of a winning move counts, not a draw. A policy that draws its moves is queried once on each
    position; the estimate and its interval hold for it too. ``illegal_action`` is that of the exact metrics.

    The figure says nothing about exploitability: one mistake in a position that no sample contains can suffice to
    lose every game.
    """
    player = checked_player(policy, rules, illegal_action=illegal_action)
    positions = sample_positions(rules, n, np.random.default_rng(seed))
    winning_move = np.empty(len(positions))
    for part in chunks(len(positions), rules.n_actions):
        heaps = positions[part]
        moves = player.query(heaps, rules.action_mask(heaps))
        winning_move[part] = right_probabilities(moves, theory.winning_action_mask(rules, heaps))
    return SampledMastery(fsum(winning_move.data) / len(positions), positions, winning_move)
