"""The training loop over vector environments, which steps all environments at once."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from agents._checks import checked_action, checked_actions
from agents._environments import TO_PLAY, check_setting, split_observation
from agents._masks import checked_masks
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
        raise ValueError(f"{agent.observation_space} has no batches of observations; train on one environment")
    learner: Any = agent if agent.encodes_observations else ObservationLearner(agent)
    observations, infos = env.reset(seed=seed)
    checked_masks(split_observation(observations, infos)[1], (env.num_envs,), agent.n_actions)  # the first ones
    observed = observe(learner, observations, infos)
    n_players = 1 if observed.to_play is None else 2
    check_setting(agent, n_players)
    mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
    counter = EpisodeCounter(env.num_envs, episodes, mode)
    is_own_turn = n_players == 2 and agent.bootstraps_from == "own turn"
    own_turns = OwnTurns(env.num_envs, observed.observations) if is_own_turn else None
    buffer = EpisodeBuffer(agent, env.num_envs, n_players) if agent.episodic else None
    calls_end_episode = buffer is None and type(agent).end_episode is not Agent.end_episode
    for every_step in vector_steps(agent, learner, env, mode, observed):
        step = counter.counted(every_step)
        if own_turns is None:
            slots = ids = step.ids
            transitions = step.transitions()
        else:
            slots, transitions = own_turns.complete(step)
            ids = None  # all count
        if buffer is not None:
            buffer.add(slots, selected(transitions, ids))
            buffer.deliver(step.ended)
        elif slots.size:
            learner.update_encoded(*transitions, ids)
        if step.ended.size:
            for _ in range(step.ended.size if calls_end_episode else 0):
                agent.end_episode()
            yield counter.end(step.ended)


class Observed(NamedTuple):
    """What is observed in all environments, encoded, and the players to move; a part that is not given is None."""

    observations: Any
    masks: Any
    to_play: Any

    def replaced(self, ids: Indices, rows: "Observed") -> "Observed":
        """A copy with other rows at the indices ``ids``; a part that ``rows`` lacks keeps its values."""
        parts = list(self)
        for index, (part, new) in enumerate(zip(self, rows, strict=True)):
            if part is not None and new is not None:
                parts[index] = part.copy()
                parts[index][ids] = new
        return Observed(*parts)


class VectorStep(NamedTuple):
    """One step of all environments, of which those of ``ids`` count. Rewards are of the players who acted."""

    ids: Indices
    observed: Observed
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    next_observed: Observed  # before any reset
    terminated: NDArray[np.bool_]
    ended: Indices  # those of ids whose episode has terminated or been truncated

    def transitions(self) -> Transitions:
        """The transitions of all environments."""
        _, observed, actions, rewards, next_observed, terminated, _ = self
        return observed.observations, actions, rewards, next_observed.observations, terminated, next_observed.masks


def observe(learner: Any, observations: Any, infos: dict[str, Any], rows: Indices | None = None) -> Observed:
    """Reads and encodes what an environment returned, of all environments or of some rows."""
    parts = [*split_observation(observations, infos), infos.get(TO_PLAY)]
    observations, masks, to_play = parts if rows is None else selected(parts, rows)
    observations, masks = learner.encode(observations, masks)
    return Observed(observations, masks, None if to_play is None else to_play.copy())


def vector_steps(
    agent: Agent, learner: Any, env: VectorEnv[Any, Any, Any], mode: AutoresetMode, observed: Observed
) -> Iterator[VectorStep]:
    """Acts in all environments, in any autoreset mode; those that are only reset in a step do not count."""
    ids = everywhere = np.arange(env.num_envs)
    any_actions = np.full(env.num_envs, agent.first_action)
    while True:
        actions = any_actions.copy()
        if ids.size:
            actions[ids] = learner.act_encoded(*selected(observed[:2], ids))
        observations, rewards, terminated, truncated, infos = env.step(actions)
        following = next_observed = observe(learner, observations, infos)
        is_over = terminated | truncated
        ended = is_over.nonzero()[0]
        if ended.size and mode is AutoresetMode.SAME_STEP:
            next_observed = following.replaced(ended, final_observed(learner, infos, ended))
        elif ended.size and mode is AutoresetMode.DISABLED:
            after_reset = env.reset(options={"reset_mask": is_over})
            following = following.replaced(ended, observe(learner, *after_reset, ended))
        yield VectorStep(ids, observed, actions, rewards, next_observed, terminated, ended)
        observed = following
        ids = (~is_over).nonzero()[0] if ended.size and mode is AutoresetMode.NEXT_STEP else everywhere


def final_observed(learner: Any, infos: dict[str, Any], ended: Indices) -> Observed:
    """In same-step mode, the last observations of the ended episodes, before their environments were reset."""
    final = [split_observation(observation, {}) for observation in infos["final_obs"][ended]]
    observations, masks = zip(*final, strict=True)
    final_infos = infos.get("final_info", {})
    mask, to_play = selected([final_infos.get("action_mask"), final_infos.get(TO_PLAY)], ended)
    rows, masks = learner.encode(np.array(observations), mask if masks[0] is None else np.array(masks))
    return Observed(rows, masks, to_play)


def selected(columns: Transitions, ids: Indices | None) -> Transitions:
    """Copies of the rows ``ids`` of each column; all rows if it is None."""
    if ids is None:
        return columns
    return [None if column is None else column.take(ids, axis=0) for column in columns]


def one_by_one(transitions: Transitions) -> Iterator[tuple[Any, ...]]:
    """One transition after another, with numbers of Python."""
    observations, actions, rewards, next_observations, terminated, masks = transitions
    lists = observations, actions.tolist(), rewards.tolist(), next_observations, terminated.tolist()
    return zip(*lists, [None] * len(actions) if masks is None else masks, strict=True)


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
        if agent.batched:
            actions = agent.act(observations, action_masks, explore=True)
            return checked_actions(name, actions, (len(observations),), agent.action_space)
        masks = [None] * len(observations) if action_masks is None else action_masks
        chosen = [agent.act(*observed, explore=True) for observed in zip(observations, masks, strict=True)]
        return np.array([checked_action(name, action, agent.action_space) for action in chosen])

    def update_encoded(self, *columns: Any) -> None:
        """Learns from transitions, of which those at the indices in the last column count, all if it is None."""
        transitions = selected(columns[:-1], columns[-1])
        if self._agent.batched:
            self._agent.update(*transitions)
        else:
            for transition in one_by_one(transitions):
                self._agent.update(*transition)


class EpisodeCounter:
    """Counts the episodes that are the first to begin, with their returns and lengths."""

    def __init__(self, num_envs: int, episodes: int, mode: AutoresetMode) -> None:
        self._n_reset_steps = int(mode is AutoresetMode.NEXT_STEP)  # between two episodes
        self._episodes = episodes
        self._n_begun = min(num_envs, episodes)
        self._is_counted = np.arange(num_envs) < self._n_begun
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
        returns = self._returns[ended]
        lengths = self._n_steps - self._began[ended]
        self._returns[ended] = 0.0
        self._began[ended] = self._n_steps + self._n_reset_steps
        return ended.size, returns, lengths


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
        """The slots and the transitions that a step completes."""
        ids = step.ids
        n = self._num_envs
        to_play, next_to_play = (
            observed.to_play.take(ids) * n for observed in (step.observed, step.next_observed)
        )
        mover = ids + to_play
        opponent = ids + n - to_play
        to_move = ids + next_to_play
        not_to_move = ids + n - next_to_play
        rewards = step.rewards.take(ids)
        self._is_pending[mover] = True
        self._observations[mover] = step.observed.observations.take(ids, axis=0)
        self._actions[mover] = step.actions.take(ids)
        self._rewards[mover] = rewards
        self._rewards[opponent] -= rewards
        observes_next = self._is_pending.take(to_move).nonzero()[0]
        # after truncation there is no observation for the player who is not to move
        observes_end = (self._is_pending.take(not_to_move) & step.terminated.take(ids)).nonzero()[0]
        slots = np.concatenate([to_move.take(observes_next), not_to_move.take(observes_end)])
        self._is_pending[step.ended] = False
        self._is_pending[step.ended + n] = False
        before = self._observations, self._actions, self._rewards
        after = step.next_observed.observations, step.terminated, step.next_observed.masks
        return slots, [*selected(before, slots), *selected(after, slots % n)]


class EpisodeBuffer:
    """Holds the transitions of each player in each environment back until the episode has ended.

    ::

        environment 0    t t t t|          delivered, then end_episode
        environment 1    t t               held back
        environment 2    t t t|            delivered, then end_episode
    """

    def __init__(self, agent: Agent, num_envs: int, n_players: int) -> None:
        self._agent = agent
        self._num_envs = num_envs
        self._episodes: list[list[tuple[Any, ...]]] = [[] for _ in range(n_players * num_envs)]

    def add(self, slots: Indices, transitions: Transitions) -> None:
        """Appends each transition to the episode of its slot, as in :class:`OwnTurns`."""
        for slot, transition in zip(slots.tolist(), one_by_one(transitions), strict=True):
            self._episodes[slot].append(transition)

    def deliver(self, ended: Indices) -> None:
        """Lets the agent learn from the episodes of the environments ``ended``, one player after the other."""
        for first_slot in range(0, len(self._episodes), self._num_envs):
            for slot in (first_slot + ended).tolist():
                for transition in self._episodes[slot]:
                    self._agent.update(*transition)
                if self._episodes[slot]:
                    self._agent.end_episode()
                self._episodes[slot] = []
