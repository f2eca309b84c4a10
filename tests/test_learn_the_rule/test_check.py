"""check.py: networks written by hand, each right or wrong in one condition; certificates that prove nothing."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[proof,sb3]"')

import itertools
from pathlib import Path

import numpy as np
import torch
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from nim_env import NimRules, theory

from learn_the_rule import check
from learn_the_rule.check import Args, main, read
from learn_the_rule.network import DigitNetwork, PolicyValueNetwork, predict

CERTIFICATES = Path(check.__file__).parent / "certificates"
GAIN = 8.0  # tanh of it is almost 1
STATES = ("none", "even", "odd")
FEATURES = [*itertools.product((True, False), STATES)]
"""Of a digit: whether it is the lowest one, and its number of ones. 1 for yes, -1 for no."""
LOWEST_NONE, _, LOWEST_ODD, _, EVEN, ODD = range(6)


def by_hand(misere=False, flag=True, lowest=True, higher=True, toggles=True, mistake=(), scale=1.0):
    """A network that is right unless an argument breaks it, with a box for each state of the automaton.

    Its recurrent state is the parity of the ones, 1 for odd and -1 for even, and whether there was a one. Its
    value is ``scale`` for won positions and minus that for lost ones, less twice that where all features of the
    mistake are 1.
    """
    g = GAIN
    digit = np.array([[0, -g, 0], [-g, g, 0], [g, g, 0]] * 2)  # of the parity, of a one before, and of the flag
    digit_bias = np.array([0, -g, -g] * 2)
    if flag:
        digit[:, 2] = 2 * g * np.repeat([1, -1], 3)
        digit_bias[:3] -= 2 * g
    digit_bias[LOWEST_ODD] -= 0 if lowest else 4 * g
    digit_bias[ODD] -= 0 if higher else 4 * g
    hidden, bias, last = np.zeros((6, 6)), np.full(6, -g), np.zeros((1, 6))
    last[0, :3] = scale, scale, -scale  # won: one of the first two hidden units is 1; a mistake: the third is
    if misere:  # a higher odd digit, or an even one and the lowest is odd; or none of them
        hidden[0, [LOWEST_ODD, EVEN, ODD]], bias[0] = (g, g, 2 * g), g
        hidden[1, [LOWEST_ODD, EVEN, ODD]], bias[1] = -g, -2 * g
    else:
        hidden[0, [LOWEST_ODD, ODD]], bias[0] = g, g
    if mistake:
        hidden[2, list(mistake)] = g
        bias[2] = g - g * len(mistake)
    weights = {
        "initial_state": [-1, -1],
        "transitions.0.weight": [[g, 0], [0, g]],
        "transitions.0.bias": [0, 0],
        "transitions.1.weight": [[-g if toggles else g, 0], [0, 0]],
        "transitions.1.bias": [0, g],
        "digit_layers.0.weight": digit,
        "digit_layers.0.bias": digit_bias,
        "digit_layers.2.weight": np.eye(6) * g,
        "digit_layers.2.bias": np.zeros(6),
        "value_layers.0.weight": hidden,
        "value_layers.0.bias": bias,
        "value_layers.2.weight": last,
        "value_layers.2.bias": [0],
    }
    low, high = -1.1, -0.9
    boxes = [[[low, low], [high, high]], [[low, -high], [high, -low]], [[-high, -high], [-low, -low]]]
    return {name: np.array(weight, dtype=np.float32) for name, weight in weights.items()} | {
        "misere": np.array(misere),
        "boxes": np.array(boxes, dtype=np.float32),
        "states": np.array(STATES),
        "groups": np.zeros(3, dtype=np.int64),
    }


CHANGES = [
    (*feature, *bits)
    for feature, bits in itertools.product(FEATURES, itertools.product((0, 1), repeat=2))
    if (feature[1], bits[0]) != ("none", 1)
]
"""Of a digit by a move: its feature, and its bit in the heap before and after the move."""


def with_policy(certificate, changes=(), sign=1, scale=1.0):
    """A policy for a network by hand: the score is ``scale`` for winning moves and minus that for others.

    A digit is wrong for a move if its parity and its bits before and after the move have an odd sum. If digits
    make all of the changes, the score is positive anyhow; or, with the sign -1, it is negative if they do not.
    """
    g, m = GAIN, 3 + len(changes)  # whether the sum is at least 1, 2, 3, and whether the digit makes each change
    count, largest, scores = np.zeros((m, 8)), np.eye(m), g * np.eye(m)
    bias, scores_bias, last = np.zeros(m), np.zeros(m), np.zeros((1, m))
    count[:3, [LOWEST_ODD, ODD]], count[:3, 6:], bias[:3] = g / 2, g, (g / 2, -g / 2, -3 * g / 2)
    largest[0, :3], last[0, 0] = (1, -1, 1), -scale
    for row, (*feature, before, after) in enumerate(changes, start=3):
        count[row, FEATURES.index(tuple(feature))] = g
        count[row, 6:] = g * (4 * before - 2), g * (4 * after - 2)
        bias[row] = -2 * g * (before + after)
    if changes:
        scores[3, 3:], scores_bias[3] = g, -g * (len(changes) - 1)
        last[0, 3] = scale
    layers = {"move_layers.0": (count, bias), "move_layers.2": (largest, np.zeros(m))}
    layers |= {"score_layers.0": (scores, scores_bias), "score_layers.2": (last, [sign * scale if changes else 0])}
    weights = {f"{name}.weight": weight for name, (weight, _) in layers.items()}
    weights |= {f"{name}.bias": bias for name, (_, bias) in layers.items()}
    return certificate | {name: np.array(weight, dtype=np.float32) for name, weight in weights.items()}


WEIGHTS = [name for name in with_policy(by_hand()) if name not in ("misere", "boxes", "states", "groups")]
NETWORKS = {  # and why they are refused
    "normal": (by_hand(), None),
    "misère": (by_hand(misere=True), None),
    "normal, the flag not needed": (by_hand(flag=False), None),
    "margin": (by_hand(scale=2.0**-18), None),
    "largest weights": (by_hand(scale=2.0**40), None),
    "misère, played as normal": (by_hand() | {"misere": np.array(True)}, "none"),
    "normal, played as misère": (by_hand(misere=True) | {"misere": np.array(False)}, "none"),
    "misère without the flag": (by_hand(misere=True, flag=False), "none"),
    "misère, higher digits ignored": (by_hand(misere=True, higher=False), "higher ones none, odd"),
    "always won": (
        by_hand() | {"value_layers.2.bias": np.array([2], dtype=np.float32)},
        "losing position, but the value is",
    ),
    "lowest digit ignored": (by_hand(lowest=False), "lowest digit odd"),
    "higher digits ignored": (by_hand(higher=False), "higher ones none, odd"),
    "a one does not toggle": (by_hand(toggles=False), "after a 1"),
    "wrong with even and odd higher digits": (by_hand(mistake=[EVEN, ODD]), "none, odd: a winning"),
    "wrong with odd higher digits alone": (by_hand(mistake=[ODD, LOWEST_NONE]), "digit none, .*: a winning"),
    "wrong with an even higher digit": (by_hand(misere=True, mistake=[EVEN]), "even, none: a winning"),
}


def load(network, certificate):
    """The network in PyTorch."""
    network.load_state_dict({key: torch.from_numpy(certificate[key]) for key in network.state_dict()})
    return network.eval()


@pytest.mark.parametrize("name", NETWORKS)
def test_right_networks_are_accepted_and_wrong_ones_refused(name):
    """Right by Bouton's theorem, on all positions of a small board in PyTorch."""
    certificate, words = NETWORKS[name]
    rules = NimRules((7, 3, 3), misere=bool(certificate["misere"]))
    board = rules.all_positions()[1:]
    values = predict(load(DigitNetwork(hidden_size=2, n_features=6), certificate), board)
    assert ((values > 0) == theory.is_winning(rules, board)).all() == (words is None)
    if words is None:
        assert check.check(certificate) > 2.0**-19
    else:
        with pytest.raises(ValueError, match=words):
            check.check(certificate)


@pytest.mark.parametrize("bias", [-0.5, 0.5])
def test_the_margin_is_that_of_the_worst_move(bias):
    certificate = with_policy(by_hand())
    certificate["score_layers.2.bias"][0] = bias
    assert 0.4 < check.check(certificate) <= 0.5


HIGHER = [change for change in CHANGES if not change[0]]
LEADING_ZERO = (False, "none", 0, 0)  # each move has it
WRONG_POLICIES = [
    *(([change], -1) for change in CHANGES if change != LEADING_ZERO),
    *(([change], 1) for change in CHANGES),
    *(([change, HIGHER[(7 * i + 3) % len(HIGHER)]], 1) for i, change in enumerate(CHANGES)),
    (HIGHER, 1),
    ([*HIGHER, (True, "even", 1, 1)], 1),
]


@pytest.mark.parametrize(("changes", "sign"), [([], 1), *WRONG_POLICIES])
def test_a_policy_without_a_wrong_change_is_accepted(changes, sign):
    """Wrong on a small board in PyTorch too, where one change is wrong."""
    certificate = with_policy(by_hand(), changes, sign)
    if len(changes) < 2:
        rules = NimRules((7, 3, 3), misere=False)
        board = rules.all_positions()[1:]
        network = load(PolicyValueNetwork(3 + len(changes), hidden_size=2, n_features=6), certificate)
        with torch.no_grad():
            is_high = network.scores(rules, torch.from_numpy(board)).numpy() > 0
        is_right = is_high == theory.winning_action_mask(rules, board)
        assert is_right[rules.action_mask(board) == 1].all() == (not changes)
    if changes:
        with pytest.raises(ValueError, match="the score is"):
            check.check(certificate)
    else:
        assert check.check(certificate) > 0.9


@pytest.mark.parametrize("is_lowest", [False, True])
@pytest.mark.parametrize(("state", "other"), [("none", "odd"), ("even", "odd"), ("odd", "even")])
def test_all_hulls_of_a_state_count_for_the_policy(is_lowest, state, other):
    """A group more, before or after the other one, with the features of another state."""
    certificate = with_policy(by_hand())
    hulls = [{}, {}]
    for flag, (name, point) in itertools.product(
        (0, 1), {"none": (-1, -1), "even": (-1, 1), "odd": (1, 1)}.items()
    ):
        first = check.tanh(check.linear(certificate, "digit_layers.0", [arb(x) for x in (*point, flag)]))
        hulls[flag][name, 0] = check.tanh(check.linear(certificate, "digit_layers.2", first))
    right, more = hulls[is_lowest], {(state, 1): hulls[is_lowest][other, 0]}
    for hulls[is_lowest] in (more | right, right | more):
        with pytest.raises(ValueError, match="score"):
            check.check_policy(certificate, tuple(hulls))


@pytest.mark.parametrize("number", [np.nextafter(np.float32(2.0**40), np.float32(np.inf)), -(2.0**41), np.nan])
@pytest.mark.parametrize("name", ["initial_state", "boxes", "transitions.1.weight", "score_layers.2.bias"])
def test_numbers_that_could_overflow_are_refused(name, number):
    certificate = with_policy(by_hand())
    certificate[name].flat[-1] = number
    with pytest.raises(ValueError, match=f"overflow: {name}"):
        check.check(certificate)


@pytest.mark.parametrize("kind", ["value", "score"])
@pytest.mark.parametrize(("scale", "is_accepted"), [(2.0**-18.5, True), (2.0**-19.5, False), (1e-45, False)])
def test_numbers_that_could_round_to_0_are_refused(kind, scale, is_accepted):
    certificate = by_hand(scale=scale) if kind == "value" else with_policy(by_hand(), scale=scale)
    if is_accepted:
        assert 2.0**-19 < check.check(certificate) < scale * 1.01
    else:
        with pytest.raises(ValueError, match=f"the {kind} is"):
            check.check(certificate)


@given(seed=st.integers(0, 1000), width=st.sampled_from([0.0, 1e-6, 0.5]))
@settings(max_examples=30)
def test_layers_are_enclosed_as_closely_as_the_theorems_say(seed, width):
    """Higham's bound for a sum of 6 products and a bias, and an error of 2**-20 of tanh."""
    generator = np.random.default_rng(seed)
    weight = generator.normal(scale=3, size=(4, 6)).astype(np.float32)
    bias = generator.normal(size=4).astype(np.float32)
    points = [(arb(x), arb(x + width)) for x in generator.normal(size=6).tolist()]
    inputs = [low.union(high) for low, high in points]
    outputs = check.linear({"layer.weight": weight, "layer.bias": bias}, "layer", inputs)
    unit = arb(2) ** -24
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ctx, "prec", 300)  # exact
        for found, row, shift in zip(outputs, weight.tolist(), bias.tolist(), strict=True):
            products = [[w * x for x in pair] for w, pair in zip(row, points, strict=True)]
            size = sum(max(map(abs, pair)) for pair in products) + abs(shift)
            lower, upper = sum(map(min, products)) + shift, sum(map(max, products)) + shift
            for error, is_enclosed in ((7 * unit / (1 - 7 * unit), True), (14.7 * unit, False)):
                assert (found.lower() <= lower - error * size) == is_enclosed
                assert (found.upper() >= upper + error * size) == is_enclosed
    for found, (low, high) in zip(check.tanh(inputs), points, strict=True):
        for error, is_enclosed in ((0.99 * 2.0**-20, True), (1.01 * 2.0**-20, False)):
            assert (found.lower() <= low.tanh() - error) == is_enclosed
            assert (found.upper() >= high.tanh() + error) == is_enclosed


@pytest.mark.parametrize("misere", [False, True])
def test_every_box_end_and_label_counts(misere):
    right = by_hand(misere)  # the images are almost at 1 or -1
    wrong = [{name: np.delete(right[name], box, 0) for name in ("boxes", "states", "groups")} for box in range(3)]
    for box, end, axis in itertools.product(range(3), range(2), range(2)):
        boxes = right["boxes"].copy()
        boxes[box, end, axis] = np.sign(boxes[box, end, axis]) + (0.05, -0.05)[end]
        wrong.append({"boxes": boxes})
    for box, end, axis, number in ((1, 1, 0, 0.5), (2, 0, 0, -0.5), (0, 1, 1, 0.5)):  # too wide
        boxes = right["boxes"].copy()
        boxes[box, end, axis] = number
        wrong.append({"boxes": boxes})
    for states in itertools.product(STATES, repeat=3):
        if states != STATES:
            wrong.append({"states": np.array(states, dtype="<U4")})
    for changed in wrong:
        with pytest.raises(ValueError, match="lies in no box"):
            check.check(right | changed)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("group", [0, 1])
def test_all_boxes_of_a_state_count(group, first):
    """Two boxes more, even where odd is and odd where even is: they contain their images, with wrong values."""
    certificate = by_hand()
    more = {"boxes": certificate["boxes"][[2, 1]], "states": certificate["states"][[1, 2]]}
    more["groups"] = np.full(2, group)
    order = slice(None, None, -1) if first else slice(None)
    both = {name: np.concatenate([certificate[name], array])[order] for name, array in more.items()}
    with pytest.raises(ValueError, match="but the value is"):
        check.check(certificate | both)


@pytest.mark.parametrize("name", [*with_policy(by_hand()), "max_take"])
def test_missing_and_misshapen_arrays_are_named(name):
    certificate = with_policy(by_hand())
    array = certificate.pop(name, np.array(3))
    kind = np.float64 if array.dtype == np.float32 else np.bytes_
    wrong = [array[None], np.atleast_1d(array)[:-1], array.astype(kind), b"a member of a file that is no array"]
    missing = [] if name == "max_take" else [certificate]
    for changed in missing + [certificate | {name: found} for found in wrong]:
        with pytest.raises(ValueError, match="damaged"):
            check.check(changed)


def test_unknown_states_too_many_groups_and_policies_of_misere_play_are_named():
    with pytest.raises(ValueError, match="normal play"):
        check.check(with_policy(by_hand(misere=True)))
    certificate = by_hand()
    more = {name: certificate[name][[0, 2] + [1] * 9] for name in ("boxes", "states")} | {"groups": np.arange(11)}
    for changed, words in ((more, "11 groups"), ({"states": np.array(["none", "even", "both"])}, "both")):
        with pytest.raises(ValueError, match=f"damaged: .*{words}"):
            check.check(certificate | changed)


def test_the_study_has_proven_10_and_9_networks_and_8_policies():
    certificates = {path.stem: read(path) for path in CERTIFICATES.glob("*.npz")}
    seeds = {"normal": range(10), "misere": [0, 1, 2, 3, 4, 5, 6, 7, 9], "policy": range(1, 9)}
    assert set(certificates) == {f"{kind}{seed}" for kind in seeds for seed in seeds[kind]}
    for name, certificate in certificates.items():
        assert bool(certificate["misere"]) == name.startswith("misere")
        assert certificate["initial_state"].shape == (8,)
        if name.startswith("policy"):
            network = certificates[f"normal{name[-1]}"]
            assert all(np.array_equal(certificate[key], network[key]) for key in set(network) & set(WEIGHTS))
    for name in ("misere3", "normal0", "policy4"):
        assert check.check(certificates[name]) > 1
    one_hull = certificates["normal0"] | {"groups": np.zeros_like(certificates["normal0"]["groups"])}
    with pytest.raises(ValueError, match="but the value is"):  # the odd boxes need more than one
        check.check(one_hull)


def test_the_script(tmp_path, capsys):
    """A line for each certificate, with the margin rounded down; a wrong one ends it."""
    right, policy, wrong = (tmp_path / f"{name}.npz" for name in ("right", "policy", "wrong"))
    np.savez(right, **by_hand(misere=True, scale=0.7))
    np.savez(policy, **with_policy(by_hand()))
    np.savez(wrong, **by_hand(misere=True, flag=False))
    with pytest.raises(ValueError, match=r"wrong\.npz is refused: .*higher ones none"):
        main(Args((right, policy, wrong, right)))
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"{right}: accepted, misère play on every board, margin 0.699"
    assert second.startswith(f"{policy}: accepted, normal play, with and without lookahead, on every board, ")
    with pytest.raises(ValueError, match="certificate"):
        main(Args(()))


def test_damaged_files_are_named_and_none_is_unpickled(tmp_path):
    path = tmp_path / "right.npz"
    np.savez(path, **by_hand())
    content = path.read_bytes()
    np.savez(path, **by_hand() | {"groups": np.array([Path()] * 3)})
    for damaged in (path.read_bytes(), content[:-30], content[:100], b"", content.replace(b"NUMPY", b"numpy")):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"right\.npz is damaged"):
            read(path)
