"""Trains a policy for Nim that chooses a move without looking one ply ahead, on boards of any size.

A network that was trained by train.py gets a second head, which scores the moves (PolicyValueNetwork in
network.py). The head is trained on positions of small boards. It learns to give positive scores to the moves that
win by the network's own values, and negative scores to all other moves (policy distillation, Rusu et al. 2015,
arXiv:1511.06295).

The inputs of the head are the features of the digits, which differ slightly on larger boards. So the head is
trained to be right for all features within a radius (interval bound propagation, Gowal et al. 2018,
arXiv:1810.12715). In normal play, prove.py can then prove that the policy is perfect on every board.

    cd examples
    python -m learn_the_rule.train --seed 1
    python -m learn_the_rule.distill results/learn_the_rule/network.pt
    python -m learn_the_rule.prove results/learn_the_rule/policy.pt

It takes about a minute.

Install: pip install -e ".[examples,sb3]"
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from command_line import run

import numpy as np
import torch
import tyro
from torch import nn
from tqdm import trange

from nim_env import NimRules

from learn_the_rule.network import (
    PolicyValueNetwork,
    action_values,
    add_changes,
    load_provable,
    pool_moves,
    save_network,
)

N_HEAPS = 5  # the number of heaps of the largest training board
MAX_HEAP = 7  # the number of objects in each heap
BATCH_SIZE = 32  # the number of positions of each training board in an update
LEARNING_RATE = 3e-3


@dataclass
class Args:
    network: Annotated[Path, tyro.conf.Positional]
    """A network saved by train.py."""
    updates: int = 1000
    radius: float = 0.1
    """The scores are trained to stay right if each feature of a digit changes by up to this much."""
    seed: int = 0
    policy: Path = Path("results/learn_the_rule/policy.pt")
    """Where the network with both heads is saved."""


def main(args: Args) -> PolicyValueNetwork:
    """Trains a policy head, saves the network with both heads, and returns it."""
    value_network, misere = load_provable(args.network)
    torch.set_num_threads(1)  # more threads would not speed up such small tensors
    torch.manual_seed(args.seed)
    network = PolicyValueNetwork(hidden_size=value_network.hidden_size, n_features=value_network.n_features)
    network.load_state_dict(value_network.state_dict(), strict=False)  # everything except the policy head
    train(network, args, misere)
    save_network(network, args.policy, misere=misere)
    print(f"network: {args.policy}")
    return network


def train(network: PolicyValueNetwork, args: Args, misere: bool) -> None:
    """Trains the policy head of a network, in place, to score winning moves above 0 and all other moves below 0.

    Whether a move wins is determined by the network's own values. The loss is computed from the bounds of the
    scores: the lower bound for winning moves, and the upper bound for all others.
    """
    generator = np.random.default_rng(args.seed)
    head = [*network.move_layers.parameters(), *network.score_layers.parameters()]
    optimizer = torch.optim.Adam(head, lr=LEARNING_RATE)
    boards = [NimRules((MAX_HEAP,) * n_heaps, misere=misere) for n_heaps in range(1, N_HEAPS + 1)]
    network.eval()
    for update in trange(1, args.updates + 1, desc="updates", disable=None):
        radius = args.radius * min(1, 2 * update / args.updates)
        winning, losing = [], []  # the bounds of the scores, positive if they have the right sign
        for rules in boards:
            heaps = rules.from_index(generator.integers(1, rules.n_positions, size=BATCH_SIZE))
            mask = rules.action_mask(heaps)
            is_winning = torch.from_numpy(action_values(network, rules, heaps, mask) > 0)
            low, high = score_bounds(network, rules, torch.from_numpy(heaps), radius)
            winning.append(low[is_winning])
            losing.append(-high[torch.from_numpy(mask > 0) & ~is_winning])
        loss = sum(nn.functional.softplus(-torch.cat(bounds)).mean() for bounds in (winning, losing))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def score_bounds(
    network: PolicyValueNetwork, rules: NimRules, heaps: torch.Tensor, radius: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Bounds the scores of all moves if each feature of a digit changes by up to ``radius``.

    Returns the lower and the upper bounds for positions ``heaps``, float32 of shape ``(n, n_actions)``.
    """
    with torch.no_grad():
        features, rows = network.read_digits(heaps)
    inputs = add_changes(features)
    difference = torch.tensor([radius] * network.n_features + [0.0, 0.0])
    ends = propagate(network.move_layers, inputs - difference, inputs + difference)
    low, high = propagate(network.score_layers, *(pool_moves(end, rows, rules, heaps) for end in ends))
    return low.squeeze(-1), high.squeeze(-1)


def propagate(layers: nn.Sequential, low: torch.Tensor, high: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Bounds the outputs of layers, which are linear or tanh, for inputs between ``low`` and ``high``.

    Returns the lower and the upper bounds (Gowal et al. 2018, section 3).
    """
    for layer in layers:
        if isinstance(layer, nn.Linear):
            center, radius = layer((low + high) / 2), (high - low) / 2 @ layer.weight.abs().T
            low, high = center - radius, center + radius
        else:
            low, high = layer(low), layer(high)
    return low, high


if __name__ == "__main__":
    run(main, Args)
