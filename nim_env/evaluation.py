"""How good a policy is: matches, and mastery over all positions of a game.

A policy is a name (``"random"``, ``"take-N"``, ``"expert"``), an object with ``action_probabilities``, or a
callable ``(observation, action_mask) -> action`` on batches; none is asked about a finished position.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from nim_env import theory
from nim_env.policies import Policy, PolicyLike, as_policy, checked_probabilities, sample
from nim_env.rules import NimRules, as_integer

BATCH_ENTRIES = 2**22  # probabilities asked for at once, 32 MB of them
MAX_SWEEP = 50_000_000  # positions; more would take hours


@dataclass(frozen=True)
class MatchResult:
    """What :func:`play_match` saw: ``wins`` of ``games``."""

    wins: int
    games: int

    @property
    def win_rate(self) -> float:
        """The share of games won."""
        return self.wins / self.games

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The Wilson score interval of the win probability (Wilson 1927, JASA 22, p. 209).

        Args:
            confidence: How often such an interval holds the true probability, between 0 and 1.

        Raises:
            ValueError: ``confidence`` is not between 0 and 1.
        """
        if not 0 < confidence < 1:
            raise ValueError(f"confidence must lie between 0 and 1; got {confidence!r}")
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        share, games = self.win_rate, self.games
        centre = (share + z**2 / (2 * games)) / (1 + z**2 / games)
        half = z / (1 + z**2 / games) * sqrt(share * (1 - share) / games + z**2 / (4 * games**2))
        return max(0.0, centre - half), min(1.0, centre + half)


def play_match(
    rules: NimRules,
    policy: PolicyLike,
    opponent: PolicyLike,
    games: int,
    seed: int | None = None,
    first: bool | None = None,
) -> MatchResult:
    """Samples games from the full heaps between ``policy`` and ``opponent``.

    Args:
        rules: The game.
        policy: The policy whose wins are counted.
        opponent: The policy it plays against.
        games: How many games, 1 or more.
        seed: Seeds the draws; callables bring their own randomness.
        first: Whether ``policy`` makes the first move; ``None``: in every other game, the first included.

    Raises:
        TypeError: An argument is of the wrong kind.
        ValueError: ``games`` is below 1, ``seed`` below 0, a policy's name is unknown, or a policy answers
            anything but a distribution over legal actions.
    """
    games = as_integer("games", games)
    if games < 1:
        raise ValueError(f"games must be 1 or more; got {games}")
    if first is not None and not isinstance(first, bool | np.bool_):
        raise TypeError(f"first must be True, False or None; got {first!r}")
    if seed is not None and as_integer("seed", seed) < 0:
        raise ValueError(f"seed must be 0 or more; got {seed}")
    players = as_policy(policy, rules), as_policy(opponent, rules, "opponent")
    generator = np.random.default_rng(seed)
    starter = np.arange(games) % 2 if first is None else np.full(games, 0 if first else 1)
    batch = _batch_size(rules)
    wins = sum(
        int((_winners(rules, players, starter[start : start + batch], generator) == 0).sum())
        for start in range(0, games, batch)
    )
    return MatchResult(wins, games)


def _winners(
    rules: NimRules,
    players: tuple[Policy, Policy],
    starter: NDArray[np.int64],
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """The winner, 0 or 1, of one game for each entry of ``starter``, all played at once."""
    heaps = np.tile(np.array(rules.heaps), (len(starter), 1))
    mover, winner = starter.copy(), np.full(len(starter), -1)
    while (playing := winner < 0).any():
        for player, name in enumerate(("policy", "opponent")):
            turn = np.flatnonzero(playing & (mover == player))
            if not len(turn):
                continue
            observation, mask = heaps[turn], rules.action_mask(heaps[turn])
            answer = players[player].action_probabilities(observation.copy(), mask.copy())
            probabilities = checked_probabilities(answer, observation, mask, name)
            heaps[turn] = rules.apply(observation, sample(probabilities, generator))
            over = turn[rules.is_over(heaps[turn])]
            winner[over] = player if rules.last_mover_wins else 1 - player
        mover = 1 - mover
    return winner


@dataclass(frozen=True, eq=False)
class Mastery:
    """How much of a game a policy has mastered, after Zhou and Riis (2022, arXiv:2205.12787).

    Attributes:
        expert: The share of all winning positions where the policy plays a winning move, its probability
            for a stochastic policy; 1.0 where the game has no winning position.
        winning_positions: How many there are.
        mistakes: Those where the policy may play a losing move, int64 of shape ``(k, n_heaps)``.
    """

    expert: float
    winning_positions: int
    mistakes: NDArray[np.int64]


def mastery(rules: NimRules, policy: PolicyLike) -> Mastery:
    """Holds a policy against the exact answer in every winning position of the game.

    Raises:
        TypeError: ``policy`` is not a policy.
        ValueError: The game has more positions than can be swept, or the policy answers anything but a
            distribution over legal actions.
    """
    player = as_policy(policy, rules)
    asked, right, mistakes = 0, 0.0, [np.empty((0, rules.n_heaps), dtype=np.int64)]
    for heaps in _all_positions(rules):
        winning = theory.winning_action_mask(rules, heaps)
        can_win = winning.any(axis=-1)
        heaps, winning = heaps[can_win], winning[can_win]
        if not len(heaps):
            continue
        mask = rules.action_mask(heaps)
        answer = player.action_probabilities(heaps.copy(), mask.copy())
        probabilities = checked_probabilities(answer, heaps, mask)
        asked += len(heaps)
        right += float((probabilities * winning).sum())
        mistakes.append(heaps[((probabilities > 0) & (winning == 0)).any(axis=-1)])
    return Mastery(right / asked if asked else 1.0, asked, np.concatenate(mistakes))


def _all_positions(rules: NimRules) -> Iterator[NDArray[np.int64]]:
    """Every position but the empty one, in batches of shape ``(batch, n_heaps)``."""
    if rules.n_positions > MAX_SWEEP:
        raise ValueError(
            f"{rules} has {rules.n_positions:,} positions, more than the {MAX_SWEEP:,} that can be swept; "
            "sample games with play_match instead"
        )
    batch = _batch_size(rules)
    for start in range(1, rules.n_positions, batch):
        indices = np.arange(start, min(start + batch, rules.n_positions))
        yield indices[:, None] // np.array(rules.strides) % np.array(rules.shape)


def _batch_size(rules: NimRules) -> int:
    return max(1, BATCH_ENTRIES // rules.n_actions)
