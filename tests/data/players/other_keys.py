"""The keys of its values are strings."""

import q_dictionary


class NimAI(q_dictionary.NimAI):
    def value(self, state, action):
        return self.q.get(f"{'-'.join(map(str, state))}: {action}", 0)

    def learn(self, state, action, reward, next_state):
        old = self.value(state, action)
        key = f"{'-'.join(map(str, state))}: {action}"
        self.q[key] = old + self.alpha * (reward + self.best_future(next_state) - old)


def train(n):
    return q_dictionary.train(n, NimAI())
