"""What agents observe: the spaces of their observations, and the masks of the legal actions."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium import Space, spaces


def legal_columns(action_mask: Any, n_actions: int, may_be_empty: bool = False) -> Sequence[int]:
    """Returns the positions of the nonzero entries of an action mask. The mask ``None`` allows all actions.

    Raises ValueError if the mask has the wrong shape, or if it allows no action, unless ``may_be_empty`` is True.
    """
    if action_mask is None:
        return range(n_actions)
    mask = np.asarray(action_mask)
    if mask.shape != (n_actions,):
        raise ValueError(f"action_mask must have shape {(n_actions,)}; got {mask.shape}")
    columns = _nonzero_bytes((mask if mask.itemsize == 1 else mask != 0).tobytes())
    if not columns and not may_be_empty:
        raise ValueError("action_mask must allow at least one action; got only zeros")
    return columns


@lru_cache(maxsize=2**14)
def _nonzero_bytes(mask: bytes) -> Sequence[int]:
    """Returns the positions of the nonzero bytes of a mask. They are cached, since the same masks occur often."""
    return tuple(np.frombuffer(mask, np.uint8).nonzero()[0].tolist())


def agent_observation_space(space: Space[Any]) -> Space[Any]:
    """Returns the space of the arrays that an agent observes, given the observation space of its environment.

    For a dictionary with PettingZoo's keys, ``"observation"`` and ``"action_mask"``, this is the space
    ``space["observation"]``. A tuple of ``Discrete`` spaces is converted to a ``MultiDiscrete`` space. Other
    spaces are returned unchanged. Raises TypeError if their observations are not arrays.
    """
    if isinstance(space, spaces.Dict) and {"observation", "action_mask"} <= set(space.spaces):
        space = space["observation"]
    if isinstance(space, spaces.Tuple) and all(isinstance(part, spaces.Discrete) for part in space):
        parts: Any = space.spaces
        space = spaces.MultiDiscrete([part.n for part in parts], start=[part.start for part in parts])
    if space.shape is None:
        hint = "wrap the environment in gymnasium.wrappers.FlattenObservation"
        raise TypeError(f"observation_space must contain arrays; got {space}; {hint}")
    return space


def split_observation(observation: Any, info: dict[str, Any]) -> tuple[Any, Any]:
    """Returns the array that the agent observes, and the action mask (``None`` if the environment has none).

    If ``observation`` is a dictionary, it contains the array and the mask. Otherwise the mask is in ``info``.
    """
    if isinstance(observation, dict):
        return observation["observation"], observation["action_mask"]
    return observation, info.get("action_mask")
