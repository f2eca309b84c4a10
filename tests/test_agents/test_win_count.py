"""Tests what win counting counts, and how it draws actions. tests/test_examples has the results of system 5."""

from functools import partial

import numpy as np
import pytest
from agent_helpers import ConstantGenerator, agent_of
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from agents import WinCountAgent

FIRST = 5  # of the three actions
win_counting = partial(agent_of, spaces.Discrete(3), kind=WinCountAgent, start=FIRST)


def play(agent, moves, reward, terminated=True):
    """Passes an episode to the agent. ``moves`` are pairs of an observation and the index of an action."""
    for number, (observation, index) in enumerate(moves, start=1):
        is_last = number == len(moves)
        agent.update(observation, index + FIRST, reward * is_last, 0, is_last and terminated)
    agent.end_episode()


def count(counts, legal, moves, reward, cutoff=None):
    """Updates ``counts``, a list of counts for each observation, by the definition of win counting."""
    for observation, action in moves:
        for index in legal[observation]:
            if (reward > 0 and index == action) or (reward < 0 and index != action):
                counts[observation][index] += 1
        legal_counts = [counts[observation][index] for index in legal[observation]]
        if cutoff is not None and reward and sum(legal_counts) > cutoff:
            for index in legal[observation]:
                counts[observation][index] -= min(legal_counts) - 1


@pytest.mark.parametrize("table", ["dense", "hash"])
@pytest.mark.parametrize("cutoff", [None, 1, 8])
@given(seed=st.integers(0, 2**32 - 1))
def test_a_win_counts_the_moves_played_and_a_loss_their_alternatives(cutoff, table, seed):
    """Only legal alternatives count. After a draw or a truncated episode nothing changes."""
    generator = np.random.default_rng(seed)
    agent, counts = win_counting(cutoff=cutoff, table=table), [[1] * 3 for _ in range(3)]
    masks = generator.random((3, 3)) < 0.7
    masks[:, 1] = True
    legal = [np.flatnonzero(mask).tolist() for mask in masks]
    for _ in range(10):
        observations = generator.integers(3, size=generator.integers(1, 6)).tolist()
        for observation in observations:
            agent.act(observation, masks[observation])  # says what is legal
        moves = [(observation, int(generator.choice(legal[observation]))) for observation in observations]
        reward, terminated = int(generator.integers(-1, 2)), bool(generator.random() < 0.8)
        play(agent, moves, reward, terminated)
        count(counts, legal, moves, reward * terminated, cutoff)
        assert agent.counts([0, 1, 2]).tolist() == counts


def test_moves_are_drawn_in_proportion_to_their_counts_among_the_legal_ones():
    agent = win_counting()
    for action in (0, 0, 0, 0, 0, 2):
        play(agent, [(1, action)], 1.0)
    assert agent.counts(1).tolist() == [6, 1, 2]
    assert agent.action_probabilities(1).tolist() == [6 / 9, 1 / 9, 2 / 9]
    assert agent.action_probabilities(1, [0, 1, 1]).tolist() == [0, 1 / 3, 2 / 3]
    batch = agent.action_probabilities([[1], [0]], [[[1, 0, 1]], [[0, 1, 0]]])
    assert batch.tolist() == [[[0.75, 0, 0.25]], [[0, 1, 0]]]
    for explore in (False, True):
        actions = np.array([agent.act(1, [1, 0, 1], explore) for _ in range(6000)])
        drawn = np.bincount(actions - FIRST, minlength=3) / 6000
        np.testing.assert_allclose(drawn, [0.75, 0, 0.25], atol=4 * 0.5 / 6000**0.5)
        assert drawn[1] == 0


@pytest.mark.parametrize("number", [0.0, np.nextafter(1, 0)])
def test_illegal_actions_are_never_drawn(number):
    agent = win_counting()
    agent.generator = ConstantGenerator(number)
    for mask in ([0, 1, 0], [0, 0, 1], [1, 0, 0], [1, 1, 0], [0, 1, 1]):
        assert mask[agent.act(1, mask) - FIRST]
