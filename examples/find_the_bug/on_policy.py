"""On-policy learning after each game, by n-step returns: SARSA with 1 step, Monte Carlo with more than a game has.

Source: Sutton and Barto (2018), Reinforcement Learning: An Introduction, chapters 5 to 7.
"""

from dataclasses import asdict

import numpy as np

from nim_env import NimEnv


def train(rules, moves, learning_rate=0.5, discount=1.0, exploration=0.3, seed=0, opponent=None, steps=1):
    """Returns the values of the player to move, float64 of shape (n_positions, n_actions)."""
    env = NimEnv(**asdict(rules), opponent=opponent, random_start=True, observation="index")
    generator = np.random.default_rng(seed)
    q_values = np.zeros((rules.n_positions, rules.n_actions))

    def learn(turns, reward):
        """Learns from the turns of one player, the last turn first."""
        for i, pair in enumerate(turns):
            target = discount**i * reward
            if i >= steps:
                target = discount**steps * q_values[turns[i - steps]]
            q_values[pair] += learning_rate * (target - q_values[pair])

    position, info = env.reset(seed=seed)
    while moves > 0:
        turns = []  # of both players if there is no opponent
        is_over = False
        while not is_over:
            legal = np.flatnonzero(info["action_mask"])
            values = q_values[position, legal]
            if generator.random() < exploration:
                action = generator.choice(legal)
            else:
                action = generator.choice(legal[values == values.max()])
            turns.append((position, action))
            position, reward, is_over, _, info = env.step(action)
            moves -= 1
        if opponent is None:
            learn(turns[-1::-2], reward)
            learn(turns[-2::-2], -reward)
        else:
            learn(turns[::-1], reward)
        position, info = env.reset()
    return q_values
