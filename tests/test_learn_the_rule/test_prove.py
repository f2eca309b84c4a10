"""prove.py: the search for a certificate, on the networks of the study and on networks with mistakes."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[proof,sb3]"')

from pathlib import Path

import numpy as np
import torch

from nim_env import NimRules, theory

from learn_the_rule import check, draw_proof, prove
from learn_the_rule.network import DigitNetwork, PolicyValueNetwork, predict, save_network

CERTIFICATES = Path(check.__file__).parent / "certificates"

torch.set_num_threads(1)  # the tensors are small


@pytest.mark.parametrize("name", ["normal4", "misere2"])
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
    right, untrained = tmp_path / "misere0" / "network.pt", tmp_path / "untrained.pt"
    save_network(of_the_study("misere0"), right, misere=True)
    torch.manual_seed(0)
    save_network(DigitNetwork(), untrained, misere=False)
    proof, _ = prove.main(prove.Args((right, untrained)))
    output = capsys.readouterr().out
    assert output.count("misère play: proven for every board") == 1
    assert output.count("normal play: not proven: no set of 100 boxes") == 1
    assert list(tmp_path.rglob("*.npz")) == [right.with_suffix(".npz")]
    certificate = check.read(right.with_suffix(".npz"))
    weights = of_the_study("misere0").state_dict()
    assert all(np.array_equal(certificate[name], weights[name]) for name in weights)
    assert check.check(certificate) == proof.margin > 1
    draw_proof.main(draw_proof.Args(right, tmp_path / "boxes.svg"))
    assert "Proven for every board, misère play" in (tmp_path / "boxes.svg").read_text(encoding="utf-8")


def test_networks_with_mistakes_are_not_proven(of_the_study):
    network = of_the_study("normal4")
    rules = NimRules((7,) * 5, misere=False)
    positions = rules.all_positions()[1:]
    is_won = theory.is_winning(rules, positions)
    largest_lost = np.arctanh(predict(network, positions[~is_won]).astype(float)).max()
    with torch.no_grad():  # one weight, by just enough that some lost positions get a positive value
        network.value_layers[2].bias += 0.01 - largest_lost
    assert 0 < ((predict(network, positions) > 0) != is_won).sum() < len(positions) / 2
    policy = PolicyValueNetwork()  # whose head is untrained
    policy.load_state_dict(of_the_study("normal4").state_dict(), strict=False)
    for wrong, words in ((network, "losing position, but the value is"), (policy, "move with the digits")):
        proof = prove.prove(wrong, misere=False)
        assert proof.margin is None
        assert words in proof.refusal


def test_networks_that_no_proof_is_about(tmp_path):
    save_network(DigitNetwork(), tmp_path / "bounded.pt", misere=False, max_take=3)
    save_network(DigitNetwork(n_flags=2), tmp_path / "flags.pt", misere=False)
    for name in ("bounded.pt", "flags.pt", "missing.pt"):
        with pytest.raises(ValueError, match=name):
            prove.main(prove.Args((tmp_path / name,)))
