"""Writes the data of the page: two proven networks, and a table of five heaps trained for longer.

The networks are those of two certificates of learn_the_rule/, for misère and normal play. The table is trained by
Q-learning in self-play with the package agents; ε falls to 0 over the run, and every game starts from a random
position, so that the table plays well in all of them.

    python examples/page/make_data.py

Install: pip install -e ".[examples]"
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import tyro

import agents
from nim_env import NimRules, evaluation

DATA = Path(__file__).with_name("data")
CERTIFICATES = Path(__file__).resolve().parents[1] / "learn_the_rule" / "certificates"
NETWORKS = {"misere": "misere0.npz", "normal": "normal0.npz"}
FIVE_HEAPS = NimRules((1, 3, 5, 7, 9))
NEVER_TRIED = -128


@dataclass
class Args:
    """The options of this script."""

    folder: Path = DATA
    """Where the files are saved."""
    episodes: int = 500_000
    """Training games."""
    seed: int = 0
    """Random seed."""


def main(args: Args) -> None:
    args.folder.mkdir(parents=True, exist_ok=True)
    for name, file in NETWORKS.items():
        save(network_weights(CERTIFICATES / file), args.folder / f"network_{name}.json")
    save(train_table(FIVE_HEAPS, args.episodes, args.seed), args.folder / "five_heaps.json")


def network_weights(certificate: Path) -> dict[str, Any]:
    """The weights by their names in the network's state_dict."""
    with np.load(certificate) as arrays:
        names = [name for name in arrays.files if arrays[name].dtype == np.float32 and name != "boxes"]
        return {name: shortest(arrays[name]) for name in names}


def shortest(array: np.ndarray) -> Any:
    """A float32 array as nested lists of the shortest decimals that give the same float32."""
    if array.ndim:
        return [shortest(part) for part in array]
    return float(str(array))


class RecordTried(gym.vector.VectorWrapper):
    """Records which actions were ever tried, by position."""

    def __init__(self, env: gym.vector.VectorEnv, rules: NimRules) -> None:
        super().__init__(env)
        self.rules = rules
        self.tried = np.zeros((rules.n_positions, rules.n_actions), dtype=bool)

    def reset(self, **options: Any) -> Any:
        self.observations, infos = self.env.reset(**options)
        return self.observations, infos

    def step(self, actions: np.ndarray) -> Any:
        self.tried[self.rules.index(self.observations), actions] = True
        self.observations, *rest = self.env.step(actions)
        return self.observations, *rest


def train_table(rules: NimRules, episodes: int, seed: int) -> dict[str, Any]:
    """The Q-values of all legal moves, position by position: one signed byte each, in units of 1/127."""
    nim = gym.make_vec("nim_env:Nim-v0", num_envs=64, heaps=rules.heaps, opponent=None, random_start=True)
    env = RecordTried(nim, rules)
    agent = agents.QLearningAgent(
        env.single_observation_space,
        env.single_action_space,
        epsilon=lambda progress_remaining: 0.2 * progress_remaining,
        seed=seed,
    )
    agents.train(agent, env, episodes, seed=seed)
    positions = rules.all_positions()
    quantized = np.rint(127 * agent.q_values(positions)).astype(np.int8)
    quantized[~env.tried] = NEVER_TRIED
    mastery = evaluation.mastery(rules, agent)
    print(f"{episodes:,} games: expert mastery {mastery.expert:.4f}, champion {mastery.champion}")
    legal = quantized[rules.action_mask(positions) == 1]
    return {"games": episodes, "values": base64.b64encode(legal.tobytes()).decode()}


def save(data: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(data, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
