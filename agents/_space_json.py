"""Spaces as plain JSON, and back without trust in what a file says."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

MAX_COMPONENTS = 10**6  # of all parts of a space
MAX_DTYPE_LENGTH = 16  # "float128" has 8


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
        low, high = _bound_to_json(space.low), _bound_to_json(space.high)
        return {"kind": "Box", "low": low, "high": high, "shape": list(space.shape), "dtype": str(space.dtype)}
    if isinstance(space, spaces.Tuple):
        return {"kind": "Tuple", "spaces": [space_to_json(part) for part in space.spaces]}
    if isinstance(space, spaces.Dict):
        return {"kind": "Dict", "spaces": {name: space_to_json(part) for name, part in space.spaces.items()}}
    raise TypeError(f"a {type(space).__name__} space cannot be saved; got {space}")


def space_from_json(about: dict[str, Any]) -> Space[Any]:
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
    kind = about["kind"]
    if kind == "Discrete":
        n, first = operator.index(about["n"]), operator.index(about["start"])
        _check_largest(first + n - 1)
        return spaces.Discrete(n, start=first)
    if kind == "MultiDiscrete":
        dtype = _number_dtype(about["dtype"])
        nvec, start = np.array(about["nvec"], dtype), np.array(about["start"], dtype)
        if nvec.shape != start.shape:
            raise ValueError(f"nvec has shape {nvec.shape}, start {start.shape}")
        _check_largest(int((nvec.astype(object) + start.astype(object)).max()) - 1)
        return spaces.MultiDiscrete(nvec, dtype=dtype.type, start=start)
    if kind == "MultiBinary":
        return spaces.MultiBinary(about["n"])
    if kind == "Box":
        dtype = _number_dtype(about["dtype"])
        low, high = (_bound(about, name, dtype) for name in ("low", "high"))
        return spaces.Box(low, high, dtype=dtype.type)
    if kind == "Tuple":
        return spaces.Tuple([_space(part) for part in about["spaces"]])
    if kind == "Dict":
        return spaces.Dict({name: _space(part) for name, part in about["spaces"].items()})
    raise ValueError(f"{kind!r} is not a known space")


def _bound_to_json(bound: NDArray[Any]) -> Any:
    """A bound of a box as text, since JSON has no infinity; one text if all components are equal."""
    is_constant = bound.size > 0 and (bound == bound.flat[0]).all()
    return (bound.flat[0] if is_constant else bound).astype(str).tolist()


def _bound(about: dict[str, Any], name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    texts = np.array(about[name], dtype="U32")  # a fixed width, since NumPy's own is that of the longest text
    numbers = texts == "True" if dtype.kind == "b" else texts.astype(dtype)
    return np.broadcast_to(numbers, about.get("shape", numbers.shape))


def _number_dtype(name: str) -> np.dtype[Any]:
    if len(name) > MAX_DTYPE_LENGTH or np.dtype(name).kind not in "biuf":
        raise ValueError(f"{name!r} is not a dtype of numbers")
    return np.dtype(name)


def _check_largest(largest: int) -> None:
    if largest > np.iinfo(np.int64).max:
        raise ValueError(f"the largest value of the space, {largest}, exceeds 64 bits")
