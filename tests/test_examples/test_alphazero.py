"""alphazero.py: the search, self-play, the networks, and runs that continue."""

from dataclasses import replace

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import numpy as np
import pandas as pd
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from examples.learn_the_rule import alphazero, search
from examples.learn_the_rule.alphazero import Args, main, play
from examples.learn_the_rule.network import POLICY_VALUE_NETWORKS, load_policy
from examples.learn_the_rule.search import Evaluator, greedy_player
from nim_env import NimRules, evaluation, theory

torch.set_num_threads(1)  # the tensors are small

BOARDS = [NimRules(heaps, misere=misere) for heaps in ((1, 2), (3, 2, 2), (1, 3, 5)) for misere in (False, True)]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(search, "N_SAMPLED", 40)
    monkeypatch.setattr(alphazero, "NUM_ENVS", 20)
    set_simulations(monkeypatch, 12)


def set_simulations(monkeypatch, number):
    monkeypatch.setattr(search, "SIMULATIONS", number)
    monkeypatch.setattr(alphazero, "SIMULATIONS", number)


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
    """PUCT for one position; a node is a dictionary of its actions: visits, sum of values, prior, child."""

    def expand(heaps):
        scores, values = network(torch.from_numpy(heaps[None]))
        legal = np.flatnonzero(rules.action_mask(heaps)).tolist()
        priors = torch.softmax(scores[0, legal], dim=0).tolist()
        return {a: [0, 0.0, prior, None] for a, prior in zip(legal, priors, strict=True)}, values.item()

    def simulate(node, heaps):
        n = 1 + sum(visits for visits, *_ in node.values())
        c = 1.25 + np.log((n + 19652 + 1) / 19652)
        scores = {
            a: total / max(visits, 1) + c * prior * np.sqrt(n) / (visits + 1)
            for a, (visits, total, prior, _) in node.items()
        }
        action = max(scores, key=scores.get)
        entry = node[action]
        after = rules.apply(heaps, np.array(action))
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


@pytest.mark.parametrize("simulations", [1, 2, 17, 40])
@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_the_search_is_that_of_one_position_after_another(rules, simulations, monkeypatch):
    set_simulations(monkeypatch, simulations)
    network = random_network(rules, simulations)
    positions = np.random.default_rng(simulations).permutation(rules.all_positions()[1:])[:8]
    visits = search.search(Evaluator(network, rules), rules.index(positions))
    for position, row in zip(positions, visits, strict=True):
        assert row.tolist() == plain_search(network, rules, position, simulations)


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_each_player_is_perfect_with_perfect_scores(rules, monkeypatch):
    set_simulations(monkeypatch, 50)
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
        player = greedy_player(Evaluator(Fixed(rules, scores, values_), rules), kind)
        assert (evaluation.mastery(rules, player).expert == 1) == is_perfect


@given(st.sampled_from(BOARDS), st.integers(0, 2**32 - 1), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_self_play_is_a_game(rules, seed, as_published):
    """Each move takes objects from one heap, and the returns alternate up to that of the last move."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alphazero, "NUM_ENVS", 1)
        evaluate = Evaluator(random_network(rules, seed), rules)
        heaps, fractions, returns = play(evaluate, as_published, np.random.default_rng(seed))
    assert fractions.sum(dim=1).tolist() == pytest.approx([1] * len(heaps))
    assert not fractions[rules.action_mask(heaps.numpy()) == 0].any()
    if as_published:
        assert heaps[0].tolist() == list(rules.heaps)
    taken = heaps - torch.cat([heaps[1:], torch.zeros_like(heaps[:1])])
    assert ((taken > 0).sum(dim=1) == 1).all()
    assert ((taken == 0).sum(dim=1) == rules.n_heaps - 1).all()
    assert returns.tolist() == [rules.terminal_reward * (-1) ** k for k in reversed(range(len(heaps)))]


@pytest.mark.parametrize("name", POLICY_VALUE_NETWORKS)
def test_networks_give_scores_and_values_of_each_position_alone(name):
    rules = NimRules((2, 5, 3))
    torch.manual_seed(0)
    network = POLICY_VALUE_NETWORKS[name](rules).eval()
    heaps = torch.from_numpy(rules.all_positions())
    with torch.no_grad():
        scores, values = network(heaps)
        torch.testing.assert_close(network(heaps[5:9]), (scores[5:9], values[5:9]))
    assert scores.shape == (rules.n_positions, rules.n_actions)
    assert values.abs().max() <= 1
    assert len(values[1:].unique()) > 1


def test_boards_without_won_positions_are_refused(tmp_path):
    with pytest.raises(ValueError, match="--n-heaps"):
        main(Args(n_heaps=(5, 1), folder=tmp_path))


def test_it_learns_a_small_board(tmp_path):
    table = main(Args(n_heaps=(3,), episodes=4000, n_jobs=1, folder=tmp_path))
    assert table[["policy", "value"]].iloc[-1].tolist() == [1, 1]
    assert table["is_exact"].all()
    player = load_policy(tmp_path / "1-3-5_normal_0.pt", NimRules((1, 3, 5), misere=False))
    assert evaluation.mastery(player.rules, player).expert == 1


@pytest.mark.parametrize("as_published", [False, True])
def test_runs_of_all_networks(as_published, tmp_path, monkeypatch):
    """An interrupted command continues, to the figures of one that was not."""
    monkeypatch.setattr(alphazero, "BATCH_SIZE", 16)
    options = {"n_heaps": (2,), "networks": tuple(POLICY_VALUE_NETWORKS), "misere": True, "episodes": 40}
    args = Args(**options, as_published=as_published, n_jobs=1, folder=tmp_path)
    left = iter(range(4))

    def stopping_play(*arguments):
        if next(left, None) == 3:
            raise KeyboardInterrupt
        return play(*arguments)

    monkeypatch.setattr(alphazero, "play", stopping_play)
    with pytest.raises(KeyboardInterrupt):
        main(args)
    stopped = main(args)
    whole = main(replace(args, folder=tmp_path / "whole"))
    pd.testing.assert_frame_equal(stopped.drop(columns="seconds"), whole.drop(columns="seconds"))
    assert tuple(stopped["network"].unique()) == args.networks
    assert stopped[["policy", "value", "search"]].stack().between(0, 1).all()
    assert "<svg" in (tmp_path / "alphazero.svg").read_text("utf-8")
