"""Stable-Baselines3 and sb3-contrib: by the identifier alone."""

from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO

for algorithm in (A2C, DQN, PPO, MaskablePPO):
    algorithm("MlpPolicy", "nim_env:Nim-v0").learn(2_000)
