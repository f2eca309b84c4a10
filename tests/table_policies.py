"""Tabular policies for tests: random policies, and policies with mistakes in known positions."""

from functools import cache

import numpy as np

from nim_env import TabularPolicy


def random_table(rules, seed, *, deterministic=False, illegal=False):
    """Returns a policy with a random distribution in every position, over a random part of the legal actions.

    With ``illegal=True``, illegal actions have probabilities too, and in some positions the probabilities sum to
    less than 1. With ``deterministic=True``, each position has only one action.
    """
    generator = np.random.default_rng(seed)
    weights = generator.random((rules.n_positions, rules.n_actions))
    if not illegal:
        weights *= rules.action_mask(rules.all_positions())
    keep = weights == weights.max(axis=1, keepdims=True)  # keeps one action, and others at random
    if not deterministic:
        keep |= generator.random(weights.shape) < 0.5
    weights *= keep
    weights[1:] /= weights[1:].sum(axis=1, keepdims=True)
    if illegal:
        weights *= generator.choice([0, 0.5, 1], (rules.n_positions, 1), p=[0.1, 0.3, 0.6])
    return TabularPolicy(rules, weights)


def with_mistakes(rules, policy, mistakes):
    """Returns ``policy`` as a table that always plays a given action in some positions, ``{heaps: action}``."""
    positions = rules.all_positions()
    table = np.zeros((rules.n_positions, rules.n_actions))
    table[1:] = policy.action_probabilities(positions[1:], rules.action_mask(positions[1:]))
    for heaps, action in mistakes.items():
        table[rules.index(heaps)] = np.eye(rules.n_actions)[action]
    return TabularPolicy(rules, table)


def as_player(rules, policy):
    """Converts a policy to a player for :func:`brute_force.win_probability`."""

    @cache
    def distribution(heaps):
        probabilities = policy.action_probabilities(np.array([heaps]), rules.action_mask([heaps]))[0]
        return {action: probabilities[action] for action in np.flatnonzero(probabilities)}

    return distribution
