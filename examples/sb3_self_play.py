"""MaskablePPO learns Nim by self-play, against a pool of its own snapshots.

The environment plays the opponent's moves, so the model sees a single-agent task. A snapshot drawn from the pool
chooses each of these moves. Every few rollouts the current model joins the pool; a full pool drops its oldest
snapshot. --algorithm PPO and DQN ignore the action masks, so an illegal action loses the game.

During training the model is evaluated exactly, over all positions: expert mastery is the fraction of winning
positions in which its most probable legal move wins (Zhou and Riis 2022, arXiv:2205.12787), value accuracy that of
positions in which the sign of its value predicts the winner, and exploitability what a best response gains over
perfect play. TensorBoard shows all of them.

--resume, with the other options as before, continues an interrupted run from its newest checkpoint. Checkpoints
are pickles: resume only your own.

Sources: PPO, Schulman et al. (2017, arXiv:1707.06347), with action masks, Huang and Ontañón (2022,
arXiv:2006.14171); DQN, Mnih et al. (2015, Nature 518); opponents drawn from earlier versions, Bansal et al. (2018,
arXiv:1710.03748).

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import gymnasium as gym
import matplotlib.pyplot as plt
import pandas as pd
import torch
from matplotlib.figure import Figure
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecMonitor

from nim_env import NimRules
from nim_env.sb3 import EvaluationCallback, NimVecEnv, SelfPlayCallback

from common import percent, run, save_figure

ALGORITHMS = {"MaskablePPO": MaskablePPO, "PPO": PPO, "DQN": DQN}
DQN_OPTIONS = {"buffer_size": 100_000, "learning_starts": 2_000, "batch_size": 256, "train_freq": 1}
DQN_OPTIONS |= {"gradient_steps": 4, "target_update_interval": 2_000, "exploration_fraction": 0.5}
LINES = {
    "expert": "expert mastery\n(greedy moves)",
    "value_accuracy_overall": "value accuracy",
    "exploitability_sampled": "exploitability\n(sampled moves; 0 is perfect)",
}

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
    total_timesteps: int = 4_000_000
    """The number of training timesteps: the model's moves, not the opponent's."""
    num_envs: int = 512
    """The number of environments."""
    n_steps: int = 32
    """In PPO, the number of moves in each environment per rollout."""
    batch_size: int = 2048
    """In PPO, the size of a minibatch, a divisor of the rollout."""
    learning_rate: float = 1e-3
    """The learning rate at the start; it falls to 0."""
    ent_coef: float = 0.5
    """In PPO, the entropy coefficient at the start; it falls to 0."""
    eval_interval: int = 160_000
    """The number of timesteps between two evaluations and checkpoints (of the model and its opponent pool)."""
    resume: bool = False
    """Continue the run in the folder from its newest checkpoint."""
    seed: int = 0
    """Random seed."""
    folder: Path = Path("results/sb3_self_play")
    """Where the model, the checkpoints, the figure and TensorBoard's logs are saved."""


def main(args: Args) -> pd.DataFrame:
    """Trains, saves the model and the figure, and returns the evaluations."""
    checkpoints = args.folder / "checkpoints"
    saved = sorted(checkpoints.glob("*_steps.zip"), key=lambda path: int(path.stem.split("_")[-2]))
    if args.resume != bool(saved):
        hint = "there is no checkpoint" if args.resume else "another run; give --resume or another --folder"
        raise ValueError(f"{checkpoints}: {hint}")
    env = make_env(args)
    if args.resume:
        model = ALGORITHMS[args.algorithm].load(saved[-1], env=env, device="cpu")
        model.set_random_seed(args.seed + model.num_timesteps)  # otherwise it would draw the same numbers again
        print(f"resuming from {saved[-1]}, at timestep {model.num_timesteps:,}")
    else:
        model = make_model(args, env)
    eval_freq = max(1, args.eval_interval // args.num_envs)  # in steps of the vector environment
    table = train(args, model, [CheckpointCallback(eval_freq, str(checkpoints))], verbose=1)
    model.save(args.folder / "model.zip", exclude=["opponent_pool", "evaluations"])
    print(f"expert mastery {percent(table['expert'].iloc[-1], 2)} %; model: {args.folder / 'model.zip'}")
    save_figure(draw(args, table), args.folder / "sb3_self_play.svg")
    return table


def make_env(args: Args) -> VecMonitor:
    """The vector environment, in which every episode starts from a random position."""
    rules = NimRules(args.heaps, args.max_take, args.misere)
    opponent = "random" if args.opponent == "self-play" else args.opponent  # SelfPlayCallback replaces it
    options = {"random_start": True, "observation": args.observation, "autoreset_mode": "SameStep"}
    env = gym.make_vec("nim_env:Nim-v0", num_envs=args.num_envs, opponent=opponent, **options, **asdict(rules))
    # NimVecEnv has the action_masks() that MaskablePPO calls; VecMonitor logs the returns of episodes
    return VecMonitor(NimVecEnv(env))


def make_model(args: Args, env: VecMonitor) -> BaseAlgorithm:
    """An untrained model."""
    if (args.algorithm, args.opponent) == ("DQN", "self-play"):
        raise ValueError("DQN needs --opponent random, take-N or expert, since its rollouts are single steps")
    options = {"n_steps": args.n_steps, "batch_size": args.batch_size, "ent_coef": args.ent_coef}
    return ALGORITHMS[args.algorithm](
        "MlpPolicy",
        env,
        learning_rate=LinearSchedule(args.learning_rate, 0.0, 1.0),
        gamma=1.0,
        policy_kwargs={"net_arch": [256, 256]},
        tensorboard_log=str(args.folder / "tensorboard"),
        seed=args.seed,
        device="cpu",
        **(DQN_OPTIONS if args.algorithm == "DQN" else options | {"n_epochs": 4, "gae_lambda": 0.5}),
    )


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
    pool = [SelfPlayCallback(snapshot_interval=3, pool_size=20)] if args.opponent == "self-play" else []
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
        self.ent_coef = ent_coef
        self.total_timesteps = total_timesteps

    def _on_rollout_start(self) -> None:
        self.model.ent_coef = self.ent_coef * max(0.0, 1 - self.num_timesteps / self.total_timesteps)

    def _on_step(self) -> bool:
        return True


def draw(args: Args, table: pd.DataFrame) -> Figure:
    """Mastery, value accuracy and exploitability over the timesteps."""
    lines = table.set_index("timesteps").rename(columns=LINES)[list(LINES.values())]
    best = table.loc[table["expert"].idxmax()]
    rules = NimRules(args.heaps, args.max_take, args.misere)
    figure, axis = plt.subplots(layout="constrained")
    lines.plot(marker=".", ylim=(-0.02, 1.02), ax=axis, legend=False)
    axis.set(
        title=f"{args.algorithm} reaches {percent(best['expert'])} % expert mastery "
        f"after {best['timesteps']:,.0f} timesteps",
        xlabel=f"timesteps ({rules}, opponent {args.opponent}, seed {args.seed})",
        ylabel="fraction",
    )
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.locator_params(axis="x", nbins=5)
    figure.legend(loc="outside right center", labelspacing=1.5)
    return figure


if __name__ == "__main__":
    run(main, Args)
