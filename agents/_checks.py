"""Checks of what agents are given and what they return: actions, masks, spaces and the number of players.

The argument ``agent`` is an :class:`agents.Agent`, whose module imports this one.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium import Space, spaces


def checked_action(agent: Any, method: str, action: Any) -> int:
    """Returns an action as an int, after checking that it is an integer (TypeError) and in range (ValueError).

    ``method`` names the method that returned or got the action, for the error message.
    """
    if type(action) is int and 0 <= action - agent.first_action < agent.n_actions:
        return action
    is_integer = np.asarray(action).dtype.kind in "iu"
    if is_integer and action in agent.action_space:
        return int(action)
    error = ValueError if is_integer else TypeError
    name = f"the action of {type(agent).__name__}.{method}"
    raise error(f"{name} must be an integer in {agent.action_space}; got {action!r}")


def legal_columns(action_mask: Any, n_actions: int, may_be_empty: bool = False) -> Sequence[int]:
    """Returns the columns of the legal actions in a row of values, in increasing order.

    Raises ValueError if the mask has the wrong shape, or if no action is legal and ``may_be_empty`` is False.
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
    """Returns the positions of the nonzero bytes. The results are cached because the same masks occur often."""
    return tuple(np.frombuffer(mask, np.uint8).nonzero()[0].tolist())


def agent_observation_space(space: Space[Any]) -> Space[Any]:
    """Returns the space of the arrays that an agent gets as observations in an environment with this space.

    Raises TypeError for a dictionary that does not have PettingZoo's keys, and for a tuple that contains a space
    other than ``Discrete``.
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


def check_spaces(agent: Any, observation_space: Any, action_space: Any) -> None:
    """Raises ValueError if the agent was made for spaces other than these spaces of an environment."""
    agent_spaces = agent.observation_space, agent.action_space
    if agent_spaces != (agent_observation_space(observation_space), action_space):
        given = observation_space, action_space
        hint = "make the agent with the spaces of the environment"
        raise ValueError(f"the agent was made for {agent_spaces}, but the environment has {given}; {hint}")


def check_n_players(agent: Any, n_players: int) -> None:
    """Raises ValueError if the agent cannot be trained while it plays this many players."""
    name = type(agent).__name__
    if n_players > 1 and not agent.supports_self_play:
        raise ValueError(f"{name} does not learn by self-play; train it against an opponent")
    if n_players != 2 and agent.bootstraps_from == "opponent turn":
        hint = "use an environment in which it plays both sides"
        raise ValueError(f"{name} learns only by self-play with two players, not with {n_players}; {hint}")


def split_observation(observation: Any, info: dict[str, Any]) -> tuple[Any, Any]:
    """Returns the observation for the agent, and the action mask or ``None`` if the environment provides none."""
    if isinstance(observation, dict):
        return observation["observation"], observation["action_mask"]
    return observation, info.get("action_mask")
