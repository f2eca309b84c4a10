"""The outcome of games between known policies: exact win probabilities and payoffs, by backward induction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nim_env._internal.checks import checked_bool
from nim_env.policies import IllegalAction, OpponentPool, Player, PolicyLike
from nim_env.policies.weighted import weighted_players
from nim_env.rules import NimRules
from nim_env.solver import ExpectedReturns, ValuesByOrder, expected_value, iter_positions


def win_probability(
    rules: NimRules,
    policy: PolicyLike | OpponentPool,
    opponent: PolicyLike | OpponentPool,
    *,
    moves_first: bool | None = None,
    illegal_action: IllegalAction | None = None,
) -> float:
    """Computes the exact probability that ``policy`` wins against ``opponent`` from the full heaps.

    Args:
        rules: The game.
        policy: The policy whose wins count. If it is a pool, a member is drawn for each game.
        opponent: The other player, which can be a pool too.
        moves_first: Whether ``policy`` moves first. ``None`` for the mean of both orders.
        illegal_action: What an illegal action of either player does, ``"raise"`` or ``"lose"``.

    Returns:
        The probability, from 0 to 1.
    """
    if moves_first is not None:
        checked_bool("moves_first", moves_first)
    wins = win_probabilities(rules, policy, opponent, illegal_action=illegal_action)
    if moves_first is None:
        return float(wins.going_first[-1] + wins.going_second[-1]) / 2
    return float(wins.going_first[-1] if moves_first else wins.going_second[-1])


def win_probabilities(
    rules: NimRules,
    policy: PolicyLike | OpponentPool,
    opponent: PolicyLike | OpponentPool,
    *,
    illegal_action: IllegalAction | None = None,
) -> ValuesByOrder:
    """Computes the exact probability that ``policy`` wins from each position, by backward induction.

    Args:
        rules: The game.
        policy: The policy whose wins count. If it is a pool, a member is drawn for each game.
        opponent: The other player, which can be a pool too.
        illegal_action: What an illegal action of either player does, ``"raise"`` or ``"lose"``.

    Returns:
        Two arrays of win probabilities of ``policy``: if it is to move in the position, and if ``opponent`` is. In
        the empty position the game is over, and the player to move has won in misère play and lost in normal play.
    """
    players, own_chances = weighted_players(policy, rules, illegal_action=illegal_action)
    opponents, other_chances = weighted_players(opponent, rules, illegal_action=illegal_action, name="opponent")
    batches = iter_positions(rules)
    games = [[ExpectedReturns(rules, loss=0.0) for _ in opponents] for _ in players]
    for batch in batches:
        replies = [batch.moves_of(other) for other in opponents]
        for player, player_games in zip(players, games, strict=True):
            moves = batch.moves_of(player)
            for wins, reply in zip(player_games, replies, strict=True):
                wins.add_batch(batch, moves, reply)
    going_first, going_second = np.zeros((2, rules.n_positions))
    for chance, wins in zip(np.outer(own_chances, other_chances).flat, chain(*games), strict=True):
        going_first += chance * wins.going_first
        going_second += chance * wins.going_second
    return ValuesByOrder(going_first, going_second)


def payoff_matrix(
    rules: NimRules,
    rows: Sequence[PolicyLike | OpponentPool],
    columns: Sequence[PolicyLike | OpponentPool] | None = None,
    *,
    illegal_action: IllegalAction | None = None,
) -> NDArray[np.float64]:
    """Returns the exact expected return of each policy of ``rows`` against each policy of ``columns``.

    The policy of the row moves first. Nim is a zero-sum game, so the second player's returns are the negative of
    the matrix. Win probabilities are ``(1 + matrix) / 2``. If the rows play each other, ``(matrix - matrix.T) /
    2`` has the returns if each player moves first in half of the games.

    The matrix is the payoff table of empirical game-theoretic analysis (Wellman 2006, "Methods for empirical
    game-theoretic analysis"). The algorithm PSRO computes a meta-strategy from such a table (Lanctot et al. 2017).

    The memory needed is 8 bytes per position for each ordered pair of policies that meet. Each member of a pool
    counts as a policy here.

    Args:
        rules: The game.
        rows: The policies that move first. A pool is one row: a member is drawn for each game.
        columns: The policies that move second, which can be pools too. ``None`` for the same as ``rows``.
        illegal_action: What an illegal action of any policy does, ``"raise"`` or ``"lose"``.

    Returns:
        The expected returns of the rows from the full heaps, with a reward of 1 for the winner and -1 for the
        loser: float64 of shape ``(len(rows), len(columns))``, from -1 to 1.
    """
    row_strategies = _strategies(rules, rows, illegal_action, "rows")
    populations = [row_strategies]
    if columns is not None:
        populations.append(_strategies(rules, columns, illegal_action, "columns"))
    payoffs = _weighted(row_strategies, _payoffs_from_start(rules, populations))
    return _weighted(populations[-1], payoffs.T).T


_Strategy: TypeAlias = tuple[list[Player], NDArray[np.float64]]
"""The players of a policy or of a pool, and their probabilities."""


def _strategies(
    rules: NimRules,
    policies: Sequence[PolicyLike | OpponentPool],
    illegal_action: IllegalAction | None,
    name: str,
) -> list[_Strategy]:
    """Lists the players of each policy or pool, and the probability with which each of them plays a game.

    Args:
        rules: The game.
        policies: The policies and pools.
        illegal_action: What an illegal action of any policy does, ``"raise"`` or ``"lose"``.
        name: The name of the argument ``policies`` in error messages, such as ``"rows"``. Its first item is then
            called ``rows[0]``.

    Returns:
        A strategy for each item of ``policies``. A policy has one player, with the probability 1. A pool has its
        members and their probabilities.
    """
    return [
        weighted_players(policy, rules, illegal_action=illegal_action, name=f"{name}[{i}]")
        for i, policy in enumerate(policies)
    ]


def _payoffs_from_start(rules: NimRules, populations: Sequence[Sequence[_Strategy]]) -> NDArray[np.float64]:
    """Computes the expected return of each player that moves first against each player that moves second.

    Args:
        rules: The game.
        populations: Two lists of strategies: those that move first, and those that move second. If there is only
            one list, its strategies play each other. Each member of a pool counts as a player of its own.

    Returns:
        The expected returns of the players that move first, from the full heaps. The array has a row for each
        player that moves first and a column for each player that moves second.
    """
    players = [list(chain(*(members for members, _ in population))) for population in populations]
    batches = iter_positions(rules)
    # for each population an array [i, j, index]: the return of its player i, which has just moved to the position
    # with this index, against player j of the other population
    returns = [
        np.full((len(own), len(other), rules.n_positions), rules.terminal_reward)
        for own, other in zip(players, reversed(players), strict=True)
    ]
    for batch in batches:
        moves = [[batch.moves_of(player) for player in own] for own in players]
        for layer in batch.layers:
            for own_moves, own_returns, other_returns in zip(moves, returns, reversed(returns), strict=True):
                for i, moves_of_player in enumerate(own_moves):
                    mover_return = expected_value(batch, layer, own_returns[i], moves_of_player, -1.0)
                    other_returns[:, i, batch.indices[layer]] = -mover_return
    # at the full heaps, the last index, the columns count as having just moved, so the rows move first
    return -returns[-1][:, :, -1].T


def _weighted(strategies: Sequence[_Strategy], payoffs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turns payoffs with a row for each player into payoffs with a row for each strategy.

    The row of a pool is the mean of the rows of its members, weighted by their probabilities.

    Args:
        strategies: The strategies. Each has one or several players.
        payoffs: A row for each player of the first strategy, then for each player of the second, and so on.

    Returns:
        A row for each strategy.
    """
    rows = iter(payoffs)
    return np.array([sum(chance * next(rows) for chance in chances) for _, chances in strategies])
