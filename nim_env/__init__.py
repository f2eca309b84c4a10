"""Nim for reinforcement learning: Gymnasium and PettingZoo environments, and the exact solution of the game.

Importing this package registers ``Nim-v0``, ``NimOneHot-v0`` (the same with ``observation="one_hot"``) and
``SimpleNim-v0`` with Gymnasium, also under the namespace of the package as in ``nim_env/Nim-v0``, and ``nim-v0``
and ``simple_nim-v0`` with PettingZoo.

These modules are imported separately: :mod:`nim_env.testing`, :mod:`nim_env.rendering.map`,
:mod:`nim_env.rendering.animation`, the command :mod:`nim_env.check`, and what other libraries need, namely
:mod:`nim_env.sb3` (Stable-Baselines3), :mod:`nim_env.rllib`, :mod:`nim_env.pgx` (with JAX),
:mod:`nim_env.openspiel` and :mod:`nim_env.text` (language models).
"""

from typing import Any

import gymnasium
import pettingzoo

from nim_env import board, encodings, evaluation, policies, rendering, rules, solver, theory
from nim_env.board import Board
from nim_env.encodings import Encoding
from nim_env.envs import NimEnv, NimVectorEnv, aec_env, gym_env, vector_env
from nim_env.policies import (
    EncodedPolicy,
    ExpertPolicy,
    MixturePolicy,
    OpponentPool,
    RandomPolicy,
    TabularPolicy,
    TakePolicy,
)
from nim_env.rules import NimRules

__all__ = [
    "Board",
    "EncodedPolicy",
    "Encoding",
    "ExpertPolicy",
    "MixturePolicy",
    "NimEnv",
    "NimRules",
    "NimVectorEnv",
    "OpponentPool",
    "RandomPolicy",
    "TabularPolicy",
    "TakePolicy",
    "aec_env",
    "board",
    "encodings",
    "evaluation",
    "gym_env",
    "policies",
    "rendering",
    "rules",
    "solver",
    "theory",
    "vector_env",
]

__version__ = "0.1.0"

_SIMPLE_NIM: dict[str, Any] = {"heaps": (21,), "max_take": 3, "misere": False}
_ONE_HOT: dict[str, Any] = {"observation": "one_hot"}

for _name, _arguments in (("Nim-v0", {}), ("NimOneHot-v0", _ONE_HOT), ("SimpleNim-v0", _SIMPLE_NIM)):
    for _namespace in ("", "nim_env/"):
        gymnasium.register(
            f"{_namespace}{_name}",
            entry_point="nim_env.envs.gym_env:NimEnv",
            vector_entry_point="nim_env.envs.vector_env:NimVectorEnv",
            kwargs=_arguments,
        )
for _name, _arguments in (("nim-v0", {}), ("simple_nim-v0", _SIMPLE_NIM)):
    pettingzoo.register("aec", _name, entry_point="nim_env.envs.aec_env:env", kwargs=_arguments)
