"""How training reads an environment: observations, masks, whose turn it is, and whether an agent suits it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents._actions import action_indices
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
    for name, given in (
        ("observation_space", agent_observation_space(observation_space)),
        ("action_space", action_space),
    ):
        if getattr(agent, name) != given:
            made_for = f"the agent was made for {name}={getattr(agent, name)}"
            raise ValueError(f"{made_for}, but the environment has {given}")


def check_setting(agent: Agent, n_players: int) -> None:
    """Raises a ValueError unless the agent can be trained while controlling this many players."""
    if n_players == 1 and not agent.supports_single_agent:
        problem = "learns by self-play only; train it where it plays both sides"
    elif n_players > 1 and not agent.supports_self_play:
        problem = "does not learn by self-play; train it against an opponent"
    elif n_players > 2 and agent.bootstraps_from == "opponent turn":
        problem = f"learns games of two players; the environment has {n_players}"
    else:
        return
    raise ValueError(f"{type(agent).__name__} {problem}")


def checked_actions(agent: Agent, actions: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """What :meth:`Agent.act` returned for observations of these leading dimensions; an error if it is wrong."""
    try:
        return action_indices(agent, actions, shape) + agent.first_action
    except (TypeError, ValueError) as error:
        needed = f"integers of shape {shape}, one for each observation, in {agent.action_space}"
        raise type(error)(f"{type(agent).__name__}.act must return {needed}; got {actions!r}") from None
