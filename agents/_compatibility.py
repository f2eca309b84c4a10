"""Checks whether an agent can be trained in an environment: the spaces, and the number of players."""

from typing import Any

from gymnasium import Space

from agents._observations import agent_observation_space
from agents.agent import Agent


def check_spaces(agent: Agent, observation_space: Space[Any], action_space: Space[Any]) -> None:
    """Raises ValueError if the agent was not made for these spaces of an environment."""
    agent_spaces = agent.observation_space, agent.action_space
    if agent_spaces != (agent_observation_space(observation_space), action_space):
        given = observation_space, action_space
        hint = "make the agent with the spaces of the environment"
        raise ValueError(f"the agent was made for {agent_spaces}, but the environment has {given}; {hint}")


def check_n_players(agent: Agent, n_players: int) -> None:
    """Raises ValueError if the agent cannot learn while it plays ``n_players`` players at once."""
    name = type(agent).__name__
    if n_players > 1 and not agent.supports_self_play:
        raise ValueError(f"{name} does not learn by self-play; train it against an opponent")
    if n_players != 2 and agent.bootstraps_from == "opponent turn":
        hint = "use an environment in which it plays both sides"
        raise ValueError(f"{name} learns only by self-play with two players, not with {n_players}; {hint}")
