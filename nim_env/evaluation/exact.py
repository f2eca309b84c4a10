"""Exact metrics of policies and value functions, from a sweep over all positions that starts with the smallest.

Every function raises ValueError if the game has too many positions, if a policy is unknown or was made for another
game, or if a policy returns anything but a legal action or a distribution over legal actions. Each policy is
queried twice on each position, and two different answers are an error: a policy that draws its moves has to return
their probabilities.

All functions take ``illegal_action``. With ``"lose"`` a policy can also play illegal actions: their probability,
and any probability that is missing from a sum of 1, loses the game at once. With ``"raise"`` they are an error.
``None`` is the choice of a :class:`nim_env.policies.Player`, and ``"raise"`` for all other policies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from math import fsum
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env import theory
from nim_env._internal import limits
from nim_env._internal.checks import checked_bool
from nim_env._internal.limits import chunks
from nim_env.board import Board
from nim_env.policies import (
    IllegalAction,
    MoveProbabilities,
    OpponentPool,
    Player,
    PolicyLike,
    checked_player,
    checked_strategy,
)
from nim_env.rules import NimRules, heap_name
from nim_env.solver import ExpectedReturns, PositionBatch, iter_positions, response_values

ValueFunction: TypeAlias = Callable[[NDArray[np.int64]], ArrayLike]
"""A function that maps positions, int64 of shape ``(n, n_heaps)``, to values for the player to move, shape
``(n,)``."""


@dataclass(frozen=True, eq=False)
class Mastery:
    """How well a policy plays a game, after Zhou and Riis (2022, arXiv:2205.12787).

    Attributes:
        expert: Expert mastery: the average probability of playing a winning move, over all winning positions. It
            is 1.0 if the game has no winning positions.
        champion: Champion mastery: whether the policy wins every game from the full heaps against every opponent.
            It moves first if the full heaps are a winning position, and second if they are a losing one.
        won_positions: The number of winning positions. The empty position does not count.
        mistake_indices: The indices of the mistakes in ascending order, int64 of shape ``(k,)``.
        winning_move: The probability of a winning move in each winning position by its index, float64 of shape
            ``(n_positions,)``. It is NaN in all other positions.
        illegal_action: The probability of an illegal action in each position by its index, float64 of shape
            ``(n_positions,)``. It is NaN in the empty position.
        rules: The game.
    """

    expert: float
    champion: bool
    won_positions: int
    mistake_indices: NDArray[np.intp]
    winning_move: NDArray[np.float64] = field(repr=False)
    illegal_action: NDArray[np.float64] = field(repr=False)
    rules: NimRules = field(repr=False)

    @cached_property
    def mistakes(self) -> NDArray[np.int64]:
        """The winning positions in which the policy can play a losing move, int64 of shape ``(k, n_heaps)``."""
        return self.rules.from_index(self.mistake_indices)


def mastery(rules: NimRules, policy: PolicyLike, *, illegal_action: IllegalAction | None = None) -> Mastery:
    """Returns how well a policy plays: its moves in every winning position are compared with the winning moves."""
    player = checked_player(policy, rules, illegal_action=illegal_action)
    batches = iter_positions(rules)
    table = MasteryTable(rules)
    for batch in batches:
        table.enter(batch, batch.moves_of(player))
    return table.mastery()


def right_probabilities(moves: MoveProbabilities, is_winning: NDArray[Any]) -> NDArray[np.float64]:
    """Finds how likely a policy is to play a winning move in each of n positions.

    Args:
        moves: The probabilities of the policy's moves.
        is_winning: Whether each action is a winning move, shape ``(n, n_actions)``.

    Returns:
        The probabilities, float64 of shape ``(n,)``.
    """
    chances = moves.probabilities
    return (chances * is_winning).sum(axis=1) / (chances.sum(axis=1) + moves.illegal)


class MasteryTable:
    """Collects the figures of :func:`mastery` during a sweep, batch by batch.

    Args:
        rules: The game.
    """

    def __init__(self, rules: NimRules) -> None:
        self._rules = rules
        self._winning_move = np.full(rules.n_positions, np.nan)
        self._illegal = np.full(rules.n_positions, np.nan)
        self._is_mistake = np.zeros(rules.n_positions, dtype=np.bool_)
        # whether the policy can be beaten if it moves first in a winning position, or second in a losing one
        self._is_beaten = np.zeros(rules.n_positions, dtype=np.bool_)

    def enter(self, batch: PositionBatch, moves: MoveProbabilities) -> None:
        """Enters the moves of the policy in the positions of a batch, which follows all smaller positions."""
        is_winning = theory.winning_action_mask(self._rules, batch.heaps).view(np.bool_)
        is_won = np.asarray(is_winning.any(axis=1))
        right = right_probabilities(moves, is_winning)
        self._winning_move[batch.indices[is_won]] = right[is_won]
        self._illegal[batch.indices] = moves.illegal
        # the policy moves in winning positions, and its opponent can make any move in losing ones
        is_possible = np.where(is_won[:, None], moves.probabilities, batch.action_mask) > 0
        errs = is_won & ((is_possible & ~is_winning).any(axis=1) | (moves.illegal > 0))
        self._is_mistake[batch.indices] = errs
        for layer in batch.layers:
            is_beaten = is_possible[layer] & self._is_beaten[batch.next_indices[layer]]
            self._is_beaten[batch.indices[layer]] = errs[layer] | is_beaten.any(axis=1)

    def mastery(self) -> Mastery:
        """Returns the result, after all batches were entered."""
        is_won = ~np.isnan(self._winning_move)
        n_won = int(is_won.sum())
        won = (
            self._winning_move[rows][is_won[rows]].data
            for rows in chunks(self._rules.n_positions, self._rules.n_actions)
        )
        return Mastery(
            expert=fsum(chain.from_iterable(won)) / n_won if n_won else 1.0,  # NumPy's sum depends on its version
            champion=not self._is_beaten[-1],  # the full heaps have the last index
            won_positions=n_won,
            mistake_indices=np.flatnonzero(self._is_mistake),
            winning_move=self._winning_move,
            illegal_action=self._illegal,
            rules=self._rules,
        )


def mistake_sentences(
    rules: NimRules, policy: PolicyLike, n: int = 5, *, illegal_action: IllegalAction | None = None
) -> list[str]:
    """Describes the ``n`` mistakes with the fewest objects, such as "at 0-0-2 it takes 2 from C; 1 from C wins".

    The letter of a heap is its :func:`nim_env.rules.heap_name`. If the policy draws its move, the sentence says
    "may take" and names the most probable mistake.
    """
    player = checked_player(policy, rules, illegal_action=illegal_action)
    names = [*(f"{count} from {heap_name(heap)}" for heap, count in rules.moves), "an illegal action"]
    sentences = []
    for heaps in sorted(mastery(rules, player).mistakes.tolist(), key=sum)[:n]:
        position = np.array([heaps])
        moves = player.query(position, rules.action_mask(position))
        is_winning = theory.winning_action_mask(rules, heaps)
        losing = [*moves.probabilities[0] * (1 - is_winning), moves.illegal[0]]
        worst = int(np.argmax(losing))
        takes = "takes" if losing[worst] == 1 else "may take"
        better = " or ".join(names[action] for action in is_winning.nonzero()[0])
        sentences.append(f"at {'-'.join(map(str, heaps))} it {takes} {names[worst]}; {better} wins")
    return sentences


def exploitability(rules: NimRules, policy: PolicyLike, *, illegal_action: IllegalAction | None = None) -> float:
    """Returns how much a best response gains over perfect play against the policy, from 0 to 1.

    It is the mean value of a best response that moves first and of one that moves second, from the full heaps,
    with a reward of 1 for a win and -1 for a loss. With perfect play these two values cancel. The mean is
    therefore the NashConv of a policy that plays both sides, divided by the number of players (Lanctot et al.
    2017, "A unified game-theoretic approach to multiagent reinforcement learning").

    It is 0 exactly for a champion (:class:`Mastery`), except that rounding hides mistakes with a probability below
    1e-16. For a deterministic policy it is either 0 or 1. Its mean over all starting positions, which
    :class:`Report` contains, is graded. :func:`nim_env.solver.response_values` returns the values of the best
    response in each position.
    """
    going_second, going_first = response_values(rules, policy, illegal_action=illegal_action)
    return float(going_second[-1] + going_first[-1]) / 2  # the full heaps have the last index


def mixed_exploitability(
    rules: NimRules, pool: OpponentPool, *, illegal_action: IllegalAction | None = None
) -> float:
    """Returns the exploitability of a pool as a mixed strategy, from 0 to 1 (:func:`exploitability`).

    One member of the pool is drawn for each game and makes all its moves. A best response does not see which one.
    From the moves so far it knows the probability of each member, which is its belief (Åström 1965, "Optimal
    control of Markov processes with incomplete state information"). In a winning position it wins whatever it
    believes, so the search covers its beliefs in losing positions only. Beliefs that agree to 12 decimals are
    treated as one.

    Args:
        rules: The game.
        pool: The pool.
        illegal_action: What an illegal action of a member does, ``"raise"`` or ``"lose"``.

    Returns:
        The exploitability. It is also the probability that a best response wins in the order of moves in which it
        would lose against perfect play.

    Raises:
        ValueError: If there are too many beliefs, as for policies that draw their moves on large boards.
    """
    players, probabilities = checked_strategy(pool, rules, illegal_action=illegal_action, name="pool")
    n_entries = rules.n_positions * rules.n_actions * len(players)
    what = f"positions times actions times policies of {rules}"
    limits.check_size(n_entries, limits.POLICY, what, "use a smaller board")
    board = Board(rules)
    mask = rules.action_mask(rules.all_positions())
    winning, losing = _replies_of(rules, players)
    is_possible = np.asarray(winning.any(axis=2))  # whether some policy plays this winning move

    def moves_from(positions: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The row of the position in which each move is made, and the position after the move."""
        rows, actions = mask[positions].nonzero()
        return rows, board.moved(positions[rows], actions).astype(np.intp, copy=False)

    beliefs = probabilities[None]
    rows, after = np.zeros(1, dtype=np.intp), np.array([board.full], dtype=np.intp)
    if not theory.is_winning(rules, rules.heaps):
        rows, after = moves_from(after)  # the response moves first; otherwise the pool does
    rounds: list[_Round] = []
    n_moves = 0
    while len(rows):
        n_moves += len(rows) * rules.n_actions
        what = f"moves from beliefs about {len(players)} policies times actions of {rules}"
        limits.check_size(n_moves, limits.BELIEFS, what, "use deterministic policies or a smaller board")
        losing_reply = (beliefs[rows] * losing[after]).sum(axis=1)
        moves, actions = is_possible[after].nonzero()
        likelihoods = beliefs[rows[moves]] * winning[after[moves], actions]
        chances = likelihoods.sum(axis=1)
        # the divisor is 1 for a reply that has no probability under the belief
        next_beliefs = likelihoods / np.where(chances, chances, 1.0)[:, None]
        keys = np.column_stack([board.moved(after[moves], actions), next_beliefs.round(12)])
        _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        rounds.append(_Round(len(beliefs), rows, losing_reply, moves, chances, inverse.ravel()))
        beliefs = next_beliefs[first]
        rows, after = moves_from(keys[first, 0].astype(np.intp))
    wins = np.zeros(len(beliefs))
    for played in reversed(rounds):
        wins = played.wins_before(wins)
    return min(float(wins[0]), 1.0)


def _replies_of(rules: NimRules, players: Sequence[Player]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How k policies answer in each position, by its index.

    Returns the probability of each winning move under each policy, shape ``(n_positions, n_actions, k)``, and the
    probability of any other answer, shape ``(n_positions, k)``.
    """
    heaps = rules.all_positions()[1:]
    mask = rules.action_mask(heaps)
    is_winning = theory.winning_action_mask(rules, heaps)
    winning = np.zeros((rules.n_positions, rules.n_actions, len(players)))
    losing = np.zeros((rules.n_positions, len(players)))
    for i, player in enumerate(players):
        found = player.query(heaps, mask, twice=True)
        sums = found.probabilities.sum(axis=1) + found.illegal
        winning[1:, :, i] = found.probabilities * is_winning / sums[:, None]
        losing[1:, i] = 1 - right_probabilities(found, is_winning)
    return winning, losing


class _Round(NamedTuple):
    """A move of the best response and the reply of the pool, from all beliefs that the response can have there.

    Attributes:
        n_beliefs: The number of beliefs.
        rows: The belief in which each of M moves is made, shape ``(M,)``.
        losing_reply: The probability that a losing reply follows each move, shape ``(M,)``. The response then
            wins.
        moves: The move that each of R winning replies follows, shape ``(R,)``.
        chances: The probability of each winning reply, shape ``(R,)``.
        next_rows: The belief after each winning reply, as a row of the next round, shape ``(R,)``.
    """

    n_beliefs: int
    rows: NDArray[np.intp]
    losing_reply: NDArray[np.float64]
    moves: NDArray[np.intp]
    chances: NDArray[np.float64]
    next_rows: NDArray[np.intp]

    def wins_before(self, wins_after: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the win probability in each belief of this round, from the ones in the beliefs of the next."""
        of_moves = self.losing_reply.copy()
        np.add.at(of_moves, self.moves, self.chances * wins_after[self.next_rows])
        wins = np.zeros(self.n_beliefs)
        np.maximum.at(wins, self.rows, of_moves)
        return wins


def win_probability(
    rules: NimRules,
    policy: PolicyLike | OpponentPool,
    opponent: PolicyLike | OpponentPool,
    moves_first: bool | None = None,
    *,
    illegal_action: IllegalAction | None = None,
) -> float:
    """Computes the exact probability that ``policy`` wins against ``opponent`` from the full heaps.

    Args:
        rules: The game.
        policy: The policy whose wins count. If it is a pool, a member is drawn for each game.
        opponent: The other player, likewise.
        moves_first: Whether ``policy`` moves first. None for the mean of both orders.
        illegal_action: What an illegal action of either player does, ``"raise"`` or ``"lose"``.

    Returns:
        The probability, from 0 to 1.
    """
    if moves_first is not None:
        checked_bool("moves_first", moves_first)
    going_first, going_second = win_probabilities(rules, policy, opponent, illegal_action=illegal_action)
    if moves_first is None:
        return float(going_first[-1] + going_second[-1]) / 2
    return float(going_first[-1] if moves_first else going_second[-1])


def win_probabilities(
    rules: NimRules,
    policy: PolicyLike | OpponentPool,
    opponent: PolicyLike | OpponentPool,
    *,
    illegal_action: IllegalAction | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Computes the exact probability that ``policy`` wins from each position, by backward induction.

    Args:
        rules: The game.
        policy: The policy whose wins count. If it is a pool, a member is drawn for each game.
        opponent: The other player, likewise.
        illegal_action: What an illegal action of either player does, ``"raise"`` or ``"lose"``.

    Returns:
        Two arrays, float64 of shape ``(n_positions,)``, by the index of the position: if ``policy`` moves first,
        and if it moves second. In the empty position the game is over. In misère play the player to move has won
        there, in normal play the other one.
    """
    players, own_chances = checked_strategy(policy, rules, illegal_action=illegal_action)
    opponents, other_chances = checked_strategy(opponent, rules, illegal_action=illegal_action, name="opponent")
    batches = iter_positions(rules)
    games = [[ExpectedReturns(rules, loss=0.0) for _ in opponents] for _ in players]
    for batch in batches:
        replies = [batch.moves_of(other) for other in opponents]
        for player, of_player in zip(players, games, strict=True):
            moves = batch.moves_of(player)
            for wins, reply in zip(of_player, replies, strict=True):
                wins.enter(batch, moves, reply)
    going_first, going_second = np.zeros((2, rules.n_positions))
    for chance, wins in zip(np.outer(own_chances, other_chances).flat, chain(*games), strict=True):
        going_first += chance * wins.going_first
        going_second += chance * wins.going_second
    return going_first, going_second


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

    The sweep takes 8 bytes for each position and each ordered pair of policies that meet. Each member of a pool
    counts as a policy there.

    Args:
        rules: The game.
        rows: The policies that move first. A pool is one row: a member is drawn for each game.
        columns: The policies that move second, likewise. None for the same as ``rows``.
        illegal_action: What an illegal action of any policy does, ``"raise"`` or ``"lose"``.

    Returns:
        The expected returns of the rows from the full heaps, with a reward of 1 for the winner and -1 for the
        loser: float64 of shape ``(len(rows), len(columns))``, from -1 to 1.
    """
    populations = {"rows": rows} if columns is None else {"rows": rows, "columns": columns}
    strategies = [
        [
            checked_strategy(policy, rules, illegal_action=illegal_action, name=f"{name}[{i}]")
            for i, policy in enumerate(population)
        ]
        for name, population in populations.items()
    ]
    players = [list(chain(*(members for members, _ in population))) for population in strategies]
    batches = iter_positions(rules)
    # for each population an array [i, j, index]: the return of its policy i, which has just moved to the position
    # with this index, against policy j of the other population
    payoffs = [
        np.full((len(own), len(other), rules.n_positions), rules.terminal_reward)
        for own, other in zip(players, reversed(players), strict=True)
    ]
    for batch in batches:
        moves = [[batch.moves_of(player) for player in own] for own in players]
        for layer in batch.layers:
            for own_moves, own, other in zip(moves, payoffs, reversed(payoffs), strict=True):
                for i, moves_of_policy in enumerate(own_moves):
                    other[:, i, batch.indices[layer]] = -batch.expected(layer, own[i], moves_of_policy, -1.0)
    of_rows = _weighted(strategies[0], -payoffs[-1][:, :, -1].T)
    return _weighted(strategies[-1], of_rows.T).T


def _weighted(
    strategies: Sequence[tuple[list[Player], NDArray[np.float64]]], payoffs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Averages the rows of the players of each strategy, weighted by their probabilities."""
    rows = iter(payoffs)
    return np.array([sum(chance * next(rows) for chance in chances) for _, chances in strategies])


@dataclass(frozen=True)
class ValueAccuracy:
    """How often the sign of a value function is right, and how far its values are from the exact ones.

    Attributes:
        won: The fraction of winning positions with a value above 0. It is 1.0 if there are none.
        lost: The fraction of losing positions with a value below 0. It is 1.0 if there are none.
        overall: The fraction of all positions whose value has the right sign. A constant can have a high one: on
            seven heaps 94 % of the positions are winning.
        error_won: The mean distance of the values of winning positions from 1. It is 0.0 if there are none.
        error_lost: The mean distance of the values of losing positions from -1. It is 0.0 if there are none.
        values: The value of each position by its index, float64 of shape ``(n_positions,)``. It is NaN in the
            empty position.
    """

    won: float
    lost: float
    overall: float
    error_won: float
    error_lost: float
    values: NDArray[np.float64] = field(repr=False, compare=False)


def value_accuracy(rules: NimRules, values: ValueFunction) -> ValueAccuracy:
    """Compares a value function with the exact values in every position except the empty one.

    Args:
        rules: The game.
        values: Maps positions, int64 of shape ``(n, n_heaps)``, to values for the player to move, shape ``(n,)``:
            above 0 for a win and below 0 for a loss. The exact values are 1 and -1.

    Returns:
        The fractions of right signs and the errors.

    Raises:
        ValueError: If ``values`` returns another shape or NaN, or if the game has too many positions.
    """
    iter_positions(rules)  # raises if the game is too large
    table = np.full(rules.n_positions, np.nan)
    sums = np.zeros((3, 2))  # positions, right values and errors, in lost and in won positions
    for rows in chunks(rules.n_positions - 1, rules.n_actions, start=1):
        heaps = rules.from_index(np.arange(rows.start, rows.stop))
        is_won = np.asarray(theory.is_winning(rules, heaps))
        found = np.asarray(values(heaps.copy()), dtype=np.float64)
        if found.shape != (len(heaps),) or np.isnan(found).any():
            raise ValueError(f"values must return one number for each of {len(heaps)} positions; got {found!r}")
        table[rows] = found
        is_right = np.where(is_won, found > 0, found < 0)
        errors = np.abs(np.where(is_won, 1.0, -1.0) - found)
        sums += [np.bincount(is_won, column, minlength=2) for column in (np.ones(len(heaps)), is_right, errors)]
    (n_lost, n_won), (right_lost, right_won), (error_lost, error_won) = sums.tolist()
    return ValueAccuracy(
        won=right_won / n_won if n_won else 1.0,
        lost=right_lost / n_lost if n_lost else 1.0,
        overall=(right_won + right_lost) / (n_won + n_lost),
        error_won=error_won / max(n_won, 1),
        error_lost=error_lost / max(n_lost, 1),
        values=table,
    )
