"""How accurate a player's moves and values are, compared with perfect play in all positions of a game.

:func:`mastery` judges the moves, :func:`mistake_sentences` describes mistakes, and :func:`value_accuracy` judges
the values. Perfect play comes from :mod:`nim_env.theory`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from math import fsum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env import theory
from nim_env._internal.limits import chunks
from nim_env.policies import IllegalAction, MoveProbabilities, PolicyLike, checked_player
from nim_env.rules import NimRules, heap_name, position_name
from nim_env.solver import PositionBatch, iter_positions

ValueFunction: TypeAlias = Callable[[NDArray[np.int64]], ArrayLike]
"""A function that maps positions, int64 of shape ``(n, n_heaps)``, to values for the player to move, shape
``(n,)``."""


@dataclass(frozen=True, eq=False)
class Mastery:
    """How well a policy plays a game, after Zhou and Riis (2026, arXiv:2205.12787).

    Attributes:
        expert: Expert mastery: the average probability of playing a winning move, over all winning positions. It
            is 1.0 if the game has no winning positions.
        champion: Champion mastery: whether the policy wins every game from the full heaps against every opponent.
            It moves first if the full heaps are a winning position, and second if they are a losing one.
        won_positions: The number of winning positions. The empty position does not count.
        mistake_indices: The indices of the positions in :attr:`mistakes` in ascending order, ``np.intp`` of shape
            ``(k,)``.
        winning_probabilities: The probability of a winning move in each winning position by its index, float64 of
            shape ``(n_positions,)``. It is NaN in all other positions.
        illegal_probabilities: The probability of an illegal action in each position by its index, float64 of shape
            ``(n_positions,)``. It is NaN in the empty position.
        rules: The game.
    """

    expert: float
    champion: bool
    won_positions: int
    mistake_indices: NDArray[np.intp]
    winning_probabilities: NDArray[np.float64] = field(repr=False)
    illegal_probabilities: NDArray[np.float64] = field(repr=False)
    rules: NimRules = field(repr=False)

    @cached_property
    def mistakes(self) -> NDArray[np.int64]:
        """The winning positions in which the policy can play a losing move, int64 of shape ``(k, n_heaps)``."""
        return self.rules.from_index(self.mistake_indices)


def mastery(rules: NimRules, policy: PolicyLike, *, illegal_action: IllegalAction | None = None) -> Mastery:
    """Returns how well a policy plays: its moves in every winning position are compared with the winning moves.

    ``illegal_action`` says what an illegal action does: ``"raise"`` an error, or ``"lose"`` the game.
    """
    player = checked_player(policy, rules, illegal_action=illegal_action)
    batches = iter_positions(rules)
    sweep = MasterySweep(rules)
    for batch in batches:
        sweep.add_batch(batch, batch.moves_of(player))
    return sweep.result()


def winning_move_probabilities(moves: MoveProbabilities, is_winning: NDArray[Any]) -> NDArray[np.float64]:
    """Finds how likely a policy is to play a winning move in each of n positions.

    Args:
        moves: The probabilities of the policy's moves in these positions.
        is_winning: Whether each action is a winning move, shape ``(n, n_actions)``.

    Returns:
        The probabilities, float64 of shape ``(n,)``.
    """
    chances = moves.probabilities
    return (chances * is_winning).sum(axis=1) / (chances.sum(axis=1) + moves.illegal)


class MasterySweep:
    """Computes the mastery of a policy in one pass over all positions. Other metrics can share this pass."""

    def __init__(self, rules: NimRules) -> None:
        self._rules = rules
        self._winning_probabilities = np.full(rules.n_positions, np.nan)
        self._illegal_probabilities = np.full(rules.n_positions, np.nan)
        self._is_mistake = np.zeros(rules.n_positions, dtype=np.bool_)
        # for each position, whether the policy can be beaten from there: as the first player if the position is
        # winning, as the second player if it is losing
        self._is_beaten = np.zeros(rules.n_positions, dtype=np.bool_)

    def add_batch(self, batch: PositionBatch, moves: MoveProbabilities) -> None:
        """Adds the policy's moves in a batch of positions. Batches come in the order of :func:`iter_positions`."""
        is_winning = theory.winning_action_mask(self._rules, batch.heaps).view(np.bool_)
        is_won = np.asarray(is_winning.any(axis=1))
        probabilities = winning_move_probabilities(moves, is_winning)
        self._winning_probabilities[batch.indices[is_won]] = probabilities[is_won]
        self._illegal_probabilities[batch.indices] = moves.illegal
        # the policy moves in winning positions, and its opponent can make any move in losing ones
        is_possible = np.where(is_won[:, None], moves.probabilities, batch.action_mask) > 0
        has_mistake = is_won & ((is_possible & ~is_winning).any(axis=1) | (moves.illegal > 0))
        self._is_mistake[batch.indices] = has_mistake
        for layer in batch.layers:
            is_beaten = is_possible[layer] & self._is_beaten[batch.next_indices[layer]]
            self._is_beaten[batch.indices[layer]] = has_mistake[layer] | is_beaten.any(axis=1)

    def result(self) -> Mastery:
        """Returns the mastery of the policy. All batches must have been added before."""
        is_won = ~np.isnan(self._winning_probabilities)
        n_won = int(is_won.sum())
        won = (
            self._winning_probabilities[rows][is_won[rows]].data
            for rows in chunks(self._rules.n_positions, self._rules.n_actions)
        )
        return Mastery(
            expert=fsum(chain.from_iterable(won)) / n_won if n_won else 1.0,  # NumPy's sum depends on its version
            champion=not self._is_beaten[-1],  # the full heaps have the last index
            won_positions=n_won,
            mistake_indices=np.flatnonzero(self._is_mistake),
            winning_probabilities=self._winning_probabilities,
            illegal_probabilities=self._illegal_probabilities,
            rules=self._rules,
        )


def mistake_sentences(
    rules: NimRules, policy: PolicyLike, n: int = 5, *, illegal_action: IllegalAction | None = None
) -> list[str]:
    """Describes a policy's mistakes, such as "at 0-0-2 it takes 2 from C; 1 from C wins".

    A mistake is a losing move in a winning position. There is one sentence for each position, for the ``n``
    positions with the fewest objects. Heaps are called A, B, C and so on. If the policy does not always make the
    mistake, the sentence says "may take". Of several losing moves, it names the most probable one.

    Args:
        rules: The game.
        policy: The policy.
        n: The maximum number of sentences.
        illegal_action: What an illegal action does, ``"raise"`` or ``"lose"``.

    Returns:
        The sentences, without a full stop.
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
        sentences.append(f"at {position_name(heaps)} it {takes} {names[worst]}; {better} wins")
    return sentences


@dataclass(frozen=True)
class ValueAccuracy:
    """How often the sign of a value function is right, and how far its values are from the exact ones.

    Attributes:
        won: The fraction of winning positions with a value above 0. It is 1.0 if there are none.
        lost: The fraction of losing positions with a value below 0. It is 1.0 if there are none.
        overall: The fraction of all positions whose value has the right sign. Compare it with the fraction of
            winning positions, 94 % on seven heaps: a function that always returns 1 reaches it.
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
