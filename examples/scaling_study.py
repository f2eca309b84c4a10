"""Compares how well tabular agents play Nim as heaps are added, at a fixed number of training timesteps.

Each agent trains from random starts on games of two to seven heaps. Q-learning and minimax-Q train by self-play,
where a timestep is one move; win counting trains against random play, where a timestep is a move and the reply.
Then each agent is evaluated exactly: expert mastery is the fraction of winning positions in which it plays a
winning move, champion mastery whether it wins every game that can be won (Zhou and Riis 2022, arXiv:2205.12787),
and exploitability what a best response gains over perfect play. A run also reports at which timestep the expert
mastery first reached --threshold.

joblib spreads the runs over all cores. Finished runs are cached in --folder, so the same command continues after
an interruption; delete the folder after a change of the agents. With --backend ray the runs are spread over the
Ray cluster that RAY_ADDRESS names; each machine needs this project installed and --folder on a shared file system.

Needs: pip install -e ".[examples]"; for --backend ray also pip install ray
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from common import check_at_least, check_output, checking_args, fail, replacing, run, save_figure

import gymnasium as gym
import joblib
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.ticker import MaxNLocator
from scipy import stats

import agents
from nim_env import NimRules, evaluation, solver
from nim_env.evaluation import MatchResult

Learner = Literal["q-learning", "minimax-q", "win-counting"]
LEARNERS: dict[str, tuple[type[agents.Agent], dict[str, Any]]] = {
    "q-learning": (agents.QLearningAgent, {"learning_rate": 0.5, "epsilon": 0.1}),
    "minimax-q": (agents.MinimaxQAgent, {"learning_rate": 1.0, "epsilon": 0.1}),
    "win-counting": (agents.WinCountAgent, {"cutoff": 1000}),
}


@dataclass
class Args:
    """The options of the study."""

    heaps: tuple[int, ...] = (1, 3, 5, 7, 9, 11, 13)
    """Starting heap sizes of the largest game. The others are its first heaps."""
    min_heaps: int = 2
    """Number of heaps of the smallest game."""
    max_take: int | None = None
    """Largest number of objects in one move; None for no limit."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    learners: tuple[Learner, ...] = tuple(LEARNERS)
    """The agents."""
    timesteps: int = 3_000_000
    """Training timesteps of each run."""
    threshold: float = 0.95
    """Expert mastery to reach, above 0 and at most 1."""
    num_envs: int = 256
    """Number of environments of each run."""
    seeds: int = 5
    """Number of seeds."""
    seed: int = 0
    """First seed. The same seeds give the same result."""
    n_jobs: int = -1
    """Number of runs at once; -1 for one on each core."""
    backend: Literal["loky", "threading", "ray"] = "loky"
    """The backend of joblib: processes or threads of this machine, or a Ray cluster."""
    folder: Path = Path("results/scaling_study")
    """Folder of the cached runs, the table (.csv) and the figure (.png)."""


def check(args: Args) -> None:
    """Exits with an error if a value is wrong."""
    check_at_least(0, seed=args.seed)
    check_at_least(1, min_heaps=args.min_heaps, timesteps=args.timesteps, num_envs=args.num_envs, seeds=args.seeds)
    if args.min_heaps > len(args.heaps):
        fail(f"--min-heaps must be at most the number of heaps, {len(args.heaps)}; got {args.min_heaps}")
    if not 0 < args.threshold <= 1:
        fail(f"--threshold must be above 0 and at most 1; got {args.threshold}")
    if args.n_jobs < -1 or args.n_jobs == 0:
        fail(f"--n-jobs must be 1 or more, or -1 for all cores; got {args.n_jobs}")
    if not args.learners:
        fail(f"--learners must name one or more of {', '.join(LEARNERS)}")
    if args.backend == "ray" and importlib.util.find_spec("ray") is None:
        fail("--backend ray needs Ray: pip install ray")
    check_output("folder", args.folder / "scaling_study.png")


# --- A run ----------------------------------------------------------------------------------------


def train_and_evaluate(
    learner: str,
    hyperparameters: dict[str, Any],
    rules: NimRules,
    timesteps: int,
    threshold: float,
    num_envs: int,
    seed: int,
) -> dict[str, Any]:
    """Trains one agent and returns a row of the table.

    Args:
        learner: A name in ``LEARNERS``.
        hyperparameters: The agent's.
        rules: The game.
        timesteps: Training ends once the finished episodes have this many timesteps in total.
        threshold: The expert mastery to reach. It is evaluated whenever the timesteps have grown by half.
        num_envs: Number of environments.
        seed: Seed of the agent and the environments.
    """
    start = time.perf_counter()
    agent_class = LEARNERS[learner][0]
    opponent = None if agent_class.supports_self_play else "random"
    env = gym.make_vec("nim_env:Nim-v0", num_envs=num_envs, random_start=True, opponent=opponent, **asdict(rules))
    agent = agent_class(env.single_observation_space, env.single_action_space, seed=seed, **hyperparameters)
    n_steps, n_episodes, next_eval, steps_to_threshold = 0, 0, num_envs, None

    def callback(agent: agents.Agent, history: agents.History) -> bool:
        nonlocal n_steps, n_episodes, next_eval, steps_to_threshold
        n_steps += int(history.lengths[n_episodes:].sum())
        n_episodes = len(history.lengths)
        if steps_to_threshold is None and n_steps >= next_eval:
            next_eval = 3 * n_steps // 2
            if evaluation.mastery(rules, agent).expert >= threshold:
                steps_to_threshold = n_steps
        return n_steps < timesteps

    # the number of episodes is only an upper bound: the callback ends the training
    agents.train(agent, env, episodes=timesteps, seed=seed, callback=callback)
    mastery = evaluation.mastery(rules, agent)
    if steps_to_threshold is None and mastery.expert >= threshold:
        steps_to_threshold = n_steps
    return {
        "learner": learner,
        "heaps": "-".join(map(str, rules.heaps)),
        "n_heaps": rules.n_heaps,
        "positions": rules.n_positions,
        "seed": seed,
        "timesteps": n_steps,
        "expert": mastery.expert,
        "champion": mastery.champion,
        "exploitability": evaluation.exploitability(rules, agent),
        "steps_to_threshold": steps_to_threshold,
        "seconds": time.perf_counter() - start,
    }


# --- The study ------------------------------------------------------------------------------------


def main(args: Args) -> pd.DataFrame:
    """Trains and evaluates all agents and returns a row for each run."""
    check(args)
    with checking_args():
        n_heaps = range(len(args.heaps), args.min_heaps - 1, -1)  # the longest runs first
        games = [NimRules(args.heaps[:n], args.max_take, args.misere) for n in n_heaps]
        for rules in games:
            solver.iter_positions(rules)  # raises if the game is too large
    if args.backend == "ray":
        from ray.util.joblib import register_ray

        register_ray()
    cached = joblib.Memory(args.folder.absolute(), verbose=0).cache(train_and_evaluate)
    calls = [
        # the hyperparameters are arguments, so that the cache depends on them
        (learner, LEARNERS[learner][1], rules, args.timesteps, args.threshold, args.num_envs, seed)
        for rules in games
        for learner in dict.fromkeys(args.learners)
        for seed in range(args.seed, args.seed + args.seeds)
    ]
    print(
        f"{len(calls)} runs, {sum(cached.check_call_in_cache(*call) for call in calls)} of them cached", flush=True
    )
    with joblib.parallel_config(backend=args.backend, n_jobs=args.n_jobs, verbose=10):
        rows = joblib.Parallel(batch_size=1)(  # no batches, since a run takes minutes
            joblib.delayed(cached)(*call) for call in calls
        )
    table = pd.DataFrame(rows).sort_values(["n_heaps", "learner", "seed"], ignore_index=True)
    print(table.groupby(["learner", "n_heaps"])[["expert", "champion", "exploitability", "seconds"]].mean())
    with replacing(args.folder / "scaling_study.csv") as file:
        table.to_csv(file, index=False)
    print(f"table: {args.folder / 'scaling_study.csv'}")
    save_figure(plot(args, table), args.folder / "scaling_study.png")
    return table


# --- Figure ---------------------------------------------------------------------------------------


def mean_interval(values: pd.Series) -> tuple[float, float]:
    """The 95 % confidence interval of a mean by Student's t distribution (Student, 1908)."""
    half = stats.t.ppf(0.975, len(values) - 1) * values.sem()
    return values.mean() - half, values.mean() + half


def fraction_interval(values: pd.Series) -> tuple[float, float]:
    """The same, clipped to 0 and 1."""
    low, high = mean_interval(values)
    return max(low, 0.0), min(high, 1.0)


def wilson_interval(values: pd.Series) -> tuple[float, float]:
    """The 95 % confidence interval of the fraction of ones (Wilson, 1927)."""
    return MatchResult(int(values.sum()), len(values)).interval()


def plot(args: Args, table: pd.DataFrame) -> plt.Figure:
    """Four panels against the number of heaps."""
    reached = table.groupby(["learner", "n_heaps"])["steps_to_threshold"].transform("count") == args.seeds
    table = table.assign(
        champion=table["champion"].astype(float),
        steps_to_threshold=table["steps_to_threshold"].astype(float).where(reached),
    )
    panels: list[tuple[str, str, Callable[[pd.Series], tuple[float, float]]]] = [
        ("expert", "Expert mastery: winning positions in which a winning move is played", fraction_interval),
        ("champion", "Champion mastery: fraction of seeds", wilson_interval),
        ("exploitability", "Exploitability: what a best response gains over perfect play", fraction_interval),
        (
            "steps_to_threshold",
            f"Timesteps to {100 * args.threshold:g} % expert mastery (where all seeds reach it)",
            mean_interval,
        ),
    ]
    figure, axes = plt.subplots(2, 2, figsize=(12, 8), layout="constrained")
    axes[1, 1].set_yscale("log")  # before drawing: seaborn then computes geometric means
    for axis, (column, title, interval) in zip(axes.flat, panels, strict=True):
        sns.pointplot(
            table.dropna(subset=[column]),
            x="n_heaps",
            y=column,
            hue="learner",
            hue_order=list(dict.fromkeys(args.learners)),
            dodge=0.12 * (len(args.learners) - 1) or False,  # so that equal points are seen
            markers=["o", "s", "^"][: len(args.learners)],
            markersize=5,
            linewidth=1.3,
            capsize=0.06,
            err_kws={"linewidth": 1.3},
            errorbar=interval if args.seeds > 1 else None,
            native_scale=True,
            legend=axis is axes[0, 0],
            ax=axis,
        )
        axis.set(title=title, xlabel="number of heaps", ylabel="")
        axis.set_xlim(args.min_heaps - 0.3, len(args.heaps) + 0.3)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.grid(alpha=0.3)
        if axis is not axes[1, 1]:
            axis.set_ylim(-0.03, 1.03)
    rules = NimRules(args.heaps, args.max_take, args.misere)
    seeds = "one seed" if args.seeds == 1 else f"means of {args.seeds} seeds with 95 % confidence intervals"
    figure.suptitle(f"The first heaps of {rules}\n{args.timesteps:,} training timesteps, {seeds}")
    return figure


if __name__ == "__main__":
    run(main, Args)
