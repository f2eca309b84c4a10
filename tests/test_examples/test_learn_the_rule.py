"""learn_the_rule.py, prove_the_rule.py and ablate_the_rule.py: a network trained in seconds, and its proof."""

from dataclasses import replace

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

from common import load_player

import ablate_the_rule
import numpy as np
import pandas as pd
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from nim_env import NimRules, evaluation, theory

import learn_the_rule
import prove_the_rule
from learn_the_rule import Args, DigitNetwork, NetworkPolicy, load_network, predict, save_network
from prove_the_rule import Bounds, prove

torch.set_num_threads(1)  # the tensors are small

SMALL = Args(n_heaps=3, max_heap=3, updates=800, noise=1.0)
TINY = {"n_heaps": 2, "max_heap": 2, "updates": 4, "num_envs": 4, "n_positions": 20, "eval_interval": 2}


@pytest.fixture(scope="module")
def trained():
    """A network trained on at most 3 heaps of at most 3 objects, and the positions it has visited."""
    torch.manual_seed(0)
    network = DigitNetwork(noise=SMALL.noise)
    visited = learn_the_rule.train(network, SMALL)
    return network, visited


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
    values = learn_the_rule.action_values(policy.network, rules, heaps, rules.action_mask(heaps))
    np.testing.assert_array_equal(values > 0, theory.winning_action_mask(rules, heaps))
    np.testing.assert_array_equal(np.isneginf(values), rules.action_mask(heaps) == 0)


def test_a_saved_network_is_a_player(tmp_path):
    network = untrained(n_flags=2)
    rules = NimRules((2, 3), misere=True)
    save_network(network, Args(misere=True), tmp_path / "network.pt")
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
    save_network(untrained(), Args(), path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"network\.pt is damaged"):
        load_network(path)


def test_other_files_of_pytorch_are_refused(tmp_path):
    torch.save({"weights": {}}, tmp_path / "weights.pt")
    torch.save(nn.Linear(1, 1), tmp_path / "pickle.pt")
    infinite = untrained()
    with torch.no_grad():
        infinite.initial_state[0] = torch.nan
    save_network(infinite, Args(), tmp_path / "nan.pt")
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
        positions = learn_the_rule.sample_positions(rules, 50, won, np.random.default_rng(0))
        assert positions.shape == (50, len(heaps))
        assert (theory.is_winning(rules, positions) == won).all()
        assert positions.any(axis=1).all()


def test_samples_are_uniform():
    rules = NimRules((1, 2, 3))
    positions = learn_the_rule.sample_positions(rules, 20_000, True, np.random.default_rng(0))
    numbers = np.bincount(rules.index(positions), minlength=rules.n_positions)
    won = theory.is_winning(rules, rules.all_positions())
    won[0] = False
    assert not numbers[~won].any()
    expected = 20_000 / won.sum()
    np.testing.assert_allclose(numbers[won], expected, atol=5 * np.sqrt(expected))


def test_endgames_have_at_most_one_large_heap():
    rules = NimRules((4,) * 6)
    positions = learn_the_rule.sample_endgames(rules, 500, np.random.default_rng(0))
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
    figures = learn_the_rule.evaluate_sample(PerfectValues(False), rules, heaps)
    assert figures["won"] == 2
    assert figures["lost"] == 3
    assert (
        figures["expert"]
        == figures["value_accuracy_won"]
        == figures["value_accuracy_lost"]
        == figures["high"]
        == 1
    )
    assert 0.3 < figures["low"] < 0.4  # Wilson's interval of 2 of 2: 1 / (1 + 1.96² / 2)
    figures = learn_the_rule.evaluate_sample(PerfectValues(True), rules, np.array([[1, 1], [0, 1], [3, 1]]))
    assert figures["value_accuracy_won"] == 0.5  # 0-1 is won in normal play and lost in misère play
    assert figures["value_accuracy_lost"] == 0


def test_canonical_positions():
    assert learn_the_rule.canonical(np.array([[3, 0, 1], [0, 1, 3], [0, 0, 0]])) == [(1, 3), (1, 3), ()]


# --- Training -------------------------------------------------------------------------------------


def test_it_learns_the_rule_on_small_boards(trained):
    network, visited = trained
    generator = np.random.default_rng(0)
    rules = NimRules((7,) * 7, misere=False)
    samples = [learn_the_rule.sample_positions(rules, 1000, won, generator) for won in (True, False)]
    figures = learn_the_rule.evaluate_sample(network, rules, np.concatenate(samples))
    assert min(figures["expert"], figures["value_accuracy_won"], figures["value_accuracy_lost"]) >= 0.99
    assert visited == set(learn_the_rule.canonical(NimRules((3, 3, 3)).all_positions()[1:]))


def test_the_same_seed_trains_the_same_network():
    networks = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        networks.append(DigitNetwork())
        learn_the_rule.train(networks[-1], Args(**TINY, seed=seed))
    first, second, other = (nn.utils.parameters_to_vector(network.parameters()) for network in networks)
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("options", [{}, {"misere": True}, {"max_take": 2}])
def test_the_script(options, tmp_path, monkeypatch):
    monkeypatch.setattr(learn_the_rule, "ENUMERATED_BOARDS", ((1, 2, 3),))
    monkeypatch.setattr(learn_the_rule, "SAMPLED_BOARDS", ((4, 3),))
    monkeypatch.setattr(learn_the_rule, "CURVE_BOARDS", ((2, 2),))
    table = learn_the_rule.main(Args(**TINY, **options))
    folder = tmp_path / "results" / "learn_the_rule"
    assert table["positions"].tolist() == ["all", "random", "endgames"]
    fractions = ["expert", "value_accuracy_won", "value_accuracy_lost", "visited"]
    assert table[fractions].stack().between(0, 1).all()
    assert (table["low"].dropna() <= table["expert"][1:]).all()
    assert len(pd.read_csv(folder / "evaluation.csv")) == 3
    assert (folder / "learn_the_rule.png").read_bytes().startswith(b"\x89PNG")
    assert list((folder / "tensorboard").iterdir())
    rules = {"misere": options.get("misere", False), "max_take": options.get("max_take")}
    assert load_network(folder / "network.pt")[1] == rules


def test_resume(tmp_path, monkeypatch, refused):
    checkpoint, last = tmp_path / "results" / "learn_the_rule" / "checkpoint.pt", []

    def evaluate(*_):
        last.append(torch.load(checkpoint, weights_only=True))
        return pd.DataFrame({"board": [], "positions": []})

    monkeypatch.setattr(learn_the_rule, "evaluate", evaluate)
    monkeypatch.setattr(learn_the_rule, "draw", lambda *_: learn_the_rule.plt.figure())
    updates = []
    step = torch.optim.Adam.step

    def stop_after_3(self, *args):
        updates.append(self)
        if len(updates) == 4:
            raise KeyboardInterrupt
        return step(self, *args)

    monkeypatch.setattr(torch.optim.Adam, "step", stop_after_3)
    with pytest.raises(KeyboardInterrupt):
        learn_the_rule.main(Args(**TINY))
    monkeypatch.setattr(torch.optim.Adam, "step", step)
    with refused("--folder", "--resume"):  # another run would overwrite the checkpoint
        learn_the_rule.main(Args(**TINY))
    assert torch.load(checkpoint, weights_only=True)["update"] == 2
    learn_the_rule.main(Args(resume=True, seed=5))  # the options are those of the run
    (finished,) = last
    assert finished["update"] == 4
    assert finished["args"]["seed"] == 0
    assert [row["update"] for row in finished["curves"]] == [2, 4]
    assert not checkpoint.exists()
    learn_the_rule.main(Args(**TINY))  # a finished run is not in the way


@pytest.mark.parametrize("content", [b"hi", b"", "a network"])
def test_a_damaged_checkpoint_is_named(content, refused, tmp_path):
    folder = tmp_path / "results" / "learn_the_rule"
    folder.mkdir(parents=True)
    if content == "a network":
        save_network(untrained(), Args(), folder / "checkpoint.pt")
    else:
        (folder / "checkpoint.pt").write_bytes(content)
    with refused("checkpoint.pt is damaged"):
        learn_the_rule.main(Args(resume=True))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"updates": 0}, ["--updates", "0"]),
        ({"n_flags": 9}, ["--n-flags", "9"]),
        ({"epsilon": 1.5}, ["--epsilon", "1.5"]),
        ({"learning_rate": 0.0}, ["--learning-rate", "0.0"]),
        ({"learning_rate": float("inf")}, ["--learning-rate", "inf"]),
        ({"num_envs": 10**12}, ["num_envs"]),
        ({"seed": 2**32}, ["--seed", "4294967296"]),
        ({"noise": -1.0}, ["--noise", "-1.0"]),
        ({"max_take": 0}, ["max_take", "0"]),
        ({"seed": -1}, ["--seed", "-1"]),
        ({"max_heap": 10**7}, ["10000000"]),
        ({"resume": True}, ["--resume", "learn_the_rule"]),
    ],
)
def test_wrong_values(wrong, words, refused, tmp_path):
    with refused(*words):
        learn_the_rule.main(Args(**wrong))
    assert not list(tmp_path.iterdir())


# --- Proof ----------------------------------------------------------------------------------------


@given(seed=st.integers(0, 1000), width=st.sampled_from([0.0, 1e-6, 0.1, 2.0]))
@settings(max_examples=50)
def test_bounds_hold_in_single_and_double_precision(seed, width):
    torch.manual_seed(seed)
    layer = nn.Linear(8, 16)
    nn.init.normal_(layer.weight, std=3.0)
    points = torch.rand(100, 8) * 2 - 1
    low = points.double().numpy() - width * np.random.default_rng(seed).random((100, 8))
    bounds = prove_the_rule.affine(layer, Bounds(low, low + width))
    with torch.no_grad():
        single, double = (
            layer(points).double(),
            nn.functional.linear(points.double(), layer.weight.double(), layer.bias.double()),
        )
        for outputs, limits in (
            (single, bounds),
            (double, bounds),
            (torch.tanh(single.float()).double(), prove_the_rule.tanh(bounds)),
            (torch.tanh(double), prove_the_rule.tanh(bounds)),
        ):
            assert limits.contains(Bounds(outputs.numpy(), outputs.numpy())).all()


@pytest.mark.parametrize("misere", [False, True])
def test_the_states_of_the_digits_decide_who_wins(misere):
    rules = NimRules((7,) * 4, misere=misere)
    for heaps in rules.all_positions()[1:]:
        states = []
        for digit in range(3):
            state = "none"
            for size in heaps:
                state = prove_the_rule.AUTOMATON[state][size >> digit & 1]
            states.append(state)
        assert prove_the_rule.is_won(misere, states[0], set(states[1:])) == theory.is_winning(rules, heaps)


def test_a_trained_network_is_proven(trained, capsys, tmp_path):
    network, _ = trained
    save_network(network, SMALL, tmp_path / "network.pt")
    (proof,) = prove_the_rule.main(prove_the_rule.Args((tmp_path / "network.pt",)))
    assert proof.is_proven
    assert "proven for every board" in capsys.readouterr().out
    assert (tmp_path / "results" / "prove_the_rule.png").read_bytes().startswith(b"\x89PNG")
    # the recurrent states of random digits of up to 200 heaps lie in boxes of the right state
    generator = np.random.default_rng(0)
    for n_heaps in (1, 2, 5, 30, 200):
        bits = (generator.random((500, n_heaps)) < generator.random((500, 1))).astype(np.int64)
        with torch.no_grad():
            points = network.eval().scan(torch.from_numpy(bits)).double().numpy()
        for point, n_ones in zip(points, bits.sum(axis=1), strict=True):
            inside = proof.boxes.bounds.contains(Bounds(point, point))
            state = "none" if n_ones == 0 else ("even", "odd")[n_ones % 2]
            assert state in {proof.boxes.states[box] for box in np.flatnonzero(inside)}
    # and the values of positions of boards that are much larger than those of training have the right sign
    for n_heaps, size in ((30, 1000), (2, 2**40), (100, 3)):
        heaps = generator.integers(1, size, size=(200, n_heaps))
        heaps[:100, 0] = np.bitwise_xor.reduce(heaps[:100, 1:], axis=1)  # losing positions
        is_won = np.bitwise_xor.reduce(heaps, axis=1) != 0
        np.testing.assert_array_equal(predict(network, heaps) > 0, is_won)


def test_a_network_that_errs_is_not_proven(trained, capsys, tmp_path):
    network, _ = trained
    save_network(network, SMALL, tmp_path / "network.pt")
    perturbed, _ = load_network(tmp_path / "network.pt")
    rules = NimRules((7,) * 5, misere=False)
    positions = rules.all_positions()[1:]
    is_won = theory.is_winning(rules, positions)
    largest_lost = np.arctanh(predict(perturbed, positions[~is_won]).astype(float)).max()
    with torch.no_grad():  # one weight, by just so much that some losing positions get a positive value
        perturbed.value_layers[2].bias += 0.01 - largest_lost
    errs = (predict(perturbed, positions) > 0) != is_won
    assert 0 < errs.sum() < len(positions) / 2
    save_network(perturbed, SMALL, tmp_path / "network.pt")
    (proof,) = prove_the_rule.main(prove_the_rule.Args((tmp_path / "network.pt",)))
    assert not proof.is_proven
    output = capsys.readouterr().out
    assert "not proven" in output
    assert "counterexample: " in output


def test_a_value_that_rounds_to_0_is_not_proven(trained):
    network, _ = trained
    scaled = DigitNetwork()
    scaled.load_state_dict(network.state_dict())
    with torch.no_grad():
        scaled.value_layers[2].weight *= 1e-45
        scaled.value_layers[2].bias *= 1e-45
    assert not prove(scaled, misere=False).is_proven


@pytest.mark.parametrize("misere", [False, True])
def test_an_untrained_network_is_not_proven(misere):
    assert not prove(untrained(), misere).is_proven


def test_what_the_proof_refuses(refused, tmp_path):
    (tmp_path / "damaged.pt").write_bytes(b"PK")
    save_network(untrained(), Args(max_take=3), tmp_path / "bounded.pt")
    for paths, words in [
        ((), []),
        (("damaged.pt",), ["damaged.pt"]),
        (("bounded.pt",), ["bounded.pt", "max_take=3"]),
    ]:
        with refused(*words):
            prove_the_rule.main(prove_the_rule.Args(tuple(tmp_path / path for path in paths)))


# --- Ablations ------------------------------------------------------------------------------------


def test_every_row_of_the_ablations(tmp_path, monkeypatch):
    rows = {name: replace(row, test_boards=row.test_boards[:2]) for name, row in ablate_the_rule.ROWS.items()}
    monkeypatch.setattr(ablate_the_rule, "ROWS", rows)
    monkeypatch.setattr(prove_the_rule, "RADII", (1.0,))
    args = ablate_the_rule.Args(updates=2, n_positions=10, n_seeds=1, n_jobs=1)
    table = ablate_the_rule.main(args)
    assert table["row"].tolist() == list(ablate_the_rule.ROWS)
    boards = table.drop(columns=["row", "seed", "seconds"])
    assert boards.stack().dropna().between(0, 1).all()
    assert boards.loc[table["row"].str.startswith("MLP")].notna().sum(axis=1).tolist() == [1, 1]
    folder = tmp_path / "results" / "ablate_the_rule"
    assert (folder / "ablate_the_rule.png").read_bytes().startswith(b"\x89PNG")
    assert len(pd.read_csv(folder / "ablate_the_rule.csv")) == len(table)
    pd.testing.assert_frame_equal(ablate_the_rule.main(args), table)  # from the cache, the seconds too


@pytest.mark.parametrize("make", [row.make for row in ablate_the_rule.ROWS.values()])
def test_values_of_the_ablated_networks_depend_on_the_position_alone(make):
    torch.manual_seed(0)
    network = make()
    heaps = np.random.default_rng(0).integers(0, 8, size=(30, 4))
    alone = np.concatenate([predict(network, row[None]) for row in heaps])
    np.testing.assert_allclose(predict(network, heaps), alone, atol=1e-5)
    assert (np.abs(alone) <= 1).all()
    assert len(np.unique(alone)) > 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"rows": ("CNN",)}, ["--rows", "CNN"]), ({"n_seeds": 0}, ["--n-seeds"]), ({"n_jobs": 0}, ["--n-jobs"])],
)
def test_what_the_ablations_refuse(wrong, words, refused, tmp_path):
    with refused(*words):
        ablate_the_rule.main(ablate_the_rule.Args(**wrong))
    assert not list(tmp_path.iterdir())
