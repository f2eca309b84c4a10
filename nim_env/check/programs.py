"""Finds the player in a program that somebody else wrote, and describes the errors that the program raises.

The web page "Your own program" uses this module too, in a browser that has neither NumPy nor this package. So the
module needs only the standard library, and the functions that the page calls must keep their names.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

CHOICE_METHODS = ("choose_action", "getMove")
"""The names of methods that choose a player's move. An object with one of them is a player."""


def has_choice_method(thing: Any) -> bool:
    """Returns whether an object or a class has one of the :data:`CHOICE_METHODS`.

    Returns False for a module. A program can import one with a function of this name, but the module is not a
    player.
    """
    return not inspect.ismodule(thing) and any(callable(getattr(thing, choice, None)) for choice in CHOICE_METHODS)


def players_in(definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Finds the players that a file defines.

    A player is a function named ``choose_action``, or an object with one of the :data:`CHOICE_METHODS`.

    Args:
        definitions: Everything that the file defines at its top level, by name.

    Returns:
        The players by name. A player with two names is listed once, under the first.
    """
    players: dict[int, str] = {}
    for name, thing in definitions.items():
        if not inspect.isclass(thing) and (name == "choose_action" or has_choice_method(thing)):
            players.setdefault(id(thing), name)
    return {name: definitions[name] for name in players.values()}


def choice_of(player: Any) -> tuple[Any, dict[str, bool]]:
    """Finds the function or method to call for a player's move.

    Args:
        player: An object with one of the :data:`CHOICE_METHODS`, or a function.

    Returns:
        The function or method, and the keyword arguments to call it with. These are ``{"epsilon": False}``, which
        turns off exploration, if it has a parameter ``epsilon``, and otherwise ``{}``.
    """
    choose = next((getattr(player, choice) for choice in CHOICE_METHODS if hasattr(player, choice)), player)
    explores = callable(choose) and "epsilon" in inspect.signature(choose).parameters
    return choose, {"epsilon": False} if explores else {}


def required_parameters(function: Callable[..., Any]) -> list[str]:
    """Lists the names of the parameters that a caller must pass.

    ``epsilon`` is left out, because :func:`choice_of` says what to pass for it.
    """
    parameters = inspect.signature(function).parameters.values()
    is_given = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return [p.name for p in parameters if p.default is p.empty and p.kind not in is_given and p.name != "epsilon"]


def only_player(definitions: Mapping[str, Any], file: str) -> Any:
    """Finds the player of a file that must not define more than one.

    Args:
        definitions: Everything that the file defines at its top level, by name.
        file: The name of the file for error messages.

    Returns:
        The player. ``None`` if the file defines none.

    Raises:
        ValueError: If the file defines several players.
    """
    players = players_in(definitions)
    if len(players) > 1:
        first = next(iter(players))
        raise ValueError(f"{file} holds the players {', '.join(players)}: name one, as {file}:{first}")
    return next(iter(players.values()), None)


def training_function(definitions: Mapping[str, Any], file: str) -> Callable[[int], Any]:
    """Finds the function ``train`` of a file that defines no player.

    Args:
        definitions: Everything that the file defines at its top level, by name.
        file: The name of the file for error messages.

    Returns:
        The function. It takes the number of games.

    Raises:
        ValueError: If there is no such function, or if it needs other arguments.
    """
    train = definitions.get("train")
    if train is None:
        classes = [thing for thing in definitions.values() if has_choice_method(thing)]
        hint = how_to_name_a_player(classes[0], file) if classes else f"; name a function, as {file}:NAME"
        raise ValueError(f"{file} has no train(n) and no object with choose_action{hint}")
    required = required_parameters(train)
    if len(required) > 1:
        module = Path(file).stem
        wrapper = f"`import {module}` and `def train(n): return {module}.train(n, ...)`"
        raise ValueError(f"{file} has train({', '.join(required)}); write a file with {wrapper}")
    return train


def how_to_name_a_player(thing: Any, name: str) -> str:
    """Writes a hint for users who name a class, or an object that cannot play, where a player is expected.

    Args:
        thing: The class or the object.
        name: What the user wrote on the command line, such as ``nim.py:NimAI``.

    Returns:
        The end of an error message, such as ``"; make an object of the class: player = NimAI()"``. It is empty if
        the object has no method that could choose moves.
    """
    if inspect.isclass(thing):
        return f"; make an object of the class: player = {thing.__name__}()"
    methods = inspect.getmembers(
        thing, lambda member: inspect.ismethod(member) and len(required_parameters(member)) in (1, 2)
    )
    public = [method for method, _ in methods if method[0] != "_"]
    if not public:
        return ""
    if re.fullmatch(r".*\.py:[\w.]+", name):
        return f"; name a method of it, as {name}.{public[0]}"
    file = name.partition(":")[0]
    return f"; keep it as `player` in the file and name a method of it, as {file}:player.{public[0]}"


def player_factory(player: Any) -> Callable[[], Any] | None:
    """Returns a function that makes new, untrained players of the same class as ``player``, to test their methods.

    If the class needs arguments, a new player is a copy of ``player`` with an empty dictionary ``q``.

    Only players that are written as in CS50's project Nim can be tested. They have a dictionary ``q`` whose keys
    are pairs of a position and a move, such as ``((1, 3, 5, 7), (0, 1))``. For other players, returns ``None``.
    """
    first = next(iter(player.q), None) if isinstance(getattr(player, "q", None), Mapping) else None
    has_keys_of_project = isinstance(first, tuple) and [*map(type, first)] == [tuple, tuple]
    return functools.partial(_new, player) if has_keys_of_project else None


def _new(player: Any) -> Any:
    """Makes a new player of the class of ``player``.

    If the class needs arguments, the new player is a copy of ``player`` with an empty ``q``.
    """
    try:
        return type(player)()
    except TypeError:
        new = copy.copy(player)
        new.q = type(player.q)() if isinstance(player.q, dict) and not hasattr(player.q, "default_factory") else {}
        return new


def import_file(path: Path) -> dict[str, Any]:
    """Imports a Python file, even if another module already has its name.

    Args:
        path: The file.

    Returns:
        Everything that the file defines at its top level, by name.
    """
    is_taken = path.stem in {*sys.modules, *sys.stdlib_module_names}
    name = f"player_{path.stem}" if is_taken else path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # for pickles and other processes
    spec.loader.exec_module(module)
    return vars(module)


class PlayerError(ValueError):
    """The code of a player has raised an error or called ``sys.exit``."""


_REMEDIES = {  # what to do, by a pattern of the error message; most of these programs are for an older Python
    "Population must be a sequence": "since Python 3.11 it needs a list, as random.sample(list(moves), 1)",
    "'(set|dict_keys|dict_values)' object is not subscr": "make a list of it, as random.choice(list(moves))",
    "'float' object cannot be interpreted as an integer": "use // for integers; Python 3.12 refuses 2.0 for 2",
    "unhashable type: '(list|numpy.ndarray)'": "the heaps are a list; as the key of a dictionary use tuple(heaps)",
    "'collections' has no attribute|from 'collections'": "since Python 3.10 it is in collections.abc",
    "'fractions' has no attribute 'gcd'|'gcd' from": "since Python 3.9 it is math.gcd",
    "No module named '(imp|distutils|asyncore)'": "Python 3.12 removed this module; use importlib, or Python 3.11",
}


def shorten(value: Any, text: Callable[[Any], str] = repr) -> str:
    """Shows a value in up to 200 characters.

    Args:
        value: The value.
        text: The function that converts it to a string.

    Returns:
        The string, with an ellipsis if it was cut.
    """
    string = text(value)
    return string if len(string) <= 200 else f"{string[:200]}..."


@contextlib.contextmanager
def describing_errors(name: str, when: str = "", others: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Runs a player's code in a ``with`` block, and turns its errors into a :class:`PlayerError`.

    Args:
        name: The player's name on the command line, such as ``nim.py`` or ``nim.py:player``.
        when: When the code runs, in the words of the error message, such as "at 0-0-1", which means that it plays
            at the heap sizes 0, 0 and 1. Empty while the file is imported.
        others: Types of errors that are not turned into a :class:`PlayerError`.

    Raises:
        PlayerError: If the code raises an error or calls ``sys.exit``.
    """
    try:
        yield
    except others:
        raise
    except (Exception, SystemExit) as error:
        raise PlayerError(describe_error(error, name, when)) from error


def describe_error(error: BaseException, name: str, when: str) -> str:
    """Describes an error that a player's code has raised.

    Args:
        error: The error.
        name: The player's name on the command line, such as ``nim.py`` or ``nim.py:player``.
        when: When the code ran, such as "at 0-0-1", which means that it played at the heap sizes 0, 0 and 1. Empty
            if the file was being imported.

    Returns:
        The description, such as ``nim.py, line 3: KeyError: 7 (at 0-0-1)``. The line is the last one of the
        player's file in the traceback. If the error is a common one, the description ends with a remedy.
    """
    file = Path(name.partition(":")[0]).resolve()
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == file]
    said = shorten(error, str)
    if isinstance(error, SyntaxError) and Path(error.filename or "").resolve() == file:
        lines, said = [error.lineno], error.msg  # the program has not run, so no line of it is in the traceback
    place = f"{name}, line {lines[-1]}" if lines else name
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    if isinstance(error, EOFError) and "reading a line" in said:
        what = "it asks for input"
    remedy = next((f": {_REMEDIES[part]}" for part in _REMEDIES if re.search(part, said)), "")
    return f"{place}: {what}{f' ({when})' if when else ''}{remedy}"
