"""How well tables and networks play as heaps are added.

Each run trains one learner on one board with one seed, from random starts, and evaluates it exactly: expert
mastery is the fraction of winning positions in which it plays a winning move (Zhou and Riis 2022,
arXiv:2205.12787), exploitability what a best response gains over perfect play. q-learning and minimax-q are
tables; MaskablePPO, PPO and DQN are the networks of sb3_self_play.py.

    python examples/scaling_study.py
    python examples/scaling_study.py --learners minimax-q --n-heaps 5 6 7 --n-seeds 1 --mastery 1

The second command trains minimax-Q until it makes no mistake. joblib spreads the runs over all cores. Finished
runs are cached in --folder, so the same command continues after an interruption; delete the folder after a change.

Install: pip install -e ".[examples]"; for networks pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from tqdm import tqdm

import agents
from nim_env import NimRules, evaluation, solver

from common import COLORS, percent, run, save_figure, values_of

TABLES: dict[str, dict[str, Any]] = {
    "q-learning": {"learning_rate": 0.5, "epsilon": 0.1},
    "minimax-q": {"learning_rate": 1.0, "epsilon": 0.1},  # a value stays 0 until it is proven to be 1 or -1
}
Learner = Literal["q-learning", "minimax-q", "MaskablePPO", "PPO", "DQN"]
AGAINST_OPPONENT = {"num_envs": 64, "n_steps": 64, "batch_size": 512, "ent_coef": 0.3}  # of networks
EPISODES_PER_RUN = 500_000  # with --mastery; limits the memory that the history takes


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7, 9, 11, 13)
    """Starting heap sizes of the largest board."""
    n_heaps: tuple[int, ...] = (2, 3, 4, 5, 6, 7)
    """The boards: each consists of this many of the first heaps."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    learners: tuple[Learner, ...] = ("q-learning", "minimax-q")
    """The learners."""
    observation: tuple[Literal["heaps", "one_hot", "bits", "unary"], ...] = ("one_hot",)
    """The encodings of the heap sizes in the observation of networks."""
    opponent: str = "self-play"
    """The opponent in training: self-play, random, take-N or expert."""
    total_timesteps: int = 3_000_000
    """The number of training timesteps of each run. On a single board a network is evaluated 20 times."""
    mastery: float | None = None
    """The expert mastery at which the training of a table ends, instead of --total-timesteps."""
    n_seeds: int = 5
    """The number of seeds, from --seed on."""
    seed: int = 0
    """Random seed, the first one."""
    n_jobs: int = -1
    """The number of runs at the same time; -1 for one per core."""
    folder: Path = Path("results/scaling_study")
    """Where the cached runs, the table, the figures and TensorBoard's logs are saved."""


def main(args: Args) -> pd.DataFrame:
    """Trains and evaluates all learners and returns a row for each evaluation."""
    if not all(1 <= n <= len(args.heaps) for n in args.n_heaps):
        raise ValueError(f"--n-heaps must be 1 to {len(args.heaps)}, the number of heaps; got {args.n_heaps}")
    boards = [NimRules(args.heaps[:n], misere=args.misere) for n in sorted(args.n_heaps, reverse=True)]
    solver.iter_positions(boards[0])  # refuses a board that is too large for exact evaluation
    cached = joblib.Memory(args.folder / "cache", verbose=0).cache(train, ignore=["folder"])
    options = {"opponent": args.opponent, "total_timesteps": args.total_timesteps}
    options["eval_interval"] = args.total_timesteps // 20 if len(boards) == 1 else 2 * args.total_timesteps
    calls = [
        joblib.delayed(cached)(rules, learner, observation, seed, args.mastery, options, args.folder)
        for rules in boards  # the longest runs first
        for learner in args.learners
        for observation in (["heaps"] if learner in TABLES else args.observation)
        for seed in range(args.seed, args.seed + args.n_seeds)
    ]
    tables = joblib.Parallel(args.n_jobs, return_as="generator")(calls)
    table = pd.concat(tqdm(tables, total=len(calls), desc="runs", disable=None), ignore_index=True)
    table.to_csv(args.folder / "scaling_study.csv", index=False)
    last = table.groupby(["heaps", "name", "seed"], sort=False).tail(1)
    metrics = last.astype({"champion": float}).groupby(["heaps", "name"], sort=False)
    print(metrics[["expert", "champion", "exploitability", "timesteps"]].mean().round(4).to_string())
    print(f"(means over the seeds, at the end) table: {args.folder / 'scaling_study.csv'}")
    if len(boards) > 1:
        random_play = {rules.n_heaps: evaluation.mastery(rules, "random").expert for rules in boards}
        save_figure(draw_boards(last, pd.Series(random_play)), args.folder / "scaling_study.svg")
    save_figure(draw_curves(table), args.folder / "learning_curves.svg")
    return table


def draw_boards(last: pd.DataFrame, random_play: pd.Series) -> Figure:
    """Expert mastery at the end, against the number of heaps, as mean and range over the seeds."""
    n_heaps = random_play.index.max()
    best = last[last["n_heaps"] == n_heaps].groupby("name")["expert"].mean().sort_values()
    figure, axis = plt.subplots(layout="constrained")
    style = {"hue": "name", "style": "name", "markers": True, "dashes": False, "errorbar": ("pi", 100)}
    sns.lineplot(last, x="n_heaps", y="expert", ax=axis, **style)
    axis.plot(random_play, ":", color=COLORS["muted"], label="random play")
    axis.set(
        title=f"With {n_heaps} heaps the best, {best.index[-1]}, reaches {percent(best.iloc[-1])} % "
        f"expert mastery; random play has {percent(random_play[n_heaps])} %",
        xlabel=f"number of heaps, the first of {last['heaps'].max()} (mean and range over the seeds)",
        ylabel="expert mastery",
        xticks=random_play.index,
        ylim=(0, 1.02),
    )
    axis.yaxis.set_major_formatter("{x:.0%}")
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def draw_curves(table: pd.DataFrame) -> Figure:
    """Expert mastery during training, and the fraction of illegal actions where there are any."""
    one_board = table["heaps"].nunique() == 1
    labels = {"expert": "expert mastery", "illegal": "illegal actions"}
    metrics = [name for name in labels if name in table and table[name].any()]
    groups = [("", table)] if one_board else list(table.groupby("name", sort=False))
    panels = [(name, rows, metric) for name, rows in groups for metric in metrics]
    figure, axes = plt.subplots(1, len(panels), figsize=(7.4, 3.2), squeeze=False, layout="constrained")
    hue = "name" if one_board else "heaps"
    style = {"hue": hue, "units": "seed", "estimator": None, "hue_order": table[hue].unique()}
    for axis, (name, rows, metric) in zip(axes.flat, panels, strict=True):
        sns.lineplot(rows, x="timesteps", y=metric, ax=axis, **style)
        axis.set(xlabel="timesteps", ylabel=labels[metric], title=name, ylim=(0, 1.02))
        if table["timesteps"].all():
            axis.set_xscale("log")
        else:  # networks have a row for timestep 0
            axis.locator_params(axis="x", nbins=4)
            axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.yaxis.set_major_formatter("{x:.0%}")
        handles = axis.get_legend_handles_labels()
        axis.get_legend().remove()
    figure.legend(*handles, loc="outside lower center", ncols=3)
    last = table.groupby(["heaps", "name", "seed"], sort=False).tail(1)
    ends = last.groupby("name" if one_board else ["name", "heaps"])[["expert", "timesteps"]].mean()
    ends = ends.sort_values(["expert", "timesteps"], ascending=[True, False])
    names = ends.index if one_board else ends.index.map(" on ".join)
    title = f"{names[0]} ends at {percent(ends['expert'].iloc[0])} % expert mastery"
    title += f" after {ends['timesteps'].iloc[0]:,.0f} timesteps"
    if ends["expert"].nunique() > 1:
        title += f", {names[-1]} at {percent(ends['expert'].iloc[-1])} %"
    if "illegal" in metrics:
        illegal = table.groupby("name", sort=False)["illegal"].max()
        parts = [f"{name} {percent(fraction, 0)} %" for name, fraction in illegal.items()]
        title += f"\nillegal actions at most: {'; '.join(parts)}"
    figure.suptitle(title, size="medium", x=0.01, ha="left")
    return figure


def train(
    rules: NimRules, learner: str, observation: str, seed: int, mastery: float | None, options: Any, folder: Path
) -> pd.DataFrame:
    """Trains a learner; returns a row for each evaluation."""
    run = {"heaps": "-".join(map(str, rules.heaps)), "n_heaps": rules.n_heaps, "seed": seed}
    if learner not in TABLES:
        own = {"algorithm": learner, "observation": observation, "seed": seed, "folder": folder}
        return train_network(asdict(rules) | own | options).assign(name=f"{learner}, {observation}", **run)
    opponent = None if options["opponent"] == "self-play" else options["opponent"]
    env_options = {"random_start": True, "opponent": opponent, **asdict(rules)}
    env = gym.make_vec("nim_env:Nim-v0", num_envs=256 if mastery is None else 4096, **env_options)
    spaces = env.single_observation_space, env.single_action_space
    agent = agents.ALGORITHMS[learner](*spaces, seed=seed, **TABLES[learner])
    callback = EvaluationCallback(rules, options["total_timesteps"], mastery)
    episodes = (
        options["total_timesteps"] if mastery is None else EPISODES_PER_RUN
    )  # the callback ends the training
    while not callback.is_done:
        callback.n_seen = 0
        agents.train(agent, env, episodes, seed=seed, callback=callback)
        seed += 1
    return pd.DataFrame(callback.rows).assign(name=learner, **run)


@dataclass
class EvaluationCallback:
    """Evaluates an agent at intervals that double at first, and ends its training."""

    rules: NimRules
    total_timesteps: int
    mastery: float | None  # instead of total_timesteps
    rows: list[dict[str, Any]] = field(default_factory=list)
    n_seen: int = 0  # episodes of the present call of agents.train
    episodes: int = 0
    timesteps: int = 0
    next_evaluation: int = 0
    start: float = field(default_factory=time.perf_counter)
    is_done: bool = False

    def __call__(self, agent: agents.Agent, history: agents.History) -> bool:
        ended = history.lengths[self.n_seen :]
        self.n_seen += len(ended)
        self.episodes += len(ended)
        self.timesteps += int(ended.sum())
        self.is_done = self.mastery is None and self.timesteps >= self.total_timesteps
        if self.is_done or self.episodes >= max(self.next_evaluation, self.rules.n_positions // 10):
            seconds = time.perf_counter() - self.start
            metrics = {"expert": evaluation.mastery(self.rules, agent).expert}
            self.is_done |= self.mastery is not None and metrics["expert"] >= min(self.mastery, 1)
            if self.is_done:
                metrics = evaluation.report(self.rules, agent, values_of(agent, self.rules)).to_dict()
            self.rows.append({"timesteps": self.timesteps, "seconds": seconds, **metrics})
            self.next_evaluation = self.episodes + min(self.episodes, 3 * self.rules.n_positions)
            self.start = time.perf_counter() - seconds  # leaves the evaluation out
        return not self.is_done


def train_network(options: dict[str, Any]) -> pd.DataFrame:
    """Trains a network with the code of sb3_self_play.py; returns its evaluations."""
    import torch  # here, since tables need no PyTorch
    from stable_baselines3.common.callbacks import ConvertCallback

    import sb3_self_play

    torch.set_num_threads(1)  # there is one run per core
    args = sb3_self_play.Args(**options, **({} if options["opponent"] == "self-play" else AGAINST_OPPONENT))
    illegal: list[float] = []  # the fraction in each step of the vector environment

    def count(step: dict[str, Any], _: Any) -> bool:
        illegal.append(np.mean([info["illegal_action"] for info in step["infos"]]))
        return True

    model = sb3_self_play.make_model(args)
    table = sb3_self_play.train(args, model, [ConvertCallback(count)])
    next_evaluation = table["timesteps"].searchsorted(args.num_envs * np.arange(1, len(illegal) + 1))
    return table.assign(illegal=pd.Series(illegal).groupby(next_evaluation).mean())


if __name__ == "__main__":
    run(main, Args)
