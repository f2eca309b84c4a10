"""Every exact metric of one player, once or during training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nim_env._internal import limits
from nim_env._internal.checks import checked_integer
from nim_env.board import Board
from nim_env.evaluation import exact
from nim_env.policies import IllegalAction, PolicyLike, checked_player
from nim_env.rules import NimRules
from nim_env.solver import ExpectedReturns, iter_positions


@dataclass(frozen=True)
class PositionGroup:
    """Where a player errs: the metrics of the positions with the same number of nonempty heaps, endgames apart.

    An endgame is a position with at most one heap of more than one object. With unbounded takes the winning moves
    of misère and normal play differ in endgames only.

    Attributes:
        n_heaps: The number of nonempty heaps, 1 or more.
        endgame: Whether the positions are endgames.
        won: The number of won positions in the group.
        lost: The number of lost positions.
        mistakes: The number of won positions in which the policy plays a losing move with positive probability.
        expert: The mean probability of a winning move in the won positions; 1.0 where there are none.
        illegal_action: The mean probability of an illegal action in all positions of the group.
        value_accuracy_won: As in :class:`ValueAccuracy`; ``None`` without values.
        value_accuracy_lost: The same.
    """

    n_heaps: int
    endgame: bool
    won: int
    lost: int
    mistakes: int
    expert: float
    illegal_action: float
    value_accuracy_won: float | None = None
    value_accuracy_lost: float | None = None


@dataclass(frozen=True)
class Report:
    """The exact evaluation of one player: a row of a results table.

    Attributes:
        expert: Expert mastery, a fraction (:class:`Mastery`).
        champion: Champion mastery (:class:`Mastery`).
        exploitability: 0 to 1 (:func:`exploitability`).
        mean_exploitability: The mean exploitability over all starting positions except the empty one, 0 to 1.
        win_probability_random: The win probability against random play, the mean of both orders.
        win_probability_take_3: The same against ``"take-3"``.
        win_probability_expert: The same against ``"expert"``.
        illegal_action: The mean probability of an illegal action over all positions except the empty one.
        value_accuracy: The accuracy of the player's values, ``None`` where they were not given.
        groups: Where the player errs, ordered by their fields; ``pandas.DataFrame(report.groups)`` is a table.
    """

    expert: float
    champion: bool
    exploitability: float
    mean_exploitability: float
    win_probability_random: float
    win_probability_take_3: float
    win_probability_expert: float
    illegal_action: float
    value_accuracy: exact.ValueAccuracy | None = None
    groups: tuple[PositionGroup, ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, float | bool]:
        """The metrics by name, those of ``value_accuracy`` among them, without the groups."""
        row = {name: value for name, value in vars(self).items() if name not in ("value_accuracy", "groups")}
        if self.value_accuracy is not None:
            for name in ("accuracy_won", "accuracy_lost", "accuracy_overall", "error_won", "error_lost"):
                row[f"value_{name}"] = getattr(self.value_accuracy, name.removeprefix("accuracy_"))
        return row

    def _repr_html_(self) -> str:
        """The metrics as a table in a notebook."""
        rows = []
        for name, value in self.to_dict().items():
            text = value if isinstance(value, bool) else format(value, ".6g")
            rows.append(f"<tr><th>{name.replace('_', ' ')}</th><td>{text}</td></tr>")
        return f"<table>{''.join(rows)}</table>"


def report(
    rules: NimRules,
    policy: PolicyLike,
    values: exact.ValueFunction | None = None,
    *,
    illegal_action: IllegalAction | None = None,
) -> Report:
    """Every exact metric of one player, and of its value function if it has one.

    It is one sweep over all positions. Raises ValueError if the game has more than 10 million positions, since
    all figures together take about 120 bytes for each.
    """
    player = checked_player(policy, rules, illegal_action=illegal_action)
    opponents = [checked_player(name, rules) for name in ("random", "take-3", "expert")]
    batches = iter_positions(rules)
    remedy = "use the functions for single figures, such as evaluation.mastery"
    limits.check_size(rules.n_positions, limits.REPORTED_POSITIONS, f"positions of {rules}", remedy)
    table = exact.MasteryTable(rules)
    response = ExpectedReturns(rules)
    wins = [ExpectedReturns(rules, loss=0.0) for _ in opponents]
    for batch in batches:
        moves = batch.moves_of(player)
        table.enter(batch, moves)
        response.enter(batch, None, moves)
        for opponent, against in zip(opponents, wins, strict=True):
            against.enter(batch, moves, batch.moves_of(opponent))
    mastery = table.mastery()
    exploitabilities = (response.going_second + response.going_first) / 2
    from_start = [float(against.going_first[-1] + against.going_second[-1]) / 2 for against in wins]
    accuracy = None if values is None else exact.value_accuracy(rules, values)
    return Report(
        expert=mastery.expert,
        champion=mastery.champion,
        exploitability=float(exploitabilities[-1]),
        mean_exploitability=fsum(exploitabilities.data) / (rules.n_positions - 1),  # 0 in the empty position
        win_probability_random=from_start[0],
        win_probability_take_3=from_start[1],
        win_probability_expert=from_start[2],
        illegal_action=_mean(mastery.illegal_action[1:]),
        value_accuracy=accuracy,
        groups=tuple(_position_groups(rules, mastery, accuracy)),
    )


def _position_groups(
    rules: NimRules, mastery: exact.Mastery, accuracy: exact.ValueAccuracy | None
) -> Iterator[PositionGroup]:
    board = Board(rules)
    number = board.heap_sums(lambda sizes: sizes > 0)  # of nonempty heaps
    is_endgame = board.heap_sums(lambda sizes: sizes > 1) <= 1
    is_lost = np.isnan(mastery.winning_move)
    for n_heaps, endgame in product(range(1, rules.n_heaps + 1), (False, True)):
        is_member = (number == n_heaps) & (is_endgame == endgame)
        won = np.flatnonzero(is_member & ~is_lost)
        lost = np.flatnonzero(is_member & is_lost)
        if len(won) + len(lost):
            yield PositionGroup(
                n_heaps=n_heaps,
                endgame=endgame,
                won=len(won),
                lost=len(lost),
                mistakes=int(is_member[mastery.mistake_indices].sum()),
                expert=_mean(mastery.winning_move[won]),
                illegal_action=_mean(mastery.illegal_action[is_member]),
                value_accuracy_won=None if accuracy is None else _mean(accuracy.values[won] > 0),
                value_accuracy_lost=None if accuracy is None else _mean(accuracy.values[lost] < 0),
            )


def _mean(numbers: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    """The mean, rounded once; 1.0 of no numbers."""
    return fsum(numbers.data) / len(numbers) if len(numbers) else 1.0


class LearningCurve:
    """Evaluates an agent during training, at growing intervals: a callback of ``agents.train``, or of any loop.

    The evaluations are planned at numbers of episodes that grow geometrically from ``first`` to ``episodes``, the
    same for every seed. Each is made at the planned number, or right after where a vector environment ends several
    episodes at once. A curve is for one training run.

    Args:
        rules: The game.
        episodes: The number of training episodes, or of what else the loop counts.
        n_evals: The maximum number of evaluations. Those that are planned for the same episode are one.
        first: The number of episodes before the first evaluation.

    Attributes:
        rows: A dictionary for each planned evaluation, for ``pandas.DataFrame``: ``episodes``, the planned number;
            ``ended``, the number of episodes that had ended; the metrics of :class:`Report` except the value
            accuracy; and from ``agents.train`` ``mean_return``, the mean total reward of the later half of the
            episodes, exploration included.
    """

    def __init__(self, rules: NimRules, episodes: int, n_evals: int = 40, first: int = 1) -> None:
        for name, number in (("episodes", episodes), ("n_evals", n_evals), ("first", first)):
            checked_integer(name, number, 1)
        self.rules = rules
        self.rows: list[dict[str, Any]] = []
        due = np.geomspace(episodes, min(first, episodes), n_evals)  # never halfway between integers
        self._due = sorted(set(due.round().astype(int).tolist()))

    def __call__(self, agent: Any, history: Any) -> None:
        """Evaluates the agent, a policy on heap sizes, if an evaluation is due after ``history.returns``."""
        n = len(history.returns)
        for row in self.add(n, agent):
            row["mean_return"] = float(np.mean(history.returns[n // 2 :]))

    def add(self, step: int, policy: PolicyLike) -> list[dict[str, Any]]:
        """Evaluates a policy if an evaluation is due after ``step`` episodes, or what else the loop counts.

        It returns the new rows, for columns of your own: none where no evaluation is due, and several of one
        evaluation where several have become due at once.
        """
        planned = [episodes for episodes in self._due if episodes <= step]
        if not planned:
            return []
        self._due = self._due[len(planned) :]
        metrics = report(self.rules, policy).to_dict()
        rows = [{"episodes": episodes, "ended": step, **metrics} for episodes in planned]
        self.rows += rows
        return rows
