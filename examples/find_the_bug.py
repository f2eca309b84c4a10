"""Find the bug in your self-play: four correct learners, nine classical bugs, and the figures that show them.

Nim is solved, so the evaluation of a learner is exact, and a mistake in its training shows in figures. Four
learners train by self-play on three small boards, in misère and in normal play: Q-learning in PettingZoo's loop,
minimax-Q in Gymnasium's vector loop, Q-learning with a dictionary, and MaskablePPO. Bugs that people met are
planted in them, each in the lines after "if bug ==". The page docs/test_your_agent.md explains them. After three
lengths of training nim_env.evaluation.diagnose has to name the bug.

    python examples/find_the_bug.py

examples/check_player.py evaluates your own player.

Sources: Q-learning, Watkins (1989); minimax-Q, Littman (1994); expert mastery, Zhou and Riis (2022,
arXiv:2205.12787).

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from itertools import product
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
from stable_baselines3.common.utils import LinearSchedule
from tqdm import tqdm

from nim_env import NimRules, TabularPolicy, evaluation
from nim_env.sb3 import ModelPolicy, NimVecEnv, SelfPlayCallback

from common import COLORS, run, save_figure
from sb3_self_play import EntropySchedule

BOARDS = ((1, 2, 3), (1, 3, 5), (2, 3, 4))  # the picture shows the last one, in misère play
SHARES = (0.05, 0.3, 1.0)  # the lengths of training, of the moves of a learner
TIME_LIMIT = 3  # of an episode of minimax-Q, shorter than most games

NO_EQUATION = ("values too small", "last moves of both signs")
BUGS = {  # the learner, the diagnoses that are right, and the figure that shows the bug in the picture
    "opponent's reward": ("Q-learning", ("opponent's reward",), "expert_endgames"),
    "last turn dropped": ("Q-learning", ("last mover's reward dropped",), "value_accuracy_lost"),
    "maximum that starts from 0": ("dictionary", ("maximum that starts from 0",), "value_accuracy_lost"),
    "no minus sign": ("minimax-Q", ("no minus sign",), "value_accuracy_won"),
    "stale mask": ("minimax-Q", ("maximum over illegal actions",), "expert"),
    "truncation as termination": ("minimax-Q", NO_EQUATION, "value_error_lost"),
    "autoreset step learned": ("minimax-Q", NO_EQUATION, "value_error_won"),
    "no mask at prediction": ("MaskablePPO", ("no mask at prediction",), "illegal_action"),
    "wrong player's view": ("minimax-Q", NO_EQUATION, "value_accuracy_lost"),
    "maximum over illegal actions": ("minimax-Q", ("maximum over illegal actions",), None),
    "minimum in place of the maximum": ("dictionary", ("minimum in place of the maximum",), None),
    "mean in place of the maximum": ("minimax-Q", ("mean in place of the maximum",), None),
    "discount": ("minimax-Q", ("discount of 0.89 per move", "discount of 0.90 per move"), None),
    "rewards of 10": ("minimax-Q", ("rewards of a scale other than 1",), None),
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
    "illegal_action": "illegal actions",
}


@dataclass
class Args:
    """The options of this script."""

    n_seeds: int = 10
    """The number of seeds, from 0 on; one for MaskablePPO, which takes 18 seconds a run."""
    n_jobs: int = -1
    """The number of runs at the same time; -1 for one per core."""
    folder: Path = Path("results/find_the_bug")
    """Where the table and the figure are saved."""


def main(args: Args) -> pd.DataFrame:
    """Trains all learners and returns a row for each run."""
    planted = [(learner, "") for learner in LEARNERS] + [(learner, bug) for bug, (learner, *_) in BUGS.items()]
    runs = [
        joblib.delayed(train_and_evaluate)(learner, bug, heaps, misere, seed, share)
        for (learner, bug), heaps, misere, share in product(planted, BOARDS, (True, False), SHARES)
        for seed in range(1 if learner == "MaskablePPO" else args.n_seeds)
    ]
    rows = joblib.Parallel(args.n_jobs, return_as="generator")(runs)
    table = pd.DataFrame(tqdm(rows, total=len(runs), desc="runs", disable=None))
    save_figure(draw_bugs(table), args.folder / "find_the_bug.svg")
    table.round(4).to_csv(args.folder / "find_the_bug.csv", index=False)
    ended = table[(table["share"] == 1) & (table["play"] == "misère")]
    medians = ended.groupby(["board", "learner", "bug"], sort=False)[[*FIGURES, "seconds"]].median()
    print(f"Medians over the seeds, misère play\n{medians.round(2).to_string()}\n")
    counts = pd.crosstab([table["learner"], table["bug"]], [table["share"], table["verdict"]])
    print(f"Runs by their share of the training and their diagnosis\n{counts.to_string()}")
    return table


def train_and_evaluate(
    learner: str, bug: str, heaps: tuple[int, ...], misere: bool, seed: int, share: float
) -> dict[str, Any]:
    """The exact figures of a learner after a share of its moves, and if its diagnosis is right, wrong or none."""
    torch.set_num_threads(1)  # there is one run per core
    start = time.process_time()
    rules = NimRules(heaps, misere=misere)
    train, moves = LEARNERS[learner]
    actions, values = train(rules, seed, round(share * moves), bug)
    row = {"board": "-".join(map(str, heaps)), "play": "misère" if misere else "normal"}
    row |= {"learner": learner, "bug": bug, "share": share, "seed": seed}
    seconds = time.process_time() - start
    policy = TabularPolicy(rules, np.eye(rules.n_actions)[actions])
    diagnosis = evaluation.diagnose(rules, values)
    if values.ndim == 2:
        values = np.where(rules.action_mask(rules.all_positions()), values, -np.inf).max(axis=1)
    report = evaluation.report(rules, policy, lambda heaps: values[rules.index(heaps)], illegal_action="lose")
    if report.illegal_action:
        diagnosis = evaluation.diagnose_moves(rules, policy)
    right = BUGS[bug][1] if bug else ("Bellman's equation",)
    verdict = "none" if {"untrained", "train longer", *NO_EQUATION}.issuperset(diagnosis.findings) else "wrong"
    if not set(right).isdisjoint(diagnosis.findings):
        verdict = "right"
    figures = report.to_dict()
    for name, is_endgame in (("expert_endgames", True), ("expert_others", False)):
        groups = [group for group in report.groups if group.endgame == is_endgame]
        figures[name] = np.average([group.expert for group in groups], weights=[group.won for group in groups])
    row |= {"verdict": verdict, "findings": " or ".join(diagnosis.findings)}
    return row | {name: figures[name] for name in FIGURES} | {"seconds": seconds}


def best(values: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """The legal action of the largest value: shapes ``(..., n_actions)`` in, ``(...)`` out."""
    return np.where(masks, values, -np.inf).argmax(axis=-1)


def player_of(rules: NimRules, q_values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The greedy action of each position by its index, and the Q-values."""
    q_values = q_values.reshape(rules.n_positions, rules.n_actions)
    return best(q_values, rules.action_mask(rules.all_positions())), q_values


def train_q_learning(rules: NimRules, seed: int, moves: int, bug: str) -> tuple[np.ndarray, np.ndarray]:
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
    return player_of(rules, q_table)


def train_minimax_q(rules: NimRules, seed: int, moves: int, bug: str) -> tuple[np.ndarray, np.ndarray]:
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
        if bug == "maximum over illegal actions":
            next_masks = np.ones_like(masks)
        next_q_values = q_table[tuple(next_observations.T)]
        futures = -np.where(next_masks, next_q_values, -np.inf).max(axis=1)
        if bug == "no minus sign":
            futures = -futures
        if bug == "mean in place of the maximum":
            futures = -(next_masks * next_q_values).sum(axis=1) / next_masks.sum(axis=1).clip(1)
        if bug == "discount":
            futures = 0.9 * futures
        if bug == "rewards of 10":
            rewards = 10 * rewards
        has_ended = terminations
        if bug == "truncation as termination":
            has_ended = terminations | truncations
        targets = rewards + np.where(has_ended, 0, futures)
        is_move = ~is_over  # the step after an end ignores the action
        if bug == "autoreset step learned":
            is_move[:] = True
        for env in np.flatnonzero(is_move):
            move = (*observations[env], actions[env])
            q_table[move] += 0.5 * (targets[env] - q_table[move])
        n_moves += is_move.sum()
        observations, is_over = next_observations, terminations | truncations
    return player_of(rules, q_table)


def train_dictionary(rules: NimRules, seed: int, moves: int, bug: str) -> tuple[np.ndarray, np.ndarray]:
    """Q-learning with a dictionary, as in the course CS50; the future is the player's own next turn."""
    generator, n_moves = random.Random(seed), 0
    q: defaultdict[tuple[int, int], float] = defaultdict(float)  # of the index of a position and an action
    legal = [np.flatnonzero(mask).tolist() for mask in rules.action_mask(rules.all_positions())]

    def update(position: int, action: int, reward: float, future: float) -> None:
        q[position, action] += 0.5 * (reward + future - q[position, action])

    while n_moves < moves:
        position = rules.n_positions - 1
        last_moves: list[tuple[int, int]] = []  # of the other player and of this one
        while position:
            future = max(q[position, action] for action in legal[position])
            if bug == "maximum that starts from 0":
                future = max(0, future)
            if bug == "minimum in place of the maximum":
                future = min(q[position, action] for action in legal[position])
            if len(last_moves) == 2:
                update(*last_moves[0], 0, future)
            actions = legal[position]
            if generator.random() > 0.1:
                greedy = max(q[position, action] for action in actions)
                actions = [action for action in actions if q[position, action] == greedy]
            action = generator.choice(actions)
            last_moves = [*last_moves[-1:], (position, action)]
            position -= rules.offsets[action]
            n_moves += 1
        for (last_position, action), reward in zip(reversed(last_moves), (1, -1), strict=False):
            update(last_position, action, reward * rules.terminal_reward, 0)
    q_values = np.zeros((rules.n_positions, rules.n_actions))
    for pair, value in q.items():
        q_values[pair] = value
    return player_of(rules, q_values)


def train_maskable_ppo(rules: NimRules, seed: int, moves: int, bug: str) -> tuple[np.ndarray, np.ndarray]:
    """MaskablePPO of sb3-contrib against a pool of its own snapshots."""
    env_options = {"random_start": True, "observation": "one_hot", "autoreset_mode": "SameStep"}
    env = NimVecEnv(gym.make_vec("nim_env:Nim-v0", num_envs=64, **env_options, **asdict(rules)))
    options = {"n_steps": 16, "batch_size": 256, "n_epochs": 4, "gamma": 1.0, "gae_lambda": 0.5}
    options |= {"learning_rate": LinearSchedule(5e-3, 0.0, 1.0), "policy_kwargs": {"net_arch": [64, 64]}}
    model = MaskablePPO("MlpPolicy", env, seed=seed, device="cpu", **options)
    model.learn(moves, callback=[SelfPlayCallback(3, pool_size=20), EntropySchedule(0.5, moves)])
    player = ModelPolicy(model, env, deterministic=True)
    positions = rules.all_positions()[1:]
    actions = player.action_probabilities(positions, rules.action_mask(positions)).argmax(axis=1)
    if bug == "no mask at prediction":
        actions, _ = model.predict(player.encoding(positions), deterministic=True)
    return np.append(0, actions), np.append(0.0, player.values(positions))


LEARNERS = {  # how to train them, and the number of moves
    "Q-learning": (train_q_learning, 20_000),
    "minimax-Q": (train_minimax_q, 10_000),
    "dictionary": (train_dictionary, 100_000),
    "MaskablePPO": (train_maskable_ppo, 100_000),
}


def draw_bugs(table: pd.DataFrame) -> Figure:
    """For each bug the figure that shows it, at the end of every run, with those of the correct learner."""
    rules = NimRules(BOARDS[-1])
    table = table[(table["board"] == "-".join(map(str, rules.heaps))) & (table["play"] == "misère")]
    rows = []
    for bug, (learner, _, figure) in BUGS.items():
        if figure is None:
            continue
        runs = table[(table["learner"] == learner) & table["bug"].isin(["", bug]) & (table["share"] == 1)]
        row = f"{bug}\n{learner}: {FIGURES[figure]}"
        learners = runs["bug"].map({"": "correct", bug: "with the bug"})
        rows.append(pd.DataFrame({"row": row, "figure": runs[figure], "learner": learners}))
    drawing, axis = plt.subplots(figsize=(7.4, 4.6), layout="constrained")
    style = {"hue": "learner", "palette": [COLORS["good"], COLORS["flag"]], "jitter": 0.25, "alpha": 0.6}
    sns.stripplot(pd.concat(rows), x="figure", y="row", ax=axis, **style)
    sns.move_legend(axis, "upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, title="")
    title = "One figure of each bug, with that of the correct learner"
    axis.set(title=title, xlabel=f"a dot for each seed ({rules})", ylabel="")
    return drawing


if __name__ == "__main__":
    run(main, Args)
