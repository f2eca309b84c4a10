"""RLlib: PPO with one agent, on the one-hot encoding."""

from ray.rllib.algorithms.ppo import PPOConfig

config = PPOConfig().environment("nim_env:NimOneHot-v0").env_runners(num_env_runners=0)
result = config.training(train_batch_size_per_learner=1_000, minibatch_size=250).build_algo().train()
assert result["env_runners"]["num_episodes"] > 0
