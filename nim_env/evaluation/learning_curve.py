"""Exact metrics during training."""

from __future__ import annotations

from typing import Any

import numpy as np

from nim_env.evaluation.reports import report
from nim_env.rules import NimRules, checked_integer
from nim_env.solver import iter_positions


class LearningCurve:
    """Evaluates an agent during training, at growing intervals: a callback of ``agents.train``.

    For example::

        curve = LearningCurve(rules, episodes=10_000)
        agents.train(agent, env, episodes=10_000, callback=curve)
        table = pandas.DataFrame(curve.rows)

    The evaluations are due at numbers of episodes that grow geometrically from ``first`` to ``episodes``. A vector
    environment ends several episodes in one step; a row holds how many there were. A curve is for one call of
    ``agents.train``.

    Args:
        rules: The game.
        episodes: The number of training episodes.
        n_evals: The maximum number of evaluations. Those that are due in the same episode are one.
        first: The number of episodes before the first evaluation.

    Attributes:
        rows: A dictionary for each evaluation: ``episodes``, the number of episodes so far; ``mean_return``, the
            mean total reward of the later half of them, exploration included; and the metrics of :class:`Report`
            except the value accuracy.

    Raises:
        ValueError: A number is below 1, or the game has too many positions.
    """

    def __init__(self, rules: NimRules, episodes: int, n_evals: int = 40, first: int = 1) -> None:
        iter_positions(rules)  # raises if the game is too large
        for name, number in (("episodes", episodes), ("n_evals", n_evals), ("first", first)):
            checked_integer(name, number, 1)
        self.rules = rules
        self.rows: list[dict[str, Any]] = []
        due = np.geomspace(episodes, min(first, episodes), n_evals)  # never halfway between integers
        self._due = sorted(set(due.round().astype(int).tolist()))

    def __call__(self, agent: Any, history: Any) -> None:
        """Evaluates the agent if an evaluation is due.

        Args:
            agent: The agent: a policy that sees the heap sizes.
            history: The history of the training so far. Its ``returns`` are the total rewards of the episodes.
        """
        n = len(history.returns)
        if not self._due or n < self._due[0]:
            return
        self._due = [episodes for episodes in self._due if episodes > n]
        metrics = report(self.rules, agent).to_dict()
        self.rows.append({"episodes": n, "mean_return": float(np.mean(history.returns[n // 2 :])), **metrics})
