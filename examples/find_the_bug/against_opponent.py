"""Q-learning against an opponent in Gymnasium's vector loop with same-step autoreset.

In this mode, the step that ends a game also starts the next one, so it already returns the new game's position.

Source: Watkins (1989), Learning from Delayed Rewards.
"""

from dataclasses import asdict

import gymnasium as gym
import numpy as np


def train(rules, moves, learning_rate=0.5, discount=1.0, exploration=0.3, seed=0, opponent="random"):
    """Trains for a number of moves. Returns the Q-values, float64 of shape (n_positions, n_actions)."""
    options = {"random_start": True, "observation": "index", "autoreset_mode": "SameStep", **asdict(rules)}
    envs = gym.make_vec("nim_env:Nim-v0", num_envs=16, opponent=opponent, **options)
    generator = np.random.default_rng(seed)
    q_values = np.zeros((rules.n_positions, rules.n_actions))
    positions, infos = envs.reset(seed=seed)
    while moves > 0:
        masks = infos["action_mask"] > 0
        is_random = generator.random((envs.num_envs, 1)) < exploration
        scores = np.where(is_random, 0, q_values[positions]) + 1e-9 * generator.random(masks.shape)
        actions = np.where(masks, scores, -np.inf).argmax(axis=1)
        next_positions, rewards, terminated, _, infos = envs.step(actions)
        next_masks = infos["action_mask"] > 0
        next_values = q_values[next_positions]
        futures = np.where(next_masks, next_values, -np.inf).max(axis=1)
        targets = rewards + discount * np.where(terminated, 0, futures)
        for i in range(envs.num_envs):
            pair = positions[i], actions[i]
            q_values[pair] += learning_rate * (targets[i] - q_values[pair])
        moves -= envs.num_envs
        positions = next_positions
    return q_values
