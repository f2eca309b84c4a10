"""Policies and Q-values as tables with a row for each position and a column for each action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from nim_env._internal import limits
from nim_env._internal.limits import chunks
from nim_env.policies.base import PolicyAttributes
from nim_env.policies.player import IllegalAction
from nim_env.policies.policy_like import PolicyLike, checked_player
from nim_env.rules import NimRules


class TabularPolicy(PolicyAttributes, is_fixed=True):
    """A policy that looks its probabilities up in a table.

    Args:
        rules: The game.
        probabilities: The probability of each action in each position, shape ``(n_positions, n_actions)``. The row
            of a position is its index, ``rules.index(heaps)``. The policy copies the table into the read-only
            array ``policy.probabilities``.
    """

    def __init__(self, rules: NimRules, probabilities: ArrayLike) -> None:
        self.rules = rules
        self.probabilities = np.array(probabilities)
        self.probabilities.flags.writeable = False
        expected = rules.n_positions, rules.n_actions
        if self.probabilities.shape != expected:
            raise ValueError(f"probabilities must have shape {expected}; got {self.probabilities.shape}")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.probabilities.flags.writeable = False  # a copied or unpickled array is writeable

    def action_probabilities(self, observation: ArrayLike, action_mask: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """Returns the table's row for each position, shape ``(..., n_actions)``. The mask is ignored."""
        rows = np.asarray(self.rules.index(observation), dtype=np.intp)
        return self.probabilities.take(rows, axis=0)  # a copy


def tabulate(
    rules: NimRules,
    policy: PolicyLike,
    dtype: DTypeLike = np.float32,
    *,
    illegal_action: IllegalAction | None = None,
) -> TabularPolicy:
    """Copies the probabilities of a policy in all positions into a table, and returns the table as a policy.

    The table has the given ``dtype``. It does not change when the original policy, such as an agent, learns more.
    The policy is queried and checked in the same way as in :mod:`nim_env.evaluation`, and ``illegal_action`` has
    the same meaning. Raises ValueError if the table would have more than 50 million entries.
    """
    player = checked_player(policy, rules, illegal_action=illegal_action)
    what = f"positions times actions of {rules}"
    limits.check_size(rules.n_pairs, limits.POLICY_PAIRS, what, "use a smaller game")
    table = np.zeros((rules.n_positions, rules.n_actions), dtype)
    for rows in chunks(rules.n_positions - 1, rules.n_actions, start=1):
        heaps = rules.from_index(np.arange(rows.start, rows.stop))
        table[rows] = player.query(heaps, rules.action_mask(heaps), require_same_answer=True).probabilities
    return TabularPolicy(rules, table)


def q_values_of(rules: NimRules, table: Mapping[Any, float]) -> NDArray[np.float64]:
    """Converts a dictionary of Q-values to an array for functions such as :func:`nim_env.evaluation.diagnose`.

    The keys of the dictionary are pairs of a position and a move, ``(heap sizes, (heap, count))``. The array is
    float64 of shape ``(n_positions, n_actions)``, and the row of a position is its index, ``rules.index(heaps)``.
    Missing pairs get the value 0, so the dictionary must come from a learner whose values start at 0. Raises
    ValueError or TypeError if a key is not a position and a move of the game.
    """
    q_values = np.zeros((rules.n_positions, rules.n_actions))
    for key, value in table.items():
        try:
            heaps, move = key
            q_values[rules.index(heaps), rules.action(*move)] = float(value)
        except (TypeError, ValueError) as error:
            message = (
                f"table[{key!r}] = {value!r} is not a Q-value of a pair (heap sizes, (heap, count)) of {rules}"
            )
            raise type(error)(f"{message}: {error}") from None
    return q_values


def greedy(rules: NimRules, q_values: ArrayLike) -> TabularPolicy:
    """Returns the policy that plays the legal action with the largest value in each position.

    ``q_values`` has shape ``(n_positions, n_actions)``, and the row of a position is its index,
    ``rules.index(heaps)``. If several legal actions have the largest value, the policy plays the first of them. It
    plays an action with the value NaN only if all legal actions have this value.
    """
    values = np.asarray(q_values, dtype=np.float64)
    expected = rules.n_positions, rules.n_actions
    if values.shape != expected:
        raise ValueError(f"q_values must have shape {expected}; got {values.shape}")
    legal = rules.action_mask(rules.all_positions()) != 0
    has_number = legal & ~np.isnan(values)
    ranked = np.where(has_number, values, -np.inf)
    candidates = np.where(has_number.any(axis=1, keepdims=True), has_number, legal)
    is_best = candidates & (ranked == ranked.max(axis=1, keepdims=True))
    return TabularPolicy(rules, np.eye(rules.n_actions)[is_best.argmax(axis=1)])
