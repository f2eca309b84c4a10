"""A sweep over the learning rate, discount and exploration of the tabular agents, with Ray Tune.

Each trial samples the three hyperparameters and trains several agents with them by self-play, one for each seed.
At intervals the agents are evaluated exactly, over all positions, and their mean expert mastery is reported: the
fraction of winning positions in which a winning move is played (Zhou and Riis 2022, arXiv:2205.12787). The
scheduler ASHA (Li et al., 2020, arXiv:1810.05934) stops poor trials early. Trials run on this machine or on the
Ray cluster that --address names. --resume continues an interrupted sweep and retries failed trials.

--seed fixes the sampled hyperparameters, the same for both learners, and the training of each trial. Which trials
are stopped also depends on the order of their reports. The best trials are chosen on the seeds that they are
reported for, so their figures are optimistic.

Install: pip install -e ".[examples,rllib]"
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

os.environ.setdefault("TUNE_DISABLE_SIGINT_HANDLER", "1")  # Ctrl-C ends the script
os.environ.setdefault("TUNE_GLOBAL_CHECKPOINT_S", "0")  # the state of the sweep is saved at each report

from common import (
    COLORS,
    PositiveInt,
    Seed,
    check_output,
    check_resume,
    checking_args,
    percent,
    replacing,
    run,
    save_figure,
)

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import ray
from ray import tune
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search import BasicVariantGenerator

import agents
import nim_env
from nim_env import NimRules, evaluation, solver

SEARCH_SPACE = {
    "learning_rate": tune.loguniform(0.01, 1.0),
    "gamma": tune.uniform(0.5, 1.0),
    "epsilon": tune.loguniform(0.01, 1.0),
}
NOT_RESUMED = ("address", "resume", "folder")
LABELS = {"learning_rate": "learning rate", "gamma": "discount γ", "epsilon": "exploration ε"}


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    learners: tuple[Literal["q-learning", "minimax-q"], ...] = ("q-learning", "minimax-q")
    """The learners; each has its own sweep."""
    trials: PositiveInt = 27
    """The number of trials of each learner."""
    episodes: PositiveInt = 27_000
    """The number of training games of each agent, unless its trial is stopped."""
    n_evals: PositiveInt = 27
    """The number of evaluations, evenly over the games."""
    grace_period: PositiveInt = 1
    """The number of evaluations before a trial may be stopped, then 3 times, 9 times as many, and so on."""
    n_seeds: PositiveInt = 3
    """The number of agents in each trial, with seeds from --seed on, the same in every trial."""
    seed: Seed = 0
    """Random seed, of the first agent and of the sampled hyperparameters."""
    max_concurrent: int = 0
    """The maximum number of trials at the same time; 0 for one per core."""
    address: str = "local"
    """The address of a Ray cluster: local to start Ray on this machine, or host:port or auto to connect to one."""
    resume: bool = False
    """Continue the sweep in the folder; other options than --address are ignored."""
    folder: Path = Path("results/tune_sweep")
    """Where the trials, the table (.csv) and the figure (.png) are saved; on a cluster a folder that all share."""


def main(args: Args) -> pd.DataFrame:
    """Runs the sweep and returns a row for each trial."""
    args_file = args.folder / "args.json"
    check_resume(args.resume, args.folder, args_file.exists())
    if args.resume:
        args = replace(args, **json.loads(args_file.read_text()))
    with checking_args():
        rules = NimRules(args.heaps, args.max_take, args.misere)
        solver.iter_positions(rules)  # raises if the game is too large
        if not args.learners:
            raise ValueError("--learners must name one or more")
        if not args.grace_period <= args.n_evals <= args.episodes:
            raise ValueError(
                f"--grace-period {args.grace_period} must be at most --n-evals {args.n_evals}, "
                f"and that at most --episodes {args.episodes}"
            )
    check_output("folder", args.folder / "tune_sweep.png")
    options = {name: value for name, value in asdict(args).items() if name not in NOT_RESUMED}
    args_file.write_text(json.dumps(options))
    ray.init(
        address=args.address,
        runtime_env=None if args.address == "local" else {"py_modules": [nim_env, agents]},
        ignore_reinit_error=True,
        log_to_driver=False,
        logging_level="ERROR",
    )
    results = []
    for learner in dict.fromkeys(args.learners):
        path = args.folder.absolute() / "trials" / learner
        is_started = args.resume and any(path.glob("experiment_state-*.json"))
        grid = (restore_tuner(path) if is_started else make_tuner(args, learner)).fit()
        if grid.errors:
            raise grid.errors[0]
        results.extend(grid)
    table = make_table(results)
    print("The best trials: expert mastery, mean and worst over the seeds")
    print(
        table.groupby("learner").head(5).drop(columns="trial").to_string(index=False, float_format="{:.3f}".format)
    )
    print(f"{len(table)} trials, {table['stopped'].sum()} stopped early")
    with replacing(args.folder / "tune_sweep.csv") as file:
        table.to_csv(file, index=False)
    print(f"table: {args.folder / 'tune_sweep.csv'}")
    save_figure(draw(args, rules, table, results), args.folder / "tune_sweep.png")
    return table


# --- A trial --------------------------------------------------------------------------------------


def train_agents(config: dict[str, Any]) -> None:
    """The trainable: trains one agent for each seed and reports after every part of the episodes."""
    rules = NimRules(config["heaps"], config["max_take"], config["misere"])
    env = gym.make_vec("nim_env:Nim-v0", num_envs=64, opponent=None, **asdict(rules))
    seeds = range(config["seed"], config["seed"] + config["n_seeds"])
    hyperparameters = {name: config[name] for name in SEARCH_SPACE}
    learners = [
        agents.ALGORITHMS[config["learner"]](
            env.single_observation_space, env.single_action_space, seed=seed, **hyperparameters
        )
        for seed in seeds
    ]
    n_done = 0
    if checkpoint := tune.get_checkpoint():
        n_done = checkpoint.get_metadata()["n_done"]
        with checkpoint.as_directory() as folder:
            learners = [agents.load(Path(folder) / f"seed_{seed}.agent") for seed in seeds]
    ends = np.linspace(0, config["episodes"], config["n_evals"] + 1).round().astype(int).tolist()
    for part in range(n_done, config["n_evals"]):
        for agent, seed in zip(learners, seeds, strict=True):
            part_seed = int(np.random.SeedSequence((seed, part)).generate_state(1)[0])
            agents.train(agent, env, ends[part + 1] - ends[part], seed=part_seed)
        mastery = [evaluation.mastery(rules, agent) for agent in learners]
        metrics = {
            "episodes": ends[part + 1],
            "expert": float(np.mean([found.expert for found in mastery])),
            "worst": min(found.expert for found in mastery),
            "champions": sum(found.champion for found in mastery),
            "exploitability": float(np.mean([evaluation.exploitability(rules, agent) for agent in learners])),
        }
        with tempfile.TemporaryDirectory() as folder:
            for agent, seed in zip(learners, seeds, strict=True):
                agent.save(Path(folder) / f"seed_{seed}.agent")
            checkpoint = tune.Checkpoint.from_directory(folder)
            checkpoint.set_metadata({"n_done": part + 1})
            tune.report(metrics, checkpoint=checkpoint)


# --- The sweep ------------------------------------------------------------------------------------


class PrintCallback(tune.Callback):
    """Prints a line at the end of each trial."""

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:  # noqa: ARG002
        config, result = trial.config, trial.last_result
        hyperparameters = ", ".join(f"{label} {config[name]:.3f}" for name, label in LABELS.items())
        print(
            f"{config['learner']}, {hyperparameters}: expert mastery {percent(result['expert'])} % "
            f"after {result['episodes']:,} episodes",
            flush=True,
        )


def make_tuner(args: Args, learner: str) -> tune.Tuner:
    """The sweep of one learner."""
    names = ("max_take", "misere", "episodes", "n_evals", "seed", "n_seeds")
    fixed = {"learner": learner, "heaps": list(args.heaps)} | {name: getattr(args, name) for name in names}
    return tune.Tuner(
        train_agents,
        param_space=SEARCH_SPACE | fixed,
        tune_config=tune.TuneConfig(
            metric="expert",
            mode="max",
            num_samples=args.trials,
            search_alg=BasicVariantGenerator(max_concurrent=args.max_concurrent, random_state=args.seed),
            scheduler=ASHAScheduler(max_t=args.n_evals, grace_period=args.grace_period, reduction_factor=3),
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(
            name=learner,
            storage_path=str(args.folder.absolute() / "trials"),
            failure_config=tune.FailureConfig(max_failures=3),
            callbacks=[PrintCallback()],
            verbose=0,
        ),
    )


def restore_tuner(path: Path) -> tune.Tuner:
    """An interrupted sweep of one learner."""
    with checking_args(Exception, f"--resume: {path} is damaged: "):
        tune.ExperimentAnalysis(str(path))  # raises if the state is damaged; Tuner.restore would start anew
        return tune.Tuner.restore(str(path), train_agents, resume_errored=True)


# --- Results --------------------------------------------------------------------------------------


def make_table(results: list[tune.Result]) -> pd.DataFrame:
    """A row for each trial, sorted by learner; full trials come before stopped ones, then the best first."""
    rows = [
        {name: result.config[name] for name in ("learner", *SEARCH_SPACE)}
        | {name: result.metrics[name] for name in ("episodes", "expert", "worst", "champions", "exploitability")}
        | {"stopped": result.metrics["episodes"] < result.config["episodes"], "trial": result.metrics["trial_id"]}
        for result in results
    ]
    return pd.DataFrame(rows).sort_values(["learner", "stopped", "expert"], ascending=[True, True, False])


def draw(args: Args, rules: NimRules, table: pd.DataFrame, results: list[tune.Result]) -> plt.Figure:
    """Mastery against each hyperparameter and against games, a row for each learner; stopped trials are gray."""
    learners = sorted(table["learner"].unique())
    size = 16, 4 * len(learners) + 0.5
    figure, axes = plt.subplots(len(learners), 4, figsize=size, sharey=True, squeeze=False, layout="constrained")
    for row, learner in zip(axes, learners, strict=True):
        for axis, (name, label) in zip(row, LABELS.items(), strict=False):
            for stopped, trials in table[table["learner"] == learner].groupby("stopped"):
                sizes = 12 + 60 * trials["episodes"] / args.episodes
                axis.scatter(trials[name], trials["expert"], sizes, color=color_of(stopped), zorder=3 - stopped)
            axis.set(xlabel=label, xscale="linear" if name == "gamma" else "log")
        for result in results:
            if result.config["learner"] == learner:
                stopped = result.metrics["episodes"] < args.episodes
                curve = result.metrics_dataframe
                row[3].plot(curve["episodes"], curve["expert"], color=color_of(stopped), zorder=3 - stopped)
        row[3].set_xlabel("training games of each agent")
        row[3].xaxis.set_major_formatter("{x:,.0f}")
        row[0].set(ylabel=f"{learner}\nexpert mastery, mean over seeds", ylim=(-0.02, 1.04))
    figure.suptitle(
        f"{rules}: {len(table)} trials, {args.n_seeds} seeds each\n"
        f"blue: all {args.episodes:,} games; gray: stopped early (the smaller, the earlier)"
    )
    return figure


def color_of(stopped: bool) -> str:
    """The color of a trial."""
    return "#b9b2a5" if stopped else COLORS["player_1"]


if __name__ == "__main__":
    run(main, Args)
