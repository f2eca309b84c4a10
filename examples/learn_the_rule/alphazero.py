"""AlphaZero on Nim with exchangeable networks, evaluated exactly while it trains.

AlphaZero (Silver et al. 2018, Science 362, p. 1140) trains a network for policy and value on games that it plays
against itself with a tree search (PUCT). Zhou and Riis (2022, arXiv:2205.12787) report that it does not learn Nim
on 1-3-5-7-9-11-13 with their network, an LSTM over unary tokens. Here five networks learn in the same way:

    digit     the digit network of network.py with a policy head: most of the rule's form is built in
    gru       the same with a gated recurrent unit as its cell
    one_hot   a perceptron on the one-hot heap sizes
    bits      a perceptron on the binary digits of the heap sizes
    lstm      the network of Zhou and Riis, with their learning rates and weight decay

Three defaults differ from the publication. Games start from random positions, not from the full heaps (exploring
starts, Sutton and Barto 2018, section 5.3); a move is drawn from the visit counts in the whole game, not in its
first three moves; and an iteration makes 40 updates from the last 20 iterations, not one for each 128 positions of
its own games. As published: --no-random-start --temperature-moves 3 --updates 0 --buffer-size 1, and with 60
simulations on six heaps and 100 on seven.

    python examples/learn_the_rule/alphazero.py
    python examples/learn_the_rule/alphazero.py --networks digit lstm --n-heaps 5 6 7 --n-seeds 3 --misere

joblib spreads the runs over all cores. A run ends when policy and value make no mistake, or after --episodes. Each
run saves a checkpoint at every evaluation, so the same command continues after an interruption.

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import sys
import time
from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for common.py

from common import (
    COLORS,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    Seed,
    check_output,
    checking_args,
    fail,
    percent,
    replacing,
    run,
    save_figure,
)

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from nim_env import NimRules, theory

from learn_the_rule import distill
from learn_the_rule.evaluate import (
    N_SAMPLED,
    PLAYERS,
    SAMPLED_BOARDS,
    evaluate_players,
    plays_winning_moves,
    sample_endgames,
    sample_positions,
)
from learn_the_rule.network import PolicyValueNetwork, save_network
from learn_the_rule.other_networks import NETWORKS, load_published, make_network
from learn_the_rule.prove import prove
from learn_the_rule.search import Evaluator, search

LSTM_LEARNING_RATE, LSTM_MILESTONES, LSTM_WEIGHT_DECAY = 0.01, (200, 600), 1e-4  # published; in iterations


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7, 9, 11, 13)
    """Starting heap sizes of the largest board."""
    n_heaps: tuple[PositiveInt, ...] = (5,)
    """The boards: each consists of this many of the first heaps."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    networks: tuple[Literal["digit", "gru", "one_hot", "bits", "lstm"], ...] = ("digit",)
    """The networks."""
    episodes: PositiveInt = 20_000
    """The maximum number of training games of a run."""
    stop: bool = True
    """Whether a run ends when policy and value make no mistake."""
    num_envs: PositiveInt = 100
    """The number of games of an iteration, played at the same time."""
    simulations: PositiveInt = 50
    """The number of simulations of a search."""
    temperature_moves: NonNegativeInt = 1000
    """The number of moves at the start of a game drawn from the visit counts; later ones are the most visited."""
    random_start: bool = True
    """Whether games start from random positions instead of the full heaps."""
    updates: NonNegativeInt = 40
    """The number of updates of an iteration; 0 for one for each --batch-size positions of its games."""
    batch_size: PositiveInt = 128
    """The number of positions of an update."""
    buffer_size: PositiveInt = 20
    """The number of iterations whose games are in the replay buffer."""
    learning_rate: float = 3e-3
    """The learning rate of Adam; lstm has that of the publication."""
    noise: NonNegative = 0.5
    """The standard deviation of the Gaussian noise on the recurrent state of digit and gru in training."""
    eval_interval: PositiveInt = 5
    """The number of iterations between two evaluations."""
    n_seeds: PositiveInt = 1
    """The number of seeds, from --seed on."""
    seed: Seed = 0
    """Random seed, the first one."""
    n_jobs: int = -1
    """The number of runs at the same time; -1 for one per core."""
    published: tuple[Path, ...] = ()
    """Networks of Zhou and Riis to evaluate instead of training: 5heaps, 6heaps and 7heaps of their repository
    (github.com/sagebei/Impartial-Games-a-Challenge-for-Reinforcement-Learning, reinforcement learning/models)."""
    folder: Path = Path("results/alphazero")
    """Where checkpoints, networks, TensorBoard's logs, the table and the figure are saved."""


def main(args: Args) -> pd.DataFrame:
    """Trains all networks, and returns a row for each evaluation."""
    if args.published:
        rows = []
        for path in args.published:
            with checking_args(Exception, f"--published: {path} is not a network of Zhou and Riis: "):
                network, rules = load_published(path)
            row = evaluate_players(Evaluator(network, rules), args.simulations, at_end=True)
            rows.append({"file": path.name} | row)
        table = pd.DataFrame(rows)
        print(table.to_string(index=False, float_format="{:.3f}".format))
        return table
    if not args.networks:
        fail("--networks must name one or more")
    with checking_args():
        joblib.effective_n_jobs(args.n_jobs)
        torch.optim.Adam([torch.zeros(1)], lr=args.learning_rate)
        if not args.n_heaps or not set(args.n_heaps) <= set(range(1, len(args.heaps) + 1)):
            fail(f"--n-heaps must be from 1 to the number of heaps, {len(args.heaps)}; got {args.n_heaps}")
        boards = [NimRules(args.heaps[:n], misere=args.misere) for n in sorted(set(args.n_heaps), reverse=True)]
        seeds = range(args.seed, args.seed + args.n_seeds)
        runs = [(args, rules, name, seed) for rules in boards for name in args.networks for seed in seeds]
        for options in runs:
            load_checkpoint(*options)  # raises if it was another run
    check_output("folder", args.folder / "alphazero.csv")
    tables = joblib.Parallel(args.n_jobs, return_as="generator")(
        joblib.delayed(train)(*options) for options in runs
    )
    table = pd.concat(tqdm(tables, total=len(runs), desc="runs", disable=None), ignore_index=True)
    with replacing(args.folder / "alphazero.csv") as file:
        table.to_csv(file, index=False)
    last = table.groupby(["board", "network", "seed"], sort=False).last()
    last[list(PLAYERS)] = last[list(PLAYERS)].map(percent)
    shown = ["episodes", "updates", "seconds", *PLAYERS, "is_exact", *last.columns.intersection(["proven"])]
    print(last[shown].to_string(float_format="{:.0f}".format))
    print(f"table: {args.folder / 'alphazero.csv'}")
    save_figure(draw(args, table), args.folder / "alphazero.png")
    return table


# --- Training -------------------------------------------------------------------------------------


def play(args: Args, evaluate: Evaluator, generator: np.random.Generator) -> tuple[torch.Tensor, ...]:
    """Plays games with search for both players.

    Returns:
        Of all moves: heap sizes ``(n, n_heaps)``, fractions of the visits ``(n, n_actions)``, returns ``(n,)``.
    """
    rules, offsets = evaluate.rules, np.array(evaluate.rules.offsets)
    index = np.full(args.num_envs, rules.n_positions - 1)
    if args.random_start:
        index = generator.integers(1, rules.n_positions, size=args.num_envs)
    alive, n_moves, moves = np.arange(args.num_envs), np.zeros(args.num_envs, dtype=np.int64), []
    while len(alive):
        visits = search(evaluate, index[alive], args.simulations, generator)
        if len(moves) < args.temperature_moves:
            drawn = generator.integers(args.simulations, size=(len(alive), 1))
            action = (visits.cumsum(axis=1) > drawn).argmax(axis=1)
        else:
            action = (visits + generator.random(visits.shape)).argmax(axis=1)  # ties at random
        moves.append((alive, index[alive], visits / args.simulations))
        index[alive] -= offsets[action]
        n_moves[alive] += 1
        alive = alive[index[alive] > 0]
    makes_last_move = [(n_moves[games] - move) % 2 == 1 for move, (games, *_) in enumerate(moves)]
    returns = np.where(np.concatenate(makes_last_move), 1.0, -1.0).astype(np.float32) * rules.terminal_reward
    heaps = rules.from_index(np.concatenate([positions for _, positions, _ in moves]))
    arrays = heaps, np.concatenate([fractions for *_, fractions in moves]), returns.astype(np.float32)
    return tuple(torch.from_numpy(array) for array in arrays)


def loss(network: nn.Module, rules: NimRules, heaps: Any, fractions: Any, returns: Any) -> torch.Tensor:
    """The cross-entropy of the policy and the squared error of the value (Silver et al. 2018, equation 1)."""
    scores, values = network(heaps)
    is_legal = torch.from_numpy(rules.action_mask(heaps.numpy())) > 0
    log_policy = torch.log_softmax(scores.masked_fill(~is_legal, -1e9), dim=1)
    return -(fractions * log_policy).sum(dim=1).mean() + nn.functional.mse_loss(values, returns)


def folder_of(args: Args, rules: NimRules, name: str, seed: int) -> Path:
    """Where a run saves its files."""
    play = "misere" if rules.misere else "normal"
    return args.folder / f"{name}_{'-'.join(map(str, rules.heaps))}_{play}_{seed}"


def load_checkpoint(args: Args, rules: NimRules, name: str, seed: int) -> dict[str, Any] | None:
    """The last checkpoint of a run; None if there is none, a ValueError if the run had other options."""
    path = folder_of(args, rules, name, seed) / "checkpoint.pt"
    if not path.exists():
        return None
    checkpoint = torch.load(path, weights_only=True)
    if checkpoint["options"] != options_of_runs(args):
        raise ValueError(f"{path} is of a run with other options; give another --folder")
    return checkpoint


def options_of_runs(args: Args) -> dict[str, Any]:
    """The options on which the result of a run depends."""
    others = ("heaps", "n_heaps", "misere", "networks", "episodes", "stop", "n_seeds", "seed", "n_jobs", "folder")
    return {name: value for name, value in asdict(args).items() if name not in others}


def train(args: Args, rules: NimRules, name: str, seed: int) -> pd.DataFrame:
    """Trains a network, or continues at its last checkpoint; returns a row for each evaluation."""
    torch.set_num_threads(1)  # there is one run per core
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    network = make_network(name, rules, args.noise)
    optimizer = torch.optim.Adam(network.parameters(), args.learning_rate)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, ())
    if name == "lstm":
        optimizer = torch.optim.Adam(network.parameters(), LSTM_LEARNING_RATE, weight_decay=LSTM_WEIGHT_DECAY)
        scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, LSTM_MILESTONES)
    modules = {"network": network, "optimizer": optimizer, "scheduler": scheduler}
    buffer = deque(maxlen=args.buffer_size)
    board = {"board": "-".join(map(str, rules.heaps)), "misere": rules.misere, "network": name, "seed": seed}
    folder = folder_of(args, rules, name, seed)
    checkpoint = load_checkpoint(args, rules, name, seed)
    if checkpoint is not None:
        for key, module in modules.items():
            module.load_state_dict(checkpoint[key])
        rows, (iteration, updates, seconds) = checkpoint["rows"], checkpoint["progress"]
        buffer.extend(checkpoint["buffer"])
        generator.bit_generator.state = checkpoint["generator"]
        torch.set_rng_state(checkpoint["torch"])
    evaluate = Evaluator(network, rules)
    if checkpoint is None:
        iteration, updates, seconds = 0, 0, 0.0
        row = evaluate_players(evaluate, args.simulations, at_end=False)
        rows = [board | {"episodes": 0, "updates": 0, "seconds": 0.0} | row]
    is_done = (args.stop and is_perfect(rows[-1])) or iteration * args.num_envs >= args.episodes
    writer = SummaryWriter(folder)
    while not is_done:
        start = time.process_time()
        buffer.append(play(args, evaluate, generator))
        heaps, fractions, returns = (torch.cat(part) for part in zip(*buffer, strict=True))
        network.train()
        n_updates = args.updates or len(buffer[-1][0]) // args.batch_size
        for _ in range(n_updates):
            drawn = torch.from_numpy(generator.integers(len(heaps), size=args.batch_size))
            optimizer.zero_grad()
            loss(network, rules, heaps[drawn], fractions[drawn], returns[drawn]).backward()
            optimizer.step()
        scheduler.step()
        evaluate.clear()
        iteration, updates, seconds = iteration + 1, updates + n_updates, seconds + time.process_time() - start
        is_last = iteration * args.num_envs >= args.episodes
        if iteration % args.eval_interval and not is_last:
            continue
        row = evaluate_players(evaluate, args.simulations, at_end=is_last)
        if args.stop and is_perfect(row) and not is_last:
            row = evaluate_players(evaluate, args.simulations, at_end=True)
        evaluate.clear()  # so that a run that continues here computes the same batches
        is_done = is_last or (args.stop and is_perfect(row))
        rows.append(board | {"episodes": iteration * args.num_envs, "updates": updates, "seconds": seconds} | row)
        for key in ("policy", "value", "search", "value_accuracy_won", "value_accuracy_lost"):
            writer.add_scalar(key, row[key], iteration * args.num_envs)
        if is_done and name == "digit":
            rows[-1] |= generalization(network, rules.misere, folder)
        state = {key: module.state_dict() for key, module in modules.items()}
        state |= {"rows": rows, "progress": (iteration, updates, seconds), "options": options_of_runs(args)}
        state |= {"buffer": list(buffer), "torch": torch.get_rng_state()}
        with replacing(folder / "checkpoint.pt") as file:
            torch.save(state | {"generator": generator.bit_generator.state}, file)
    writer.close()
    return pd.DataFrame(rows)


def generalization(network: PolicyValueNetwork, misere: bool, folder: Path) -> dict[str, float]:
    """Saves the value network as train.py does, and evaluates policy and value on larger boards.

    Returns:
        Expert mastery on sampled won positions, half of them endgames, and whether prove.py proves the value.
    """
    value_network = network.value_network()
    save_network(value_network, folder / "network.pt", misere=misere)
    row = {"proven": float(prove(value_network, misere).margin is not None)}
    for n_heaps, size in SAMPLED_BOARDS:
        rules, generator = NimRules((size,) * n_heaps, misere=misere), np.random.default_rng(0)
        endgames = sample_endgames(rules, N_SAMPLED, generator)
        won = sample_positions(rules, N_SAMPLED // 2, True, generator)
        heaps = np.concatenate([won, endgames[theory.is_winning(rules, endgames)][: N_SAMPLED // 2]])
        row[f"policy {n_heaps} × {size}"] = distill.evaluate(network, rules, heaps).win_rate
        row[f"value {n_heaps} × {size}"] = float(plays_winning_moves(value_network, rules, heaps).mean())
    return row


def is_perfect(row: dict[str, Any]) -> bool:
    """Whether policy and value make no mistake."""
    return row["policy"] == row["value"] == 1


def draw(args: Args, table: pd.DataFrame) -> plt.Figure:
    """Expert mastery of policy and value over the games: a column for each board, a color for each network."""
    boards, names = table["board"].unique()[::-1], table["network"].unique()
    size = {"figsize": (max(6, 4 * len(boards)), 6.5), "layout": "constrained"}
    figure, axes = plt.subplots(2, len(boards), **size, sharex=True, sharey=True, squeeze=False)
    colors = dict(zip(NETWORKS, ("player_1", "player_2", "good", "flag", "muted"), strict=True))
    for board, column in zip(boards, axes.T, strict=True):
        for kind, axis in zip(("policy", "value"), column, strict=True):
            for (name, _), runs in table[table["board"] == board].groupby(["network", "seed"], sort=False):
                axis.plot(runs["episodes"], runs[kind], color=COLORS[colors[name]], linewidth=1)
                axis.plot(runs["episodes"].iloc[-1:], runs[kind].iloc[-1:], "o", color=COLORS[colors[name]])
        column[0].set_title(board)
        column[1].set_xlabel("training games")
    axes[0, 0].set(ylabel="policy, without search", ylim=(-0.03, 1.03))
    axes[1, 0].set_ylabel("one ply on the value")
    handles = [plt.Line2D([], [], color=COLORS[colors[name]]) for name in names]
    figure.legend(handles, names, loc="outside lower center", ncols=len(names))
    play = "misère" if args.misere else "normal"
    figure.suptitle(
        f"AlphaZero, {play} play: won positions in which\nthe player makes a winning move, a line for each seed"
    )
    return figure


if __name__ == "__main__":
    run(main, Args)
