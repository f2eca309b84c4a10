"""Draws the moving picture of the README, light and dark: python docs/scripts/draw_learning.py.

The agent of the README learns 1-3-5-7 by self-play. On the left are its values of all moves in 1-2-5-7: each block
has the color of taking it and all blocks above it. On the right is its learning curve.
Install: pip install -e ".[docs]"
"""

import gymnasium as gym
import numpy as np
from draw_pictures import FOLDER
from PIL import Image, ImageDraw, ImageFont

import agents
from nim_env import NimRules, evaluation
from nim_env.appearance import COLORS, DARK_COLORS, heap_name

RULES = NimRules()
POSITION = np.array((1, 2, 5, 7))
GAMES = (1, *range(200, 2_001, 200), 2_500, 3_000, 4_000, 5_000, 7_000, 10_000)
SIZE = WIDTH, HEIGHT = 760, 480
BLOCK_WIDTH, BLOCK_HEIGHT, ROW = 88, 34, 42
LEFT, RIGHT, TOP, BOTTOM = 500, 730, 170, 420  # the axes of the curve


def font(size):
    """The font of Pillow."""
    return ImageFont.load_default(size)


def color(value, colors):
    """Between the colors of a loss, -1, and of a win, 1."""
    ends = np.array(
        [[int(name[i : i + 2], 16) for i in (1, 3, 5)] for name in (colors["line"], colors[end_of(value)])]
    )
    return tuple((ends[0] + abs(value) * (ends[1] - ends[0])).round().astype(int).tolist())


def end_of(value):
    """The name of the color of a win or a loss."""
    return "player_1" if value > 0 else "flag"


def draw_board(draw, q_values, colors):
    """The blocks of the position with the values of the moves, and the block that the opponent has taken."""
    for action, (heap, count) in enumerate(RULES.moves):
        row = POSITION[heap] - count
        if row < 0:
            continue
        x, y = 30 + 97 * heap, 386 - ROW * row
        box = x, y, x + BLOCK_WIDTH, y + BLOCK_HEIGHT
        draw.rounded_rectangle(box, 7, color(q_values[action], colors), colors["muted"], 2)
        if q_values[action]:
            sign = "+" if q_values[action] > 0 else "-"
            ink = colors["page"] if abs(q_values[action]) > 0.4 else colors["ink"]
            draw.text((x + BLOCK_WIDTH / 2, y + BLOCK_HEIGHT / 2), sign, ink, font(28), "mm")
    for heap in range(RULES.n_heaps):
        draw.text((74 + 97 * heap, 444), heap_name(heap), colors["muted"], font(26), "mm")


def draw_curve(draw, games, shares, colors):
    """Expert mastery against the games so far."""
    xs = LEFT + (RIGHT - LEFT) * np.array(games) / GAMES[-1]
    ys = BOTTOM - (BOTTOM - TOP) * np.array(shares)
    draw.line((LEFT, TOP, LEFT, BOTTOM, RIGHT, BOTTOM), colors["muted"], 2)
    for share in (0, 1):
        y = BOTTOM - (BOTTOM - TOP) * share
        draw.text((LEFT - 8, y), f"{share:.0%}", colors["muted"], font(22), "rm")
    draw.text((RIGHT, 444), f"{GAMES[-1]:,} games", colors["muted"], font(24), "rm")
    draw.line(np.column_stack([xs, ys]).ravel().tolist(), colors["player_1"], 5)
    draw.circle((xs[-1], ys[-1]), 8, colors["player_1"])


def draw_frame(games, shares, q_values, colors):
    """The position with the agent's values, and the curve so far."""
    image = Image.new("RGB", SIZE, colors["page"])
    draw = ImageDraw.Draw(image)
    draw.text((30, 38), f"after {games[-1]:,} games against itself", colors["ink"], font(34), "lm")
    draw.text((RIGHT, 38), f"{shares[-1]:.1%}", colors["ink"], font(40), "rm")
    draw.text((RIGHT, 90), "of positions right", colors["muted"], font(26), "rm")
    draw.text((30, 90), "take a block and all above it:", colors["muted"], font(26), "lm")
    for x, name, value in ((30, "wins", 1), (150, "loses", -1)):
        draw.rounded_rectangle((x, 120, x + 26, 146), 6, color(value, colors))
        draw.text((x + 36, 133), name, colors["muted"], font(26), "lm")
    draw_board(draw, q_values, colors)
    draw_curve(draw, games, shares, colors)
    return image


def train():
    """The numbers of games, expert mastery after each, and the values of the position after each."""
    env = gym.make("Nim-v0", opponent=None)
    agent = agents.QLearningAgent(env.observation_space, env.action_space, seed=0)
    shares, values = [], []

    def evaluate(agent, history):
        if len(history.returns) in GAMES:
            shares.append(evaluation.mastery(RULES, agent).expert)
            values.append(agent.q_values(POSITION))

    agents.train(agent, env, GAMES[-1], seed=0, callback=evaluate)
    return shares, values


def main():
    """Saves both pictures, a frame for each number of games."""
    shares, values = train()
    schemes = {"learning": COLORS, "learning_dark": DARK_COLORS}
    for name, colors in schemes.items():
        frames = [
            draw_frame(GAMES[: number + 1], shares[: number + 1], values[number], colors)
            for number in range(len(GAMES))
        ]
        durations = [150] * 4 + [500] * (len(frames) - 5) + [5000]  # milliseconds; the first colors come after 600
        path = FOLDER / "pictures" / f"{name}.gif"
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
