"""One run of sb3_masks.py, in a module that other processes can import."""

from __future__ import annotations

from pathlib import Path

import deep
import numpy as np
from deep import Row
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import LinearSchedule

from nim_env import NimRules, theory
from nim_env.sb3 import NimVecEnv

NUM_ENVS = 64
ALGORITHMS = {"DQN": DQN, "PPO": PPO, "MaskablePPO": MaskablePPO}
OF_PPO = {"n_steps": 64, "batch_size": 512, "n_epochs": 4, "gae_lambda": 0.5, "ent_coef": 0.3}
HYPERPARAMETERS = {
    "DQN": {
        "buffer_size": 100_000,
        "learning_starts": 2_000,
        "batch_size": 256,
        "train_freq": 1,
        "gradient_steps": 4,
        "target_update_interval": 2_000,
        "exploration_fraction": 0.5,
    },
    "PPO": OF_PPO,
    "MaskablePPO": OF_PPO,
}


class Looks(BaseCallback):
    """Holds a model against the truth, evenly over its steps, while the entropy coefficient of PPO falls to 0.

    Attributes:
        rows: At each of the ``steps``: ``expert``, the share of winning positions in which its best move wins, and
            ``illegal``, the share of illegal ones among the moves that it has made since the last look.
    """

    def __init__(self, rules: NimRules, steps: int, looks: int) -> None:
        super().__init__()
        self.rules, self.steps, self.rows = rules, steps, []
        self.next_looks = np.linspace(0, steps, looks + 1)[1:-1].tolist()  # and one at the end
        self.heaps = deep.positions(rules)
        self.masks, self.wins = rules.action_mask(self.heaps), theory.winning_action_mask(rules, self.heaps)
        self._moves = self._illegal = 0

    def _on_training_start(self) -> None:
        self.rows.append({"steps": 0, "expert": self._expert(), "illegal": np.nan})

    def _on_rollout_start(self) -> None:
        if hasattr(self.model, "ent_coef"):
            self.model.ent_coef = OF_PPO["ent_coef"] * max(0.0, 1 - self.num_timesteps / self.steps)

    def _on_step(self) -> bool:
        self._moves += self.training_env.num_envs
        self._illegal += sum(info["illegal_action"] for info in self.locals["infos"])
        if self.next_looks and self.num_timesteps >= self.next_looks[0]:
            self.next_looks = [look for look in self.next_looks if look > self.num_timesteps]
            self._look()
        return True

    def _on_training_end(self) -> None:
        self._look()

    def _look(self) -> None:
        row = {"expert": self._expert(), "illegal": self._illegal / self._moves}
        for name, value in row.items():
            self.logger.record(f"nim/{name}", value)
        self.logger.dump(self.num_timesteps)
        self.rows.append({"steps": self.num_timesteps, **row})
        self._moves = self._illegal = 0

    def _expert(self) -> float:
        masks = {"action_masks": self.masks} if isinstance(self.model, MaskablePPO) else {}
        actions, _ = self.model.predict(self.heaps, deterministic=True, **masks)
        winning = self.wins.any(axis=1)
        return float(self.wins[np.arange(len(actions)), actions][winning].mean())


def study(
    algorithm: str, rules: NimRules, teacher: str, steps: int, looks: int, seed: int, log: Path
) -> list[Row]:
    """Trains one algorithm at the budget; what was found on the way, see :class:`Looks`."""
    env = NimVecEnv(deep.vector_env(rules, NUM_ENVS, teacher))
    model: BaseAlgorithm = ALGORITHMS[algorithm](
        "MlpPolicy",
        env,
        learning_rate=LinearSchedule(1e-3, 0.0, 1.0),
        gamma=1.0,
        policy_kwargs={"net_arch": [256, 256]},
        tensorboard_log=str(log),
        seed=seed,
        device="cpu",
        **HYPERPARAMETERS[algorithm],
    )
    course = Looks(rules, steps, looks)
    model.learn(steps, course, tb_log_name=f"{algorithm}_seed_{seed}")
    return course.rows
