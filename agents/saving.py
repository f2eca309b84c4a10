"""Saving agents to files and loading them: arrays and JSON, never pickle."""

from __future__ import annotations

import errno
import hashlib
import inspect
import json
import math
import os
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

if TYPE_CHECKING:
    from agents.agent import Agent

FORMAT = 1
MAX_ABOUT_BYTES = 2**23
MAX_BINARY_COMPONENTS = 10**6
registry: dict[str, type[Agent]] = {}
"""The classes that can be loaded, by name; :class:`Agent` enters every subclass."""
_NOT_SAVED = {"self", "observation_space", "action_space", "seed", "table"}


def save(agent: Agent, path: str | os.PathLike[str]) -> None:
    """See :meth:`Agent.save`."""
    arrays = {name: _checked_array(agent, name, array) for name, array in agent.state_dict().items()}
    about = {
        "format": FORMAT,
        "kind": type(agent).__name__,
        "observation_space": _space_to_json(agent.observation_space),
        "action_space": _space_to_json(agent.action_space),
        "hyperparameters": _arguments(agent),
        "hashed": "keys" in arrays,
        "generator": agent.generator.bit_generator.state,
    }
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder to save to", str(target.parent))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "path must be a file, not a folder", str(target))
    temporary = _temporary_file(target)
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as file:  # the layout of numpy.savez_compressed
            for name, array in arrays.items():
                with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _temporary_file(target: Path) -> Path:
    """Where to write before the file gets its name; removes what killed processes have left for the same file."""
    prefix = f".{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}"  # as short for the longest name
    for left in target.parent.glob(f"{prefix}.*.tmp"):
        if not _is_running(int(left.name.split(".")[2])):
            left.unlink(missing_ok=True)
    return target.with_name(f"{prefix}.{os.getpid()}.tmp")


def _is_running(process: int) -> bool:
    if os.name != "posix":
        return True  # elsewhere os.kill would end the process
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def load(path: str | os.PathLike[str]) -> Agent:
    """Loads the agent that :meth:`Agent.save` wrote to ``path``, its generator included.

    The agent has the class it was saved with; the module that defines the class must have been imported. Names,
    sizes, types and shapes of the arrays are checked before any of them is read.

    Args:
        path: The file.

    Returns:
        The agent.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is damaged, is not a saved agent, or holds an agent of an unknown class; or the class
            cannot be constructed from the arguments in it.
    """
    file_name = os.fspath(path)
    with open(path, "rb") as stream:
        try:
            file = zipfile.ZipFile(stream)
            headers = {_array_name(member): _read_header(file, member) for member in file.infolist()}
            about_header = headers.pop("about")
            if about_header.nbytes > MAX_ABOUT_BYTES:
                raise ValueError(f"its description has {about_header.nbytes:,} bytes")
            about = json.loads(_read_array(file, "about").tobytes())
            kind, version = str(about["kind"]), about["format"]
            with np.errstate(all="raise"):  # numbers that do not fit the dtype of their space
                observation_space, action_space = (
                    _space_from_json(about[name]) for name in ("observation_space", "action_space")
                )
            arguments, generator_state = dict(about["hyperparameters"]), about["generator"]
        except Exception as error:  # NumPy, zipfile, zlib and json raise a dozen kinds
            raise ValueError(f"{file_name} is damaged or is not a saved agent: {error}") from None
        if version != FORMAT or kind not in registry:
            raise ValueError(
                f"{file_name} holds a {kind!r} in format {version!r}; known are {sorted(registry)} in format "
                f"{FORMAT} (a class of your own is known once the module that defines it is imported)"
            )
        try:
            agent = registry[kind](observation_space, action_space, **arguments)
            agent.check_headers(headers)
            agent.load_state_dict({name: _read_array(file, name) for name in headers})
            agent.generator.bit_generator.state = generator_state
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise ValueError(f"{file_name} is damaged or is not a saved agent: {error}") from None
        except Exception as error:
            raise ValueError(f"{file_name}: cannot restore its {kind}: {type(error).__name__}: {error}") from error
    return agent


class ArrayHeader(NamedTuple):
    """Shape and dtype of an array in a file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """The size of the array in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


def _array_name(member: zipfile.ZipInfo) -> str:
    if not member.filename.endswith(".npy"):
        raise ValueError(f"{member.filename} is not an array")
    return member.filename.removesuffix(".npy")


def _read_header(file: zipfile.ZipFile, member: zipfile.ZipInfo) -> ArrayHeader:
    """The header of an array; a ValueError if it does not agree with the size of the member."""
    with file.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        if version != (1, 0):
            raise ValueError(f"{member.filename} has version {version} of the format of NumPy")
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        header = ArrayHeader(shape, dtype)
        if dtype.hasobject or dtype.itemsize == 0 or min(shape, default=0) < 0:
            raise ValueError(f"{member.filename} holds {dtype} of shape {shape}")
        if header.nbytes != member.file_size - stream.tell():
            raise ValueError(f"{member.filename} does not have the size of its header")
    return header


def _read_array(file: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with file.open(f"{name}.npy") as stream:
        array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _constructor_arguments(agent_class: type[Agent]) -> list[str]:
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


def _arguments(agent: Agent) -> dict[str, Any]:
    """The current values of the constructor's arguments, as plain JSON.

    A schedule whose value the constructor would refuse is left out, so that the agent can be loaded.
    """
    arguments = {}
    for name in _constructor_arguments(type(agent)):
        value = _argument(agent, name)
        if callable(getattr(agent, name)):
            try:
                type(agent)(agent.observation_space, agent.action_space, **{name: value})
            except (TypeError, ValueError) as error:
                warnings.warn(
                    f"the file leaves out the schedule of {name}, so the loaded agent has the default: {error}",
                    stacklevel=4,
                )
                continue
        arguments[name] = value
    return arguments


def _argument(agent: Agent, name: str) -> Any:
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


def _checked_array(agent: Agent, name: Any, array: Any) -> NDArray[Any]:
    checked = np.asarray(array)
    if not isinstance(name, str) or name == "about" or checked.dtype.hasobject:
        raise TypeError(
            f"{type(agent).__name__}.state_dict must hold arrays without objects under names other than 'about'; "
            f"got {name!r}: {array!r}"
        )
    return checked


def _space_to_json(space: Space[Any]) -> dict[str, Any]:
    """A space as numbers, text, lists and dictionaries; a TypeError for a space of another kind."""
    if isinstance(space, spaces.Discrete):
        return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete):
        return {
            "kind": "MultiDiscrete",
            "nvec": space.nvec.tolist(),
            "start": space.start.tolist(),
            "dtype": str(space.dtype),
        }
    if isinstance(space, spaces.MultiBinary):
        return {"kind": "MultiBinary", "n": list(space.shape) if len(space.shape) > 1 else space.shape[0]}
    if isinstance(space, spaces.Box):
        low, high = space.low.astype(str).tolist(), space.high.astype(str).tolist()  # text, as JSON has no inf
        return {"kind": "Box", "low": low, "high": high, "dtype": str(space.dtype)}
    if isinstance(space, spaces.Tuple):
        return {"kind": "Tuple", "spaces": [_space_to_json(part) for part in space.spaces]}
    if isinstance(space, spaces.Dict):
        return {"kind": "Dict", "spaces": {name: _space_to_json(part) for name, part in space.spaces.items()}}
    raise TypeError(f"a {type(space).__name__} space cannot be saved; got {space}")


def _space_from_json(about: dict[str, Any]) -> Space[Any]:
    """The space that :func:`_space_to_json` wrote."""
    kind = about["kind"]
    if kind == "Discrete":
        _check_largest(about["start"] + about["n"] - 1)
        return spaces.Discrete(about["n"], start=about["start"])
    if kind == "MultiDiscrete":
        dtype = _number_dtype(about["dtype"])
        nvec, start = np.array(about["nvec"], dtype), np.array(about["start"])
        _check_largest(int((nvec.astype(object) + start.astype(object)).max()) - 1)
        return spaces.MultiDiscrete(nvec, dtype=dtype.type, start=start)
    if kind == "MultiBinary":
        if math.prod(np.ravel(about["n"]).tolist()) > MAX_BINARY_COMPONENTS:
            raise ValueError(
                f"a MultiBinary space may have {MAX_BINARY_COMPONENTS:,} components; got {about['n']}"
            )
        return spaces.MultiBinary(about["n"])
    if kind == "Box":
        dtype = _number_dtype(about["dtype"])
        low, high = (np.array(about[bound], dtype=str).astype(dtype) for bound in ("low", "high"))
        return spaces.Box(low, high, dtype=dtype.type)
    if kind == "Tuple":
        return spaces.Tuple([_space_from_json(part) for part in about["spaces"]])
    if kind == "Dict":
        return spaces.Dict({name: _space_from_json(part) for name, part in about["spaces"].items()})
    raise ValueError(f"{kind!r} is not a known space")


def _number_dtype(name: str) -> np.dtype[Any]:
    dtype = np.dtype(name)
    if dtype.kind not in "biuf" or dtype.subdtype is not None:
        raise ValueError(f"{name!r} is not a dtype of numbers")
    return dtype


def _check_largest(largest: int) -> None:
    if largest > np.iinfo(np.int64).max:
        raise ValueError(f"the largest value of the space, {largest}, exceeds 64 bits")
