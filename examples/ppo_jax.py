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

import install_hint  # noqa: F401  says what to install if a package is missing

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import optax
from pgx.experimental import auto_reset

from nim_env import EncodedPolicy, evaluation
from nim_env.pgx import Nim
from nim_env.policies import batched

from command_line import run
from common import save_figure

NUM_ENVS, N_STEPS, N_UPDATES, WIDTH = 256, 8, 16, 256


@dataclass
class Args:
    heaps: tuple[int, ...] = (1, 3, 5)
    """Starting heap sizes. Training games start from random positions."""
    iterations: int = 100
    """The number of iterations, each with 2,048 moves."""
    seed: int = 0
    picture: Path = Path("results/ppo_jax.svg")


def main(args: Args) -> dict[int, float]:
    """Trains and returns the expert mastery of the most probable moves, by number of training moves."""
    env = Nim(args.heaps, random_start=True, observation="one_hot")
    step = jax.vmap(auto_reset(env.step, env.init))
    optimizer = optax.adam(optax.linear_schedule(3e-3, 0.0, args.iterations * N_UPDATES))

    @jax.jit
    def predict(network, observations, masks):  # returns log-probabilities and values for the player to move
        outputs = jax.nn.relu(observations @ network[0]) @ network[1]
        return jax.nn.log_softmax(jnp.where(masks, outputs[:, 1:], -1e9)), jnp.tanh(outputs[:, 0])

    def play(network, states, key):
        action_key, reset_key = jax.random.split(key)
        log_probs, values = predict(network, states.observation, states.legal_action_mask)
        actions = jax.random.categorical(action_key, log_probs)
        after = step(states, actions, jax.random.split(reset_key, NUM_ENVS))
        rewards = after.rewards[jnp.arange(NUM_ENVS), states.current_player]
        seen = states.observation, states.legal_action_mask, actions, log_probs, values
        return after, (seen, rewards, after.terminated)

    def loss(network, observations, masks, actions, old_log_probs, old_values, returns):
        log_probs, values = predict(network, observations, masks)
        ratios = jnp.exp(log_probs - old_log_probs)[jnp.arange(len(actions)), actions]
        advantages = jax.nn.standardize(returns - old_values)
        surrogate = jnp.minimum(ratios * advantages, ratios.clip(0.8, 1.2) * advantages)
        entropy = -(jnp.exp(log_probs) * log_probs).sum(axis=1)
        return jnp.mean((values - returns) ** 2 - surrogate - 0.3 * entropy)

    @jax.jit
    def iterate(network, moments, states, key):
        def update(_, carry):
            changes, moments = optimizer.update(jax.grad(loss)(carry[0], *batch), carry[1])
            return optax.apply_updates(carry[0], changes), moments

        keys = jax.random.split(key, N_STEPS)
        states, (seen, rewards, is_over) = jax.lax.scan(lambda *x: play(network, *x), states, keys)
        returns = [predict(network, states.observation, states.legal_action_mask)[1]]
        for t in reversed(range(N_STEPS)):  # the next return is the other player's, so its sign changes
            returns.insert(0, jnp.where(is_over[t], rewards[t], -returns[0]))
        batch = *map(jnp.concatenate, seen), jnp.concatenate(returns[:-1])
        return *jax.lax.fori_loop(0, N_UPDATES, update, (network, moments)), states

    key, *keys = jax.random.split(jax.random.key(args.seed), 3 + NUM_ENVS)
    shapes = (env.observation_shape[0], WIDTH), (WIDTH, 1 + env.num_actions)
    network = [jax.nn.initializers.he_normal()(*arguments) for arguments in zip(keys, shapes, strict=False)]
    carry = network, optimizer.init(network), jax.vmap(env.init)(jnp.stack(keys[2:]))
    start = perf_counter()
    experts = {}
    for number in range(1, args.iterations + 1):
        carry = iterate(*carry, jax.random.fold_in(key, number))
        if number % 10 == 0:
            player = batched(lambda *x, network=carry[0]: predict(network, *x)[0].argmax(axis=1))
            moves = number * NUM_ENVS * N_STEPS
            experts[moves] = evaluation.mastery(env.rules, EncodedPolicy(player, env.encoding)).expert
            print(f"{moves:9,} moves, {perf_counter() - start:5.1f} s: expert mastery {experts[moves]:.3f}")
    figure, axes = plt.subplots()
    axes.plot([*experts], [*experts.values()], marker="o")
    axes.set(title=f"PPO on {env.rules}", xlabel="moves of both players", ylabel="expert mastery")
    axes.set(xlim=(0, None), ylim=(0, 1.02))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    save_figure(figure, args.picture)
    return experts


if __name__ == "__main__":
    run(main, Args)
