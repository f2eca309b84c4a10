"""Q-learning by self-play on Nim, written out: train, evaluate exactly, play a game.

Four heaps hold 1, 3, 5 and 7 objects. Two players take turns; each takes one object or more from a single heap.
The player who takes the last object loses. The update is Q-learning's (Watkins 1989), for two players in turn: the
value of the next position is the other player's, so its sign changes (minimax-Q, Littman 1994).

Install: pip install -e .   (in the folder of the project)
"""

import gymnasium as gym
import numpy as np

from nim_env import evaluation  # importing nim_env registers Nim-v0

EPISODES, LEARNING_RATE, EPSILON, SEED = 5_000, 0.5, 0.1, 0

env = gym.make("Nim-v0", heaps=(1, 3, 5, 7), misere=True, opponent=None)  # no opponent: the table plays both sides
rules = env.unwrapped.rules
generator = np.random.default_rng(SEED)
q_table = np.zeros((*env.observation_space.nvec, env.action_space.n))  # a value for each position and action


def greedy(observation, action_mask):
    """The legal action of the highest value; the mask is 1 for legal actions."""
    return np.where(action_mask, q_table[tuple(observation)], -np.inf).argmax()


def print_mastery(n_games):
    """Prints the share of winning positions in which the table plays a winning move, exactly, as Nim is solved."""
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
        # The reward is the mover's: 1 for a win, -1 for a loss. The next value is the other player's, hence the
        # minus. It is 0 when the game is over, since no action is taken there.
        next_value = -q_table[(*next_observation, greedy(next_observation, info["action_mask"]))]
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
