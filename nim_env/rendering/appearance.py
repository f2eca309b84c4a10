"""The colors and the font of all pictures."""

from __future__ import annotations

COLORS = {
    "player_1": "#1659c7",  # blue and magenta, which color-blind people can tell apart
    "player_2": "#ad1f6b",
    "block": "#f2b744",
    "edge": "#a3660c",
    "good": "#12694a",
    "flag": "#b0330f",
    "ink": "#1f1c1a",
    "muted": "#5d574f",
    "line": "#e0dacd",
    "page": "#faf8f3",
}
"""The colors of all pictures and figures, and of the web page of the game, in the light color scheme."""

DARK_COLORS = {
    "player_1": "#85b5ff",
    "player_2": "#ff8fc4",
    "block": "#e2a33d",
    "edge": "#9a6514",
    "good": "#55cc98",
    "flag": "#ff9b7d",
    "ink": "#f4f1ea",
    "muted": "#b4aea3",
    "line": "#343945",
    "page": "#14161c",
}
"""The colors of the same things in the dark color scheme."""

FONT = "system-ui, sans-serif"
"""The font of the text in SVG pictures."""
