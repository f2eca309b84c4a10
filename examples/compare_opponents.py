"""Trains three agents against three opponents and by self-play, and compares what they learned.

Q-learning (Watkins 1989) learns in all four settings, minimax-Q (Littman 1994) by self-play, and win counting
against an opponent. Then every player meets every other one, in both orders. No games are sampled for this: win
probabilities and mastery (Zhou and Riis 2022, arXiv:2205.12787) are computed exactly. Players of your own take
part with --enter my.agent my_file.py:my_function.

Install: pip install -e ".[examples]"
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

from common import (
    FIGURE_SUFFIXES,
    check_at_least,
    check_output,
    checking_args,
    load_player,
    percent,
    run,
    save_figure,
)

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from rich import box
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

import agents
from nim_env import NimRules, evaluation
from nim_env.policies import PolicyLike

BASELINES = ("random", "take-3", "expert")
OPPONENTS = (*BASELINES, "self-play")
LEARNERS: dict[str, type[agents.Agent]] = {
    "q-learning": agents.QLearningAgent,
    "minimax-q": agents.MinimaxQAgent,
    "win-counting": agents.WinCountAgent,
}


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (21,)
    """Starting heap sizes."""
    max_take: int | None = 3
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    episodes: int = 10_000
    """Training episodes of each agent."""
    learning_rate: float = 0.2
    """The learning rate of Q-learning and minimax-Q, 0 to 1."""
    gamma: float = 1.0
    """Their discount factor, 0 to 1."""
    epsilon: float = 0.2
    """Their probability of a random action in training, 0 to 1."""
    n_evals: int = 60
    """The number of evaluations in training, at growing intervals."""
    enter: tuple[str, ...] = ()
    """Further players: take-N, file.py:name (a function or policy), or the files of saved agents, tables (.npz),
    networks (.pt) or MaskablePPO models (.zip). Files .py and .zip run code when loaded: give only those you
    trust."""
    seed: int = 0
    """The random seed."""
    picture: Path = Path("results/compare_opponents.png")
    """Where the learning curves are saved."""
    tournament_picture: Path = Path("results/tournament.png")
    """Where the heat map of the tournament is saved."""


def main(args: Args) -> dict[str, pd.DataFrame]:
    check_at_least(1, episodes=args.episodes, n_evals=args.n_evals)
    check_output("picture", args.picture, FIGURE_SUFFIXES)
    check_output("tournament-picture", args.tournament_picture, FIGURE_SUFFIXES)
    with checking_args():
        rules = NimRules(args.heaps, args.max_take, args.misere)
        players = {name: load_player(name, rules) for name in (*BASELINES, *args.enter)}
        for player in players.values():
            evaluation.exploitability(rules, player)  # rejects a game that is too large, and illegal actions
        untrained = {
            (learner, opponent): make(args, learner, opponent)
            for learner, opponent in itertools.product(LEARNERS, OPPONENTS)
            if is_defined(learner, opponent)
        }
    curves = []
    for (learner, opponent), (agent, env) in tqdm(untrained.items(), desc="training", leave=False, disable=None):
        curve = train(args, rules, agent, env)
        curves.append(curve.assign(learner=learner, opponent=opponent))
        players[f"{learner}, {opponent}"] = agent
    wins = play_tournament(rules, players)
    masteries = {name: evaluation.mastery(rules, player) for name, player in players.items()}
    mastery = pd.DataFrame({name: (found.expert, found.champion) for name, found in masteries.items()}).T
    mastery.columns = pd.Index(["expert", "champion"])
    learning_curves = pd.concat(curves, ignore_index=True)
    Console().print(make_table(args, rules, wins, mastery))
    save_figure(plot_learning_curves(rules, learning_curves), args.picture)
    save_figure(plot_tournament(args, rules, wins), args.tournament_picture)
    return {"learning_curves": learning_curves, "wins": wins, "mastery": mastery}


# --- Environment and agent ------------------------------------------------------------------------


def is_defined(learner: str, opponent: str) -> bool:
    """Whether a learner can be trained in a setting."""
    agent_class = LEARNERS[learner]
    return agent_class.supports_self_play if opponent == "self-play" else agent_class.supports_single_agent


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
    agent = LEARNERS[learner](
        envs.single_observation_space,
        envs.single_action_space,
        learning_rate=args.learning_rate,
        gamma=args.gamma,
        epsilon=args.epsilon,
        seed=args.seed,
    )
    return agent, envs


# --- Training -------------------------------------------------------------------------------------


def train(args: Args, rules: NimRules, agent: agents.Agent, env: gym.Env | gym.vector.VectorEnv) -> pd.DataFrame:
    """Trains an agent; returns its win rate and expert mastery by training episodes."""
    due = np.geomspace(min(20, args.episodes), args.episodes, args.n_evals).round().tolist()
    curve = []

    def evaluate(agent: agents.Agent, history: agents.History) -> None:
        episodes = len(history.returns)
        if due and episodes >= due[0]:
            due[:] = [n for n in due if n > episodes]
            win_rate = (history.returns[episodes // 2 :] > 0).mean()
            curve.append((episodes, win_rate, evaluation.mastery(rules, agent).expert))

    agents.train(agent, env, args.episodes, seed=args.seed, callback=evaluate)
    return pd.DataFrame(curve, columns=["episodes", "win_rate", "mastery"])


# --- Evaluation -----------------------------------------------------------------------------------


def play_tournament(rules: NimRules, players: dict[str, PolicyLike]) -> pd.DataFrame:
    """The probability that the player of a row, moving first, wins against the player of a column."""
    wins = pd.DataFrame(index=list(players), columns=list(players), dtype=float)
    pairs = list(itertools.product(players, players))
    for first, second in tqdm(pairs, desc="tournament", leave=False, disable=None):
        wins.loc[first, second] = evaluation.win_probability(rules, players[first], players[second], True)
    return wins


def make_table(args: Args, rules: NimRules, wins: pd.DataFrame, mastery: pd.DataFrame) -> Table:
    """Every player against the baselines."""

    def figures(player: str) -> list[str]:
        if player not in wins.index:
            return ["–"] * (len(BASELINES) + 1)
        cells = [f"{percent(wins.loc[player, b])}/{percent(1 - wins.loc[b, player])}" for b in BASELINES]
        expert, champion = mastery.loc[player]
        return [*cells, percent(expert) + ("*" if champion else " ")]

    table = Table(
        title=str(rules),
        caption="win probability, moving first/moving second, and expert mastery:\n"
        "the winning positions in which a winning move is played; * marks champion\n"
        "mastery: every game that can be won is won. All in %, exact (only certain\n"
        f"results are 0.0 or 100.0); {args.episodes:,} training episodes, seed {args.seed}",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("player")
    table.add_column("trained against")
    for baseline in BASELINES:
        table.add_column(f"vs {baseline}", justify="right")
    table.add_column("mastery", justify="right")
    for learner in LEARNERS:
        for opponent in OPPONENTS:
            table.add_row(learner, opponent, *figures(f"{learner}, {opponent}"))
        table.add_section()
    for name in dict.fromkeys((*BASELINES, *args.enter)):
        table.add_row(name, "–", *figures(name))
    return table


# --- Figures --------------------------------------------------------------------------------------


def plot_learning_curves(rules: NimRules, curves: pd.DataFrame) -> Figure:
    """Win rate and expert mastery by training episodes."""
    figure, (wins, mastery) = plt.subplots(1, 2, figsize=(13, 4.3), layout="constrained")
    curves = curves.rename(columns={"opponent": "trained against"})
    style = {"data": curves, "x": "episodes", "hue": "trained against", "style": "learner", "errorbar": None}
    sns.lineplot(**style, y="win_rate", ax=wins, legend=False)
    sns.lineplot(**style, y="mastery", ax=mastery)
    wins.set(
        title="Win rate in training, exploration included:\nmean over the later half of the episodes so far",
        ylabel="win rate (in self-play of the first player)",
    )
    mastery.set(
        title="Expert mastery:\nwinning positions in which a winning move is played",
        ylabel="fraction of winning positions",
    )
    for axes in (wins, mastery):
        axes.set(xlabel="training episodes", ylim=(0, 1.02), xscale="log")
        axes.yaxis.set_major_formatter("{x:.0%}")
        axes.grid(alpha=0.3)
    sns.move_legend(mastery, "upper left", bbox_to_anchor=(1.02, 1.02))
    figure.suptitle(str(rules))
    return figure


def plot_tournament(args: Args, rules: NimRules, wins: pd.DataFrame) -> Figure:
    """A heat map of all win probabilities, the best player first."""
    others = wins.where(~np.eye(len(wins), dtype=bool))
    means = (others.mean(axis=1) + 1 - others.mean(axis=0)) / 2
    names = means.sort_values(ascending=False, kind="stable").index
    wins = wins.loc[names, names]
    size = 2.5 + 0.55 * len(names)
    figure, axes = plt.subplots(figsize=(size + 2.5, size), layout="constrained")
    sns.heatmap(
        100 * wins,
        vmin=0,
        vmax=100,
        cmap="vlag_r",
        annot=wins.map(lambda probability: percent(probability, 0)),
        fmt="",
        square=True,
        yticklabels=[f"{name}  [{percent(means[name])}]" for name in names],
        cbar_kws={"label": "win probability of the first player, in %"},
        ax=axes,
    )
    axes.set(
        title=f"{rules}; agents (named with what they trained against)\nafter {args.episodes:,} training episodes",
        xlabel="second player",
        ylabel="first player  [mean win probability against all others, both orders, in %]",
    )
    axes.tick_params(axis="x", rotation=90)
    axes.yaxis.labelpad = 10
    return figure


if __name__ == "__main__":
    run(main, Args)
