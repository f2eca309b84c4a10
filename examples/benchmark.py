"""Compares the speed of the environments with environments of other libraries.

All benchmarks take turns in one process, so the ratios are more reliable than the rates. The moves are random and
legal, and only the calls of the environments are timed. A step of Nim has two plies in Gymnasium, but one ply in
PettingZoo and pgx.

    python examples/benchmark.py

The script takes two minutes.

Install: pip install -e ".[examples,jax]"; pip install open_spiel shimmy adds OpenSpiel to the comparison
"""

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

from command_line import run

import gymnasium as gym
import numpy as np
import pandas as pd
import pettingzoo
from tqdm import tqdm

Steps = Iterator[tuple[int, float]]  # the number of steps since the last item, and the seconds that they took

COMPARISONS = (  # a row of this project, and its baseline
    ("Gymnasium, Nim-v0", "Gymnasium, FrozenLake-v1"),
    ("PettingZoo, nim-v0", "PettingZoo, tictactoe-v3"),
    ("PettingZoo, nim-v0", "PettingZoo, OpenSpiel's nim"),
    ("vector, Nim-v0, self-play", "vector, CartPole-v1"),
    ("vector, Nim-v0, random", "vector, CartPole-v1"),
    ("pgx, Nim", "pgx, tic_tac_toe"),
    ("pgx, Nim", "pgx, connect_four"),
    ("pgx games, Nim", "pgx games, tic_tac_toe"),
    ("pgx games, Nim on 1-3-5", "pgx games, tic_tac_toe"),
)


@dataclass
class Args:
    num_envs: tuple[int, ...] = (1, 16, 256, 1024, 4096)
    """The numbers of environments in the benchmarks of many environments."""
    rounds: int = 5
    """How often each benchmark runs. The result is the median."""
    seconds: float = 0.3
    """How long each benchmark runs in a round."""


def main(args: Args) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns steps per second by row and ``num_envs``, and the ratios to the baselines."""
    rates = measure(args, benchmarks(args.num_envs))
    ratios = compare(rates)
    style = {"float_format": "{:,.2f}".format, "na_rep": ""}
    print(f"1,000 steps per second by num_envs\n{rates.div(1000).to_string(**style)}\n")
    print(f"Times as fast as the baseline\n{ratios.to_string(**style)}\n")
    return rates, ratios


def benchmarks(num_envs: tuple[int, ...]) -> Iterator[tuple[str, int, Steps]]:
    """Yields the name, the number of environments and the endless steps of each benchmark."""
    yield "Gymnasium, Nim-v0", 1, gym_steps("nim_env:Nim-v0")
    yield "Gymnasium, FrozenLake-v1", 1, gym_steps("FrozenLake-v1")
    yield "PettingZoo, nim-v0", 1, aec_steps("nim-v0")
    yield "PettingZoo, tictactoe-v3", 1, aec_steps("classic/tictactoe-v3")
    yield "PettingZoo, OpenSpiel's nim", 1, aec_steps("OpenSpiel")
    for n in num_envs:
        yield "vector, Nim-v0, self-play", n, vector_steps("nim_env:Nim-v0", n, opponent=None)
        yield "vector, Nim-v0, random", n, vector_steps("nim_env:Nim-v0", n, opponent="random")
        yield "vector, CartPole-v1", n, vector_steps("CartPole-v1", n)
    for name in ("Nim", "tic_tac_toe", "connect_four"):
        for n in num_envs:
            yield f"pgx, {name}", n, pgx_steps(name, n)
    for name in ("Nim", "Nim on 1-3-5", "tic_tac_toe"):
        yield f"pgx games, {name}", 1024, pgx_games(name, 1024)


def measure(args: Args, benchmarks: Iterator[tuple[str, int, Steps]]) -> pd.DataFrame:
    """Returns the median rate of each benchmark. All of them take turns in each round."""
    running: dict[tuple[str, int], Steps] = {}
    for name, num_envs, steps in benchmarks:
        try:
            next(steps)  # imports, makes and warms up the environment
        except (ImportError, gym.error.DependencyNotInstalled) as error:
            print(f"skipped {name}: {error}")
        else:
            running[name, num_envs] = steps
    gc.collect()
    gc.freeze()  # the collector then skips the objects of all benchmarks
    measured = []
    for _ in tqdm(range(args.rounds), unit=" rounds", leave=False, disable=None):
        for (name, num_envs), steps in running.items():
            n_steps = 0
            seconds = 0.0
            while seconds < args.seconds:
                n, spent = next(steps)
                n_steps += n
                seconds += spent
            measured.append({"name": name, "num_envs": num_envs, "rate": n_steps / seconds})
    return pd.DataFrame(measured).pivot_table("rate", "name", "num_envs", "median", sort=False).rename_axis(None)


def compare(rates: pd.DataFrame) -> pd.DataFrame:
    """Divides each rate by the rate of its baseline in the same column."""
    pairs = [(own, other) for own, other in COMPARISONS if {own, other} <= {*rates.index}]
    return pd.DataFrame({f"{own} / {other}": rates.loc[own] / rates.loc[other] for own, other in pairs}).T


def random_action(mask: Any, generator: np.random.Generator) -> int:
    """Returns a random action among those with a mask of 1."""
    legal = np.asarray(mask).nonzero()[0]
    return int(legal[int(generator.random() * len(legal))])


def gym_steps(env_id: str) -> Steps:
    """Plays episodes in a single environment."""
    env = gym.make(env_id)
    generator = np.random.default_rng(0)
    all_actions = np.ones(env.action_space.n, np.int8)
    while True:
        start = perf_counter()
        _, info = env.reset()
        spent = perf_counter() - start
        steps = 0
        terminated = truncated = False
        while not (terminated or truncated):
            action = random_action(info.get("action_mask", all_actions), generator)
            start = perf_counter()
            _, _, terminated, truncated, info = env.step(action)
            spent += perf_counter() - start
            steps += 1
        yield steps, spent


def aec_steps(env_id: str) -> Steps:
    """Plays games in a PettingZoo environment, or in OpenSpiel's Nim on 1-3-5-7."""
    if env_id == "OpenSpiel":
        from shimmy import OpenSpielCompatibilityV0

        env = OpenSpielCompatibilityV0(game_name="nim")
    else:
        env = pettingzoo.make("aec", env_id)
    generator = np.random.default_rng(0)
    while True:
        plies = 0
        spent = 0.0
        start = perf_counter()
        env.reset()
        for _ in env.agent_iter():
            observation, _, terminated, truncated, info = env.last()
            spent += perf_counter() - start
            action = None
            if not (terminated or truncated):
                mask = info["action_mask"] if "action_mask" in info else observation["action_mask"]
                action = random_action(mask, generator)
                plies += 1
            start = perf_counter()
            env.step(action)
        yield plies, spent + perf_counter() - start


def vector_steps(env_id: str, num_envs: int, **options: Any) -> Steps:
    """Plays steps in a vector environment."""
    env = gym.make_vec(env_id, num_envs, vectorization_mode="vector_entry_point", **options)
    generator = np.random.default_rng(0)
    _, info = env.reset(seed=0)
    while True:
        actions = env.action_space.sample()
        if "action_mask" in info:
            weights = generator.random(info["action_mask"].shape, dtype=np.float32) + 0.5
            actions = (weights * info["action_mask"]).argmax(axis=1)
        start = perf_counter()
        *_, info = env.step(actions)
        yield num_envs, perf_counter() - start


def pgx_env(name: str) -> Any:
    """Makes a pgx environment of Nim or of another game."""
    import pgx

    from nim_env.pgx import Nim

    boards = {"Nim": (1, 3, 5, 7), "Nim on 1-3-5": (1, 3, 5)}
    return Nim(boards[name]) if name in boards else pgx.make(name)


def pgx_steps(name: str, num_envs: int) -> Steps:
    """Plays plies of Nim on 1-3-5-7, or of another pgx game. A game that ends starts again."""
    import jax
    from pgx.experimental import auto_reset

    env = pgx_env(name)
    step = jax.jit(jax.vmap(auto_reset(env.step, env.init)))
    draw = jax.jit(lambda key, masks: jax.random.categorical(key, jax.numpy.where(masks, 0.0, -jax.numpy.inf)))
    split = jax.jit(partial(jax.random.split, num=num_envs + 2))
    key = jax.random.key(0)
    states = jax.jit(jax.vmap(env.init))(split(key)[2:])
    while True:
        keys = split(key)
        key = keys[0]
        actions = draw(keys[1], states.legal_action_mask)
        jax.block_until_ready((keys, actions))
        start = perf_counter()
        states = jax.block_until_ready(step(states, actions, keys[2:]))
        yield num_envs, perf_counter() - start


def pgx_games(name: str, num_envs: int) -> Steps:
    """Plays 100 plies of all games in one compiled function, which also chooses the actions."""
    import jax
    from pgx.experimental import auto_reset

    env = pgx_env(name)
    step = jax.vmap(auto_reset(env.step, env.init))

    def ply(states: Any, key: Any) -> tuple[Any, Any]:
        action_key, reset_key = jax.random.split(key)
        logits = jax.numpy.where(states.legal_action_mask, 0.0, -jax.numpy.inf)
        actions = jax.random.categorical(action_key, logits)
        return step(states, actions, jax.random.split(reset_key, num_envs)), None

    play = jax.jit(lambda states, key: jax.lax.scan(ply, states, jax.random.split(key, 100))[0])
    states = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), num_envs))
    states = jax.block_until_ready(play(states, jax.random.key(0)))  # compiles the function
    while True:
        start = perf_counter()
        states = jax.block_until_ready(play(states, jax.random.key(1)))
        yield 100 * num_envs, perf_counter() - start


if __name__ == "__main__":
    run(main, Args)
