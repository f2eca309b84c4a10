"""Nim as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete, MultiDiscrete
from numpy.typing import NDArray

from nim_env._arguments import FirstPlayer, IllegalAction, OpponentArguments, finished_mask, no_opening
from nim_env._position_cache import EMPTY_INDEX, support_cache
from nim_env._single_game import SingleGame
from nim_env.policies import PolicyLike, is_built_in, query_policy, sample
from nim_env.rendering import FRAMES_PER_SECOND, View, view_of


class NimEnv(SingleGame, OpponentArguments, Env[NDArray[np.int64], np.int64]):
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
    ``MultiDiscrete(heaps + 1)``: the heap sizes, int64, shape ``(n_heaps,)``.

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

    gym.make("Nim-v0")         # 1-3-5-7, misère, random opponent
    gym.make("SimpleNim-v0")   # one heap of 21, take 1 to 3, normal play
    ```

    - ``heaps`` = ``(1, 3, 5, 7)``: starting heap sizes.
    - ``max_take`` = ``None``: the most objects one move may take; ``None`` for no limit.
    - ``misere`` = ``True``: whether the player who takes the last object loses.
    - ``opponent`` = ``"random"``: or ``"take-N"``, ``"expert"``, a policy (an object with
      ``action_probabilities``), a callable ``(observation, action_mask) -> action`` on one position, or ``None``
      for self-play. ``env.unwrapped.set_opponent(policy)`` changes it later.
    - ``first_player`` = ``"random"``: or ``"agent"``, ``"opponent"``, or ``"loser"`` (the agent starts the first
      episode after a seed, then the loser of the last game). Not allowed in self-play.
    - ``random_start`` = ``False``: whether every episode starts from a uniformly drawn position other than the
      empty one ("exploring starts").
    - ``illegal_action`` = ``"lose"``: or ``"raise"``, which raises an error and leaves the game unchanged.
    - ``render_mode`` = ``None``: or ``"ansi"`` (text), ``"rgb_array"`` (pixels), or ``"human"`` (a window that
      ``reset`` and ``step`` update, two frames a second). The last two need pygame.

    ``reset(options=...)`` takes ``heaps``, the position to start from (no heap above its starting size), and
    ``first_player``, both for one episode.

    ## Errors
    ``TypeError`` and ``ValueError`` for wrong arguments and for an opponent that returns anything but a legal
    action; ``gymnasium.error.InvalidAction`` for an action outside the space; ``gymnasium.error.ResetNeeded`` for
    a step before ``reset`` or after the end. The game is unchanged after any of them.

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
        illegal_action: IllegalAction = "lose",
        render_mode: str | None = None,
    ) -> None:
        super().__init__(
            heaps,
            max_take,
            misere,
            random_start,
            illegal_action,
            render_mode,
            opponent=opponent,
            first_player=first_player,
        )
        self.observation_space = MultiDiscrete(np.array(self.rules.shape))
        self.action_space = Discrete(self._n_actions)
        self._terminal_reward = self.rules.terminal_reward
        self._finished_mask = finished_mask(self.rules)
        self._prepare_opponent()
        self._to_play = 0
        self._agent_won: bool | None = None  # the last finished game; None before the first
        self._last_positions: tuple[int, int]  # that the agent moved from, and that its move led to

    def _prepare_opponent(self) -> None:
        policy = self._policy
        self._support = support_cache(self.rules, policy) if is_built_in(policy) else None
        self._opening_actions = tuple(np.flatnonzero(self._opening_mask).tolist())

    def set_opponent(self, opponent: PolicyLike) -> None:  # noqa: D102  inherits its docstring
        super().set_opponent(opponent)
        self._prepare_opponent()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int64], dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: Seeds the environment's generator, which decides everything random, and forgets who lost the last
                game (``first_player="loser"``). ``None`` continues with both.
            options: ``heaps``, the position to start from, and ``first_player``, for this episode only.

        Returns:
            The observation, int64 of shape ``(n_heaps,)``, and the info.

        Raises:
            TypeError: ``options`` is not a dictionary, or its heaps are not integers.
            ValueError: An option is unknown or its value wrong, or the opponent has no opening move.
            gymnasium.error.Error: ``seed`` is not a Python integer of 0 or more.
            RuntimeError: ``render_mode="human"`` without a display.
        """
        start, first_player = self._checked_options(options)
        if self.render_mode == "human":
            self._open_window()
        super().reset(seed=seed)
        generator = self.np_random  # created here at the latest, so that copies draw the same numbers
        agent_won = self._agent_won if seed is None else None
        before = start
        if start is None:
            start = before = self._random_start(generator) if self.random_start else self._full_index
            if not self.random_start and self._opponent_starts(first_player, agent_won, generator):
                start -= self._offsets[self._opening_action()]
        assert before is not None
        self._index, self._is_over, self._to_play, self._agent_won = start, False, 0, agent_won
        self._last_positions = before, before
        if self.render_mode == "human":
            self.render()
        return self._get_obs(), self._get_info(illegal_action=False)

    def step(self, action: Any) -> tuple[NDArray[np.int64], float, bool, bool, dict[str, Any]]:
        """Plays ``action`` and, unless the game is over or in self-play, the opponent's reply.

        Args:
            action: An integer of the action space.

        Returns:
            Observation (int64, shape ``(n_heaps,)``), reward, terminated, truncated (always False), info.

        Raises:
            gymnasium.error.ResetNeeded: The environment was not reset, or the game is over.
            gymnasium.error.InvalidAction: ``action`` is outside the space, or illegal with
                ``illegal_action="raise"``.
            TypeError, ValueError: The opponent returned anything but a legal action.
        """
        index = self._index
        if index is None or self._is_over:
            raise ResetNeeded("there is no game to step: call reset() first, and again when a game is over")
        if type(action) is not int or not 0 <= action < self._n_actions:
            action = self._checked_action(action)
        before = between = index
        illegal = not self._positions[index].legal[action]
        if illegal:
            if self.illegal_action == "raise":
                raise self._illegal_action_error(action, index)
            reward, terminated = -1.0, True
        else:
            reward, terminated = 0.0, False
            index -= self._offsets[action]
            between = index
            if index == EMPTY_INDEX:
                reward, terminated = self._terminal_reward, True
            elif self._policy is not None:
                index -= self._offsets[self._opponent_action(index)]
                if index == EMPTY_INDEX:
                    reward, terminated = -self._terminal_reward, True
        self._index, self._is_over = index, terminated
        self._last_positions = before, between
        self._to_play ^= 1
        if terminated:
            self._agent_won = reward > 0
        if self.render_mode == "human":
            self.render()
        return self._get_obs(), reward, terminated, False, self._get_info(illegal)

    def action_masks(self) -> NDArray[np.int8]:
        """The legal actions.

        sb3-contrib calls a method of this name.

        Returns:
            int8 of shape ``(n_actions,)``, all ones when the game is over.

        Raises:
            gymnasium.error.ResetNeeded: The environment was not reset yet.
        """
        if self._index is None:
            raise ResetNeeded("there is no action mask before reset(); call reset() first")
        return (self._finished_mask if self._is_over else self._positions[self._index].action_mask).copy()

    def _get_obs(self) -> NDArray[np.int64]:
        return self._positions[self._index].heaps.copy()  # type: ignore[index]  # it is called after reset

    def _get_info(self, illegal_action: bool) -> dict[str, Any]:
        info = {"action_mask": self.action_masks(), "illegal_action": illegal_action}
        if self._policy is None:
            info["to_play"] = self._to_play
        return info

    def _view(self) -> View:
        assert self._index is not None
        heaps, *last_positions = (self._heaps(index) for index in (self._index, *self._last_positions))
        to_play = self._to_play if self._policy is None else None
        return view_of(heaps, self.rules.heaps, last_positions, to_play, self._is_over, self._agent_won is True)

    def _opponent_starts(
        self, first_player: FirstPlayer | None, agent_won: bool | None, generator: np.random.Generator
    ) -> bool:
        if first_player == "random":
            return bool(generator.random() < 0.5)
        return first_player == "opponent" or (first_player == "loser" and agent_won is True)

    def _opponent_action(self, index: int) -> int:
        """The opponent's action in an unfinished position."""
        if self._support is not None:
            actions = self._support[index]
            return actions[int(self.np_random.random() * len(actions))]
        return int(sample(self._opponent_probabilities(index), self.np_random))

    def _opening_action(self) -> int:
        """The opponent's action from the full heaps, among those that do not end the game."""
        if self._support is not None:
            actions = self._opening_actions
            return actions[int(self.np_random.random() * len(actions))]
        probabilities = self._opponent_probabilities(self._full_index) * self._opening_mask
        if not probabilities.any():
            raise no_opening("first_player", "opponent", self.opponent, self.rules)
        return int(sample(probabilities, self.np_random))

    def _opponent_probabilities(self, index: int) -> NDArray[np.float64]:
        assert self._policy is not None
        position = self._positions[index]
        return query_policy(self._policy, position.heaps, position.action_mask, "opponent")

    def _checked_options(self, options: dict[str, Any] | None) -> tuple[int | None, FirstPlayer | None]:
        """The index of the position to start from, if given, and the player who starts."""
        if options is None:
            return None, self.first_player
        start = self._start_option(options)
        for key in options:
            if key not in ("heaps", "first_player"):
                raise ValueError(f'options may hold "heaps" and "first_player"; got {key!r}')
        first_player = self.first_player
        if options.get("first_player") is not None:
            name = 'options["first_player"]'
            first_player = self._checked_first_player(options["first_player"], name)
            if start is None and not self.random_start:
                self._check_opening(name, first_player, self.opponent, self._opening_mask)
        return start, first_player
