"""Minari: games are recorded, saved and read back."""

import gymnasium as gym
import minari

env = minari.DataCollector(gym.make("nim_env:Nim-v0"))
for seed in range(20):
    _, info = env.reset(seed=seed)
    is_over = False
    while not is_over:
        _, _, is_over, _, info = env.step(env.action_space.sample(info["action_mask"]))
dataset = env.create_dataset("nim/random-v0")
assert dataset.total_episodes == minari.load_dataset("nim/random-v0").total_episodes == 20
