"""Exact evaluation of any policy by a sweep over all positions, and sampled matches where there are too many.

A policy is a name (``"random"``, ``"take-N"``, ``"expert"``), an object with ``action_probabilities``, or a
callable ``(observation, action_mask) -> action`` on one position; see :mod:`nim_env.policies`.
:func:`win_probability`, :func:`payoff_matrix` and :func:`play_match` also take a
:class:`nim_env.policies.MixturePolicy` with ``draw="game"``. The other functions raise a ValueError: they query
single positions, where it has no probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations_with_replacement, product
from math import fsum, sqrt
from numbers import Real
from statistics import NormalDist
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env import theory
from nim_env._chunks import chunks
from nim_env.policies import (
    Policy,
    PolicyLike,
    check_policies,
    checked_policy,
    is_drawn_per_game,
    query_each,
    query_opponent,
    query_policy,
    sample,
)
from nim_env.rules import NimRules, checked_integer
from nim_env.solver import PositionBatch, ResponseValues, iter_positions

ValueFunction: TypeAlias = Callable[[NDArray[np.int64]], ArrayLike]
"""Maps positions, int64 of shape ``(n, n_heaps)``, to the value of the player to move, shape ``(n,)``."""


# --- Mastery --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Mastery:
    """How well a policy plays a game, after Zhou and Riis (2022, arXiv:2205.12787).

    Attributes:
        expert: The fraction of all winning positions in which the policy plays a winning move; for a stochastic
            policy the mean probability of one. 1.0 where the game has no winning position.
        champion: Whether the policy wins every game from the full heaps against every opponent, going first where
            the start is won and second where it is lost.
        winning_positions: The number of winning positions.
        mistakes: The winning positions in which the policy plays a losing move with positive probability, int64 of
            shape ``(k, n_heaps)``, in the order of their indices.
    """

    expert: float
    champion: bool
    winning_positions: int
    mistakes: NDArray[np.int64]


def mastery(rules: NimRules, policy: PolicyLike) -> Mastery:
    """Evaluates a policy exactly in every winning position. It is queried on winning positions only.

    Args:
        rules: The game.
        policy: The policy.

    Returns:
        The figures and the mistakes.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: The game has too many positions, or the policy is unknown, was made for another game, or
            returns anything but a distribution over legal actions.
    """
    player = checked_policy(policy, rules)
    batches = iter_positions(rules)
    sweep = _MasterySweep(rules)
    for batch in batches:
        is_winning = theory.is_winning(rules, batch.heaps)
        probabilities = np.zeros(batch.action_mask.shape)
        if np.any(is_winning):
            probabilities[is_winning] = query_policy(
                player, batch.heaps[is_winning], batch.action_mask[is_winning]
            )
        sweep.update(batch, probabilities)
    return sweep.result()


class _Judgment(NamedTuple):
    """A policy's moves in a batch of positions, judged by the theory; shapes ``(n,)``."""

    is_winning: NDArray[np.bool_]
    right: NDArray[np.float64]
    """The probability of a winning move, 0 in losing positions."""
    is_mistake: NDArray[np.bool_]
    """Whether the position is winning and a losing move has positive probability."""


class _MasterySweep:
    """Mastery, updated batch by batch in the order of :func:`iter_positions`."""

    def __init__(self, rules: NimRules) -> None:
        self._rules = rules
        self._n_winning = 0
        self._n_right = [0.0]  # of each batch
        self._mistakes = [np.empty(0, dtype=np.int64)]
        # whether the policy wins against every opponent, where it is to move and where the opponent is
        self._always_wins = np.empty((2, rules.n_positions), dtype=np.bool_)
        self._always_wins[:, 0] = rules.misere, not rules.misere

    def update(self, batch: PositionBatch, probabilities: NDArray[np.float64]) -> _Judgment:
        """Adds a batch; ``probabilities`` of shape ``(n, n_actions)`` are ignored in losing positions."""
        is_right = theory.winning_action_mask(self._rules, batch.heaps) != 0
        is_winning = is_right.any(axis=1)
        played, right = probabilities[is_winning], np.zeros(len(is_winning))
        right[is_winning] = (played * is_right[is_winning]).sum(axis=1) / played.sum(axis=1)
        self._n_winning += len(played)
        self._n_right.append(fsum(right.tolist()))  # NumPy's sum depends on its version
        is_mistake = is_winning & ((probabilities > 0) & ~is_right).any(axis=1)
        self._mistakes.append(batch.indices[is_mistake])
        for layer in batch.layers:
            indices = batch.indices[layer]
            policy_wins = batch.all_lead_to(layer, self._always_wins[1], probabilities > 0)
            self._always_wins[0, indices] = is_winning[layer] & policy_wins
            self._always_wins[1, indices] = batch.all_lead_to(layer, self._always_wins[0], batch.action_mask > 0)
        return _Judgment(is_winning, right, is_mistake)

    def result(self) -> Mastery:
        goes_first = theory.is_winning(self._rules, self._rules.heaps)
        champion = self._always_wins[0 if goes_first else 1, -1]  # the last index is that of the full heaps
        expert = fsum(self._n_right) / self._n_winning if self._n_winning else 1.0
        mistakes = self._rules.from_index(np.sort(np.concatenate(self._mistakes)))
        return Mastery(expert, bool(champion), self._n_winning, mistakes)


# --- Exploitability -------------------------------------------------------------------------------


@overload
def exploitability(rules: NimRules, policy: PolicyLike, heaps: None = None) -> float: ...


@overload
def exploitability(rules: NimRules, policy: PolicyLike, heaps: ArrayLike) -> NDArray[np.float64]: ...


def exploitability(
    rules: NimRules, policy: PolicyLike, heaps: ArrayLike | None = None
) -> float | NDArray[np.float64]:
    """The mean gain of a best response over perfect play.

    It is the NashConv of a policy that plays both sides, divided by the number of players (Lanctot et al. 2017, "A
    unified game-theoretic approach to multiagent reinforcement learning"), with reward 1 for the winner and -1 for
    the loser, from the full heaps. The values of perfect play in both orders cancel, so it is the mean of the
    response's values going first and going second. A policy has exploitability 0 exactly if it is a champion
    (:class:`Mastery`), except for mistakes of a probability below 1e-16, which rounding hides from the
    exploitability alone. A deterministic policy has exploitability 0 or 1; its mean over all positions
    (:class:`Report`) is graded.

    Args:
        rules: The game.
        policy: The policy.
        heaps: Positions to start from, shape ``(..., n_heaps)``; ``None`` for the full heaps. In the empty
            position nobody moves, and it is 0.

    Returns:
        A float for the full heaps, else float64 of shape ``(...)``. Perfect play has 0, the worst 1.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: See :func:`mastery`; or ``heaps`` are not positions of the game.
    """
    player = checked_policy(policy, rules)
    start = rules.positions(rules.heaps if heaps is None else heaps)
    batches = iter_positions(rules)
    response = ResponseValues(rules)
    for batch in batches:
        response.update(batch, query_policy(player, batch.heaps, batch.action_mask))
    exploitability = _exploitabilities(response)[rules.index(start)]
    return float(exploitability) if heaps is None else exploitability


def _exploitabilities(response: ResponseValues) -> NDArray[np.float64]:
    """The exploitability from every position by index, shape ``(n_positions,)``."""
    return (response.values + response.afterstates) / 2


# --- Win probability ------------------------------------------------------------------------------


@overload
def win_probability(
    rules: NimRules,
    policy: PolicyLike,
    opponent: PolicyLike,
    moves_first: bool | None = None,
    heaps: None = None,
) -> float: ...


@overload
def win_probability(
    rules: NimRules, policy: PolicyLike, opponent: PolicyLike, moves_first: bool | None = None, *, heaps: ArrayLike
) -> NDArray[np.float64]: ...


@overload
def win_probability(
    rules: NimRules, policy: PolicyLike, opponent: PolicyLike, moves_first: bool | None, heaps: ArrayLike
) -> NDArray[np.float64]: ...


def win_probability(
    rules: NimRules,
    policy: PolicyLike,
    opponent: PolicyLike,
    moves_first: bool | None = None,
    heaps: ArrayLike | None = None,
) -> float | NDArray[np.float64]:
    """The exact probability that ``policy`` wins against ``opponent``, by backward induction.

    For a mixture that draws a member per game it is the weighted mean over the members.

    Args:
        rules: The game.
        policy: The policy whose wins count.
        opponent: The policy that it plays against.
        moves_first: Whether ``policy`` moves first; ``None`` for the mean of both orders.
        heaps: Positions to start from, shape ``(..., n_heaps)``; ``None`` for the full heaps. In the empty
            position the game is over; the player to move there has won exactly in misère play.

    Returns:
        A float for the full heaps, else float64 of shape ``(...)``.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: The game has too many positions, ``heaps`` are not positions of it, a policy is unknown or
            was made for another game, or a policy returns anything but a distribution over legal actions.
    """
    _check_moves_first(moves_first)
    members = _members(checked_policy(policy, rules))
    opponents = _members(checked_policy(opponent, rules, "opponent"))
    start = rules.positions(rules.heaps if heaps is None else heaps)
    batches = iter_positions(rules)
    sweeps = {pair: _WinProbabilitySweep(rules) for pair in product(range(len(members)), range(len(opponents)))}
    for batch in batches:
        played = [query_policy(member, batch.heaps, batch.action_mask) for member, _ in members]
        replied = [query_opponent(member, batch.heaps, batch.action_mask) for member, _ in opponents]
        for (i, j), sweep in sweeps.items():
            sweep.update(batch, played[i], replied[j])
    indices, probability = rules.index(start), np.zeros(start.shape[:-1])
    for (i, j), sweep in sweeps.items():
        probability += members[i][1] * opponents[j][1] * sweep.result(moves_first)[indices]
    return float(probability) if heaps is None else probability


def _members(policy: Policy) -> list[tuple[Policy, float]]:
    """The policies that may play a game, each with its probability."""
    if not is_drawn_per_game(policy):
        return [(policy, 1.0)]
    probabilities = policy.member_probabilities.tolist()
    return [member for member in zip(policy.policies, probabilities, strict=True) if member[1] > 0]


class _WinProbabilitySweep:
    """Win probabilities, updated batch by batch in the order of :func:`iter_positions`."""

    def __init__(self, rules: NimRules) -> None:
        self._wins = np.empty((2, rules.n_positions))  # with the policy to move, and with the opponent to move
        self._wins[:, 0] = rules.misere, not rules.misere

    def update(self, batch: PositionBatch, policy: NDArray[np.float64], opponent: NDArray[np.float64]) -> None:
        """Adds a batch, given both players' probabilities, shape ``(n, n_actions)``."""
        for layer in batch.layers:
            indices = batch.indices[layer]
            self._wins[0, indices] = batch.expected(layer, self._wins[1], policy)
            self._wins[1, indices] = batch.expected(layer, self._wins[0], opponent)

    def result(self, moves_first: bool | None = None) -> NDArray[np.float64]:
        """The probability of a win from every position by index, shape ``(n_positions,)``."""
        mean: NDArray[np.float64] = self._wins.mean(axis=0)
        return mean if moves_first is None else self._wins[0 if moves_first else 1]


# --- Payoff matrix --------------------------------------------------------------------------------


def payoff_matrix(rules: NimRules, policies: Sequence[PolicyLike]) -> NDArray[np.float64]:
    """The exact expected returns of all pairs of policies: the empirical game of a set of players.

    It is the payoff table of empirical game-theoretic analysis (Wellman 2006, "Methods for empirical
    game-theoretic analysis"), which PSRO solves for a meta-strategy (Lanctot et al. 2017, "A unified
    game-theoretic approach to multiagent reinforcement learning"). Nim is zero-sum, so the payoffs of the second
    player are the negative. ``(matrix - matrix.T) / 2`` is the game in which either player moves first with
    probability ½, and ``(1 + matrix) / 2`` are win probabilities. Each policy is queried on each position once.
    The sweep takes 16 bytes for each pair of policies and each position.

    Args:
        rules: The game.
        policies: The ``n`` policies. For a mixture that draws a member per game, payoffs are weighted means.

    Returns:
        float64 of shape ``(n, n)``, -1 to 1: the expected return of the row's policy, which moves first from the
        full heaps, against the column's policy, with reward 1 for the winner and -1 for the loser.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: The game has too many positions, or a policy is unknown, was made for another game, or
            returns anything but a distribution over legal actions.
    """
    check_policies(policies)
    players = [_members(checked_policy(policy, rules, f"policies[{i}]")) for i, policy in enumerate(policies)]
    members = list({id(member): member for player in players for member, _ in player}.values())
    batches = iter_positions(rules)
    pairs = combinations_with_replacement(range(len(members)), 2)
    sweeps = {pair: _WinProbabilitySweep(rules) for pair in pairs}
    for batch in batches:
        probabilities = [query_policy(member, batch.heaps, batch.action_mask) for member in members]
        for (i, j), sweep in sweeps.items():
            sweep.update(batch, probabilities[i], probabilities[j])
    payoffs = {}
    for (i, j), sweep in sweeps.items():
        payoffs[id(members[j]), id(members[i])] = 1 - 2 * float(sweep.result(False)[-1])
        payoffs[id(members[i]), id(members[j])] = 2 * float(sweep.result(True)[-1]) - 1
    matrix = [
        [fsum(p * q * payoffs[id(a), id(b)] for a, p in row for b, q in column) for column in players]
        for row in players
    ]
    return np.array(matrix, dtype=np.float64).reshape(len(players), len(players))


# --- Value accuracy -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ValueAccuracy:
    """How often the sign of a value function names the winner, and how far the values are from the exact ones.

    Attributes:
        won: The fraction of won positions with a value above 0; 1.0 where there are none.
        lost: The fraction of losing positions with a value below 0; 1.0 where there are none.
        overall: The fraction of all positions. Most positions are won (94 % on seven heaps), so a constant has a
            high overall accuracy.
        error_won: The mean distance of the values of won positions from 1; 0.0 where there are none.
        error_lost: The mean distance of the values of losing positions from -1; 0.0 where there are none.
    """

    won: float
    lost: float
    overall: float
    error_won: float
    error_lost: float


def value_accuracy(rules: NimRules, values: ValueFunction) -> ValueAccuracy:
    """Evaluates a value function exactly in every position except the empty one.

    Args:
        rules: The game.
        values: Maps positions, int64 of shape ``(n, n_heaps)``, to the value of the player to move, shape
            ``(n,)``: above 0 for a win, below 0 for a loss. The exact values are 1 and -1.

    Returns:
        The accuracies in won, lost and all positions, and the errors.

    Raises:
        TypeError: ``rules`` is not a NimRules, or ``values`` is not callable or returns anything but numbers.
        ValueError: The game has too many positions, or ``values`` returns another shape or NaN.
    """
    iter_positions(rules)  # raises if the game is too large
    sweep = _ValueSweep(rules, values)
    for rows in chunks(rules, rules.n_positions - 1, start=1):
        sweep.update(rules.from_index(np.arange(rows.start, rows.stop)))
    return sweep.result()


class _ValueSweep:
    """Value accuracy, updated batch by batch."""

    def __init__(self, rules: NimRules, values: ValueFunction) -> None:
        if not callable(values):
            raise TypeError(f"values must map positions (n, n_heaps) to values (n,); got {values!r}")
        self._rules, self._values = rules, values
        # the numbers of positions and of right values, and the errors, in losing and in won positions
        self._sums = np.zeros((3, 2))

    def update(self, heaps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Adds unfinished positions, shape ``(n, n_heaps)``; returns which have a right value, shape ``(n,)``."""
        values = np.asarray(self._values(heaps.copy()))
        if values.dtype.kind not in "biuf":
            raise TypeError(f"values must return numbers; got {values!r}")
        if values.shape != (len(heaps),):
            raise ValueError(
                f"values must return one number for each position, shape {(len(heaps),)}; got {values.shape}"
            )
        if np.isnan(values).any():
            first = heaps[np.isnan(values).argmax()].tolist()
            raise ValueError(f"values must return a number for each position; got nan at {first}")
        is_won = np.asarray(theory.is_winning(self._rules, heaps))
        is_right = np.where(is_won, values > 0, values < 0)
        errors = np.abs(np.where(is_won, 1.0, -1.0) - values)
        for sums, column in zip(self._sums, (np.ones(len(heaps)), is_right, errors), strict=True):
            sums += np.bincount(is_won, weights=column, minlength=2)
        return is_right

    def result(self) -> ValueAccuracy:
        (n_lost, n_won), (right_lost, right_won), (error_lost, error_won) = self._sums.tolist()
        return ValueAccuracy(
            won=right_won / n_won if n_won else 1.0,
            lost=right_lost / n_lost if n_lost else 1.0,
            overall=(right_won + right_lost) / (n_won + n_lost),
            error_won=error_won / max(n_won, 1),
            error_lost=error_lost / max(n_lost, 1),
        )


# --- Report ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PositionGroup:
    """Where a player errs: the figures of the positions with the same number of nonempty heaps, endgames apart.

    An endgame is a position with at most one heap of more than one object. With unbounded takes the winning moves
    of misère and normal play differ in endgames only.

    Attributes:
        n_heaps: The number of nonempty heaps, 1 or more.
        endgame: Whether the positions are endgames.
        won: The number of won positions in the group.
        lost: The number of losing positions.
        mistakes: The number of won positions in which the policy plays a losing move with positive probability.
        expert: The mean probability of a winning move in the won positions; 1.0 where there are none.
        value_accuracy_won: The fraction of won positions with a value above 0; 1.0 where there are none, ``None``
            without values.
        value_accuracy_lost: The fraction of losing positions with a value below 0, likewise.
    """

    n_heaps: int
    endgame: bool
    won: int
    lost: int
    mistakes: int
    expert: float
    value_accuracy_won: float | None = None
    value_accuracy_lost: float | None = None


class _GroupSweep:
    """The figures of the groups, updated batch by batch."""

    def __init__(self, n_heaps: int) -> None:
        # the sums of the columns below by the number of heaps and endgame
        self._sums = np.zeros((6, 2 * n_heaps + 2))

    def update(self, heaps: NDArray[np.int64], moves: _Judgment, is_right: NDArray[np.bool_] | None) -> None:
        """Adds unfinished positions, the judgment of the moves, and whether the values are right."""
        is_won, value = moves.is_winning, np.zeros(len(heaps)) if is_right is None else is_right
        group = 2 * (heaps > 0).sum(axis=1) + ((heaps > 1).sum(axis=1) <= 1)
        columns = (is_won, ~is_won, moves.is_mistake, moves.right, value * is_won, value * ~is_won)
        for sums, column in zip(self._sums, columns, strict=True):
            sums += np.bincount(group, weights=column, minlength=len(sums))

    def result(self, with_values: bool) -> tuple[PositionGroup, ...]:
        groups = []
        for group, (won, lost, mistakes, right, right_won, right_lost) in enumerate(self._sums.T.tolist()):
            if not won + lost:
                continue
            expert, value_won = (right / won, right_won / won) if won else (1.0, 1.0)
            values = (value_won, right_lost / lost if lost else 1.0) if with_values else ()
            counts = group // 2, bool(group % 2), int(won), int(lost), int(mistakes)
            groups.append(PositionGroup(*counts, expert, *values))
        return tuple(groups)


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
        groups: Where the player errs: the figures by number of nonempty heaps, endgames apart, in this order.
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
        """The figures by name.

        Returns:
            Numbers, without the groups. ``value_accuracy``, if given, is ``value_accuracy_won``, ``_lost`` and
            ``_overall``, ``value_error_won`` and ``_lost``.
        """
        row: dict[str, float | bool] = {
            name: value for name, value in vars(self).items() if name not in ("value_accuracy", "groups")
        }
        if self.value_accuracy is None:
            return row
        accuracy = asdict(self.value_accuracy)
        errors = {f"value_{name}": accuracy.pop(name) for name in ("error_won", "error_lost")}
        return row | {f"value_accuracy_{name}": value for name, value in accuracy.items()} | errors

    def _repr_html_(self) -> str:
        """The figures as a table in a notebook."""
        figures = {name.replace("_", " "): value for name, value in self.to_dict().items()}
        rows = [
            f"<tr><th>{name}</th><td>{value if isinstance(value, bool) else format(value, '.6g')}</td></tr>"
            for name, value in figures.items()
        ]
        return f"<table>{''.join(rows)}</table>"


def report(rules: NimRules, policy: PolicyLike, values: ValueFunction | None = None) -> Report:
    """Every exact figure of one player in one sweep. The policy is queried on each position once.

    Args:
        rules: The game.
        policy: The player.
        values: The player's value function, as in :func:`value_accuracy`; ``None`` if it has none.

    Returns:
        The figures; ``value_accuracy`` is None if ``values`` is.

    Raises:
        TypeError: An argument, or what ``values`` returns, has the wrong type.
        ValueError: The game has too many positions, the policy is unknown or was made for another game, or it or
            ``values`` returns something invalid.
    """
    player = checked_policy(policy, rules)
    baselines = {name: checked_policy(name, rules) for name in ("random", "take-3", "expert")}
    batches = iter_positions(rules)
    mastery_sweep, response = _MasterySweep(rules), ResponseValues(rules)
    win_sweeps = {name: _WinProbabilitySweep(rules) for name in baselines}
    value_sweep = None if values is None else _ValueSweep(rules, values)
    group_sweep = _GroupSweep(rules.n_heaps)
    for batch in batches:
        probabilities = query_policy(player, batch.heaps, batch.action_mask)
        moves = mastery_sweep.update(batch, probabilities)
        response.update(batch, probabilities)
        for name, baseline in baselines.items():
            win_sweeps[name].update(batch, probabilities, query_policy(baseline, batch.heaps, batch.action_mask))
        is_right = None if value_sweep is None else value_sweep.update(batch.heaps)
        group_sweep.update(batch.heaps, moves, is_right)
    found = mastery_sweep.result()
    exploitabilities = _exploitabilities(response)
    wins = {name: float(sweep.result()[-1]) for name, sweep in win_sweeps.items()}  # from the full heaps
    return Report(
        expert=found.expert,
        champion=found.champion,
        exploitability=float(exploitabilities[-1]),
        mean_exploitability=fsum(exploitabilities) / (rules.n_positions - 1),  # 0 in the empty position
        win_probability_random=wins["random"],
        win_probability_take_3=wins["take-3"],
        win_probability_expert=wins["expert"],
        value_accuracy=None if value_sweep is None else value_sweep.result(),
        groups=group_sweep.result(with_values=values is not None),
    )


# --- Learning curves ------------------------------------------------------------------------------


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
            mean total reward of the later half of them, exploration included; and the figures of :class:`Report`
            except the value accuracy.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: A number is below 1, or the game has too many positions.
    """

    def __init__(self, rules: NimRules, episodes: int, n_evals: int = 40, first: int = 1) -> None:
        iter_positions(rules)
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
        figures = report(self.rules, agent).to_dict()
        self.rows.append({"episodes": n, "mean_return": float(np.mean(history.returns[n // 2 :])), **figures})


# --- Matches --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatchResult:
    """The result of :func:`play_match`: ``wins`` of ``games``."""

    wins: int
    games: int

    @property
    def win_rate(self) -> float:
        """The fraction of games won."""
        return self.wins / self.games

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The Wilson score interval of the win probability (Wilson 1927, JASA 22, p. 209).

        Args:
            confidence: The confidence level, between 0 and 1.

        Returns:
            The lower and the upper bound, between 0 and 1.

        Raises:
            TypeError: ``confidence`` is not a number.
            ValueError: ``confidence`` is not between 0 and 1.
        """
        if not isinstance(confidence, Real):
            raise TypeError(f"confidence must be a number; got {confidence!r}")
        if not 0 < confidence < 1:
            raise ValueError(f"confidence must lie between 0 and 1; got {confidence!r}")
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        rate, games = self.win_rate, self.games
        center = (rate + z**2 / (2 * games)) / (1 + z**2 / games)
        half_width = z / (1 + z**2 / games) * sqrt(rate * (1 - rate) / games + z**2 / (4 * games**2))
        return max(0.0, center - half_width), min(1.0, center + half_width)


def play_match(
    rules: NimRules,
    policy: PolicyLike,
    opponent: PolicyLike,
    games: int,
    seed: int | None = None,
    moves_first: bool | None = None,
) -> MatchResult:
    """Samples games from the full heaps between ``policy`` and ``opponent``.

    Args:
        rules: The game.
        policy: The policy whose wins count.
        opponent: The policy that it plays against.
        games: The number of games, 1 or more.
        seed: Seeds the draws of actions.
        moves_first: Whether ``policy`` moves first; ``None`` for every other game, the first game included.

    Returns:
        The number of games that ``policy`` won, and of all games.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: ``games`` is below 1, ``seed`` below 0, a policy is unknown or was made for another game,
            or a policy returns anything but a distribution over legal actions.
    """
    games = checked_integer("games", games, 1)
    _check_moves_first(moves_first)
    if seed is not None:
        checked_integer("seed", seed, 0)
    players = checked_policy(policy, rules), checked_policy(opponent, rules, "opponent")
    generator = np.random.default_rng(seed)
    movers = np.arange(games) % 2 if moves_first is None else np.full(games, 0 if moves_first else 1)
    wins = sum(
        int((_winners(rules, players, movers[part], generator) == 0).sum()) for part in chunks(rules, games)
    )
    return MatchResult(wins, games)


def _winners(
    rules: NimRules,
    players: tuple[Policy, Policy],
    movers: NDArray[np.int64],
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """The winner, 0 or 1, of one game for each entry of ``movers``, the player who moves first."""
    heaps = np.tile(np.array(rules.heaps), (len(movers), 1))
    drawn = [
        player.draw_members(generator, len(movers)) if is_drawn_per_game(player) else [] for player in players
    ]
    movers, winners = movers.copy(), np.full(len(movers), -1)
    while (playing := winners < 0).any():
        for player, query in enumerate((query_policy, query_opponent)):
            games = np.flatnonzero(playing & (movers == player))
            if not len(games):
                continue
            observation, mask = heaps[games], rules.action_mask(heaps[games])
            if drawn[player]:
                members = [drawn[player][game] for game in games.tolist()]
                probabilities = query_each(members, observation, mask, query)
            else:
                probabilities = query(players[player], observation, mask)
            heaps[games] = rules.apply(observation, sample(probabilities, generator))
            over = games[rules.is_over(heaps[games])]
            winners[over] = player if rules.terminal_reward > 0 else 1 - player
        movers = 1 - movers
    return winners


def _check_moves_first(moves_first: Any) -> None:
    if moves_first is not None and not isinstance(moves_first, bool | np.bool_):
        raise TypeError(f"moves_first must be True, False or None; got {moves_first!r}")
