"""The best future of a lost position is 0, since the maximum starts there."""

import q_dictionary


class NimAI(q_dictionary.NimAI):
    def best_future(self, state):
        best = 0
        for action in q_dictionary.Nim.available_actions(state):
            best = max(best, self.value(state, action))
        return best


def train(n):
    return q_dictionary.train(n, NimAI())
