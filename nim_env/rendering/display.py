"""The render modes of the environments, and the window of the mode ``"human"``."""

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
"""The number of pictures per second in the window of the mode ``"human"``."""


class Display:
    """Shows a game in a render mode.

    Args:
        render_mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or ``None``.

    Raises:
        gymnasium.error.DependencyNotInstalled: If the mode is ``"human"`` and pygame is not installed.
    """

    def __init__(self, render_mode: str | None) -> None:
        if render_mode == "human":
            check_installed("pygame", 'render_mode="human"')
        self.render_mode = render_mode

    def open(self) -> None:
        """Opens the window of the mode ``"human"``.

        Raises RuntimeError if the machine has no display.
        """
        if self.render_mode == "human":
            _window()

    def render(self, view: View) -> str | NDArray[np.uint8] | None:
        """Returns the text of ``"ansi"`` or the pixels of ``"rgb_array"``, or draws in the window of ``"human"``.

        Without a render mode it shows nothing and warns.
        """
        if self.render_mode == "ansi":
            return as_text(view)
        if self.render_mode == "rgb_array":
            return as_pixels(view)
        if self.render_mode == "human":
            _show(view)
        else:
            gymnasium.logger.warn(
                'render() shows nothing without a render mode; make the environment with render_mode="ansi"'
            )
        return None

    def close(self) -> None:
        """Closes the window, which all environments share. It opens again with the next picture."""
        if self.render_mode == "human":
            import pygame

            pygame.display.quit()


def _window() -> pygame.Surface:
    """Returns pygame's only window, and opens it if necessary."""
    import pygame

    try:
        pygame.display.init()
        if pygame.display.get_driver() == "offscreen" and "SDL_VIDEODRIVER" not in os.environ:
            raise pygame.error("no video device")  # SDL draws off screen if it finds no display
        return pygame.display.get_surface() or pygame.display.set_mode(FRAME)
    except pygame.error as error:
        raise RuntimeError(f'render_mode="human" needs a display ({error}); use "rgb_array" without one') from None


def _show(view: View) -> None:
    """Draws a game in the window and waits for the duration of a frame."""
    import pygame

    pygame.surfarray.blit_array(_window(), as_pixels(view).swapaxes(0, 1))
    pygame.display.set_caption("Nim")
    pygame.display.flip()
    pygame.event.pump()  # without it, the operating system thinks that the program hangs
    pygame.time.Clock().tick(FRAMES_PER_SECOND)
