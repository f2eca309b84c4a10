"""Nim for reinforcement learning: Gymnasium and PettingZoo environments, and the exact solution of the game.

Importing this package registers the environments:

- ``Nim-v0``, ``NimOneHot-v0`` (the same with ``observation="one_hot"``) and ``SimpleNim-v0`` with Gymnasium, each
  also with the prefix of the package, such as ``nim_env/Nim-v0``
- ``nim-v0`` and ``simple_nim-v0`` with PettingZoo

Some modules are not imported with the package:

- :mod:`nim_env.testing`: a test of a learner for your test suite
- :mod:`nim_env.check`: the command that checks a learner
- :mod:`nim_env.text`: positions and moves in words, for language models
- :mod:`nim_env.rendering.svg` and :mod:`nim_env.rendering.animation`: pictures of players and of games
- :mod:`nim_env.sb3` (Stable-Baselines3), :mod:`nim_env.rllib`, :mod:`nim_env.pgx` (with JAX) and
  :mod:`nim_env.openspiel`: the interfaces to other libraries
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
