"""Double Q-learning: one table selects the best next action, and the other table evaluates it.

Source: van Hasselt (2010), Double Q-learning.
"""

from dataclasses import asdict

import numpy as np

from nim_env import NimEnv


def train(rules, moves, learning_rate=0.5, discount=1.0, exploration=0.3, seed=0, opponent=None):
    """Trains for a number of moves. Returns the Q-values, float64 of shape (n_positions, n_actions)."""
    env = NimEnv(**asdict(rules), opponent=opponent, random_start=True, observation="index")
    sign = -1 if opponent is None else 1  # in self-play the next value is the other player's
    generator = np.random.default_rng(seed)
    tables = np.zeros((2, rules.n_positions, rules.n_actions))
    position, info = env.reset(seed=seed)
    while moves > 0:
        legal = np.flatnonzero(info["action_mask"])
        values = tables[:, position, legal].sum(axis=0)
        if generator.random() < exploration:
            action = generator.choice(legal)
        else:
            action = generator.choice(legal[values == values.max()])
        next_position, reward, is_over, _, info = env.step(action)
        table, other_table = tables[:: generator.choice([-1, 1])]
        target = reward
        if not is_over:
            next_legal = np.flatnonzero(info["action_mask"])
            next_action = next_legal[table[next_position, next_legal].argmax()]
            target += discount * sign * other_table[next_position, next_action]
        table[position, action] += learning_rate * (target - table[position, action])
        moves -= 1
        position = next_position
        if is_over:
            position, info = env.reset()
    return tables.mean(axis=0)
