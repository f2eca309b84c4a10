"""How much a best response wins against one policy, or against a pool of policies."""

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
    """Returns how much a best response to the policy wins beyond the value of the game, from 0 to 1.

    A win counts 1 and a loss -1. One best response moves first from the full heaps and another one moves second.
    The result is the mean of their two expected returns. Nothing has to be subtracted from it: the value of the
    game is 1 for one side and -1 for the other, so its mean over both sides is 0.

    The result is NashConv divided by the number of players (Lanctot et al. 2017, "A unified game-theoretic
    approach to multiagent reinforcement learning"), if the policy plays both sides. NashConv is the sum of what
    each player can gain by changing to a best response.

    The exploitability is 0 exactly for a champion (:class:`Mastery`), except that rounding hides mistakes with a
    probability below 1e-16. For a deterministic policy it is either 0 or 1. :class:`Report` also contains the mean
    exploitability over all starting positions, which can lie in between. :func:`nim_env.solver.response_values`
    returns the values of the best response in each position.
    """
    values = response_values(rules, policy, illegal_action=illegal_action)
    return float(values.going_second[-1] + values.going_first[-1]) / 2  # the full heaps have the last index


def mixed_exploitability(
    rules: NimRules, pool: OpponentPool, *, illegal_action: IllegalAction | None = None
) -> float:
    """Returns the exploitability of a pool as a mixed strategy, from 0 to 1 (:func:`exploitability`).

    In a mixed strategy, one member of the pool is drawn for each game and makes all its moves. A best response
    does not see which member it plays against. It has a *belief*: the probability of each member, given the moves
    so far (Åström 1965, "Optimal control of Markov processes with incomplete state information").

    The search covers beliefs in losing positions only, since a best response wins from every winning position,
    whatever it believes. Beliefs that agree to 12 decimals are treated as one.

    Args:
        rules: The game.
        pool: The pool.
        illegal_action: What an illegal action of a member does, ``"raise"`` or ``"lose"``.

    Returns:
        The exploitability. It equals the win probability of a best response on the side that loses under perfect
        play: the side that moves first if the full heaps are a losing position, and otherwise second.

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
    """All moves of the best response in one round of the search for the exploitability of a pool.

    The best response moves from beliefs. A belief is a position together with the probability of each member of
    the pool. A belief with several legal moves has several entries. M is the number of all moves together.

    Attributes:
        rows: The number of the belief in which each move is made, shape ``(M,)``.
        after: The index of the position after each move, shape ``(M,)``.
    """

    rows: NDArray[np.intp]
    after: NDArray[np.intp]


class _Round(NamedTuple):
    """One round of the search for the exploitability of a pool: moves and the replies to them.

    The search lists every move that the best response can make in its beliefs (:class:`_Moves`), and every reply
    of a member of the pool that is a winning move. M is the number of these moves, and R the number of these
    replies. All other replies are losing moves. They are not listed, since the best response wins after each of
    them.

    Attributes:
        n_beliefs: The number of beliefs before the moves.
        rows: The number of the belief in which each move is made, shape ``(M,)``.
        losing_reply: The probability that the pool replies to each move with a losing move, shape ``(M,)``.
        moves: The number of the move, from 0 to M - 1, that each listed reply answers, shape ``(R,)``.
        chances: The probability of each listed reply, given the move that it answers, shape ``(R,)``.
        next_rows: The number of the belief after each listed reply, among the beliefs of the next round, shape
            ``(R,)``.
    """

    n_beliefs: int
    rows: NDArray[np.intp]
    losing_reply: NDArray[np.float64]
    moves: NDArray[np.intp]
    chances: NDArray[np.float64]
    next_rows: NDArray[np.intp]

    def wins_before(self, wins_after: NDArray[np.float64]) -> NDArray[np.float64]:
        """Computes how likely the best response is to win from each belief at the beginning of the round.

        ``wins_after`` has the same probability for each belief at the beginning of the next round.
        """
        of_moves = self.losing_reply.copy()
        np.add.at(of_moves, self.moves, self.chances * wins_after[self.next_rows])
        wins = np.zeros(self.n_beliefs)
        np.maximum.at(wins, self.rows, of_moves)
        return wins


class _BeliefSearch:
    """Generates the rounds of the search for the exploitability of a pool.

    Args:
        rules: The game.
        players: The members of the pool. Shapes call their number k.
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
        """Returns all legal moves of the best response from a number of beliefs.

        Only the positions of the beliefs matter. ``positions`` has their indices, shape ``(n_beliefs,)``.
        """
        rows, actions = self._mask[positions].nonzero()
        return _Moves(rows, self._after(positions[rows], actions))

    def play_round(
        self, moves: _Moves, beliefs: NDArray[np.float64]
    ) -> tuple[_Round, NDArray[np.intp], NDArray[np.float64]]:
        """Finds the replies of the pool to all moves of one round, and the beliefs to which they lead.

        Args:
            moves: The moves of the best response.
            beliefs: The probability of each member of the pool in each belief before the moves, float64 of shape
                ``(n_beliefs, k)``.

        Returns:
            The round, and the beliefs after it as two arrays: their positions by index, ``np.intp`` of shape
            ``(n_after,)``, and the probabilities of the members, float64 of shape ``(n_after, k)``. Replies that
            lead to equal beliefs in the same position share one.
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
