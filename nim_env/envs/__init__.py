"""The environments: Gymnasium's for one game and for many at once, and PettingZoo's.

They import the game, the policies (their opponents) and the rendering. Inside ``nim_env``, only :mod:`nim_env.sb3`
imports them.
"""

from nim_env.envs.gym_env import NimEnv
from nim_env.envs.vector_env import NimVectorEnv

__all__ = ["NimEnv", "NimVectorEnv"]
