"""Runs the code of multi_agent.md and draws its figures: python docs/scripts/draw_multi_agent.py.

Install: pip install -e ".[examples,openspiel]"
"""

import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import seaborn as sns

FOLDER = Path(__file__).parents[1]
PAGE = FOLDER / "multi_agent.md"
sys.path.append(str(FOLDER.parent / "examples"))
from common import save_figure  # noqa: E402


def run_page():
    """The variables that the code of the page leaves."""
    variables = {"__name__": "__main__"}
    for code in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        exec(compile(code, PAGE.name, "exec"), variables)
    return variables


def draw_payoff_matrix(payoffs):
    """The mean of both orders for every pair of members of PSRO's final population."""
    names = ["random", *range(1, len(payoffs))]
    figure, axes = plt.subplots(figsize=(7.4, 3.6))
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
    axes.set(title="Later players beat most earlier ones, with two cycles: 2 > 4 > 3 > 2 and 5 > 7 > 6 > 5")
    axes.set(xlabel="against the player of round", ylabel="return of the player of round")
    axes.tick_params(length=0, labelrotation=0)
    save_figure(figure, FOLDER / "multi_agent" / "payoff_matrix.svg")


def draw_psro(means):
    """The mean exploitability of the player that each round adds."""
    figure, axes = plt.subplots(figsize=(7.4, 2.8))
    axes.plot(range(len(means)), means, marker="o")
    for iteration, mean in enumerate(means):
        axes.annotate(f"{mean:.2f}", (iteration, mean), (0, 6), textcoords="offset points", ha="center")
    axes.set(title=f"In {len(means) - 1} rounds mean exploitability falls from {means[0]:.2f} to {means[-1]:.2f}")
    axes.set(xlabel="round of PSRO (0: random play)", ylabel="mean exploitability", ylim=(0, 1.05))
    save_figure(figure, FOLDER / "multi_agent" / "psro.svg")


if __name__ == "__main__":
    page = run_page()
    game, population, evaluation = page["rules"], page["population"], page["evaluation"]
    matrix = evaluation.payoff_matrix(game, population)
    draw_payoff_matrix((matrix - matrix.T) / 2)
    draw_psro([evaluation.report(game, member).mean_exploitability for member in population])
