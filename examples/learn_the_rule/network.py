"""The digit network: values of Nim positions from the binary digits of the heaps, for boards of any size.

A recurrent cell scans the heaps, once for each binary digit of their sizes, with the same weights for each digit.
The digit's bit in a heap selects one of two transitions. A small network maps the final state of each digit to
features, and a second one maps the maximum of the features over the digits to the value. The architecture has
these parts built in: digits, weights that all digits share, a maximum over the digits, and a flag for the lowest
digit.

train.py trains it, evaluate.py evaluates it, prove.py searches for a proof that it plays every board perfectly.

Source: second-order recurrent networks, Giles et al. (1992), "Learning and extracting finite state automata with
second-order recurrent neural networks", Neural Computation 4(3), p. 393.

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from nim_env import NimRules


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
        self.hidden_size, self.n_features, self.noise, self.n_flags = hidden_size, n_features, noise, n_flags
        self.initial_state = nn.Parameter(torch.zeros(hidden_size))
        self.transitions = nn.ModuleList(nn.Linear(hidden_size, hidden_size) for _ in (0, 1))  # one for each bit
        for transition in self.transitions:
            nn.init.orthogonal_(transition.weight)
        self.digit_layers = nn.Sequential(
            nn.Linear(hidden_size + n_flags, n_features), nn.Tanh(), nn.Linear(n_features, n_features), nn.Tanh()
        )
        self.value_layers = nn.Sequential(nn.Linear(n_features, n_features), nn.Tanh(), nn.Linear(n_features, 1))

    def scan(self, bits: torch.Tensor) -> torch.Tensor:
        """The recurrent states after the heaps, one after another.

        Args:
            bits: One digit of each heap, 0 or 1, shape ``(n, n_heaps)``.

        Returns:
            float32 of shape ``(n, hidden_size)``.
        """
        state = self.initial_state.expand(len(bits), -1)
        for bit in bits.unsqueeze(-1).unbind(1):
            state = self.with_noise(self.step(state, bit))
        return state

    def step(self, state: torch.Tensor, bit: torch.Tensor) -> torch.Tensor:
        """The recurrent states after one more heap, given its bits, 0 or 1 of shape ``(n, 1)``."""
        return torch.tanh(torch.where(bit > 0, self.transitions[1](state), self.transitions[0](state)))

    def with_noise(self, state: torch.Tensor) -> torch.Tensor:
        """The recurrent state, in training mode with noise."""
        return state + self.noise * torch.randn_like(state) if self.training and self.noise else state

    def read_digits(self, heaps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The features of the digits of positions.

        Args:
            heaps: Heap sizes, int64 of shape ``(n, n_heaps)``.

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

    def value(self, features: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """The values, float32 of shape ``(n,)``, from what :meth:`read_digits` returns."""
        return torch.tanh(self.value_layers(self.pool(features[rows]))).squeeze(-1)

    def pool(self, features: torch.Tensor) -> torch.Tensor:
        """The maximum of the features over the digits, from the lowest up to a leading zero."""
        return features.amax(dim=1)

    def forward(self, heaps: torch.Tensor) -> torch.Tensor:
        """The values of the player to move, between -1 and 1.

        Args:
            heaps: Heap sizes, int64 of shape ``(n, n_heaps)``.

        Returns:
            float32 of shape ``(n,)``.
        """
        return self.value(*self.read_digits(heaps))


class PolicyValueNetwork(DigitNetwork):
    """The digit network with a second head, which scores the moves; alphazero.py and distill.py train it.

    For a move, a small network reads from each digit its features, which the value reads too, and the digit's bits
    in the heap before and after the move. A second one maps the maximum over the digits to the score.

    Args:
        rules: The game whose moves are scored, an attribute that may be replaced by another board.
        n_move_features: The number of features of a digit and its change.
        **options: The arguments of :class:`DigitNetwork`.
    """

    def __init__(self, rules: NimRules, n_move_features: int = 32, **options: Any) -> None:
        super().__init__(**options)
        self.rules = rules
        # no tanh after the second layer: it saturates there, and moves with equal scores remain
        self.move_layers = nn.Sequential(
            nn.Linear(self.n_features + 2, n_move_features),
            nn.Tanh(),
            nn.Linear(n_move_features, n_move_features),
        )
        self.score_layers = nn.Sequential(
            nn.Linear(n_move_features, n_move_features), nn.Tanh(), nn.Linear(n_move_features, 1)
        )

    def forward(self, heaps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The scores of all actions, of which those of illegal ones mean nothing, and the values.

        Args:
            heaps: Heap sizes, int64 of shape ``(n, n_heaps)``.

        Returns:
            float32 of shape ``(n, n_actions)`` and ``(n,)``.
        """
        features, rows = self.read_digits(heaps)
        largest = self.pool_moves(self.move_layers(self.add_changes(features)), rows, heaps)
        return self.score_layers(largest).squeeze(-1), self.value(features, rows)

    def value_network(self) -> DigitNetwork:
        """A copy of the network without the second head."""
        network = DigitNetwork(self.hidden_size, self.n_features, n_flags=self.n_flags)
        network.load_state_dict({name: self.state_dict()[name] for name in network.state_dict()})
        return network

    def add_changes(self, features: torch.Tensor) -> torch.Tensor:
        """The features of digits, ``(n, n_features)``, with each pair of bits: ``(n, 4, n_features + 2)``."""
        changes = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        pairs = features[:, None].expand(-1, 4, -1), changes.expand(len(features), -1, -1)
        return torch.cat(pairs, dim=-1)

    def pool_moves(self, features: torch.Tensor, rows: torch.Tensor, heaps: torch.Tensor) -> torch.Tensor:
        """The maximum over the digits for each move, float32 of shape ``(n, n_actions, n_move_features)``.

        Args:
            features: Of each different digit and change, float32 of shape ``(n_different, 4, n_move_features)``.
            rows: The row of each digit there, int64 of shape ``(n, n_digits)``.
            heaps: Heap sizes, int64 of shape ``(n, n_heaps)``.
        """
        before = heaps[:, torch.tensor(self.rules.move_heaps)]
        after = (before - torch.tensor(self.rules.move_counts)).clamp(min=0)
        largest = None
        for digit, row in enumerate(rows.unbind(1)):
            change = 2 * ((before >> digit) & 1) + ((after >> digit) & 1)
            of_moves = nn.functional.embedding(4 * row[:, None] + change, features.flatten(0, 1))
            largest = of_moves if largest is None else torch.maximum(largest, of_moves)
        return largest


# --- Players ---------------------------------------------------------------------------------


@torch.no_grad()
def predict(network: nn.Module, heaps: np.ndarray) -> np.ndarray:
    """A network's values of positions, ``(n, n_heaps)``: float32 of shape ``(n,)``."""
    network.eval()
    return np.concatenate([network(part).numpy() for part in torch.from_numpy(heaps).split(2**15)])


def action_values(network: nn.Module, rules: NimRules, heaps: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
    """The value of each action by one ply of lookahead.

    Returns:
        float32 of shape ``(n, n_actions)``: the reward where the action ends the game, -inf where it is illegal,
        otherwise minus the network's value of the next position.
    """
    rows, actions = np.nonzero(action_mask)
    next_heaps = rules.apply(heaps[rows], actions)
    values = np.full(action_mask.shape, -np.inf, dtype=np.float32)
    is_over = rules.is_over(next_heaps)
    values[rows, actions] = np.where(is_over, rules.terminal_reward, -predict(network, next_heaps))
    return values


class NetworkPolicy:
    """One-ply greedy play: the action that leads to the position of the smallest value for the opponent.

    Args:
        network: Maps heap sizes ``(n, n_heaps)`` to values ``(n,)``.
        rules: The game.
    """

    def __init__(self, network: nn.Module, rules: NimRules) -> None:
        self.network, self.rules = network, rules

    def action_probabilities(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        """Probability 1 for the greedy action: float64 of shape ``(..., n_actions)``."""
        heaps = np.reshape(observation, (-1, self.rules.n_heaps)).astype(np.int64)
        mask = np.reshape(action_mask, (-1, self.rules.n_actions))
        greedy = self.action_scores(heaps, mask).argmax(axis=1)
        return (np.arange(mask.shape[1]) == greedy[:, None]).astype(float).reshape(np.shape(action_mask))

    def action_scores(self, heaps: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        """What the greedy action maximizes: float32 of shape ``(n, n_actions)``, -inf for illegal actions."""
        return action_values(self.network, self.rules, heaps, action_mask)

    def values(self, positions: np.ndarray) -> np.ndarray:
        """The network's values of positions, ``(n, n_heaps)``: float32 of shape ``(n,)``."""
        return predict(self.network, positions)


class ScorePolicy(NetworkPolicy):
    """Greedy play without lookahead: the action of the highest score of the second head.

    Args:
        network: A network with both heads.
        rules: The game.
    """

    def __init__(self, network: PolicyValueNetwork, rules: NimRules) -> None:
        super().__init__(network.value_network(), rules)
        self.policy_network = network.eval()

    @torch.no_grad()
    def action_scores(self, heaps: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        """The scores: float32 of shape ``(n, n_actions)``, -inf for illegal actions."""
        self.policy_network.rules = self.rules
        parts = torch.from_numpy(heaps).split(max(2**18 // self.rules.n_actions, 1))
        scores = np.concatenate([self.policy_network(part)[0].numpy() for part in parts])
        return np.where(action_mask, scores, -np.inf)


# --- Files ----------------------------------------------------------------------------------------


def save_network(network: DigitNetwork, path: Path, *, misere: bool, max_take: int | None = None) -> None:
    """Saves the weights and the rules of the games of training, for :func:`load_network`."""
    torch.save({"weights": network.state_dict(), "misere": misere, "max_take": max_take}, path)


def load_network(path: Path) -> tuple[DigitNetwork, dict[str, Any]]:
    """The value network of a file, and the ``misere`` and ``max_take`` of the games that it was trained on.

    Raises:
        ValueError: There is no such file, or it is damaged or holds something else.
    """
    network, rules = _load(path)
    return network.value_network().eval() if isinstance(network, PolicyValueNetwork) else network, rules


def load_policy(path: Path, rules: NimRules) -> NetworkPolicy:
    """A saved network as a player, by the scores of its policy head if it has one.

    Raises:
        ValueError: The file is damaged, or the network was trained on games with other rules.
    """
    network, trained_on = _load(path)
    if trained_on != {"misere": rules.misere, "max_take": rules.max_take}:
        options = ", ".join(f"{name}={value}" for name, value in trained_on.items())
        raise ValueError(f"{path} holds a network trained with {options}, not a player of {rules}")
    return (
        ScorePolicy(network, rules) if isinstance(network, PolicyValueNetwork) else NetworkPolicy(network, rules)
    )


def _load(path: Path) -> tuple[DigitNetwork, dict[str, Any]]:
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        saved = torch.load(path, weights_only=True)
        weights = saved["weights"]
        hidden_size, (n_features, n_inputs) = len(weights["initial_state"]), weights["digit_layers.0.weight"].shape
        sizes = {"hidden_size": hidden_size, "n_features": n_features, "n_flags": n_inputs - hidden_size}
        network = DigitNetwork(**sizes)
        if "score_layers.0.bias" in weights:
            network = PolicyValueNetwork(NimRules((1,)), len(weights["score_layers.0.bias"]), **sizes)
        network.load_state_dict(weights)
        rules = {"misere": saved["misere"], "max_take": saved["max_take"]}
        if not all(weight.isfinite().all() for weight in network.parameters()):
            raise ValueError("a weight is not finite")
    except Exception as error:  # torch, pickle and zipfile raise many kinds
        reason = str(error).partition("\n")[0].partition(". ")[0]
        raise ValueError(f"{path} is damaged or not a network of train.py or distill.py: {reason}") from error
    return network.eval(), rules
