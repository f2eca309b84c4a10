"""How training reads an environment: observations, masks, whose turn it is, and whether an agent suits it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents._actions import action_index, action_indices
from agents.agent import Agent, agent_observation_space

TO_PLAY = "to_play"
"""The info key of a Gymnasium environment in which the agent plays both sides: the player to move, 0 or 1."""


def split_observation(observation: Any, info: dict[str, Any]) -> tuple[Any, Any]:
    """The agent's observation and its action mask, None where the environment gives none."""
    if isinstance(observation, dict) and "observation" in observation and "action_mask" in observation:
        return observation["observation"], observation["action_mask"]
    return observation, info.get("action_mask")


def check_spaces(agent: Agent, observation_space: Any, action_space: Any) -> None:
    """Raises a ValueError unless the agent was made for these spaces."""
    for name, expected, given in (
        ("observation_space", agent.observation_space, agent_observation_space(observation_space)),
        ("action_space", agent.action_space, action_space),
    ):
        if expected != given:
            raise ValueError(f"the agent was made for {name}={expected}, but the environment has {given}")


def check_setting(agent: Agent, n_players: int) -> None:
    """Raises a ValueError unless the agent can be trained while controlling this many players."""
    problem = None
    if n_players == 1 and not agent.supports_single_agent:
        problem = "learns by self-play only; train it where it plays both sides"
    elif n_players > 1 and not agent.supports_self_play:
        problem = "does not learn by self-play; train it against an opponent"
    elif n_players > 2 and agent.bootstraps_from == "opponent turn":
        problem = f"learns games of two players; the environment has {n_players}"
    if problem:
        raise ValueError(f"{type(agent).__name__} {problem}")


def checked_action(agent: Agent, action: Any) -> int:
    """What :meth:`Agent.act` returned for one observation, as an int; an error if it is not an action."""
    try:
        return action_index(action, agent.first_action, agent.n_actions) + agent.first_action
    except (TypeError, ValueError) as error:
        message = f"{type(agent).__name__}.act must return an action of {agent.action_space}; got {action!r}"
        raise type(error)(message) from None


def checked_actions(agent: Agent, actions: Any, n: int) -> NDArray[np.int64]:
    """What it returned for n observations; errors as :func:`checked_action`, also for the shape."""
    array = np.asarray(actions)
    if array.shape != (n,):
        raise ValueError(
            f"{type(agent).__name__}.act must return an array of shape ({n},) for a batch of {n} observations; "
            f"got {actions!r} (an agent with batched = False is queried on one observation at a time)"
        )
    try:
        return action_indices(array, agent.first_action, agent.n_actions) + agent.first_action
    except (TypeError, ValueError) as error:
        message = f"{type(agent).__name__}.act must return actions of {agent.action_space}; {error}"
        raise type(error)(message) from None
