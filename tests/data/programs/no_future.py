"""The bootstrap looks its keys up in another form, finds none, and is always 0."""

from base import Learner, moves, trained


class Bug(Learner):
    def future(self, state):
        return max((self.q.get((str(state), move), 0) for move in moves(state)), default=0)


def train(n):
    return trained(Bug(), n)
