"""The digit network, which values Nim positions of any size, and the networks that are compared with it.

In the digit network a recurrent cell scans the heaps, once for each binary digit of their sizes, with the same
weights for each digit. The digit's bit in a heap selects one of two transitions. A small network maps the final
state of each digit to features, and a second one maps the maximum of the features over the digits to the value.
Digits, shared weights, the maximum over the digits, and a flag for the lowest digit are built in.

Sources: second-order recurrent networks, Giles et al. (1992, Neural Computation 4(3), p. 393); recurrent cells,
Elman (1990), Cho et al. (2014, arXiv:1406.1078), Hochreiter and Schmidhuber (1997); affine recurrences, Chung et
al. (2026, arXiv:2605.07755); LSTM over unary tokens, Zhou and Riis (2022, arXiv:2205.12787).

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from nim_env import NimRules
from nim_env.encodings import checked_encoding
from nim_env.policies import BatchedPolicy


class DigitNetwork(nn.Module):
    """The value of a position from the binary digits of its heaps, for any number of heaps of any size.

    Args:
        hidden_size: The size of the recurrent state.
        n_features: The number of features of a digit.
        noise: The standard deviation of the Gaussian noise on the recurrent state in training mode.
        n_flags: The number of lowest digits that have their own flag.
    """

    def __init__(self, hidden_size: int = 8, n_features: int = 16, noise: float = 0.5, n_flags: int = 1) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.n_features = n_features
        self.noise = noise
        self.n_flags = n_flags
        self.initial_state = nn.Parameter(torch.zeros(hidden_size))
        self.transitions = nn.ModuleList(nn.Linear(hidden_size, hidden_size) for _ in (0, 1))  # one for each bit
        for transition in self.transitions:
            nn.init.orthogonal_(transition.weight)
        self.digit_layers = nn.Sequential(
            nn.Linear(hidden_size + n_flags, n_features), nn.Tanh(), nn.Linear(n_features, n_features), nn.Tanh()
        )
        self.value_layers = nn.Sequential(nn.Linear(n_features, n_features), nn.Tanh(), nn.Linear(n_features, 1))

    def forward(self, heaps: torch.Tensor) -> torch.Tensor:
        """The values for the player to move, -1 to 1, float32 ``(n,)``, of heap sizes, int64 ``(n, n_heaps)``."""
        return self.value(*self.read_digits(heaps))

    def read_digits(self, heaps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The features of the digits of positions.

        Returns:
            The features of all different digits, float32 of shape ``(n_different, n_features)``, and the row of
            each digit there, int64 of shape ``(n, n_digits)``. The highest digit is a leading zero.
        """
        # one leading zero at least, without a flag; more of them change nothing
        n_digits = max(int(heaps.max()).bit_length(), self.n_flags) + 1
        bits = (heaps[:, None, :] >> torch.arange(n_digits)[:, None]) & 1  # (n, n_digits, n_heaps)
        flag = (self.n_flags - torch.arange(n_digits)).clamp(min=0).expand(len(heaps), -1)  # 0 for none
        bits, flag = bits.flatten(0, 1), flag.flatten()
        rows = torch.arange(len(bits))
        if not self.training and heaps.shape[1] < 60:  # without noise, equal digits need one scan only
            powers = torch.arange(heaps.shape[1])
            keys, rows = (bits @ (1 << powers) + (flag << heaps.shape[1])).unique(return_inverse=True)
            bits, flag = (keys[:, None] >> powers) & 1, keys >> heaps.shape[1]
        flags = nn.functional.one_hot(flag, self.n_flags + 1)[:, 1:].float()
        features = self.digit_layers(torch.cat([self.scan(bits), flags], dim=-1))
        return features, rows.unflatten(0, (len(heaps), n_digits))

    def scan(self, bits: torch.Tensor) -> torch.Tensor:
        """The states, ``(n, hidden_size)``, after all heaps, given one digit of each, 0 or 1: ``(n, n_heaps)``."""
        state = self.initial_state.expand(len(bits), -1)
        for bit in bits.unsqueeze(-1).unbind(1):
            state = self.with_noise(self.step(state, bit))
        return state

    def step(self, state: torch.Tensor, bit: torch.Tensor) -> torch.Tensor:
        """The states after one more heap, given its bits, 0 or 1 of shape ``(n, 1)``."""
        return torch.tanh(torch.where(bit > 0, self.transitions[1](state), self.transitions[0](state)))

    def with_noise(self, state: torch.Tensor) -> torch.Tensor:
        return state + self.noise * torch.randn_like(state) if self.training and self.noise else state

    def value(self, features: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """The values, ``(n,)``, from what :meth:`read_digits` returns."""
        return torch.tanh(self.value_layers(self.pool(features[rows]))).squeeze(-1)

    def pool(self, features: torch.Tensor) -> torch.Tensor:
        """The maximum of the features over the digits, from the lowest up to a leading zero."""
        return features.amax(dim=1)


# --- Other networks of train.py -------------------------------------------------------------------


class AffineNetwork(DigitNetwork):
    """The digit network without the tanh of the recurrence."""

    def step(self, state: torch.Tensor, bit: torch.Tensor) -> torch.Tensor:
        return torch.where(bit > 0, self.transitions[1](state), self.transitions[0](state))


class SumNetwork(DigitNetwork):
    """The digit network with a sum over the digits, in which leading zeros do not count, for the maximum."""

    def pool(self, features: torch.Tensor) -> torch.Tensor:
        return (features - features[:, -1:]).sum(dim=1)


class ElmanNetwork(DigitNetwork):
    """The digit network with a cell of PyTorch, which takes the bit as its input."""

    cell_type: type[nn.RNNCellBase] = nn.RNNCell

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        del self.transitions
        self.cell = self.cell_type(1, self.hidden_size)

    def step(self, state: torch.Tensor, bit: torch.Tensor) -> torch.Tensor:
        return self.cell(bit.float(), state)


class GRUNetwork(ElmanNetwork):
    """The same with a gated recurrent unit."""

    cell_type = nn.GRUCell


class LSTMNetwork(ElmanNetwork):
    """The same with a long short-term memory."""

    cell_type = nn.LSTMCell

    def scan(self, bits: torch.Tensor) -> torch.Tensor:
        state = self.initial_state.expand(len(bits), -1)
        memory = torch.zeros_like(state)
        for bit in bits.float().unsqueeze(-1).unbind(1):
            state, memory = (self.with_noise(part) for part in self.cell(bit, (state, memory)))
        return state


NETWORKS: dict[str, type[DigitNetwork]] = {
    "digit": DigitNetwork,
    "affine": AffineNetwork,
    "sum": SumNetwork,
    "elman": ElmanNetwork,
    "gru": GRUNetwork,
    "lstm": LSTMNetwork,
}


# --- Networks of alphazero.py: heap sizes to scores of the actions, (n, n_actions), and values, (n,) -


class PolicyValueNetwork(DigitNetwork):
    """The digit network with a second head, which scores the moves; distill.py trains it too.

    For a move, a small network reads from each digit its features, which the value reads too, and the digit's bits
    in the heap before and after the move. A second one maps the maximum over the digits to the score. The board
    whose moves are scored, ``rules``, may be replaced by another one.
    """

    def __init__(self, rules: NimRules, n_move_features: int = 32, **options: Any) -> None:
        super().__init__(**options)
        self.rules = rules
        m = n_move_features
        # no tanh after the second layer: it saturates there, and moves with equal scores remain
        self.move_layers = nn.Sequential(nn.Linear(self.n_features + 2, m), nn.Tanh(), nn.Linear(m, m))
        self.score_layers = nn.Sequential(nn.Linear(m, m), nn.Tanh(), nn.Linear(m, 1))

    def forward(self, heaps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The scores of all actions, of which those of illegal ones mean nothing, and the values."""
        features, rows = self.read_digits(heaps)
        largest = self.pool_moves(self.move_layers(self.add_changes(features)), rows, heaps)
        return self.score_layers(largest).squeeze(-1), self.value(features, rows)

    def add_changes(self, features: torch.Tensor) -> torch.Tensor:
        """The features of digits, ``(n, n_features)``, with each pair of bits: ``(n, 4, n_features + 2)``."""
        changes = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        pairs = features[:, None].expand(-1, 4, -1), changes.expand(len(features), -1, -1)
        return torch.cat(pairs, dim=-1)

    def pool_moves(self, features: torch.Tensor, rows: torch.Tensor, heaps: torch.Tensor) -> torch.Tensor:
        """The maximum over the digits for each move, float32 of shape ``(n, n_actions, n_move_features)``.

        ``features`` are those of each different digit and change, ``(n_different, 4, n_move_features)``.
        """
        before = heaps[:, torch.tensor(self.rules.move_heaps)]
        after = (before - torch.tensor(self.rules.move_counts)).clamp(min=0)
        largest = torch.tensor(-torch.inf)
        for digit, row in enumerate(rows.unbind(1)):
            change = 2 * ((before >> digit) & 1) + ((after >> digit) & 1)
            of_moves = nn.functional.embedding(4 * row[:, None] + change, features.flatten(0, 1))
            largest = torch.maximum(largest, of_moves)
        return largest

    def value_network(self) -> DigitNetwork:
        """A copy of the network without the second head."""
        network = DigitNetwork(self.hidden_size, self.n_features, n_flags=self.n_flags)
        network.load_state_dict({name: self.state_dict()[name] for name in network.state_dict()})
        return network


class Perceptron(nn.Module):
    """Two hidden layers on the one-hot heap sizes, or on their binary digits."""

    def __init__(self, rules: NimRules, is_binary: bool, width: int = 128) -> None:
        super().__init__()
        sizes = torch.arange(max(rules.heaps) + 1)
        bits = (sizes[:, None] >> torch.arange(max(rules.heaps).bit_length())) & 1
        self.codes = bits.float() if is_binary else torch.eye(len(sizes))
        n_inputs = rules.n_heaps * self.codes.shape[1]
        self.body = nn.Sequential(nn.Linear(n_inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.policy_head = nn.Linear(width, rules.n_actions)
        self.value_head = nn.Linear(width, 1)

    def forward(self, heaps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.body(self.codes[heaps].flatten(1))
        return self.policy_head(features), torch.tanh(self.value_head(features)).squeeze(-1)


class UnaryNetwork(nn.Module):
    """The network of Zhou and Riis: an LSTM reads 0 for each object taken, 1 for each left, -1 between heaps."""

    def __init__(self, rules: NimRules, hidden_size: int = 128) -> None:
        super().__init__()
        self.encoding = checked_encoding("unary", rules)
        self.lstm = nn.LSTM(1, hidden_size, batch_first=True)
        self.policy_head = nn.Linear(hidden_size, rules.n_actions)
        self.value_head = nn.Linear(hidden_size, 1)

    def forward(self, heaps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        tokens = torch.from_numpy(self.encoding(heaps.numpy()))
        features = self.lstm(tokens[..., None])[0][:, -1]
        return self.policy_head(features), torch.tanh(self.value_head(features)).squeeze(-1)


POLICY_VALUE_NETWORKS = {
    "digit": partial(PolicyValueNetwork, hidden_size=16, n_features=32),
    "one_hot": partial(Perceptron, is_binary=False),
    "bits": partial(Perceptron, is_binary=True),
    "unary": UnaryNetwork,
}


# --- Players --------------------------------------------------------------------------------------


@torch.no_grad()
def predict(network: nn.Module, heaps: np.ndarray) -> np.ndarray:
    """A network's values of positions, ``(n, n_heaps)``: float32 of shape ``(n,)``."""
    network.eval()
    return np.concatenate([network(part).numpy() for part in torch.from_numpy(heaps).split(2**15)])


def action_values(network: nn.Module, rules: NimRules, heaps: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
    """The value of each action by one ply of lookahead, float32 of shape ``(n, n_actions)``.

    It is the reward where the action ends the game, -inf where it is illegal, otherwise minus the network's value
    of the next position.
    """
    rows, actions = np.nonzero(action_mask)
    next_heaps = rules.apply(heaps[rows], actions)
    values = np.full(action_mask.shape, -np.inf, dtype=np.float32)
    is_over = rules.is_over(next_heaps)
    values[rows, actions] = np.where(is_over, rules.terminal_reward, -predict(network, next_heaps))
    return values


class NetworkPolicy(BatchedPolicy):
    """One-ply greedy play: the action that leads to the position of the smallest value for the opponent."""

    def __init__(self, network: nn.Module, rules: NimRules) -> None:
        super().__init__(self.greedy_actions)
        self.network = network
        self.rules = rules

    def greedy_actions(self, heaps: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        return self.action_scores(heaps.astype(np.int64), action_mask).argmax(axis=1)

    def action_scores(self, heaps: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        """What the greedy action maximizes: float32 of shape ``(n, n_actions)``, -inf for illegal actions."""
        return action_values(self.network, self.rules, heaps, action_mask)

    def values(self, positions: np.ndarray) -> np.ndarray:
        """The network's values of positions, ``(n, n_heaps)``: float32 of shape ``(n,)``."""
        return predict(self.network, positions)


class ScorePolicy(NetworkPolicy):
    """Greedy play without lookahead: the action of the highest score of a network with both heads."""

    def __init__(self, network: PolicyValueNetwork, rules: NimRules) -> None:
        super().__init__(network.value_network(), rules)
        self.policy_network = network.eval()

    @torch.no_grad()
    def action_scores(self, heaps: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        self.policy_network.rules = self.rules
        parts = torch.from_numpy(heaps).split(max(2**18 // self.rules.n_actions, 1))
        scores = np.concatenate([self.policy_network(part)[0].numpy() for part in parts])
        return np.where(action_mask, scores, -np.inf)


# --- Files ----------------------------------------------------------------------------------------


def save_network(network: DigitNetwork, path: Path, *, misere: bool, max_take: int | None = None) -> None:
    """Saves a network of :data:`NETWORKS`, or with both heads, and the rules of the games of training."""
    path.parent.mkdir(parents=True, exist_ok=True)
    name = next(name for name, kind in NETWORKS.items() if type(network) in (kind, PolicyValueNetwork))
    rules = {"misere": misere, "max_take": max_take}
    torch.save({"network": name, "weights": network.state_dict(), **rules}, path)


def load_network(path: Path) -> tuple[DigitNetwork, dict[str, Any]]:
    """A saved network, and the ``misere`` and ``max_take`` of the games that it was trained on."""
    try:
        saved = torch.load(path, weights_only=True)
        weights = saved["weights"]
        hidden_size = len(weights["initial_state"])
        n_features, n_inputs = weights["digit_layers.0.weight"].shape
        sizes = {"hidden_size": hidden_size, "n_features": n_features, "n_flags": n_inputs - hidden_size}
        if "score_layers.0.bias" in weights:
            network = PolicyValueNetwork(NimRules((1,)), len(weights["score_layers.0.bias"]), **sizes)
        else:
            network = NETWORKS[saved["network"]](**sizes)
        network.load_state_dict(weights)
        rules = {"misere": saved["misere"], "max_take": saved["max_take"]}
        if not all(weight.isfinite().all() for weight in network.parameters()):
            raise ValueError("a weight is not finite")
    except Exception as error:  # torch, pickle and zipfile raise many kinds
        raise ValueError(f"{path} is not a network of train.py or distill.py: {error}") from error
    return network.eval(), rules


def load_provable(path: Path) -> tuple[DigitNetwork, bool]:
    """A digit network, and whether it plays misère; a ValueError for networks that no proof is about."""
    network, rules = load_network(path)
    if isinstance(network, PolicyValueNetwork):
        network = network.value_network()
    if type(network) is not DigitNetwork or network.n_flags != 1 or rules["max_take"] is not None:
        raise ValueError(f"{path} must hold a digit network with one flag, trained with max_take=None")
    return network, rules["misere"]


def load_policy(path: Path, rules: NimRules) -> NetworkPolicy:
    """A saved network as a player of the same rules, by the scores of its policy head if it has one."""
    network, trained_on = load_network(path)
    if NimRules(rules.heaps, **trained_on) != rules:
        raise ValueError(f"{path} holds a network trained with {trained_on}, not a player of {rules}")
    player = ScorePolicy if isinstance(network, PolicyValueNetwork) else NetworkPolicy
    return player(network, rules)
