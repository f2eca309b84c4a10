"""distill.py: scores of moves without lookahead."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import numpy as np
import torch

from nim_env import NimRules, theory

from learn_the_rule import distill
from learn_the_rule.distill import Args, main
from learn_the_rule.network import DigitNetwork, PolicyValueNetwork, predict, save_network

torch.set_num_threads(1)  # the tensors are small


def test_the_score_depends_on_the_position_and_the_move_alone():
    """Not on the other positions of the batch, and not on the largest sizes of the heaps."""
    torch.manual_seed(0)
    rules, larger = NimRules((3, 9, 5)), NimRules((20, 9, 31))
    network = PolicyValueNetwork(rules).eval()
    heaps = np.array([[1, 2, 3], [3, 0, 0], [0, 9, 5]])
    with torch.no_grad():
        together = network(torch.from_numpy(heaps))[0].numpy()
        for i, position in enumerate(heaps):
            for board in (rules, larger):
                network.rules = board
                alone = network(torch.from_numpy(position[None]))[0].numpy()[0]
                for action in np.flatnonzero(rules.action_mask(position)):
                    move = int(rules.move_heaps[action]), int(rules.move_counts[action])
                    same = [
                        score
                        for score, *other in zip(alone, board.move_heaps, board.move_counts, strict=True)
                        if tuple(other) == move
                    ]
                    assert same == pytest.approx([together[i, action]], abs=1e-5)


def test_it_learns_to_take_all_of_one_heap(tmp_path, monkeypatch):
    monkeypatch.setattr(distill, "N_HEAPS", 1)
    monkeypatch.setattr(distill, "MAX_HEAP", 3)
    monkeypatch.setattr(distill, "TEST_BOARDS", ((1, 3),))

    def perfect_values(_, rules, heaps, mask):  # noqa: ARG001
        return (2 * theory.winning_action_mask(rules, heaps) - 1).astype(np.float32)

    monkeypatch.setattr(distill, "action_values", perfect_values)
    save_network(DigitNetwork(hidden_size=6, n_features=12), tmp_path / "network.pt", misere=False)
    curves = main(Args(tmp_path / "network.pt", updates=250, n_positions=50, eval_interval=125, noise=0.1))
    assert curves["update"].tolist() == [125, 250]
    assert curves.iloc[-1, 1:].min() >= 0.9
    assert (tmp_path / "results" / "learn_the_rule" / "distill.png").read_bytes().startswith(b"\x89PNG")


def test_it_starts_with_the_value_network_and_trains_both_heads(tmp_path, monkeypatch):
    monkeypatch.setattr(distill, "N_HEAPS", 2)
    monkeypatch.setattr(distill, "MAX_HEAP", 3)
    monkeypatch.setattr(distill, "TEST_BOARDS", ((4, 2), (2, 3)))
    torch.manual_seed(3)
    rules, value_network = NimRules((3, 3), misere=False), DigitNetwork(hidden_size=6, n_features=12)
    save_network(value_network, tmp_path / "network.pt", misere=False)
    positions, networks = rules.all_positions()[1:], []

    def perfect_values(_, rules, heaps, mask):  # noqa: ARG001
        return (2 * theory.winning_action_mask(rules, heaps) - 1).astype(np.float32)

    def train(network, *arguments):
        values = network(torch.from_numpy(positions))[1].detach().numpy()
        networks.append((network, values))
        original(network, *arguments)

    original = distill.train
    monkeypatch.setattr(distill, "train", train)
    monkeypatch.setattr(distill, "action_values", perfect_values)
    main(Args(tmp_path / "network.pt", updates=300, n_positions=50, eval_interval=300, noise=0))
    ((network, values),) = networks
    np.testing.assert_allclose(values, predict(value_network, positions), atol=1e-6)
    network.rules = rules
    with torch.no_grad():
        values = network.eval()(torch.from_numpy(positions))[1].numpy()
    np.testing.assert_array_equal(values > 0, theory.is_winning(rules, positions))


def test_wrong_values(refused, tmp_path):
    save_network(DigitNetwork(), tmp_path / "bounded.pt", misere=False, max_take=2)
    save_network(DigitNetwork(), tmp_path / "network.pt", misere=False)
    for args, words in (
        (Args(tmp_path / "missing.pt"), ["missing.pt"]),
        (Args(tmp_path / "bounded.pt"), ["max_take"]),
        (Args(tmp_path / "bounded.pt", updates=0), ["--updates", "0"]),
        (Args(tmp_path / "network.pt", noise=-1.0), ["--noise", "-1.0"]),
        (Args(tmp_path / "network.pt", learning_rate=-1.0), ["learning rate", "-1.0"]),
    ):
        with refused(*words):
            main(args)
