"""Saves agents in files and loads them.

A file has the safetensors format, which cannot contain code. It holds the arrays that the agent has learned and,
as metadata, one JSON text with everything else.
"""

import inspect
import json
import os
import shutil
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from gymnasium import Space, spaces

CLASSES: dict[str, type[Any]] = {}
"""Every agent class that has been defined, by its :func:`class_name`."""
SPACE_ARGUMENTS = {
    "Discrete": ("n", "start"),
    "MultiDiscrete": ("nvec", "start", "dtype"),
    "MultiBinary": ("n",),
    "Box": ("low", "high", "dtype"),
}
NOT_SAVED = {"self", "observation_space", "action_space", "seed"}


def class_name(agent_class: type[Any]) -> str:
    """Returns the name that files use for a class: its module and its qualified name."""
    return f"{agent_class.__module__}.{agent_class.__qualname__}"


def save(agent: Any, path: str | os.PathLike[str]) -> None:
    """Saves an agent in a file. The docstring of :meth:`agents.Agent.save` describes the file and the errors."""
    arguments = {name: getattr(agent, name) for name in constructor_arguments(type(agent))}
    now = agent.progress_remaining
    description = {
        "class": class_name(type(agent)),
        "observation_space": _space_to_json(agent.observation_space),
        "action_space": _space_to_json(agent.action_space),
        "arguments": {
            name: _json_value(each(now) if callable(each) else each) for name, each in arguments.items()
        },
        "generator": agent.generator.bit_generator.state,
    }
    text = json.dumps(description)
    _new_agent(json.loads(text))  # so an invalid argument raises now rather than when the file is loaded
    target = Path(os.path.realpath(path))  # replaces the target of a symbolic link, not the link
    is_new = not target.exists()
    if not is_new and not target.is_file():
        # os.replace would replace a device by a file
        raise OSError(f"path must be a new file or a regular file; got {path}")
    temporary = target.with_name(f".{uuid.uuid4().hex}.tmp")
    # safetensors 0.8 writes the numbers of an array that is not C-contiguous in the wrong order
    arrays = {name: np.asarray(array, order="C") for name, array in agent.state_dict().items()}
    try:
        temporary.touch(0o666 if is_new else 0o600)  # never more readable than the file that it replaces
        temporary.write_bytes(safetensors.numpy.save(arrays, {"agent": text}))
        if not is_new:
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> Any:
    """Loads an agent from a file. The docstring of :func:`agents.load` describes the errors."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            description = json.loads(file.metadata()["agent"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dictionary
        agent = _new_agent(description)
        agent.load_state_dict(arrays)
        agent.generator.bit_generator.state = description["generator"]
    except OSError:
        raise
    except Exception as error:  # safetensors, json, NumPy, Gymnasium and custom classes raise a dozen types
        raise ValueError(f"{os.fspath(path)} is damaged or is not a saved agent: {error!r}") from error
    return agent


def constructor_arguments(agent_class: type[Any]) -> list[str]:
    """Returns the names of the constructor's arguments that a file holds: all except the spaces and the seed.

    If the constructor takes ``**kwargs``, the arguments of the parent class's constructor are included.
    """
    names: list[str] = []
    for parent in agent_class.__mro__:
        if "__init__" in vars(parent):
            parameters = inspect.signature(vars(parent)["__init__"]).parameters.values()
            by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
            names += [parameter.name for parameter in parameters if parameter.kind in by_name]
            if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
                break
    return [name for name in dict.fromkeys(names) if name not in NOT_SAVED]


def _new_agent(description: dict[str, Any]) -> Any:
    """Makes an untrained agent from the parsed JSON text of a file. Wrong values in it can raise any error."""
    if description["class"] not in CLASSES:
        hint = "import the module that defines it first"
        raise ValueError(f"the class {description['class']!r} is not one of {sorted(CLASSES)}; {hint}")
    its_spaces = [_space_from_json(description[name]) for name in ("observation_space", "action_space")]
    return CLASSES[description["class"]](*its_spaces, **description["arguments"])


def _space_to_json(space: Space[Any]) -> dict[str, Any]:
    """Converts a space to a dictionary for JSON. Raises TypeError for a kind of space that cannot be saved."""
    kind = type(space).__name__
    if kind not in SPACE_ARGUMENTS:
        raise TypeError(f"a {kind} space cannot be saved, only {', '.join(SPACE_ARGUMENTS)}; got {space}")
    return {"kind": kind, **{name: _json_value(getattr(space, name)) for name in SPACE_ARGUMENTS[kind]}}


def _json_value(value: Any) -> Any:
    """Converts a NumPy value to a Python value for JSON, and returns any other value unchanged."""
    if isinstance(value, np.dtype):
        return value.name
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _space_from_json(description: dict[str, Any]) -> Space[Any]:
    """Makes a space from the dictionary that :func:`_space_to_json` returned. Wrong values can raise any error."""
    arguments = {name: description[name] for name in SPACE_ARGUMENTS[description["kind"]]}
    for bound in arguments.keys() & {"low", "high"}:
        arguments[bound] = np.array(description[bound], description["dtype"])
    return getattr(spaces, description["kind"])(**arguments)
