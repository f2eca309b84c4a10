"""The render modes of the environments, and the window of ``"human"``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import gymnasium
import numpy as np
from numpy.typing import NDArray

from nim_env.rendering.pixels import FRAME, as_pixels, check_installed
from nim_env.rendering.view import View, as_text

if TYPE_CHECKING:
    import pygame

FRAMES_PER_SECOND = 2


class Display:
    """Shows a game in a render mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or ``None``."""

    def __init__(self, render_mode: str | None) -> None:
        if render_mode == "human":
            check_installed("pygame", 'render_mode="human"')
        self.render_mode = render_mode

    def open(self) -> None:
        """Opens the window of ``"human"``; a RuntimeError without a display."""
        if self.render_mode == "human":
            _window()

    def render(self, view: View) -> str | NDArray[np.uint8] | None:
        """The text of ``"ansi"`` or the pixels of ``"rgb_array"``; ``"human"`` draws in the window."""
        if self.render_mode == "ansi":
            return as_text(view)
        if self.render_mode == "rgb_array":
            return as_pixels(view)
        if self.render_mode == "human":
            _show(view)
        else:
            gymnasium.logger.warn('render() shows nothing without a render mode; pass render_mode="ansi"')
        return None

    def close(self) -> None:
        """Closes the window, which all environments share; the next frame opens another."""
        if self.render_mode == "human":
            import pygame

            pygame.display.quit()


def _window() -> pygame.Surface:
    """Pygame's one window, which is opened unless it is open."""
    import pygame

    try:
        pygame.display.init()
        if pygame.display.get_driver() == "offscreen" and "SDL_VIDEODRIVER" not in os.environ:
            raise pygame.error("no video device")  # SDL draws off screen where it finds no display
        return pygame.display.get_surface() or pygame.display.set_mode(FRAME)
    except pygame.error as error:
        raise RuntimeError(f'render_mode="human" found no display ({error}); "rgb_array" needs none') from None


def _show(view: View) -> None:
    """Draws a game in the window and waits for the duration of a frame."""
    import pygame

    pygame.surfarray.blit_array(_window(), as_pixels(view).swapaxes(0, 1))
    pygame.display.set_caption("Nim")
    pygame.display.flip()
    pygame.event.pump()  # keeps the window alive
    pygame.time.Clock().tick(FRAMES_PER_SECOND)
