"""Pictures of games and of players.

The environments render a game as text, as pixels or in a window, according to their ``render_mode``. Three modules
are imported separately:

- :mod:`nim_env.rendering.animation` saves games as GIF files.
- :mod:`nim_env.rendering.svg` draws a picture of how well a player plays.
- :mod:`nim_env.rendering.appearance` has the colors of all pictures.

This package imports the rules. Its animations also import the policies, and its map imports the evaluation. The
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
