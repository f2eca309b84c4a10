"""scaling_study.py: tables and networks."""

import itertools

import pandas as pd
import pytest
import scaling_study
from scaling_study import Args, main

import agents
from nim_env import NimRules, evaluation
from nim_env.envs.vector_env import NimVectorEnv

SMALL = {"heaps": (1, 2, 3), "n_heaps": (2, 3), "total_timesteps": 3000, "n_seeds": 2, "n_jobs": 1}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The result of a small study, and its arguments."""
    args = Args(**SMALL, folder=tmp_path_factory.mktemp("study"))
    return main(args), args


def test_each_run_has_rows_to_its_last_timestep(study):
    table, args = study
    runs = table.groupby(["name", "heaps", "seed"])
    assert len(runs) == 2 * 2 * 2
    assert (runs["timesteps"].max() >= 3000).all()
    assert runs["timesteps"].is_monotonic_increasing.all()
    saved = pd.read_csv(args.folder / "scaling_study.csv")
    assert saved["expert"].tolist() == pytest.approx(table["expert"].tolist())
    for name in ("scaling_study.svg", "learning_curves.svg"):
        assert (args.folder / name).read_bytes().startswith(b"<?xml")


def test_a_run_is_what_agents_and_evaluation_give(study):
    rules = NimRules((1, 2, 3), misere=False)
    env = NimVectorEnv(256, rules.heaps, misere=False, opponent=None, random_start=True)
    spaces = env.single_observation_space, env.single_action_space
    agent = agents.QLearningAgent(*spaces, seed=1, learning_rate=0.5, epsilon=0.1)
    found = {}

    def evaluate(agent, history):
        found[int(history.lengths.sum())] = evaluation.mastery(rules, agent).expert
        return history.lengths.sum() < 3000

    agents.train(agent, env, 3000, seed=1, callback=evaluate)
    rows = study[0].query("name == 'q-learning' and heaps == '1-2-3' and seed == 1")
    assert [found[steps] for steps in rows["timesteps"]] == rows["expert"].tolist()
    assert rows["exploitability"].iloc[-1] == pytest.approx(evaluation.exploitability(rules, agent))


def test_finished_runs_are_not_repeated(study, monkeypatch):
    table, args = study
    monkeypatch.setattr(agents, "train", None)
    pd.testing.assert_frame_equal(main(args), table)


def test_tables_train_until_they_master_a_board(monkeypatch):
    monkeypatch.setattr(scaling_study, "EPISODES_PER_RUN", 5000)  # so that a board takes several runs
    table = main(Args(heaps=(1, 2, 3, 4), n_heaps=(4,), learners=("minimax-q",), mastery=1.0, n_seeds=1, n_jobs=1))
    assert table["expert"].iloc[-1] == 1 > table["expert"].iloc[:-1].max()
    assert table["champion"].iloc[-1]
    assert table["timesteps"].iloc[-1] > 10_000
    assert table["seconds"].is_monotonic_increasing


@pytest.fixture
def networks():
    pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')
    return pytest.importorskip("nim_env.sb3")


def test_illegal_actions_in_training_are_recounted(networks, tmp_path, monkeypatch):
    illegal = []
    step = networks.NimVecEnv.step_wait

    def recorded_step(env):
        result = step(env)
        illegal.append(sum(info["illegal_action"] for info in result[3]) / len(result[2]))
        return result

    monkeypatch.setattr(networks.NimVecEnv, "step_wait", recorded_step)
    board = {"heaps": (1, 2, 3), "n_heaps": (3,), "opponent": "expert", "total_timesteps": 64 * 64}
    table = main(Args(**board, learners=("PPO", "MaskablePPO"), n_seeds=1, n_jobs=1, folder=tmp_path))
    for start, (name, rows) in zip((0, 64), table.groupby("name", sort=False), strict=True):
        steps = [start + n // 64 for n in rows["timesteps"]]
        means = [sum(illegal[first:last]) / (last - first) for first, last in itertools.pairwise(steps)]
        assert rows["illegal"].tolist()[1:] == pytest.approx(means)
        assert any(means) == (name == "PPO, one_hot")
    assert (tmp_path / "learning_curves.svg").read_bytes().startswith(b"<?xml")


def test_boards_and_encodings_come_from_the_cache(networks, monkeypatch):
    board = {"heaps": (1, 2, 3), "n_heaps": (2, 3), "opponent": "take-1", "total_timesteps": 4096}
    args = Args(**board, learners=("MaskablePPO",), observation=("bits", "unary"), n_seeds=1, n_jobs=1)
    table = main(args)
    assert table.groupby(["heaps", "name"])["timesteps"].agg(list).tolist() == [[0, 4096]] * 4
    assert table[["expert", "exploitability", "value_accuracy_overall"]].stack().between(0, 1).all()
    monkeypatch.setattr(networks.NimVecEnv, "step_wait", None)
    assert main(args).equals(table)
