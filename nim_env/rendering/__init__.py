"""Pictures of games and of players.

A game is rendered as text, as pixels or in a window, as the environments' ``render_mode`` says. Three modules are
imported separately: :mod:`nim_env.rendering.animation` saves games as GIF files, :mod:`nim_env.rendering.map`
draws a player in one picture, and :mod:`nim_env.rendering.appearance` holds the colors.

This package imports the rules. Animations also import the policies, and the map imports the evaluation. The
environments import this package, and the command ``python -m nim_env check`` imports the map.
"""

from nim_env.rendering.display import FRAMES_PER_SECOND, Display
from nim_env.rendering.pixels import as_pixels, check_installed
from nim_env.rendering.view import Move, View, as_text, bars, view_of

__all__ = [
    "FRAMES_PER_SECOND",
    "Display",
    "Move",
    "View",
    "as_pixels",
    "as_text",
    "bars",
    "check_installed",
    "view_of",
]
