"""DQN in PyTorch against an opponent, with a replay buffer and a target network, in Gymnasium's vector loop.

Source: Mnih et al. (2015), Human-level control through deep reinforcement learning.
"""

import copy
from dataclasses import asdict

import gymnasium as gym
import torch
from torch import nn


def train(rules, moves, learning_rate=2e-3, discount=1.0, exploration=0.3, seed=0, opponent="random"):
    """Trains for a number of moves. Returns the Q-values, float32 of shape (n_positions, n_actions)."""
    options = {"random_start": True, "observation": "index", "autoreset_mode": "SameStep", **asdict(rules)}
    envs = gym.make_vec("nim_env:Nim-v0", num_envs=32, opponent=opponent, **options)
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # more threads would not speed up such small tensors
    heaps = torch.tensor(rules.all_positions())
    one_hot = [nn.functional.one_hot(heap, size + 1) for heap, size in zip(heaps.T, rules.heaps, strict=True)]
    inputs = torch.cat(one_hot, 1).float()
    legal = torch.tensor(rules.action_mask(heaps)) > 0
    network = nn.Sequential(nn.Linear(inputs.shape[1], 128), nn.ReLU(), nn.Linear(128, rules.n_actions))
    target_network = copy.deepcopy(network)
    optimizer = torch.optim.Adam(network.parameters(), learning_rate)
    buffer = torch.zeros(moves, 5)
    positions, _ = envs.reset(seed=seed)
    for step in range(moves // envs.num_envs):
        with torch.no_grad():
            scores = network(inputs[positions])
        scores = torch.where(torch.rand(len(scores), 1) < exploration, torch.rand(scores.shape), scores)
        actions = torch.where(legal[positions], scores, -torch.inf).argmax(1)
        next_positions, rewards, terminated, _, _ = envs.step(actions.numpy())
        batch = (positions, actions, rewards, next_positions, terminated)
        rows = slice(step * envs.num_envs, (step + 1) * envs.num_envs)
        buffer[rows] = torch.stack([torch.as_tensor(column, dtype=torch.float32) for column in batch], 1)
        positions = next_positions
        s, a, reward, s_next, done = buffer[torch.randint(rows.stop, (256,))].T
        s, a, s_next = s.long(), a.long(), s_next.long()
        with torch.no_grad():
            next_values = target_network(inputs[s_next])
            future = torch.where(legal[s_next], next_values, -torch.inf).max(1).values
            target = reward + discount * torch.where(done > 0, 0, future)
        loss = nn.functional.smooth_l1_loss(network(inputs[s])[torch.arange(256), a], target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            target_network.load_state_dict(network.state_dict())
    return network(inputs).detach().numpy()
