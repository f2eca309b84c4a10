"""Training: :func:`train` and the loop over single environments.

There are two loops, since a vector environment of one environment trains about ten times slower than a single one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.agent import TO_PLAY, Agent, check_setting, check_spaces, checked_action, split_observation
from agents.vector_training import Ended, vector_episodes


@dataclass(frozen=True, eq=False)
class History:
    """The episodes of a training run.

    Attributes:
        returns: The total reward of each episode, in self-play of the player who moves first: float64 ``(n,)``.
        lengths: The number of actions in each episode, in self-play of all players: int64 ``(n,)``.
    """

    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]


def train(
    agent: Agent,
    env: Any,
    episodes: int,
    *,
    seed: int | None = None,
    progress: bool = False,
    callback: Callable[[Agent, History], Any] | None = None,
) -> History:
    """Trains ``agent`` on ``env``, exploring.

    In a PettingZoo environment the agent plays every side (self-play). In a Gymnasium environment it is one
    player, unless the infos hold ``"to_play"``, 0 or 1: then it plays both sides of a zero-sum game. The reward of
    a step is then the mover's, and the other player is credited its negative, but nothing where the episode has
    ended by an action that the mover's mask excludes (PettingZoo's convention).

    Masks are taken from ``info["action_mask"]``, or from a dictionary observation with the keys ``"observation"``
    and ``"action_mask"``.

    In a vector environment the episodes that count are the first to begin (counting the first to end would prefer
    short ones). Other episodes are stepped, but the agent does not learn from them.

    Args:
        agent: The learner. Its ``progress_remaining`` falls from 1 to 0 over the run.
        env: A Gymnasium environment or vector environment (in any autoreset mode), or a PettingZoo AEC environment
            whose players share the agent's spaces.
        episodes: The number of episodes.
        seed: Seeds the environment at its first reset. The agent has its own seed.
        progress: Whether to show a progress bar (needs tqdm).
        callback: Called as ``callback(agent, history)`` after each episode, in a vector environment after each
            step that ends any, with the history so far. Training ends if it returns False.

    Returns:
        The history of ``episodes`` episodes, or of those until the callback ended the run.

    Raises:
        TypeError: ``env`` is a parallel environment, or the agent's actions are not integers.
        ValueError: ``episodes`` is negative, the agent was made for other spaces than the environment's, cannot be
            trained in this setting (self-play, or as a single agent), or returns actions outside their space; the
            players of a vector environment do not alternate.
    """
    if episodes < 0:
        raise ValueError(f"episodes must be 0 or more; got {episodes}")
    returns = np.zeros(episodes)
    lengths = np.zeros(episodes, np.int64)
    ended_episodes = _episodes(agent, env, episodes, seed)
    if progress:
        ended_episodes = _with_progress_bar(ended_episodes, episodes)
    n = 0
    while n < episodes:
        agent.progress_remaining = 1 - n / episodes
        n_ended, ended_returns, ended_lengths = next(ended_episodes)
        returns[n : n + n_ended] = ended_returns
        lengths[n : n + n_ended] = ended_lengths
        n += n_ended
        result = callback(agent, History(returns[:n], lengths[:n])) if callback is not None else None
        if isinstance(result, bool | np.bool_) and not result:
            break
    else:
        agent.progress_remaining = 0.0
    return History(returns[:n], lengths[:n])


def _episodes(agent: Agent, env: Any, episodes: int, seed: int | None) -> Ended:
    """The training loop for this kind of environment."""
    if hasattr(env, "single_observation_space"):
        check_spaces(agent, env.single_observation_space, env.single_action_space)
        return vector_episodes(agent, env, episodes, seed)
    if not hasattr(env, "possible_agents"):
        check_spaces(agent, env.observation_space, env.action_space)
        return _single_episodes(agent, env, _gymnasium_episode, seed)
    if not hasattr(env, "agent_iter"):
        raise TypeError(f"env must be an AEC environment of PettingZoo, not a parallel one; got {env}")
    for player in env.possible_agents:
        check_spaces(agent, env.observation_space(player), env.action_space(player))
    check_setting(agent, len(env.possible_agents))
    return _single_episodes(agent, env, _aec_episode, seed)


def _single_episodes(agent: Agent, env: Any, play: Callable[..., tuple[float, int]], seed: int | None) -> Ended:
    """Plays and learns in one episode after another by the function ``play``."""
    while True:
        try:
            episode_return, length = play(agent, env, seed)
        finally:
            agent.end_episode()
        seed = None
        yield 1, episode_return, length


def _gymnasium_episode(agent: Agent, env: Any, seed: int | None) -> tuple[float, int]:
    """Learns from an episode of one player, or of two where the infos hold ``"to_play"``."""
    observation, info = env.reset(seed=seed)
    check_setting(agent, 2 if TO_PLAY in info else 1)
    observation, mask = split_observation(observation, info)
    player = info.get(TO_PLAY, 0)
    own_turn = agent.bootstraps_from == "own turn"
    pending: dict[Any, tuple[Any, int]] = {}  # observations and actions, by player
    rewards = [0.0, 0.0]  # of each player since its last action
    episode_return = 0.0
    length = 0
    is_over = False
    while not is_over:
        action = checked_action(agent, "act", agent.act(observation, mask, explore=True))
        pending[player] = observation, action
        observation, reward, terminated, truncated, info = env.step(action)
        length += 1
        is_over = terminated or truncated
        is_illegal = is_over and mask is not None and not mask[action - agent.first_action]
        opponent_reward = 0.0 if is_illegal else -reward
        episode_return += opponent_reward if player else reward
        rewards[player] = reward
        rewards[1 - player] += opponent_reward
        next_player = info.get(TO_PLAY, 0)
        observer = next_player if own_turn else player
        player = next_player
        observation, mask = split_observation(observation, info)
        if observer in pending:
            agent.update(*pending.pop(observer), rewards[observer], observation, terminated, mask)
    # after truncation there is no observation for the player who is not to move
    if terminated and 1 - observer in pending:
        agent.update(*pending.pop(1 - observer), rewards[1 - observer], observation, terminated, mask)
    return episode_return, length


def _aec_episode(agent: Agent, env: Any, seed: int | None) -> tuple[float, int]:
    """Learns from an episode of a PettingZoo AEC environment."""
    env.reset(seed=seed)
    first_player = env.agent_selection
    is_alone = len(env.possible_agents) == 1
    own_turn = agent.bootstraps_from == "own turn"
    pending: dict[Any, tuple[Any, int]] = {}  # as in a Gymnasium environment
    mover = None
    mover_reward = 0.0
    episode_return = 0.0
    length = 0
    while env.agents:
        player = env.agent_selection
        observation, reward, terminated, truncated, info = env.last()
        observation, mask = split_observation(observation, info)
        if player == first_player:
            episode_return += reward
        observer, reward = (player, reward) if own_turn else (mover, mover_reward)
        # after truncation there is no observation for the player who has just moved
        if observer in pending and (not truncated or player != mover or is_alone):
            agent.update(*pending.pop(observer), reward, observation, terminated, mask)
        if terminated or truncated:
            env.step(None)
            continue
        action = checked_action(agent, "act", agent.act(observation, mask, explore=True))
        pending[player] = observation, action
        env.step(action)
        length += 1
        mover = player
        mover_reward = env.rewards[player]
    return episode_return, length


def _with_progress_bar(ended_episodes: Ended, episodes: int) -> Ended:
    from tqdm.auto import tqdm

    with tqdm(total=episodes, unit=" episodes", unit_scale=True, mininterval=0.5) as bar:
        for ended in ended_episodes:
            bar.update(ended[0])
            yield ended
