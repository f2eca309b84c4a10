"""Searches for a proof that a network plays Nim perfectly on every board, and lets check.py judge it.

Who wins depends on the parity of the number of ones in each binary digit (Bouton 1901), which an automaton of
three states can track. The proof consists of boxes that contain all recurrent states of the network. Each box
belongs to a state of the automaton. The network's initial state must lie in a box, and each of the two transitions
must map each box into a box of the automaton's next state. docs/experiments/proof.md explains why this is enough.

    cd examples
    python -m learn_the_rule.prove results/learn_the_rule/network.pt

The script prints whether each network is proven. If it is, its certificate is saved next to it, as network.npz. A
search takes about a second, and the check of a policy six more. draw_proof.py draws the boxes of a network.

Install: pip install -e ".[examples,proof,sb3]"
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from command_line import run

import numpy as np
import tyro
from scipy.cluster.hierarchy import fcluster, linkage
from torch import nn

from learn_the_rule.check import check
from learn_the_rule.network import DigitNetwork, load_provable

AUTOMATON = {"none": ("none", "odd"), "even": ("even", "odd"), "odd": ("odd", "even")}
"""The next states after a 0 and after a 1. "none" is the initial state, in which no ones have been seen."""
RADIUS = 0.1  # the first boxes reach this far from a point
MAX_BOXES = 100
SLACK = 1e-4  # larger than the rounding errors that check.py allows for
MAX_GROUPS = 4  # for "even" and for "odd"; few, because the check tries all sets of groups


@dataclass
class Args:
    networks: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Networks saved by train.py or distill.py."""


class Boxes(NamedTuple):
    """Boxes of recurrent states. Each belongs to a state of the automaton."""

    states: np.ndarray  # (n_boxes,)
    low: np.ndarray  # the lower ends of each box, (n_boxes, hidden_size)
    high: np.ndarray  # the upper ends


class Proof(NamedTuple):
    """The result of the search for a proof."""

    certificate: dict[str, np.ndarray] | None
    """The certificate, as check.py describes it. None if no boxes were found."""
    margin: float | None
    """The smallest distance of a value from the wrong sign. None if the network is not proven."""
    refusal: str
    """Why the network is not proven. Empty if it is."""


def main(args: Args) -> list[Proof]:
    """Tries to prove each network, saves the certificates, and prints and returns the results."""
    proofs = []
    for path in args.networks:
        network, misere = load_provable(path)
        proof = prove(network, misere)
        if proof.margin is None:
            verdict = f"not proven: {proof.refusal}"
        else:
            np.savez_compressed(path.with_suffix(".npz"), **proof.certificate)
            verdict = f"proven for every board, margin {proof.margin:.3f}"
        print(f"{path}: {'misère' if misere else 'normal'} play: {verdict}")
        proofs.append(proof)
    return proofs


def prove(network: DigitNetwork, misere: bool) -> Proof:
    """Searches for a proof of a network, which plays misère or normal play, and lets check.py judge it."""
    boxes = first_boxes(*sample_states(network))
    if len(boxes.states) > MAX_BOXES or not grow(boxes, network):
        return Proof(None, None, f"no set of {MAX_BOXES} boxes or fewer contains its images")
    certificate = {name: weight.numpy() for name, weight in network.state_dict().items()}
    certificate["misere"] = np.array(misere)
    certificate["boxes"] = np.stack([boxes.low, boxes.high], axis=1).astype(np.float32)
    certificate |= {"states": boxes.states, "groups": group_by_features(boxes, network)}
    try:
        return Proof(certificate, check(certificate), "")
    except ValueError as error:
        return Proof(certificate, None, str(error))


def image(layer: nn.Linear, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds the outputs of a linear layer followed by tanh, for inputs in boxes. It ignores rounding errors.

    ``low`` and ``high`` are the ends of the boxes, of shape ``(n_boxes, n_inputs)``. Returns the ends of boxes
    that contain the outputs, of shape ``(n_boxes, n_outputs)``.
    """
    weight, bias = (weights.detach().double().numpy() for weights in (layer.weight, layer.bias))
    center, radius = (low + high) / 2 @ weight.T + bias, (high - low) / 2 @ np.abs(weight).T
    return np.tanh(center - radius), np.tanh(center + radius)


def sample_states(network: DigitNetwork, n_sequences: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Scans random sequences of 120 bits.

    Returns the recurrent state before and after each bit, of shape ``(121 * n_sequences, hidden_size)``, and the
    state of the automaton there.
    """
    generator = np.random.default_rng(0)
    probability = generator.choice([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98], size=n_sequences)
    bits = generator.random((120, n_sequences)) < probability
    points = [np.tile(network.initial_state.detach().double().numpy(), (n_sequences, 1))]
    for row in bits:
        after = [image(layer, points[-1], points[-1])[0] for layer in network.transitions]
        points.append(np.where(row[:, None], after[1], after[0]))
    counts = np.pad(bits.cumsum(axis=0), ((1, 0), (0, 0))).ravel()
    return np.concatenate(points), np.where(counts == 0, "none", np.where(counts % 2, "odd", "even"))


def first_boxes(points: np.ndarray, states: np.ndarray) -> Boxes:
    """Returns boxes around all points. ``states`` are the states of the automaton at the points.

    The points of a box have the same state, and they lie within RADIUS of the first of them.
    """
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


def grow(boxes: Boxes, network: DigitNetwork) -> bool:
    """Makes boxes larger, in place, until both transitions map each box into a box of the next state.

    Returns whether this succeeded within 100 rounds.
    """
    for _ in range(100):
        grows = False
        for bit in (0, 1):
            image_low, image_high = image(network.transitions[bit], boxes.low, boxes.high)
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
    """Finds, for the image of each box under the transition of a bit, the nearest box of the next state.

    ``image_low`` and ``image_high`` are the ends of the images. Returns the number of the box, int64 of shape
    ``(n_boxes,)``, and whether the image sticks out of it, bool of the same shape.
    """
    outside = np.maximum(boxes.low - image_low[:, None], 0) + np.maximum(image_high[:, None] - boxes.high, 0)
    next_states = np.array([AUTOMATON[state][bit] for state in boxes.states])
    distance = np.where(next_states[:, None] == boxes.states, outside.sum(axis=-1), np.inf)
    return distance.argmin(axis=1), distance.min(axis=1) > 0


def group_by_features(boxes: Boxes, network: DigitNetwork) -> np.ndarray:
    """Groups boxes of the same state if the digits whose recurrent states lie in them have similar features.

    Returns the number of the group of each box within its state, int64 of shape ``(n_boxes,)``.
    """
    features = []
    for flag in (0, 1):
        low, high = (np.insert(end, end.shape[1], flag, axis=1) for end in (boxes.low, boxes.high))
        low, high = image(network.digit_layers[0], low, high)
        features += image(network.digit_layers[2], low, high)
    vectors = np.concatenate(features, axis=1)
    groups = np.zeros(len(boxes.states), dtype=np.int64)
    for state in ("even", "odd"):
        own = np.flatnonzero(boxes.states == state)
        if len(own) > 1:
            groups[own] = fcluster(linkage(vectors[own], "complete", "cityblock"), MAX_GROUPS, "maxclust")
    return groups


if __name__ == "__main__":
    run(main, Args)
