"""Warnings that PettingZoo's api_test gives for any environment like this one. All other warnings are errors."""

import re

import pytest

TEXTS = [
    "Observation is not a NumPy array",  # it is a dictionary with the observation and the mask
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
    "Observation numpy array is all zeros.",  # for an empty board
    "Action mask numpy array is all zeros (no legal actions).",  # for a finished game
    "Observation is a single number",  # in a game with one heap
    "Action mask is a single number",  # in a game with one action
]
expected_of_pettingzoo = pytest.mark.filterwarnings(*(f"ignore:{re.escape(text)}:UserWarning" for text in TEXTS))
