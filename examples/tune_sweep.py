"""Sweeps over the learning rate, discount and exploration of the tabular agents with Ray Tune.

Each trial trains three agents by self-play and reports their mean expert mastery at intervals. The scheduler ASHA
(Li et al. 2020, arXiv:1810.05934) stops poor trials early. Which trials it stops also depends on the order in
which the reports arrive.

    python examples/tune_sweep.py

The script prints the five best trials of each learner, saves all trials as a table, and draws expert mastery
against the learning rate. The same command resumes an interrupted sweep.

Install: pip install -e ".[examples,rllib]"
"""

import os
from dataclasses import dataclass
from pathlib import Path

import install_hint  # noqa: F401  says what to install if a package is missing

import gymnasium as gym
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from ray import tune

import agents
from nim_env import NimRules, evaluation

from command_line import run
from common import percent, save_figure

HYPERPARAMETERS = {
    "learning_rate": tune.loguniform(0.01, 1.0),
    "gamma": tune.uniform(0.5, 1.0),
    "epsilon": tune.loguniform(0.01, 1.0),
}
N_REPORTS = 27  # the number of reports of a trial that is not stopped
os.environ["TUNE_DISABLE_SIGINT_HANDLER"] = "1"  # otherwise Ctrl-C would end only the trials of one learner


@dataclass
class Args:
    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes, in misère play."""
    trials: int = 27
    """The number of trials for each learner."""
    episodes: int = 1000
    """The number of training games of each agent between two reports. A trial makes at most 27 reports."""
    seed: int = 0
    """Random seed of the hyperparameters, and of the first of the three agents in every trial."""
    folder: Path = Path("results/tune_sweep")
    """Where Tune's files, the table (.csv) and the figure (.svg) are saved. With the same options, an interrupted
    sweep in this folder is resumed."""


def main(args: Args) -> pd.DataFrame:
    """Runs a sweep for each learner; returns a row for each trial, with the longest and best trials first."""
    evaluation.mastery(NimRules(args.heaps), "random")  # raises an error for wrong heaps before Ray starts
    table = pd.concat([sweep(args, learner) for learner in ("q-learning", "minimax-q")])
    table = table.sort_values(["learner", "episodes", "expert"], ascending=[True, False, False])
    print(table.groupby("learner").head(5).to_string(index=False))
    table.to_csv(args.folder / "tune_sweep.csv", index=False)
    figure, axis = plt.subplots(layout="constrained")
    sns.scatterplot(table, x="learning_rate", y="expert", hue="learner", size="episodes", ax=axis)
    axis.set(title=f"Expert mastery when each trial ended: up to {percent(table['expert'].max())} %")
    axis.set(xlabel="learning rate", xscale="log", ylabel="expert mastery")
    sns.move_legend(axis, "upper left", bbox_to_anchor=(1, 1))
    save_figure(figure, args.folder / "tune_sweep.svg")
    return table


def sweep(args: Args, learner: str) -> pd.DataFrame:
    """Runs a sweep, or resumes it if it is in the folder; returns each trial's hyperparameters and last report."""
    heaps = "-".join(map(str, args.heaps))
    name = f"{learner}_{heaps}_trials={args.trials}_episodes={args.episodes}_seed={args.seed}"
    path = args.folder.absolute() / name
    trainable = tune.with_parameters(train, args=args, learner=learner)
    search = tune.search.BasicVariantGenerator(random_state=args.seed)
    asha = tune.schedulers.ASHAScheduler(metric="expert", mode="max", max_t=N_REPORTS, reduction_factor=3)
    tune_config = tune.TuneConfig(num_samples=args.trials, search_alg=search, scheduler=asha, reuse_actors=True)
    failures = tune.FailureConfig(max_failures=3)  # retries of a trial, for example if its machine is lost
    run_config = tune.RunConfig(name=name, storage_path=str(path.parent), failure_config=failures, verbose=0)
    tuner = tune.Tuner(trainable, param_space=HYPERPARAMETERS, tune_config=tune_config, run_config=run_config)
    if any(path.glob("experiment_state-*.json")):  # Tuner.can_restore is True even before this file exists
        tuner = tune.Tuner.restore(str(path), trainable, resume_errored=True)
    results = tuner.fit()
    if results.errors:
        raise results.errors[0]
    return results.get_dataframe()[["learner", *HYPERPARAMETERS, "episodes", "expert"]]


def train(config: dict[str, float], args: Args, learner: str) -> None:
    """Trains three agents by self-play and reports their mean expert mastery at intervals (Tune's trainable)."""
    env = gym.make_vec("nim_env:Nim-v0", num_envs=64, opponent=None, heaps=args.heaps)
    spaces = env.single_observation_space, env.single_action_space
    learners = [agents.ALGORITHMS[learner](*spaces, seed=args.seed + n, **config) for n in range(3)]
    for report in range(N_REPORTS):
        for agent in learners:
            agents.train(agent, env, args.episodes, seed=args.seed)
        expert = sum(evaluation.mastery(NimRules(args.heaps), agent).expert for agent in learners) / 3
        tune.report({"learner": learner, **config, "episodes": args.episodes * (report + 1), "expert": expert})


if __name__ == "__main__":
    run(main, Args)
