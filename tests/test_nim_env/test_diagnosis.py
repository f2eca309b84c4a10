"""The diagnosis of values against the fixed point of each equation, and of moves against the theory."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import few_examples
from strategies import rules as any_rules

from nim_env import ExpertPolicy, NimRules, TabularPolicy, evaluation, theory
from nim_env.policies import batched

BELLMAN = "Bellman's equation"
NO_BUG = {BELLMAN, "untrained", "train longer", "values too small"}
BOARDS = [((1, 2, 3), None), ((2, 3, 4), None), ((1, 1, 2, 3), None), ((5, 4), 3), ((2, 6), None)]
games = st.builds(lambda board, misere: NimRules(*board, misere), st.sampled_from(BOARDS), st.booleans())

FUTURES = {  # of the values of the legal actions; the best for any other equation
    "maximum that starts from 0": lambda values: max(0, max(values)),
    "maximum over illegal actions": lambda values: max(0, max(values)),  # that of an illegal action stays 0
    "minimum in place of the maximum": min,
    "mean in place of the maximum": np.mean,
}
PLANTED = [  # an equation, whether it is in own turns, and what it changes
    ("opponent's reward", False, {"reward": -1.0}),
    ("no minus sign", False, {"weight": -1.0}),
    ("maximum that starts from 0", False, {}),
    ("maximum that starts from 0", True, {}),
    ("maximum over illegal actions", False, {}),
    ("minimum in place of the maximum", False, {}),
    ("minimum in place of the maximum", True, {}),
    ("mean in place of the maximum", False, {}),
    ("last mover's reward dropped", True, {"mover": 0.0}),
    ("other player's reward dropped", True, {"other": 0.0}),
    ("random opponent", True, {}),
    ("discount of 0.90 per move", False, {"weight": 0.9}),
    ("discount of 0.90 per own turn", True, {"weight": 0.9}),
]


def fixed_point(rules, name=BELLMAN, by_turn=False, reward=1.0, mover=1.0, other=1.0, weight=1.0):
    """The Q-values that satisfy an equation in every position, the smallest first; illegal ones are 0."""
    future = FUTURES.get(name, max)
    legal = [np.flatnonzero(mask) for mask in rules.action_mask(rules.all_positions())]
    last_reward = reward * rules.terminal_reward
    q_values = np.zeros((rules.n_positions, rules.n_actions))

    def value_after(index):
        if index == 0:
            return mover * last_reward
        if not by_turn:
            return -weight * future(q_values[index, legal[index]])
        replies = [index - rules.offsets[action] for action in legal[index]]
        values = [weight * future(q_values[i, legal[i]]) if i else -other * last_reward for i in replies]
        return np.mean(values) if name == "random opponent" else values[q_values[index, legal[index]].argmax()]

    for index in range(1, rules.n_positions):
        for action in legal[index]:
            q_values[index, action] = value_after(index - rules.offsets[action])
    return q_values


@pytest.mark.parametrize(("name", "by_turn", "changes"), PLANTED)
@settings(max_examples=4)
@given(games, st.floats(1, 1000))
def test_the_fixed_point_of_each_bug_has_its_name(name, by_turn, changes, rules, scale):
    diagnosis = evaluation.diagnose(rules, scale * fixed_point(rules, name, by_turn, **changes))
    assert name in diagnosis.findings


@few_examples
@given(any_rules, st.floats(-3, 3), st.booleans())
def test_exact_values_satisfy_bellmans_equation(rules, exponent, of_positions):
    scale = 10.0**exponent
    values = scale * np.where(theory.winning_action_mask(rules, rules.all_positions()), 1.0, -1.0)
    values[rules.action_mask(rules.all_positions()) == 0] = np.nan
    if of_positions:
        values = np.where(theory.is_winning(rules, rules.all_positions()), scale, -scale)
    diagnosis = evaluation.diagnose(rules, values)
    assert diagnosis.findings == (BELLMAN if 0.8 < scale < 1.25 else "rewards of a scale other than 1",)
    assert "Bellman" in str(diagnosis)


def test_a_correct_learner_is_told_of_no_bug():
    generator = np.random.default_rng(0)
    runs = list(product(BOARDS, (True, False), (0.1, 0.5, 1.0), (30, 100, 200, 300, 500)))
    alarms = []
    for board, misere, learning_rate, n_updates in runs:
        rules = NimRules(*board, misere)
        masks = rules.action_mask(rules.all_positions()) > 0
        q_values = np.zeros(masks.shape)
        states, actions = masks.nonzero()
        for i in generator.integers(len(states), size=n_updates):
            after = states[i] - rules.offsets[actions[i]]
            target = -q_values[after, masks[after]].max() if after else rules.terminal_reward
            q_values[states[i], actions[i]] += learning_rate * (target - q_values[states[i], actions[i]])
        findings = evaluation.diagnose(rules, q_values).findings
        alarms += [(rules, learning_rate, n_updates, findings)] if not NO_BUG.issuperset(findings) else []
    assert len(alarms) <= 0.01 * len(runs), alarms


def test_rewards_of_two_views_show_in_the_last_moves():
    rules = NimRules((2, 3, 4))
    q_values = fixed_point(rules)
    q_values[rules.index([2, 0, 0]), rules.action(0, 2)] *= -1
    assert evaluation.diagnose(rules, q_values).findings == ("last moves of both signs",)


def test_shrunken_values_are_too_small():
    rules = NimRules((2, 3, 4))
    factors = np.random.default_rng(0).uniform(0.3, 1, size=(rules.n_positions, rules.n_actions))
    assert evaluation.diagnose(rules, factors * fixed_point(rules)).findings == ("values too small",)


def test_values_of_illegal_actions_tell_what_the_maximum_runs_over():
    rules = NimRules((2, 3, 4))
    heaps = rules.all_positions()
    q_values = np.random.default_rng(0).uniform(-1, 1, size=(rules.n_positions, rules.n_actions))
    for index, mask in enumerate(rules.action_mask(heaps)):
        for action in np.flatnonzero(mask):
            after = index - rules.offsets[action]
            q_values[index, action] = -q_values[after].max() if after else rules.terminal_reward
    assert evaluation.diagnose(rules, q_values).findings == ("maximum over illegal actions",)


def test_a_large_game_is_judged_by_its_small_positions():
    rules = NimRules((37, 37, 37), max_take=2)
    wins = theory.winning_action_mask(rules, rules.all_positions())
    wins_normal = theory.winning_action_mask(replace(rules, misere=False), rules.all_positions())
    assert evaluation.diagnose(rules, np.where(wins, 1, -1)).findings == (BELLMAN,)
    assert evaluation.diagnose(rules, np.where(wins_normal, 1, -1)).findings == ("opponent's reward",)


def test_zeros_are_untrained():
    assert evaluation.diagnose(NimRules((1, 2, 3)), np.zeros((24, 6))).findings == ("untrained",)


@pytest.mark.parametrize("values", [np.ones((6, 24)), np.full((24, 6), np.nan), np.full(24, np.inf)])
def test_values_of_a_wrong_shape_or_undefined_ones_are_refused(values):
    with pytest.raises(ValueError, match="q_values must"):
        evaluation.diagnose(NimRules((1, 2, 3)), values)


@pytest.mark.parametrize("misere", [True, False])
def test_moves_tell_the_other_variant_and_the_worst_moves(misere):
    rules = NimRules((2, 3, 4), misere=misere)
    other = ExpertPolicy(replace(rules, misere=not misere))
    heaps = rules.all_positions()
    legal = rules.action_mask(heaps) > 0
    wins = theory.winning_action_mask(rules, heaps) > 0
    worst = np.where((legal & ~wins).any(axis=1, keepdims=True), legal & ~wins, legal)
    players = {
        "perfect play": ExpertPolicy(rules),
        "opponent's reward": batched(lambda heaps, masks: other.support(heaps, masks).argmax(axis=1)),
        "minimum in place of the maximum": batched(lambda heaps, _: worst[rules.index(heaps)].argmax(axis=1)),
        "no mask at prediction": TabularPolicy(rules, np.eye(rules.n_actions)[np.full(rules.n_positions, 3)]),
        "train longer": "random",
    }
    for finding, player in players.items():
        assert evaluation.diagnose_moves(rules, player).findings == (finding,)
