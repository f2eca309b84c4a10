"""On-policy learning from n-step returns, updated after each game.

With one step this is SARSA. With more steps than a game has turns it is Monte Carlo learning.

Source: Sutton and Barto (2018), Reinforcement Learning: An Introduction, chapters 5 to 7.
"""

from dataclasses import asdict

import numpy as np

from nim_env import NimEnv


def train(rules, moves, learning_rate=0.5, discount=1.0, exploration=0.3, seed=0, opponent=None, steps=1):
    """Trains for a number of moves. Returns the Q-values, float64 of shape (n_positions, n_actions)."""
    env = NimEnv(**asdict(rules), opponent=opponent, random_start=True, observation="index")
    generator = np.random.default_rng(seed)
    q_values = np.zeros((rules.n_positions, rules.n_actions))

    def learn(turns, reward):
        """Updates the values of one player's turns after a game, given the player's reward at its end.

        ``turns`` are pairs of a position and an action, from the last to the first.
        """
        for i, pair in enumerate(turns):
            target = discount**i * reward
            if i >= steps:
                target = discount**steps * q_values[turns[i - steps]]
            q_values[pair] += learning_rate * (target - q_values[pair])

    position, info = env.reset(seed=seed)
    while moves > 0:
        turns = []  # in self-play the turns of both players, who alternate
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
