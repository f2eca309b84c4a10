"""Nim as a Gymnasium environment: one learner against an opponent, or both sides."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete, MultiDiscrete
from numpy.typing import NDArray

from nim_env.arguments import EMPTY, FirstPlayer, IllegalAction, OpponentArguments, no_opening
from nim_env.policies import PolicyLike, is_built_in, opponent_probabilities, sample
from nim_env.positions import Position, choices
from nim_env.rendering import FRAMES_PER_SECOND, View, view_of
from nim_env.single_game import SingleGame


class NimEnv(SingleGame, OpponentArguments, gymnasium.Env[NDArray[np.int64], np.int64]):
    """Nim: players take turns taking objects from heaps, and the last object decides.

    ## Description
    There are heaps of objects. Players alternate; each takes one object or more, up to ``max_take``, from a
    single heap. In misère play (the default) whoever takes the last object loses; in normal play whoever
    takes it wins. The learner plays against an opponent that is part of the environment, so one step is
    the learner's move and the opponent's reply; or, with ``opponent=None``, it plays both sides.

    ## Action space
    ``Discrete(n_actions)``: an index into ``env.unwrapped.rules.moves``, all ``(heap, count)`` pairs that
    can be played from the starting heaps, heap by heap, count rising. 1-3-5-7 has 16:

    | action     | 0      | 1 to 3      | 4 to 8      | 9 to 15     |
    |------------|--------|-------------|-------------|-------------|
    | takes      | 1      | 1 to 3      | 1 to 5      | 1 to 7      |
    | from heap  | 0      | 1           | 2           | 3           |

    ``rules.action(heap, count)`` is the inverse. Python and NumPy integers and 0-d integer arrays are
    actions; 1.0 and True are not.

    ## Observation space
    ``MultiDiscrete(heaps + 1)``: the heap sizes, int64, shape ``(n_heaps,)``.

    ## Action mask
    ``info["action_mask"]``, and ``env.unwrapped.action_masks()``: int8, shape ``(n_actions,)``, 1 where the
    action is legal now, as ``action_space.sample(mask)`` takes it. In a finished game it is all ones.

    ## Rewards
    +1.0 to the winner and −1.0 to the loser when the game ends, else 0.0. With ``opponent=None`` the reward
    is the mover's.

    ## Starting state
    The full heaps; the opponent may have made an opening move (``first_player``). ``reset`` never returns
    a finished game, so that move is drawn from those of its moves that leave the game alive. With
    ``random_start`` or ``options["heaps"]`` the learner faces the position given: no opening move is played.

    ## Episode end
    Terminated when the last object is taken, or by an illegal action, which loses on the spot. Never truncated.

    ## Information
    - ``action_mask``: see above.
    - ``illegal_action``: whether the episode has just ended by an illegal action.
    - ``to_play`` (with ``opponent=None`` alone): 0 or 1, the player whose turn it is; 0 after ``reset``.

    ## Arguments
    ```python
    import gymnasium as gym
    import nim_env

    gym.make("Nim-v0")         # 1-3-5-7, misère, random opponent
    gym.make("SimpleNim-v0")   # one heap of 21, take 1 to 3, normal play
    ```

    - ``heaps`` = ``(1, 3, 5, 7)``: starting heap sizes.
    - ``max_take`` = ``None``: the most objects one move may take; ``None`` for no limit.
    - ``misere`` = ``True``: whether taking the last object loses.
    - ``opponent`` = ``"random"``: also ``"take-N"``, ``"expert"``, a policy (an object with
      ``action_probabilities``), a callable ``(observation, action_mask) -> action``, or ``None`` for self-play.
    - ``first_player`` = ``"random"``: also ``"agent"``, ``"opponent"``, or ``"loser"`` (the agent starts the
      first episode, then whoever lost the last one; a seed starts the count anew). Refused in self-play.
    - ``random_start`` = ``False``: whether every episode starts from a uniformly drawn position other than
      the empty one ("exploring starts").
    - ``illegal_action`` = ``"lose"``: or ``"raise"``, which makes one an error and leaves the game as it was.
    - ``render_mode`` = ``None``: or ``"ansi"``, a text; ``"rgb_array"``, a picture; or ``"human"``, a window that
      ``reset`` and ``step`` keep up to date, two frames a second. The last two need pygame.

    ``reset(options=...)`` takes ``heaps`` (start this episode there, no heap above its starting size) and
    ``first_player``.

    ## Errors
    ``TypeError`` and ``ValueError`` for wrong arguments and for an opponent that answers illegally;
    ``gymnasium.error.InvalidAction`` for an action outside the space; ``gymnasium.error.ResetNeeded`` for a
    step before ``reset`` or after the end. Nothing has changed after any of them.

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
        self._set_up(heaps, max_take, misere, random_start, illegal_action, render_mode)
        self.observation_space = MultiDiscrete(np.array(self.rules.shape))
        self.action_space = Discrete(self._n_actions)
        self._set_opponent(opponent, first_player)
        self._choices = choices(self.rules, self._policy) if is_built_in(self._policy) else None
        self._last_mover_reward = 1.0 if self.rules.last_mover_wins else -1.0
        self._all_ones = np.ones(self._n_actions, dtype=np.int8)
        self._to_play = 0
        self._trail: tuple[int, int]  # the positions that the learner faced last, and that after its move
        self._agent_won: bool | None = None  # the last finished episode; None before the first

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int64], dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: Seeds the environment's generator, which decides everything that is random here, and
                forgets the episodes before (``first_player="loser"``); ``None`` goes on with both.
            options: ``heaps``, to start from another position, and ``first_player``, for this episode alone.

        Returns:
            The observation, int64 of shape ``(n_heaps,)``, and the info.

        Raises:
            TypeError: ``options`` is not a dictionary, or its heaps are not integers.
            ValueError: An unknown option or a wrong value in one, or an opponent that cannot open.
            RuntimeError: ``render_mode="human"`` without a display.
        """
        start, first_player = self._checked_options(options)
        if self._is_shown:
            self._open()
        with self._unchanged_on_error() if self._opponent_may_fail else nullcontext():
            super().reset(seed=seed)
            generator = self.np_random  # made here at the latest, so that copies go on alike
            agent_won = self._agent_won if seed is None else None
            begins_full = start is None and not self.random_start
            if start is None:
                start = self._start(first_player, agent_won, generator)
        before = self._first_index if begins_full else start
        self._index, self._is_over, self._to_play, self._agent_won = start, False, 0, agent_won
        self._trail = before, before
        if self._is_shown:
            self.render()
        return self._seen(illegal=False)

    def step(self, action: Any) -> tuple[NDArray[np.int64], float, bool, bool, dict[str, Any]]:
        """Plays ``action`` and, unless that ends the game or there is no opponent, the opponent's reply.

        Args:
            action: An integer of the action space.

        Returns:
            Observation (int64, shape ``(n_heaps,)``), reward, terminated, truncated (always False), info.

        Raises:
            gymnasium.error.ResetNeeded: There is no game, or it is over.
            gymnasium.error.InvalidAction: ``action`` is outside the space, or illegal with
                ``illegal_action="raise"``.
            TypeError, ValueError: The opponent's answer is not a legal action.
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
                raise self._illegal(action, index)
            reward, is_over = -1.0, True
        else:
            reward, is_over = 0.0, False
            index -= self._offsets[action]
            between = index
            if index == EMPTY:
                reward, is_over = self._last_mover_reward, True
            elif self._policy is not None:
                index -= self._offsets[self._reply(index)]
                if index == EMPTY:
                    reward, is_over = -self._last_mover_reward, True
        self._index, self._is_over = index, is_over
        self._trail = before, between
        self._to_play ^= 1
        if is_over:
            self._agent_won = reward > 0
        if self._is_shown:
            self.render()
        observation, info = self._seen(illegal)
        return observation, reward, is_over, False, info

    def action_masks(self) -> NDArray[np.int8]:
        """Which actions are legal now: int8, shape ``(n_actions,)``, all ones when the game is over.

        sb3-contrib looks for a method of this name.

        Raises:
            gymnasium.error.ResetNeeded: There is no game yet.
        """
        if self._index is None:
            raise ResetNeeded("there is no action mask before reset(); call reset() first")
        return self._mask_of(self._positions[self._index])

    def _mask_of(self, position: Position) -> NDArray[np.int8]:
        return (self._all_ones if self._is_over else position.action_mask).copy()

    def _seen(self, illegal: bool) -> tuple[NDArray[np.int64], dict[str, Any]]:
        """The observation and the info of the position now."""
        assert self._index is not None
        position = self._positions[self._index]
        info = {"action_mask": self._mask_of(position), "illegal_action": illegal}
        if self._policy is None:
            info["to_play"] = self._to_play
        return position.heaps.copy(), info

    def _view(self) -> View:
        assert self._index is not None
        heaps, *trail = (self._heaps_at(index) for index in (self._index, *self._trail))
        to_play = self._to_play if self._policy is None else None
        return view_of(heaps, self.rules.heaps, trail, to_play, self._is_over, self._agent_won is True)

    def _start(
        self, first_player: FirstPlayer | None, agent_won: bool | None, generator: np.random.Generator
    ) -> int:
        """The index of the position that the learner faces first."""
        if self.random_start:
            return self._random_start(generator)
        opponent_starts = (
            first_player == "opponent"
            or (first_player == "loser" and agent_won is True)
            or (first_player == "random" and generator.random() < 0.5)
        )
        return self._first_index - (self._offsets[self._opening()] if opponent_starts else 0)

    def _reply(self, index: int) -> int:
        """The opponent's move in an unfinished position."""
        if self._choices is not None:
            drawn_from = self._choices[index]
            return drawn_from[int(self.np_random.random() * len(drawn_from))]
        return int(sample(self._answer(index), self.np_random))

    def _answer(self, index: int) -> NDArray[np.float64]:
        """What the opponent answers in an unfinished position."""
        assert self._policy is not None
        position = self._positions[index]
        return opponent_probabilities(self._policy, position.heaps, position.action_mask)

    def _opening(self) -> int:
        """The opponent's move from the full heaps, among its moves that leave the game alive."""
        if self._choices is not None:
            return self._opening_moves[int(self.np_random.random() * len(self._opening_moves))]
        probabilities = self._answer(self._first_index)
        probabilities *= self._leaves_alive
        if not probabilities.any():
            raise no_opening("first_player", "opponent", self.opponent, self.rules)
        return int(sample(probabilities, self.np_random))

    def _checked_options(self, options: dict[str, Any] | None) -> tuple[int | None, FirstPlayer | None]:
        if options is None:
            return None, self.first_player
        start = self._start_in(options)
        for key in options:
            if key not in ("heaps", "first_player"):
                raise ValueError(f'options may hold "heaps" and "first_player"; got {key!r}')
        first_player = self.first_player
        if options.get("first_player") is not None:
            first_player = self._checked_first_player(options["first_player"], 'options["first_player"]')
        if start is None and not self.random_start and first_player not in (None, "agent"):
            self._check_opening('options["first_player"]', first_player)
        return start, first_player
