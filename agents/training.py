"""Training: :func:`train` and the loop over single environments.

There are two loops, since a vector environment of one environment trains about ten times slower than a single one.
In self-play Q-learning learns at the player's own next turn, minimax-Q at the opponent's, one ply later, and an
episodic agent when the episode has ended.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from agents._checks import checked_action
from agents._environments import TO_PLAY, check_setting, check_spaces, split_observation
from agents.agent import Agent
from agents.vector_training import vector_episodes


@dataclass(frozen=True, eq=False)
class History:
    """The episodes of a training run.

    Attributes:
        returns: The total reward of each episode, in self-play of the player who moves first: float64 ``(n,)``.
        lengths: The number of actions in each episode, in self-play of all players: int64 ``(n,)``.
    """

    returns: NDArray[np.float64]
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

    In a PettingZoo environment the agent plays every side (self-play). In a Gymnasium environment it is one
    player, unless the infos hold ``"to_play"``, 0 or 1: then it plays both sides of a zero-sum game, and the
    reward of a step is the mover's. Masks are taken from ``info["action_mask"]``, or from a dictionary observation
    with the keys ``"observation"`` and ``"action_mask"``.

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
        TypeError: The agent's actions are not integers.
        ValueError: ``episodes`` is negative, the agent was made for other spaces than the environment's, cannot be
            trained in this setting (self-play, or as a single agent), or returns actions outside their space.
    """
    if episodes < 0:
        raise ValueError(f"episodes must be 0 or more; got {episodes}")
    returns = np.zeros(episodes)
    lengths = np.zeros(episodes, np.int64)
    ended_episodes = _episodes(agent, env, episodes, seed)
    n = 0
    with _progress_bar(episodes, progress) as bar:
        while n < episodes:
            agent.progress_remaining = 1 - n / episodes
            n_ended, ended_returns, ended_lengths = next(ended_episodes)
            returns[n : n + n_ended] = ended_returns
            lengths[n : n + n_ended] = ended_lengths
            n += n_ended
            if bar is not None:
                bar.update(n_ended)
            result = callback and callback(agent, History(returns[:n], lengths[:n]))
            if isinstance(result, bool | np.bool_) and not result:
                break
        else:
            agent.progress_remaining = 0.0
    return History(returns[:n], lengths[:n])


def _episodes(agent: Agent, env: Any, episodes: int, seed: int | None) -> Iterator[tuple[int, Any, Any]]:
    """The training loop for this kind of environment; yields the number, returns and lengths of ended episodes."""
    if hasattr(env, "single_observation_space"):
        check_spaces(agent, env.single_observation_space, env.single_action_space)
        return vector_episodes(agent, env, episodes, seed)
    if hasattr(env, "agent_iter"):
        for player in env.possible_agents:
            check_spaces(agent, env.observation_space(player), env.action_space(player))
        return _single_episodes(agent, _aec_turns(agent, env, seed))
    check_spaces(agent, env.observation_space, env.action_space)
    return _single_episodes(agent, _gymnasium_turns(agent, env, seed))


_Turns: TypeAlias = Generator[tuple[Any, Any, Any, float, float, bool, bool] | None, int, None]
"""The turns of one episode after another, None after each episode. Actions are passed in with ``.send()``.

A turn holds the player, its observation, its mask, its reward since its last action, the reward of the last step
(of the player who acted in it), terminated and truncated. After the episode every player has one more turn. After
truncation the observation of the player who has just moved is None.
"""


def _gymnasium_turns(agent: Agent, env: Any, seed: int | None) -> _Turns:
    """A Gymnasium environment: one player, or two where the infos hold ``"to_play"``."""
    while True:
        observation, info = env.reset(seed=seed)
        seed = None
        n_players = 2 if TO_PLAY in info else 1
        check_setting(agent, n_players)
        player = info.get(TO_PLAY, 0)
        rewards = [0.0, 0.0]
        reward = 0.0
        observation, mask = split_observation(observation, info)
        terminated = truncated = False
        while not (terminated or truncated):
            action = yield player, observation, mask, rewards[player], reward, False, False
            observation, reward, terminated, truncated, info = env.step(action)
            rewards[player] = reward  # since its last action, which is this one
            rewards[1 - player] -= reward
            player = info.get(TO_PLAY, 0)
            observation, mask = split_observation(observation, info)
        for observer in range(n_players):
            observed = observation if terminated or observer == player else None
            yield observer, observed, mask, rewards[observer], reward, terminated, truncated
        yield None


def _aec_turns(agent: Agent, env: Any, seed: int | None) -> _Turns:
    """A PettingZoo AEC environment."""
    n_players = len(env.possible_agents)
    check_setting(agent, n_players)
    while True:
        env.reset(seed=seed)
        seed = None
        mover = None
        mover_reward = 0.0
        while env.agents:
            player = env.agent_selection
            observation, reward, terminated, truncated, info = env.last()
            observation, mask = split_observation(observation, info)
            if terminated or truncated:
                observed = observation if terminated or player != mover or n_players == 1 else None
                yield player, observed, mask, reward, mover_reward, terminated, truncated
                env.step(None)
            else:
                action = yield player, observation, mask, reward, mover_reward, False, False
                env.step(action)
                mover = player
                mover_reward = env.rewards[player]
        yield None


def _single_episodes(agent: Agent, turns: _Turns) -> Iterator[tuple[int, float, int]]:
    """Plays and learns; after each episode, yields ``(1, return of the first player, number of actions)``."""
    own_turn = agent.bootstraps_from == "own turn"
    episodic = agent.episodic
    name = f"the result of {type(agent).__name__}.act"
    for turn in turns:
        pending: dict[Any, tuple[Any, int]] = {}  # observations and actions until the next observation
        episodes: dict[Any, list[tuple[Any, ...]]] = {}  # each player's transitions until the end of the episode
        first_player = turn[0] if turn else None
        episode_return = 0.0
        length = 0
        while turn:
            player, observation, mask, reward, mover_reward, terminated, truncated = turn
            if player == first_player:
                episode_return += reward
            # Q-learning learns at the same player's next turn, minimax-Q at the next turn of either player,
            # an episodic agent such as win counting when the episode is over.
            key = player if own_turn else "mover"
            if key in pending and observation is not None:
                previous, action = pending.pop(key)
                if not own_turn:
                    reward = mover_reward
                if episodic:
                    transition = previous, action, reward, observation, terminated, mask
                    episodes.setdefault(player, []).append(transition)
                else:
                    agent.update(previous, action, reward, observation, terminated, mask)
            if terminated or truncated:
                turn = next(turns)
                continue
            action = checked_action(name, agent.act(observation, mask, explore=True), agent.action_space)
            pending[key] = observation, action
            length += 1
            turn = turns.send(action)
        for transitions in episodes.values():
            for transition in transitions:
                agent.update(*transition)
            agent.end_episode()
        if not episodic:
            agent.end_episode()
        yield 1, episode_return, length


def _progress_bar(episodes: int, progress: bool) -> Any:
    if not progress:
        return nullcontext()
    from tqdm.auto import tqdm

    return tqdm(total=episodes, unit=" episodes", unit_scale=True, mininterval=0.5)
