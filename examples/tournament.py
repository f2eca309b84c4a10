"""Everyone against everyone: every learner by every teacher, and random, take-3 and expert play, in both orders.

No game is played in the tournament itself: how probably each player wins against each other, moving first, is
worked out exactly. Saved agents and players of your own can enter: --enter my.agent my_file.py:my_function.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from script import check_picture, checking_arguments, fail, run, save

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from learners import BASELINES, Training, make_all, name_of, percent
from players import entrant
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from tqdm import tqdm

import agents
from nim_env import evaluation, solver
from nim_env.policies import PolicyLike


@dataclass
class Arguments(Training):
    """The options of this script."""

    enter: tuple[str, ...] = ()
    """Further players: take-N, files of saved agents or models, or file.py:function."""
    picture: Path = Path("results/tournament.png")
    """Where the heat map is saved."""


def main(arguments: Arguments) -> None:
    check_picture(arguments.picture)
    with checking_arguments():
        solver.iter_positions(arguments.rules)  # what is too large is refused before anything is learnt
        entrants = {name: entrant(name, arguments.rules, "--enter") for name in arguments.enter}
        for name in entrants:
            if name in BASELINES:
                fail(f"--enter {name} is in every tournament")
        new = make_all(arguments)
    for agent, env in tqdm(new.values(), desc="training", leave=False, disable=None):
        agents.train(agent, env, arguments.games, seed=arguments.seed)
    players: dict[str, PolicyLike] = {", ".join(setting): agent for setting, (agent, _) in new.items()}
    players |= {name: name for name in BASELINES} | entrants
    with checking_arguments():
        wins = wins_of(arguments, list(players.values()))
    order = np.argsort(-means_of(wins), kind="stable")
    ranked, wins = {name: players[name] for name in np.array(list(players))[order]}, wins[np.ix_(order, order)]
    table = table_of(arguments, ranked, wins)
    console = Console()
    needed = Measurement.get(console, console.options.update(width=1_000), table).maximum
    Console(width=max(console.width, needed)).print(table)
    save(picture_of(arguments, list(ranked), wins), arguments.picture)


def wins_of(arguments: Arguments, players: list[PolicyLike]) -> np.ndarray:
    """How probably each player (row), moving first, wins against each (column), itself included."""
    wins = np.empty((len(players), len(players)))
    for pair in tqdm(list(np.ndindex(wins.shape)), desc="tournament", leave=False, disable=None):
        first, second = (players[index] for index in pair)
        wins[pair] = evaluation.win_probability(arguments.rules, first, second, moves_first=True)
    return wins


def means_of(wins: np.ndarray) -> np.ndarray:
    """Each player's mean over all others and both orders."""
    others = ~np.eye(len(wins), dtype=bool)
    return (wins.mean(axis=1, where=others) + 1 - wins.mean(axis=0, where=others)) / 2


def table_of(arguments: Arguments, players: dict[str, PolicyLike], wins: np.ndarray) -> Table:
    """The players, best first, with their chances going first against each."""
    table = Table(
        title=name_of(arguments.rules),
        caption="how probably the player of a row, going first, beats that of a column,\n"
        "in % (0 and 100 are certain); mean: over all others, both orders;\n"
        f"learners trained for {arguments.games:,} games, seed {arguments.seed}",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=0,
    )
    for column in ("", "player, taught by"):
        table.add_column(column, no_wrap=True)
    for column in (*(str(rank) for rank, _ in enumerate(players, start=1)), "mean"):
        table.add_column(column, justify="right", no_wrap=True)
    for rank, (name, row, mean) in enumerate(zip(players, wins, means_of(wins), strict=True), start=1):
        table.add_row(str(rank), name, *(percent(share, 0) for share in row), percent(mean))
    return table


def picture_of(arguments: Arguments, names: list[str], wins: np.ndarray) -> plt.Figure:
    """The same as a heat map."""
    size = 2.5 + 0.55 * len(names)
    figure, axes = plt.subplots(figsize=(size + 1.5, size), layout="constrained")
    labels = [[percent(share, 0) for share in row] for row in wins]
    sns.heatmap(
        100 * wins,
        vmin=0,
        vmax=100,
        cmap="vlag_r",
        annot=np.array(labels),
        fmt="",
        square=True,
        xticklabels=names,
        yticklabels=names,
        cbar_kws={"label": "the first player wins, in %"},
        ax=axes,
    )
    axes.set(
        title=f"{name_of(arguments.rules)}\nlearners trained for {arguments.games:,} games",
        xlabel="second player",
        ylabel="first player",
    )
    axes.tick_params(axis="x", rotation=90)
    axes.yaxis.labelpad = 10
    return figure


if __name__ == "__main__":
    run(main, Arguments)
