"""The digit network: its values, its training in seconds, its evaluation, and other networks."""

from dataclasses import replace

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

from common import load_player

import numpy as np
import pandas as pd
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from nim_env import NimRules, evaluation, theory

from learn_the_rule import ablate, evaluate, prove, train
from learn_the_rule.network import (
    DigitNetwork,
    NetworkPolicy,
    action_values,
    load_network,
    predict,
    save_network,
)
from learn_the_rule.train import Args

torch.set_num_threads(1)  # the tensors are small

SMALL = Args(n_heaps=3, max_heap=3, updates=800, noise=1.0)
TINY = {"n_heaps": 2, "max_heap": 2, "updates": 4, "num_envs": 4, "eval_interval": 2}


@pytest.fixture(scope="module")
def trained():
    """A network trained on at most 3 heaps of at most 3 objects."""
    torch.manual_seed(0)
    network = DigitNetwork(noise=SMALL.noise)
    train.train(network, SMALL)
    return network


def untrained(seed=0, n_flags=1):
    torch.manual_seed(seed)
    return DigitNetwork(n_flags=n_flags).eval()


def test_flags_tell_the_lowest_digits_apart():
    """Of heaps 1, 2, 4 and 8, one flag distinguishes the first, three flags the first three."""
    heaps = np.array([[1], [2], [4], [8], [16]])
    for n_flags in (1, 2, 3):
        values = predict(untrained(0, n_flags), heaps)
        distances = np.abs(values[:, None] - values)
        assert distances[n_flags:, n_flags:].max() < 1e-6
        assert distances[:n_flags, n_flags:].min() > 1e-6


def flat(network):
    """All weights of a network."""
    return nn.utils.parameters_to_vector(network.parameters())


class PerfectValues(nn.Module):
    """1 for won positions and -1 for losing positions."""

    def __init__(self, misere):
        super().__init__()
        self.misere = misere

    def forward(self, heaps):
        rules = NimRules((100,) * heaps.shape[1], misere=self.misere)
        return torch.from_numpy(np.where(theory.is_winning(rules, heaps.numpy()), 1, -1).astype(np.float32))


# --- Network --------------------------------------------------------------------------------------


@given(seed=st.integers(0, 100), n_heaps=st.integers(1, 70), n_flags=st.integers(1, 8))
@settings(max_examples=20)
def test_the_value_depends_on_the_position_alone(seed, n_heaps, n_flags):
    network, generator = untrained(seed, n_flags), np.random.default_rng(seed)
    heaps = generator.integers(0, 4, size=(5, n_heaps))
    alone = np.concatenate([predict(network, row[None]) for row in heaps])
    among_larger = predict(network, np.concatenate([heaps, heaps + 2**20]))[:5]  # with more digits
    with_noise = network.train()
    with_noise.noise = 0.0
    with torch.no_grad():
        in_training = with_noise(torch.from_numpy(heaps)).numpy()
    np.testing.assert_allclose(among_larger, alone, atol=1e-5)
    np.testing.assert_allclose(in_training, alone, atol=1e-5)


def test_noise_in_training_only():
    network = untrained()
    heaps = torch.tensor([[1, 2, 3]])
    assert network(heaps) == network(heaps)
    assert network.train()(heaps) != network(heaps)


@pytest.mark.parametrize("misere", [False, True])
def test_one_ply_greedy_play_with_perfect_values_is_perfect(misere):
    rules = NimRules((2, 3, 4), misere=misere)
    policy = NetworkPolicy(PerfectValues(misere), rules)
    report = evaluation.report(rules, policy, policy.values)
    assert report.champion
    assert report.expert == report.value_accuracy.won == report.value_accuracy.lost == 1
    heaps = rules.all_positions()[1:]
    values = action_values(policy.network, rules, heaps, rules.action_mask(heaps))
    np.testing.assert_array_equal(values > 0, theory.winning_action_mask(rules, heaps))
    np.testing.assert_array_equal(np.isneginf(values), rules.action_mask(heaps) == 0)


def test_a_saved_network_is_a_player(tmp_path):
    network = untrained(n_flags=2)
    rules = NimRules((2, 3), misere=True)
    save_network(network, tmp_path / "network.pt", misere=True)
    loaded, trained_on = load_network(tmp_path / "network.pt")
    assert trained_on == {"misere": True, "max_take": None}
    heaps = rules.all_positions()[1:]
    np.testing.assert_array_equal(predict(loaded, heaps), predict(network, heaps))
    player = load_player("network.pt", rules)
    expected = NetworkPolicy(network, rules).action_probabilities(heaps, rules.action_mask(heaps))
    np.testing.assert_array_equal(player.action_probabilities(heaps, rules.action_mask(heaps)), expected)
    for other in (NimRules((2, 3), misere=False), NimRules((2, 3), max_take=2)):
        with pytest.raises(ValueError, match=r"network\.pt.*misere=True"):
            load_player("network.pt", other)


@pytest.mark.parametrize("damage", [lambda file: file[:2000], lambda file: file[:-50], lambda _: b""])
def test_a_damaged_network_is_named(damage, tmp_path):
    path = tmp_path / "network.pt"
    save_network(untrained(), path, misere=False)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"network\.pt is damaged"):
        load_network(path)


def test_other_files_of_pytorch_are_refused(tmp_path):
    torch.save({"weights": {}}, tmp_path / "weights.pt")
    torch.save(nn.Linear(1, 1), tmp_path / "pickle.pt")
    infinite = untrained()
    with torch.no_grad():
        infinite.initial_state[0] = torch.nan
    save_network(infinite, tmp_path / "nan.pt", misere=False)
    for name in ("weights.pt", "pickle.pt", "nan.pt"):
        with pytest.raises(ValueError, match=name):
            load_network(tmp_path / name)
    with pytest.raises(ValueError, match=r"missing\.pt"):
        load_network(tmp_path / "missing.pt")


# --- Evaluation -----------------------------------------------------------------------------------


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4).filter(lambda heaps: heaps != [1]),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=20)
def test_samples_are_won_or_lost(heaps, misere, won):
    rules = NimRules(heaps, misere=misere)
    if won in theory.is_winning(rules, rules.all_positions()[1:]):
        positions = evaluate.sample_positions(rules, 50, won, np.random.default_rng(0))
        assert positions.shape == (50, len(heaps))
        assert (theory.is_winning(rules, positions) == won).all()
        assert positions.any(axis=1).all()


def test_samples_are_uniform():
    rules = NimRules((1, 2, 3))
    positions = evaluate.sample_positions(rules, 20_000, True, np.random.default_rng(0))
    numbers = np.bincount(rules.index(positions), minlength=rules.n_positions)
    won = theory.is_winning(rules, rules.all_positions())
    won[0] = False
    assert not numbers[~won].any()
    expected = 20_000 / won.sum()
    np.testing.assert_allclose(numbers[won], expected, atol=5 * np.sqrt(expected))


def test_endgames_have_at_most_one_large_heap():
    rules = NimRules((4,) * 6)
    positions = evaluate.sample_endgames(rules, 500, np.random.default_rng(0))
    n_large = (positions > 1).sum(axis=1)
    assert set(n_large) == {0, 1}
    assert positions.any(axis=1).all()
    assert {tuple(row) for row in positions[n_large == 0]} == {
        tuple(row) for row in NimRules((1,) * 6).all_positions()[1:]
    }
    assert set(positions[n_large == 1].max(axis=1)) == {2, 3, 4}
    assert set(positions[n_large == 1].argmax(axis=1)) == set(range(6))


def test_figures_of_a_sample():
    rules = NimRules((3, 4), misere=False)
    heaps = np.array([[1, 2], [2, 2], [0, 4], [3, 3], [3, 3]])
    figures = evaluate.evaluate_sample(PerfectValues(False), rules, heaps)
    assert (
        figures["expert"]
        == figures["value_accuracy_won"]
        == figures["value_accuracy_lost"]
        == figures["high"]
        == 1
    )
    assert 0.3 < figures["low"] < 0.4  # Wilson's interval of 2 of 2: 1 / (1 + 1.96² / 2)
    figures = evaluate.evaluate_sample(PerfectValues(True), rules, np.array([[1, 1], [0, 1], [3, 1]]))
    assert figures["value_accuracy_won"] == 0.5  # 0-1 is won in normal play and lost in misère play
    assert figures["value_accuracy_lost"] == 0


def test_seen_positions_are_those_of_the_training_boards_up_to_order_and_empty_heaps():
    positions = np.array([[3, 0, 1], [0, 4, 3], [1, 2, 3], [0, 0, 1]])
    np.testing.assert_array_equal(evaluate.is_seen(positions, 2, 3), [True, False, False, True])


@pytest.mark.parametrize("rules", [{"misere": False}, {"misere": True}, {"misere": False, "max_take": 2}])
def test_evaluating_a_file(rules, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluate, "ENUMERATED_BOARDS", ((1, 2, 3),))
    monkeypatch.setattr(evaluate, "SAMPLED_BOARDS", ((4, 3),))
    network = untrained()
    save_network(network, tmp_path / "network.pt", **rules)
    table = evaluate.main(evaluate.Args(tmp_path / "network.pt", n_heaps=2, n_positions=50))
    assert table["positions"].tolist() == ["all", "random", "endgames"]
    report = evaluation.report(*(lambda r: (r, NetworkPolicy(network, r)))(NimRules((1, 2, 3), **rules)))
    assert (table["expert"][0], table["champion"][0]) == (report.expert, report.champion)
    assert table["seen"][0] == 17 / 23  # 6 of the 23 positions have three heaps
    assert (table["low"].dropna() <= table["expert"][1:]).all()
    saved = pd.read_csv(tmp_path / "results" / "learn_the_rule" / "evaluation.csv")
    assert saved.shape == table.shape


# --- Training -------------------------------------------------------------------------------------


def test_it_learns_the_rule_on_small_boards(trained):
    network = trained
    generator = np.random.default_rng(0)
    rules = NimRules((7,) * 7, misere=False)
    samples = [evaluate.sample_positions(rules, 1000, won, generator) for won in (True, False)]
    figures = evaluate.evaluate_sample(network, rules, np.concatenate(samples))
    assert min(figures["expert"], figures["value_accuracy_won"], figures["value_accuracy_lost"]) >= 0.99


def test_the_same_seed_trains_the_same_network():
    networks = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        networks.append(DigitNetwork())
        train.train(networks[-1], Args(**TINY, seed=seed))
    first, second, other = (flat(network) for network in networks)
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("options", [{}, {"misere": True}, {"max_take": 2}])
def test_the_script(options, tmp_path, monkeypatch):
    monkeypatch.setattr(train, "CURVE_BOARDS", ((2, 2),))
    curves = train.main(Args(**TINY, **options))
    folder = tmp_path / "results" / "learn_the_rule"
    assert curves["update"].tolist() == [2, 4]
    assert curves["2 × 2"].between(0, 1).all()
    assert (folder / "learn_the_rule.png").read_bytes().startswith(b"\x89PNG")
    assert list((folder / "tensorboard").iterdir())
    network, trained_on = load_network(folder / "network.pt")
    assert trained_on == {"misere": options.get("misere", False), "max_take": options.get("max_take")}
    torch.manual_seed(0)
    alone = DigitNetwork()
    train.train(alone, Args(**TINY, **options))  # the evaluations between change nothing
    for name, weight in network.state_dict().items():
        assert torch.equal(weight, alone.state_dict()[name])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n_flags": 9}, ["--n-flags", "9"]),
        ({"learning_rate": -1.0}, ["learning rate", "-1.0"]),
        ({"num_envs": 10**12}, ["num_envs"]),
        ({"max_take": 0}, ["max_take", "0"]),
        ({"max_heap": 10**7}, ["10,000,000"]),
    ],
)
def test_wrong_values(wrong, words, refused, tmp_path):
    with refused(*words):
        train.main(Args(**wrong))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "value"), [("--updates", "0"), ("--epsilon", "1.5"), ("--noise", "inf"), ("--seed", str(2**31))]
)
def test_wrong_numbers(option, value, refused_option):
    refused_option(Args, option, value)


# --- Ablations ------------------------------------------------------------------------------------


def test_every_row_of_the_ablations(tmp_path, monkeypatch):
    small = {"training": {"n_heaps": 2, "max_heap": 2, "num_envs": 4}, "n_seeds": 1}
    boards = ((2, 3), (3, 3))
    rows = {
        name: replace(row, test_boards=boards[: len(row.test_boards)], **small)
        for name, row in ablate.ROWS.items()
    }
    monkeypatch.setattr(ablate, "ROWS", rows)
    margins = {0.0: None, 0.1: 1.0, 0.25: 1.0, 0.5: None, 1.0: 1.0, 2.0: 0.5}
    monkeypatch.setattr(ablate, "prove", lambda network, _: prove.Proof(None, margins[network.noise], ""))
    args = ablate.Args(updates=1, n_positions=10, n_jobs=1)
    table = ablate.main(args)
    assert table["row"].tolist() == list(ablate.ROWS)
    boards = table.drop(columns=["row", "seed", "weights", "seconds"])
    assert boards.stack().dropna().between(0, 1).all()
    assert boards.loc[table["row"].str.startswith("MLP")].notna().sum(axis=1).tolist() == [1, 1]
    assert table["weights"].tolist() == [len(flat(row.make())) for row in rows.values()]
    proven = table.set_index("row")["proven"].dropna()
    assert proven["second-order cell, no noise":"second-order cell, noise 2"].tolist() == [0, 1, 1, 0, 1, 1]
    assert len(proven) == 11  # other cells have no proof
    folder = tmp_path / "results" / "learn_the_rule" / "ablate"
    assert (folder / "ablate.png").read_bytes().startswith(b"\x89PNG")
    assert len(pd.read_csv(folder / "ablate.csv")) == len(table)


def test_the_ablations_continue(monkeypatch):
    """An interrupted command makes the missing runs, and the table has those of all commands."""
    small = {"training": {"n_heaps": 2, "max_heap": 2, "num_envs": 4}, "test_boards": ((2, 3),)}
    rows = {name: replace(ablate.ROWS[name], **small) for name in ("MLP, bits", "DeepSets")}
    monkeypatch.setattr(ablate, "ROWS", rows)
    trained, real_train = [], train.train

    def train_twice(network, args):
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append((type(network).__name__, args.seed))
        real_train(network, args)

    monkeypatch.setattr(train, "train", train_twice)
    args = ablate.Args(updates=1, n_positions=10, n_seeds=2, n_jobs=1)
    with pytest.raises(KeyboardInterrupt):
        ablate.main(args)
    assert trained == [("FixedSizeNetwork", 0), ("DeepSetsNetwork", 0)]  # every row first has one seed
    trained.clear()
    assert len(ablate.main(replace(args, rows=("MLP, bits",)))) == 3
    assert trained == [("FixedSizeNetwork", 1)]
    assert len(ablate.main(args)) == 4
    trained.clear()
    pd.testing.assert_frame_equal(ablate.main(args), table := ablate.main(replace(args, n_seeds=1)))
    assert len(table) == 4
    assert not trained
    assert len(ablate.main(replace(args, misere=True, n_seeds=1))) == 2  # another table


@pytest.mark.parametrize("make", [row.make for row in ablate.ROWS.values()], ids=list(ablate.ROWS))
def test_values_of_the_ablated_networks_depend_on_the_position_alone(make):
    torch.manual_seed(0)
    network = make()
    heaps = np.random.default_rng(0).integers(0, 8, size=(30, 4))
    alone = np.concatenate([predict(network, row[None]) for row in heaps])
    np.testing.assert_allclose(predict(network, heaps), alone, atol=1e-5)
    assert (np.abs(alone) <= 1).all()
    assert len(np.unique(alone)) > 1


@pytest.mark.parametrize("cell", [*ablate.CELLS, "affine"])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_noise_of_the_cells_in_training_only(cell, noise):
    torch.manual_seed(0)
    is_affine = cell == "affine"
    network = ablate.AffineNetwork(noise=noise) if is_affine else ablate.CellNetwork(ablate.CELLS[cell], 8, noise)
    heaps = torch.randint(8, (30, 4))
    for is_training in (True, False):
        first, second = (network.train(is_training)(heaps) for _ in range(2))
        assert torch.equal(first, second) == (noise == 0 or not is_training)


@pytest.mark.parametrize("make", [ablate.DeepSetsNetwork, ablate.TransformerNetwork])
def test_networks_on_sets_of_bits_ignore_the_order_of_the_heaps(make):
    torch.manual_seed(0)
    network, generator = make(), np.random.default_rng(0)
    heaps = generator.integers(0, 8, size=(30, 6))
    shuffled = generator.permuted(heaps, axis=1)
    np.testing.assert_allclose(predict(network, shuffled), predict(network, heaps), atol=1e-5)


def test_the_affine_network_is_affine_in_its_state():
    """The state after a sequence is an affine function of the state before it."""
    torch.manual_seed(0)
    network, bits = ablate.AffineNetwork().eval(), torch.tensor([[0, 1, 1, 0, 1]])
    states = []
    for initial_state in (torch.zeros(8), torch.ones(8), 3 * torch.ones(8)):
        network.initial_state.data = initial_state
        states.append(network.scan(bits).detach())
    torch.testing.assert_close(states[2] - states[0], 3 * (states[1] - states[0]))
    assert not torch.allclose(states[1], states[0])


def test_only_the_network_of_own_digits_tells_higher_digits_apart():
    torch.manual_seed(0)
    for network, is_apart in ((ablate.OwnDigitsNetwork(), True), (ablate.SumNetwork(), False)):
        second, third = predict(network, np.array([[2], [4]]))
        assert (abs(second - third) > 1e-4) == is_apart


def test_a_sum_counts_the_digits():
    """Of heaps 2 and 6, the second has one more digit with a one; a maximum cannot tell them apart."""
    torch.manual_seed(0)
    for make, is_apart in ((ablate.SumNetwork, True), (DigitNetwork, False)):
        one_digit, two_digits = predict(make(), np.array([[2], [6]]))
        assert (abs(one_digit - two_digits) > 1e-4) == is_apart


def test_episodes_start_from_full_heaps_on_request():
    for is_random in (True, False):
        envs = train.make_envs(Args(random_start=is_random))
        observations = [env.reset(seed=0)[0] for env in envs]
        assert all((heaps == 7).all() for heaps in observations) != is_random


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"rows": ("CNN",)}, ["--rows", "CNN"]), ({"n_jobs": 0}, ["--n-jobs"])],
)
def test_what_the_ablations_refuse(wrong, words, refused, tmp_path):
    with refused(*words):
        ablate.main(ablate.Args(**wrong))
    assert not list(tmp_path.iterdir())
