"""Files of agents: JSON and arrays, written whole or not at all, read within limits, never with pickle.

A file has the layout of ``numpy.savez_compressed``; its array ``about`` holds the JSON. Since a file may be
crafted, it is read in steps, each of which bounds the next: the list of members and the headers of the arrays, the
JSON, and the arrays, once :meth:`Agent.check_headers` accepts their headers.
"""

from __future__ import annotations

import errno
import hashlib
import inspect
import io
import json
import math
import operator
import os
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

FORMAT = 2  # in format 1 the bounds of a box are written for each component
MAX_JSON = 2**16  # bytes
MAX_COMPONENTS = 10**6  # of all parts of a space, and actions
MAX_MEMBERS = 256  # the JSON and up to 255 arrays
MAX_READ = 2**17  # bytes; the list of this many members is shorter
MAX_HEADER = 2**10  # bytes, of one array
MAX_COMPRESSION = 1032  # of the deflate method


class ArrayHeader(NamedTuple):
    """Shape and dtype of an array in a file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def save(agent: Any, path: str | os.PathLike[str]) -> None:
    """See :meth:`Agent.save`."""
    kind = type(agent).__name__
    arrays = {name: np.asarray(array) for name, array in agent.state_dict().items()}
    for name, array in arrays.items():
        is_name = isinstance(name, str) and name.isprintable() and len(name) <= 100 and name != "about"
        if not is_name or array.dtype.kind in "OV":
            needed = "arrays of numbers or text under printable names of at most 100 characters other than 'about'"
            raise TypeError(f"{kind}.state_dict must hold {needed}; got {name!r}: {array!r}")
    about = {
        "format": FORMAT,
        "kind": kind,
        "observation_space": space_to_json(agent.observation_space),
        "action_space": space_to_json(agent.action_space),
        "hyperparameters": {name: _argument(agent, name) for name in constructor_arguments(type(agent))},
        "generator": agent.generator.bit_generator.state,
    }
    text = json.dumps(about).encode()
    try:
        _new_agent(type(agent), json.loads(text))
        if len(text) > MAX_JSON or len(arrays) >= MAX_MEMBERS:
            limits = f"at most {MAX_JSON:,} bytes of JSON (spaces and arguments) and {MAX_MEMBERS - 1} arrays"
            raise ValueError(f"a file holds {limits}; got {len(text):,} bytes and {len(arrays)} arrays")
    except Exception as error:
        raise ValueError(f"{kind} cannot be saved, since it could not be loaded: {_line(error)}") from error
    target = _target(path)
    temporary = _temporary_file(target)
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as file:
            for name, array in {**arrays, "about": np.frombuffer(text, dtype=np.uint8)}.items():
                with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def load(path: str | os.PathLike[str], classes: Mapping[str, type[Any]]) -> Any:
    """See :func:`agents.load`; ``classes`` by name."""
    file_name = os.fspath(path)
    if not stat.S_ISREG(os.stat(file_name).st_mode):
        raise ValueError(f"{file_name} is not a regular file, so it holds no agent")
    with _ShortReads(io.FileIO(file_name)) as stream:
        try:
            file = zipfile.ZipFile(stream)
            headers = _headers(file, os.stat(file_name).st_size)
            shape, dtype = headers.pop("about")
            if math.prod(shape) * dtype.itemsize > MAX_JSON:
                raise ValueError(f"its JSON has more than {MAX_JSON:,} bytes")
            about = json.loads(_array(file, "about").tobytes())
            kind, version, generator_state = str(about["kind"]), about["format"], about["generator"]
        except Exception as error:  # NumPy, zipfile, zlib and json raise a dozen kinds
            raise ValueError(f"{file_name} is damaged or is not a saved agent: {_line(error)}") from None
        if version not in (1, FORMAT) or kind not in classes:
            known = f"known are {sorted(classes)} in formats 1 and {FORMAT}"
            hint = "a custom class is known once the module that defines it is imported"
            raise ValueError(
                f"{file_name} holds a {_line(repr(kind))} in format {_line(version)}; {known} ({hint})"
            )
        try:
            agent = _new_agent(classes[kind], about)
            agent.check_headers(headers)
            agent.load_state_dict({name: _array(file, name) for name in headers})
            agent.generator.bit_generator.state = generator_state
        except Exception as error:
            cause = _line(f"{type(error).__name__}: {error}")
            hint = "the file is damaged, or was saved by another version of the class"
            raise ValueError(f"{file_name}: cannot restore its {kind}: {cause}; {hint}") from None
    return agent


def constructor_arguments(agent_class: type[Any]) -> list[str]:
    """The arguments of ``__init__`` that are saved, and through ``**kwargs`` those of the parent's."""
    names: list[str] = []
    for each in agent_class.__mro__:
        if "__init__" in vars(each):
            parameters = inspect.signature(vars(each)["__init__"]).parameters.values()
            by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
            names += [parameter.name for parameter in parameters if parameter.kind in by_name]
            if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
                break
    not_saved = {"self", "observation_space", "action_space", "seed", "table"}
    return [name for name in dict.fromkeys(names) if name not in not_saved]


def _argument(agent: Any, name: str) -> Any:
    """The current value of an argument of the constructor, as plain JSON."""
    problem = f"{type(agent).__name__} cannot be saved: "
    if not hasattr(agent, name):
        raise TypeError(f"{problem}it must keep its argument {name!r} as self.{name}")
    value = getattr(agent, name)
    value = value(agent.progress_remaining) if callable(value) else value
    value = value.item() if isinstance(value, np.generic) else value
    try:
        json.dumps(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{problem}its argument {name}={value!r}: {error}") from None
    return value


def _new_agent(agent_class: type[Any], about: dict[str, Any]) -> Any:
    """The agent of a description, which has learned nothing; any error if there is none."""
    observation_space, action_space = map(_checked_space, (about["observation_space"], about["action_space"]))
    if isinstance(action_space, spaces.Discrete) and action_space.n > MAX_COMPONENTS:
        raise ValueError(f"an agent in a file has at most {MAX_COMPONENTS:,} actions; got {action_space.n:,}")
    arguments = about["hyperparameters"]
    if unknown := sorted(arguments.keys() - set(constructor_arguments(agent_class))):
        raise ValueError(f"unknown arguments: {', '.join(unknown)}")
    return agent_class(observation_space, action_space, **arguments)


def _line(message: object) -> str:
    """A message as one short line without control characters, whatever a file has put into it."""
    text = " ".join(str(message).split())
    text = text if len(text) <= 200 else f"{text[:200]} ..."
    return "".join(char if char.isprintable() else "?" for char in text)


def _target(path: str | os.PathLike[str]) -> Path:
    """The file that ``path`` leads to, through symbolic links; an OSError if it cannot be replaced."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder to save to", str(target.parent))
    mode = target.stat().st_mode if os.path.lexists(target) else stat.S_IFREG
    if not stat.S_ISREG(mode):
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        raise OSError(number, "path must be a regular file or new", str(target))
    return target


def _temporary_file(target: Path) -> Path:
    """Where to write before the file gets its name; removes what killed processes have left for the same file."""
    prefix = f".{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}"  # as short for the longest name
    for left in target.parent.glob(f"{prefix}.*.tmp") if os.name == "posix" else ():
        try:
            os.kill(int(left.name.split(".")[2]), 0)  # an error if no such process runs
        except ProcessLookupError:
            left.unlink(missing_ok=True)
        except PermissionError:
            pass  # it runs
    return target.with_name(f"{prefix}.{os.getpid()}.tmp")


class _ShortReads(io.BufferedReader):
    """Reads less at once than asked for: ``zipfile`` asks for the list of all members, however long it is."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(MAX_READ if size is None or size < 0 else min(size, MAX_READ))


def _headers(file: zipfile.ZipFile, n_bytes: int) -> dict[str, ArrayHeader]:
    """The headers of all arrays by name; any error unless a file of ``n_bytes`` bytes can hold the arrays."""
    members = file.infolist()
    if len({member.filename for member in members}) < len(members) or len(members) > MAX_MEMBERS:
        raise ValueError(f"it has more than {MAX_MEMBERS} members, or two of one name")
    if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
        raise ValueError("it has a member that is not compressed by deflate")
    if sum(member.file_size for member in members) > MAX_COMPRESSION * n_bytes:
        raise ValueError("its members are larger than a file of its size can hold")
    headers = {}
    for member in members:
        if not member.filename.endswith(".npy"):
            raise ValueError(f"{member.filename} is not an array")
        with file.open(member) as stream:
            if np.lib.format.read_magic(stream) != (1, 0):
                raise ValueError(f"{member.filename} is no array in version 1.0 of NumPy's format")
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=MAX_HEADER)
            n_values = (member.file_size - stream.tell()) / (dtype.itemsize or math.nan)
        if dtype.kind in "OV" or min(shape, default=0) < 0 or math.prod(shape) != n_values:
            raise ValueError(f"{member.filename} does not hold the numbers or text of its header, {dtype}{shape}")
        headers[member.filename.removesuffix(".npy")] = ArrayHeader(shape, dtype)
    return headers


def _array(file: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with file.open(f"{name}.npy") as stream:
        array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def space_to_json(space: Space[Any]) -> dict[str, Any]:
    """A space as numbers, text, lists and dictionaries; a TypeError for a space of another kind."""
    if isinstance(space, spaces.Discrete):
        return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete):
        nvec, start = space.nvec.tolist(), space.start.tolist()
        return {"kind": "MultiDiscrete", "nvec": nvec, "start": start, "dtype": str(space.dtype)}
    if isinstance(space, spaces.MultiBinary):
        return {"kind": "MultiBinary", "n": list(space.n) if isinstance(space.n, tuple) else space.n}
    if isinstance(space, spaces.Box):
        low, high = (  # as text, since JSON has no infinity; one text if all components are equal
            (bound.flat[0] if bound.size and (bound == bound.flat[0]).all() else bound).astype(str).tolist()
            for bound in (space.low, space.high)
        )
        return {"kind": "Box", "low": low, "high": high, "shape": list(space.shape), "dtype": str(space.dtype)}
    if isinstance(space, spaces.Tuple):
        return {"kind": "Tuple", "spaces": [space_to_json(part) for part in space.spaces]}
    if isinstance(space, spaces.Dict):
        return {"kind": "Dict", "spaces": {name: space_to_json(part) for name, part in space.spaces.items()}}
    raise TypeError(f"a {type(space).__name__} space cannot be saved; got {space}")


def _checked_space(about: dict[str, Any]) -> Space[Any]:
    """The space that :func:`space_to_json` wrote; any error if there is none or it has too many components."""
    if _n_components(about) > MAX_COMPONENTS:
        raise ValueError(f"a space has more than {MAX_COMPONENTS:,} components")
    with np.errstate(all="raise"):  # numbers that do not fit the dtype of their space
        return _space(about)


def _n_components(about: dict[str, Any]) -> int:
    """The number of components of the parts that are short in JSON for any number of components."""
    if about["kind"] in ("Tuple", "Dict"):
        parts = about["spaces"]
        return sum(_n_components(part) for part in (parts.values() if isinstance(parts, dict) else parts))
    shape: Any = about["n"] if about["kind"] == "MultiBinary" else about.get("shape", [])
    sizes: list[int] = [operator.index(n) for n in (shape if isinstance(shape, list) else [shape])]
    if min(sizes, default=0) < 0:
        raise ValueError(f"a space has the negative size {min(sizes)}")
    return math.prod(sizes)


def _space(about: dict[str, Any]) -> Space[Any]:
    kind, dtype = about["kind"], np.dtype(about.get("dtype", "int64"))
    if dtype.kind not in "biuf":
        raise ValueError(f"{dtype} is not a dtype of numbers")
    if kind in ("Discrete", "MultiDiscrete"):
        sizes = np.array(about["n" if kind == "Discrete" else "nvec"], np.int64)
        start = np.array(about["start"], np.int64)
        if sizes.shape != start.shape or (start + (sizes - 1) < start).any():
            raise ValueError("the sizes and starts of a space differ in shape, or their sum exceeds 64 bits")
        if kind == "Discrete":
            return spaces.Discrete(sizes.item(), start=start.item())
        return spaces.MultiDiscrete(sizes, dtype=dtype.type, start=start)
    if kind == "MultiBinary":
        return spaces.MultiBinary(about["n"])
    if kind == "Box":
        texts = [np.array(about[name], "U32") for name in ("low", "high")]  # not as wide as the longest text
        bounds = [each == "True" if dtype.kind == "b" else each.astype(dtype) for each in texts]
        low, high = (np.broadcast_to(each, about.get("shape", each.shape)) for each in bounds)
        return spaces.Box(low, high, dtype=dtype.type)
    if kind == "Tuple":
        return spaces.Tuple([_space(part) for part in about["spaces"]])
    if kind == "Dict":
        return spaces.Dict({name: _space(part) for name, part in about["spaces"].items()})
    raise ValueError(f"{kind!r} is not a known space")
