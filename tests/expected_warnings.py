"""Warnings are errors, except those that are expected by their text."""

import contextlib
import warnings

# What PettingZoo's api_test says of any environment like this one, whatever it does.
EXPECTED_OF_PETTINGZOO = {
    "Observation is not a NumPy array": "the classic dictionary of observation and mask is not one",
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete": (
        "it is that dictionary's"
    ),
    "Observation numpy array is all zeros.": "an empty board is all zeros",
    "Action mask numpy array is all zeros (no legal actions).": "so is the mask of a finished game",
    "Observation is a single number": "a game of one heap",
    "Action mask is a single number": "a game of one action",
}


@contextlib.contextmanager
def no_warning_but(expected):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    unexpected = [
        f"{warning.category.__name__}: {warning.message}"
        for warning in caught
        # the garbage of an earlier test, such as Ray's processes, may be collected here
        if str(warning.message) not in expected and not issubclass(warning.category, ResourceWarning)
    ]
    assert not unexpected, unexpected
