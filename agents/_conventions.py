"""How the training loops read an environment: observations, masks, whose turn it is, which spaces fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymnasium import Space, spaces

if TYPE_CHECKING:
    from agents.agent import Agent

TO_PLAY = "to_play"
"""The info key of a Gymnasium environment in which the agent plays both sides: the player to move, 0 or 1."""


def agent_observation_space(space: Space[Any]) -> Space[Any]:
    """The ``"observation"`` part of a dictionary that also has ``"action_mask"``; else the space itself."""
    if isinstance(space, spaces.Dict) and {"observation", "action_mask"} <= set(space.spaces):
        return space["observation"]
    return space


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
