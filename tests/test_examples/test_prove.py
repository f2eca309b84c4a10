"""prove.py: the search for a certificate, on the networks of the study and on networks with mistakes."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import itertools
from pathlib import Path

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.learn_the_rule import check, prove
from examples.learn_the_rule.network import NETWORKS, DigitNetwork, predict, save_network
from nim_env import NimRules, theory

CERTIFICATES = Path(check.__file__).parent / "certificates"

torch.set_num_threads(1)  # the tensors are small


def of_the_study(name):
    """A network of the study, from its certificate."""
    network = DigitNetwork()
    weights = check.read(CERTIFICATES / f"{name}.npz")
    network.load_state_dict({key: torch.from_numpy(weights[key]) for key in network.state_dict()})
    return network.eval()


@pytest.mark.parametrize("name", ["normal0", "normal4", "misere2"])
def test_what_a_certificate_says_is_true_of_the_network(name):
    """States of digits of up to 200 heaps lie in boxes, and values of large boards have the right sign."""
    certificate, network = check.read(CERTIFICATES / f"{name}.npz"), of_the_study(name)
    generator = np.random.default_rng(0)
    low, high = np.moveaxis(certificate["boxes"], 1, 0)
    for n_heaps in (1, 2, 5, 30, 200):
        bits = (generator.random((500, n_heaps)) < generator.random((500, 1))).astype(np.int64)
        with torch.no_grad():
            points = network.scan(torch.from_numpy(bits)).numpy()
        n_ones = bits.sum(axis=1)
        states = np.where(n_ones == 0, "none", np.where(n_ones % 2, "odd", "even"))
        is_inside = ((low <= points[:, None]) & (points[:, None] <= high)).all(axis=2)
        assert (is_inside & (certificate["states"] == states[:, None])).any(axis=1).all()
    for n_heaps, size in ((30, 1023), (2, 2**62 - 1), (100, 3), (1000, 1)):
        heaps = generator.integers(0, size, size=(200, n_heaps), endpoint=True)
        heaps[:100, 0] = np.bitwise_xor.reduce(heaps[:100, 1:], axis=1)  # a nim-sum of 0
        is_exception = name.startswith("misere") & (heaps.max(axis=1) <= 1)
        is_won = (np.bitwise_xor.reduce(heaps, axis=1) != 0) ^ is_exception
        np.testing.assert_array_equal(predict(network, heaps) > 0, is_won)


@pytest.mark.parametrize("name", ["normal0", "misere2"])
def test_the_search_proves_networks_of_the_study(name):
    proof = prove.prove(of_the_study(name), misere=name.startswith("misere"))
    assert proof.margin == check.check(proof.certificate) > 1
    assert not proof.refusal
    other = prove.prove(of_the_study(name), misere=not name.startswith("misere"))
    assert other.margin is None
    assert "but the value is" in other.refusal


def set_weights(network, **weights):
    """A network with these weights; the dots in their names are written as two underscores."""
    state = network.state_dict()
    arrays = {name.replace("__", "."): torch.tensor(weight) for name, weight in weights.items()}
    network.load_state_dict({name: arrays[name].reshape(state[name].shape) for name in arrays}, strict=False)
    return network.eval()


def test_the_sampled_states_are_named_after_the_ones_so_far():
    """A network by hand whose recurrent state is the parity of the ones, and whether there was a one."""
    network = set_weights(
        DigitNetwork(hidden_size=2, n_features=2),
        initial_state=[-1.0, -1.0],
        transitions__0__weight=[[8.0, 0.0], [0.0, 8.0]],
        transitions__0__bias=[0.0, 0.0],
        transitions__1__weight=[[-8.0, 0.0], [0.0, 0.0]],
        transitions__1__bias=[0.0, 8.0],
    )
    points, states = prove.sample_states(network)
    names = np.where(points[:, 1] < 0, "none", np.where(points[:, 0] < 0, "even", "odd"))
    np.testing.assert_array_equal(states, names)
    assert set(names) == {"none", "even", "odd"}


@given(seed=st.integers(0, 2**32 - 1))
def test_the_first_boxes_are_the_smallest_around_near_points_of_one_state(seed):
    generator = np.random.default_rng(seed)
    points = generator.choice([-0.5, 0.0, 0.5], size=(60, 3)) + generator.uniform(-0.04, 0.04, size=(60, 3))
    states = generator.choice(["none", "even", "odd"], size=60)
    names, low, high = prove.first_boxes(points, states)
    is_inside = ((low <= points[:, None]) & (points[:, None] <= high)).all(axis=2)
    is_inside &= states[:, None] == names
    assert (is_inside.sum(axis=1) == 1).all()
    for box in range(len(names)):  # the points are in clusters, one box for each
        own = points[is_inside[:, box]]
        assert len(np.unique(np.round(2 * own), axis=0)) == 1
        np.testing.assert_array_equal(low[box], own.min(axis=0))
        np.testing.assert_array_equal(high[box], own.max(axis=0))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), gain=st.floats(0.1, 4), drift=st.floats(0, 0.1))
def test_closed_boxes_contain_their_images(seed, gain, drift):
    torch.manual_seed(seed)
    network = DigitNetwork(hidden_size=3, n_features=2).eval()
    with torch.no_grad():
        for layer in network.transitions:
            layer.weight.mul_(gain)
            layer.bias.mul_(drift)
    generator = np.random.default_rng(seed)
    names = np.array(["none", "even", "odd", "even", "odd"])
    first = generator.uniform(-1, 1, size=(5, 3))
    low, high = first.copy(), first + generator.uniform(0, 0.1, size=(5, 3))
    is_closed = prove.close(network, names, low, high)
    assert (low <= first).all()
    assert (high >= first).all()
    # each coordinate of an image is largest and smallest in a corner
    corners = np.array(list(itertools.product((0, 1), repeat=3)))[:, None]
    points = torch.from_numpy(np.where(corners, high, low))
    next_states = {
        0: {"none": "none", "even": "even", "odd": "odd"},
        1: {"none": "odd", "even": "odd", "odd": "even"},
    }
    is_inside = True
    with torch.no_grad():
        for bit, layer in enumerate(network.double().transitions):
            images = torch.tanh(layer(points)).numpy()
            image_low, image_high = images.min(axis=0), images.max(axis=0)
            for box, name in enumerate(names):
                is_next = names == next_states[bit][name]
                contains = (low <= image_low[box]).all(axis=1) & (image_high[box] <= high).all(axis=1)
                is_inside &= (contains & is_next).any()
    assert is_inside or not is_closed


def test_boxes_that_drift_are_not_closed():
    network = set_weights(DigitNetwork(hidden_size=1, n_features=1))
    with torch.no_grad():
        for layer in network.transitions:
            layer.weight.fill_(1.0)
            layer.bias.fill_(1e-3)
    low, high = np.zeros((3, 1)), np.zeros((3, 1))
    assert not prove.close(network, np.array(["none", "even", "odd"]), low, high)


def test_boxes_are_grouped_by_their_features_with_and_without_the_flag():
    """The first coordinate is seen without the flag, the second with it."""
    network = set_weights(
        DigitNetwork(hidden_size=2, n_features=2),
        digit_layers__0__weight=[[3.0, 0.0, -20.0], [0.0, 3.0, 20.0]],
        digit_layers__0__bias=[0.0, -20.0],
        digit_layers__2__weight=[[1.0, 0.0], [0.0, 1.0]],
        digit_layers__2__bias=[0.0, 0.0],
    )
    corners = np.repeat(list(itertools.product((-0.5, 0.5), repeat=2)), 3, axis=0)
    points = corners + np.random.default_rng(0).uniform(-0.1, 0.1, size=corners.shape)
    states = np.array(["even"] * 12 + ["odd"] * 12 + ["none"])
    points = np.concatenate([points, -points, [[0.0, 0.0]]])
    groups = prove.group(network, states, points - 0.01, points + 0.01)
    for own in (groups[:12], groups[12:24]):
        assert len(set(own)) == 4
        assert (own.reshape(4, 3) == own.reshape(4, 3)[:, :1]).all()


def test_the_script(tmp_path, capsys):
    for name in ("misere0", "normal4"):
        (tmp_path / name).mkdir()
        save_network(of_the_study(name), tmp_path / name / "network.pt", misere=name == "misere0")
    torch.manual_seed(0)
    save_network(DigitNetwork(), tmp_path / "untrained.pt", misere=False)
    right, other, untrained = (
        tmp_path / name for name in ("misere0/network.pt", "normal4/network.pt", "untrained.pt")
    )
    proofs = prove.main(prove.Args((right, other, untrained)))
    output = capsys.readouterr().out
    assert output.count("misère play: proven for every board") == 1
    assert output.count("normal play: proven for every board") == 1
    assert output.count("normal play: not proven: no 100 boxes") == 1
    folder = tmp_path / "results" / "certificates"
    assert {file.name for file in folder.glob("*.npz")} == {"misere0.npz", "normal4.npz"}
    for name in ("misere0", "normal4", "untrained"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    check.main(check.Args((folder / "misere0.npz",), right))
    for name, array in check.read(folder / "misere0.npz").items():
        np.testing.assert_array_equal(array, proofs[0].certificate[name])
    with pytest.raises(ValueError, match=r"misere0\.npz claims other rules"):
        check.main(check.Args((folder / "misere0.npz",), other))


def test_a_network_with_mistakes_is_not_proven():
    network = of_the_study("normal4")
    rules = NimRules((7,) * 5, misere=False)
    positions = rules.all_positions()[1:]
    is_won = theory.is_winning(rules, positions)
    largest_lost = np.arctanh(predict(network, positions[~is_won]).astype(float)).max()
    with torch.no_grad():  # one weight, by just enough that some lost positions get a positive value
        network.value_layers[2].bias += 0.01 - largest_lost
    assert 0 < ((predict(network, positions) > 0) != is_won).sum() < len(positions) / 2
    proof = prove.prove(network, misere=False)
    assert proof.margin is None
    assert "lost, but the value is" in proof.refusal


def test_networks_that_no_proof_is_about(tmp_path):
    save_network(DigitNetwork(), tmp_path / "bounded.pt", misere=False, max_take=3)
    save_network(DigitNetwork(n_flags=2), tmp_path / "flags.pt", misere=False)
    save_network(NETWORKS["gru"](), tmp_path / "gru.pt", misere=False)
    for name in ("bounded.pt", "flags.pt", "gru.pt", "missing.pt"):
        with pytest.raises(ValueError, match=name):
            prove.main(prove.Args((tmp_path / name,)))
