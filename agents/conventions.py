"""How the training loops read an environment: whose turn it is, what an agent sees, what fits together."""

from __future__ import annotations

from typing import Any

from agents.agent import Agent, seen_space

TO_PLAY = "to_play"
"""The info key by which a Gymnasium environment says that the agent plays both sides, and whose turn it is."""


def unpacked(observation: Any, info: dict[str, Any]) -> tuple[Any, Any]:
    """What the agent sees and its action mask, None where the environment gives none."""
    if isinstance(observation, dict) and "observation" in observation and "action_mask" in observation:
        return observation["observation"], observation["action_mask"]
    return observation, info.get("action_mask")


def check_spaces(agent: Agent, observation_space: Any, action_space: Any) -> None:
    """Raises a ValueError unless the agent was made for these spaces."""
    for name, made_for, given in (
        ("observation_space", agent.observation_space, seen_space(observation_space)),
        ("action_space", agent.action_space, action_space),
    ):
        if made_for != given:
            raise ValueError(f"the agent was made for {name}={made_for}, but the environment has {given}")


def check_setting(agent: Agent, players: int) -> None:
    """Raises a ValueError unless the agent learns where it plays so many sides."""
    name = type(agent).__name__
    if players == 1 and not agent.learns_against_opponents:
        raise ValueError(f"{name} learns by self-play alone; train it where it plays both sides")
    if players > 1 and agent.self_play is None:
        raise ValueError(f"{name} does not learn by self-play; train it against an opponent")
    if players > 2 and agent.self_play == "every ply":
        raise ValueError(f"{name} learns games of two players; the environment has {players}")
