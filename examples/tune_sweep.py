"""Which learning rate, discount and exploration suit the tabular Q-learners? A sweep on Ray Tune.

Every trial draws the three and teaches several agents with them, one for each seed, by self-play; what counts is
their mean expert mastery, held against the exact answer after every part of the games. A scheduler (asynchronous
successive halving, Li et al. 2020, arXiv:1810.05934) stops the poor trials early, so that most games go to the
good ones. Trials run on all cores of this machine, or of the Ray cluster that --address names.

A sweep that was stopped goes on with --resume: finished trials stay as they are, the others go on where they were.
What a trial learns follows from --seed alone; which are stopped follows also from the order in which they arrive.
Win counting has none of the three and is not in it.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from script import (
    check_at_least,
    check_folder,
    check_same_options,
    checking_arguments,
    fail,
    options_kept,
    run,
    save,
    save_table,
)

import cluster
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from learners import SELF_PLAY, Training, make, name_of, percent
from matplotlib.lines import Line2D
from ray import tune
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search import BasicVariantGenerator
from rich import box
from rich.console import Console
from rich.table import Table

import agents
from nim_env import NimRules, evaluation, solver

Learner = Literal["q-learning", "minimax-q"]
LEARNERS: tuple[Learner, ...] = ("q-learning", "minimax-q")
NOT_KEPT = ("address", "folder", "resume", "overwrite")
"""Options that may change when a sweep is taken up again."""
SPACE = {
    "learning_rate": tune.loguniform(0.01, 1.0),
    "gamma": tune.uniform(0.5, 1.0),
    "epsilon": tune.loguniform(0.01, 1.0),
}
NAMES = {"learning_rate": "learning rate", "gamma": "discount", "epsilon": "exploration ε"}
HALVING = 3
SHOWN = 5


@dataclass
class Arguments:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes."""
    max_take: int | None = None
    """The most objects one move may take; None for no limit."""
    misere: bool = True
    """Whether taking the last object loses."""
    learners: tuple[Learner, ...] = LEARNERS
    """Who learns."""
    trials: int = 27
    """How many draws of learning rate, discount and exploration each learner gets."""
    games: int = 27_000
    """How many games each agent plays, unless its trial is stopped."""
    parts: int = 27
    """In how many parts it plays them; it is measured, and may be stopped, between two."""
    grace: int = 1
    """How many parts every trial gets."""
    seeds: int = 3
    """How many agents each trial teaches, from --seed on."""
    seed: int = 0
    """The first seed, which also decides what the trials draw."""
    jobs: int = -1
    """How many trials at once; -1 for as many as there are cores."""
    address: str | None = None
    """A Ray cluster to join: the host:port of its head, or auto for the one on this machine; None for none."""
    resume: bool = False
    """Go on with the sweep in --folder, with its options."""
    overwrite: bool = False
    """Start anew even if --folder has another sweep, which is then lost."""
    folder: Path = Path("results/tune_sweep")
    """Where the trials are kept, and the table (.csv) and the figure (.png) are saved; of a cluster's machines one
    that all of them share."""

    @property
    def rules(self) -> NimRules:
        return NimRules(self.heaps, self.max_take, self.misere)

    @property
    def options(self) -> Path:
        return self.folder / "options.json"

    @property
    def sweeps(self) -> Path:
        return self.folder / "trials"

    def check(self) -> None:
        """Ends the script if an option makes no sense; raises what the libraries find wrong."""
        check_at_least(0, seed=self.seed)
        check_at_least(1, trials=self.trials, parts=self.parts, grace=self.grace, seeds=self.seeds)
        check_at_least(self.parts, games=self.games)
        if self.seed + self.seeds > 2**32:
            fail(f"--seed must be {2**32 - self.seeds} or less; got {self.seed}")
        if self.grace > self.parts:
            fail(f"--grace must be at most --parts, {self.parts}; got {self.grace}")
        if self.jobs < -1 or not self.jobs:
            fail(f"--jobs must be 1 or more, or -1 for all cores; got {self.jobs}")
        check_at_least(-1, jobs=self.jobs)
        if not self.learners:
            fail(f"--learners must name one or more of {', '.join(LEARNERS)}")
        solver.iter_positions(self.rules)  # what is too large is refused before anything is learnt


class Trial(tune.Trainable):
    """Agents of one learner and one setting, a seed each, taught part by part."""

    def setup(self, config: dict[str, Any]) -> None:
        self.rules = NimRules(config["heaps"], config["max_take"], config["misere"])
        self.games, parts = config["games"], config["parts"]
        self.ends = np.linspace(0, self.games, parts + 1).round().astype(int)  # of the parts, in games
        self.seeds = range(config["seed"], config["seed"] + config["seeds"])
        game = self.rules.heaps, self.rules.max_take, self.rules.misere
        setting = {name: config[name] for name in SPACE}
        self.taught = [
            make(Training(*game, self.games, seed=seed, **setting), config["learner"], SELF_PLAY)
            for seed in self.seeds
        ]

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self.setup(new_config)  # so that a process serves many trials
        return True

    def step(self) -> dict[str, Any]:
        begin, end = self.ends[self.iteration : self.iteration + 2].tolist()
        for (agent, env), seed in zip(self.taught, self.seeds, strict=True):
            drawn = np.random.SeedSequence((seed, self.iteration)).generate_state(1)  # no part like the last one
            agents.train(agent, env, end - begin, seed=int(drawn[0]))
        found = [evaluation.mastery(self.rules, agent) for agent, _ in self.taught]
        exploited = [evaluation.exploitability(self.rules, agent) for agent, _ in self.taught]
        return {
            "games": end,
            "expert": float(np.mean([one.expert for one in found])),
            "worst": min(one.expert for one in found),
            "champions": sum(one.champion for one in found),
            "exploitability": float(np.mean(exploited)),
        }

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        for (agent, _), seed in zip(self.taught, self.seeds, strict=True):
            agent.save(Path(checkpoint_dir) / f"seed_{seed}.agent")

    def load_checkpoint(self, checkpoint: str) -> None:
        self.taught = [
            (agents.load(Path(checkpoint) / f"seed_{seed}.agent"), env)
            for (_, env), seed in zip(self.taught, self.seeds, strict=True)
        ]


class Teller(tune.Callback):
    """Says how each trial ended."""

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:  # noqa: ARG002
        print(line_of(trial.config, trial.last_result), flush=True)


def line_of(config: dict[str, Any], result: dict[str, Any]) -> str:
    """A finished trial in a line."""
    setting = ", ".join(f"{NAMES[name]} {config[name]:.3f}" for name in SPACE)
    ended = "" if result["games"] == config["games"] else "stopped "
    return (
        f"{config['learner']}, {setting}: expert mastery {percent(result['expert'])} %, "
        f"{ended}after {result['games']:,} games"
    )


def main(arguments: Arguments) -> None:
    with checking_arguments():
        check_folder(arguments.folder, "tune_sweep.png")
        if arguments.resume:
            arguments = taken_up(arguments)
        arguments.check()
        check_room(arguments)
    all_cores = 1 if arguments.address else os.cpu_count() or 1  # of a cluster those that it has
    cluster.start(arguments.address, all_cores if arguments.jobs == -1 else arguments.jobs, "jobs")
    with checking_arguments():
        make_room(arguments)
    tuners = {learner: tuner_of(arguments, learner) for learner in arguments.learners}
    with cluster.saying_how_to_go_on(lambda: arguments.sweeps):
        found = [result for learner, tuner in tuners.items() for result in results_of(arguments, learner, tuner)]
    table = table_of(found)
    show(arguments, table)
    save_table(table, arguments.folder / "tune_sweep.csv")
    save(picture_of(arguments, table, found), arguments.folder / "tune_sweep.png")


def results_of(arguments: Arguments, learner: Learner, tuner: tune.Tuner) -> list[tune.Result]:
    """What the trials of a learner find."""
    found = tuner.fit()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in whose place Tune leaves its own
    if found.errors:
        how = cluster.how_to_go_on(lambda: arguments.sweeps)
        cluster.give_up(f"a trial of {learner} failed: {cluster.first_line(found.errors[0])}{how}")
    if len(finished(arguments, learner)) < arguments.trials:
        raise KeyboardInterrupt  # after which Tune keeps the sweep, and comes back as if nothing were
    return list(found)


def finished(arguments: Arguments, learner: Learner) -> list[Any]:
    """Ray Tune's trials of a learner that have come to their end, as they are kept."""
    trials = tune.ExperimentAnalysis(str(arguments.sweeps.absolute() / learner)).trials
    return [trial for trial in trials if trial.status == "TERMINATED"]


def tuner_of(arguments: Arguments, learner: Learner) -> tune.Tuner:
    """The trials of a learner, which are measured by each other: as they were left, or from their beginning."""
    path = arguments.sweeps.absolute() / learner
    if list(path.glob("experiment_state-*.json")):
        try:
            for state in path.glob("basic-variant-state-*"):
                pickle.loads(state.read_bytes())  # without which Tune would draw all trials again, and say nothing
            tuner = tune.Tuner.restore(str(path), trainable=Trial, resume_unfinished=True, resume_errored=True)
            before = len(finished(arguments, learner))
        except Exception as error:  # whatever broken files may raise
            fail(f"{path} is broken ({type(error).__name__})")
        print(f"{learner}: {before} of {arguments.trials} trials were finished before", flush=True)
        return tuner
    shutil.rmtree(path, ignore_errors=True)  # nothing of it was kept yet
    fixed = {
        "learner": learner,
        "heaps": list(arguments.heaps),  # plain values: of others Tune keeps but the place
        "max_take": arguments.max_take,
        "misere": arguments.misere,
        "games": arguments.games,
        "parts": arguments.parts,
        "seed": arguments.seed,
        "seeds": arguments.seeds,
    }
    return tune.Tuner(
        Trial,
        param_space=SPACE | fixed,
        tune_config=tune.TuneConfig(
            metric="expert",
            mode="max",
            num_samples=arguments.trials,
            search_alg=BasicVariantGenerator(max_concurrent=max(arguments.jobs, 0), random_state=arguments.seed),
            scheduler=ASHAScheduler(max_t=arguments.parts, grace_period=arguments.grace, reduction_factor=HALVING),
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(
            name=path.name,
            storage_path=str(path.parent),
            checkpoint_config=tune.CheckpointConfig(num_to_keep=3, checkpoint_frequency=1, checkpoint_at_end=True),
            failure_config=tune.FailureConfig(max_failures=3),  # a process that dies is replaced
            callbacks=[Teller()],
            verbose=0,
        ),
    )


def check_room(arguments: Arguments) -> None:
    """Ends the script if a new sweep would take the place of another."""
    if arguments.options.exists() and not (arguments.resume or arguments.overwrite):
        fail(f"{arguments.sweeps} is another sweep: give --resume, --overwrite or another --folder")
    if arguments.sweeps.exists() and not arguments.options.exists():
        fail(f"{arguments.sweeps} is there and is no sweep of this script; give another --folder")


def make_room(arguments: Arguments) -> None:
    """Makes way for a new sweep, and keeps its options."""
    if not arguments.resume:
        shutil.rmtree(arguments.sweeps, ignore_errors=True)
        arguments.folder.mkdir(parents=True, exist_ok=True)
        options = {name: value for name, value in asdict(arguments).items() if name not in NOT_KEPT}
        arguments.options.write_text(json.dumps(options))


def taken_up(arguments: Arguments) -> Arguments:
    """The options of the sweep in --folder."""
    if not arguments.options.exists():
        fail(f"--resume needs a sweep, but there is none in {arguments.folder}; start without --resume")
    try:
        kept = options_kept(arguments, json.loads(arguments.options.read_text()), NOT_KEPT)
    except (OSError, ValueError, TypeError) as error:
        fail(f"{arguments.options} is broken ({type(error).__name__})")
    check_same_options(kept, NOT_KEPT, str(arguments.sweeps))
    return kept


def table_of(found: list[tune.Result]) -> pd.DataFrame:
    """What the trials found, the best first."""
    rows = [
        {name: result.config[name] for name in ("learner", *SPACE)}
        | {name: result.metrics[name] for name in ("games", "expert", "worst", "champions", "exploitability")}
        | {"stopped": result.metrics["games"] < result.config["games"], "trial": result.metrics["trial_id"]}
        for result in found
    ]
    return pd.DataFrame(rows).sort_values(["learner", "stopped", "expert"], ascending=[True, True, False])


def show(arguments: Arguments, table: pd.DataFrame) -> None:
    """The best trials of each learner."""
    shown = Table(
        title=name_of(arguments.rules),
        caption=f"the {SHOWN} best trials of each learner: expert mastery in % (mean and worst of\n"
        f"{arguments.seeds} seeds from {arguments.seed} on), and how many of them are champions",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    shown.add_column("learner")
    for column in ("rate", "discount", "ε", "games", "mean", "worst", "champions"):
        shown.add_column(column, justify="right")
    for learner, rows in table.groupby("learner"):
        for row in rows.head(SHOWN).itertuples():
            setting = [f"{getattr(row, name):.3f}" for name in SPACE]
            shown.add_row(
                learner, *setting, f"{row.games:,}", percent(row.expert), percent(row.worst), str(row.champions)
            )
        shown.add_section()
    Console(width=80).print(shown)
    stopped, played = int(table["stopped"].sum()), table["games"].sum() / (arguments.games * len(table))
    print(f"{len(table)} trials, {stopped} stopped early: {percent(played)} % of all games were played")


# --- The picture ----------------------------------------------------------------------------------


def picture_of(arguments: Arguments, table: pd.DataFrame, found: list[tune.Result]) -> plt.Figure:
    """For each learner how mastery depends on what was drawn, and how it grew."""
    learners = sorted(table["learner"].unique())
    figure, axes = plt.subplots(
        len(learners), 4, figsize=(16, 4 * len(learners)), sharey=True, squeeze=False, layout="constrained"
    )
    for row, learner in zip(axes, learners, strict=True):
        own = table[table["learner"] == learner]
        for axis, name in zip(row, SPACE, strict=False):
            for stopped, part in own.groupby("stopped"):
                sizes = part["games"] / arguments.games * 60 + 12
                axis.scatter(part[name], part["expert"], s=sizes, **LOOKS[stopped])
            axis.set(xlabel=NAMES[name], xscale="linear" if name == "gamma" else "log")
        for result in (one for one in found if one.config["learner"] == learner):
            curve, stopped = result.metrics_dataframe, result.metrics["games"] < arguments.games
            row[3].plot(curve["games"], curve["expert"], color=LOOKS[stopped]["edgecolors"], alpha=0.6)
        row[3].set(xlabel="games of each agent")
        row[3].xaxis.set_major_formatter("{x:,.0f}")
        row[0].set(ylabel=f"{learner}\nmean expert mastery", ylim=(-0.02, 1.02))
        for axis in row:
            axis.grid(alpha=0.3)
    handles = [
        Line2D([], [], ls="", marker="o", mfc=look["facecolors"], mec=look["edgecolors"], label=label)
        for look, label in ((LOOKS[False], "all games"), (LOOKS[True], "stopped early"))
    ]
    axes[0, 0].legend(handles=handles, loc="lower right")
    figure.suptitle(f"{name_of(arguments.rules)}: {len(table)} trials of {arguments.seeds} seeds each")
    return figure


LOOKS = {
    False: {"facecolors": "#0072b2", "edgecolors": "#0072b2"},
    True: {"facecolors": "none", "edgecolors": "#d55e00"},
}


if __name__ == "__main__":
    run(main, Arguments)
