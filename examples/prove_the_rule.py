"""Proves, by interval arithmetic, that a network of learn_the_rule.py plays Nim perfectly on every board.

Who wins a position depends on the binary digits of its heaps (Bouton 1901): on the parity of the number of ones
of each digit, and in misère play also on whether a digit above the lowest has any. A finite automaton keeps so
much while it reads a digit of the heaps, one after another. The proof has two steps:

1. Find boxes in the space of the recurrent state, each of which belongs to a state of the automaton. The initial
   state lies in a box, and interval arithmetic shows that each transition maps each box into a box of the next
   state of the automaton. So the recurrent state of a digit lies in a box of the right state, for any number of
   heaps.
2. Bound the network's value by interval arithmetic, for each box of the lowest digit with each set of boxes of
   the higher digits. If all bounds have the right sign, then so has the value of every position, and one-ply
   greedy play makes a winning move in every won position of every board.

The bounds include the rounding of single precision. The argument is explained in
docs/experiments/learn_the_rule.md.

    python examples/prove_the_rule.py results/learn_the_rule/network.pt

Install: pip install -e ".[examples,sb3]"
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from common import FIGURE_SUFFIXES, check_output, checking_args, fail, run, save_figure

import matplotlib.pyplot as plt
import numpy as np
import tyro
from scipy.spatial import ConvexHull
from torch import nn

from nim_env import NimRules, theory

from learn_the_rule import DigitNetwork, load_network, predict, sample_endgames, sample_positions

AUTOMATON = {"none": ("none", "odd"), "even": ("even", "odd"), "odd": ("odd", "even")}
"""The next states after a 0 and after a 1; "none" is the initial state, without ones so far."""
RADII = (1.0, 0.5, 0.3, 0.2, 0.1, 0.05)
"""The sizes of the first boxes that the search tries, one after another."""
MAX_BOXES = 300
MAX_GROUPS = 5  # for each state of the automaton, since the proof enumerates their sets
UNIT_ROUNDOFF = 2.0**-24  # of single precision
TANH_ERROR = 2.0**-20  # at least 16 times the error of tanh in single precision
GROWTH = 1e-4  # added to a box that has to grow, so that the search ends


@dataclass
class Args:
    """The options of this script."""

    networks: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Networks saved by learn_the_rule.py."""
    picture: Path = Path("results/prove_the_rule.png")
    """Where the picture of the recurrent states and the boxes of the first network is saved."""


class Bounds(NamedTuple):
    """Intervals: arrays of lower and upper ends."""

    low: np.ndarray
    high: np.ndarray

    def contains(self, other: Bounds) -> np.ndarray:
        """Whether the box, along the last axis, contains the other."""
        return ((self.low <= other.low) & (other.high <= self.high)).all(axis=-1)


@dataclass(frozen=True)
class Boxes:
    """Boxes that contain the recurrent states of all sequences of bits.

    Attributes:
        states: The state of the automaton of each box.
        bounds: Of shape ``(n_boxes, hidden_size)``.
        next_boxes: For each bit and box, the box that contains its image, shape ``(2, n_boxes)``.
    """

    states: list[str]
    bounds: Bounds
    next_boxes: np.ndarray


class Combination(NamedTuple):
    """A box of the lowest digit and a set of boxes of the higher digits, by their states.

    Attributes:
        lowest: The state of the lowest digit.
        higher: The states of the higher digits.
        is_won: Whether these positions are won.
        margin: The smallest value before the last tanh where the positions are won, minus the largest where they
            are lost. If it is above 2 TANH_ERROR, the sign of all values is right.
    """

    lowest: str
    higher: tuple[str, ...]
    is_won: bool
    margin: float


# --- Interval arithmetic --------------------------------------------------------------------------


def affine(layer: nn.Linear, inputs: Bounds) -> Bounds:
    """Bounds of a linear layer in exact arithmetic and in single precision.

    In single precision, a sum of n products and a bias differs from the exact sum by at most γ(n + 1) times the
    sum of the absolute values, in any order, where γ(k) = k u / (1 - k u) and u = 2⁻²⁴ (Higham 2002, "Accuracy and
    Stability of Numerical Algorithms", section 3.1). The bounds are wider by twice γ(n + 2), which also covers the
    rounding of the bounds themselves in double precision.
    """
    weight = layer.weight.detach().double().numpy()
    bias = layer.bias.detach().double().numpy()
    center, radius = (inputs.low + inputs.high) / 2, (inputs.high - inputs.low) / 2
    largest = np.maximum(np.abs(inputs.low), np.abs(inputs.high)) @ np.abs(weight).T + np.abs(bias)
    terms = (layer.in_features + 2) * UNIT_ROUNDOFF
    radius = radius @ np.abs(weight).T + 2 * terms / (1 - terms) * largest
    center = center @ weight.T + bias
    return Bounds(center - radius, center + radius)


def tanh(inputs: Bounds) -> Bounds:
    """Bounds of tanh, which is increasing, in exact arithmetic and in single precision."""
    return Bounds(np.tanh(inputs.low) - TANH_ERROR, np.tanh(inputs.high) + TANH_ERROR)


def transition(network: DigitNetwork, bit: int, states: Bounds) -> Bounds:
    """Bounds of the recurrent states after a heap with this bit."""
    return tanh(affine(network.transitions[bit], states))


def digit_features(network: DigitNetwork, states: Bounds, is_lowest: bool) -> Bounds:
    """Bounds of the features of a digit."""
    flag = np.full((*states.low.shape[:-1], 1), float(is_lowest))
    first, second = network.digit_layers[0], network.digit_layers[2]
    inputs = Bounds(np.append(states.low, flag, axis=-1), np.append(states.high, flag, axis=-1))
    return tanh(affine(second, tanh(affine(first, inputs))))


def value(network: DigitNetwork, features: Bounds) -> Bounds:
    """Bounds of the value before the last tanh, which keeps its sign: shape ``(...)``."""
    bounds = affine(network.value_layers[2], tanh(affine(network.value_layers[0], features)))
    return Bounds(bounds.low[..., 0], bounds.high[..., 0])


# --- Step 1: the recurrent states -----------------------------------------------------------------


def sample_states(
    network: DigitNetwork, n_sequences: int = 2000, length: int = 120
) -> tuple[np.ndarray, np.ndarray]:
    """The recurrent states along random sequences of bits, and the states of the automaton."""
    generator = np.random.default_rng(0)
    names = list(AUTOMATON)
    next_states = np.array([[names.index(state) for state in AUTOMATON[name]] for name in names])
    probability = generator.choice([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98], size=n_sequences)
    point = np.tile(network.initial_state.detach().double().numpy(), (n_sequences, 1))
    state = np.zeros(n_sequences, dtype=np.int64)
    points, states = [point], [state]
    for _ in range(length):
        bits = (generator.random(n_sequences) < probability).astype(np.int64)
        after = [transition(network, bit, Bounds(point, point)) for bit in (0, 1)]
        point = np.where(bits[:, None], after[1].low + after[1].high, after[0].low + after[0].high) / 2
        state = next_states[state, bits]
        points.append(point)
        states.append(state)
    return np.concatenate(points), np.array(names)[np.concatenate(states)]


def first_boxes(points: np.ndarray, states: np.ndarray, radius: float) -> tuple[list[str], Bounds]:
    """Boxes around groups of points of one state, each within ``radius`` of the group's first point."""
    names, lows, highs = [], [], []
    for name in np.unique(states):
        left = points[states == name]
        while len(left) and len(names) <= MAX_BOXES:
            is_near = (np.abs(left - left[0]) <= radius).all(axis=1)
            names.append(str(name))
            lows.append(left[is_near].min(axis=0))
            highs.append(left[is_near].max(axis=0))
            left = left[~is_near]
    return names, Bounds(np.array(lows), np.array(highs))


def close(network: DigitNetwork, states: list[str], bounds: Bounds) -> Boxes | None:
    """Lets boxes grow until the image of each box lies in a box of the next state; None if they do not end."""
    low, high = bounds.low.copy(), bounds.high.copy()
    next_states = np.array([AUTOMATON[state] for state in states])
    for _ in range(300):
        next_boxes, grows = [], False
        for bit in (0, 1):
            images = transition(network, bit, Bounds(low, high))
            outside = np.maximum(low - images.low[:, None], 0) + np.maximum(images.high[:, None] - high, 0)
            distance = np.where(next_states[:, bit, None] == np.array(states), outside.sum(axis=-1), np.inf)
            nearest = distance.argmin(axis=1)
            next_boxes.append(nearest)
            missed = distance.min(axis=1) > 0
            np.minimum.at(low, nearest[missed], images.low[missed] - GROWTH)
            np.maximum.at(high, nearest[missed], images.high[missed] + GROWTH)
            grows |= missed.any()
        if not grows:
            return Boxes(states, Bounds(low, high), np.array(next_boxes))
    return None


# --- Step 2: the values ---------------------------------------------------------------------------


def is_won(misere: bool, lowest: str, higher: set[str]) -> bool:
    """Whether positions with these states of their digits are won for the player to move (Bouton 1901)."""
    if misere and not higher & {"even", "odd"}:  # every heap has 0 or 1 objects
        return lowest != "odd"
    return "odd" in higher | {lowest}


def zero_boxes(network: DigitNetwork, boxes: Boxes) -> list[int]:
    """The boxes that may contain the recurrent state of a digit without ones, such as a leading zero."""
    point = network.initial_state.detach().double().numpy()
    contains = boxes.bounds.contains(Bounds(point, point))
    found = [box for box in np.flatnonzero(contains) if boxes.states[box] == "none"][:1]
    while (after := int(boxes.next_boxes[0, found[-1]])) not in found:
        found.append(after)
    return found


def merge(bounds: Bounds, states: list[str]) -> tuple[Bounds, list[str], np.ndarray]:
    """Merges pairs of boxes of the same state, the closest first, until each state has at most MAX_GROUPS.

    Returns:
        The merged boxes, their states, and for each box the number of the merged box that contains it.
    """
    (low, high), names, merged = bounds, np.array(states), np.arange(len(states))
    while (is_crowded := (names[:, None] == names).sum(axis=1) > MAX_GROUPS).any():
        size = (np.maximum(high[:, None], high) - np.minimum(low[:, None], low)).sum(axis=-1)
        is_pair = (names[:, None] == names) & is_crowded & ~np.eye(len(names), dtype=bool)
        first, second = np.unravel_index(np.where(is_pair, size, np.inf).argmin(), size.shape)
        low, high = low.copy(), high.copy()
        low[first], high[first] = np.minimum(low[first], low[second]), np.maximum(high[first], high[second])
        low, high, names = (np.delete(array, second, axis=0) for array in (low, high, names))
        merged[merged == second] = first
        merged[merged > second] -= 1
    return Bounds(low, high), names.tolist(), merged


def combinations(network: DigitNetwork, misere: bool, boxes: Boxes) -> list[Combination]:
    """The margin of each state of the lowest digit with each set of states of the higher digits.

    The boxes of features are merged, so that their sets can be enumerated. Each set contains the box of a leading
    zero, since the network adds one to the digits. The maximum of the features of several digits in one box lies
    within its bounds, so sets suffice for any number of digits.
    """
    names = list(AUTOMATON)
    lowest, lowest_states, _ = merge(digit_features(network, boxes.bounds, True), boxes.states)
    higher, higher_states, merged = merge(digit_features(network, boxes.bounds, False), boxes.states)
    zeros = np.unique(merged[zero_boxes(network, boxes)])
    low, high = higher.low[zeros], higher.high[zeros]
    sets = np.full(len(zeros), 1 << names.index("none"))  # of states, a bit for each
    for box, state in enumerate(higher_states):  # each set without and with this box
        low = np.concatenate([low, np.maximum(low, higher.low[box])])
        high = np.concatenate([high, np.maximum(high, higher.high[box])])
        sets = np.concatenate([sets, sets | 1 << names.index(state)])
    margins: dict[tuple[str, tuple[str, ...]], float] = {}
    for box, state in enumerate(lowest_states):
        bounds = value(network, Bounds(np.maximum(low, lowest.low[box]), np.maximum(high, lowest.high[box])))
        for number in np.unique(sets):
            states = tuple(name for bit, name in enumerate(names) if number >> bit & 1)
            if state == "none" and states == ("none",):
                continue  # the empty position, where the game is over
            chosen = sets == number
            smallest = (
                bounds.low[chosen].min() if is_won(misere, state, set(states)) else -bounds.high[chosen].max()
            )
            margins[state, states] = min(float(smallest), margins.get((state, states), np.inf))
    return [
        Combination(state, states, is_won(misere, state, set(states)), margin)
        for (state, states), margin in margins.items()
    ]


# --- The proof ------------------------------------------------------------------------------------


class Proof(NamedTuple):
    """What the search has found: the boxes of the largest margin.

    Attributes:
        boxes: The boxes; None if no boxes of the right states contain their images.
        combinations: Their combinations.
    """

    boxes: Boxes | None
    combinations: list[Combination]

    @property
    def margin(self) -> float:
        """The smallest margin; -inf without boxes."""
        return min((combination.margin for combination in self.combinations), default=-np.inf)

    @property
    def is_proven(self) -> bool:
        """Whether the network plays perfectly on every board; the last tanh keeps the sign of such values."""
        return self.margin > 2 * TANH_ERROR


def prove(network: DigitNetwork, misere: bool) -> Proof:
    """Searches for boxes that prove that the network plays perfectly; ends with the first that do."""
    points, states = sample_states(network)
    best = Proof(None, [])
    for radius in RADII:
        names, bounds = first_boxes(points, states, radius)
        if len(names) > MAX_BOXES:
            break
        boxes = close(network, names, bounds)
        if boxes is not None:
            proof = Proof(boxes, combinations(network, misere, boxes))
            best = max(best, proof, key=lambda proof: proof.margin)
        if best.is_proven:
            break
    return best


def counterexample(network: DigitNetwork, misere: bool) -> str:
    """A sampled position for which the sign of the value is wrong, in words."""
    generator = np.random.default_rng(0)
    for n_heaps in range(1, 51):
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
    return "no counterexample in a sample of up to 50 heaps"


def print_proof(proof: Proof, network: DigitNetwork, misere: bool) -> None:
    """Prints the automaton, the boxes, the margin and the verdict."""
    print(f"{'misère' if misere else 'normal'} play")
    for state, (after_0, after_1) in AUTOMATON.items():
        print(f"  ones so far {state}: 0 → {after_0}, 1 → {after_1}")
    if proof.boxes is None:
        print(f"  no set of up to {MAX_BOXES} boxes contains its images")
    else:
        widths = (proof.boxes.bounds.high - proof.boxes.bounds.low).max(axis=1)
        for state in AUTOMATON:
            own = widths[np.array(proof.boxes.states) == state]
            print(f"  {state}: {len(own)} boxes, the widest {own.max():.3f}")
        print(f"  smallest margin of {len(proof.combinations)} combinations: {proof.margin:.3f}")
    if proof.is_proven:
        print("proven for every board")
        return
    for combination in sorted(proof.combinations, key=lambda combination: combination.margin):
        if combination.margin <= 2 * TANH_ERROR:
            lowest, higher, won, margin = combination
            digits = f"lowest digit {lowest}, higher digits {', '.join(higher)}"
            print(f"  not proven: {digits}: {'won' if won else 'lost'}, margin {margin:.3f}")
    print(f"not proven; {counterexample(network, misere)}")


# --- Picture and command line ---------------------------------------------------------------------


def draw(network: DigitNetwork, misere: bool, proof: Proof) -> plt.Figure:
    """The recurrent states, the boxes and the transitions, projected on the first two principal components."""
    points, states = sample_states(network, n_sequences=300)
    mean = points.mean(axis=0)
    plane = np.linalg.svd(points - mean, full_matrices=False)[2][:2].T
    figure, axes = plt.subplots(1, 2, figsize=(12, 5.5), layout="constrained", sharex=True, sharey=True)
    colors = dict(zip(AUTOMATON, ("C0", "C1", "C2"), strict=False))
    if proof.boxes is not None:
        bounds = proof.boxes.bounds
        corners = np.stack(np.meshgrid(*[[0, 1]] * len(mean)), axis=-1).reshape(-1, len(mean))
        centers = ((bounds.low + bounds.high) / 2 - mean) @ plane
    for bit, axis in enumerate(axes):
        for state, color in colors.items():
            axis.plot(*((points[states == state] - mean) @ plane).T, ".", color=color, markersize=3, label=state)
        for box, state in enumerate(proof.boxes.states if proof.boxes else ()):
            # wider by 0.01, so that a box of one point has an outline
            projected = (np.where(corners, bounds.high[box] + 0.01, bounds.low[box] - 0.01) - mean) @ plane
            outline = projected[ConvexHull(projected).vertices]
            axis.fill(*outline.T, facecolor=colors[state], edgecolor=colors[state], alpha=0.25)
            target = centers[proof.boxes.next_boxes[bit, box]]
            arrow = {"arrowstyle": "->", "connectionstyle": "arc3,rad=0.25"}
            axis.annotate("", target, centers[box], arrowprops=arrow)
        axis.set(title=f"Transition of bit {bit}", xlabel="first principal component")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("second principal component")
    axes[0].legend(title="ones so far", markerscale=4)
    verdict = "proven for every board" if proof.is_proven else "not proven"
    figure.suptitle(f"Recurrent states and boxes, {'misère' if misere else 'normal'} play: {verdict}")
    return figure


def main(args: Args) -> list[Proof]:
    """Proves each network, prints what was found, and draws the first."""
    if not args.networks:
        fail("give one file or more, saved by learn_the_rule.py")
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
        print(f"{path}: ", end="")
        proofs.append(prove(network, rules["misere"]))
        print_proof(proofs[-1], network, rules["misere"])
    network, rules = loaded[0]
    save_figure(draw(network, rules["misere"], proofs[0]), args.picture)
    return proofs


if __name__ == "__main__":
    run(main, Args)
