"""prove.py: the search for a certificate, on the networks of the study and on networks with mistakes."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

from pathlib import Path

import numpy as np
import torch

from examples.learn_the_rule import check, prove
from examples.learn_the_rule.network import NETWORKS, DigitNetwork, predict, save_network
from nim_env import NimRules, theory

CERTIFICATES = Path(check.__file__).parent / "certificates"

torch.set_num_threads(1)  # the tensors are small


@pytest.mark.parametrize("name", ["normal0", "normal4", "misere2"])
def test_what_a_certificate_says_is_true_of_the_network(name, of_the_study):
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


def test_the_script(tmp_path, capsys, of_the_study):
    for name in ("misere0", "normal4"):
        (tmp_path / name).mkdir()
        save_network(of_the_study(name), tmp_path / name / "network.pt", misere=name == "misere0")
    torch.manual_seed(0)
    save_network(DigitNetwork(), tmp_path / "untrained.pt", misere=False)
    right, other, untrained = (
        tmp_path / name for name in ("misere0/network.pt", "normal4/network.pt", "untrained.pt")
    )
    proofs = prove.main(prove.Args((right, other, untrained)))
    for proof in proofs[:2]:
        assert proof.margin == check.check(proof.certificate) > 1
    output = capsys.readouterr().out
    assert output.count("misère play: proven for every board") == 1
    assert output.count("normal play: proven for every board") == 1
    assert output.count("normal play: not proven: no 100 boxes") == 1
    folder = tmp_path / "results" / "certificates"
    assert {file.name for file in folder.glob("*.npz")} == {"misere0.npz", "normal4.npz"}
    for name in ("misere0", "normal4", "untrained"):
        assert "<svg" in (folder / f"{name}.svg").read_text("utf-8")
    check.main(check.Args((folder / "misere0.npz",), right))
    for name, array in check.read(folder / "misere0.npz").items():
        np.testing.assert_array_equal(array, proofs[0].certificate[name])
    with pytest.raises(ValueError, match=r"misere0\.npz claims other rules"):
        check.main(check.Args((folder / "misere0.npz",), other))


def test_a_network_with_mistakes_is_not_proven(of_the_study):
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
