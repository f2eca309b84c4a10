"""Trains PPO with action masks in JAX by self-play on Nim, with each iteration as a single compiled function.

The script shows how to train with the pgx version of the environment. It prints the expert mastery of the most
probable moves after every 10 iterations, and draws it.

    python examples/ppo_jax.py

Sources: PPO, Schulman et al. (2017, arXiv:1707.06347, equation 7); action masks, Huang and Ontañón (2022,
arXiv:2006.14171).

Install: pip install -e ".[examples,jax]"
"""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from command_line import run

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import optax
from pgx import State
from pgx.experimental import auto_reset

from nim_env import EncodedPolicy, evaluation
from nim_env.pgx import Nim
from nim_env.policies import batched

from common import save_figure

NUM_ENVS = 256  # games at the same time
NUM_STEPS = 8  # moves in each game before the network is trained on them
UPDATE_EPOCHS = 16  # gradient steps in each iteration, each on all moves of the rollout
HIDDEN_SIZE = 256
LEARNING_RATE = 3e-3  # at the start; it falls linearly to 0
CLIP_COEF = 0.2
ENT_COEF = 0.3
EVAL_INTERVAL = 10  # iterations between two evaluations


@dataclass
class Args:
    heaps: tuple[int, ...] = (1, 3, 5)
    """Starting heap sizes. Training games start from random positions."""
    total_timesteps: int = 204_800
    """The number of training timesteps, which are the moves of both players."""
    seed: int = 0
    picture: Path = Path("results/ppo_jax.svg")


class Network(NamedTuple):
    """The weights of a network with one hidden layer."""

    hidden: jax.Array
    output: jax.Array


class Rollout(NamedTuple):
    """What happened in each step of each game; every array starts with (NUM_STEPS, NUM_ENVS)."""

    observations: jax.Array
    masks: jax.Array
    actions: jax.Array
    log_probs: jax.Array
    values: jax.Array
    rewards: jax.Array
    terminated: jax.Array


def new_network(keys: tuple[jax.Array, jax.Array], n_inputs: int, n_actions: int) -> Network:
    """Returns random weights for a value and a logit of each action."""
    initializer = jax.nn.initializers.he_normal()
    hidden = initializer(keys[0], (n_inputs, HIDDEN_SIZE))
    output = initializer(keys[1], (HIDDEN_SIZE, 1 + n_actions))
    return Network(hidden, output)


@jax.jit
def predict(network: Network, observations: jax.Array, masks: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the log-probabilities of the actions and the values, from -1 to 1, for the player to move."""
    outputs = jax.nn.relu(observations @ network.hidden) @ network.output
    logits = jnp.where(masks, outputs[:, 1:], -1e9)  # an illegal action gets a probability of 0
    return jax.nn.log_softmax(logits), jnp.tanh(outputs[:, 0])


def compute_returns(network: Network, rollout: Rollout, next_states: State) -> jax.Array:
    """Returns the return of each move for the player who made it, without a discount, (NUM_STEPS, NUM_ENVS).

    The next move is the other player's in a zero-sum game, so the sign of its return changes. A game that is not
    over after the last step goes on with the network's value of the position.
    """

    def previous(next_returns, step):
        rewards, is_over = step
        returns = jnp.where(is_over, rewards, -next_returns)
        return returns, returns

    _, next_values = predict(network, next_states.observation, next_states.legal_action_mask)
    _, returns = jax.lax.scan(previous, next_values, (rollout.rewards, rollout.terminated), reverse=True)
    return returns


def loss(network: Network, rollout: Rollout, returns: jax.Array) -> jax.Array:
    """Returns PPO's loss on all moves: the clipped surrogate, the squared error of the values and the entropy."""
    log_probs, values = predict(network, rollout.observations, rollout.masks)
    taken = jnp.arange(len(returns)), rollout.actions
    ratios = jnp.exp(log_probs[taken] - rollout.log_probs)
    advantages = jax.nn.standardize(returns - rollout.values)
    clipped = ratios.clip(1 - CLIP_COEF, 1 + CLIP_COEF)
    surrogates = jnp.minimum(ratios * advantages, clipped * advantages)
    value_errors = (values - returns) ** 2
    entropies = -(jnp.exp(log_probs) * log_probs).sum(axis=1)
    return jnp.mean(value_errors - surrogates - ENT_COEF * entropies)


def main(args: Args) -> dict[int, float]:
    """Trains and returns the expert mastery of the most probable moves, by number of timesteps."""
    env = Nim(args.heaps, random_start=True, observation="one_hot")
    step = jax.vmap(auto_reset(env.step, env.init))  # a game that ends is replaced by a new one
    num_iterations = args.total_timesteps // (NUM_ENVS * NUM_STEPS)
    optimizer = optax.adam(optax.linear_schedule(LEARNING_RATE, 0.0, num_iterations * UPDATE_EPOCHS))

    @jax.jit
    def iterate(network, opt_state, states, key):
        """Plays NUM_STEPS moves in each game, and trains the network on them."""

        def play_move(states, key):
            action_key, reset_key = jax.random.split(key)
            log_probs, values = predict(network, states.observation, states.legal_action_mask)
            actions = jax.random.categorical(action_key, log_probs)
            next_states = step(states, actions, jax.random.split(reset_key, NUM_ENVS))
            games = jnp.arange(NUM_ENVS)
            move = Rollout(
                observations=states.observation,
                masks=states.legal_action_mask,
                actions=actions,
                log_probs=log_probs[games, actions],
                values=values,
                rewards=next_states.rewards[games, states.current_player],
                terminated=next_states.terminated,
            )
            return next_states, move

        states, rollout = jax.lax.scan(play_move, states, jax.random.split(key, NUM_STEPS))
        returns = compute_returns(network, rollout, states)

        # one batch of all moves
        batch, returns = jax.tree.map(lambda array: array.reshape(-1, *array.shape[2:]), (rollout, returns))

        def update(_, carry):
            network, opt_state = carry
            gradients = jax.grad(loss)(network, batch, returns)
            updates, opt_state = optimizer.update(gradients, opt_state)
            return optax.apply_updates(network, updates), opt_state

        network, opt_state = jax.lax.fori_loop(0, UPDATE_EPOCHS, update, (network, opt_state))
        return network, opt_state, states

    key, hidden_key, output_key, *game_keys = jax.random.split(jax.random.key(args.seed), 3 + NUM_ENVS)
    network = new_network((hidden_key, output_key), env.observation_shape[0], env.num_actions)
    opt_state = optimizer.init(network)
    states = jax.vmap(env.init)(jnp.stack(game_keys))
    start = perf_counter()
    curve = {}
    for iteration in range(1, num_iterations + 1):
        network, opt_state, states = iterate(network, opt_state, states, jax.random.fold_in(key, iteration))
        if iteration % EVAL_INTERVAL == 0 or iteration == num_iterations:
            timesteps = iteration * NUM_ENVS * NUM_STEPS
            player = player_of(network, env)
            curve[timesteps] = evaluation.mastery(env.rules, player).expert  # exact: Nim is solved
            print(f"{timesteps:9,} moves, {perf_counter() - start:5.1f} s: expert mastery {curve[timesteps]:.3f}")

    figure, axes = plt.subplots()
    axes.plot(list(curve), list(curve.values()), marker="o")
    axes.set(title=f"PPO on {env.rules}", xlabel="moves of both players", ylabel="expert mastery")
    axes.set(xlim=(0, None), ylim=(0, 1.02))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    save_figure(figure, args.picture)
    return curve


def player_of(network: Network, env: Nim) -> EncodedPolicy:
    """Returns the policy of nim_env that plays the network's most probable moves."""

    def most_probable(observations, masks):
        log_probs, _ = predict(network, observations, masks)
        return log_probs.argmax(axis=1)

    return EncodedPolicy(batched(most_probable), env.encoding)


if __name__ == "__main__":
    run(main, Args)
