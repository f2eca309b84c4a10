"""alphazero.py: the search, self-play, the networks, and runs that continue."""

from dataclasses import replace

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from nim_env import NimRules, evaluation, theory

from learn_the_rule import alphazero, evaluate
from learn_the_rule.alphazero import Args, main, play
from learn_the_rule.network import load_network
from learn_the_rule.other_networks import NETWORKS, make_network
from learn_the_rule.search import Evaluator, Player, search

torch.set_num_threads(1)  # the tensors are small

BOARDS = [NimRules(heaps, misere=misere) for heaps in ((1, 2), (3, 2, 2), (1, 3, 5)) for misere in (False, True)]


@pytest.fixture(autouse=True)
def small_evaluations(monkeypatch):
    monkeypatch.setattr(alphazero, "SAMPLED_BOARDS", ((4, 3),))
    monkeypatch.setattr(alphazero, "N_SAMPLED", 40)
    monkeypatch.setattr(evaluate, "N_SAMPLED", 40)


class Fixed(nn.Module):
    """A network of given scores and values."""

    def __init__(self, rules, scores, values):
        super().__init__()
        self.rules, self.scores, self.values = rules, torch.tensor(scores).float(), torch.tensor(values).float()

    def forward(self, heaps):
        index = torch.from_numpy(self.rules.index(heaps.numpy()))
        return self.scores[index], self.values[index]


def random_network(rules, seed):
    generator = np.random.default_rng(seed)
    scores = generator.normal(size=(rules.n_positions, rules.n_actions))
    return Fixed(rules, scores, generator.uniform(-1, 1, size=rules.n_positions))


def plain_search(network, rules, heaps, simulations):
    """PUCT for one position, with a node as a dictionary of the actions: visits, sum of values, prior, child."""

    def expand(heaps):
        if not heaps.any():
            return {}, -rules.terminal_reward
        scores, values = network(torch.from_numpy(heaps[None]))
        legal = np.flatnonzero(rules.action_mask(heaps))
        priors = torch.softmax(scores[0, legal], dim=0).tolist()
        return {a: [0, 0.0, prior, None] for a, prior in zip(legal.tolist(), priors, strict=True)}, values[
            0
        ].item()

    def simulate(node, heaps):
        n = sum(visits for visits, *_ in node.values()) + 1
        c = 1.25 + np.log((n + 19652 + 1) / 19652)
        scores = {
            a: (total / visits if visits else 0) + c * prior * np.sqrt(n) / (visits + 1)
            for a, (visits, total, prior, _) in node.items()
        }
        action = max(scores, key=scores.get)
        after = rules.apply(heaps, np.array(action))
        entry = node[action]
        if not after.any():
            value = rules.terminal_reward
        elif entry[3] is None:
            entry[3], below = expand(after)
            value = -below
        else:
            value = -simulate(entry[3], after)
        entry[0] += 1
        entry[1] += value
        return value

    root, _ = expand(heaps)
    for _ in range(simulations):
        simulate(root, heaps)
    return [root[a][0] if a in root else 0 for a in range(rules.n_actions)]


@settings(max_examples=20)
@given(st.sampled_from(BOARDS), st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_the_search_is_that_of_one_position_after_another(rules, seed, simulations):
    network = random_network(rules, seed)
    positions = np.random.default_rng(seed).permutation(rules.all_positions()[1:])[:8]
    visits = search(Evaluator(network, rules), rules.index(positions), simulations)
    for position, row in zip(positions, visits, strict=True):
        assert row.tolist() == plain_search(network, rules, position, simulations)


@given(st.sampled_from(BOARDS), st.integers(0, 2**32 - 1))
def test_a_noisy_search_visits_legal_actions_alone(rules, seed):
    positions = rules.all_positions()[1:]
    evaluate = Evaluator(random_network(rules, seed), rules)
    visits = search(evaluate, rules.index(positions), 12, np.random.default_rng(seed))
    assert (visits.sum(axis=1) == 12).all()
    assert not visits[rules.action_mask(positions) == 0].any()


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_each_player_is_perfect_with_perfect_scores(rules):
    positions = rules.all_positions()
    values = np.where(theory.is_winning(rules, positions), 1.0, -1.0)
    right = np.zeros((rules.n_positions, rules.n_actions))
    right[1:] = theory.winning_action_mask(rules, positions[1:])
    for scores, values_, kind, is_perfect in (
        (right, 0 * values, "policy", True),
        (-right, values, "policy", False),
        (-right, values, "value", True),
        (right, -values, "value", False),
        (right, values, "search", True),
        (-right, values, "search", True),
    ):
        result = evaluation.mastery(rules, Player(Evaluator(Fixed(rules, scores, values_), rules), kind, 50))
        assert (result.expert == 1) == is_perfect


@given(st.sampled_from(BOARDS), st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([0, 2, 100]))
def test_self_play_is_a_game(rules, seed, random_start, temperature_moves):
    """Each move takes objects from one heap, and the returns alternate up to that of the last move."""
    args = Args(num_envs=1, simulations=6, random_start=random_start, temperature_moves=temperature_moves)
    evaluate = Evaluator(random_network(rules, seed), rules)
    heaps, fractions, returns = play(args, evaluate, np.random.default_rng(seed))
    assert fractions.sum(dim=1).tolist() == pytest.approx([1] * len(heaps))
    assert not fractions[rules.action_mask(heaps.numpy()) == 0].any()
    if not random_start:
        assert heaps[0].tolist() == list(rules.heaps)
    taken = heaps - torch.cat([heaps[1:], torch.zeros_like(heaps[:1])])
    assert (taken >= 0).all()
    assert ((taken > 0).sum(dim=1) == 1).all()
    assert returns.tolist() == [rules.terminal_reward * (-1) ** k for k in reversed(range(len(heaps)))]


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_give_scores_and_values_of_each_position_alone(name):
    rules = NimRules((2, 5, 3))
    torch.manual_seed(0)
    network = make_network(name, rules, noise=0.5).eval()
    heaps = torch.from_numpy(rules.all_positions())
    with torch.no_grad():
        scores, values = network(heaps)
        some = network(heaps[5:9])
    assert scores.shape == (rules.n_positions, rules.n_actions)
    assert values.shape == (rules.n_positions,)
    assert values.abs().max() <= 1
    torch.testing.assert_close((scores[5:9], values[5:9]), some)
    assert len(values[1:].unique()) > 1


def test_unary_tokens():
    """Heaps of 1, 0 and 2 on 1-3-2: the objects taken, then those left, with a separator between the heaps."""
    network = make_network("lstm", NimRules((1, 3, 2)), noise=0.0)
    tokens = []
    network.lstm.register_forward_pre_hook(lambda _, inputs: tokens.append(inputs[0]))
    network(torch.tensor([[1, 0, 2], [0, 2, 1]]))
    assert tokens[0][..., 0].tolist() == [[1, -1, 0, 0, 0, -1, 1, 1], [0, -1, 0, 1, 1, -1, 0, 1]]


SMALL = Args(
    heaps=(1, 2, 3),
    n_heaps=(3,),
    episodes=400,
    num_envs=20,
    simulations=12,
    eval_interval=5,
    random_start=True,
    n_jobs=1,
)


def test_it_learns_a_small_board(tmp_path):
    table = main(replace(SMALL, episodes=4000, folder=tmp_path))
    assert table[["policy", "value"]].iloc[-1].tolist() == [1, 1]
    assert table["episodes"].iloc[-1] <= 4000
    network, rules = load_network(tmp_path / "digit_1-2-3_normal_0" / "network.pt")
    board = NimRules((1, 2, 3), misere=False)
    values = network(torch.from_numpy(board.all_positions()[1:])).detach().numpy()
    assert ((values > 0) == theory.is_winning(board, board.all_positions()[1:])).all()
    assert rules == {"misere": False, "max_take": None}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_run_continues_where_it_was_stopped(tmp_path, monkeypatch, name):
    args = replace(SMALL, networks=(name,), misere=True, episodes=200, updates=2, eval_interval=5)
    whole = main(replace(args, folder=tmp_path / "whole"))
    calls = []

    def stopping_play(*arguments):
        calls.append(1)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return play(*arguments)

    monkeypatch.setattr(alphazero, "play", stopping_play)
    with pytest.raises(KeyboardInterrupt):
        main(replace(args, folder=tmp_path / "stopped"))
    stopped = main(replace(args, folder=tmp_path / "stopped"))
    assert len(calls) == 8 + 5
    assert stopped.drop(columns="seconds").equals(whole.drop(columns="seconds"))
    assert len(main(replace(args, folder=tmp_path / "stopped"))) == len(whole)
    assert len(calls) == 8 + 5


def test_a_published_network_is_evaluated(tmp_path):
    """The weights of random play: all scores and values are equal, so the first legal move is played."""
    rules = NimRules((1, 3, 5), misere=False)
    network = make_network("lstm", rules, noise=0.0)
    for weight in network.parameters():
        weight.data.zero_()
    torch.save(network.state_dict(), tmp_path / "3heaps")
    table = main(Args(published=(tmp_path / "3heaps",)))
    first = evaluation.mastery(rules, lambda _, mask: int(mask.argmax())).expert
    assert table["policy"].tolist() == [first]


def test_wrong_values(refused, tmp_path):
    args = replace(SMALL, folder=tmp_path, updates=1, episodes=20)
    (tmp_path / "damaged").write_bytes(b"PK")
    main(args)
    for wrong, words in (
        ({"simulations": 9}, ["--folder", "other options"]),
        ({"n_heaps": (4,)}, ["--n-heaps", "4"]),
        ({"n_heaps": ()}, ["--n-heaps"]),
        ({"networks": ()}, ["--networks"]),
        ({"learning_rate": -1.0}, ["learning rate", "-1.0"]),
        ({"heaps": (-1, 1, 2)}, ["heap", "-1"]),
        ({"n_jobs": 0}, ["n_jobs", "0"]),
        ({"published": (tmp_path / "damaged",)}, ["--published", "damaged"]),
    ):
        with refused(*words):
            main(replace(args, **wrong))
