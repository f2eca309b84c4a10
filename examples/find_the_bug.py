"""Find the bug in your self-play: five correct learners, nine classical bugs, and the figures that show them.

Nim is solved, so the evaluation of a learner is exact, and a mistake in its training shows in figures. Five
learners train by self-play on three small boards, in misère and in normal play: Q-learning in PettingZoo's loop,
minimax-Q in Gymnasium's vector loop, Q-learning with a dictionary, PPO and MaskablePPO. Bugs that people met are
planted in them, each in the lines after "if bug ==". The page docs/test_your_agent.md explains them. After three
lengths of training nim_env.evaluation.diagnose has to name the bug.

    python examples/find_the_bug.py

The runs are cached in --folder, so the same command continues after an interruption; delete the folder after a
change of the learners. examples/check_player.py evaluates your own player.

Sources: Q-learning, Watkins (1989); minimax-Q, Littman (1994); expert mastery, Zhou and Riis (2022,
arXiv:2205.12787).

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from functools import partial
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
from stable_baselines3 import PPO
from stable_baselines3.common.utils import LinearSchedule
from tqdm import tqdm

from nim_env import NimRules, TabularPolicy, evaluation
from nim_env.appearance import COLORS
from nim_env.sb3 import ModelPolicy, NimVecEnv, SelfPlayCallback

from common import run, save_figure
from sb3_self_play import EntropySchedule

BOARDS = ((1, 2, 3), (1, 3, 5), (2, 3, 4))  # the picture shows the last one, in misère play
SHARES = (0.05, 0.3, 1.0)  # the lengths of training, of the moves of a learner
NETWORKS, NETWORK_SEEDS = ("PPO", "MaskablePPO"), 1  # they take 18 seconds a run
TIME_LIMIT = 3  # of an episode of minimax-Q, shorter than most games


@dataclass
class Args:
    """The options of this script."""

    n_seeds: int = 10
    """The number of seeds, from --seed on; one for networks."""
    seed: int = 0
    """Random seed, the first one."""
    n_jobs: int = -1
    """The number of runs at the same time; -1 for one per core."""
    folder: Path = Path("results/find_the_bug")
    """Where the cached runs, the table and the figures are saved."""


def main(args: Args) -> pd.DataFrame:
    """Trains all learners and returns a row for each run."""
    planted = [(learner, None) for learner in LEARNERS] + [(bug.learner, name) for name, bug in BUGS.items()]
    seeds = range(args.seed, args.seed + args.n_seeds)
    runs = [
        {"learner": learner, "heaps": heaps, "misere": misere, "bug": bug, "seed": seed, "share": share}
        for seed, heaps, misere, (learner, bug), share in product(seeds, BOARDS, (True, False), planted, SHARES)
        if learner not in NETWORKS or seed < args.seed + NETWORK_SEEDS
    ]
    runs.sort(key=lambda run: run["learner"] in NETWORKS)
    cached = joblib.Memory(args.folder / "cache", verbose=0).cache(train)
    players = joblib.Parallel(args.n_jobs, return_as="generator")(joblib.delayed(cached)(**run) for run in runs)
    rows = (evaluate(run, player) for run, player in zip(runs, players, strict=True))
    table = pd.DataFrame(tqdm(rows, total=len(runs), desc="runs", disable=None))
    table.round(4).to_csv(args.folder / "find_the_bug.csv", index=False)
    ended = table[(table["share"] == 1) & (table["play"] == "misère")]
    print(summarize(ended).T.to_string())
    print(classify(table).to_string())
    save_figure(draw_bugs(ended), args.folder / "find_the_bug.svg")
    return table


def train(
    learner: str, heaps: tuple[int, ...], misere: bool, bug: str | None, seed: int, share: float
) -> dict[str, Any]:
    """Trains a learner for a share of its moves; returns its action and its values in each position."""
    torch.set_num_threads(1)  # there is one run per core
    start = time.process_time()
    function, moves = LEARNERS[learner]
    actions, values = function(NimRules(heaps, misere=misere), seed, round(share * moves), bug)
    return {"actions": actions, "values": values, "seconds": time.process_time() - start}


def evaluate(run: dict[str, Any], player: dict[str, Any]) -> dict[str, Any]:
    """The exact figures of a player, and whether its diagnosis is right, wrong or none."""
    rules = NimRules(run["heaps"], misere=run["misere"])
    policy = TabularPolicy(rules, np.arange(rules.n_actions) == player["actions"][:, None])
    values = player["values"]
    diagnosis = evaluation.diagnose(rules, values)
    if values.ndim == 2:
        values = np.where(rules.action_mask(rules.all_positions()), values, -np.inf).max(axis=1)
    report = evaluation.report(rules, policy, lambda heaps: values[rules.index(heaps)], illegal_action="lose")
    figures = report.to_dict()
    for name, is_endgame in (("expert_endgames", True), ("expert_others", False)):
        groups = [group for group in report.groups if group.endgame == is_endgame]
        figures[name] = np.average([group.expert for group in groups], weights=[group.won for group in groups])
    if report.illegal_action:
        diagnosis = evaluation.diagnose_moves(rules, policy)
    expected = BUGS[run["bug"]].finding.split(" or ") if run["bug"] else ["Bellman's equation"]
    verdict = "none" if NOTHING.issuperset(diagnosis.findings) else "wrong"
    if not set(expected).isdisjoint(diagnosis.findings):
        verdict = "right"
    columns = {"board": "-".join(map(str, rules.heaps)), "play": "misère" if rules.misere else "normal"}
    columns |= {name: run[name] or "" for name in ("learner", "bug", "share")} | {"seed": run["seed"]}
    columns |= {"verdict": verdict, "findings": " or ".join(diagnosis.findings)}
    return columns | {name: figures[name] for name in FIGURES} | {"seconds": player["seconds"]}


def best(values: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """The legal action of the largest value: shapes ``(..., n_actions)`` in, ``(...)`` out."""
    return np.where(masks, values, -np.inf).argmax(axis=-1)


def player_of(rules: NimRules, q_values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The greedy action of each position by its index, and the Q-values."""
    q_values = q_values.reshape(rules.n_positions, rules.n_actions)
    return best(q_values, rules.action_mask(rules.all_positions())), q_values


def train_q_learning(rules: NimRules, seed: int, moves: int, bug: str | None) -> tuple[np.ndarray, np.ndarray]:
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


def train_minimax_q(rules: NimRules, seed: int, moves: int, bug: str | None) -> tuple[np.ndarray, np.ndarray]:
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


def train_dictionary(rules: NimRules, seed: int, moves: int, bug: str | None) -> tuple[np.ndarray, np.ndarray]:
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


def train_model(
    algorithm: type[PPO], rules: NimRules, seed: int, moves: int, bug: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """A model of Stable-Baselines3 or sb3-contrib against a pool of its own snapshots."""
    env_options = {"random_start": True, "observation": "one_hot", "autoreset_mode": "SameStep"}
    env = NimVecEnv(gym.make_vec("nim_env:Nim-v0", num_envs=64, **env_options, **asdict(rules)))
    options = {"n_steps": 16, "batch_size": 256, "n_epochs": 4, "gamma": 1.0, "gae_lambda": 0.5}
    options |= {"learning_rate": LinearSchedule(5e-3, 0.0, 1.0), "policy_kwargs": {"net_arch": [64, 64]}}
    model = algorithm("MlpPolicy", env, seed=seed, device="cpu", **options)
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
    "PPO": (partial(train_model, PPO), 100_000),
    "MaskablePPO": (partial(train_model, MaskablePPO), 100_000),
}


@dataclass(frozen=True)
class Bug:
    """Where a bug is planted, its diagnosis, the figure that shows it, and a thread in which people met it."""

    learner: str
    finding: str
    figure: str | None = None
    thread: str | None = None


NO_EQUATION = "values too small or last moves of both signs"
BUGS = {
    "opponent's reward": Bug(
        "Q-learning", "opponent's reward", "expert_endgames", "Farama-Foundation/PettingZoo/issues/1147"
    ),
    "last turn dropped": Bug(
        "Q-learning",
        "last mover's reward dropped",
        "value_accuracy_lost",
        "Farama-Foundation/PettingZoo/issues/355",
    ),
    "maximum that starts from 0": Bug(
        "dictionary",
        "maximum that starts from 0",
        "value_accuracy_lost",
        "yandexdataschool/Practical_RL/issues/296",
    ),
    "no minus sign": Bug("minimax-Q", "no minus sign", "value_accuracy_won", "jserv/ttt/issues/44"),
    "stale mask": Bug("minimax-Q", "maximum over illegal actions", "expert", "thu-ml/tianshou/issues/309"),
    "truncation as termination": Bug("minimax-Q", NO_EQUATION, "value_error_lost", "vwxyzjn/cleanrl/issues/457"),
    "autoreset step learned": Bug("minimax-Q", NO_EQUATION, "value_error_won", "vwxyzjn/cleanrl/issues/499"),
    "no mask at prediction": Bug(
        "MaskablePPO", "no mask at prediction", "illegal_action", "Farama-Foundation/PettingZoo/issues/863"
    ),
    "wrong player's view": Bug(
        "minimax-Q", NO_EQUATION, "value_accuracy_lost", "werner-duvaud/muzero-general/issues/55"
    ),
    # for the table of diagnoses alone
    "maximum over illegal actions": Bug("minimax-Q", "maximum over illegal actions"),
    "minimum in place of the maximum": Bug("dictionary", "minimum in place of the maximum"),
    "mean in place of the maximum": Bug("minimax-Q", "mean in place of the maximum"),
    "discount": Bug("minimax-Q", "discount of 0.89 per move or discount of 0.90 per move"),
    "rewards of 10": Bug("minimax-Q", "rewards of a scale other than 1"),
}
NOTHING = {"untrained", "train longer", *NO_EQUATION.split(" or ")}  # no bug is named

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


def summarize(table: pd.DataFrame) -> pd.DataFrame:
    """The figures as median (minimum to maximum) over the seeds, and how many seeds have no mistake."""
    groups = table.groupby(["board", "learner", "bug"], sort=False)
    columns = {}
    for column in (*FIGURES, "seconds"):
        middle, low, high = (groups[column].agg(how).round(2) for how in ("median", "min", "max"))
        spread = " (" + low.astype(str) + " to " + high.astype(str) + ")"
        columns[column] = middle.astype(str) + spread.where(low < high, "")
    return pd.DataFrame(columns).assign(perfect=groups["expert"].agg(lambda expert: int((expert == 1).sum())))


def classify(table: pd.DataFrame) -> pd.DataFrame:
    """How many runs of each length got the right diagnosis, a wrong one, and none."""
    counts = table.groupby(["learner", "bug", "share"], sort=False)["verdict"].value_counts()
    return counts.unstack(["share", "verdict"], fill_value=0).sort_index(axis=1)


def draw_bugs(table: pd.DataFrame) -> Figure:
    """For each bug the figure that shows it, at the end of every run, with those of the correct learner."""
    table = table[table["board"] == "-".join(map(str, BOARDS[-1]))]
    rows = []
    n_apart = 0
    shown = {name: bug for name, bug in BUGS.items() if bug.figure}
    for name, bug in shown.items():
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
        title=f"{n_apart} of {len(shown)} bugs leave the range of the correct learner with every seed",
        xlabel=f"a dot for each seed ({NimRules(BOARDS[-1])})",
        ylabel="",
    )
    return figure


if __name__ == "__main__":
    run(main, Args)
