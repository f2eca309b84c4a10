"""Find the bug in your self-play: four correct learners, eight classical bugs, and the figures that show them.

Nim is solved, so the evaluation of a learner is exact, and a mistake in its training shows in figures. Four
learners train by self-play on three small boards: Q-learning in PettingZoo's loop, minimax-Q in Gymnasium's vector
loop, PPO and MaskablePPO. Eight bugs that people met are planted in them, each in the lines after "if bug ==". The
page docs/test_your_agent.md explains them.

    python examples/find_the_bug.py
    python examples/find_the_bug.py --player results/sb3_self_play/model.zip --heaps 1 3 5 7

The second command evaluates your own player and draws its mistakes. The runs of the first are cached in --folder,
so the same command continues after an interruption; delete the folder after a change of the learners.

Sources: Q-learning, Watkins (1989); minimax-Q, Littman (1994); expert mastery, Zhou and Riis (2022,
arXiv:2205.12787).

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pettingzoo
import seaborn as sns
import torch
from matplotlib.figure import Figure
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.utils import LinearSchedule
from tqdm import tqdm

from nim_env import NimRules, evaluation, theory
from nim_env.appearance import COLORS
from nim_env.evaluation import ValueFunction
from nim_env.policies import PolicyLike, batched
from nim_env.sb3 import ModelPolicy, NimVecEnv, SelfPlayCallback

from common import load_player, run, save_figure, show_report, values_of
from sb3_self_play import EntropySchedule

BOARDS = ((1, 2, 3), (1, 3, 5), (2, 3, 4))  # misère play; the bugs are planted on the last one
TIME_LIMIT = 3  # of an episode of minimax-Q, shorter than most games


@dataclass
class Args:
    """The options of this script."""

    player: str | None = None
    """A player to evaluate instead: random, take-N, expert, file.py:name, or the file of an agent or a network."""
    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes, for --player."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit. For --player."""
    misere: bool = True
    """Whether the player who takes the last object loses. For --player."""
    n_seeds: int = 10
    """The number of seeds, from --seed on."""
    seed: int = 0
    """Random seed, the first one."""
    n_jobs: int = -1
    """The number of runs at the same time; -1 for one per core."""
    folder: Path = Path("results/find_the_bug")
    """Where the cached runs, the table and the figures are saved."""


def main(args: Args) -> pd.DataFrame:
    """Trains all learners and returns a row for each, or evaluates a player."""
    if args.player is not None:
        return diagnose(args)
    seeds = range(args.seed, args.seed + args.n_seeds)
    runs = [(learner, heaps, None) for heaps in BOARDS for learner in LEARNERS]
    runs += [(bug.learner, BOARDS[-1], name) for name, bug in BUGS.items()]
    cached = joblib.Memory(args.folder / "cache", verbose=0).cache(train)
    calls = [joblib.delayed(cached)(*options, seed) for seed in seeds for options in runs]
    rows = joblib.Parallel(args.n_jobs, return_as="generator")(calls)
    table = pd.DataFrame(tqdm(rows, total=len(calls), desc="runs", disable=None))
    table.round(4).to_csv(args.folder / "find_the_bug.csv", index=False)
    print(summarize(table).T.to_string())
    save_figure(draw_bugs(table), args.folder / "find_the_bug.svg")
    return table


def train(learner: str, heaps: tuple[int, ...], bug: str | None, seed: int, share: float = 1.0) -> dict[str, Any]:
    """Trains a learner for a share of its moves; returns its figures."""
    torch.set_num_threads(1)  # there is one run per core
    start = time.process_time()
    function, moves = LEARNERS[learner]
    figures = function(NimRules(heaps), seed, round(share * moves), bug)
    run = {"board": "-".join(map(str, heaps)), "learner": learner, "bug": bug or "", "seed": seed}
    return run | {name: figures[name] for name in FIGURES} | {"seconds": time.process_time() - start}


def figures_of(rules: NimRules, player: PolicyLike, values: ValueFunction) -> dict[str, float]:
    """The exact figures of a player and its values."""
    report = evaluation.report(rules, player, values)
    figures = report.to_dict() | {"illegal": 0.0}
    for name, is_endgame in (("expert_endgames", True), ("expert_others", False)):
        groups = [group for group in report.groups if group.endgame == is_endgame]
        figures[name] = np.average([group.expert for group in groups], weights=[group.won for group in groups])
    return figures


def figures_of_table(rules: NimRules, q_table: np.ndarray) -> dict[str, float]:
    """The figures of the greedy player of a table, and of its values."""

    def values(heaps: np.ndarray) -> np.ndarray:
        return np.where(rules.action_mask(heaps), q_table[tuple(heaps.T)], -np.inf).max(axis=1)

    player = batched(lambda heaps, masks: best(q_table[tuple(heaps.T)], masks))
    return figures_of(rules, player, values)


def best(values: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """The legal action of the largest value: shapes ``(..., n_actions)`` in, ``(...)`` out."""
    return np.where(masks, values, -np.inf).argmax(axis=-1)


def train_q_learning(rules: NimRules, seed: int, moves: int, bug: str | None) -> dict[str, float]:
    """Q-learning for both players in PettingZoo's loop; the future of a move is the player's own next turn."""
    env = pettingzoo.make("aec", "nim-v0", random_start=True, **asdict(rules))
    generator, n_moves = np.random.default_rng(seed), 0
    q_table = np.zeros((*np.add(rules.heaps, 1), rules.n_actions))
    env.reset(seed=seed)
    while n_moves < moves:
        last_moves = {}  # the position and the action of each player's last turn
        for player in env.agent_iter():
            observation, reward, terminated, _, _ = env.last()
            position, mask = tuple(observation["observation"]), observation["action_mask"]
            if bug == "opponent's reward":
                reward = -reward  # the game is zero-sum
            if player in last_moves:
                future = 0 if terminated else q_table[position][mask > 0].max()
                q_table[last_moves[player]] += 0.5 * (reward + future - q_table[last_moves[player]])
            if terminated and bug == "last turn dropped":
                break  # the other player has a turn left, in which it gets its reward
            if terminated:
                env.step(None)
                continue
            is_random = generator.random() < 0.5 * (1 - n_moves / moves)
            action = best(generator.random(rules.n_actions) if is_random else q_table[position], mask)
            last_moves[player] = (*position, action)
            env.step(int(action))
            n_moves += 1
        env.reset()
    return figures_of_table(rules, q_table)


def train_minimax_q(rules: NimRules, seed: int, moves: int, bug: str | None) -> dict[str, float]:
    """Minimax-Q in Gymnasium's vector loop: the future of a move is minus the other player's next value."""
    options = {"random_start": True, "max_episode_steps": TIME_LIMIT}
    envs = gym.make_vec("nim_env:Nim-v0", num_envs=8, opponent=None, **options, **asdict(rules))
    generator, n_moves = np.random.default_rng(seed), 0
    q_table = np.zeros((*np.add(rules.heaps, 1), rules.n_actions))
    observations, infos = envs.reset(seed=seed)
    is_over = np.zeros(envs.num_envs, dtype=bool)
    while n_moves < moves:
        masks = infos["action_mask"]
        is_random = generator.random((envs.num_envs, 1)) < 0.5 * (1 - n_moves / moves)
        scores = np.where(is_random, generator.random(masks.shape), q_table[tuple(observations.T)])
        actions = best(scores, masks)
        players = infos["to_play"]
        next_observations, rewards, terminations, truncations, infos = envs.step(actions)
        if bug == "wrong player's view":
            rewards = np.where(players == 0, rewards, -rewards)  # those of player 0
        next_masks = infos["action_mask"]
        if bug == "stale mask":
            next_masks = masks
        next_q_values = q_table[tuple(next_observations.T)]
        futures = -np.where(next_masks, next_q_values, -np.inf).max(axis=1)
        if bug == "no minus sign":
            futures = -futures
        has_ended = terminations
        if bug == "truncation as termination":
            has_ended = terminations | truncations
        targets = rewards + np.where(has_ended, 0, futures)
        is_move = ~is_over  # the step after an end ignores the action
        if bug == "autoreset step learned":
            is_move[:] = True
        for env in np.flatnonzero(is_move):
            move = (*observations[env], actions[env])
            q_table[move] += 0.2 * (targets[env] - q_table[move])
        n_moves += is_move.sum()
        observations, is_over = next_observations, terminations | truncations
    return figures_of_table(rules, q_table)


def train_model(algorithm: type[PPO], rules: NimRules, seed: int, moves: int, bug: str | None) -> dict[str, float]:
    """A model of Stable-Baselines3 or sb3-contrib against a pool of its own snapshots."""
    env_options = {"random_start": True, "observation": "one_hot", "autoreset_mode": "SameStep"}
    env = NimVecEnv(gym.make_vec("nim_env:Nim-v0", num_envs=64, **env_options, **asdict(rules)))
    options = {"n_steps": 16, "batch_size": 256, "n_epochs": 4, "gamma": 1.0, "gae_lambda": 0.5}
    options |= {"learning_rate": LinearSchedule(5e-3, 0.0, 1.0), "policy_kwargs": {"net_arch": [64, 64]}}
    model = algorithm("MlpPolicy", env, seed=seed, device="cpu", **options)
    model.learn(moves, callback=[SelfPlayCallback(3, pool_size=20), EntropySchedule(0.5, moves)])
    player = ModelPolicy(model, env, deterministic=True)
    if bug == "no mask at prediction":
        positions = rules.all_positions()[1:]
        actions, _ = model.predict(player.encoding(positions), deterministic=True)
        return figures_of_actions(rules, positions, actions)
    return figures_of(rules, player, player.values)


def figures_of_actions(rules: NimRules, positions: np.ndarray, actions: np.ndarray) -> dict[str, float]:
    """The fraction of illegal actions, and expert mastery, in which they are mistakes; NaN for the others."""
    rows = np.arange(len(positions))
    is_right = theory.winning_action_mask(rules, positions)[rows, actions] > 0
    illegal = (rules.action_mask(positions)[rows, actions] == 0).mean()
    expert = is_right[theory.is_winning(rules, positions)].mean()
    return dict.fromkeys(FIGURES, float("nan")) | {"illegal": illegal, "expert": expert}


LEARNERS = {  # how to train them, and the number of moves
    "Q-learning": (train_q_learning, 20_000),
    "minimax-Q": (train_minimax_q, 20_000),
    "PPO": (partial(train_model, PPO), 100_000),
    "MaskablePPO": (partial(train_model, MaskablePPO), 100_000),
}


@dataclass(frozen=True)
class Bug:
    """Where a bug is planted, the figure that shows it, and a thread in which people met it."""

    learner: str
    figure: str
    thread: str


BUGS = {
    "opponent's reward": Bug("Q-learning", "expert_endgames", "Farama-Foundation/PettingZoo/issues/1147"),
    "last turn dropped": Bug("Q-learning", "value_accuracy_lost", "Farama-Foundation/PettingZoo/issues/355"),
    "no minus sign": Bug("minimax-Q", "value_accuracy_won", "jserv/ttt/issues/44"),
    "stale mask": Bug("minimax-Q", "expert", "thu-ml/tianshou/issues/309"),
    "truncation as termination": Bug("minimax-Q", "value_error_lost", "vwxyzjn/cleanrl/issues/457"),
    "autoreset step learned": Bug("minimax-Q", "value_error_won", "vwxyzjn/cleanrl/issues/499"),
    "no mask at prediction": Bug("MaskablePPO", "illegal", "Farama-Foundation/PettingZoo/issues/863"),
    "wrong player's view": Bug("minimax-Q", "value_accuracy_lost", "werner-duvaud/muzero-general/issues/55"),
}

FIGURES = {
    "expert": "expert mastery",
    "expert_endgames": "expert mastery in endgames",
    "expert_others": "expert mastery elsewhere",
    "mean_exploitability": "mean exploitability",
    "value_accuracy_won": "value accuracy, won positions",
    "value_accuracy_lost": "value accuracy, lost positions",
    "value_error_won": "error of values, won positions",
    "value_error_lost": "error of values, lost positions",
    "illegal": "illegal actions",
}


def summarize(table: pd.DataFrame) -> pd.DataFrame:
    """The figures as median (minimum to maximum) over the seeds, and how many seeds have no mistake."""
    groups = table.groupby(["board", "learner", "bug"], sort=False)
    columns = {}
    for column in (*FIGURES, "seconds"):
        middle, low, high = (groups[column].agg(how).round(2) for how in ("median", "min", "max"))
        spread = " (" + low.astype(str) + " to " + high.astype(str) + ")"
        columns[column] = middle.astype(str) + spread.where(low < high, "")
    return pd.DataFrame(columns).assign(perfect=groups["expert"].agg(lambda expert: int((expert == 1).sum())))


def draw_bugs(table: pd.DataFrame) -> Figure:
    """For each bug the figure that shows it, at the end of every run, with those of the correct learner."""
    table = table[table["board"] == "-".join(map(str, BOARDS[-1]))]
    rows = []
    n_apart = 0
    for name, bug in BUGS.items():
        runs = table[(table["learner"] == bug.learner) & table["bug"].isin(["", name])]
        row = f"{name}\n{bug.learner}: {FIGURES[bug.figure]}"
        is_correct = runs["bug"] == ""
        correct, wrong = runs.loc[is_correct, bug.figure], runs.loc[~is_correct, bug.figure]
        n_apart += not wrong.between(correct.min(), correct.max()).any()
        learners = np.where(is_correct, "correct", "with the bug")
        rows.append(pd.DataFrame({"row": row, "figure": runs[bug.figure], "learner": learners}))
    figure, axis = plt.subplots(figsize=(7.4, 4.6), layout="constrained")
    style = {"hue": "learner", "palette": [COLORS["good"], COLORS["flag"]], "jitter": 0.25, "alpha": 0.6}
    sns.stripplot(pd.concat(rows), x="figure", y="row", ax=axis, **style)
    sns.move_legend(axis, "upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, title="")
    axis.set(
        title=f"{n_apart} of {len(BUGS)} bugs leave the range of the correct learner with every seed",
        xlabel=f"a dot for each seed ({NimRules(BOARDS[-1])})",
        ylabel="",
    )
    return figure


def diagnose(args: Args) -> pd.DataFrame:
    """Prints and draws all figures of a player, and returns its table."""
    rules = NimRules(args.heaps, args.max_take, args.misere)
    player = load_player(args.player, rules)
    report = evaluation.report(rules, player, values_of(player, rules))
    return show_report(report, f"{args.player}, {rules}", args.folder / "find_the_bug_player.svg")


if __name__ == "__main__":
    run(main, Args)
