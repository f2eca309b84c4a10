"""Measures how well tabular agents play as heaps are added.

Each run trains one learner on one board with one seed, by self-play from random starts, and evaluates it exactly.
Expert mastery is the fraction of winning positions in which it plays a winning move (Zhou and Riis 2026,
arXiv:2205.12787). Exploitability is how much a best response to the learner gains over perfect play.

    python examples/scaling_study.py

joblib distributes the runs over all cores. On two cores the script takes about four minutes.

Install: pip install -e ".[examples]"
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from command_line import run

import gymnasium as gym
import joblib
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from tqdm import tqdm

import agents
from nim_env import NimRules, evaluation
from nim_env.check.players import player_of

from common import COLORS, label_lines, save_figure

LEARNERS: dict[str, dict[str, Any]] = {
    "q-learning": {"learning_rate": 0.5, "epsilon": 0.1},
    "minimax-q": {"learning_rate": 1.0, "epsilon": 0.1},  # a value stays 0 until it is proven to be 1 or -1
}


@dataclass
class Args:
    heaps: tuple[int, ...] = (1, 3, 5, 7, 9, 11, 13)
    """Starting heap sizes of the largest board. The other boards have the first two of its heaps, the first three,
    and so on."""
    total_timesteps: int = 3_000_000
    """The number of training timesteps of each run, which are the moves of both players."""
    n_seeds: int = 5
    """The number of seeds, starting from 0."""
    n_jobs: int = -1
    """The number of runs at the same time. -1 means one per core."""
    folder: Path = Path("results/scaling_study")
    """The folder for the table and the figure."""


def main(args: Args) -> pd.DataFrame:
    """Trains and evaluates all learners, and returns a table with a row for each run."""
    if len(args.heaps) < 2:
        raise ValueError(f"--heaps must be two or more heaps; got {args.heaps}")
    boards = [NimRules(args.heaps[:n], misere=False) for n in range(len(args.heaps), 1, -1)]
    runs = [
        joblib.delayed(train_and_evaluate)(rules, learner, seed, args.total_timesteps)
        for rules in boards  # the longest runs first
        for learner in LEARNERS
        for seed in range(args.n_seeds)
    ]
    rows = joblib.Parallel(args.n_jobs, return_as="generator")(runs)
    table = pd.DataFrame(tqdm(rows, total=len(runs), desc="runs", disable=None))
    random_play = pd.Series({rules.n_heaps: evaluation.mastery(rules, "random").expert for rules in boards})

    args.folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(args.folder / "scaling_study.csv", index=False)
    save_figure(draw(table, random_play), args.folder / "scaling_study.svg")
    means = table.groupby(["heaps", "learner"], sort=False)[["expert", "champion", "exploitability"]].mean()
    print(f"Means over {args.n_seeds} seeds\n{means.round(4).to_string()}")
    return table


def train_and_evaluate(rules: NimRules, learner: str, seed: int, total_timesteps: int) -> dict[str, Any]:
    """Trains one learner on one board, and returns its exact metrics."""
    env = gym.make_vec("nim_env:Nim-v0", num_envs=256, opponent=None, random_start=True, **asdict(rules))
    spaces = env.single_observation_space, env.single_action_space
    agent = agents.ALGORITHMS[learner](*spaces, seed=seed, **LEARNERS[learner])

    def continues(_: agents.Agent, history: agents.History) -> bool:
        return bool(history.lengths.sum() < total_timesteps)

    # each episode has one move or more, so the callback ends the training
    agents.train(agent, env, episodes=total_timesteps, seed=seed, callback=continues)
    report = evaluation.report(rules, agent, player_of(agent, rules).state_values)
    heaps = "-".join(map(str, rules.heaps))
    return {"heaps": heaps, "n_heaps": rules.n_heaps, "learner": learner, "seed": seed, **report.to_dict()}


def draw(table: pd.DataFrame, random_play: pd.Series) -> plt.Figure:
    """Draws expert mastery by the number of heaps, as the mean and range over the seeds."""
    figure, axis = plt.subplots(layout="constrained")
    for learner, runs in table.groupby("learner", sort=False):
        style = {"errorbar": ("pi", 100), "marker": "o", "legend": False}
        sns.lineplot(runs, x="n_heaps", y="expert", label=learner, ax=axis, **style)
    axis.plot(random_play.sort_index(), ":", color=COLORS["muted"], label="random play")
    axis.set(title="Tabular agents after the same number of training moves on each board")
    axis.set(ylabel="expert mastery", xticks=random_play.index, ylim=(-0.03, 1.02))
    axis.set_xlabel(f"number of heaps, the first of {table['heaps'].max()} (mean and range over the seeds)")
    axis.yaxis.set_major_formatter("{x:.0%}")
    label_lines(figure)
    return figure


if __name__ == "__main__":
    run(main, Args)
