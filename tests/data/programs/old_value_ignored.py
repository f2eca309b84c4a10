"""The old value is never found, so that each value is half of its last target."""

from base import Learner, trained


class Bug(Learner):
    def updated(self, _old, target):
        return 0.5 * target


def train(n):
    return trained(Bug(), n)
