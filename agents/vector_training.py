"""The training loop over vector environments, which steps all environments at once."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from agents.agent import TO_PLAY, Agent, check_setting, split_observation

Indices: TypeAlias = NDArray[np.intp]
Columns: TypeAlias = list[NDArray[Any]]
"""Arrays with a row for each environment or transition."""
Ended: TypeAlias = Iterator[tuple[int, Any, Any]]
"""After each step that ends episodes: their number, returns (in self-play of the first player) and lengths."""


class Observed(NamedTuple):
    """Copies of what is observed in all environments, and the players to move."""

    observations: NDArray[Any]
    masks: NDArray[Any]
    to_play: NDArray[np.bool_]  # True for player 1


class Step(NamedTuple):
    """One step of all environments."""

    has_acted: NDArray[np.bool_]  # False where an environment was only reset
    acted: Indices  # where it is True
    before: Observed
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]  # of the players who acted
    opponent_rewards: NDArray[np.float64]
    after: Observed  # before any reset
    terminated: NDArray[np.bool_]
    is_over: NDArray[np.bool_]  # terminated or truncated
    ended: Indices  # where it is True


def vector_episodes(agent: Agent, env: Any, episodes: int, seed: int | None) -> Ended:
    """Learns from the first ``episodes`` episodes to begin."""
    if type(agent).end_episode is not Agent.end_episode:
        raise ValueError(f"{type(agent).__name__} learns from whole episodes; train it on a single environment")
    observations, infos = env.reset(seed=seed)
    n_players = 2 if TO_PLAY in infos else 1
    check_setting(agent, n_players)
    is_own_turn = n_players == 2 and agent.bootstraps_from == "own turn"
    numbers = np.arange(env.num_envs)  # of the running episodes, in the order in which they began
    n_begun = env.num_envs
    returns = np.zeros(env.num_envs)
    lengths = np.zeros(env.num_envs, np.int64)
    last = None
    for step in vector_steps(agent, env, n_players, observed_in(agent, observations, infos)):
        rewards = step.rewards
        if n_players == 2:  # of player 0
            rewards = np.where(step.before.to_play, step.opponent_rewards, rewards)
        returns += rewards
        lengths += step.has_acted
        ids = step.acted
        ended = step.ended
        if n_begun > episodes:
            ids = ids[numbers.take(ids) < episodes]
            ended = ended[numbers.take(ended) < episodes]
        transitions = own_turns(last, step, ids) if is_own_turn else next_turns(step, ids)
        last = step
        if len(transitions[0]):
            agent.update_batch(*transitions)
        if ended.size:
            yield ended.size, returns[ended], lengths[ended]
            numbers[ended] = np.arange(n_begun, n_begun + ended.size)
            n_begun += ended.size
            returns[ended] = 0.0
            lengths[ended] = 0


def vector_steps(agent: Agent, env: Any, n_players: int, observed: Observed) -> Iterator[Step]:
    """Acts in all environments, in any autoreset mode."""
    mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
    everywhere = has_acted = np.ones(env.num_envs, np.bool_)
    any_actions = np.full(env.num_envs, agent.first_action, np.int64)
    while True:
        actions = any_actions.copy()
        ids = has_acted.nonzero()[0]
        if ids.size:
            observations, masks = selected(observed[:2], ids)
            chosen = agent.act_batch(observations, masks, explore=True)
            actions[ids] = np.asarray(chosen).astype(np.int64, casting="same_kind")  # a TypeError for floats
        observations, rewards, terminated, truncated, infos = env.step(actions)
        is_over = terminated | truncated
        ended = is_over.nonzero()[0]
        after = following = observed_in(agent, observations, infos)
        if ended.size and mode is AutoresetMode.SAME_STEP:
            after = replaced(following, ended, final_observed(agent, infos, ended))
        elif ended.size and mode is AutoresetMode.DISABLED:
            reset = observed_in(agent, *env.reset(options={"reset_mask": is_over}))
            following = replaced(following, ended, selected(reset, ended))
        opponent_rewards = -rewards
        if n_players == 2:
            is_legal = observed.masks[ended, actions.take(ended) - agent.first_action] != 0
            opponent_rewards[ended] *= is_legal
        own_rewards = rewards.copy()
        yield Step(
            has_acted, ids, observed, actions, own_rewards, opponent_rewards, after, terminated, is_over, ended
        )
        observed = following
        has_acted = ~is_over if mode is AutoresetMode.NEXT_STEP else everywhere


def observed_in(agent: Agent, observations: Any, infos: dict[str, Any]) -> Observed:
    """What environments returned; all actions are legal and player 0 is to move where they do not say."""
    observations, masks = split_observation(observations, infos)
    observations = np.stack(observations, axis=-1) if isinstance(observations, tuple) else np.array(observations)
    n = len(observations)
    masks = np.ones((n, agent.n_actions), np.int8) if masks is None else np.array(masks)
    to_play = np.array(infos.get(TO_PLAY, np.zeros(n)), np.bool_)
    return Observed(observations, masks, to_play)


def final_observed(agent: Agent, infos: dict[str, Any], ended: Indices) -> Observed:
    """In same-step mode, what the ended environments returned before they were reset."""
    final = infos["final_obs"][ended].tolist()
    final_infos = infos.get("final_info", {})
    known = {key: final_infos[key][ended] for key in ("action_mask", TO_PLAY) if key in final_infos}
    if isinstance(final[0], dict):
        return observed_in(agent, {key: np.array([each[key] for each in final]) for key in final[0]}, known)
    return observed_in(agent, np.array(final), known)


def selected(columns: Iterable[NDArray[Any]], ids: Indices) -> Columns:
    """Copies of the rows ``ids`` of each column."""
    return [column.take(ids, axis=0) for column in columns]


def replaced(observed: Observed, ids: Indices, rows: Iterable[NDArray[Any]]) -> Observed:
    """A copy with other rows at the indices ``ids``."""
    copies = Observed(*(column.copy() for column in observed))
    for column, new in zip(copies, rows, strict=True):
        column[ids] = new
    return copies


def next_turns(step: Step, ids: Indices) -> Columns:
    """The transitions of the environments ``ids`` from an action to what is observed next."""
    before, after = step.before, step.after
    columns = before.observations, step.actions, step.rewards, after.observations, step.terminated, after.masks
    return selected(columns, ids)


def own_turns(last: Step | None, step: Step, ids: Indices) -> Columns:
    """In self-play, transitions from a player's turn to its own next turn, or to the end of the episode.

    ::

        step        0        1        2        3, the last one
        player 0    o, a ------------> o, a -----> o of the end
        player 1             o, a ---------------> o of the end

    The players alternate. A step completes the transitions of the players who did not act in it, then those of the
    players whose action ended an episode. After truncation the player who has just moved observes no end.
    """
    if (step.after.to_play == step.before.to_play)[step.has_acted & ~step.is_over].any():
        raise ValueError("in a vector environment the players must alternate; train on a single environment")
    waiting = ids[:0] if last is None else ids[(last.has_acted & ~last.is_over).take(ids)]
    last = step if last is None else last
    n = len(step.actions)
    which = np.concatenate([waiting, n + ids[step.terminated.take(ids)]])  # of the last step, then of this one
    earlier = last.before.observations, last.actions, last.rewards + step.opponent_rewards
    now = step.before.observations, step.actions, step.rewards
    before = [np.concatenate(pair).take(which, axis=0) for pair in zip(earlier, now, strict=True)]
    return before + selected((step.after.observations, step.terminated, step.after.masks), which % n)
