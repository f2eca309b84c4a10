"""populations.py: the figures of its runs against the package and a linear program solved by hand."""

import numpy as np
import pandas as pd
import populations
import pytest
from populations import Args, main

import agents
from nim_env import NimRules, OpponentPool, aec_env, evaluation
from nim_env.policies import tabulate
from nim_env.solver import best_response


def test_the_study(tmp_path):
    args = Args(boards=("1-2", "2-3"), rounds=3, games=200, seeds=2, n_jobs=1, folder=tmp_path)
    table = main(args)
    assert len(table) == 2 * 5 * 2 * 3
    assert table["nash_conv"].between(0, 2).all()
    assert table["mean_exploitability"].between(0, 1).all()
    saved = pd.read_csv(tmp_path / "populations.csv")
    assert saved["nash_conv"].tolist() == pytest.approx(table["nash_conv"].tolist())
    assert "NashConv" in (tmp_path / "populations.svg").read_text()

    rules = NimRules((2, 3))  # independent learners again, evaluated by win probabilities
    env = aec_env.env(heaps=(2, 3), random_start=True)
    learners = {
        player: agents.QLearningAgent(env.observation_space(player), env.action_space(player), seed=seed)
        for seed, player in enumerate(env.possible_agents)
    }
    rows = table.query("board == '2-3' and method == 'independent learners' and seed == 0")["nash_conv"]
    for i, found in enumerate(rows):
        agents.train(learners, env, 200, seed=i)
        first, second = (tabulate(rules, learner) for learner in learners.values())
        second_wins = evaluation.win_probability(rules, best_response(rules, first), first, moves_first=False)
        first_wins = evaluation.win_probability(rules, best_response(rules, second), second, moves_first=True)
        assert found == pytest.approx(2 * (second_wins + first_wins - 1))


def test_nash_weights_are_an_equilibrium():
    generator = np.random.default_rng(0)
    for n in range(1, 8):
        payoffs = generator.normal(size=(n, n))
        weights = populations.nash_weights(payoffs)
        symmetric = (payoffs - payoffs.T) / 2
        assert weights.sum() == pytest.approx(1)
        assert (weights @ symmetric).min() > -1e-9  # no pure strategy wins against it


def test_what_counts_as_perfect_for_good():
    runs = [[2, 0, 0], [0, 2, 0], [2, 2, 2]]
    table = pd.DataFrame(
        {"board": "1-2", "method": "m", "seed": seed, "games": (i + 1) * 10, "nash_conv": value}
        for seed, values in enumerate(runs)
        for i, value in enumerate(values)
    )
    assert populations.games_to_perfection(table).loc["m", "1-2"] == 30
    never = populations.games_to_perfection(table[table["seed"] == 2])
    assert never.isna().all(axis=None)


def test_a_population_trains_against_its_meta_strategy():
    pools = [pool for _, pool in populations.METHODS["PSRO"](NimRules((2, 3)), Args(rounds=3, games=50), 0)]
    assert all(isinstance(pool, OpponentPool) for pool in pools)
    weights = populations.nash_weights(evaluation.payoff_matrix(NimRules((2, 3)), pools[-1].policies))
    np.testing.assert_allclose(pools[-1].probabilities, weights / weights.sum())
