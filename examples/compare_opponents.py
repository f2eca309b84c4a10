"""Trains Q-learning against random, take-3 and expert play and by self-play, then compares what it learnt.

Every result plays every opponent, going first and going second, and is held against the exact answer:
its expert mastery is the share of all winning positions in which it plays a winning move. The three opponents
stand in the table as rows of their own, so that a reader sees what a good figure is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from script import checking_arguments, fail, run, save
from tqdm import tqdm

import agents
from nim_env import NimRules, evaluation

OPPONENTS = ("random", "take-3", "expert")
SELF_PLAY = "self-play"


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
    """How far a value moves towards its target, 0 to 1."""
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

    agent: agents.QLearningAgent
    rewards: np.ndarray
    mastery: list[tuple[int, float]]  # (games played, expert mastery)


def main(arguments: Arguments) -> None:
    with checking_arguments():
        rules = NimRules(arguments.heaps, arguments.max_take, arguments.misere)
        learners = {name: learner(arguments, name) for name in (*OPPONENTS, SELF_PLAY)}
        for option in ("games", "match_games", "checkpoints"):
            if getattr(arguments, option) < 1:
                fail(f"--{option.replace('_', '-')} must be 1 or more; got {getattr(arguments, option)}")
    learned = {name: train(arguments, rules, name, agent, env) for name, (agent, env) in learners.items()}
    Console().print(table_of(arguments, rules, learned))
    save(picture_of(arguments, learned), arguments.picture)


def learner(arguments: Arguments, opponent: str) -> tuple[agents.QLearningAgent, gym.Env]:
    """A new agent, and the environment to train it in."""
    env = gym.make(
        "nim_env:Nim-v0",
        heaps=arguments.heaps,
        max_take=arguments.max_take,
        misere=arguments.misere,
        opponent=None if opponent == SELF_PLAY else opponent,
    )
    agent = agents.QLearningAgent(
        env.observation_space,
        env.action_space,
        learning_rate=arguments.learning_rate,
        gamma=arguments.gamma,
        epsilon=arguments.epsilon,
        seed=arguments.seed,
    )
    return agent, env


def train(arguments: Arguments, rules: NimRules, name: str, agent: agents.QLearningAgent, env: gym.Env) -> Learned:
    """Trains the agent, measuring its mastery on the way."""
    mastery: list[tuple[int, float]] = []
    checkpoints = set(np.geomspace(1, arguments.games, arguments.checkpoints).round().astype(int).tolist())

    with tqdm(total=arguments.games, desc=f"Q-learning, {name}", unit=" games", leave=False, disable=None) as bar:

        def measure(agent: agents.Agent, history: agents.History) -> None:
            bar.update()
            played = len(history.lengths)
            if played in checkpoints:
                mastery.append((played, evaluation.mastery(rules, agent).expert))

        history = agents.train(agent, env, arguments.games, seed=arguments.seed, callback=measure)
    return Learned(agent, history.rewards, mastery)


def table_of(arguments: Arguments, rules: NimRules, learned: dict[str, Learned]) -> Table:
    """Everyone against every opponent."""
    table = Table(
        title=f"{'-'.join(map(str, rules.heaps))}, {'misère' if rules.misere else 'normal'} play, "
        f"take {'any number' if rules.max_take is None else f'1 to {rules.max_take}'}",
        caption=f"games won in %, going first / going second, of {arguments.match_games:,} games each "
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
    for name, result in learned.items():
        table.add_row("Q-learning", name, *figures(arguments, rules, result.agent))
    table.add_section()
    for name in OPPONENTS:
        table.add_row(name, "–", *figures(arguments, rules, name))
    return table


def figures(arguments: Arguments, rules: NimRules, player: agents.Agent | str) -> list[str]:
    """A row of the table: both win rates against each opponent, and the mastery, in %."""
    cells = []
    for opponent in OPPONENTS:
        first, second = (
            evaluation.play_match(rules, player, opponent, arguments.match_games, arguments.seed, goes_first)
            for goes_first in (True, False)
        )
        cells.append(f"{100 * first.win_rate:.1f} / {100 * second.win_rate:.1f}")
    return [*cells, f"{100 * evaluation.mastery(rules, player).expert:.1f}"]


def widest_interval(games: int) -> float:
    """Half the width of the interval of a win rate of one half, in %."""
    low, high = evaluation.MatchResult(games // 2, games).interval()
    return 100 * (high - low) / 2


def picture_of(arguments: Arguments, learned: dict[str, Learned]) -> plt.Figure:
    """Win rate and mastery over the training games."""
    figure, (wins, mastery) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    games = np.unique(np.geomspace(min(20, arguments.games), arguments.games, 100).astype(int))
    for name, result in learned.items():
        won = np.append(0, (result.rewards > 0).cumsum())
        wins.plot(games, 100 * (won[games] - won[games // 2]) / (games - games // 2))
        played, share = zip(*result.mastery, strict=True)
        mastery.plot(played, 100 * np.array(share), label=name)
    wins.set(
        title="Games won while exploring, over the later half so far\n(in self-play: by the first player)",
        ylabel="%",
    )
    mastery.set(title="Winning positions played right", ylabel="%")
    for axes in (wins, mastery):
        axes.set(xlabel="training games", ylim=(0, 102), xscale="log")
        axes.grid(alpha=0.3)
    mastery.legend(title="Q-learning, taught by", loc="upper left")
    return figure


if __name__ == "__main__":
    run(main, Arguments)
