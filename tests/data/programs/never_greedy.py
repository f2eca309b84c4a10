"""Exploration calls itself until it explores, so that training never plays greedily."""

import random

from base import Learner, moves, trained


class Bug(Learner):
    def choose_action(self, state, epsilon=True):
        if epsilon and random.random() >= self.epsilon:
            return self.choose_action(state, epsilon)
        return random.choice(moves(state)) if epsilon else self.best_move(state)


def train(n):
    return trained(Bug(), n)
