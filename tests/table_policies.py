"""Policies of all kinds, as tables of random distributions."""

import numpy as np


class TablePolicy:
    """A distribution over legal actions for every position, drawn from a seed."""

    def __init__(self, rules, seed, *, deterministic=False):
        generator = np.random.default_rng(seed)
        positions = np.stack(np.unravel_index(np.arange(rules.n_positions), rules.shape), axis=-1)
        weights = generator.random((rules.n_positions, rules.n_actions)) * rules.action_mask(positions)
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
