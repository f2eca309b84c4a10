"""Reads the values of a player, from its dictionary of Q-values or from one of its methods."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nim_env import policies
from nim_env.check.foreign_code import running_code_of
from nim_env.check.programs import PlayerError, shorten
from nim_env.rules import NimRules

QFunction: TypeAlias = Callable[[NDArray[Any]], Any]
"""A function that maps positions ``(n, n_heaps)`` to Q-values ``(n, n_actions)``, or to values for the player to
move ``(n,)``."""
_DICTIONARIES = ("q", "Q", "q_table", "Q_table")  # the names of dictionaries with a player's values
_METHODS = ("get_q_value", "q_value", "get_value", "value")  # (heaps, (heap, count)) -> number


class FoundValues(NamedTuple):
    """The values of a player.

    Attributes:
        values: The values as a function of positions. ``None`` if there are none.
        remark: A sentence for the report about the values. Empty if there is nothing to say.
        initial: The initial value: what the player's method, such as ``get_q_value``, returns for a position and a
            move that are missing from its dictionary of Q-values. ``None`` if this is not known.
    """

    values: QFunction | None
    remark: str = ""
    initial: float | None = None


class QTable(NamedTuple):
    """The Q-values of a dictionary as a table.

    Attributes:
        q_values: A row for each position by its index, float64 of shape ``(n_positions, n_actions)``.
        remark: A sentence about the keys of the dictionary. Empty if there is nothing to say.
    """

    q_values: NDArray[np.float64]
    remark: str = ""


def find_values(player: Any, rules: NimRules, name: str) -> FoundValues:
    """Finds the values of a player. It looks in three places and takes the first values that it finds.

    The first place is a dictionary of Q-values, if it can be read. The second is a method that returns the value
    of one move in one position. The third is a method ``values``, which takes many positions at once.

    Args:
        player: The player, an object.
        rules: The game.
        name: The player, as the command line names it.

    Returns:
        The values. If there are some that cannot be read, the remark says why.

    Raises:
        ValueError: If its dictionary belongs to another board.
    """
    method_name = next((each for each in _METHODS if callable(getattr(player, each, None))), None)
    method = None if method_name is None else getattr(player, method_name)
    found = FoundValues(None)
    for attribute in _DICTIONARIES:
        dictionary = getattr(player, attribute, None)
        if isinstance(dictionary, Mapping) and dictionary:
            found = _values_in_dictionary(dictionary, method, rules, name)
            if found.values is not None:
                return found
    if method_name is not None:
        return _values_by_method(player, method_name, rules, name)
    values = getattr(player, "values", None)
    return found._replace(values=values if callable(values) else None)


def _values_in_dictionary(
    dictionary: Mapping[Any, Any], method: Callable[..., Any] | None, rules: NimRules, name: str
) -> FoundValues:
    """Reads the values from a dictionary of Q-values.

    A pair of position and move that the dictionary lacks gets the value that the player's ``method`` returns for
    such a pair. Without a method, or if all keys have sorted heaps, it gets 0.
    """
    entries = entries_by_pair(dictionary, rules, name)
    try:
        q_values, remark = q_table_of(entries, rules)
    except (TypeError, ValueError) as error:
        return FoundValues(None, f"Its values are not judged: {shorten(error, str)}.")
    initial = None if method is None else _initial_value(method, entries, rules)
    if initial and not remark:
        q_values = _with_initial_value(q_values, initial, entries, rules)
    return FoundValues(lookup_function(q_values, rules), remark, initial)


def _values_by_method(player: Any, method_name: str, rules: NimRules, name: str) -> FoundValues:
    """Reads the values by calling the player's method for every legal move in every position."""
    try:
        with running_code_of(name, f"in {method_name}"):
            q_values = _table_of_method(getattr(player, method_name), rules)
    except PlayerError as error:
        return FoundValues(None, f"Its values are not judged: {error}.")
    return FoundValues(lookup_function(q_values, rules), f"Its values come from {method_name}.")


def lookup_function(table: NDArray[Any], rules: NimRules) -> QFunction:
    """Returns a function that maps positions to their rows of ``table``. The row of a position is at its index."""
    return lambda heaps: table[rules.index(heaps)]


def entries_by_pair(dictionary: Mapping[Any, Any], rules: NimRules, name: str) -> dict[Any, Any]:
    """Returns the entries of a dictionary, which can be nested, with all keys in one form.

    A key becomes (heaps, (heap, count)) if it contains a number for each heap and two more for the move, in a
    tuple, in nested tuples or in a string. All other keys stay unchanged.

    Args:
        dictionary: The dictionary. Its values can be dictionaries too: one for each position.
        rules: The game.
        name: The player, as the command line names it.

    Returns:
        The values by key, without nesting.

    Raises:
        ValueError: If the keys have positions, but the start of the game is not one of them.
    """
    entries = {}
    for key, value in dictionary.items():
        is_nested = isinstance(value, Mapping)
        inner = {(key, move): number for move, number in value.items()} if is_nested else {key: value}
        for whole, number in inner.items():
            numbers = tuple(_numbers_in(whole))
            is_pair = len(numbers) == rules.n_heaps + 2
            entries[(numbers[:-2], numbers[-2:]) if is_pair else whole] = number
    positions = {tuple(key[0]) for key in entries if isinstance(key, tuple) and isinstance(key[0], list | tuple)}
    if positions and rules.heaps not in positions:
        raise ValueError(f"{name} has no value at the start of {rules}; --heaps must be the board that it learns")
    return entries


def _numbers_in(key: Any) -> list[Any]:
    """Lists the numbers of a key in order, from nested tuples and strings such as ``1-3-5-7``."""
    if isinstance(key, tuple):
        return [number for part in key for number in _numbers_in(part)]
    return [*map(int, re.findall(r"\d+", key))] if isinstance(key, str) else [key]


def q_table_of(entries: dict[Any, Any], rules: NimRules) -> QTable:
    """Converts the entries of a dictionary to a table. Moves that are missing from it have the value 0.

    If the heaps of all keys are sorted, the values of a position count for all arrangements of its heaps.

    Args:
        entries: The values by (heaps, (heap, count)).
        rules: The game.

    Returns:
        The table.

    Raises:
        TypeError: If a key or a value has another form.
        ValueError: If a key does not have a position and a move of the game.
    """
    known = {key: value for key, value in entries.items() if np.any(value != 0)}  # a defaultdict has added 0s
    q_values = policies.q_values_of(rules, known)
    positions = {rules.heaps, *(tuple(heaps) for heaps, _ in known)}
    if rules.n_heaps == 1 or len(positions) == 1 or any(list(heaps) != sorted(heaps) for heaps in positions):
        return QTable(q_values)
    remark = "The heaps of its keys are sorted: each value counts for all arrangements of them."
    return QTable(_for_all_arrangements(q_values, rules), remark)


def _for_all_arrangements(q_values: NDArray[np.float64], rules: NimRules) -> NDArray[np.float64]:
    """Copies the Q-values of the positions with sorted heaps to all other arrangements of these heaps."""
    heaps = rules.all_positions()
    sorted_rows = np.asarray(rules.index(np.sort(heaps, axis=1)), dtype=np.intp)
    # the place of each action's heap in the sorted position
    places = heaps.argsort(axis=1, kind="stable").argsort(axis=1)[:, rules.move_heaps]
    actions = np.zeros((rules.n_heaps, max(rules.heaps) + 1), dtype=np.intp)
    actions[rules.move_heaps, rules.move_counts] = np.arange(rules.n_actions)
    copied = q_values[sorted_rows[:, None], actions[places, rules.move_counts]]
    return np.where(rules.action_mask(heaps), copied, 0.0)


def _initial_value(method: Callable[..., Any], entries: dict[Any, Any], rules: NimRules) -> float | None:
    """Returns the initial value: what a player's method returns for a legal move that its dictionary lacks.

    Returns ``None`` if no move is missing, or if the method does not return a finite number.
    """
    pairs = ((heaps, move) for heaps in rules.all_positions()[1:].tolist() for move in rules.legal_moves(heaps))
    missing = next(((heaps, move) for heaps, move in pairs if (tuple(heaps), move) not in entries), None)
    if missing is None:
        return None
    try:
        with running_code_of("the player", "when its value is queried"):
            number = float(method(*missing))
    except (PlayerError, TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _with_initial_value(
    q_values: NDArray[np.float64], initial: float, entries: dict[Any, Any], rules: NimRules
) -> NDArray[np.float64]:
    """Returns the Q-values, with ``initial`` for every legal move that is missing from ``entries``."""
    is_known = policies.q_values_of(rules, dict.fromkeys(entries, 1.0)) != 0
    is_legal = rules.action_mask(rules.all_positions()) > 0
    return np.where(is_legal & ~is_known, initial, q_values)


def _table_of_method(method: Callable[[list[int], tuple[int, int]], Any], rules: NimRules) -> NDArray[np.float64]:
    """Makes a table from a method ``(heaps, (heap, count)) -> number``. Illegal actions have the value 0."""
    q_values = np.zeros((rules.n_positions, rules.n_actions))
    for row, heaps in zip(q_values, rules.all_positions().tolist(), strict=True):
        for move in rules.legal_moves(heaps):
            row[rules.action(*move)] = float(method(list(heaps), move))
    return q_values
