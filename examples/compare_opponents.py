"""Trains three learners against random, take-3 and expert play and by self-play, then compares what they learnt.

Each learns in the settings it is defined for: Q-learning in all, minimax-Q by self-play, win counting against
an opponent. Nothing is sampled in the comparison: how probably each of them wins against every opponent, going
first and going second, is worked out exactly, and so is its mastery, the share of all winning positions in which
it plays a winning move. The three opponents stand in the table as rows of their own, so that a reader sees what a
good figure is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from script import check_at_least, check_picture, checking_arguments, run, save

import matplotlib.pyplot as plt
import numpy as np
from learners import BASELINES, LEARNERS, TEACHERS, Games, Setting, Training, make_all, name_of, percent, train
from rich import box
from rich.console import Console
from rich.table import Table

import agents
from nim_env import evaluation, solver


@dataclass
class Arguments(Training):
    """The options of this script."""

    checkpoints: int = 60
    """How often mastery is measured in training, at ever wider intervals."""
    picture: Path = Path("results/compare_opponents.png")
    """Where the learning curves are saved."""


@dataclass
class Learned:
    """An agent and how it came about."""

    agent: agents.Agent
    returns: np.ndarray
    mastery: dict[int, float]  # by games played


def main(arguments: Arguments) -> None:
    check_picture(arguments.picture)
    check_at_least(1, checkpoints=arguments.checkpoints)
    with checking_arguments():
        solver.iter_positions(arguments.rules)  # what is too large is refused before anything is learnt
        new = make_all(arguments)
    learned = {setting: learn(arguments, setting, agent, env) for setting, (agent, env) in new.items()}
    Console().print(table_of(arguments, learned))
    save(picture_of(arguments, learned), arguments.picture)


def learn(arguments: Arguments, setting: Setting, agent: agents.Agent, env: Games) -> Learned:
    """Trains the agent, measuring its mastery on the way."""
    history, mastery = train(
        arguments,
        agent,
        env,
        arguments.checkpoints,
        lambda agent: evaluation.mastery(arguments.rules, agent).expert,
        ", ".join(setting),
    )
    return Learned(agent, history.returns, mastery)


def table_of(arguments: Arguments, learned: dict[Setting, Learned]) -> Table:
    """Everyone against every opponent."""
    table = Table(
        title=name_of(arguments.rules),
        caption="how probably a game is won, going first/going second, and mastery: how\n"
        "many winning positions are played right, * by a champion, who wins every\n"
        "game that can be won; in %, exact (0.0 and 100.0 are certain);\n"
        f"each learner trained for {arguments.games:,} games, seed {arguments.seed}",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("player")
    table.add_column("taught by")
    for opponent in BASELINES:
        table.add_column(f"vs {opponent}", justify="right")
    table.add_column("mastery", justify="right")
    for learner in LEARNERS:
        for teacher in TEACHERS:
            result = learned.get((learner, teacher))
            cells = figures(arguments, result.agent) if result else ["–"] * (len(BASELINES) + 1)
            table.add_row(learner, teacher, *cells)
        table.add_section()
    for name in BASELINES:
        table.add_row(name, "–", *figures(arguments, name))
    return table


def figures(arguments: Arguments, player: agents.Agent | str) -> list[str]:
    """A row of the table: the chances against each opponent in both orders, and the mastery, in %."""
    chances = [
        [evaluation.win_probability(arguments.rules, player, opponent, first) for first in (True, False)]
        for opponent in BASELINES
    ]
    cells = ["/".join(map(percent, orders)) for orders in chances]
    mastery = evaluation.mastery(arguments.rules, player)
    return [*cells, percent(mastery.expert) + ("*" if mastery.champion else " ")]


def picture_of(arguments: Arguments, learned: dict[Setting, Learned]) -> plt.Figure:
    """Win rate and mastery over the training games."""
    figure, (wins, mastery) = plt.subplots(1, 2, figsize=(13, 4), layout="constrained")
    games = np.unique(np.geomspace(min(20, arguments.games), arguments.games, 100).astype(int))
    colours = dict(zip(TEACHERS, ("C0", "C1", "C2", "C3"), strict=True))
    styles = dict(zip(LEARNERS, ("-", "--", ":"), strict=True))
    for (learner, teacher), result in learned.items():
        look = {"color": colours[teacher], "linestyle": styles[learner], "label": f"{learner}, {teacher}"}
        won = np.append(0, (result.returns > 0).cumsum())
        wins.plot(games, 100 * (won[games] - won[games // 2]) / (games - games // 2), **look)
        mastery.plot([*result.mastery], 100 * np.array([*result.mastery.values()]), **look)
    wins.set(
        title="Games won while exploring, over the later half so far\n(in self-play: by the first player)",
        ylabel="%",
    )
    mastery.set(title="Winning positions played right", ylabel="%")
    for axes in (wins, mastery):
        axes.set(xlabel="training games", ylim=(0, 102), xscale="log")
        axes.grid(alpha=0.3)
    figure.legend(*mastery.get_legend_handles_labels(), title="learner, taught by", loc="outside right upper")
    return figure


if __name__ == "__main__":
    run(main, Arguments)
