import pandas as pd
import pytest
import scaling_study
from scaling_study import Args, main

import agents
from nim_env import NimRules, evaluation
from nim_env.vector_env import NimVectorEnv

SMALL = {"heaps": (1, 2, 3), "timesteps": 3000, "num_envs": 16, "seeds": 2, "backend": "threading"}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The result of a small study, its arguments, and what it saved."""
    args = Args(**SMALL, folder=tmp_path_factory.mktemp("study"))
    return main(args), args


def test_the_table_has_a_row_for_each_run(study):
    table, args = study
    assert len(table) == 2 * 3 * 2
    assert table.groupby(["heaps", "learner"])["seed"].apply(list).map([0, 1].__eq__).all()
    assert set(table["heaps"]) == {"1-2", "1-2-3"}
    assert table["timesteps"].between(3000, 3000 + 16 * 6).all()
    pd.testing.assert_frame_equal(pd.read_csv(args.folder / "scaling_study.csv"), table)
    assert (args.folder / "scaling_study.png").read_bytes().startswith(b"\x89PNG")


def test_minimax_q_learns_the_exact_solution(study):
    table, _ = study
    learned = table[table["learner"] == "minimax-q"]
    assert (learned["expert"] == 1).all()
    assert learned["champion"].all()
    assert (learned["exploitability"] == 0).all()
    assert (learned["steps_to_threshold"] <= 3000).all()


def test_a_run_is_what_agents_and_evaluation_give(study):
    table, _ = study
    rules, seed = NimRules((1, 2, 3), misere=False), 1
    env = NimVectorEnv(16, rules.heaps, misere=False, opponent=None, random_start=True)
    agent = agents.QLearningAgent(
        env.single_observation_space, env.single_action_space, seed=seed, learning_rate=0.5, epsilon=0.1
    )
    agents.train(agent, env, 3000, seed=seed, callback=lambda _, history: history.lengths.sum() < 3000)
    (row,) = table.query("learner == 'q-learning' and heaps == '1-2-3' and seed == 1").itertuples()
    mastery = evaluation.mastery(rules, agent)
    assert (row.expert, row.champion) == (mastery.expert, mastery.champion)
    assert row.exploitability == pytest.approx(evaluation.exploitability(rules, agent))


def test_finished_runs_are_not_repeated(study, monkeypatch, capsys):
    table, args = study
    monkeypatch.setattr(agents, "train", None)
    pd.testing.assert_frame_equal(main(args), table)  # with their seconds
    assert "12 of them cached" in capsys.readouterr().out


def test_intervals():
    low, high = scaling_study.mean_interval(pd.Series([1.0, 2.0, 3.0]))
    assert (low, high) == pytest.approx((2 - 4.302653 / 3**0.5, 2 + 4.302653 / 3**0.5))  # t(0.975, 2) in tables
    assert scaling_study.fraction_interval(pd.Series([0.0, 1.0, 1.0])) == pytest.approx((0, 1))
    assert scaling_study.wilson_interval(pd.Series([1.0] * 5)) == pytest.approx((0.5655, 1), abs=1e-4)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"min_heaps": 8}, ["--min-heaps", "8"]),
        ({"threshold": 0.0}, ["--threshold", "0.0"]),
        ({"threshold": float("nan")}, ["--threshold", "nan"]),
        ({"n_jobs": 0}, ["--n-jobs", "0"]),
        ({"learners": ()}, ["--learners"]),
        ({"timesteps": 0}, ["--timesteps", "0"]),
        ({"heaps": (9,) * 12}, ["positions"]),
        ({"heaps": (-1, 2)}, ["heaps"]),
    ],
)
def test_wrong_values(refused, wrong, words):
    with refused(*words):
        main(Args(**wrong))
