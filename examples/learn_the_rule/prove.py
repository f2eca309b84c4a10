"""Searches for a proof that a network plays Nim perfectly on every board, and lets check.py judge it.

Who wins depends on the parity of the number of ones in each binary digit (Bouton 1901), which a finite automaton
can track. The search looks for boxes in the space of the recurrent state. Each box belongs to a state of the
automaton, the initial state lies in a box, and each transition must map each box into a box of the automaton's
next state. docs/experiments/proof.md explains why this is sufficient.

    cd examples
    python -m learn_the_rule.prove results/learn_the_rule/network.pt

The script prints whether each network is proven, saves the certificates of proven networks, and draws the boxes.

Install: pip install -e ".[examples,proof,sb3]"
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from command_line import run

import matplotlib.pyplot as plt
import numpy as np
import tyro
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial import ConvexHull
from torch import nn

from nim_env.rendering.appearance import COLORS

from .check import check
from .network import DigitNetwork, load_provable
from common import save_figure

AUTOMATON = {"none": ("none", "odd"), "even": ("even", "odd"), "odd": ("odd", "even")}
"""The next states after a 0 and after a 1. "none" is the initial state, in which no ones have been seen."""
RADIUS = 0.1  # the search starts from boxes that reach this far from a point
MAX_BOXES = 100
SLACK = 1e-4  # larger than the rounding errors that check.py allows for
MAX_GROUPS = 4  # each for "even" and "odd"; few, because the check enumerates all sets of groups
STATE_COLORS = {"none": COLORS["edge"], "even": COLORS["player_1"], "odd": COLORS["good"]}
ARROW = {"arrowstyle": "-|>", "connectionstyle": "arc3,rad=0.2", "color": COLORS["ink"], "shrinkB": 6}
ARROWS = ARROW | {"linestyle": ":"}, ARROW | {"linestyle": "-"}  # after a 0 and after a 1
LABEL = {"textcoords": "offset points", "weight": "bold"}


@dataclass
class Args:
    networks: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Networks saved by train.py or distill.py."""
    folder: Path = Path("results/certificates")
    """Where certificates and pictures of the boxes are saved. They are named after the network's file, or after
    its folder if the file is network.pt."""


class Boxes(NamedTuple):
    """Boxes of recurrent states, each with its state of the automaton and its ends, ``(n_boxes, hidden_size)``."""

    states: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Proof(NamedTuple):
    """The result of a search: the certificate for check.py, its margin, and the reason if there is no proof.

    The certificate is None if the search fails, and the margin is None if the network is not proven.
    """

    certificate: dict[str, np.ndarray] | None
    margin: float | None
    refusal: str


def main(args: Args) -> list[Proof]:
    """Tries to prove each network, and prints, draws and returns the results."""
    loaded = {path: load_provable(path) for path in args.networks}
    proofs = []
    for path, (network, misere) in loaded.items():
        proof = prove(network, misere)
        file = args.folder / f"{path.parent.name if path.stem == 'network' else path.stem}.npz"
        save_figure(draw(network, misere, proof), file.with_suffix(".svg"))
        verdict = f"not proven: {proof.refusal}"
        if proof.margin is not None:
            np.savez_compressed(file, **proof.certificate)
            verdict = f"proven for every board, margin {proof.margin:.3f}: {file}"
        print(f"{path}: {'misère' if misere else 'normal'} play: {verdict}")
        proofs.append(proof)
    return proofs


def prove(network: DigitNetwork, misere: bool) -> Proof:
    """Searches for boxes, and lets check.py judge the certificate."""
    boxes = first_boxes(*sample_states(network))
    if len(boxes.states) > MAX_BOXES or not close(network, boxes):
        return Proof(None, None, f"no set of {MAX_BOXES} boxes or fewer contains its images")
    certificate = {name: weight.numpy() for name, weight in network.state_dict().items()}
    certificate["misere"] = np.array(misere)
    certificate["boxes"] = np.stack([boxes.low, boxes.high], axis=1).astype(np.float32)
    certificate |= {"states": boxes.states, "groups": group(network, boxes)}
    try:
        return Proof(certificate, check(certificate), "")
    except ValueError as error:
        return Proof(certificate, None, str(error))


def affine(layer: nn.Linear, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, ...]:
    """Bounds tanh after a linear layer, apart from rounding, for inputs between ``low`` and ``high``."""
    weight, bias = (weights.detach().double().numpy() for weights in (layer.weight, layer.bias))
    center, radius = (low + high) / 2 @ weight.T + bias, (high - low) / 2 @ np.abs(weight).T
    return np.tanh(center - radius), np.tanh(center + radius)


def sample_states(network: DigitNetwork, n_sequences: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Returns the recurrent states along random sequences of 120 bits, and the automaton's state at each."""
    generator = np.random.default_rng(0)
    probability = generator.choice([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98], size=n_sequences)
    bits = generator.random((120, n_sequences)) < probability
    points = [np.tile(network.initial_state.detach().double().numpy(), (n_sequences, 1))]
    for row in bits:
        after = [affine(layer, points[-1], points[-1])[0] for layer in network.transitions]
        points.append(np.where(row[:, None], after[1], after[0]))
    counts = np.pad(bits.cumsum(axis=0), ((1, 0), (0, 0))).ravel()
    return np.concatenate(points), np.where(counts == 0, "none", np.where(counts % 2, "odd", "even"))


def first_boxes(points: np.ndarray, states: np.ndarray) -> Boxes:
    """Returns boxes around groups of points of one state that lie within RADIUS of the group's first point."""
    names, lows, highs = [], [], []
    for name in AUTOMATON:
        left = points[states == name]
        while len(left) and len(names) <= MAX_BOXES:
            is_near = (np.abs(left - left[0]) <= RADIUS).all(axis=1)
            names.append(name)
            lows.append(left[is_near].min(axis=0))
            highs.append(left[is_near].max(axis=0))
            left = left[~is_near]
    return Boxes(np.array(names), np.array(lows), np.array(highs))


def close(network: DigitNetwork, boxes: Boxes) -> bool:
    """Lets the boxes grow in place until the image of each lies in a box of the next state.

    Returns whether this succeeded within 100 rounds.
    """
    for _ in range(100):
        grows = False
        for bit in (0, 1):
            image_low, image_high = affine(network.transitions[bit], boxes.low, boxes.high)
            image_low, image_high = image_low - SLACK, image_high + SLACK
            nearest, missed = nearest_boxes(boxes, bit, image_low, image_high)
            # boxes grow a little more than needed, so the search ends
            np.minimum.at(boxes.low, nearest[missed], image_low[missed] - SLACK)
            np.maximum.at(boxes.high, nearest[missed], image_high[missed] + SLACK)
            grows |= missed.any()
        if not grows:
            return True
    return False


def nearest_boxes(
    boxes: Boxes, bit: int, image_low: np.ndarray, image_high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the nearest box of the next state for each box's image, and whether the image sticks out of it."""
    outside = np.maximum(boxes.low - image_low[:, None], 0) + np.maximum(image_high[:, None] - boxes.high, 0)
    next_states = np.array([AUTOMATON[state][bit] for state in boxes.states])
    distance = np.where(next_states[:, None] == boxes.states, outside.sum(axis=-1), np.inf)
    return distance.argmin(axis=1), distance.min(axis=1) > 0


def group(network: DigitNetwork, boxes: Boxes) -> np.ndarray:
    """Returns the group of each box, int64 of shape ``(n_boxes,)``; boxes of a group have similar features."""
    features = []
    for flag in (0, 1):
        inputs = (np.insert(end, end.shape[1], flag, axis=1) for end in (boxes.low, boxes.high))
        features += affine(network.digit_layers[2], *affine(network.digit_layers[0], *inputs))
    vectors = np.concatenate(features, axis=1)
    groups = np.zeros(len(boxes.states), dtype=np.int64)
    for state in ("even", "odd"):
        own = np.flatnonzero(boxes.states == state)
        if len(own) > 1:
            groups[own] = fcluster(linkage(vectors[own], "complete", "cityblock"), MAX_GROUPS, "maxclust")
    return groups


def draw(network: DigitNetwork, misere: bool, proof: Proof) -> plt.Figure:
    """Draws the automaton, and the boxes and their images in the plane of the first two principal components."""
    figure, (left, right) = plt.subplots(1, 2, layout="constrained", width_ratios=(2, 3))
    draw_automaton(left)
    points, states = sample_states(network, n_sequences=300)
    mean = points.mean(axis=0)
    plane = np.linalg.svd(points - mean, full_matrices=False)[2][:2].T

    def project(points: np.ndarray) -> np.ndarray:
        return (points - mean) @ plane

    for state, color in STATE_COLORS.items():
        shown = np.unique(project(points[states == state]).round(2), axis=0)
        right.plot(*shown.T, ".", color=color, markersize=3)
        right.annotate(state, (shown[:, 0].mean(), shown[:, 1].max()), (0, 12), **LABEL, ha="center")
    right.set(title="Recurrent states and boxes", xlabel="first principal component")
    right.set(ylabel="second principal component")
    right.margins(0.15)
    if proof.certificate is not None:
        boxes = Boxes(proof.certificate["states"], *np.moveaxis(proof.certificate["boxes"], 1, 0))
        draw_boxes(right, network, boxes, project)
    verdict = "Not proven" if proof.margin is None else "Proven for every board"
    figure.suptitle(f"{verdict}, {'misère' if misere else 'normal'} play", x=0.01, ha="left", fontsize="large")
    return figure


def draw_automaton(axis: plt.Axes) -> None:
    """Draws the three states. A 0 keeps the state, and a 1 leads to another state."""
    places = {"none": (0, 0), "even": (0, 1), "odd": (1, 1)}
    for state, place in places.items():
        color = STATE_COLORS[state]
        axis.plot(*place, "o", markersize=36, color=color + "40", markeredgecolor=color)
        axis.annotate(state, place, (0, 0), **LABEL, ha="center", va="center")
        loop = ARROWS[0] | {"connectionstyle": "arc3,rad=-2", "shrinkA": 0, "shrinkB": 0}
        axis.annotate("", np.add(place, (0.1, 0.15)), np.add(place, (-0.1, 0.15)), arrowprops=loop)
        target = places[AUTOMATON[state][1]]
        axis.annotate("", target, place, arrowprops=ARROWS[1] | {"shrinkA": 20, "shrinkB": 20})
    axis.set(title="The automaton", xlim=(-0.4, 1.4), ylim=(-0.3, 1.5))
    axis.axis("off")


def draw_boxes(axis: plt.Axes, network: DigitNetwork, boxes: Boxes, project: Callable) -> None:
    """Draws the boxes and, for each bit, an arrow from each box to the box of its image if that is another box."""
    hidden_size = boxes.low.shape[1]
    corners = np.stack(np.meshgrid(*[[0, 1]] * hidden_size), axis=-1).reshape(-1, hidden_size)
    for state, low, high in zip(*boxes, strict=True):
        # wider by 0.04, so that a box around a single point has an outline
        ends = project(np.where(corners, high + 0.04, low - 0.04))
        outline = ends[ConvexHull(ends).vertices]
        axis.fill(*outline.T, facecolor=STATE_COLORS[state] + "40", edgecolor=STATE_COLORS[state])
    centers = project((boxes.low + boxes.high) / 2)
    for bit, arrow in enumerate(ARROWS):
        targets, _ = nearest_boxes(boxes, bit, *affine(network.transitions[bit], boxes.low, boxes.high))
        for box in np.flatnonzero(targets != np.arange(len(targets))):
            axis.annotate("", centers[targets[box]], centers[box], arrowprops=arrow)
    lines = [plt.Line2D([], [], color=COLORS["ink"], linestyle=arrow["linestyle"]) for arrow in ARROWS]
    axis.figure.legend(lines, ["after a 0, if into another box", "after a 1"], loc="outside lower right", ncols=2)


if __name__ == "__main__":
    run(main, Args)
