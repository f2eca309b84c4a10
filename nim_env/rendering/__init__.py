"""Pictures of games and of players.

An environment shows its game as text, as pixels or in a window, depending on its ``render_mode``. Three modules
are not imported with this package:

- :mod:`nim_env.rendering.animation` saves games as GIF files.
- :mod:`nim_env.rendering.svg` draws a picture of how well a player plays.
- :mod:`nim_env.rendering.appearance` has the colors of all pictures.

This package imports the rules. Its animations also import the policies, and the picture of a player imports the
evaluation. The environments import this package.
"""

from nim_env.rendering.display import Display
from nim_env.rendering.view import FRAMES_PER_SECOND, Move, View, as_text, bars, view_of

__all__ = [
    "FRAMES_PER_SECOND",
    "Display",
    "Move",
    "View",
    "as_text",
    "bars",
    "view_of",
]
