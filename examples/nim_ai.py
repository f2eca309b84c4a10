"""System 2, written out: Q-learning by self-play in four short functions, then a game against you.

Four piles hold 1, 3, 5 and 7 objects, and the player who takes the last object loses. The program keeps a table
with a value for every action that it has tried in a position. The value is close to 1 if the player who took the
action usually wins, and close to -1 if that player usually loses. Both players share the table, and they learn
only from how the games end.

    python examples/nim_ai.py

Install: pip install -e .   (in the project folder)
"""

import gymnasium as gym
import numpy as np
import pettingzoo

from nim_env import evaluation  # importing nim_env registers Nim-v0

from terminal_game import Leave, play_game

GAMES, LEARNING_RATE, EPSILON, SEED = 10_000, 0.5, 0.1, 0


def value(table, position, action):
    """Returns the current value of an action in a position, or 0 if it has never been updated."""
    return table.get((position, action), 0.0)


def learn(table, position, action, reward, next_value):
    """Moves the value of an action part of the way toward its reward plus the value of what comes next."""
    error = reward + next_value - value(table, position, action)
    table[position, action] = value(table, position, action) + LEARNING_RATE * error


def best_next_value(table, position, action_mask):
    """Returns the largest value of the legal actions (those with mask 1), or 0 if there are none."""
    return max((value(table, position, action) for action in np.flatnonzero(action_mask)), default=0.0)


def choose(table, position, action_mask, generator, epsilon=0.0):
    """Returns a legal action with the largest value, or with probability epsilon a random legal action."""
    legal = np.flatnonzero(action_mask)
    if generator.random() < epsilon:
        return int(generator.choice(legal))
    return int(max(legal, key=lambda action: value(table, position, action)))


def train(games, generator):
    """Plays training games in which both players learn, and returns the table that they share."""
    env = gym.make("Nim-v0", opponent=None)  # None: the program moves for both players
    table = {}
    for _ in range(games):
        observation, info = env.reset()
        latest = [None, None]  # each player's latest position and action
        terminated = False
        while not terminated:
            player, position = info["to_play"], tuple(observation.tolist())
            if latest[player] is not None:  # this player's last action has led to this position
                learn(table, *latest[player], 0.0, best_next_value(table, position, info["action_mask"]))
            action = choose(table, position, info["action_mask"], generator, EPSILON)
            latest[player] = position, action
            observation, reward, terminated, _, info = env.step(action)
        learn(table, *latest[player], reward, 0.0)  # nothing comes next
        learn(table, *latest[1 - player], -reward, 0.0)
    return table


def main(games=GAMES):
    """Trains the program, prints how well it plays, and plays one game against you."""
    generator = np.random.default_rng(SEED)
    print(f"The program plays {games:,} games against itself.")
    table = train(games, generator)

    def play(observation, action_mask):
        return choose(table, tuple(observation.tolist()), action_mask, generator)

    env = pettingzoo.make("aec", "nim-v0")
    mastery = evaluation.mastery(env.unwrapped.rules, play)  # exact: Nim is solved
    print(f"It plays {mastery.expert:.1%} of the {mastery.won_positions} winning positions right.")
    human = int(np.random.default_rng().integers(2))  # decides who moves first, differently in each run
    play_game(env, play, human, generator, numbered=True)


if __name__ == "__main__":
    try:
        main()
    except (Leave, KeyboardInterrupt):
        print("\nGoodbye.")
