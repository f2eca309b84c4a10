"""Q-learning by self-play on Nim: train, evaluate exactly, play a game.

Four heaps hold 1, 3, 5 and 7 objects. Two players take turns; each takes one or
more from one heap. Whoever takes the last loses. The update is Q-learning's
(Watkins 1989), with minus the opponent's next value (minimax-Q, Littman 1994).

    python examples/quickstart.py

Install: pip install -e .   (in the project folder)
"""

import gymnasium as gym
import numpy as np

from nim_env import evaluation  # importing nim_env registers Nim-v0

EPISODES, LEARNING_RATE, EPSILON, SEED = 5_000, 0.5, 0.1, 0

env = gym.make("Nim-v0", opponent=None)  # None: it plays both sides
rules, generator = env.unwrapped.rules, np.random.default_rng(SEED)
q_table = np.zeros((*env.observation_space.nvec, env.action_space.n))  # values


def greedy(observation, action_mask):
    """Returns the best legal action; the mask is 1 for each legal one."""
    return np.where(action_mask, q_table[tuple(observation)], -np.inf).argmax()


print(f"{rules}: take any number from a heap; whoever takes the last loses")
for episode in range(EPISODES + 1):
    if episode % 1_000 == 0:
        mastery = evaluation.mastery(rules, greedy)  # exact: Nim is solved
        share = f"{mastery.expert:.1%} of {mastery.won_positions}"
        print(f"{episode:,} games: {share} winning positions played right")
    observation, info = env.reset()
    terminated = False
    while not terminated:
        # epsilon-greedy: sometimes a random legal move
        if generator.random() < EPSILON:
            action = generator.choice(np.flatnonzero(info["action_mask"]))
        else:
            action = greedy(observation, info["action_mask"])
        next_observation, reward, terminated, _, info = env.step(action)
        target = reward
        if not terminated:  # minus: the next value is the other player's
            best_reply = greedy(next_observation, info["action_mask"])
            target -= q_table[(*next_observation, best_reply)]
        pair = (*observation, action)
        q_table[pair] += LEARNING_RATE * (target - q_table[pair])
        observation = next_observation

observation, info = env.reset()
terminated = False
while not terminated:
    action = greedy(observation, info["action_mask"])
    (heap, count), player = rules.moves[action], info["to_play"] + 1
    print(observation, f"player {player} takes {count} from heap", "ABCD"[heap])
    observation, reward, terminated, _, info = env.step(action)
print(f"{observation} player {player} took the last object and loses")
print("after training, it still makes a mistake in", *mastery.mistakes)
