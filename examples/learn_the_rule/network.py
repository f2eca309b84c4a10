"""The digit network, which values Nim positions of any size, its policy head, their players, and their files.

A recurrent cell scans the heaps once for each binary digit of their sizes, with the same weights for each digit.
In each heap, the digit's bit selects one of two transitions. A small network maps the final state of each digit to
features, and a second one maps the maximum of the features over the digits to the value.

Four things are built in: the binary digits, the shared weights, the maximum over the digits, and a flag for the
lowest digit. Everything else is learned.

Source: second-order recurrent networks, Giles et al. (1992, Neural Computation 4(3), p. 393).

Install: pip install -e ".[examples,sb3]"
"""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from nim_env import NimRules
from nim_env.policies import BatchedPolicy


class DigitNetwork(nn.Module):
    """Computes the value of a position from the binary digits of its heaps, for any number of heaps of any size.

    Args:
        hidden_size: The size of the recurrent state.
        n_features: The number of features of a digit.
        noise: The standard deviation of the Gaussian noise that training mode adds to the recurrent state.
        n_flags: The number of lowest digits that have a flag of their own.
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
        """Values positions, int64 of shape ``(n, n_heaps)``, for the player to move.

        Returns numbers between -1 and 1, float32 of shape ``(n,)``.
        """
        features, rows = self.read_digits(heaps)
        return torch.tanh(self.value_layers(features[rows].amax(dim=1))).squeeze(-1)

    def read_digits(self, heaps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Computes the features of the digits of positions, ``(n, n_heaps)``. Equal digits are computed only once.

        Returns the features of all different digits, float32 of shape ``(n_different, n_features)``, and for each
        position and digit the row of its features, int64 of shape ``(n, n_digits)``. The digits are in rising
        order, and the highest is a leading zero.
        """
        # the highest digit is a leading zero without a flag; more such digits would change nothing
        n_digits = max(int(heaps.max()).bit_length(), self.n_flags) + 1
        bits = (heaps[:, None, :] >> torch.arange(n_digits)[:, None]) & 1  # (n, n_digits, n_heaps)
        flag = (self.n_flags - torch.arange(n_digits)).clamp(min=0).expand(len(heaps), -1)  # 0 for none
        bits, flag = bits.flatten(0, 1), flag.flatten()
        rows = torch.arange(len(bits))
        n_heaps = heaps.shape[1]
        if not self.training and n_heaps < 60:  # without noise, one scan is enough for all equal digits
            # the key of a digit is an integer of 64 bits: the digit's bits, and above them its flag
            keys, rows = (bits @ (1 << torch.arange(n_heaps)) + (flag << n_heaps)).unique(return_inverse=True)
            bits, flag = (keys[:, None] >> torch.arange(n_heaps)) & 1, keys >> n_heaps
        flags = nn.functional.one_hot(flag, self.n_flags + 1)[:, 1:].float()
        features = self.digit_layers(torch.cat([self.scan(bits), flags], dim=-1))
        return features, rows.unflatten(0, (len(heaps), n_digits))

    def scan(self, bits: torch.Tensor) -> torch.Tensor:
        """Scans ``n`` digits. ``bits`` has the bit of each digit in each heap, int64 of shape ``(n, n_heaps)``.

        Returns the recurrent states after the last heap, float32 of shape ``(n, hidden_size)``.
        """
        state = self.initial_state.expand(len(bits), -1)
        for bit in bits.unsqueeze(-1).unbind(1):
            state = torch.tanh(torch.where(bit > 0, self.transitions[1](state), self.transitions[0](state)))
            if self.training and self.noise:
                state = state + self.noise * torch.randn_like(state)
        return state


class PolicyValueNetwork(DigitNetwork):
    """The digit network with a second head, which scores the moves. distill.py trains it.

    For each digit, a small network with ``n_move_features`` outputs reads the features that the value is computed
    from, and the digit's bits in the moved heap before and after the move. A second network maps the maximum over
    the digits to the score. ``options`` are arguments of DigitNetwork.
    """

    def __init__(self, n_move_features: int = 32, **options: int) -> None:
        super().__init__(**options)
        m = n_move_features
        # a tanh after the second layer would saturate and leave moves with equal scores
        self.move_layers = nn.Sequential(nn.Linear(self.n_features + 2, m), nn.Tanh(), nn.Linear(m, m))
        self.score_layers = nn.Sequential(nn.Linear(m, m), nn.Tanh(), nn.Linear(m, 1))

    def scores(self, rules: NimRules, heaps: torch.Tensor) -> torch.Tensor:
        """Scores all actions in positions, int64 of shape ``(n, n_heaps)``.

        Returns float32 of shape ``(n, n_actions)``. The scores of illegal actions have no meaning.
        """
        features, rows = self.read_digits(heaps)
        largest = pool_moves(self.move_layers(add_changes(features)), rows, rules, heaps)
        return self.score_layers(largest).squeeze(-1)


def add_changes(features: torch.Tensor) -> torch.Tensor:
    """Appends the bits before and after a move, which form one of four pairs, to the features of digits.

    Takes features of shape ``(n, n_features)``, and returns all four combinations for each digit, of shape
    ``(n, 4, n_features + 2)``.
    """
    changes = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    pairs = features[:, None].expand(-1, 4, -1), changes.expand(len(features), -1, -1)
    return torch.cat(pairs, dim=-1)


def pool_moves(features: torch.Tensor, rows: torch.Tensor, rules: NimRules, heaps: torch.Tensor) -> torch.Tensor:
    """Computes the maximum over the digits of the features of each move.

    ``features`` has the features of each different digit with each of the four pairs of :func:`add_changes`, of
    shape ``(n_different, 4, n_move_features)``. ``rows`` has the row of ``features`` for each position and digit.
    Returns the maxima, of shape ``(n, n_actions, n_move_features)``.
    """
    before = heaps[:, torch.tensor(rules.move_heaps)]
    after = (before - torch.tensor(rules.move_counts)).clamp(min=0)
    largest = torch.tensor(-torch.inf)
    for digit, row in enumerate(rows.unbind(1)):
        change = 2 * ((before >> digit) & 1) + ((after >> digit) & 1)
        of_moves = nn.functional.embedding(4 * row[:, None] + change, features.flatten(0, 1))
        largest = torch.maximum(largest, of_moves)
    return largest


@torch.no_grad()
def predict(network: nn.Module, heaps: np.ndarray) -> np.ndarray:
    """Returns a network's values, float32 of shape ``(n,)``, for positions of shape ``(n, n_heaps)``."""
    network.eval()
    return np.concatenate([network(part).numpy() for part in torch.from_numpy(heaps).split(2**15)])


def action_values(network: nn.Module, rules: NimRules, heaps: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
    """Computes the value of each action in positions by looking one ply ahead.

    The value is the reward if the action ends the game, and otherwise minus the network's value of the next
    position. It is -inf for illegal actions. Returns float32 of shape ``(n, n_actions)``.
    """
    rows, actions = np.nonzero(action_mask)
    next_heaps = rules.apply(heaps[rows], actions)
    values = np.full(action_mask.shape, -np.inf, dtype=np.float32)
    is_over = rules.is_over(next_heaps)
    values[rows, actions] = np.where(is_over, rules.terminal_reward, -predict(network, next_heaps))
    return values


class NetworkPolicy(BatchedPolicy):
    """A player that looks one ply ahead, and leaves the opponent the position with the smallest value."""

    def __init__(self, network: nn.Module, rules: NimRules) -> None:
        super().__init__(self.best_actions)
        self.network = network
        self.rules = rules

    def best_actions(self, heaps: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        return action_values(self.network, self.rules, heaps.astype(np.int64), action_mask).argmax(axis=1)

    def values(self, positions: np.ndarray) -> np.ndarray:
        """Returns the network's values, float32 of shape ``(n,)``, for positions of shape ``(n, n_heaps)``."""
        return predict(self.network, positions)


class ScorePolicy(NetworkPolicy):
    """A player that chooses the action with the highest score of a PolicyValueNetwork, without lookahead."""

    @torch.no_grad()
    def best_actions(self, heaps: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        self.network.eval()
        parts = torch.from_numpy(heaps.astype(np.int64)).split(max(2**18 // self.rules.n_actions, 1))
        scores = np.concatenate([self.network.scores(self.rules, part).numpy() for part in parts])
        return np.where(action_mask, scores, -np.inf).argmax(axis=1)


def save_network(network: DigitNetwork, path: Path, *, misere: bool, max_take: int | None = None) -> None:
    """Saves a network, together with the ``misere`` and ``max_take`` of the games that it was trained on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"weights": network.state_dict(), "misere": misere, "max_take": max_take}, path)


def load_network(path: Path) -> tuple[DigitNetwork, dict[str, int | None]]:
    """Loads a network that was saved by train.py or distill.py.

    Returns the network, and a dictionary with ``misere`` and ``max_take`` of the games that it was trained on.
    """
    try:
        saved = torch.load(path, weights_only=True)
        weights = saved["weights"]
        hidden_size = len(weights["initial_state"])
        n_features, n_inputs = weights["digit_layers.0.weight"].shape
        sizes = {"hidden_size": hidden_size, "n_features": n_features, "n_flags": n_inputs - hidden_size}
        if "score_layers.0.bias" in weights:
            network = PolicyValueNetwork(len(weights["score_layers.0.bias"]), **sizes)
        else:
            network = DigitNetwork(**sizes)
        network.load_state_dict(weights)
        rules = {"misere": saved["misere"], "max_take": saved["max_take"]}
        if not all(weight.isfinite().all() for weight in network.parameters()):
            raise ValueError("a weight is not finite")
    except Exception as error:  # torch, pickle and zipfile raise many types of errors
        raise ValueError(f"{path} is not a network saved by train.py or distill.py: {error}") from error
    return network.eval(), rules


def load_provable(path: Path) -> tuple[DigitNetwork, bool]:
    """Loads a network for a proof. Returns it, and whether it plays misère.

    Raises ValueError if the proof does not cover it, because its ``n_flags`` is not 1 or it has a ``max_take``.
    """
    network, rules = load_network(path)
    if network.n_flags != 1 or rules["max_take"] is not None:
        raise ValueError(
            f"{path} holds a network with n_flags={network.n_flags} and max_take={rules['max_take']}; "
            "only a network with n_flags=1 and max_take=None can be proven"
        )
    return network, bool(rules["misere"])


def load_policy(path: Path, rules: NimRules) -> NetworkPolicy:
    """Loads a network as a player. It plays by its policy head if it has one.

    Raises ValueError if it was trained with another ``misere`` or ``max_take`` than ``rules`` has.
    """
    network, trained_on = load_network(path)
    if NimRules(rules.heaps, **trained_on) != rules:
        raise ValueError(f"{path} holds a network trained with {trained_on}, which cannot play {rules}")
    player = ScorePolicy if isinstance(network, PolicyValueNetwork) else NetworkPolicy
    return player(network, rules)
