"""The function :func:`train`, and the training loops for single environments.

Vector environments have a loop of their own, in ``vector_training``. It could also run a single environment, but
about ten times slower.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents._compatibility import check_n_players, check_spaces
from agents._observations import split_observation
from agents.agent import TO_PLAY, Agent
from agents.vector_training import EndedEpisodes, vector_episodes


@dataclass(frozen=True, eq=False)
class History:
    """The returns and lengths of the episodes of a training run, in the order in which the episodes ended.

    Attributes:
        returns: The total reward of each episode, float64 of shape ``(n,)``. If the agent plays several players,
            it is the total reward of the player who moves first.
        lengths: The number of actions in each episode, by all players together, int64 of shape ``(n,)``.
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
    """Trains an agent in an environment.

    The agent plays the given number of episodes, explores, and learns from every transition. Call ``train`` again
    to continue training; the agent keeps what it has learned. Training is reproducible: the same agent seed,
    ``train`` seed and environment give the same result.

        >>> import agents
        >>> import gymnasium as gym
        >>> env = gym.make("nim_env:SimpleNim-v0", opponent="random")
        >>> agent = agents.QLearningAgent(env.observation_space, env.action_space, seed=0)
        >>> history = agents.train(agent, env, episodes=1_000, seed=0)
        >>> print(f"{(history.returns[-100:] > 0).mean():.0%} of the last 100 games won")
        95% of the last 100 games won

    **Self-play.** In a PettingZoo AEC environment the agent plays all the players. In a Gymnasium environment it
    is one player, unless the infos contain ``"to_play"``, the player to move (0 or 1). In that case the agent
    plays both sides of a zero-sum game. The reward of a step is then the mover's reward, and the other player is
    credited its negative. There is one exception, which is PettingZoo's convention: if an episode ends with an
    action that the mover's mask does not allow, the other player is credited nothing.

    **Independent learners.** In a PettingZoo environment, ``agent`` can be a dictionary with an agent for each
    player. Each agent acts for its player and learns only from that player's turns; the other players are part of
    its environment. If the same agent stands for several players, it learns from the turns of all of them.

    **Action masks.** They are read from ``info["action_mask"]``, or from a dictionary observation with the keys
    ``"observation"`` and ``"action_mask"``. Without a mask, all actions are legal.

    **Vector environments.** The agent learns from the first ``episodes`` episodes to begin. (Taking the first to
    end would favor short episodes.) Later episodes are played while the earlier ones finish, but the agent does
    not learn from them.

    Args:
        agent: The agent, or a dictionary from each name in ``env.possible_agents`` to the agent of that player.
            During the run, the ``progress_remaining`` of each agent falls from 1 to 0.
        env: A Gymnasium environment, a Gymnasium vector environment (in any autoreset mode), or a PettingZoo AEC
            environment. An agent must have been made for the spaces of the environment, or of its player.
        episodes: The number of episodes.
        seed: The seed for the first reset of the environment. The agents have their own seeds.
        progress: Whether to show a progress bar, which requires tqdm.
        callback: A function that is called as ``callback(agent, history)`` after each episode, or in a vector
            environment after each step that ends at least one. It gets the argument ``agent`` and the history so
            far. If it returns False, training stops.

    Returns:
        The history of all episodes, or of those before the callback stopped the training.

    Raises:
        TypeError: If ``env`` is a parallel PettingZoo environment, if ``agent`` is a dictionary but ``env`` is not
            an AEC environment, or if an agent's actions are not integers.
        ValueError: If ``episodes`` is negative; if the keys of a dictionary are not the players; if an agent was
            made for other spaces, cannot be trained in this way (by self-play, against an opponent, or as one of
            several agents), or returns an action outside the action space; or if the players of a vector
            environment do not alternate.
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


def _episodes(agent: Agent | Mapping[str, Agent], env: Any, episodes: int, seed: int | None) -> EndedEpisodes:
    """Checks that the agent fits the environment, and returns the training loop for this kind of environment.

    The loop is an iterator. It yields the results of the episodes as they end.
    """
    if hasattr(env, "agent_iter"):
        return _single_episodes(_agents_by_player(agent, env), env, _aec_episode, seed)
    if hasattr(env, "possible_agents"):
        hint = "convert it with pettingzoo.utils.parallel_to_aec"
        raise TypeError(f"env must be an AEC environment of PettingZoo, not a parallel one; got {env}; {hint}")
    if isinstance(agent, Mapping):
        raise TypeError(f"env must be a PettingZoo AEC environment if agent is a dictionary; got {env}")
    if hasattr(env, "single_observation_space"):
        check_spaces(agent, env.single_observation_space, env.single_action_space)
        return vector_episodes(agent, env, episodes, seed)
    check_spaces(agent, env.observation_space, env.action_space)
    return _single_episodes(agent, env, _gymnasium_episode, seed)


def _agents_by_player(agent: Agent | Mapping[str, Agent], env: Any) -> dict[str, Agent]:
    """Returns the agent of each player of an AEC environment. Raises ValueError if one cannot be trained there."""
    names = env.possible_agents
    agent_of = dict(agent) if isinstance(agent, Mapping) else dict.fromkeys(names, agent)
    if agent_of.keys() != set(names):
        raise ValueError(f"the keys of agent must be the players {names}; got {list(agent_of)}")
    for name, learner in agent_of.items():
        check_spaces(learner, env.observation_space(name), env.action_space(name))
        if isinstance(agent, Mapping) and learner.bootstraps_from == "opponent turn":
            kind = type(learner).__name__
            raise ValueError(f"{kind} cannot learn from its own turns only; give it as agent, not in a dictionary")
        check_n_players(learner, sum(other is learner for other in agent_of.values()))
    return agent_of


def _single_episodes(
    agent: Agent | Mapping[str, Agent], env: Any, play: Callable[..., tuple[float, int]], seed: int | None
) -> EndedEpisodes:
    """Trains in a single environment for an unlimited number of episodes.

    Yields ``(1, return, length)`` after each episode, where 1 is the number of episodes that have just ended, as
    in the training loop for vector environments. ``play(agent, env, seed)`` plays one episode, learns from it, and
    returns its return and its length. Only the first episode gets the seed.
    """
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
    """Returns the agents that are trained. An agent that stands for several players is in the list once."""
    learners = agent.values() if isinstance(agent, Mapping) else [agent]
    return list({id(learner): learner for learner in learners}.values())


def _gymnasium_episode(agent: Agent, env: Any, seed: int | None) -> tuple[float, int]:
    """Plays one episode and learns from it. The agent plays both sides if the infos contain ``"to_play"``.

    Returns the total reward of the player who moves first, and the number of actions.
    """
    # A transition leads from an observation o and an action a to a later observation:
    #
    #   one player               o, a --> o, a --> o, a --> last o
    #   "own turn"     player 0  o, a -----------> o, a --> last o
    #                  player 1           o, a -----------> last o
    #   "opponent turn"          o, a --> o, a --> o, a --> last o, but each o is what the other player sees
    observation, info = env.reset(seed=seed)
    check_n_players(agent, 2 if TO_PLAY in info else 1)
    observation, mask = split_observation(observation, info)
    player = info.get(TO_PLAY, 0)
    is_own_turn = agent.bootstraps_from == "own turn"
    pending: dict[Any, tuple[Any, int]] = {}  # each player's last observation and action
    rewards = [0.0, 0.0]  # the sum of each player's rewards since its last action
    episode_return = 0.0
    length = 0
    is_over = False
    while not is_over:
        action = agent.checked_action(agent.act(observation, mask, explore=True))
        pending[player] = observation, action
        observation, reward, terminated, truncated, info = env.step(action)
        length += 1
        is_over = terminated or truncated
        is_illegal = is_over and mask is not None and not mask[action - agent.first_action]
        opponent_reward = 0.0 if is_illegal else -reward
        episode_return += opponent_reward if player else reward
        rewards[player] = reward
        rewards[1 - player] += opponent_reward
        observation, mask = split_observation(observation, info)
        mover, player = player, info.get(TO_PLAY, 0)
        # The new observation ends a transition of one player. If the episode has terminated, it also ends one of
        # the other player. After truncation it does not, since that player has no next observation.
        first = player if is_own_turn else mover
        for observer in (first, 1 - first) if terminated else (first,):
            if observer in pending:
                agent.update(*pending.pop(observer), rewards[observer], observation, terminated, mask)
    return episode_return, length


def _aec_episode(agent_of: dict[str, Agent], env: Any, seed: int | None) -> tuple[float, int]:
    """Plays one episode of a PettingZoo AEC environment, and each player's agent learns from it.

    Returns the total reward of the player who moves first, and the number of actions.
    """
    env.reset(seed=seed)
    first_player = env.agent_selection
    is_alone = len(env.possible_agents) == 1
    is_own_turn = agent_of[first_player].bootstraps_from == "own turn"
    pending: dict[str, tuple[Any, int]] = {}  # each player's last observation and action
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
        # after truncation, the player who has just moved has no next observation
        if observer in pending and (not truncated or player != mover or is_alone):
            agent_of[observer].update(*pending.pop(observer), reward, observation, terminated, mask)
        if terminated or truncated:
            env.step(None)
            continue
        agent = agent_of[player]
        action = agent.checked_action(agent.act(observation, mask, explore=True))
        pending[player] = observation, action
        env.step(action)
        length += 1
        mover = player
        mover_reward = env.rewards[player]
    return episode_return, length


def _with_progress_bar(ended_episodes: EndedEpisodes, episodes: int) -> EndedEpisodes:
    from tqdm.auto import tqdm

    with tqdm(total=episodes, unit=" episodes", unit_scale=True, mininterval=0.5) as bar:
        for ended in ended_episodes:
            bar.update(ended[0])
            yield ended
