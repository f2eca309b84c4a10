"""Trains three algorithms against three opponents and by self-play, and compares what they learn.

Q-learning (Watkins 1989) learns in all four settings; the next state of its update is the one that it faces at its
next turn. Minimax-Q (Littman 1994) learns by self-play; the next state is the one that the other player faces, and
its value is negated. Win counting learns against an opponent; it counts for each move the games that were won with
it. Who moves first is drawn in each game.

Then every player plays every other player, in both orders. No games are sampled for this: win probabilities and
mastery (Zhou and Riis 2022, arXiv:2205.12787) are computed exactly. One figure shows the learning curves, one the
tournament, and on one heap or two a third one the mistakes of each player. Custom players take part with --enter
my.agent my_file.py:my_function.

Install: pip install -e ".[examples]"
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

from common import (
    COLORS,
    Fraction,
    PositiveInt,
    check_output,
    checking_args,
    label_lines,
    load_player,
    percent,
    run,
    save_figure,
)

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from rich import box
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

import agents
from nim_env import NimRules, evaluation, theory
from nim_env.policies import PolicyLike, tabulate

BASELINES = ("random", "take-3", "expert")
OPPONENTS = (*BASELINES, "self-play")


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (21,)
    """Starting heap sizes."""
    max_take: int | None = 3
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    episodes: PositiveInt = 10_000
    """The number of training games of each agent."""
    learning_rate: Fraction = 0.2
    """The learning rate of Q-learning and minimax-Q."""
    gamma: Fraction = 1.0
    """The discount factor of Q-learning and minimax-Q."""
    epsilon: Fraction = 0.2
    """The probability of a random action of Q-learning and minimax-Q in training."""
    n_evals: PositiveInt = 60
    """The number of evaluations in training, at growing intervals."""
    enter: tuple[str, ...] = ()
    """Further players: take-N, file.py:name (a function or policy), or the files of saved agents, tables (.npz),
    networks (.pt) or MaskablePPO models (.zip). Files .py and .zip run code when loaded: give only those you
    trust."""
    seed: int = 0
    """Random seed."""
    folder: Path = Path("results")
    """Where the figures are saved: compare_opponents.png, tournament.png and mistakes.png."""


def main(args: Args) -> dict[str, pd.DataFrame]:
    check_output("folder", args.folder / "compare_opponents.png")
    with checking_args():
        rules = NimRules(args.heaps, args.max_take, args.misere)
        players = {name: load_player(name, rules) for name in (*BASELINES, *args.enter)}
        for player in players.values():
            evaluation.exploitability(rules, player)  # rejects a game that is too large, and illegal actions
        runs = {
            (learner, opponent): make(args, learner, opponent)
            for learner, opponent in itertools.product(agents.ALGORITHMS, OPPONENTS)
            if is_defined(learner, opponent)
        }
    curves = []
    for (learner, opponent), (agent, env) in tqdm(runs.items(), desc="training", leave=False, disable=None):
        curve = evaluation.LearningCurve(rules, args.episodes, args.n_evals, first=20)
        agents.train(agent, env, args.episodes, seed=args.seed, callback=curve)
        curves.append(pd.DataFrame(curve.rows).assign(learner=learner, opponent=opponent))
        players[f"{learner}, {opponent}"] = agent
    learning_curves = pd.concat(curves, ignore_index=True)
    wins = play_tournament(rules, players)
    figures = {name: evaluation.report(rules, player).to_dict() for name, player in players.items()}
    reports = pd.DataFrame.from_dict(figures, orient="index")
    Console().print(make_table(args, rules, wins, reports))
    save_figure(plot_learning_curves(rules, learning_curves), args.folder / "compare_opponents.png")
    save_figure(plot_tournament(args, rules, wins), args.folder / "tournament.png")
    if rules.n_heaps <= 2:
        save_figure(plot_mistakes(rules, players), args.folder / "mistakes.png")
    return {"learning_curves": learning_curves, "wins": wins, "reports": reports}


# --- Training and evaluation ----------------------------------------------------------------------


def is_defined(learner: str, opponent: str) -> bool:
    """Whether a learner can be trained in a setting."""
    algorithm = agents.ALGORITHMS[learner]
    return algorithm.supports_self_play if opponent == "self-play" else algorithm.supports_single_agent


def make(args: Args, learner: str, opponent: str) -> tuple[agents.Agent, gym.Env | gym.vector.VectorEnv]:
    """An untrained agent and its environment."""
    game = {
        "heaps": args.heaps,
        "max_take": args.max_take,
        "misere": args.misere,
        "opponent": None if opponent == "self-play" else opponent,
    }
    if learner == "win-counting":  # its counts are its exploration, and a batch would update them late
        env = gym.make("nim_env:Nim-v0", **game)
        return agents.WinCountAgent(env.observation_space, env.action_space, seed=args.seed), env
    envs = gym.make_vec("nim_env:Nim-v0", num_envs=64, **game)
    agent = agents.ALGORITHMS[learner](
        envs.single_observation_space,
        envs.single_action_space,
        learning_rate=args.learning_rate,
        gamma=args.gamma,
        epsilon=args.epsilon,
        seed=args.seed,
    )
    return agent, envs


def play_tournament(rules: NimRules, players: dict[str, PolicyLike]) -> pd.DataFrame:
    """The probability that the player of a row, moving first, wins against the player of a column."""
    wins = pd.DataFrame(index=list(players), columns=list(players), dtype=float)
    pairs = list(itertools.product(players, players))
    for first, second in tqdm(pairs, desc="tournament", leave=False, disable=None):
        wins.loc[first, second] = evaluation.win_probability(rules, players[first], players[second], True)
    return wins


def make_table(args: Args, rules: NimRules, wins: pd.DataFrame, reports: pd.DataFrame) -> Table:
    """Every player against the baselines."""

    def figures(player: str) -> list[str]:
        if player not in wins.index:
            return ["–"] * (len(BASELINES) + 1)
        cells = [f"{percent(wins.loc[player, b])}/{percent(1 - wins.loc[b, player])}" for b in BASELINES]
        expert, champion = reports.loc[player, ["expert", "champion"]]
        return [*cells, percent(expert) + ("*" if champion else " ")]

    table = Table(
        title=str(rules),
        caption="win probability, moving first/moving second, and expert mastery:\n"
        "the winning positions in which a winning move is played; * marks champion\n"
        "mastery: every game that can be won is won. All in %, exact (only certain\n"
        f"results are 0.0 or 100.0); {args.episodes:,} training games, seed {args.seed}",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("player")
    table.add_column("trained against")
    for baseline in BASELINES:
        table.add_column(f"vs {baseline}", justify="right")
    table.add_column("mastery", justify="right")
    for learner in agents.ALGORITHMS:
        for opponent in OPPONENTS:
            table.add_row(learner, opponent, *figures(f"{learner}, {opponent}"))
        table.add_section()
    for name in dict.fromkeys((*BASELINES, *args.enter)):
        table.add_row(name, "–", *figures(name))
    return table


# --- Figures --------------------------------------------------------------------------------------


def plot_learning_curves(rules: NimRules, curves: pd.DataFrame) -> Figure:
    """Expert mastery and win rate by training games: a column for each learner, a line for each opponent."""
    figure, axes = plt.subplots(2, 3, figsize=(13, 7), sharex=True, sharey=True, layout="constrained")
    curves = curves.assign(win_rate=(1 + curves["mean_return"]) / 2)
    rows = {
        "expert": "expert mastery: winning positions\nin which a winning move is played",
        "win_rate": "win rate in training\n(in self-play of the first player)",
    }
    for row, (column, label) in zip(axes, rows.items(), strict=True):
        for axis, (_, runs) in zip(row, curves.groupby("learner", sort=False), strict=True):
            for opponent, run_ in runs.groupby("opponent", sort=False):
                axis.plot(run_["episodes"], run_[column], label=opponent, color=f"C{OPPONENTS.index(opponent)}")
            axis.set(xscale="log", ylim=(0, 1.02))
            label_lines(axis)
        row[0].set_ylabel(label)
        row[0].yaxis.set_major_formatter("{x:.0%}")
    for column, learner in zip(axes.T, curves["learner"].unique(), strict=True):
        column[0].set_title(learner)
        column[1].set_xlabel("training games")
    figure.suptitle(f"{rules}: trained against an opponent or by self-play")
    return figure


def plot_tournament(args: Args, rules: NimRules, wins: pd.DataFrame) -> Figure:
    """A heat map of all win probabilities, the best player first."""
    others = wins.where(~np.eye(len(wins), dtype=bool))
    means = (others.mean(axis=1) + 1 - others.mean(axis=0)) / 2
    names = means.sort_values(ascending=False, kind="stable").index
    wins = wins.loc[names, names]
    size = 2.5 + 0.55 * len(names)
    figure, axes = plt.subplots(figsize=(size + 2.5, size), layout="constrained")
    colors = [COLORS["player_2"], "white", COLORS["player_1"]]
    image = axes.imshow(100 * wins, LinearSegmentedColormap.from_list("wins", colors), vmin=0, vmax=100)
    for (row, column), probability in np.ndenumerate(wins):
        is_dark = abs(probability - 0.5) > 0.25
        color = "white" if is_dark else COLORS["ink"]
        axes.text(column, row, percent(probability, 0), ha="center", va="center", color=color)
    figure.colorbar(image, label="win probability of the first player, in %", shrink=0.8)
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), [f"{name}  [{percent(means[name])}]" for name in names])
    axes.set(
        title=f"{rules}; agents (named with what they trained against)\nafter {args.episodes:,} training games",
        xlabel="second player",
        ylabel="first player  [mean win probability against all others, both orders, in %]",
    )
    axes.grid(visible=False)
    return figure


def plot_mistakes(rules: NimRules, players: dict[str, PolicyLike]) -> Figure:
    """The probability of a winning move in every position of one heap, a row for each player, or of two, a map."""
    positions = rules.all_positions()
    winning = theory.winning_action_mask(rules, positions)
    shares = {
        name: (tabulate(rules, player).probabilities * winning).sum(axis=1) for name, player in players.items()
    }
    maps = {
        name: np.where(winning.any(axis=1), share, np.nan).reshape(rules.shape) for name, share in shares.items()
    }
    scale = [COLORS["flag"], COLORS["block"], "white"]
    colors = LinearSegmentedColormap.from_list("right", scale).with_extremes(bad=COLORS["line"])
    if rules.n_heaps == 1:
        figure, axis = plt.subplots(figsize=(10, 1 + 0.35 * len(maps)), layout="constrained")
        image = axis.imshow(list(maps.values()), colors, vmin=0, vmax=1, aspect="auto")
        axis.set_yticks(range(len(maps)), maps)
        axis.set(xlabel="blocks in the heap")
    else:
        size = 13, 3.4 * -(-len(maps) // 4)
        figure, axes = plt.subplots(-(-len(maps) // 4), 4, figsize=size, squeeze=False, layout="constrained")
        for axis, (name, shown) in zip(axes.flat, maps.items(), strict=False):
            image = axis.imshow(shown, colors, vmin=0, vmax=1, origin="lower")
            axis.set(title=name, xlabel="blocks in heap B", ylabel="blocks in heap A")
        for axis in axes.flat[len(maps) :]:
            axis.remove()
    for axis in figure.axes:
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.grid(visible=False)
    figure.colorbar(image, ax=figure.axes, label="probability of a winning move", aspect=30)
    figure.suptitle(f"{rules}: mistakes of the players (gray: every move loses)")
    return figure


if __name__ == "__main__":
    run(main, Args)
