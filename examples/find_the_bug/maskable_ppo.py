"""MaskablePPO from sb3-contrib, trained by self-play against a pool of its own snapshots.

Source: Huang and Ontañón (2022), A closer look at invalid action masking in policy gradient algorithms.
"""

from dataclasses import asdict

import gymnasium as gym
import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import LinearSchedule

from nim_env.sb3 import ModelPolicy, NimVecEnv, SelfPlayCallback


class EntropySchedule(BaseCallback):
    """Lowers the entropy coefficient linearly from 0.5 to 0."""

    def __init__(self, moves):
        super().__init__()
        self.moves = moves

    def _on_rollout_start(self):
        self.model.ent_coef = 0.5 * max(0, 1 - self.num_timesteps / self.moves)

    def _on_step(self):
        return True


def train(rules, moves, seed=0):
    """Trains by self-play for a number of moves.

    Returns the actor's best action in each position, int64 of shape (n_positions,), and the critic's value of each
    position, float64 of shape (n_positions,).
    """
    env_options = {"random_start": True, "observation": "one_hot", "autoreset_mode": "SameStep"}
    env = NimVecEnv(gym.make_vec("nim_env:Nim-v0", num_envs=64, **env_options, **asdict(rules)))
    model = MaskablePPO(
        "MlpPolicy",
        env,
        learning_rate=LinearSchedule(5e-3, 0.0, 1.0),
        n_steps=16,
        batch_size=256,
        n_epochs=4,
        gamma=1.0,
        gae_lambda=0.5,
        policy_kwargs={"net_arch": [64, 64]},
        seed=seed,
        device="cpu",
    )
    model.learn(moves, callback=[SelfPlayCallback(3, pool_size=20), EntropySchedule(moves)])
    player = ModelPolicy(model, env, deterministic=True)
    positions = rules.all_positions()[1:]
    masks = rules.action_mask(positions)
    actions, _ = model.predict(player.encoding(positions), action_masks=masks, deterministic=True)
    return np.append(0, actions), np.append(0.0, player.values(positions))
