"""Q-learning by self-play in plain Python, with a dictionary of values, as in the Nim project of the course CS50.

Source: CS50's Introduction to AI with Python, project 4 (https://cs50.harvard.edu/ai/projects/4/nim).
"""

import random

from nim_env import policies


def train(rules, moves, learning_rate=0.5, discount=1.0, exploration=0.3, seed=0):
    """Trains by self-play for a number of moves. Returns Q-values, float64 of shape (n_positions, n_actions)."""
    generator = random.Random(seed)
    q = {}  # maps (heap sizes, move) to a value

    def value(state, move):
        return q.get((state, move), 0)

    def update(state, move, reward, next_state):
        future = max((value(next_state, move) for move in actions(next_state)), default=0)
        q[state, move] = value(state, move) + learning_rate * (reward + discount * future - value(state, move))

    def actions(state):
        most = rules.max_take or max(rules.heaps)
        return [(heap, count) for heap, size in enumerate(state) for count in range(1, min(size, most) + 1)]

    while moves > 0:
        state = rules.heaps
        mine = theirs = None  # the last turn of the player to move, and of the other player
        while any(state):
            if generator.random() < exploration:
                move = generator.choice(actions(state))
            else:
                move = max(actions(state), key=lambda move: (value(state, move), generator.random()))
            heap, count = move
            after = (*state[:heap], state[heap] - count, *state[heap + 1 :])
            if mine:
                update(*mine, 0, state)
            mine, theirs = theirs, (state, move)
            state = after
            moves -= 1
        update(*theirs, rules.terminal_reward, state)
        if mine:
            update(*mine, -rules.terminal_reward, state)
    return policies.q_values_of(rules, q)
