"""Measures the project, alternating with what it is compared to, so that only the ratios count.

systems: systems 1 and 5 here, through the standard API, and as bare loops without one (bare_loops.py).
"""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from script import check_at_least, fail, run

import gymnasium as gym
import pettingzoo
import tyro
from bare_loops import q_learning_self_play, win_counting
from rich import box
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

import agents
import nim_env  # noqa: F401  registers


@dataclass
class Arguments:
    """The options of this script."""

    part: Annotated[Literal["systems"], tyro.conf.Positional] = "systems"
    """What to measure."""
    rounds: int = 5
    """How often each is timed; the median counts."""
    share: float = 1.0
    """The share of the games to play, for a quick look."""
    seed: int = 0
    """The same seed plays the same games; the times differ all the same."""


def main(arguments: Arguments) -> None:
    check_at_least(1, rounds=arguments.rounds)
    check_at_least(0, seed=arguments.seed)
    if not 0 < arguments.share <= 1:
        fail(f"--share must lie above 0 and at most 1; got {arguments.share}")
    seconds = timed(arguments)
    table = Table(
        title="Training through the standard API and in bare loops",
        caption=f"medians of {arguments.rounds} alternating rounds; Python {platform.python_version()}, "
        f"{platform.machine()}",
        box=box.SIMPLE_HEAD,
    )
    for column in ("", "games", "here", "bare loop", "ratio"):
        table.add_column(column, justify="left" if not column else "right")
    for name, (games, ours, bare) in seconds.items():
        table.add_row(name, f"{games:,}", f"{ours:.2f} s", f"{bare:.2f} s", f"{ours / bare:.2f}")
    Console().print(table)


def timed(arguments: Arguments) -> dict[str, tuple[int, float, float]]:
    """For each system: how many games, and the median seconds here and in the bare loop."""
    found = {}
    contenders = {
        "system 1, self-play on 1-3-5-7": (10_000, self_play_here, q_learning_self_play),
        "system 5, win counting against the expert": (100_000, win_counting_here, win_counting),
    }
    with tqdm(total=2 * len(contenders) * arguments.rounds, unit=" runs", leave=False, disable=None) as bar:
        for name, (all_games, here, bare) in contenders.items():
            games = max(1, round(all_games * arguments.share))
            times: dict[Callable[[int, int], object], list[float]] = {here: [], bare: []}
            for _ in range(arguments.rounds):
                for contender in times:
                    start = time.perf_counter()
                    contender(games, arguments.seed)
                    times[contender].append(time.perf_counter() - start)
                    bar.update()
            found[name] = games, statistics.median(times[here]), statistics.median(times[bare])
    return found


def self_play_here(games: int, seed: int) -> agents.History:
    """System 1 through PettingZoo."""
    env = pettingzoo.make("aec", "nim-v0")
    agent = agents.QLearningAgent(env.observation_space("player_0"), env.action_space("player_0"), seed=seed)
    return agents.train(agent, env, games, seed=seed)


def win_counting_here(games: int, seed: int) -> agents.History:
    """System 5 through Gymnasium."""
    env = gym.make("SimpleNim-v0", opponent="expert", first_player="loser")
    agent = agents.WinCountAgent(env.observation_space, env.action_space, seed=seed)
    return agents.train(agent, env, games, seed=seed)


if __name__ == "__main__":
    run(main, Arguments)
