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
GAMES_AT_ONCE = 64
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
        envs = {
            (learner, teacher): make_env(rules, learner, teacher)
            for learner in LEARNERS
            for teacher in TEACHERS
            if is_defined(learner, teacher)
        }
        new = {which: make_agent(arguments, which[0], env) for which, env in envs.items()}
    learned = {
        (learner, teacher): train(arguments, rules, f"{learner}, {teacher}", agent, envs[learner, teacher])
        for (learner, teacher), agent in new.items()
    }
    Console().print(table_of(arguments, rules, learned))
    save(picture_of(arguments, learned), arguments.picture)


def is_defined(learner: str, teacher: str) -> bool:
    """Whether a learner learns in a setting at all."""
    kind = LEARNERS[learner]
    return kind.self_play is not None if teacher == SELF_PLAY else kind.learns_against_opponents


def make_env(rules: NimRules, learner: str, teacher: str) -> gym.Env | gym.vector.VectorEnv:
    """The games to train in: against an opponent, or both sides.

    Many at once where that changes nothing but the time. Win counting draws its moves by what it has counted, and
    learns a little better the longer it has to wait for that, so it plays one game after another.
    """
    arguments = {
        "heaps": rules.heaps,
        "max_take": rules.max_take,
        "misere": rules.misere,
        "opponent": None if teacher == SELF_PLAY else teacher,
    }
    if learner == "win counting":
        return gym.make("nim_env:Nim-v0", **arguments)
    return gym.make_vec("nim_env:Nim-v0", num_envs=GAMES_AT_ONCE, **arguments)


def make_agent(arguments: Arguments, learner: str, env: gym.Env | gym.vector.VectorEnv) -> agents.Agent:
    """A new agent."""
    if learner == "win counting":
        return agents.WinCountAgent(env.observation_space, env.action_space, seed=arguments.seed)
    return LEARNERS[learner](
        env.single_observation_space,
        env.single_action_space,
        learning_rate=arguments.learning_rate,
        gamma=arguments.gamma,
        epsilon=arguments.epsilon,
        seed=arguments.seed,
    )


def train(
    arguments: Arguments,
    rules: NimRules,
    name: str,
    agent: agents.Agent,
    env: gym.Env | gym.vector.VectorEnv,
) -> Learned:
    """Trains the agent, measuring its mastery on the way."""
    mastery: list[tuple[int, float]] = []
    checkpoints = np.geomspace(1, arguments.games, arguments.checkpoints).round().tolist()

    with tqdm(total=arguments.games, desc=name, unit=" games", leave=False, disable=None) as bar:

        def measure(agent: agents.Agent, history: agents.History) -> None:
            played = len(history.lengths)
            bar.update(played - bar.n)
            if checkpoints and played >= checkpoints[0]:
                mastery.append((played, evaluation.mastery(rules, agent).expert))
                while checkpoints and played >= checkpoints[0]:
                    checkpoints.pop(0)

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
