"""The program of quickstart.py with the package agents.

An agent holds the table, and agents.train plays the games. Four heaps hold 1,
3, 5 and 7 objects. Two players take turns; each takes one object or more from a
single heap. The player who takes the last object loses.

Install: pip install -e .   (in the folder of the project)
"""

import gymnasium as gym

import agents
from nim_env import evaluation  # importing nim_env registers Nim-v0

EPISODES, LEARNING_RATE, EPSILON, SEED = 5_000, 0.5, 0.1, 0

env = gym.make("Nim-v0", opponent=None)  # no opponent: it plays both sides
rules = env.unwrapped.rules
agent = agents.MinimaxQAgent(
    env.observation_space,
    env.action_space,
    learning_rate=LEARNING_RATE,
    epsilon=EPSILON,
    ties="first",  # as argmax does
    seed=SEED,
)


def print_mastery(n_games):
    """Prints in how many winning positions the agent plays a winning move."""
    mastery = evaluation.mastery(rules, agent)  # exact, since Nim is solved
    share = f"{mastery.expert:.1%} of {mastery.won_positions}"
    print(f"{n_games:,} games: {share} winning positions played right")


print(f"{rules}: take any number from a heap; whoever takes the last loses")
print_mastery(0)
for episode in range(1_000, EPISODES + 1, 1_000):
    agents.train(agent, env, episodes=1_000)
    print_mastery(episode)

observation, info = env.reset()
terminated = False
while not terminated:
    action = agent.act(observation, info["action_mask"])
    (heap, count), player = rules.moves[action], info["to_play"] + 1
    print(observation, f"player {player} takes {count} from heap", "ABCD"[heap])
    observation, reward, terminated, _, info = env.step(action)
print(f"{observation} player {player} took the last object and loses")
