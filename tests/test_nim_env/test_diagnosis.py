"""The diagnosis of values and moves against the fixed point of each equation, computed position by position."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import rules as any_rules
from strategies import seeds

from nim_env import NimRules, TabularPolicy, evaluation, theory

BELLMAN = ("Bellman's equation",)
NO_BUG = {*BELLMAN, "untrained", "train longer", "values too small", "last moves of both signs"}
BOARDS = st.sampled_from([((1, 2, 3), None), ((2, 3, 4), None), ((1, 1, 2, 3), None), ((5, 4), 3), ((2, 6), None)])
games = st.builds(lambda board, misere: NimRules(*board, misere), BOARDS, st.booleans())

FUTURES = {  # of the values of the legal actions of a position
    "maximum": max,
    "maximum that starts from 0": lambda values: max(0, *values, 0),
    "minimum in place of the maximum": min,
    "mean in place of the maximum": np.mean,
}


def fixed_point(rules, name="maximum", by_turn=False, discount=1.0, mover=1.0, other=1.0, reward=1.0, sign=-1.0):
    """The Q-values that satisfy an equation everywhere, from the smallest position on; illegal ones are 0."""
    q_values = np.zeros((rules.n_positions, rules.n_actions))
    last_reward = reward * rules.terminal_reward
    future = FUTURES.get(name, max)

    def values_of(heaps):
        row = q_values[rules.index(heaps)]
        return [row[rules.action(*move)] for move in rules.legal_moves(heaps)]

    def value_after(heaps):
        if not any(heaps):
            return mover * last_reward
        if not by_turn:
            return sign * discount * future(values_of(heaps))
        replies = [rules.apply(heaps, rules.action(*move)) for move in rules.legal_moves(heaps)]
        ends = [0.0 if reply.any() else -other * last_reward for reply in replies]
        returns = [discount * future(values_of(reply)) if reply.any() else end for reply, end in zip(replies, ends, strict=True)]
        return np.mean(returns) if name == "random opponent" else returns[int(np.argmax(values_of(heaps)))]

    for index in range(1, rules.n_positions):
        heaps = rules.from_index(index)
        for move in rules.legal_moves(heaps):
            action = rules.action(*move)
            q_values[index, action] = value_after(rules.apply(heaps, action))
    return q_values


def exact(rules):
    """1 for the moves that win and -1 for the other legal ones."""
    heaps = rules.all_positions()
    wins = theory.winning_action_mask(rules, heaps)
    return np.where(wins, 1.0, -1.0) * rules.action_mask(heaps)


@given(any_rules, st.floats(-3, 3), st.booleans())
def test_exact_values_satisfy_bellmans_equation(rules, exponent, of_positions):
    scale = 10.0**exponent
    values = scale * exact(rules)
    if of_positions:
        values = np.where(theory.is_winning(rules, rules.all_positions()), scale, -scale)
    else:
        values[rules.action_mask(rules.all_positions()) == 0] = np.nan
    diagnosis = evaluation.diagnose(rules, values)
    is_scaled = not 0.8 < scale < 1.25
    assert diagnosis.findings == (("rewards of a scale other than 1",) if is_scaled else BELLMAN)
    assert "Bellman" in str(diagnosis)


PLANTED = {
    "opponent's reward": {"reward": -1.0},
    "no minus sign": {"sign": 1.0},
    "maximum that starts from 0": {},
    "minimum in place of the maximum": {},
    "mean in place of the maximum": {},
}
PLANTED_BY_TURN = {
    "opponent's reward": {"reward": -1.0},
    "maximum that starts from 0": {},
    "minimum in place of the maximum": {},
    "last mover's reward dropped": {"mover": 0.0},
    "other player's reward dropped": {"other": 0.0},
    "random opponent": {},
}


@pytest.mark.parametrize(
    ("name", "by_turn"), [(name, False) for name in PLANTED] + [(name, True) for name in PLANTED_BY_TURN]
)
@settings(max_examples=10)
@given(games)
def test_the_fixed_point_of_a_bug_has_its_name(name, by_turn, rules):
    options = (PLANTED_BY_TURN if by_turn else PLANTED)[name]
    diagnosis = evaluation.diagnose(rules, fixed_point(rules, name, by_turn, **options))
    assert name in diagnosis.findings, (rules, str(diagnosis))


@pytest.mark.parametrize("shape", [(24, 6), (24,)])
def test_zeros_are_untrained(shape):
    assert evaluation.diagnose(NimRules((1, 2, 3)), np.zeros(shape)).findings == ("untrained",)
