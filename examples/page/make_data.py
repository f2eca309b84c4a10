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
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for common.py

from common import PositiveInt, Seed, run

import gymnasium as gym
import numpy as np

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
    episodes: PositiveInt = 500_000
    """Training games."""
    seed: Seed = 0
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


class RecordingAgent(agents.QLearningAgent):
    """A Q-learning agent that records which actions it has ever tried."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.tried = np.zeros(self.table.values.size, dtype=bool)

    def update_encoded(self, rows: np.ndarray, actions: np.ndarray, *rest: Any, **options: Any) -> None:
        super().update_encoded(rows, actions, *rest, **options)
        ids = options.get("ids", rest[4] if len(rest) > 4 else None)
        pairs = rows * self.n_actions + actions
        self.tried[pairs if ids is None else pairs[ids]] = True


def train_table(rules: NimRules, episodes: int, seed: int) -> dict[str, Any]:
    """The Q-values of all legal moves, position by position: one signed byte each, in units of 1/127."""
    env = gym.make_vec("nim_env:Nim-v0", num_envs=64, heaps=rules.heaps, opponent=None, random_start=True)
    agent = RecordingAgent(
        env.single_observation_space,
        env.single_action_space,
        epsilon=lambda progress_remaining: 0.2 * progress_remaining,
        seed=seed,
    )
    agents.train(agent, env, episodes, seed=seed)
    positions = rules.all_positions()
    quantized = np.rint(127 * agent.q_values(positions)).astype(np.int8)
    quantized[~agent.tried.reshape(quantized.shape)] = NEVER_TRIED
    mastery = evaluation.mastery(rules, agent)
    print(f"{episodes:,} games: expert mastery {mastery.expert:.4f}, champion {mastery.champion}")
    legal = quantized[rules.action_mask(positions) == 1]
    return {"games": episodes, "values": base64.b64encode(legal.tobytes()).decode()}


def save(data: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(data, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    run(main, Args)
