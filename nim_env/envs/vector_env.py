"""Nim as a Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from nim_env._internal import limits
from nim_env._internal.checks import checked_choice, checked_integer
from nim_env.board import States, kind_for_many, shared
from nim_env.encodings import ObservationLike
from nim_env.envs._opponents import Opponents, Source
from nim_env.envs._options import FirstPlayer, Options, checked_starts
from nim_env.envs._rows import Rows
from nim_env.policies import IllegalAction, OpponentPool, PolicyLike
from nim_env.rendering import FRAMES_PER_SECOND, Display, view_of
from nim_env.rules import NimRules


@dataclass
class _Games:
    """What the environment keeps of its games, an entry for each.

    Attributes:
        states: The states on the board.
        is_over: Whether the next step starts an episode, or with autoreset disabled ``reset`` must.
        to_play: Whether player 1 is to move, in self-play.
        elapsed_steps: The steps of the episode, counted with ``max_episode_steps`` only.
        opponents: Who the opponents are, numbers of :class:`Opponents`.
    """

    states: States
    is_over: NDArray[np.bool_]
    to_play: NDArray[np.bool_]
    elapsed_steps: NDArray[np.int64]
    opponents: NDArray[np.int64]


class NimVectorEnv(VectorEnv[NDArray[Any], NDArray[np.int64], NDArray[Any]]):
    """Many games of :class:`nim_env.envs.gym_env.NimEnv` in one environment, stepped together.

    Rules, spaces, rewards and arguments are those of the single environment, for each of the ``num_envs`` games.
    Observations are int64 of shape ``(num_envs, n_heaps)`` unless the argument ``observation`` changes them,
    rewards float64 of shape ``(num_envs,)``, terminations and truncations bool of shape ``(num_envs,)``. Every
    returned array is a copy.

    ## Information
    The keys of the single environment: ``action_mask``, int8 of shape ``(num_envs, n_actions)``, all ones for
    finished games; ``illegal_action``, bool of shape ``(num_envs,)``; in self-play ``to_play``, and with an
    ``OpponentPool`` ``opponent``, both int64 of shape ``(num_envs,)``. For each key, the key with a leading
    underscore holds a bool array of shape ``(num_envs,)``: True for the environments that have just been stepped
    or reset.

    ## Arguments
    The arguments of the single environment, as in ``gym.make_vec("Nim-v0", num_envs=1024)``, and:

    - ``num_envs`` = 1: the number of games.
    - ``autoreset_mode`` = ``"NextStep"``: the step after the end of an episode starts the next one and ignores the
      action; ``"SameStep"``: the last step of an episode starts the next one and returns its end in
      ``info["final_obs"]`` and ``info["final_info"]``; ``"Disabled"``: ``reset(options={"reset_mask": ...})``
      starts the next one. Or an ``AutoresetMode``.
    - ``max_episode_steps`` = ``None``: truncates an episode after this many steps; -1 or ``None`` for no limit.
    - ``render_mode``: as in the single environment, but not ``"human"``, since there is one window only.
      ``render`` returns one text or picture for each game, without the last moves.

    A callable opponent gets one position at a time, as in the single environment. A policy gets batches.

    ``reset(options=...)`` takes ``heaps``, shape ``(n_heaps,)`` for all games or ``(num_envs, n_heaps)``;
    ``first_player``; and ``reset_mask``, bool of shape ``(num_envs,)``, the games to reset. The other games
    continue, and their rows stay the same.

    ## Errors
    The errors of the single environment. Every game is unchanged after an error.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": FRAMES_PER_SECOND}

    def __init__(
        self,
        num_envs: int = 1,
        heaps: Sequence[int] = (1, 3, 5, 7),
        max_take: int | None = None,
        misere: bool = True,
        *,
        opponent: PolicyLike | OpponentPool | None = "random",
        first_player: FirstPlayer | None = None,
        random_start: bool = False,
        observation: ObservationLike = "heaps",
        illegal_action: IllegalAction = "lose",
        render_mode: str | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
    ) -> None:
        self.rules = NimRules(heaps, max_take, misere)
        self._options = Options(self.rules, observation, random_start, illegal_action, opponent, first_player)
        self.encoding = self._options.encoding
        self.render_mode = checked_choice("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        self.num_envs = checked_integer("num_envs", num_envs, minimum=1)
        n_entries = self.num_envs * self.rules.n_actions
        limits.check_size(n_entries, limits.GAMES, f"numbers in the masks of num_envs={num_envs:,}", "use fewer")
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        if max_episode_steps == -1:
            max_episode_steps = None
        elif max_episode_steps is not None:
            max_episode_steps = checked_integer("max_episode_steps", max_episode_steps, minimum=1)
        self.max_episode_steps = max_episode_steps
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = self.encoding.space
        self.single_action_space = Discrete(self.rules.n_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._display = Display(self.render_mode)
        self._is_self_play = opponent is None
        self._is_stochastic = opponent is not None or random_start
        self.board = shared(kind_for_many(self.rules), self.rules)
        self._rows = shared(Rows, self.board, self.encoding)
        self._opponents = Opponents(self.board, Source(self.board, self._options.policy, self._options.start))
        self._everywhere = np.ones(self.num_envs, dtype=np.bool_)
        self._games: _Games | None = None  # None before the first reset

    @property
    def opponent(self) -> PolicyLike | OpponentPool | None:
        """The opponent as it was passed, ``None`` in self-play. :meth:`set_opponent` changes it."""
        return self._options.opponent

    def set_opponent(self, opponent: PolicyLike | OpponentPool) -> None:
        """Changes the opponent of games that begin later, as in the single environment."""
        options = self._options.with_opponent(opponent)
        if opponent is self.opponent:  # a pool that has grown, whose members keep their numbers
            return
        source = Source(self.board, options.policy, options.start)
        self._opponents.change(
            source, np.empty(0, dtype=np.int64) if self._games is None else self._games.opponents
        )
        self._options = options

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Starts an episode in every environment, or in those of ``options["reset_mask"]``.

        A seed decides everything random. The class describes ``options``.
        """
        if not isinstance(seed, int | None):
            raise TypeError(f"seed must be one int, which decides all {self.num_envs} games; got {seed!r}")
        options = options or {}
        episode = self._options.for_episode(options, ("heaps", "first_player", "reset_mask"))
        reset_mask = self._checked_reset_mask(options.get("reset_mask"))
        envs = np.flatnonzero(reset_mask)
        heaps = options.get("heaps")
        starts = None if heaps is None else checked_starts(heaps, self.rules, reset_mask)
        self._opponents.source.update_for_episode(episode.start)
        games = self._games or self._new_games()
        super().reset(seed=seed)
        self._restart(games, envs, episode.start, starts)
        self._games = games
        return self._rows.observations(games.states), self._get_infos(games, reset_mask)

    def step(
        self, actions: Any
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Plays an action in every environment and, unless the game is over or in self-play, the opponent's reply.

        ``actions`` are integers of the action space, shape ``(num_envs,)``; ignored where an episode starts.
        """
        before = self._started_games()
        if self.autoreset_mode is AutoresetMode.DISABLED and before.is_over.any():
            raise ResetNeeded(f"environment {before.is_over.argmax()} is over; reset it by options['reset_mask']")
        actions = self._checked_actions(actions, before.is_over)
        states = self._agent_step(before, actions)
        opponents = before.opponents
        if self._is_stochastic:
            states, opponents = self._opponents.many(states, opponents, self._options.start, self.np_random)
        rewards = self.board.rewards(states)
        terminated = self.board.is_over(states)
        elapsed_steps = before.elapsed_steps
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        if self.max_episode_steps is not None:
            elapsed_steps = (elapsed_steps + 1) * ~before.is_over
            truncated = elapsed_steps >= self.max_episode_steps
        to_play = ~(before.to_play | before.is_over) if self._is_self_play else before.to_play
        games = _Games(states, terminated | truncated, to_play, elapsed_steps, opponents)
        infos: dict[str, Any] = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP and games.is_over.any():
            infos = self._final_infos(games)
            self._restart(games, games.is_over.nonzero()[0], self._options.start)
        self._games = games
        infos |= self._get_infos(games, self._everywhere)
        return self._rows.observations(games.states), rewards, terminated, truncated, infos

    def _agent_step(self, games: _Games, actions: NDArray[np.int64]) -> States:
        """The states after the agent's actions, those of games that begin where the game was over."""
        states = self.board.after(games.states, actions)
        if self.max_episode_steps is not None:  # on the board a truncated game is still in progress
            states[games.is_over] = self.board.begins
        if self._options.illegal_action == "raise":
            is_illegal = states > self.board.lost
            if is_illegal.any():
                env = int(is_illegal.argmax())
                message = self.rules.illegal_action_message(int(actions[env]), self.board.heaps(games.states[env]))
                raise InvalidAction(f"environment {env}: {message}")
        return states

    def _restart(self, games: _Games, envs: NDArray[np.int64], start: str, starts: States | None = None) -> None:
        """Starts new episodes in ``envs``, in ``starts`` if given; an opponent that fails changes no game."""
        generator = self.np_random  # makes it at the first reset, so that copies draw the same numbers
        opponents = self._opponents.begin(games.opponents, envs, start, generator)
        if starts is None:
            starts = np.full(len(envs), self.board.begins)
            if self._is_stochastic:
                starts = self._opponents.replied(starts, opponents[envs], start, generator)
        games.opponents = opponents
        games.states[envs] = starts
        games.is_over[envs] = False
        games.to_play[envs] = 0
        games.elapsed_steps[envs] = 0

    def _new_games(self) -> _Games:
        """Games of which none has started."""
        zeros = np.zeros(self.num_envs, dtype=np.int64)
        return _Games(zeros, zeros > 0, zeros > 0, zeros.copy(), zeros - 1)

    def _started_games(self) -> _Games:
        if self._games is None:
            raise ResetNeeded("there are no games before reset(); call reset() first")
        return self._games

    @property
    def states(self) -> States:
        """The state of each game as a number of :attr:`board`, int64 of shape ``(num_envs,)``."""
        return self._started_games().states.copy()

    def action_masks(self) -> NDArray[np.int8]:
        """The legal actions: int8 of shape ``(num_envs, n_actions)``, all ones where a game is over."""
        return self.board.masks(self._started_games().states)

    def render(self) -> tuple[Any, ...]:
        """A text, or RGB values, uint8 of shape ``(400, 600, 3)``, for each game, without its last moves."""
        games = self._started_games()
        views = zip(
            self.board.heaps(games.states).tolist(),
            games.to_play.astype(np.int64).tolist() if self._is_self_play else [None] * self.num_envs,
            self.board.is_over(games.states).tolist(),
            (self.board.rewards(games.states) > 0).tolist(),
            strict=True,
        )
        return tuple(self._display.render(view_of(self.rules, *view)) for view in views)

    def _checked_actions(self, actions: Any, is_ignored: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The actions as int64, 0 where they are ignored and not in the action space."""
        array = np.asarray(actions)
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            raise InvalidAction(f"actions must be {self.num_envs} integers; got {array.dtype} {array.shape}")
        numbers: NDArray[np.int64] = array.astype(np.int64, copy=False)
        is_wrong = numbers.view(np.uint64) >= self.rules.n_actions  # as unsigned, negative numbers are large
        if np.count_nonzero(is_wrong):
            numbers = np.where(is_wrong, 0, numbers)
            is_wrong &= ~is_ignored
            if is_wrong.any():
                env = int(is_wrong.argmax())
                raise InvalidAction(f"actions[{env}] must be 0 to {self.rules.n_actions - 1}; got {array[env]}")
        return numbers

    def _checked_reset_mask(self, mask: Any) -> NDArray[np.bool_]:
        array = self._everywhere if mask is None else np.array(mask)
        if array.dtype != np.bool_ or array.shape != (self.num_envs,) or not array.any():
            raise ValueError(f"reset_mask must hold {self.num_envs} booleans, not all False; got {mask!r}")
        if self._games is None and not array.all():
            raise ResetNeeded(f"environment {array.argmin()} was never reset: reset all environments first")
        return array

    def _get_infos(self, games: _Games, is_new: NDArray[np.bool_]) -> dict[str, Any]:
        infos: dict[str, Any] = {
            "action_mask": self.board.masks(games.states),
            "illegal_action": games.states > self.board.lost,
        }
        if self._is_self_play:
            infos["to_play"] = games.to_play.astype(np.int64)
        if self._opponents.has_members:
            infos["opponent"] = self._opponents.members(games.opponents)
        infos |= {f"_{name}": is_new.copy() for name in infos}
        if self._opponents.has_members:
            infos["_opponent"] &= infos["opponent"] >= 0
        return infos

    def _final_infos(self, games: _Games) -> dict[str, Any]:
        """The last observations and infos of the episodes that have just ended, in Gymnasium's form."""
        ended = games.is_over.nonzero()[0]
        observations = np.empty(self.num_envs, dtype=object)  # of None
        final = self._rows.observations(games.states[ended])
        observations[ended] = np.fromiter(final, dtype=object, count=len(ended))
        infos = self._get_infos(games, games.is_over)
        for values in infos.values():
            by_game = values.T  # a view with the games in its last axis
            by_game *= games.is_over  # zeros for the other games
        return {
            "final_obs": observations,
            "_final_obs": games.is_over.copy(),
            "final_info": infos,
            "_final_info": games.is_over.copy(),
        }
