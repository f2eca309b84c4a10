"""Minimax-Q learns Nim with five, six and seven heaps, from thousands of games at once.

Every episode starts from a random position; the exact answer then says in what share of all winning positions
the agent plays a winning move (its expert mastery). With learning rate 1 and no discount a value is 0 until it is
proven to be 1 or -1, so what the agent knows is right, and learning is a matter of getting everywhere: the share
of random moves may be small, since among unknown moves it takes any.
"""

from __future__ import annotations

import itertools
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from script import check_at_least, check_picture, checking_arguments, fail, run, save

import gymnasium as gym
import matplotlib.pyplot as plt
from rich import box
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

import agents
from nim_env import NimRules, evaluation, solver

try:
    import resource
except ImportError:  # it is a module of Unix
    resource = None

GAMES_A_RUN = 500_000  # so that a run's history stays small


@dataclass
class Arguments:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7, 9, 11, 13)
    """Starting heap sizes of the largest board."""
    boards: int = 3
    """How many boards: the largest, the one without its last heap, and so on."""
    misere: bool = False
    """Whether taking the last object loses."""
    mastery: float = 0.999
    """The expert mastery at which a board is done, above 0 and at most 1."""
    num_envs: int = 4096
    """How many games are played at once."""
    epsilon: float = 0.1
    """The share of random moves, 0 to 1."""
    seed: int = 0
    """The same seed gives the same games; when mastery is measured depends on the machine."""
    picture: Path = Path("results/master_large_nim.png")
    """Where mastery against moves is drawn."""


class Progress:
    """How far the agent has come on a board.

    Measured whenever the moves have doubled, and as often between as takes a tenth of the time at most.
    """

    def __init__(self, rules: NimRules, arguments: Arguments, bar: tqdm) -> None:
        self.rules, self.arguments, self.bar = rules, arguments, bar
        self.moves, self.seconds = 0, 0.0
        self.next_moves, self.next_seconds = rules.n_positions // 10, math.inf
        self.seen: list[tuple[int, float]] = []  # moves and mastery

    @property
    def mastery(self) -> float:
        return self.seen[-1][1] if self.seen else 0.0

    @property
    def is_done(self) -> bool:
        return self.mastery >= self.arguments.mastery

    def begin(self) -> None:
        """Starts the clock of a training run."""
        self.episodes, self.since = 0, time.perf_counter()

    def __call__(self, agent: agents.Agent, history: agents.History) -> bool:
        """Looks at the agent if it is time to; says whether the run goes on."""
        moves = int(history.lengths[self.episodes :].sum())
        self.moves, self.episodes = self.moves + moves, len(history.lengths)
        self.bar.update(moves)
        now = time.perf_counter()
        self.seconds, self.since = self.seconds + now - self.since, now
        if self.moves >= self.next_moves or self.seconds >= self.next_seconds:
            self.seen.append((self.moves, evaluation.mastery(self.rules, agent).expert))
            self.bar.write(
                f"{self.seconds:7.1f} s {self.moves / 1e6:8.1f} M moves {self.rate / 1e6:5.2f} M/s  "
                f"mastery {100 * self.mastery:8.4f} %  memory {memory()}"
            )
            self.since = time.perf_counter()
            self.next_moves = 2 * self.moves
            self.next_seconds = self.seconds + max(10 * (self.since - now), self.seconds / 20)
        return not self.is_done

    @property
    def rate(self) -> float:
        return self.moves / self.seconds

    @property
    def name(self) -> str:
        return "-".join(map(str, self.rules.heaps))


def main(arguments: Arguments) -> None:
    check_picture(arguments.picture)
    check_at_least(1, boards=arguments.boards, num_envs=arguments.num_envs)
    check_at_least(0, seed=arguments.seed)
    if not 0 < arguments.mastery <= 1:
        fail(f"--mastery must lie above 0 and at most 1; got {arguments.mastery}")
    if arguments.boards > len(arguments.heaps):
        fail(f"--boards must be at most the number of heaps, {len(arguments.heaps)}; got {arguments.boards}")
    with checking_arguments():
        sizes = [arguments.heaps[: len(arguments.heaps) - left_out] for left_out in range(arguments.boards)]
        boards = [NimRules(heaps, misere=arguments.misere) for heaps in reversed(sizes)]
        for rules in boards:
            solver.iter_positions(rules)  # what is too large is refused before anything is learned
            make(arguments, rules)
    found = [master(arguments, rules) for rules in boards]
    Console().print(table_of(found))
    save(picture_of(found), arguments.picture)


def make(arguments: Arguments, rules: NimRules) -> tuple[gym.vector.VectorEnv, agents.MinimaxQAgent]:
    """The games of a board and an agent that knows nothing."""
    env = gym.make_vec(
        "nim_env:Nim-v0",
        num_envs=arguments.num_envs,
        heaps=rules.heaps,
        misere=rules.misere,
        opponent=None,
        random_start=True,
    )
    agent = agents.MinimaxQAgent(
        env.single_observation_space,
        env.single_action_space,
        learning_rate=1.0,
        gamma=1.0,
        epsilon=arguments.epsilon,
        seed=arguments.seed,
    )
    return env, agent


def master(arguments: Arguments, rules: NimRules) -> Progress:
    """Learns a board."""
    env, agent = make(arguments, rules)
    with tqdm(unit=" moves", unit_scale=True, leave=False, disable=None) as bar:
        progress = Progress(rules, arguments, bar)
        table = f"{agent.table.values.nbytes / 1e6:,.1f} MB"
        bar.write(
            f"{progress.name}: {rules.n_positions:,} positions, {rules.n_actions} actions, a table of {table}"
        )
        runs = itertools.count(arguments.seed)
        while not progress.is_done:
            progress.begin()
            agents.train(agent, env, GAMES_A_RUN, seed=next(runs), callback=progress)
    return progress


def memory() -> str:
    """The most memory that this process has had."""
    if resource is None:
        return "unknown"
    unit = 1 if sys.platform == "darwin" else 1024
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6:,.0f} MB"


def table_of(found: list[Progress]) -> Table:
    """What each board took."""
    table = Table(caption="measuring mastery is not counted", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("heaps", "positions", "mastery", "moves", "seconds", "moves/s"):
        table.add_column(column, justify="left" if column == "heaps" else "right")
    for progress in found:
        table.add_row(
            progress.name,
            f"{progress.rules.n_positions:,}",
            f"{100 * progress.mastery:.4f} %",
            f"{progress.moves / 1e6:.1f} M",
            f"{progress.seconds:.1f}",
            f"{progress.rate / 1e6:.2f} M",
        )
    return table


def picture_of(found: list[Progress]) -> plt.Figure:
    """Mastery against moves, a line for each board."""
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for progress in found:
        moves, mastery = zip(*progress.seen, strict=True)
        label = f"{progress.name}, {progress.rules.n_positions:,} positions, {progress.seconds:,.0f} s"
        axes.plot(moves, [100 * share for share in mastery], marker=".", label=label)
    axes.set(
        title="Minimax-Q from random starts, in " + ("misère play" if found[0].rules.misere else "normal play"),
        xlabel="moves played",
        ylabel="winning positions played right, in %",
        xscale="log",
        ylim=(0, 102),
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    return figure


if __name__ == "__main__":
    run(main, Arguments)
