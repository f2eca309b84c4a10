"""Nim for Stable-Baselines3: a fast ``VecEnv``, trained models as players, and exact evaluation during training.

This package needs Stable-Baselines3 (``pip install "nim-env[sb3]"``), so ``import nim_env`` does not import it.
Inside ``nim_env``, only :mod:`nim_env.check` imports it, to read the file of a model.
"""

from gymnasium.error import DependencyNotInstalled

try:
    from nim_env.sb3.callbacks import EvaluationCallback, SelfPlayCallback
    from nim_env.sb3.models import ModelPolicy, load_model, load_policy
    from nim_env.sb3.vec_env import NimVecEnv
except ImportError as error:
    raise DependencyNotInstalled('nim_env.sb3 needs Stable-Baselines3; run pip install "nim-env[sb3]"') from error

__all__ = ["EvaluationCallback", "ModelPolicy", "NimVecEnv", "SelfPlayCallback", "load_model", "load_policy"]
