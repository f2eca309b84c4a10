"""What the tests of several agents share: observation spaces of every kind, and a generator of one number."""

import numpy as np
from gymnasium import spaces

BOX = spaces.Box(-1, 1, (2, 2), np.float32)
OBSERVATION_SPACES = [
    spaces.Discrete(5),
    spaces.Discrete(5, start=-2),
    spaces.MultiDiscrete([2, 3, 4]),
    spaces.MultiDiscrete([[2, 3], [4, 1]]),
    spaces.MultiDiscrete([2, 3], start=[-1, 5]),
    spaces.MultiBinary(3),
    spaces.MultiBinary((2, 2)),
    BOX,
    spaces.Tuple([spaces.Discrete(3), spaces.Discrete(2)]),
    spaces.Dict({"a": spaces.Discrete(3), "b": BOX}),
]
SMALL = spaces.MultiDiscrete([3, 4])


def sample(space, seed):
    space.seed(seed)
    return space.sample()


class ConstantGenerator:
    """Returns one number for every draw."""

    def __init__(self, number):
        self.number = number

    def random(self, shape=None):
        return self.number if shape is None else np.full(shape, self.number)
