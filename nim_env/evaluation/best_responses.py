"""How much a best response gains against a policy, or against a pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nim_env import theory
from nim_env._internal import limits
from nim_env.board import Board
from nim_env.evaluation.accuracy import winning_move_probabilities
from nim_env.policies import IllegalAction, OpponentPool, Player, PolicyLike
from nim_env.policies.weighted import weighted_players
from nim_env.rules import NimRules
from nim_env.solver import response_values


def exploitability(rules: NimRules, policy: PolicyLike, *, illegal_action: IllegalAction | None = None) -> float:
    """Returns how much a best response gains over perfect play against the policy, from 0 to 1.

    A win counts 1 and a loss -1. The result is the mean value of two best responses from the full heaps, one that
    moves first and one that moves second. With perfect play the two values cancel, so the result is the NashConv
    of a policy that plays both sides, divided by the number of players (Lanctot et al. 2017, "A unified
    game-theoretic approach to multiagent reinforcement learning").

    The exploitability is 0 exactly for a champion (:class:`Mastery`), except that rounding hides mistakes with a
    probability below 1e-16. For a deterministic policy it is either 0 or 1. Its mean over all starting positions,
    which :class:`Report` contains, also takes values in between. :func:`nim_env.solver.response_values` returns
    the values of the best response in each position.
    """
    values = response_values(rules, policy, illegal_action=illegal_action)
    return float(values.going_second[-1] + values.going_first[-1]) / 2  # the full heaps have the last index


def mixed_exploitability(
    rules: NimRules, pool: OpponentPool, *, illegal_action: IllegalAction | None = None
) -> float:
    """Returns the exploitability of a pool as a mixed strategy, from 0 to 1 (:func:`exploitability`).

    One member of the pool is drawn for each game and makes all its moves, but a best response does not see which
    one. A best response has a *belief*: the probability of each member, given the moves so far (Åström 1965,
    "Optimal control of Markov processes with incomplete state information"). In a winning position it wins
    whatever its belief is, so the search covers beliefs in losing positions only. Beliefs that agree to 12
    decimals are treated as one.

    Args:
        rules: The game.
        pool: The pool.
        illegal_action: What an illegal action of a member does, ``"raise"`` or ``"lose"``.

    Returns:
        The exploitability. It is also the win probability of a best response that takes the losing side. That side
        moves first if the full heaps are a losing position, and otherwise second.

    Raises:
        ValueError: If there are too many beliefs, as for policies that draw their moves on large boards.
    """
    players, probabilities = weighted_players(pool, rules, illegal_action=illegal_action, name="pool")
    what = f"positions times actions times policies of {rules}"
    limits.check_size(rules.n_pairs * len(players), limits.POLICY_PAIRS, what, "use a smaller board")
    search = _BeliefSearch(rules, players)
    beliefs = probabilities[None]
    start = np.array([search.board.full_heaps], dtype=np.intp)
    pool_begins = theory.is_winning(rules, rules.heaps)
    # if the pool moves first, its first move is treated as a reply to a move that led to the start
    moves = _Moves(np.zeros(1, dtype=np.intp), start) if pool_begins else search.moves_from(start)
    rounds: list[_Round] = []
    n_moves = 0
    while len(moves.rows):
        n_moves += len(moves.rows) * rules.n_actions
        what = f"moves from beliefs about {len(players)} policies times actions of {rules}"
        remedy = "use deterministic policies or a smaller board"
        limits.check_size(n_moves, limits.MOVES_FROM_BELIEFS, what, remedy)
        played, positions, beliefs = search.play_round(moves, beliefs)
        rounds.append(played)
        moves = search.moves_from(positions)
    wins = np.zeros(len(beliefs))
    for played in reversed(rounds):
        wins = played.wins_before(wins)
    return min(float(wins[0]), 1.0)


class _Moves(NamedTuple):
    """M possible moves of the best response.

    A belief is what the best response knows before it moves: the position, and the probability of each member of
    the pool. Several moves can be possible in one belief.

    Attributes:
        rows: The number of the belief in which each move is made, shape ``(M,)``.
        after: The index of the position after each move, shape ``(M,)``.
    """

    rows: NDArray[np.intp]
    after: NDArray[np.intp]


class _Round(NamedTuple):
    """One round of the search: the moves of the best response in all its beliefs, and the replies of the pool.

    A belief is what the best response knows before it moves: the position, and the probability of each member of
    the pool. In all beliefs together, the best response has M possible moves. To these moves, the pool has R
    replies that are winning moves. After all other replies, the best response wins.

    Attributes:
        n_beliefs: The number of beliefs before the moves.
        rows: The number of the belief in which each move is made, shape ``(M,)``.
        losing_reply: The probability that the pool replies to each move with a losing move, shape ``(M,)``.
        moves: The number of the move, from 0 to M - 1, before each winning reply, shape ``(R,)``.
        chances: The probability of each winning reply, given the move before it, shape ``(R,)``.
        next_rows: The number of the belief after each winning reply, among the beliefs of the next round, shape
            ``(R,)``.
    """

    n_beliefs: int
    rows: NDArray[np.intp]
    losing_reply: NDArray[np.float64]
    moves: NDArray[np.intp]
    chances: NDArray[np.float64]
    next_rows: NDArray[np.intp]

    def wins_before(self, wins_after: NDArray[np.float64]) -> NDArray[np.float64]:
        """Computes the win probability of the best response in each belief before its move.

        ``wins_after`` has its win probability in each belief of the next round, after the reply of the pool.
        """
        of_moves = self.losing_reply.copy()
        np.add.at(of_moves, self.moves, self.chances * wins_after[self.next_rows])
        wins = np.zeros(self.n_beliefs)
        np.maximum.at(wins, self.rows, of_moves)
        return wins


class _BeliefSearch:
    """Generates the moves of a best response to a pool of k policies, and the replies of the pool.

    Args:
        rules: The game.
        players: The k policies.
    """

    def __init__(self, rules: NimRules, players: Sequence[Player]) -> None:
        self.board = Board(rules)
        self._mask = rules.action_mask(rules.all_positions())
        # for each position and policy: the probability of each winning move, and of all other answers together
        self._winning = np.zeros((rules.n_positions, rules.n_actions, len(players)))
        self._losing = np.zeros((rules.n_positions, len(players)))
        heaps = rules.all_positions()[1:]
        is_winning = theory.winning_action_mask(rules, heaps)
        for i, player in enumerate(players):
            found = player.query(heaps, self._mask[1:], require_same_answer=True)
            sums = found.probabilities.sum(axis=1) + found.illegal
            self._winning[1:, :, i] = found.probabilities * is_winning / sums[:, None]
            self._losing[1:, i] = 1 - winning_move_probabilities(found, is_winning)
        self._is_possible = np.asarray(self._winning.any(axis=2))  # whether some policy plays this winning move

    def moves_from(self, positions: NDArray[np.intp]) -> _Moves:
        """Returns all legal moves of the best response in B beliefs.

        ``positions`` has the index of the position of each belief, shape ``(B,)``.
        """
        rows, actions = self._mask[positions].nonzero()
        return _Moves(rows, self._after(positions[rows], actions))

    def play_round(
        self, moves: _Moves, beliefs: NDArray[np.float64]
    ) -> tuple[_Round, NDArray[np.intp], NDArray[np.float64]]:
        """Lets the pool reply to moves of the best response.

        Args:
            moves: The moves.
            beliefs: The probability of each policy in the B beliefs in which the moves are made, float64 of shape
                ``(B, k)``.

        Returns:
            The round and the B' beliefs after it. The second item is the index of the position in each belief,
            ``np.intp`` of shape ``(B',)``. The third is the probability of each policy in each belief, float64 of
            shape ``(B', k)``. Equal beliefs in one position are joined.
        """
        losing_reply = (beliefs[moves.rows] * self._losing[moves.after]).sum(axis=1)
        replied, actions = self._is_possible[moves.after].nonzero()
        before_reply = moves.after[replied]
        likelihoods = beliefs[moves.rows[replied]] * self._winning[before_reply, actions]
        chances = likelihoods.sum(axis=1)
        # the divisor is 1 for a reply that has no probability under the belief
        next_beliefs = likelihoods / np.where(chances, chances, 1.0)[:, None]
        positions = self._after(before_reply, actions)
        keys = np.column_stack([positions, next_beliefs.round(12)])
        _, first, next_rows = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        played = _Round(len(beliefs), moves.rows, losing_reply, replied, chances, next_rows.ravel())
        return played, positions[first], next_beliefs[first]

    def _after(self, positions: NDArray[np.intp], actions: NDArray[np.intp]) -> NDArray[np.intp]:
        return self.board.next_indices(positions, actions).astype(np.intp, copy=False)
