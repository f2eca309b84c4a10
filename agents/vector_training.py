"""The training loop for vector environments, in which all environments are stepped at once."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from agents._compatibility import check_n_players
from agents._observations import split_observation
from agents.agent import TO_PLAY, Agent

Indices: TypeAlias = NDArray[np.intp]
Transitions: TypeAlias = list[NDArray[Any]]
"""The arguments of :meth:`agents.Agent.update_batch`, arrays with one row for each transition."""
EndedEpisodes: TypeAlias = Iterator[tuple[int, Any, Any]]
"""For each step that ends episodes, a tuple: the number of these episodes, their returns and their lengths.

In self-play, a return is the total reward of the player who moves first.
"""


class Observed(NamedTuple):
    """What was observed in several environments: copies of the observations, the masks and the players to move."""

    observations: NDArray[Any]
    masks: NDArray[Any]
    to_play: NDArray[np.bool_]  # True for player 1

    def of(self, envs: Indices) -> "Observed":
        """Returns copies of what was observed in the environments ``envs``."""
        return Observed(*take_rows(self, envs))

    def replaced(self, envs: Indices, new: "Observed") -> "Observed":
        """Returns a copy with the rows of ``new`` for the environments ``envs``, in this order."""
        copies = Observed(*(array.copy() for array in self))
        for array, rows in zip(copies, new, strict=True):
            array[envs] = rows
        return copies


class Step(NamedTuple):
    """One step of a vector environment, with an entry or a row for each of its environments."""

    has_acted: NDArray[np.bool_]  # False for an environment that was only reset
    before: Observed
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]  # of the player who acted
    opponent_rewards: NDArray[np.float64]
    after: Observed  # if an episode has ended, its last observation, not the first of the next
    terminated: NDArray[np.bool_]
    is_over: NDArray[np.bool_]  # terminated or truncated


def vector_episodes(agent: Agent, env: Any, episodes: int, seed: int | None) -> EndedEpisodes:
    """Trains the agent on the first ``episodes`` episodes to begin, and yields their results as they end."""
    if type(agent).end_episode is not Agent.end_episode:
        raise ValueError(f"{type(agent).__name__} learns from whole episodes; train it on a single environment")
    observations, infos = env.reset(seed=seed)
    n_players = 2 if TO_PLAY in infos else 1
    check_n_players(agent, n_players)
    is_own_turn = n_players == 2 and agent.bootstraps_from == "own turn"
    is_counted = np.arange(env.num_envs) < episodes  # whether the current episode is one of the first
    n_begun = env.num_envs
    returns = np.zeros(env.num_envs)
    lengths = np.zeros(env.num_envs, np.int64)
    last = None
    for step in vector_steps(agent, env, n_players, copy_observed(agent, observations, infos)):
        returns += np.where(step.before.to_play, step.opponent_rewards, step.rewards)  # of player 0
        lengths += step.has_acted
        envs = (step.has_acted & is_counted).nonzero()[0]
        ended = (step.is_over & is_counted).nonzero()[0]
        transitions = own_turn_transitions(last, step, envs) if is_own_turn else step_transitions(step, envs)
        last = step
        if len(transitions[0]):
            agent.update_batch(*transitions)
        if ended.size:
            yield ended.size, returns[ended], lengths[ended]
            is_counted[ended] = np.arange(n_begun, n_begun + ended.size) < episodes
            n_begun += ended.size
            returns[ended] = 0.0
            lengths[ended] = 0


def vector_steps(agent: Agent, env: Any, n_players: int, observed: Observed) -> Iterator[Step]:
    """Steps the environments with the agent's actions, without end, in any autoreset mode. Yields each step."""
    mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
    everywhere = has_acted = np.ones(env.num_envs, np.bool_)
    while True:
        actions = choose_actions(agent, observed, has_acted)
        observations, rewards, terminated, truncated, infos = env.step(actions)
        is_over = terminated | truncated
        ended = is_over.nonzero()[0]
        after = following = copy_observed(agent, observations, infos)
        if ended.size and mode is AutoresetMode.SAME_STEP:
            after = following.replaced(ended, copy_final_observed(agent, infos, ended))
        elif ended.size and mode is AutoresetMode.DISABLED:
            first = copy_observed(agent, *env.reset(options={"reset_mask": is_over}))
            following = following.replaced(ended, first.of(ended))
        opponent_rewards = -rewards
        if n_players == 2:  # an illegal action brings the other player nothing
            is_legal = observed.masks[ended, actions.take(ended) - agent.first_action] != 0
            opponent_rewards[ended] *= is_legal
        yield Step(has_acted, observed, actions, rewards.copy(), opponent_rewards, after, terminated, is_over)
        observed = following
        has_acted = ~is_over if mode is AutoresetMode.NEXT_STEP else everywhere


def choose_actions(agent: Agent, observed: Observed, is_acting: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Returns the agent's actions, and the lowest action if ``is_acting`` is False, since it is ignored there."""
    actions = np.full(len(is_acting), agent.first_action, np.int64)
    envs = is_acting.nonzero()[0]
    if envs.size:
        observations, masks, _ = observed.of(envs)
        chosen = agent.act_batch(observations, masks, explore=True)
        actions[envs] = np.asarray(chosen).astype(np.int64, casting="same_kind")  # raises TypeError for floats
    return actions


def copy_observed(agent: Agent, observations: Any, infos: dict[str, Any]) -> Observed:
    """Copies what a vector environment has returned: the observations, the masks and the players to move.

    Without masks all actions are legal, and without ``"to_play"`` player 0 is to move.
    """
    observations, masks = split_observation(observations, infos)
    observations = np.stack(observations, axis=-1) if isinstance(observations, tuple) else np.array(observations)
    n = len(observations)
    masks = np.ones((n, agent.n_actions), np.int8) if masks is None else np.array(masks)
    to_play = np.array(infos.get(TO_PLAY, np.zeros(n)), np.bool_)
    return Observed(observations, masks, to_play)


def copy_final_observed(agent: Agent, infos: dict[str, Any], ended: Indices) -> Observed:
    """Returns what was observed at the end of the episodes in the environments ``ended``, read from ``infos``."""
    final = infos["final_obs"][ended].tolist()
    final_infos = infos.get("final_info", {})
    known = {key: final_infos[key][ended] for key in ("action_mask", TO_PLAY) if key in final_infos}
    if isinstance(final[0], dict):
        return copy_observed(agent, {key: np.array([each[key] for each in final]) for key in final[0]}, known)
    return copy_observed(agent, np.array(final), known)


def take_rows(arrays: Iterable[NDArray[Any]], rows: Indices) -> list[NDArray[Any]]:
    """Returns a copy of the rows with these indices, for each of the arrays."""
    return [array.take(rows, axis=0) for array in arrays]


def step_transitions(step: Step, envs: Indices) -> Transitions:
    """Returns a transition of each environment in ``envs``, from its action to the very next observation."""
    before, after = step.before, step.after
    arrays = before.observations, step.actions, step.rewards, after.observations, step.terminated, after.masks
    return take_rows(arrays, envs)


def own_turn_transitions(last: Step | None, step: Step, envs: Indices) -> Transitions:
    """Returns transitions in self-play, from a player's turn to its next turn or to the end of the episode.

    For example, with observations o and actions a::

        step        0        1        2        3, the last one
        player 0    o, a ------------> o, a -----> last o
        player 1             o, a ---------------> last o

    After a step the other player is to move, which completes the transition that it began in ``last``, the step
    before (``None`` at first). If the step terminates the episode, it also completes the transition of the player
    who acted. If it truncates the episode, that player has no next turn, and this transition is left out.
    """
    if (step.after.to_play == step.before.to_play)[step.has_acted & ~step.is_over].any():
        raise ValueError("the players of a vector environment must alternate; train in a single environment")
    waiting = envs[:0] if last is None else envs[(last.has_acted & ~last.is_over).take(envs)]
    last = step if last is None else last
    terminated = envs[step.terminated.take(envs)]
    # the rows of both steps, one after the other: row i of this step becomes row n + i
    rows = np.concatenate([waiting, len(step.actions) + terminated])
    earlier = last.before.observations, last.actions, last.rewards + step.opponent_rewards
    now = step.before.observations, step.actions, step.rewards
    before = take_rows((np.concatenate(pair) for pair in zip(earlier, now, strict=True)), rows)
    following = step.after.observations, step.terminated, step.after.masks
    return before + take_rows(following, np.concatenate([waiting, terminated]))
