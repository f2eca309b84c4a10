"""A policy as a table of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from nim_env._chunks import chunks
from nim_env.policies.adapters import PolicyLike, checked_policy
from nim_env.policies.queries import query_policy
from nim_env.rules import NimRules

_MAX_TABLE_ENTRIES = 100_000_000  # of tabulate: 400 MB of float32


class TabularPolicy:
    """A policy that looks its probabilities up in a table.

    Args:
        rules: The game.
        probabilities: The distribution of each position by its index, shape ``(n_positions, n_actions)``. The row
            of the empty position is ignored.
    """

    def __init__(self, rules: NimRules, probabilities: ArrayLike) -> None:
        self.rules = rules
        self.probabilities = np.asarray(probabilities)
        expected = rules.n_positions, rules.n_actions
        if self.probabilities.shape != expected:
            raise ValueError(
                f"probabilities of {rules} must have shape {expected}; got {self.probabilities.shape}"
            )

    def action_probabilities(self, observation: ArrayLike, action_mask: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """The rows of the table; the mask is not used."""
        probabilities: NDArray[Any] = self.probabilities[self.rules.index(observation)]
        return probabilities


def tabulate(rules: NimRules, policy: PolicyLike, dtype: DTypeLike = np.float32) -> TabularPolicy:
    """A copy of a policy as a table, which does not change when the policy learns more.

    The policy is queried on each position once. A table has up to 100 million entries, of the given dtype.
    """
    player = checked_policy(policy, rules)
    if rules.n_positions * rules.n_actions > _MAX_TABLE_ENTRIES:
        raise ValueError(f"{rules} has more than {_MAX_TABLE_ENTRIES:,} entries in a table; use a smaller game")
    heaps = rules.all_positions()
    table = np.zeros((len(heaps), rules.n_actions), dtype=dtype)
    for rows in chunks(rules, len(heaps) - 1, start=1):
        table[rows] = query_policy(player, heaps[rows], rules.action_mask(heaps[rows]))
    return TabularPolicy(rules, table)
