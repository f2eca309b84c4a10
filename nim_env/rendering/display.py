"""The render modes of the environments."""

from __future__ import annotations

import importlib.util

import gymnasium
import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from nim_env.rendering.view import View, as_text


class Display:
    """Shows a game in one of the render modes.

    Args:
        render_mode: ``"ansi"`` for text, ``"rgb_array"`` for an array of pixels, ``"human"`` for a window, or
            ``None`` for nothing.

    Raises:
        gymnasium.error.DependencyNotInstalled: If the mode is ``"human"`` and pygame is not installed.
    """

    def __init__(self, render_mode: str | None) -> None:
        if render_mode == "human":
            check_installed("pygame", 'render_mode="human"')
        self.render_mode = render_mode

    def open(self) -> None:
        """Opens the window if the mode is ``"human"``, and does nothing in other modes.

        Raises RuntimeError if the machine has no display.
        """
        if self.render_mode == "human":
            from nim_env.rendering import pixels

            pixels.window()

    def render(self, view: View) -> str | NDArray[np.uint8] | None:
        """Shows a game in the render mode.

        In the mode ``"ansi"`` it returns a text, and in the mode ``"rgb_array"`` a picture: RGB values, uint8 of
        shape ``(400, 600, 3)``. In the mode ``"human"`` it draws the picture in the window and returns ``None``.
        Without a render mode it only warns.
        """
        if self.render_mode is None:
            gymnasium.logger.warn(
                'render() shows nothing without a render mode; make the environment with render_mode="ansi"'
            )
            return None
        if self.render_mode == "ansi":
            return as_text(view)
        check_installed("pygame", f'render_mode="{self.render_mode}"')
        from nim_env.rendering import pixels

        if self.render_mode == "rgb_array":
            return pixels.as_pixels(view)
        pixels.show(view)
        return None

    def close(self) -> None:
        """Closes the window, which all environments share. The window opens again with the next picture."""
        if self.render_mode == "human":
            from nim_env.rendering import pixels

            pixels.close_window()


def check_installed(package: str, user: str) -> None:
    """Raises DependencyNotInstalled if ``package`` is not installed. The message says that ``user`` needs it."""
    if importlib.util.find_spec(package) is None:
        raise DependencyNotInstalled(f'{user} needs {package}; run pip install "nim-env[render]"')
