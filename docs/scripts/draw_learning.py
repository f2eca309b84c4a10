"""Draws the moving picture of the README: python docs/scripts/draw_learning.py.

Minimax-Q learns 3-4-5 by self-play. Each block has the color of the value of taking it and all blocks above it.
Install: pip install -e ".[docs]"
"""

from pathlib import Path

import gymnasium as gym
import numpy as np
from PIL import Image, ImageDraw, ImageFont

import agents
from nim_env import NimRules, evaluation
from nim_env.appearance import COLORS, heap_name

PATH = Path(__file__).parents[1] / "pictures" / "learning.gif"
HEAPS = (3, 4, 5)
GAMES = (20, 50, 100, 200, 300, 400, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000)
SIZE = WIDTH, HEIGHT = 760, 640
BLOCK = 150, 66
LOSES, UNKNOWN, WINS = COLORS["flag"], COLORS["line"], COLORS["player_1"]


def font(size):
    """The font of Pillow."""
    return ImageFont.load_default(size)


def color(value):
    """Between the colors of a loss, -1, and of a win, 1."""
    ends = np.array(
        [[int(name[i : i + 2], 16) for i in (1, 3, 5)] for name in (UNKNOWN, WINS if value > 0 else LOSES)]
    )
    return tuple((ends[0] + abs(value) * (ends[1] - ends[0])).round().astype(int).tolist())


def draw_frame(rules, agent, games):
    """The start with the agent's values, and its mastery."""
    image = Image.new("RGB", SIZE, COLORS["page"])
    draw = ImageDraw.Draw(image)
    values = agent.q_values(np.array(rules.heaps))
    for action, (heap, count) in enumerate(rules.moves):
        x = 100 + 200 * heap
        y = 500 - 76 * (rules.heaps[heap] - count)
        draw.rounded_rectangle((x, y, x + BLOCK[0], y + BLOCK[1]), 10, color(values[action]), COLORS["muted"], 2)
        ink = "white" if abs(values[action]) > 0.5 else COLORS["ink"]
        middle = x + BLOCK[0] / 2, y + BLOCK[1] / 2
        rounded = round(float(values[action]), 1) + 0.0  # no -0.0
        label = f"{rounded:+.1f}" if values[action] else "?"
        draw.text(middle, label, ink, font(28), "mm")
    for heap in range(rules.n_heaps):
        draw.text((175 + 200 * heap, 592), heap_name(heap), COLORS["muted"], font(28), "mm")
    share = evaluation.mastery(rules, agent).expert
    draw.text((WIDTH / 2, 42), f"after {games:,} games", COLORS["ink"], font(40), "mm")
    draw.text(
        (WIDTH / 2, 90), f"{share:.1%} of the winning positions played right", COLORS["muted"], font(28), "mm"
    )
    draw.text((40, 144), "to take a block and all above it", COLORS["muted"], font(26), "lm")
    for x, name, value in ((460, "wins", 1), (590, "loses", -1)):
        draw.rounded_rectangle((x, 130, x + 28, 158), 6, color(value))
        draw.text((x + 40, 144), name, COLORS["muted"], font(26), "lm")
    return image


def main():
    """Trains the agent and saves a frame at each number of games."""
    rules = NimRules(HEAPS)
    env = gym.make("Nim-v0", heaps=HEAPS, opponent=None)
    agent = agents.MinimaxQAgent(env.observation_space, env.action_space, learning_rate=0.3, epsilon=0.3, seed=0)
    frames = []
    for done, games in zip((0, *GAMES), GAMES, strict=False):
        agents.train(agent, env, games - done, seed=games)
        frames.append(draw_frame(rules, agent, games))
    durations = [1500, *[700] * (len(frames) - 2), 4000]  # milliseconds
    frames[0].save(PATH, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
    print(f"{PATH}: {PATH.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
