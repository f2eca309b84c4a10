"""How training reads an environment: observations, masks, whose turn it is, and whether an agent suits it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from agents._masks import checked_masks
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
    made_for = agent.observation_space, agent.action_space
    if made_for != (agent_observation_space(observation_space), action_space):
        raise ValueError(
            f"the agent was made for {made_for}, but the environment has {observation_space, action_space}"
        )


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


def rows_of(array: Any, indices: NDArray[np.intp]) -> Any:
    """A copy of some rows; None of None."""
    return None if array is None else array.take(indices, axis=0)


class Observed(NamedTuple):
    """What is observed in all environments: encoded observations, encoded masks, and the players to move or None."""

    observations: Any
    masks: Any
    to_play: NDArray[np.int64] | None

    def replaced(self, ids: NDArray[np.intp], rows: Observed) -> Observed:
        """A copy with other rows at the indices ``ids``; a part that ``rows`` lacks keeps its values."""
        parts = []
        for part, new in zip(self, rows, strict=True):
            if part is not None and new is not None:
                part = part.copy()
                part[ids] = new
            parts.append(part)
        return Observed(*parts)


class VectorStep(NamedTuple):
    """One step of all environments, of which those of ``ids`` count. Rewards are of the players who acted."""

    ids: NDArray[np.intp]
    observed: Observed
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    next_observed: Observed  # before any reset
    terminated: NDArray[np.bool_]
    ended: NDArray[np.intp]  # those of ids whose episode has terminated or been truncated


class VectorRollout:
    """Steps a vector environment and hides its autoreset mode."""

    def __init__(self, agent: Agent, learner: Any, env: VectorEnv[Any, Any, Any], seed: int | None) -> None:
        self._learner = learner
        self._env = env
        self._mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self.n_reset_steps = int(self._mode is AutoresetMode.NEXT_STEP)
        observations, infos = env.reset(seed=seed)
        _, masks = split_observation(observations, infos)
        checked_masks(masks, (env.num_envs, agent.n_actions))  # the first ones are checked
        self.observed = self._read(observations, infos)
        self._ids = self._everywhere = np.arange(env.num_envs)
        self._any_actions = np.full(env.num_envs, agent.first_action)  # where an environment is only reset

    def step(self) -> VectorStep:
        """Acts in all environments; those that are only reset do not count."""
        ids = self._ids
        observed = self.observed
        actions = self._any_actions.copy()
        if ids.size:
            actions[ids] = self._learner.act_encoded(
                rows_of(observed.observations, ids), rows_of(observed.masks, ids)
            )
        observations, rewards, terminated, truncated, infos = self._env.step(actions)
        is_over = terminated | truncated
        self.observed = next_observed = self._read(observations, infos)
        self._ids = self._everywhere
        ended = is_over.nonzero()[0]
        if ended.size:
            if self._mode is AutoresetMode.NEXT_STEP:
                self._ids = (~is_over).nonzero()[0]
            elif self._mode is AutoresetMode.SAME_STEP:
                next_observed = next_observed.replaced(ended, self._final(ended, infos))
            else:  # autoreset is disabled
                observations, infos = self._env.reset(options={"reset_mask": is_over})
                parts = *split_observation(observations, infos), infos.get(TO_PLAY)
                self.observed = next_observed.replaced(
                    ended, self._encoded(*(rows_of(part, ended) for part in parts))
                )
        return VectorStep(ids, observed, actions, rewards, next_observed, terminated, ended)

    def _read(self, observations: Any, infos: dict[str, Any]) -> Observed:
        return self._encoded(*split_observation(observations, infos), infos.get(TO_PLAY))

    def _encoded(self, observations: Any, masks: Any, to_play: Any) -> Observed:
        return Observed(*self._learner.encode(observations, masks), None if to_play is None else to_play.copy())

    def _final(self, ended: NDArray[np.intp], infos: dict[str, Any]) -> Observed:
        """In same-step mode, the last observations of the ended episodes, before their environments were reset."""
        final = [split_observation(observation, {}) for observation in infos["final_obs"][ended]]
        observations, masks = zip(*final, strict=True)
        mask, to_play = (rows_of(infos.get("final_info", {}).get(key), ended) for key in ("action_mask", TO_PLAY))
        return self._encoded(np.array(observations), mask if masks[0] is None else np.array(masks), to_play)
