"""The maximum starts from a very small number, which is also the future of a finished game."""

from base import Learner, moves, trained


class Bug(Learner):
    def future(self, state):
        best = -(10**18)
        for move in moves(state):
            best = max(best, self.get_q_value(state, move))
        return best


def train(n):
    return trained(Bug(), n)
