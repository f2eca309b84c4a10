"""Measures how well tabular agents play as heaps are added.

Each run trains one learner on one board with one seed, by self-play from random starts, and evaluates it exactly.
Expert mastery is the fraction of winning positions in which it plays a winning move (Zhou and Riis 2026,
arXiv:2205.12787). Exploitability is how much a best response to the learner gains over perfect play.

    python examples/scaling_study.py
    python examples/scaling_study.py --learners minimax-q --n-heaps 5 6 7 --n-seeds 1 --mastery 1

The second command trains minimax-Q until it makes no mistakes. joblib distributes the runs over all cores.

Install: pip install -e ".[examples]"
"""

import itertools
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from command_line import run

import gymnasium as gym
import joblib
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from tqdm import tqdm

import agents
from nim_env import NimRules, evaluation
from nim_env.check.players import player_of

from common import COLORS, label_lines, save_figure

LEARNERS: dict[str, dict[str, Any]] = {
    "q-learning": {"learning_rate": 0.5, "epsilon": 0.1},
    "minimax-q": {"learning_rate": 1.0, "epsilon": 0.1},  # a value stays 0 until it is proven to be 1 or -1
}
EPISODES_PER_CALL = 500_000  # of agents.train with --mastery; limits the memory for its history


@dataclass
class Args:
    heaps: tuple[int, ...] = (1, 3, 5, 7, 9, 11, 13)
    """Starting heap sizes of the largest board."""
    n_heaps: tuple[int, ...] = (2, 3, 4, 5, 6, 7)
    """The boards. Each board has this many of the heaps, from the first on."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    learners: tuple[Literal["q-learning", "minimax-q"], ...] = ("q-learning", "minimax-q")
    total_timesteps: int = 3_000_000
    """The number of training timesteps of each run."""
    mastery: float | None = None
    """Train until the agent reaches this expert mastery, instead of for --total-timesteps."""
    n_seeds: int = 5
    """The number of seeds, starting from 0."""
    n_jobs: int = -1
    """The number of runs at the same time. -1 means one per core."""
    folder: Path = Path("results/scaling_study")


def main(args: Args) -> pd.DataFrame:
    """Trains and evaluates all learners, and returns a table with a row for each evaluation."""
    if not all(1 <= n <= len(args.heaps) for n in args.n_heaps):
        raise ValueError(f"--n-heaps must be 1 to {len(args.heaps)}, the number of heaps; got {args.n_heaps}")
    boards = [NimRules(args.heaps[:n], misere=args.misere) for n in sorted(args.n_heaps, reverse=True)]
    random_play = pd.Series({rules.n_heaps: evaluation.mastery(rules, "random").expert for rules in boards})
    runs = [
        joblib.delayed(train)(args, rules, learner, seed)
        for rules in boards  # the longest runs first
        for learner in args.learners
        for seed in range(args.n_seeds)
    ]
    tables = joblib.Parallel(args.n_jobs, return_as="generator")(runs)
    table = pd.concat(tqdm(tables, total=len(runs), desc="runs", disable=None), ignore_index=True)
    last = table.groupby(["heaps", "learner", "seed"], sort=False).tail(1)

    save_figure(draw_boards(last, random_play), args.folder / "scaling_study.svg")
    save_figure(draw_curves(table), args.folder / "learning_curves.svg")
    table.to_csv(args.folder / "scaling_study.csv", index=False)
    metrics = last.astype({"champion": float}).groupby(["heaps", "learner"], sort=False)
    print(metrics[["expert", "champion", "exploitability", "timesteps"]].mean().round(4).to_string())
    print("These are means over the seeds at the end of the training.")
    print(f"table: {args.folder / 'scaling_study.csv'}")
    return table


def train(args: Args, rules: NimRules, learner: str, seed: int) -> pd.DataFrame:
    """Trains one learner, and returns a table with a row for each evaluation."""
    num_envs = 4096 if args.mastery else 256
    env = gym.make_vec("nim_env:Nim-v0", num_envs, opponent=None, random_start=True, **asdict(rules))
    spaces = env.single_observation_space, env.single_action_space
    agent = agents.ALGORITHMS[learner](*spaces, seed=seed, **LEARNERS[learner])

    rows: list[dict[str, Any]] = []
    next_evaluation = rules.n_positions // 10  # in episodes
    earlier_episodes = earlier_timesteps = 0  # in previous calls of agents.train
    is_done = False
    start = time.perf_counter()

    def evaluate(agent: agents.Agent, history: agents.History) -> bool:
        """Evaluates the agent at intervals that double at first, and returns False to stop its training."""
        nonlocal next_evaluation, is_done, start
        episodes = earlier_episodes + len(history.lengths)
        timesteps = earlier_timesteps + int(history.lengths.sum())
        is_done = args.mastery is None and timesteps >= args.total_timesteps
        if is_done or episodes >= next_evaluation:
            seconds = time.perf_counter() - start
            expert = evaluation.mastery(rules, agent).expert
            rows.append({"timesteps": timesteps, "seconds": seconds, "expert": expert})
            is_done |= args.mastery is not None and expert >= min(args.mastery, 1)
            next_evaluation = episodes + min(episodes, 3 * rules.n_positions)
            start = time.perf_counter() - seconds  # does not count the time of the evaluation
        return not is_done

    # without --mastery there is one call, since evaluate stops it before so many episodes have ended
    episodes_per_call = EPISODES_PER_CALL if args.mastery else args.total_timesteps
    for call_seed in itertools.count(seed):
        history = agents.train(agent, env, episodes_per_call, seed=call_seed, callback=evaluate)
        if is_done:
            break
        earlier_episodes += len(history.lengths)
        earlier_timesteps += int(history.lengths.sum())

    rows[-1] |= evaluation.report(rules, agent, player_of(agent, rules).state_values).to_dict()
    heaps = "-".join(map(str, rules.heaps))
    return pd.DataFrame(rows).assign(learner=learner, heaps=heaps, n_heaps=rules.n_heaps, seed=seed)


def draw_boards(last: pd.DataFrame, random_play: pd.Series) -> Figure:
    """Draws the final expert mastery by the number of heaps, as the mean and range over the seeds."""
    figure, axis = plt.subplots(layout="constrained")
    for learner, runs in last.groupby("learner", sort=False):
        style = {"errorbar": ("pi", 100), "marker": "o", "legend": False}
        sns.lineplot(runs, x="n_heaps", y="expert", label=learner, ax=axis, **style)
    axis.plot(random_play.sort_index(), ":", color=COLORS["muted"], label="random play")
    axis.set(title="Tabular agents after the same number of training moves on each board")
    axis.set(ylabel="expert mastery", xticks=random_play.index, ylim=(-0.03, 1.02))
    axis.set_xlabel(f"number of heaps, the first of {last['heaps'].max()} (mean and range over the seeds)")
    axis.yaxis.set_major_formatter("{x:.0%}")
    label_lines(figure)
    return figure


def draw_curves(table: pd.DataFrame) -> Figure:
    """Draws expert mastery during training, with a panel for each learner and a line for each run."""
    table = table.rename(columns={"expert": "expert mastery"})
    grid = sns.FacetGrid(table, col="learner", hue="heaps", height=3.4, aspect=2.1 / table["learner"].nunique())
    style = {"units": "seed", "estimator": None, "legend": False}
    grid.map_dataframe(sns.lineplot, "timesteps", "expert mastery", **style)
    grid.set(xscale="log", ylim=(0, 1.02)).set_titles("{col_name}")
    grid.figure.suptitle("Tabular agents during training", size="medium", x=0.01, ha="left")
    label_lines(grid.figure)
    return grid.figure


if __name__ == "__main__":
    run(main, Args)
