"""PUCT search for many positions of Nim at the same time, with which alphazero.py trains.

A position is its number (NimRules.index), from which an action subtracts its offset; number 0 is the end of the
game. A network maps heap sizes (n, n_heaps) to scores (n, n_actions) and values (n,).

Source: Silver et al. (2018), Science 362, p. 1140, supplementary materials, "Search", with the constants of Zhou
and Riis (2022, arXiv:2205.12787).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from nim_env import NimRules, evaluation
from nim_env.policies import Policy, batched

from .evaluate import plays_winning_moves, sample_positions

PLAYERS = ("policy", "value", "search")
SIMULATIONS = 50  # of a search
MAX_TABLE = 10_000  # positions of the boards that are evaluated all at once
MAX_TABLE_AT_END = 1_000_000
N_SAMPLED = 1000  # positions of the others


class Evaluator:
    """Prior probabilities and values of positions, computed once for each; it must not outlive an update."""

    def __init__(self, network: nn.Module, rules: NimRules) -> None:
        self.network = network
        self.rules = rules
        self.slots = {0: 0}
        self.priors = np.zeros((1, rules.n_actions), dtype=np.float32)
        self.values = np.full(1, -rules.terminal_reward, dtype=np.float32)  # the game is over
        network.eval()
        if rules.n_positions <= MAX_TABLE:
            self(np.arange(rules.n_positions))  # one large batch is faster than many small ones

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


def search(evaluate: Evaluator, index: np.ndarray, generator: np.random.Generator | None = None) -> np.ndarray:
    """Visit counts of the actions, float32 of shape ``(n, n_actions)``; with a generator, with Dirichlet noise."""
    rules = evaluate.rules
    every = np.arange(len(index))
    offsets = np.array(rules.offsets)
    shape = (len(index), SIMULATIONS + 1, rules.n_actions)  # nodes in the order in which they were added
    visits, returns, priors = (np.zeros(shape, dtype=np.float32) for _ in range(3))
    children = np.zeros(shape, dtype=np.int64)  # 0: none yet, or the end of the game
    positions = np.zeros(shape[:2], dtype=np.int64)
    positions[:, 0], priors[:, 0] = index, evaluate(index)[0]
    if generator is not None:
        noise = generator.gamma(0.35, size=priors[:, 0].shape) * (priors[:, 0] > 0)
        priors[:, 0] = 0.75 * priors[:, 0] + 0.25 * noise / noise.sum(axis=1, keepdims=True)
    for new in range(1, SIMULATIONS + 1):
        rows, nodes, path = every, np.zeros(len(index), dtype=np.int64), []
        leaf, action, depth = (np.zeros(len(index), dtype=np.int64) for _ in range(3))
        while len(rows):  # select
            n, prior = visits[rows, nodes], priors[rows, nodes]
            n_parent = n.sum(axis=1, keepdims=True) + 1
            c = 1.25 + np.log((n_parent + 19652 + 1) / 19652)
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


def greedy_player(evaluate: Evaluator, kind: str) -> Policy:
    """A greedy player by "policy" (prior probabilities), "value" (of one ply on) or "search" (visit counts)."""
    offsets = np.array(evaluate.rules.offsets)

    def act(heaps: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        index = evaluate.rules.index(heaps)
        if kind == "search":
            parts = np.array_split(index, len(index) // 512 + 1)
            scores = np.concatenate([search(evaluate, part) for part in parts])
        elif kind == "policy":
            scores, _ = evaluate(index)
        else:
            next_index = np.where(action_mask, index[:, None] - offsets, 0)
            scores = -evaluate(next_index.ravel())[1].reshape(next_index.shape)
        return np.where(action_mask, scores, -np.inf).argmax(axis=1)

    return batched(act)


def evaluate_players(evaluate: Evaluator, at_end: bool) -> dict[str, Any]:
    """Expert mastery of policy, value and search, and the fractions of values with the right sign.

    Policy and value are evaluated exactly on boards of up to MAX_TABLE positions, at the end MAX_TABLE_AT_END, and
    otherwise on N_SAMPLED won positions, the search on these or, before the end, on a fifth of them.
    """
    rules = evaluate.rules
    won, lost = (sample_positions(rules, N_SAMPLED, is_won, np.random.default_rng(0)) for is_won in (True, False))
    is_exact = rules.n_positions <= (MAX_TABLE_AT_END if at_end else MAX_TABLE)
    row: dict[str, Any] = {}
    for kind in PLAYERS:
        player = greedy_player(evaluate, kind)
        if is_exact and kind != "search":
            row[kind] = evaluation.mastery(rules, player).expert
        else:
            heaps = won[: len(won) // 5] if kind == "search" and not at_end else won
            row[kind] = float(plays_winning_moves(player, rules, heaps).mean())
    row["value_accuracy_won"] = float((evaluate(rules.index(won))[1] > 0).mean())
    row["value_accuracy_lost"] = float((evaluate(rules.index(lost))[1] < 0).mean())
    return row | {"is_exact": is_exact}
