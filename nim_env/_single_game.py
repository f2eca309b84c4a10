"""What the environments of one game share: start positions, action checks and rendering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded
from numpy.typing import NDArray

from nim_env._arguments import GameArguments, illegal_move
from nim_env._position_cache import position_cache
from nim_env.rendering import View, as_pixels, as_text, close_window, open_window, show
from nim_env.rules import as_integer


class SingleGame(GameArguments):
    """The part of an environment of one game that is neither Gymnasium's API nor PettingZoo's."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._offsets = self.rules.offsets
        self._positions = position_cache(self.rules)
        self._full_index = self.rules.n_positions - 1
        self._index: int | None = None  # of the position; None before the first reset
        self._is_over = False
        self._has_window = False

    def _start_option(self, options: Mapping[str, Any]) -> int | None:
        """The index of ``options["heaps"]``, or None without that option."""
        if not isinstance(options, Mapping):
            raise TypeError(f"options must be a dictionary or None; got {options!r}")
        heaps = options.get("heaps")
        if heaps is None:
            return None
        position = self.rules.positions(heaps)
        if position.ndim != 1 or not position.any():
            raise ValueError(
                f'options["heaps"] must be one unfinished position, {self.rules.n_heaps} heap sizes not all 0; '
                f"got {heaps!r}"
            )
        return int(self.rules.index(position))

    def _random_start(self, generator: np.random.Generator) -> int:
        """The index of a uniformly drawn position other than the empty one."""
        while True:
            heaps = generator.integers(self.rules.shape)
            if heaps.any():
                return int(self.rules.index(heaps))

    def _checked_action(self, action: Any) -> int:
        try:
            number = as_integer("action", action)
        except TypeError:
            number = -1
        if not 0 <= number < self._n_actions:
            raise InvalidAction(f"action must be an integer from 0 to {self._n_actions - 1}; got {action!r}")
        return number

    def _illegal_action_error(self, action: int, index: int) -> InvalidAction:
        return InvalidAction(illegal_move(self.rules, action, self._heaps(index)))

    def _view(self) -> View:
        """The game as :mod:`nim_env.rendering` draws it."""
        raise NotImplementedError

    def _heaps(self, index: int) -> list[int]:
        heaps: list[int] = self._positions[index].heaps.tolist()
        return heaps

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
        if self._index is None:
            raise ResetNeeded("there is nothing to render before reset(); call reset() first")
        if self.render_mode is None:
            gymnasium.logger.warn('render() shows nothing without a render mode; pass render_mode="ansi"')
            return None
        if self.render_mode == "human":
            show(self._view())
            self._has_window = True
            return None
        return as_text(self._view()) if self.render_mode == "ansi" else as_pixels(self._view())

    def close(self) -> None:
        """Closes the window of ``render_mode="human"``; the next frame opens another."""
        if self._has_window:
            close_window()
            self._has_window = False

    def _open_window(self) -> None:
        open_window()
        self._has_window = True
