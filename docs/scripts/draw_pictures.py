"""Draws the pictures of the pages, the logo and the preview of links: python docs/scripts/draw_pictures.py.

They are drawn in the palette of the package. The SVG files follow the color scheme of the reader.
Install: pip install -e ".[docs]"; for the preview and the game pip install -e ".[dev]", and Chromium
"""

import base64
import contextlib
import importlib.metadata
import io
import re
import shutil
import sys
import tempfile
import threading
from pathlib import Path

import gymnasium as gym
import numpy as np
from PIL import Image

import agents
from nim_env import NimRules, evaluation, theory
from nim_env.check import examination, options
from nim_env.rendering.animation import save_gif
from nim_env.rendering.appearance import COLORS, DARK_COLORS, FONT
from nim_env.rendering.svg import position_map

FOLDER = Path(__file__).parents[1]
PALETTE = {**COLORS, "on_block": "#2a1a00"}  # the text on a block
DARK_PALETTE = {**DARK_COLORS, "on_block": "#1d1200"}


class Picture:
    """An SVG picture on a card; colors are names of the palette."""

    def __init__(self, width, height, *, card=True):
        self.width, self.height = width, height
        self.shapes = []
        if card:
            self.rect(0, 0, width, height, "page", radius=12)

    def rect(self, x, y, width, height, fill, *, line=None, radius=5, line_width=1.5, opacity=1):
        """A rectangle with round corners."""
        outline = "" if line is None else f' class="s-{line}" stroke-width="{line_width}"'
        shape = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}"{outline}/>'
        self.shapes.append(f'<g class="f-{fill}" fill-opacity="{opacity:.3g}">{shape}</g>')

    def block(self, x, y, width, height, fill="block"):
        """A block of a heap."""
        self.rect(x, y, width, height, fill, line="edge" if fill == "block" else None, radius=4)

    def text(self, x, y, text, *, size=16, fill="ink", anchor="middle", bold=False):
        """A line of text; y is its middle."""
        weight = ' font-weight="650"' if bold else ""
        self.shapes.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" dominant-baseline="central"'
            f'{weight} class="f-{fill}">{text}</text>'
        )

    def line(self, x1, y1, x2, y2, color="muted", *, width=1.5, arrow=False, dashed=False):
        """A line, with a head at its end if it is an arrow."""
        head = f' marker-end="url(#head-{color})"' if arrow else ""
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        self.shapes.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="s-{color}" '
            f'stroke-width="{width:g}"{dashes}{head}/>'
        )

    def save(self, path, title):
        """Writes the file; the title is read aloud."""
        used = [name for name in PALETTE if re.search(rf"\b(f|s|head)-{name}\b", "".join(self.shapes))]
        rules = {
            scheme: "".join(f".f-{name}{{fill:{colors[name]}}}.s-{name}{{stroke:{colors[name]}}}" for name in used)
            for scheme, colors in (("light", PALETTE), ("dark", DARK_PALETTE))
        }
        heads = "".join(
            f'<marker id="head-{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0 0L10 5L0 10z" class="f-{name}"/></marker>'
            for name in used
            if f"#head-{name})" in "".join(self.shapes)
        )
        path.write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" font-family="{FONT}" role="img">\n'
            f"<title>{title}</title>\n"
            f"<style>{rules['light']}@media (prefers-color-scheme:dark){{{rules['dark']}}}</style>\n"
            f"<defs>{heads}</defs>\n" + "\n".join(self.shapes) + "\n</svg>\n",
            encoding="utf-8",
        )


def name_of(heaps):
    """A position in text: 1-2."""
    return "-".join(map(str, heaps))


def draw_logo(folder):
    """Three heaps; the block on top of the last one has just been taken by player 1."""
    picture = Picture(96, 96, card=False)
    for heap, size in enumerate((1, 2, 3)):
        for row in range(size):
            picture.block(6 + 29 * heap, 66 - 29 * row, 26, 25, "player_1" if row == 2 else "block")
    picture.save(folder / "logo.svg", "nim-env")


def draw_columns(path, rules, *positions):
    """The binary digits of positions, one below the other, and whether each column holds an odd number of ones."""
    picture = Picture(330 * len(positions) - 20, 60 + 40 * (len(positions[0]) + 1))
    for number, heaps in enumerate(positions):
        left = 20 + 330 * number
        nim_sum = int(np.bitwise_xor.reduce(heaps))
        odd = [nim_sum >> digit & 1 for digit in (2, 1, 0)]
        for column, (weight, is_odd) in enumerate(zip((4, 2, 1), odd, strict=True)):
            x = left + 130 + 52 * column
            if is_odd:
                picture.rect(x - 24, 12, 48, picture.height - 24, "flag", opacity=0.12)
            picture.text(x, 30, weight, size=14, fill="muted")
            for row, heap in enumerate(heaps):
                y = 66 + 40 * row
                if heap & weight:
                    picture.block(x - 17, y - 15, 34, 30)
                picture.text(
                    x,
                    y,
                    int(bool(heap & weight)),
                    size=17,
                    bold=bool(heap & weight),
                    fill="on_block" if heap & weight else "muted",
                )
            picture.text(
                x,
                66 + 40 * len(heaps) + 4,
                "odd" if is_odd else "even",
                size=14,
                bold=True,
                fill="flag" if is_odd else "good",
            )
        for row, heap in enumerate(heaps):
            changed = number > 0 and heap != positions[number - 1][row]
            picture.text(left + 18, 66 + 40 * row, "ABCD"[row], fill="muted")
            picture.text(left + 56, 66 + 40 * row, heap, size=18, bold=True, fill="player_1" if changed else "ink")
        y = 66 + 40 * len(heaps)
        picture.line(left, y - 20, left + 262, y - 20, "line")
        winning = theory.is_winning(rules, heaps)
        picture.text(
            left,
            y + 4,
            "winning" if winning else "losing",
            bold=True,
            anchor="start",
            fill="good" if winning else "flag",
        )
        if number:
            picture.line(
                left - 48, picture.height / 2, left - 14, picture.height / 2, "player_1", width=2.5, arrow=True
            )
    picture.save(path, "Binary digits of " + ", then ".join(map(name_of, positions)))


TREE = {
    (1, 2): (60, 200),
    (0, 2): (260, 70),
    (1, 1): (260, 200),
    (1, 0): (260, 330),
    (0, 1): (460, 195),
    (0, 0): (660, 200),
}


def draw_game_tree(path, rules):
    """Every position of 1-2 and every move; winning moves are thick."""
    picture = Picture(740, 400)
    radius = 34
    for heaps, (x, y) in TREE.items():
        mask = rules.action_mask(heaps)
        winning = theory.winning_action_mask(rules, heaps)
        for action in np.flatnonzero(mask):
            to = tuple(rules.apply(heaps, action).tolist())
            x2, y2 = TREE[to]
            length = np.hypot(x2 - x, y2 - y)
            dx, dy = (x2 - x) / length, (y2 - y) / length
            start = x + dx * (radius + 2), y + dy * (radius + 2)
            end = x2 - dx * (radius + 5), y2 - dy * (radius + 5)
            wins = bool(winning[action])
            picture.line(
                *start, *end, "good" if wins else "muted", width=3 if wins else 1.5, arrow=True, dashed=not wins
            )
    for heaps, (x, y) in TREE.items():
        winning = bool(theory.is_winning(rules, heaps))
        color = "good" if winning else "flag"
        picture.rect(x - radius, y - 27, 2 * radius, 54, "page", radius=12)
        picture.rect(x - radius, y - 27, 2 * radius, 54, color, line=color, radius=12, opacity=0.12, line_width=2)
        picture.text(x, y - 10, name_of(heaps), size=19, bold=True)
        picture.text(x, y + 12, "winning" if winning else "losing", size=13, fill=color)
    picture.line(20, 30, 60, 30, "good", width=3, arrow=True)
    picture.text(70, 30, "a winning move", size=14, anchor="start")
    picture.line(20, 56, 60, 56, "muted", arrow=True, dashed=True)
    picture.text(70, 56, "any other move", size=14, anchor="start")
    picture.save(path, "The positions and moves of 1-2 in misère play")


def draw_cell(picture, x, y, width, height, share, text, *, good="good", bad="flag", size=15, bold=False):
    """A cell of a table: green towards 1, rust towards 0."""
    color = good if share >= 0.5 else bad
    picture.rect(x, y, width - 2, height - 2, color, radius=3, opacity=0.08 + 0.42 * abs(2 * share - 1))
    picture.text(x + width / 2 - 1, y + height / 2 - 1, text, size=size, bold=bold)


def draw_value_table(path, rules):
    """The probability that random play wins from each position of 1-2 against random play."""
    picture = Picture(500, 244)
    picture.text(300, 28, "heap B", fill="muted")
    picture.text(58, 148, "heap A", fill="muted")
    going_first = evaluation.win_probabilities(rules, "random", "random").going_first
    for b in range(3):
        picture.text(190 + 110 * b, 58, b, bold=True)
        for a in range(2):
            picture.text(112, 112 + 74 * a, a, bold=True)
            wins = going_first[rules.index((a, b))]
            draw_cell(picture, 136 + 110 * b, 76 + 74 * a, 110, 74, wins, f"{wins:g}", size=22, bold=True)
    picture.save(path, "The values of random play in the six positions of 1-2")


LESSONS = (  # heaps from the bottom: a block, y: you take it, o: the other player took it, a space between groups
    ("1. Copy", "#oo", "#yy"),
    ("2. Make equal", "##", "##yyy"),
    ("3. Pairs", "#", "oo", "# yy"),
    ("4. Make pairs", "# yy", "####", "# ####"),
    ("5. Last loses", "#", "#", "#yyy"),
)


def draw_lessons(path):
    """A winning move in each of the first five lessons of the page."""
    picture = Picture(660, 200)
    for number, (title, *heaps) in enumerate(LESSONS):
        left = 20 + 130 * number
        picture.text(left, 22, title, size=13, bold=True, anchor="start")
        for heap, blocks in enumerate(heaps):
            x, y = left + 33 * heap, 158
            for block in blocks:
                if block == "#":
                    picture.block(x, y, 30, 18)
                elif block != " ":
                    color = "player_1" if block == "y" else "player_2"
                    picture.rect(x, y, 30, 18, color, radius=4, opacity=0.18, line=color)
                y -= 8 if block == " " else 21
            picture.text(x + 15, 188, "ABC"[heap], size=14, fill="muted")
    picture.save(path, "A winning move in each of the first five lessons")


def draw_lost_positions(path):
    """Which positions of two heaps are losing positions, in three games."""
    games = (
        ("normal play", NimRules((7, 7), misere=False)),
        ("misère play", NimRules((7, 7))),
        ("normal play, take 1 to 3", NimRules((7, 7), max_take=3, misere=False)),
    )
    picture = Picture(780, 300)
    for number, (name, rules) in enumerate(games):
        left, top, step = 38 + 250 * number, 62, 26
        picture.text(left + 4 * step, 24, name, bold=True)
        for index in range(8):
            picture.text(left + (index + 0.5) * step, 50, index, size=13, fill="muted")
            picture.text(left - 12, top + (index + 0.5) * step, index, size=13, fill="muted")
        for a, b in rules.all_positions().tolist():
            lost = not theory.is_winning(rules, (a, b))
            picture.rect(
                left + b * step,
                top + a * step,
                step - 3,
                step - 3,
                "flag" if lost else "good",
                radius=4,
                opacity=0.85 if lost else 0.16,
            )
    picture.rect(38, 277, 14, 14, "flag", radius=3, opacity=0.85)
    picture.text(60, 284, "losing", size=14, anchor="start")
    picture.rect(124, 277, 14, 14, "good", radius=3, opacity=0.16)
    picture.text(146, 284, "winning", size=14, anchor="start")
    picture.save(path, "The losing positions of two heaps of up to seven")


def draw_step(path):
    """One step: the agent's move and the opponent's reply, with the observations and masks of the page."""
    rules = NimRules((2, 3))
    picture = Picture(780, 300)
    boards = (
        (20, "observation", (2, 3), None, None),
        (290, "the agent takes 1", (2, 2), (1, 2), "player_1"),
        (560, "the opponent takes 1", (2, 1), (1, 1), "player_2"),
    )
    for number, (left, title, heaps, taken, color) in enumerate(boards):
        picture.text(left + 100, 26, title, size=14, fill=color or "muted", bold=color is not None)
        for heap, size in enumerate(heaps):
            x = left + 20 + 85 * heap
            for row in range(size):
                picture.block(x, 146 - 40 * row, 75, 34)
            if taken and taken[0] == heap:
                picture.rect(x, 146 - 40 * taken[1], 75, 34, color, radius=4, opacity=0.18, line=color)
            picture.text(x + 37, 202, f"heap {'AB'[heap]}", size=14, fill="muted")
        if number != 1:
            picture.text(left + 100, 236, f"[{heaps[0]} {heaps[1]}]", bold=True)
            mask = " ".join(map(str, rules.action_mask(heaps)))
            picture.text(left + 100, 266, f"action_mask [{mask}]", size=14)
        if number:
            picture.line(left - 52, 150, left - 12, 150, color, width=2.5, arrow=True)
    picture.text(390, 236, "one call of env.step", size=14, fill="muted")
    picture.line(240, 258, 540, 258, "muted", arrow=True)
    picture.save(path, "One step: the agent's move and the opponent's reply")


def draw_digit_network(path):
    """What the digit network computes: the digits of 3-4-5, the automaton that reads each, and the value."""
    heaps, rules = (3, 4, 5), NimRules((3, 4, 5), misere=False)
    colors = {"none": "edge", "even": "player_1", "odd": "good"}
    picture = Picture(736, 300)
    for x, title in ((82, "heaps"), (258, "binary digits"), (465, "state after each heap"), (667, "value")):
        picture.text(x, 28, title, size=15, bold=True)
    for heap, size in enumerate(heaps):
        x = 24 + 40 * heap
        for row in range(size):
            picture.block(x, 214 - 30 * row, 36, 26)
        picture.text(x + 18, 262, "ABC"[heap], fill="muted")
        picture.text(226 + 40 * heap, 262, "ABC"[heap], fill="muted")
        picture.text(402 + 62 * heap, 262, f"after {'ABC'[heap]}", size=14, fill="muted")
    picture.line(150, 152, 174, 152, "muted", width=2, arrow=True)
    for row, digit in enumerate((8, 4, 2, 1)):
        y = 78 + 48 * row
        picture.text(192, y, digit, size=15, fill="muted")
        state = "none"
        for heap, size in enumerate(heaps):
            is_one = bool(size & digit)
            if is_one:
                picture.block(209 + 40 * heap, y - 15, 34, 30)
            fill = "on_block" if is_one else "muted"
            picture.text(226 + 40 * heap, y, int(is_one), size=17, bold=is_one, fill=fill)
            if is_one:
                state = "even" if state == "odd" else "odd"
            is_last = heap == len(heaps) - 1
            color = colors[state]
            picture.rect(374 + 62 * heap, y - 15, 56, 30, color, line=color, opacity=0.25 if is_last else 0.06)
            picture.text(402 + 62 * heap, y, state, size=15, bold=is_last)
        picture.line(332, y, 366, y, "muted", width=2, arrow=True)
        picture.line(560, y, 607, 152 + 12 * (row - 1.5), "muted", width=2, arrow=True)
    won = bool(theory.is_winning(rules, heaps))
    color = "good" if won else "flag"
    picture.rect(612, 116, 112, 72, color, line=color, radius=10, opacity=0.12, line_width=2)
    picture.text(668, 140, "a digit is odd:", size=13)
    picture.text(668, 164, "winning" if won else "losing", size=19, bold=True, fill=color)
    picture.text(668, 206, "maximum over", size=14, fill="muted")
    picture.text(668, 224, "the digits", size=14, fill="muted")
    picture.save(path, "The digit network on 3-4-5: heaps, binary digits, the state of each digit, value")


def first_block(name, section=""):
    """The variables that the first code of a page, or of its part from a heading on, leaves."""
    variables = {}
    page = (FOLDER / name).read_text(encoding="utf-8")
    code = re.findall(r"^```python\n(.*?)^```", page[page.index(section) :], re.DOTALL | re.MULTILINE)
    exec(compile(code[0], name, "exec"), variables)
    return variables


def own_agent():
    """The agent of the page, trained as on the page."""
    variables = first_block("agents/your_own_player.md", "## A learner")
    env = gym.make("SimpleNim-v0", opponent="expert")
    agent = variables["ExpectedSarsaAgent"](env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, episodes=1_000, seed=0)
    return agent


def draw_q_table(path, agent, rules):
    """The Q-values of one heap of 21, with a frame around the move that the agent plays."""
    picture = Picture(980, 250)
    picture.text(20, 30, "objects in the heap", size=15, fill="muted", anchor="start")
    for heap in range(1, 22):
        x = 84 + 42 * (heap - 1)
        lost = not theory.is_winning(rules, (heap,))
        picture.text(x + 20, 62, heap, bold=True, fill="flag" if lost else "ink")
        mask, q_values = rules.action_mask((heap,)), agent.q_values(np.array([heap]))
        for action in np.flatnonzero(mask):
            y = 82 + 42 * action
            draw_cell(
                picture,
                x,
                y,
                42,
                42,
                (1 + q_values[action]) / 2,
                f"{q_values[action]:.1f}".replace("-", "−"),
                size=13,
            )
        best = agent.act(np.array([heap]), mask)
        if not lost:
            picture.rect(x, 82 + 42 * best, 40, 40, "page", line="player_1", radius=3, line_width=3, opacity=0)
    for action in range(3):
        picture.text(20, 102 + 42 * action, f"take {action + 1}", size=15, anchor="start")
    picture.rect(20, 221, 14, 14, "page", line="player_1", radius=3, line_width=3)
    picture.text(44, 228, "the agent's move in a winning position", size=14, anchor="start")
    picture.text(330, 228, "4, 8, 12, …: losing positions", size=14, anchor="start", fill="flag")
    picture.save(path, "The Q-values of every heap size and move after 1,000 games")


def draw_map(path):
    """The map of positions of the agent that evaluation.md trains."""
    variables = first_block("evaluation.md", "## Report")
    mastery = evaluation.mastery(variables["board"], variables["learner"])
    path.write_text(position_map(mastery, "Q-learning after 5,000 games"), encoding="utf-8")


def draw_thumbnail(path, figure, number):
    """What is between the axes of a figure of Matplotlib, without its text, below a number."""
    svg = re.sub(r"<text.*?</text>|<metadata>.*?</metadata>|<!--.*?-->", "", figure, flags=re.DOTALL)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    axes = re.findall(r'<g id="axes_\d+">\s*<g id="patch_\d+">\s*<path d="([^"]*)"', svg) or ["M 0 0 L 530 260"]
    x, y = (np.array(re.findall(r"[-\d.]+", " ".join(axes)), float).reshape(-1, 2)).T
    body = svg[svg.index("<defs>") : svg.rindex("</svg>")].replace("xlink:href", "href")
    picture = Picture(350, 170)
    picture.text(16, 30, number, size=28, bold=True, anchor="start")
    picture.shapes.append(
        f'<svg class="figure" x="16" y="56" width="318" height="102" preserveAspectRatio="none" '
        f'viewBox="{x.min() - 4:g} {y.min() - 4:g} {np.ptp(x) + 8:g} {np.ptp(y) + 8:g}">{body}</svg>'
        "<style>@media (prefers-color-scheme:dark){.figure{filter:invert(1) hue-rotate(180deg)}}</style>"
    )
    picture.save(path, number)


def draw_thumbnails(folder):
    """Those of the page of the experiments, which says their numbers."""
    page = (FOLDER / "experiments" / "index.md").read_text(encoding="utf-8")
    for name, number in re.findall(r'/thumbnail_(\w+)\.svg" alt="([^"]*)"', page):
        figure = (FOLDER.parent / "examples" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
        draw_thumbnail(folder / f"thumbnail_{name}.svg", figure, number)


@contextlib.contextmanager
def chromium():
    """The system's Chromium, without motion."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        yield browser.new_context(reduced_motion="reduce", viewport={"width": 760, "height": 600})


def draw_preview(path):
    """What a link to the site shows elsewhere: a game and the map of a learner, 1200 by 630 pixels."""
    picture = io.BytesIO()
    with Image.open(FOLDER / "environments" / "nim.gif") as animation:
        animation.seek(1)  # after the first moves
        animation.convert("RGB").save(picture, "PNG")
    game = base64.b64encode(picture.getvalue()).decode()
    learner = (FOLDER / "pictures" / "learning.svg").read_text(encoding="utf-8")
    page = f"""<style>body {{ margin: 20px; color: {COLORS["ink"]}; text-align: center }}
        h1 {{ margin: 0 0 14px; font: bold 38px {FONT} }}
        div {{ display: flex; align-items: center; justify-content: space-evenly }}
        svg, img {{ width: 480px; border-radius: 14px }} img {{ width: 600px }}</style>
        <h1>nim-env: Nim for Gymnasium and PettingZoo</h1>
        <div><img src="data:image/png;base64,{game}">{learner}</div>"""
    with chromium() as browser:
        window = browser.new_page()
        window.set_viewport_size({"width": 1200, "height": 630})
        window.set_content(page)
        window.screenshot(path=path)


def draw_game(path):
    """A game on the page: the beginner opens, and perfect play wins."""
    sys.path.append(str(FOLDER.parent / "examples"))
    from play_in_browser import make_server

    rules, moves, frames = NimRules(), [], []
    with make_server([], 0) as server, chromium() as browser:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/#heaps=1-3-5-7&first=opponent&vs=beginner&moves="
        heaps = np.array(rules.heaps)
        while True:
            window = browser.new_page()
            window.goto(address + ".".join(moves))
            window.locator(".heap").first.wait_for()
            window.wait_for_timeout(300)
            frames.append(np.array(Image.open(io.BytesIO(window.screenshot()))))
            if rules.is_over(heaps):
                break
            if len(moves) % 2 == 0:  # the opponent's turn, announced
                count, heap = re.search(r"t(?:akes|ook) (\d+) from ([A-D])", window.inner_text("main")).groups()
                moves.append(f"{heap}{count}")
            else:
                heap, count = rules.moves[theory.winning_action_mask(rules, heaps).argmax()]
                moves.append(f"{'ABCD'[heap]}{count}")
            heaps["ABCD".index(moves[-1][0])] -= int(moves[-1][1:])
        server.shutdown()
    save_gif(frames, path, seconds=1.5)


def draw_map_of_program(path):
    """What the command draws of the program with a bug on the page "Check a player"."""
    page = (FOLDER / "test_your_agent.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "nim.py"
        program.write_text(re.search(r"```python\n(import random\n.*?)```", page, re.DOTALL)[1], encoding="utf-8")
        examination.examine(str(program), options.parse(["check", str(program), "--picture", str(path)]))


def draw_learning(path):
    """The maps of the agent of the README after more and more games: the last one, then all in order."""
    maps, env, rules = [], gym.make("Nim-v0", opponent=None), NimRules()
    for number, games in enumerate((100, 1_000, 2_000, 10_000)):
        agent = agents.QLearningAgent(env.observation_space, env.action_space, seed=0)
        agents.train(agent, env, games)
        svg = position_map(evaluation.mastery(rules, agent), f"Q-learning after {games:,} games")
        head, shapes = svg.removesuffix("</svg>\n").split("</style>")
        maps.append(f'<g class="map-{number}">{without_tooltips(shapes)}</g>')
    shown = (  # from which percent of the time each map covers those below it
        (1, "0%,30%{opacity:0}34%,100%{opacity:1}"),
        (2, "0%,45%{opacity:0}49%,100%{opacity:1}"),
        (3, "0%,15%{opacity:1}19%,60%{opacity:0}64%,100%{opacity:1}"),
    )
    appear = "".join(
        f"@keyframes map-{number}{{{frames}}}.map-{number}{{animation:map-{number} 14s infinite}}"
        for number, frames in shown
    )
    style = f"@media (prefers-reduced-motion:no-preference){{{appear}}}</style>"
    path.write_text(f"{head}{style}{''.join(maps)}</svg>\n", encoding="utf-8")


def without_tooltips(svg):
    """The picture without the names of its blocks, which a browser shows only in a picture that it opens alone."""
    return re.sub(r"<title>.*?</title>", "", svg)


def draw_maps(folder):
    """The maps of the learner and of the program with a bug, side by side, and one below the other for phones."""
    title = "The maps of a learner and of a program with one wrong line"
    maps = [
        without_tooltips((folder / name).read_text(encoding="utf-8")).replace('width="660"', "", 1)
        for name in ("learning.svg", "nim_py.svg")
    ]
    for name, width, height, x, y in (("maps.svg", 900, 470, 460, 0), ("maps_narrow.svg", 440, 960, 0, 490)):
        size = 'width="440" height="470"'
        left, right = (
            svg.replace("<svg", f"<svg {size} {place}", 1)
            for svg, place in zip(maps, ("", f'x="{x}" y="{y}"'), strict=True)
        )
        (folder / name).write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
            f"<title>{title}</title>\n{left}{right}</svg>\n",
            encoding="utf-8",
        )


def draw_badges(folder):
    """The license and the versions of Python, as the package states them."""
    package = importlib.metadata.metadata("nim-env")
    versions = package["Requires-Python"].replace(">=", "≥ ")
    for label, value in (("license", package["License-Expression"]), ("Python", versions)):
        left, right = 9 * len(label), 9 * len(value) + 8
        badge = Picture(left + right, 22, card=False)
        badge.rect(0, 0, left + right, 22, "muted", radius=4)
        badge.rect(left, 0, right, 22, "player_1", radius=4)
        badge.text(left / 2, 11, label, size=12, fill="page")
        badge.text(left + right / 2, 11, value, size=12, fill="page", bold=True)
        badge.save(folder / f"badge_{label.lower()}.svg", f"{label}: {value}")


def draw(folder):
    """Draws every picture but those that need Chromium."""
    folder.mkdir(exist_ok=True)
    small = NimRules((1, 2))
    draw_logo(folder)
    draw_columns(folder / "columns.svg", NimRules((3, 4, 5), misere=False), (3, 4, 5), (1, 4, 5))
    draw_game_tree(folder / "game_tree.svg", small)
    draw_value_table(folder / "value_table.svg", small)
    draw_lessons(folder / "lessons.svg")
    draw_lost_positions(folder / "lost_positions.svg")
    draw_step(folder / "step.svg")
    draw_digit_network(folder / "digit_network.svg")
    draw_q_table(folder / "q_table.svg", own_agent(), NimRules((21,), max_take=3, misere=False))
    draw_map(folder / "position_map.svg")
    draw_map_of_program(folder / "nim_py.svg")
    draw_learning(folder / "learning.svg")
    draw_maps(folder)
    draw_badges(folder)
    draw_thumbnails(folder)


if __name__ == "__main__":
    draw(FOLDER / "pictures")
    draw_preview(FOLDER / "_static" / "preview.png")
    draw_game(FOLDER / "pictures" / "game_on_page.gif")
