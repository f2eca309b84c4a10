"""Find the bug in your self-play: six correct learners, eight classical bugs, and the figures that show them.

Nim is solved, so the evaluation of a learner is exact, and a mistake in its training shows in figures. Six
learners train by self-play on three small boards: Q-learning in PettingZoo's loop, minimax-Q in Gymnasium's vector
loop, DQN, PPO, MaskablePPO, and the AlphaZero of learn_the_rule/alphazero.py. Eight bugs that people met are
planted in them, each in the lines after "if bug ==". The page docs/test_your_agent.md explains them.

    python examples/find_the_bug.py
    python examples/find_the_bug.py --player results/sb3_self_play/model.zip --heaps 1 3 5 7

The second command evaluates your own player and draws where it errs. The runs of the first are cached in
--folder, so the same command continues after an interruption; delete the folder after a change of the learners.

Sources: Q-learning, Watkins (1989); minimax-Q, Littman (1994); expert mastery, Zhou and Riis (2022,
arXiv:2205.12787).

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from common import (
    COLORS,
    PositiveInt,
    Seed,
    check_output,
    checking_args,
    label_lines,
    load_player,
    percent,
    replacing,
    run,
    save_figure,
    values_of,
)

import gymnasium as gym
import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pettingzoo
import seaborn as sns
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import ConvertCallback
from stable_baselines3.common.utils import LinearSchedule
from tqdm import tqdm

from nim_env import NimRules, evaluation, theory
from nim_env.policies import PolicyLike, batched
from nim_env.sb3 import ModelPolicy, NimVecEnv, SelfPlayCallback

from learn_the_rule import alphazero
from learn_the_rule.other_networks import make_network
from learn_the_rule.search import Evaluator, Player
from sb3_self_play import EntropySchedule

BOARDS = ((1, 2, 3), (1, 3, 5), (2, 3, 4))  # misère play; the bugs are planted on the last one
TIME_LIMIT = 3  # of an episode of minimax-Q, shorter than most games
N_EVALS = 10


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
    n_seeds: PositiveInt = 10
    """The number of seeds, from --seed on."""
    seed: Seed = 0
    """Random seed, the first one."""
    n_jobs: int = -1
    """The number of runs at the same time; -1 for one per core."""
    folder: Path = Path("results/find_the_bug")
    """Where the cached runs, the table and the figures are saved."""


def main(args: Args) -> pd.DataFrame:
    """Trains all learners, or evaluates a player; saves table and figures; returns the table."""
    if args.player is not None:
        return diagnose(args)
    with checking_args():
        joblib.effective_n_jobs(args.n_jobs)
    check_output("folder", args.folder / "find_the_bug.csv")
    seeds = range(args.seed, args.seed + args.n_seeds)
    runs = [(learner, heaps, None) for heaps in BOARDS for learner in LEARNERS]
    runs += [(bug.learner, BOARDS[-1], name) for name, bug in BUGS.items()]
    cached = joblib.Memory(args.folder / "cache", verbose=0).cache(train)
    calls = [joblib.delayed(cached)(*options, seed) for seed in seeds for options in runs]
    tables = joblib.Parallel(args.n_jobs, return_as="generator")(calls)
    table = pd.concat(tqdm(tables, total=len(calls), desc="runs", disable=None), ignore_index=True)
    last = last_rows(table)
    with replacing(args.folder / "find_the_bug.csv") as file:
        last.to_csv(file, index=False)
    print(summarize(last).T.to_string())
    save_figure(draw_bugs(table), args.folder / "find_the_bug.png")
    save_figure(draw_learners(table), args.folder / "find_the_bug_learners.png")
    return table


# --- A learner's figures --------------------------------------------------------------------------


class Curve:
    """Evaluates a learner before training and after each tenth of its moves; ``rows`` holds the figures."""

    def __init__(self, rules: NimRules, moves: int) -> None:
        self.rules = rules
        self.rows: list[dict[str, float]] = []
        self.due = [moves * n / N_EVALS for n in range(N_EVALS + 1)]
        self.positions = rules.all_positions()[1:]

    def __call__(self, n_moves: int, player: PolicyLike, values: Callable[[Any], Any]) -> None:
        if not self.due or n_moves < self.due[0]:
            return
        self.due = [moves for moves in self.due if moves > n_moves]
        report = evaluation.report(self.rules, player, values)
        row = {"moves": n_moves, **report.to_dict()}
        for name, is_endgame in (("expert_endgames", True), ("expert_others", False)):
            groups = [group for group in report.groups if group.endgame == is_endgame]
            row[name] = np.average([group.expert for group in groups], weights=[group.won for group in groups])
        self.rows.append(row | {"illegal": 0.0})


def train(learner: str, heaps: tuple[int, ...], bug: str | None, seed: int, share: float = 1.0) -> pd.DataFrame:
    """Trains a learner for a share of its moves; returns a row for each evaluation."""
    torch.set_num_threads(1)  # there is one run per core
    start = time.process_time()
    function, moves = LEARNERS[learner]
    rules, moves = NimRules(heaps), round(share * moves)
    curve = Curve(rules, moves)
    function(rules, seed, moves, curve, bug)
    run = {"learner": learner, "board": "-".join(map(str, heaps)), "bug": bug or "", "seed": seed}
    table = pd.DataFrame(curve.rows).assign(**run, seconds=time.process_time() - start)
    return table.assign(evaluation=range(len(table)))


def best(values: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """The legal action of the largest value: shapes ``(..., n_actions)`` in, ``(...)`` out."""
    return np.where(masks, values, -np.inf).argmax(axis=-1)


def player_of(rules: NimRules, q_table: np.ndarray) -> tuple[PolicyLike, Callable[[Any], Any]]:
    """The greedy player of a table, and its values."""

    def values(heaps: np.ndarray) -> np.ndarray:
        return np.where(rules.action_mask(heaps), q_table[tuple(heaps.T)], -np.inf).max(axis=1)

    return batched(lambda heaps, masks: best(q_table[tuple(heaps.T)], masks)), values


# --- Learners -------------------------------------------------------------------------------------


def train_q_learning(rules: NimRules, seed: int, moves: int, curve: Curve, bug: str | None) -> None:
    """Q-learning for both players in PettingZoo's loop; the future of a move is the player's own next turn."""
    env = pettingzoo.make("aec", "nim-v0", random_start=True, **asdict(rules))
    generator, n_moves = np.random.default_rng(seed), 0
    q_table = np.zeros((*np.add(rules.heaps, 1), rules.n_actions))
    env.reset(seed=seed)
    while n_moves < moves:
        last_moves = {}  # the position and the action of each player's last turn
        for player in env.agent_iter():
            curve(n_moves, *player_of(rules, q_table))
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
    curve(n_moves, *player_of(rules, q_table))


def train_minimax_q(rules: NimRules, seed: int, moves: int, curve: Curve, bug: str | None) -> None:
    """Minimax-Q in Gymnasium's vector loop: the future of a move is minus the other player's next value."""
    options = {"random_start": True, "max_episode_steps": TIME_LIMIT}
    envs = gym.make_vec("nim_env:Nim-v0", num_envs=8, opponent=None, **options, **asdict(rules))
    generator, n_moves = np.random.default_rng(seed), 0
    q_table = np.zeros((*np.add(rules.heaps, 1), rules.n_actions))
    observations, infos = envs.reset(seed=seed)
    is_over = np.zeros(envs.num_envs, dtype=bool)
    while n_moves < moves:
        curve(n_moves, *player_of(rules, q_table))
        masks = infos["action_mask"]
        is_random = generator.random((envs.num_envs, 1)) < 0.5 * (1 - n_moves / moves)
        scores = np.where(is_random, generator.random(masks.shape), q_table[tuple(observations.T)])
        actions = best(scores, masks)
        next_observations, rewards, terminations, truncations, infos = envs.step(actions)
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
    curve(n_moves, *player_of(rules, q_table))


def train_model(
    algorithm: type[BaseAlgorithm], rules: NimRules, seed: int, moves: int, curve: Curve, bug: str | None
) -> None:
    """A model of Stable-Baselines3 or sb3-contrib against a pool of its own snapshots."""
    options: dict[str, Any] = {"n_steps": 16, "batch_size": 256, "n_epochs": 4, "gae_lambda": 0.5}
    options |= {"learning_rate": LinearSchedule(5e-3, 0.0, 1.0)}
    num_envs, callbacks = 64, [SelfPlayCallback(3, pool_size=20), EntropySchedule(0.5, moves)]
    if algorithm is DQN:
        options = {"learning_rate": 2e-3, "batch_size": 256, "buffer_size": 20_000, "learning_starts": 500}
        options |= {"train_freq": 1, "gradient_steps": 2, "target_update_interval": 1000}
        options |= {"exploration_fraction": 0.5}
        num_envs, callbacks = 16, [SelfPlayCallback(50, pool_size=20)]
    envs = gym.make_vec(
        "nim_env:Nim-v0",
        num_envs=num_envs,
        random_start=True,
        observation="one_hot",
        autoreset_mode="SameStep",
        **asdict(rules),
    )
    env = NimVecEnv(envs)
    model = algorithm(
        "MlpPolicy", env, gamma=1.0, policy_kwargs={"net_arch": [64, 64]}, seed=seed, device="cpu", **options
    )
    player = ModelPolicy(model, env, deterministic=True)

    def evaluate() -> None:
        n_rows = len(curve.rows)
        curve(model.num_timesteps, player, player.values)
        if bug == "no mask at prediction" and len(curve.rows) > n_rows:
            encoded = player.encoding(curve.positions)
            actions, _ = model.predict(encoded, deterministic=True)
            curve.rows[-1] |= figures_of_actions(rules, curve.positions, actions)

    def evaluate_before_the_end(*_: Any) -> bool:
        if model.num_timesteps < moves:  # the last update follows the last step
            evaluate()
        return True

    evaluate()
    model.learn(moves, callback=[*callbacks, ConvertCallback(evaluate_before_the_end)])
    evaluate()


def figures_of_actions(rules: NimRules, positions: np.ndarray, actions: np.ndarray) -> dict[str, float]:
    """The fraction of illegal actions, and expert mastery, in which they are mistakes; NaN for the others."""
    rows = np.arange(len(positions))
    is_right = theory.winning_action_mask(rules, positions)[rows, actions] > 0
    expert = is_right[theory.is_winning(rules, positions)].mean()
    row = dict.fromkeys(FIGURES, float("nan"))
    return row | {"illegal": (rules.action_mask(positions)[rows, actions] == 0).mean(), "expert": expert}


def train_alphazero(rules: NimRules, seed: int, moves: int, curve: Curve, bug: str | None) -> None:
    """AlphaZero with a perceptron; its policy plays without search."""
    torch.manual_seed(seed)
    options, generator = alphazero.Args(num_envs=25, simulations=25), np.random.default_rng(seed)
    network = make_network("one_hot", rules, noise=0)
    optimizer = torch.optim.Adam(network.parameters(), options.learning_rate)
    evaluate, buffer, n_moves = Evaluator(network, rules), deque(maxlen=options.buffer_size), 0
    player = Player(evaluate, "policy", options.simulations)

    def values(heaps: np.ndarray) -> np.ndarray:
        return evaluate(rules.index(heaps))[1]

    while n_moves < moves:
        curve(n_moves, player, values)
        positions, fractions, returns = alphazero.play(options, evaluate, generator)
        if bug == "wrong player's view":
            returns = -returns
        buffer.append((positions, fractions, returns))
        n_moves += len(positions)
        samples = [torch.cat(part) for part in zip(*buffer, strict=True)]
        network.train()
        for _ in range(20):
            drawn = torch.from_numpy(generator.integers(len(samples[0]), size=options.batch_size))
            optimizer.zero_grad()
            alphazero.loss(network, rules, *(part[drawn] for part in samples)).backward()
            optimizer.step()
        evaluate.clear()
    curve(n_moves, player, values)


LEARNERS = {  # how to train them, and the number of moves
    "Q-learning": (train_q_learning, 20_000),
    "minimax-Q": (train_minimax_q, 20_000),
    "DQN": (partial(train_model, DQN), 40_000),
    "PPO": (partial(train_model, PPO), 100_000),
    "MaskablePPO": (partial(train_model, MaskablePPO), 100_000),
    "AlphaZero": (train_alphazero, 4_000),
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
    "no mask at prediction": Bug(
        "MaskablePPO", "illegal", "Stable-Baselines-Team/stable-baselines3-contrib/issues/212"
    ),
    "wrong player's view": Bug("AlphaZero", "value_accuracy_lost", "werner-duvaud/muzero-general/issues/55"),
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


# --- Results --------------------------------------------------------------------------------------


def last_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The last evaluation of each run, and after how many moves expert mastery stayed 1 (NaN: it did not)."""
    keys = ["board", "learner", "bug", "seed"]
    last = table.groupby(keys, sort=False).tail(1).set_index(keys)
    wrong = table[table["expert"] < 1].groupby(keys)["evaluation"].max().reindex(last.index, fill_value=-1)
    right = table.merge((wrong + 1).reset_index(), on=[*keys, "evaluation"]).set_index(keys)
    last["mastered_after"] = right["moves"]
    return last[[*FIGURES, "mastered_after", "moves", "seconds"]].round(4).reset_index()


def summarize(last: pd.DataFrame) -> pd.DataFrame:
    """The last figures as median (minimum to maximum) over the seeds, and how many seeds have no mistake."""
    groups = last.groupby(["board", "learner", "bug"], sort=False)
    columns = {}
    for column, digits in {**dict.fromkeys(FIGURES, 2), "mastered_after": 0, "seconds": 1}.items():
        middle, low, high = (groups[column].agg(how).round(digits) for how in ("median", "min", "max"))
        spread = " (" + low.astype(str) + " to " + high.astype(str) + ")"
        columns[column] = middle.astype(str) + spread.where(low < high, "")
    return pd.DataFrame(columns).assign(perfect=groups["expert"].agg(lambda expert: int((expert == 1).sum())))


def draw_band(axis: plt.Axes, rows: pd.DataFrame, column: str, color: str, label: str) -> None:
    """The median of a figure over the moves, and a band from the smallest to the largest seed."""
    moves = rows.groupby("evaluation")["moves"].mean()
    seeds = rows.groupby("evaluation")[column]
    axis.plot(moves, seeds.median(), color=color, label=label)
    axis.fill_between(moves, seeds.min(), seeds.max(), color=color, alpha=0.2, linewidth=0)


def draw_bugs(table: pd.DataFrame) -> plt.Figure:
    """For each bug the figure that shows it, and in grey that of the correct learner."""
    figure, axes = plt.subplots(2, 4, figsize=(14, 6.4), layout="constrained", sharey=True)
    table = table[table["board"] == "-".join(map(str, BOARDS[-1]))]
    for (name, bug), axis in zip(BUGS.items(), axes.flat, strict=True):
        rows = table[table["learner"] == bug.learner]
        draw_band(axis, rows[rows["bug"] == ""], bug.figure, COLORS["muted"], "correct")
        draw_band(axis, rows[rows["bug"] == name], bug.figure, COLORS["flag"], "bug")
        axis.set(title=f"{name}\n{bug.learner}: {FIGURES[bug.figure]}", ylim=(-0.03, 1.03))
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.xaxis.set_major_locator(plt.MaxNLocator(3))
        label_lines(axis)
    for axis in axes[1]:
        axis.set_xlabel("training moves")
    n_seeds = table["seed"].nunique()
    figure.suptitle(f"{NimRules(BOARDS[-1])}: median and range of {n_seeds} seeds")
    return figure


def draw_learners(table: pd.DataFrame) -> plt.Figure:
    """The correct learners: a row for each figure, a column for each board, over the share of the moves."""
    shown = ("expert", "mean_exploitability", "value_accuracy_won", "value_accuracy_lost")
    correct = table[table["bug"] == ""]
    size = {"figsize": (15, 8), "layout": "constrained"}
    figure, axes = plt.subplots(len(shown), len(LEARNERS), **size, sharex="col", sharey=True)
    colors = dict(zip(table["board"].unique(), ("player_1", "player_2", "good"), strict=False))
    for learner, column in zip(LEARNERS, axes.T, strict=True):
        for name, axis in zip(shown, column, strict=True):
            for board, rows in correct[correct["learner"] == learner].groupby("board", sort=False):
                draw_band(axis, rows, name, COLORS[colors[board]], board)
            axis.set_ylim(-0.03, 1.03)
            axis.xaxis.set_major_formatter("{x:,.0f}")
            axis.xaxis.set_major_locator(plt.MaxNLocator(2))
        column[0].set_title(learner)
        column[-1].set_xlabel("training moves")
    for name, axis in zip(shown, axes[:, 0], strict=True):
        axis.set_ylabel(FIGURES[name].replace(", ", ",\n"))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(colors))
    figure.suptitle(f"Correct learners on three boards: median and range of {table['seed'].nunique()} seeds")
    return figure


# --- Your own player ------------------------------------------------------------------------------


def diagnose(args: Args) -> pd.DataFrame:
    """Prints all figures of a player, draws where it errs, and returns that table."""
    with checking_args():
        rules = NimRules(args.heaps, args.max_take, args.misere)
        player = load_player(args.player, rules)
        report = evaluation.report(rules, player, values_of(player, rules))
    check_output("folder", args.folder / "find_the_bug_player.png")
    for name, figure in report.to_dict().items():
        print(f"{name:24} {figure:.4f}")
    groups = pd.DataFrame(report.groups).dropna(axis="columns")
    print(groups.to_string(index=False))
    save_figure(draw_groups(report, f"{args.player}, {rules}"), args.folder / "find_the_bug_player.png")
    return groups


def draw_groups(report: evaluation.Report, title: str) -> plt.Figure:
    """A heat map of the errors of a player by number of heaps, endgames apart."""
    groups = pd.DataFrame(report.groups)
    columns = {
        "expert": ("winning moves\nplayed", "won"),
        "value_accuracy_won": ("won positions\nvalued right", "won"),
        "value_accuracy_lost": ("lost positions\nvalued right", "lost"),
    }
    shown = groups[list(columns)].dropna(axis="columns")
    counts = groups[[columns[name][1] for name in shown]].to_numpy()
    kinds = groups["endgame"].map({True: ", endgames", False: ""})
    names = [f"{n} heap{'s' * (n > 1)}{kind}" for n, kind in zip(groups["n_heaps"], kinds, strict=True)]
    texts = shown.map(percent) + " % of " + counts.astype(str)
    figure, axis = plt.subplots(
        figsize=(2 + 1.8 * len(shown.columns), 1.2 + 0.5 * len(groups)), layout="constrained"
    )
    style = {"cmap": sns.light_palette(COLORS["flag"], as_cmap=True), "vmin": 0, "vmax": 1, "cbar": False}
    sns.heatmap(1 - shown, annot=texts, fmt="", mask=counts == 0, yticklabels=names, ax=axis, **style)
    axis.set_xticks(axis.get_xticks(), [columns[name][0] for name in shown], rotation=0)
    axis.grid(visible=False)
    axis.set_title(title)
    return figure


if __name__ == "__main__":
    run(main, Args)
