"""Players from files: programs, tables and models that other people wrote, as policies with their values.

``python -m nim_env check --help`` lists the forms of a player, and docs/test_your_agent.md shows them with
examples. :func:`load_player` takes a name from a command line, and :func:`player_of` takes an object.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import MultiDiscrete
from numpy.typing import NDArray

from nim_env import policies
from nim_env.check.programs import CHOICES, chooses, failure, imported, maker, needed, shown
from nim_env.encodings import encoding_of
from nim_env.evaluation import ValueFunction
from nim_env.rules import NimRules

SUFFIXES = (".py", ".npy", ".npz", ".json", ".zip")
"""The suffixes of the files that can be loaded."""
QFunction: TypeAlias = Callable[[NDArray[Any]], Any]
"""A function that maps positions ``(n, n_heaps)`` to Q-values ``(n, n_actions)``, or to values for the player to
move ``(n,)``."""
_last_run: dict[Path, set[str]] = {}  # the folder of the last file, and the modules that were loaded before it ran
_TABLES = ("q", "Q", "q_table", "Q_table")  # the names of dictionaries with a player's values
_Q_METHODS = ("get_q_value", "q_value", "get_value", "value")  # (heaps, (heap, count)) -> number


class PlayerError(ValueError):
    """The code of a player has failed."""


@dataclass(frozen=True)
class LoadedPlayer:
    """A player that was loaded from a file.

    Attributes:
        rules: The game.
        policy: The policy that it plays.
        values: Its values as a function of positions. None if it has no values.
        remark: A sentence about its values. Empty if there is nothing to say.
        is_trained: Whether it was trained by the function ``train`` of its file.
        discount: The discount of its training, which a model's file contains. None if it is not known.
        on_policy: For a critic, the policy to which its values belong; None for all other values. This policy
            draws its moves as in training, while ``policy`` plays the best moves. A model that was trained without
            masks has probabilities of illegal actions, which lose at once.
        initial: The value that its method returns for a pair that is missing from its dictionary. None if this is
            not known.
        make: A function that makes a new player of the same class. None unless the player has a dictionary ``q``
            with keys such as ``((1, 3, 5, 7), (0, 1))``.
    """

    rules: NimRules
    policy: policies.Policy
    values: QFunction | None = None
    remark: str = ""
    is_trained: bool = False
    discount: float | None = None
    on_policy: policies.Policy | None = None
    initial: float | None = None
    make: Callable[[], Any] | None = None

    @property
    def state_values(self) -> ValueFunction | None:
        """The best Q-value of each position, for the player to move. None if the player has no values."""
        values = self.values
        if values is None:
            return None

        def best(heaps: NDArray[Any]) -> NDArray[Any]:
            found = np.asarray(values(heaps))
            if found.ndim == 2:
                found = np.where(self.rules.action_mask(heaps), found, -np.inf).max(axis=1)
            return found

        return best

    def answer_at(self, heaps: Sequence[int]) -> str:
        """Asks a function again in a position in which it gave an illegal answer.

        Args:
            heaps: The position.

        Returns:
            The illegal answer in up to 200 characters, such as ``None`` or ``(0, 9)``. The string is empty if the
            policy is not a function, or if the function draws its answers and gives only legal ones this time.
        """
        position = np.array([heaps])
        if isinstance(self.policy, policies.FunctionPolicy):
            for _ in range(100):
                self.policy.action_probabilities(position, self.rules.action_mask(position))
                if self.policy.fault:
                    return shown(self.policy.illegal_answer)
        return ""


def load_player(name: str, rules: NimRules, episodes: int = 10_000) -> LoadedPlayer:
    """Loads the player that a command line names.

    The code of a file runs while it is loaded, but it prints nothing and gets no input.

    Args:
        name: The player: a policy, a file, or a name in a Python file, such as ``nim.py:player``.
        rules: The game.
        episodes: The number of games for a function ``train`` of a Python file.

    Returns:
        The player.

    Raises:
        PlayerError: If the code of the file fails. The message names the line.
        ValueError: If there is no such player, or if it was made for another game.
    """
    path = Path(name)
    if ".py:" in name:
        file, _, attribute = name.partition(".py:")
        with foreign_code(name, "when it is imported"):
            thing: Any = SimpleNamespace(**run_file(Path(f"{file}.py")))
        for part in attribute.split("."):
            if not hasattr(thing, part):
                raise ValueError(f"{file}.py has no {attribute}")
            thing = getattr(thing, part)
        return player_of(thing, rules, name)
    if path.suffix == ".py":
        return _of_program(path, rules, episodes)
    if path.suffix == ".ipynb":
        raise ValueError(f"{name} is a notebook; convert it to a program: jupyter nbconvert --to script {name}")
    if not path.is_file():
        named = policies.checked_policy(name, rules, f"there is no file {name}, so the player")
        return LoadedPlayer(rules, named)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{name} cannot be loaded; use {', '.join(SUFFIXES)}, or a FILE.py that reads the file")
    try:
        return player_of(_read(path, rules), rules, name)
    except Exception as error:  # PyTorch, zipfile, json and NumPy raise many kinds
        raise ValueError(f"{name} cannot be loaded: {shown(error, str)}") from error


def player_of(thing: Any, rules: NimRules, name: str = "player") -> LoadedPlayer:
    """Makes a player of a function, a policy, an agent, a table of Q-values, or an object with a method.

    An agent or a policy that was trained on a named encoding gets the observations of this encoding.

    Args:
        thing: The object.
        rules: The game.
        name: The name of the object in error messages.

    Returns:
        The player.

    Raises:
        ValueError: If the object is not a player, or if it was made for another game.
    """
    remark = ""
    if isinstance(thing, Mapping):
        entries = _entries(rules, thing, name)
        try:
            thing, remark = _table_of(rules, entries)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} is not a table of Q-values: {shown(error, str)}") from error
    if isinstance(thing, np.ndarray):
        return LoadedPlayer(rules, policies.greedy(rules, thing), _row_of(rules, thing), remark)
    sb3 = sys.modules.get("nim_env.sb3")  # not imported here, since it needs PyTorch
    if sb3 is not None and isinstance(thing, sb3.ModelPolicy):
        model = policies.checked_policy(thing, rules, name)
        values = thing.q_values or thing.values
        return LoadedPlayer(rules, model, values, discount=thing.discount, on_policy=thing.on_policy)
    if isinstance(thing, policies.Policy):
        return _of_policy(thing, rules, name)
    choose = next((getattr(thing, choice) for choice in CHOICES if hasattr(thing, choice)), thing)
    if not callable(choose) or inspect.isclass(thing):
        what = "a function, a policy, a table of Q-values or an object with choose_action or getMove"
        raise ValueError(f"{name} must be {what}; got {shown(thing)}{_remedy(thing, name)}")
    policy = _of_function(choose, rules, name)
    values, remark, initial = _values_of(thing, rules, name)
    return LoadedPlayer(rules, policy, values, remark, initial=initial, make=maker(thing))


def _remedy(thing: Any, name: str) -> str:
    """What to do with a thing that is not a player: make an object of a class, or name a method of an object."""
    if inspect.isclass(thing):
        return f"; make an object of the class: player = {thing.__name__}()"
    methods = inspect.getmembers(thing, lambda member: inspect.ismethod(member) and len(needed(member)) in (1, 2))
    public = [method for method, _ in methods if method[0] != "_"]
    if not public:
        return ""
    if re.fullmatch(r".*\.py:[\w.]+", name):
        return f"; name a method of it, as {name}.{public[0]}"
    file = name.partition(":")[0]
    return f"; keep it as `player` in the file and name a method of it, as {file}:player.{public[0]}"


def run_file(path: Path) -> dict[str, Any]:
    """Runs a Python file, which can import the modules in its folder as a script does.

    Modules in the folder of the previous file are forgotten first, so each file gets its own ones.

    Args:
        path: The file.

    Returns:
        What the file defines, by name.

    Raises:
        PlayerError: If there is no such file.
    """
    if not path.is_file():
        raise PlayerError(f"there is no file {path}")
    for folder, before in _last_run.items():
        for name in set(sys.modules) - before:
            file = Path(getattr(sys.modules[name], "__file__", None) or "")
            if folder in file.parents and "site-packages" not in file.parts:
                del sys.modules[name]
    _last_run.clear()
    folder = path.resolve().parent
    _last_run[folder] = set(sys.modules)
    with _neighbors_of(path), _replaced("dont_write_bytecode", True):
        return imported(path)


@functools.lru_cache
def _folder_of(file: str) -> str:
    """The folder of a file, with links resolved. It is cached, since a function is asked in every position."""
    return os.path.dirname(os.path.realpath(file))


@contextlib.contextmanager
def _neighbors_of(file: str | Path) -> Iterator[None]:
    """Lets code import the modules in the folder of its file, as a script does."""
    folder = _folder_of(os.path.abspath(file))
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:  # the code may have changed it
            sys.path.remove(folder)


@contextlib.contextmanager
def _replaced(name: str, value: Any) -> Iterator[None]:
    """Replaces an attribute of :mod:`sys` for a while. The standard unittest.mock would import asyncio."""
    before = getattr(sys, name)
    setattr(sys, name, value)
    try:
        yield
    finally:
        setattr(sys, name, before)


@contextlib.contextmanager
def foreign_code(name: str, where: str) -> Iterator[None]:
    """A context in which code of a player's file prints nothing, gets no input, and can import its neighbors.

    Args:
        name: The player, as the command line names it.
        where: At which point of the check the code runs, for error messages: "when it plays".

    Raises:
        PlayerError: If the code raises an error. The message names its line.
    """
    file = name.partition(":")[0]
    try:
        with (
            _neighbors_of(file),
            contextlib.redirect_stdout(io.StringIO()),
            _replaced("stdin", io.StringIO()),
        ):
            yield
    except (PlayerError, policies.InvalidPolicyOutput):
        raise
    except (Exception, SystemExit) as error:
        raise PlayerError(failure(error, name, where)) from error


def _read(path: Path, rules: NimRules) -> Any:
    if path.suffix == ".zip":
        from nim_env.sb3 import load_policy

        return load_policy(path, rules)
    if path.suffix == ".json":
        rows = json.loads(path.read_text(encoding="utf-8"))
        return {(tuple(heaps), (heap, count)): value for heaps, heap, count, value in rows}
    if path.suffix == ".npy":
        return np.load(path, allow_pickle=False)
    with np.load(path, allow_pickle=False) as arrays:
        if "game" in arrays and str(arrays["game"]) != str(rules):
            raise ValueError(f"its game is {arrays['game']}, not {rules}")
        if "probabilities" in arrays:
            return policies.TabularPolicy(rules, arrays["probabilities"])
        if len(arrays.files) != 1:
            raise ValueError(f"it must hold one array of Q-values, or probabilities; it holds {arrays.files}")
        return arrays[arrays.files[0]]


def _of_program(path: Path, rules: NimRules, episodes: int) -> LoadedPlayer:
    name = str(path)
    with foreign_code(name, "when it is imported"):
        things = run_file(path)
    choosing = {key: thing for key, thing in things.items() if key == "choose_action" or chooses(thing)}
    players = {key: thing for key, thing in choosing.items() if not inspect.isclass(thing)}
    first = next(iter(players or choosing), "")
    if len({id(thing) for thing in players.values()}) > 1:
        raise ValueError(f"{name} holds the players {', '.join(players)}: name one, as {name}:{first}")
    if players:
        return player_of(players[first], rules, name)
    train = things.get("train")
    if train is None:
        remedy = _remedy(choosing[first], name) if choosing else f"; name a function, as {name}:NAME"
        raise ValueError(f"{name} has no train(n) and no object with choose_action{remedy}")
    if len(arguments := needed(train)) > 1:
        wrapper = f"def train(n): return {path.stem}.train(n, ...)"
        raise ValueError(
            f"{name} has train({', '.join(arguments)}); write a file with `import {path.stem}` and `{wrapper}`"
        )
    with foreign_code(name, f"in train({episodes})"):
        trained = train(episodes)
    return replace(player_of(trained, rules, f"{name}: what train({episodes}) returns"), is_trained=True)


def _of_policy(policy: Any, rules: NimRules, name: str) -> LoadedPlayer:
    """A policy with its ``values``, or an agent with its ``q_values`` on the encoding of its training."""
    space = getattr(policy, "observation_space", None)
    if space is None:
        return LoadedPlayer(rules, policies.checked_policy(policy, rules, name), getattr(policy, "values", None))
    encoding = encoding_of(rules, space)
    is_plain = isinstance(encoding.space, MultiDiscrete)
    player = policies.checked_policy(policy if is_plain else policies.EncodedPolicy(policy, encoding), rules, name)
    try:
        policy.q_values(encoding(rules.heaps))
    except (AttributeError, NotImplementedError):
        return LoadedPlayer(rules, player)
    return LoadedPlayer(rules, player, lambda heaps: policy.q_values(encoding(heaps)))


def _of_function(choose: Callable[..., Any], rules: NimRules, name: str) -> policies.Policy:
    """A function or method as a policy. It does not explore, and its errors name the position."""
    arguments = needed(choose)
    options = {"epsilon": False} if "epsilon" in inspect.signature(choose).parameters else {}
    given = "observation, action_mask" if len(arguments) > 1 else "heap" if rules.n_heaps == 1 else "heaps"
    called = f"({given}{', epsilon=False' if options else ''})"
    if len(arguments) > 2:
        raise ValueError(f"{name} must take (heaps) or {called}; it needs ({', '.join(arguments)})")

    @functools.wraps(choose)
    def ask(heaps: Any, *mask: Any) -> Any:
        with foreign_code(name, f"at {'-'.join(map(str, np.atleast_1d(heaps)))}, called as {called}"):
            return choose(heaps, *mask, **options)

    if len(arguments) > 1:
        return policies.FunctionPolicy(ask)
    return policies.from_heap_size(rules, ask) or policies.from_moves(rules, ask)


def _values_of(thing: Any, rules: NimRules, name: str) -> tuple[QFunction | None, str, float | None]:
    """The values of an object, a remark on them, and the value of a pair that was never updated.

    They come from its dictionary, otherwise from one of its methods for a pair, otherwise from its method
    ``values``.
    """
    remark = ""
    method = next((method for method in _Q_METHODS if callable(getattr(thing, method, None))), "")
    tables = (getattr(thing, table, None) for table in _TABLES)
    for q in (table for table in tables if isinstance(table, Mapping) and table):
        entries = _entries(rules, q, name)
        try:
            table, remark = _table_of(rules, entries)
        except (TypeError, ValueError) as error:
            remark = f"Its values are not judged: {shown(error, str)}."
            continue
        initial = _initial_of(rules, entries, getattr(thing, method)) if method else None
        if initial and not remark:
            known = policies.q_values_of(rules, dict.fromkeys(entries, 1.0)) != 0
            legal = rules.action_mask(rules.all_positions()) > 0
            table = np.where(legal & ~known, initial, table)
        return _row_of(rules, table), remark, initial
    if method:
        try:
            with foreign_code(name, f"in {method}"):
                table = _answers_of(rules, getattr(thing, method))
        except PlayerError as error:
            return None, f"Its values are not judged: {error}.", None
        return _row_of(rules, table), f"Its values come from {method}.", None
    values = getattr(thing, "values", None)
    return values if callable(values) else None, remark, None


def _initial_of(rules: NimRules, entries: dict[Any, Any], value: Callable[..., Any]) -> float | None:
    """The value of the first pair that a dictionary lacks, by the player's own method; None if it is unknown."""
    pairs = ((heaps, move) for heaps in rules.all_positions()[1:].tolist() for move in rules.legal_moves(heaps))
    missing = next(((heaps, move) for heaps, move in pairs if (tuple(heaps), move) not in entries), None)
    if missing is None:
        return None
    try:
        with foreign_code("the player", "when its value is asked"):
            number = float(value(*missing))
    except (PlayerError, TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _row_of(rules: NimRules, table: NDArray[Any]) -> QFunction:
    return lambda heaps: table[rules.index(heaps)]


def _entries(rules: NimRules, q: Mapping[Any, Any], name: str) -> dict[Any, Any]:
    """The entries of a dictionary, or of the dictionaries in it.

    A key becomes (heaps, (heap, count)) if it holds the right number of numbers, in whatever form. Raises
    ValueError if there is no entry for the start of the game.
    """
    entries = {}
    for key, value in q.items():
        is_nested = isinstance(value, Mapping)
        inner = {(key, move): number for move, number in value.items()} if is_nested else {key: value}
        for whole, number in inner.items():
            numbers = tuple(_numbers(whole))
            entries[(numbers[:-2], numbers[-2:]) if len(numbers) == rules.n_heaps + 2 else whole] = number
    starts = {tuple(key[0]) for key in entries if isinstance(key, tuple) and isinstance(key[0], list | tuple)}
    if starts and rules.heaps not in starts:
        raise ValueError(f"{name} has no value at the start of {rules}; --heaps must be the board that it learns")
    return entries


def _numbers(key: Any) -> list[Any]:
    """Lists the numbers of a key in order, from nested tuples and strings such as ``1-3-5-7``."""
    if isinstance(key, tuple):
        return [number for part in key for number in _numbers(part)]
    return [*map(int, re.findall(r"\d+", key))] if isinstance(key, str) else [key]


def _table_of(rules: NimRules, entries: dict[Any, Any]) -> tuple[NDArray[np.float64], str]:
    """The Q-values of a dictionary as a table, and a remark on its keys.

    If the heaps of all keys are sorted, the values of a position count for all arrangements of its heaps. Raises
    TypeError or ValueError if a key or a value has another form.
    """
    known = {key: value for key, value in entries.items() if np.any(value != 0)}  # a defaultdict has more keys
    table = policies.q_values_of(rules, known)
    positions = {rules.heaps, *(tuple(heaps) for heaps, _ in known)}
    if rules.n_heaps == 1 or len(positions) == 1 or any(list(heaps) != sorted(heaps) for heaps in positions):
        return table, ""
    heaps = rules.all_positions()
    rows = np.asarray(rules.index(np.sort(heaps, axis=1)), dtype=np.intp)
    # the place of each action's heap in the sorted position
    places = heaps.argsort(axis=1, kind="stable").argsort(axis=1)[:, rules.move_heaps]
    actions = np.zeros((rules.n_heaps, max(rules.heaps) + 1), dtype=np.intp)
    actions[rules.move_heaps, rules.move_counts] = np.arange(rules.n_actions)
    table = np.where(rules.action_mask(heaps), table[rows[:, None], actions[places, rules.move_counts]], 0.0)
    return table, "The heaps of its keys are sorted: each value counts for all arrangements of them."


def _answers_of(rules: NimRules, value: Callable[[list[int], tuple[int, int]], Any]) -> NDArray[np.float64]:
    """The Q-values of a method ``(heaps, (heap, count)) -> number`` as a table."""
    table = np.zeros((rules.n_positions, rules.n_actions))
    for row, heaps in zip(table, rules.all_positions().tolist(), strict=True):
        for move in rules.legal_moves(heaps):
            row[rules.action(*move)] = float(value(list(heaps), move))
    return table
