"""DQN by self-play on Nim in PyTorch. The file needs no other file, so you can copy it and change it.

A deep Q-network (Mnih et al. 2015, doi:10.1038/nature14236) learns to play both sides. It sees the position of the
player to move. Its target is the reward minus the best value of the other player, who moves next (negamax, as in
minimax-Q, Littman 1994). A target from the same player's next turn would also depend on how the other player
explores.

    python examples/dqn.py
    python -m nim_env check examples/dqn.py:player

The first command prints expert mastery, which is the fraction of winning positions in which the network plays a
winning move, and saves its curve and a checkpoint in the folder results. The second command judges the checkpoint
by its moves and by its values. The training takes about half a minute.

Install: pip install -e ".[examples,sb3]"
"""

import copy
import sys
from dataclasses import dataclass
from pathlib import Path

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import torch
import tyro
from torch import nn

from nim_env import NimRules, evaluation  # importing nim_env registers Nim-v0

NUM_ENVS = 64  # games at the same time; each step plays one move in each of them and updates the network once
BUFFER_SIZE = 50_000  # moves in the replay buffer, in which a new move replaces the oldest
BATCH_SIZE = 256
TARGET_INTERVAL = 100  # updates after which the target network becomes a copy of the network
CHECKPOINT = Path("results/dqn.pt")


@dataclass
class Args:
    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes; whoever takes the last object loses. Training games start from random positions."""
    total_timesteps: int = 256_000
    """The number of training timesteps, which are the moves of both players."""
    learning_rate: float = 5e-3
    """The learning rate of the first half. In the second half it falls linearly to 0, so the values settle."""
    epsilon: float = 0.5
    """The probability of a random move. It may be high, since the target follows the best move in any case."""
    seed: int = 0


class QNetwork(nn.Module):
    """A Q-value of each action, and the player that chooses the best legal one."""

    def __init__(self, rules):
        super().__init__()
        self.n_sizes, self.n_actions = max(rules.heaps) + 1, rules.n_actions
        n_inputs = rules.n_heaps * self.n_sizes
        self.layers = nn.Sequential(nn.Linear(n_inputs, 256), nn.ReLU(), nn.Linear(256, self.n_actions))

    def forward(self, heaps):  # int64 of shape (..., n_heaps) -> float32 of shape (..., n_actions)
        return self.layers(nn.functional.one_hot(heaps, self.n_sizes).flatten(-2).float())

    @torch.no_grad()
    def scores(self, heaps, masks):  # an illegal action has the score -inf
        return self(torch.as_tensor(heaps)).masked_fill(~torch.as_tensor(masks), -torch.inf)

    @torch.no_grad()
    def values(self, heaps):  # for `python -m nim_env check`; every return is between -1 and 1, so values are too
        return self(torch.as_tensor(heaps)).clamp(-1, 1).numpy()

    def action_probabilities(self, heaps, action_mask):  # with this method the network is a policy of nim_env
        return np.eye(self.n_actions)[self.scores(heaps, action_mask > 0).argmax(dim=-1)]


def main(args):
    """Trains, evaluates and saves a network; returns its expert mastery by number of timesteps."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # more threads would not speed up such small tensors
    rules = NimRules(args.heaps)
    options = {"heaps": args.heaps, "random_start": True, "autoreset_mode": "SameStep"}
    envs = gym.make_vec("Nim-v0", NUM_ENVS, opponent=None, **options)  # None: the network plays both sides
    network = QNetwork(rules)
    target_network = copy.deepcopy(network)
    optimizer = torch.optim.Adam(network.parameters(), args.learning_rate)
    n_steps = args.total_timesteps // NUM_ENVS
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, 2 - 2 * step / n_steps))
    buffer = {  # the latest moves of all games
        "heaps": torch.zeros(BUFFER_SIZE, rules.n_heaps, dtype=torch.int64),
        "actions": torch.zeros(BUFFER_SIZE, dtype=torch.int64),
        "rewards": torch.zeros(BUFFER_SIZE),
        "next_heaps": torch.zeros(BUFFER_SIZE, rules.n_heaps, dtype=torch.int64),
        "next_masks": torch.zeros(BUFFER_SIZE, rules.n_actions, dtype=torch.bool),
        "terminated": torch.zeros(BUFFER_SIZE, dtype=torch.bool),
    }
    curve = {0: evaluation.mastery(rules, network).expert}
    heaps, infos = envs.reset(seed=args.seed)
    masks = torch.as_tensor(infos["action_mask"]) > 0
    for step in range(n_steps):
        # act: the best legal action, or with probability epsilon a random legal one
        greedy_actions = network.scores(heaps, masks).argmax(dim=1)
        random_actions = torch.multinomial(masks.float(), 1)[:, 0]
        is_random = torch.rand(NUM_ENVS) < args.epsilon
        actions = torch.where(is_random, random_actions, greedy_actions)
        next_heaps, rewards, terminated, _, infos = envs.step(actions.numpy())
        next_masks = torch.as_tensor(infos["action_mask"]) > 0

        # store; after the end of a game next_heaps is the start of another one, which the target leaves out
        rows = (step * NUM_ENVS + torch.arange(NUM_ENVS)) % BUFFER_SIZE
        moves = (heaps, actions, rewards, next_heaps, next_masks, terminated)
        for column, new in zip(buffer.values(), moves, strict=True):
            column[rows] = torch.as_tensor(new).to(column.dtype)
        heaps, masks = next_heaps, next_masks

        # learn: the best value among the next legal actions is the other player's, so it is subtracted
        rows = torch.randint(min((step + 1) * NUM_ENVS, BUFFER_SIZE), (BATCH_SIZE,))
        batch = {name: column[rows] for name, column in buffer.items()}
        next_scores = target_network.scores(batch["next_heaps"], batch["next_masks"])
        next_values = next_scores.max(dim=1).values.clamp(-1, 1)
        targets = batch["rewards"] - torch.where(batch["terminated"], 0, next_values)
        values = network(batch["heaps"]).gather(1, batch["actions"][:, None])[:, 0]
        loss = nn.functional.mse_loss(values, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()

        # copy the network from time to time, so the targets change slowly
        if (step + 1) % TARGET_INTERVAL == 0:
            target_network.load_state_dict(network.state_dict())

        # evaluate
        if (step + 1) % max(1, n_steps // 20) == 0:
            timesteps = (step + 1) * NUM_ENVS
            curve[timesteps] = evaluation.mastery(rules, network).expert  # exact: Nim is solved
            print(f"{timesteps:9,} moves: expert mastery {curve[timesteps]:.3f}", flush=True)

    mastery = evaluation.mastery(rules, network)
    print(f"mistakes in {len(mastery.mistakes)} of {mastery.won_positions} winning positions")
    print(f"exploitability {evaluation.exploitability(rules, network):.3f}")
    CHECKPOINT.parent.mkdir(exist_ok=True)
    torch.save({"heaps": args.heaps, "network": network.state_dict()}, CHECKPOINT)
    figure, axes = plt.subplots()
    axes.plot(list(curve), list(curve.values()), marker="o")
    axes.set(title=f"DQN by self-play on {rules}", xlabel="moves of both players", ylabel="expert mastery")
    figure.savefig(CHECKPOINT.with_suffix(".svg"))
    return curve


if __name__ == "__main__":
    options = " ".join(sys.argv[1:]).replace(",", " ")  # --heaps 3,4,5 as well as --heaps 3 4 5
    try:
        main(tyro.cli(Args, args=options.split(), description=__doc__))
    except ValueError as error:  # a wrong value of an option
        sys.exit(f"dqn.py: {error}")
elif CHECKPOINT.is_file():  # `python -m nim_env check` imports this file
    saved = torch.load(CHECKPOINT, weights_only=True)
    player = QNetwork(NimRules(saved["heaps"]))
    player.load_state_dict(saved["network"])
