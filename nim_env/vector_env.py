"""Nim as a Gymnasium vector environment: thousands of games per step."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple, TypeAlias

import gymnasium
import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.spaces import Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from nim_env.arguments import FirstPlayer, IllegalAction, OpponentArguments, illegal_move
from nim_env.many_games import ENTRIES_AT_ONCE, Setting, States, games_of
from nim_env.policies import PolicyLike
from nim_env.rendering import FRAMES_PER_SECOND, as_pixels, as_text, view_of
from nim_env.rules import as_integer

MASK_BYTES, HEAP_BYTES, WORK_BYTES = 4, 96, 64
"""What a step takes at most for each entry of its masks, of its positions, and of those worked out at once."""

Infos: TypeAlias = dict[str, Any]
Step: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]


class Played(NamedTuple):
    """What a step did to every game.

    Attributes:
        last: The states that the moves led to.
        states: The states now: where a game that is over has begun anew at once, those of its next episode.
        rewards: Float64, shape ``(num_envs,)``; not 0 exactly where a game is over.
        is_over: Which games are over.
        ended: Their numbers.
        to_play: Who would move in the last states.
    """

    last: States
    states: States
    rewards: NDArray[np.float64]
    is_over: NDArray[np.bool_]
    ended: NDArray[np.int64]
    to_play: NDArray[np.int64]


class NimVectorEnv(OpponentArguments, VectorEnv[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]):
    """Many games of :class:`nim_env.gym_env.NimEnv`, stepped at once.

    What that page says of rules, spaces, rewards and arguments holds here for each of the ``num_envs`` games; a
    callable opponent gets the positions and masks of a batch, shapes ``(n, n_heaps)`` and ``(n, n_actions)``, and
    answers an action for each. Observations are int64 of shape ``(num_envs, n_heaps)``, rewards float64 and
    terminations bool of shape ``(num_envs,)``, truncations all False; every array is the caller's to keep.

    ## Information
    The keys of the single environment: ``action_mask``, int8 of shape ``(num_envs, n_actions)``, all ones for
    finished games; ``illegal_action``, bool of shape ``(num_envs,)``; ``to_play`` with ``opponent=None``, int64
    of that shape. Beside each stands ``_key``, bool of shape ``(num_envs,)``: the games it is news of.

    ## Arguments
    ```python
    import gymnasium as gym
    import nim_env

    gym.make_vec("Nim-v0", num_envs=1024)
    gym.make_vec("SimpleNim-v0", num_envs=1024, opponent="expert", autoreset_mode="SameStep")
    ```

    Those of the single environment, and:

    - ``num_envs`` = 1: how many games.
    - ``autoreset_mode`` = ``"NextStep"``: the step after a game's end starts its next episode, whatever the
      action; ``"SameStep"``: the last step itself does, and tells the end in ``info["final_obs"]`` and
      ``info["final_info"]``; ``"Disabled"``: ``reset(options={"reset_mask": ...})`` does. Or an ``AutoresetMode``.
    - ``render_mode``: no ``"human"``, since there is one window; ``"rgb_array"`` makes a picture of every game.
    - ``memory_limit``: the most bytes that the arrays of a step and the tables behind it may take; by default half
      of the machine's memory. Tables are left out where they do not fit, and each step computed instead.

    ``reset(options=...)`` takes ``heaps``, shape ``(n_heaps,)`` for all games or ``(num_envs, n_heaps)``, and
    ``first_player``, one for all games or a sequence of ``num_envs``. ``options["reset_mask"]``, bool of shape
    ``(num_envs,)``, says which games to reset; the others go on, and their rows stay what they were.

    ## Errors
    As in the single environment; where only some games are concerned, the first of them is named. No game has
    moved, and the generator has not either.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": FRAMES_PER_SECOND}

    def __init__(
        self,
        num_envs: int = 1,
        heaps: Sequence[int] = (1, 3, 5, 7),
        max_take: int | None = None,
        misere: bool = True,
        *,
        opponent: PolicyLike | None = "random",
        first_player: FirstPlayer | None = None,
        random_start: bool = False,
        illegal_action: IllegalAction = "lose",
        render_mode: str | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        memory_limit: int | None = None,
    ) -> None:
        self.num_envs = as_integer("num_envs", num_envs)
        if self.num_envs < 1:
            raise ValueError(f"num_envs must be 1 or more; got {num_envs}")
        self.autoreset_mode = _checked_mode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self._set_game(heaps, max_take, misere, random_start, illegal_action, render_mode)
        left = self._memory_left(memory_limit)
        self._set_opponent(opponent, first_player)
        self.single_observation_space = MultiDiscrete(np.array(self.rules.shape))
        self.single_action_space = Discrete(self._n_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._setting = Setting(
            self.rules, self._policy, self.first_player, self.random_start, self._opening_moves
        )
        self._games = games_of(self._setting, left)
        self._every_game = np.arange(self.num_envs)
        self._states: States | None = None  # until the first reset
        self._trail: NDArray[np.int64]  # the positions that the learner faced last, and those after its moves
        self._is_over = np.zeros(self.num_envs, dtype=np.bool_)
        self._last_reward = np.zeros(self.num_envs)  # of the last episodes against an opponent; 0 before the first
        self._to_play = np.zeros(self.num_envs, dtype=np.int64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int64], Infos]:
        """Starts an episode in every game, or in those of ``options["reset_mask"]``.

        Args:
            seed: Seeds the one generator that decides everything random here, and forgets the episodes before
                (``first_player="loser"``) of the games reset; ``None`` goes on with both.
            options: ``heaps``, ``first_player`` and ``reset_mask``, see the class.

        Returns:
            The observations, int64 of shape ``(num_envs, n_heaps)``, and the infos.

        Raises:
            TypeError: ``options`` is not a dictionary, or holds something of the wrong kind.
            ValueError: An unknown option or a wrong value in one, or an opponent that cannot open.
            gymnasium.error.ResetNeeded: A mask leaves games out that were never reset.
        """
        is_reset, heaps, first_player = self._checked_options(options)
        games = np.flatnonzero(is_reset)
        last_reward = self._last_reward.copy()
        if seed is not None:
            last_reward[games] = 0.0
        with self._unchanged_on_error() if self._opponent_may_fail else nullcontext():
            super().reset(seed=seed)
            generator = self.np_random  # made here at the latest, so that copies go on alike
            if heaps is not None:
                started = self._games.at(heaps[games])
            else:
                openings = self._openings(first_player, last_reward > 0)
                started = self._games.reply(self._games.opening(openings[games]), generator, games)
        self._last_reward = last_reward
        if self._states is None:
            self._states = started
            self._trail = np.empty((2, self.num_envs, self.rules.n_heaps), dtype=np.int64)
        else:
            self._states = self._states.copy()
            self._states[games] = started
        self._is_over = self._is_over & ~is_reset
        self._to_play = np.where(is_reset, 0, self._to_play)
        if self.render_mode is not None:
            begun = self._begun(self._states) if heaps is None else heaps
            self._trail = np.where(is_reset[:, None], begun, self._trail)
        return self._games.heaps(self._states), self._infos(self._states, is_reset)

    def step(self, actions: Any) -> Step:
        """Plays an action in every game and, unless that ends it or there is no opponent, the opponent's reply.

        Args:
            actions: Integers of the action space, shape ``(num_envs,)``; where a game starts anew, without effect.

        Returns:
            Observations (int64, shape ``(num_envs, n_heaps)``), rewards (float64, shape ``(num_envs,)``),
            terminations, truncations (bool, shape ``(num_envs,)``) and infos.

        Raises:
            gymnasium.error.ResetNeeded: There is no game, or with autoreset disabled one is over.
            gymnasium.error.InvalidAction: An action is outside the space, or illegal with
                ``illegal_action="raise"``.
            TypeError, ValueError: The opponent's answer is not a legal action.
        """
        same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        played = self._play(actions)
        infos = self._final_infos(played) if same_step and len(played.ended) else {}
        infos.update(self._infos(played.states, np.ones(self.num_envs, dtype=np.bool_)))
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        return self._games.heaps(played.states), played.rewards, played.is_over, truncated, infos

    def _play(self, actions: Any) -> Played:
        """Plays an action in every game, as :meth:`step` says."""
        if self._states is None:
            raise ResetNeeded("there are no games to step: call reset() first")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._is_over.any():
            raise ResetNeeded(
                f"game {self._is_over.argmax()} is over: reset it first, by reset(options={{'reset_mask': ...}})"
            )
        same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        actions = self._checked_actions(actions)
        moved = self._games.move(self._states, actions)
        if self.illegal_action == "raise" and (are_illegal := self._games.are_illegal(moved)).any():
            game = int(are_illegal.argmax())
            heaps = self._games.heaps(self._states)[game].tolist()
            raise InvalidAction(f"game {game}: {illegal_move(self.rules, int(actions[game]), heaps)}")
        with self._unchanged_on_error() if self._opponent_may_fail else nullcontext():
            last = states = self._games.reply(moved, self.np_random, self._every_game)
            rewards = self._games.rewards(last)
            is_over = rewards != 0.0
            ended = is_over.nonzero()[0]
            last_to_play = to_play = self._to_play
            if self._policy is None:
                last_to_play = to_play = (self._to_play ^ 1) * ~self._is_over
            if same_step and len(ended):
                states = self._restarted(last, ended)
                to_play = to_play * ~is_over
        if self.render_mode is not None:
            self._trail = self._left_behind(moved, actions)
            begins = is_over if same_step else self._is_over
            self._trail[:, begins] = self._begun(states)[begins]
        self._states, self._to_play = states, to_play
        if self._policy is not None:
            np.copyto(self._last_reward, rewards, where=is_over)
        self._is_over = np.zeros(self.num_envs, dtype=np.bool_) if same_step else is_over.copy()
        return Played(last, states, rewards, is_over, ended, last_to_play)

    def action_masks(self) -> NDArray[np.int8]:
        """Which actions are legal now: int8, shape ``(num_envs, n_actions)``, all ones where a game is over.

        Raises:
            gymnasium.error.ResetNeeded: There are no games yet.
        """
        return self._games.masks(self._states_to_mask())

    def mask_rows(self) -> list[NDArray[np.int8]]:
        """The rows of :meth:`action_masks`, to read: int8 arrays of shape ``(n_actions,)``, one for each game.

        Raises:
            gymnasium.error.ResetNeeded: There are no games yet.
        """
        return self._games.mask_rows(self._states_to_mask())

    def _states_to_mask(self) -> States:
        if self._states is None:
            raise ResetNeeded("there are no action masks before reset(); call reset() first")
        return self._states

    def render(self) -> tuple[Any, ...] | None:
        """The positions in the form of ``render_mode``; a warning and None without one.

        Returns:
            For each game, with ``"ansi"`` a text and with ``"rgb_array"`` RGB values, uint8, ``(400, 600, 3)``.

        Raises:
            gymnasium.error.ResetNeeded: There are no games yet.
            gymnasium.error.DependencyNotInstalled: ``"rgb_array"`` without pygame.
        """
        if self._states is None:
            raise ResetNeeded("there is nothing to render before reset(); call reset() first")
        if self.render_mode is None:
            gymnasium.logger.warn('render() shows nothing without a render mode; pass render_mode="ansi"')
            return None
        draw = as_text if self.render_mode == "ansi" else as_pixels
        return tuple(
            draw(view_of(heaps, self.rules.heaps, trail, to_play, is_over, mover_won))
            for heaps, trail, to_play, is_over, mover_won in zip(
                self._games.heaps(self._states).tolist(),
                self._trail.swapaxes(0, 1).tolist(),
                self._to_play.tolist() if self._policy is None else [None] * self.num_envs,
                self._is_over.tolist(),
                (self._games.rewards(self._states) > 0).tolist(),
                strict=True,
            )
        )

    def _left_behind(self, moved: States, actions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The positions that the learner faced, and those after its moves: shape ``(2, num_envs, n_heaps)``."""
        assert self._states is not None
        faced = self._games.heaps(self._states)
        trail = np.stack([faced, faced])
        has_moved = ~(self._is_over | self._games.are_illegal(moved))
        trail[1, has_moved] = self.rules.apply(faced[has_moved], actions[has_moved])
        return trail

    def _begun(self, states: States) -> NDArray[np.int64]:
        """The positions that episodes begin with, given the states that the learner sees first."""
        heaps = self._games.heaps(states)
        return heaps if self.random_start else np.broadcast_to(np.array(self.rules.heaps), heaps.shape)

    def _infos(self, states: States, told: NDArray[np.bool_]) -> Infos:
        """What there is to say of every game, and which of them it is news of."""
        infos: Infos = {
            "action_mask": self._games.masks(states),
            "_action_mask": told.copy(),
            "illegal_action": self._games.are_illegal(states),
            "_illegal_action": told.copy(),
        }
        if self._policy is None:
            infos |= {"to_play": self._to_play.copy(), "_to_play": told.copy()}
        return infos

    def _final_infos(self, played: Played) -> Infos:
        """How the games that have just ended did end, in Gymnasium's form."""
        ended, is_over = played.ended, played.is_over
        observations = np.empty(self.num_envs, dtype=object)  # of None
        observations[ended] = np.fromiter(self._games.heaps(played.last[ended]), dtype=object, count=len(ended))
        masks = np.zeros((self.num_envs, self._n_actions), dtype=np.int8)
        masks[ended] = 1
        final: Infos = {
            "action_mask": masks,
            "_action_mask": is_over.copy(),
            "illegal_action": self._games.are_illegal(played.last),
            "_illegal_action": is_over.copy(),
        }
        if self._policy is None:
            final |= {"to_play": played.to_play * is_over, "_to_play": is_over.copy()}
        return {
            "final_obs": observations,
            "_final_obs": is_over.copy(),
            "final_info": final,
            "_final_info": is_over.copy(),
        }

    def _restarted(self, states: States, ended: NDArray[np.int64]) -> States:
        """The states with the next episode begun where one is over."""
        openings = self._games.move(states[ended], np.zeros_like(ended))
        states = states.copy()
        states[ended] = self._games.reply(openings, self.np_random, ended)
        return states

    def _openings(self, first_player: Sequence[FirstPlayer | None], won: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The opening of every game, given who starts, in all of them or in each."""
        if len(first_player) == 1:
            return self._setting.openings(first_player[0], won)
        openings = np.zeros(self.num_envs, dtype=np.int64)
        for player in set(first_player):
            starts = np.array([other == player for other in first_player])
            openings[starts] = self._setting.openings(player, won[starts])
        return openings

    def _checked_actions(self, actions: Any) -> NDArray[np.int64]:
        """The actions as int64, one of the space for every game."""
        array: NDArray[Any] = actions
        if not isinstance(actions, np.ndarray):
            if not isinstance(actions, Sequence) or isinstance(actions, str | bytes | bytearray):
                raise InvalidAction(f"actions must be an array or a sequence, one for each game; got {actions!r}")
            array = np.empty(len(actions), dtype=object)
            for game, action in enumerate(actions):
                array[game] = action
        if array.shape != (self.num_envs,):
            raise InvalidAction(
                f"actions must have shape ({self.num_envs},), one for each of the games 0 to {self.num_envs - 1}; "
                f"got shape {array.shape}"
            )
        if array.dtype.kind in "iu":
            numbers: NDArray[np.int64] = array.astype(np.int64, copy=False)
            is_wrong = numbers.view(np.uint64) >= self._n_actions  # negative ones too
        else:
            is_wrong = np.array([not self._is_action(action) for action in array])
            numbers = np.array([0 if wrong else action for wrong, action in zip(is_wrong, array, strict=True)])
        if is_wrong.any():
            numbers = np.where(is_wrong, 0, numbers)
            is_wrong &= ~self._is_over  # where a game starts anew any will do
        if is_wrong.any():
            game = int(is_wrong.argmax())
            raise InvalidAction(
                f"actions must be integers from 0 to {self._n_actions - 1}; game {game} got {array[game]!r}"
            )
        return numbers

    def _is_action(self, action: Any) -> bool:
        try:
            return 0 <= as_integer("action", action) < self._n_actions
        except TypeError:
            return False

    def _checked_options(
        self, options: Mapping[str, Any] | None
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64] | None, Sequence[FirstPlayer | None]]:
        """Which games to reset, the positions they start from if given, and who starts."""
        options = {} if options is None else options
        if not isinstance(options, Mapping):
            raise TypeError(f"options must be a dictionary or None; got {options!r}")
        for key in options:
            if key not in ("heaps", "first_player", "reset_mask"):
                raise ValueError(f'options may hold "heaps", "first_player" and "reset_mask"; got {key!r}')
        is_reset = self._checked_reset_mask(options.get("reset_mask"))
        heaps = self._checked_starts(options.get("heaps"), is_reset)
        first_player = self._checked_first_players(options.get("first_player"))
        if heaps is None and not self.random_start:
            starting = first_player if len(first_player) == 1 else np.array(first_player, dtype=object)[is_reset]
            for player in sorted({player for player in starting if player not in (None, "agent")}):
                self._check_opening('options["first_player"]', player)
        return is_reset, heaps, first_player

    def _checked_reset_mask(self, mask: Any) -> NDArray[np.bool_]:
        if mask is None:
            mask = np.ones(self.num_envs, dtype=np.bool_)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f'options["reset_mask"] must be a NumPy array of booleans; got {mask!r}')
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f'options["reset_mask"] must have shape ({self.num_envs},) and one True or more; got {mask!r}'
            )
        if self._states is None and not mask.all():
            raise ResetNeeded(f"game {mask.argmin()} was never reset: reset all games first")
        is_reset: NDArray[np.bool_] = mask.copy()
        return is_reset

    def _checked_starts(self, heaps: Any, is_reset: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        if heaps is None:
            return None
        starts = self.rules.positions(heaps)
        shape = self.num_envs, self.rules.n_heaps
        if starts.shape not in (shape, shape[1:]):
            raise ValueError(
                f'options["heaps"] must have shape {shape[1:]}, one position for all games, or {shape}, one for '
                f"each; got shape {starts.shape}"
            )
        starts = np.broadcast_to(starts, shape)
        if (is_empty := is_reset & ~starts.any(axis=1)).any():
            raise ValueError(f'options["heaps"] must be unfinished positions; game {is_empty.argmax()} got all 0')
        return starts

    def _checked_first_players(self, players: Any) -> Sequence[FirstPlayer | None]:
        name = 'options["first_player"]'
        if isinstance(players, np.ndarray):
            players = players.tolist()
        if players is None:
            return [self.first_player]
        if isinstance(players, str) or not isinstance(players, Sequence):
            return [self._checked_first_player(players, name)]
        if len(players) != self.num_envs:
            raise ValueError(
                f"{name} must be one for all games, or {self.num_envs}, one for each; got {len(players)}"
            )
        return [
            self.first_player if player is None else self._checked_first_player(player, f"{name}[{game}]")
            for game, player in enumerate(players)
        ]

    def _memory_left(self, memory_limit: int | None) -> int:
        """What the limit leaves for tables, if it leaves enough for the arrays of a step."""
        limit = _half_the_memory() if memory_limit is None else as_integer("memory_limit", memory_limit)
        entries = self.num_envs * self._n_actions
        needed = MASK_BYTES * entries + HEAP_BYTES * self.num_envs * (self.rules.n_heaps + 4)
        needed += WORK_BYTES * min(entries, max(ENTRIES_AT_ONCE, self._n_actions))
        if needed > limit:
            raise ValueError(
                f"num_envs={self.num_envs:,} games of {self.rules.n_heaps:,} heaps, {self._n_actions:,} actions, "
                f"take up to {needed / 1e6:,.1f} MB at each step, more than memory_limit={limit / 1e6:,.1f} MB; "
                "use fewer games at once, smaller heaps or a smaller max_take, or raise memory_limit"
            )
        return limit - needed


def _checked_mode(mode: Any) -> AutoresetMode:
    if isinstance(mode, str | AutoresetMode):
        for known in AutoresetMode:
            if mode in (known, known.value, known.name):
                return known
    names = ", ".join(repr(known.value) for known in AutoresetMode)
    raise ValueError(f"autoreset_mode must be one of {names}, or an AutoresetMode; got {mode!r}")


def _half_the_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):  # not every system says
        return 4 * 2**30
