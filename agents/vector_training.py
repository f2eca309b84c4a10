"""The training loop over a vector environment: many games at once, learnt from in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from agents.agent import Agent
from agents.conventions import TO_PLAY, check_setting, unpacked


class View(NamedTuple):
    """What there is to see of every game: observations, action masks or None, and whose turn it is or None."""

    seen: NDArray[Any]
    mask: NDArray[Any] | None
    to_play: NDArray[np.int64] | None

    def of(self, games: NDArray[np.intp]) -> View:
        """The view of some of the games."""
        mask = None if self.mask is None else self.mask.take(games, axis=0)
        to_play = None if self.to_play is None else self.to_play.take(games)
        return View(self.seen.take(games, axis=0), mask, to_play)

    def replaced(self, games: NDArray[np.intp], by: View) -> View:
        """The view with some of the games as ``by``, whose rows are those games alone, shows them."""
        replaced = []
        for part, other in zip(self, by, strict=True):
            if part is not None and other is not None:
                part = part.copy()
                part[games] = other
            replaced.append(part)
        return View(*replaced)  # type: ignore[arg-type]


class Moves(NamedTuple):
    """A move in each of some games, and what followed from it; the first axis of every array is the move."""

    games: NDArray[np.intp]
    before: View
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    after: View
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]

    def of(self, which: NDArray[np.intp]) -> Moves:
        """Some of the moves."""
        return Moves(*(part.of(which) if isinstance(part, View) else part.take(which) for part in self))  # type: ignore[arg-type]

    @property
    def transitions(self) -> tuple[Any, ...]:
        """What :meth:`Agent.update` takes."""
        return self.before.seen, self.actions, self.rewards, self.after.seen, self.terminated, self.after.mask


class VectorGames:
    """The games of a vector environment, stepped alike in every autoreset mode."""

    def __init__(self, env: VectorEnv[Any, Any, Any], seed: int | None) -> None:
        self.env, self.n = env, env.num_envs
        self.autoreset_mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self.view = self._view(*env.reset(seed=seed))
        self.no_actions = np.full(self.n, env.single_action_space.start)  # type: ignore[attr-defined]
        self.starts_anew = np.zeros(self.n, dtype=np.bool_)  # where the next step moves nothing

    def _view(self, observations: Any, infos: dict[str, Any]) -> View:
        return View(*unpacked(observations, infos), infos.get(TO_PLAY))

    def played(self, agent: Agent) -> Moves:
        """Lets the agent move in every game that is on."""
        games = (~self.starts_anew).nonzero()[0]
        before = self.view.of(games)  # copies: an environment may overwrite what it returned
        actions = self.no_actions.copy()
        actions[games] = agent.act(before.seen, before.mask, explore=True)
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        is_over = terminated | truncated
        after = self.view = self._view(observations, infos)
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            self.starts_anew = is_over
        elif is_over.any():
            ended = is_over.nonzero()[0]
            if self.autoreset_mode is AutoresetMode.SAME_STEP:
                after = after.replaced(ended, self._final_view(ended, infos))
            else:
                after = after.of(np.arange(self.n))  # copied before the reset may overwrite it
                started = self._view(*self.env.reset(options={"reset_mask": is_over}))
                self.view = after.replaced(ended, started.of(ended))
        return Moves(
            games,
            before,
            actions.take(games),
            rewards.take(games),
            after.of(games),
            terminated.take(games),
            truncated.take(games),
        )

    def _final_view(self, ended: NDArray[np.intp], infos: dict[str, Any]) -> View:
        """How the games that have just ended did, in an environment that has started them anew already."""
        seen, masks = zip(*(unpacked(observation, {}) for observation in infos["final_obs"][ended]), strict=True)
        info = {key: infos.get("final_info", {}).get(key) for key in ("action_mask", TO_PLAY)}
        mask, to_play = (None if part is None else part.take(ended, axis=0) for part in info.values())
        return View(np.array(seen), mask if masks[0] is None else np.array(masks), to_play)


class Learner(Protocol):
    """Hands moves to an agent in the order in which it learns."""

    def learn(self, moves: Moves) -> None:
        """Learns from moves, now or when what follows from them is known."""


class EveryMove:
    """Each move is followed by what the step returned."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def learn(self, moves: Moves) -> None:
        """Learns from the moves at once."""
        self.agent.update(*moves.transitions)


class OwnTurns:
    """Self-play in which a player's move is followed by what it sees when it is to move again.

    A turn waits for that in the row of its player and game, ``player * n + game``.
    """

    def __init__(self, agent: Agent, games: VectorGames) -> None:
        self.agent, self.n = agent, games.n
        rows = 2 * games.n
        self.waits = np.zeros(rows, dtype=np.bool_)
        self.seen = np.empty((rows, *games.view.seen.shape[1:]), dtype=games.view.seen.dtype)
        self.actions, self.rewards = np.zeros(rows, dtype=np.int64), np.zeros(rows)

    def learn(self, moves: Moves) -> None:
        """Learns from the turns that these moves are the end of."""
        assert moves.before.to_play is not None
        assert moves.after.to_play is not None
        mine = moves.before.to_play * self.n + moves.games
        theirs = (1 - moves.before.to_play) * self.n + moves.games
        self.waits[mine] = True
        self.seen[mine], self.actions[mine], self.rewards[mine] = moves.before.seen, moves.actions, moves.rewards
        self.rewards[theirs] -= moves.rewards
        to_move = moves.after.to_play * self.n + moves.games
        not_to_move = (1 - moves.after.to_play) * self.n + moves.games
        sees_on = np.flatnonzero(self.waits[to_move])
        sees_end = np.flatnonzero(self.waits[not_to_move] & moves.terminated)  # cut short, it sees no future
        which = np.concatenate([sees_on, sees_end])
        turns = np.concatenate([to_move[sees_on], not_to_move[sees_end]])
        after = moves.after.of(which)
        terminated = moves.terminated.take(which)
        self.agent.update(
            self.seen[turns], self.actions[turns], self.rewards[turns], after.seen, terminated, after.mask
        )
        ended = moves.terminated | moves.truncated
        self.waits[to_move[ended]] = self.waits[not_to_move[ended]] = False


class WholeEpisodes:
    """The moves of an episode wait for its end, and come one after another, without masks of what was next."""

    def __init__(self, agent: Agent, games: VectorGames) -> None:
        self.agent, self.room = agent, 16  # moves of a game that there is room for; doubled when full
        seen = games.view.seen
        self.seen = np.empty((self.room, *seen.shape), dtype=seen.dtype)
        self.actions = np.empty((self.room, games.n), dtype=np.int64)
        self.rewards = np.empty((self.room, games.n))
        self.lengths = np.zeros(games.n, dtype=np.int64)

    def learn(self, moves: Moves) -> None:
        """Learns from the episodes that these moves end."""
        at = self.lengths[moves.games]
        if at.max() == self.room:
            self.room *= 2
            self.seen, self.actions, self.rewards = (
                np.concatenate([part, np.empty_like(part)]) for part in (self.seen, self.actions, self.rewards)
            )
        self.seen[at, moves.games] = moves.before.seen
        self.actions[at, moves.games], self.rewards[at, moves.games] = moves.actions, moves.rewards
        self.lengths[moves.games] += 1
        if moves.terminated.any():
            self._learn_episodes(moves, moves.terminated.nonzero()[0])
        for which in (moves.truncated & ~moves.terminated).nonzero()[0]:
            self._learn_episodes(moves, np.array([which]))
            self.agent.end_episode()  # before another follows

    def _learn_episodes(self, moves: Moves, ended: NDArray[np.intp]) -> None:
        games = moves.games[ended]
        lengths = self.lengths[games]
        self.lengths[games] = 0
        game, last = np.repeat(games, lengths), lengths.cumsum() - 1
        at = np.arange(len(game)) - np.repeat(last + 1 - lengths, lengths)
        seen = self.seen[at, game]
        next_seen = np.roll(seen, -1, axis=0)
        next_seen[last] = moves.after.seen[ended]
        terminated = np.zeros(len(game), dtype=np.bool_)
        terminated[last] = moves.terminated[ended]
        self.agent.update(seen, self.actions[at, game], self.rewards[at, game], next_seen, terminated, None)


def vector_episodes(
    agent: Agent, env: VectorEnv[Any, Any, Any], episodes: int, seed: int | None
) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.int64]]]:
    """Plays and learns ``episodes`` episodes; yields how many end in a step, their total rewards and lengths.

    They are the first that begin: counting those that end first would prefer the short ones. A game without an
    episode to play goes on, and nothing is learnt from it.
    """
    games = VectorGames(env, seed)
    learner = _learner(agent, games)
    begun = min(games.n, episodes)
    counts = np.arange(games.n) < begun
    totals, lengths = np.zeros(games.n), np.zeros(games.n, dtype=np.int64)
    is_told = type(agent).end_episode is not Agent.end_episode
    while True:
        moves = games.played(agent)
        if not counts.all():
            moves = moves.of(counts[moves.games].nonzero()[0])
        if not moves.games.size:
            continue
        learner.learn(moves)
        paid = moves.rewards.nonzero()[0]  # in most moves of most games nobody is
        player = 0 if moves.before.to_play is None else moves.before.to_play[paid]
        totals[moves.games[paid]] += moves.rewards[paid] * (1 - 2 * player)  # what one wins the other loses
        lengths[moves.games] += 1
        ended = moves.games[moves.terminated | moves.truncated]
        if is_told:
            for _ in ended:
                agent.end_episode()
        if ended.size:
            next_begun = min(begun + ended.size, episodes)
            counts[ended[next_begun - begun :]] = False
            begun = next_begun
            yield ended.size, totals[ended], lengths[ended]
            totals[ended], lengths[ended] = 0.0, 0


def _learner(agent: Agent, games: VectorGames) -> Learner:
    if agent.observation_space.shape is None:
        raise ValueError(
            f"observations of {agent.observation_space} do not come in batches; train on one environment"
        )
    self_play = games.view.to_play is not None
    check_setting(agent, players=2 if self_play else 1)
    if agent.learns_whole_episodes:
        return WholeEpisodes(agent, games)
    if self_play and agent.self_play == "own turns":
        return OwnTurns(agent, games)
    return EveryMove(agent)
