"""AgileRL: a step of DQN with masks in many games, and an update."""

import gymnasium as gym
from agilerl.algorithms import DQN
from agilerl.components import ReplayBuffer
from agilerl.components.data import Transition

envs = gym.make_vec("nim_env:Nim-v0", num_envs=64)
agent = DQN(envs.single_observation_space, envs.single_action_space)
buffer = ReplayBuffer(max_size=1_000)
obs, infos = envs.reset(seed=0)
action = agent.get_action(obs, epsilon=0.5, action_mask=infos["action_mask"])
next_obs, reward, done, _, _ = envs.step(action)
buffer.add(Transition(obs, action, next_obs, reward, done, batch_size=[64]).to_tensordict())
agent.learn(buffer.sample(32))
