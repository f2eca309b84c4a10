"""Nim as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from nim_env._checks import checked_choice
from nim_env.encodings import ObservationLike
from nim_env.envs._options import FirstPlayer, Options, checked_action, checked_heaps
from nim_env.envs._positions import Position, positions_of, random_heaps
from nim_env.policies import IllegalAction, Player, PolicyLike, sample
from nim_env.rendering import FRAMES_PER_SECOND, Display, view_of
from nim_env.rules import NimRules


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
    | from heap  | A      | B           | C           | D           |

    In a pair heap A is 0. ``rules.action(heap, count)`` is the inverse. Actions are Python or NumPy integers or
    0-d arrays or tensors of integers. 1.0 and True are not actions.

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
    - ``heaps`` = ``(1, 3, 5, 7)``: starting heap sizes.
    - ``max_take`` = ``None``: the maximum number of objects that one move may take; ``None`` for no limit.
    - ``misere`` = ``True``: whether the player who takes the last object loses.
    - ``opponent`` = ``"random"``: or ``"take-N"``, ``"expert"``, a policy (an object with
      ``action_probabilities``), a callable ``(observation, action_mask) -> action`` on one position, or ``None``
      for self-play. ``env.unwrapped.set_opponent(policy)`` changes it later.
    - ``first_player`` = ``"random"``: or ``"agent"``, or ``"opponent"``. Not allowed in self-play; ignored with
      ``random_start``.
    - ``random_start`` = ``False``: whether every episode starts from a uniformly drawn position other than the
      empty one ("exploring starts").
    - ``observation`` = ``"heaps"``: or ``"one_hot"``, ``"bits"``, ``"unary"``, ``"index"``, or an
      ``nim_env.Encoding``. The opponent always gets heap sizes.
    - ``illegal_action`` = ``"lose"``: or ``"raise"``, which raises an error and leaves the game unchanged.
    - ``render_mode`` = ``None``: or ``"ansi"`` (text), ``"rgb_array"`` (pixels), or ``"human"`` (a window that
      ``reset`` and ``step`` update, two frames a second). The last two need pygame.

    ``reset(options=...)`` takes ``heaps``, the position to start from (no heap above its starting size), and
    ``first_player``, both for one episode.

    ## Errors
    ``ValueError`` for wrong arguments; ``nim_env.policies.InvalidPolicyOutput``, a ``ValueError``, for an opponent
    that returns anything but a legal action; ``gymnasium.error.InvalidAction`` for an action outside the space;
    ``gymnasium.error.ResetNeeded`` for a step before ``reset`` or after the end. None of them changes the game.

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
        self.rules = NimRules(heaps, max_take, misere)  # type: ignore[arg-type]  # it makes the tuple
        self._options = Options(self.rules, observation, random_start, illegal_action, opponent, first_player)
        self.encoding = self._options.encoding
        self.render_mode = checked_choice("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        self.observation_space = self.encoding.space
        self.action_space = Discrete(self.rules.n_actions)
        self._display = Display(self.render_mode)
        self._n_actions = self.rules.n_actions
        self._terminal_reward = self.rules.terminal_reward
        self._is_self_play = opponent is None
        self._raises_on_illegal = illegal_action == "raise"
        self._finished_mask = np.ones(self._n_actions, dtype=np.int8)  # zeros make a masked softmax NaN
        self._positions = positions_of(self.rules, self.encoding)
        self._replies = self._positions.replies_of(self._options.policy)
        self._position: Position | None = None  # None before the first reset
        self._last_positions: tuple[Position, Position]  # before and after the agent's last move
        self._is_over = False
        self._to_play = 0
        self._mover_won = False  # the agent in the finished game, in self-play the player who moved last

    @property
    def opponent(self) -> PolicyLike | None:
        """The opponent as it was passed, ``None`` in self-play. :meth:`set_opponent` changes it."""
        return self._options.opponent

    def set_opponent(self, opponent: PolicyLike) -> None:
        """Changes the opponent. The new one makes all moves from now on, including those of games in progress.

        A wrapped environment offers it as ``env.unwrapped.set_opponent``, and a ``VecEnv`` of Stable-Baselines3 by
        ``env_method("set_opponent", policy)``.

        A ValueError leaves the opponent as it was: the new one is unknown, was made for another game, or cannot
        open the game although ``first_player`` lets it, or the environment is for self-play.
        """
        self._options = self._options.with_opponent(opponent)
        self._replies = self._positions.replies_of(self._options.policy)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Starts an episode; the class describes ``options``. A seed decides everything random."""
        options = options or {}
        episode = self._options.for_episode(options, ("heaps", "first_player"))
        heaps = options.get("heaps")
        if heaps is not None:
            heaps = checked_heaps(heaps, self.rules)
        self._display.open()
        super().reset(seed=seed)
        generator = self.np_random  # makes it at the first reset, so that copies draw the same numbers
        if heaps is None and episode.random_start:
            heaps = random_heaps(self.rules, generator)
        start = self._positions[heaps or self.rules.heaps]
        position = start
        first_player = episode.first_player if heaps is None else "agent"
        if first_player == "opponent" or (first_player == "random" and generator.random() < 0.5):
            position = start.after[self._opponent_action(start, episode.openings)]
        self._position = position
        self._last_positions = (start, start)
        self._is_over = False
        self._to_play = 0
        if self.render_mode == "human":
            self.render()
        return position.observation.copy(), self._get_info(illegal_action=False)

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Plays ``action`` and, unless the game is over or in self-play, the opponent's reply.

        ``action`` is an integer of the action space. ``truncated`` is always False.
        """
        start = self._position
        if start is None or self._is_over:
            raise ResetNeeded("there is no game to step: call reset() first, and again when a game is over")
        if type(action) is not int or not 0 <= action < self._n_actions:  # False in the usual case, and fast
            action = checked_action(action, self._n_actions)
        illegal = not start.is_legal[action]
        if illegal and self._raises_on_illegal:
            raise InvalidAction(self.rules.illegal_action_message(action, start.heaps))
        reward = -1.0 if illegal else 0.0
        afterstate = start if illegal else start.after[action]
        position = afterstate
        if afterstate.is_empty:
            reward = self._terminal_reward
        elif not illegal and not self._is_self_play:
            position = afterstate.after[self._opponent_action(afterstate)]
            if position.is_empty:
                reward = -self._terminal_reward
        terminated = illegal or position.is_empty
        self._position = position
        self._last_positions = (start, afterstate)
        self._is_over = terminated
        self._to_play ^= 1
        self._mover_won = reward > 0
        if self.render_mode == "human":
            self.render()
        return position.observation.copy(), reward, terminated, False, self._get_info(illegal)

    def action_masks(self) -> NDArray[np.int8]:
        """The legal actions: int8 of shape ``(n_actions,)``, all ones when the game is over."""
        if self._position is None:
            raise ResetNeeded("there is no action mask before reset(); call reset() first")
        return (self._finished_mask if self._is_over else self._position.action_mask).copy()

    def render(self) -> str | NDArray[np.uint8] | None:
        """The position as text, or as RGB values, uint8 of shape ``(400, 600, 3)``, or in the window."""
        if self._position is None:
            raise ResetNeeded("there is nothing to render before reset(); call reset() first")
        view = view_of(
            self.rules,
            self._position.heaps,
            self._to_play if self._is_self_play else None,
            self._is_over,
            self._mover_won,
            [position.heaps for position in self._last_positions],
        )
        return self._display.render(view)

    def close(self) -> None:
        """Closes the window of ``render_mode="human"``; the next frame opens another."""
        self._display.close()

    def _get_info(self, illegal_action: bool) -> dict[str, Any]:
        info = {"action_mask": self.action_masks(), "illegal_action": illegal_action}
        if self._is_self_play:
            info["to_play"] = self._to_play
        return info

    def _opponent_action(self, position: Position, openings: tuple[int, ...] = ()) -> int:
        """The opponent's action in an unfinished position; where it opens the game, one of ``openings``."""
        if self._replies is None:
            return self._queried_action(position, openings)
        actions = openings or self._replies[position]
        return actions[int(self.np_random.random() * len(actions))]

    def _queried_action(self, position: Position, openings: tuple[int, ...]) -> int:
        """The same of an opponent that is not built in."""
        assert self._options.policy is not None
        player = Player(self._options.policy, "raise")
        weights = player.query(np.array(position.heaps), position.action_mask).probabilities
        if openings:
            weights = weights * np.isin(np.arange(self._n_actions), openings)
        if not weights.any():
            raise self._options.no_opening()
        return int(sample(weights, self.np_random))
