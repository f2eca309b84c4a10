"""Runs the code of three pages and draws their figures: python docs/scripts/draw_curves.py.

Install: pip install -e ".[examples,openspiel,sb3]"
"""

import os
import re
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import seaborn as sns

from nim_env import NimRules, evaluation

FOLDER = Path(__file__).parents[1]
sys.path.append(str(FOLDER.parent / "examples"))
from common import label_lines, save_figure  # noqa: E402


def run_page(name, n_blocks=None):
    """The variables that the code of a page leaves, or its first blocks."""
    variables = {"__name__": "__main__"}
    text = (FOLDER / name).read_text(encoding="utf-8")
    for code in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[:n_blocks]:
        exec(compile(code, name, "exec"), variables)
    return variables


def draw_learning_curves(axes):
    """The figure of the page, with the names at the lines in place of a legend."""
    legend = axes.get_legend()
    lines = list(axes.lines)
    legend.remove()
    for line, empty, text in zip(lines[:2], lines[2:], legend.texts, strict=True):
        line.set_label(text.get_text())
        empty.remove()  # seaborn's line for the legend
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
    label_lines(figure)
    save_figure(figure, FOLDER / "deep_rl" / "maskable_ppo.svg")


def draw_payoff_matrix(payoffs):
    """The mean of both orders for every pair of members of PSRO's final population."""
    names = ["random", *range(1, len(payoffs))]
    figure, axes = plt.subplots(figsize=(7.4, 3.9))
    sns.heatmap(
        payoffs + 0.0,  # no negative zeros
        annot=True,
        fmt=".2g",
        cmap="RdBu",
        vmin=-1.5,  # paler colors
        vmax=1.5,
        cbar=False,
        linewidths=1,
        xticklabels=names,
        yticklabels=names,
        ax=axes,
    )
    axes.set(title="Player 9 makes no mistake, and players 5, 7 and 10 are even with it")
    axes.set(xlabel="against the player of round", ylabel="return of the player of round")
    axes.tick_params(length=0, labelrotation=0)
    save_figure(figure, FOLDER / "multi_agent" / "payoff_matrix.svg")


def draw_psro(nash_convs, means):
    """NashConv of the meta-strategy of each round, and the mean exploitability of the player that joins."""
    figure, axes = plt.subplots(figsize=(7.4, 2.8))
    axes.plot(nash_convs, marker="o", label="NashConv of the\nmixed strategy")
    axes.plot(means, marker="o", label="mean exploitability\nof the new player")
    first = next(i for i, mean in enumerate(means) if mean == 0)
    axes.set(title=f"NashConv falls when a player without a mistake joins, in round {first}")
    axes.set(xlabel="round of PSRO (0: random play)", xticks=range(1, len(means), 2), ylim=(0, 2.1))
    axes.margins(x=0.015)
    label_lines(figure)
    save_figure(figure, FOLDER / "multi_agent" / "psro.svg")


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())  # the pages save files
    draw_learning_curves(run_page("evaluation.md")["axes"])
    draw_maskable_ppo(run_page("deep_rl.md", n_blocks=1)["callback"].evaluations)
    page, rules = run_page("multi_agent.md"), NimRules()
    matrix = evaluation.payoff_matrix(rules, page["population"])
    draw_payoff_matrix((matrix - matrix.T) / 2)
    means = [evaluation.report(rules, member).mean_exploitability for member in page["population"]]
    draw_psro(page["nash_convs"], means)
