"""The training loop over vector environments, which steps all environments at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from agents._checks import checked_action, checked_actions
from agents._environments import VectorRollout, VectorStep, check_setting, rows_of
from agents.agent import Agent

Indices: TypeAlias = NDArray[np.intp]
Transitions: TypeAlias = Sequence[Any]
"""The arguments of :meth:`Agent.update`: columns with a row for each transition, or None."""
SIGNS = np.array([1.0, -1.0])  # of a reward of player 0 or 1, for player 0


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
    learner = agent if agent.encodes_observations else ObservationLearner(agent)
    rollout = VectorRollout(agent, learner, env, seed)
    n_players = 1 if rollout.observed.to_play is None else 2
    check_setting(agent, n_players)
    counter = EpisodeCounter(env.num_envs, episodes, rollout.n_reset_steps)
    # in self-play minimax-Q learns from the opponent's next turn, Q-learning from the player's own
    is_own_turn = n_players == 2 and agent.bootstraps_from == "own turn"
    own_turns = OwnTurns(env.num_envs, rollout.observed.observations) if is_own_turn else None
    # win counting and other Monte-Carlo methods learn from whole episodes
    buffer = EpisodeBuffer(n_players * env.num_envs) if agent.episodic else None
    calls_end_episode = buffer is None and type(agent).end_episode is not Agent.end_episode
    while counter.n_ended < episodes:
        step = counter.counted(rollout.step())
        if not step.ids.size:
            continue
        if own_turns is None:
            slots = ids = step.ids
            transitions = next_turns(step)
        else:
            slots, transitions = own_turns.complete(step)
            ids = None
        if buffer is not None:
            buffer.add(slots, selected(transitions, ids))
            for player in range(n_players):
                buffer.deliver(agent, step.ended + player * env.num_envs)
        elif slots.size:
            learner.update_encoded(*transitions, ids)
        if step.ended.size:
            for _ in range(step.ended.size if calls_end_episode else 0):
                agent.end_episode()
            yield counter.end(step.ended)


class ObservationLearner:
    """Calls :meth:`Agent.act` and :meth:`Agent.update` with observations as they are, in batches or one by one."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def encode(self, observations: NDArray[Any], action_masks: NDArray[Any] | None) -> tuple[Any, Any]:
        """Copies, since an environment may overwrite its arrays."""
        return observations.copy(), None if action_masks is None else action_masks.copy()

    def act_encoded(self, observations: NDArray[Any], action_masks: NDArray[Any] | None) -> NDArray[np.int64]:
        """While exploring, an action for each observation."""
        agent = self._agent
        name = f"the result of {type(agent).__name__}.act"
        n = len(observations)
        if agent.batched:
            actions = agent.act(observations, action_masks, explore=True)
            return checked_actions(name, actions, (n,), agent.action_space)
        masks = [None] * n if action_masks is None else action_masks
        chosen = [agent.act(*observed, explore=True) for observed in zip(observations, masks, strict=True)]
        return np.array([checked_action(name, action, agent.action_space) for action in chosen])

    def update_encoded(self, *columns: Any) -> None:
        """Learns from transitions, of which those at the indices in the last column count, all if it is None."""
        *transitions, ids = columns
        transitions = selected(transitions, ids)
        if self._agent.batched:
            self._agent.update(*transitions)
        else:
            for transition in one_by_one(transitions):
                self._agent.update(*transition)


def selected(transitions: Transitions, ids: Indices | None) -> Transitions:
    """The transitions at the indices ``ids``, all if it is None."""
    return transitions if ids is None else [rows_of(column, ids) for column in transitions]


def one_by_one(transitions: Transitions) -> Iterator[tuple[Any, ...]]:
    """One transition after another, with numbers of Python."""
    observations, actions, rewards, next_observations, terminated, masks = transitions
    lists = observations, actions.tolist(), rewards.tolist(), next_observations, terminated.tolist()
    return zip(*lists, [None] * len(actions) if masks is None else masks, strict=True)


class EpisodeCounter:
    """Counts the episodes that are the first to begin, with their returns and lengths."""

    def __init__(self, num_envs: int, episodes: int, n_reset_steps: int) -> None:
        self.n_ended = 0
        self._episodes = episodes
        self._n_begun = min(num_envs, episodes)
        self._is_counted = np.arange(num_envs) < self._n_begun
        self._n_reset_steps = n_reset_steps  # between two episodes
        self._n_steps = 0
        self._returns = np.zeros(num_envs)
        self._began = np.zeros(num_envs, np.int64)  # after which step each episode began

    def counted(self, step: VectorStep) -> VectorStep:
        """The part of a step that belongs to episodes that count; adds its rewards to their returns."""
        self._n_steps += 1
        rewards = step.rewards
        if not math.isfinite(rewards.sum()):
            raise ValueError(f"the rewards of an environment must be finite; got {rewards!r}")
        self._returns += rewards if step.observed.to_play is None else rewards * SIGNS.take(step.observed.to_play)
        if self._n_begun < self._episodes:
            return step
        ids, ended = (indices[self._is_counted.take(indices)] for indices in (step.ids, step.ended))
        return step._replace(ids=ids, ended=ended)

    def end(self, ended: Indices) -> tuple[int, NDArray[np.float64], NDArray[np.int64]]:
        """The number, returns and lengths of the episodes that have ended; others begin in their environments."""
        n_begun = min(self._n_begun + ended.size, self._episodes)
        self._is_counted[ended[n_begun - self._n_begun :]] = False
        self._n_begun = n_begun
        self.n_ended += ended.size
        returns = self._returns[ended]
        lengths = self._n_steps - self._began[ended]
        self._returns[ended] = 0.0
        self._began[ended] = self._n_steps + self._n_reset_steps
        return ended.size, returns, lengths


def next_turns(step: VectorStep) -> Transitions:
    """The transitions of all environments from one step to the next."""
    return [
        step.observed.observations,
        step.actions,
        step.rewards,
        step.next_observed.observations,
        step.terminated,
        step.next_observed.masks,
    ]


class OwnTurns:
    """In self-play, transitions from a player's turn to its own next turn, or to the end of the episode.

    ::

        step        0        1        2        3, the last one
        player 0    o, a ------------> o, a -----> o of the end
        player 1             o, a ---------------> o of the end

    An action is pending until then. A player's slot is ``player * num_envs + environment``.
    """

    def __init__(self, num_envs: int, observations: NDArray[Any]) -> None:
        n_slots = 2 * num_envs
        self._num_envs = num_envs
        self._is_pending = np.zeros(n_slots, np.bool_)
        self._observations = np.empty((n_slots, *observations.shape[1:]), observations.dtype)
        self._actions = np.zeros(n_slots, np.int64)
        self._rewards = np.zeros(n_slots)  # since the pending action

    def complete(self, step: VectorStep) -> tuple[Indices, Transitions]:
        """The transitions that a step completes, and their slots."""
        ids = step.ids
        n = self._num_envs
        assert step.observed.to_play is not None
        assert step.next_observed.to_play is not None
        offset = step.observed.to_play.take(ids) * n
        mover = ids + offset
        opponent = ids + n - offset
        next_offset = step.next_observed.to_play.take(ids) * n
        to_move = ids + next_offset
        not_to_move = ids + n - next_offset
        rewards = step.rewards.take(ids)
        self._is_pending[mover] = True
        self._observations[mover] = step.observed.observations.take(ids, axis=0)
        self._actions[mover] = step.actions.take(ids)
        self._rewards[mover] = rewards
        self._rewards[opponent] -= rewards
        # after truncation there is no observation for the player who is not to move
        observes_end = self._is_pending.take(not_to_move) & step.terminated.take(ids)
        observes_next = self._is_pending.take(to_move)
        slots = np.concatenate([to_move.take(observes_next.nonzero()[0]), not_to_move.take(observes_end.nonzero()[0])])
        observers = slots % n
        self._is_pending[step.ended] = False
        self._is_pending[step.ended + n] = False
        return slots, (
            self._observations.take(slots, axis=0),
            self._actions.take(slots),
            self._rewards.take(slots),
            step.next_observed.observations.take(observers, axis=0),
            step.terminated.take(observers),
            rows_of(step.next_observed.masks, observers),
        )


class EpisodeBuffer:
    """Holds the transitions of each slot, a player in an environment, back until the episode has ended.

    ::

        slot 0    t t t t|          delivered, then end_episode
        slot 1    t t               held back
        slot 2    t t t|            delivered, then end_episode
    """

    def __init__(self, n_slots: int) -> None:
        self._episodes: list[list[tuple[Any, ...]]] = [[] for _ in range(n_slots)]

    def add(self, slots: Indices, transitions: Transitions) -> None:
        """Appends each transition to the episode of its slot."""
        for slot, transition in zip(slots.tolist(), one_by_one(transitions), strict=True):
            self._episodes[slot].append(transition)

    def deliver(self, agent: Agent, slots: Indices) -> None:
        """Lets the agent learn from the episodes of some slots, which have ended."""
        for slot in slots.tolist():
            for transition in self._episodes[slot]:
                agent.update(*transition)
            if self._episodes[slot]:
                agent.end_episode()
            self._episodes[slot] = []
