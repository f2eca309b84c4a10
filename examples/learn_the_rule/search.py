"""PUCT search for many positions of Nim at the same time, and greedy players by policy, value and search.

alphazero.py trains with it. A position is its number (NimRules.index), from which an action subtracts its offset;
number 0 is the end of the game. A network maps heap sizes (n, n_heaps) to scores (n, n_actions) and values (n,).

Source: Silver et al. (2018), Science 362, p. 1140, supplementary materials, "Search".
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from nim_env import NimRules

MAX_TABLE = 10_000  # positions of boards that are evaluated all at once


class Evaluator:
    """Prior probabilities and values of positions, computed once for each position until :meth:`clear`."""

    def __init__(self, network: nn.Module, rules: NimRules) -> None:
        self.network, self.rules = network, rules
        self.clear()

    def clear(self) -> None:
        """Forgets all positions, since the network has changed."""
        self.network.eval()
        self.slots = {0: 0}
        self.priors = np.zeros((1, self.rules.n_actions), dtype=np.float32)
        self.values = np.full(1, -self.rules.terminal_reward, dtype=np.float32)  # the game is over
        if self.rules.n_positions <= MAX_TABLE:
            self(np.arange(self.rules.n_positions))  # one large batch is faster than many small ones

    @torch.no_grad()
    def __call__(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Priors, float32 of shape ``(n, n_actions)`` and 0 for illegal actions, and values, of shape ``(n,)``."""
        keys, inverse = np.unique(index, return_inverse=True)
        new = np.array([key for key in keys.tolist() if key not in self.slots], dtype=np.int64)
        for part in np.array_split(new, -(-len(new) // 4096)) if len(new) else ():
            heaps = self.rules.from_index(part)
            first = len(self.slots)
            self.slots.update(zip(part.tolist(), range(first, first + len(part)), strict=True))
            while len(self.values) < len(self.slots):
                self.priors = np.concatenate([self.priors, np.zeros_like(self.priors)])
                self.values = np.concatenate([self.values, np.zeros_like(self.values)])
            scores, values = self.network(torch.from_numpy(heaps))
            is_legal = torch.from_numpy(self.rules.action_mask(heaps)) > 0
            here = slice(first, len(self.slots))
            self.priors[here] = torch.softmax(scores.masked_fill(~is_legal, -torch.inf), dim=1).numpy()
            self.values[here] = values.numpy()
        slots = np.array([self.slots[key] for key in keys.tolist()], dtype=np.int64)[inverse.ravel()]
        return self.priors[slots], self.values[slots]


def search(
    evaluate: Evaluator,
    index: np.ndarray,
    simulations: int,
    generator: np.random.Generator | None = None,
    alpha: float = 0.35,
    epsilon: float = 0.25,
    c_init: float = 1.25,
    c_base: float = 19652,
) -> np.ndarray:
    """Visit counts of the actions after PUCT search from positions, all at the same time.

    Silver et al. (2018), supplementary materials, "Search", with the constants of Zhou and Riis. With a generator,
    Dirichlet noise is added to the prior probabilities of the first move.

    Returns:
        float32 of shape ``(n, n_actions)``; each row adds up to ``simulations``.
    """
    rules, every = evaluate.rules, np.arange(len(index))
    offsets = np.array(rules.offsets)
    shape = (len(index), simulations + 1, rules.n_actions)  # nodes in the order in which they were added
    visits, returns, priors = (np.zeros(shape, dtype=np.float32) for _ in range(3))
    children = np.zeros(shape, dtype=np.int64)  # 0: none yet, or the end of the game
    positions = np.zeros(shape[:2], dtype=np.int64)
    positions[:, 0], priors[:, 0] = index, evaluate(index)[0]
    if generator is not None:
        noise = generator.gamma(alpha, size=priors[:, 0].shape) * (priors[:, 0] > 0)
        priors[:, 0] = (1 - epsilon) * priors[:, 0] + epsilon * noise / noise.sum(axis=1, keepdims=True)
    for new in range(1, simulations + 1):
        rows, nodes, path = every, np.zeros(len(index), dtype=np.int64), []
        leaf, action, depth = (np.zeros(len(index), dtype=np.int64) for _ in range(3))
        while len(rows):  # select
            n, prior = visits[rows, nodes], priors[rows, nodes]
            n_parent = n.sum(axis=1, keepdims=True) + 1
            c = c_init + np.log((n_parent + c_base + 1) / c_base)
            score = returns[rows, nodes] / np.maximum(n, 1) + c * prior * np.sqrt(n_parent) / (n + 1)
            chosen = np.where(prior > 0, score, -np.inf).argmax(axis=1)
            path.append((rows, nodes, chosen))
            leaf[rows], action[rows] = nodes, chosen
            depth[rows] += 1
            below = children[rows, nodes, chosen]
            rows, nodes = rows[below > 0], below[below > 0]
        positions[:, new] = positions[every, leaf] - offsets[action]  # expand
        priors[:, new], value = evaluate(positions[:, new])
        children[every, leaf, action] = np.where(positions[:, new] > 0, new, 0)
        value *= np.where(depth % 2, -1, 1)  # of the player who moves first
        for level, (rows, nodes, chosen) in enumerate(path):  # back up
            visits[rows, nodes, chosen] += 1
            returns[rows, nodes, chosen] += value[rows] * (-1) ** level
    return visits[:, 0]


class Player:
    """A greedy policy by one of three scores.

    Args:
        evaluate: The network's priors and values.
        kind: "policy" for the prior probabilities, "value" for the values one ply on, "search" for visit counts.
        simulations: The number of simulations of a search.
    """

    def __init__(self, evaluate: Evaluator, kind: str, simulations: int) -> None:
        self.evaluate, self.kind, self.simulations = evaluate, kind, simulations

    def action_probabilities(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        """Probability 1 for the greedy action: float64 of shape ``(n, n_actions)``."""
        evaluate, index, mask = self.evaluate, self.evaluate.rules.index(observation), np.asarray(action_mask) > 0
        if self.kind == "search":
            parts = np.array_split(index, len(index) // 512 + 1)
            scores = np.concatenate([search(evaluate, part, self.simulations) for part in parts])
        elif self.kind == "policy":
            scores, _ = evaluate(index)
        else:
            next_index = np.where(mask, index[:, None] - np.array(evaluate.rules.offsets), 0)
            scores = -evaluate(next_index.ravel())[1].reshape(mask.shape)
        greedy = np.where(mask, scores, -np.inf).argmax(axis=1)
        return (np.arange(mask.shape[1]) == greedy[:, None]).astype(float)
