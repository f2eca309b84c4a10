"""The map of positions: a player in one picture."""

from html import escape

import numpy as np

from nim_env._internal import limits
from nim_env.evaluation import Mastery
from nim_env.rendering.appearance import COLORS, DARK_COLORS, FONT


def position_map(mastery: Mastery, title: str = "") -> str:
    """Draws a block for each won position, in columns by the number of objects left: the text of an SVG file.

    A block is blue where the player finds a winning move, red where it does not, and paler the closer the
    probability is to ½. Where it is 0, the block has a cross. Tooltips name the heaps. The picture follows the
    color scheme of the reader; ``title`` names the player. More than 1,000 won positions are a ValueError.
    """
    number, board = mastery.won_positions, str(mastery.rules)
    limits.check_size(number, limits.MAPPED, f"winning positions of {board}", "use a smaller game")
    order = np.argsort(-mastery.winning_move, kind="stable")[:number]  # blue blocks at the bottom, NaN last
    positions = mastery.rules.from_index(order).tolist()
    objects = [sum(heaps) for heaps in positions]
    columns = range(min(objects), max(objects) + 1)
    pitch, highest = 400 / len(columns), max(map(objects.count, columns))
    sizes = [min(24, pitch / (width + 0.4), 264 / -(-highest // width)) for width in range(1, 32)]
    size, width = max(sizes), sizes.index(max(sizes)) + 1  # as many blocks side by side as makes them largest
    top = -round(124 + size * -(-highest // width))
    blocks = []
    for i, heaps in enumerate(positions):
        row, place = divmod(objects[:i].count(objects[i]), width)
        x = pitch * (objects[i] - columns[0] + 0.5) / size + place - width / 2
        blocks.append(_block(x, -1 - row, mastery.winning_move[order[i]], "-".join(map(str, heaps))))
    labels = [f'<text x="{pitch * (i + 0.5):.1f}" y="18">{n}</text>' for i, n in enumerate(columns)]
    axis = "".join(labels[:: 1 + len(columns) // 15])
    light, dark = ("".join(f".n-{k}{{color:{v}}}" for k, v in c.items()) for c in (COLORS, DARK_COLORS))
    name, share, wrong = escape(title or board), f"{100 * mastery.expert:.1f} %", len(mastery.mistake_indices)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {top} 440 {84 - top}" width="660" role="img"
    fill="currentColor" font-family="{FONT}"><title>{name}: expert mastery {share}</title>
    <style>{light}@media (prefers-color-scheme: dark){{{dark}}}.n-end{{text-anchor:end}}
    .n-h{{font-size:38px;font-weight:700}}.n-cross{{stroke:currentColor;stroke-width:.12}}</style>
    <rect y="{top}" width="440" height="{84 - top}" rx="14" class="n-page"/>
    <g transform="translate(20 {top})" font-size="14" class="n-muted">
    <text y="36" font-size="{min(19, 500 / len(name)):.1f}" font-weight="600" class="n-ink">{name}</text>
    <text y="82" class="n-h n-player_1">{share}</text><text x="400" y="82" class="n-h n-end n-flag">{wrong}</text>
    <text y="103">expert mastery, {number} winning positions</text>
    <text x="400" y="103" class="n-end">mistakes</text>
    </g><g transform="translate(20 0)" font-size="13" class="n-muted"><rect width="400" height="1" class="n-line"/>
    <text y="38">objects left</text><text x="400" y="38" class="n-end">{board}</text>
    <text x="20" y="66">finds a winning move</text><text x="196" y="66">sometimes</text>
    <text x="300" y="66">does not</text><g font-size="12" text-anchor="middle">{axis}</g></g>
    <g transform="translate(20 55) scale(15)">{_block(0, 0, 1)}{_block(11.7, 0, 0.2)}{_block(18.7, 0, 0)}</g>
    <g transform="translate(20 -1) scale({size:.3f})">{"".join(blocks)}</g></svg>\n"""


def _block(x: float, y: float, probability: float, heaps: str = "") -> str:
    color = "flag" if probability < 0.5 else "player_1"
    shape = f'<rect width=".86" height=".86" rx=".17" fill-opacity="{0.25 + abs(1.5 * probability - 0.75):.2g}"/>'
    if probability == 0:
        shape += '<path d="M.27 .27l.32 .32m0-.32l-.32 .32" class="n-cross n-page"/>'
    return f'<g transform="translate({x:.2f} {y:.2f})" class="n-{color}"><title>{heaps}</title>{shape}</g>\n'
