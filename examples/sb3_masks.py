"""What an action mask is worth: DQN and PPO without masks compared with MaskablePPO, on one game at one budget.

All train from random starts against the same opponent, with the same network; PPO and MaskablePPO differ in the
mask alone. Without a mask an illegal move loses the game at once, so which moves are legal has to be learned as
well. The figure shows the expert mastery of each (the fraction of winning positions in which its most probable
action is a winning move, Zhou and Riis 2022, arXiv:2205.12787) and the fraction of illegal moves in training.

Sources: Mnih et al. (2015, Nature 518) for DQN, Schulman et al. (2017, arXiv:1707.06347) for PPO, Huang and
Ontañón (2022, arXiv:2006.14171) for the masks. It needs ``pip install -e ".[examples,sb3]"``. Runs use all cores;
finished runs are cached in the folder, so the same command continues after an interruption.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from common import check_at_least, check_output, checking_args, fail, percent, replacing, run, save_figure

import gymnasium as gym
import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import LinearSchedule
from tqdm import tqdm

from nim_env import NimRules, solver, theory
from nim_env.policies import as_policy
from nim_env.sb3 import NimVecEnv

ENT_COEF = 0.3  # at the start; it falls to 0
PPO_HYPERPARAMETERS = {"n_steps": 64, "batch_size": 512, "n_epochs": 4, "gae_lambda": 0.5, "ent_coef": ENT_COEF}
DQN_HYPERPARAMETERS = {
    "buffer_size": 100_000,
    "learning_starts": 2_000,
    "batch_size": 256,
    "train_freq": 1,
    "gradient_steps": 4,
    "target_update_interval": 2_000,
    "exploration_fraction": 0.5,
}
ALGORITHMS = {
    "DQN": (DQN, DQN_HYPERPARAMETERS),
    "PPO": (PPO, PPO_HYPERPARAMETERS),
    "MaskablePPO": (MaskablePPO, PPO_HYPERPARAMETERS),
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
    opponent: str = "expert"
    """Whom they train against: random, take-N or expert."""
    algorithms: tuple[Literal["DQN", "PPO", "MaskablePPO"], ...] = tuple(ALGORITHMS)
    """The algorithms."""
    total_timesteps: int = 600_000
    """The number of moves that each makes in training."""
    num_envs: int = 64
    """The number of environments."""
    eval_interval: int = 30_000
    """The number of timesteps between two evaluations."""
    n_seeds: int = 3
    """The number of seeds, from --seed on."""
    seed: int = 0
    """The first seed."""
    n_jobs: int = -1
    """The number of runs at the same time; -1 for one per core."""
    folder: Path = Path("results/sb3_masks")
    """Where the cached runs, the table, the figure and TensorBoard's logs are saved."""


# --- Training and evaluation ----------------------------------------------------------------------


class MasteryCallback(BaseCallback):
    """Evaluates the raw actions of a model at intervals, and lowers the entropy coefficient of PPO linearly to 0.

    Attributes:
        evaluations: One dictionary for each evaluation: ``timesteps``; ``expert``, the fraction of winning
            positions in which the best action wins; ``illegal``, the fraction of illegal moves since the last
            evaluation.
    """

    def __init__(self, rules: NimRules, total_timesteps: int, eval_interval: int) -> None:
        super().__init__()
        self.total_timesteps, self.eval_interval = total_timesteps, eval_interval
        heaps = rules.all_positions()[1:]
        winning = theory.winning_action_mask(rules, heaps)
        is_won = winning.any(axis=1)
        self.heaps, self.winning = heaps[is_won], winning[is_won]
        self.masks = rules.action_mask(self.heaps)
        self.evaluations = []
        self.n_moves = self.n_illegal = 0

    def _on_training_start(self) -> None:
        self._evaluate()

    def _on_rollout_start(self) -> None:
        if hasattr(self.model, "ent_coef"):
            self.model.ent_coef = ENT_COEF * max(0.0, 1 - self.num_timesteps / self.total_timesteps)

    def _on_step(self) -> bool:
        self.n_moves += self.training_env.num_envs
        self.n_illegal += sum(info["illegal_action"] for info in self.locals["infos"])
        next_evaluation = len(self.evaluations) * self.eval_interval
        if next_evaluation <= self.num_timesteps and next_evaluation < self.total_timesteps:
            self._evaluate()
        return True

    def _on_training_end(self) -> None:
        self._evaluate()

    def _evaluate(self) -> None:
        masks = {"action_masks": self.masks} if isinstance(self.model, MaskablePPO) else {}
        actions, _ = self.model.predict(self.heaps, deterministic=True, **masks)
        row = {
            "expert": float(self.winning[np.arange(len(actions)), actions].mean()),
            "illegal": self.n_illegal / self.n_moves if self.n_moves else np.nan,
        }
        self.evaluations.append({"timesteps": self.num_timesteps, **row})
        for name, value in row.items():
            self.logger.record(f"nim/{name}", value)
        self.logger.dump(self.num_timesteps)
        self.n_moves = self.n_illegal = 0


def train(
    algorithm: str,
    rules: NimRules,
    opponent: str,
    total_timesteps: int,
    num_envs: int,
    eval_interval: int,
    seed: int,
    tensorboard_log: str | None = None,
) -> pd.DataFrame:
    """Trains one algorithm from one seed.

    Returns:
        The evaluations of :class:`MasteryCallback`, one row each, with ``algorithm`` and ``seed``.
    """
    torch.set_num_threads(1)  # there is one run per core
    torch.distributions.Distribution.set_default_validate_args(False)  # a fifth of the time of a rollout
    env = gym.make_vec(
        "nim_env:Nim-v0",
        num_envs=num_envs,
        heaps=rules.heaps,
        max_take=rules.max_take,
        misere=rules.misere,
        opponent=opponent,
        random_start=True,
        autoreset_mode="SameStep",
    )
    algorithm_class, hyperparameters = ALGORITHMS[algorithm]
    model = algorithm_class(
        "MlpPolicy",
        NimVecEnv(env),
        learning_rate=LinearSchedule(1e-3, 0.0, 1.0),
        gamma=1.0,
        policy_kwargs={"net_arch": [256, 256]},
        tensorboard_log=tensorboard_log,
        seed=seed,
        device="cpu",
        **hyperparameters,
    )
    callback = MasteryCallback(rules, total_timesteps, eval_interval)
    model.learn(total_timesteps, callback, tb_log_name=f"{algorithm}_seed_{seed}")
    return pd.DataFrame({"algorithm": algorithm, "seed": seed, **row} for row in callback.evaluations)


# --- Figure and command line ----------------------------------------------------------------------


def draw(args: Args, rules: NimRules, table: pd.DataFrame) -> plt.Figure:
    """Expert mastery and the fraction of illegal moves over the timesteps."""
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
    panels = {
        "expert": "Expert mastery: fraction of winning positions played correctly",
        "illegal": "Fraction of illegal moves in training",
    }
    for axis, (column, title) in zip(axes, panels.items(), strict=True):
        sns.lineplot(
            table.dropna(subset=[column]),
            x="timesteps",
            y=column,
            hue="algorithm",
            style="algorithm",
            errorbar=("pi", 100),
            legend=column == "expert",
            ax=axis,
        )
        axis.set(title=title, ylabel="", ylim=(-0.02, 1.02))
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.grid(alpha=0.3)
    seeds = "one seed" if args.n_seeds == 1 else f"mean and range of {args.n_seeds} seeds"
    figure.suptitle(f"{rules}, against {args.opponent} play: {seeds}")
    return figure


def main(args: Args) -> pd.DataFrame:
    check_at_least(
        1,
        total_timesteps=args.total_timesteps,
        num_envs=args.num_envs,
        eval_interval=args.eval_interval,
        n_seeds=args.n_seeds,
    )
    check_at_least(0, seed=args.seed)
    if args.seed + args.n_seeds > 2**32:
        fail(f"--seed must be below {2**32 - args.n_seeds + 1}; got {args.seed}")
    if not args.algorithms:
        fail(f"--algorithms must name one or more of {', '.join(ALGORITHMS)}")
    if args.n_jobs == 0:
        fail("--n-jobs must be 1 or more, or -1 for one per core; got 0")
    with checking_args():
        rules = NimRules(args.heaps, args.max_take, args.misere)
        solver.iter_positions(rules)  # it refuses a game that is too large for exact evaluation
        as_policy(args.opponent, rules, "opponent")
    if not theory.is_winning(rules, rules.all_positions()[1:]).any():
        fail(f"--heaps: no position of {rules} can be won, so there is nothing to learn")
    check_output("folder", args.folder / "sb3_masks.png")

    cached_train = joblib.Memory(args.folder / "cache", verbose=0).cache(train, ignore=["tensorboard_log"])
    settings = (rules, args.opponent, args.total_timesteps, args.num_envs, args.eval_interval)
    runs = [
        joblib.delayed(cached_train)(algorithm, *settings, seed, tensorboard_log=str(args.folder / "tensorboard"))
        for algorithm in dict.fromkeys(args.algorithms)
        for seed in range(args.seed, args.seed + args.n_seeds)
    ]
    finished = joblib.Parallel(args.n_jobs, return_as="generator")(runs)
    table = pd.concat(tqdm(finished, total=len(runs), desc="runs", disable=None), ignore_index=True)
    with replacing(args.folder / "sb3_masks.csv") as file:
        table.to_csv(file, index=False)
    for algorithm, rows in table.groupby("algorithm", sort=False):
        last = rows[rows["timesteps"] == rows["timesteps"].max()]
        expert, illegal = percent(last["expert"].mean()), percent(last["illegal"].mean())
        print(f"{algorithm}: expert mastery {expert} %, illegal moves {illegal} %")
    save_figure(draw(args, rules, table), args.folder / "sb3_masks.png")
    return table


if __name__ == "__main__":
    run(main, Args)
