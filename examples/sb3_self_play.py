"""MaskablePPO learns Nim by self-play, against a pool of its own snapshots.

The environment plays the opponent's moves, so the model sees a single-agent task. Each of these moves is chosen by
a snapshot drawn from the pool. Every few rollouts a new snapshot is added, and the oldest leaves a full pool.

During training the model is evaluated exactly, over all positions: expert mastery is the fraction of winning
positions in which its greedy move (the most probable one) wins, champion mastery whether it wins every game that
can be won (both after Zhou and Riis 2022, arXiv:2205.12787); value accuracy is the fraction of positions in which
the sign of its value predicts the winner; exploitability is what a best response gains over perfect play, from 0
(perfect) to 1 (a best response wins every game). TensorBoard shows them with the losses.

--resume continues an interrupted run from its newest checkpoint, with the options that it was started with.
Checkpoints are pickles: resume only your own.

Sources: PPO with action masks, Huang and Ontañón (2022, arXiv:2006.14171); self-play against earlier strategies,
Heinrich and Silver (2016, arXiv:1603.01121).

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from common import (
    check_at_least,
    check_output,
    check_resume,
    checking_args,
    fail,
    percent,
    replacing,
    run,
    save_figure,
)

import gymnasium as gym
import matplotlib.pyplot as plt
import pandas as pd
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecMonitor

from nim_env import NimRules, solver
from nim_env.sb3 import EvaluationCallback, NimVecEnv, SelfPlayCallback

SELF_PLAY = "self-play"

torch.distributions.Distribution.set_default_validate_args(False)  # validation takes a fifth of a rollout


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """The full heaps; training episodes start from random positions."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    opponent: str = SELF_PLAY
    """The opponent in training: self-play (a pool of snapshots), random, take-N or expert."""
    encoding: Literal["one_hot", "bits", "unary"] = "one_hot"
    """The encoding of the heap sizes in the observation."""
    total_timesteps: int = 4_000_000
    """The number of training timesteps: the model's moves, not the opponent's."""
    num_envs: int = 512
    """The number of environments."""
    n_steps: int = 32
    """The number of moves in each environment per rollout."""
    batch_size: int = 2048
    """The size of a minibatch."""
    n_epochs: int = 4
    """The number of passes over each rollout."""
    net_arch: tuple[int, ...] = (256, 256)
    """The sizes of the hidden layers."""
    learning_rate: float = 1e-3
    """The learning rate at the start; it falls to 0."""
    ent_coef: float = 0.5
    """The entropy coefficient at the start; it falls to 0."""
    gae_lambda: float = 0.5
    """The λ of generalized advantage estimation, 0 to 1."""
    snapshot_interval: int = 3
    """In self-play, the number of rollouts between two snapshots."""
    pool_size: int = 20
    """In self-play, the most snapshots in the pool."""
    eval_interval: int = 160_000
    """The number of timesteps between two evaluations."""
    checkpoint_interval: int = 160_000
    """The number of timesteps between two checkpoints, each of the model and its opponent pool."""
    resume: bool = False
    """Continue the run in the folder from its newest checkpoint; other options are ignored."""
    seed: int = 0
    """The random seed."""
    folder: Path = Path("results/sb3_self_play")
    """Where the model, the checkpoints, the figure and TensorBoard's logs are saved."""


# --- Environment and model ------------------------------------------------------------------------


def make_env(args: Args) -> VecMonitor:
    """The vector environment, in which every episode starts from a random position."""
    env = gym.make_vec(
        "nim_env:Nim-v0",
        num_envs=args.num_envs,
        heaps=args.heaps,
        max_take=args.max_take,
        misere=args.misere,
        opponent="random" if args.opponent == SELF_PLAY else args.opponent,  # SelfPlayCallback replaces it
        random_start=True,
        observation=args.encoding,
        autoreset_mode="SameStep",
    )
    # NimVecEnv has the action_masks() that MaskablePPO calls; VecMonitor logs the returns of episodes
    return VecMonitor(NimVecEnv(env))


def make_model(args: Args, env: VecMonitor) -> MaskablePPO:
    """An untrained model."""
    return MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=args.n_steps,
        batch_size=args.batch_size,
        n_epochs=args.n_epochs,
        learning_rate=LinearSchedule(args.learning_rate, 0.0, 1.0),
        gamma=1.0,
        gae_lambda=args.gae_lambda,
        ent_coef=args.ent_coef,
        policy_kwargs={"net_arch": list(args.net_arch)},
        tensorboard_log=str(args.folder / "tensorboard"),
        seed=args.seed,
        device="cpu",
    )


def find_checkpoints(args: Args) -> list[Path]:
    """The checkpoints in the folder."""
    return list((args.folder / "checkpoints").glob("*_steps.zip"))


def load_checkpoint(args: Args, env: VecMonitor) -> MaskablePPO:
    """The model of the newest checkpoint, with its opponent pool and its evaluations."""
    path = max(find_checkpoints(args), key=lambda path: int(re.findall(r"\d+", path.name)[0]))
    try:
        model = MaskablePPO.load(path, env=env, device="cpu")
    except Exception as error:  # torch, pickle and zipfile raise many kinds of errors
        fail(f"{path} is damaged: {' '.join(str(error).split())}")
    model.set_random_seed(args.seed + model.num_timesteps)  # otherwise it would draw the same numbers again
    print(f"resuming from {path}, at timestep {model.num_timesteps:,}")
    return model


# --- Training and evaluation ----------------------------------------------------------------------


class EntropySchedule(BaseCallback):
    """Lowers the entropy coefficient linearly to 0."""

    def __init__(self, ent_coef: float, total_timesteps: int) -> None:
        super().__init__()
        self.ent_coef, self.total_timesteps = ent_coef, total_timesteps

    def _on_rollout_start(self) -> None:
        self.model.ent_coef = self.ent_coef * (1 - self.num_timesteps / self.total_timesteps)

    def _on_step(self) -> bool:
        return True


def train(args: Args, model: MaskablePPO) -> pd.DataFrame:
    """Trains the model to the end.

    Returns:
        One row for each evaluation with greedy moves, also those before a resumed checkpoint. The column
        ``exploitability_sampled`` is that of moves sampled from the model's distribution.
    """
    greedy = EvaluationCallback(args.eval_interval, verbose=1)
    sampled = EvaluationCallback(args.eval_interval, deterministic=False, name="nim_sampled")
    if args.resume:
        greedy.evaluations, sampled.evaluations = model.evaluations
    model.evaluations = greedy.evaluations, sampled.evaluations  # checkpoints hold the model's attributes
    checkpoint_freq = max(1, args.checkpoint_interval // args.num_envs)  # in steps of the vector environment
    callbacks = [
        EntropySchedule(args.ent_coef, args.total_timesteps),
        greedy,
        sampled,
        CheckpointCallback(checkpoint_freq, str(args.folder / "checkpoints")),
    ]
    if args.opponent == SELF_PLAY:
        callbacks.append(SelfPlayCallback(args.snapshot_interval, args.pool_size))
    board = "-".join(map(str, args.heaps))
    model.learn(
        args.total_timesteps - model.num_timesteps,
        callback=callbacks,
        tb_log_name=f"{board}_{args.opponent}_{args.encoding}_seed_{args.seed}",
        reset_num_timesteps=not args.resume,
    )
    table = pd.DataFrame(greedy.evaluations)
    table["exploitability_sampled"] = [row["exploitability"] for row in sampled.evaluations]
    return table


# --- Figure and command line ----------------------------------------------------------------------


def draw(args: Args, rules: NimRules, table: pd.DataFrame) -> plt.Figure:
    """Mastery, value accuracy and exploitability over the timesteps."""
    figure, axis = plt.subplots(figsize=(9, 5), layout="constrained")
    for name, label in (
        ("expert", "expert mastery (greedy moves)"),
        ("value_accuracy_overall", "value accuracy"),
        ("exploitability_sampled", "exploitability (sampled moves; 0 is perfect)"),
    ):
        axis.plot(table["timesteps"], table[name], label=label, marker=".")
    axis.set(
        xlabel="timesteps",
        ylabel="fraction",
        ylim=(-0.02, 1.02),
        title=f"MaskablePPO, opponent {args.opponent}: {rules}, seed {args.seed}",
    )
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.grid(alpha=0.3)
    axis.legend(loc="center right")
    return figure


def check(args: Args) -> None:
    """Exits with an error if an option that no library checks has a wrong value."""
    counts = ("total_timesteps", "num_envs", "n_steps", "n_epochs", "snapshot_interval", "pool_size")
    intervals = ("eval_interval", "checkpoint_interval")
    check_at_least(1, **{name: getattr(args, name) for name in (*counts, *intervals)})
    check_at_least(1, net_arch=min(args.net_arch, default=1))
    check_at_least(2, batch_size=args.batch_size)
    check_at_least(0, seed=args.seed)
    if args.num_envs * args.n_steps % args.batch_size:
        rollout = args.num_envs * args.n_steps
        fail(f"--batch-size must divide --num-envs times --n-steps, {rollout}; got {args.batch_size}")
    if not args.learning_rate > 0:
        fail(f"--learning-rate must be above 0; got {args.learning_rate}")
    if not args.ent_coef >= 0:
        fail(f"--ent-coef must be 0 or more; got {args.ent_coef}")
    if not 0 <= args.gae_lambda <= 1:
        fail(f"--gae-lambda must be from 0 to 1; got {args.gae_lambda}")


def main(args: Args) -> pd.DataFrame:
    """Trains, saves the model and the figure, and returns the evaluations."""
    check(args)
    args_file = args.folder / "args.json"
    check_resume(args.resume, args.folder, bool(find_checkpoints(args)))
    if args.resume:
        args = replace(args, **json.loads(args_file.read_text()))
    with checking_args():
        rules = NimRules(args.heaps, args.max_take, args.misere)
        solver.iter_positions(rules)  # raises an error if the game is too large for exact evaluation
        env = make_env(args)
        model = load_checkpoint(args, env) if args.resume else make_model(args, env)
    check_output("folder", args.folder / "model.zip")
    options = {name: value for name, value in asdict(args).items() if name not in ("folder", "resume")}
    args_file.write_text(json.dumps(options))
    table = train(args, model)
    with replacing(args.folder / "model.zip") as file:
        model.save(file, exclude=["opponent_pool", "evaluations"])
    print(f"expert mastery {percent(table['expert'].iloc[-1], 2)} %; model: {args.folder / 'model.zip'}")
    save_figure(draw(args, rules, table), args.folder / "sb3_self_play.png")
    return table


if __name__ == "__main__":
    run(main, Args)
