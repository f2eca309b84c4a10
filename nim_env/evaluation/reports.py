"""The report with every exact metric of one player, made once or at intervals during training."""

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
from nim_env.evaluation.accuracy import Mastery, MasterySweep, ValueAccuracy, ValueFunction, value_accuracy
from nim_env.policies import IllegalAction, PolicyLike, checked_player
from nim_env.rules import NimRules
from nim_env.solver import ExpectedReturns, iter_positions


@dataclass(frozen=True)
class PositionGroup:
    """The metrics of a group of positions, which show where a player makes its mistakes.

    Positions are grouped by their number of nonempty heaps, and by whether they are endgames. An endgame is a
    position in which at most one heap has more than one object. If moves can take any number of objects, the
    winning moves of misère and normal play differ only in endgames.

    Attributes:
        n_heaps: The number of nonempty heaps, 1 or more.
        endgame: Whether the positions are endgames.
        won: The number of winning positions in the group.
        lost: The number of losing positions in the group.
        mistakes: The number of winning positions in which the policy plays a losing move with a positive
            probability.
        expert: The mean probability of a winning move in the winning positions. It is 1.0 if there are none.
        illegal_probability: The mean probability of an illegal action in the positions of the group.
        value_accuracy_won: The fraction of the winning positions with a value above 0. It is 1.0 if there are
            none, and ``None`` if the player has no values.
        value_accuracy_lost: The fraction of the losing positions with a value below 0. It is 1.0 if there are
            none, and ``None`` if the player has no values.
    """

    n_heaps: int
    endgame: bool
    won: int
    lost: int
    mistakes: int
    expert: float
    illegal_probability: float
    value_accuracy_won: float | None = None
    value_accuracy_lost: float | None = None


@dataclass(frozen=True)
class Report:
    """The exact evaluation of one player, made by :func:`report`.

    Win probabilities are averaged over moving first and moving second.

    Attributes:
        expert: Expert mastery, from 0 to 1 (:class:`Mastery`).
        champion: Champion mastery (:class:`Mastery`).
        exploitability: Exploitability, from 0 to 1 (:func:`exploitability`).
        mean_exploitability: The mean exploitability over all starting positions except the empty one, from 0 to 1.
        win_probability_random: The win probability against random play.
        win_probability_take_3: The win probability against the policy ``"take-3"``.
        win_probability_expert: The win probability against the policy ``"expert"``, which plays perfectly.
        illegal_probability: The mean probability of an illegal action over all positions except the empty one.
        value_accuracy: The accuracy of the player's values. ``None`` if they were not given.
        groups: The same metrics for groups of positions, sorted by the number of nonempty heaps, with endgames
            last for each number. ``pandas.DataFrame(report.groups)`` makes a table of them.
    """

    expert: float
    champion: bool
    exploitability: float
    mean_exploitability: float
    win_probability_random: float
    win_probability_take_3: float
    win_probability_expert: float
    illegal_probability: float
    value_accuracy: ValueAccuracy | None = None
    groups: tuple[PositionGroup, ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, float | bool]:
        """Returns all metrics as one flat dictionary, for a row of a results table.

        The numbers of ``value_accuracy`` are included, with names such as ``"value_accuracy_won"``. The groups of
        positions in ``groups`` are left out.
        """
        row = {name: value for name, value in vars(self).items() if name not in ("value_accuracy", "groups")}
        if self.value_accuracy is not None:
            for name in ("accuracy_won", "accuracy_lost", "accuracy_overall", "error_won", "error_lost"):
                row[f"value_{name}"] = getattr(self.value_accuracy, name.removeprefix("accuracy_"))
        return row

    def _repr_html_(self) -> str:
        """Returns the metrics as an HTML table. A notebook calls this method to show the report."""
        rows = []
        for name, value in self.to_dict().items():
            text = value if isinstance(value, bool) else format(value, ".6g")
            rows.append(f"<tr><th>{name.replace('_', ' ')}</th><td>{text}</td></tr>")
        return f"<table>{''.join(rows)}</table>"


def report(
    rules: NimRules,
    policy: PolicyLike,
    values: ValueFunction | None = None,
    *,
    illegal_action: IllegalAction | None = None,
) -> Report:
    """Evaluates one player by every exact metric, and its value function if it has one.

    All metrics come from one sweep over all positions. It needs about 120 bytes of memory for each position.

    Args:
        rules: The game.
        policy: The policy of the player.
        values: The values of positions for the player to move, as :func:`value_accuracy` takes them. ``None`` if
            the player has no values.
        illegal_action: What an illegal action does, ``"raise"`` or ``"lose"``.

    Returns:
        The report.

    Raises:
        ValueError: If the game has more than 10 million positions, or if one of the exact metrics raises it, for
            example because the policy returns an illegal action.
    """
    player = checked_player(policy, rules, illegal_action=illegal_action)
    opponents = [checked_player(name, rules) for name in ("random", "take-3", "expert")]
    batches = iter_positions(rules)
    remedy = "use the functions for single metrics, such as evaluation.mastery"
    limits.check_size(rules.n_positions, limits.REPORTED_POSITIONS, f"positions of {rules}", remedy)
    sweep = MasterySweep(rules)
    response = ExpectedReturns(rules)
    wins = [ExpectedReturns(rules, loss=0.0) for _ in opponents]
    for batch in batches:
        moves = batch.moves_of(player)
        sweep.add_batch(batch, moves)
        response.add_batch(batch, None, moves)
        for opponent, against in zip(opponents, wins, strict=True):
            against.add_batch(batch, moves, batch.moves_of(opponent))
    mastery = sweep.result()
    exploitabilities = (response.going_second + response.going_first) / 2
    from_start = [float(against.going_first[-1] + against.going_second[-1]) / 2 for against in wins]
    accuracy = None if values is None else value_accuracy(rules, values)
    return Report(
        expert=mastery.expert,
        champion=mastery.champion,
        exploitability=float(exploitabilities[-1]),
        mean_exploitability=fsum(exploitabilities.data) / (rules.n_positions - 1),  # 0 in the empty position
        win_probability_random=from_start[0],
        win_probability_take_3=from_start[1],
        win_probability_expert=from_start[2],
        illegal_probability=_mean(mastery.illegal_probabilities[1:]),
        value_accuracy=accuracy,
        groups=tuple(_position_groups(rules, mastery, accuracy)),
    )


def _position_groups(rules: NimRules, mastery: Mastery, accuracy: ValueAccuracy | None) -> Iterator[PositionGroup]:
    """Yields the metrics of each group of positions.

    Two positions are in the same group if they have the same number of nonempty heaps, and if both or neither of
    them are endgames. For each number of heaps, the group of endgames comes last. Empty groups are left out.
    ``mastery`` and ``accuracy`` hold the metrics of the individual positions. ``accuracy`` is ``None`` if the
    player has no values.
    """
    board = Board(rules)
    n_nonempty = board.heap_sums(lambda sizes: sizes > 0)
    is_endgame = board.heap_sums(lambda sizes: sizes > 1) <= 1
    is_lost = np.isnan(mastery.winning_probabilities)
    for n_heaps, endgame in product(range(1, rules.n_heaps + 1), (False, True)):
        is_member = (n_nonempty == n_heaps) & (is_endgame == endgame)
        won = np.flatnonzero(is_member & ~is_lost)
        lost = np.flatnonzero(is_member & is_lost)
        if len(won) + len(lost):
            yield PositionGroup(
                n_heaps=n_heaps,
                endgame=endgame,
                won=len(won),
                lost=len(lost),
                mistakes=int(is_member[mastery.mistake_indices].sum()),
                expert=_mean(mastery.winning_probabilities[won]),
                illegal_probability=_mean(mastery.illegal_probabilities[is_member]),
                value_accuracy_won=None if accuracy is None else _mean(accuracy.values[won] > 0),
                value_accuracy_lost=None if accuracy is None else _mean(accuracy.values[lost] < 0),
            )


def _mean(numbers: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    """Returns the mean of numbers, or 1.0 if there are none.

    The sum is rounded only once (``math.fsum``), so the result does not depend on the order of the numbers.
    """
    return fsum(numbers.data) / len(numbers) if len(numbers) else 1.0


class LearningCurve:
    """Evaluates an agent from time to time during its training, more rarely as the training goes on.

    Pass a curve to ``agents.train`` as the callback, or call :meth:`add` in your own training loop. Use a new
    curve for each training run.

    The evaluations are planned in advance, at numbers of episodes that grow geometrically from ``first`` to
    ``episodes``. These numbers are the same for every seed, so the curves of several seeds can be averaged. If a
    vector environment ends several episodes at once, the count of episodes can jump over a planned number. The
    evaluation is then made right after the jump.

    Args:
        rules: The game.
        episodes: The number of training episodes. A loop of your own can count something else, such as updates.
        n_evals: The maximum number of evaluations. There are fewer if several are planned for the same episode.
        first: The number of episodes before the first evaluation.

    Attributes:
        rows: A dictionary for each planned evaluation that has been made. ``pandas.DataFrame(curve.rows)`` makes a
            table of them. The key ``episodes`` has the planned number of episodes, and ``ended`` the number at
            which the agent was evaluated. The other keys are the metrics of :class:`Report`, without the value
            accuracy. If ``agents.train`` calls the curve, there is also ``mean_return``, the mean total reward of
            the later half of the episodes so far, including exploration.
    """

    def __init__(self, rules: NimRules, episodes: int, n_evals: int = 40, first: int = 1) -> None:
        for name, number in (("episodes", episodes), ("n_evals", n_evals), ("first", first)):
            checked_integer(name, number, 1)
        self.rules = rules
        self.rows: list[dict[str, Any]] = []
        due = np.geomspace(episodes, min(first, episodes), n_evals)  # never halfway between integers
        self._due = sorted(set(due.round().astype(int).tolist()))

    def __call__(self, agent: Any, history: Any) -> None:
        """Evaluates the agent if an evaluation is due. This makes a curve a callback of ``agents.train``.

        Args:
            agent: The agent, which is a policy.
            history: The history of the training. The length of ``history.returns`` is the number of episodes so
                far.
        """
        n = len(history.returns)
        for row in self.add(n, agent):
            row["mean_return"] = float(np.mean(history.returns[n // 2 :]))

    def add(self, step: int, policy: PolicyLike) -> list[dict[str, Any]]:
        """Evaluates a policy if an evaluation is due, for a training loop of your own.

        Args:
            step: The number of episodes so far, or of whatever else the loop counts.
            policy: The policy.

        Returns:
            The new items of ``rows``, to which you can add columns. The list is empty if no evaluation is due. If
            several have become due at once, the policy is evaluated once, and each gets a row with the same
            metrics.
        """
        planned = [episodes for episodes in self._due if episodes <= step]
        if not planned:
            return []
        self._due = self._due[len(planned) :]
        metrics = report(self.rules, policy).to_dict()
        rows = [{"episodes": episodes, "ended": step, **metrics} for episodes in planned]
        self.rows += rows
        return rows
