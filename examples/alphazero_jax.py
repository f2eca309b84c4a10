"""AlphaZero in JAX learns Nim by self-play, and is evaluated exactly while it trains.

A perceptron on the one-hot heap sizes gives a policy and a value. Self-play chooses each move by a tree search
that uses the rules as its model. The network learns the improved policy of the search and the outcomes of the
games. Search, games and training are compiled together, so they run on an accelerator where JAX finds one.

The figure shows expert mastery, the fraction of winning positions in which a player makes a winning move (Zhou and
Riis 2022, arXiv:2205.12787): of the policy alone, by its most probable legal move, and of the search.

    python examples/alphazero_jax.py
    python examples/alphazero_jax.py --heaps 1 3 5 7 --no-misere --n-seeds 1

Sources: AlphaZero, Silver et al. (2018, Science 362, p. 1140; the loss is equation 1, here without weight decay);
the search and the improved policy, Danihelka et al. (2022, "Policy improvement by planning with Gumbel", sections
3 to 5), by mctx; the games, pgx, Koyamada et al. (2023, arXiv:2303.17503).

Install: pip install -e ".[examples,jax]"
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import mctx
import optax
import pandas as pd
from matplotlib.figure import Figure
from pgx.experimental import auto_reset

from nim_env import EncodedPolicy, evaluation
from nim_env.pgx import Nim
from nim_env.policies import batched

from common import LINE_COLORS, percent, run, save_figure

BOARDS = ((1, 2, 3), (1, 3, 5), (1, 3, 5, 7))
LAYERS = (256, 256)
Parameters = list[tuple[jax.Array, jax.Array]]


@dataclass(frozen=True)  # so that jit compiles once for all seeds
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] | None = None
    """Starting heap sizes; if not given, 1-2-3, 1-3-5 and 1-3-5-7 in turn. Games start from random positions."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    total_timesteps: int = 400_000
    """The number of moves in training, of both players."""
    num_envs: int = 256
    """The number of games at the same time."""
    n_steps: int = 16
    """The number of moves in each game between two trainings."""
    batch_size: int = 256
    """The size of a minibatch, a divisor of num_envs * n_steps."""
    n_epochs: int = 4
    """The number of times that each move is trained on."""
    num_simulations: int = 16
    """The number of simulations of a search."""
    learning_rate: float = 2e-3
    """The learning rate of Adam at the start; it falls to 0."""
    eval_interval: int = 20_000
    """The number of moves between two evaluations."""
    n_seeds: int = 3
    """The number of seeds, from --seed on."""
    seed: int = 0
    """Random seed, the first one."""
    folder: Path = Path("results/alphazero_jax")
    """Where the table and the figure are saved."""


def main(args: Args) -> pd.DataFrame:
    """Trains on all boards with all seeds; returns a row for each evaluation."""
    tables = []
    for heaps in BOARDS if args.heaps is None else [args.heaps]:
        env = Nim(heaps, args.max_take, args.misere, random_start=True, observation="one_hot")
        for seed in range(args.seed, args.seed + args.n_seeds):
            start = time.perf_counter()
            table, _ = train(args, env, seed)
            tables.append(table)
            last = table.iloc[-1]
            print(
                f"{env.rules}, seed {seed}: expert mastery {percent(last['policy'])} % of the policy, "
                f"{percent(last['search'])} % of the search after {last['games']:,} games, "
                f"{time.perf_counter() - start:.0f} s"
            )
    table = pd.concat(tables, ignore_index=True)
    args.folder.mkdir(parents=True, exist_ok=True)
    table.round(4).to_csv(args.folder / "alphazero_jax.csv", index=False)
    save_figure(draw(table), args.folder / "alphazero_jax.svg")
    return table


def train(args: Args, env: Nim, seed: int) -> tuple[pd.DataFrame, Parameters]:
    """Trains a network; returns a row for each evaluation, and the parameters."""
    network_key, game_key, key = jax.random.split(jax.random.key(seed), 3)
    parameters = new_network(network_key, env)
    moments = optimizer(args).init(parameters)
    states = jax.vmap(env.init)(jax.random.split(game_key, args.num_envs))
    moves = args.num_envs * args.n_steps
    interval = max(1, args.eval_interval // moves)  # in iterations
    board, games = "-".join(map(str, env.rules.heaps)), 0
    rows = []
    n_iterations = args.total_timesteps // moves
    for number in range(n_iterations + 1):
        if number > 0:
            key, iteration_key = jax.random.split(key)
            parameters, moments, states, ended = iterate(args, env, parameters, moments, states, iteration_key)
            games += int(ended)
        if number % interval == 0 or number == n_iterations:
            row = {"board": board, "seed": seed, "timesteps": number * moves, "games": games}
            rows.append(row | evaluate(args, env, parameters))
    return pd.DataFrame(rows), parameters


def optimizer(args: Args) -> optax.GradientTransformation:
    n_updates = args.n_epochs * args.total_timesteps // args.batch_size
    return optax.adam(optax.linear_schedule(args.learning_rate, 0.0, n_updates))


def new_network(key: jax.Array, env: Nim) -> Parameters:
    """Weights (He et al. 2015) and biases of each layer; the last one has the logits and the value."""
    sizes = (*env.observation_shape, *LAYERS, env.num_actions + 1)
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        (jax.random.normal(k, (n, m)) * (2 / n) ** 0.5, jnp.zeros(m))
        for k, n, m in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def network(parameters: Parameters, observations: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The logits, shape ``(n, n_actions)``, and the mover's values from -1 to 1, shape ``(n,)``."""
    *hidden, (weights, biases) = parameters
    for hidden_weights, hidden_biases in hidden:
        observations = jax.nn.relu(observations @ hidden_weights + hidden_biases)
    outputs = observations @ weights + biases
    return outputs[:, :-1], jnp.tanh(outputs[:, -1])


def masked(logits: jax.Array, masks: jax.Array) -> jax.Array:
    """Logits in which illegal actions have a probability of 0."""
    return jnp.where(masks, logits, jnp.finfo(logits.dtype).min)


def search(args: Args, env: Nim, parameters: Parameters, states: Any, key: jax.Array, gumbel_scale: float) -> Any:
    """Searches from each state; returns the actions and the improved policies (mctx.PolicyOutput)."""

    def play(parameters: Parameters, _: jax.Array, actions: jax.Array, states: Any) -> tuple[Any, Any]:
        after = jax.vmap(env.step)(states, actions)
        logits, values = network(parameters, after.observation)
        output = mctx.RecurrentFnOutput(
            reward=rewards_of(states, after),
            discount=jnp.where(after.terminated, 0.0, -1.0),  # the value is that of the other player
            prior_logits=masked(logits, after.legal_action_mask),
            value=jnp.where(after.terminated, 0.0, values),
        )
        return output, after

    logits, values = network(parameters, states.observation)
    return mctx.gumbel_muzero_policy(
        parameters,
        key,
        mctx.RootFnOutput(prior_logits=logits, value=values, embedding=states),
        play,
        args.num_simulations,
        invalid_actions=~states.legal_action_mask,
        gumbel_scale=gumbel_scale,
    )


def rewards_of(states: Any, after: Any) -> jax.Array:
    """The rewards of the players who have just moved, shape ``(n,)``."""
    return after.rewards[jnp.arange(len(after.rewards)), states.current_player]


@partial(jax.jit, static_argnums=(0, 1))
def iterate(
    args: Args, env: Nim, parameters: Parameters, moments: Any, states: Any, key: jax.Array
) -> tuple[Parameters, Any, Any, jax.Array]:
    """Plays n_steps moves in each game and trains on them; also returns the number of games that ended."""

    def move(states: Any, key: jax.Array) -> tuple[Any, Any]:
        search_key, reset_key = jax.random.split(key)
        output = search(args, env, parameters, states, search_key, gumbel_scale=1.0)
        step = jax.vmap(auto_reset(env.step, env.init))
        after = step(states, output.action, jax.random.split(reset_key, args.num_envs))
        policies = states.observation, states.legal_action_mask, output.action_weights
        return after, (*policies, rewards_of(states, after), after.terminated)

    def outcome(known: Any, move: Any) -> tuple[Any, Any]:
        """Outcomes from the last move back; those of games that go on are not known."""
        value, is_known = known
        reward, ended = move
        known = jnp.where(ended, reward, -value), ended | is_known
        return known, known

    def update(carry: Any, batch: Any) -> tuple[Any, None]:
        parameters, moments = carry
        gradients = jax.grad(loss)(parameters, *batch)
        updates, moments = optimizer(args).update(gradients, moments)
        return (optax.apply_updates(parameters, updates), moments), None

    play_key, order_key = jax.random.split(key)
    states, (*policies, rewards, ended) = jax.lax.scan(move, states, jax.random.split(play_key, args.n_steps))
    unknown = jnp.zeros(args.num_envs), jnp.zeros(args.num_envs, dtype=bool)
    _, outcomes = jax.lax.scan(outcome, unknown, (rewards, ended), reverse=True)
    orders = [jax.random.permutation(k, rewards.size) for k in jax.random.split(order_key, args.n_epochs)]
    batches = jnp.concatenate(orders).reshape(-1, args.batch_size)
    data = [array.reshape(rewards.size, *array.shape[2:])[batches] for array in (*policies, *outcomes)]
    (parameters, moments), _ = jax.lax.scan(update, (parameters, moments), tuple(data))
    return parameters, moments, states, ended.sum()


def loss(
    parameters: Parameters, observations: Any, masks: Any, policies: Any, outcomes: Any, is_known: Any
) -> Any:
    """The cross-entropy of the policy and the squared error of the value where the outcome is known."""
    logits, values = network(parameters, observations)
    entropy = optax.softmax_cross_entropy(masked(logits, masks), policies)
    return jnp.mean(entropy + is_known * (values - outcomes) ** 2)


def evaluate(args: Args, env: Nim, parameters: Parameters) -> dict[str, float]:
    """Exact figures: expert mastery of policy and search, and value accuracy."""
    policy = EncodedPolicy(batched(partial(best_actions, parameters)), env.encoding)
    searcher = batched(lambda heaps, _: searched_actions(args, env, parameters, heaps))
    values = evaluation.value_accuracy(env.rules, lambda heaps: network(parameters, env.encoding(heaps))[1])
    return {
        "policy": evaluation.mastery(env.rules, policy).expert,
        "search": evaluation.mastery(env.rules, searcher).expert,
        "value_accuracy": values.overall,
    }


@jax.jit
def best_actions(parameters: Parameters, observations: jax.Array, masks: jax.Array) -> jax.Array:
    """The most probable legal actions, shape ``(n,)``."""
    return masked(network(parameters, observations)[0], masks).argmax(axis=1)


@partial(jax.jit, static_argnums=(0, 1))
def searched_actions(args: Args, env: Nim, parameters: Parameters, heaps: jax.Array) -> jax.Array:
    """The actions that a search without noise chooses, shape ``(n,)``."""
    key = jax.random.key(0)
    states = jax.vmap(env.init_at, in_axes=(None, 0))(key, heaps)
    return search(args, env, parameters, states, key, gumbel_scale=0.0).action


def draw(table: pd.DataFrame) -> Figure:
    """Expert mastery of policy and search over the games: a column for each board, a line for each seed."""
    boards = table["board"].unique()
    figure, axes = plt.subplots(1, len(boards), layout="constrained", sharey=True, squeeze=False)
    for axis, board in zip(axes[0], boards, strict=True):
        for color, name in zip(LINE_COLORS, ("search", "policy"), strict=False):
            for _, rows in table[table["board"] == board].groupby("seed"):
                axis.plot("games", name, data=rows, color=color, label=name, linewidth=1)
        axis.set(title=board, xlabel="training games")
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.locator_params(axis="x", nbins=3)
    axes[0, 0].set(ylabel="expert mastery")
    handles = dict(zip(*axes[0, 0].get_legend_handles_labels()[::-1], strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside right center")
    last = table.groupby(["board", "seed"], sort=False).last()
    ends = [
        " to ".join(dict.fromkeys(percent(share) for share in (last[name].min(), last[name].max())))
        for name in ("search", "policy")
    ]
    title = f"Expert mastery at the end: search {ends[0]} %, policy {ends[1]} %"
    figure.suptitle(title, x=0.01, ha="left", fontsize="large")
    return figure


if __name__ == "__main__":
    run(main, Args)
