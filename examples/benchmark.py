"""Measures the speed of the project compared with other libraries.

All benchmarks of a part take turns in one process, so the ratios mean more than the rates. The parts:

- environments: steps per second of single and vector environments; only their calls are timed.
- training: moves per second of tabular agents in training.
- rollouts: steps per second that Stable-Baselines3 collects; needs the extra ``sb3``.
- exact: the time of a solution, a best response and exact evaluations.

Install: pip install -e ".[examples]"; pip install open_spiel shimmy adds OpenSpiel to the comparison
"""

from __future__ import annotations

import gc
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal

from common import FIGURE_SUFFIXES, PositiveInt, Seconds, check_output, label_lines, run, save_figure

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import pettingzoo
import tyro
from rich import box
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

import agents
from nim_env import NimRules, evaluation, solver, theory

Run = Callable[[float], tuple[int, float]]  # takes how many seconds to run; returns steps and seconds
Rates = dict[str, dict[Any, float]]  # steps per second by row and column

NUM_ENVS = (1, 16, 256, 1024, 4096)
BOARDS = ((1, 3, 5), (1, 3, 5, 7, 9), (1, 3, 5, 7, 9, 11, 13))
clock = time.perf_counter


@dataclass
class Args:
    """The options of this script."""

    part: Annotated[
        Literal["all", "environments", "training", "rollouts", "exact"],
        tyro.conf.Positional,
    ] = "all"
    """What to measure."""
    rounds: PositiveInt = 5
    """How often each benchmark runs; the median counts."""
    seconds: Seconds = 0.3
    """How long each benchmark runs in a round."""
    picture: Path = Path("results/benchmark.png")
    """Where the figure of environments and training is saved."""


def main(args: Args) -> dict[str, Rates]:
    check_output("picture", args.picture, FIGURE_SUFFIXES)
    results = {}
    for part in PARTS if args.part == "all" else [args.part]:
        make_benchmarks, title, shown = PARTS[part]
        benchmarks = list(make_benchmarks())
        results[part] = rates = measure(benchmarks, args.rounds, args.seconds)
        Console().print(make_table(title, rates, shown))
        if ratios := compare(benchmarks, rates):
            Console().print(make_table("Times as fast as the baseline", ratios, lambda ratio: ratio))
    print(f"medians of {args.rounds} rounds, Python {platform.python_version()}, {platform.machine()}")
    if drawn := {part: results[part] for part in ("environments", "training") if part in results}:
        save_figure(draw(drawn), args.picture)
    return results


# --- Measurement, tables and figure -----------------------------------------------------------------


@dataclass
class Benchmark:
    """What is measured for one cell of a table."""

    name: str
    column: int | str  # num_envs, or a board or a number of games
    make: Callable[[], Run]
    baseline: str = ""  # the row that it is compared with


def measure(benchmarks: list[Benchmark], rounds: int, seconds: float) -> Rates:
    """The median rate of every benchmark over rounds in which all take turns."""
    runs: dict[tuple[str, Any], Run] = {}
    for benchmark in benchmarks:
        try:
            runs[benchmark.name, benchmark.column] = benchmark.make()
        except (ImportError, gym.error.DependencyNotInstalled) as error:
            print(f"skipped {benchmark.name}, {benchmark.column}: {error}")
    measured: dict[tuple[str, Any], list[float]] = {cell: [] for cell in runs}
    gc.collect()
    gc.freeze()  # the collector then passes over the objects of all benchmarks
    with tqdm(total=(rounds + 1) * len(runs), unit=" runs", leave=False, disable=None) as bar:
        for round_number in range(rounds + 1):
            for cell, run_for in runs.items():
                steps, spent = run_for(seconds if round_number else seconds / 10)
                if round_number:  # the first round warms up
                    measured[cell].append(steps / spent)
                bar.update()
    gc.unfreeze()
    rates: Rates = {}
    for (name, column), values in measured.items():
        rates.setdefault(name, {})[column] = statistics.median(values)
    return rates


def compare(benchmarks: list[Benchmark], rates: Rates) -> Rates:
    """The ratio of every rate to that of its baseline in the same column."""
    ratios: Rates = {}
    for benchmark in benchmarks:
        rate = rates.get(benchmark.name, {}).get(benchmark.column)
        baseline = rates.get(benchmark.baseline, {}).get(benchmark.column)
        if rate and baseline:
            ratios.setdefault(f"{benchmark.name} / {benchmark.baseline}", {})[benchmark.column] = rate / baseline
    return ratios


def make_table(title: str, rates: Rates, shown: Callable[[float], float]) -> Table:
    columns = list(dict.fromkeys(column for row in rates.values() for column in row))
    table = Table("", title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(f"{column:,}" if isinstance(column, int) else column, justify="right")
    for name, row in rates.items():
        table.add_row(name, *(f"{shown(row[column]):,.2f}" if column in row else "" for column in columns))
    return table


def draw(results: dict[str, Rates]) -> plt.Figure:
    """Rates against num_envs, both axes logarithmic; other libraries are gray and dashed."""
    size = (8 * len(results), 4.8)
    figure, panels = plt.subplots(1, len(results), figsize=size, layout="constrained", squeeze=False)
    for axes, (part, rates) in zip(panels[0], results.items(), strict=True):
        own = {benchmark.name for benchmark in PARTS[part][0]() if benchmark.baseline}
        for name, row in rates.items():
            style = {} if name in own else {"color": "#8a8174", "linestyle": "--"}
            axes.plot(row.keys(), row.values(), marker="o", label=name.replace("vector, ", ""), **style)
        ylabel = "steps per second" if part == "environments" else "moves per second"
        axes.set(title=part.capitalize(), xlabel="num_envs", ylabel=ylabel, xscale="log", yscale="log")
        axes.set_xlim(left=0.005)  # for the labels
        axes.set_xticks(NUM_ENVS, [f"{n:,}" for n in NUM_ENVS])
        axes.minorticks_off()
        label_lines(axes, to_left=[name for name, row in rates.items() if len(row) == 1])
    return figure


# --- Parts ------------------------------------------------------------------------------------------


def repeat(call: Callable[[], Any], steps: int = 1) -> Run:
    """Calls a function until the time is over, and at least once; each call counts as ``steps``."""

    def run_for(seconds):
        calls, start = 0, clock()
        while not calls or clock() - start < seconds:
            call()
            calls += 1
        return calls * steps, clock() - start

    return run_for


# --- Environments: random legal play ----------------------------------------------------------------


def environments() -> Iterator[Benchmark]:
    """A step of Gymnasium's Nim is two plies, one of PettingZoo's is one."""
    nim, baseline = "nim_env:Nim-v0", "vector, CartPole-v1"
    yield Benchmark("Gymnasium, Nim-v0", 1, lambda: gym_steps(nim), "Gymnasium, FrozenLake-v1")
    yield Benchmark(
        "PettingZoo, nim-v0", 1, lambda: aec_steps(pettingzoo.make("aec", "nim-v0")), "PettingZoo, tictactoe-v3"
    )
    for n in NUM_ENVS:
        yield Benchmark("vector, Nim-v0, self-play", n, partial(vector_steps, nim, n, opponent=None), baseline)
        yield Benchmark("vector, Nim-v0, random", n, partial(vector_steps, nim, n, opponent="random"), baseline)
        yield Benchmark("vector, Nim-v0, expert", n, partial(vector_steps, nim, n, opponent="expert"), baseline)
    yield Benchmark("Gymnasium, FrozenLake-v1", 1, lambda: gym_steps("FrozenLake-v1"))
    yield Benchmark(
        "PettingZoo, tictactoe-v3", 1, lambda: aec_steps(pettingzoo.make("aec", "classic/tictactoe-v3"))
    )
    yield Benchmark("PettingZoo, OpenSpiel's nim", 1, openspiel_steps)
    for n in NUM_ENVS:
        yield Benchmark(baseline, n, partial(vector_steps, "CartPole-v1", n))


def random_action(mask: Any, generator: np.random.Generator) -> int:
    legal = np.asarray(mask).nonzero()[0]
    return int(legal[int(generator.random() * len(legal))])


def gym_steps(env_id: str) -> Run:
    env, generator = gym.make(env_id), np.random.default_rng(0)
    all_actions = np.ones(env.action_space.n, np.int8)

    def run_for(seconds):
        steps, spent = 0, 0.0
        while spent < seconds:
            start = clock()
            _, info = env.reset()
            spent += clock() - start
            done = False
            while not done:
                action = random_action(info.get("action_mask", all_actions), generator)
                start = clock()
                _, _, terminated, truncated, info = env.step(action)
                spent += clock() - start
                done = terminated or truncated
                steps += 1
        return steps, spent

    return run_for


def aec_steps(env: pettingzoo.AECEnv) -> Run:
    generator = np.random.default_rng(0)

    def run_for(seconds):
        plies, spent = 0, 0.0
        while spent < seconds:
            start = clock()
            env.reset()
            for _ in env.agent_iter():
                observation, _, terminated, truncated, info = env.last()
                spent += clock() - start
                action = None
                if not (terminated or truncated):
                    mask = info["action_mask"] if "action_mask" in info else observation["action_mask"]
                    action = random_action(mask, generator)
                    plies += 1
                start = clock()
                env.step(action)
            spent += clock() - start
        return plies, spent

    return run_for


def openspiel_steps() -> Run:
    from shimmy import OpenSpielCompatibilityV0

    return aec_steps(OpenSpielCompatibilityV0(game_name="nim"))  # 1-3-5-7 too


def vector_steps(env_id: str, num_envs: int, **kwargs: Any) -> Run:
    mode = gym.VectorizeMode.VECTOR_ENTRY_POINT
    env = gym.make_vec(env_id, num_envs=num_envs, vectorization_mode=mode, **kwargs)
    generator = np.random.default_rng(0)

    def run_for(seconds):
        steps, spent = 0, 0.0
        _, info = env.reset(seed=0)
        while spent < seconds:
            actions = env.action_space.sample()
            if "action_mask" in info:
                weights = generator.random(info["action_mask"].shape, dtype=np.float32) + 0.5
                actions = (weights * info["action_mask"]).argmax(axis=1)
            start = clock()
            *_, info = env.step(actions)
            spent += clock() - start
            steps += num_envs
        return steps, spent

    return run_for


# --- Training on 3-4-5 ----------------------------------------------------------------------------


def training() -> Iterator[Benchmark]:
    baseline = "OpenSpiel's Q-learner"
    yield Benchmark("minimax-Q, PettingZoo", 1, lambda: train_steps("aec"), baseline)
    yield Benchmark("minimax-Q, Gymnasium", 1, lambda: train_steps("gym"), baseline)
    for name, agent_class, opponent in (
        ("minimax-Q, vector, self-play", agents.MinimaxQAgent, None),
        ("Q-learning, vector, self-play", agents.QLearningAgent, None),
        ("Q-learning, vector, random", agents.QLearningAgent, "random"),
        ("win counting, vector, random", agents.WinCountAgent, "random"),
    ):
        for n in NUM_ENVS:
            yield Benchmark(name, n, partial(train_steps, "vector", agent_class, opponent, n), baseline)
    yield Benchmark(baseline, 1, openspiel_train_steps)


def train_steps(
    api: str, agent_class: Any = agents.MinimaxQAgent, opponent: str | None = None, num_envs: int = 1
) -> Run:
    heaps = (3, 4, 5)
    env: Any = gym.make("nim_env:Nim-v0", heaps=heaps, opponent=opponent)
    agent = agent_class(env.observation_space, env.action_space, seed=0)
    if api == "aec":
        env = pettingzoo.make("aec", "nim-v0", heaps=heaps)
    if api == "vector":
        env = gym.make_vec("nim_env:Nim-v0", num_envs=num_envs, heaps=heaps, opponent=opponent)

    def run_for(seconds):
        start = clock()
        history = agents.train(agent, env, 10**7, seed=0, callback=lambda *_: clock() - start < seconds)
        return int(history.lengths.sum()), clock() - start

    return run_for


def openspiel_train_steps() -> Run:
    from open_spiel.python import rl_environment
    from open_spiel.python.algorithms import tabular_qlearner

    env = rl_environment.Environment("nim(pile_sizes=3;4;5)")
    learners = [tabular_qlearner.QLearner(player, env.action_spec()["num_actions"]) for player in range(2)]

    def run_for(seconds):
        moves, start = 0, clock()
        while clock() - start < seconds:
            step = env.reset()
            while not step.last():
                step = env.step([learners[step.observations["current_player"]].step(step).action])
                moves += 1
            for learner in learners:
                learner.step(step)
        return moves, clock() - start

    return run_for


# --- Rollouts through Stable-Baselines3 -----------------------------------------------------------


def rollouts() -> Iterator[Benchmark]:
    """The environments alone, masks included, and MaskablePPO without its updates."""
    for name, make_run in (("environment", vec_env_steps), ("MaskablePPO", maskable_ppo_steps)):
        for n in NUM_ENVS:
            yield Benchmark(f"{name}, NimVecEnv", n, partial(make_run, nim_vec_env, n), f"{name}, DummyVecEnv")
        for n in NUM_ENVS[:-1]:
            yield Benchmark(f"{name}, DummyVecEnv", n, partial(make_run, dummy_vec_env, n))


def nim_vec_env(num_envs: int) -> Any:
    from nim_env.sb3 import NimVecEnv

    return NimVecEnv(gym.make_vec("nim_env:Nim-v0", num_envs=num_envs, autoreset_mode="SameStep"))


def dummy_vec_env(num_envs: int) -> Any:
    from stable_baselines3.common.vec_env import DummyVecEnv

    return DummyVecEnv([lambda: gym.make("nim_env:Nim-v0")] * num_envs)


def vec_env_steps(make_env: Callable[[int], Any], num_envs: int) -> Run:
    env, generator = make_env(num_envs), np.random.default_rng(0)
    env.reset()

    def run_for(seconds):
        steps, spent = 0, 0.0
        while spent < seconds:
            start = clock()
            rows = env.env_method("action_masks")
            spent += clock() - start
            masks = np.stack(rows)
            actions = (generator.random(masks.shape) * masks).argmax(axis=1)
            start = clock()
            env.step(actions)
            spent += clock() - start
            steps += num_envs
        return steps, spent

    return run_for


def maskable_ppo_steps(make_env: Callable[[int], Any], num_envs: int) -> Run:
    import torch
    from sb3_contrib import MaskablePPO

    class Rollouts(MaskablePPO):
        def train(self) -> None:
            """Skips the update."""

    torch.set_num_threads(1)
    steps = 8 * num_envs
    model = Rollouts("MlpPolicy", make_env(num_envs), n_steps=8, batch_size=steps, seed=0, device="cpu")
    return repeat(lambda: model.learn(steps, reset_num_timesteps=False), steps)


# --- Exact answers about normal play and a table agent --------------------------------------------


def exact() -> Iterator[Benchmark]:
    baseline = "OpenSpiel's exploitability"
    for heaps in BOARDS:
        board = f"{'-'.join(map(str, heaps))}\n{NimRules(heaps).n_positions:,}"
        yield Benchmark("solve", board, partial(answers, heaps, lambda rules, _: solver.solve(rules)))
        yield Benchmark("best response", board, partial(answers, heaps, solver.best_response))
        yield Benchmark("mastery", board, partial(answers, heaps, evaluation.mastery))
        yield Benchmark("exploitability", board, partial(answers, heaps, evaluation.exploitability), baseline)
        against_random = partial(evaluation.win_probability, opponent="random")
        yield Benchmark("win probability against random", board, partial(answers, heaps, against_random))
        if heaps == BOARDS[0]:
            yield Benchmark(baseline, board, openspiel_exploitability)
    yield Benchmark("theory, a million positions", board, theory_answers)


def answers(heaps: tuple[int, ...], question: Callable[[NimRules, agents.Agent], Any]) -> Run:
    rules, agent = NimRules(heaps, misere=False), trained_agent(heaps)
    return repeat(lambda: question(rules, agent))


@cache
def trained_agent(heaps: tuple[int, ...]) -> agents.Agent:
    env = gym.make_vec("nim_env:Nim-v0", num_envs=256, heaps=heaps, misere=False, opponent=None)
    agent = agents.MinimaxQAgent(env.single_observation_space, env.single_action_space, seed=0)
    agents.train(agent, env, 10_000, seed=0)
    return agent


def theory_answers() -> Run:
    rules = NimRules(BOARDS[-1], misere=False)
    heaps = np.random.default_rng(0).integers(0, rules.shape, size=(1_000_000, rules.n_heaps))
    return repeat(lambda: (theory.is_winning(rules, heaps), theory.winning_action_mask(rules, heaps)))


def openspiel_exploitability() -> Run:
    import pyspiel
    from open_spiel.python import policy
    from open_spiel.python.algorithms.exploitability import exploitability

    game = pyspiel.load_game(f"nim(pile_sizes={';'.join(map(str, BOARDS[0]))},is_misere=false)")
    return repeat(lambda: exploitability(game, policy.UniformRandomPolicy(game)))


Part = tuple[Callable[[], Iterator[Benchmark]], str, Callable[[float], float]]
PARTS: dict[str, Part] = {  # the benchmarks, the title of their table, and what it shows of a rate
    "environments": (environments, "Environments: 1,000 steps per second by num_envs", lambda rate: rate / 1000),
    "training": (training, "Training on 3-4-5: 1,000 moves per second by num_envs", lambda rate: rate / 1000),
    "rollouts": (rollouts, "Stable-Baselines3: 1,000 steps per second by num_envs", lambda rate: rate / 1000),
    "exact": (exact, "Exact answers: milliseconds by board and number of positions", lambda rate: 1000 / rate),
}


if __name__ == "__main__":
    run(main, Args)
