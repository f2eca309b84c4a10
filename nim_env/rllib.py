"""Observations with action masks in the form that RLlib expects. This module needs neither Ray nor RLlib."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, MultiDiscrete, Space
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils import BaseWrapper

from nim_env.rules import NimRules


def masked_dict(env: Any) -> Any:
    """Wraps an environment so that its observations are ``{"observations": ..., "action_mask": ...}``, float32.

    RLlib's action masking needs this form. ``observations`` is the observation of the wrapped environment, and
    ``action_mask`` is its mask, shape ``(n_actions,)``.

    Args:
        env: A Gymnasium or PettingZoo environment of Nim, with any encoding.

    Returns:
        The wrapped environment.
    """
    return MaskedDictAECEnv(env) if isinstance(env, AECEnv) else MaskedDictEnv(env)


class MaskedDictEnv(gymnasium.ObservationWrapper[Any, Any, Any], RecordConstructorArgs):
    """A Gymnasium environment with the observations of :func:`masked_dict`."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self.observation_space = _masked_space(env.observation_space, env.unwrapped.rules)  # type: ignore[attr-defined]

    def observation(self, observation: NDArray[Any]) -> dict[str, NDArray[np.float32]]:
        """Returns the observation together with the mask of the current position."""
        return _masked(observation, self.unwrapped.action_masks())  # type: ignore[attr-defined]


class MaskedDictAECEnv(BaseWrapper):  # type: ignore[misc]  # PettingZoo has no types
    """A PettingZoo environment with the observations of :func:`masked_dict`."""

    def __init__(self, env: AECEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        self.observation_spaces = {
            agent: _masked_space(env.observation_space(agent)["observation"], env.unwrapped.rules)
            for agent in env.possible_agents
        }

    def observation_space(self, agent: str) -> Dict:
        """Returns the observation space of a player: the same object at each call, as PettingZoo requires."""
        return self.observation_spaces[agent]

    def observe(self, agent: str) -> dict[str, NDArray[np.float32]]:
        """Returns the observation of a player together with the mask."""
        observation = self.env.observe(agent)
        return _masked(observation["observation"], observation["action_mask"])


def _masked_space(space: Space[Any], rules: NimRules) -> Dict:
    """Returns the observation space of an environment that :func:`masked_dict` has wrapped.

    It is a dictionary space of two float32 boxes. ``space`` is the observation space of the environment that is
    wrapped, and the box of ``"observations"`` has its bounds.
    """
    low, high = np.array(-np.inf), np.array(np.inf)
    if isinstance(space, Box):
        low, high = space.low, space.high
    elif isinstance(space, MultiDiscrete):
        low, high = space.start, space.start + space.nvec - 1
    low, high = (np.broadcast_to(bound.astype(np.float32), space.shape or ()) for bound in (low, high))
    observations = Box(low, high, dtype=np.float32)
    return Dict({"observations": observations, "action_mask": Box(0.0, 1.0, (rules.n_actions,), np.float32)})


def _masked(observation: NDArray[Any], action_mask: NDArray[np.int8]) -> dict[str, NDArray[np.float32]]:
    return {
        "observations": np.asarray(observation, dtype=np.float32),
        "action_mask": action_mask.astype(np.float32),
    }
