"""Trains three learners against random, take-3 and expert play and by self-play, then compares what they learnt.

Each learns in the settings it is defined for: Q-learning in all, minimax-Q by self-play, win counting against
an opponent. Every result plays every opponent, going first and going second, and is held against the exact
answer: its expert mastery is the share of all winning positions in which it plays a winning move. The three
opponents stand in the table as rows of their own, so that a reader sees what a good figure is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from script import check_at_least, check_picture, checking_arguments, run, save

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

import agents
from nim_env import NimRules, evaluation

OPPONENTS = ("random", "take-3", "expert")
SELF_PLAY = "self-play"
TEACHERS = (*OPPONENTS, SELF_PLAY)
LEARNERS = {
    "Q-learning": agents.QLearningAgent,
    "minimax-Q": agents.MinimaxQAgent,
    "win counting": agents.WinCountAgent,
}


@dataclass
class Arguments:
    """The options of this script."""

    heaps: tuple[int, ...] = (21,)
    """Starting heap sizes."""
    max_take: int | None = 3
    """The most objects one move may take; None for no limit."""
    misere: bool = False
    """Whether taking the last object loses."""
    games: int = 10_000
    """Training games of each learner."""
    match_games: int = 10_000
    """Games behind each win rate."""
    learning_rate: float = 0.2
    """How far a value moves towards its target, 0 to 1 (not in win counting, nor the next two)."""
    gamma: float = 1.0
    """The discount of the future, 0 to 1."""
    epsilon: float = 0.2
    """The share of random moves while training, 0 to 1."""
    checkpoints: int = 60
    """How often mastery is measured in training, at ever wider intervals."""
    seed: int = 0
    """Decides every draw: the same seed gives the same table."""
    picture: Path = Path("results/compare_opponents.png")
    """Where the learning curves are saved."""


@dataclass
class Learned:
    """An agent and how it came about."""

    agent: agents.Agent
    rewards: np.ndarray
    mastery: list[tuple[int, float]]  # (games played, expert mastery)


def main(arguments: Arguments) -> None:
    check_picture(arguments.picture)
    check_at_least(1, games=arguments.games, match_games=arguments.match_games, checkpoints=arguments.checkpoints)
    with checking_arguments():
        rules = NimRules(arguments.heaps, arguments.max_take, arguments.misere)
        envs = {teacher: make_env(rules, teacher) for teacher in TEACHERS}
        new = {
            (learner, teacher): make_agent(arguments, learner, envs[teacher])
            for learner in LEARNERS
            for teacher in TEACHERS
            if is_defined(learner, teacher)
        }
    learned = {
        (learner, teacher): train(arguments, rules, f"{learner}, {teacher}", agent, envs[teacher])
        for (learner, teacher), agent in new.items()
    }
    Console().print(table_of(arguments, rules, learned))
    save(picture_of(arguments, learned), arguments.picture)


def is_defined(learner: str, teacher: str) -> bool:
    """Whether a learner learns in a setting at all."""
    kind = LEARNERS[learner]
    return kind.self_play is not None if teacher == SELF_PLAY else kind.learns_against_opponents


def make_env(rules: NimRules, teacher: str) -> gym.Env:
    """The environment to train in: against an opponent, or both sides."""
    return gym.make(
        "nim_env:Nim-v0",
        heaps=rules.heaps,
        max_take=rules.max_take,
        misere=rules.misere,
        opponent=None if teacher == SELF_PLAY else teacher,
    )


def make_agent(arguments: Arguments, learner: str, env: gym.Env) -> agents.Agent:
    """A new agent."""
    spaces = env.observation_space, env.action_space
    if learner == "win counting":
        return agents.WinCountAgent(*spaces, seed=arguments.seed)
    return LEARNERS[learner](
        *spaces,
        learning_rate=arguments.learning_rate,
        gamma=arguments.gamma,
        epsilon=arguments.epsilon,
        seed=arguments.seed,
    )


def train(arguments: Arguments, rules: NimRules, name: str, agent: agents.Agent, env: gym.Env) -> Learned:
    """Trains the agent, measuring its mastery on the way."""
    mastery: list[tuple[int, float]] = []
    checkpoints = set(np.geomspace(1, arguments.games, arguments.checkpoints).round().astype(int).tolist())

    with tqdm(total=arguments.games, desc=name, unit=" games", leave=False, disable=None) as bar:

        def measure(agent: agents.Agent, history: agents.History) -> None:
            bar.update()
            played = len(history.lengths)
            if played in checkpoints:
                mastery.append((played, evaluation.mastery(rules, agent).expert))

        history = agents.train(agent, env, arguments.games, seed=arguments.seed, callback=measure)
    return Learned(agent, history.rewards, mastery)


def table_of(arguments: Arguments, rules: NimRules, learned: dict[tuple[str, str], Learned]) -> Table:
    """Everyone against every opponent."""
    table = Table(
        title=f"{'-'.join(map(str, rules.heaps))}, {'misère' if rules.misere else 'normal'} play, "
        f"take {'any number' if rules.max_take is None else f'1 to {rules.max_take}'}",
        caption=f"games won in %, going first/going second, of {arguments.match_games:,} games each "
        f"(95 %\ninterval at most ±{widest_interval(arguments.match_games):.1f}); mastery: winning positions "
        f"played right, in %;\neach learner trained for {arguments.games:,} games, seed {arguments.seed}",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("player")
    table.add_column("taught by")
    for opponent in OPPONENTS:
        table.add_column(f"vs {opponent}", justify="right")
    table.add_column("mastery", justify="right")
    with tqdm(total=len(learned) + len(OPPONENTS), desc="matches", leave=False, disable=None) as bar:
        for learner in LEARNERS:
            for teacher in TEACHERS:
                result = learned.get((learner, teacher))
                cells = figures(arguments, rules, result.agent) if result else ["–"] * (len(OPPONENTS) + 1)
                table.add_row(learner, teacher, *cells)
                bar.update(result is not None)
            table.add_section()
        for name in OPPONENTS:
            table.add_row(name, "–", *figures(arguments, rules, name))
            bar.update()
    return table


def figures(arguments: Arguments, rules: NimRules, player: agents.Agent | str) -> list[str]:
    """A row of the table: both win rates against each opponent, and the mastery, in %."""
    cells = []
    for opponent in OPPONENTS:
        first, second = (
            evaluation.play_match(rules, player, opponent, arguments.match_games, arguments.seed, goes_first)
            for goes_first in (True, False)
        )
        cells.append(f"{100 * first.win_rate:.1f}/{100 * second.win_rate:.1f}")
    return [*cells, f"{100 * evaluation.mastery(rules, player).expert:.1f}"]


def widest_interval(games: int) -> float:
    """Half the width of the interval of a win rate of one half, in %."""
    low, high = evaluation.MatchResult(games // 2, games).interval()
    return 100 * (high - low) / 2


def picture_of(arguments: Arguments, learned: dict[tuple[str, str], Learned]) -> plt.Figure:
    """Win rate and mastery over the training games."""
    figure, (wins, mastery) = plt.subplots(1, 2, figsize=(13, 4), layout="constrained")
    games = np.unique(np.geomspace(min(20, arguments.games), arguments.games, 100).astype(int))
    colours = dict(zip(TEACHERS, ("C0", "C1", "C2", "C3"), strict=True))
    styles = dict(zip(LEARNERS, ("-", "--", ":"), strict=True))
    for (learner, teacher), result in learned.items():
        look = {"color": colours[teacher], "linestyle": styles[learner], "label": f"{learner}, {teacher}"}
        won = np.append(0, (result.rewards > 0).cumsum())
        wins.plot(games, 100 * (won[games] - won[games // 2]) / (games - games // 2), **look)
        played, share = zip(*result.mastery, strict=True)
        mastery.plot(played, 100 * np.array(share), **look)
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
