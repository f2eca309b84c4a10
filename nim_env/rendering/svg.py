"""The map of positions: a picture of how well a player plays, with a block for each winning position."""

from __future__ import annotations

import math
from collections import Counter
from html import escape
from typing import NamedTuple

import numpy as np

from nim_env._internal import limits
from nim_env.evaluation import Mastery
from nim_env.rendering.appearance import COLORS, DARK_COLORS, FONT
from nim_env.rules import position_name

# lengths, in units of the SVG file; the picture is 440 wide, with a margin of 20 at each side
_INNER_WIDTH = 400  # what the margins leave
_HEADER_HEIGHT = 124
_FOOTER_HEIGHT = 84  # of the axis and the legend
_MAX_COLUMN_HEIGHT = 264
_MAX_BLOCK_SIZE = 24
_MAX_NAME_SIZE = 19  # the font size of the player's name
_NAME_WIDTH = 500  # the product of font size and number of letters for which a long name fits
_MAX_PER_ROW = 31
_COLUMN_GAP = 0.4  # between the blocks of two columns, in blocks
_MAX_LABELS = 15  # more numbers below the axis would overlap
_LEGEND_BLOCKS = ((0, 1), (11.7, 0.2), (18.7, 0))  # the x, in blocks, and the probability that a block shows
_PALEST = 0.25  # the opacity of a block if the probability of a winning move is ½


class _Layout(NamedTuple):
    """The places and sizes of the blocks in the map of positions.

    The blocks of all positions with the same number of objects left form a column. Its rows can have several
    blocks side by side. All columns stand on the line y = 0, with the title of the picture above them, and the
    axis and the legend below the line. In SVG, y grows downwards, so the top of the picture has a negative y. All
    lengths are in units of the SVG file.

    Attributes:
        columns: The numbers of objects left, one for each column.
        column_width: The distance between two columns.
        block_size: The distance from a block to the next one in the same column.
        blocks_per_row: The maximum number of blocks side by side in a column.
        top: The y of the top of the picture.
    """

    columns: range
    column_width: float
    block_size: float
    blocks_per_row: int
    top: int


def position_map(mastery: Mastery, title: str = "") -> str:
    """Draws how well a player plays in each winning position and returns the text of an SVG file.

    The picture has a block for each winning position, in columns by the number of objects left. A block is blue if
    the player makes a winning move with a probability of at least ½, and red otherwise. The closer the probability
    is to ½, the paler the block is. If the probability is 0, the block has a cross. A tooltip gives the heaps. The
    colors follow the reader's light or dark color scheme.

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
    top, height = layout.top, _FOOTER_HEIGHT - layout.top
    name = escape(title or board)
    name_size = min(_MAX_NAME_SIZE, _NAME_WIDTH / len(name))
    share = f"{100 * mastery.expert:.1f} %"
    missed = len(mastery.mistake_indices)
    light, dark = _classes(COLORS), _classes(DARK_COLORS)
    legend = "".join(_block(x, 0, probability) for x, probability in _LEGEND_BLOCKS)
    blocks = _blocks(layout, positions, mastery.winning_probabilities[order].tolist())
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {top} 440 {height}" width="660" role="img"
    fill="currentColor" font-family="{FONT}"><title>{name}: expert mastery {share}</title>
    <style>{light}@media (prefers-color-scheme: dark){{{dark}}}.n-end{{text-anchor:end}}
    .n-h{{font-size:38px;font-weight:700}}.n-cross{{stroke:currentColor;stroke-width:.12}}</style>
    <rect y="{top}" width="440" height="{height}" rx="14" class="n-page"/>
    <g transform="translate(20 {top})" font-size="14" class="n-muted">
    <text y="36" font-size="{name_size:.1f}" font-weight="600" class="n-ink">{name}</text>
    <text y="82" class="n-h n-player_1">{share}</text><text x="400" y="82" class="n-h n-end n-flag">{missed}</text>
    <text y="103">expert mastery, {number} winning positions</text>
    <text x="400" y="103" class="n-end">mistakes</text>
    </g><g transform="translate(20 0)" font-size="13" class="n-muted"><rect width="400" height="1" class="n-line"/>
    <text y="38">objects left</text><text x="400" y="38" class="n-end">{board}</text>
    <text x="20" y="66">finds a winning move</text><text x="196" y="66">sometimes</text>
    <text x="300" y="66">does not</text><g font-size="12" text-anchor="middle">{_labels(layout)}</g></g>
    <g transform="translate(20 55) scale(15)">{legend}</g>
    <g transform="translate(20 -1) scale({layout.block_size:.3f})">{blocks}</g></svg>
"""


def _layout(objects: list[int]) -> _Layout:
    """Returns the layout in which the blocks are as large as possible.

    ``objects`` holds the number of objects in each position that gets a block.
    """
    columns = range(min(objects), max(objects) + 1)
    column_width = _INNER_WIDTH / len(columns)
    most = max(Counter(objects).values())  # blocks in a column
    layouts = []
    for per_row in range(1, _MAX_PER_ROW + 1):
        n_rows = math.ceil(most / per_row)
        size = min(_MAX_BLOCK_SIZE, column_width / (per_row + _COLUMN_GAP), _MAX_COLUMN_HEIGHT / n_rows)
        layouts.append(_Layout(columns, column_width, size, per_row, top=-round(_HEADER_HEIGHT + size * n_rows)))
    return max(layouts, key=lambda layout: layout.block_size)


def _classes(colors: dict[str, str]) -> str:
    """Returns the CSS text that defines a class for each color, such as ``.n-ink`` for the color "ink"."""
    return "".join(f".n-{name}{{color:{color}}}" for name, color in colors.items())


def _labels(layout: _Layout) -> str:
    """Returns the SVG text of the numbers of objects below the axis. If they would overlap, some are left out."""
    every = 1 + len(layout.columns) // _MAX_LABELS
    middles = [layout.column_width * (i + 0.5) for i in range(len(layout.columns))]
    labels = [f'<text x="{x:.1f}" y="18">{n}</text>' for x, n in zip(middles, layout.columns, strict=True)]
    return "".join(labels[::every])


def _blocks(layout: _Layout, positions: list[list[int]], probabilities: list[float]) -> str:
    """Returns the SVG text of the blocks, one for each of the winning positions in ``positions``.

    The blocks of positions with the same number of objects form a column, which is filled from the bottom.
    ``probabilities`` holds the player's probability of a winning move in each position.
    """
    n_drawn: Counter[int] = Counter()
    blocks = []
    for heaps, probability in zip(positions, probabilities, strict=True):
        objects = sum(heaps)
        row, place = divmod(n_drawn[objects], layout.blocks_per_row)
        n_drawn[objects] += 1
        middle = layout.column_width * (objects - layout.columns[0] + 0.5) / layout.block_size
        x = middle + place - layout.blocks_per_row / 2
        blocks.append(_block(x, -1 - row, probability, position_name(heaps)))
    return "".join(blocks)


def _block(x: float, y: float, probability: float, tooltip: str = "") -> str:
    """Returns the SVG text of one block, whose color shows the probability of a winning move.

    ``x`` and ``y`` are the place of the block. Their unit is the distance between two blocks.
    """
    color = "flag" if probability < 0.5 else "player_1"
    opacity = _PALEST + abs(1.5 * probability - 0.75)  # 1 if the probability is 0 or 1
    shape = f'<rect width=".86" height=".86" rx=".17" fill-opacity="{opacity:.2g}"/>'
    if probability == 0:
        shape += '<path d="M.27 .27l.32 .32m0-.32l-.32 .32" class="n-cross n-page"/>'
    return f'<g transform="translate({x:.2f} {y:.2f})" class="n-{color}"><title>{tooltip}</title>{shape}</g>\n'
