"""The training loops: an agent, an environment of the standard API, a number of episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import gymnasium
import numpy as np
import pettingzoo
from numpy.typing import NDArray

from agents.agent import Agent
from agents.checks import as_integer
from agents.conventions import TO_PLAY, check_setting, check_spaces, unpacked
from agents.vector_training import vector_episodes


@dataclass(frozen=True, eq=False)
class History:
    """What happened in training, an entry for each episode.

    Attributes:
        rewards: The learner's total reward, in self-play the first player's, float64.
        lengths: How many actions were taken, in self-play by both players, int64.
    """

    rewards: NDArray[np.float64]
    lengths: NDArray[np.int64]


Callback: TypeAlias = Callable[[Agent, History], Any]


def train(
    agent: Agent,
    env: Any,
    episodes: int,
    *,
    seed: int | None = None,
    progress: bool = False,
    callback: Callback | None = None,
) -> History:
    """Trains ``agent`` on ``env``, exploring.

    In a PettingZoo environment the agent plays every side (self-play): an action of one player is followed, in
    what the agent learns, by what that player sees when it is to move again, and at the end of the game
    each player learns from its last action. (For an agent whose ``self_play`` is ``"every ply"`` it is followed
    by what the other player sees next.) A Gymnasium environment whose infos hold ``"to_play"``, 0 or 1, is
    one in which the agent plays both sides of a zero-sum game: the reward of a step is the mover's, the other
    player gets its negative, and the same follows. Action masks are found in the info or, beside
    ``"observation"``, in the observation.

    In a vector environment of either kind all games are played at once and learnt from in batches. The episodes
    that count are the first to begin; nothing is learnt from others, and the games are left as they are.

    Args:
        agent: The learner. Its ``progress_remaining`` falls from 1 to 0 over the run.
        env: A Gymnasium environment or vector environment (in any autoreset mode), or a PettingZoo AEC environment
            whose players share the agent's spaces.
        episodes: How many episodes, 0 or more.
        seed: Seeds the environment at its first reset. The agent has a seed of its own.
        progress: Whether to show a progress bar (needs tqdm).
        callback: Called as ``callback(agent, history)`` after each episode, in a vector environment after each
            step that ends any, with the history so far, read-only; the run ends if it returns False.

    Returns:
        The history of the episodes that were played: ``episodes``, unless the callback ended the run.

    Raises:
        TypeError: ``agent`` is no agent, ``env`` is neither kind of environment, or ``episodes`` is not an
            integer.
        ValueError: ``episodes`` is negative, the agent was made for other spaces than the environment's, or it
            does not learn in this setting (by self-play, or against an opponent).
        gymnasium.error.DependencyNotInstalled: ``progress`` without tqdm.
    """
    if not isinstance(agent, Agent):
        raise TypeError(f"agent must be an agents.Agent; got {agent!r}")
    episodes = as_integer("episodes", episodes, 0)
    play = _episodes_of(agent, env, episodes, seed)
    rewards, lengths = np.zeros(episodes), np.zeros(episodes, dtype=np.int64)
    played = 0
    with _progress_bar(episodes, progress) as bar:
        while played < episodes:
            agent.progress_remaining = 1 - played / episodes
            number, rewards_now, lengths_now = next(play)
            rewards[played : played + number], lengths[played : played + number] = rewards_now, lengths_now
            played += number
            if bar is not None:
                bar.update(number)
            if callback is not None:
                goes_on = callback(agent, History(_seen(rewards[:played]), _seen(lengths[:played])))
                if isinstance(goes_on, bool | np.bool_) and not goes_on:
                    break
        else:
            agent.progress_remaining = 0.0
    return History(rewards[:played], lengths[:played])


def _seen(array: NDArray[Any]) -> NDArray[Any]:
    """A view that a callback cannot change."""
    array.setflags(write=False)
    return array


def _episodes_of(agent: Agent, env: Any, episodes: int, seed: int | None) -> Iterator[tuple[int, Any, Any]]:
    """Plays and learns; yields how many episodes have just ended, their total rewards and their lengths."""
    is_class = isinstance(env, type)
    if isinstance(env, gymnasium.vector.VectorEnv) or (hasattr(env, "single_observation_space") and not is_class):
        check_spaces(agent, env.single_observation_space, env.single_action_space)
        return vector_episodes(agent, env, episodes, seed)
    other_api = is_class or isinstance(env, pettingzoo.ParallelEnv)
    if not other_api and (isinstance(env, pettingzoo.AECEnv) or callable(getattr(env, "agent_iter", None))):
        for player in env.possible_agents:
            check_spaces(agent, env.observation_space(player), env.action_space(player))
        check_setting(agent, players=len(env.possible_agents))
        return _every_episode(agent, partial(_aec_episode, agent, env), seed)
    if not other_api and (isinstance(env, gymnasium.Env) or callable(getattr(env, "step", None))):
        check_spaces(agent, env.observation_space, env.action_space)
        return _every_episode(agent, partial(_gymnasium_episode, agent, env), seed)
    raise TypeError(
        f"env must be a Gymnasium environment or vector environment, or a PettingZoo AEC environment; got {env!r}"
    )


@dataclass(slots=True)
class _Turn:
    """What a player saw and did, and what it got since; the agent learns from it when it sees what follows."""

    observation: Any
    action: Any
    reward: float

    def learn(self, agent: Agent, next_observation: Any, terminated: bool, next_action_mask: Any) -> None:
        agent.update(self.observation, self.action, self.reward, next_observation, terminated, next_action_mask)


def _every_episode(
    agent: Agent, play: Callable[[int | None], tuple[float, int]], seed: int | None
) -> Iterator[tuple[int, float, int]]:
    while True:
        try:
            total, length = play(seed)
        finally:
            agent.end_episode()  # also where a person leaves in the middle
        seed = None
        yield 1, total, length


def _gymnasium_episode(agent: Agent, env: Any, seed: int | None) -> tuple[float, int]:
    observation, info = env.reset(seed=seed)
    self_play = TO_PLAY in info
    check_setting(agent, players=2 if self_play else 1)
    if self_play and agent.self_play == "own turns":
        return _episode_of_own_turns(agent, env, observation, info)
    return _episode_of_every_step(agent, env, observation, info)


def _episode_of_every_step(agent: Agent, env: Any, observation: Any, info: dict[str, Any]) -> tuple[float, int]:
    """One learner, or an agent that learns from every ply: an action is followed by what the step returns."""
    seen, mask = unpacked(observation, info)
    total, length, over = 0.0, 0, False
    while not over:
        player = info.get(TO_PLAY, 0)
        action = agent.act(seen, mask, explore=True)
        observation, reward, terminated, truncated, info = env.step(action)
        next_seen, mask = unpacked(observation, info)
        agent.update(seen, action, reward, next_seen, terminated, mask)
        seen = next_seen
        total += -reward if player else reward
        length += 1
        over = terminated or truncated
    return total, length


def _episode_of_own_turns(agent: Agent, env: Any, observation: Any, info: dict[str, Any]) -> tuple[float, int]:
    """Self-play in which a player's action is followed by what it sees when it is to move again."""
    waiting: dict[int, _Turn] = {}  # by player
    total, length, over = 0.0, 0, False
    while not over:
        player = info[TO_PLAY]
        seen, mask = unpacked(observation, info)
        if player in waiting:
            waiting[player].learn(agent, seen, False, mask)
        action = agent.act(seen, mask, explore=True)
        observation, reward, terminated, truncated, info = env.step(action)
        waiting[player] = _Turn(seen, action, 0.0)
        for owner, turn in waiting.items():
            turn.reward += reward if owner == player else -reward
        total += -reward if player else reward
        length += 1
        over = terminated or truncated
    seen, mask = unpacked(observation, info)
    for owner, turn in waiting.items():
        if terminated or owner == info[TO_PLAY]:  # cut short, who has just moved sees no future
            turn.learn(agent, seen, terminated, mask)
    return total, length


def _aec_episode(agent: Agent, env: Any, seed: int | None) -> tuple[float, int]:
    env.reset(seed=seed)
    every_ply, alone = agent.self_play == "every ply", len(env.possible_agents) == 1
    first, last_mover, total, length = env.agent_selection, None, 0.0, 0
    waiting: dict[Any, _Turn] = {}  # by player; with every ply, the last one alone
    for player in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        seat = 0 if every_ply else player
        seen, mask = unpacked(observation, info)
        if player == first:
            total += reward
        sees_what_follows = terminated or not truncated or player != last_mover or alone
        turn = waiting.pop(seat, None) if sees_what_follows else None
        if turn is not None:
            if not every_ply:
                turn.reward = reward
            turn.learn(agent, seen, terminated, mask)
        if terminated or truncated:
            env.step(None)
            continue
        action = agent.act(seen, mask, explore=True)
        length += 1
        env.step(action)
        last_mover = player
        waiting[seat] = _Turn(seen, action, env.rewards[player])
    return total, length


def _progress_bar(episodes: int, progress: bool) -> Any:
    if not progress:
        return nullcontext()
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise gymnasium.error.DependencyNotInstalled(
            'progress=True needs tqdm; run pip install tqdm, or pip install "nim-env[examples]"'
        ) from error
    return tqdm(total=episodes, unit=" episodes", unit_scale=True, mininterval=0.5)
