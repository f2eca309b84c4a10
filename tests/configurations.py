"""The environments that the checkers and many tests run over."""

import numpy as np


def first_legal(observation, action_mask):  # noqa: ARG001
    """An opponent as a callable: the first legal action of one position."""
    return int(np.argmax(action_mask))


SIMPLE = {"heaps": (21,), "max_take": 3, "misere": False}

GAMES = {
    "standard": {},
    "normal": {"misere": False},
    "simple": SIMPLE,
    "simple misère": {"heaps": (10,), "max_take": 3},
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
    "agent first": {"first_player": "agent"},
    "opponent first": {"first_player": "opponent"},
    "loser first": {"first_player": "loser", **SIMPLE},
    "take-3": {"opponent": "take-3", **SIMPLE},
    "expert": {"opponent": "expert"},
    "callable": {"opponent": first_legal},
    "self-play": {"opponent": None},
    "bounded self-play": {"opponent": None, "heaps": (4, 4), "max_take": 3},
    "random start self-play": {"opponent": None, "random_start": True},
    "random start expert": {"opponent": "expert", "random_start": True, **SIMPLE},
}
