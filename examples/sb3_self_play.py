"""Trains MaskablePPO on Nim against a pool of its own snapshots (Bansal et al. 2018, arXiv:1710.03748).

A comparison with --algorithm PPO or DQN shows what action masks are worth: these two ignore the masks, and an
illegal action loses the game.

    python examples/sb3_self_play.py
    python examples/sb3_self_play.py --algorithm DQN --opponent random

The script prints exact evaluations during training, logs them for TensorBoard, draws them, and saves the model. It
takes about three minutes on two cores.

Install: pip install -e ".[examples,sb3]"
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from command_line import run

import gymnasium as gym
import pandas as pd
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecMonitor

from nim_env import NimRules
from nim_env.sb3 import EvaluationCallback, NimVecEnv, SelfPlayCallback

from common import plot_evaluations, save_figure

ALGORITHMS = {"MaskablePPO": MaskablePPO, "PPO": PPO, "DQN": DQN}
DQN_OPTIONS = {"buffer_size": 100_000, "learning_starts": 2_000, "batch_size": 256, "train_freq": 1}
DQN_OPTIONS |= {"gradient_steps": 4, "target_update_interval": 2_000, "exploration_fraction": 0.5}
LINES = {
    "expert": "expert mastery\n(greedy moves)",
    "value_accuracy_overall": "value accuracy",
    "exploitability_sampled": "exploitability\n(sampled moves; 0 is perfect)",
}
torch.distributions.Distribution.set_default_validate_args(False)  # validation takes a fifth of a rollout's time


@dataclass
class Args:
    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes. Training episodes start from random positions."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    algorithm: Literal["MaskablePPO", "PPO", "DQN"] = "MaskablePPO"
    """The algorithm. Only MaskablePPO uses the action masks."""
    opponent: str = "self-play"
    """The opponent in training: self-play (a pool of snapshots), random, take-N or expert."""
    observation: Literal["heaps", "one_hot", "bits", "unary"] = "one_hot"
    """The encoding of the heap sizes in the observation."""
    total_timesteps: int = 4_000_000
    """The number of training timesteps, which are the model's moves and not the opponent's."""
    num_envs: int = 512
    n_steps: int = 32
    """The number of moves in each environment per rollout (PPO and MaskablePPO only)."""
    batch_size: int = 2048
    """The size of a minibatch, which should divide the size of the rollout (PPO and MaskablePPO only)."""
    learning_rate: float = 1e-3
    """The learning rate at the start. It falls linearly to 0."""
    ent_coef: float = 0.5
    """The entropy coefficient at the start, which falls linearly to 0 (PPO and MaskablePPO only)."""
    eval_interval: int = 160_000
    """The number of timesteps between two evaluations."""
    seed: int = 0
    folder: Path = Path("results/sb3_self_play")
    """Where the model, the figure and TensorBoard's logs are saved."""


def main(args: Args) -> pd.DataFrame:
    """Trains a model, saves it and a figure, and returns the evaluations."""
    model = make_model(args)
    table = train(args, model)
    model.save(args.folder / "model.zip", exclude=["opponent_pool"])
    rules = NimRules(args.heaps, misere=args.misere)
    xlabel = f"timesteps ({rules}, opponent {args.opponent}, seed {args.seed})"
    figure = plot_evaluations(table, LINES, f"{args.algorithm}, evaluated exactly", xlabel)
    save_figure(figure, args.folder / "sb3_self_play.svg")
    return table


def make_model(args: Args) -> BaseAlgorithm:
    """Returns an untrained model, in an environment whose episodes start from random positions."""
    if (args.algorithm, args.opponent) == ("DQN", "self-play"):
        raise ValueError(
            "DQN cannot train by self-play, as its rollouts have one step; use --opponent random, take-N or expert"
        )
    rules = NimRules(args.heaps, misere=args.misere)
    opponent = "random" if args.opponent == "self-play" else args.opponent  # SelfPlayCallback replaces "random"
    options = {"random_start": True, "observation": args.observation, "autoreset_mode": "SameStep"}
    env = gym.make_vec("nim_env:Nim-v0", num_envs=args.num_envs, opponent=opponent, **options, **asdict(rules))
    ppo_options = {"n_steps": args.n_steps, "batch_size": args.batch_size, "n_epochs": 4, "gae_lambda": 0.5}
    return ALGORITHMS[args.algorithm](
        "MlpPolicy",
        VecMonitor(NimVecEnv(env)),  # logs the returns of episodes
        learning_rate=LinearSchedule(args.learning_rate, 0.0, 1.0),
        gamma=1.0,
        policy_kwargs={"net_arch": [256, 256]},
        tensorboard_log=str(args.folder / "tensorboard"),
        seed=args.seed,
        device="cpu",
        **(DQN_OPTIONS if args.algorithm == "DQN" else ppo_options),
    )


def train(args: Args, model: BaseAlgorithm) -> pd.DataFrame:
    """Trains the model; returns evaluations of its greedy moves, and the exploitability of its sampled moves."""
    greedy = EvaluationCallback(args.eval_interval, verbose=1)
    sampled = EvaluationCallback(args.eval_interval, deterministic=False, name="nim_sampled")
    schedule = [] if args.algorithm == "DQN" else [EntropySchedule(args.ent_coef, args.total_timesteps)]
    pool = [SelfPlayCallback(snapshot_interval=3, pool_size=20)] if args.opponent == "self-play" else []
    model.learn(args.total_timesteps, [greedy, sampled, *schedule, *pool], tb_log_name=args.algorithm)
    table = pd.DataFrame(greedy.evaluations)
    return table.assign(exploitability_sampled=[row["exploitability"] for row in sampled.evaluations])


class EntropySchedule(BaseCallback):
    """Lowers the entropy coefficient linearly to 0."""

    def __init__(self, ent_coef: float, total_timesteps: int) -> None:
        super().__init__()
        self.ent_coef = ent_coef
        self.total_timesteps = total_timesteps

    def _on_rollout_start(self) -> None:
        self.model.ent_coef = self.ent_coef * max(0.0, 1 - self.num_timesteps / self.total_timesteps)

    def _on_step(self) -> bool:
        return True


if __name__ == "__main__":
    run(main, Args)
