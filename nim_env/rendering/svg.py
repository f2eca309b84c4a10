"""The map of positions: a picture of how well a player plays, with a block for each winning position.

Each private function that draws a part of the picture returns it as SVG text.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import NamedTuple

import numpy as np

from nim_env._internal import limits
from nim_env.evaluation import Mastery
from nim_env.rendering.appearance import COLORS, DARK_COLORS, FONT
from nim_env.rules import position_name

_WIDTH = 440  # of the picture, in units of the SVG file
_MARGIN = 20  # at the left and the right
_INNER_WIDTH = _WIDTH - 2 * _MARGIN
_HEADER_HEIGHT = 124
_FOOTER_HEIGHT = 84  # of the axis and the legend
_MAX_COLUMN_HEIGHT = 264
_MAX_BLOCK_SIZE = 24
_MAX_PER_ROW = 31
_COLUMN_GAP = 0.4  # between the blocks of two columns, in blocks
_MAX_LABELS = 15  # more numbers below the axis would overlap
_MAX_NAME_SIZE = 19  # the font size of the player's name
_NAME_WIDTH = 500  # the product of font size and number of letters for which a long name fits
_NAME_Y, _FIGURES_Y, _CAPTIONS_Y = 36, 82, 103  # lines of text in the header, below the top of the picture
_NUMBERS_Y, _OBJECTS_LEFT_Y, _LEGEND_Y = 18, 38, 66  # lines of text in the footer, below the blocks
_LEGEND_BLOCK_SIZE = 15
_LEGEND_BLOCKS_Y = 55
_LEGEND_BLOCKS = ((0, 1), (11.7, 0.2), (18.7, 0))  # the x, in blocks, and the probability that a block shows
_LEGEND_TEXTS_X = (20, 196, 300)
_SIDE, _RADIUS = ".86", ".17"  # of a block, if the distance between blocks is 1
_NEW_LINE = "\n    "
_CROSS = "M.27 .27l.32 .32m0-.32l-.32 .32"
_PALEST = 0.25  # the opacity of a block if the probability of a winning move is ½


class _Layout(NamedTuple):
    """Where the blocks stand: a column for each number of objects left, with rows of blocks from the bottom up.

    The blocks stand on the line y = 0, with the header above them, and the axis and the legend below the line. In
    SVG, y grows downwards, so the top of the picture has a negative y.
    """

    columns: range
    column_width: float
    block_size: float
    blocks_per_row: int  # side by side in a column
    top: int  # of the picture


def position_map(mastery: Mastery, title: str = "") -> str:
    """Draws how well a player plays in each winning position and returns the text of an SVG file.

    The picture has a block for each winning position, in columns by the number of objects left. A block is blue if
    the player finds a winning move and red if it does not. The closer the probability of a winning move is to ½,
    the paler the block is. If the probability is 0, the block has a cross. A tooltip gives the heaps. The colors
    follow the reader's light or dark color scheme.

    For example::

        svg = position_map(evaluation.mastery(rules, policy), "My player")
        Path("map.svg").write_text(svg, encoding="utf-8")

    Args:
        mastery: The result of :func:`nim_env.evaluation.mastery` for the player.
        title: The name of the player, shown above the blocks. If it is empty, the title is the board.

    Returns:
        The text of the SVG file.

    Raises:
        ValueError: If the game has more than 1,000 winning positions.
    """
    number = mastery.won_positions
    board = str(mastery.rules)
    limits.check_size(number, limits.MAPPED_POSITIONS, f"winning positions of {board}", "use a smaller game")
    # the best positions come first, at the bottom of their columns; the losing positions, which are NaN, come last
    order = np.argsort(-mastery.winning_probabilities, kind="stable")[:number]
    positions = mastery.rules.from_index(order).tolist()
    layout = _layout([sum(heaps) for heaps in positions])
    name = escape(title or board)
    share = f"{100 * mastery.expert:.1f} %"
    return (
        _start(layout, name, share)
        + _header(layout, name, share, number, len(mastery.mistake_indices))
        + _axis(layout, board)
        + _legend()
        + _blocks(layout, positions, mastery.winning_probabilities[order].tolist())
        + "</svg>\n"
    )


def _layout(objects: list[int]) -> _Layout:
    """Returns the layout whose number of blocks per row makes the blocks as large as possible.

    ``objects`` holds the number of objects in each position.
    """
    columns = range(min(objects), max(objects) + 1)
    column_width = _INNER_WIDTH / len(columns)
    most = max(Counter(objects).values())
    sizes = {
        per_row: min(
            _MAX_BLOCK_SIZE,
            column_width / (per_row + _COLUMN_GAP),
            _MAX_COLUMN_HEIGHT / _n_rows(most, per_row),
        )
        for per_row in range(1, _MAX_PER_ROW + 1)
    }
    per_row = max(sizes, key=sizes.__getitem__)
    top = -round(_HEADER_HEIGHT + sizes[per_row] * _n_rows(most, per_row))
    return _Layout(columns, column_width, sizes[per_row], per_row, top)


def _n_rows(n_blocks: int, per_row: int) -> int:
    """Returns the number of rows for ``n_blocks`` blocks. The last row can hold fewer than ``per_row``."""
    return -(-n_blocks // per_row)


def _start(layout: _Layout, name: str, share: str) -> str:
    """Returns the start of the file: opening tag, title for screen readers, styles and background."""
    top = layout.top
    height = _FOOTER_HEIGHT - top
    light, dark = _classes(COLORS), _classes(DARK_COLORS)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {top} {_WIDTH} {height}" width="660" role="img"
    fill="currentColor" font-family="{FONT}"><title>{name}: expert mastery {share}</title>
    <style>{light}@media (prefers-color-scheme: dark){{{dark}}}.n-end{{text-anchor:end}}
    .n-h{{font-size:38px;font-weight:700}}.n-cross{{stroke:currentColor;stroke-width:.12}}</style>
    <rect y="{top}" width="{_WIDTH}" height="{height}" rx="14" class="n-page"/>
    """


def _classes(colors: dict[str, str]) -> str:
    """Returns a CSS class for each color."""
    return "".join(f".n-{name}{{color:{color}}}" for name, color in colors.items())


def _text(text: object, y: int, attributes: str = "", x: int | None = None) -> str:
    """Draws a line of text at the height ``y``, at the left margin or at ``x``."""
    place = f'y="{y}"' if x is None else f'x="{x}" y="{y}"'
    tag = " ".join(filter(None, ["text", place, attributes]))
    return f"<{tag}>{text}</text>"


def _header(layout: _Layout, name: str, share: str, n_winning: int, n_mistakes: int) -> str:
    """Draws the name of the player, its expert mastery (``share``) and its number of mistakes."""
    font_size = min(_MAX_NAME_SIZE, _NAME_WIDTH / len(name))
    lines = [
        f'<g transform="translate({_MARGIN} {layout.top})" font-size="14" class="n-muted">',
        _text(name, _NAME_Y, f'font-size="{font_size:.1f}" font-weight="600" class="n-ink"'),
        _text(share, _FIGURES_Y, 'class="n-h n-player_1"')
        + _text(n_mistakes, _FIGURES_Y, 'class="n-h n-end n-flag"', x=_INNER_WIDTH),
        _text(f"expert mastery, {n_winning} winning positions", _CAPTIONS_Y),
        _text("mistakes", _CAPTIONS_Y, 'class="n-end"', x=_INNER_WIDTH),
        "</g>",
    ]
    return _NEW_LINE.join(lines)


def _axis(layout: _Layout, board: str) -> str:
    """Draws the line that the blocks stand on, the numbers of objects below it, and the words of the legend."""
    finds, sometimes, does_not = _LEGEND_TEXTS_X
    every = 1 + len(layout.columns) // _MAX_LABELS
    middles = [layout.column_width * (i + 0.5) for i in range(len(layout.columns))]
    numbers = [
        f'<text x="{x:.1f}" y="{_NUMBERS_Y}">{n}</text>' for x, n in zip(middles, layout.columns, strict=True)
    ]
    labels = f'<g font-size="12" text-anchor="middle">{"".join(numbers[::every])}</g>'
    lines = [
        f'<g transform="translate({_MARGIN} 0)" font-size="13" class="n-muted">'
        f'<rect width="{_INNER_WIDTH}" height="1" class="n-line"/>',
        _text("objects left", _OBJECTS_LEFT_Y) + _text(board, _OBJECTS_LEFT_Y, 'class="n-end"', x=_INNER_WIDTH),
        _text("finds a winning move", _LEGEND_Y, x=finds) + _text("sometimes", _LEGEND_Y, x=sometimes),
        _text("does not", _LEGEND_Y, x=does_not) + labels + "</g>",
        "",
    ]
    return _NEW_LINE.join(lines)


def _legend() -> str:
    """Draws the three blocks before the words of the legend."""
    blocks = "".join(_block(x, 0, probability) for x, probability in _LEGEND_BLOCKS)
    place = f"translate({_MARGIN} {_LEGEND_BLOCKS_Y}) scale({_LEGEND_BLOCK_SIZE})"
    return f'<g transform="{place}">{blocks}</g>{_NEW_LINE}'


def _blocks(layout: _Layout, positions: list[list[int]], probabilities: list[float]) -> str:
    """Draws a block for each winning position, which shows its probability, from the bottom of each column."""
    n_drawn: Counter[int] = Counter()
    blocks = []
    for heaps, probability in zip(positions, probabilities, strict=True):
        objects = sum(heaps)
        row, place = divmod(n_drawn[objects], layout.blocks_per_row)
        n_drawn[objects] += 1
        middle = layout.column_width * (objects - layout.columns[0] + 0.5) / layout.block_size
        x = middle + place - layout.blocks_per_row / 2
        blocks.append(_block(x, -1 - row, probability, position_name(heaps)))
    return f'<g transform="translate({_MARGIN} -1) scale({layout.block_size:.3f})">{"".join(blocks)}</g>'


def _block(x: float, y: float, probability: float, heaps: str = "") -> str:
    """Draws a block of size 1 for a position in which the player finds a winning move with this probability."""
    color = "flag" if probability < 0.5 else "player_1"
    opacity = _PALEST + abs(1.5 * probability - 0.75)  # 1 if the probability is 0 or 1
    shape = f'<rect width="{_SIDE}" height="{_SIDE}" rx="{_RADIUS}" fill-opacity="{opacity:.2g}"/>'
    if probability == 0:
        shape += f'<path d="{_CROSS}" class="n-cross n-page"/>'
    return f'<g transform="translate({x:.2f} {y:.2f})" class="n-{color}"><title>{heaps}</title>{shape}</g>\n'
