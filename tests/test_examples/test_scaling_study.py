"""scaling_study.py: the rows of its runs."""

import pandas as pd
import pytest
import scaling_study
from scaling_study import Args, main

import agents
from nim_env import NimRules, evaluation
from nim_env.envs.vector_env import NimVectorEnv


def test_each_run_is_what_agents_and_evaluation_give(tmp_path):
    args = Args(heaps=(1, 2, 3), n_heaps=(2, 3), total_timesteps=3000, n_seeds=2, n_jobs=1, folder=tmp_path)
    table = main(args)
    runs = table.groupby(["learner", "heaps", "seed"])
    assert len(runs) == 2 * 2 * 2
    assert (runs["timesteps"].max() >= 3000).all()
    assert runs["timesteps"].is_monotonic_increasing.all()
    saved = pd.read_csv(tmp_path / "scaling_study.csv")
    assert saved["expert"].tolist() == pytest.approx(table["expert"].tolist())
    assert "number of heaps, the first of 1-2-3" in (tmp_path / "scaling_study.svg").read_text()
    assert "minimax-q" in (tmp_path / "learning_curves.svg").read_text()

    rules = NimRules((1, 2, 3), misere=False)
    env = NimVectorEnv(256, rules.heaps, misere=False, opponent=None, random_start=True)
    spaces = env.single_observation_space, env.single_action_space
    agent = agents.QLearningAgent(*spaces, seed=1, learning_rate=0.5, epsilon=0.1)
    found = {}

    def evaluate(agent, history):
        found[int(history.lengths.sum())] = evaluation.mastery(rules, agent).expert
        return history.lengths.sum() < 3000

    agents.train(agent, env, 3000, seed=1, callback=evaluate)
    rows = table.query("learner == 'q-learning' and heaps == '1-2-3' and seed == 1")
    assert [found[steps] for steps in rows["timesteps"]] == rows["expert"].tolist()
    assert rows["exploitability"].iloc[-1] == pytest.approx(evaluation.exploitability(rules, agent))


def test_tables_train_until_they_master_a_board(monkeypatch):
    monkeypatch.setattr(scaling_study, "EPISODES_PER_CALL", 5000)  # so a board takes several calls
    table = main(Args(heaps=(1, 2, 3, 4), n_heaps=(4,), learners=("minimax-q",), mastery=1.0, n_seeds=1, n_jobs=1))
    assert table["expert"].iloc[-1] == 1 > table["expert"].iloc[:-1].max()
    assert table["champion"].iloc[-1]
    assert table["timesteps"].iloc[-1] > 10_000
    assert table["seconds"].is_monotonic_increasing
