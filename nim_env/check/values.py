"""Reads the values that a player has learned, from its dictionary of Q-values or from one of its methods."""

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
"""A function that maps positions ``(n, n_heaps)`` to Q-values ``(n, n_actions)``. It can also return only the
values of the positions for the player to move, ``(n,)``."""
_DICTIONARIES = ("q", "Q", "q_table", "Q_table")  # the usual names of a player's dictionary of Q-values
_METHODS = ("get_q_value", "q_value", "get_value", "value")  # of its method (heaps, (heap, count)) -> Q-value


class FoundValues(NamedTuple):
    """The values of a player.

    Attributes:
        values: The values as a function of positions. ``None`` if the player has none.
        remark: A sentence about the values for the report. Empty if there is nothing to say.
        initial: The value at which the Q-values started. It is what the player's method, such as ``get_q_value``,
            returns for a move that is missing from its dictionary of Q-values. ``None`` if it is not known.
    """

    values: QFunction | None
    remark: str = ""
    initial: float | None = None


def find_values(player: Any, rules: NimRules, name: str) -> FoundValues:
    """Finds the values of a player.

    The values are taken from the first of these places that the player has:

    1. a dictionary of Q-values that can be read, named ``q``, ``Q``, ``q_table`` or ``Q_table``;
    2. a method that returns the Q-value of one move, named ``get_q_value``, ``q_value``, ``get_value`` or
       ``value``;
    3. a method ``values``, which returns the values of many positions, as a :data:`QFunction` does.

    Args:
        player: The player, an object.
        rules: The game.
        name: The player's name on the command line, for error messages.

    Returns:
        The values. If the player has values that cannot be read, the remark says why.

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
    """Reads the values from a player's dictionary of Q-values.

    The dictionary has only the moves that the player has updated. All other moves still have the value at which
    Q-values start. ``method``, the player's method that returns the Q-value of one move, is called for one of
    these moves to find this value. Without a method, or if the heaps are sorted in all keys, they get 0.
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
    """Reads a player's values by calling its method ``method_name`` for every legal move in every position."""
    try:
        with running_code_of(name, f"in {method_name}"):
            q_values = _table_of_method(getattr(player, method_name), rules)
    except PlayerError as error:
        return FoundValues(None, f"Its values are not judged: {error}.")
    return FoundValues(lookup_function(q_values, rules), f"Its values come from {method_name}.")


def lookup_function(table: NDArray[Any], rules: NimRules) -> QFunction:
    """Returns a function that looks up the values of positions, ``(n, n_heaps)``, in a table.

    ``table`` has a row for each position index, and the function returns the rows of the positions.
    """
    return lambda heaps: table[rules.index(heaps)]


def entries_by_pair(dictionary: Mapping[Any, Any], rules: NimRules, name: str) -> dict[Any, Any]:
    """Brings the keys of a player's dictionary of Q-values into the form ``(heaps, (heap, count))``.

    The player's own keys can be tuples, nested tuples or strings, if they contain the heap sizes, then the heap
    and the count. For example, ``"1-3-5-7: (0, 1)"`` becomes ``((1, 3, 5, 7), (0, 1))``. A key without these
    numbers stays unchanged.

    Args:
        dictionary: The dictionary. It can be nested, with the Q-values ``dictionary[heaps][move]``.
        rules: The game.
        name: The player's name on the command line, for the error message.

    Returns:
        The Q-values by key, without nesting.

    Raises:
        ValueError: If no key has the starting position of the game, although there are keys with positions. The
            player has then learned on another board.
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
    """Lists the numbers in a key in their order: in a tuple, nested tuples, or a string such as ``1-3-5-7``."""
    if isinstance(key, tuple):
        return [number for part in key for number in _numbers_in(part)]
    return [*map(int, re.findall(r"\d+", key))] if isinstance(key, str) else [key]


def q_table_of(entries: dict[Any, Any], rules: NimRules) -> tuple[NDArray[np.float64], str]:
    """Converts a dictionary of Q-values to a table. Moves that are missing from it have the value 0.

    If the heaps are sorted in all keys, each Q-value is copied to all other arrangements of the heaps.

    Args:
        entries: The Q-values by ``(heaps, (heap, count))``.
        rules: The game.

    Returns:
        The table, with a row for each position index, of shape ``(n_positions, n_actions)``, and a remark for the
        report. The remark says that the heaps are sorted in all keys. It is an empty string if they are not.

    Raises:
        TypeError: If a key or a value has a wrong type.
        ValueError: If a key is not a position and a move of the game.
    """
    known = {key: value for key, value in entries.items() if np.any(value != 0)}  # a defaultdict has added 0s
    q_values = policies.q_values_of(rules, known)
    positions = {rules.heaps, *(tuple(heaps) for heaps, _ in known)}
    if rules.n_heaps == 1 or len(positions) == 1 or any(list(heaps) != sorted(heaps) for heaps in positions):
        return q_values, ""
    remark = "The heaps of its keys are sorted: each value counts for all arrangements of them."
    return _for_all_arrangements(q_values, rules), remark


def _for_all_arrangements(q_values: NDArray[np.float64], rules: NimRules) -> NDArray[np.float64]:
    """Copies the Q-values of each position with sorted heaps, such as 1-2, to its other arrangements, such as 2-1.

    This is needed for a player that sorts the heaps before it looks up a value, so its values of other positions
    are missing. ``q_values`` and the result have a row for each position index, ``(n_positions, n_actions)``.
    """
    heaps = rules.all_positions()
    sorted_rows = np.asarray(rules.index(np.sort(heaps, axis=1)), dtype=np.intp)
    # the place of each action's heap in the sorted position
    places = heaps.argsort(axis=1, kind="stable").argsort(axis=1)[:, rules.move_heaps]
    actions = np.zeros((rules.n_heaps, max(rules.heaps) + 1), dtype=np.intp)
    actions[rules.move_heaps, rules.move_counts] = np.arange(rules.n_actions)
    copied = q_values[sorted_rows[:, None], actions[places, rules.move_counts]]
    return np.where(rules.action_mask(heaps), copied, 0.0)


def _initial_value(method: Callable[..., Any], entries: dict[Any, Any], rules: NimRules) -> float | None:
    """Returns the value at which a player's Q-values started.

    This is what ``method``, which takes heap sizes and a move, returns for the first legal move that is missing
    from ``entries``, the player's Q-values. Returns ``None`` if no move is missing, or if the method does not
    return a finite number.
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
    """Returns the table ``q_values`` with ``initial`` for all legal moves that are missing from ``entries``."""
    is_known = policies.q_values_of(rules, dict.fromkeys(entries, 1.0)) != 0
    is_legal = rules.action_mask(rules.all_positions()) > 0
    return np.where(is_legal & ~is_known, initial, q_values)


def _table_of_method(method: Callable[[list[int], tuple[int, int]], Any], rules: NimRules) -> NDArray[np.float64]:
    """Makes a table of Q-values by calling a method ``(heaps, (heap, count)) -> Q-value`` for all legal moves.

    The table has a row for each position index and a column for each action, and 0 for illegal actions.
    """
    q_values = np.zeros((rules.n_positions, rules.n_actions))
    for row, heaps in zip(q_values, rules.all_positions().tolist(), strict=True):
        for move in rules.legal_moves(heaps):
            row[rules.action(*move)] = float(method(list(heaps), move))
    return q_values
