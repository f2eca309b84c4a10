"""Estimates from sampled games and positions, for boards with too many positions for exact evaluation."""

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
from nim_env.evaluation.accuracy import winning_move_probabilities
from nim_env.policies import (
    IllegalAction,
    OpponentPool,
    Player,
    PolicyLike,
    checked_player,
    sample,
)
from nim_env.policies.weighted import weighted_players
from nim_env.rules import NimRules


@dataclass(frozen=True)
class MatchResult:
    """The result of :func:`play_match`.

    Attributes:
        wins: The number of games that the policy won.
        games: The number of games.
    """

    wins: int
    games: int

    @property
    def win_rate(self) -> float:
        """The fraction of games won."""
        return self.wins / self.games

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Returns the Wilson score interval of the win probability (Wilson 1927, JASA 22, p. 209)."""
        return _wilson_interval(self.win_rate, self.games, confidence)


def _wilson_interval(rate: float, n: int, confidence: float) -> tuple[float, float]:
    """Returns the Wilson score interval of a success rate that was observed in ``n`` trials."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)

    def lower(rate: float) -> float:  # the smaller root, written without a difference so it is exactly 0 at 0
        return 2 * n * rate**2 / (2 * n * rate + z**2 + z * sqrt(z**2 + 4 * n * rate * (1 - rate)))

    return lower(rate), 1 - lower(1 - rate)


def play_match(
    rules: NimRules,
    policy: PolicyLike | OpponentPool,
    opponent: PolicyLike | OpponentPool,
    games: int,
    *,
    seed: int | None = None,
    moves_first: bool | None = None,
    illegal_action: IllegalAction | None = None,
) -> MatchResult:
    """Plays games between two policies from the full heaps, and counts the wins of the first one.

    Args:
        rules: The game.
        policy: The policy whose wins count. If it is a pool, a member is drawn for each game.
        opponent: The other player, which can be a pool too.
        games: The number of games, at least 1.
        seed: The seed for drawing actions and members of pools.
        moves_first: Whether ``policy`` moves first. ``None`` to let it move first in every other game, including
            the first.
        illegal_action: What an illegal action of either player does, ``"raise"`` or ``"lose"``.

    Returns:
        The number of wins and of games.
    """
    games = checked_integer("games", games, 1)
    players, weights = weighted_players(policy, rules, illegal_action=illegal_action)
    others, other_weights = weighted_players(opponent, rules, illegal_action=illegal_action, name="opponent")
    generator = np.random.default_rng(seed)
    movers = np.arange(games) % 2  # the player who moves first in each game, 0 for policy and 1 for opponent
    if moves_first is not None:
        movers[:] = 0 if checked_bool("moves_first", moves_first) else 1
    members = _draw_members(weights, games, generator)
    other_members = _draw_members(other_weights, games, generator)
    wins = 0
    for i, player in enumerate(players):
        for j, other in enumerate(others):
            pair_movers = movers[(members == i) & (other_members == j)]
            for part in chunks(len(pair_movers), rules.n_actions, size=limits.MATCH_ENTRIES):
                rewards = _play_games(rules, (player, other), pair_movers[part], generator)
                wins += int((rewards > 0).sum())
    return MatchResult(wins, games)


def _draw_members(weights: NDArray[np.float64], games: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Draws the member of a pool that plays each game, and returns its number, int64 of shape ``(games,)``.

    ``weights`` are the probabilities of the members. If there is only one member, the generator is not used.
    """
    return generator.choice(len(weights), games, p=weights) if len(weights) > 1 else np.zeros(games, np.int64)


def _play_games(
    rules: NimRules,
    players: tuple[Player, Player],
    movers: NDArray[np.int64],
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Plays n games between two players from the full heaps.

    Args:
        rules: The game.
        players: Player 0 and player 1.
        movers: The number of the player who moves first in each game, shape ``(n,)``.
        generator: The generator that draws the moves.

    Returns:
        The reward of player 0 in each game, 1 or -1, float64 of shape ``(n,)``.
    """
    heaps = np.tile(np.array(rules.heaps), (len(movers), 1))
    rewards = np.zeros(len(movers))
    while (is_running := rewards == 0).any():
        for number, player in enumerate(players):
            sign = 1 - 2 * number  # the sign of player 0's reward if this player wins
            games = np.flatnonzero(is_running & (movers == number))
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


def sample_winning_positions(rules: NimRules, n: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Draws winning positions, each with the same probability. A position can be drawn more than once.

    Args:
        rules: The game.
        n: The number of positions, at least 1.
        generator: The random generator. It draws batches of 100,000 positions, of which the winning ones are kept.

    Returns:
        The positions, int64 of shape ``(n, n_heaps)``.

    Raises:
        ValueError: If fewer than one in 10,000 positions is winning. A game can also have none, such as a single
            object in misère play.
    """
    return _sample_positions(rules, n, generator, is_winning=True)


def sample_losing_positions(rules: NimRules, n: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Draws losing positions other than the empty one, each with the same probability.

    A position can be drawn more than once. Arguments, result and errors are those of
    :func:`sample_winning_positions`.
    """
    return _sample_positions(rules, n, generator, is_winning=False)


def _sample_positions(
    rules: NimRules, n: int, generator: np.random.Generator, *, is_winning: bool
) -> NDArray[np.int64]:
    """Draws ``n`` winning positions, or ``n`` losing ones other than the empty position, each equally likely."""
    n = checked_integer("n", n, 1)
    found: list[NDArray[np.int64]] = []
    n_found = n_drawn = 0
    while n_found < n:
        for _ in range(100):
            heaps = generator.integers(np.array(rules.heaps) + 1, size=(1_000, rules.n_heaps))
            heaps = heaps[(theory.is_winning(rules, heaps) == is_winning) & heaps.any(axis=1)]
            found.append(heaps[: max(n - n_found, 0)])
            n_found += len(heaps)
        n_drawn += 100_000
        if n_found < min(n, n_drawn / 10_000):
            kind = "winning" if is_winning else "losing"
            raise ValueError(
                f"only {n_found} of {n_drawn:,} positions drawn on {rules} are {kind}; use another board"
            )
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class SampledMastery:
    """The result of :func:`sampled_mastery`.

    Attributes:
        expert: The estimate of expert mastery, from 0 to 1: the mean of ``winning_probabilities``.
        positions: The winning positions that were drawn, int64 of shape ``(n, n_heaps)``.
        winning_probabilities: The probability of a winning move in each of these positions, float64 of shape
            ``(n,)``.
    """

    expert: float
    positions: NDArray[np.int64] = field(repr=False)
    winning_probabilities: NDArray[np.float64] = field(repr=False)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Returns a confidence interval of expert mastery: the Wilson score interval.

        The confidence is as stated if the policy is deterministic. For a stochastic policy the interval is wider
        than necessary. It is made for numbers that are 0 or 1, and probabilities with the same mean vary less.
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
    """Estimates expert mastery (:class:`Mastery`) on a board of any size, from sampled winning positions.

    Positions are drawn with :func:`sample_winning_positions`, and their winning moves follow from
    :mod:`nim_env.theory`. The estimate is the mean probability of a winning move. If a policy draws its moves
    instead of returning probabilities, it is asked for one move in each position, and the fraction of winning
    moves is the estimate.

    The estimate says nothing about exploitability: a single mistake can lose every game, and its position may not
    be in the sample.

    Args:
        rules: The game.
        policy: The policy.
        n: The number of positions, at least 1.
        seed: The seed for drawing the positions, or a generator.
        illegal_action: What an illegal action does, ``"raise"`` or ``"lose"``.

    Returns:
        The estimate, with the positions that it comes from.
    """
    player = checked_player(policy, rules, illegal_action=illegal_action)
    positions = sample_winning_positions(rules, n, np.random.default_rng(seed))
    winning_probabilities = np.empty(len(positions))
    for part in chunks(len(positions), rules.n_actions):
        heaps = positions[part]
        moves = player.query(heaps, rules.action_mask(heaps))
        winning_probabilities[part] = winning_move_probabilities(moves, theory.winning_action_mask(rules, heaps))
    return SampledMastery(fsum(winning_probabilities.data) / len(positions), positions, winning_probabilities)
