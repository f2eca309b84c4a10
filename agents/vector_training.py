"""The training loop over vector environments, which steps all environments at once."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from agents.agent import TO_PLAY, Agent, check_setting, split_observation

Indices: TypeAlias = NDArray[np.intp]
Columns: TypeAlias = list[NDArray[Any]]
"""Arrays with a row for each environment or transition."""


class Observed(NamedTuple):
    """Copies of what is observed in all environments, and the players to move."""

    observations: NDArray[Any]
    masks: NDArray[Any]
    to_play: NDArray[np.integer[Any]]

    def replaced(self, ids: Indices, rows: Iterable[NDArray[Any]]) -> "Observed":
        """Copies with other rows at the indices ``ids``."""
        copies = Observed(*(column.copy() for column in self))
        for column, new in zip(copies, rows, strict=True):
            column[ids] = new
        return copies


class Step(NamedTuple):
    """One step of all environments."""

    before: Observed
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]  # of the players who acted
    opponent_rewards: NDArray[np.float64]
    after: Observed  # before any reset
    terminated: NDArray[np.bool_]


def vector_episodes(
    agent: Agent, env: VectorEnv[Any, Any, Any], episodes: int, seed: int | None
) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.int64]]]:
    """Learns from the first ``episodes`` episodes to begin; yields how many end in a step, returns and lengths."""
    kind = type(agent)
    if kind.end_episode is not Agent.end_episode:
        raise ValueError(f"{kind.__name__} learns from whole episodes; train it on a single environment")
    observations, infos = env.reset(seed=seed)
    n_players = 2 if TO_PLAY in infos else 1
    check_setting(agent, n_players)
    mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
    counter = EpisodeCounter(env.num_envs, episodes, n_players, mode)
    is_own_turn = n_players == 2 and agent.bootstraps_from == "own turn"
    observed = observed_in(agent, observations, infos)
    own_turns = OwnTurns(env.num_envs, observed.observations) if is_own_turn else None
    for step, acting, ended in vector_steps(agent, env, n_players, mode, observed):
        counter.add(step)
        acting, ended = counter.counted(acting), counter.counted(ended)
        transitions = (
            transitions_of(step, acting) if own_turns is None else own_turns.complete(step, acting, ended)
        )
        if len(transitions[0]):
            agent.update_batch(*transitions)
        if ended.size:
            yield counter.end(ended)


def vector_steps(
    agent: Agent, env: VectorEnv[Any, Any, Any], n_players: int, mode: AutoresetMode, observed: Observed
) -> Iterator[tuple[Step, Indices, Indices]]:
    """Acts in all environments, in any autoreset mode but in those that are only reset in a step.

    Yields each step, and the environments where the agent acted and where an episode ended.
    """
    everywhere = np.arange(env.num_envs)
    any_actions = np.full(env.num_envs, agent.first_action)
    acting = everywhere
    while True:
        actions = any_actions.copy()
        if acting.size:
            actions[acting] = agent.act_batch(*selected(observed[:2], acting), explore=True)
        observations, rewards, terminated, truncated, infos = env.step(actions)
        is_over = terminated | truncated
        ended = is_over.nonzero()[0]
        after = following = observed_in(agent, observations, infos)
        if ended.size and mode is AutoresetMode.SAME_STEP:
            after = following.replaced(ended, final_observed(agent, infos, ended))
        elif ended.size and mode is AutoresetMode.DISABLED:
            reset = observed_in(agent, *env.reset(options={"reset_mask": is_over}))
            following = following.replaced(ended, selected(reset, ended))
        opponent_rewards = -rewards
        if n_players == 2:
            is_illegal = observed.masks[ended, actions[ended] - agent.first_action] == 0
            opponent_rewards[ended[is_illegal]] = 0.0
        yield Step(observed, actions, rewards.copy(), opponent_rewards, after, terminated), acting, ended
        observed = following
        acting = (~is_over).nonzero()[0] if ended.size and mode is AutoresetMode.NEXT_STEP else everywhere


def observed_in(agent: Agent, observations: Any, infos: dict[str, Any]) -> Observed:
    """What environments returned; all actions are legal and player 0 is to move where they do not say."""
    observations, masks = split_observation(observations, infos)
    observations = np.stack(observations, axis=-1) if isinstance(observations, tuple) else np.array(observations)
    n = len(observations)
    masks = np.ones((n, agent.n_actions), np.int8) if masks is None else np.array(masks)
    return Observed(observations, masks, np.array(infos.get(TO_PLAY, np.zeros(n, np.int64))))


def final_observed(agent: Agent, infos: dict[str, Any], ended: Indices) -> Observed:
    """In same-step mode, what the ended environments returned before they were reset."""
    final = [split_observation(observation, {}) for observation in infos["final_obs"][ended]]
    observations, masks = zip(*final, strict=True)
    final_infos = infos.get("final_info", {})
    known = {key: final_infos[key][ended] for key in ("action_mask", TO_PLAY) if key in final_infos}
    if masks[0] is not None:
        known["action_mask"] = np.array(masks)
    return observed_in(agent, np.array(observations), known)


def selected(columns: Iterable[NDArray[Any]], ids: Indices) -> Columns:
    """Copies of the rows ``ids`` of each column."""
    return [column.take(ids, axis=0) for column in columns]


def transitions_of(step: Step, ids: Indices) -> Columns:
    """The transitions from each action of a step to what is observed after it."""
    before, after = step.before, step.after
    columns = before.observations, step.actions, step.rewards, after.observations, step.terminated, after.masks
    return selected(columns, ids)


class OwnTurns:
    """In self-play, transitions from a player's turn to its own next turn, or to the end of the episode.

    ::

        step        0        1        2        3, the last one
        player 0    o, a ------------> o, a -----> o of the end
        player 1             o, a ---------------> o of the end

    The players alternate, so an action is pending until the other player has acted.
    """

    def __init__(self, num_envs: int, observations: NDArray[Any]) -> None:
        self._is_pending = np.zeros(num_envs, np.bool_)
        self._before: Columns = [observations, np.zeros(num_envs, np.int64), np.zeros(num_envs)]

    def complete(self, step: Step, ids: Indices, ended: Indices) -> Columns:
        """The transitions that a step completes, first those of the players who did not act in it."""
        observes_next = ids[self._is_pending.take(ids)]
        # after truncation there is no observation for the player who has just moved
        observes_end = ids[step.terminated.take(ids)]
        self._is_pending[:] = False
        self._is_pending[ids] = True
        self._is_pending[ended] = False
        if (step.after.to_play == step.before.to_play)[self._is_pending].any():
            raise ValueError("in a vector environment the players must alternate; train on a single environment")
        observations, actions, rewards = self._before
        waiting = selected([observations, actions, rewards + step.opponent_rewards], observes_next)
        self._before = [step.before.observations, step.actions, step.rewards]
        moved = selected(self._before, observes_end)
        before = [np.concatenate(pair) for pair in zip(waiting, moved, strict=True)]
        after = step.after.observations, step.terminated, step.after.masks
        return [*before, *selected(after, np.concatenate([observes_next, observes_end]))]


class EpisodeCounter:
    """Counts the episodes that are the first to begin, with their returns and lengths."""

    def __init__(self, num_envs: int, episodes: int, n_players: int, mode: AutoresetMode) -> None:
        self._n_pauses = int(mode is AutoresetMode.NEXT_STEP)  # steps between two episodes
        self._n_players = n_players
        self._episodes = episodes
        self._numbers = np.arange(num_envs)  # of their episodes, in the order in which these began
        self._n_begun = num_envs
        self._returns = np.zeros(num_envs)
        self._began = np.zeros(num_envs, np.int64)  # after which step each episode began
        self._n_steps = 0

    def add(self, step: Step) -> None:
        """Adds the rewards of a step, in self-play those of player 0, to the returns."""
        rewards = step.rewards
        if self._n_players == 2:
            rewards = rewards + step.before.to_play * (step.opponent_rewards - rewards)  # faster than np.where
        self._returns += rewards
        self._n_steps += 1

    def counted(self, ids: Indices) -> Indices:
        """Those of the environments ``ids`` whose episodes count."""
        return ids if self._n_begun <= self._episodes else ids[self._numbers.take(ids) < self._episodes]

    def end(self, ended: Indices) -> tuple[int, NDArray[np.float64], NDArray[np.int64]]:
        """The number, returns and lengths of the episodes that have ended; others begin in their environments."""
        self._numbers[ended] = np.arange(self._n_begun, self._n_begun + ended.size)
        self._n_begun += ended.size
        returns = self._returns[ended]
        lengths = self._n_steps - self._began[ended]
        self._returns[ended] = 0.0
        self._began[ended] = self._n_steps + self._n_pauses
        return ended.size, returns, lengths
