"""Trains RLlib's PPO (Schulman et al. 2017, arXiv:1707.06347) by self-play on Nim, with an action-masking module.

One module plays both sides of the PettingZoo environment. Expert and champion mastery (Zhou and Riis 2026,
arXiv:2205.12787) evaluate its most probable actions; exploitability and the probability of beating random play
evaluate its sampled actions.

    python examples/rllib_self_play.py

The script prints each evaluation and draws all of them. It saves the most probable actions as a player that other
scripts load without Ray. It takes about four minutes on two cores. docs/experiments/large_boards.md says how to
run it on a cluster.

Install: pip install -e ".[examples,rllib]"
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from command_line import run

import numpy as np
import pandas as pd
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.rl_module import RLModule, RLModuleSpec
from ray.rllib.env.env_context import EnvContext
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

from nim_env import NimRules, aec_env, evaluation
from nim_env.encodings import checked_encoding
from nim_env.policies import TabularPolicy
from nim_env.rllib import masked_dict

from common import plot_evaluations, save_figure

LABELS = {
    "expert": "expert mastery\n(most probable actions)",
    "win_probability_random": "win probability\nagainst random play\n(sampled actions)",
    "exploitability": "exploitability\n(sampled actions)",
}


@dataclass
class Args:
    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes; whoever takes the last object loses. Training games start from random positions."""
    total_timesteps: int = 600_000
    """The number of training timesteps, counting the moves of both players."""
    num_env_runners: int = 2
    """The number of processes that play. With 0, the learning process plays as well."""
    num_envs: int = 128
    """The number of environments in each env runner."""
    train_batch_size: int = 8192
    """The number of moves in each iteration, from all env runners together."""
    batch_size: int = 1024
    """The size of a minibatch."""
    eval_interval: int = 4
    """The number of iterations between two evaluations."""
    seed: int = 0
    """Random seed. The result also depends on the number of env runners and on PYTHONHASHSEED."""
    folder: Path = Path("results/rllib_self_play")
    """Where the player (.npz), the metrics (.csv), RLlib's checkpoint and, at the end, the figure are saved."""


def main(args: Args) -> pd.DataFrame:
    """Trains, and returns a row for each evaluation."""
    rules = NimRules(args.heaps)
    ray.init(ignore_reinit_error=True)
    if args.num_env_runners > (n_cpus := ray.cluster_resources()["CPU"]):
        raise ValueError(
            f"num_env_runners must be at most {n_cpus:.0f}, the number of Ray's CPUs; got {args.num_env_runners}"
        )
    algorithm = make_config(args, rules).build_algo()
    rows = [evaluate(args, rules, algorithm.get_module("player"), timesteps=0)]
    while rows[-1]["timesteps"] < args.total_timesteps:
        timesteps = int(algorithm.train()["num_env_steps_sampled_lifetime"])
        if timesteps >= args.total_timesteps or algorithm.iteration % args.eval_interval == 0:
            rows.append(evaluate(args, rules, algorithm.get_module("player"), timesteps))
            pd.DataFrame(rows).to_csv(args.folder / "rllib_self_play.csv", index=False)
            algorithm.save_to_path(args.folder.absolute() / "checkpoint")
    algorithm.stop()
    table = pd.DataFrame(rows)
    xlabel = f"timesteps (moves of both players on {'-'.join(map(str, args.heaps))}, seed {args.seed})"
    figure = plot_evaluations(table, LABELS, "RLlib's PPO by self-play, evaluated exactly", xlabel)
    save_figure(figure, args.folder / "rllib_self_play.svg")
    return table


def make_config(args: Args, rules: NimRules) -> PPOConfig:
    """Returns the settings of PPO, in which one module named "player" moves for both players."""
    networks = DefaultModelConfig(fcnet_hiddens=[256, 256], fcnet_activation="relu", vf_share_layers=False)
    return (
        PPOConfig()
        .environment(SelfPlayEnv, env_config={"rules": rules})
        .env_runners(num_env_runners=args.num_env_runners, num_envs_per_env_runner=args.num_envs)
        .env_runners(sample_timeout_s=300)  # RLlib drops the moves of slower runners; the default is 60 seconds
        .multi_agent(policies={"player"}, policy_mapping_fn=lambda *_, **__: "player")
        .rl_module(rl_module_spec=RLModuleSpec(ActionMaskingTorchRLModule, model_config=networks))
        .training(gamma=1.0, lambda_=0.5, num_epochs=4, use_kl_loss=False)
        .training(train_batch_size=args.train_batch_size, minibatch_size=args.batch_size)
        .training(lr=[[0, 3e-3], [args.total_timesteps, 0.0]])  # falls linearly to 0, like the entropy coefficient
        .training(entropy_coeff=[[0, 0.5], [args.total_timesteps, 0.0]])
        .debugging(seed=args.seed, log_level="ERROR")
    )


class SelfPlayEnv(PettingZooEnv):
    """The PettingZoo environment in RLlib's wrapper, with a different seed in each environment."""

    def __init__(self, context: EnvContext) -> None:
        env = aec_env.env(**asdict(context["rules"]), random_start=True, observation="one_hot")
        super().__init__(masked_dict(env))
        self.agents = self.possible_agents = sorted(self.agents)  # the wrapper takes their order from a set
        self.place = context.worker_index, context.vector_index

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if seed is not None:  # RLlib gives several env runners the same seed
            seed = int(np.random.SeedSequence((seed, *self.place)).generate_state(1)[0])
        return super().reset(seed=seed, options=options)


def evaluate(args: Args, rules: NimRules, module: RLModule, timesteps: int) -> dict[str, Any]:
    """Evaluates a module exactly, saves its player, and prints and returns the metrics."""
    policy = policy_of(module, rules)
    best = np.eye(rules.n_actions, dtype=np.float32)[policy.probabilities.argmax(axis=1)]
    args.folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(args.folder / "player.npz", game=str(rules), probabilities=best)
    mastery = evaluation.mastery(rules, TabularPolicy(rules, best))
    report = evaluation.report(rules, policy)
    row = {"timesteps": timesteps, "expert": mastery.expert, "champion": mastery.champion}
    row |= {name: getattr(report, name) for name in ("win_probability_random", "exploitability")}
    print(", ".join(f"{name} {value:.4g}" for name, value in row.items()), flush=True)
    return row


def policy_of(module: RLModule, rules: NimRules) -> TabularPolicy:
    """Returns a module's action distributions in all positions as a policy."""
    heaps = rules.all_positions()
    arrays = {"observations": checked_encoding("one_hot", rules)(heaps), "action_mask": rules.action_mask(heaps)}
    obs = {name: torch.as_tensor(array, dtype=torch.float32) for name, array in arrays.items()}
    with torch.no_grad():
        logits = module.forward_inference({"obs": obs})["action_dist_inputs"]
    return TabularPolicy(rules, torch.softmax(logits.double(), dim=-1).numpy())


if __name__ == "__main__":
    run(main, Args)
