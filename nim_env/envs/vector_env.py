"""Nim as a Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from nim_env.encodings import ObservationLike, checked_encoding
from nim_env.envs._dynamics import ILLEGAL_ACTION, PLAYING, Dynamics, GameConfig, States, make_dynamics
from nim_env.envs._options import (
    FirstPlayer,
    IllegalAction,
    Opponent,
    check_opening,
    checked_choice,
    checked_first_player,
    checked_new_opponent,
    checked_opponent,
    illegal_move,
)
from nim_env.envs._vector_options import (
    ResetOptions,
    checked_actions,
    checked_autoreset_mode,
    checked_max_episode_steps,
    checked_num_envs,
    checked_reset_options,
)
from nim_env.policies import Policy, PolicyLike, is_drawn_per_game
from nim_env.rendering import FRAMES_PER_SECOND, as_pixels, as_text, view_of
from nim_env.rules import NimRules, checked_bool

Step: TypeAlias = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]


class NimVectorEnv(VectorEnv[NDArray[Any], NDArray[np.int64], NDArray[Any]]):
    """Many games of :class:`nim_env.envs.gym_env.NimEnv` in one environment, stepped together.

    Rules, spaces, rewards and arguments are those of the single environment, for each of the ``num_envs`` games.
    Observations are int64 of shape ``(num_envs, n_heaps)`` unless the argument ``observation`` changes them,
    rewards float64 of shape ``(num_envs,)``, terminations and truncations bool of shape ``(num_envs,)``. Every
    returned array is a copy.

    ## Information
    The keys of the single environment: ``action_mask``, int8 of shape ``(num_envs, n_actions)``, all ones for
    finished games; ``illegal_action``, bool of shape ``(num_envs,)``; in self-play ``to_play``, int64 of shape
    ``(num_envs,)``. For each key, the key with a leading underscore holds a bool array of shape ``(num_envs,)``:
    True for the environments that have just been stepped or reset.

    ## Arguments
    ```python
    import gymnasium as gym
    import nim_env

    gym.make_vec("Nim-v0", num_envs=1024)
    gym.make_vec("SimpleNim-v0", num_envs=1024, autoreset_mode="SameStep")
    ```

    The arguments of the single environment, and:

    - ``num_envs`` = 1: the number of games.
    - ``autoreset_mode`` = ``"NextStep"``: the step after the end of an episode starts the next one and ignores the
      action; ``"SameStep"``: the last step of an episode starts the next one and returns its end in
      ``info["final_obs"]`` and ``info["final_info"]``; ``"Disabled"``: ``reset(options={"reset_mask": ...})``
      starts the next one. Or an ``AutoresetMode``.
    - ``max_episode_steps`` = ``None``: truncates an episode after this many steps.
    - ``render_mode``: as in the single environment, but not ``"human"``, since there is one window only.
      ``render`` returns one text or picture for each game.

    A callable opponent gets one position at a time, as in the single environment. A policy gets batches.

    ``reset(options=...)`` takes ``heaps``, shape ``(n_heaps,)`` for all games or ``(num_envs, n_heaps)``;
    ``first_player``, one for all games or a sequence of ``num_envs``; and ``reset_mask``, bool of shape
    ``(num_envs,)``, the games to reset. The other games continue, and their rows stay the same. In a sequence,
    ``None`` stands for the usual start.

    ## Errors
    The errors of the single environment. The message names the first offending environment. Every game is
    unchanged after an error.
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
        observation: ObservationLike = "heaps",
        illegal_action: IllegalAction = "lose",
        render_mode: str | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
    ) -> None:
        self.rules = rules = NimRules(heaps, max_take, misere)  # type: ignore[arg-type]  # it makes the tuple
        self.random_start = checked_bool("random_start", random_start)
        self.encoding = checked_encoding(observation, rules)
        self.illegal_action = checked_choice("illegal_action", illegal_action, ("lose", "raise"))
        self.render_mode = checked_choice("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        self._opponent = None if opponent is None else checked_opponent(opponent, rules)
        self.first_player = checked_first_player(first_player, self._opponent)
        if not self.random_start:
            check_opening(self.first_player, self._opponent, rules)
        self.num_envs = checked_num_envs(num_envs, rules)
        self.autoreset_mode = checked_autoreset_mode(autoreset_mode)
        self.max_episode_steps = checked_max_episode_steps(max_episode_steps)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = self.encoding.space
        self.single_action_space = Discrete(rules.n_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._dynamics = self._make_dynamics()
        self._rewards = self._dynamics.config.rewards
        self._env_ids = np.arange(self.num_envs)
        self._states: States | None = None  # None before the first reset
        self._members: list[Policy] | None = None  # of each game, where the opponent is a mixture drawn per game
        self._is_over = np.zeros(self.num_envs, dtype=np.bool_)
        self._elapsed_steps = np.zeros(self.num_envs, dtype=np.int64)
        self._agent_won = np.zeros(self.num_envs, dtype=np.bool_)  # the last finished game against an opponent
        self._to_play = np.zeros(self.num_envs, dtype=np.int64)
        # the positions that the agent moved from and that its moves led to, shape (2, num_envs, n_heaps)
        self._last_positions: NDArray[np.int64]

    def _make_dynamics(self) -> Dynamics:
        config = GameConfig(self.rules, self.encoding, self._opponent, self.first_player, self.random_start)
        return make_dynamics(config)

    @property
    def opponent(self) -> PolicyLike | None:
        """The opponent as it was given, ``None`` in self-play. :meth:`set_opponent` changes it."""
        return None if self._opponent is None else self._opponent.given

    def set_opponent(self, opponent: PolicyLike) -> None:
        """Changes the opponent. The new one makes all moves from now on, including those of games in progress.

        Args:
            opponent: As in the constructor, but not ``None``.

        Raises:
            TypeError, ValueError: See :meth:`nim_env.envs.gym_env.NimEnv.set_opponent`.
        """
        changed = checked_new_opponent(self._opponent, opponent, self.rules)
        if not self.random_start:
            check_opening(self.first_player, changed, self.rules)
        if self._states is not None:
            self._members = self._next_members(changed, None, self._env_ids)
        self._opponent = changed
        before, self._dynamics = self._dynamics, self._make_dynamics()
        if self._states is not None:
            self._states = self._dynamics.states_of(before.heaps(self._states), before.status(self._states))

    def _next_members(
        self, opponent: Opponent | None, members: list[Policy] | None, envs: NDArray[np.int64]
    ) -> list[Policy] | None:
        """``members`` with new ones in ``envs``, where a game starts; None if they are not drawn per game."""
        policy = None if opponent is None else opponent.policy
        if not is_drawn_per_game(policy):
            return None
        drawn = policy.draw_members(self.np_random, len(envs))
        if members is None:
            return drawn
        members = members.copy()
        for env, member in zip(envs.tolist(), drawn, strict=True):
            members[env] = member
        return members

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Starts an episode in every environment, or in those of ``options["reset_mask"]``.

        Args:
            seed: Seeds the one generator, which decides everything random, and forgets who lost the last game
                (``first_player="loser"``) in the environments that are reset. ``None`` continues with both.
            options: ``heaps``, ``first_player`` and ``reset_mask``; the class describes them.

        Returns:
            The observations, an element of ``observation_space``, and the infos.

        Raises:
            TypeError: ``options`` is not a dictionary, or an option has the wrong type.
            ValueError: An option is unknown or its value wrong, or the opponent has no opening move.
            gymnasium.error.Error: ``seed`` is not a Python integer of 0 or more.
            gymnasium.error.ResetNeeded: The first reset leaves environments out.
        """
        checked = self._checked_options(options)
        reset_mask, envs = checked.reset_mask, np.flatnonzero(checked.reset_mask)
        agent_won = self._agent_won.copy()
        if seed is not None:
            agent_won[envs] = False
        super().reset(seed=seed)
        generator = self.np_random  # created here at the latest, so that copies draw the same numbers
        is_drawn = ~checked.has_heaps[envs]
        starts = self._starts(checked.first_players, agent_won)[envs[is_drawn]]
        members = self._next_members(self._opponent, self._members, envs)
        drawn = self._dynamics.opponent_step(
            self._dynamics.reset_states(starts), generator, envs[is_drawn], members
        )
        states = drawn
        if not is_drawn.all():
            states = self._dynamics.states_of(checked.heaps[envs], np.zeros(len(envs), dtype=np.int64))
            states[is_drawn] = drawn
        self._agent_won, self._members = agent_won, members
        if self._states is None:
            self._states = states
            self._last_positions = np.empty((2, self.num_envs, self.rules.n_heaps), dtype=np.int64)
        else:
            self._states = self._states.copy()
            self._states[envs] = states
        self._is_over = self._is_over & ~reset_mask
        self._elapsed_steps = np.where(reset_mask, 0, self._elapsed_steps)
        self._to_play = np.where(reset_mask, 0, self._to_play)
        if self.render_mode is not None:
            positions = np.where(checked.has_heaps[:, None], checked.heaps, self._start_positions(self._states))
            self._last_positions = np.where(reset_mask[:, None], positions, self._last_positions)
        infos = self._get_infos(self._states, self._dynamics.status(self._states), reset_mask)
        return self._dynamics.observations(self._states), infos

    def step(self, actions: Any) -> Step:
        """Plays an action in every environment and, unless the game is over or in self-play, the opponent's reply.

        Args:
            actions: Integers of the action space, shape ``(num_envs,)``; ignored where an episode starts.

        Returns:
            Observations (an element of ``observation_space``), rewards (float64, shape ``(num_envs,)``),
            terminations, truncations (bool, shape ``(num_envs,)``) and infos.

        Raises:
            gymnasium.error.ResetNeeded: The environment was not reset, or with autoreset disabled a game is over.
            gymnasium.error.InvalidAction: An action is outside the space, or illegal with
                ``illegal_action="raise"``.
            nim_env.policies.InvalidPolicyOutput: The opponent returned anything but a legal action.
        """
        if self._states is None:
            raise ResetNeeded("there are no games to step: call reset() first")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._is_over.any():
            raise ResetNeeded(
                f"the episode of environment {self._is_over.argmax()} is over: reset it first, by "
                "reset(options={'reset_mask': ...})"
            )
        actions = checked_actions(actions, self.rules.n_actions, self._is_over)
        after_agent = self._agent_step(self._states, actions)
        members = self._members
        if members is not None:
            members = self._next_members(self._opponent, members, np.flatnonzero(self._is_over))
        states = self._dynamics.opponent_step(after_agent, self.np_random, self._env_ids, members)
        status = self._dynamics.status(states)
        rewards, terminated = self._rewards.take(status), status != PLAYING
        elapsed_steps, truncated = self._truncate()
        is_over, is_autoreset = terminated | truncated, self._is_over
        agent_won, to_play = self._agent_won, self._to_play
        if self._opponent is None:
            to_play = (to_play ^ 1) * ~self._is_over
        else:
            agent_won = (terminated & (rewards > 0)) | (agent_won & ~terminated)  # faster than np.where
        infos: dict[str, Any] = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            is_autoreset = is_over
            if (ended := is_over.nonzero()[0]).size:
                infos = self._final_infos(ended, states[ended], to_play[ended])
                states = states.copy()
                members = self._next_members(self._opponent, members, ended)
                states[ended] = self._next_episodes(ended, agent_won[ended], members)
                status = self._dynamics.status(states)
                to_play, elapsed_steps = to_play * ~is_over, elapsed_steps * ~is_over
        if self.render_mode is not None:
            self._last_positions = self._positions_of_step(after_agent, actions, states, is_autoreset)
        self._states, self._agent_won, self._members = states, agent_won, members
        self._to_play, self._elapsed_steps = to_play, elapsed_steps
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            self._is_over = is_over
        infos |= self._get_infos(states, status, np.ones(self.num_envs, dtype=np.bool_))
        return self._dynamics.observations(states), rewards, terminated, truncated, infos

    def action_masks(self) -> NDArray[np.int8]:
        """The legal actions.

        Returns:
            int8 of shape ``(num_envs, n_actions)``, all ones where a game is over.

        Raises:
            gymnasium.error.ResetNeeded: The environment was not reset yet.
        """
        return self._dynamics.masks(self._checked_states())

    def mask_rows(self) -> list[NDArray[np.int8]]:
        """The rows of :meth:`action_masks`, faster than slicing them, since the arrays are shared between steps.

        Returns:
            ``num_envs`` read-only arrays, int8 of shape ``(n_actions,)``.

        Raises:
            gymnasium.error.ResetNeeded: The environment was not reset yet.
        """
        return self._dynamics.mask_rows(self._checked_states())

    def render(self) -> tuple[Any, ...] | None:
        """The positions in the form of ``render_mode``; a warning and None without one.

        Returns:
            For each game, with ``"ansi"`` a text and with ``"rgb_array"`` RGB values, uint8, ``(400, 600, 3)``.

        Raises:
            gymnasium.error.ResetNeeded: The environment was not reset yet.
            gymnasium.error.DependencyNotInstalled: ``"rgb_array"`` without pygame.
        """
        states = self._checked_states()
        if self.render_mode is None:
            gymnasium.logger.warn('render() shows nothing without a render mode; pass render_mode="ansi"')
            return None
        draw = as_text if self.render_mode == "ansi" else as_pixels
        status = self._dynamics.status(states)
        return tuple(
            draw(view_of(heaps, self.rules, last_positions, to_play, is_over, mover_won))
            for heaps, last_positions, to_play, is_over, mover_won in zip(
                self._dynamics.heaps(states).tolist(),
                self._last_positions.swapaxes(0, 1).tolist(),
                self._to_play.tolist() if self._opponent is None else [None] * self.num_envs,
                (status != PLAYING).tolist(),
                (self._rewards.take(status) > 0).tolist(),
                strict=True,
            )
        )

    def _checked_states(self) -> States:
        if self._states is None:
            raise ResetNeeded("there are no games before reset(); call reset() first")
        return self._states

    def _checked_options(self, options: dict[str, Any] | None) -> ResetOptions:
        given = checked_reset_options(options, self.num_envs, self.rules, self._states is None)
        name = 'options["first_player"]'
        players = [
            self.first_player if player is None else checked_first_player(player, self._opponent, name)
            for player in given.first_players
        ]
        is_opened = given.reset_mask & ~given.has_heaps
        if is_opened.any() and not self.random_start:
            opening = players if len(players) == 1 else np.array(players, dtype=object)[is_opened]
            for player in set(opening):
                check_opening(player, self._opponent, self.rules, name)
        return given._replace(first_players=players)

    def _starts(self, first_players: Sequence[Any], agent_won: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How every episode starts, given one first player for all environments or one for each."""
        kinds_of = self._dynamics.config.start_kinds
        if len(first_players) == 1:
            return kinds_of(first_players[0], agent_won)
        starts = np.zeros(self.num_envs, dtype=np.int64)
        for player in set(first_players):
            envs = np.array([other == player for other in first_players])
            starts[envs] = kinds_of(player, agent_won[envs])
        return starts

    def _next_episodes(
        self, envs: NDArray[np.int64], agent_won: NDArray[np.bool_], members: list[Policy] | None
    ) -> States:
        """The states that the next episodes start with."""
        starts = self._dynamics.config.start_kinds(self.first_player, agent_won)
        return self._dynamics.opponent_step(self._dynamics.reset_states(starts), self.np_random, envs, members)

    def _agent_step(self, states: States, actions: NDArray[np.int64]) -> States:
        after = self._dynamics.agent_step(states, actions)
        if self.max_episode_steps is not None:  # the dynamics start the next episode of finished games only
            truncated = np.flatnonzero(self._is_over & (self._dynamics.status(states) == PLAYING))
            starts = self._dynamics.config.start_kinds(self.first_player, self._agent_won[truncated])
            after[truncated] = self._dynamics.reset_states(starts)
        if self.illegal_action == "raise":
            is_illegal = self._dynamics.status(after) == ILLEGAL_ACTION
            if is_illegal.any():
                env = int(is_illegal.argmax())
                heaps = self._dynamics.heaps(states)[env].tolist()
                raise InvalidAction(f"environment {env}: {illegal_move(self.rules, int(actions[env]), heaps)}")
        return after

    def _truncate(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The elapsed steps after this one, and which episodes it truncates."""
        if self.max_episode_steps is None:
            return self._elapsed_steps, np.zeros(self.num_envs, dtype=np.bool_)
        elapsed_steps = (self._elapsed_steps + 1) * ~self._is_over
        return elapsed_steps, elapsed_steps >= self.max_episode_steps

    def _positions_of_step(
        self, after_agent: States, actions: NDArray[np.int64], states: States, is_autoreset: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """The positions that the agent moved from and that its moves led to, shape ``(2, num_envs, n_heaps)``."""
        assert self._states is not None
        before = self._dynamics.heaps(self._states)
        positions = np.stack([before, before])
        moved = ~(self._is_over | (self._dynamics.status(after_agent) == ILLEGAL_ACTION))
        positions[1, moved] = self.rules.apply(before[moved], actions[moved])
        positions[:, is_autoreset] = self._start_positions(states)[is_autoreset]
        return positions

    def _start_positions(self, states: States) -> NDArray[np.int64]:
        """The positions before the opponent's opening moves, given the states that the agent observes first."""
        heaps = self._dynamics.heaps(states)
        return heaps if self.random_start else np.broadcast_to(np.array(self.rules.heaps), heaps.shape)

    def _get_infos(self, states: States, status: NDArray[np.int64], is_new: NDArray[np.bool_]) -> dict[str, Any]:
        infos = {
            "action_mask": self._dynamics.masks(states),
            "_action_mask": is_new.copy(),
            "illegal_action": status == ILLEGAL_ACTION,
            "_illegal_action": is_new.copy(),
        }
        if self._opponent is None:
            infos |= {"to_play": self._to_play.copy(), "_to_play": is_new.copy()}
        return infos

    def _final_infos(self, ended: NDArray[np.int64], states: States, to_play: NDArray[np.int64]) -> dict[str, Any]:
        """The last observations and infos of the episodes that have just ended, in Gymnasium's form."""
        is_over = np.zeros(self.num_envs, dtype=np.bool_)
        is_over[ended] = True
        observations = np.empty(self.num_envs, dtype=object)  # of None
        observations[ended] = np.fromiter(self._dynamics.observations(states), dtype=object, count=len(ended))
        columns = {
            "action_mask": self._dynamics.masks(states),
            "illegal_action": self._dynamics.status(states) == ILLEGAL_ACTION,
        }
        if self._opponent is None:
            columns["to_play"] = to_play
        infos: dict[str, Any] = {}
        for key, column in columns.items():
            infos[key] = np.zeros((self.num_envs, *column.shape[1:]), dtype=column.dtype)
            infos[key][ended] = column
            infos[f"_{key}"] = is_over.copy()
        return {
            "final_obs": observations,
            "_final_obs": is_over.copy(),
            "final_info": infos,
            "_final_info": is_over.copy(),
        }
