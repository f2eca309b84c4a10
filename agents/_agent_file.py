"""Files of agents: what :meth:`Agent.save` writes and :func:`agents.load` reads."""

from __future__ import annotations

import inspect
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from agents import _array_file
from agents._space_json import MAX_COMPONENTS, space_from_json, space_to_json

FORMAT = 2  # in format 1 the bounds of a box are written for each component
_NOT_SAVED = {"self", "observation_space", "action_space", "seed", "table"}


def save(agent: Any, path: str | os.PathLike[str]) -> None:
    """See :meth:`Agent.save`."""
    kind = type(agent).__name__
    arrays = {name: _checked_array(agent, name, array) for name, array in agent.state_dict().items()}
    about = {
        "format": FORMAT,
        "kind": kind,
        "observation_space": space_to_json(agent.observation_space),
        "action_space": space_to_json(agent.action_space),
        "hyperparameters": {name: _argument(agent, name) for name in constructor_arguments(type(agent))},
        "generator": agent.generator.bit_generator.state,
    }
    try:
        _new_agent(type(agent), json.loads(json.dumps(about)))
    except Exception as error:
        raise ValueError(f"{kind} cannot be saved, since it could not be loaded: {_line(error)}") from error
    _array_file.write(path, about, arrays)


def load(path: str | os.PathLike[str], classes: Mapping[str, type[Any]]) -> Any:
    """See :func:`agents.load`; ``classes`` by name."""
    file_name = os.fspath(path)
    with _array_file.open_file(path) as stream:
        try:
            file = _array_file.ArrayFile(stream)
            about = file.about
            kind, version, generator_state = str(about["kind"]), about["format"], about["generator"]
        except Exception as error:  # NumPy, zipfile, zlib and json raise a dozen kinds
            raise ValueError(f"{file_name} is damaged or is not a saved agent: {_line(error)}") from None
        if version not in (1, FORMAT) or kind not in classes:
            raise ValueError(
                f"{file_name} holds a {_line(repr(kind))} in format {_line(version)}; "
                f"known are {sorted(classes)} in formats 1 and {FORMAT} "
                f"(your own class is known once the module that defines it is imported)"
            )
        try:
            agent = _new_agent(classes[kind], about)
            agent.check_headers(file.headers)
            agent.load_state_dict(file.read_arrays())
            agent.generator.bit_generator.state = generator_state
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise ValueError(f"{file_name} is damaged or is not a saved agent: {_line(error)}") from None
        except Exception as error:
            message = _line(f"{type(error).__name__}: {error}")
            raise ValueError(f"{file_name}: cannot restore its {kind}: {message}") from None
    return agent


def _new_agent(agent_class: type[Any], about: dict[str, Any]) -> Any:
    """The agent of a description, which has learned nothing; any error if there is none."""
    observation_space, action_space = (
        space_from_json(about[f"{name}_space"]) for name in ("observation", "action")
    )
    if isinstance(action_space, spaces.Discrete) and action_space.n > MAX_COMPONENTS:
        raise ValueError(
            f"its action space has {action_space.n:,} actions; at most {MAX_COMPONENTS:,} can be loaded"
        )
    arguments = about["hyperparameters"]
    if unknown := sorted(arguments.keys() - set(constructor_arguments(agent_class))):
        raise ValueError(f"unknown arguments: {', '.join(unknown)}")
    return agent_class(observation_space, action_space, **arguments)


def _line(message: object) -> str:
    """A message as one short line without control characters, whatever a file has put into it."""
    text = " ".join(str(message).split())
    text = text if len(text) <= 200 else f"{text[:200]} ..."
    return "".join(char if char.isprintable() else "?" for char in text)


def constructor_arguments(agent_class: type[Any]) -> list[str]:
    """The arguments of ``__init__``, and through ``**kwargs`` those of the parent's."""
    names: list[str] = []
    for each in agent_class.__mro__:
        if "__init__" in vars(each):
            parameters = inspect.signature(vars(each)["__init__"]).parameters.values()
            names += [
                parameter.name
                for parameter in parameters
                if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            ]
            if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
                break
    return [name for name in dict.fromkeys(names) if name not in _NOT_SAVED]


def _argument(agent: Any, name: str) -> Any:
    """The current value of an argument of the constructor, as plain JSON."""
    class_name = type(agent).__name__
    if not hasattr(agent, name):
        raise TypeError(f"{class_name} cannot be saved: it must keep its argument {name!r} as self.{name}")
    value = getattr(agent, name)
    if callable(value):
        value = value(agent.progress_remaining)
    if isinstance(value, np.generic):
        value = value.item()
    try:
        json.dumps(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{class_name} cannot be saved: its argument {name}={value!r}: {error}") from None
    return value


def _checked_array(agent: Any, name: Any, array: Any) -> NDArray[Any]:
    checked, longest = np.asarray(array), _array_file.MAX_NAME_LENGTH
    is_name = isinstance(name, str) and name.isprintable() and len(name) <= longest and name != "about"
    if not is_name or not _array_file.is_plain(checked.dtype):
        raise TypeError(
            f"{type(agent).__name__}.state_dict must hold arrays of numbers or text under printable names of at "
            f"most {longest} characters, none of them 'about'; got {name!r}: {array!r}"
        )
    return checked
