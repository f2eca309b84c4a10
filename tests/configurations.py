"""The environments that many tests run on, and helpers that compare their random moves with probabilities."""

from collections import Counter

import numpy as np

from nim_env import NimRules, OpponentPool
from nim_env.policies import batched


def first_legal(observation, action_mask):  # noqa: ARG001
    """Returns the first legal action of one position. It serves as an opponent that is a plain function."""
    return int(np.argmax(action_mask))


LAST_LEGAL = batched(lambda _, masks: masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1))


class Wrapped:
    """Wraps a policy in a class that the environments do not know, so they have to query it."""

    def __init__(self, policy):
        self.policy = policy

    def action_probabilities(self, observation, action_mask):
        return self.policy.action_probabilities(observation, action_mask)


SIMPLE = {"heaps": (21,), "max_take": 3, "misere": False}

GAMES = {
    "standard": {},
    "bits": {"observation": "bits"},
    "simple": SIMPLE,
    "bounded": {"heaps": (5, 6, 7), "max_take": 2},
    "zero heaps": {"heaps": (0, 3, 0, 2), "misere": False},
    "two objects": {"heaps": (1, 1)},
    "seven heaps": {"heaps": (1, 3, 5, 7, 9, 11, 13), "misere": False},
    "random start": {"random_start": True},
    "random start of one object": {"heaps": (1,), "random_start": True},
    "raising": {"heaps": (3, 4, 5), "illegal_action": "raise"},
}

GYM = {
    **GAMES,
    "opponent first": {"first_player": "opponent"},
    "take-3": {"opponent": "take-3", **SIMPLE},
    "expert": {"opponent": "expert"},
    "callable": {"opponent": first_legal},
    "pool": {"opponent": OpponentPool(NimRules(), ["take-2", first_legal, "expert"], weights=[1, 2, 3])},
    "self-play": {"opponent": None},
    "random start self-play": {"opponent": None, "random_start": True},
    "random start expert": {"opponent": "expert", "random_start": True, **SIMPLE},
}


def plain(value):
    """Converts nested results to a form that == can compare, including the types and dtypes of their values."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if not isinstance(value, np.ndarray):
        return type(value), value
    if value.dtype == object:
        return plain(value.tolist())
    if value.dtype == np.intp:  # Gymnasium batches ints in the type of the platform, 32 bits on some
        value = value.astype(np.int64)
    return value.dtype.str, value.shape, value.tobytes()


def distribution_after(rules, heaps, policy):
    """Returns the probability of each position after the policy's move."""
    mask = rules.action_mask(heaps)
    probabilities = policy.action_probabilities(heaps, mask)
    return {tuple(rules.apply(heaps, action).tolist()): probabilities[action] for action in np.flatnonzero(mask)}


def check_frequencies(drawn, probabilities):
    """Asserts that the frequencies of drawn positions are within four standard deviations of their probabilities.

    The probabilities can be weights, with any sum.
    """
    counts = Counter(map(tuple, np.array(drawn).tolist()))
    total = sum(probabilities.values())
    assert set(counts) <= set(probabilities)
    for position, weight in probabilities.items():
        expected = weight / total
        deviation = (expected * (1 - expected) / len(drawn)) ** 0.5
        assert abs(counts[position] / len(drawn) - expected) <= 4 * deviation + 1e-12, position
