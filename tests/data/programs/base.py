"""A correct learner of 1-3-5-7 by self-play, in the form of CS50's project; the other files change one method."""

import random


def moves(state):
    return [(heap, count) for heap, size in enumerate(state) for count in range(1, size + 1)]


class Learner:
    epsilon = 0.1

    def __init__(self):
        self.q = {}

    def get_q_value(self, state, move):
        return self.q.get((tuple(state), move), 0)

    def future(self, state):
        return max((self.get_q_value(state, move) for move in moves(state)), default=0)

    def updated(self, old, target):
        return old + 0.5 * (target - old)

    def update(self, state, move, reward, after):
        target = reward + self.future(after)
        self.q[tuple(state), move] = self.updated(self.get_q_value(state, move), target)

    def best_move(self, state):
        return max(moves(state), key=lambda move: self.get_q_value(state, move))

    def choose_action(self, state, epsilon=True):
        if epsilon and random.random() < self.epsilon:
            return random.choice(moves(state))
        return self.best_move(state)


def trained(learner, n):
    for _ in range(n):
        state, mine, theirs = (1, 3, 5, 7), None, None  # mine: of the player to move, from two plies ago
        while any(state):
            if mine:
                learner.update(*mine, 0, state)
            move = learner.choose_action(state)
            mine, theirs = theirs, (state, move)
            state = tuple(size - move[1] * (heap == move[0]) for heap, size in enumerate(state))
        learner.update(*theirs, -1, state)
        if mine:
            learner.update(*mine, 1, state)
    return learner


def train(n):
    return trained(Learner(), n)
