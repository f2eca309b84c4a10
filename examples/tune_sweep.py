"""A sweep over the learning rate, discount and exploration of the tabular agents, with Ray Tune.

Each trial samples the three hyperparameters and trains several agents with them by self-play, one for each seed.
At intervals the agents are evaluated exactly, over all positions, and their mean expert mastery is reported: the
fraction of winning positions in which a winning move is played (Zhou and Riis 2022, arXiv:2205.12787). The
scheduler ASHA (Li et al., 2020, arXiv:1810.05934) stops poor trials early.

Trials run on this machine or on the Ray cluster that --address names. The cluster gets the packages nim_env and
agents, and all machines share --folder, where each trial saves a checkpoint at each report. --resume, with the
other options as before, continues an interrupted sweep and retries failed trials.

--seed fixes the sampled hyperparameters, the same for both learners, and the training of each trial. Which trials
are stopped also depends on the order of their reports. The best trials are chosen on the seeds that they are
reported for, so their figures are optimistic.

Install: pip install -e ".[examples,rllib]"
"""

from __future__ import annotations

import itertools
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import ray
import seaborn as sns
from matplotlib.figure import Figure
from ray import tune
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search import BasicVariantGenerator

import agents
import nim_env
from nim_env import NimRules, evaluation

from common import run, save_figure

os.environ.setdefault("TUNE_GLOBAL_CHECKPOINT_S", "0")  # the state of the sweep is saved at each report

LEARNERS = ("q-learning", "minimax-q")
SEARCH_SPACE = {
    "learning_rate": tune.loguniform(0.01, 1.0),
    "gamma": tune.uniform(0.5, 1.0),
    "epsilon": tune.loguniform(0.01, 1.0),
}


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    trials: int = 27
    """The number of trials of each learner."""
    episodes: int = 27_000
    """The number of training games of each agent, unless its trial is stopped."""
    n_evals: int = 27
    """The number of evaluations, evenly over the games."""
    grace_period: int = 1
    """The number of evaluations before a trial may be stopped, then 3 times, 9 times as many, and so on."""
    n_seeds: int = 3
    """The number of agents in each trial, with seeds from --seed on, the same in every trial."""
    seed: int = 0
    """Random seed, of the first agent and of the sampled hyperparameters."""
    address: str = "local"
    """The address of a Ray cluster: local to start Ray on this machine, or host:port or auto to connect to one."""
    resume: bool = False
    """Continue the sweep in the folder."""
    folder: Path = Path("results/tune_sweep")
    """Where the trials, the table (.csv) and the figure (.svg) are saved; on a cluster a folder that all share."""


def main(args: Args) -> pd.DataFrame:
    """Runs a sweep for each learner and returns a row for each trial."""
    rules = NimRules(args.heaps, args.max_take, args.misere)
    evaluation.mastery(rules, "random")  # refuses a game that is too large
    if args.resume != (args.folder / "trials").exists():
        hint = "there is no sweep" if args.resume else "another sweep; give --resume or another --folder"
        raise ValueError(f"{args.folder}: {hint}")
    packages = None if args.address == "local" else {"py_modules": [nim_env, agents]}
    quiet = {"log_to_driver": False, "logging_level": "ERROR", "ignore_reinit_error": True}
    ray.init(args.address, runtime_env=packages, **quiet)
    grids = {}
    for learner in LEARNERS:
        grids[learner] = make_tuner(args, learner).fit()
        if not all(result.error or result.metrics.get("done") for result in grids[learner]):
            raise KeyboardInterrupt  # at Ctrl-C Tune saves the sweep and returns
        if grids[learner].errors:
            raise grids[learner].errors[0]
    table = make_table(args, grids)
    print("The best trials: expert mastery, mean and worst over the seeds")
    print(table.groupby("learner").head(5).to_string(index=False, float_format="{:.3f}".format))
    print(f"{len(table)} trials, {table['stopped'].sum()} stopped early")
    table.to_csv(args.folder / "tune_sweep.csv", index=False)
    print(f"table: {args.folder / 'tune_sweep.csv'}")
    save_figure(draw(table), args.folder / "tune_sweep.svg")
    return table


def make_tuner(args: Args, learner: str) -> tune.Tuner:
    """The sweep of one learner, or what is left of an interrupted one."""
    path = args.folder.absolute() / "trials" / learner
    trainable = tune.with_parameters(train_agents, args=args, learner=learner)
    if tune.Tuner.can_restore(str(path)):
        return tune.Tuner.restore(str(path), trainable, resume_errored=True)
    return tune.Tuner(
        trainable,
        param_space=SEARCH_SPACE,
        tune_config=tune.TuneConfig(
            metric="expert",
            mode="max",
            num_samples=args.trials,
            search_alg=BasicVariantGenerator(random_state=args.seed),
            scheduler=ASHAScheduler(max_t=args.n_evals, grace_period=args.grace_period, reduction_factor=3),
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(
            name=learner,
            storage_path=str(path.parent),
            failure_config=tune.FailureConfig(max_failures=3),
            verbose=1,
        ),
    )


def train_agents(config: dict[str, float], args: Args, learner: str) -> None:
    """The trainable: trains one agent for each seed and reports after every part of the episodes."""
    rules = NimRules(args.heaps, args.max_take, args.misere)
    env = gym.make_vec("nim_env:Nim-v0", num_envs=64, opponent=None, **asdict(rules))
    seeds = range(args.seed, args.seed + args.n_seeds)
    spaces = env.single_observation_space, env.single_action_space
    learners = [agents.ALGORITHMS[learner](*spaces, seed=seed, **config) for seed in seeds]
    n_done = 0
    if checkpoint := tune.get_checkpoint():
        n_done = checkpoint.get_metadata()["n_done"]
        with checkpoint.as_directory() as folder:
            learners = [agents.load(Path(folder) / f"seed_{seed}.agent") for seed in seeds]
    ends = np.linspace(0, args.episodes, args.n_evals + 1).round().astype(int).tolist()
    for part in range(n_done, args.n_evals):
        for agent, seed in zip(learners, seeds, strict=True):
            part_seed = int(np.random.SeedSequence((seed, part)).generate_state(1)[0])
            agents.train(agent, env, ends[part + 1] - ends[part], seed=part_seed)
        expert = [evaluation.mastery(rules, agent).expert for agent in learners]
        metrics = {"episodes": ends[part + 1], "expert": float(np.mean(expert)), "worst": min(expert)}
        with tempfile.TemporaryDirectory() as folder:
            for agent, seed in zip(learners, seeds, strict=True):
                agent.save(Path(folder) / f"seed_{seed}.agent")
            checkpoint = tune.Checkpoint.from_directory(folder)
            checkpoint.set_metadata({"n_done": part + 1})
            tune.report(metrics, checkpoint=checkpoint)


def make_table(args: Args, grids: dict[str, tune.ResultGrid]) -> pd.DataFrame:
    """A row for each trial, sorted by learner; full trials come before stopped ones, then the best first."""
    table = pd.concat([grid.get_dataframe().assign(learner=learner) for learner, grid in grids.items()])
    table = table.rename(columns={f"config/{name}": name for name in SEARCH_SPACE})
    table = table[["learner", *SEARCH_SPACE, "episodes", "expert", "worst"]]
    table["stopped"] = table["episodes"] < args.episodes
    return table.sort_values(["learner", "stopped", "expert"], ascending=[True, True, False])


def draw(table: pd.DataFrame) -> Figure:
    """The best trial of each learner with a learning rate in each of four intervals."""
    edges = np.geomspace(0.01, 1, 5)
    names = [f"{low:.2g} to {high:.2g}" for low, high in itertools.pairwise(edges)]
    rates = pd.cut(table["learning_rate"], edges, labels=names)
    trials = table.assign(mastery=100 * table["expert"], rate=rates)
    best = trials.groupby(["learner", "rate"], observed=True)["mastery"].max().groupby("learner")
    ranges = [f"{learner} {column.min():.1f} to {column.max():.1f} %" for learner, column in best]
    figure, axis = plt.subplots(layout="constrained")
    style = {"estimator": "max", "errorbar": None, "saturation": 1, "hue": "learner", "ax": axis}
    sns.barplot(trials, x="rate", y="mastery", **style)
    for bars in axis.containers:
        axis.bar_label(bars, fmt="{:.1f}")
    axis.set(
        title=f"Expert mastery of the best trials across learning rates: {', '.join(ranges)}",
        xlabel="learning rate",
        ylabel="expert mastery of the best trial (%)",
    )
    axis.grid(visible=False)
    sns.move_legend(axis, "upper left", bbox_to_anchor=(1, 1), title="")
    return figure


if __name__ == "__main__":
    run(main, Args)
