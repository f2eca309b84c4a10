"""Among equal values it draws, also when it does not explore."""

import random

import q_dictionary


class NimAI(q_dictionary.NimAI):
    def choose_action(self, state, epsilon=True):
        actions = sorted(q_dictionary.Nim.available_actions(state))
        random.shuffle(actions)
        if epsilon and random.random() < self.epsilon:
            return actions[0]
        return max(actions, key=lambda action: self.value(state, action))


def train(n):
    return q_dictionary.train(n, NimAI())
