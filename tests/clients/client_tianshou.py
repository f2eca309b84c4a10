"""Tianshou 2: two random players in the AEC environment, with masks."""

import pettingzoo
from tianshou.algorithm import MARLRandomDiscreteMaskedOffPolicyAlgorithm, MultiAgentOffPolicyAlgorithm
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv

import nim_env  # noqa: F401  registers nim-v0

envs = [PettingZooEnv(pettingzoo.make("aec", "nim-v0")) for _ in range(3)]
random = MARLRandomDiscreteMaskedOffPolicyAlgorithm(action_space=envs[0].action_space)
players = MultiAgentOffPolicyAlgorithm(algorithms=[random, random], env=envs[0])
buffer = VectorReplayBuffer(total_size=1_000, buffer_num=3)
collector = Collector(players, DummyVectorEnv([lambda env=env: env for env in envs]), buffer)
assert (collector.collect(n_episode=10, reset_before_collect=True).returns.sum(axis=1) == 0).all()
