"""Minimax-Q by self-play in Gymnasium's vector loop.

The target of a move is its reward minus the discounted best value of the other player in the next position. Games
are truncated after three moves, so the learner must not confuse a time limit with the end of a game.

Source: Littman (1994), Markov games as a framework for multi-agent reinforcement learning.
"""

from dataclasses import asdict

import gymnasium as gym
import numpy as np


def train(rules, moves, learning_rate=0.5, discount=1.0, exploration=0.3, seed=0):
    """Trains by self-play for a number of moves. Returns Q-values, float64 of shape (n_positions, n_actions)."""
    options = {"random_start": True, "observation": "index", "max_episode_steps": 3, **asdict(rules)}
    envs = gym.make_vec("nim_env:Nim-v0", num_envs=16, opponent=None, **options)
    generator = np.random.default_rng(seed)
    q_values = np.zeros((rules.n_positions, rules.n_actions))
    positions, infos = envs.reset(seed=seed)
    is_over = np.zeros(envs.num_envs, dtype=bool)
    while moves > 0:
        masks = infos["action_mask"] > 0
        is_random = generator.random((envs.num_envs, 1)) < exploration
        scores = np.where(is_random, 0, q_values[positions]) + 1e-9 * generator.random(masks.shape)
        actions = np.where(masks, scores, -np.inf).argmax(axis=1)
        next_positions, rewards, terminated, truncated, infos = envs.step(actions)
        next_masks = infos["action_mask"] > 0
        next_values = q_values[next_positions]
        futures = -np.where(next_masks, next_values, -np.inf).max(axis=1)
        targets = rewards + discount * np.where(terminated, 0, futures)
        is_move = ~is_over  # the step after the end of a game resets it and ignores the action
        for i in np.flatnonzero(is_move):
            pair = positions[i], actions[i]
            q_values[pair] += learning_rate * (targets[i] - q_values[pair])
        moves -= is_move.sum()
        is_over = terminated | truncated
        positions = next_positions
    return q_values
