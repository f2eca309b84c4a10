"""Measures the project, alternating with what it is compared to, so that only the ratios count.

environments: steps per second of every kind of environment, and of others' environments.
training: moves that the agents learn from per second.
rollouts: steps per second that Stable-Baselines3 collects, from its environments alone and with MaskablePPO.
pictures: frames per second of render_mode="rgb_array".
page: how long the page of play_in_browser.py takes to answer a move, in Chromium.
exact: how long an exact answer takes, from a board of 48 positions to one of 645,120.
systems: systems 1 and 5 here, through the standard API, and as bare loops without one (bare_loops.py).
"""

from __future__ import annotations

import gc
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from script import check_at_least, check_picture, fail, run, save

import gymnasium as gym
import matplotlib.pyplot as plt
import pettingzoo
import tyro
from bare_loops import q_learning_self_play, win_counting
from contenders import AT_ONCE, BOARDS, Contender, environments, exact, pictures, rollouts, training
from page_answers import answers
from rich import box
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

import agents
from nim_env import NimRules

MEASURED = {
    "environments": (environments, "Environments: steps per second by games at once"),
    "training": (training, "Training on 3-4-5: moves learnt from per second by games at once"),
    "rollouts": (rollouts, "Stable-Baselines3: steps per second by games at once"),
    "pictures": (pictures, "Pictures: frames per second by games at once"),
}
MOVES_A_ROUND = 20
DRAWN = ("environments", "training")
Rates = dict[str, dict[int, float]]  # by contender and games at once


@dataclass
class Arguments:
    """The options of this script."""

    part: Annotated[
        Literal["all", "environments", "training", "rollouts", "pictures", "page", "exact", "systems"],
        tyro.conf.Positional,
    ] = "all"
    """What to measure; all is all but the page."""
    rounds: int = 5
    """How often each is timed; the median counts."""
    seconds: float = 0.3
    """How long each environment, training loop or question goes on in a round."""
    share: float = 1.0
    """The share of the games of the systems to play, for a quick look."""
    seed: int = 0
    """The same seed plays the same games of the systems; the times differ all the same."""
    picture: Path = Path("results/benchmark.png")
    """Where the rates of environments and training are drawn."""


def main(arguments: Arguments) -> None:
    check_at_least(1, rounds=arguments.rounds)
    check_at_least(0, seed=arguments.seed)
    check_picture(arguments.picture)
    if not 0 < arguments.share <= 1:
        fail(f"--share must lie above 0 and at most 1; got {arguments.share}")
    if not 0 < arguments.seconds < 3600:
        fail(f"--seconds must lie above 0 and below 3600; got {arguments.seconds}")
    chosen = [part for part in MEASURED if arguments.part in ("all", part)]
    found = {}
    for part in chosen:
        contenders, title = MEASURED[part]
        all_of_them = contenders()
        missing = sorted({package for contender in all_of_them for package in contender.missing})
        found[part] = rates(arguments, [contender for contender in all_of_them if not contender.missing])
        Console().print(table_of_rates(arguments, title, all_of_them, found[part]))
        if missing:
            print(f"not installed: {', '.join(missing)}")
    if drawn := {part: found[part] for part in DRAWN if part in found}:
        save(picture_of(drawn), arguments.picture)
    if arguments.part == "page":
        Console().print(table_of_page(answers(MOVES_A_ROUND * arguments.rounds)))
    if arguments.part in ("all", "exact"):
        contenders = [contender for contender in exact() if not contender.missing]
        Console().print(table_of_answers(arguments, rates(arguments, contenders)))
    if arguments.part in ("all", "systems"):
        Console().print(table_of_systems(arguments, timed(arguments)))


def rates(arguments: Arguments, contenders: list[Contender]) -> Rates:
    """Steps per second: medians over the rounds, in each of which every contender has its turn."""
    runs = {(contender.name, contender.number): contender.make() for contender in contenders}
    seen: dict[tuple[str, int], list[float]] = {which: [] for which in runs}
    gc.collect()
    gc.freeze()  # so that none pays for the objects of the others whenever garbage is looked for
    with tqdm(total=(arguments.rounds + 1) * len(runs), unit=" runs", leave=False, disable=None) as bar:
        for round_number in range(arguments.rounds + 1):
            for which, measured in runs.items():
                steps, spent = measured(arguments.seconds if round_number else arguments.seconds / 10)
                if round_number:  # the first warms up
                    seen[which].append(steps / spent)
                bar.update()
    found: Rates = {}
    for (name, number), values in seen.items():
        found.setdefault(name, {})[number] = statistics.median(values)
    return found


def table_of_rates(arguments: Arguments, title: str, contenders: list[Contender], found: Rates) -> Table:
    """A row for each kind of environment or training, a column for each number of games at once."""
    table = Table(title=title, caption=how(arguments), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("")
    numbers = sorted({contender.number for contender in contenders})
    for number in numbers:
        table.add_column(f"{number:,}", justify="right")
    own = list(dict.fromkeys(contender.name for contender in contenders if not contender.is_peer))
    peers = list(dict.fromkeys(contender.name for contender in contenders if contender.is_peer))
    for names in (own, peers):
        for name in names:
            values = found.get(name, {})
            cells = [in_short(values[number]) if number in values else "" for number in numbers]
            table.add_row(name, *(cells if values else ["missing", *cells[1:]]))
        table.add_section()
    return table


def table_of_page(found: dict[str, list[float]]) -> Table:
    """A row for each game on the page: how long its moves took."""
    table = Table(
        title="From a click on the page to the browser's next frame", caption=processor(), box=box.SIMPLE_HEAD
    )
    for column in ("", "moves", "median", "slowest"):
        table.add_column(column, justify="left" if not column else "right")
    for name, times in found.items():
        table.add_row(
            name, str(len(times)), *(f"{time:.0f} ms" for time in (statistics.median(times), max(times)))
        )
    return table


def table_of_answers(arguments: Arguments, found: Rates) -> Table:
    """A row for each question, a column for each board: the time an answer takes."""
    table = Table(
        title="Exact answers, normal play, by board and positions",
        caption=how(arguments),
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("")
    boards = {NimRules(heaps).n_positions: "-".join(map(str, heaps)) for heaps in BOARDS}
    for number, name in boards.items():
        table.add_column(f"{name}\n{number:,}", justify="right")
    for name, by_board in found.items():
        cells = [seconds(1 / by_board[number]) if number in by_board else "" for number in boards]
        table.add_row(name, *cells)
    return table


def seconds(time: float) -> str:
    """A time with two or three figures."""
    return f"{time:.2f} s" if time >= 1 else f"{1000 * time:.{0 if time >= 0.1 else 1}f} ms"


def in_short(rate: float) -> str:
    """A rate with two or three figures."""
    for unit, letter in ((1e6, " M"), (1e3, " k")):
        if rate >= unit:
            return f"{rate / unit:.{0 if rate >= 100 * unit else 1}f}{letter}"
    return f"{rate:.0f}"


def how(arguments: Arguments) -> str:
    """Where and how it was measured."""
    return (
        f"medians of {arguments.rounds} alternating rounds; {processor()}, one core, Python "
        f"{platform.python_version()}"
    )


def processor() -> str:
    """The name of the processor, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def picture_of(found: dict[str, Rates]) -> plt.Figure:
    """The rates against the number of games at once, both axes logarithmic."""
    figure, panels = plt.subplots(
        1, len(found), figsize=(6.5 * len(found), 4.8), layout="constrained", squeeze=False, sharey=True
    )
    peers = {contender.name for part in found for contender in MEASURED[part][0]() if contender.is_peer}
    for axes, (part, values) in zip(panels[0], found.items(), strict=True):
        for name, by_number in values.items():
            look = {"linestyle": "--", "marker": "x"} if name in peers else {"marker": "o"}
            axes.plot(by_number.keys(), by_number.values(), label=name, **look)
        axes.set(
            title=part.capitalize(),
            xlabel="games at once",
            ylabel="steps per second" if part == "environments" else "moves learnt from per second",
            xscale="log",
            yscale="log",
        )
        axes.set_xticks(AT_ONCE, [f"{number:,}" for number in AT_ONCE])
        axes.minorticks_off()
        axes.yaxis.set_tick_params(labelleft=True)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    return figure


def table_of_systems(arguments: Arguments, seconds: dict[str, tuple[int, float, float]]) -> Table:
    """A row for each system: the time here and in a bare loop."""
    title = "Training through the standard API and in bare loops"
    table = Table(title=title, caption=how(arguments), box=box.SIMPLE_HEAD)
    for column in ("", "games", "here", "bare loop", "ratio"):
        table.add_column(column, justify="left" if not column else "right")
    for name, (games, ours, bare) in seconds.items():
        table.add_row(name, f"{games:,}", f"{ours:.2f} s", f"{bare:.2f} s", f"{ours / bare:.2f}")
    return table


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
