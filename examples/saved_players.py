"""Players that a command line names, for all scripts that have an option for one.

The package loads players from names, programs and tables. This module adds the files that the scripts save:
agents, networks of learn_the_rule and models of Stable-Baselines3.
"""

from pathlib import Path
from typing import Any

import agents
from nim_env import NimRules
from nim_env.check import players


def load_player(name: str, rules: NimRules) -> players.LoadedPlayer:
    """Loads the player that a command line names.

    ``name`` is anything that :mod:`nim_env.check.players` accepts, or the file of a network or an agent. A file
    with the suffix ``.pt`` is a network of ``learn_the_rule``, and a file with an unknown suffix is an agent. A
    Stable-Baselines3 model (``.zip``) plays its best legal actions, while the package judges its illegal ones too.
    """
    path = Path(name)
    is_saved_player = path.is_file() and (path.suffix == ".zip" or path.suffix not in players.SUFFIXES)
    if not is_saved_player:
        return players.load_player(name, rules)
    try:
        player = load_file(path, rules)
    except Exception as error:  # PyTorch and safetensors raise many types
        raise ValueError(f"{path} cannot be loaded: {error}") from error
    return players.player_of(player, rules, name)


def load_file(path: Path, rules: NimRules) -> Any:
    """Loads a model, a network or an agent. PyTorch is only imported here, since most scripts run without it."""
    if path.suffix == ".zip":
        from nim_env.sb3 import load_policy as load_model

        return load_model(path, rules)
    if path.suffix == ".pt":
        from learn_the_rule.network import load_policy as load_network

        return load_network(path, rules)
    return agents.load(path)
