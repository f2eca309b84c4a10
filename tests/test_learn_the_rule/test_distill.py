"""distill.py: scores of moves without lookahead."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[proof,sb3]"')

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nim_env import NimRules, evaluation, theory

from learn_the_rule import distill
from learn_the_rule.network import PolicyValueNetwork, load_network, load_policy, save_network

torch.set_num_threads(1)  # the tensors are small


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), radius=st.sampled_from([0.0, 0.01, 0.3]))
def test_the_bounds_contain_the_scores_of_all_features_within_the_radius(seed, radius):
    torch.manual_seed(seed)
    network = PolicyValueNetwork(hidden_size=3, n_features=5, n_move_features=4).eval()
    rules, heaps = NimRules((3, 6)), torch.tensor([[1, 2], [3, 5], [0, 6]])
    with torch.no_grad():
        low, high = distill.score_bounds(network, rules, heaps, radius)
        features, rows = network.read_digits(heaps)
        for _ in range(10):  # each feature at an end, or between
            shift = radius * torch.clamp(2 * torch.randn_like(features), -1, 1)
            inputs = distill.add_changes(features + shift)
            of_moves = distill.pool_moves(network.move_layers(inputs), rows, rules, heaps)
            scores = network.score_layers(of_moves).squeeze(-1)
            assert (low - 1e-5 <= scores).all()
            assert (scores <= high + 1e-5).all()
        if radius == 0:
            torch.testing.assert_close(low, network.scores(rules, heaps))
            torch.testing.assert_close(high, network.scores(rules, heaps))


def test_the_script_learns_to_take_all_of_one_heap(tmp_path, monkeypatch, of_the_study):
    monkeypatch.setattr(distill, "N_HEAPS", 1)
    monkeypatch.setattr(distill, "MAX_HEAP", 3)
    value_network, path = of_the_study("normal4"), tmp_path / "policy.pt"
    save_network(value_network, tmp_path / "network.pt", misere=False)
    distill.main(distill.Args(tmp_path / "network.pt", updates=100, policy=path))
    rules = NimRules((3,), misere=False)
    assert evaluation.mastery(rules, load_policy(path, rules)).expert == 1
    weights = load_network(path)[0].state_dict()
    assert all(weight.equal(weights[name]) for name, weight in value_network.state_dict().items())


def test_a_proven_policy_scores_the_moves_of_large_boards_right(of_the_study):
    network = of_the_study("policy4")
    generator = np.random.default_rng(0)
    for n_heaps, size in ((3, 2000), (60, 15), (300, 2)):
        rules = NimRules((size,) * n_heaps, misere=False)
        heaps = generator.integers(size, size=(40, n_heaps), endpoint=True)
        heaps[:20] *= generator.random((20, n_heaps)) < 0.1  # endgames
        with torch.no_grad():
            scores = network.scores(rules, torch.from_numpy(heaps)).numpy()
        mask = rules.action_mask(heaps) > 0
        is_winning = theory.winning_action_mask(rules, heaps) > 0
        np.testing.assert_array_equal(scores[mask] > 0, is_winning[mask])
