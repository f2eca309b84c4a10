"""The training loop over vector environments, which steps all environments at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from agents._checks import checked_action, checked_actions
from agents._conventions import TO_PLAY, check_setting, split_observation
from agents.agent import Agent


class _State(NamedTuple):
    """Observations, action masks (or None) and players to move (or None) of n environments."""

    observations: NDArray[Any]
    masks: NDArray[Any] | None
    to_play: NDArray[np.int64] | None

    def take(self, indices: NDArray[np.intp]) -> _State:
        """A copy of some rows."""
        return _State(*(None if part is None else part.take(indices, axis=0) for part in self))  # type: ignore[arg-type]

    def replace_rows(self, indices: NDArray[np.intp], rows: _State) -> _State:
        """A copy with some rows replaced; a part that ``rows`` lacks keeps its values."""
        parts = []
        for part, replacement in zip(self, rows, strict=True):
            if part is not None and replacement is not None:
                part = part.copy()
                part[indices] = replacement
            parts.append(part)
        return _State(*parts)  # type: ignore[arg-type]


class _Steps(NamedTuple):
    """One step in each of n environments, ``env_ids``. The rewards are those of the players who acted."""

    env_ids: NDArray[np.intp]
    state: _State
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    next_state: _State
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]

    def take(self, indices: NDArray[np.intp]) -> _Steps:
        """Some of the steps."""
        return _Steps(*(part.take(indices) for part in self))  # type: ignore[arg-type]


class _Transitions(NamedTuple):
    """n transitions. Each belongs to a slot, whose transitions form an episode.

    The slot is ``player * num_envs + env_id`` for own-turn transitions, and ``env_id`` for one-step transitions.
    """

    slots: NDArray[np.intp]
    observations: NDArray[Any]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    next_observations: NDArray[Any]
    terminated: NDArray[np.bool_]
    next_masks: NDArray[Any] | None


class _EnvStepper:
    """Steps a vector environment and hides its autoreset mode: ``next_state`` is the state before any reset."""

    def __init__(self, env: VectorEnv[Any, Any, Any], seed: int | None) -> None:
        self._env, self.num_envs = env, env.num_envs
        self._autoreset_mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self.state = self._to_state(*env.reset(seed=seed))
        self._ignored_actions = np.full(self.num_envs, env.single_action_space.start)  # type: ignore[attr-defined]
        self._is_resetting = np.zeros(self.num_envs, dtype=np.bool_)  # where the next step only resets

    def _to_state(self, observations: Any, infos: dict[str, Any]) -> _State:
        return _State(*split_observation(observations, infos), infos.get(TO_PLAY))

    def step(self, agent: Agent) -> _Steps:
        """Steps all environments once; returns the steps of those that were not resetting."""
        env_ids = (~self._is_resetting).nonzero()[0]
        state = self.state.take(env_ids)  # a copy, since an environment may overwrite what it returned
        actions = self._ignored_actions.copy()
        actions[env_ids] = _act(agent, state)
        observations, rewards, terminated, truncated, infos = self._env.step(actions)
        is_over = terminated | truncated
        next_state = self.state = self._to_state(observations, infos)
        if self._autoreset_mode is AutoresetMode.NEXT_STEP:
            self._is_resetting = is_over
        elif is_over.any():
            ended = is_over.nonzero()[0]
            if self._autoreset_mode is AutoresetMode.SAME_STEP:
                next_state = next_state.replace_rows(ended, self._final_state(ended, infos))
            else:  # autoreset is disabled
                next_state = next_state.take(np.arange(self.num_envs))  # a copy, since reset may overwrite it
                reset_state = self._to_state(*self._env.reset(options={"reset_mask": is_over}))
                self.state = next_state.replace_rows(ended, reset_state.take(ended))
        return _Steps(
            env_ids,
            state,
            actions.take(env_ids),
            rewards.take(env_ids),
            next_state.take(env_ids),
            terminated.take(env_ids),
            truncated.take(env_ids),
        )

    def _final_state(self, ended: NDArray[np.intp], infos: dict[str, Any]) -> _State:
        """In same-step mode, the last state of each ended episode, before its environment was reset."""
        final = [split_observation(observation, {}) for observation in infos["final_obs"][ended]]
        observations, masks = zip(*final, strict=True)
        info = {key: infos.get("final_info", {}).get(key) for key in ("action_mask", TO_PLAY)}
        mask, to_play = (None if part is None else part.take(ended, axis=0) for part in info.values())
        return _State(np.array(observations), mask if masks[0] is None else np.array(masks), to_play)


def _act(agent: Agent, state: _State) -> NDArray[np.int64]:
    n = len(state.observations)
    if agent.batched:
        return checked_actions(agent, agent.act(state.observations, state.masks, explore=True), n)
    masks = [None] * n if state.masks is None else state.masks
    actions = [agent.act(*each, explore=True) for each in zip(state.observations, masks, strict=True)]
    return np.array([checked_action(agent, action) for action in actions], dtype=np.int64)


def _update(agent: Agent, transitions: _Transitions) -> None:
    _, observations, actions, rewards, next_observations, terminated, masks = transitions
    if agent.batched:
        agent.update(observations, actions, rewards, next_observations, terminated, masks)
        return
    columns = observations, actions.tolist(), rewards.tolist(), next_observations, terminated.tolist()
    for transition in zip(*columns, [None] * len(actions) if masks is None else masks, strict=True):
        agent.update(*transition)


def _one_step_transitions(steps: _Steps) -> _Transitions:
    """One transition for each step, with what the step returned."""
    return _Transitions(
        steps.env_ids,
        steps.state.observations,
        steps.actions,
        steps.rewards,
        steps.next_state.observations,
        steps.terminated,
        steps.next_state.masks,
    )


class _OwnTurnTransitions:
    """In self-play, a player's action is pending until the player is to move again or the episode ends."""

    def __init__(self, num_envs: int, observations: NDArray[Any]) -> None:
        n_slots = 2 * num_envs
        self._num_envs = num_envs
        self._is_pending = np.zeros(n_slots, dtype=np.bool_)
        self._observations = np.empty((n_slots, *observations.shape[1:]), dtype=observations.dtype)
        self._actions, self._rewards = np.zeros(n_slots, dtype=np.int64), np.zeros(n_slots)

    def __call__(self, steps: _Steps) -> _Transitions:
        """The transitions that these steps complete."""
        assert steps.state.to_play is not None
        assert steps.next_state.to_play is not None
        mover = steps.state.to_play * self._num_envs + steps.env_ids
        opponent = (1 - steps.state.to_play) * self._num_envs + steps.env_ids
        self._is_pending[mover] = True
        self._observations[mover] = steps.state.observations
        self._actions[mover], self._rewards[mover] = steps.actions, steps.rewards
        self._rewards[opponent] -= steps.rewards
        to_move = steps.next_state.to_play * self._num_envs + steps.env_ids
        not_to_move = (1 - steps.next_state.to_play) * self._num_envs + steps.env_ids
        moves_next = np.flatnonzero(self._is_pending[to_move])
        # after truncation there is no observation for the player who is not to move
        observes_end = np.flatnonzero(self._is_pending[not_to_move] & steps.terminated)
        indices = np.concatenate([moves_next, observes_end])
        slots = np.concatenate([to_move[moves_next], not_to_move[observes_end]])
        next_state = steps.next_state.take(indices)
        is_over = steps.terminated | steps.truncated
        self._is_pending[to_move[is_over]] = self._is_pending[not_to_move[is_over]] = False
        return _Transitions(
            slots,
            self._observations[slots],
            self._actions[slots],
            self._rewards[slots],
            next_state.observations,
            steps.terminated.take(indices),
            next_state.masks,
        )


class _EpisodeBuffer:
    """Stores the transitions of each slot until its episode has ended."""

    def __init__(self, n_slots: int) -> None:
        # one array for each field of the transitions, shape (capacity, n_slots, ...)
        self._buffers: list[NDArray[Any] | None] = []
        self._lengths = np.zeros(n_slots, dtype=np.int64)

    def add(self, transitions: _Transitions) -> None:
        """Appends each transition to its slot."""
        slots = transitions.slots
        times = self._lengths[slots]
        if not self._buffers or (times.size and times.max() == self._capacity):
            self._grow(transitions)
        for buffer, field in zip(self._buffers, transitions, strict=True):
            if buffer is not None:
                buffer[times, slots] = field
        self._lengths[slots] += 1

    @property
    def _capacity(self) -> int:
        assert self._buffers[0] is not None
        return len(self._buffers[0])

    def _grow(self, transitions: _Transitions) -> None:
        if not self._buffers:
            self._buffers = [
                None if field is None else np.empty((16, len(self._lengths), *field.shape[1:]), field.dtype)
                for field in transitions
            ]
        else:
            self._buffers = [
                None if buffer is None else np.concatenate([buffer, np.empty_like(buffer)])
                for buffer in self._buffers
            ]

    def pop(self, slots: NDArray[np.intp]) -> _Transitions | None:
        """Removes the episodes of some slots and returns them end to end; None if no slot holds a transition."""
        lengths = self._lengths[slots]
        self._lengths[slots] = 0
        if not lengths.any():
            return None
        slot = np.repeat(slots, lengths)
        times = np.arange(len(slot)) - np.repeat(lengths.cumsum() - lengths, lengths)  # 0, 1, ... in each episode
        return _Transitions(*(None if buffer is None else buffer[times, slot] for buffer in self._buffers))  # type: ignore[arg-type]


class _Learner:
    """Turns steps into transitions and delivers them to the agent, at once or as whole episodes."""

    def __init__(self, agent: Agent, stepper: _EnvStepper) -> None:
        self._agent, self._num_envs = agent, stepper.num_envs
        self._n_players = 1 if stepper.state.to_play is None else 2
        check_setting(agent, self._n_players)
        # stage 1: in self-play minimax-Q learns from the opponent's next turn, Q-learning from the player's own
        own_turns = self._n_players == 2 and agent.bootstraps_from == "own turn"
        self._make_transitions = (
            _OwnTurnTransitions(self._num_envs, stepper.state.observations) if own_turns else _one_step_transitions
        )
        # stage 2: win counting and other Monte-Carlo methods learn from whole episodes
        self._buffer = _EpisodeBuffer(self._n_players * self._num_envs) if agent.episodic else None
        self._calls_end_episode = type(agent).end_episode is not Agent.end_episode

    def learn(self, steps: _Steps) -> None:
        """Learns from everything that these steps complete."""
        transitions = self._make_transitions(steps)
        if self._buffer is not None:
            self._buffer.add(transitions)
            self._learn_episodes(self._buffer, steps)
            return
        _update(self._agent, transitions)
        if self._calls_end_episode:
            for _ in range(np.count_nonzero(steps.terminated | steps.truncated)):
                self._agent.end_episode()

    def _learn_episodes(self, buffer: _EpisodeBuffer, steps: _Steps) -> None:
        """Delivers the episodes that have ended, and calls ``end_episode`` after each batch.

        For a batched agent all terminated episodes form one batch, in which ``terminated`` marks the end of each.
        Otherwise, and after truncation, each episode is a batch of its own.
        """
        players = np.arange(self._n_players)[:, None] * self._num_envs
        terminated = (players + steps.env_ids[steps.terminated]).ravel()
        truncated = (players + steps.env_ids[steps.truncated & ~steps.terminated]).ravel()
        together = [terminated] if self._agent.batched else terminated[:, None]
        for slots in [*together, *truncated[:, None]]:
            episodes = buffer.pop(slots)
            if episodes is not None:
                _update(self._agent, episodes)
                self._agent.end_episode()


def vector_episodes(
    agent: Agent, env: VectorEnv[Any, Any, Any], episodes: int, seed: int | None
) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.int64]]]:
    """Trains for ``episodes`` episodes; yields how many have ended in a step, their returns and their lengths.

    The episodes that count are the first to begin. An environment with no such episode left is stepped on, but the
    agent does not learn from it. In self-play the returns are those of player 0, who moves first.

    Args:
        agent: The learner.
        env: The vector environment, in any autoreset mode.
        episodes: The number of episodes, 0 or more.
        seed: Seeds the environment at its first reset; ``None``: does not.

    Yields:
        The number n of episodes that have ended, their returns, float64 of shape ``(n,)``, and their numbers of
        actions, int64 of shape ``(n,)``.

    Raises:
        TypeError: The agent's actions are not integers.
        ValueError: The observations do not come in batches, or the agent cannot be trained in this setting or
            returns actions outside their space.
    """
    if agent.observation_space.shape is None:
        raise ValueError(
            f"observations of {agent.observation_space} do not come in batches; train on one environment"
        )
    stepper = _EnvStepper(env, seed)
    learner = _Learner(agent, stepper)
    num_envs = stepper.num_envs
    n_begun = min(num_envs, episodes)
    is_counted = np.arange(num_envs) < n_begun
    returns, lengths = np.zeros(num_envs), np.zeros(num_envs, dtype=np.int64)
    while is_counted.any():
        steps = stepper.step(agent)
        if not is_counted.all():
            steps = steps.take(is_counted[steps.env_ids].nonzero()[0])
        if not steps.env_ids.size:
            continue
        learner.learn(steps)
        rewarded = steps.rewards.nonzero()[0]  # few, in a game that is rewarded at its end
        player = 0 if steps.state.to_play is None else steps.state.to_play[rewarded]
        returns[steps.env_ids[rewarded]] += steps.rewards[rewarded] * (1 - 2 * player)  # zero-sum
        lengths[steps.env_ids] += 1
        ended = steps.env_ids[steps.terminated | steps.truncated]
        if ended.size:
            n_begun_next = min(n_begun + ended.size, episodes)
            is_counted[ended[n_begun_next - n_begun :]] = False  # the others begin another episode that counts
            n_begun = n_begun_next
            yield ended.size, returns[ended], lengths[ended]
            returns[ended], lengths[ended] = 0.0, 0
