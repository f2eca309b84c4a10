"""The command line of the scripts: options, errors, and players by name."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tyro

import agents
from nim_env import NimRules
from nim_env.check import players


def run(main: Callable[[Any], Any], args_type: type) -> None:
    """Parses the command line into a dataclass, whose docstrings are the help, and calls ``main`` with it.

    A wrong value, type or file is one line and exits with status 2, Ctrl-C is one word and exits with 130.
    """
    words = [word for argument in sys.argv[1:] for word in _without_commas(argument)]
    try:
        main(tyro.cli(args_type, args=words, description=sys.modules[main.__module__].__doc__))
    except (ValueError, TypeError, OSError) as error:
        message = str(error).split(" was raised from the environment creator")[0]  # a suffix of gym.make
        print(f"{Path(sys.argv[0]).name}: {' '.join(message.split())}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        sys.exit(130)


def _without_commas(argument: str) -> list[str]:
    """``4,4`` and ``--heaps=4,4`` as the words ``4 4`` and ``--heaps 4 4``; any other argument as it is."""
    is_numbers = re.fullmatch(r"(--[\w-]+=)?\d[\d,]*", argument)
    return [*filter(None, re.split("[=,]", argument))] if is_numbers else [argument]


def load_player(name: str, rules: NimRules) -> players.LoadedPlayer:
    """Loads a player by name, as :mod:`nim_env.check.players` does, or from the file of a network or an agent.

    A network (``.pt``) is one of ``learn_the_rule``, any other suffix is an agent's. A model of Stable-Baselines3
    (``.zip``) plays its best legal actions.
    """
    path = Path(name)
    if not path.is_file() or path.suffix in {*players.SUFFIXES} - {".zip"}:
        return players.load_player(name, rules)
    try:
        player: Any
        if path.suffix == ".zip":
            from nim_env.sb3 import load_policy as load_model  # here, since most scripts run without PyTorch

            player = load_model(path, rules, use_masking=True)
        elif path.suffix == ".pt":
            from learn_the_rule.network import load_policy

            player = load_policy(path, rules)
        else:
            player = agents.load(path)
    except Exception as error:  # PyTorch and safetensors raise many kinds
        raise ValueError(f"{path} cannot be loaded: {error}") from error
    return players.player_of(player, rules, name)
