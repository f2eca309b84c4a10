"""A small network learns the rule of Nim by self-play on small boards, and plays boards of any size.

The network estimates the value of a position for the player to move. A recurrent cell scans the heaps, once for
each binary digit of their sizes, with the same weights for each digit. The digit's bit in a heap selects one of
two transitions. A small network maps the final state of each digit to features, and a second one maps the
maximum of the features over the digits to the value.

It trains by self-play with one ply of lookahead: the target of a position is the reward of the best move where
that move ends the game, otherwise minus the smallest value of the next positions. Moves are ε-greedy.

Then the script evaluates one-ply greedy play on boards that are larger than those of training: exactly where all
positions can be enumerated, and on sampled positions otherwise.

Sources: second-order recurrent networks, Giles et al. (1992), "Learning and extracting finite state automata
with second-order recurrent neural networks", Neural Computation 4(3), p. 393. For parity, a linear recurrence
needs transitions that depend on the input and have negative eigenvalues, Grazzi et al. (2024, arXiv:2411.12537).
AlphaZero does not learn Nim, Zhou and Riis (2022, arXiv:2205.12787).

    python examples/learn_the_rule.py
    python examples/learn_the_rule.py --misere --seed 1 --folder results/misere_1
    python examples/play.py --heaps 9 20 31 50 --no-misere --opponent results/learn_the_rule/network.pt

--resume continues an interrupted run from its last checkpoint.

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from common import (
    check_at_least,
    check_output,
    check_resume,
    check_seed,
    checking_args,
    fail,
    percent,
    replacing,
    run,
    save_figure,
)

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from nim_env import NimRules, evaluation, theory

ENUMERATED_BOARDS = ((1, 3, 5, 7), (1, 3, 5, 7, 9), (1, 3, 5, 7, 9, 11), (1, 3, 5, 7, 9, 11, 13))
SAMPLED_BOARDS = ((20, 15), (50, 15), (10, 255))  # heaps, objects in each
CURVE_BOARDS = ((5, 7), (20, 15))  # those of the learning curves
N_CURVE_POSITIONS = 500


@dataclass
class Args:
    """The options of this script."""

    n_heaps: int = 5
    """The maximum number of heaps of a training board; there is a board for each number of heaps up to it."""
    max_heap: int = 7
    """The maximum number of objects in a heap of a training board."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    updates: int = 1500
    """The number of updates; the environments make one step before each."""
    num_envs: int = 64
    """The number of environments for each training board."""
    epsilon: float = 0.3
    """The probability of a random move in training, 0 to 1."""
    learning_rate: float = 3e-3
    """The learning rate of Adam."""
    noise: float = 0.5
    """The standard deviation of the Gaussian noise on the recurrent state in training."""
    n_flags: int = 1
    """The number of lowest digits that the network can tell from the others, from 1 to 8. Games with takes up to
    1, 3 or 7 objects need 1, 2 or 3."""
    n_positions: int = 10_000
    """The number of won and of losing positions sampled from each test board."""
    eval_interval: int = 100
    """The number of updates between two evaluations for the learning curves, each with a checkpoint."""
    resume: bool = False
    """Continue from the checkpoint in the folder, with new games; other options are ignored."""
    seed: int = 0
    """The random seed."""
    folder: Path = Path("results/learn_the_rule")
    """Where the network, the checkpoint, the table, the figure and TensorBoard's logs are saved."""

    def rules(self, heaps: tuple[int, ...]) -> NimRules:
        """The rules of play on a board."""
        return NimRules(heaps, self.max_take, self.misere)


# --- Network --------------------------------------------------------------------------------------


class DigitNetwork(nn.Module):
    """The value of a position from the binary digits of its heaps, for any number of heaps of any size.

    Args:
        hidden_size: The size of the recurrent state.
        n_features: The number of features of a digit.
        noise: The standard deviation of the Gaussian noise on the recurrent state in training mode.
        n_flags: The number of lowest digits that have a flag of their own.
    """

    def __init__(self, hidden_size: int = 8, n_features: int = 16, noise: float = 0.5, n_flags: int = 1) -> None:
        super().__init__()
        self.hidden_size, self.noise, self.n_flags = hidden_size, noise, n_flags
        self.initial_state = nn.Parameter(torch.zeros(hidden_size))
        self.transitions = nn.ModuleList(nn.Linear(hidden_size, hidden_size) for _ in (0, 1))  # one for each bit
        for transition in self.transitions:
            nn.init.orthogonal_(transition.weight)
        self.digit_layers = nn.Sequential(
            nn.Linear(hidden_size + n_flags, n_features), nn.Tanh(), nn.Linear(n_features, n_features), nn.Tanh()
        )
        self.value_layers = nn.Sequential(nn.Linear(n_features, n_features), nn.Tanh(), nn.Linear(n_features, 1))

    def scan(self, bits: torch.Tensor) -> torch.Tensor:
        """The recurrent states after the heaps, one after another.

        Args:
            bits: One digit of each heap, 0 or 1, shape ``(n, n_heaps)``.

        Returns:
            float32 of shape ``(n, hidden_size)``.
        """
        state = self.initial_state.expand(len(bits), -1)
        for bit in bits.bool().unsqueeze(-1).unbind(1):
            state = torch.tanh(torch.where(bit, self.transitions[1](state), self.transitions[0](state)))
            if self.training and self.noise:
                state = state + self.noise * torch.randn_like(state)
        return state

    def forward(self, heaps: torch.Tensor) -> torch.Tensor:
        """The values of the player to move, between -1 and 1.

        Args:
            heaps: Heap sizes, int64 of shape ``(n, n_heaps)``.

        Returns:
            float32 of shape ``(n,)``.
        """
        # one leading zero at least, without a flag; more of them change nothing
        n_digits = max(int(heaps.max()).bit_length(), self.n_flags) + 1
        bits = (heaps[:, None, :] >> torch.arange(n_digits)[:, None]) & 1  # (n, n_digits, n_heaps)
        flag = (self.n_flags - torch.arange(n_digits)).clamp(min=0).expand(len(heaps), -1)  # 0 for none
        bits, flag = bits.flatten(0, 1), flag.flatten()
        inverse = torch.arange(len(bits))
        if not self.training and heaps.shape[1] < 60:  # without noise, equal digits need one scan only
            powers = torch.arange(heaps.shape[1])
            keys, inverse = (bits @ (1 << powers) + (flag << heaps.shape[1])).unique(return_inverse=True)
            bits, flag = (keys[:, None] >> powers) & 1, keys >> heaps.shape[1]
        flags = nn.functional.one_hot(flag, self.n_flags + 1)[:, 1:].float()
        features = self.digit_layers(torch.cat([self.scan(bits), flags], dim=-1))
        largest = features[inverse].unflatten(0, (len(heaps), n_digits)).amax(dim=1)
        return torch.tanh(self.value_layers(largest)).squeeze(-1)


@torch.no_grad()
def predict(network: nn.Module, heaps: np.ndarray) -> np.ndarray:
    """A network's values of positions, ``(n, n_heaps)``: float32 of shape ``(n,)``."""
    network.eval()
    return np.concatenate([network(part).numpy() for part in torch.from_numpy(heaps).split(2**15)])


def action_values(network: nn.Module, rules: NimRules, heaps: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
    """The value of each action by one ply of lookahead.

    Returns:
        float32 of shape ``(n, n_actions)``: the reward where the action ends the game, -inf where it is illegal,
        otherwise minus the network's value of the next position.
    """
    rows, actions = np.nonzero(action_mask)
    next_heaps = rules.apply(heaps[rows], actions)
    values = np.full(action_mask.shape, -np.inf, dtype=np.float32)
    is_over = rules.is_over(next_heaps)
    values[rows, actions] = np.where(is_over, rules.terminal_reward, -predict(network, next_heaps))
    return values


class NetworkPolicy:
    """One-ply greedy play: the action that leads to the position of the smallest value for the opponent.

    Args:
        network: Maps heap sizes ``(n, n_heaps)`` to values ``(n,)``.
        rules: The game.
    """

    def __init__(self, network: nn.Module, rules: NimRules) -> None:
        self.network, self.rules = network, rules

    def action_probabilities(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        """Probability 1 for the greedy action: float64 of shape ``(..., n_actions)``."""
        heaps = np.reshape(observation, (-1, self.rules.n_heaps))
        mask = np.reshape(action_mask, (-1, self.rules.n_actions))
        greedy = action_values(self.network, self.rules, heaps, mask).argmax(axis=1)
        return (np.arange(mask.shape[1]) == greedy[:, None]).astype(float).reshape(np.shape(action_mask))

    def values(self, positions: np.ndarray) -> np.ndarray:
        """The network's values of positions, ``(n, n_heaps)``: float32 of shape ``(n,)``."""
        return predict(self.network, positions)


def save_network(network: DigitNetwork, args: Args, path: Path) -> None:
    """Saves the weights and the rules of the games of training, for :func:`load_network`."""
    save({"weights": network.state_dict(), "misere": args.misere, "max_take": args.max_take}, path)


def save(contents: dict[str, Any], path: Path) -> None:
    """Saves tensors and plain values, for :func:`torch.load`."""
    buffer = io.BytesIO()
    torch.save(contents, buffer)  # on a full disk it would not name the cause
    with replacing(path) as file:
        file.write_bytes(buffer.getvalue())


def load_network(path: Path) -> tuple[DigitNetwork, dict[str, Any]]:
    """A saved network, and the ``misere`` and ``max_take`` of the games that it was trained on.

    Raises:
        ValueError: There is no such file, or it is damaged or holds something else.
    """
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        saved = torch.load(path, weights_only=True)
        weights = saved["weights"]
        hidden_size, (n_features, n_inputs) = len(weights["initial_state"]), weights["digit_layers.0.weight"].shape
        network = DigitNetwork(hidden_size, n_features, n_flags=n_inputs - hidden_size)
        network.load_state_dict(weights)
        rules = {"misere": saved["misere"], "max_take": saved["max_take"]}
        if not all(weight.isfinite().all() for weight in network.parameters()):
            raise ValueError("a weight is not finite")
    except Exception as error:  # torch, pickle and zipfile raise many kinds
        reason = str(error).partition("\n")[0].partition(". ")[0]
        raise ValueError(f"{path} is damaged or not a network of learn_the_rule.py: {reason}") from error
    return network.eval(), rules


def load_policy(path: Path, rules: NimRules) -> NetworkPolicy:
    """A saved network as a player.

    Raises:
        ValueError: The file is damaged, or the network was trained on games with other rules.
    """
    network, trained_on = load_network(path)
    if trained_on != {"misere": rules.misere, "max_take": rules.max_take}:
        options = ", ".join(f"{name}={value}" for name, value in trained_on.items())
        raise ValueError(f"{path} holds a network trained with {options}, not a player of {rules}")
    return NetworkPolicy(network, rules)


# --- Training -------------------------------------------------------------------------------------


def canonical(positions: np.ndarray) -> list[tuple[int, ...]]:
    """Positions up to the order of the heaps and empty heaps."""
    return [tuple(sorted(filter(None, heaps))) for heaps in positions.tolist()]


def make_envs(args: Args) -> list[gym.vector.VectorEnv]:
    """A vector environment for each number of heaps, in which episodes start from random positions."""
    return [
        gym.make_vec(
            "nim_env:Nim-v0",
            num_envs=args.num_envs,
            heaps=(args.max_heap,) * n_heaps,
            max_take=args.max_take,
            misere=args.misere,
            opponent=None,  # the network moves for both players
            random_start=True,
            autoreset_mode="SameStep",
        )
        for n_heaps in range(1, args.n_heaps + 1)
    ]


def train(
    network: nn.Module,
    args: Args,
    callback: Callable[[dict[str, Any]], object] | None = None,
    checkpoint: dict[str, Any] | None = None,
) -> set[tuple[int, ...]]:
    """Trains a network by self-play.

    Args:
        network: Maps heap sizes ``(n, n_heaps)`` to values ``(n,)``.
        args: The options.
        callback: Called after each update with the state of the training.
        checkpoint: A state to continue from.

    Returns:
        The positions visited, up to the order of the heaps and empty heaps.
    """
    optimizer = torch.optim.Adam(network.parameters(), lr=args.learning_rate)
    start, visited = 0, set()
    if checkpoint is not None:
        network.load_state_dict(checkpoint["network"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        start, visited = checkpoint["update"], set(checkpoint["visited"])
    generator = np.random.default_rng([args.seed, start])
    torch.manual_seed(int(generator.integers(2**31)))
    envs = make_envs(args)
    steps = [env.reset(seed=int(generator.integers(2**31))) for env in envs]
    for update in range(start + 1, args.updates + 1):
        observations = [observation for observation, *_ in steps]
        masks = [info["action_mask"] for *_, info in steps]
        values = [
            action_values(network, env.unwrapped.rules, observation, mask)
            for env, observation, mask in zip(envs, observations, masks, strict=True)
        ]
        network.train()
        losses = [
            nn.functional.mse_loss(network(torch.from_numpy(observation)), torch.from_numpy(value.max(axis=1)))
            for observation, value in zip(observations, values, strict=True)
        ]
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for observation in observations:
            visited.update(canonical(observation))
        steps = []
        for env, value, mask in zip(envs, values, masks, strict=True):
            random_actions = (generator.random(mask.shape) * mask).argmax(axis=1)
            explores = generator.random(args.num_envs) < args.epsilon
            steps.append(env.step(np.where(explores, random_actions, value.argmax(axis=1))))
        if callback is not None:
            state = {"update": update, "loss": loss.item(), "network": network.state_dict()}
            callback({**state, "optimizer": optimizer.state_dict(), "visited": visited})
    return visited


def train_with_curves(
    network: DigitNetwork, args: Args, checkpoint: dict[str, Any] | None
) -> tuple[set[tuple[int, ...]], pd.DataFrame]:
    """Trains a network with a progress bar, TensorBoard and checkpoints.

    Returns:
        The positions visited and the learning curves: expert mastery on sampled positions of :data:`CURVE_BOARDS`.
    """
    generator = np.random.default_rng(args.seed)
    boards = {f"{n_heaps} × {size}": args.rules((size,) * n_heaps) for n_heaps, size in CURVE_BOARDS}
    samples = {name: sample_positions(rules, N_CURVE_POSITIONS, True, generator) for name, rules in boards.items()}
    curves = [] if checkpoint is None else checkpoint["curves"]
    start = 0 if checkpoint is None else checkpoint["update"]
    writer = SummaryWriter(args.folder / "tensorboard")
    progress = tqdm(total=args.updates, initial=start, desc="updates", disable=None)

    def callback(state: dict[str, Any]) -> None:
        update = state["update"]
        progress.update()
        writer.add_scalar("loss", state["loss"], update)
        if update % args.eval_interval and update != args.updates:
            return
        row = {}
        for name, rules in boards.items():
            row[name] = float(plays_winning_moves(network, rules, samples[name]).mean())
            writer.add_scalar(f"expert mastery/{name}", row[name], update)
        progress.set_postfix({name: percent(fraction) for name, fraction in row.items()})
        curves.append({"update": update, **row})
        options = {name: value for name, value in asdict(args).items() if name not in ("folder", "resume")}
        save(state | {"curves": curves, "args": options}, args.folder / "checkpoint.pt")

    visited = train(network, args, callback, checkpoint)
    progress.close()
    writer.close()
    return visited, pd.DataFrame(curves)


# --- Evaluation -----------------------------------------------------------------------------------


def sample_positions(rules: NimRules, n: int, won: bool, generator: np.random.Generator) -> np.ndarray:
    """Draws won or losing positions, each with the same probability: int64 of shape ``(n, n_heaps)``."""
    found, missing = [], n
    while missing > 0:
        heaps = generator.integers(np.array(rules.heaps) + 1, size=(100_000, rules.n_heaps))
        heaps = heaps[(theory.is_winning(rules, heaps) == won) & heaps.any(axis=1)]
        found.append(heaps[:missing])
        missing -= len(found[-1])
    return np.concatenate(found)


def sample_endgames(rules: NimRules, n: int, generator: np.random.Generator) -> np.ndarray:
    """Draws n positions with one heap of more than one object, and up to n without such a heap.

    The number of heaps of one object is uniform; empty positions are left out. Random positions of a large board
    are almost never endgames. In these alone the winning moves of misère play differ from those of normal play.
    """
    n_ones = generator.integers(rules.n_heaps + 1, size=(2 * n, 1))
    heaps = (generator.random((2 * n, rules.n_heaps)).argsort(axis=1) < n_ones).astype(np.int64)
    heaps[:n, 0] = generator.integers(2, rules.heaps[0] + 1, size=n)
    heaps = generator.permuted(heaps, axis=1)
    return heaps[heaps.any(axis=1)]


def plays_winning_moves(network: nn.Module, rules: NimRules, heaps: np.ndarray) -> np.ndarray:
    """Whether one-ply greedy play makes a winning move: bool of shape ``(n,)``."""
    policy = NetworkPolicy(network, rules)
    is_right = []
    for part in np.array_split(heaps, len(heaps) * rules.n_actions // 2**18 + 1):
        played = policy.action_probabilities(part, rules.action_mask(part))
        is_right.append((played * theory.winning_action_mask(rules, part)).any(axis=1))
    return np.concatenate(is_right)


def evaluate_sample(network: nn.Module, rules: NimRules, heaps: np.ndarray) -> dict[str, float]:
    """Evaluates a network on a sample of positions against the theory.

    Returns:
        ``expert``: the fraction of the won positions in which one-ply greedy play makes a winning move, with its
        95 % Wilson interval ``low`` to ``high``. ``value_accuracy_won`` and ``_lost``: the fractions of won and of
        losing positions in which the sign of the value is right. ``won`` and ``lost``: their numbers.
    """
    is_won = theory.is_winning(rules, heaps)
    values = predict(network, heaps)
    is_right = plays_winning_moves(network, rules, heaps[is_won])
    expert = evaluation.MatchResult(int(is_right.sum()), len(is_right))
    low, high = expert.interval()
    return {
        "expert": expert.win_rate,
        "low": low,
        "high": high,
        "value_accuracy_won": float((values[is_won] > 0).mean()),
        "value_accuracy_lost": float((values[~is_won] < 0).mean()),
        "won": int(is_won.sum()),
        "lost": int((~is_won).sum()),
    }


def evaluate(network: nn.Module, args: Args, visited: set[tuple[int, ...]]) -> pd.DataFrame:
    """Evaluates a network on boards that are larger than those of training: one row for each test set.

    ``visited`` becomes the fraction of the test set that the network has visited in training.
    """
    generator = np.random.default_rng(args.seed)
    table = []
    for heaps in ENUMERATED_BOARDS:
        rules = args.rules(heaps)
        policy, positions = NetworkPolicy(network, rules), rules.all_positions()[1:]
        n_won = int(theory.is_winning(rules, positions).sum())
        figures = evaluation.report(rules, policy, policy.values).to_dict()
        figures |= {"won": n_won, "lost": len(positions) - n_won}
        table.append(("-".join(map(str, heaps)), "all", positions, figures))
    for n_heaps, size in SAMPLED_BOARDS:
        rules, board = args.rules((size,) * n_heaps), f"{n_heaps} × {size}"
        won, lost = (sample_positions(rules, args.n_positions, is_won, generator) for is_won in (True, False))
        endgames = sample_endgames(rules, args.n_positions // 2, generator)
        for kind, positions in (("random", np.concatenate([won, lost])), ("endgames", endgames)):
            table.append((board, kind, positions, evaluate_sample(network, rules, positions)))
    columns = ["expert", "low", "high", "champion", "value_accuracy_won", "value_accuracy_lost", "won", "lost"]
    rows = [
        {"board": board, "positions": kind}
        | {column: figures.get(column) for column in columns}
        | {"visited": np.mean([position in visited for position in canonical(heaps)])}
        for board, kind, heaps, figures in table
    ]
    return pd.DataFrame(rows)


# --- Figure and command line ----------------------------------------------------------------------


def draw(args: Args, curves: pd.DataFrame, table: pd.DataFrame) -> plt.Figure:
    """The learning curves, and the final figures on the test boards."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained", width_ratios=(2, 3))
    for name in curves.columns[1:]:
        left.plot(curves["update"], curves[name], marker=".", label=name)
    left.set(title="Expert mastery, sampled", xlabel="updates", ylim=(-0.03, 1.03))
    left.legend(title="heaps × objects", loc="lower right")
    labels = table["board"] + np.where(table["positions"] == "all", "", ", " + table["positions"])
    for column, marker in (("expert", "o"), ("value_accuracy_won", "^"), ("value_accuracy_lost", "v")):
        right.plot(table[column], labels, marker, label=column.replace("_", " "), fillstyle="none", markersize=8)
    right.invert_yaxis()
    right.set(title="Fraction right on boards larger than those of training", xlim=(-0.03, 1.03))
    right.legend(loc="lower left")
    for axis in (left, right):
        axis.grid(alpha=0.3)
    board = args.rules((args.max_heap,) * args.n_heaps)
    figure.suptitle(f"Trained by self-play on boards up to {board}, seed {args.seed}")
    return figure


def check(args: Args) -> None:
    """Exits with an error if an option that no library checks has a wrong value."""
    names = ("n_heaps", "max_heap", "updates", "num_envs", "n_flags", "eval_interval")
    check_at_least(1, **{name: getattr(args, name) for name in names})
    if args.n_flags > 8:
        fail(f"--n-flags must be 8 or less; got {args.n_flags}")
    check_at_least(20, n_positions=args.n_positions)  # so that the endgames have won positions
    check_seed(args.seed)
    if not 0 <= args.epsilon <= 1:
        fail(f"--epsilon must be from 0 to 1; got {args.epsilon}")
    check_optimizer(args.learning_rate, args.noise)


def check_optimizer(learning_rate: float, noise: float) -> None:
    """Exits with an error unless both are finite, the learning rate above 0 and the noise 0 or more."""
    if not 0 < learning_rate < float("inf"):
        fail(f"--learning-rate must be above 0 and finite; got {learning_rate}")
    if not 0 <= noise < float("inf"):
        fail(f"--noise must be 0 or more and finite; got {noise}")


def load_checkpoint(path: Path) -> dict[str, Any]:
    """The checkpoint of an interrupted run; exits with an error if it is damaged."""
    try:
        checkpoint = torch.load(path, weights_only=True)
        return {name: checkpoint[name] for name in ("update", "network", "optimizer", "visited", "curves", "args")}
    except Exception as error:  # torch, pickle and zipfile raise many kinds
        fail(f"{path} is damaged: {str(error).partition(chr(10))[0]}")


def main(args: Args) -> pd.DataFrame:
    """Trains and evaluates a network, saves it, and returns the table of the evaluation."""
    check(args)
    checkpoint_file = args.folder / "checkpoint.pt"
    check_resume(args.resume, args.folder, checkpoint_file.exists())
    checkpoint = load_checkpoint(checkpoint_file) if args.resume else None
    if checkpoint is not None:
        args = replace(args, **checkpoint["args"])
    with checking_args():
        make_envs(args)
    check_output("folder", args.folder / "network.pt")
    torch.set_num_threads(1)  # the tensors are small
    torch.manual_seed(args.seed)
    network = DigitNetwork(noise=args.noise, n_flags=args.n_flags)
    visited, curves = train_with_curves(network, args, checkpoint)
    save_network(network, args, args.folder / "network.pt")
    print(f"network: {args.folder / 'network.pt'}")
    table = evaluate(network, args, visited)
    with replacing(args.folder / "evaluation.csv") as file:
        table.to_csv(file, index=False)
    print(table.to_string(index=False, na_rep="", float_format="{:.4f}".format))
    save_figure(draw(args, curves, table), args.folder / "learn_the_rule.png")
    checkpoint_file.unlink()  # the run is finished
    return table


if __name__ == "__main__":
    run(main, Args)
