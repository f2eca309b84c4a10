"""A policy network for Nim that names the move without looking one ply ahead, for boards of any size.

The network of train.py compares the values of all next positions. Here it gets a second head, which scores the
moves of a position from the position alone: PolicyValueNetwork of network.py.

The head trains on positions of small boards towards positive scores for the moves that win for the value network
(policy distillation, Rusu et al. 2015, arXiv:1511.06295). The features of the digits, its inputs, differ a little
on other boards. So it trains against all features within a radius (interval bound propagation, Gowal et al. 2018,
arXiv:1810.12715). In normal play prove.py and check.py can then prove the policy for every board.

    python examples/learn_the_rule/train.py --seed 1
    python examples/learn_the_rule/distill.py results/learn_the_rule/network.pt
    python examples/learn_the_rule/check.py results/learn_the_rule/policy.npz
    python examples/play.py --heaps 9 20 31 50 --no-misere --opponent results/learn_the_rule/policy.pt

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for common.py

from common import (
    COLORS,
    FIGURE_SUFFIXES,
    NonNegative,
    PositiveInt,
    Seed,
    check_output,
    checking_args,
    percent,
    run,
    save_figure,
)

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
import tyro
from torch import nn
from tqdm import tqdm

from nim_env import NimRules, evaluation, theory

from learn_the_rule.evaluate import sample_endgames, sample_positions
from learn_the_rule.network import (
    DigitNetwork,
    PolicyValueNetwork,
    ScorePolicy,
    action_values,
    load_network,
    save_network,
)
from learn_the_rule.prove import prove

N_HEAPS, MAX_HEAP = 5, 7  # the largest training board
TEST_BOARDS = ((5, 7), (7, 15), (20, 15), (50, 15), (10, 255))  # heaps, objects in each


@dataclass
class Args:
    """The options of this script."""

    network: Annotated[Path, tyro.conf.Positional]
    """A network saved by train.py."""
    updates: PositiveInt = 1000
    """The number of updates."""
    batch_size: PositiveInt = 32
    """The number of positions of each training board in an update."""
    learning_rate: float = 3e-3
    """The learning rate of Adam."""
    radius: NonNegative = 0.1
    """The largest difference of a digit's features against which the scores are trained."""
    n_positions: PositiveInt = 1000
    """The number of won positions sampled from each test board."""
    eval_interval: PositiveInt = 100
    """The number of updates between two evaluations."""
    seed: Seed = 0
    """Random seed."""
    picture: Path = Path("results/learn_the_rule/distill.png")
    """Where the learning curves are saved."""
    policy: Path = Path("results/learn_the_rule/policy.pt")
    """Where the network is saved, and its certificate for check.py beside it, named .npz, if it is proven."""


def main(args: Args) -> pd.DataFrame:
    """Trains and evaluates a policy network; returns its learning curves."""
    check_output("picture", args.picture, FIGURE_SUFFIXES)
    check_output("policy", args.policy, (".pt",))
    with checking_args():
        value_network, rules = load_network(args.network)
        if rules["max_take"] is not None:
            raise ValueError(
                f"{args.network} was trained with max_take={rules['max_take']}; give one without a limit"
            )
        if value_network.n_flags != 1:
            raise ValueError(
                f"{args.network} has flags for {value_network.n_flags} digits; give one with one flag"
            )
        torch.optim.Adam([torch.zeros(1)], lr=args.learning_rate)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    sizes = {name: getattr(value_network, name) for name in ("hidden_size", "n_features")}
    network = PolicyValueNetwork(NimRules((MAX_HEAP,) * N_HEAPS), **sizes)
    network.load_state_dict(value_network.state_dict(), strict=False)  # all but the policy head
    test_sets = make_test_sets(args, rules["misere"])
    progress = tqdm(total=args.updates, desc="updates", disable=None)
    curves = []

    def callback(update: int) -> None:
        progress.update()
        if update % args.eval_interval == 0 or update == args.updates:
            results = {name: evaluate(network, *test_set) for name, test_set in test_sets.items()}
            curves.append({"update": update} | {name: result.win_rate for name, result in results.items()})
            if update == args.updates:
                progress.close()
                for name, result in results.items():
                    low, high = result.interval()
                    print(f"{name}: {percent(result.win_rate, 2)} % ({percent(low, 2)} to {percent(high, 2)})")

    train(network, value_network, args, rules["misere"], callback)
    certificate = args.policy.with_suffix(".npz")
    certificate.unlink(missing_ok=True)  # of another network
    save_network(network, args.policy, misere=rules["misere"])
    print(f"network: {args.policy}")
    proof = prove(network, rules["misere"])
    if proof.margin is None:
        print(f"not proven: {proof.refusal}")
    else:
        np.savez_compressed(certificate, **proof.certificate)
        print(f"proven for every board, with and without lookahead: margin {proof.margin:.3f}: {certificate}")
    table = pd.DataFrame(curves)
    save_figure(draw(table, rules["misere"], args.seed), args.picture)
    return table


def train(
    network: PolicyValueNetwork, value_network: DigitNetwork, args: Args, misere: bool, callback: Any = None
) -> None:
    """Trains the scores of random positions to be positive for the moves that win for the value network.

    The loss is that of the worst scores within their bounds (Gowal et al. 2018, arXiv:1810.12715, section 3).
    """
    generator = np.random.default_rng(args.seed)
    head = [*network.move_layers.parameters(), *network.score_layers.parameters()]
    optimizer = torch.optim.Adam(head, lr=args.learning_rate)
    boards = [NimRules((MAX_HEAP,) * n_heaps, misere=misere) for n_heaps in range(1, N_HEAPS + 1)]
    network.eval()
    for update in range(1, args.updates + 1):
        radius = args.radius * min(1, 2 * update / args.updates)
        right, wrong = [], []  # how far the worst score of a move is on the right side of 0
        for rules in boards:
            heaps = rules.from_index(generator.integers(1, rules.n_positions, size=args.batch_size))
            mask = rules.action_mask(heaps)
            is_winning = torch.from_numpy(action_values(value_network, rules, heaps, mask) > 0)
            network.rules = rules
            low, high = score_bounds(network, torch.from_numpy(heaps), radius)
            right.append(low[is_winning])
            wrong.append(-high[torch.from_numpy(mask > 0) & ~is_winning])
        loss = sum(nn.functional.softplus(-torch.cat(worst)).mean() for worst in (right, wrong))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if callback is not None:
            callback(update)


def score_bounds(
    network: PolicyValueNetwork, heaps: torch.Tensor, radius: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Bounds of the scores of all actions if each feature of each digit differs by up to the radius.

    Args:
        network: The policy network.
        heaps: Heap sizes, int64 of shape ``(n, n_heaps)``.
        radius: The largest difference of a feature.

    Returns:
        The lower and upper ends, float32 of shape ``(n, n_actions)`` each.
    """
    with torch.no_grad():
        features, rows = network.read_digits(heaps)
    inputs = network.add_changes(features)
    difference = torch.tensor([radius] * network.n_features + [0.0, 0.0])
    ends = propagate(network.move_layers, inputs - difference, inputs + difference)
    low, high = propagate(network.score_layers, *(network.pool_moves(end, rows, heaps) for end in ends))
    return low.squeeze(-1), high.squeeze(-1)


def propagate(layers: nn.Sequential, low: torch.Tensor, high: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Interval bound propagation through linear layers and tanh (Gowal et al. 2018, section 3)."""
    for layer in layers:
        if isinstance(layer, nn.Linear):
            center, radius = layer((low + high) / 2), (high - low) / 2 @ layer.weight.abs().T
            low, high = center - radius, center + radius
        else:
            low, high = layer(low), layer(high)
    return low, high


def evaluate(network: PolicyValueNetwork, rules: NimRules, heaps: np.ndarray) -> evaluation.MatchResult:
    """In how many of the won positions the move of the highest score wins."""
    chosen = ScorePolicy(network, rules).action_probabilities(heaps, rules.action_mask(heaps))
    return evaluation.MatchResult(int((chosen * theory.winning_action_mask(rules, heaps)).sum()), len(heaps))


def make_test_sets(args: Args, misere: bool) -> dict[str, tuple[NimRules, np.ndarray]]:
    """Won positions of each test board, drawn at random and among the endgames."""
    generator = np.random.default_rng(args.seed)
    test_sets = {}
    for n_heaps, size in TEST_BOARDS:
        rules = NimRules((size,) * n_heaps, misere=misere)
        test_sets[f"{n_heaps} × {size}"] = rules, sample_positions(rules, args.n_positions, True, generator)
        endgames = sample_endgames(rules, args.n_positions, generator)
        test_sets[f"{n_heaps} × {size}, endgames"] = rules, endgames[theory.is_winning(rules, endgames)]
    return test_sets


def draw(curves: pd.DataFrame, misere: bool, seed: int) -> plt.Figure:
    """Expert mastery over the updates: a color for each board, dashes for endgames."""
    figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
    boards = list(dict.fromkeys(name.partition(",")[0] for name in curves.columns[1:]))
    colors = [COLORS[name] for name in ("player_1", "player_2", "good", "flag", "block")]
    handles = []
    for board, color in zip(boards, colors, strict=False):
        handles += axis.plot(curves["update"], curves[board], color=color, label=board)
        axis.plot(curves["update"], curves[f"{board}, endgames"], "--", color=color)
    styles = [axis.plot([], [], style, color=COLORS["muted"])[0] for style in ("-", "--")]
    axis.set(xlabel="updates", ylabel="winning positions played correctly", ylim=(-0.03, 1.03))
    play = "misère" if misere else "normal"
    axis.set_title(f"The move of the highest score, without lookahead, {play} play, seed {seed}")
    labels = [*boards, "random", "endgames"]
    figure.legend([*handles, *styles], labels, title="heaps × objects", loc="outside right upper", frameon=False)
    return figure


if __name__ == "__main__":
    run(main, Args)
