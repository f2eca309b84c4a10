"""Players that a command line names: saved agents and models, and functions in files."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from script import fail

import gymnasium as gym
import numpy as np

import agents
from nim_env import NimRules
from nim_env.policies import PolicyLike, as_policy


def entrant(name: str, rules: NimRules, option: str) -> PolicyLike:
    """A built-in policy, the function that ``file.py:function`` names, or a saved agent or model."""
    if function := own_function(name):
        return function
    with contextlib.suppress(ValueError):
        return as_policy(name, rules)
    if not Path(name).is_file():
        kinds = "random, take-N, expert or file.py:function, nor the file of a saved agent or model"
        fail(f"{option} {name} is no {kinds}")
    return saved_agent(Path(name), rules)


def saved_agent(path: Path, rules: NimRules) -> Any:
    """The agent in a file, or the model that sb3_self_play.py saved, which must be one of this game."""
    if _is_model(path):
        import deep

        return deep.saved_model(path, rules)
    agent = agents.load(path)
    spaces = gym.make("nim_env:Nim-v0", heaps=rules.heaps, max_take=rules.max_take, opponent=None)
    if (agent.observation_space, agent.action_space) != (spaces.observation_space, spaces.action_space):
        game = "-".join(map(str, rules.heaps))
        fail(f"{path} holds an agent of another game than {game}; see --heaps and --max-take")
    return agent


def _is_model(path: Path) -> bool:
    """Whether a file is one of Stable-Baselines3."""
    try:
        with zipfile.ZipFile(path) as file:
            return "policy.pth" in file.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def own_function(name: str) -> Callable[[Any, Any], Any] | None:
    """The function that ``file.py:function`` names; None for a name of another form."""
    if not (own := re.fullmatch(r"(?P<file>.+\.py):(?P<function>\w+)", name)):
        return None
    path = Path(own["file"])
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path} for {name}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))  # for what lies beside the file
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path} does not run: {type(error).__name__}: {error}") from error
    function = getattr(module, own["function"], None)
    if not callable(function):
        raise ValueError(f"{path} has no function {own['function']} for {name}")

    def guarded(observation: np.ndarray, action_mask: np.ndarray) -> Any:
        try:
            return function(observation, action_mask)
        except (Exception, SystemExit) as error:
            asked = np.array2string(observation, threshold=20, edgeitems=1).replace("\n", "")
            raise ValueError(f"{name} raised {type(error).__name__}: {error} at heaps {asked}") from error

    return guarded
