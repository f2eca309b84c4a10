"""Checks certificates that a digit network (network.py) plays Nim perfectly on every board.

This is the part of the proof that must be trusted. It shares no code with the search (prove.py), and it computes
in Arb's ball arithmetic (python-flint), in which every result encloses the exact one. docs/experiments/proof.md
explains why the conditions that it checks are sufficient.

The check assumes that PyTorch computes linear layers in single precision, that its tanh is accurate to within
2**-21, and that heap sizes have 64 bits. The order of summation, fused operations and denormal numbers do not
matter.

A certificate is an npz file with these arrays:

- "misere", whether the network plays misère or normal play,
- the weights of the network, under their names in its state_dict,
- "boxes", the lower and upper ends of boxes of recurrent states, of shape (n_boxes, 2, hidden_size),
- "states", the state of the automaton that each box belongs to,
- "groups", a number for each box. The features of the boxes with the same state and number are checked together.

If the weights include those of a policy (distill.py), the policy's play without lookahead is checked too. The
script prints a line for each certificate that it accepts, and stops at the first that it refuses. All
certificates of this folder take about a minute.

    cd examples
    python -m learn_the_rule.check learn_the_rule/certificates/*.npz

Install: pip install -e ".[examples,proof]"
"""

import itertools
import sys
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from flint import arb

NEXT = {"none": ("none", "odd"), "even": ("even", "odd"), "odd": ("odd", "even")}
"""The automaton of Bouton's rule: for each state, the next states after a 0 and after a 1."""
LARGEST = 2.0**40  # with larger numbers, a sum of products could overflow in single precision
UNIT_ROUNDOFF = 2.0**-24
TANH_ERROR = 2.0**-20  # twice the assumed error; the rest covers underflow before the tanh
MARGIN = 2.0**-19  # the last tanh and underflow cannot change the sign of larger numbers, or make them 0


@dataclass
class Args:
    certificates: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Certificates saved by prove.py."""


def main(args: Args) -> None:
    """Prints a line for each certificate. Raises ValueError at the first one that is refused."""
    if not args.certificates:
        raise ValueError("no certificates given; name one or more files written by prove.py")
    for path in args.certificates:
        certificate = read(path)
        try:
            margin = check(certificate)
        except ValueError as error:
            raise ValueError(f"{path} is refused: {error}") from error
        play = "misère play" if certificate["misere"] else "normal play"
        play += ", with and without lookahead," if "score_layers.0.bias" in certificate else ""
        rounded = np.floor(1000 * margin) / 1000  # rounded down, since the margin is a lower bound
        print(f"{path}: accepted, {play} on every board, margin {rounded:.3f}")


def read(path: Path) -> dict[str, np.ndarray]:
    """Reads a certificate and returns its arrays by name. Raises ValueError if the file is damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except Exception as error:  # NumPy, zipfile and zlib raise many types of errors
        raise ValueError(f"{path} is damaged: {error}") from error


def check(certificate: dict[str, np.ndarray]) -> float:
    """Checks all conditions of the proof for the arrays of a certificate, as :func:`read` returns them.

    Returns the margin: the smallest distance from the wrong sign, over all scores and all values before the last
    tanh. Raises ValueError if a condition fails. Then the network may be wrong, or the boxes may be too large.
    """
    check_arrays(certificate)
    misere, states, boxes = (certificate[name].tolist() for name in ("misere", "states", "boxes"))
    balls = [[arb(low).union(arb(high)) for low, high in zip(*box, strict=True)] for box in boxes]

    # 1. The recurrent state of a digit lies in a box of the automaton's state, for any number of heaps.
    boxes_of = {state: [box for box, label in zip(boxes, states, strict=True) if label == state] for state in NEXT}
    if not lies_in_one(boxes_of["none"], [arb(x) for x in certificate["initial_state"].tolist()]):
        raise ValueError("the initial state lies in no box of the state none")
    for number, (state, ball) in enumerate(zip(states, balls, strict=True)):
        for bit, after in enumerate(NEXT[state]):
            if not lies_in_one(boxes_of[after], tanh(linear(certificate, f"transitions.{bit}", ball))):
                raise ValueError(f"the image of box {number} ({state}) after a {bit} lies in no box of {after}")

    # 2. The features of all digits of a state and group lie in a hull: one for higher digits, one for the lowest.
    hulls: tuple[dict[tuple[str, int], list[arb]], ...] = ({}, {})
    for label, ball in zip(zip(states, certificate["groups"].tolist(), strict=True), balls, strict=True):
        for is_lowest, hull in enumerate(hulls):
            first = tanh(linear(certificate, "digit_layers.0", [*ball, arb(is_lowest)]))
            features = tanh(linear(certificate, "digit_layers.2", first))
            hull[label] = [x.union(y) for x, y in zip(features, hull.get(label, features), strict=True)]
    if len(hulls[0]) > 10:
        raise ValueError(f"damaged: {len(hulls[0])} groups of boxes, but at most 10 can be checked")

    # 3. For each set of hulls of the higher digits, so for any number of digits, the value has the right sign.
    sets = [chosen for size in range(len(hulls[0])) for chosen in itertools.combinations(hulls[0], size + 1)]
    margins = []
    for chosen, (lowest, group) in itertools.product(sets, hulls[1]):
        higher = {state for state, _ in chosen}
        if "none" not in higher or (lowest, higher) == ("none", {"none"}):
            continue  # the highest digit is a leading zero, and if all digits are zeros the game is over
        digits = [hulls[1][lowest, group], *(hulls[0][label] for label in chosen)]
        largest = [reduce(arb.max, column) for column in zip(*digits, strict=True)]
        (value,) = linear(certificate, "value_layers.2", tanh(linear(certificate, "value_layers.0", largest)))
        ones_only = misere and higher == {"none"}  # all heaps are 0 or 1
        is_won = lowest != "odd" if ones_only else lowest == "odd" or "odd" in higher  # Bouton 1901
        margin = value if is_won else -value
        if not margin > MARGIN:
            words = f"the lowest digit {lowest}, the higher ones {', '.join(sorted(higher))}"
            outcome = "winning" if is_won else "losing"
            raise ValueError(f"{words}: a {outcome} position, but the value is {value.str(4)}")
        margins.append(float(margin.lower()))
    if "score_layers.0.bias" in certificate:
        margins.append(check_policy(certificate, hulls))
    return min(margins)


def check_policy(certificate: dict[str, np.ndarray], hulls: tuple[dict[tuple[str, int], list[arb]], ...]) -> float:
    """Checks that the scores of winning moves are positive, and the scores of all other moves negative.

    In normal play, a move wins if and only if it changes all odd digits and no others (Bouton 1901). ``hulls`` are
    those of step 2 above. Returns the margin of the scores, and raises ValueError if a condition fails.
    """
    if certificate["misere"]:
        raise ValueError("the policy plays misère, but the proof of a policy is for normal play only")

    # 4. The features of a digit, with its bits in the moved heap before and after the move, lie in a box.
    boxes: tuple[dict[tuple[str, int, int], list[arb]], ...] = ({}, {})
    for box, hull in zip(boxes, hulls, strict=True):
        for state, before, after in itertools.product(NEXT, (0, 1), (0, 1)):
            if (state, before) == ("none", 1):
                continue
            balls = [ball for (label, _), ball in hull.items() if label == state]
            features = [reduce(arb.union, column) for column in zip(*balls, strict=True)]
            first = tanh(linear(certificate, "move_layers.0", [*features, arb(before), arb(after)]))
            box[state, before, after] = linear(certificate, "move_layers.2", first)

    # 5. For each set of changes of the higher digits, so for any number of digits, the score has the right sign.
    leading_zero = ("none", 0, 0)  # the highest digit
    others = [change for change in boxes[0] if change != leading_zero]
    margins = []
    for lowest, *present in itertools.product(boxes[1], *[(False, True)] * len(others)):
        higher = [leading_zero, *itertools.compress(others, present)]
        changes = [lowest, *higher]
        if all((before, after) != (1, 0) for _, before, after in changes):
            continue  # not a move: the highest digit that a move changes goes from 1 to 0
        digits = [boxes[1][lowest], *(boxes[0][change] for change in higher)]
        largest = [reduce(arb.max, column) for column in zip(*digits, strict=True)]
        (score,) = linear(certificate, "score_layers.2", tanh(linear(certificate, "score_layers.0", largest)))
        is_winning = all((state == "odd") == (before != after) for state, before, after in changes)
        margin = score if is_winning else -score
        if not margin > MARGIN:
            words = f"a {'winning' if is_winning else 'losing'} move with the digits {changes}, the lowest first"
            raise ValueError(f"{words}: the score is {score.str(4)}")
        margins.append(float(margin.lower()))
    return min(margins)


def check_arrays(certificate: dict[str, np.ndarray]) -> None:
    """Raises ValueError if an array is missing or has the wrong dtype or shape, or if a number could overflow."""
    # n boxes, h recurrent units, f features of a digit, m features of a move (0 without a policy)
    names = ("boxes", "initial_state", "value_layers.0.bias", "score_layers.0.bias")
    n, h, f, m = (len(np.atleast_1d(certificate.get(name, ()))) for name in names)
    layers = {"transitions.0": (h, h), "transitions.1": (h, h), "digit_layers.0": (f, h + 1)}
    layers |= {"digit_layers.2": (f, f), "value_layers.0": (f, f), "value_layers.2": (1, f)}
    if m:
        layers |= {"move_layers.0": (m, f + 2), "move_layers.2": (m, m), "score_layers.0": (m, m)}
        layers |= {"score_layers.2": (1, m)}
    shapes = {"initial_state": (h,), "boxes": (n, 2, h)}
    for name, shape in layers.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    forms = {name: ("float32", shape) for name, shape in shapes.items()}
    forms |= {"misere": ("bool", ()), "states": ("<U4", (n,)), "groups": ("int64", (n,))}
    for name in forms | certificate:
        array = np.asarray(certificate.get(name))  # NumPy reads a member of the file that is not an array as bytes
        if (str(array.dtype), array.shape) != forms.get(name):
            form = f"dtype {array.dtype} and shape {array.shape}"
            raise ValueError(f"damaged: the array {name} is missing, unknown or of a wrong form ({form})")
        if array.dtype.kind == "f" and not (np.abs(array) <= LARGEST).all():
            raise ValueError(f"overflow: {name} holds a number larger than 2**40 or one that is not finite")
    if unknown := set(certificate["states"].tolist()) - set(NEXT):
        raise ValueError(f"damaged: unknown states {unknown}")


def lies_in_one(boxes: list[list[list[float]]], point: list[arb]) -> bool:
    """Returns whether one of the boxes is certain to contain a point, given a ball for each of its coordinates."""
    return any(all(low <= x <= high for low, x, high in zip(box[0], point, box[1], strict=True)) for box in boxes)


def linear(certificate: dict[str, np.ndarray], name: str, inputs: list[arb]) -> list[arb]:
    """Returns balls that enclose the outputs of a linear layer, both the exact ones and those in single precision.

    A computed sum of n terms, which may be products, differs from the exact sum by at most n u / (1 - n u) times
    the sum of the absolute values, in any order of summation (Higham 2002, "Accuracy and Stability of Numerical
    Algorithms"). Here u is the unit roundoff, and the factor is bounded by 2 n u.
    """
    weights, biases = (certificate[f"{name}.{part}"].tolist() for part in ("weight", "bias"))
    outputs = []
    for row, bias in zip(weights, biases, strict=True):
        terms = [weight * x for weight, x in zip(row, inputs, strict=True)] + [arb(bias)]
        error = 2 * len(terms) * UNIT_ROUNDOFF * sum(map(abs, terms), arb(0))
        outputs.append(sum(terms, arb(0)) + arb(0, error))
    return outputs


def tanh(inputs: list[arb]) -> list[arb]:
    """Returns balls that enclose tanh of the inputs, both the exact one and the one in single precision."""
    # tanh is increasing
    return [x.lower().tanh().union(x.upper().tanh()) + arb(0, TANH_ERROR) for x in inputs]


if __name__ == "__main__":
    try:
        main(tyro.cli(Args, description=__doc__))
    except (ValueError, OSError) as error:
        sys.exit(f"check.py: {error}")
