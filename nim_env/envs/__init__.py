"""The environments."""

from nim_env.envs.gym_env import NimEnv
from nim_env.envs.vector_env import NimVectorEnv

__all__ = ["NimEnv", "NimVectorEnv"]
