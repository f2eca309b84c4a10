"""What PettingZoo's api_test says of any environment like this one; every other warning is an error."""

import re

import pytest

TEXTS = [
    "Observation is not a NumPy array",  # the classic dictionary of observation and mask is not one
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
    "Observation numpy array is all zeros.",  # an empty board is
    "Action mask numpy array is all zeros (no legal actions).",  # so is the mask of a finished game
    "Observation is a single number",  # a game of one heap
    "Action mask is a single number",  # a game of one action
]
expected_of_pettingzoo = pytest.mark.filterwarnings(*(f"ignore:{re.escape(text)}:UserWarning" for text in TEXTS))
