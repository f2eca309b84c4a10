"""Q-learning by self-play on Nim, written out: train, evaluate exactly, play a game.

Four heaps hold 1, 3, 5 and 7 objects. Two players take turns; each takes one object or more from a single heap.
The player who takes the last object loses. The update is that of Q-learning (Watkins 1989), with the sign changed
because the other player moves next (minimax-Q, Littman 1994).

Install: pip install -e .
"""

import gymnasium as gym
import numpy as np

from nim_env import evaluation  # importing nim_env registers Nim-v0

EPISODES, LEARNING_RATE, EPSILON, SEED = 5_000, 0.5, 0.1, 0

env = gym.make("Nim-v0", heaps=(1, 3, 5, 7), opponent=None)  # no opponent: the table plays both sides
rules = env.unwrapped.rules
generator = np.random.default_rng(SEED)
q_table = np.zeros((*env.observation_space.nvec, env.action_space.n))  # a value for each position and action


def greedy(observation, action_mask):
    """The action of the highest value among the legal ones, where the mask is 1."""
    return np.where(action_mask, q_table[tuple(observation)], -np.inf).argmax()


def print_mastery(n_games):
    """Prints in how many of the positions that can be won the table plays a winning move. Nim is solved."""
    mastery = evaluation.mastery(rules, greedy)
    print(f"{n_games:,} games: {mastery.expert:.1%} of {mastery.winning_positions} winning positions played right")


print_mastery(0)
for episode in range(1, EPISODES + 1):
    observation, info = env.reset()
    terminated = False
    while not terminated:
        if generator.random() < EPSILON:
            action = generator.choice(np.flatnonzero(info["action_mask"]))
        else:
            action = greedy(observation, info["action_mask"])
        next_observation, reward, terminated, _, info = env.step(action)
        # The other player moves next, and what is good for that player is bad for this one: hence the minus.
        next_value = 0 if terminated else -q_table[tuple(next_observation)][info["action_mask"] == 1].max()
        pair = (*observation, action)
        q_table[pair] += LEARNING_RATE * (reward + next_value - q_table[pair])
        observation = next_observation
    if episode % 1_000 == 0:
        print_mastery(episode)

observation, info = env.reset()
terminated = False
while not terminated:
    action = greedy(observation, info["action_mask"])
    (heap, count), player = rules.moves[action], info["to_play"] + 1
    print(f"{observation} player {player} takes {count} from heap {'ABCD'[heap]}")
    observation, reward, terminated, _, info = env.step(action)
print(f"{observation} player {player} took the last object and loses")
