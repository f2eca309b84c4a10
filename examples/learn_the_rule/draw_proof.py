"""Draws the automaton of the proof, and the boxes of recurrent states that prove.py finds for a network.

docs/experiments/proof.md explains the picture. It takes a few seconds.

    cd examples
    python -m learn_the_rule.draw_proof results/learn_the_rule/network.pt

Install: pip install -e ".[examples,proof,sb3]"
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from command_line import run

import matplotlib.pyplot as plt
import numpy as np
import tyro
from scipy.spatial import ConvexHull

from common import COLORS, save_figure
from learn_the_rule.network import DigitNetwork, load_provable
from learn_the_rule.prove import AUTOMATON, Boxes, Proof, image, nearest_boxes, prove, sample_states

STATE_COLORS = {"none": COLORS["edge"], "even": COLORS["player_1"], "odd": COLORS["good"]}
ARROW = {"arrowstyle": "-|>", "connectionstyle": "arc3,rad=0.2", "color": COLORS["ink"], "shrinkB": 6}
ARROW_AFTER_0 = ARROW | {"linestyle": ":"}
LABEL = {"textcoords": "offset points", "weight": "bold"}


@dataclass
class Args:
    network: Annotated[Path, tyro.conf.Positional]
    """A network saved by train.py or distill.py."""
    picture: Path = Path("results/prove_the_rule.svg")


def main(args: Args) -> None:
    """Searches for a proof of the network and saves the picture of what was found."""
    network, misere = load_provable(args.network)
    save_figure(draw(network, misere, prove(network, misere)), args.picture)


def draw(network: DigitNetwork, misere: bool, proof: Proof) -> plt.Figure:
    """Draws the automaton on the left, and the recurrent states and boxes of a network on the right.

    The recurrent states are projected onto the plane of their first two principal components.
    """
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
        draw_boxes(right, boxes, network, project)
        after_0 = plt.Line2D([], [], color=COLORS["ink"], linestyle=":", label="after a 0, if into another box")
        after_1 = plt.Line2D([], [], color=COLORS["ink"], linestyle="-", label="after a 1")
        figure.legend(handles=[after_0, after_1], loc="outside lower right", ncols=2)
    verdict = "Not proven" if proof.margin is None else "Proven for every board"
    figure.suptitle(f"{verdict}, {'misère' if misere else 'normal'} play", x=0.01, ha="left", fontsize="large")
    return figure


def draw_automaton(axis: plt.Axes) -> None:
    """Draws the three states of the automaton and the arrows between them."""
    places = {"none": (0, 0), "even": (0, 1), "odd": (1, 1)}
    for state, place in places.items():
        color = STATE_COLORS[state]
        axis.plot(*place, "o", markersize=36, color=color + "40", markeredgecolor=color)
        axis.annotate(state, place, (0, 0), **LABEL, ha="center", va="center")
        # a 0 keeps the state
        loop = ARROW_AFTER_0 | {"connectionstyle": "arc3,rad=-2", "shrinkA": 0, "shrinkB": 0}
        axis.annotate("", np.add(place, (0.1, 0.15)), np.add(place, (-0.1, 0.15)), arrowprops=loop)
        target = places[AUTOMATON[state][1]]
        axis.annotate("", target, place, arrowprops=ARROW | {"shrinkA": 20, "shrinkB": 20})
    axis.set(title="The automaton", xlim=(-0.4, 1.4), ylim=(-0.3, 1.5))
    axis.axis("off")


def draw_boxes(axis: plt.Axes, boxes: Boxes, network: DigitNetwork, project: Callable) -> None:
    """Draws boxes, and for each bit an arrow from each box to the box into which the network maps it.

    There is no arrow from a box to itself. ``project`` maps points ``(n, hidden_size)`` to the plane, ``(n, 2)``.
    """
    hidden_size = boxes.low.shape[1]
    corners = np.stack(np.meshgrid(*[[0, 1]] * hidden_size), axis=-1).reshape(-1, hidden_size)
    for state, low, high in zip(*boxes, strict=True):
        # wider by 0.04, so that a box around a single point has an outline
        ends = project(np.where(corners, high + 0.04, low - 0.04))
        outline = ends[ConvexHull(ends).vertices]
        axis.fill(*outline.T, facecolor=STATE_COLORS[state] + "40", edgecolor=STATE_COLORS[state])
    centers = project((boxes.low + boxes.high) / 2)
    for bit, arrow in enumerate((ARROW_AFTER_0, ARROW)):
        targets, _ = nearest_boxes(boxes, bit, *image(network.transitions[bit], boxes.low, boxes.high))
        for box in np.flatnonzero(targets != np.arange(len(targets))):
            axis.annotate("", centers[targets[box]], centers[box], arrowprops=arrow)


if __name__ == "__main__":
    run(main, Args)
