"""check.py: networks written by hand, each right or wrong in one condition; certificates that prove nothing."""

import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.learn_the_rule import check
from examples.learn_the_rule.check import Args, main, read
from nim_env import NimRules, theory

CERTIFICATES = Path(check.__file__).parent / "certificates"
GAIN = 8.0  # tanh of it is almost 1
FEATURES = ("odd", "seen", "even higher", "odd higher", "none lowest", "none higher")
"""Of a digit: an odd number of ones; a one, and not the lowest digit; and so on. 1 for yes, -1 for no."""


def by_hand(misere=False, flag=True, lowest=True, higher=True, toggles=True, scale=1.0):
    """A network that is right unless an argument breaks it, with a box for each state of the automaton.

    Its recurrent state is the parity of the ones, 1 for odd and -1 for even, and whether there was a one. Its
    value is ``scale`` for won positions and minus that for lost ones.
    """
    g = GAIN
    weights = {
        "initial_state": [-1, -1],
        "transitions.0.weight": [[g, 0], [0, g]],
        "transitions.0.bias": [0, 0],
        "transitions.1.weight": [[-g if toggles else g, 0], [0, 0]],
        "transitions.1.bias": [0, g],
        # of the parity, of whether there was a one, and of the flag of the lowest digit
        "digit_layers.0.weight": [
            [g, 0, (0 if lowest else -2 * g) + (0 if higher else 2 * g)],
            [0, g, -2 * g if flag else 0],
            [-g, g, -2 * g],
            [g, g, -2 * g],
            [0, -g, 2 * g],
            [0, -g, -2 * g],
        ],
        "digit_layers.0.bias": [0 if higher else -2 * g, 0, -g, -g, -2 * g, 0],
        "digit_layers.2.weight": np.eye(6) * g,
        "digit_layers.2.bias": np.zeros(6),
        "value_layers.2.bias": [scale],
    }
    hidden, bias, last = np.zeros((6, 6)), np.full(6, -g), np.zeros((1, 6))
    odd, seen = FEATURES.index("odd"), FEATURES.index("seen")
    last[0, :2] = scale, scale  # won: one of the first two hidden units is 1
    if misere:  # odd and seen, or neither
        hidden[0, [odd, seen]], hidden[1, [odd, seen]] = g, -g
    else:
        hidden[0, odd], bias[0] = g, 0
        bias[1] = -g
    weights |= {"value_layers.0.weight": hidden, "value_layers.0.bias": bias, "value_layers.2.weight": last}
    low, high = -1.1, -0.9
    boxes = [[[low, low], [high, high]], [[low, -high], [high, -low]], [[-high, -high], [-low, -low]]]
    return {name: np.array(weight, dtype=np.float32) for name, weight in weights.items()} | {
        "misere": np.array(misere),
        "boxes": np.array(boxes, dtype=np.float32),
        "states": np.array(["none", "even", "odd"]),
        "groups": np.zeros(3, dtype=np.int64),
    }


CHANGES = [
    (is_lowest, state, before, after)
    for is_lowest, state, before, after in itertools.product(
        (True, False), ("none", "even", "odd"), (0, 1), (0, 1)
    )
    if (state, before) != ("none", 1)
]
LITERALS = {  # the features that tell a state, for the lowest digit and the higher ones
    (True, "none"): {"none lowest": 1},
    (True, "even"): {"odd": -1, "none lowest": -1, "even higher": -1, "none higher": -1},
    (True, "odd"): {"odd": 1, "odd higher": -1},
    (False, "none"): {"none higher": 1},
    (False, "even"): {"even higher": 1},
    (False, "odd"): {"odd higher": 1},
}


def with_policy(certificate, mistake=None, needed=None, together=(), scale=1.0):
    """A policy for a network by hand: the score is ``scale`` for winning moves and minus that for others.

    A digit is wrong for a move if its parity and its bits before and after the move have an odd sum. A mistake is
    a change that is taken for wrong though it is right, or the other way round. Without a digit that makes the
    needed change, all scores are negative. With digits that make all changes of ``together``, they are positive.
    """
    g, changes = GAIN, [mistake or needed, *together]
    m = 3 + len(changes)  # whether the sum is at least 1, 2, 3, and whether the digit makes these changes
    count, largest, scores = np.zeros((m, 8)), np.eye(m), g * np.eye(m)
    bias, shift, scores_bias, last = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros((1, m))
    count[:3, FEATURES.index("odd")], count[:3, 6:], bias[:3] = g / 2, g, (0, -g, -2 * g)
    largest[0, :3], last[0, 0] = (1, -1, 1), -scale
    for row, change in enumerate(changes, start=3):
        is_lowest, state, *bits = change or ("no", "change", 0, 0)
        literals = LITERALS.get((is_lowest, state), {})
        for feature, sign in literals.items():
            count[row, FEATURES.index(feature)] = sign * g
        count[row, 6:] = g * (4 * np.array(bits) - 2)
        bias[row] = -g * (len(literals) + 2 * sum(bits) - 1)
    if mistake:
        largest[0, 3] = shift[0] = 1 if is_right_change(*mistake[1:]) else -1
    if needed:
        last[0, 3] = scale
    if together:
        scores[4, 4:], scores_bias[4] = g, -g * (len(together) - 1)
        last[0, 4] = 2 * scale
    return certificate | {
        name: np.array(weight, dtype=np.float32)
        for name, weight in {
            "move_layers.0.weight": count,
            "move_layers.0.bias": bias,
            "move_layers.2.weight": largest,
            "move_layers.2.bias": shift,
            "score_layers.0.weight": scores,
            "score_layers.0.bias": scores_bias,
            "score_layers.2.weight": last,
            "score_layers.2.bias": [(2 * scale if together else 0) - (scale if needed else 0)],
        }.items()
    }


def is_right_change(state, before, after):
    return (state == "odd") == (before != after)


# --- Networks written by hand ---------------------------------------------------------------------


RIGHT = {
    "normal": by_hand(),
    "misère": by_hand(misere=True),
    "normal, the flag not needed": by_hand(flag=False),
    "margin": by_hand(scale=2.0**-18),
    "largest weights": by_hand(scale=2.0**40),
}
WRONG = {
    "misère, played as normal": (by_hand() | {"misere": np.array(True)}, "none"),
    "normal, played as misère": (by_hand(misere=True) | {"misere": np.array(False)}, "none"),
    "misère without the flag": (by_hand(misere=True, flag=False), "none"),
    "misère, higher digits ignored": (by_hand(misere=True, higher=False), "higher ones none, odd"),
    "lowest digit ignored": (by_hand(lowest=False), "lowest digit odd"),
    "higher digits ignored": (by_hand(higher=False), "higher ones none, odd"),
    "a one does not toggle": (by_hand(toggles=False), "after a 1"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_networks_are_accepted(name):
    assert check.check(RIGHT[name]) > 2.0**-19


@pytest.mark.parametrize("name", WRONG)
def test_wrong_networks_are_refused(name):
    certificate, words = WRONG[name]
    with pytest.raises(ValueError, match=words):
        check.check(certificate)


WEIGHTS = [name for name in with_policy(by_hand()) if name not in ("misere", "boxes", "states", "groups")]
CLASSES = ("none", "1", "2", "3", "4")
"""The numbers of ones of a digit, from 1 on modulo 4."""


def modulo_4(*mistake):
    """A right network that counts the ones of each digit modulo 4, with a group for each class of a state.

    Its features are whether the lowest digit is of a class, and whether a higher one is. Its value has the wrong
    sign where all features of the mistake, pairs of a class and whether it is that of the lowest digit, are 1.
    """
    g, i = GAIN, np.eye(5)
    after_1 = i[[0, 0, 1, 2, 3]]
    after_1[1, 4] = 1
    after_1[0] = 0
    hidden = np.zeros((10, 10))
    hidden[0, [1, 3, 6, 8]] = g  # the odd classes
    hidden[1, [CLASSES.index(name) + 5 * is_lowest for name, is_lowest in mistake]] = g
    weights = {
        "initial_state": 2 * i[0] - 1,
        "transitions.0.weight": g * i,
        "transitions.0.bias": np.zeros(5),
        "transitions.1.weight": g * after_1,
        "transitions.1.bias": g * np.array([-1, 1, 0, 0, 0]),
        "digit_layers.0.weight": g * np.block([[i, np.full((5, 1), -2)], [i, np.full((5, 1), 2)]]),
        "digit_layers.0.bias": np.repeat([0, -2 * g], 5),
        "digit_layers.2.weight": g * np.eye(10),
        "digit_layers.2.bias": np.zeros(10),
        "value_layers.0.weight": hidden,
        "value_layers.0.bias": [3 * g, g - len(mistake) * g if mistake else -g, *[0] * 8],
        "value_layers.2.weight": [[1, -1, *[0] * 8]],
        "value_layers.2.bias": [-1],
    }
    corners = 2 * i - 1
    return {name: np.array(weight, dtype=np.float32) for name, weight in weights.items()} | {
        "misere": np.array(False),
        "boxes": np.stack([corners - 0.1, corners + 0.1], axis=1).astype(np.float32),
        "states": np.array(["none", "odd", "even", "odd", "even"]),
        "groups": np.array([0, 0, 0, 1, 1]),
    }


def wrong_in_one_set(lowest):
    return modulo_4((CLASSES[lowest], True), *((name, False) for name in CLASSES[1:]))


def test_a_right_network_that_counts_modulo_4_is_accepted():
    assert check.check(modulo_4()) > 0.9


@pytest.mark.parametrize("lowest", range(5))
def test_a_network_that_is_wrong_in_one_set_of_hulls_is_refused(lowest):
    """With each class of the lowest digit, if the higher digits have all classes."""
    certificate = wrong_in_one_set(lowest)
    with pytest.raises(ValueError, match=f"the lowest digit {certificate['states'][lowest]}, .*: won, but"):
        check.check(certificate)


def test_a_right_policy_is_accepted():
    assert 0.9 < check.check(with_policy(by_hand())) <= check.check(by_hand())


@pytest.mark.parametrize("bias", [-0.5, 0.5])
def test_the_margin_is_that_of_the_worst_move(bias):
    certificate = with_policy(by_hand())
    certificate["score_layers.2.bias"][0] = bias
    assert 0.4 < check.check(certificate) <= 0.5


@pytest.mark.parametrize("mistake", CHANGES, ids=str)
def test_a_policy_that_is_wrong_about_one_change_of_a_digit_is_refused(mistake):
    with pytest.raises(ValueError, match="the score is") as refusal:
        check.check(with_policy(by_hand(), mistake))
    assert str(mistake[1:]) in str(refusal.value)


NEEDED = [change for change in CHANGES if change != (False, "none", 0, 0)]  # each move has the leading zero


@pytest.mark.parametrize("needed", NEEDED, ids=str)
def test_a_policy_that_needs_a_change_of_some_digit_is_refused(needed):
    with pytest.raises(ValueError, match="a winning move"):
        check.check(with_policy(by_hand(), needed=needed))


HIGHER = [change for change in CHANGES if not change[0]]


@pytest.mark.parametrize(
    "together",
    [
        HIGHER,
        [*HIGHER, (True, "even", 1, 1)],
        *([change, HIGHER[(7 * number + 3) % len(HIGHER)]] for number, change in enumerate(CHANGES)),
    ],
)
def test_a_policy_that_is_wrong_about_changes_together_is_refused(together):
    """All of the higher digits, without and with one of the lowest; and pairs."""
    with pytest.raises(ValueError, match="a losing move"):
        check.check(with_policy(by_hand(), together=together))


def test_a_policy_of_misere_play_is_refused():
    with pytest.raises(ValueError, match="normal play"):
        check.check(with_policy(by_hand(misere=True)))


@pytest.mark.parametrize("is_lowest", [False, True])
@pytest.mark.parametrize(("state", "other"), [("none", "odd"), ("even", "odd"), ("odd", "none"), ("odd", "even")])
@pytest.mark.parametrize("first", [False, True])
def test_all_hulls_of_a_state_count_for_the_policy(is_lowest, state, other, first):
    """A group more, with the features of another state."""
    certificate = with_policy(by_hand())

    def hulls_of(flag):
        hulls = {}
        for name, point in {"none": (-1, -1), "even": (-1, 1), "odd": (1, 1)}.items():
            first = check.tanh(check.linear(certificate, "digit_layers.0", [arb(x) for x in (*point, flag)]))
            hulls[name, 0] = check.tanh(check.linear(certificate, "digit_layers.2", first))
        return hulls

    higher, lowest = hulls_of(0), hulls_of(1)
    assert check.check_policy(certificate, (higher, lowest)) > 0.9
    hulls = lowest if is_lowest else higher
    more = {(state, 1): hulls[other, 0]}
    changed = more | hulls if first else hulls | more
    with pytest.raises(ValueError, match="score"):
        check.check_policy(certificate, (higher, changed) if is_lowest else (changed, lowest))


def test_which_networks_are_wrong_in_pytorch():
    """By Bouton's theorem, on all positions of a small board; and where one is wrong in one set of hulls."""
    pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')
    import torch

    from examples.learn_the_rule.network import DigitNetwork, PolicyValueNetwork, predict

    rules = NimRules((7, 7, 7), misere=False)
    board = rules.all_positions()[1:]

    def load(network, certificate):
        network.load_state_dict({key: torch.from_numpy(certificate[key]) for key in network.state_dict()})
        return network.eval()

    def is_right(certificate, heaps=board):
        sizes = (len(certificate[name]) for name in ("initial_state", "digit_layers.0.bias"))
        values = predict(load(DigitNetwork(*sizes), certificate), heaps)
        bounds = NimRules((31,) * heaps.shape[1], misere=bool(certificate["misere"]))
        return ((values > 0) == theory.is_winning(bounds, heaps)).all()

    def has_right_policy(**options):
        certificate = with_policy(by_hand(), **options)
        n_move_features = len(certificate["move_layers.0.bias"])
        network = load(PolicyValueNetwork(rules, n_move_features, hidden_size=2, n_features=6), certificate)
        with torch.no_grad():
            scores = network(torch.from_numpy(board))[0].numpy()
        is_legal = rules.action_mask(board) == 1
        return ((scores > 0) == theory.winning_action_mask(rules, board))[is_legal].all()

    assert all(map(is_right, RIGHT.values()))
    assert not any(is_right(certificate) for certificate, _ in WRONG.values())
    assert has_right_policy()
    assert not any(has_right_policy(mistake=change) for change in CHANGES)
    assert not any(has_right_policy(needed=change) for change in NEEDED)
    for lowest in range(5):
        n_ones = [lowest, 1, 2, 3, 4]  # of the digits, the lowest first
        heaps = np.array([[sum(2**digit for digit, n in enumerate(n_ones) if heap < n) for heap in range(4)]])
        assert is_right(modulo_4(), heaps)
        assert not is_right(wrong_in_one_set(lowest), heaps)
        assert is_right(wrong_in_one_set(lowest))


# --- Rounding and overflow ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "index", "number"),
    [
        ("value_layers.2.weight", (0, 0), 3.4e38),
        ("value_layers.2.bias", (0,), np.nextafter(np.float32(2.0**40), np.float32(np.inf))),
        ("transitions.1.weight", (0, 1), -(2.0**41)),
        ("initial_state", (1,), -np.inf),
        ("digit_layers.2.weight", (2, 2), np.nan),
        ("boxes", (0, 0, 0), -np.inf),
        ("score_layers.2.bias", (0,), np.inf),
    ],
)
def test_numbers_that_could_overflow_are_refused(name, index, number):
    certificate = with_policy(by_hand())
    certificate[name][index] = number
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


# --- Certificates that prove nothing --------------------------------------------------------------


@pytest.mark.parametrize("misere", [False, True])
def test_every_box_end_and_label_counts(misere):
    right = by_hand(misere)  # the images are almost at 1 or -1
    wrong = [{name: np.delete(right[name], box, 0) for name in ("boxes", "states", "groups")} for box in range(3)]
    for box, end, axis in itertools.product(range(3), range(2), range(2)):
        boxes = right["boxes"].copy()
        boxes[box, end, axis] = np.sign(boxes[box, end, axis]) + (0.05, -0.05)[end]
        wrong.append({"boxes": boxes})
    for states in itertools.product(("none", "even", "odd"), repeat=3):
        if states != ("none", "even", "odd"):
            wrong.append({"states": np.array(states, dtype="<U4")})
    for changed in wrong:
        with pytest.raises(ValueError, match="lies in no box"):
            check.check(right | changed)


@pytest.mark.parametrize(("box", "end", "axis", "number"), [(1, 1, 0, 0.5), (2, 0, 0, -0.5), (0, 1, 1, 0.5)])
def test_all_of_a_box_counts(box, end, axis, number):
    """One end has a right image, the other has not."""
    certificate = by_hand()
    certificate["boxes"][box, end, axis] = number
    with pytest.raises(ValueError, match=f"image of box {box}"):
        check.check(certificate)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize("misere", [False, True])
def test_all_boxes_of_a_state_count(misere, group, first):
    """Two boxes more, even where odd is and odd where even is: they contain their images, with wrong values."""
    certificate = by_hand(misere)
    more = {
        "boxes": certificate["boxes"][[2, 1]],
        "states": certificate["states"][[1, 2]],
        "groups": np.full(2, group),
    }
    order = slice(None, None, -1) if first else slice(None)
    both = {name: np.concatenate([certificate[name], array])[order] for name, array in more.items()}
    with pytest.raises(ValueError, match="but the value is"):
        check.check(certificate | both)


def test_the_groups_are_used():
    """The features of the odd boxes of this network need more than one hull."""
    certificate = read(CERTIFICATES / "normal0.npz")
    assert check.check(certificate) > 1
    with pytest.raises(ValueError, match="but the value is"):
        check.check(certificate | {"groups": np.zeros_like(certificate["groups"])})


def test_the_number_of_groups_is_limited():
    """Since each set of them is checked."""
    certificate = by_hand()
    more = {name: certificate[name][[0, 2] + [1] * 9] for name in ("boxes", "states")}
    with pytest.raises(ValueError, match="11 groups"):
        check.check(certificate | more | {"groups": np.arange(11)})


@pytest.mark.parametrize("name", [*with_policy(by_hand()), "max_take"])
def test_missing_and_misshapen_arrays_are_named(name):
    certificate = with_policy(by_hand())
    array = certificate.pop(name, np.array(3))
    kind = np.float64 if array.dtype == np.float32 else np.bytes_
    wrong = [
        array[None],
        np.atleast_1d(array)[:-1],
        array.astype(kind),
        b"a member of the archive that is no array",
    ]
    missing = [] if name == "max_take" else [certificate]
    for changed in missing + [certificate | {name: found} for found in wrong]:
        with pytest.raises(ValueError, match="damaged"):
            check.check(changed)


def test_unknown_states_are_named():
    with pytest.raises(ValueError, match=r"damaged: unknown states .*both"):
        check.check(by_hand() | {"states": np.array(["none", "even", "both"])})


# --- Files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["misere0", "misere3", "misere6", "normal0", "normal3", "normal6", "normal9"])
def test_certificates_of_the_study(name):
    certificate = read(CERTIFICATES / f"{name}.npz")
    assert bool(certificate["misere"]) == name.startswith("misere")
    assert certificate["initial_state"].shape == (8,)
    assert check.check(certificate) > 1


def test_the_study_has_proven_10_and_9_networks_and_8_policies():
    names = [f"normal{seed}" for seed in range(10)] + [f"misere{seed}" for seed in range(10) if seed != 8]
    policies = [f"policy{seed}" for seed in range(1, 9)]
    assert {path.stem for path in CERTIFICATES.glob("*.npz")} == {*names, *policies}
    for name in policies:
        policy, network = (read(CERTIFICATES / f"{kind}{name[-1]}.npz") for kind in ("policy", "normal"))
        assert all(np.array_equal(policy[key], network[key]) for key in set(network) & set(WEIGHTS))
    assert check.check(policy) > 1


def test_the_script(tmp_path, capsys):
    """A line for each certificate; a wrong one ends it, also after a right one."""
    right, policy, wrong = (tmp_path / f"{name}.npz" for name in ("right", "policy", "wrong"))
    certificate = by_hand(misere=True, scale=0.7)
    np.savez(right, **certificate)
    np.savez(policy, **with_policy(by_hand()))
    np.savez(wrong, **by_hand(misere=True, flag=False))
    margin = check.check(certificate)
    assert margin % 0.001 > 0.0005  # it is rounded down
    with pytest.raises(ValueError, match=r"wrong\.npz is refused: .*higher ones none"):
        main(Args((right, policy, wrong, right)))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{right}: accepted, misère play on every board, margin {int(1000 * margin) / 1000:.3f}"
    assert lines[1].startswith(
        f"{policy}: accepted, normal play, with and without lookahead, on every board, margin"
    )
    assert len(lines) == 2
    with pytest.raises(ValueError, match="certificate"):
        main(Args(()))


def test_damaged_files_are_named(tmp_path):
    path = tmp_path / "damaged.npz"
    np.savez(path, **by_hand())
    content = path.read_bytes()
    for damaged in (content[:-30], content[:100], b"", content.replace(b"NUMPY", b"numpy")):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"damaged"):
            main(Args((path,)))
    with pytest.raises(ValueError, match=r"missing\.npz"):
        main(Args((tmp_path / "missing.npz",)))


def test_no_file_runs_code(tmp_path, makes_folder):
    np.savez(tmp_path / "pickle.npz", **by_hand() | {"groups": np.array([makes_folder] * 3)})
    with pytest.raises(ValueError, match=r"pickle\.npz is damaged"):
        main(Args((tmp_path / "pickle.npz",)))
    torch = pytest.importorskip("torch", reason='needs pip install -e ".[sb3]"')
    np.savez(tmp_path / "right.npz", **by_hand())
    torch.save(makes_folder, tmp_path / "pickle.pt")
    with pytest.raises(pickle.UnpicklingError):
        main(Args((tmp_path / "right.npz",), tmp_path / "pickle.pt"))
    assert not (tmp_path / "ran").exists()


def test_a_certificate_belongs_to_one_network(tmp_path, capsys):
    """To its rules and each number of its weights."""
    torch = pytest.importorskip("torch", reason='needs pip install -e ".[sb3]"')
    path, network = tmp_path / "right.npz", tmp_path / "network.pt"
    certificate = with_policy(by_hand())
    np.savez(path, **certificate)
    weights = {name: torch.from_numpy(certificate[name]) for name in WEIGHTS}
    right = {"weights": weights, "misere": False, "max_take": None}
    torch.save(right, network)
    main(Args((path,), network))
    assert "accepted" in capsys.readouterr().out
    for wrong in (
        {"misere": True},
        {"max_take": 3},
        {"weights": {}},
        {"weights": weights | {"more": torch.ones(1)}},
    ):
        torch.save(right | wrong, network)
        with pytest.raises(ValueError, match=r"right\.npz (claims other rules|does not belong)"):
            main(Args((path,), network))
    for name in WEIGHTS:
        other = certificate[name].copy()
        other.flat[-1] = np.nextafter(other.flat[-1], np.float32(np.inf))
        torch.save(right | {"weights": weights | {name: torch.from_numpy(other)}}, network)
        with pytest.raises(ValueError, match=f"does not belong to .*{name}"):
            main(Args((path,), network))
