"""Every exact metric of one player, and its metrics during training."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from math import fsum

import numpy as np
from numpy.typing import NDArray

from nim_env import theory
from nim_env._chunks import chunks
from nim_env.evaluation.exact import (
    Mastery,
    ValueAccuracy,
    ValueFunction,
    checked_values,
    mastery,
    value_accuracy,
    win_probability,
)
from nim_env.policies import PolicyLike, checked_policy, tabulate
from nim_env.rules import NimRules
from nim_env.solver import CheckedTable, iter_positions, response_values

_MAX_TABLE_ENTRIES = 50_000_000  # 400 MB


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
        value_accuracy_won: The fraction of won positions with a value above 0; 1.0 where there are none, ``None``
            without values.
        value_accuracy_lost: The fraction of lost positions with a value below 0, likewise.
    """

    n_heaps: int
    endgame: bool
    won: int
    lost: int
    mistakes: int
    expert: float
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
        value_accuracy: The accuracy of the player's values, ``None`` where they were not given.
        groups: Where the player errs: the metrics by number of nonempty heaps, endgames apart, in this order.
            ``pandas.DataFrame(report.groups)`` is a table.
    """

    expert: float
    champion: bool
    exploitability: float
    mean_exploitability: float
    win_probability_random: float
    win_probability_take_3: float
    win_probability_expert: float
    value_accuracy: ValueAccuracy | None = None
    groups: tuple[PositionGroup, ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, float | bool]:
        """The metrics by name.

        Returns:
            Numbers, without the groups. ``value_accuracy``, if given, is ``value_accuracy_won``, ``_lost`` and
            ``_overall``, ``value_error_won`` and ``_lost``.
        """
        row: dict[str, float | bool] = {
            name: value for name, value in vars(self).items() if name not in ("value_accuracy", "groups")
        }
        if self.value_accuracy is not None:
            for name, value in asdict(self.value_accuracy).items():
                row[f"value_{name}" if name.startswith("error") else f"value_accuracy_{name}"] = value
        return row

    def _repr_html_(self) -> str:
        """The metrics as a table in a notebook."""
        rows = []
        for name, value in self.to_dict().items():
            text = value if isinstance(value, bool) else format(value, ".6g")
            rows.append(f"<tr><th>{name.replace('_', ' ')}</th><td>{text}</td></tr>")
        return f"<table>{''.join(rows)}</table>"


def report(rules: NimRules, policy: PolicyLike, values: ValueFunction | None = None) -> Report:
    """Every exact metric of one player.

    The policy is queried on each position once; on a board of more than 50 million positions times actions, once
    for each metric.

    Args:
        rules: The game.
        policy: The player.
        values: The player's value function, as in :func:`value_accuracy`; ``None`` if it has none.

    Returns:
        The metrics; ``value_accuracy`` is None if ``values`` is.

    Raises:
        ValueError: The game has too many positions, the policy is unknown or was made for another game, or it or
            ``values`` returns something invalid.
    """
    iter_positions(rules)  # raises if the game is too large
    player = checked_policy(policy, rules)
    if rules.n_positions * rules.n_actions <= _MAX_TABLE_ENTRIES:
        player = CheckedTable(rules, tabulate(rules, player, np.float64).probabilities)
    found = mastery(rules, player)
    going_second, going_first = response_values(rules, player)
    exploitabilities = (going_second + going_first) / 2
    table = None
    accuracy = None
    if values is not None:
        table = _value_table(rules, values)
        accuracy = value_accuracy(rules, lambda heaps: table[rules.index(heaps)])
    return Report(
        expert=found.expert,
        champion=found.champion,
        exploitability=float(exploitabilities[-1]),
        mean_exploitability=fsum(exploitabilities) / (rules.n_positions - 1),  # 0 in the empty position
        win_probability_random=win_probability(rules, player, "random"),
        win_probability_take_3=win_probability(rules, player, "take-3"),
        win_probability_expert=win_probability(rules, player, "expert"),
        value_accuracy=accuracy,
        groups=_position_groups(rules, found, table),
    )


def _value_table(rules: NimRules, values: ValueFunction) -> NDArray[np.float64]:
    """The value of each position by its index."""
    table = np.zeros(rules.n_positions)
    for rows in chunks(rules, rules.n_positions - 1, start=1):
        table[rows] = checked_values(values, rules.from_index(np.arange(rows.start, rows.stop)))
    return table


def _position_groups(
    rules: NimRules, found: Mastery, values: NDArray[np.float64] | None
) -> tuple[PositionGroup, ...]:
    n_heaps = np.zeros(rules.n_positions, dtype=np.int32)
    is_endgame = np.zeros(rules.n_positions, dtype=np.bool_)
    is_won = np.zeros(rules.n_positions, dtype=np.bool_)
    is_mistake = np.zeros(rules.n_positions, dtype=np.bool_)
    is_mistake[rules.index(found.mistakes)] = True
    for rows in chunks(rules, rules.n_positions - 1, start=1):
        heaps = rules.from_index(np.arange(rows.start, rows.stop))
        n_heaps[rows] = (heaps > 0).sum(axis=1)
        is_endgame[rows] = (heaps > 1).sum(axis=1) <= 1
        is_won[rows] = theory.is_winning(rules, heaps)
    groups = []
    for number in range(1, rules.n_heaps + 1):
        for endgame in (False, True):
            members = (n_heaps == number) & (is_endgame == endgame)
            won = np.flatnonzero(members & is_won)
            lost = np.flatnonzero(members & ~is_won)
            if not len(won) + len(lost):
                continue
            group = PositionGroup(
                n_heaps=number,
                endgame=endgame,
                won=len(won),
                lost=len(lost),
                mistakes=int(is_mistake[won].sum()),
                expert=_mean(found.winning_move[won]),
                value_accuracy_won=None if values is None else _mean(values[won] > 0),
                value_accuracy_lost=None if values is None else _mean(values[lost] < 0),
            )
            groups.append(group)
    return tuple(groups)


def _mean(numbers: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    """The mean, rounded once; 1.0 of no numbers."""
    return fsum(numbers.tolist()) / len(numbers) if len(numbers) else 1.0
