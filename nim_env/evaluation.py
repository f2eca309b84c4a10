"""How good a policy is: exactly, by a sweep over all positions of a game, or by matches where there are too many.

A policy is a name (``"random"``, ``"take-N"``, ``"expert"``), an object with ``action_probabilities``, or a
callable ``(observation, action_mask) -> action`` on batches; none is asked about a finished position.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env import solver, theory
from nim_env.policies import Policy, PolicyLike, as_policy, ask, sample
from nim_env.rules import NimRules, as_integer

PLAYERS = ("policy", "opponent")


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
    _check_first(first)
    if seed is not None and as_integer("seed", seed) < 0:
        raise ValueError(f"seed must be 0 or more; got {seed}")
    players = as_policy(policy, rules), as_policy(opponent, rules, "opponent")
    generator = np.random.default_rng(seed)
    starter = np.arange(games) % 2 if first is None else np.full(games, 0 if first else 1)
    batch = solver.batch_size(rules)
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
        for player, name in enumerate(PLAYERS):
            turn = np.flatnonzero(playing & (mover == player))
            if not len(turn):
                continue
            observation, mask = heaps[turn], rules.action_mask(heaps[turn])
            probabilities = ask(players[player], observation, mask, name)
            heaps[turn] = rules.apply(observation, sample(probabilities, generator))
            over = turn[rules.is_over(heaps[turn])]
            winner[over] = player if rules.last_mover_wins else 1 - player
        mover = 1 - mover
    return winner


def win_probability(
    rules: NimRules,
    policy: PolicyLike,
    opponent: PolicyLike,
    first: bool | None = None,
    heaps: ArrayLike | None = None,
) -> float | NDArray[np.float64]:
    """How probably ``policy`` wins against ``opponent``: exactly, by working backwards from the end of the game.

    Args:
        rules: The game.
        policy: The policy whose wins are counted.
        opponent: The policy it plays against.
        first: Whether ``policy`` makes the first move; ``None``: the mean of both orders.
        heaps: Positions to start from, shape ``(..., n_heaps)``; ``None``: the full heaps. In the empty position
            the game is over, and who would move first has won exactly in misère play.

    Returns:
        A float for the full heaps, else float64 of shape ``(...)``.

    Raises:
        TypeError: An argument is of the wrong kind.
        ValueError: The game has more positions than can be swept, ``heaps`` are no positions of it, a policy's
            name is unknown, or a policy answers anything but a distribution over legal actions.
    """
    _check_first(first)
    players = as_policy(policy, rules), as_policy(opponent, rules, "opponent")
    where = rules.positions(rules.heaps if heaps is None else heaps)
    parts = solver.sweep(rules)
    wins = np.empty((2, rules.n_positions))  # where the policy is to move, and where the opponent is
    wins[:, 0] = not rules.last_mover_wins, rules.last_mover_wins
    for part in parts:
        plays = [
            ask(player, part.heaps, part.action_mask, name) for player, name in zip(players, PLAYERS, strict=True)
        ]
        for layer in part.layers:
            for mover in (0, 1):
                wins[mover, part.indices[layer]] = part.expected(layer, wins[1 - mover], plays[mover])
    orders = wins[:, where @ np.array(rules.strides)]
    found: NDArray[np.float64] = orders.mean(axis=0) if first is None else orders[0 if first else 1]
    return float(found) if heaps is None else found


def exploitability(rules: NimRules, policy: PolicyLike) -> float:
    """How much a best response to ``policy`` gains over perfect play, averaged over both orders; 0 is perfect.

    In rewards of 1 for the winner and -1 for the loser, from the full heaps, so it lies between 0 and 1. It is
    the NashConv of a policy that plays both sides (Lanctot et al. 2017, "A unified game-theoretic approach to
    multiagent reinforcement learning") over the number of players: what perfect play gets in the two orders
    cancels, so it is the mean of what the response gets going first and going second. Of a policy that draws
    nothing it is 0 or 1: 0 exactly for champions.

    Raises:
        TypeError: ``policy`` is not a policy.
        ValueError: As :func:`mastery`.
    """
    response = solver.best_response(rules, policy)
    going_first, going_second = response.values(rules.heaps), response.afterstate_values(rules.heaps)
    return float(going_first + going_second) / 2


@dataclass(frozen=True, eq=False)
class Mastery:
    """How much of a game a policy has mastered, after Zhou and Riis (2022, arXiv:2205.12787).

    Attributes:
        expert: The share of all winning positions where the policy plays a winning move, its probability
            for a stochastic policy; 1.0 where the game has no winning position.
        champion: Whether the policy wins every game from the full heaps, whatever the other player does, going
            first where the start is won and second where it is lost.
        winning_positions: How many there are.
        mistakes: Those where the policy may play a losing move, int64 of shape ``(k, n_heaps)``, in the order of
            their indices.
    """

    expert: float
    champion: bool
    winning_positions: int
    mistakes: NDArray[np.int64]


def mastery(rules: NimRules, policy: PolicyLike) -> Mastery:
    """Holds a policy against the exact answer in every winning position of the game; it is asked about no other.

    A mistake counts however improbable it is.

    Raises:
        TypeError: ``policy`` is not a policy.
        ValueError: The game has more positions than can be swept, or the policy answers anything but a
            distribution over legal actions.
    """
    player = as_policy(policy, rules)
    parts = solver.sweep(rules)
    asked, right, mistaken = 0, 0.0, [np.empty(0, dtype=np.int64)]
    beats_all = np.empty((2, rules.n_positions), dtype=np.bool_)  # the policy to move, and the other player
    beats_all[:, 0] = not rules.last_mover_wins, rules.last_mover_wins
    for part in parts:
        winning = theory.winning_action_mask(rules, part.heaps) != 0
        can_win = winning.any(axis=1)
        plays = np.zeros(winning.shape)
        if can_win.any():
            plays[can_win] = ask(player, part.heaps[can_win], part.action_mask[can_win])
        asked += int(can_win.sum())
        right += float(((plays * winning).sum(axis=1)[can_win] / plays.sum(axis=1)[can_win]).sum())
        mistaken.append(part.indices[((plays > 0) & ~winning).any(axis=1)])
        for layer in part.layers:
            here = part.indices[layer]
            beats_all[0, here] = can_win[layer] & part.all_lead_to(layer, beats_all[1], plays > 0)
            beats_all[1, here] = part.all_lead_to(layer, beats_all[0], part.action_mask > 0)
    mistakes = np.sort(np.concatenate(mistaken))[:, None] // np.array(rules.strides) % np.array(rules.shape)
    champion = beats_all[0 if theory.is_winning(rules, rules.heaps) else 1, -1]  # the full heaps come last
    return Mastery(right / asked if asked else 1.0, bool(champion), asked, mistakes)


def _check_first(first: Any) -> None:
    if first is not None and not isinstance(first, bool | np.bool_):
        raise TypeError(f"first must be True, False or None; got {first!r}")
