"""The digit network: values, players, files, training in seconds, evaluation."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[proof,sb3]"')

import numpy as np
import pandas as pd
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from nim_env import NimRules, evaluation

from learn_the_rule import evaluate, train
from learn_the_rule.network import (
    DigitNetwork,
    NetworkPolicy,
    PolicyValueNetwork,
    ScorePolicy,
    load_network,
    predict,
    save_network,
)
from saved_players import load_player

torch.set_num_threads(1)  # the tensors are small


def untrained(kind=DigitNetwork, seed=0, **options):
    torch.manual_seed(seed)
    return kind(**options).eval()


@given(st.integers(0, 100), st.integers(1, 70), st.integers(1, 8))
@settings(max_examples=15)
def test_the_value_depends_on_the_position_alone(seed, n_heaps, n_flags):
    """Not on the other positions, of which some have more digits, and not on the mode."""
    network = untrained(seed=seed, noise=0.0, n_flags=n_flags)
    heaps = np.random.default_rng(seed).integers(0, 4, size=(5, n_heaps))
    alone = np.concatenate([predict(network, row[None]) for row in heaps])
    assert (np.abs(alone) <= 1).all()
    np.testing.assert_allclose(predict(network, np.concatenate([heaps, heaps + 2**20]))[:5], alone, atol=1e-5)
    with torch.no_grad():
        in_training = network.train()(torch.from_numpy(heaps)).numpy()
    np.testing.assert_allclose(in_training, alone, atol=1e-5)


@pytest.mark.parametrize("n_flags", [1, 2, 3])
def test_flags_tell_the_lowest_digits_apart(n_flags):
    values = predict(untrained(n_flags=n_flags), np.array([[1], [2], [4], [8], [16]]))
    assert len(np.unique(values.round(6))) == n_flags + 1


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_noise_in_training_only(noise):
    network = untrained(noise=noise)
    heaps = torch.randint(8, (30, 4))
    for is_training in (True, False):
        first, second = (network.train(is_training)(heaps) for _ in range(2))
        assert torch.equal(first, second) == (noise == 0 or not is_training)


@pytest.mark.parametrize("misere", [False, True])
def test_one_ply_greedy_play_with_the_values_of_a_proven_network_is_perfect(misere, of_the_study):
    rules = NimRules((2, 3, 4), misere=misere)
    policy = NetworkPolicy(of_the_study("misere0" if misere else "normal0"), rules)
    report = evaluation.report(rules, policy, policy.values)
    assert report.champion
    assert report.expert == report.value_accuracy.won == report.value_accuracy.lost == 1


@pytest.mark.parametrize(
    ("network", "player_type"), [(DigitNetwork, NetworkPolicy), (PolicyValueNetwork, ScorePolicy)]
)
def test_a_saved_network_is_a_player(network, player_type, tmp_path):
    """Of its rules, whatever its sizes."""
    network, path = untrained(network, hidden_size=5, n_features=6, n_flags=2), tmp_path / "network.pt"
    rules = NimRules((2, 3), misere=True)
    save_network(network, path, misere=True)
    assert load_network(path)[1] == {"misere": True, "max_take": None}
    heaps = rules.all_positions()[1:]
    mask = rules.action_mask(heaps)
    player = load_player(str(path), rules).policy
    expected = player_type(network, rules).action_probabilities(heaps, mask)
    np.testing.assert_array_equal(player.action_probabilities(heaps.astype(np.uint16), mask), expected)
    np.testing.assert_array_equal(player.values(heaps), predict(network, heaps))
    for other in (NimRules((2, 3), misere=False), NimRules((2, 3), max_take=2)):
        with pytest.raises(ValueError, match=r"network\.pt"):
            load_player(str(path), other)


def test_other_files_are_refused(tmp_path):
    torch.save({"weights": {}}, tmp_path / "weights.pt")
    torch.save(nn.Linear(1, 1), tmp_path / "pickle.pt")
    infinite = untrained()
    infinite.initial_state.data[0] = torch.nan
    save_network(infinite, tmp_path / "nan.pt", misere=False)
    for name in ("weights", "pickle", "nan", "missing"):
        with pytest.raises(ValueError, match=rf"{name}\.pt"):
            load_network(tmp_path / f"{name}.pt")


def test_it_learns_a_small_board(tmp_path, monkeypatch):
    monkeypatch.setattr(train, "TEST_BOARDS", [train.OUTCOME_BOARD])
    monkeypatch.setattr(train, "N_POSITIONS", 50)
    training = {"n_heaps": 2, "max_heap": 3, "updates": 150, "learning_rate": 0.01, "num_envs": 16}
    row = train.main(train.Args(**training, folder=tmp_path))
    assert set(row) == {"seed", "seconds", "20 × 15", "20 × 15, outcome", "proven"}
    rules = NimRules((3, 3), misere=False)
    assert evaluation.mastery(rules, load_player(str(tmp_path / "network.pt"), rules).policy).expert == 1


@pytest.mark.parametrize("options", [{}, {"misere": True}, {"max_take": 2}])
def test_training_is_reproducible(options):
    trained = []
    for seed in (0, 0, 1):
        network = untrained()
        train.train(network, train.Args(n_heaps=2, max_heap=2, updates=4, num_envs=4, seed=seed, **options))
        trained.append(torch.cat([weight.flatten() for weight in network.parameters()]))
    assert torch.equal(trained[0], trained[1])
    assert not torch.equal(trained[0], trained[2])


def test_episodes_start_from_full_heaps_on_request():
    for is_random in (True, False):
        observations = [env.reset(seed=0)[0] for env in train.make_envs(train.Args(random_start=is_random))]
        assert all((heaps == 7).all() for heaps in observations) != is_random


@pytest.mark.parametrize("options", [{}, {"misere": True}, {"max_take": 2}])
def test_evaluating_players(options, tmp_path, monkeypatch):
    """A network, a function and a name; the rows are reports."""
    monkeypatch.setattr(evaluate, "BOARDS", {"1-2": (1, 2), "1-2-3": (1, 2, 3)})
    monkeypatch.setattr(evaluate, "PUBLISHED", [{"board": "1-2-3", "expert": 0.4}])
    (tmp_path / "mine.py").write_text("def last(observation, mask):\n    return mask.nonzero()[0][-1]\n")
    network, rules = untrained(), NimRules((1, 2, 3), **{"misere": False} | options)
    save_network(network, tmp_path / "network.pt", misere=rules.misere, max_take=rules.max_take)
    players = (f"mine={tmp_path / 'network.pt'}", f"last one={tmp_path / 'mine.py'}:last", "random")
    files = {"table": tmp_path / "table.csv", "picture": tmp_path / "picture.svg"}
    table = evaluate.main(evaluate.Args(players, **options, **files))
    assert table["board"].tolist() == ["1-2"] * 3 + ["1-2-3"] * (3 if options else 4)
    assert (evaluate.ALPHA_ZERO in table["player"].tolist()) == (not options)
    rows = table[table["board"] == "1-2-3"].set_index("player")
    policy = NetworkPolicy(network, rules)
    for name, report in (
        ("mine", evaluation.report(rules, policy, policy.values)),
        ("random", evaluation.report(rules, "random")),
    ):
        assert rows.loc[name].dropna().to_dict() == report.to_dict() | {"board": "1-2-3"}
    assert rows.loc["last one", "expert"] < 1
    assert pd.read_csv(files["table"]).shape == table.shape
    assert "<svg" in files["picture"].read_text("utf-8")
