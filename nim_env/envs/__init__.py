"""The environments: for one game and for many games in Gymnasium's API, and for two players in PettingZoo's.

They import the game, the policies, which play as opponents, and the rendering. Inside ``nim_env``, only
:mod:`nim_env.sb3` imports the environments.
"""

from nim_env.envs.gym_env import NimEnv
from nim_env.envs.vector_env import NimVectorEnv

__all__ = ["NimEnv", "NimVectorEnv"]
