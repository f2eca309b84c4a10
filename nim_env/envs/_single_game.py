"""What the environments with a single game share."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded
from numpy.typing import NDArray

from nim_env._internal.caching import shared_instance
from nim_env._internal.checks import checked_choice
from nim_env.board import Board
from nim_env.envs._config import EnvConfig, checked_action, checked_start_states
from nim_env.envs._results import StepResult, StepResultCache
from nim_env.rendering import Display, view_of


class SingleGame:
    """The base class of the environments with a single game, which are ``NimEnv`` and PettingZoo's.

    It keeps the game that is being played, finds the state after an action, and renders the position.

    Args:
        config: The arguments of the environment.
        render_mode: One of the render modes in ``metadata``, or ``None``.
    """

    metadata: dict[str, Any]

    def __init__(self, config: EnvConfig, render_mode: str | None) -> None:
        super().__init__()  # the base class of the library
        self.rules = config.rules
        self.encoding = config.encoding
        self.render_mode = checked_choice("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        self._config = config
        self._display = Display(self.render_mode)
        self._n_actions = self.rules.n_actions
        self._board = shared_instance(Board, self.rules)
        self._offsets = self.rules.offsets
        self._results = shared_instance(StepResultCache, self._board, self.encoding)
        self._current: StepResult | None = None  # None before the first reset
        self._last_states: tuple[int, int]  # before and after the mover's last move
        self._is_self_play = config.opponent is None
        self._to_play = 0  # 0 or 1

    def _current_result(self) -> StepResult:
        """Returns the result of the last step or reset, or raises an error before the first ``reset``."""
        if self._current is None:
            raise ResetNeeded("no game has been started; call reset() first")
        return self._current

    def _state_of_start(self, heaps: Any) -> int | None:
        """Returns the state for the option ``heaps`` of ``reset``, which is the position to start from.

        Returns ``None`` if ``heaps`` is ``None``, because the option was not given.
        """
        return None if heaps is None else checked_start_states(heaps, self.rules, np.array(True)).item()

    def _state_after(self, action: Any, result: StepResult) -> int:
        """Returns the state after an action in the position of ``result``, or raises InvalidAction."""
        if type(action) is not int or not 0 <= action < self._n_actions:  # usually False, and fast
            action = checked_action(action, self._n_actions)
        if result.is_legal[action]:
            return result.state - self._offsets[action]
        if self._config.illegal_action == "raise":
            raise InvalidAction(self.rules.illegal_action_message(action, result.heaps))
        return self._board.states_after_illegal(result.state)

    def render(self) -> str | NDArray[np.uint8] | None:
        """Renders the position in the mode ``render_mode``.

        Returns a text for ``"ansi"``, and RGB values, uint8 of shape ``(400, 600, 3)``, for ``"rgb_array"``. For
        ``"human"``, it updates the window and returns ``None``.
        """
        result = self._current_result()
        to_play = self._to_play if self._is_self_play else None
        last_heaps = [self._results[state].heaps.tolist() for state in self._last_states]
        view = view_of(self.rules, result.heaps.tolist(), to_play, result.is_over, result.reward > 0, last_heaps)
        return self._display.render(view)

    def close(self) -> None:
        """Closes the window of ``render_mode="human"``. The next frame opens a new one."""
        self._display.close()
