"""The training loop over vector environments, which steps all environments at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from agents._actions import legal_batch
from agents._environments import TO_PLAY, check_setting, checked_actions, split_observation
from agents.agent import Agent

SIGNS = np.array([1.0, -1.0])  # of a reward of player 0 or 1, for player 0
Indices: TypeAlias = NDArray[np.intp]


class ObservationLearner:
    """Calls :meth:`Agent.act` and :meth:`Agent.update` with observations, in batches or one by one.

    A batched agent may define these three methods itself, to encode each observation once for all that training
    does with it; tabular agents find its row. A subclass that overrides ``act`` or ``update`` gets observations.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def encode(self, observations: NDArray[Any], action_masks: NDArray[Any] | None) -> tuple[Any, Any]:
        """The codes of n observations and their masks; never the arrays, which an environment may overwrite."""
        return observations.copy(), None if action_masks is None else action_masks.copy()

    def act_encoded(self, observations: Any, action_masks: Any, ids: Indices) -> NDArray[np.int64]:
        """While exploring, n actions for n codes, of which the indices ``ids`` count."""
        agent, n = self._agent, len(ids)
        actions = np.full(len(observations), agent.first_action)
        if not n:  # all environments are only reset
            return actions
        observations, action_masks = rows_of(observations, ids), rows_of(action_masks, ids)
        if agent.batched:
            actions[ids] = checked_actions(agent, agent.act(observations, action_masks, explore=True), (n,))
        else:
            masks = [None] * n if action_masks is None else action_masks
            chosen = [agent.act(*each, explore=True) for each in zip(observations, masks, strict=True)]
            actions[ids] = [checked_actions(agent, action, ()) for action in chosen]
        return actions

    def update_encoded(
        self,
        observations: Any,
        actions: NDArray[np.int64],
        rewards: NDArray[np.float64],
        next_observations: Any,
        terminated: NDArray[np.bool_],
        next_action_masks: Any,
        ids: Indices | None = None,
    ) -> None:
        """Learns from n transitions, of which the indices ``ids`` count, all if None."""
        columns = observations, actions, rewards, next_observations, terminated, next_action_masks
        if ids is not None:
            columns = tuple(rows_of(column, ids) for column in columns)
        if self._agent.batched:
            if len(columns[0]):  # the first ply of self-play completes no transition
                self._agent.update(*columns)
            return
        observations, actions, rewards, next_observations, terminated, masks = columns
        lists = observations, actions.tolist(), rewards.tolist(), next_observations, terminated.tolist()
        for transition in zip(*lists, [None] * len(actions) if masks is None else masks, strict=True):
            self._agent.update(*transition)


def rows_of(array: Any, indices: Indices) -> Any:
    """A copy of some rows; None of None."""
    return None if array is None else array.take(indices, axis=0)


def learner_of(agent: Agent) -> Any:
    """The agent itself if the class that defines ``encode`` also defines its ``act`` and ``update``."""
    definers = {
        next((each for each in (agent, *type(agent).__mro__) if name in vars(each)), None)
        for name in ("act", "update", "encode")
    }
    return agent if len(definers) == 1 and agent.batched else ObservationLearner(agent)


class State(NamedTuple):
    """Encoded observations and action masks, and players to move (or None), of all environments."""

    observations: Any
    masks: Any
    to_play: NDArray[np.int64] | None

    def replaced(self, ids: Indices, rows: State) -> State:
        """A copy with some rows replaced; a part that ``rows`` lacks keeps its values."""
        parts = []
        for part, new in zip(self, rows, strict=True):
            if part is not None and new is not None:
                part = part.copy()
                part[ids] = new
            parts.append(part)
        return State(parts[0], parts[1], parts[2])


class Steps(NamedTuple):
    """One step of all environments, of which those of ``ids`` count. Rewards are of the players who acted."""

    ids: Indices
    state: State
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    next_state: State  # before any reset
    terminated: NDArray[np.bool_]
    ended: Indices  # those of ids whose episode has terminated or been truncated


class Environments:
    """Steps a vector environment and hides its autoreset mode."""

    def __init__(self, agent: Agent, learner: Any, env: VectorEnv[Any, Any, Any], seed: int | None) -> None:
        self._learner, self._env = learner, env
        self._mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self.n_reset_steps = int(self._mode is AutoresetMode.NEXT_STEP)
        observations, infos = env.reset(seed=seed)
        _, masks = split_observation(observations, infos)
        if masks is not None:  # the first ones are checked
            legal_batch(masks, (env.num_envs,), agent.n_actions)
        self.state = self._read(observations, infos)
        self._everywhere = self._ids = np.arange(env.num_envs)

    def step(self) -> Steps:
        """Acts in all environments; those that are only reset do not count."""
        ids, state = self._ids, self.state
        actions = self._learner.act_encoded(state.observations, state.masks, ids)
        observations, rewards, terminated, truncated, infos = self._env.step(actions)
        is_over = terminated | truncated
        next_state = self.state = self._read(observations, infos)
        self._ids, ended = self._everywhere, is_over.nonzero()[0]
        if ended.size:
            if self._mode is AutoresetMode.NEXT_STEP:
                self._ids = (~is_over).nonzero()[0]
            elif self._mode is AutoresetMode.SAME_STEP:
                next_state = next_state.replaced(ended, self._final_state(ended, infos))
            else:  # autoreset is disabled
                observations, infos = self._env.reset(options={"reset_mask": is_over})
                parts = *split_observation(observations, infos), infos.get(TO_PLAY)
                self.state = next_state.replaced(ended, self._encoded(*(rows_of(part, ended) for part in parts)))
        return Steps(ids, state, actions, rewards, next_state, terminated, ended)

    def _read(self, observations: Any, infos: dict[str, Any]) -> State:
        return self._encoded(*split_observation(observations, infos), infos.get(TO_PLAY))

    def _encoded(self, observations: Any, masks: Any, to_play: Any) -> State:
        observations, masks = self._learner.encode(observations, masks)
        return State(observations, masks, None if to_play is None else to_play.copy())

    def _final_state(self, ended: Indices, infos: dict[str, Any]) -> State:
        """In same-step mode, the last state of each ended episode, before its environment was reset."""
        final = [split_observation(observation, {}) for observation in infos["final_obs"][ended]]
        observations, masks = zip(*final, strict=True)
        mask, to_play = (rows_of(infos.get("final_info", {}).get(key), ended) for key in ("action_mask", TO_PLAY))
        return self._encoded(np.array(observations), mask if masks[0] is None else np.array(masks), to_play)


Columns: TypeAlias = tuple[Any, Any, Any, Any, Any, Any]
"""Of transitions: the first six arguments of :meth:`ObservationLearner.update_encoded`."""


def one_step_transitions(steps: Steps) -> tuple[Indices, Columns]:
    """The indices of the environments that count, and columns with a transition of every environment."""
    ids, state, actions, rewards, next_state, terminated, _ = steps
    return ids, (state.observations, actions, rewards, next_state.observations, terminated, next_state.masks)


class OwnTurnTransitions:
    """In self-play, a player's action is pending until the player is to move again or the episode ends."""

    def __init__(self, num_envs: int, observations: NDArray[Any]) -> None:
        self._num_envs, n_slots = num_envs, 2 * num_envs  # a player's slot is player * num_envs + environment
        self._is_pending = np.zeros(n_slots, dtype=np.bool_)
        self._observations = np.empty((n_slots, *observations.shape[1:]), dtype=observations.dtype)
        self._actions, self._rewards = np.zeros(n_slots, dtype=np.int64), np.zeros(n_slots)

    def __call__(self, steps: Steps) -> tuple[Indices, Columns]:
        """The slots and the columns of the transitions that these steps complete."""
        ids, n = steps.ids, self._num_envs
        assert steps.state.to_play is not None
        assert steps.next_state.to_play is not None
        to_play, next_to_play = steps.state.to_play.take(ids) * n, steps.next_state.to_play.take(ids) * n
        rewards = steps.rewards.take(ids)
        mover, opponent = ids + to_play, ids + (n - to_play)
        to_move, not_to_move = ids + next_to_play, ids + (n - next_to_play)
        self._is_pending[mover] = True
        self._observations[mover] = steps.state.observations.take(ids, axis=0)
        self._actions[mover], self._rewards[mover] = steps.actions.take(ids), rewards
        self._rewards[opponent] -= rewards
        moves_next = self._is_pending.take(to_move).nonzero()[0]
        # after truncation there is no observation for the player who is not to move
        observes_end = (self._is_pending.take(not_to_move) & steps.terminated.take(ids)).nonzero()[0]
        slots = np.concatenate([to_move.take(moves_next), not_to_move.take(observes_end)])
        observers = slots % n
        self._is_pending[steps.ended] = self._is_pending[steps.ended + n] = False
        return slots, (
            self._observations.take(slots, axis=0),
            self._actions.take(slots),
            self._rewards.take(slots),
            steps.next_state.observations.take(observers, axis=0),
            steps.terminated.take(observers),
            rows_of(steps.next_state.masks, observers),
        )


class EpisodeBuffer:
    """Stores the transitions of each slot until its episode has ended."""

    def __init__(self, n_slots: int) -> None:
        self._lengths = np.zeros(n_slots, dtype=np.int64)
        self._buffers: list[Any] = []  # one for each column, shape (capacity, n_slots, ...)

    def add(self, slots: Indices, columns: Columns) -> None:
        """Appends each transition to its slot."""
        times = self._lengths.take(slots)
        if not self._buffers:
            sizes = 16, len(self._lengths)
            self._buffers = [
                None if column is None else np.empty(sizes + column.shape[1:], column.dtype) for column in columns
            ]
        elif times.max(initial=0) == len(self._buffers[0]):  # full; the second half is overwritten
            self._buffers = [None if each is None else np.concatenate([each, each]) for each in self._buffers]
        for buffer, column in zip(self._buffers, columns, strict=True):
            if buffer is not None:
                buffer[times, slots] = column
        self._lengths[slots] += 1

    def pop(self, slots: Indices) -> Columns | None:
        """Removes the episodes of some slots and returns them end to end; None if no slot holds a transition."""
        lengths = self._lengths[slots]
        self._lengths[slots] = 0
        if not lengths.any():
            return None
        slot = np.repeat(slots, lengths)
        times = np.arange(len(slot)) - np.repeat(lengths.cumsum() - lengths, lengths)  # 0, 1, ... in each episode
        return tuple(None if buffer is None else buffer[times, slot] for buffer in self._buffers)  # type: ignore[return-value]


def learn_episodes(agent: Agent, learner: Any, buffer: EpisodeBuffer, steps: Steps, n_players: int) -> None:
    """Delivers the episodes that have ended, and calls ``end_episode`` after each batch.

    For a batched agent all terminated episodes form one batch, in which ``terminated`` marks the end of each.
    Otherwise, and after truncation, each episode is a separate batch.
    """
    ended, is_terminated = steps.ended, steps.terminated.take(steps.ended)
    players = np.arange(n_players)[:, None] * len(steps.actions)
    terminated, truncated = ((players + each).ravel() for each in (ended[is_terminated], ended[~is_terminated]))
    for slots in [*([terminated] if agent.batched else terminated[:, None]), *truncated[:, None]]:
        columns = buffer.pop(slots)
        if columns is not None:
            learner.update_encoded(*columns)
            agent.end_episode()


def vector_episodes(
    agent: Agent, env: VectorEnv[Any, Any, Any], episodes: int, seed: int | None
) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.int64]]]:
    """Trains for ``episodes`` episodes; yields how many have ended in a step, their returns and their lengths.

    The episodes that count are the first to begin. An environment with no such episode left continues to step, but
    the agent does not learn from it. In self-play the returns are those of player 0, who moves first.
    """
    if agent.observation_space.shape is None:
        raise ValueError(
            f"observations of {agent.observation_space} do not come in batches; train on one environment"
        )
    learner = learner_of(agent)
    environments, num_envs = Environments(agent, learner, env, seed), env.num_envs
    n_players = 1 if environments.state.to_play is None else 2
    check_setting(agent, n_players)
    # in self-play minimax-Q learns from the opponent's next turn, Q-learning from the player's own
    own_turns = None
    if n_players == 2 and agent.bootstraps_from == "own turn":
        own_turns = OwnTurnTransitions(num_envs, environments.state.observations)
    # win counting and other Monte-Carlo methods learn from whole episodes
    buffer = EpisodeBuffer(n_players * num_envs) if agent.episodic else None
    calls_end_episode = buffer is None and type(agent).end_episode is not Agent.end_episode
    n_begun = min(num_envs, episodes)
    is_counted = np.arange(num_envs) < n_begun
    returns, began = np.zeros(num_envs), np.zeros(num_envs, dtype=np.int64)  # at which step each episode began
    n_steps = n_ended = 0
    while n_ended < episodes:
        steps = environments.step()
        n_steps += 1
        if n_begun == episodes:
            ids, ended = (each[is_counted.take(each)] for each in (steps.ids, steps.ended))
            steps = steps._replace(ids=ids, ended=ended)
        ids, ended = steps.ids, steps.ended
        if not ids.size:
            continue
        rewards, to_play = steps.rewards, steps.state.to_play
        if not math.isfinite(rewards.sum()):
            raise ValueError(f"the rewards of an environment must be finite; got {rewards!r}")
        returns += rewards if to_play is None else rewards * SIGNS.take(to_play)
        slots, columns = one_step_transitions(steps) if own_turns is None else own_turns(steps)
        if buffer is None:
            learner.update_encoded(*columns, None if own_turns else slots)
        else:
            if own_turns is None:
                columns = tuple(rows_of(column, slots) for column in columns)
            buffer.add(slots, columns)
            learn_episodes(agent, learner, buffer, steps, n_players)
        if ended.size:
            for _ in range(ended.size if calls_end_episode else 0):
                agent.end_episode()
            n_begun_next = min(n_begun + ended.size, episodes)
            is_counted[ended[n_begun_next - n_begun :]] = False  # the others begin another episode that counts
            n_begun, n_ended = n_begun_next, n_ended + ended.size
            yield ended.size, returns[ended], n_steps - began[ended]
            returns[ended], began[ended] = 0.0, n_steps + environments.n_reset_steps
