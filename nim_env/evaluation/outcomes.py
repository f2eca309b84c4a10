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
from nim_env.solver import ExpectedReturns, ValuesByOrder, iter_positions


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
        opponent: The other player, likewise.
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
        opponent: The other player, likewise.
        illegal_action: What an illegal action of either player does, ``"raise"`` or ``"lose"``.

    Returns:
        The probabilities if ``policy`` moves first and if it moves second. In the empty position the game is over.
        In misère play the player to move has won there, in normal play the other one.
    """
    players, own_chances = weighted_players(policy, rules, illegal_action=illegal_action)
    opponents, other_chances = weighted_players(opponent, rules, illegal_action=illegal_action, name="opponent")
    games = _expected_returns(rules, players, opponents, loss=0.0)
    going_first, going_second = np.zeros((2, rules.n_positions))
    for chance, wins in zip(np.outer(own_chances, other_chances).flat, chain(*games), strict=True):
        going_first += chance * wins.going_first
        going_second += chance * wins.going_second
    return ValuesByOrder(going_first, going_second)


def _expected_returns(
    rules: NimRules, players: Sequence[Player], opponents: Sequence[Player], loss: float
) -> list[list[ExpectedReturns]]:
    """Returns the expected result of each player against each opponent from every position."""
    batches = iter_positions(rules)
    games = [[ExpectedReturns(rules, loss) for _ in opponents] for _ in players]
    for batch in batches:
        moves = [batch.moves_of(player) for player in players]
        replies = moves if opponents is players else [batch.moves_of(opponent) for opponent in opponents]
        for player_moves, row in zip(moves, games, strict=True):
            for reply, returns in zip(replies, row, strict=True):
                returns.add_batch(batch, player_moves, reply)
    return games


def payoff_matrix(
    rules: NimRules,
    rows: Sequence[PolicyLike | OpponentPool],
    columns: Sequence[PolicyLike | OpponentPool] | None = None,
    *,
    illegal_action: IllegalAction | None = None,
) -> NDArray[np.float64]:
    """Returns the exact expected return of each policy of ``rows`` against each policy of ``columns``.

    This is the payoff table of empirical game-theoretic analysis (Wellman 2006, "Methods for empirical
    game-theoretic analysis"). PSRO solves it for a meta-strategy (Lanctot et al. 2017). The policy of the row
    moves first. Nim is a zero-sum game, so the payoffs of the second player are the negative of the matrix. Win
    probabilities are ``(1 + matrix) / 2``. If the rows play each other, ``(matrix - matrix.T) / 2`` is the game in
    which each player moves first with probability ½.

    The memory needed is 16 bytes per position for each pair of a row and a column. The members of a pool count
    individually.

    Args:
        rules: The game.
        rows: The policies that move first. A pool is one row: a member is drawn for each game.
        columns: The policies that move second, likewise. ``None`` for the same as ``rows``.
        illegal_action: What an illegal action of any policy does, ``"raise"`` or ``"lose"``.

    Returns:
        The expected returns of the rows from the full heaps, with a reward of 1 for the winner and -1 for the
        loser: float64 of shape ``(len(rows), len(columns))``, from -1 to 1.
    """
    row_strategies, row_players = _strategies(rules, rows, illegal_action, "rows")
    column_strategies, column_players = row_strategies, row_players
    if columns is not None:
        column_strategies, column_players = _strategies(rules, columns, illegal_action, "columns")
    games = _expected_returns(rules, row_players, column_players, loss=-1.0)
    payoffs = np.array([[returns.going_first[-1] for returns in row] for row in games])
    return _weighted(column_strategies, _weighted(row_strategies, payoffs).T).T


_Strategy: TypeAlias = tuple[list[Player], NDArray[np.float64]]
"""The players of a policy or of a pool, and their probabilities."""


def _strategies(
    rules: NimRules,
    policies: Sequence[PolicyLike | OpponentPool],
    illegal_action: IllegalAction | None,
    name: str,
) -> tuple[list[_Strategy], list[Player]]:
    """Returns the strategy of each policy, and the players of all of them in one list."""
    strategies = [
        weighted_players(policy, rules, illegal_action=illegal_action, name=f"{name}[{i}]")
        for i, policy in enumerate(policies)
    ]
    return strategies, list(chain(*(players for players, _ in strategies)))


def _weighted(strategies: Sequence[_Strategy], payoffs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Averages the rows of the players of each strategy, weighted by their probabilities."""
    rows = iter(payoffs)
    return np.array([sum(chance * next(rows) for chance in chances) for _, chances in strategies])
