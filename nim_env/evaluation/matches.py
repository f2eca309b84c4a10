"""Sampled matches, for games with too many positions for exact evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from nim_env._checks import checked_bool, checked_integer
from nim_env._chunks import chunks
from nim_env.policies import IllegalAction, Player, PolicyLike, checked_player, sample
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
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        n = self.games
        rate = self.win_rate
        center = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
        half_width = z / (1 + z**2 / n) * sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
        return max(0.0, center - half_width), min(1.0, center + half_width)


def play_match(
    rules: NimRules,
    policy: PolicyLike,
    opponent: PolicyLike,
    games: int,
    seed: int | None = None,
    moves_first: bool | None = None,
    illegal_action: IllegalAction | None = None,
) -> MatchResult:
    """Samples games from the full heaps between ``policy``, whose wins count, and ``opponent``.

    ``seed`` seeds the draws of actions. ``moves_first`` says whether ``policy`` moves first; ``None`` for every
    other game, the first game included. ``illegal_action`` is that of the exact metrics.
    """
    games = checked_integer("games", games, 1)
    players = (
        checked_player(policy, rules, illegal_action),
        checked_player(opponent, rules, illegal_action, "opponent"),
    )
    generator = np.random.default_rng(seed)
    movers = np.arange(games) % 2
    if moves_first is not None:
        movers[:] = 0 if checked_bool("moves_first", moves_first) else 1
    wins = 0
    for part in chunks(rules, games):
        wins += int((_rewards(rules, players, movers[part], generator) > 0).sum())
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
