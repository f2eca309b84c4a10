"""Players that a command line names: saved agents and models, and functions in files."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from script import fail

import gymnasium as gym
import numpy as np
from learners import LEARNERS, board_of

import agents
from nim_env import NimRules
from nim_env.policies import PolicyLike, as_policy


def entrant(name: str, rules: NimRules, option: str) -> PolicyLike:
    """A built-in policy, the function that ``file.py:function`` names, or a saved agent or model."""
    if function := own_function(name):
        return function
    with contextlib.suppress(ValueError):
        return as_policy(name, rules)
    if not is_saved(Path(name)):
        kinds = "random, take-N, expert or file.py:function, nor a saved agent or model"
        fail(f"{option} {name} is no {kinds}")
    return saved_agent(Path(name), rules)


def saved_agent(path: Path, rules: NimRules) -> Any:
    """The agent in a file, or the network that sb3_self_play.py or rllib_self_play.py saved.

    Raises:
        ValueError: The file is damaged, or holds a player of another game.
        OSError: It cannot be read.
    """
    if is_model(path):
        return library_of(path).saved_model(path, rules)
    return fitting(agents.load(path), rules, str(path))


def fitting(agent: agents.Agent, rules: NimRules, name: str) -> agents.Agent:
    """The agent itself, unless it has learnt another game.

    Raises:
        ValueError: It has.
    """
    if _spaces(rules) != (agent.observation_space, agent.action_space):
        raise ValueError(f"{name} holds an agent of another game than {board_of(rules)}")
    return agent


def board_learnt(agent: agents.Agent) -> NimRules | None:
    """Heaps and takes that an agent's spaces tell of; None for those of no Nim."""
    if not isinstance(agent.observation_space, gym.spaces.MultiDiscrete):
        return None
    heaps = (agent.observation_space.nvec - 1).tolist()
    with contextlib.suppress(ValueError, TypeError):
        for most in (None, *range(1, max(heaps))):
            if (rules := NimRules(heaps, most)).n_actions == agent.action_space.n:
                return rules
    return None


def _spaces(rules: NimRules) -> tuple[gym.Space, gym.Space]:
    env = gym.make("nim_env:Nim-v0", heaps=rules.heaps, max_take=rules.max_take, opponent=None)
    return env.observation_space, env.action_space


def trained(
    learner: str, rules: NimRules, games: int, seed: int | None, callback: Callable[..., bool | None]
) -> agents.Agent:
    """A new agent, trained by self-play where it can be, else against random play.

    Args:
        learner: Which of :data:`learners.LEARNERS`.
        rules: The game.
        games: How many training games.
        seed: Decides every draw; ``None`` draws it.
        callback: Called after every game as by :func:`agents.train`, which ends when it returns False.
    """
    kind = LEARNERS[learner]
    env = gym.make(
        "nim_env:Nim-v0",
        heaps=rules.heaps,
        max_take=rules.max_take,
        misere=rules.misere,
        opponent=None if kind.supports_self_play else "random",
        first_player=None
        if kind.supports_self_play or sum(rules.heaps) > 1
        else "agent",  # one object allows no opening
    )
    agent = kind(env.observation_space, env.action_space, seed=seed)
    agents.train(agent, env, games, seed=seed, callback=callback)
    return agent


def is_saved(path: Path) -> bool:
    """Whether it is a file, or a folder that RLlib has saved."""
    return path.is_file() or is_of_rllib(path)


def is_of_rllib(path: Path) -> bool:
    """Whether it is a folder that RLlib has saved."""
    return (path / "class_and_ctor_args.pkl").is_file()


def is_model(path: Path) -> bool:
    """Whether it holds a network, of Stable-Baselines3 in a file or of RLlib in a folder."""
    if is_of_rllib(path):
        return True
    try:
        with zipfile.ZipFile(path) as file:
            return "policy.pth" in file.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


class BestMoves:
    """A network as a player that makes its best moves, as saved agents do.

    Args:
        player: Draws its moves by ``action_probabilities``, and makes its likeliest by ``best``.
    """

    def __init__(self, player: Any) -> None:
        self.player = player

    def act(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        return self.player.best(observation, action_mask)

    def action_probabilities(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        actions = np.asarray(self.act(observation, action_mask))
        return (np.arange(action_mask.shape[-1]) == actions[..., None]).astype(float)

    def opinions(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        """How probably the network would make each move if it drew them."""
        return self.player.action_probabilities(observation, action_mask)


def library_of(path: Path) -> ModuleType:
    """The module that knows a model; ends the script if what it needs is missing."""
    return importlib.import_module("rllib_players" if is_of_rllib(path) else "deep")


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
