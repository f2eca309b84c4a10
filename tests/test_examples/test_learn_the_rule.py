"""The digit network and those that are compared with it: values, training in seconds, evaluation, files."""

import itertools

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import numpy as np
import pandas as pd
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from examples.common import load_player
from examples.learn_the_rule import ablate, evaluate, train
from examples.learn_the_rule.network import (
    NETWORKS,
    DigitNetwork,
    NetworkPolicy,
    load_network,
    predict,
    save_network,
)
from examples.learn_the_rule.train import Args
from nim_env import NimRules, evaluation, theory

torch.set_num_threads(1)  # the tensors are small

TINY = {"n_heaps": 2, "max_heap": 2, "updates": 4, "num_envs": 4}


def untrained(kind=DigitNetwork, seed=0, **options):
    torch.manual_seed(seed)
    return kind(**options).eval()


# --- Networks -------------------------------------------------------------------------------------


@given(st.sampled_from(list(NETWORKS)), st.integers(0, 100), st.integers(1, 70), st.integers(1, 8))
@settings(max_examples=40)
def test_the_value_depends_on_the_position_alone(name, seed, n_heaps, n_flags):
    """Not on the other positions, of which some have more digits, and not on the mode."""
    network = untrained(NETWORKS[name], seed, noise=0.0, n_flags=n_flags)
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


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_noise_in_training_only(name, noise):
    network = untrained(NETWORKS[name], noise=noise)
    heaps = torch.randint(8, (30, 4))
    for is_training in (True, False):
        first, second = (network.train(is_training)(heaps) for _ in range(2))
        assert torch.equal(first, second) == (noise == 0 or not is_training)


# --- Players and files ----------------------------------------------------------------------------


@pytest.mark.parametrize("misere", [False, True])
def test_one_ply_greedy_play_with_the_values_of_a_proven_network_is_perfect(misere, of_the_study):
    rules = NimRules((2, 3, 4), misere=misere)
    policy = NetworkPolicy(of_the_study("misere0" if misere else "normal0"), rules)
    report = evaluation.report(rules, policy, policy.values)
    assert report.champion
    assert report.expert == report.value_accuracy.won == report.value_accuracy.lost == 1


@pytest.mark.parametrize("name", NETWORKS)
def test_a_saved_network_is_a_player(name, tmp_path):
    network = untrained(NETWORKS[name], hidden_size=5, n_features=6, n_flags=2)
    rules = NimRules((2, 3), misere=True)
    save_network(network, tmp_path / "network.pt", misere=True)
    loaded, trained_on = load_network(tmp_path / "network.pt")
    assert trained_on == {"misere": True, "max_take": None}
    assert type(loaded) is type(network)
    heaps = rules.all_positions()[1:]
    np.testing.assert_array_equal(predict(loaded, heaps), predict(network, heaps))
    player = load_player("network.pt", rules)
    expected = NetworkPolicy(network, rules).action_probabilities(heaps, rules.action_mask(heaps))
    np.testing.assert_array_equal(player.action_probabilities(heaps, rules.action_mask(heaps)), expected)
    for other in (NimRules((2, 3), misere=False), NimRules((2, 3), max_take=2)):
        with pytest.raises(ValueError, match=r"network\.pt"):
            load_player("network.pt", other)


def test_other_files_are_refused(tmp_path):
    torch.save({"weights": {}}, tmp_path / "weights.pt")
    torch.save(nn.Linear(1, 1), tmp_path / "pickle.pt")
    infinite = untrained()
    infinite.initial_state.data[0] = torch.nan
    save_network(infinite, tmp_path / "nan.pt", misere=False)
    for name in ("weights", "pickle", "nan", "missing"):
        with pytest.raises(ValueError, match=rf"{name}\.pt"):
            load_network(tmp_path / f"{name}.pt")


# --- Evaluation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("misere", [False, True])
@pytest.mark.parametrize("won", [False, True])
def test_samples_are_uniform(misere, won):
    rules = NimRules((1, 2, 3), misere=misere)
    positions = evaluate.sample_positions(rules, 20_000, won, np.random.default_rng(0))
    is_drawn = theory.is_winning(rules, rules.all_positions()) == won
    is_drawn[0] = False
    expected = 20_000 / is_drawn.sum()
    numbers = np.bincount(rules.index(positions), minlength=rules.n_positions)
    assert not numbers[~is_drawn].any()
    np.testing.assert_allclose(numbers[is_drawn], expected, atol=5 * np.sqrt(expected))


def test_endgames_have_at_most_one_large_heap():
    positions = evaluate.sample_endgames(NimRules((4,) * 6), 500, np.random.default_rng(0))
    n_large = (positions > 1).sum(axis=1)
    assert set(n_large) == {0, 1}
    assert {tuple(row) for row in positions[n_large == 0]} == set(itertools.product((0, 1), repeat=6)) - {(0,) * 6}
    assert set(positions[n_large == 1].argmax(axis=1)) == set(range(6))


def test_figures_of_a_sample(of_the_study):
    """0-1 is won in normal play and lost in misère play."""
    rules = NimRules((3, 4), misere=False)
    heaps = np.array([[1, 1], [0, 1], [3, 1]])
    for name, figures in (("normal0", (1, 1, 1)), ("misere0", (0.5, 0.5, 0))):
        player = NetworkPolicy(of_the_study(name), rules)
        assert tuple(evaluate.evaluate_sample(player, player.values, rules, heaps).values()) == figures


@pytest.fixture
def small_boards(monkeypatch):
    monkeypatch.setattr(evaluate, "EXACT_BOARDS", ((1, 2), (1, 2, 3)))
    monkeypatch.setattr(evaluate, "SAMPLED_BOARDS", ((4, 3),))
    monkeypatch.setattr(evaluate, "N_POSITIONS", 50)
    monkeypatch.setattr(evaluate, "TRAINING_BOARD", (2, 3))
    monkeypatch.setattr(evaluate, "PUBLISHED", [{"board": "1-2-3", "expert": 0.4}])


@pytest.mark.usefixtures("small_boards")
@pytest.mark.parametrize("rules", [{"misere": False}, {"misere": True}, {"misere": False, "max_take": 2}])
def test_evaluating_players(rules, tmp_path):
    """A network, a function and a name; rows of the boards evaluated exactly are reports."""
    (tmp_path / "mine.py").write_text("def last(observation, mask):\n    return mask.nonzero()[0][-1]\n")
    network = untrained()
    save_network(network, tmp_path / "network.pt", **rules)
    table = evaluate.main(evaluate.Args(("network.pt", "last one=mine.py:last", "random"), **rules))
    is_published = rules == {"misere": False}
    assert table["board"].tolist() == ["1-2"] * 3 + ["1-2-3"] * (3 + is_published) + ["4 × 3"] * 6
    assert (evaluate.ALPHA_ZERO in table["player"].tolist()) == is_published
    board = NimRules((1, 2, 3), **rules)
    rows = table[table["board"] == "1-2-3"].set_index("player")
    for name, player in (("network.pt", NetworkPolicy(network, board)), ("random", "random")):
        for metric, figure in evaluation.report(board, player, getattr(player, "values", None)).to_dict().items():
            assert rows.loc[name, metric] == figure
    assert rows.loc["random", "seen"] == 17 / 23  # 6 of the 23 positions have three heaps
    assert rows.loc["last one", "expert"] < 1
    folder = tmp_path / "results" / "learn_the_rule"
    assert pd.read_csv(folder / "evaluation.csv").shape == table.shape
    assert "<svg" in (folder / "evaluation.svg").read_text("utf-8")


# --- Training -------------------------------------------------------------------------------------


def test_it_learns_the_rule_on_small_boards(tmp_path):
    """Trained on at most 3 heaps of at most 3 objects, it plays the test boards."""
    row = train.main(Args(n_heaps=3, max_heap=3, updates=600, noise=1.0, seed=1, folder=tmp_path))
    boards = [f"{n_heaps} × {size}" for n_heaps, size in train.TEST_BOARDS]
    assert min(row[board] for board in boards) >= 0.99
    assert row["20 × 15, outcome"] >= 0.99
    assert row["proven"] == 1


@pytest.mark.parametrize("options", [{}, {"misere": True}, {"max_take": 2, "network": "gru"}])
def test_training_is_reproducible(options, tmp_path, monkeypatch):
    """The same seed gives the same weights, whatever is evaluated; the file has the rules."""
    monkeypatch.setattr(train, "TEST_BOARDS", ((2, 2),))
    row = train.main(Args(**TINY, **options, folder=tmp_path))
    assert 0 <= row["2 × 2"] <= 1
    network, trained_on = load_network(tmp_path / "network.pt")
    assert trained_on == {"misere": options.get("misere", False), "max_take": options.get("max_take")}
    for seed, is_same in ((0, True), (1, False)):
        args = Args(**TINY, **options, seed=seed)
        other = train.make_network(args)
        train.train(other, args)
        same = [torch.equal(weight, other.state_dict()[name]) for name, weight in network.state_dict().items()]
        assert all(same) == is_same


def test_episodes_start_from_full_heaps_on_request():
    for is_random in (True, False):
        observations = [env.reset(seed=0)[0] for env in train.make_envs(Args(random_start=is_random))]
        assert all((heaps == 7).all() for heaps in observations) != is_random


def test_ablations_continue(tmp_path, monkeypatch):
    """An interrupted command makes the missing runs."""
    monkeypatch.setattr(ablate, "SETTINGS", [TINY, TINY | {"network": "sum"}])
    monkeypatch.setattr(train, "TEST_BOARDS", ((2, 2),))
    trained = []
    real_train = train.train

    def train_twice(network, args, callback):
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append((args.network, args.seed))
        real_train(network, args, callback)

    monkeypatch.setattr(train, "train", train_twice)
    args = ablate.Args(n_seeds=2, n_jobs=1, folder=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        ablate.main(args)
    assert trained == [("digit", 0), ("digit", 1)]
    trained.clear()
    table = ablate.main(args)
    assert trained == [("sum", 0), ("sum", 1)]
    assert table["seed"].tolist() == [0, 1, 0, 1]
    assert table["2 × 2"].between(0, 1).all()
