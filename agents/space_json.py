"""Gymnasium spaces as plain JSON and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import Space, spaces


def space_to_json(space: Space[Any]) -> dict[str, Any]:
    """A space as numbers, text, lists and dictionaries.

    Raises:
        TypeError: It is not made of Discrete, MultiDiscrete, MultiBinary, Box, Tuple and Dict.
    """
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
        low, high = space.low.astype(str).tolist(), space.high.astype(str).tolist()  # as text: JSON has no inf
        return {"kind": "Box", "low": low, "high": high, "dtype": str(space.dtype)}
    if isinstance(space, spaces.Tuple):
        return {"kind": "Tuple", "spaces": [space_to_json(part) for part in space.spaces]}
    if isinstance(space, spaces.Dict):
        return {"kind": "Dict", "spaces": {name: space_to_json(part) for name, part in space.spaces.items()}}
    raise TypeError(f"a {type(space).__name__} space cannot be saved; got {space}")


def space_from_json(about: dict[str, Any]) -> Space[Any]:
    """The space that :func:`space_to_json` wrote.

    Raises:
        KeyError, TypeError, ValueError: ``about`` is not such a description.
    """
    kind = about["kind"]
    if kind == "Discrete":
        return spaces.Discrete(about["n"], start=about["start"])
    if kind == "MultiDiscrete":
        dtype = np.dtype(about["dtype"])
        return spaces.MultiDiscrete(
            np.array(about["nvec"], dtype), dtype=dtype.type, start=np.array(about["start"])
        )
    if kind == "MultiBinary":
        return spaces.MultiBinary(about["n"])
    if kind == "Box":
        dtype = np.dtype(about["dtype"])
        low, high = (np.array(about[bound], dtype=str).astype(dtype) for bound in ("low", "high"))
        return spaces.Box(low, high, dtype=dtype.type)
    if kind == "Tuple":
        return spaces.Tuple([space_from_json(part) for part in about["spaces"]])
    if kind == "Dict":
        return spaces.Dict({name: space_from_json(part) for name, part in about["spaces"].items()})
    raise ValueError(f"{kind!r} is not a known space")
