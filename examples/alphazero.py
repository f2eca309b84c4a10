"""Trains AlphaZero in JAX by self-play on Nim, and evaluates it exactly while it trains.

A network outputs a policy and a value. In self-play, each move is chosen by a tree search that uses the rules as
its model. The network learns to predict the improved policy of the search and the outcomes of the games. A
comparison of two networks shows how much depends on the form of the network:

    mlp    a multilayer perceptron on the one-hot heap sizes
    digit  reads binary digits with the same weights for each digit and takes a maximum over the digits, so most of
           the form of Nim's rule is built in

    python examples/alphazero.py
    python examples/alphazero.py --network digit --heaps 1 3 5 7 9 11 13 --no-misere --n-seeds 10

Two players are evaluated. "policy" plays its most probable legal move, and "value" moves to the position with the
smallest value for the opponent. A run ends when neither makes a mistake, or after --total-timesteps. The script
prints the last evaluation of each run, and saves all evaluations as a table. On a CPU a run takes one to two
minutes.

Sources:
- AlphaZero: Silver et al. (2018, Science 362, p. 1140). The loss is equation 1, here without weight decay.
- The search and the improved policy: Danihelka et al. (2022, "Policy improvement by planning with Gumbel",
  sections 3 to 5), implemented by mctx.
- The games: pgx, Koyamada et al. (2023, arXiv:2303.17503).
- Recurrent cells in which the input selects the transition: Giles et al. (1992, Neural Computation 4(3), p. 393).

Install: pip install -e ".[examples,jax]"
"""

import itertools
from collections import deque
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from command_line import run

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import optax
import pandas as pd
from pgx.experimental import auto_reset

from nim_env import NimRules, evaluation
from nim_env.pgx import Nim
from nim_env.policies import batched
from nim_env.solver import Solution

from common import percent

NUM_ENVS = 64  # the number of games played in parallel
N_STEPS = 16  # the number of moves in each game before the network is trained on them
BATCH_SIZE = 128
GRADIENT_STEPS = 64  # the number of minibatches after each round of self-play
BUFFER_SIZE = 20_480  # minibatches are drawn from this many of the latest moves
LEARNING_RATE = 3e-3  # at the start; it falls linearly to 0
EVAL_INTERVAL = 8192  # the number of moves between two evaluations
CHUNK_SIZE = 1024  # an evaluation passes this many positions to the network at a time
Parameters = dict[str, Any]


@dataclass(frozen=True)  # hashable, so jit compiles only once for all seeds
class Args:
    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes. Training games start from random positions."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    network: Literal["mlp", "digit"] = "mlp"
    total_timesteps: int = 100_000
    """The maximum number of training moves, counting both players."""
    num_simulations: int = 32
    """The number of simulations in each search."""
    n_seeds: int = 3
    """The number of seeds, starting from --seed."""
    seed: int = 0
    """The first random seed."""
    folder: Path = Path("results/alphazero")


def main(args: Args) -> pd.DataFrame:
    """Trains a network with each seed, and returns a row for each evaluation."""
    env = Nim(args.heaps, None, args.misere, random_start=True)
    tables = []
    for seed in range(args.seed, args.seed + args.n_seeds):
        table, _ = train(args, env, seed)
        tables.append(table)
        last = table.iloc[-1]
        value, policy = percent(last["value"], 4), percent(last["policy"], 4)
        print(f"{env.rules}, seed {seed}: value {value} %, policy {policy} % after {last['games']:,} games")
    table = pd.concat(tables, ignore_index=True)
    args.folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(args.folder / "alphazero.csv", index=False)
    return table


def train(args: Args, env: Nim, seed: int) -> tuple[pd.DataFrame, Parameters]:
    """Trains a network. Returns a row for each evaluation, and the trained parameters."""
    network_key, game_key, key = jax.random.split(jax.random.key(seed), 3)
    new_parameters, _ = NETWORKS[args.network]
    parameters = new_parameters(network_key, env.rules)
    opt_state = optimizer(args).init(parameters)
    states = jax.jit(jax.vmap(env.init))(jax.random.split(game_key, NUM_ENVS))
    n_moves = NUM_ENVS * N_STEPS
    board = "-".join(map(str, env.rules.heaps))
    labels = {"board": board, "misere": args.misere, "network": args.network, "seed": seed}
    generator = np.random.default_rng(seed)
    buffer: deque[list[np.ndarray]] = deque(maxlen=max(1, BUFFER_SIZE // n_moves))
    games = 0
    rows = []
    for timesteps in range(0, args.total_timesteps + 1, n_moves):
        if timesteps > 0:
            key, play_key = jax.random.split(key)
            states, moves, ended = play(args, env, parameters, states, play_key)
            games += ended
            buffer.append(moves)
            drawn = generator.integers(len(buffer) * n_moves, size=(GRADIENT_STEPS, BATCH_SIZE))
            batches = [np.concatenate(parts)[drawn] for parts in zip(*buffer, strict=True)]
            parameters, opt_state = update(args, env, parameters, opt_state, batches)
        # the first round after each multiple of the interval, and the last one
        if timesteps % EVAL_INTERVAL < n_moves or timesteps + n_moves > args.total_timesteps:
            row = evaluate(args, env, parameters)
            rows.append(labels | {"timesteps": timesteps, "games": games} | row)
            if row["policy"] == row["value"] == 1:
                break
    return pd.DataFrame(rows), parameters


@partial(jax.jit, static_argnums=(0, 1))
def predict(args: Args, rules: NimRules, parameters: Parameters, heaps: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Applies the network. Returns logits, ``(n, n_actions)``, and values, ``(n,)``.

    Illegal actions have such low logits that their probabilities are 0.
    """
    _, network = NETWORKS[args.network]
    logits, values = network(parameters, rules, heaps)
    is_legal = heaps[:, rules.move_heaps] >= rules.move_counts
    return jnp.where(is_legal, logits, jnp.finfo(logits.dtype).min), values


@partial(jax.jit, static_argnums=(0, 1))
def play_move(args: Args, env: Nim, parameters: Parameters, states: Any, key: jax.Array) -> tuple[Any, Any]:
    """Searches for a move in each game and plays it. Games that end are replaced by new ones.

    Returns the next states, and the moves: heap sizes, improved policies, rewards, and whether the games have
    ended.
    """

    def simulate(parameters: Parameters, _: jax.Array, actions: jax.Array, states: Any) -> tuple[Any, Any]:
        after = jax.vmap(env.step)(states, actions)
        logits, values = predict(args, env.rules, parameters, after.heaps)
        output = mctx.RecurrentFnOutput(
            reward=rewards_of(states, after),
            discount=jnp.where(after.terminated, 0.0, -1.0),  # negative, since the value is the other player's
            prior_logits=logits,
            value=jnp.where(after.terminated, 0.0, values),
        )
        return output, after

    search_key, reset_key = jax.random.split(key)
    logits, values = predict(args, env.rules, parameters, states.heaps)
    output = mctx.gumbel_muzero_policy(
        parameters,
        search_key,
        mctx.RootFnOutput(prior_logits=logits, value=values, embedding=states),
        simulate,
        args.num_simulations,
        invalid_actions=~states.legal_action_mask,
        qtransform=partial(mctx.qtransform_completed_by_mix_value, rescale_values=False),  # values are -1 to 1
        max_num_considered_actions=args.num_simulations,  # so moves of low probability are tried too
    )
    reset_keys = jax.random.split(reset_key, NUM_ENVS)
    after = jax.vmap(auto_reset(env.step, env.init))(states, output.action, reset_keys)
    return after, (states.heaps, output.action_weights, rewards_of(states, after), after.terminated)


def rewards_of(states: Any, after: Any) -> jax.Array:
    """Returns the rewards of the players who have just moved, shape ``(n,)``."""
    return after.rewards[jnp.arange(len(after.rewards)), states.current_player]


def play(args: Args, env: Nim, parameters: Parameters, states: Any, key: jax.Array) -> tuple[Any, Any, int]:
    """Plays ``N_STEPS`` moves in each game.

    Returns the next states, the moves, and the number of games that ended. The moves have the outcomes of their
    games instead of the rewards, and a flag that is False if the game goes on and its outcome is not known yet.
    """
    moves = []
    for move_key in jax.random.split(key, N_STEPS):
        states, move = play_move(args, env, parameters, states, move_key)
        moves.append(move)
    heaps, policies, outcomes, ended = (np.stack(parts) for parts in zip(*moves, strict=True))
    is_known = ended.copy()
    for t in reversed(range(N_STEPS - 1)):
        outcomes[t] = np.where(ended[t], outcomes[t], -outcomes[t + 1])
        is_known[t] |= is_known[t + 1]
    flat = [array.reshape(-1, *array.shape[2:]) for array in (heaps, policies, outcomes, is_known)]
    return states, flat, int(ended.sum())


def optimizer(args: Args) -> optax.GradientTransformation:
    """Returns Adam with a learning rate that falls linearly to 0."""
    n_updates = args.total_timesteps // (NUM_ENVS * N_STEPS) * GRADIENT_STEPS
    return optax.adam(optax.linear_schedule(LEARNING_RATE, 0.0, n_updates))


@partial(jax.jit, static_argnums=(0, 1))
def update(args: Args, env: Nim, parameters: Parameters, opt_state: Any, batches: Any) -> tuple[Parameters, Any]:
    """Trains the network on batches of moves, arrays of shape ``(GRADIENT_STEPS, BATCH_SIZE, ...)``."""

    def loss(parameters: Parameters, heaps: Any, policies: Any, outcomes: Any, is_known: Any) -> Any:
        logits, values = predict(args, env.rules, parameters, heaps)
        entropy = optax.softmax_cross_entropy(logits, policies)
        return jnp.mean(entropy + is_known * (values - outcomes) ** 2)

    def train_on(carry: Any, batch: Any) -> tuple[Any, None]:
        parameters, opt_state = carry
        gradients = jax.grad(loss)(parameters, *batch)
        changes, opt_state = optimizer(args).update(gradients, opt_state)
        return (optax.apply_updates(parameters, changes), opt_state), None

    return jax.lax.scan(train_on, (parameters, opt_state), batches)[0]


def evaluate(args: Args, env: Nim, parameters: Parameters) -> dict[str, float]:
    """Returns the exact expert mastery of the policy and of the value."""
    rules = env.rules
    n_chunks = -(-rules.n_positions // CHUNK_SIZE)
    # the last chunk is filled up with the first positions, so all have one shape and are compiled once
    chunks = np.resize(rules.all_positions(), (n_chunks, CHUNK_SIZE, rules.n_heaps))
    results = [predict(args, rules, parameters, chunk) for chunk in chunks]
    actions = np.concatenate([logits.argmax(axis=1) for logits, _ in results])  # indexed by position
    values = np.concatenate([values for _, values in results])
    values[0] = -rules.terminal_reward  # in the empty position, the game is over
    by_value = Solution(rules, -values)  # a move is worth minus the value of the position that it leads to
    players = {
        "policy": lambda heaps, _: actions[rules.index(heaps)],
        "value": lambda heaps, _: by_value.q_values(heaps).argmax(axis=1),
    }
    return {name: evaluation.mastery(rules, batched(player)).expert for name, player in players.items()}


# --- The networks. They map heap sizes to logits, (n, n_actions), and values, (n,). ---------------


def new_layers(key: jax.Array, *sizes: int) -> list[tuple[jax.Array, jax.Array]]:
    """Returns biases of 0 and random weights of variance 1 / inputs (LeCun et al. 1998, "Efficient BackProp")."""
    shapes = list(itertools.pairwise(sizes))
    keys = jax.random.split(key, len(shapes))
    return [(jax.random.normal(k, (n, m)) / n**0.5, jnp.zeros(m)) for k, (n, m) in zip(keys, shapes, strict=True)]


def apply_layers(layers: Any, inputs: jax.Array) -> jax.Array:
    """Applies linear layers with a tanh between them."""
    *hidden, (weights, biases) = layers
    for hidden_weights, hidden_biases in hidden:
        inputs = jnp.tanh(inputs @ hidden_weights + hidden_biases)
    return inputs @ weights + biases


@partial(jax.jit, static_argnums=1)
def new_mlp(key: jax.Array, rules: NimRules, width: int = 256) -> Parameters:
    """Returns the parameters of two hidden layers and of an output layer for the logits and the value."""
    return {"layers": new_layers(key, sum(rules.shape), width, width, rules.n_actions + 1)}


def mlp(parameters: Parameters, rules: NimRules, heaps: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Applies a multilayer perceptron to the one-hot heap sizes; returns logits and values."""
    columns = [jax.nn.one_hot(heaps[:, heap], n_sizes) for heap, n_sizes in enumerate(rules.shape)]
    outputs = apply_layers(parameters["layers"], jnp.concatenate(columns, axis=1))
    return outputs[:, :-1], jnp.tanh(outputs[:, -1])


@partial(jax.jit, static_argnums=1)
def new_digit_network(key: jax.Array, rules: NimRules, hidden_size: int = 16, n_features: int = 32) -> Parameters:
    """Returns the parameters. They do not depend on the rules, since they fit any number of heaps of any size."""
    del rules
    keys = jax.random.split(key, 7)
    return {
        "initial_state": jax.random.normal(keys[0], (1, hidden_size)),
        "transitions": [new_layers(k, hidden_size, hidden_size)[0] for k in keys[1:3]],  # one for each bit
        "digit_layers": new_layers(keys[3], hidden_size + 1, n_features, n_features),
        "value_layers": new_layers(keys[4], n_features, n_features, 1),
        "move_layers": new_layers(keys[5], n_features + 2, n_features, n_features),
        "score_layers": new_layers(keys[6], n_features, n_features, 1),
    }


def digit_network(parameters: Parameters, rules: NimRules, heaps: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Applies the digit network; returns logits and values.

    A recurrent cell scans the bits of each binary digit in the heaps and gives features of the digit. The value is
    computed from the maximum of the features over the digits. The logit of a move also depends on the bits of the
    moved heap before and after the move. Only a few different digits exist, so the features of all of them are
    computed once, and positions look up the features of their digits.
    """
    states = parameters["initial_state"]
    for _ in rules.heaps:  # row k is the state of a digit whose bit in heap i is bit i of k
        after_bits = [jnp.tanh(states @ weights + biases) for weights, biases in parameters["transitions"]]
        states = jnp.concatenate(after_bits)
    is_lowest = jnp.repeat(jnp.arange(2.0), len(states))  # the lowest digit has a flag, for misère play
    states = jnp.column_stack([jnp.tile(states, (2, 1)), is_lowest])
    features = jnp.tanh(apply_layers(parameters["digit_layers"], states))
    changes = jnp.array([[0, 0], [0, 1], [1, 0], [1, 1]])  # bits before and after a move
    moved = jnp.column_stack([jnp.repeat(features, 4, axis=0), jnp.tile(changes, (len(features), 1))])
    # a tanh after the second layer would saturate and leave moves with equal logits
    of_changes = apply_layers(parameters["move_layers"], moved).reshape(len(features), 4, -1)

    places = jnp.arange(max(rules.heaps).bit_length() + 1)[:, None]  # the highest digit is a leading zero
    digits = (heaps[:, None] >> places & 1) @ (1 << jnp.arange(rules.n_heaps))  # (n, n_digits)
    digits += (places[:, 0] == 0) * 2**rules.n_heaps
    values = apply_layers(parameters["value_layers"], features[digits].max(axis=1))
    before = heaps[:, None, rules.move_heaps]  # (n, 1, n_actions)
    after = before - rules.move_counts
    change = jax.nn.one_hot(2 * (before >> places & 1) + (after >> places & 1), 4)
    largest = (change @ of_changes[digits]).max(axis=1)  # a product is faster than indexing
    logits = apply_layers(parameters["score_layers"], largest)
    return logits[..., 0], jnp.tanh(values[:, 0])


NETWORKS: dict[str, tuple[Any, Any]] = {  # new parameters, and the network
    "mlp": (new_mlp, mlp),
    "digit": (new_digit_network, digit_network),
}


if __name__ == "__main__":
    run(main, Args)
