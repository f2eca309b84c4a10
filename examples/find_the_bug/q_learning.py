"""Q-learning by self-play in PettingZoo's AEC loop.

Both players share one table. A move is updated at the next turn of the player who made it: the target is the
discounted best value in the position that this player faces then, or the final reward if the game is over.

Source: Watkins (1989), Learning from Delayed Rewards.
"""

from dataclasses import asdict

import numpy as np
import pettingzoo


def train(rules, moves, learning_rate=0.5, discount=1.0, exploration=0.3, seed=0):
    """Trains by self-play for a number of moves. Returns Q-values, float64 of shape (n_positions, n_actions)."""
    env = pettingzoo.make("aec", "nim-v0", random_start=True, observation="index", **asdict(rules))
    generator = np.random.default_rng(seed)
    q_values = np.zeros((rules.n_positions, rules.n_actions))
    env.reset(seed=seed)
    while moves > 0:
        last_turns = {}  # for each player, the position and the action
        for player in env.agent_iter():
            observation, reward, terminated, _, _ = env.last()
            position = observation["observation"]
            legal = np.flatnonzero(observation["action_mask"])
            values = q_values[position, legal]
            if player in last_turns:
                future = 0 if terminated else values.max()
                target = reward + discount * future
                q_values[last_turns[player]] += learning_rate * (target - q_values[last_turns[player]])
            if terminated:
                env.step(None)
                continue
            if generator.random() < exploration:
                action = generator.choice(legal)
            else:
                action = generator.choice(legal[values == values.max()])
            last_turns[player] = position, action
            env.step(action)
            moves -= 1
        env.reset()
    return q_values
