"""distill_the_rule.py: scores of moves without lookahead."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import distill_the_rule
import numpy as np
import torch
from distill_the_rule import Args, MoveNetwork, main, score_actions

from nim_env import NimRules, theory

import learn_the_rule

torch.set_num_threads(1)  # the tensors are small


def test_the_score_depends_on_the_position_and_the_move_alone():
    torch.manual_seed(0)
    network = MoveNetwork(noise=0.5).eval()
    rules = NimRules((3, 9, 5))
    heaps = np.array([[1, 2, 3], [3, 0, 0], [0, 9, 5]])
    mask = rules.action_mask(heaps)
    with torch.no_grad():
        together, rows, actions = score_actions(network, rules, heaps, mask)
        alone = torch.cat([score_actions(network, rules, heaps[[i]], mask[[i]])[0] for i in range(3)])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert list(zip(rows, actions, strict=True)) == list(zip(*np.nonzero(mask), strict=True))


def test_it_learns_to_take_all_of_one_heap(tmp_path, monkeypatch):
    monkeypatch.setattr(distill_the_rule, "N_HEAPS", 1)
    monkeypatch.setattr(distill_the_rule, "MAX_HEAP", 3)
    monkeypatch.setattr(distill_the_rule, "TEST_BOARDS", ((1, 3),))

    def perfect_values(_, rules, heaps, mask):  # noqa: ARG001
        return (2 * theory.winning_action_mask(rules, heaps) - 1).astype(np.float32)

    monkeypatch.setattr(distill_the_rule, "action_values", perfect_values)
    learn_the_rule.save_network(learn_the_rule.DigitNetwork(), learn_the_rule.Args(), tmp_path / "network.pt")
    curves = main(Args(tmp_path / "network.pt", updates=250, n_positions=50, eval_interval=125, noise=0.1))
    assert curves["update"].tolist() == [125, 250]
    assert curves.iloc[-1, 1:].min() >= 0.9
    assert (tmp_path / "results" / "distill_the_rule.png").read_bytes().startswith(b"\x89PNG")


def test_wrong_values(refused, tmp_path):
    bounded = learn_the_rule.Args(max_take=2)
    learn_the_rule.save_network(learn_the_rule.DigitNetwork(), bounded, tmp_path / "bounded.pt")
    for args, words in (
        (Args(tmp_path / "missing.pt"), ["missing.pt"]),
        (Args(tmp_path / "bounded.pt"), ["max_take"]),
        (Args(tmp_path / "bounded.pt", updates=0), ["--updates", "0"]),
        (Args(tmp_path / "bounded.pt", learning_rate=-1.0), ["--learning-rate", "-1.0"]),
    ):
        with refused(*words):
            main(args)
