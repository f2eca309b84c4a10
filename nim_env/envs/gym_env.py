"""Nim as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from nim_env.encodings import ObservationLike, checked_encoding
from nim_env.envs._options import (
    FirstPlayer,
    IllegalAction,
    Opponent,
    check_opening,
    checked_action,
    checked_choice,
    checked_first_player,
    checked_heaps,
    checked_new_opponent,
    checked_opponent,
    checked_options,
    finished_mask,
    illegal_move,
    no_opening,
)
from nim_env.envs._positions import Position, positions_of, random_heaps
from nim_env.policies import Policy, PolicyLike, is_built_in, is_drawn_per_game, query_opponent, sample
from nim_env.rendering import FRAMES_PER_SECOND, Display, View, view_of
from nim_env.rules import NimRules, checked_bool


class NimEnv(Env[NDArray[Any], np.int64]):
    """The game of Nim against an opponent, or in self-play.

    ## Description
    There are heaps of objects. Two players take turns; each takes one object or more, up to ``max_take``, from a
    single heap. In misère play (the default) the player who takes the last object loses; in normal play that
    player wins. The agent plays against an opponent that is part of the environment, so one step is the agent's
    move and the opponent's reply. With ``opponent=None`` (self-play) the agent plays both sides.

    ## Action space
    ``Discrete(n_actions)``: an index into ``env.unwrapped.rules.moves``, the ``(heap, count)`` pairs that can be
    played from the starting heaps, heap by heap, count rising. 1-3-5-7 has 16:

    | action     | 0      | 1 to 3      | 4 to 8      | 9 to 15     |
    |------------|--------|-------------|-------------|-------------|
    | takes      | 1      | 1 to 3      | 1 to 5      | 1 to 7      |
    | from heap  | 0      | 1           | 2           | 3           |

    ``rules.action(heap, count)`` is the inverse. Actions are Python integers, NumPy integers and 0-d integer
    arrays. 1.0 and True are not actions.

    ## Observation space
    ``MultiDiscrete(heaps + 1)``: the heap sizes, int64, shape ``(n_heaps,)``. The argument ``observation`` changes
    it, see ``nim_env.encodings``.

    ## Action mask
    ``info["action_mask"]``, and ``env.unwrapped.action_masks()``: int8, shape ``(n_actions,)``, 1 where the
    action is legal now, as ``action_space.sample(mask)`` takes it. In a finished game it is all ones.

    ## Rewards
    +1.0 for the winner and −1.0 for the loser when the game ends, else 0.0. In self-play the reward is that of the
    player who has just moved.

    ## Starting state
    The full heaps, after an opening move of the opponent where the opponent starts (``first_player``). An opening
    move never ends the game, since ``reset`` cannot return a finished game. With ``random_start`` or
    ``options["heaps"]`` the agent faces that position, without an opening move.

    ## Episode end
    Terminated when the last object is taken, or by an illegal action, which loses at once. Never truncated
    (``max_episode_steps`` of ``gym.make`` truncates).

    ## Information
    - ``action_mask``: see above.
    - ``illegal_action``: whether the episode has just ended by an illegal action.
    - ``to_play`` (in self-play): 0 or 1, the player to move; 0 after ``reset``.

    ## Arguments
    ```python
    import gymnasium as gym
    import nim_env

    gym.make("Nim-v0")  # 1-3-5-7, misère, random opponent
    gym.make("SimpleNim-v0")  # one heap of 21, take 1 to 3, normal play
    ```

    - ``heaps`` = ``(1, 3, 5, 7)``: starting heap sizes.
    - ``max_take`` = ``None``: the maximum number of objects that one move may take; ``None`` for no limit.
    - ``misere`` = ``True``: whether the player who takes the last object loses.
    - ``opponent`` = ``"random"``: or ``"take-N"``, ``"expert"``, a policy (an object with
      ``action_probabilities``), a ``MixturePolicy`` that draws a member per move or per game, a callable
      ``(observation, action_mask) -> action`` on one position, or ``None`` for self-play.
      ``env.unwrapped.set_opponent(policy)`` changes it later.
    - ``first_player`` = ``"random"``: or ``"agent"``, ``"opponent"``, or ``"loser"`` (the agent starts the first
      episode after a seed, then the loser of the last game). Not allowed in self-play; ignored with
      ``random_start``.
    - ``random_start`` = ``False``: whether every episode starts from a uniformly drawn position other than the
      empty one ("exploring starts").
    - ``observation`` = ``"heaps"``: or ``"one_hot"``, ``"bits"``, ``"unary"``, or an
      ``nim_env.Encoding``. The opponent always gets heap sizes.
    - ``illegal_action`` = ``"lose"``: or ``"raise"``, which raises an error and leaves the game unchanged.
    - ``render_mode`` = ``None``: or ``"ansi"`` (text), ``"rgb_array"`` (pixels), or ``"human"`` (a window that
      ``reset`` and ``step`` update, two frames a second). The last two need pygame.

    ``reset(options=...)`` takes ``heaps``, the position to start from (no heap above its starting size), and
    ``first_player``, both for one episode.

    ## Errors
    ``TypeError`` and ``ValueError`` for wrong arguments; ``nim_env.policies.InvalidPolicyOutput``, which is a
    ``ValueError``, for an opponent that returns anything but a legal action; ``gymnasium.error.InvalidAction`` for
    an action outside the space; ``gymnasium.error.ResetNeeded`` for a step before ``reset`` or after the end. The
    game is unchanged after any of them.

    ## Version history
    - v0: initial version.
    """

    metadata = {"render_modes": ["human", "ansi", "rgb_array"], "render_fps": FRAMES_PER_SECOND}

    def __init__(
        self,
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
    ) -> None:
        self.rules = rules = NimRules(heaps, max_take, misere)  # type: ignore[arg-type]  # it makes the tuple
        self.random_start = checked_bool("random_start", random_start)
        self.encoding = checked_encoding(observation, rules)
        self.illegal_action = checked_choice("illegal_action", illegal_action, ("lose", "raise"))
        self.render_mode = checked_choice("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        self._display = Display(self.render_mode)
        self._opponent = None if opponent is None else checked_opponent(opponent, rules)
        self.first_player = checked_first_player(first_player, self._opponent)
        if not self.random_start:
            check_opening(self.first_player, self._opponent, rules)
        self.observation_space = self.encoding.space
        self.action_space = Discrete(rules.n_actions)
        self._n_actions, self._terminal_reward = rules.n_actions, rules.terminal_reward
        self._finished_mask = finished_mask(rules)
        self._positions = positions_of(rules, self.encoding)
        self._find_replies()
        self._playing: Policy | None  # the policy of the opponent in this game
        self._position: Position | None = None  # None before the first reset
        self._last_positions: tuple[Position, Position]  # before and after the agent's last move
        self._is_over = False
        self._to_play = 0
        self._agent_won = False  # the last finished game; in self-play whether the player who moved last won it

    def _find_replies(self) -> None:
        policy = None if self._opponent is None else self._opponent.policy
        self._replies = self._positions.replies_of(policy) if is_built_in(policy) else None

    def _next_playing(self, opponent: Opponent | None) -> Policy | None:
        """The policy of the opponent in the next game, drawn where a mixture is drawn per game."""
        policy = None if opponent is None else opponent.policy
        return policy.draw_members(self.np_random, 1)[0] if is_drawn_per_game(policy) else policy

    @property
    def opponent(self) -> PolicyLike | None:
        """The opponent as it was given, ``None`` in self-play. :meth:`set_opponent` changes it."""
        return None if self._opponent is None else self._opponent.given

    def set_opponent(self, opponent: PolicyLike) -> None:
        """Changes the opponent. The new one makes all moves from now on, including those of games in progress.

        A wrapped environment offers it as ``env.unwrapped.set_opponent``, and a ``VecEnv`` of Stable-Baselines3 by
        ``env_method("set_opponent", policy)``.

        Args:
            opponent: As in the constructor, but not ``None``.

        Raises:
            TypeError: ``opponent`` is not a policy.
            ValueError: The opponent is unknown, was made for another game, or cannot open the game although
                ``first_player`` lets it; or the environment is for self-play. The environment is unchanged after
                an error.
        """
        changed = checked_new_opponent(self._opponent, opponent, self.rules)
        if not self.random_start:
            check_opening(self.first_player, changed, self.rules)
        if self._position is not None:
            self._playing = self._next_playing(changed)
        self._opponent = changed
        self._find_replies()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: Seeds the environment's generator, which decides everything random, and forgets who lost the last
                game (``first_player="loser"``). ``None`` continues with both.
            options: ``heaps``, the position to start from, and ``first_player``, for this episode only.

        Returns:
            The observation, an element of ``observation_space``, and the info.

        Raises:
            TypeError: ``options`` is not a dictionary, or its heaps are not integers.
            ValueError: An option is unknown or its value wrong, or the opponent has no opening move.
            gymnasium.error.Error: ``seed`` is not a Python integer of 0 or more.
            RuntimeError: ``render_mode="human"`` without a display.
        """
        heaps, first_player = self._checked_options(options)
        self._display.open()
        super().reset(seed=seed)
        generator = self.np_random  # makes it at the first reset, so that copies draw the same numbers
        agent_won, playing = self._agent_won and seed is None, self._next_playing(self._opponent)
        if heaps is None and self.random_start:
            heaps = random_heaps(self.rules, generator)
        position = start = self._positions[heaps or self.rules.heaps]
        if heaps is None and self._opponent_starts(first_player, agent_won):
            position = start.after[self._opening_action(start, playing)]
        self._position, self._last_positions, self._playing = position, (start, start), playing
        self._is_over, self._to_play, self._agent_won = False, 0, agent_won
        if self.render_mode == "human":
            self.render()
        return position.observation.copy(), self._get_info(illegal_action=False)

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Plays ``action`` and, unless the game is over or in self-play, the opponent's reply.

        Args:
            action: An integer of the action space.

        Returns:
            Observation (an element of ``observation_space``), reward, terminated, truncated (always False), info.

        Raises:
            gymnasium.error.ResetNeeded: The environment was not reset, or the game is over.
            gymnasium.error.InvalidAction: ``action`` is outside the space, or illegal with
                ``illegal_action="raise"``.
            nim_env.policies.InvalidPolicyOutput: The opponent returned anything but a legal action.
        """
        position = self._position
        if position is None or self._is_over:
            raise ResetNeeded("there is no game to step: call reset() first, and again when a game is over")
        if type(action) is not int or not 0 <= action < self._n_actions:  # False in the usual case, and fast
            action = checked_action(action, self._n_actions)
        before = between = position
        reward, illegal = 0.0, not position.is_legal[action]
        if illegal:
            if self.illegal_action == "raise":
                raise InvalidAction(illegal_move(self.rules, action, position.heaps))
            reward = -1.0
        else:
            position = between = position.after[action]
            if position.is_empty:
                reward = self._terminal_reward
            elif self._opponent is not None:
                position = position.after[self._opponent_action(position)]
                if position.is_empty:
                    reward = -self._terminal_reward
        terminated = illegal or position.is_empty
        self._position, self._last_positions, self._is_over = position, (before, between), terminated
        self._to_play ^= 1
        if terminated:
            self._agent_won = reward > 0
        if self.render_mode == "human":
            self.render()
        return position.observation.copy(), reward, terminated, False, self._get_info(illegal)

    def action_masks(self) -> NDArray[np.int8]:
        """The legal actions.

        sb3-contrib calls a method of this name.

        Returns:
            int8 of shape ``(n_actions,)``, all ones when the game is over.

        Raises:
            gymnasium.error.ResetNeeded: The environment was not reset yet.
        """
        if self._position is None:
            raise ResetNeeded("there is no action mask before reset(); call reset() first")
        return (self._finished_mask if self._is_over else self._position.action_mask).copy()

    def render(self) -> str | NDArray[np.uint8] | None:
        """The position in the form of ``render_mode``; a warning and None without one.

        Returns:
            ``"ansi"``: a text. ``"rgb_array"``: RGB values, uint8 of shape ``(400, 600, 3)``. ``"human"``: None;
            the window, which ``reset`` and ``step`` update, is drawn again.

        Raises:
            gymnasium.error.ResetNeeded: The environment was not reset yet.
            gymnasium.error.DependencyNotInstalled: ``"rgb_array"`` without pygame.
            RuntimeError: ``"human"`` without a display.
        """
        if self._position is None:
            raise ResetNeeded("there is nothing to render before reset(); call reset() first")
        return self._display.render(self._view())

    def close(self) -> None:
        """Closes the window of ``render_mode="human"``; the next frame opens another."""
        self._display.close()

    def _get_info(self, illegal_action: bool) -> dict[str, Any]:
        info = {"action_mask": self.action_masks(), "illegal_action": illegal_action}
        if self._opponent is None:
            info["to_play"] = self._to_play
        return info

    def _view(self) -> View:
        assert self._position is not None
        last_positions = [position.heaps for position in self._last_positions]
        to_play = self._to_play if self._opponent is None else None
        return view_of(self._position.heaps, self.rules, last_positions, to_play, self._is_over, self._agent_won)

    def _opponent_starts(self, first_player: FirstPlayer | None, agent_won: bool) -> bool:
        if first_player == "random":
            return bool(self.np_random.random() < 0.5)
        return first_player == "opponent" or (first_player == "loser" and agent_won)

    def _opponent_action(self, position: Position) -> int:
        """The opponent's action in an unfinished position."""
        if self._replies is None:
            return int(sample(_probabilities(self._playing, position), self.np_random))
        actions = self._replies[position]
        return actions[int(self.np_random.random() * len(actions))]

    def _opening_action(self, start: Position, playing: Policy | None) -> int:
        """The action of ``playing`` from the full heaps, among those that do not end the game."""
        assert self._opponent is not None
        openings = self._opponent.openings
        if self._replies is not None:
            return openings[int(self.np_random.random() * len(openings))]
        probabilities = np.zeros(self._n_actions)
        probabilities[list(openings)] = _probabilities(playing, start)[list(openings)]
        if not probabilities.any():
            raise no_opening("first_player", "opponent", self.opponent, self.rules)
        return int(sample(probabilities, self.np_random))

    def _checked_options(self, options: Any) -> tuple[tuple[int, ...] | None, FirstPlayer | None]:
        """The position to start from, if given, and the player who starts."""
        options = checked_options(options, ("heaps", "first_player"))
        heaps = checked_heaps(options.get("heaps"), self.rules)
        if options.get("first_player") is None:
            return heaps, self.first_player
        name = 'options["first_player"]'
        first_player = checked_first_player(options["first_player"], self._opponent, name)
        if heaps is None and not self.random_start:
            check_opening(first_player, self._opponent, self.rules, name)
        return heaps, first_player


def _probabilities(playing: Policy | None, position: Position) -> NDArray[np.float64]:
    """The opponent's probabilities in an unfinished position."""
    assert playing is not None
    return query_opponent(playing, np.array(position.heaps), position.action_mask)
