"""Exact metrics, each by a sweep over all positions that starts with the smallest.

Every function raises a ValueError where the game has too many positions, the policy is unknown or was made for
another game, or the policy returns anything but a legal action or a distribution over legal actions. A policy is
queried twice on each position, and two different answers are an error: chance needs a distribution. With
``illegal_action="lose"`` a policy may also play illegal actions: their probability, and what a row of its
probabilities lacks to 1, loses the game at once. ``None`` is a :class:`nim_env.policies.Player`'s own, else
``"raise"``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from math import fsum
from typing import Any, TypeAlias

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
"""Maps positions, int64 of shape ``(n, n_heaps)``, to the value of the player to move, shape ``(n,)``."""


@dataclass(frozen=True, eq=False)
class Mastery:
    """How well a policy plays a game, after Zhou and Riis (2022, arXiv:2205.12787).

    Attributes:
        expert: The mean probability of a winning move in the won positions; 1.0 where the game has none.
        champion: Whether the policy wins every game from the full heaps against every opponent, going first where
            the start is won and second where it is lost.
        won_positions: The number of won positions, the empty one aside.
        mistake_indices: The indices of the mistakes, int64 of shape ``(k,)``, in rising order.
        winning_move: The probability of a winning move in each won position by its index, float64 of shape
            ``(n_positions,)``; NaN elsewhere.
        illegal_action: The probability of an illegal action in each position by its index, float64 of shape
            ``(n_positions,)``; NaN in the empty one.
    """

    expert: float
    champion: bool
    won_positions: int
    mistake_indices: NDArray[np.int64]
    winning_move: NDArray[np.float64] = field(repr=False)
    illegal_action: NDArray[np.float64] = field(repr=False)
    rules: NimRules = field(repr=False)

    @cached_property
    def mistakes(self) -> NDArray[np.int64]:
        """The won positions where a losing move has positive probability, int64 of shape ``(k, n_heaps)``."""
        return self.rules.from_index(self.mistake_indices)


def mastery(rules: NimRules, policy: PolicyLike, *, illegal_action: IllegalAction | None = None) -> Mastery:
    """Evaluates a policy exactly in every won position."""
    player = checked_player(policy, rules, illegal_action=illegal_action)
    batches = iter_positions(rules)
    table = MasteryTable(rules)
    for batch in batches:
        table.enter(batch, batch.moves_of(player))
    return table.mastery()


def right_probabilities(moves: MoveProbabilities, is_winning: NDArray[Any]) -> NDArray[np.float64]:
    """The probability of a winning move in each position, from the winning actions ``(n, n_actions)``."""
    chances = moves.probabilities
    return (chances * is_winning).sum(axis=1) / (chances.sum(axis=1) + moves.illegal)


class MasteryTable:
    """What :func:`mastery` collects, batch by batch."""

    def __init__(self, rules: NimRules) -> None:
        self._rules = rules
        self._winning_move = np.full(rules.n_positions, np.nan)
        self._illegal = np.full(rules.n_positions, np.nan)
        self._is_mistake = np.zeros(rules.n_positions, dtype=np.bool_)
        # whether the policy, moving first where the position is won and else second, can be beaten
        self._is_beaten = np.zeros(rules.n_positions, dtype=np.bool_)

    def enter(self, batch: PositionBatch, moves: MoveProbabilities) -> None:
        """Enters the positions of a batch."""
        is_winning = theory.winning_action_mask(self._rules, batch.heaps).view(np.bool_)
        is_won = np.asarray(is_winning.any(axis=1))
        right = right_probabilities(moves, is_winning)
        self._winning_move[batch.indices[is_won]] = right[is_won]
        self._illegal[batch.indices] = moves.illegal
        # the policy's moves in won positions, every move of its opponent in lost ones
        is_possible = np.where(is_won[:, None], moves.probabilities, batch.action_mask) > 0
        errs = is_won & ((is_possible & ~is_winning).any(axis=1) | (moves.illegal > 0))
        self._is_mistake[batch.indices] = errs
        for layer in batch.layers:
            is_beaten = is_possible[layer] & self._is_beaten[batch.next_indices[layer]]
            self._is_beaten[batch.indices[layer]] = errs[layer] | is_beaten.any(axis=1)

    def mastery(self) -> Mastery:
        """The result, when every batch is entered."""
        is_won = ~np.isnan(self._winning_move)
        n_won = int(is_won.sum())
        won = (
            self._winning_move[rows][is_won[rows]].data
            for rows in chunks(self._rules.n_positions, self._rules.n_actions)
        )
        return Mastery(
            expert=fsum(chain.from_iterable(won)) / n_won if n_won else 1.0,  # NumPy's sum depends on its version
            champion=not self._is_beaten[-1],  # the last index is that of the full heaps
            won_positions=n_won,
            mistake_indices=np.flatnonzero(self._is_mistake),
            winning_move=self._winning_move,
            illegal_action=self._illegal,
            rules=self._rules,
        )


def mistake_sentences(
    rules: NimRules, policy: PolicyLike, n: int = 5, *, illegal_action: IllegalAction | None = None
) -> list[str]:
    """The ``n`` mistakes with the fewest objects in words: "at 0-0-2 it takes 2 from C; 1 from C wins".

    The letters are those of :func:`nim_env.rules.heap_name`. A policy that draws "may take" its most probable
    mistake.
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
    """The mean value of a best response, going first and going second, with reward 1 for a win and -1 for a loss.

    It is the NashConv of a policy that plays both sides, divided by the number of players (Lanctot et al. 2017, "A
    unified game-theoretic approach to multiagent reinforcement learning"), since the values of perfect play in
    both orders cancel. It is 0 exactly for a champion (:class:`Mastery`), except that rounding hides mistakes of a
    probability below 1e-16. For a deterministic policy it is 0 or 1; its mean over all starting positions
    (:class:`Report`) is graded. :func:`nim_env.solver.response_values` has the values of each position.
    """
    going_second, going_first = response_values(rules, policy, illegal_action=illegal_action)
    return float(going_second[-1] + going_first[-1]) / 2  # the last index is that of the full heaps


def mixed_exploitability(
    rules: NimRules, pool: OpponentPool, *, illegal_action: IllegalAction | None = None
) -> float:
    """The exploitability of a pool as a mixed strategy: a member is drawn for each game and makes all its moves.

    A best response does not see the draw. It may lose only while it is to move in lost positions, so this is a
    sweep over its beliefs there: the probability of each policy, given the moves so far (Åström 1965, "Optimal
    control of Markov processes with incomplete state information"). Beliefs that agree to 12 digits are one.

    A ValueError where there are too many beliefs: those of policies that draw, on large boards.
    """
    players, probabilities = checked_strategy(pool, rules, illegal_action=illegal_action, name="pool")
    beliefs = probabilities[None]
    n_entries = rules.n_positions * rules.n_actions * len(players)
    what = f"positions times actions times policies of {rules}"
    limits.check_size(n_entries, limits.POLICY, what, "use a smaller board")
    board = Board(rules)
    heaps = rules.all_positions()
    mask = rules.action_mask(heaps)
    is_winning = theory.winning_action_mask(rules, heaps[1:])
    right = np.zeros((*mask.shape, len(players)))  # the probability of each winning move
    wrong = np.zeros((len(mask), len(players)))  # that of all other actions
    for i, player in enumerate(players):
        found = player.query(heaps[1:], mask[1:], twice=True)
        sums = found.probabilities.sum(axis=1) + found.illegal
        right[1:, :, i] = found.probabilities * is_winning / sums[:, None]
        wrong[1:, i] = 1 - right_probabilities(found, is_winning)
    is_right = np.asarray(right.any(axis=2))

    def moves_from(indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows, actions = mask[indices].nonzero()
        return rows, board.moved(indices[rows], actions)

    full = np.array([board.full])
    rows, after = (np.array([0]), full) if theory.is_winning(rules, rules.heaps) else moves_from(full)
    rounds = []
    n_moves = 0
    while len(rows):  # in the beliefs of these rows the response moves to `after`
        n_moves += len(rows) * rules.n_actions
        what = f"moves from beliefs about {len(players)} policies times actions of {rules}"
        limits.check_size(n_moves, limits.BELIEFS, what, "use deterministic policies or a smaller board")
        chances = (beliefs[rows] * wrong[after]).sum(axis=1)
        moves, replies = is_right[after].nonzero()
        likelihoods = beliefs[rows[moves]] * right[after[moves], replies]
        totals = likelihoods.sum(axis=1)
        # 0 for a reply that no policy makes there
        next_beliefs = likelihoods / np.where(totals, totals, 1.0)[:, None]
        keys = np.column_stack([board.moved(after[moves], replies), next_beliefs.round(12)])
        _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        rounds.append((len(beliefs), rows, chances, moves, totals, inverse.ravel()))
        beliefs = next_beliefs[first]
        rows, after = moves_from(keys[first, 0].astype(np.int64))
    wins = np.zeros(len(beliefs))
    for n, rows, chances, moves, totals, inverse in reversed(rounds):
        np.add.at(chances, moves, totals * wins[inverse])
        wins = np.zeros(n)
        np.maximum.at(wins, rows, chances)
    return min(float(wins[0]), 1.0)


def win_probability(
    rules: NimRules,
    policy: PolicyLike | OpponentPool,
    opponent: PolicyLike | OpponentPool,
    moves_first: bool | None = None,
    *,
    illegal_action: IllegalAction | None = None,
) -> float:
    """The exact probability that ``policy`` wins against ``opponent`` from the full heaps.

    ``moves_first`` says whether ``policy`` moves first; ``None`` for the mean of both orders. A member of a pool
    is drawn for each game.
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
    """The same from every position, where ``policy`` moves first and where it moves second, by backward induction.

    Both are float64 of shape ``(n_positions,)`` by the position's index. In the empty position the player to move
    has won exactly in misère play.
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
    """The exact expected returns of every policy of ``rows`` against every policy of ``columns``.

    It is the payoff table of empirical game-theoretic analysis (Wellman 2006, "Methods for empirical
    game-theoretic analysis"), which PSRO solves for a meta-strategy (Lanctot et al. 2017). ``None`` makes the rows
    play each other. Nim is zero-sum, so the payoffs of the second player are the negative. With ``None``,
    ``(matrix - matrix.T) / 2`` is the game in which either player moves first with probability ½. ``(1 + matrix) /
    2`` are win probabilities. A pool is one row or column: a member is drawn for each game. The sweep takes 8
    bytes for each ordered pair of policies that meet and each position, with a pool those of its members.

    The result is float64 of shape ``(len(rows), len(columns))``, -1 to 1: the expected return of the row's policy,
    which moves first from the full heaps, against the column's policy, with reward 1 for the winner and -1 for the
    loser.
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
    # of each population [i, j, index]: to its policy i, which has just moved to the position, against policy j
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
    """A row for each strategy: the mean of those of its players, weighted by their probabilities."""
    rows = iter(payoffs)
    return np.array([sum(chance * next(rows) for chance in chances) for _, chances in strategies])


@dataclass(frozen=True)
class ValueAccuracy:
    """How often the sign of a value function names the winner, and how far the values are from the exact ones.

    Attributes:
        won: The fraction of won positions with a value above 0; 1.0 where there are none.
        lost: The fraction of lost positions with a value below 0; 1.0 where there are none.
        overall: The fraction of all positions. On seven heaps 94 % are won, so a constant has 0.94.
        error_won: The mean distance of the values of won positions from 1; 0.0 where there are none.
        error_lost: The mean distance of the values of lost positions from -1; 0.0 where there are none.
        values: The value of each position by its index, float64 of shape ``(n_positions,)``; NaN in the empty one.
    """

    won: float
    lost: float
    overall: float
    error_won: float
    error_lost: float
    values: NDArray[np.float64] = field(repr=False, compare=False)


def value_accuracy(rules: NimRules, values: ValueFunction) -> ValueAccuracy:
    """Evaluates a value function exactly in every position except the empty one.

    ``values`` maps positions, int64 of shape ``(n, n_heaps)``, to the value of the player to move, shape ``(n,)``,
    without NaN: above 0 for a win, below 0 for a loss. The exact values are 1 and -1.
    """
    iter_positions(rules)  # raises if the game is too large
    table = np.full(rules.n_positions, np.nan)
    sums = np.zeros((3, 2))  # positions, right values and errors, in lost and in won positions
    for rows in chunks(rules.n_positions - 1, rules.n_actions, start=1):
        heaps = rules.from_index(np.arange(rows.start, rows.stop))
        is_won = np.asarray(theory.is_winning(rules, heaps))
        found = np.asarray(values(heaps.copy()), dtype=np.float64)
        if found.shape != (len(heaps),) or np.isnan(found).any():
            raise ValueError(f"values must return a number for each of {len(heaps)} positions; got {found!r}")
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
