"""skrl 2: DQN in many games, on the one-hot encoding."""

import gymnasium as gym
from skrl.agents.torch.dqn import DQN, DQN_CFG
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.trainers.torch import SequentialTrainer
from skrl.utils.model_instantiators.torch import deterministic_model as network

env = wrap_env(gym.make_vec("nim_env:NimOneHot-v0", num_envs=8))
options = {"observation_space": env.observation_space, "action_space": env.action_space}
layers = [{"name": "net", "input": "OBSERVATIONS", "layers": [64], "activations": "relu"}]
models = {name: network(**options, network=layers, output="ACTIONS") for name in ("q_network", "target_q_network")}
agent = DQN(models=models, memory=RandomMemory(memory_size=1_000, num_envs=8), cfg=DQN_CFG(), **options)
SequentialTrainer(env=env, agents=agent, cfg={"timesteps": 500, "headless": True}).train()
