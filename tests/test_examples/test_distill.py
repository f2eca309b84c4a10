"""distill.py: scores of moves without lookahead."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

from pathlib import Path

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.learn_the_rule import check, distill
from examples.learn_the_rule.distill import Args, main
from examples.learn_the_rule.network import (
    DigitNetwork,
    PolicyValueNetwork,
    ScorePolicy,
    load_policy,
    load_provable,
    predict,
    save_network,
)
from nim_env import NimRules, evaluation, theory

CERTIFICATES = Path(check.__file__).parent / "certificates"

torch.set_num_threads(1)  # the tensors are small


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), radius=st.sampled_from([0.0, 0.01, 0.3]))
def test_the_bounds_contain_the_scores_of_all_features_within_the_radius(seed, radius):
    torch.manual_seed(seed)
    network = PolicyValueNetwork(NimRules((3, 6)), hidden_size=3, n_features=5, n_move_features=4).eval()
    heaps = torch.tensor([[1, 2], [3, 5], [0, 6]])
    with torch.no_grad():
        low, high = distill.score_bounds(network, heaps, radius)
        features, rows = network.read_digits(heaps)
        for _ in range(20):  # each feature at an end, or between
            shift = radius * torch.clamp(2 * torch.randn_like(features), -1, 1)
            scores = network.score_layers(
                network.pool_moves(network.move_layers(network.add_changes(features + shift)), rows, heaps)
            ).squeeze(-1)
            assert (low - 1e-5 <= scores).all()
            assert (scores <= high + 1e-5).all()
        if radius == 0:
            torch.testing.assert_close(low, network(heaps)[0])
            torch.testing.assert_close(high, network(heaps)[0])


def test_it_learns_to_take_all_of_one_heap(monkeypatch):
    monkeypatch.setattr(distill, "N_HEAPS", 1)
    monkeypatch.setattr(distill, "MAX_HEAP", 3)

    def perfect_values(_, rules, heaps, mask):  # noqa: ARG001
        return (2 * theory.winning_action_mask(rules, heaps) - 1).astype(np.float32)

    monkeypatch.setattr(distill, "action_values", perfect_values)
    torch.manual_seed(0)
    rules = NimRules((3,), misere=False)
    network = PolicyValueNetwork(rules, hidden_size=6, n_features=12)
    before = {name: weight.clone() for name, weight in network.state_dict().items()}
    distill.train(network, DigitNetwork(), Args(Path("network.pt"), updates=250, radius=0.01), misere=False)
    assert evaluation.mastery(rules, ScorePolicy(network, rules)).expert == 1
    for name, weight in network.state_dict().items():
        assert weight.equal(before[name]) != name.startswith(("move", "score"))  # the head alone


@pytest.mark.parametrize(("name", "is_proven"), [("normal4", True), ("misere0", False)])
def test_a_policy_is_proven_with_the_weights_of_the_value_network(
    name, is_proven, tmp_path, monkeypatch, capsys, of_the_study
):
    """The head comes from a certificate; no update changes it."""
    saved = check.read(CERTIFICATES / "policy4.npz")
    value_network = of_the_study(name)
    save_network(value_network, tmp_path / "network.pt", misere=not is_proven)

    def train(network, *_):
        head = {key: torch.from_numpy(array) for key, array in saved.items() if key.startswith(("move", "score"))}
        network.load_state_dict(head, strict=False)

    monkeypatch.setattr(distill, "train", train)
    file = tmp_path / "results" / "learn_the_rule" / "policy.npz"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"the certificate of another run")
    main(Args(tmp_path / "network.pt"))
    assert file.exists() == is_proven
    assert ("not proven" in capsys.readouterr().out) != is_proven
    rules = NimRules((4, 1, 6), misere=not is_proven)
    player = load_policy(file.with_suffix(".pt"), rules)
    assert (evaluation.mastery(rules, player).expert == 1) == is_proven
    if is_proven:
        certificate = check.read(file, file.with_suffix(".pt"))
        for key, weight in value_network.state_dict().items():
            np.testing.assert_array_equal(certificate[key], weight)


def test_a_saved_policy_is_a_player_and_a_value_network(tmp_path):
    torch.manual_seed(0)
    rules = NimRules((2, 5, 3), misere=False)
    network = PolicyValueNetwork(rules, 7, hidden_size=3, n_features=5, n_flags=2)
    save_network(network, tmp_path / "policy.pt", misere=False)
    positions = rules.all_positions()[1:]
    mask = rules.action_mask(positions)
    with torch.no_grad():
        scores, values = (part.numpy() for part in network.eval()(torch.from_numpy(positions)))
    player = load_policy(tmp_path / "policy.pt", rules)
    played = player.action_probabilities(positions.astype(np.uint16), mask).argmax(axis=1)
    np.testing.assert_array_equal(played, np.where(mask, scores, -np.inf).argmax(axis=1))
    with pytest.raises(ValueError, match=r"policy\.pt"):  # of two flags
        load_provable(tmp_path / "policy.pt")
    for found in (player.values(positions), predict(network.value_network(), positions)):
        np.testing.assert_allclose(found, values, atol=1e-6)


def test_a_proven_policy_scores_the_moves_of_large_boards_right(of_the_study):
    network = of_the_study("policy4", PolicyValueNetwork(NimRules((1,))))
    generator = np.random.default_rng(0)
    for n_heaps, size in ((3, 2000), (60, 15), (300, 2)):
        network.rules = rules = NimRules((size,) * n_heaps, misere=False)
        heaps = generator.integers(size, size=(40, n_heaps), endpoint=True)
        heaps[:20] *= generator.random((20, n_heaps)) < 0.1  # endgames
        with torch.no_grad():
            scores = network(torch.from_numpy(heaps))[0].numpy()
        mask = rules.action_mask(heaps) > 0
        is_winning = theory.winning_action_mask(rules, heaps) > 0
        np.testing.assert_array_equal(scores[mask] > 0, is_winning[mask])
