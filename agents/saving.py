"""Files of agents: arrays, and one JSON text as metadata, in the format of safetensors, which holds no code."""

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
"""Every class of agents, by :func:`class_name`."""
SPACE_ARGUMENTS = {
    "Discrete": ("n", "start"),
    "MultiDiscrete": ("nvec", "start", "dtype"),
    "MultiBinary": ("n",),
    "Box": ("low", "high", "dtype"),
}
NOT_SAVED = {"self", "observation_space", "action_space", "seed"}


def class_name(agent_class: type[Any]) -> str:
    """The module and name of a class, as files have it."""
    return f"{agent_class.__module__}.{agent_class.__qualname__}"


def save(agent: Any, path: str | os.PathLike[str]) -> None:
    """See :meth:`Agent.save`."""
    arguments = {name: getattr(agent, name) for name in constructor_arguments(type(agent))}
    now = agent.progress_remaining
    description = {
        "class": class_name(type(agent)),
        "observation_space": _space_to_json(agent.observation_space),
        "action_space": _space_to_json(agent.action_space),
        "arguments": {name: _plain(each(now) if callable(each) else each) for name, each in arguments.items()},
        "generator": agent.generator.bit_generator.state,
    }
    text = json.dumps(description)
    _new_agent(json.loads(text))  # raises here rather than when the file is loaded
    target = Path(os.path.realpath(path))  # a symbolic link stays
    is_new = not target.exists()
    if not is_new and not target.is_file():
        raise OSError(f"path must be a regular file or new; got {path}")  # os.replace would replace a device
    temporary = target.with_name(f".{uuid.uuid4().hex}.tmp")
    # safetensors 0.8 saves arrays that are not C-contiguous in the wrong order
    arrays = {name: np.asarray(array, order="C") for name, array in agent.state_dict().items()}
    try:
        temporary.touch(0o666 if is_new else 0o600)  # no more open to others than the file that it replaces
        temporary.write_bytes(safetensors.numpy.save(arrays, {"agent": text}))
        if not is_new:
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> Any:
    """See :func:`agents.load`."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            description = json.loads(file.metadata()["agent"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  it is no dictionary
        agent = _new_agent(description)
        agent.load_state_dict(arrays)
        agent.generator.bit_generator.state = description["generator"]
    except OSError:
        raise
    except Exception as error:  # safetensors, json, NumPy, Gymnasium and custom classes raise a dozen kinds
        raise ValueError(f"{os.fspath(path)} is damaged or is not a saved agent: {error!r}") from error
    return agent


def constructor_arguments(agent_class: type[Any]) -> list[str]:
    """The arguments of ``__init__`` that are saved, and through ``**kwargs`` those of the parent's."""
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
    """The agent of a description, which has learned nothing; any error if there is none."""
    if description["class"] not in CLASSES:
        hint = "a custom class is known once the module that defines it is imported"
        raise ValueError(f"its class {description['class']!r} is not one of {sorted(CLASSES)}; {hint}")
    its_spaces = [_space_from_json(description[name]) for name in ("observation_space", "action_space")]
    return CLASSES[description["class"]](*its_spaces, **description["arguments"])


def _space_to_json(space: Space[Any]) -> dict[str, Any]:
    """A space as numbers, text and lists; a TypeError for a space of another kind."""
    kind = type(space).__name__
    if kind not in SPACE_ARGUMENTS:
        raise TypeError(f"a {kind} space cannot be saved; got {space}")
    return {"kind": kind, **{name: _plain(getattr(space, name)) for name in SPACE_ARGUMENTS[kind]}}


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, np.dtype):
        return value.name
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _space_from_json(description: dict[str, Any]) -> Space[Any]:
    """The space that :func:`_space_to_json` wrote; any error if there is none."""
    arguments = {name: description[name] for name in SPACE_ARGUMENTS[description["kind"]]}
    for bound in arguments.keys() & {"low", "high"}:
        arguments[bound] = np.array(description[bound], description["dtype"])
    return getattr(spaces, description["kind"])(**arguments)
