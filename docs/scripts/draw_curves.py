"""Runs the code of two pages and dqn.py, and draws their figures: python docs/scripts/draw_curves.py.

Install: pip install -e ".[examples,sb3]"
"""

import os
import re
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

FOLDER = Path(__file__).parents[1]
sys.path.append(str(FOLDER.parent / "examples"))
import dqn  # noqa: E402

from common import label_lines, percent, save_figure  # noqa: E402


def run_page(name, n_blocks=None):
    """The variables that the code of a page leaves, or its first blocks."""
    variables = {"__name__": "__main__"}
    text = (FOLDER / name).read_text(encoding="utf-8")
    for code in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[:n_blocks]:
        exec(compile(code, name, "exec"), variables)
    return variables


def draw_learning_curves(axes):
    """The figure of the page, with the names at the lines instead of a legend."""
    legend = axes.get_legend()
    lines = list(axes.lines)
    legend.remove()
    for line, empty, text in zip(lines[:2], lines[2:], legend.texts, strict=True):
        line.set_label(text.get_text())
        empty.remove()  # seaborn's line for the legend
    axes.xaxis.set_major_formatter("{x:,.0f}")
    label_lines(axes.figure)
    save_figure(axes.figure, FOLDER / "evaluation" / "learning_curves.svg")


def draw_maskable_ppo(evaluations):
    """The exact figures of the model against its training moves."""
    figure, axes = plt.subplots(figsize=(7.4, 2.8))
    timesteps = [row["timesteps"] for row in evaluations]
    for name, label in (("expert", "expert mastery"), ("mean_exploitability", "mean exploitability")):
        axes.plot(timesteps, [row[name] for row in evaluations], marker="o", label=label)
    first = next(row["timesteps"] for row in evaluations if row["expert"] == 1)
    axes.set(title=f"MaskablePPO makes no mistake on 1-3-5 from timestep {first:,} on", xlabel="timesteps")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    label_lines(figure)
    save_figure(figure, FOLDER / "deep_rl" / "maskable_ppo.svg")


def draw_dqn(curve):
    """The curve that dqn.py draws, in the style of the other figures."""
    figure, axes = plt.subplots(figsize=(7.4, 2.8))
    axes.plot([*curve], [*curve.values()], marker="o", label="expert mastery")
    moves, expert = max(curve.items(), key=lambda item: item[1])  # the first of the best
    axes.set(title=f"DQN reaches {percent(expert)} % expert mastery on 1-3-5-7 after {moves:,} moves of self-play")
    axes.set(xlabel="moves of both players", ylim=(0, 1.02))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    label_lines(figure)
    save_figure(figure, FOLDER.parent / "examples" / "pictures" / "dqn.svg")


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())  # the pages save files
    draw_learning_curves(run_page("evaluation.md")["axes"])
    draw_maskable_ppo(run_page("deep_rl.md", n_blocks=1)["callback"].evaluations)
    draw_dqn(dqn.main(dqn.Args()))
