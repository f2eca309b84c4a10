"""RLlib's side of Nim: the games as its workers play them, and its modules as players."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from script import need

need("ray", "torch", extras="examples,rllib")

import cluster  # noqa: E402, F401  which keeps Ray quiet
import numpy as np  # noqa: E402
import torch  # noqa: E402
from learners import name_of  # noqa: E402
from players import BestMoves  # noqa: E402
from ray.rllib.core.columns import Columns  # noqa: E402
from ray.rllib.core.rl_module.rl_module import RLModule  # noqa: E402
from ray.rllib.env.env_context import EnvContext  # noqa: E402
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv  # noqa: E402
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule  # noqa: E402

from nim_env import NimRules, aec_env, wrappers  # noqa: E402

GAME = "game.json"


class SelfPlay(PettingZooEnv):
    """Games between two learners, from random starts, in RLlib's own wrapper.

    It takes a seed for each of its games, not one that a neighbouring worker has too, and has its players in order
    rather than in a set, whose order differs from process to process.

    Args:
        context: RLlib's, with the ``rules`` and the ``seed`` of the run.
    """

    def __init__(self, context: EnvContext) -> None:
        super().__init__(board(context["rules"], random_start=True))
        self.agents = self.possible_agents = sorted(self.agents)
        self._own_seed = context["seed"], context.worker_index, context.vector_index

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if seed is not None:
            seed = int(np.random.SeedSequence((seed, *self._own_seed)).generate_state(1)[0])
        return super().reset(seed=seed, options=options)


def board(rules: NimRules, **options: Any) -> Any:
    """PettingZoo's environment as RLlib's action-masking module sees it."""
    env = aec_env.env(heaps=rules.heaps, max_take=rules.max_take, misere=rules.misere, **options)
    return wrappers.masked_dict(wrappers.one_hot(env))


class ModulePlayer:
    """A network of RLlib as a player: it draws moves as the network does, or makes the likeliest by :meth:`best`.

    Args:
        module: The network.
        rules: The game.
    """

    def __init__(self, module: ActionMaskingTorchRLModule, rules: NimRules) -> None:
        self.module, self._encode = module, board(rules).env.encode

    def action_probabilities(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        shown = {
            "observations": torch.as_tensor(np.atleast_2d(self._encode(observation))),
            "action_mask": torch.as_tensor(np.atleast_2d(action_mask).astype(np.float32)),
        }
        with torch.no_grad():
            logits = self.module.forward_inference({Columns.OBS: shown})[Columns.ACTION_DIST_INPUTS]
        return torch.softmax(logits.double(), dim=-1).numpy().reshape(action_mask.shape)

    def best(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        """The likeliest action."""
        return self.action_probabilities(observation, action_mask).argmax(axis=-1)


def save_model(module: ActionMaskingTorchRLModule, rules: NimRules, path: Path) -> None:
    """Saves a network in a folder, in the place of one that is there, with the game that it has learnt."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    module.save_to_path(unfinished.absolute())
    (unfinished / GAME).write_text(json.dumps(asdict(rules)))
    shutil.rmtree(path, ignore_errors=True)
    unfinished.rename(path)


def saved_model(path: Path, rules: NimRules) -> BestMoves:
    """The network that rllib_self_play.py saved in a folder, which must be one of this game.

    Raises:
        ValueError: The folder is damaged, or holds another kind of network.
    """
    try:
        module = RLModule.from_checkpoint(path.absolute())
        learnt = json.loads((path / GAME).read_text())
        learnt = NimRules(learnt["heaps"], learnt["max_take"], learnt["misere"])
    except Exception as error:  # whatever broken files may raise
        raise ValueError(f"{path} is damaged or holds no network of RLlib ({type(error).__name__})") from error
    if learnt != rules:
        raise ValueError(f"{path} holds a network of {name_of(learnt)}, not of {name_of(rules)}")
    return BestMoves(ModulePlayer(module, rules))
