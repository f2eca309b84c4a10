"""It learns from the opponent's reward: it plays the other variant, in which the last object wins."""

import q_dictionary


class NimAI(q_dictionary.NimAI):
    def learn(self, state, action, reward, next_state):
        super().learn(state, action, -reward, next_state)


def train(n):
    return q_dictionary.train(n, NimAI())
