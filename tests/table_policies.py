"""Policies of all kinds, as tables of random distributions."""

import numpy as np
from brute_force import all_positions


class TablePolicy:
    """A distribution over legal actions for every position, drawn from a seed."""

    def __init__(self, rules, seed, *, deterministic=False):
        generator = np.random.default_rng(seed)
        weights = generator.random((rules.n_positions, rules.n_actions)) * rules.action_mask(all_positions(rules))
        keep = weights == weights.max(axis=1, keepdims=True)  # one action, and others at random
        if not deterministic:
            keep |= generator.random(weights.shape) < 0.5
        weights *= keep
        self.strides = np.array(rules.strides)
        self.table = np.zeros_like(weights)
        self.table[1:] = weights[1:] / weights[1:].sum(axis=1, keepdims=True)

    def action_probabilities(self, observation, action_mask):  # noqa: ARG002
        return self.table[np.asarray(observation) @ self.strides]


def planted(policy, mistakes):
    """``policy`` with one action played for certain at each of some positions, ``{heaps: action}``."""

    class Planted:
        def action_probabilities(self, observation, action_mask):
            probabilities = policy.action_probabilities(observation, action_mask)
            for heaps, action in mistakes.items():
                probabilities[(observation == heaps).all(axis=1)] = np.eye(action_mask.shape[1])[action]
            return probabilities

    return Planted()


def plays_of(rules, policy):
    """A policy in the form of :func:`brute_force.chance_to_win`."""

    def distribution(heaps):
        probabilities = policy.action_probabilities(np.array([heaps]), rules.action_mask([heaps]))[0]
        return {action: probabilities[action] for action in np.flatnonzero(probabilities)}

    return distribution
