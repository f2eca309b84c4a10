"""How training reads an environment: observations, masks, and whether an agent suits it."""

from typing import Any

from agents.agent import Agent, agent_observation_space

TO_PLAY = "to_play"
"""The info key of a Gymnasium environment in which the agent plays both sides: the player to move, 0 or 1."""


def split_observation(observation: Any, info: dict[str, Any]) -> tuple[Any, Any]:
    """The agent's observation and its action mask, None where the environment gives none."""
    if isinstance(observation, dict):
        return observation["observation"], observation["action_mask"]
    return observation, info.get("action_mask")


def check_spaces(agent: Agent, observation_space: Any, action_space: Any) -> None:
    """Raises a ValueError unless the agent was made for these spaces."""
    made_for = agent.observation_space, agent.action_space
    if made_for != (agent_observation_space(observation_space), action_space):
        given = observation_space, action_space
        raise ValueError(f"the agent was made for the spaces {made_for}, but the environment has {given}")


def check_setting(agent: Agent, n_players: int) -> None:
    """Raises a ValueError unless the agent can be trained while controlling this many players."""
    name = type(agent).__name__
    if n_players > 1 and not agent.supports_self_play:
        raise ValueError(f"{name} does not learn by self-play; train it against an opponent")
    if n_players != 2 and agent.bootstraps_from == "opponent turn":
        raise ValueError(f"{name} learns by self-play of two players; the environment has {n_players} to control")
