"""Its choice starts a maximum from 0, so it has no answer where no value is above 0."""

import random

import q_dictionary


class NimAI(q_dictionary.NimAI):
    def choose_action(self, state, epsilon=True):
        actions = sorted(q_dictionary.Nim.available_actions(state))
        best, chosen = 0, None
        for action in actions:
            if self.value(state, action) > best:
                best, chosen = self.value(state, action), action
        if epsilon and (chosen is None or random.random() < self.epsilon):
            return random.choice(actions)
        return chosen


def train(n):
    return q_dictionary.train(n, NimAI())
