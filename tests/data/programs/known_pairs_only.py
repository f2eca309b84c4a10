"""The maximum starts from -2 and skips pairs that have no value yet, which should count as 0."""

from base import Learner, moves, trained


class Bug(Learner):
    def future(self, state):
        if not moves(state):
            return 0
        return max([-2] + [self.q[state, move] for move in moves(state) if (state, move) in self.q])


def train(n):
    return trained(Bug(), n)
