"""MaskablePPO learns Nim by self-play, against a pool of its own snapshots.

The environment plays the opponent's moves, so the model sees a single-agent task. A snapshot drawn from the pool
chooses each of these moves. Every few rollouts the current model joins the pool; a full pool drops its oldest
snapshot. --opponent names a fixed opponent instead. --algorithm PPO and DQN ignore the action masks, so an illegal
action loses the game.

During training the model is evaluated exactly, over all positions. Expert mastery is the fraction of winning
positions in which its greedy move wins; that is the legal move of the highest probability or Q-value. Champion
mastery is whether it wins every game that can be won. (Both: Zhou and Riis 2022, arXiv:2205.12787.) Value accuracy
is the fraction of positions in which the sign of its value predicts the winner. Exploitability is what a best
response gains over perfect play: 0 is perfect, and at 1 a best response wins every game. TensorBoard shows all of
them, with the losses.

--resume continues an interrupted run from its newest checkpoint, with the options that it was started with.
Checkpoints are pickles: resume only your own.

Sources: PPO, Schulman et al. (2017, arXiv:1707.06347), with action masks, Huang and Ontañón (2022,
arXiv:2006.14171); DQN, Mnih et al. (2015, Nature 518); opponents drawn from earlier versions, Bansal et al. (2018,
arXiv:1710.03748).

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from common import (
    Fraction,
    NonNegative,
    PositiveInt,
    check_output,
    check_resume,
    checking_args,
    label_lines,
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
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecMonitor

from nim_env import NimRules, solver
from nim_env.sb3 import EvaluationCallback, NimVecEnv, SelfPlayCallback

ALGORITHMS = {"MaskablePPO": MaskablePPO, "PPO": PPO, "DQN": DQN}

torch.distributions.Distribution.set_default_validate_args(False)  # validation takes a fifth of a rollout


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes; training episodes start from random positions."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    algorithm: Literal["MaskablePPO", "PPO", "DQN"] = "MaskablePPO"
    """The algorithm; MaskablePPO alone knows the action masks."""
    opponent: str = "self-play"
    """The opponent in training: self-play (a pool of snapshots), random, take-N or expert."""
    observation: Literal["heaps", "one_hot", "bits", "unary"] = "one_hot"
    """The encoding of the heap sizes in the observation."""
    total_timesteps: PositiveInt = 4_000_000
    """The number of training timesteps: the model's moves, not the opponent's."""
    num_envs: PositiveInt = 512
    """The number of environments."""
    n_steps: PositiveInt = 32
    """In PPO, the number of moves in each environment per rollout."""
    batch_size: PositiveInt = 2048
    """In PPO, the size of a minibatch."""
    n_epochs: PositiveInt = 4
    """In PPO, the number of passes over each rollout."""
    net_arch: tuple[PositiveInt, ...] = (256, 256)
    """The sizes of the hidden layers."""
    learning_rate: NonNegative = 1e-3
    """The learning rate at the start; it falls to 0."""
    ent_coef: NonNegative = 0.5
    """In PPO, the entropy coefficient at the start; it falls to 0."""
    gae_lambda: Fraction = 0.5
    """In PPO, the λ of generalized advantage estimation."""
    snapshot_interval: PositiveInt = 3
    """In self-play, the number of rollouts between two snapshots."""
    pool_size: PositiveInt = 20
    """In self-play, the maximum number of snapshots in the pool."""
    eval_interval: PositiveInt = 160_000
    """The number of timesteps between two evaluations and checkpoints (of the model and its opponent pool)."""
    resume: bool = False
    """Continue the run in the folder from its newest checkpoint; other options are ignored."""
    seed: int = 0
    """Random seed."""
    folder: Path = Path("results/sb3_self_play")
    """Where the model, the checkpoints, the figure and TensorBoard's logs are saved."""


def main(args: Args) -> pd.DataFrame:
    """Trains, saves the model and the figure, and returns the evaluations."""
    args_file, checkpoints = args.folder / "args.json", args.folder / "checkpoints"
    check_resume(args.resume, args.folder, any(checkpoints.glob("*_steps.zip")))
    if args.resume:
        args = replace(args, **json.loads(args_file.read_text()))
    with checking_args():
        rules = NimRules(args.heaps, args.max_take, args.misere)
        solver.iter_positions(rules)  # raises an error if the game is too large for exact evaluation
        env = make_env(args)
        model = load_checkpoint(args, checkpoints, env) if args.resume else make_model(args, env)
    check_output("folder", args.folder / "model.zip")
    options = {name: value for name, value in asdict(args).items() if name not in ("folder", "resume")}
    args_file.write_text(json.dumps(options))
    eval_freq = max(1, args.eval_interval // args.num_envs)  # in steps of the vector environment
    table = train(args, model, [CheckpointCallback(eval_freq, str(checkpoints))], verbose=1)
    with replacing(args.folder / "model.zip") as file:
        model.save(file, exclude=["opponent_pool", "evaluations"])
    print(f"expert mastery {percent(table['expert'].iloc[-1], 2)} %; model: {args.folder / 'model.zip'}")
    save_figure(draw(args, rules, table), args.folder / "sb3_self_play.png")
    return table


# --- Environment and model ------------------------------------------------------------------------


def make_env(args: Args) -> VecMonitor:
    """The vector environment, in which every episode starts from a random position."""
    env = gym.make_vec(
        "nim_env:Nim-v0",
        num_envs=args.num_envs,
        heaps=args.heaps,
        max_take=args.max_take,
        misere=args.misere,
        opponent="random" if args.opponent == "self-play" else args.opponent,  # SelfPlayCallback replaces it
        random_start=True,
        observation=args.observation,
        autoreset_mode="SameStep",
    )
    # NimVecEnv has the action_masks() that MaskablePPO calls; VecMonitor logs the returns of episodes
    return VecMonitor(NimVecEnv(env))


def make_model(args: Args, env: VecMonitor) -> BaseAlgorithm:
    """An untrained model."""
    options = {
        "learning_rate": LinearSchedule(args.learning_rate, 0.0, 1.0),
        "gamma": 1.0,
        "policy_kwargs": {"net_arch": list(args.net_arch)},
        "tensorboard_log": str(args.folder / "tensorboard"),
        "seed": args.seed,
        "device": "cpu",
    }
    if args.algorithm == "DQN":
        if args.opponent == "self-play":
            raise ValueError(
                "--opponent must be random, take-N or expert with DQN, since its rollouts are single steps"
            )
        options |= {
            "buffer_size": 100_000,
            "learning_starts": 2_000,
            "batch_size": 256,
            "train_freq": 1,
            "gradient_steps": 4,
            "target_update_interval": 2_000,
            "exploration_fraction": 0.5,
        }
    else:
        rollout = args.num_envs * args.n_steps
        if args.batch_size < 2 or rollout % args.batch_size:
            raise ValueError(
                f"--batch-size must be 2 or more and divide the rollout, {rollout}; got {args.batch_size}"
            )
        options |= {
            "n_steps": args.n_steps,
            "batch_size": args.batch_size,
            "n_epochs": args.n_epochs,
            "gae_lambda": args.gae_lambda,
            "ent_coef": args.ent_coef,
        }
    return ALGORITHMS[args.algorithm]("MlpPolicy", env, **options)


def load_checkpoint(args: Args, checkpoints: Path, env: VecMonitor) -> BaseAlgorithm:
    """The model of the newest checkpoint, with its opponent pool and its evaluations."""
    path = max(checkpoints.glob("*_steps.zip"), key=lambda path: int(re.findall(r"\d+", path.name)[0]))
    model = ALGORITHMS[args.algorithm].load(path, env=env, device="cpu")
    model.set_random_seed(args.seed + model.num_timesteps)  # otherwise it would draw the same numbers again
    print(f"resuming from {path}, at timestep {model.num_timesteps:,}")
    return model


# --- Training and evaluation ----------------------------------------------------------------------


def train(
    args: Args, model: BaseAlgorithm, callbacks: Sequence[BaseCallback] = (), verbose: int = 0
) -> pd.DataFrame:
    """Trains the model to the end.

    Returns:
        One row for each evaluation with greedy moves, including those before a resumed checkpoint. The column
        ``exploitability_sampled`` holds the exploitability of moves drawn as in training.
    """
    greedy = EvaluationCallback(args.eval_interval, verbose=verbose)
    sampled = EvaluationCallback(args.eval_interval, deterministic=False, name="nim_sampled")
    is_resumed = hasattr(model, "evaluations")
    if is_resumed:
        greedy.evaluations, sampled.evaluations = model.evaluations
    model.evaluations = greedy.evaluations, sampled.evaluations  # checkpoints hold the model's attributes
    schedule = [] if args.algorithm == "DQN" else [EntropySchedule(args.ent_coef, args.total_timesteps)]
    pool = [SelfPlayCallback(args.snapshot_interval, args.pool_size)] if args.opponent == "self-play" else []
    board = "-".join(map(str, args.heaps))
    model.learn(
        args.total_timesteps - model.num_timesteps,
        callback=[greedy, sampled, *schedule, *pool, *callbacks],
        tb_log_name=f"{board}_{args.algorithm}_{args.opponent}_{args.observation}_seed_{args.seed}",
        reset_num_timesteps=not is_resumed,
    )
    table = pd.DataFrame(greedy.evaluations)
    table["exploitability_sampled"] = [row["exploitability"] for row in sampled.evaluations]
    return table


class EntropySchedule(BaseCallback):
    """Lowers the entropy coefficient linearly to 0."""

    def __init__(self, ent_coef: float, total_timesteps: int) -> None:
        super().__init__()
        self.ent_coef, self.total_timesteps = ent_coef, total_timesteps

    def _on_rollout_start(self) -> None:
        self.model.ent_coef = self.ent_coef * max(0.0, 1 - self.num_timesteps / self.total_timesteps)

    def _on_step(self) -> bool:
        return True


# --- Figure ---------------------------------------------------------------------------------------


def draw(args: Args, rules: NimRules, table: pd.DataFrame) -> plt.Figure:
    """Mastery, value accuracy and exploitability over the timesteps."""
    figure, axis = plt.subplots(figsize=(10, 5), layout="constrained")
    for name, label in (
        ("expert", "expert mastery\n(greedy moves)"),
        ("value_accuracy_overall", "value accuracy"),
        ("exploitability_sampled", "exploitability\n(sampled moves; 0 is perfect)"),
    ):
        axis.plot(table["timesteps"], table[name], label=label, marker=".")
    axis.set(
        xlabel="timesteps",
        ylabel="fraction",
        ylim=(-0.02, 1.02),
        title=f"{args.algorithm}, opponent {args.opponent}: {rules}, seed {args.seed}",
    )
    axis.xaxis.set_major_formatter("{x:,.0f}")
    label_lines(axis)
    return figure


if __name__ == "__main__":
    run(main, Args)
