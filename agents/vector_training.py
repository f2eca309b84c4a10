"""The training loop over vector environments, which steps all environments at once."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from agents.agent import TO_PLAY, Agent, check_setting, checked_action, split_observation

Indices: TypeAlias = NDArray[np.intp]
Columns: TypeAlias = Sequence[Any]
"""Arrays with a row for each environment or transition."""


class EncodedLearner(Protocol):
    """What the loop calls. An observation is encoded once, although two transitions hold it."""

    def encode(self, observations: Any, action_masks: Any, is_last: Any) -> tuple[Any, Any]:
        """Observations and masks, as new arrays of any form with a row for each observation.

        ``is_last``, bool ``(n,)``, says which observations end an episode.
        """

    def act_encoded(self, observations: Any, action_masks: Any) -> NDArray[np.int64]:
        """While exploring, a legal action for each encoded observation."""

    def update_encoded(self, transitions: Columns, ids: Any) -> None:
        """Learns from the transitions at the indices ``ids``.

        The columns are the arguments of :meth:`Agent.update`, with encoded observations and masks.
        """


def vector_episodes(
    agent: Agent, env: VectorEnv[Any, Any, Any], episodes: int, seed: int | None
) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.int64]]]:
    """Learns from the first ``episodes`` episodes to begin; yields how many end in a step, returns and lengths."""
    learner = encoded_learner(agent)
    observations, infos = env.reset(seed=seed)
    n_players = 2 if TO_PLAY in infos else 1
    check_setting(agent, n_players)
    mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
    observed = encoded(learner, columns_of(agent, observations, infos), np.zeros(env.num_envs, np.bool_))
    counter = EpisodeCounter(env.num_envs, episodes, n_players, mode)
    is_own_turn = n_players == 2 and agent.bootstraps_from == "own turn"
    own_turns = OwnTurns(env.num_envs, observed.observations) if is_own_turn else None
    for every_step in vector_steps(agent, learner, env, mode, observed):
        step = counter.counted(every_step)
        if own_turns is None:
            learner.update_encoded(step.transitions(), step.ids)
        else:
            learner.update_encoded(*own_turns.complete(step))
        if step.ended.size:
            yield counter.end(step.ended)


def encoded_learner(agent: Agent) -> EncodedLearner:
    """The agent itself if it is an :class:`EncodedLearner`, else what calls its ``act`` and ``update``.

    The latter also where a subclass overrides ``act`` or ``update`` without its encoded form.
    """
    kind = type(agent)
    if kind.end_episode is not Agent.end_episode:
        raise ValueError(f"{kind.__name__} learns from whole episodes; train it on a single environment")
    learner: Any = agent
    for name in ("act", "update"):
        definers = (parent for parent in kind.__mro__ if vars(parent).keys() & {name, f"{name}_encoded"})
        if f"{name}_encoded" not in vars(next(definers)):
            return OneByOne(agent)
    return learner


class Observed(NamedTuple):
    """What is observed in all environments, and the players to move."""

    observations: Any  # encoded
    masks: Any  # encoded
    to_play: NDArray[np.integer[Any]]

    def replaced(self, ids: Indices, rows: "Observed") -> "Observed":
        """A copy with other rows at the indices ``ids``."""
        copies = Observed(*(part.copy() for part in self))
        for part, new in zip(copies, rows, strict=True):
            part[ids] = new
        return copies


class VectorStep(NamedTuple):
    """One step of all environments, of which those of ``ids`` count."""

    ids: Indices
    observed: Observed
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]  # of the players who acted
    opponent_rewards: NDArray[np.float64]
    next_observed: Observed  # before any reset
    terminated: NDArray[np.bool_]
    ended: Indices  # those of ids whose episode has terminated or been truncated

    def transitions(self) -> Columns:
        """The transitions of all environments."""
        before, after = self.observed, self.next_observed
        return before.observations, self.actions, self.rewards, after.observations, self.terminated, after.masks


def columns_of(agent: Agent, observations: Any, infos: dict[str, Any]) -> Columns:
    """The observations, masks and players to move in what environments returned; all legal and 0 if not given."""
    observations, masks = split_observation(observations, infos)
    if isinstance(observations, tuple):
        observations = np.stack(observations, axis=-1)
    n = len(observations)
    if masks is None:
        masks = np.ones((n, agent.n_actions), np.int8)
    return observations, masks, infos.get(TO_PLAY, np.zeros(n, np.int64))


def encoded(learner: EncodedLearner, columns: Columns, is_last: NDArray[np.bool_]) -> Observed:
    """What :func:`columns_of` returned, encoded."""
    observations, masks, to_play = columns
    return Observed(*learner.encode(observations, masks, is_last), to_play.copy())


def vector_steps(
    agent: Agent, learner: EncodedLearner, env: VectorEnv[Any, Any, Any], mode: AutoresetMode, observed: Observed
) -> Iterator[VectorStep]:
    """Acts in all environments, in any autoreset mode; those that are only reset in a step do not count."""
    ids = everywhere = np.arange(env.num_envs)
    any_actions = np.full(env.num_envs, agent.first_action)
    while True:
        actions = any_actions.copy()
        if ids.size:
            actions[ids] = learner.act_encoded(*selected(observed[:2], ids))
        observations, rewards, terminated, truncated, infos = env.step(actions)
        is_over = terminated | truncated
        ended = is_over.nonzero()[0]
        is_last = np.zeros_like(is_over) if mode is AutoresetMode.SAME_STEP else is_over
        following = next_observed = encoded(learner, columns_of(agent, observations, infos), is_last)
        if ended.size and mode is AutoresetMode.SAME_STEP:
            final = encoded(learner, final_columns(agent, infos, ended), is_over[ended])
            next_observed = following.replaced(ended, final)
        elif ended.size and mode is AutoresetMode.DISABLED:
            after_reset = columns_of(agent, *env.reset(options={"reset_mask": is_over}))
            following = following.replaced(ended, encoded(learner, selected(after_reset, ended), ~is_over[ended]))
        opponent_rewards = -rewards
        if isinstance(learner, OneByOne):  # others act legally
            is_illegal = observed.masks[ended, actions[ended] - agent.first_action] == 0
            opponent_rewards[ended[is_illegal]] = 0.0
        yield VectorStep(ids, observed, actions, rewards, opponent_rewards, next_observed, terminated, ended)
        observed = following
        ids = (~is_over).nonzero()[0] if ended.size and mode is AutoresetMode.NEXT_STEP else everywhere


def final_columns(agent: Agent, infos: dict[str, Any], ended: Indices) -> Columns:
    """In same-step mode, what the ended environments returned before they were reset."""
    final = [split_observation(observation, {}) for observation in infos["final_obs"][ended]]
    observations, masks = zip(*final, strict=True)
    final_infos = infos.get("final_info", {})
    known = {key: final_infos[key][ended] for key in ("action_mask", TO_PLAY) if key in final_infos}
    if masks[0] is not None:
        known["action_mask"] = np.array(masks)
    return columns_of(agent, np.array(observations), known)


def selected(columns: Columns, ids: Indices) -> Columns:
    """Copies of the rows ``ids`` of each column."""
    return [column.take(ids, axis=0) for column in columns]


class OneByOne:
    """Calls :meth:`Agent.act` and :meth:`Agent.update` for one observation after another."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def encode(self, observations: Any, action_masks: Any, is_last: Any) -> tuple[Any, Any]:  # noqa: ARG002
        return observations.copy(), action_masks.copy()  # since an environment may overwrite its own

    def act_encoded(self, observations: Any, action_masks: Any) -> NDArray[np.int64]:
        agent = self._agent
        chosen = [agent.act(*each, explore=True) for each in zip(observations, action_masks, strict=True)]
        return np.array([checked_action(agent, "act", action) for action in chosen])

    def update_encoded(self, transitions: Columns, ids: Any) -> None:
        observations, actions, rewards, next_observations, terminated, masks = selected(transitions, ids)
        plain = actions.tolist(), rewards.tolist(), next_observations, terminated.tolist()
        for transition in zip(observations, *plain, masks, strict=True):
            self._agent.update(*transition)


class EpisodeCounter:
    """Counts the episodes that are the first to begin, with their returns and lengths."""

    def __init__(self, num_envs: int, episodes: int, n_players: int, mode: AutoresetMode) -> None:
        self._n_reset_steps = int(mode is AutoresetMode.NEXT_STEP)  # between two episodes
        self._episodes = episodes
        self._n_players = n_players
        self._numbers = np.arange(num_envs)  # of their episodes, in the order in which these began
        self._n_begun = num_envs
        self._n_steps = 0
        self._returns = np.zeros(num_envs)
        self._began = np.zeros(num_envs, np.int64)  # after which step each episode began

    def counted(self, step: VectorStep) -> VectorStep:
        """The part of a step that belongs to episodes that count; adds its rewards to their returns."""
        self._n_steps += 1
        rewards = step.rewards
        if not math.isfinite(rewards.sum()):
            raise ValueError(f"the rewards of an environment must be finite; got {rewards!r}")
        to_play = step.observed.to_play
        if self._n_players == 2:
            rewards = rewards + to_play * (step.opponent_rewards - rewards)  # of player 0; faster than np.where
        self._returns += rewards
        if self._n_begun <= self._episodes:
            return step
        ids, ended = (indices[self._numbers.take(indices) < self._episodes] for indices in (step.ids, step.ended))
        return step._replace(ids=ids, ended=ended)

    def end(self, ended: Indices) -> tuple[int, NDArray[np.float64], NDArray[np.int64]]:
        """The number, returns and lengths of the episodes that have ended; others begin in their environments."""
        self._numbers[ended] = np.arange(self._n_begun, self._n_begun + ended.size)
        self._n_begun += ended.size
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

    The players alternate, so an action is pending until the other player has acted.
    """

    def __init__(self, num_envs: int, observations: Any) -> None:
        self._is_pending = np.zeros(num_envs, np.bool_)
        self._before: Columns = observations, np.zeros(num_envs, np.int64), np.zeros(num_envs)

    def complete(self, step: VectorStep) -> tuple[Columns, Indices]:
        """The transitions that a step completes, and the indices of them all."""
        ids = step.ids
        observes_next = ids[self._is_pending.take(ids)]
        # after truncation there is no observation for the player who has just moved
        observes_end = ids[step.terminated.take(ids)]
        self._is_pending[:] = False
        self._is_pending[ids] = True
        self._is_pending[step.ended] = False
        moves_again = step.next_observed.to_play == step.observed.to_play
        if moves_again[self._is_pending].any():
            raise ValueError("in a vector environment the players must alternate; train on a single environment")
        observations, actions, rewards = self._before
        waiting = selected([observations, actions, rewards + step.opponent_rewards], observes_next)
        self._before = step.observed.observations, step.actions, step.rewards.copy()
        ended = selected(self._before, observes_end)
        after = step.next_observed.observations, step.terminated, step.next_observed.masks
        before = [np.concatenate(pair) for pair in zip(waiting, ended, strict=True)]
        observers = np.concatenate([observes_next, observes_end])
        return [*before, *selected(after, observers)], np.arange(observers.size)
