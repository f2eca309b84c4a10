"""RLlib's PPO learns Nim by self-play in the PettingZoo environment, with an action-masking module.

Both players learn, as one module or as two (--policies). Env runners are processes of this machine, or of the Ray
cluster that --address names. During training the modules are evaluated exactly: the expert and champion mastery of
their most probable actions (Zhou and Riis 2022, arXiv:2205.12787), and the exploitability of their action
distribution and its win probability against random play. PPO: Schulman et al. (2017, arXiv:1707.06347).

--resume continues an interrupted run from its last checkpoint. The final policies are saved as tables, which
play.py, compare_opponents.py and others load without Ray. Checkpoints are pickles: resume only your own.

Install: pip install -e ".[examples,rllib]"
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from common import (
    Fraction,
    NonNegative,
    PositiveInt,
    Seed,
    check_at_least,
    check_output,
    check_resume,
    checking_args,
    label_lines,
    percent,
    replacing,
    run,
    save_figure,
    save_table_policy,
)

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import ray
import torch
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModule, RLModuleSpec
from ray.rllib.env.env_context import EnvContext
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

import agents
import nim_env
from nim_env import NimRules, aec_env, evaluation, solver
from nim_env.encodings import as_encoding
from nim_env.policies import batched, tabulate
from nim_env.rllib import masked_dict

MODULES = {"shared": ("player",), "separate": ("player_0", "player_1")}
NOT_RESUMED = ("num_env_runners", "address", "resume", "folder")


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    policies: Literal["shared", "separate"] = "shared"
    """One module for both players, or one for each."""
    total_timesteps: PositiveInt = 600_000
    """The number of training timesteps: the moves of both players."""
    num_env_runners: int = 2
    """The number of processes that play; with 0 the process that learns plays too."""
    num_envs: PositiveInt = 128
    """The number of environments of each env runner."""
    train_batch_size: PositiveInt = 8192
    """The number of moves in each iteration, of all env runners together."""
    batch_size: PositiveInt = 1024
    """The size of a minibatch."""
    n_epochs: PositiveInt = 4
    """The number of passes over the moves of each iteration."""
    net_arch: tuple[PositiveInt, ...] = (256, 256)
    """The sizes of the hidden layers."""
    learning_rate: NonNegative = 3e-3
    """The learning rate at the start; it falls to 0."""
    ent_coef: NonNegative = 0.5
    """The entropy coefficient at the start; it falls to 0."""
    gae_lambda: Fraction = 0.5
    """The λ of generalized advantage estimation."""
    eval_interval: PositiveInt = 4
    """The number of iterations between two evaluations, each with a checkpoint."""
    seed: Seed = 0
    """Random seed; the result also depends on the number of env runners and PYTHONHASHSEED."""
    address: str = "local"
    """The address of a Ray cluster: local to start Ray on this machine, or host:port or auto to connect to one."""
    resume: bool = False
    """Continue the run in the folder from its last checkpoint, with the options it was started with."""
    folder: Path = Path("results/rllib_self_play")
    """Where the checkpoints, the policies (.npz), the table (.csv) and the figure (.png) are saved."""


def main(args: Args) -> pd.DataFrame:
    """Trains and returns a row for each evaluation of each module."""
    check_at_least(0, num_env_runners=args.num_env_runners)
    checkpoints, table_file = args.folder.absolute() / "checkpoints", args.folder / "rllib_self_play.csv"
    saved = sorted(checkpoints.glob("[0-9]*"))
    check_resume(args.resume, args.folder, bool(saved))
    if args.resume:
        args = replace(args, **json.loads((checkpoints / "args.json").read_text()))
    with checking_args():
        rules = NimRules(args.heaps, args.max_take, args.misere)
        solver.iter_positions(rules)  # raises if the game is too large
        config = make_config(args, rules)
        config.validate()
    check_output("folder", args.folder / "rllib_self_play.png")
    checkpoints.mkdir(exist_ok=True)
    options = {name: value for name, value in asdict(args).items() if name not in NOT_RESUMED}
    (checkpoints / "args.json").write_text(json.dumps(options))
    ray.init(
        address=args.address,
        runtime_env=None if args.address == "local" else {"py_modules": [nim_env, agents]},
        ignore_reinit_error=True,
        log_to_driver=False,
        logging_level="ERROR",
    )
    algorithm = config.build_algo()
    if args.resume:
        with checking_args(Exception, f"--resume: {saved[-1]} is damaged: "):
            algorithm.restore_from_path(saved[-1])
        table = pd.read_csv(table_file).query(f"timesteps <= {int(saved[-1].name)}")
        print(f"resumed from {saved[-1]}")
    else:
        first = {name: evaluate(rules, algorithm.get_module(name)) for name in MODULES[args.policies]}
        table = pd.DataFrame(
            [{"timesteps": 0, "seconds": 0.0, "module": name} | row for name, row in first.items()]
        )
    table = train(args, algorithm, table, checkpoints, table_file)
    for name in MODULES[args.policies]:
        policy = ModulePolicy(algorithm.get_module(name), rules)
        save_table_policy(tabulate(rules, batched(policy.best_actions)), args.folder / f"{name}.npz")
        print(f"policy: {args.folder / name}.npz")
    algorithm.stop()
    save_figure(draw(args, rules, table), args.folder / "rllib_self_play.png")
    return table


# --- Environment ----------------------------------------------------------------------------------


class SelfPlayEnv(PettingZooEnv):
    """The environment in RLlib's wrapper, with a different seed in each env runner.

    Args:
        context: RLlib's, with the ``rules``.
    """

    def __init__(self, context: EnvContext) -> None:
        env = aec_env.env(**asdict(context["rules"]), random_start=True, observation="one_hot")
        super().__init__(masked_dict(env))
        self.agents = self.possible_agents = sorted(self.agents)  # the wrapper's order is that of a set
        self.place = context.worker_index, context.vector_index

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if seed is not None:  # RLlib gives the same seed to environments of different env runners
            seed = int(np.random.SeedSequence((seed, *self.place)).generate_state(1)[0])
        return super().reset(seed=seed, options=options)


# --- Training -------------------------------------------------------------------------------------


def make_config(args: Args, rules: NimRules) -> PPOConfig:
    """The configuration of PPO."""
    modules = MODULES[args.policies]
    spec = RLModuleSpec(
        module_class=ActionMaskingTorchRLModule,
        model_config=DefaultModelConfig(
            fcnet_hiddens=list(args.net_arch), fcnet_activation="relu", vf_share_layers=False
        ),
    )
    return (
        PPOConfig()
        .environment(SelfPlayEnv, env_config={"rules": rules})
        .env_runners(num_env_runners=args.num_env_runners, num_envs_per_env_runner=args.num_envs)
        .fault_tolerance(restart_failed_env_runners=True)
        .learners(num_learners=0)
        .multi_agent(policies=set(modules), policy_mapping_fn=partial(module_of, modules))
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=dict.fromkeys(modules, spec)))
        .training(
            gamma=1.0,
            lambda_=args.gae_lambda,
            lr=[[0, args.learning_rate], [args.total_timesteps, 0.0]],
            entropy_coeff=[[0, args.ent_coef], [args.total_timesteps, 0.0]],
            train_batch_size=args.train_batch_size,
            minibatch_size=args.batch_size,
            num_epochs=args.n_epochs,
            use_kl_loss=False,
        )
        .callbacks(on_train_result=partial(on_train_result, args))
        .debugging(seed=args.seed, log_level="ERROR")
    )


def module_of(modules: tuple[str, ...], agent_id: str, *_: Any, **__: Any) -> str:
    """The module that plays as an agent."""
    return agent_id if agent_id in modules else modules[0]


def on_train_result(args: Args, *, algorithm: PPO, result: dict[str, Any], **_: Any) -> None:
    """RLlib's callback after each iteration: adds the evaluations to the result when they are due."""
    is_last = result["num_env_steps_sampled_lifetime"] >= args.total_timesteps
    if is_last or result["training_iteration"] % args.eval_interval == 0:
        rules = algorithm.config.env_config["rules"]
        result["exact"] = {name: evaluate(rules, algorithm.get_module(name)) for name in MODULES[args.policies]}


def train(args: Args, algorithm: PPO, table: pd.DataFrame, checkpoints: Path, table_file: Path) -> pd.DataFrame:
    """Trains to the end; returns the table with a row for each further evaluation."""
    timesteps, start = table["timesteps"].iloc[-1], time.perf_counter() - table["seconds"].iloc[-1]
    while timesteps < args.total_timesteps:
        result = algorithm.train()
        timesteps = int(result["num_env_steps_sampled_lifetime"])
        if "exact" not in result:
            continue
        shared = {"timesteps": timesteps, "seconds": time.perf_counter() - start}
        rows = [shared | {"module": name} | figures for name, figures in result["exact"].items()]
        table = pd.concat([table, pd.DataFrame(rows)], ignore_index=True)
        with replacing(table_file) as file:
            table.to_csv(file, index=False)
        algorithm.save_to_path(checkpoints / "unfinished")
        (checkpoints / "unfinished").rename(checkpoints / f"{timesteps:012}")
        for row in rows:
            print(describe(row), flush=True)
    return table


# --- Evaluation -----------------------------------------------------------------------------------


class ModulePolicy:
    """A module as a policy. It is queried on batches of positions.

    Args:
        module: The module.
        rules: The game.
    """

    def __init__(self, module: RLModule, rules: NimRules) -> None:
        self.module, self.encoding = module, as_encoding("one_hot", rules)

    def action_probabilities(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        """The probability of each action."""
        arrays = {"observations": self.encoding(observation), "action_mask": action_mask}
        obs = {name: torch.as_tensor(array, dtype=torch.float32) for name, array in arrays.items()}
        with torch.no_grad():
            logits = self.module.forward_inference({Columns.OBS: obs})[Columns.ACTION_DIST_INPUTS]
        return torch.softmax(logits.double(), dim=-1).numpy()

    def best_actions(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        """The most probable action of each position."""
        return self.action_probabilities(observation, action_mask).argmax(axis=-1)


def evaluate(rules: NimRules, module: RLModule) -> dict[str, Any]:
    """The exact evaluation of a module."""
    policy = ModulePolicy(module, rules)
    mastery, report = evaluation.mastery(rules, batched(policy.best_actions)), evaluation.report(rules, policy)
    return {
        "expert": mastery.expert,
        "champion": mastery.champion,
        "exploitability": report.exploitability,
        "win_probability_random": report.win_probability_random,
    }


def describe(row: dict[str, Any]) -> str:
    """An evaluation in one line."""
    return (
        f"{row['timesteps']:,} timesteps, {row['seconds']:.0f} s, {row['module']}: "
        f"expert mastery {percent(row['expert'])} %, champion {'yes' if row['champion'] else 'no'}, "
        f"exploitability {row['exploitability']:.4f}, "
        f"wins against random play {percent(row['win_probability_random'])} %"
    )


def draw(args: Args, rules: NimRules, table: pd.DataFrame) -> plt.Figure:
    """The evaluations against timesteps, a panel for each module."""
    modules = MODULES[args.policies]
    size = 10 * len(modules), 5
    figure, axes = plt.subplots(1, len(modules), figsize=size, squeeze=False, layout="constrained")
    for axis, name in zip(axes.flat, modules, strict=True):
        rows = table[table["module"] == name]
        for column, label in (
            ("expert", "expert mastery\n(most probable actions)"),
            ("win_probability_random", "win probability\nagainst random play\n(sampled actions)"),
            ("exploitability", "exploitability\n(sampled actions)"),
        ):
            axis.plot(rows["timesteps"], rows[column], label=label, marker=".")
        title = f"module {name}" if len(modules) > 1 else ""
        axis.set(title=title, xlabel="training timesteps (moves of both players)", ylim=(-0.02, 1.02))
        axis.xaxis.set_major_formatter("{x:,.0f}")
        label_lines(axis)
    figure.suptitle(f"RLlib's PPO in self-play on {rules}\n{args.num_env_runners} env runners, seed {args.seed}")
    return figure


if __name__ == "__main__":
    run(main, Args)
