"""Trains three algorithms against three opponents and by self-play, and compares what they learn.

Q-learning (Watkins 1989) is trained in all four ways, minimax-Q (Littman 1994) only by self-play, and win counting
only against the opponents. Then every player meets every other player, in both orders. No games are sampled for
this, because win probabilities and mastery are computed exactly. To enter your own players, give --enter my.agent
my_file.py:my_function.

    python examples/compare_opponents.py

Install: pip install -e ".[examples]"
"""

import itertools
from dataclasses import asdict, dataclass
from pathlib import Path

from command_line import run

import gymnasium as gym
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from tqdm import tqdm

import agents
from nim_env import NimRules, evaluation
from nim_env.evaluation import Mastery

from common import COLORS, label_lines, percent, save_figure
from saved_players import load_player

BASELINES = ("random", "take-3", "expert")
OPPONENTS = {"q-learning": (*BASELINES, "self-play"), "minimax-q": ("self-play",), "win-counting": BASELINES}
LEGEND = """\
vs: games won, if each player starts half of them. right: winning positions in which a winning move is played.
champion: wins every game that can be won. All in %, exact; only certain results are 0.0 or 100.0.
"""


@dataclass
class Args:
    heaps: tuple[int, ...] = (21,)
    max_take: int | None = 3
    """The maximum number of objects that one move can take. None means no limit."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    episodes: int = 10_000
    """The number of training games of each agent."""
    enter: tuple[str, ...] = ()
    """More players: take-N, FILE.py:NAME, or the files of saved players (README.md lists them)."""
    seed: int = 0
    folder: Path = Path("results")
    """The folder for the two figures, compare_opponents.svg and tournament.svg."""


def main(args: Args) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Trains and compares all players.

    Returns the learning curves, and the win probability of each player (row) against each player (column) when it
    moves first.
    """
    rules = NimRules(args.heaps, args.max_take, args.misere)
    entered = {name: load_player(name, rules).policy for name in (*BASELINES, *args.enter)}

    # train each learner against each of its opponents
    trained = {}
    curves = []
    runs = [(learner, opponent) for learner, opponents in OPPONENTS.items() for opponent in opponents]
    for learner, opponent in tqdm(runs, desc="training", leave=False, disable=None):
        agent, curve = train(args, rules, learner, opponent)
        trained[f"{learner}, {opponent}"] = agent
        curves.append(curve)
    learning_curves = pd.concat(curves, ignore_index=True)

    # evaluate: each player against each player, and each player alone
    players = {**trained, **entered}
    wins = pd.DataFrame(index=list(players), columns=list(players), dtype=float)
    for first, second in itertools.product(players, players):
        wins.loc[first, second] = evaluation.win_probability(
            rules, players[first], players[second], moves_first=True
        )
    masteries = {name: evaluation.mastery(rules, player) for name, player in players.items()}

    # print and draw
    print(f"{rules}\nAfter {args.episodes:,} training games, seed {args.seed}\n")
    print(f"{comparison_table(wins, masteries).to_string()}\n\n{LEGEND}")
    save_figure(plot_learning_curves(learning_curves, rules), args.folder / "compare_opponents.svg")
    save_figure(plot_tournament(wins), args.folder / "tournament.svg")
    return learning_curves, wins


def train(args: Args, rules: NimRules, learner: str, opponent: str) -> tuple[agents.Agent, pd.DataFrame]:
    """Returns a trained agent, and its exact evaluations at growing intervals during the training."""
    game = {**asdict(rules), "opponent": None if opponent == "self-play" else opponent}
    if learner == "win-counting":  # it explores by its counts, which a batch would update too late
        env = gym.make("nim_env:Nim-v0", **game)
        agent = agents.WinCountAgent(env.observation_space, env.action_space, seed=args.seed)
    else:
        env = gym.make_vec("nim_env:Nim-v0", num_envs=64, **game)
        spaces = env.single_observation_space, env.single_action_space
        agent = agents.ALGORITHMS[learner](*spaces, learning_rate=0.2, gamma=1.0, epsilon=0.2, seed=args.seed)
    curve = evaluation.LearningCurve(rules, args.episodes, n_evals=60, first=20)
    agents.train(agent, env, args.episodes, seed=args.seed, callback=curve)
    rows = pd.DataFrame(curve.rows)
    rows["learner"] = learner
    rows["trained against"] = opponent
    return agent, rows


def comparison_table(wins: pd.DataFrame, masteries: dict[str, Mastery]) -> pd.DataFrame:
    """Returns the printed table: how each player does against the baselines, and how well it plays, in percent."""
    table = pd.DataFrame(index=wins.index).rename_axis("player, trained against", axis="columns")
    for baseline in BASELINES:
        both_orders = (wins[baseline] + 1 - wins.loc[baseline]) / 2
        table[f"vs {baseline}"] = both_orders.map(percent)
    table["right"] = [percent(mastery.expert) for mastery in masteries.values()]
    table["champion"] = ["yes" if mastery.champion else "no" for mastery in masteries.values()]
    return table


def plot_learning_curves(curves: pd.DataFrame, rules: NimRules) -> plt.Figure:
    """Draws expert mastery by training games, with a panel for each learner and a line for each opponent."""
    curves = curves.rename(columns={"episodes": "training games", "expert": "expert mastery"})
    grid = sns.FacetGrid(curves, col="learner", hue="trained against", height=3.2, aspect=0.77)
    grid.map(plt.plot, "training games", "expert mastery")
    grid.set(xscale="log", ylim=(0, 1.02)).set_titles("{col_name}")
    for axis in grid.axes.flat:
        axis.xaxis.set_major_formatter("{x:,.0f}")
    grid.figure.suptitle(f"{rules}\nEach learner against each of its opponents", size="medium", x=0.01, ha="left")
    label_lines(grid.figure)
    return grid.figure


def plot_tournament(wins: pd.DataFrame) -> plt.Figure:
    """Draws a heat map of all win probabilities, with the best player first."""
    best_first = (wins.mean(axis=1) - wins.mean(axis=0)).sort_values(ascending=False, kind="stable").index
    wins = wins.loc[best_first, best_first]
    figure, axis = plt.subplots(figsize=(7.4, 5), layout="constrained")
    sns.heatmap(
        wins,
        vmin=0,
        vmax=1,
        cmap=sns.light_palette(COLORS["block"], as_cmap=True),  # light enough for black numbers
        annot=wins.map(lambda probability: percent(probability, 0)),
        annot_kws={"color": "black"},
        fmt="",
        rasterized=True,  # one image in an SVG
        cbar=False,
        ax=axis,
    )
    axis.set(title="Games won by the first player, in %", ylabel="first player")
    axis.set_xlabel("second player (the agents are named with what they trained against)")
    axis.set_xticklabels(axis.get_xticklabels(), rotation=30, ha="right")
    return figure


if __name__ == "__main__":
    run(main, Args)
