"""Training: :func:`train` and the loop over single environments.

There are two loops, since a vector environment of one environment trains about ten times slower than a single one.
"""

from collections.abc import Callable, Mapping
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
        returns: The total reward of each episode, in a game of the player who moves first: float64 ``(n,)``.
        lengths: The number of actions in each episode, by all players together: int64 ``(n,)``.
    """

    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]


def train(
    agent: Agent | Mapping[str, Agent],
    env: Any,
    episodes: int,
    *,
    seed: int | None = None,
    progress: bool = False,
    callback: Callable[[Any, History], Any] | None = None,
) -> History:
    """Trains ``agent`` on ``env``, exploring.

    In a PettingZoo environment the agent plays every side (self-play). A dictionary names an agent for each player
    instead (independent learners): each acts for its player and learns from that player's turns alone, and the
    other players are part of its environment. An agent under several names learns from the turns of all of them.

    In a Gymnasium environment the agent is one player, unless the infos hold ``"to_play"``, 0 or 1: then it plays
    both sides of a zero-sum game. The reward of a step is then the mover's, and the other player is credited its
    negative, but nothing where the episode has ended by an action that the mover's mask excludes (PettingZoo's
    convention).

    Masks are taken from ``info["action_mask"]``, or from a dictionary observation with the keys ``"observation"``
    and ``"action_mask"``.

    In a vector environment the episodes that count are the first to begin (counting the first to end would prefer
    short ones). Other episodes are stepped, but the agent does not learn from them.

    Args:
        agent: The learner, or a dictionary from each of ``env.possible_agents`` to the agent that plays it.
            The ``progress_remaining`` of each falls from 1 to 0 over the run.
        env: A Gymnasium environment or vector environment (in any autoreset mode), or a PettingZoo AEC environment
            in which the spaces of each player are its agent's.
        episodes: The number of episodes.
        seed: Seeds the environment at its first reset. Each agent has its own seed.
        progress: Whether to show a progress bar (needs tqdm).
        callback: Called as ``callback(agent, history)`` after each episode, in a vector environment after each
            step that ends any, with the history so far and what ``train`` got as ``agent``. Training ends if it
            returns False.

    Returns:
        The history of ``episodes`` episodes, or of those until the callback ended the run.

    Raises:
        TypeError: ``env`` is a parallel environment, or ``agent`` is a dictionary and ``env`` is not an AEC
            environment, or an agent's actions are not integers.
        ValueError: ``episodes`` is negative; the keys of a dictionary are not the players; an agent was made for
            other spaces than the environment's, cannot be trained in this setting (self-play, as a single agent,
            or in a dictionary), or returns actions outside their space; the players of a vector environment do not
            alternate.
    """
    if episodes < 0:
        raise ValueError(f"episodes must be 0 or more; got {episodes}")
    returns = np.zeros(episodes)
    lengths = np.zeros(episodes, np.int64)
    learners = _learners(agent)
    ended_episodes = _episodes(agent, env, episodes, seed)
    if progress:
        ended_episodes = _with_progress_bar(ended_episodes, episodes)
    n = 0
    while n < episodes:
        for learner in learners:
            learner.progress_remaining = 1 - n / episodes
        n_ended, ended_returns, ended_lengths = next(ended_episodes)
        returns[n : n + n_ended] = ended_returns
        lengths[n : n + n_ended] = ended_lengths
        n += n_ended
        result = callback(agent, History(returns[:n], lengths[:n])) if callback is not None else None
        if isinstance(result, bool | np.bool_) and not result:
            break
    else:
        for learner in learners:
            learner.progress_remaining = 0.0
    return History(returns[:n], lengths[:n])


def _episodes(agent: Agent | Mapping[str, Agent], env: Any, episodes: int, seed: int | None) -> Ended:
    """The training loop for this kind of environment."""
    if hasattr(env, "agent_iter"):
        return _single_episodes(_agents_by_player(agent, env), env, _aec_episode, seed)
    if hasattr(env, "possible_agents"):
        raise TypeError(f"env must be an AEC environment of PettingZoo, not a parallel one; got {env}")
    if isinstance(agent, Mapping):
        raise TypeError(f"env must be an AEC environment of PettingZoo for a dictionary of agents; got {env}")
    if hasattr(env, "single_observation_space"):
        check_spaces(agent, env.single_observation_space, env.single_action_space)
        return vector_episodes(agent, env, episodes, seed)
    check_spaces(agent, env.observation_space, env.action_space)
    return _single_episodes(agent, env, _gymnasium_episode, seed)


def _agents_by_player(agent: Agent | Mapping[str, Agent], env: Any) -> dict[str, Agent]:
    """The agent of each player of an AEC environment, all of which can be trained there."""
    names = env.possible_agents
    agent_of = dict(agent) if isinstance(agent, Mapping) else dict.fromkeys(names, agent)
    if agent_of.keys() != set(names):
        raise ValueError(f"the keys of agent must be the players {names}; got {list(agent_of)}")
    for name, learner in agent_of.items():
        check_spaces(learner, env.observation_space(name), env.action_space(name))
        if isinstance(agent, Mapping) and learner.bootstraps_from == "opponent turn":
            kind = type(learner).__name__
            raise ValueError(f"{kind} learns by self-play; an agent of a dictionary learns from its own turns")
        check_setting(learner, sum(other is learner for other in agent_of.values()))
    return agent_of


def _single_episodes(
    agent: Agent | Mapping[str, Agent], env: Any, play: Callable[..., tuple[float, int]], seed: int | None
) -> Ended:
    """Plays and learns in one episode after another by the function ``play``."""
    learners = _learners(agent)
    while True:
        try:
            episode_return, length = play(agent, env, seed)
        finally:
            for learner in learners:
                learner.end_episode()
        seed = None
        yield 1, episode_return, length


def _learners(agent: Agent | Mapping[str, Agent]) -> list[Agent]:
    """The agents that learn, each once."""
    learners = agent.values() if isinstance(agent, Mapping) else [agent]
    return list({id(learner): learner for learner in learners}.values())


def _gymnasium_episode(agent: Agent, env: Any, seed: int | None) -> tuple[float, int]:
    """Learns from an episode of one player, or of two where the infos hold ``"to_play"``."""
    observation, info = env.reset(seed=seed)
    check_setting(agent, 2 if TO_PLAY in info else 1)
    observation, mask = split_observation(observation, info)
    player = info.get(TO_PLAY, 0)
    is_own_turn = agent.bootstraps_from == "own turn"
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
        observer = next_player if is_own_turn else player
        player = next_player
        observation, mask = split_observation(observation, info)
        if observer in pending:
            agent.update(*pending.pop(observer), rewards[observer], observation, terminated, mask)
    # after truncation there is no observation for the player who is not to move
    if terminated and 1 - observer in pending:
        agent.update(*pending.pop(1 - observer), rewards[1 - observer], observation, terminated, mask)
    return episode_return, length


def _aec_episode(agent_of: dict[str, Agent], env: Any, seed: int | None) -> tuple[float, int]:
    """Learns from an episode of a PettingZoo AEC environment, with the agent of each player."""
    env.reset(seed=seed)
    first_player = env.agent_selection
    is_alone = len(env.possible_agents) == 1
    is_own_turn = agent_of[first_player].bootstraps_from == "own turn"
    pending: dict[str, tuple[Any, int]] = {}  # as in a Gymnasium environment
    mover = ""
    mover_reward = 0.0
    episode_return = 0.0
    length = 0
    while env.agents:
        player = env.agent_selection
        observation, reward, terminated, truncated, info = env.last()
        observation, mask = split_observation(observation, info)
        if player == first_player:
            episode_return += reward
        observer, reward = (player, reward) if is_own_turn else (mover, mover_reward)
        # after truncation there is no observation for the player who has just moved
        if observer in pending and (not truncated or player != mover or is_alone):
            agent_of[observer].update(*pending.pop(observer), reward, observation, terminated, mask)
        if terminated or truncated:
            env.step(None)
            continue
        agent = agent_of[player]
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
