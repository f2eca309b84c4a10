"""Compares five methods of multi-agent training by how much a best response wins against what they learn.

The methods are independent Q-learners (Tan 1993), minimax-Q by self-play (Littman 1994), Q-learning against a pool
of its own snapshots (Bansal et al. 2018), fictitious self-play (Heinrich et al. 2015) and PSRO (Lanctot et al.
2017). Each method trains in rounds of the same number of games. The boards have a known solution, so NashConv and
exploitability are computed exactly after each round.

    python examples/populations.py

The script takes about four minutes on two cores.

Install: pip install -e ".[examples]"
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from command_line import run

import gymnasium as gym
import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pettingzoo
import seaborn as sns
from numpy.typing import NDArray
from scipy.optimize import linprog
from tqdm import tqdm

import agents
from nim_env import NimRules, OpponentPool, evaluation, solver
from nim_env.policies import Policy, tabulate

from common import save_figure

Pair = tuple[Policy, Policy]  # the player who moves first, and the player who moves second
Round = tuple[Pair, OpponentPool | None]  # the newest players, and the pool if a mixed strategy is learned


@dataclass
class Args:
    boards: tuple[str, ...] = ("3-4-5", "1-3-5-7")
    """The starting heaps of each board. The games are misère."""
    rounds: int = 30
    games: int = 5_000
    """The number of training games in each round."""
    seeds: int = 5
    """The number of runs of each method on each board."""
    n_jobs: int = -1
    """The number of runs at the same time. -1 means one per core."""
    folder: Path = Path("results/populations")
    """The folder for the table and the figure."""


def main(args: Args) -> pd.DataFrame:
    """Runs all methods, and returns a table with a row for each round of each run."""
    tasks = [(board, name, seed) for board in args.boards for name in METHODS for seed in range(args.seeds)]
    runs = [joblib.delayed(train_and_evaluate)(args, *task) for task in tasks]
    tables = joblib.Parallel(args.n_jobs, return_as="generator")(runs)
    table = pd.concat(tqdm(tables, total=len(runs), desc="runs", disable=None), ignore_index=True)
    args.folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(args.folder / "populations.csv", index=False)
    print(games_to_perfection(table).to_string(na_rep="-"))
    save_figure(draw(table), args.folder / "populations.svg")
    return table


def train_and_evaluate(args: Args, board: str, method: str, seed: int) -> pd.DataFrame:
    """Returns the exact metrics of a run after each round."""
    rules = NimRules(tuple(map(int, board.split("-"))))
    rows = []
    for i, (players, pool) in enumerate(METHODS[method](rules, args, seed)):
        gains = nash_conv_by_position(rules, players)
        # the last position is the starting position
        nash_conv = gains[-1] if pool is None else 2 * evaluation.mixed_exploitability(rules, pool)
        metrics = {"nash_conv": nash_conv, "mean_exploitability": gains[1:].mean() / 2}
        rows.append({"board": board, "method": method, "seed": seed, "games": (i + 1) * args.games, **metrics})
    return pd.DataFrame(rows)


def nash_conv_by_position(rules: NimRules, players: Pair) -> NDArray[np.float64]:
    """Returns NashConv of the games that start from each position, in the order of the indices.

    NashConv is the sum of what the players could gain by a best response. In a zero-sum game the values of perfect
    play cancel in this sum. So it is what a best response wins against the player who moves first, plus what one
    wins against the player who moves second.
    """
    first, second = players
    return solver.response_values(rules, first).going_second + solver.response_values(rules, second).going_first


def independent_learners(rules: NimRules, args: Args, seed: int) -> Iterator[Round]:
    """Trains one learner for each player. To each of them, the other is part of the environment."""
    env = pettingzoo.make("aec", "nim-v0", heaps=rules.heaps, random_start=True)
    learners = {
        player: agents.QLearningAgent(env.observation_space(player), env.action_space(player), seed=2 * seed + i)
        for i, player in enumerate(env.possible_agents)
    }
    for i in range(args.rounds):
        agents.train(learners, env, args.games, seed=seed_of_round(seed, i))
        yield (learners["player_0"], learners["player_1"]), None


def minimax_q(rules: NimRules, args: Args, seed: int) -> Iterator[Round]:
    """Trains one learner that plays both sides and values a move by the best reply."""
    envs = make_envs(rules, opponent=None)
    learner = agents.MinimaxQAgent(envs.single_observation_space, envs.single_action_space, seed=seed)
    for i in range(args.rounds):
        agents.train(learner, envs, args.games, seed=seed_of_round(seed, i))
        yield (learner, learner), None


def snapshots(rules: NimRules, args: Args, seed: int) -> Iterator[Round]:
    """Trains one learner against a pool of random play and its own earlier snapshots, one of them in each game."""
    pool = OpponentPool(rules, ["random"])
    envs = make_envs(rules, opponent=pool)
    learner = agents.QLearningAgent(envs.single_observation_space, envs.single_action_space, seed=seed)
    for i in range(args.rounds):
        agents.train(learner, envs, args.games, seed=seed_of_round(seed, i))
        pool.add(tabulate(rules, learner))
        yield (learner, learner), None


def growing_population(
    rules: NimRules, args: Args, seed: int, meta_solver: Callable[[NDArray[Any]], NDArray[Any]]
) -> Iterator[Round]:
    """Trains a new learner in each round against the population's mixed strategy, and adds it to the pool."""
    pool = OpponentPool(rules, ["random"])
    envs = make_envs(rules, opponent=pool)
    spaces = envs.single_observation_space, envs.single_action_space
    for i in range(args.rounds):
        learner = agents.QLearningAgent(*spaces, seed=seed_of_round(seed, i))
        agents.train(learner, envs, args.games, seed=seed_of_round(seed, i))
        pool.add(tabulate(rules, learner))
        pool.weights = meta_solver(evaluation.payoff_matrix(rules, pool.policies))
        yield (learner, learner), pool


def equal_weights(payoffs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights all players so far equally, as in fictitious play."""
    return np.ones(len(payoffs))


def nash_weights(payoffs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the equilibrium of the empirical game, in which either player moves first with probability ½."""
    symmetric = (payoffs - payoffs.T) / 2
    n = len(symmetric)
    program = linprog(  # the variables are the weights and the guaranteed return, which is maximized
        c=[0] * n + [-1],
        A_ub=np.column_stack([-symmetric.T, np.ones(n)]),
        b_ub=np.zeros(n),
        A_eq=[[1] * n + [0]],
        b_eq=[1],
        bounds=[(0, 1)] * n + [(None, None)],
    )
    return program.x[:n].clip(0)


METHODS: dict[str, Callable[[NimRules, Args, int], Iterator[Round]]] = {
    "minimax-Q": minimax_q,
    "independent learners": independent_learners,
    "snapshots": snapshots,
    "fictitious play": partial(growing_population, meta_solver=equal_weights),
    "PSRO": partial(growing_population, meta_solver=nash_weights),
}


def make_envs(rules: NimRules, opponent: OpponentPool | None) -> Any:
    """Makes training environments that start from random positions, so every position is learned."""
    game = {**asdict(rules), "opponent": opponent, "random_start": True}
    return gym.make_vec("nim_env:Nim-v0", num_envs=64, **game)


def seed_of_round(seed: int, i: int) -> int:
    """Returns a different seed for each round of each run."""
    return 1_000 * seed + i


def games_to_perfection(table: pd.DataFrame) -> pd.DataFrame:
    """Returns how many games it takes until NashConv stays 0, as the median over the seeds.

    The result is NaN if NashConv never stays 0 for half of the seeds.
    """

    def games_of_run(run: pd.DataFrame) -> float:
        last_imperfect = max(run["games"][run["nash_conv"] > 0], default=0)
        return min(run["games"][run["games"] > last_imperfect], default=np.inf)

    runs = table.groupby(["method", "board", "seed"], sort=False)[["games", "nash_conv"]].apply(games_of_run)
    medians = runs.groupby(["method", "board"], sort=False).median().unstack(sort=False)
    return medians.replace(np.inf, np.nan)


def draw(table: pd.DataFrame) -> plt.Figure:
    """Draws two panels for each board. A line is the mean over the seeds, and a band is their range."""
    labels = {
        "nash_conv": "NashConv of what\nwas learned (0 is perfect)",
        "mean_exploitability": "mean exploitability\nof the newest players",
    }
    rows = table.melt(["board", "method", "seed", "games"], list(labels), "metric")
    panels = {"col": "board", "row": "metric", "facet_kws": {"sharey": "row"}, "height": 2.6, "aspect": 1.4}
    grid = sns.relplot(rows, kind="line", x="games", y="value", hue="method", errorbar=("pi", 100), **panels)
    grid.set(xscale="log").set_xlabels("training games").set_titles("{col_name}")
    for axis, label in zip(grid.axes[:, 0], labels.values(), strict=True):
        axis.set_ylabel(label)
        axis.xaxis.set_major_formatter("{x:,.0f}")
    sns.move_legend(grid, "upper center", bbox_to_anchor=(0.5, 0), ncols=len(METHODS), title="")
    grid.figure.suptitle("What a best response wins", size="medium", x=0.01, y=1.03, ha="left")
    return grid.figure


if __name__ == "__main__":
    run(main, Args)
