"""Nim for reinforcement learning: Gymnasium and PettingZoo environments, and the exact truth about the game.

Importing this package registers ``Nim-v0`` and ``SimpleNim-v0`` with Gymnasium, and ``nim-v0`` and
``simple_nim-v0`` with PettingZoo.
"""

import gymnasium
import pettingzoo

from nim_env import aec_env, evaluation, gym_env, policies, theory, vector_env
from nim_env.policies import ExpertPolicy, RandomPolicy, TakePolicy
from nim_env.rules import NimRules

__all__ = [
    "ExpertPolicy",
    "NimRules",
    "RandomPolicy",
    "TakePolicy",
    "aec_env",
    "evaluation",
    "gym_env",
    "policies",
    "theory",
    "vector_env",
]

_SIMPLE = {"heaps": (21,), "max_take": 3, "misere": False}

_GYM = {"entry_point": "nim_env.gym_env:NimEnv", "vector_entry_point": "nim_env.vector_env:NimVectorEnv"}

gymnasium.register("Nim-v0", **_GYM)
gymnasium.register("SimpleNim-v0", **_GYM, kwargs=_SIMPLE)
pettingzoo.register("aec", "nim-v0", entry_point="nim_env.aec_env:env")
pettingzoo.register("aec", "simple_nim-v0", entry_point="nim_env.aec_env:env", kwargs=_SIMPLE)
