"""How a network's mastery falls as heaps are added, and what the encoding of the heaps changes.

MaskablePPO trains by self-play from random starts, with one recipe and each of three encodings of the heap sizes:
one-hot, binary digits, and a token for each object, as Zhou and Riis (2022, arXiv:2205.12787) showed Nim to
AlphaZero. What it has learned is evaluated exactly, next to the value accuracy that they published and beside the
fraction of positions that it visited: where that is 1, a network that falls short did not even memorize them.

With several boards the figure shows the trained networks against the number of heaps; with one board it shows the
learning curves:

    python examples/scaling_deep.py
    python examples/scaling_deep.py --n-heaps 4 --misere --n-seeds 3 --eval-interval 50000

It needs ``pip install -e ".[examples,sb3]"``. Runs use all cores; finished runs are cached in the folder, so the
same command continues after an interruption.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from common import check_at_least, check_output, checking_args, fail, percent, replacing, run, save_figure

import gymnasium as gym
import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from matplotlib.ticker import MaxNLocator
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import LinearSchedule
from tqdm import tqdm

from nim_env import NimRules, evaluation, solver
from nim_env.policies import as_policy
from nim_env.sb3 import EvaluationCallback, NimVecEnv, SelfPlayCallback

SELF_PLAY = "self-play"
ENCODINGS = ("one_hot", "bits", "unary")
ALPHA_ZERO = {5: 0.93, 6: 0.57, 7: 0.63}
"""Its value accuracy by the number of heaps, from the logs of Zhou and Riis (2022)."""
ENT_COEF = 0.5  # at the start; it falls to 0


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7, 9, 11, 13)
    """Starting heap sizes of the largest board."""
    n_heaps: tuple[int, ...] = (3, 4, 5, 6, 7)
    """The boards: each consists of this many of the first heaps."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    opponent: str = SELF_PLAY
    """Whom it trains against: self-play (a pool of its own snapshots), random, take-N or expert."""
    encodings: tuple[Literal["one_hot", "bits", "unary"], ...] = ENCODINGS
    """The encodings of the heap sizes."""
    total_timesteps: int = 1_000_000
    """The number of moves that each network makes in training."""
    num_envs: int = 512
    """The number of environments."""
    n_steps: int = 32
    """The number of moves in each environment per rollout."""
    batch_size: int = 2048
    """The size of a minibatch."""
    net_arch: tuple[int, ...] = (256, 256)
    """The sizes of the hidden layers."""
    eval_interval: int | None = None
    """The number of timesteps between two evaluations; None for the start and the end only."""
    n_seeds: int = 1
    """The number of seeds, from --seed on."""
    seed: int = 0
    """The first seed."""
    n_jobs: int = -1
    """The number of runs at the same time; -1 for one per core."""
    folder: Path = Path("results/scaling_deep")
    """Where the cached runs, the tables, the figures and TensorBoard's logs are saved."""


# --- Environment and training ---------------------------------------------------------------------


class VisitedPositions(gym.vector.VectorWrapper):
    """Records which positions the learner has been shown.

    Attributes:
        visited: The encoded positions, int8, as bytes.
    """

    def __init__(self, env: gym.vector.VectorEnv) -> None:
        super().__init__(env)
        self.visited: set[bytes] = set()

    def reset(self, **kwargs: Any) -> Any:
        observations, infos = self.env.reset(**kwargs)
        self.visited.update(map(bytes, observations.astype(np.int8)))
        return observations, infos

    def step(self, actions: np.ndarray) -> Any:
        observations, *result = self.env.step(actions)
        self.visited.update(map(bytes, observations.astype(np.int8)))
        return observations, *result


class EntropyAndVisits(BaseCallback):
    """Lowers the entropy coefficient linearly to 0, and adds ``visited`` to each evaluation."""

    def __init__(self, total_timesteps: int, env: VisitedPositions, evaluations: list[dict[str, Any]]) -> None:
        super().__init__()
        self.total_timesteps, self.env, self.evaluations = total_timesteps, env, evaluations

    def _on_training_start(self) -> None:
        self._on_step()

    def _on_rollout_start(self) -> None:
        self.model.ent_coef = ENT_COEF * max(0.0, 1 - self.num_timesteps / self.total_timesteps)

    def _on_step(self) -> bool:
        if "visited" not in self.evaluations[-1]:
            n_unfinished = self.env.unwrapped.rules.n_positions - 1
            self.evaluations[-1]["visited"] = len(self.env.visited) / n_unfinished
        return True

    def _on_training_end(self) -> None:
        self._on_step()


def train(
    rules: NimRules,
    encoding: str,
    opponent: str,
    total_timesteps: int,
    num_envs: int,
    n_steps: int,
    batch_size: int,
    net_arch: tuple[int, ...],
    eval_interval: int | None,
    seed: int,
    tensorboard_log: str | None = None,
) -> pd.DataFrame:
    """Trains one network.

    Returns:
        The evaluations of its most probable moves, one row each. ``exploitability_sampled`` is that of moves drawn
        from its distribution, ``visited`` the fraction of positions that it had been shown by then.
    """
    torch.set_num_threads(1)  # there is one run per core
    torch.distributions.Distribution.set_default_validate_args(False)  # it takes a fifth of the time of a rollout
    env = gym.make_vec(
        "nim_env:Nim-v0",
        num_envs=num_envs,
        heaps=rules.heaps,
        max_take=rules.max_take,
        misere=rules.misere,
        opponent="random" if opponent == SELF_PLAY else opponent,  # SelfPlayCallback replaces it
        random_start=True,
        observation=encoding,
        autoreset_mode="SameStep",
    )
    env = VisitedPositions(env)
    model = MaskablePPO(
        "MlpPolicy",
        NimVecEnv(env),
        n_steps=n_steps,
        batch_size=batch_size,
        n_epochs=4,
        learning_rate=LinearSchedule(1e-3, 0.0, 1.0),
        gamma=1.0,
        gae_lambda=0.5,
        ent_coef=ENT_COEF,
        policy_kwargs={"net_arch": list(net_arch)},
        tensorboard_log=tensorboard_log,
        seed=seed,
        device="cpu",
    )
    eval_freq = eval_interval or 2 * total_timesteps  # without an interval at the start and the end only
    greedy = EvaluationCallback(eval_freq)
    sampled = EvaluationCallback(eval_freq, deterministic=False, name="nim_sampled")
    callbacks = [greedy, sampled, EntropyAndVisits(total_timesteps, env, greedy.evaluations)]
    if opponent == SELF_PLAY:
        callbacks.insert(0, SelfPlayCallback(snapshot_interval=3, pool_size=20))
    board = "-".join(map(str, rules.heaps))
    model.learn(total_timesteps, callbacks, tb_log_name=f"{board}_{opponent}_{encoding}_seed_{seed}")
    table = pd.DataFrame(greedy.evaluations)
    table["exploitability_sampled"] = [row["exploitability"] for row in sampled.evaluations]
    return table.assign(heaps=board, n_heaps=rules.n_heaps, encoding=encoding, seed=seed)


# --- Figures --------------------------------------------------------------------------------------


def draw_scaling(args: Args, boards: dict[int, NimRules], table: pd.DataFrame) -> plt.Figure:
    """The trained networks against the number of heaps."""
    panels = {
        "expert": "Expert mastery: winning positions played correctly",
        "champion": "Champion mastery: fraction of seeds",
        "value_accuracy_overall": "Value accuracy: positions whose winner is named",
        "visited": "Positions visited in training",
    }
    trained = table[table["timesteps"] == table.groupby("n_heaps")["timesteps"].transform("max")]
    figure, axes = plt.subplots(2, 2, figsize=(12, 8), layout="constrained")
    for axis, (column, title) in zip(axes.flat, panels.items(), strict=True):
        sns.pointplot(
            trained.astype({column: float}),
            x="n_heaps",
            y=column,
            hue="encoding",
            dodge=0.12 * (len(args.encodings) - 1) or False,  # so that equal points are seen
            markers=["o", "s", "^"][: trained["encoding"].nunique()],
            markersize=5,
            linewidth=1.3,
            capsize=0.06,
            errorbar=None if column == "champion" else ("pi", 100),
            native_scale=True,
            legend=column == "expert",
            ax=axis,
        )
        axis.set(title=title, xlabel="number of heaps", ylabel="", ylim=(-0.03, 1.03))
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.grid(alpha=0.3)
    random_play = {n: evaluation.mastery(rules, "random") for n, rules in boards.items()}
    won = [random_play[n].winning_positions / (rules.n_positions - 1) for n, rules in boards.items()]
    expert = [mastery.expert for mastery in random_play.values()]
    axes[0, 0].plot(list(boards), expert, ":", color="gray", label="random play")
    axes[1, 0].plot(list(boards), won, ":", color="gray", label='"won" in every position')
    are_published = args.heaps == tuple(range(1, 2 * len(args.heaps), 2)) and not args.misere and not args.max_take
    if published := {n: ALPHA_ZERO[n] for n in boards if n in ALPHA_ZERO and are_published}:
        label = "AlphaZero (Zhou and Riis 2022)"
        axes[1, 0].plot(list(published), list(published.values()), "k*", markersize=11, label=label)
    axes[0, 0].legend()
    axes[1, 0].legend(loc="lower left")
    figure.suptitle(f"The first heaps of {NimRules(args.heaps, args.max_take, args.misere)}\n{describe(args)}")
    return figure


def draw_learning_curves(args: Args, rules: NimRules, table: pd.DataFrame) -> plt.Figure:
    """Expert mastery and value accuracy over the timesteps on one board."""
    figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained", sharey=True)
    panels = {
        "expert": "Expert mastery: winning positions played correctly",
        "value_accuracy_overall": "Value accuracy: positions whose winner is named",
    }
    for axis, (column, title) in zip(axes, panels.items(), strict=True):
        legend = column == "expert"
        style = {"hue": "encoding", "style": "encoding", "errorbar": ("pi", 100), "legend": legend}
        sns.lineplot(table, x="timesteps", y=column, **style, ax=axis)
        axis.set(title=title, ylabel="", ylim=(-0.02, 1.02))
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.grid(alpha=0.3)
    figure.suptitle(f"{rules}\n{describe(args)}")
    return figure


def describe(args: Args) -> str:
    """The training, for the title of a figure."""
    seeds = "one seed" if args.n_seeds == 1 else f"mean and range of {args.n_seeds} seeds"
    return f"MaskablePPO, opponent {args.opponent}, {args.total_timesteps:,} timesteps, {seeds}"


# --- Command line ---------------------------------------------------------------------------------


def check(args: Args) -> None:
    """Exits with an error if an option that no library checks has a wrong value."""
    counts = ("total_timesteps", "num_envs", "n_steps", "eval_interval", "n_seeds")
    check_at_least(1, **{name: getattr(args, name) for name in counts})
    check_at_least(1, net_arch=min(args.net_arch, default=1), n_heaps=min(args.n_heaps, default=0))
    check_at_least(2, batch_size=args.batch_size)
    check_at_least(0, seed=args.seed)
    if max(args.n_heaps) > len(args.heaps):
        fail(f"--n-heaps must be at most the number of heaps, {len(args.heaps)}; got {max(args.n_heaps)}")
    if not args.encodings:
        fail(f"--encodings must name one or more of {', '.join(ENCODINGS)}")
    if args.seed + args.n_seeds > 2**32:
        fail(f"--seed must be at most {2**32 - args.n_seeds}; got {args.seed}")
    if args.n_jobs == 0:
        fail("--n-jobs must be 1 or more, or -1 for one per core; got 0")
    if args.num_envs * args.n_steps % args.batch_size:
        fail(f"--batch-size must divide num_envs * n_steps, {args.num_envs * args.n_steps}; got {args.batch_size}")


def main(args: Args) -> pd.DataFrame:
    check(args)
    with checking_args():
        boards = {n: NimRules(args.heaps[:n], args.max_take, args.misere) for n in sorted(set(args.n_heaps))}
        for rules in boards.values():
            solver.iter_positions(rules)  # it refuses a game that is too large for exact evaluation
            if args.opponent != SELF_PLAY:
                as_policy(args.opponent, rules, "opponent")
    check_output("folder", args.folder / "scaling_deep.csv")

    cached_train = joblib.Memory(args.folder / "cache", verbose=0).cache(train, ignore=["tensorboard_log"])
    names = ("opponent", "total_timesteps", "num_envs", "n_steps", "batch_size", "net_arch", "eval_interval")
    options = {name: getattr(args, name) for name in names}
    log = str(args.folder / "tensorboard")
    runs = [
        joblib.delayed(cached_train)(rules, encoding, seed=seed, tensorboard_log=log, **options)
        for rules in reversed(boards.values())  # the longest first
        for encoding in dict.fromkeys(args.encodings)
        for seed in range(args.seed, args.seed + args.n_seeds)
    ]
    finished = joblib.Parallel(args.n_jobs, return_as="generator")(runs)
    table = pd.concat(tqdm(finished, total=len(runs), desc="runs", disable=None), ignore_index=True)
    name = "scaling_deep" if len(boards) > 1 else "learning_curves"
    with replacing(args.folder / f"{name}.csv") as file:
        table.to_csv(file, index=False)
    for run_name, rows in table.groupby(["heaps", "encoding", "seed"], sort=False):
        last = rows.iloc[-1]
        figures = {column: percent(last[column]) for column in ("expert", "value_accuracy_overall", "visited")}
        print(*run_name, *(f"{column} {figure} %" for column, figure in figures.items()), sep=", ")
    if len(boards) > 1:
        save_figure(draw_scaling(args, boards, table), args.folder / "scaling_deep.png")
    else:
        save_figure(draw_learning_curves(args, rules, table), args.folder / "learning_curves.png")
    return table


if __name__ == "__main__":
    run(main, Args)
