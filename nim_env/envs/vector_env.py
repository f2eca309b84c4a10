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
from nim_env._internal.caching import shared_instance
from nim_env._internal.checks import checked_choice, checked_integer
from nim_env.board import States, TabulatedBoard, batch_board
from nim_env.encodings import ObservationLike
from nim_env.envs._config import EnvConfig, FirstPlayer, checked_actions, checked_start_states
from nim_env.envs._opponents import GameOpponents, Indices, OpponentSampler, Roster
from nim_env.envs._reply_distribution import Start
from nim_env.envs._results import Observations
from nim_env.policies import IllegalAction, OpponentPool, PolicyLike
from nim_env.rendering import FRAMES_PER_SECOND, Display, view_of
from nim_env.rules import NimRules


@dataclass
class _Games:
    """The games of a vector environment. Each array has an entry for each game.

    Attributes:
        states: The state of each game, as :mod:`nim_env.board` numbers states.
        is_over: Whether the game is over or truncated. The next step then starts an episode. With autoreset
            disabled, ``reset`` must start it.
        to_play: Whether player 1 is to move. Only used in self-play.
        elapsed_steps: The number of steps of the episode. Only counted if there are ``max_episode_steps``.
        opponents: The opponent of each game.
    """

    states: States
    is_over: NDArray[np.bool_]
    to_play: NDArray[np.bool_]
    elapsed_steps: NDArray[np.int64]
    opponents: GameOpponents


class NimVectorEnv(VectorEnv[NDArray[Any], NDArray[np.int64], NDArray[Any]]):
    """Many games of :class:`nim_env.envs.gym_env.NimEnv` in one environment, stepped together.

    ## Description
    Each of the ``num_envs`` games has the rules, the spaces and the rewards of the single environment. ``step``
    takes an action for each game and returns arrays with one row for each game, which is much faster than stepping
    the games one by one. The games are independent of each other. When an episode ends, the environment starts the
    next one by itself, unless ``autoreset_mode="Disabled"``.

    ## Example
    Random play in 1,024 games against the expert:

    ```python
    import gymnasium as gym
    import nim_env  # registers Nim-v0
    import numpy as np

    envs = gym.make_vec(
        "Nim-v0", num_envs=1024, opponent="expert", autoreset_mode="SameStep"
    )
    generator = np.random.default_rng(0)
    observations, infos = envs.reset(seed=0)
    wins = games = 0
    for _ in range(100):
        mask = infos["action_mask"]
        # draws a uniformly random legal action for every game
        actions = (generator.random(mask.shape) * mask).argmax(axis=1)
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        wins += int((rewards > 0).sum())
        games += int(terminations.sum())
    print(f"{wins} of {games} games won")
    ```

    ```text
    128 of 24840 games won
    ```

    ## Spaces and returned arrays
    - Actions: integers of shape ``(num_envs,)``, the numbers of moves in ``env.unwrapped.rules.moves``.
    - Observations: the heap sizes, int64, shape ``(num_envs, n_heaps)``, or another encoding of them that the
      argument ``observation`` selects.
    - Rewards: float64, shape ``(num_envs,)``.
    - Terminations and truncations: bool, shape ``(num_envs,)``.
    - Action masks, ``infos["action_mask"]`` and ``env.unwrapped.action_masks()``: int8, shape
      ``(num_envs, n_actions)``. The rows of finished games are all ones.

    Every returned array is a copy, so you can change it.

    ## Information
    ``infos`` has the same keys as in the single environment:

    - ``action_mask``: the action masks, as described above.
    - ``illegal_action``: bool, shape ``(num_envs,)``.
    - ``to_play`` (only in self-play): int64, shape ``(num_envs,)``.
    - ``opponent`` (only with an ``OpponentPool``): int64, shape ``(num_envs,)``; -1 for a game whose opponent is
      not from a pool.

    Each key also exists with a leading underscore, as in Gymnasium's own vector environments.
    ``infos["_action_mask"]``, for example, is a bool array of shape ``(num_envs,)`` that is True for the games
    that have just been stepped or reset.

    ## Arguments
    The environment takes the arguments of the single environment, and these:

    - ``num_envs=1``: the number of games.
    - ``autoreset_mode="NextStep"``: how the next episode of a game starts, as a name or as an ``AutoresetMode``.
      - ``"NextStep"``: the step after the last step of an episode starts the next episode and ignores the action.
      - ``"SameStep"``: the last step of an episode also starts the next one. It returns the first observation of
        the new episode; the last observation and the last information of the old one are in ``infos["final_obs"]``
        and ``infos["final_info"]``.
      - ``"Disabled"``: you call ``reset(options={"reset_mask": ...})``.
    - ``max_episode_steps=None``: the number of steps after which an episode is truncated. ``None`` or -1 for no
      limit.
    - ``render_mode=None``: ``"ansi"`` or ``"rgb_array"``. ``render`` returns a text or a picture for each game. It
      does not show the last moves. There is no ``"human"``, since there is only one window.

    A function as the opponent is called with one position at a time, as in the single environment. A policy is
    called with a batch of positions.

    ``reset(options=...)`` takes a dictionary with these keys:

    - ``heaps``: the positions to start from, one for all games, shape ``(n_heaps,)``, or one for each game, shape
      ``(num_envs, n_heaps)``.
    - ``first_player``: the same values as the argument. It cannot be combined with ``heaps``, since then the
      agent moves first.
    - ``reset_mask``: which games to reset, bool, shape ``(num_envs,)``. The other games continue, and their rows
      in the returned arrays stay the same.

    ## Errors
    The errors are the same as in the single environment. After an error, every game is unchanged.

    ## Version history
    - v0: initial version.
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
        self._config = EnvConfig(self.rules, observation, random_start, illegal_action, opponent, first_player)
        self.encoding = self._config.encoding
        self.render_mode = checked_choice("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        self.num_envs = checked_integer("num_envs", num_envs, minimum=1)
        what = f"numbers in the masks of num_envs={num_envs:,}"
        limits.check_size(self.num_envs * self.rules.n_actions, limits.MASK_ENTRIES, what, "use fewer")
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.max_episode_steps: int | None = None
        if max_episode_steps not in (None, -1):
            self.max_episode_steps = checked_integer("max_episode_steps", max_episode_steps, minimum=1)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = self.encoding.space
        self.single_action_space = Discrete(self.rules.n_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._display = Display(self.render_mode)
        self._is_self_play = opponent is None
        self._is_stochastic = opponent is not None or random_start
        self.board = batch_board(self.rules)
        self._observations = shared_instance(Observations, self.board, self.encoding)
        self._sampler = OpponentSampler(self.board, self._config.opponent_policy, self._config.start)
        self._all_games = np.ones(self.num_envs, dtype=np.bool_)
        # states are indices if the board has tables, and for indices NumPy requires np.intp on 32-bit platforms
        self._state_type = np.intp if isinstance(self.board, TabulatedBoard) else np.int64
        self._games: _Games | None = None  # None before the first reset

    @property
    def opponent(self) -> PolicyLike | OpponentPool | None:
        """The opponent, as it was passed; ``None`` in self-play. :meth:`set_opponent` replaces it."""
        return self._config.opponent

    def set_opponent(self, opponent: PolicyLike | OpponentPool) -> None:
        """Replaces the opponent for games that begin later. A game in progress keeps its opponent to the end.

        The errors are the same as in the single environment.
        """
        config = self._config.with_opponent(opponent)
        if opponent is self.opponent:  # a pool that has grown: its members keep their numbers
            return
        self._sampler = OpponentSampler(self.board, config.opponent_policy, config.start)
        self._config = config
        if self._games is not None:
            self._games.opponents = self._games.opponents.with_sampler(self._sampler)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Starts an episode in every game, or only in the games of ``options["reset_mask"]``.

        The seed is a single integer that determines everything random in all games. The docstring of the class
        describes ``options``. Returns the first observations and the information.
        """
        if not isinstance(seed, int | None):
            raise TypeError(f"seed must be one int, which determines all {self.num_envs} games; got {seed!r}")
        options = options or {}
        start = self._config.start_of_episode(options, ("heaps", "first_player", "reset_mask"))
        reset_mask = self._checked_reset_mask(options.get("reset_mask"))
        heaps = options.get("heaps")
        first_states = None if heaps is None else checked_start_states(heaps, self.rules, reset_mask)
        self._sampler.refresh(start)
        games = self._games or self._new_games()
        super().reset(seed=seed)
        self._restart(games, np.flatnonzero(reset_mask), start, first_states)
        self._games = games
        return self._observations.of(games.states), self._get_infos(games, reset_mask)

    def step(
        self, actions: Any
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Plays an action in every game, and then the opponent's reply if the game is in progress.

        ``actions`` are integers in the action space, shape ``(num_envs,)``. In games that were over, the action is
        ignored, and a new episode starts. Returns observations, rewards, terminations, truncations and infos.
        """
        before = self._started_games()
        if self.autoreset_mode is AutoresetMode.DISABLED and before.is_over.any():
            raise ResetNeeded(f"environment {before.is_over.argmax()} is over; reset it by options['reset_mask']")
        checked = checked_actions(actions, self.rules.n_actions, before.is_over)
        states = self.board.next_states(before.states, checked)
        if self.max_episode_steps is not None:  # for the board, a truncated game is still in progress
            states[before.is_over] = self.board.new_game
        if self._config.illegal_action == "raise":
            self._refuse_illegal(checked, before.states, states)
        opponents, start, generator = before.opponents, self._config.start, self.np_random
        if opponents.roster.only_replies is None and before.is_over.any():
            opponents = opponents.with_new_opponents(before.is_over.nonzero()[0], self._sampler, start, generator)
        if self._is_stochastic:
            states = opponents.roster.draw_replies(states, opponents.indices, start, generator)
        rewards = self.board.rewards(states)
        terminated = self.board.is_over(states)
        elapsed_steps = before.elapsed_steps
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        if self.max_episode_steps is not None:
            elapsed_steps = (elapsed_steps + 1) * ~before.is_over  # 0 in games that have just begun
            truncated = elapsed_steps >= self.max_episode_steps
        # player 0 begins a new game, and otherwise the other player is to move
        to_play = ~(before.to_play | before.is_over) if self._is_self_play else before.to_play
        games = _Games(states, terminated | truncated, to_play, elapsed_steps, opponents)
        infos: dict[str, Any] = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP and games.is_over.any():
            infos = self._final_infos(games)
            self._restart(games, games.is_over.nonzero()[0], start)
        self._games = games
        infos |= self._get_infos(games, self._all_games)
        return self._observations.of(games.states), rewards, terminated, truncated, infos

    def _refuse_illegal(self, actions: NDArray[np.intp], before: States, after: States) -> None:
        """Raises InvalidAction if an action was illegal, given the states of the games before and after it."""
        is_illegal = self.board.is_illegal(after)
        if is_illegal.any():
            env = int(is_illegal.argmax())
            message = self.rules.illegal_action_message(int(actions[env]), self.board.heaps(before[env]))
            raise InvalidAction(f"environment {env}: {message}")

    def _restart(self, games: _Games, indices: Indices, start: Start, first_states: States | None = None) -> None:
        """Starts episodes in the games ``indices``: in ``first_states`` if given, otherwise as ``start`` says."""
        generator = self.np_random  # created at the first reset, so copies draw the same numbers
        opponents = games.opponents.with_new_opponents(indices, self._sampler, start, generator)
        if first_states is None:
            first_states = np.full(len(indices), self.board.new_game, dtype=self._state_type)
            if self._is_stochastic:
                playing = opponents.indices[indices]
                first_states = opponents.roster.draw_replies(first_states, playing, start, generator)
        games.opponents = opponents
        games.states[indices] = first_states
        games.is_over[indices] = False
        games.to_play[indices] = 0
        games.elapsed_steps[indices] = 0

    def _new_games(self) -> _Games:
        """Returns a new :class:`_Games` object, in which no episode has begun."""
        states = np.zeros(self.num_envs, dtype=self._state_type)
        is_over = states > 0
        elapsed_steps = np.zeros(self.num_envs, dtype=np.int64)
        roster = Roster(self.board, (), self._sampler.opponents)
        opponents = GameOpponents(roster, np.zeros(self.num_envs, dtype=np.intp))
        return _Games(states, is_over, is_over.copy(), elapsed_steps, opponents)

    def _started_games(self) -> _Games:
        """Returns the games, or raises an error before the first ``reset``."""
        if self._games is None:
            raise ResetNeeded("no games have been started; call reset() first")
        return self._games

    @property
    def states(self) -> States:
        """The state of each game, as :mod:`nim_env.board` numbers states: integers of shape ``(num_envs,)``.

        Their dtype is np.intp if the board has tables, so they can be used as indices, and int64 otherwise.
        """
        return self._started_games().states.copy()

    def action_masks(self) -> NDArray[np.int8]:
        """Returns the legal actions: int8 of shape ``(num_envs, n_actions)``, all ones in games that are over."""
        return self.board.masks(self._started_games().states)

    def render(self) -> tuple[Any, ...]:
        """Renders each game in the mode ``render_mode``. The last moves are not shown.

        Returns a text for each game, or RGB values, uint8 of shape ``(400, 600, 3)``.
        """
        games = self._started_games()
        views = zip(
            self.board.heaps(games.states).tolist(),
            games.to_play.astype(np.int64).tolist() if self._is_self_play else [None] * self.num_envs,
            self.board.is_over(games.states).tolist(),
            (self.board.rewards(games.states) > 0).tolist(),
            strict=True,
        )
        return tuple(self._display.render(view_of(self.rules, *view)) for view in views)

    def _checked_reset_mask(self, mask: Any) -> NDArray[np.bool_]:
        """Checks ``options["reset_mask"]`` and returns it as an array, which is all True without this option."""
        array = self._all_games if mask is None else np.array(mask)
        if array.dtype != np.bool_ or array.shape != (self.num_envs,) or not array.any():
            raise ValueError(
                f"reset_mask must hold {self.num_envs} booleans, at least one of them True; got {mask!r}"
            )
        if self._games is None and not array.all():
            raise ResetNeeded(f"environment {array.argmin()} was never reset; reset all environments first")
        return array

    def _get_infos(self, games: _Games, is_new: NDArray[np.bool_]) -> dict[str, Any]:
        """Returns the infos. ``is_new``, the games with new infos, becomes the value of ``"_action_mask"`` etc."""
        states = games.states
        infos = {"action_mask": self.board.masks(states), "illegal_action": self.board.is_illegal(states)}
        if self._is_self_play:
            infos["to_play"] = games.to_play.astype(np.int64)
        for name in list(infos):
            infos[f"_{name}"] = is_new.copy()
        if games.opponents.roster.has_members:
            members = games.opponents.roster.member_numbers.take(games.opponents.indices)
            is_member = is_new & (members >= 0)
            if not games.opponents.roster.former or is_member.any():  # without former ones, all are members
                infos |= {"opponent": members, "_opponent": is_member}
        return infos

    def _final_infos(self, games: _Games) -> dict[str, Any]:
        """Returns ``final_obs`` and ``final_info`` for the games that have just ended, in Gymnasium's form."""
        ended = games.is_over.nonzero()[0]
        observations = np.empty(self.num_envs, dtype=object)  # None for the other games
        observations[ended] = np.fromiter(self._observations.of(games.states[ended]), object, len(ended))
        infos = self._get_infos(games, games.is_over)
        for name in infos.keys() & {"action_mask", "to_play", "opponent"}:
            infos[name][~games.is_over] = 0
        is_new = {"_final_obs": games.is_over.copy(), "_final_info": games.is_over.copy()}
        return {"final_obs": observations, "final_info": infos, **is_new}
