"""Nim for reinforcement learning: Gymnasium and PettingZoo environments, and the exact truth about the game.

Importing this package registers ``Nim-v0`` and ``SimpleNim-v0`` with Gymnasium, and ``nim-v0`` and
``simple_nim-v0`` with PettingZoo.
"""

from typing import Any

import gymnasium
import pettingzoo

from nim_env import aec_env, evaluation, gym_env, policies, solver, theory, vector_env
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
    "solver",
    "theory",
    "vector_env",
]

_SIMPLE: dict[str, Any] = {"heaps": (21,), "max_take": 3, "misere": False}

for _name, _arguments in (("Nim-v0", {}), ("SimpleNim-v0", _SIMPLE)):
    gymnasium.register(
        _name,
        entry_point="nim_env.gym_env:NimEnv",
        vector_entry_point="nim_env.vector_env:NimVectorEnv",
        kwargs=_arguments,
    )
for _name, _arguments in (("nim-v0", {}), ("simple_nim-v0", _SIMPLE)):
    pettingzoo.register("aec", _name, entry_point="nim_env.aec_env:env", kwargs=_arguments)
