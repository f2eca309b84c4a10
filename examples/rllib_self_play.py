"""RLlib's PPO learns Nim by self-play on PettingZoo's environment, with moves from as many workers as asked for.

Both players learn, as one network or as two (--policies). The workers are processes of this machine, or of the
Ray cluster that --address names; one that dies is replaced, and the run goes on. On the way the networks are held
against the exact answer: in what share of all winning positions their best moves win (expert mastery), whether
they win every game that can be won (champion), what a best response gains over perfect play against the moves that
they draw (exploitability), and how many games those win against random play.

A run that was stopped goes on with --resume from its last checkpoint, with any number of workers, anywhere. It
does not draw what it would have drawn uninterrupted: RLlib keeps networks and optimisers, and no random numbers.
Checkpoints are pickles: resume only your own.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from script import (
    check_at_least,
    check_folder,
    check_same_options,
    checking_arguments,
    fail,
    options_kept,
    run,
    save,
)

import cluster  # before RLlib, which it keeps quiet
import matplotlib.pyplot as plt
from learners import check_network, name_of, percent
from players import is_of_rllib
from ray.exceptions import RayError
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.rllib.utils.metrics import ENV_RUNNER_SAMPLING_TIMER, TIMERS
from ray.tune.registry import register_env
from rllib_players import ModulePlayer, SelfPlay, save_model

from nim_env import NimRules, evaluation, solver
from nim_env.policies import batched

Row = dict[str, float | str | None]
ROW = {"moves", "seconds", "speed", "network", "expert", "champion", "exploitability", "against_random"}
NOT_KEPT = ("workers", "address", "folder", "resume", "overwrite")
"""Options that may change when a run is taken up again."""
SECONDS_A_LESSON = 600
IDLE_LESSONS = 10
NETWORKS = {"shared": ("shared",), "separate": ("player_0", "player_1")}


@dataclass
class Arguments:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes."""
    max_take: int | None = None
    """The most objects one move may take; None for no limit."""
    misere: bool = True
    """Whether taking the last object loses."""
    policies: Literal["shared", "separate"] = "shared"
    """One network for both players, or one for each."""
    workers: int = 2
    """How many processes play; with 0 the one that learns plays too."""
    address: str | None = None
    """A Ray cluster to join: the host:port of its head, or auto for the one on this machine; None for none."""
    steps: int = 600_000
    """How many moves are made, those of both players."""
    num_envs: int = 128
    """How many games each worker plays at once."""
    lesson: int = 8192
    """How many moves are made between two lessons, by all workers together."""
    minibatch: int = 1024
    """How many moves one step of the optimiser takes."""
    epochs: int = 4
    """How often a lesson goes over its moves."""
    layers: tuple[int, ...] = (256, 256)
    """The sizes of the hidden layers."""
    learning_rate: float = 3e-3
    """The optimiser's learning rate at the start; it falls to 0."""
    entropy: float = 0.5
    """The coefficient of the entropy at the start; it falls to 0."""
    gae_lambda: float = 0.5
    """How far advantages look at what came out (1) rather than at what was expected (0)."""
    looks: int = 20
    """How often the networks are held against the truth and a checkpoint is kept, evenly over the moves."""
    seed: int = 0
    """Decides every draw of a run with the same number of workers that is not interrupted."""
    resume: bool = False
    """Go on with the run whose checkpoint is in --folder, with its options."""
    overwrite: bool = False
    """Start anew even if --folder has the checkpoint of another run, which is then lost."""
    folder: Path = Path("results/rllib_self_play")
    """Where the checkpoints, the networks (shared, or player_0 and player_1) and the figure (.png) are kept."""

    @property
    def rules(self) -> NimRules:
        return NimRules(self.heaps, self.max_take, self.misere)

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    def check(self) -> None:
        """Ends the script if an option makes no sense; raises what the libraries find wrong."""
        check_at_least(0, seed=self.seed, workers=self.workers)
        check_at_least(
            1,
            steps=self.steps,
            num_envs=self.num_envs,
            lesson=self.lesson,
            minibatch=self.minibatch,
            epochs=self.epochs,
            looks=self.looks,
        )
        if self.seed >= 2**31:
            fail(f"--seed must be {2**31 - 1} or less; got {self.seed}")
        if (at_once := self.num_envs * max(self.workers, 1)) > self.lesson:
            fail(f"--lesson must be a move or more in each of {at_once:,} games at once; got {self.lesson:,}")
        if self.minibatch > self.lesson:
            fail(f"--minibatch must be at most --lesson, {self.lesson:,}; got {self.minibatch:,}")
        check_network(self)
        solver.iter_positions(self.rules)  # what is too large is refused before anything is learnt


def main(arguments: Arguments) -> None:
    kept, rows = None, []
    with checking_arguments():
        check_folder(arguments.folder, "rllib_self_play.png")
        if arguments.resume:
            kept, arguments, rows = taken_up(arguments)
        arguments.check()
        check_room(arguments)
    cluster.start(arguments.address, arguments.workers, "workers")
    with checking_arguments():
        make_room(arguments)
    print(f"{name_of(arguments.rules)}; {arguments.policies} policies; {arguments.workers} workers")
    print("      moves  seconds  moves/s   network  expert champion exploitability  vs random")
    for row in rows:
        print_row(row)
    with cluster.saying_how_to_go_on(lambda: arguments.checkpoints if checkpoints_of(arguments) else None):
        algorithm = algorithm_of(arguments, len(rows))
        if kept is not None:
            restore(algorithm, kept)
        learn(arguments, algorithm, rows)
        for name in NETWORKS[arguments.policies]:
            save_model(algorithm.get_module(name), arguments.rules, arguments.folder / name)
            print(f"network: {arguments.folder / name}")
        algorithm.stop()
    save(picture_of(arguments, rows), arguments.folder / "rllib_self_play.png")


def algorithm_of(arguments: Arguments, rows: int) -> PPO:
    """RLlib's PPO, which knows nothing yet."""
    register_env("nim", SelfPlay)
    module = RLModuleSpec(
        module_class=ActionMaskingTorchRLModule,
        model_config=DefaultModelConfig(
            fcnet_hiddens=list(arguments.layers), fcnet_activation="relu", vf_share_layers=False
        ),
    )
    networks = NETWORKS[arguments.policies]
    seed = arguments.seed + 1_000_003 * rows  # taken up again, a run must not play its first games over
    config = (
        PPOConfig()
        .environment("nim", env_config={"rules": arguments.rules, "seed": seed})
        .env_runners(
            num_env_runners=arguments.workers,
            num_envs_per_env_runner=arguments.num_envs,
            sample_timeout_s=SECONDS_A_LESSON,
        )
        .fault_tolerance(restart_failed_env_runners=True, delay_between_env_runner_restarts_s=1)
        .learners(num_learners=0)
        .multi_agent(policies=list(networks), policy_mapping_fn=partial(network_of, arguments.policies))
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=dict.fromkeys(networks, module)))
        .training(
            gamma=1.0,
            lambda_=arguments.gae_lambda,
            lr=[[0, arguments.learning_rate], [arguments.steps, 0.0]],
            entropy_coeff=[[0, arguments.entropy], [arguments.steps, 0.0]],
            train_batch_size=arguments.lesson,
            minibatch_size=arguments.minibatch,
            num_epochs=arguments.epochs,
            use_kl_loss=False,
        )
        .debugging(seed=seed % 2**31, log_level="ERROR")
    )
    algorithm = config.build_algo()
    algorithm.metrics.log_time((TIMERS, ENV_RUNNER_SAMPLING_TIMER), reduce="sum")  # else a moving average
    gc.collect()
    gc.freeze()  # else looking through RLlib for garbage takes half of the time that moves take to arrive
    return algorithm


def network_of(policies: str, player: str, *_: object, **__: object) -> str:
    """Which network plays as a player."""
    return "shared" if policies == "shared" else player


def learn(arguments: Arguments, algorithm: PPO, rows: list[Row]) -> None:
    """What is left of the run."""
    if not rows:
        look(arguments, algorithm, rows, {"moves": 0, "seconds": 0.0, "speed": None})
        keep(arguments, algorithm, rows)
    moves, seconds = rows[-1]["moves"], rows[-1]["seconds"]
    while moves < arguments.steps:
        due = next(move for move in looks_of(arguments) if move > moves)
        start, since, sampling, idle = moves, time.perf_counter(), 0.0, 0
        while moves < due:
            result = algorithm.train()
            before, moves = moves, int(result.get("num_env_steps_sampled_lifetime", moves))
            sampling += result[TIMERS][ENV_RUNNER_SAMPLING_TIMER]
            idle = idle + 1 if moves == before else 0
            if idle == IDLE_LESSONS:
                raise ConnectionError("none of its workers answers")
            tell_of_deaths(algorithm)
        seconds += time.perf_counter() - since
        look(arguments, algorithm, rows, {"moves": moves, "seconds": seconds, "speed": (moves - start) / sampling})
        keep(arguments, algorithm, rows)


def looks_of(arguments: Arguments) -> list[int]:
    """After how many moves the networks are held against the truth."""
    return [round(arguments.steps * look / arguments.looks) for look in range(1, arguments.looks + 1)]


def tell_of_deaths(algorithm: PPO) -> None:
    """Says how many workers have died, if more than before."""
    deaths = algorithm.env_runner_group.num_remote_worker_restarts()
    if deaths > getattr(algorithm, "deaths_told", 0):
        algorithm.deaths_told = deaths
        print(f"a worker died and was replaced ({deaths} so far)", file=sys.stderr, flush=True)


def look(arguments: Arguments, algorithm: PPO, rows: list[Row], so_far: Row) -> None:
    """Holds the networks against the truth, a row for each."""
    for name in NETWORKS[arguments.policies]:
        rows.append({**so_far, "network": name, **measured(arguments.rules, algorithm.get_module(name))})
        print_row(rows[-1])


def measured(rules: NimRules, module: ActionMaskingTorchRLModule) -> Row:
    """What a network knows of the game, exactly."""
    player = ModulePlayer(module, rules)
    found = evaluation.mastery(rules, batched(player.best))
    return {
        "expert": found.expert,
        "champion": found.champion,
        "exploitability": evaluation.exploitability(rules, player),
        "against_random": evaluation.win_probability(rules, player, "random"),
    }


def print_row(row: Row) -> None:
    """One line of what was found."""
    speed = "" if row["speed"] is None else f"{row['speed']:,.0f}"
    print(
        f"{row['moves']:11,} {row['seconds']:8.0f} {speed:>8} {row['network']:>9} {percent(row['expert']):>7} "
        f"{'yes' if row['champion'] else 'no':>8} {row['exploitability']:14.4f} "
        f"{percent(row['against_random']):>10}",
        flush=True,
    )


# --- Checkpoints ----------------------------------------------------------------------------------


def keep(arguments: Arguments, algorithm: PPO, rows: list[Row]) -> None:
    """Keeps a checkpoint, whole or not at all; the one before is given up after that."""
    unfinished = arguments.checkpoints / "unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    algorithm.save_to_path(unfinished.absolute())
    options = {name: value for name, value in asdict(arguments).items() if name not in NOT_KEPT}
    (unfinished / "run.json").write_text(json.dumps({"options": options, "rows": rows}))
    before, checkpoint = checkpoints_of(arguments), arguments.checkpoints / f"{rows[-1]['moves']:012}"
    shutil.rmtree(checkpoint, ignore_errors=True)  # what is left of one that was being given up
    os.rename(unfinished, checkpoint)
    for checkpoint in before:
        shutil.rmtree(checkpoint)


def checkpoints_of(arguments: Arguments) -> list[Path]:
    """The whole checkpoints of a run, the newest last: one, or two after a bad moment."""
    return sorted(path.parent for path in arguments.checkpoints.glob("*/run.json") if path.parent.name.isdecimal())


def taken_up(arguments: Arguments) -> tuple[Path, Arguments, list[Row]]:
    """The newest checkpoint, with the options and the rows of its run."""
    if not checkpoints_of(arguments):
        fail(f"--resume needs a checkpoint, but there is none in {arguments.checkpoints}; start without --resume")
    checkpoint = checkpoints_of(arguments)[-1]
    try:
        kept = json.loads((checkpoint / "run.json").read_text())
        before, rows = options_kept(arguments, kept["options"], NOT_KEPT), kept["rows"]
        if not rows or any(row.keys() != ROW for row in rows):
            raise LookupError("a row of another table")
    except (OSError, ValueError, TypeError, LookupError) as error:
        fail(f"{checkpoint} is broken, or no checkpoint of this script ({type(error).__name__})")
    check_same_options(before, NOT_KEPT, str(checkpoint))
    return checkpoint, before, rows


def restore(algorithm: PPO, checkpoint: Path) -> None:
    """Gives the algorithm the state that a checkpoint holds."""
    try:
        algorithm.restore_from_path(checkpoint.absolute())
    except RayError:
        raise
    except Exception as error:  # whatever broken files may raise
        fail(f"{checkpoint} is broken ({type(error).__name__})")


def check_room(arguments: Arguments) -> None:
    """Ends the script if a new run would take the place of another, or of something else."""
    if checkpoints_of(arguments) and not (arguments.resume or arguments.overwrite):
        fail(f"{arguments.checkpoints} are of another run: give --resume, --overwrite or another --folder")
    for name in NETWORKS[arguments.policies]:
        if (path := arguments.folder / name).exists() and not is_of_rllib(path):
            fail(f"{path} is there and is no network of this script; give another --folder")


def make_room(arguments: Arguments) -> None:
    """Makes way for a new run."""
    if not arguments.resume:
        for checkpoint in checkpoints_of(arguments):
            shutil.rmtree(checkpoint)
        arguments.checkpoints.mkdir(parents=True, exist_ok=True)


# --- The picture ----------------------------------------------------------------------------------


def picture_of(arguments: Arguments, rows: list[Row]) -> plt.Figure:
    """What the networks knew while they learnt."""
    networks = NETWORKS[arguments.policies]
    figure, axes = plt.subplots(
        1, len(networks), figsize=(9 * len(networks), 5), sharey=True, squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes.flat, networks, strict=True):
        own = [row for row in rows if row["network"] == name]
        for column, label in (
            ("expert", "expert mastery of its best moves"),
            ("against_random", "games won against random play by the moves that it draws"),
            ("exploitability", "exploitability of the moves that it draws"),
        ):
            axis.plot([row["moves"] for row in own], [row[column] for row in own], label=label, marker=".")
        axis.set(xlabel="moves made in training", ylim=(-0.02, 1.02), title=f"network: {name}")
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.grid(alpha=0.3)
    axes[0, 0].legend(loc="lower right")
    workers = f"{arguments.workers} workers, seed {arguments.seed}"
    figure.suptitle(f"RLlib's PPO in self-play: {name_of(arguments.rules)}; {workers}")
    return figure


if __name__ == "__main__":
    run(main, Arguments)
