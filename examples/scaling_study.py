"""How well tables and networks play as heaps are added, at a fixed number of training timesteps.

Each run trains one learner on one board with one seed from random starts, and evaluates it exactly: expert
mastery is the fraction of winning positions in which it plays a winning move (Zhou and Riis 2022,
arXiv:2205.12787), exploitability what a best response gains over perfect play. A timestep is one of its moves.
q-learning, minimax-q and win-counting are tables of this project; MaskablePPO, PPO and DQN are networks, as in
sb3_self_play.py. They train by self-play, unless --opponent names an opponent. Instead of self-play, win-counting
trains against random play; DQN needs an opponent.

With several boards the figure shows the trained learners against the number of heaps, with one board the learning
curves.

joblib spreads the runs over all cores. Finished runs are cached in --folder, so the same command continues after
an interruption; delete the folder after a change of the learners.

Install: pip install -e ".[examples]"; for networks pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from common import (
    COLORS,
    NonNegative,
    PositiveInt,
    PositiveIntOrNone,
    Seed,
    check_output,
    checking_args,
    fail,
    label_lines,
    replacing,
    run,
    save_figure,
)

import gymnasium as gym
import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from tqdm import tqdm

import agents
from nim_env import NimRules, evaluation, solver
from nim_env.policies import checked_policy

TABLES: dict[str, dict[str, Any]] = {
    "q-learning": {"learning_rate": 0.5, "epsilon": 0.1},
    "minimax-q": {"learning_rate": 1.0, "epsilon": 0.1},
    "win-counting": {"cutoff": 1000},
}
ALPHA_ZERO_ACCURACY = {5: 0.93, 6: 0.57, 7: 0.63}
"""AlphaZero's value accuracy by the number of heaps, from the logs of Zhou and Riis (2022)."""


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7, 9, 11, 13)
    """Starting heap sizes of the largest board."""
    n_heaps: tuple[PositiveInt, ...] = (2, 3, 4, 5, 6, 7)
    """The boards: each consists of this many of the first heaps."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    learners: tuple[Literal["q-learning", "minimax-q", "win-counting", "MaskablePPO", "PPO", "DQN"], ...] = (
        "q-learning",
        "minimax-q",
        "win-counting",
    )
    """The learners."""
    observation: tuple[Literal["heaps", "one_hot", "bits", "unary"], ...] = ("one_hot",)
    """The encodings of the heap sizes in the observation of networks."""
    opponent: str = "self-play"
    """The opponent in training: self-play, random, take-N or expert."""
    total_timesteps: PositiveInt = 3_000_000
    """The number of training timesteps of each run."""
    num_envs: PositiveIntOrNone = None
    """The number of environments; None for 256 with tables and 512 with networks."""
    n_steps: PositiveInt = 32
    """In PPO, the number of moves in each environment per rollout."""
    batch_size: PositiveInt = 2048
    """In PPO, the size of a minibatch."""
    net_arch: tuple[PositiveInt, ...] = (256, 256)
    """The sizes of the hidden layers of networks."""
    ent_coef: NonNegative = 0.5
    """In PPO, the entropy coefficient at the start; it falls to 0."""
    eval_interval: PositiveIntOrNone = None
    """The number of timesteps between two evaluations; None for networks at the start and the end only, and for
    tables whenever the timesteps have grown by half."""
    n_seeds: PositiveInt = 5
    """The number of seeds, from --seed on."""
    seed: Seed = 0
    """Random seed, the first one."""
    n_jobs: int = -1
    """The number of runs at the same time; -1 for one per core."""
    folder: Path = Path("results/scaling_study")
    """Where the cached runs, the table, the figure and TensorBoard's logs are saved."""


def main(args: Args) -> pd.DataFrame:
    """Trains and evaluates all learners and returns a row for each evaluation."""
    with checking_args():
        joblib.effective_n_jobs(args.n_jobs)
        if not set(args.n_heaps) <= set(range(1, len(args.heaps) + 1)):
            fail(f"--n-heaps must be at most the number of heaps, {len(args.heaps)}; got {args.n_heaps}")
        boards = [NimRules(args.heaps[:n], args.max_take, args.misere) for n in sorted(set(args.n_heaps))]
        for rules in boards:
            solver.iter_positions(rules)  # raises if the game is too large
            if args.opponent != "self-play":
                checked_policy(args.opponent, rules, "opponent")
        runs = list(make_runs(args, boards))
    check_output("folder", args.folder / "scaling_study.csv")
    memory = joblib.Memory(args.folder / "cache", verbose=0)
    cached = memory.cache(train, ignore=["folder"])
    calls = [joblib.delayed(cached)(**options, folder=args.folder) for options in runs]
    tables = joblib.Parallel(args.n_jobs, return_as="generator")(calls)
    table = pd.concat(tqdm(tables, total=len(calls), desc="runs", disable=None), ignore_index=True)
    with replacing(args.folder / "scaling_study.csv") as file:
        table.to_csv(file, index=False)
    print(summarize(table).to_string())
    print(f"table: {args.folder / 'scaling_study.csv'}")
    figure = draw_boards(args, boards, table) if len(boards) > 1 else draw_learning_curves(args, boards[0], table)
    save_figure(figure, args.folder / "scaling_study.png")
    return table


# --- A run ----------------------------------------------------------------------------------------


def make_runs(args: Args, boards: list[NimRules]) -> Iterator[dict[str, Any]]:
    """The arguments of :func:`train` for each run, the longest first.

    Raises:
        ValueError: There is nothing to train, minimax-Q has an opponent, or DQN has none.
    """
    if not args.learners or not boards or not args.observation:
        raise ValueError("give --learners, --n-heaps and --observation one or more values each")
    options = {name: getattr(args, name) for name in ("total_timesteps", "eval_interval")}
    network = {name: getattr(args, name) for name in ("n_steps", "batch_size", "net_arch", "ent_coef")}
    for rules in reversed(boards):
        for learner in dict.fromkeys(args.learners):
            is_table, opponent = learner in TABLES, args.opponent
            if learner == "win-counting" and opponent == "self-play":
                opponent = "random"
            if learner == "minimax-q" and opponent != "self-play":
                raise ValueError(f"minimax-q learns by self-play alone; got --opponent {opponent}")
            if learner == "DQN" and opponent == "self-play":
                raise ValueError("DQN needs --opponent random, take-N or expert: its rollouts are single steps")
            num_envs = args.num_envs or (256 if is_table else 512)
            if learner in ("MaskablePPO", "PPO") and num_envs * args.n_steps % args.batch_size:
                rollout = num_envs * args.n_steps
                raise ValueError(f"--batch-size must divide the rollout, {rollout}; got {args.batch_size}")
            for observation in ["heaps"] if is_table else dict.fromkeys(args.observation):
                for seed in range(args.seed, args.seed + args.n_seeds):
                    yield options | {
                        "learner": learner,
                        "observation": observation,
                        "rules": rules,
                        "opponent": opponent,
                        "num_envs": num_envs,
                        "seed": seed,
                        "hyperparameters": TABLES[learner] if is_table else network,  # the cache depends on them
                    }


def train(
    learner: str, folder: Path, rules: NimRules, observation: str, seed: int, **options: Any
) -> pd.DataFrame:
    """Trains a learner; returns a row for each evaluation."""
    start = time.perf_counter()
    if learner in TABLES:
        table = train_table(learner, rules, seed, **options)
    else:
        table = train_network(learner, folder, rules, observation, seed, **options)
    board = {"heaps": "-".join(map(str, rules.heaps)), "n_heaps": rules.n_heaps}
    seconds = time.perf_counter() - start
    return table.assign(learner=learner, observation=observation, **board, seed=seed, seconds=seconds)


def train_table(
    learner: str,
    rules: NimRules,
    seed: int,
    opponent: str,
    total_timesteps: int,
    eval_interval: int | None,
    num_envs: int,
    hyperparameters: dict[str, Any],
) -> pd.DataFrame:
    """Trains an agent; all rows except the last hold its mastery alone."""
    env = gym.make_vec(
        "nim_env:Nim-v0",
        num_envs=num_envs,
        random_start=True,
        opponent=None if opponent == "self-play" else opponent,
        **asdict(rules),
    )
    algorithm = agents.ALGORITHMS[learner]
    agent = algorithm(env.single_observation_space, env.single_action_space, seed=seed, **hyperparameters)
    rows, n_steps, n_episodes, next_eval = [], 0, 0, eval_interval or num_envs

    def evaluate(agent: agents.Agent, history: agents.History) -> bool:
        nonlocal n_steps, n_episodes, next_eval
        n_steps += int(history.lengths[n_episodes:].sum())
        n_episodes = len(history.lengths)
        if next_eval <= n_steps < total_timesteps:
            next_eval = n_steps + (eval_interval or n_steps // 2)
            rows.append({"timesteps": n_steps, "expert": evaluation.mastery(rules, agent).expert})
        return n_steps < total_timesteps

    # the number of episodes is only an upper bound: the callback ends the training
    agents.train(agent, env, episodes=total_timesteps, seed=seed, callback=evaluate)
    rows.append({"timesteps": n_steps, **evaluation.report(rules, agent).to_dict()})
    return pd.DataFrame(rows)


def train_network(
    learner: str,
    folder: Path,
    rules: NimRules,
    observation: str,
    seed: int,
    eval_interval: int | None,
    total_timesteps: int,
    hyperparameters: dict[str, Any],
    **options: Any,
) -> pd.DataFrame:
    """Trains a network with the code of sb3_self_play.py.

    Returns:
        Its table, with the fraction of positions that the network has been shown so far, ``visited``, and the
        fraction of illegal actions since the evaluation before, ``illegal``.
    """
    import torch  # here, since tables need no PyTorch
    from stable_baselines3.common.callbacks import ConvertCallback

    import sb3_self_play

    torch.set_num_threads(1)  # there is one run per core
    args = sb3_self_play.Args(
        algorithm=learner,
        observation=observation,
        seed=seed,
        folder=folder,
        total_timesteps=total_timesteps,
        eval_interval=eval_interval or 2 * total_timesteps,
        **asdict(rules),
        **hyperparameters,
        **options,
    )
    first_shown: dict[bytes, int] = {}  # the timestep at which each observation first occurred
    n_illegal = [0]  # the number of illegal actions after each step of the vector environment

    def watch(step: dict[str, Any], _: Any) -> bool:
        model = step["self"]
        before = model.num_timesteps - args.num_envs
        for timestep, observations in ((before, model._last_obs), (model.num_timesteps, step["new_obs"])):
            for key in map(bytes, observations):
                first_shown.setdefault(key, timestep)
        n_illegal.append(n_illegal[-1] + sum(info["illegal_action"] for info in step["infos"]))
        return True

    model = sb3_self_play.make_model(args, sb3_self_play.make_env(args))
    table = sb3_self_play.train(args, model, [ConvertCallback(watch)])
    shown = np.sort(list(first_shown.values()))
    n_steps = table["timesteps"] // args.num_envs
    illegal = pd.Series(n_illegal)[n_steps].diff().to_numpy() / (n_steps.diff() * args.num_envs)
    n_unfinished = rules.n_positions - 1
    return table.assign(
        visited=np.searchsorted(shown, table["timesteps"], "right") / n_unfinished, illegal=illegal
    )


# --- Results --------------------------------------------------------------------------------------


def summarize(table: pd.DataFrame) -> pd.DataFrame:
    """The means over the seeds at the end of training."""
    shown = ["expert", "champion", "exploitability", "value_accuracy_overall", "visited", "illegal", "seconds"]
    last = table.groupby(["learner", "observation", "heaps", "seed"], sort=False).tail(1)
    means = last.astype({"champion": float}).groupby(["learner", "observation", "heaps"], sort=False)
    return means[[name for name in shown if name in table]].mean().dropna(axis=1, how="all").round(4)


def with_names(table: pd.DataFrame) -> pd.DataFrame:
    """Adds the name of each learner in a figure, with the encoding where there are several."""
    several = table.groupby("learner")["observation"].transform("nunique") > 1
    both = (
        table["observation"] if table["learner"].nunique() == 1 else table["learner"] + ", " + table["observation"]
    )
    return table.assign(name=table["learner"].where(~several, both))


def draw_boards(args: Args, boards: list[NimRules], table: pd.DataFrame) -> plt.Figure:
    """The trained learners against the number of heaps: the mean over the seeds, and a dot for each seed."""
    runs = with_names(table).groupby(["name", "n_heaps", "seed"], sort=False)
    last = runs.tail(1).set_index(["name", "n_heaps", "seed"])
    reached = table[table["expert"] >= 0.95].groupby(["learner", "n_heaps", "seed"])["timesteps"].min()
    last["reached"] = [reached.get((row.learner, *index[1:])) for index, row in last.iterrows()]
    is_all = last.groupby(["name", "n_heaps"])["reached"].transform("count") == args.n_seeds
    last["reached"] = last["reached"].astype(float).where(is_all)
    panels = {
        "expert": "Expert mastery: winning positions\nin which a winning move is played",
        "exploitability": "Exploitability: what a best response\ngains over perfect play",
        "value_accuracy_overall": "Value accuracy: positions\nwhose winner is named",
        "visited": "Positions visited in training",
        "reached": "Timesteps to 95 % expert mastery\n(where all seeds reach it)",
    }
    if last["learner"].isin(list(TABLES)).any():
        del panels["value_accuracy_overall"], panels["visited"]
    else:
        del panels["reached"]
    rows, columns = (2, 2) if len(panels) == 4 else (1, 3)
    size = 5.2 * columns, 4.4 * rows
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for axis, (column, title) in zip(axes.flat, panels.items(), strict=True):
        for number, (name, seeds) in enumerate(last[column].dropna().astype(float).groupby("name", sort=False)):
            means = seeds.groupby("n_heaps").mean().sort_index()
            axis.plot(means, marker="os^Dv"[number % 5], markersize=5, label=name)
            if args.n_seeds > 1:
                axis.plot(
                    seeds.index.get_level_values("n_heaps"), seeds, "_", color=f"C{number}", alpha=0.4, label="_"
                )
        axis.set(title=title, xlabel="number of heaps")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        if column == "reached":
            axis.set_yscale("log")
        else:
            axis.set_ylim(-0.03, 1.03)
        if column in ("expert", "value_accuracy_overall"):
            draw_baseline(axis, boards, column)
        if column == "value_accuracy_overall" and (published := published_accuracy(args)):
            style = {"color": COLORS["ink"], "markersize": 11, "label": "AlphaZero, published"}
            axis.plot(list(published), list(published.values()), "*", **style)
        label_lines(axis)
    figure.suptitle(f"The first heaps of {NimRules(args.heaps, args.max_take, args.misere)}\n{describe(args)}")
    return figure


def draw_baseline(axis: Axes, boards: list[NimRules], column: str) -> None:
    """The expert mastery of random play, or the value accuracy of the answer "won" in every position."""
    random_play = {rules: evaluation.mastery(rules, "random") for rules in boards}
    if column == "expert":
        heights = [mastery.expert for mastery in random_play.values()]
    else:
        heights = [found.won_positions / (rules.n_positions - 1) for rules, found in random_play.items()]
    label = "random play" if column == "expert" else '"won" everywhere'
    axis.plot([rules.n_heaps for rules in boards], heights, ":", color=COLORS["muted"], label=label)


def draw_learning_curves(args: Args, rules: NimRules, table: pd.DataFrame) -> plt.Figure:
    """Expert mastery over the timesteps on one board, and the illegal actions or the value accuracy."""
    panels = {"expert": "Expert mastery: winning positions\nin which a winning move is played"}
    if "illegal" in table and (table["illegal"] > 0).any():
        panels["illegal"] = "Fraction of illegal actions in training"
    elif "visited" in table:
        panels["value_accuracy_overall"] = "Value accuracy: positions\nwhose winner is named"
    table = with_names(table)
    table["evaluation"] = table.groupby(["name", "seed"]).cumcount()
    size = 6 * len(panels), 4.6
    figure, axes = plt.subplots(1, len(panels), figsize=size, squeeze=False, layout="constrained")
    for axis, (column, title) in zip(axes.flat, panels.items(), strict=True):
        for name, rows in table.dropna(subset=column).groupby("name", sort=False):
            seeds = rows.groupby("evaluation")[["timesteps", column]].agg(["mean", "min", "max"])
            steps, figures = seeds["timesteps"]["mean"], seeds[column]
            (line,) = axis.plot(steps, figures["mean"], label=name)
            axis.fill_between(
                steps, figures["min"], figures["max"], color=line.get_color(), alpha=0.15, linewidth=0
            )
        axis.set(title=title, xlabel="timesteps", ylim=(-0.02, 1.02))
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.xaxis.set_major_locator(MaxNLocator(4))
        label_lines(axis)
    figure.suptitle(f"{rules}\n{describe(args)}")
    return figure


def published_accuracy(args: Args) -> dict[int, float]:
    """The value accuracy of AlphaZero by the number of heaps, where the boards are those of Zhou and Riis."""
    is_same = args.heaps == tuple(range(1, 2 * len(args.heaps), 2)) and not args.misere and not args.max_take
    return {n: accuracy for n, accuracy in ALPHA_ZERO_ACCURACY.items() if is_same and n in args.n_heaps}


def describe(args: Args) -> str:
    """The training, for the title of a figure."""
    seeds = "one seed" if args.n_seeds == 1 else f"mean and range of {args.n_seeds} seeds"
    learners, opponent = ", ".join(dict.fromkeys(args.learners)), args.opponent
    if opponent == "self-play" and "win-counting" in args.learners:
        opponent += " (win-counting: random)"
    return f"{learners}; opponent in training: {opponent}; {args.total_timesteps:,} timesteps, {seeds}"


if __name__ == "__main__":
    run(main, Args)
