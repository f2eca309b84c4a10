"""Players from files: what other people write, as policies with their values.

A player is named by

==================  =========================================================================================
``FILE.py``         an object with ``choose_action(heaps)``, or a function ``train(n)`` that returns one after
                    n games, as in CS50's project Nim
``FILE.py:NAME``    a function ``(heaps) -> (heap, count)`` or ``(observation, action_mask) -> action``, on a
                    single heap also ``(heap) -> number of objects``, an object with such a method
                    ``choose_action`` or ``getMove``, a policy, an agent, or a table of Q-values, a dictionary
                    or an array; NAME may have dots, as ``agent.get_move``
``.npy`` ``.npz``   Q-values of shape ``(n_positions, n_actions)``; a ``.npz`` holds this array alone, or one
                    named ``probabilities``
``.json``           Q-values in rows of heaps, heap, count and value: ``[[[1, 3, 5, 7], 0, 1, -0.5], ...]``
``.zip``            a model of Stable-Baselines3 or sb3-contrib
==================  =========================================================================================

or by a policy: ``random``, ``take-N``, ``expert``. Files ``.py`` and ``.zip`` run code when they are loaded: give
only those that you trust.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib.util
import inspect
import io
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import MultiDiscrete
from numpy.typing import NDArray

from nim_env import policies
from nim_env.encodings import encoding_of
from nim_env.evaluation import ValueFunction
from nim_env.rules import NimRules

SUFFIXES = (".py", ".npy", ".npz", ".json", ".zip")
"""The files that are read."""
QFunction: TypeAlias = Callable[[NDArray[Any]], Any]
"""Maps positions ``(n, n_heaps)`` to Q-values ``(n, n_actions)``, or to values of the player to move ``(n,)``."""
_last_run: dict[Path, set[str]] = {}  # the folder of the last file, and the modules that were there before it
_CHOICES = ("choose_action", "getMove")  # methods of a player that choose its move
_TABLES = ("q", "Q", "q_table", "Q_table")  # dictionaries of a player
_Q_METHODS = ("get_q_value", "q_value", "get_value", "value")  # of a player, (heaps, (heap, count)) -> number
_REMEDIES = {  # by a part of the message, mostly of programs for an older Python
    "Population must be a sequence": "since Python 3.11 it needs a list, as random.sample(list(moves), 1)",
    "'(set|dict_keys|dict_values)' object is not subscr": "make a list of it, as random.choice(list(moves))",
    "'float' object cannot be interpreted as an integer": "use // for integers; Python 3.12 refuses 2.0 for 2",
    "unhashable type: '(list|numpy.ndarray)'": "the heaps are a list; as the key of a dictionary use tuple(heaps)",
    "'collections' has no attribute|from 'collections'": "since Python 3.10 it is in collections.abc",
    "'fractions' has no attribute 'gcd'|'gcd' from": "since Python 3.9 it is math.gcd",
    "No module named '(imp|distutils|asyncore)'": "Python 3.12 removed this module; use importlib, or Python 3.11",
}


class PlayerError(ValueError):
    """The code of a player fails."""


@dataclass(frozen=True)
class LoadedPlayer:
    """A player that was read from a file.

    Attributes:
        rules: The game.
        policy: What it plays.
        values: Its values as a function of positions; None if it has none.
        remark: A sentence about its values; empty where there is nothing to say.
        is_trained: Whether the ``train`` of its file made it.
        discount: The discount with which it learned; None if it is not known. A model's file has it.
        on_policy: The policy that its values belong to, if they are those of a critic; None for all others. It
            draws its moves as in training, while ``policy`` plays the best ones. Probabilities of illegal actions,
            which a model trained without masks has, are those of losing at once.
        initial: The value that its method gives to a pair that its dictionary lacks; None if this is not known.
        make: Makes a new player of the same class, if it has a dictionary ``q`` with keys such as
            ``((1, 3, 5, 7), (0, 1))``; else None.
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
        """The values of positions for the player to move, the best of its Q-values there; None if it has none."""
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
        """Asks a function again in a position where it gave an illegal answer.

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
    """The player that a command line names, by the table above; a ValueError where there is none.

    ``episodes`` is the number of games for a ``train`` in a ``FILE.py``. Code of a file prints nothing and gets no
    input; a :class:`PlayerError` names its line where it fails.
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
        raise ValueError(f"{name} is a notebook; make a program of it: jupyter nbconvert --to script {name}")
    if not path.is_file():
        named = policies.checked_policy(name, rules, f"there is no file {name}, so the player")
        return LoadedPlayer(rules, named)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{name} is not read; {', '.join(SUFFIXES)} are, and a FILE.py can read the others")
    try:
        return player_of(_read(path, rules), rules, name)
    except Exception as error:  # PyTorch, zipfile, json and NumPy raise many kinds
        raise ValueError(f"{name} cannot be loaded: {shown(error, str)}") from error


def player_of(thing: Any, rules: NimRules, name: str = "player") -> LoadedPlayer:
    """A player of anything that the table above names; errors name it.

    An agent or a policy that was trained on a named encoding gets its observations.
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
    choose = next((getattr(thing, choice) for choice in _CHOICES if hasattr(thing, choice)), thing)
    if not callable(choose) or inspect.isclass(thing):
        what = "a function, a policy, a table of Q-values or an object with choose_action or getMove"
        raise ValueError(f"{name} must be {what}; got {shown(thing)}{_remedy(thing, name)}")
    policy = _of_function(choose, rules, name)
    first = next(iter(thing.q), None) if isinstance(getattr(thing, "q", None), Mapping) else None
    has_keys_of_course = isinstance(first, tuple) and [*map(type, first)] == [tuple, tuple]
    make = functools.partial(_new, thing) if has_keys_of_course else None
    return replace(_values_of(thing, rules, name), policy=policy, make=make)


def _new(thing: Any) -> Any:
    """A new player of the same class; if its class needs arguments, a copy with an empty table."""
    try:
        return type(thing)()
    except TypeError:
        new = copy.copy(thing)
        new.q = type(thing.q)() if isinstance(thing.q, dict) and not hasattr(thing.q, "default_factory") else {}
        return new


def _remedy(thing: Any, name: str) -> str:
    """How to make an object of a class, or to name the method of an object that takes one position."""
    if inspect.isclass(thing):
        return f"; make an object of the class: player = {thing.__name__}()"
    methods = inspect.getmembers(thing, lambda member: inspect.ismethod(member) and len(_needed(member)) in (1, 2))
    public = [method for method, _ in methods if method[0] != "_"]
    if not public:
        return ""
    if re.fullmatch(r".*\.py:[\w.]+", name):
        return f"; name a method of it, as {name}.{public[0]}"
    file = name.partition(":")[0]
    return f"; keep it as `player` in the file and name a method of it, as {file}:player.{public[0]}"


def run_file(path: Path) -> dict[str, Any]:
    """What a Python file defines. It may import its neighbors, as a script does; each run imports them anew."""
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
    is_taken = path.stem in {*sys.modules, *sys.stdlib_module_names}
    name = f"player_{path.stem}" if is_taken else path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # for pickles and other processes
    with _neighbors_of(path), _replaced("dont_write_bytecode", True):
        spec.loader.exec_module(module)
    return vars(module)


@functools.lru_cache
def _folder_of(file: str) -> str:
    """The folder of a file behind links; cached, since a function is asked in every position."""
    return os.path.dirname(os.path.realpath(file))


@contextlib.contextmanager
def _neighbors_of(file: str | Path) -> Iterator[None]:
    """Lets code import the modules beside its file, as a script does."""
    folder = _folder_of(os.path.abspath(file))
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:  # the code may have changed it
            sys.path.remove(folder)


@contextlib.contextmanager
def _replaced(name: str, value: Any) -> Iterator[None]:
    """Gives an attribute of :mod:`sys` another value. unittest.mock would import asyncio for that."""
    before = getattr(sys, name)
    setattr(sys, name, value)
    try:
        yield
    finally:
        setattr(sys, name, before)


@contextlib.contextmanager
def foreign_code(name: str, where: str) -> Iterator[None]:
    """Runs code of a player's file: it prints nothing, gets no input, and fails with a :class:`PlayerError`.

    It can import its neighbors at any time.
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
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == Path(file).resolve()]
        place = f"{name}, line {lines[-1]}," if lines else name
        said = shown(error, str)
        what = f"raises {type(error).__name__} ({said})"
        remedy = next((f": {_REMEDIES[part]}" for part in _REMEDIES if re.search(part, said)), "")
        if isinstance(error, EOFError) and "reading a line" in str(error):
            what = "asks for input"
        raise PlayerError(f"{place} {what} {where}{remedy}") from error


def shown(value: Any, text: Callable[[Any], str] = repr) -> str:
    """A value in up to 200 characters."""
    string = text(value)
    return string if len(string) <= 200 else f"{string[:200]}..."


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
    choosing = {key: thing for key, thing in things.items() if key == "choose_action" or _chooses(thing)}
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
    if len(needed := _needed(train)) > 1:
        wrapper = f"def train(n): return {path.stem}.train(n, ...)"
        raise ValueError(
            f"{name} has train({', '.join(needed)}); write a file with `import {path.stem}` and `{wrapper}`"
        )
    with foreign_code(name, f"in train({episodes})"):
        trained = train(episodes)
    return replace(player_of(trained, rules, f"{name}: what train({episodes}) returns"), is_trained=True)


def _chooses(thing: Any) -> bool:
    return not inspect.ismodule(thing) and any(callable(getattr(thing, choice, None)) for choice in _CHOICES)


def _of_policy(policy: Any, rules: NimRules, name: str) -> LoadedPlayer:
    """A policy with its ``values``, or an agent with its ``q_values`` on the encoding that it learned on."""
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
    """A function or method as a policy that does not explore; what it raises names the position."""
    needed = _needed(choose)
    options = {"epsilon": False} if "epsilon" in inspect.signature(choose).parameters else {}
    given = "observation, action_mask" if len(needed) > 1 else "heap" if rules.n_heaps == 1 else "heaps"
    called = f"({given}{', epsilon=False' if options else ''})"
    if len(needed) > 2:
        raise ValueError(f"{name} must take (heaps) or {called}; it needs ({', '.join(needed)})")

    @functools.wraps(choose)
    def ask(heaps: Any, *mask: Any) -> Any:
        with foreign_code(name, f"at {'-'.join(map(str, np.atleast_1d(heaps)))}, called as {called}"):
            return choose(heaps, *mask, **options)

    if len(needed) > 1:
        return policies.FunctionPolicy(ask)
    return policies.from_heap_size(rules, ask) or policies.from_moves(rules, ask)


def _needed(function: Callable[..., Any]) -> list[str]:
    """The parameters that must be given, but for ``epsilon``."""
    parameters = inspect.signature(function).parameters.values()
    is_given = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return [p.name for p in parameters if p.default is p.empty and p.kind not in is_given and p.name != "epsilon"]


def _values_of(thing: Any, rules: NimRules, name: str) -> LoadedPlayer:
    """A player with the values of an object, by its dictionary, else by a method; and what to say of them."""
    player = LoadedPlayer(rules, policies.RandomPolicy())
    methods = [method for method in _Q_METHODS if callable(getattr(thing, method, None))]
    tables = (getattr(thing, table, None) for table in _TABLES)
    for q in (table for table in tables if isinstance(table, Mapping) and table):
        entries = _entries(rules, q, name)
        try:
            table, remark = _table_of(rules, entries)
        except (TypeError, ValueError) as error:
            player = replace(player, remark=f"Its values are not judged: {shown(error, str)}.")
            continue
        initial = _initial_of(rules, entries, getattr(thing, methods[0])) if methods else None
        if initial and not remark:
            known = policies.q_values_of(rules, dict.fromkeys(entries, 1.0)) != 0
            legal = rules.action_mask(rules.all_positions()) > 0
            table = np.where(legal & ~known, initial, table)
        return replace(player, values=_row_of(rules, table), remark=remark, initial=initial)
    for method in methods:
        try:
            with foreign_code(name, f"in {method}"):
                table = _answers_of(rules, getattr(thing, method))
        except PlayerError as error:
            return replace(player, remark=f"Its values are not judged: {error}.")
        return replace(player, values=_row_of(rules, table), remark=f"Its values are those of {method}.")
    values = getattr(thing, "values", None)
    return replace(player, values=values if callable(values) else None)


def _initial_of(rules: NimRules, entries: dict[Any, Any], value: Callable[..., Any]) -> float | None:
    """The value of the first pair that a dictionary lacks, by the player's own method; None if unknown."""
    for heaps in rules.all_positions()[1:].tolist():
        for move in rules.legal_moves(heaps):
            if (tuple(heaps), move) not in entries:
                try:
                    with foreign_code("the player", "when its value is asked"):
                        number = float(value(heaps, move))
                except (PlayerError, TypeError, ValueError):
                    return None
                return number if np.isfinite(number) else None
    return None


def _row_of(rules: NimRules, table: NDArray[Any]) -> QFunction:
    return lambda heaps: table[rules.index(heaps)]


def _entries(rules: NimRules, q: Mapping[Any, Any], name: str) -> dict[Any, Any]:
    """The entries of a dictionary, also of nested ones; keys with the right numbers become (heaps, (heap, count)).

    Raises ValueError if there is no entry for the start of the game.
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
    """Lists the numbers of a key in their order, from nested tuples and strings such as ``1-3-5-7``."""
    if isinstance(key, tuple):
        return [number for part in key for number in _numbers(part)]
    return [*map(int, re.findall(r"\d+", key))] if isinstance(key, str) else [key]


def _table_of(rules: NimRules, entries: dict[Any, Any]) -> tuple[NDArray[np.float64], str]:
    """The Q-values of a dictionary, and a remark on its keys.

    Raises TypeError or ValueError if a key or a value has another form.
    """
    known = {key: value for key, value in entries.items() if np.any(value != 0)}  # a defaultdict has more keys
    table = policies.q_values_of(rules, known)
    positions = {rules.heaps, *(tuple(heaps) for heaps, _ in known)}
    if rules.n_heaps == 1 or len(positions) == 1 or any(list(heaps) != sorted(heaps) for heaps in positions):
        return table, ""
    heaps = rules.all_positions()
    rows = np.asarray(rules.index(np.sort(heaps, axis=1)))
    places = heaps.argsort(axis=1, kind="stable").argsort(axis=1)[:, rules.move_heaps]  # of each action's heap
    actions = np.zeros((rules.n_heaps, max(rules.heaps) + 1), dtype=np.int64)
    actions[rules.move_heaps, rules.move_counts] = np.arange(rules.n_actions)
    table = np.where(rules.action_mask(heaps), table[rows[:, None], actions[places, rules.move_counts]], 0.0)
    return table, "The heaps of its keys are sorted: each value counts for all arrangements of them."


def _answers_of(rules: NimRules, value: Callable[[list[int], tuple[int, int]], Any]) -> NDArray[np.float64]:
    """Q-values of a method ``(heaps, (heap, count)) -> number``."""
    table = np.zeros((rules.n_positions, rules.n_actions))
    for row, heaps in zip(table, rules.all_positions().tolist(), strict=True):
        for move in rules.legal_moves(heaps):
            row[rules.action(*move)] = float(value(list(heaps), move))
    return table
