"""Compares OpenSpiel's game and algorithms with ours."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms.best_response import BestResponsePolicy
from open_spiel.python.algorithms.cfr import CFRSolver
from open_spiel.python.algorithms.exploitability import nash_conv
from open_spiel.python.algorithms.mcts import MCTSBot, RandomRolloutEvaluator
from open_spiel.python.policy import TabularPolicy, UniformRandomPolicy
from table_policies import random_table

from nim_env import ExpertPolicy, NimRules, evaluation, solver
from nim_env.openspiel import OpenSpielPolicy, from_openspiel, load_game
from nim_env.policies import InvalidPolicyOutput, SampledPolicy

GAMES = [NimRules((1, 2, 3), misere=misere) for misere in (False, True)] + [NimRules((2, 0, 3))]


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_nash_conv_is_twice_our_exploitability(rules):
    players = ["random", "take-2", "expert", random_table(rules, 0), random_table(rules, 1, deterministic=True)]
    for player in players:
        found = nash_conv(load_game(rules), OpenSpielPolicy(rules, player))
        assert found == pytest.approx(2 * evaluation.exploitability(rules, player), abs=1e-12)


@pytest.mark.parametrize("rules", [*GAMES, NimRules()], ids=str)
def test_a_policy_comes_back_as_it_went(rules):
    heaps = rules.all_positions()[1:]
    player = random_table(rules, 2)
    back = from_openspiel(rules, OpenSpielPolicy(rules, player))
    arguments = heaps, rules.action_mask(heaps)
    np.testing.assert_array_equal(back.action_probabilities(*arguments), player.action_probabilities(*arguments))
    uniform = from_openspiel(rules, UniformRandomPolicy(load_game(rules)))
    assert evaluation.report(rules, uniform) == evaluation.report(rules, "random")


def test_a_policy_of_histories_is_refused():
    rules = NimRules((1, 2, 3))
    cfr = CFRSolver(load_game(rules))
    for _ in range(5):
        cfr.evaluate_and_update_policy()
    with pytest.raises(ValueError, match="history"):
        from_openspiel(rules, cfr.average_policy())


@pytest.mark.parametrize("rules", [NimRules((1, 2, 3)), NimRules((2, 2)), NimRules((1, 1, 1))], ids=str)
@pytest.mark.parametrize("side", [0, 1])
def test_a_policy_of_one_side_is_queried_where_it_moves(rules, side):
    game, uniform = load_game(rules), pyspiel.UniformRandomPolicy(load_game(rules))
    player = random_table(rules, 3)

    class OneSide(OpenSpielPolicy):
        def action_probabilities(self, state, player_id=None):
            assert state.current_player() == side
            return super().action_probabilities(state, player_id)

    policy = OneSide(rules, player)
    policy.player_ids = [side]
    found = evaluation.win_probability(rules, from_openspiel(rules, policy), "random", moves_first=side == 0)
    assert found == evaluation.win_probability(rules, player, "random", moves_first=side == 0)
    table = TabularPolicy(game, players=[side])
    assert evaluation.report(rules, from_openspiel(rules, table)) == evaluation.report(rules, "random")
    for best in (
        BestResponsePolicy(game, side, UniformRandomPolicy(game)),
        pyspiel.TabularBestResponse(game, side, uniform).get_best_response_policy(),
    ):
        wins = evaluation.win_probability(rules, from_openspiel(rules, best), "random", moves_first=side == 0)
        values = solver.response_values(rules, "random")
        of_side = values.going_first if side == 0 else values.going_second
        assert 2 * wins - 1 == pytest.approx(of_side[-1], abs=1e-12)


def test_bots_play():
    rules = NimRules((1, 2, 3))
    game = load_game(rules)
    bot = MCTSBot(game, 2, 1000, RandomRolloutEvaluator(1, np.random.RandomState(0)), solve=True)
    assert evaluation.mastery(rules, SampledPolicy(rules, from_openspiel(rules, bot), 1)).expert == 1
    drawing = MCTSBot(game, 2, 2, RandomRolloutEvaluator(1, np.random.RandomState(0)))
    with pytest.raises(InvalidPolicyOutput):
        evaluation.mastery(rules, from_openspiel(rules, drawing))


def test_a_limit_is_refused():
    with pytest.raises(ValueError, match="max_take"):
        OpenSpielPolicy(NimRules((3, 3), max_take=2), ExpertPolicy(NimRules((3, 3), max_take=2)))
