"""Trains a small network that learns the rule of Nim on small boards, and then plays boards of any size.

The network (network.py) estimates the value of a position for the player to move. It trains by self-play with one
ply of lookahead: the target of a position is the value of its best move, which is the reward if the move ends the
game, and otherwise minus the value of the next position. Moves are ε-greedy. Nothing computes a nim-sum.

    cd examples
    python -m learn_the_rule.train
    python -m learn_the_rule.train --misere --seed 1 --folder results/misere_1
    python play.py --heaps 9 20 31 50 --no-misere --opponent results/learn_the_rule/network.pt

The script saves the network, and prints how well it plays larger boards and whether prove.py can prove it. This
takes a minute.

Install: pip install -e ".[examples,proof,sb3]"
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import run

import gymnasium as gym
import numpy as np
import pandas as pd
import torch
from torch import nn
from tqdm import trange

from nim_env import NimRules, evaluation

from learn_the_rule.network import DigitNetwork, NetworkPolicy, action_values, predict, save_network
from learn_the_rule.prove import prove

TEST_BOARDS = ((5, 7), (20, 7), (7, 15), (10, 15), (20, 15), (50, 15), (10, 63))  # heaps, objects in each
OUTCOME_BOARD = (20, 15)  # on this board, the signs of the values are tested as well
N_POSITIONS = 500
EPSILON = 0.3  # the probability of a random move in training


@dataclass
class Args:
    noise: float = 0.5
    """The standard deviation of the Gaussian noise on the recurrent state in training."""
    n_flags: int = 1
    """The number of lowest digits that the network can tell from the others. Games with a max_take of 1, 3 or 7
    need 1, 2 or 3 of them."""
    n_heaps: int = 5
    """The maximum number of heaps. Training uses one board for each number of heaps from 1 to this maximum."""
    max_heap: int = 7
    """The number of objects in each heap of a training board."""
    max_take: int | None = None
    misere: bool = False
    """Whether the player who takes the last object loses."""
    random_start: bool = True
    """Whether episodes start from random positions instead of full heaps."""
    updates: int = 1500
    """The number of updates. Before each update, every environment makes one step."""
    num_envs: int = 64
    """The number of environments for each training board."""
    learning_rate: float = 3e-3
    seed: int = 0
    folder: Path = Path("results/learn_the_rule")


def main(args: Args) -> dict[str, Any]:
    """Trains a network, saves it, and prints and returns its metrics.

    The metric of a test board, such as "20 × 15", is expert mastery: the fraction of sampled winning positions in
    which the network plays a winning move. ``outcome`` is the fraction of sampled positions whose value has the
    right sign. ``proven`` is 1 if prove.py proves the network, otherwise 0. It is missing if the options are such
    that no proof is possible.
    """
    torch.set_num_threads(1)  # more threads would not speed up such small tensors
    torch.manual_seed(args.seed)
    network = DigitNetwork(noise=args.noise, n_flags=args.n_flags)
    start = time.process_time()
    train(network, args)
    row = {"seed": args.seed, "seconds": time.process_time() - start}
    save_network(network, args.folder / "network.pt", misere=args.misere, max_take=args.max_take)
    generator = np.random.default_rng(args.seed)
    for n_heaps, size in TEST_BOARDS:
        board = f"{n_heaps} × {size}"
        rules = NimRules((size,) * n_heaps, args.max_take, args.misere)
        mastery = evaluation.sampled_mastery(rules, NetworkPolicy(network, rules), N_POSITIONS, generator)
        row[board] = mastery.expert
        # drawn on all boards, so the positions of later boards stay the published ones
        lost = evaluation.sample_losing_positions(rules, N_POSITIONS, generator)
        if (n_heaps, size) == OUTCOME_BOARD:
            right = np.concatenate([predict(network, mastery.positions) > 0, predict(network, lost) < 0])
            row[f"{board}, outcome"] = float(right.mean())
    if args.n_flags == 1 and args.max_take is None:
        row["proven"] = float(prove(network, args.misere).margin is not None)
    print(pd.Series(row).to_string())
    print(f"network: {args.folder / 'network.pt'}")
    return row


def train(network: DigitNetwork, args: Args) -> list[float]:
    """Trains a network by self-play and returns the loss of each update."""
    optimizer = torch.optim.Adam(network.parameters(), lr=args.learning_rate)
    generator = np.random.default_rng([args.seed, 0])  # independent of the generator of the test positions
    torch.manual_seed(int(generator.integers(2**31)))
    envs = make_envs(args)
    states = [env.reset(seed=int(generator.integers(2**31))) for env in envs]
    losses = []
    for _ in trange(args.updates, desc="updates", disable=None):
        board_losses = []
        for i, env in enumerate(envs):
            heaps, info = states[i]
            mask = info["action_mask"]
            # learn the value of the best move
            values = action_values(network, env.unwrapped.rules, heaps, mask)
            network.train()  # adds the noise
            targets = torch.from_numpy(values.max(axis=1))
            board_losses.append(nn.functional.mse_loss(network(torch.from_numpy(heaps)), targets))
            # move ε-greedily
            random_actions = (generator.random(mask.shape) * mask).argmax(axis=1)
            explores = generator.random(args.num_envs) < EPSILON
            heaps, *_, info = env.step(np.where(explores, random_actions, values.argmax(axis=1)))
            states[i] = heaps, info
        loss = torch.stack(board_losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def make_envs(args: Args) -> list[gym.vector.VectorEnv]:
    """Returns the training environments: a vector environment for each number of heaps."""
    return [
        gym.make_vec(
            "nim_env:Nim-v0",
            num_envs=args.num_envs,
            heaps=(args.max_heap,) * n_heaps,
            max_take=args.max_take,
            misere=args.misere,
            opponent=None,  # the network moves for both players
            random_start=args.random_start,
            autoreset_mode="SameStep",
        )
        for n_heaps in range(1, args.n_heaps + 1)
    ]


if __name__ == "__main__":
    run(main, Args)
