"""Searches for a proof that a network of train.py plays Nim perfectly on every board, and lets check.py judge it.

Who wins a position depends on the binary digits of its heaps (Bouton 1901): on the parity of the number of ones
of each digit, and in misère play also on whether a digit above the lowest has any. A finite automaton can track
this while it reads a digit of the heaps, one after another. The search looks for boxes in the space of the
recurrent state, each of which belongs to a state of the automaton: the initial state lies in a box, and each
transition maps each box into a box of the next state. check.py decides whether the boxes prove the play of the
network; docs/experiments/learn_the_rule.md explains why. Where it refuses them, the script looks for a position
whose value has the wrong sign.

    python examples/learn_the_rule/prove.py results/learn_the_rule/network.pt

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for common.py

from common import COLORS, FIGURE_SUFFIXES, check_output, checking_args, fail, run, save_figure

import matplotlib.pyplot as plt
import numpy as np
import tyro
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial import ConvexHull

from nim_env import NimRules, theory

from learn_the_rule.check import check
from learn_the_rule.evaluate import sample_endgames, sample_positions
from learn_the_rule.network import DigitNetwork, load_network, predict

AUTOMATON = {"none": ("none", "odd"), "even": ("even", "odd"), "odd": ("odd", "even")}
"""The next states after a 0 and after a 1; "none" is the initial state, without ones so far."""
RADIUS = 0.1  # of the first boxes
MAX_BOXES = 100
SLACK = 1e-4  # more than the rounding, which check.py bounds
MAX_GROUPS = 4  # of "even" and of "odd", since the check enumerates the sets of groups
STATE_COLORS = {"none": COLORS["block"], "even": COLORS["player_1"], "odd": COLORS["player_2"]}


@dataclass
class Args:
    """The options of this script."""

    networks: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Networks saved by train.py."""
    folder: Path = Path("results/certificates")
    """Where the certificates of the proven networks are saved, named as the network's file or else its folder."""
    picture: Path = Path("results/learn_the_rule/prove.png")
    """Where the picture of the recurrent states and the boxes of the first network is saved."""


class Proof(NamedTuple):
    """What the search has found.

    Attributes:
        certificate: The arrays that check.py describes; None if no boxes contain their images.
        margin: The smallest distance of a value from the wrong sign; None without a proof.
        refusal: Why there is no proof; empty if there is one.
    """

    certificate: dict[str, np.ndarray] | None
    margin: float | None
    refusal: str


def main(args: Args) -> list[Proof]:
    """Tries to prove each network, prints what was found, and draws the first."""
    if not args.networks:
        fail("give one file or more, saved by train.py")
    check_output("picture", args.picture, FIGURE_SUFFIXES)
    with checking_args():
        loaded = [load_network(path) for path in args.networks]
    for path, (network, rules) in zip(args.networks, loaded, strict=True):
        if rules["max_take"] is not None:
            fail(f"{path} was trained with max_take={rules['max_take']}; the proof is for games without a limit")
        if network.n_flags != 1:
            fail(f"{path} has flags for {network.n_flags} digits; the proof is for networks with one")
    proofs = []
    for path, (network, rules) in zip(args.networks, loaded, strict=True):
        proof = prove(network, rules["misere"])
        proofs.append(proof)
        print(f"{path}: {'misère' if rules['misere'] else 'normal'} play: ", end="")
        if proof.margin is None:
            print(f"not proven: {proof.refusal}; {counterexample(network, rules['misere'])}")
            continue
        file = args.folder / f"{path.parent.name if path.stem == 'network' else path.stem}.npz"
        check_output("folder", file)
        np.savez_compressed(file, **proof.certificate)
        print(
            f"proven for every board: {len(proof.certificate['boxes'])} boxes, margin {proof.margin:.3f}: {file}"
        )
    network, rules = loaded[0]
    save_figure(draw(network, rules["misere"], proofs[0]), args.picture)
    return proofs


def prove(network: DigitNetwork, misere: bool) -> Proof:
    """Searches for boxes, and lets check.py judge them."""
    states, low, high = first_boxes(*sample_states(network))
    if len(states) > MAX_BOXES or not close(network, states, low, high):
        return Proof(None, None, f"no {MAX_BOXES} boxes contain their images")
    certificate = {name: weight.numpy() for name, weight in network.state_dict().items()}
    certificate |= {
        "misere": np.array(misere),
        "boxes": np.stack([low, high], axis=1).astype(np.float32),
        "states": states,
    }
    certificate["groups"] = group(network, states, low, high)
    try:
        return Proof(certificate, check(certificate), "")
    except ValueError as error:
        return Proof(certificate, None, str(error))


# --- The search: intervals are pairs of arrays, their lower and upper ends --------------------------


def layers(network: DigitNetwork) -> dict[str, np.ndarray]:
    """The weights in double precision."""
    return {name: weight.double().numpy() for name, weight in network.state_dict().items()}


def affine(weights: dict[str, np.ndarray], name: str, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, ...]:
    """Bounds of a linear layer and tanh, apart from rounding."""
    weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    center, radius = (low + high) / 2 @ weight.T + bias, (high - low) / 2 @ np.abs(weight).T
    return np.tanh(center - radius), np.tanh(center + radius)


def sample_states(
    network: DigitNetwork, n_sequences: int = 2000, length: int = 120
) -> tuple[np.ndarray, np.ndarray]:
    """The recurrent states along random sequences of bits, and the states of the automaton."""
    generator, weights = np.random.default_rng(0), layers(network)
    probability = generator.choice([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98], size=n_sequences)
    point = np.tile(weights["initial_state"], (n_sequences, 1))
    n_ones = np.zeros(n_sequences, dtype=np.int64)
    points, ones = [point], [n_ones]
    for _ in range(length):
        bits = generator.random(n_sequences) < probability
        after = [affine(weights, f"transitions.{bit}", point, point)[0] for bit in (0, 1)]
        point, n_ones = np.where(bits[:, None], after[1], after[0]), n_ones + bits
        points.append(point)
        ones.append(n_ones)
    counts = np.concatenate(ones)
    return np.concatenate(points), np.where(counts == 0, "none", np.where(counts % 2, "odd", "even"))


def first_boxes(points: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Boxes around groups of points of one state, each within RADIUS of the group's first point."""
    names, lows, highs = [], [], []
    for name in AUTOMATON:
        left = points[states == name]
        while len(left) and len(names) <= MAX_BOXES:
            is_near = (np.abs(left - left[0]) <= RADIUS).all(axis=1)
            names.append(name)
            lows.append(left[is_near].min(axis=0))
            highs.append(left[is_near].max(axis=0))
            left = left[~is_near]
    return np.array(names), np.array(lows), np.array(highs)


def close(network: DigitNetwork, states: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
    """Lets boxes grow, in place, until the image of each lies in a box of the next state; False without an end."""
    weights, next_states = layers(network), np.array([AUTOMATON[state] for state in states])
    for _ in range(100):
        grows = False
        for bit in (0, 1):
            image_low, image_high = affine(weights, f"transitions.{bit}", low, high)
            image_low, image_high = image_low - SLACK, image_high + SLACK
            outside = np.maximum(low - image_low[:, None], 0) + np.maximum(image_high[:, None] - high, 0)
            distance = np.where(next_states[:, bit, None] == states, outside.sum(axis=-1), np.inf)
            nearest, missed = distance.argmin(axis=1), distance.min(axis=1) > 0
            np.minimum.at(low, nearest[missed], image_low[missed] - SLACK)  # more, so that the search ends
            np.maximum.at(high, nearest[missed], image_high[missed] + SLACK)
            grows |= missed.any()
        if not grows:
            return True
    return False


def group(network: DigitNetwork, states: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Numbers of the boxes of "even" and "odd", equal for close features: int64 of shape ``(n_boxes,)``."""
    weights, features = layers(network), []
    for flag in (0, 1):
        inputs = (np.insert(end, end.shape[1], flag, axis=1) for end in (low, high))
        features += affine(weights, "digit_layers.2", *affine(weights, "digit_layers.0", *inputs))
    vectors, groups = np.concatenate(features, axis=1), np.zeros(len(states), dtype=np.int64)
    for state in ("even", "odd"):
        own = np.flatnonzero(states == state)
        if len(own) > 1:
            groups[own] = fcluster(linkage(vectors[own], "complete", "cityblock"), MAX_GROUPS, "maxclust")
    return groups


def counterexample(network: DigitNetwork, misere: bool, max_heaps: int = 50) -> str:
    """A sampled position for which the sign of the value is wrong, in words."""
    generator = np.random.default_rng(0)
    for n_heaps in range(1, max_heaps + 1):
        rules = NimRules((7,) * n_heaps, misere=misere)
        samples = [sample_positions(rules, 500, won, generator) for won in (True, False) if n_heaps > 1 or won]
        positions = np.concatenate([*samples, sample_endgames(rules, 250, generator)])
        won = theory.is_winning(rules, positions)
        values = predict(network, positions)
        is_wrong = (values > 0) != won
        if is_wrong.any():
            first = int(is_wrong.argmax())
            heaps, outcome = "-".join(map(str, positions[first])), "won" if won[first] else "lost"
            return f"counterexample: {heaps} is {outcome}, its value is {values[first]:.3f}"
    return f"no counterexample in a sample of up to {max_heaps} heaps"


# --- Picture --------------------------------------------------------------------------------------


def draw(network: DigitNetwork, misere: bool, proof: Proof) -> plt.Figure:
    """The boxes and their transitions, projected on the first two principal components of the recurrent states."""
    points, states = sample_states(network, n_sequences=300)
    mean = points.mean(axis=0)
    plane = np.linalg.svd(points - mean, full_matrices=False)[2][:2].T
    figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained", sharex=True, sharey=True)
    for bit, axis in enumerate(axes):
        for state, color in STATE_COLORS.items():
            axis.plot(*((points[states == state] - mean) @ plane).T, ".", color=color, markersize=2, alpha=0.4)
        if proof.certificate is not None:
            draw_boxes(axis, network, proof.certificate, bit, lambda ends: (ends - mean) @ plane)
        axis.set(title=f"after a {bit}", xlabel="first principal component")
        axis.margins(0.15)
    axes[0].set_ylabel("second principal component")
    handles = [plt.Line2D([], [], marker="s", linestyle="", color=color) for color in STATE_COLORS.values()]
    figure.legend(handles, STATE_COLORS, title="ones so far", loc="outside right upper", frameon=False)
    verdict = "not proven" if proof.margin is None else "proven for every board"
    figure.suptitle(f"Recurrent states and boxes, {'misère' if misere else 'normal'} play: {verdict}")
    return figure


def draw_boxes(
    axis: plt.Axes,
    network: DigitNetwork,
    certificate: dict[str, np.ndarray],
    bit: int,
    project: Callable[[np.ndarray], np.ndarray],
) -> None:
    """The outlines of the boxes, and an arrow from each to the box of its image."""
    states, (low, high) = certificate["states"], np.moveaxis(certificate["boxes"], 1, 0)
    corners = np.stack(np.meshgrid(*[[0, 1]] * low.shape[1]), axis=-1).reshape(-1, low.shape[1])
    centers = project((low + high) / 2)
    images = affine(layers(network), f"transitions.{bit}", low, high)
    for box, state in enumerate(states):
        # wider by 0.04, so that a box of one point has an outline
        projected = project(np.where(corners, high[box] + 0.04, low[box] - 0.04))
        outline = projected[ConvexHull(projected).vertices]
        color = STATE_COLORS[state]
        axis.fill(*outline.T, facecolor=color + "40", edgecolor=color, linewidth=1.5)
        outside = np.maximum(low - images[0][box], 0) + np.maximum(images[1][box] - high, 0)
        target = np.where(states == AUTOMATON[state][bit], outside.sum(axis=1), np.inf).argmin()
        if target != box:
            arrow = {"arrowstyle": "-|>", "connectionstyle": "arc3,rad=0.2", "color": COLORS["ink"], "shrinkB": 6}
            axis.annotate("", centers[target], centers[box], arrowprops=arrow)


if __name__ == "__main__":
    run(main, Args)
