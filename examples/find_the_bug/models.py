"""Counts the false alarms of the diagnosis on models of Stable-Baselines3 and sb3-contrib.

The models train against random play with the default settings of these libraries. They are saved and then judged
as by `python -m nim_env check FILE.zip`. The algorithms are correct, so every reported bug is a false alarm. The
script prints and saves a table with the number of models that got each result, by algorithm and number of training
steps.

    cd examples
    OMP_NUM_THREADS=1 python -m find_the_bug.models

Install: pip install -e ".[examples,sb3]"
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import install_hint  # noqa: F401  says what to install if a package is missing

import gymnasium as gym
import pandas as pd
import sb3_contrib
import stable_baselines3
from tqdm import tqdm

from nim_env import NimRules, evaluation
from nim_env.check import players

from command_line import run

RULES = NimRules()


@dataclass
class Args:
    algorithms: tuple[str, ...] = ("A2C", "PPO", "DQN", "MaskablePPO")
    steps: tuple[int, ...] = (0, 6_000)
    """The numbers of training steps; 0 for an untrained model."""
    seeds: int = 4
    """The number of models for each algorithm and number of steps."""
    folder: Path = Path("results/models")


def main(args: Args) -> pd.DataFrame:
    """Trains and judges all models; returns how many got each result, by algorithm and number of steps."""
    pairs = pd.MultiIndex.from_product([args.algorithms, args.steps], names=["algorithm", "steps"])
    table = pd.DataFrame(0, pairs, ["models", "bug", "undecided", "no bug found"])
    for name, steps in tqdm(pairs, disable=None):
        for seed in range(args.seeds):
            table.loc[(name, steps), ["models", train_and_judge(name, steps, seed)]] += 1
    args.folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(args.folder / "models.csv")
    print(table.reset_index().to_string(index=False))
    return table


def train_and_judge(name: str, steps: int, seed: int) -> str:
    """Trains and saves a model, and returns the result of the diagnosis of the saved file."""
    algorithm = getattr(stable_baselines3, name, None) or getattr(sb3_contrib, name)
    env = gym.make("nim_env:Nim-v0", opponent="random", observation="one_hot")
    with tempfile.TemporaryDirectory() as folder:
        algorithm("MlpPolicy", env, seed=seed, device="cpu").learn(steps).save(f"{folder}/model.zip")
        player = players.load_player(f"{folder}/model.zip", RULES)
    values = player.values(RULES.all_positions())
    told = {"discount": player.discount, "behavior_policy": player.behavior_policy}
    return evaluation.diagnose(RULES, values, "random", **told).result


if __name__ == "__main__":
    run(main, Args)
