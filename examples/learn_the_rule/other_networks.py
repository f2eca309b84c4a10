"""The networks that alphazero.py compares with the digit network of network.py.

Each maps heaps, int64 of shape ``(n, n_heaps)``, to scores of actions, ``(n, n_actions)``, and values, ``(n,)``.

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch import nn

from nim_env import NimRules
from nim_env.encodings import checked_encoding

from learn_the_rule.network import PolicyValueNetwork

NETWORKS = ("digit", "gru", "one_hot", "bits", "lstm")


class GatedDigitNetwork(PolicyValueNetwork):
    """The digit network with a gated recurrent unit (Cho et al. 2014) as its cell."""

    def __init__(self, rules: NimRules, **options: Any) -> None:
        super().__init__(rules, **options)
        del self.transitions
        self.cell = nn.GRUCell(1, self.hidden_size)

    def step(self, state: torch.Tensor, bit: torch.Tensor) -> torch.Tensor:
        return self.cell(bit.float(), state)


class Perceptron(nn.Module):
    """Two hidden layers on the one-hot heap sizes, or on their binary digits."""

    def __init__(self, rules: NimRules, is_binary: bool, width: int = 128) -> None:
        super().__init__()
        largest = max(rules.heaps)
        digits, numbers = torch.arange(largest.bit_length()), torch.arange(largest + 1)
        codes = (numbers[:, None] >> digits) & 1 if is_binary else torch.eye(largest + 1)
        self.register_buffer("codes", codes.float(), persistent=False)  # of each heap size
        n_inputs = rules.n_heaps * self.codes.shape[1]
        self.body = nn.Sequential(nn.Linear(n_inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.policy_head, self.value_head = nn.Linear(width, rules.n_actions), nn.Linear(width, 1)

    def forward(self, heaps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.body(self.codes[heaps].flatten(1))
        return self.policy_head(features), torch.tanh(self.value_head(features)).squeeze(-1)


class UnaryNetwork(nn.Module):
    """The network of Zhou and Riis: an LSTM reads 0 for each object taken, 1 for each left, -1 between heaps.

    The names of the weights are those of the authors' files.
    """

    def __init__(self, rules: NimRules, hidden_size: int = 128) -> None:
        super().__init__()
        self.encoding = checked_encoding("unary", rules)
        self.lstm = nn.LSTM(1, hidden_size, batch_first=True)
        self.policy_head = nn.Sequential(nn.Linear(hidden_size, rules.n_actions))
        self.value_head = nn.Sequential(nn.Linear(hidden_size, 1))

    def forward(self, heaps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        tokens = torch.from_numpy(self.encoding(heaps.numpy()))
        features = self.lstm(tokens[..., None])[0][:, -1]
        return self.policy_head(features), torch.tanh(self.value_head(features)).squeeze(-1)


def load_published(path: Path) -> tuple[UnaryNetwork, NimRules]:
    """A trained network of Zhou and Riis and its board, from a file of their repository."""
    weights = torch.load(path, map_location="cpu", weights_only=True)
    n_heaps = math.isqrt(len(weights["policy_head.0.bias"]))  # heaps of 1, 3, 5, ... have n_heaps² objects
    rules = NimRules(range(1, 2 * n_heaps, 2), misere=False)
    network = UnaryNetwork(rules)
    network.load_state_dict(weights)
    return network, rules


def make_network(name: str, rules: NimRules, noise: float) -> nn.Module:
    """A network with random weights."""
    if name in ("digit", "gru"):
        kind = PolicyValueNetwork if name == "digit" else GatedDigitNetwork
        return kind(rules, hidden_size=16, n_features=32, noise=noise)
    return UnaryNetwork(rules) if name == "lstm" else Perceptron(rules, is_binary=name == "bits")
