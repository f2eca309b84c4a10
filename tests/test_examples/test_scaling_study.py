"""scaling_study.py: tables on several boards; the networks are in test_scaling_networks.py."""

import pandas as pd
import pytest
from scaling_study import Args, main

import agents
from nim_env import NimRules, evaluation
from nim_env.envs.vector_env import NimVectorEnv

SMALL = {"heaps": (1, 2, 3), "n_heaps": (2, 3), "total_timesteps": 3000, "num_envs": 16, "n_seeds": 2, "n_jobs": 1}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The result of a small study, its arguments, and what it saved."""
    args = Args(**SMALL, folder=tmp_path_factory.mktemp("study"))
    return main(args), args


def last_of(table):
    return table.groupby(["learner", "heaps", "seed"]).tail(1)


def test_the_table_has_rows_for_each_run(study):
    table, args = study
    last = last_of(table)
    assert len(last) == 2 * 3 * 2
    assert last.groupby(["heaps", "learner"])["seed"].apply(list).map([0, 1].__eq__).all()
    assert set(table["heaps"]) == {"1-2", "1-2-3"}
    assert last["timesteps"].between(3000, 3000 + 16 * 6).all()
    for _, run in table.groupby(["learner", "heaps", "seed"]):
        assert (run["timesteps"].diff().dropna() >= run["timesteps"].shift().dropna() // 2).iloc[:-1].all()
    saved = pd.read_csv(args.folder / "scaling_study.csv")
    pd.testing.assert_frame_equal(saved[table.columns].dropna(axis=1), table.dropna(axis=1))
    assert (args.folder / "scaling_study.png").read_bytes().startswith(b"\x89PNG")


def test_minimax_q_learns_the_exact_solution(study):
    learned = last_of(study[0]).query("learner == 'minimax-q'")
    assert (learned["expert"] == 1).all()
    assert learned["champion"].all()
    assert (learned["exploitability"] == 0).all()


def test_a_run_is_what_agents_and_evaluation_give(study):
    rules, seed, found = NimRules((1, 2, 3), misere=False), 1, {}
    env = NimVectorEnv(16, rules.heaps, misere=False, opponent=None, random_start=True)
    agent = agents.QLearningAgent(
        env.single_observation_space, env.single_action_space, seed=seed, learning_rate=0.5, epsilon=0.1
    )

    def evaluate(agent, history):
        found[int(history.lengths.sum())] = evaluation.mastery(rules, agent).expert
        return history.lengths.sum() < 3000

    agents.train(agent, env, 3000, seed=seed, callback=evaluate)
    rows = study[0].query("learner == 'q-learning' and heaps == '1-2-3' and seed == 1")
    assert [found[steps] for steps in rows["timesteps"]] == rows["expert"].tolist()
    assert max(found) == rows["timesteps"].iloc[-1]
    assert rows["exploitability"].iloc[-1] == pytest.approx(evaluation.exploitability(rules, agent))


def test_finished_runs_are_not_repeated(study, monkeypatch):
    table, args = study
    monkeypatch.setattr(agents, "train", None)
    pd.testing.assert_frame_equal(main(args), table)  # with their seconds


def test_learning_curves_of_tables_against_an_opponent(tmp_path):
    small = SMALL | {"n_heaps": (2,), "learners": ("q-learning", "win-counting"), "n_seeds": 1}
    table = main(Args(**small, opponent="expert", eval_interval=500))
    assert (table.groupby("learner")["timesteps"].diff().dropna() < 500 + 16 * 3).all()
    assert (tmp_path / "results" / "scaling_study" / "scaling_study.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"learners": ("DQN",)}, ["DQN", "--opponent"]),
        ({"n_heaps": (3, 8)}, ["--n-heaps", "8"]),
        ({"n_heaps": ()}, ["--n-heaps"]),
        ({"n_jobs": 0}, ["n_jobs"]),
        ({"learners": ()}, ["--learners"]),
        ({"learners": ("MaskablePPO",), "batch_size": 1000}, ["--batch-size", "1000"]),
        ({"opponent": "take-0"}, ["opponent", "take-0"]),
        ({"learners": ("minimax-q",), "opponent": "random"}, ["minimax-q", "random"]),
        ({"heaps": (9,) * 12, "n_heaps": (12,)}, ["positions"]),
        ({"heaps": (-1, 2), "n_heaps": (2,)}, ["heaps"]),
    ],
)
def test_wrong_values(refused, wrong, words, tmp_path):
    with refused(*words):
        main(Args(**wrong))
    assert not list(tmp_path.iterdir())
