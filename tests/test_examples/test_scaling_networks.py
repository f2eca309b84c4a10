"""scaling_study.py: networks."""

import itertools

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import pandas as pd
import scaling_study

from nim_env.sb3 import NimVecEnv

import sb3_self_play


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Trainings of a second."""
    options = {"num_envs": 32, "n_steps": 16, "batch_size": 128}
    args = sb3_self_play.Args
    monkeypatch.setattr(sb3_self_play, "Args", lambda **given: args(**given | options))


def test_boards_and_encodings(tmp_path, monkeypatch):
    args = scaling_study.Args(
        n_heaps=(2, 4),
        learners=("MaskablePPO",),
        observation=("bits", "unary"),
        total_timesteps=1024,
        n_seeds=1,
        n_jobs=1,
        folder=tmp_path,
    )
    table = scaling_study.main(args)
    assert table.groupby(["n_heaps", "name"])["timesteps"].agg(list).tolist() == [[0, 1024]] * 4
    assert table["exploitability_sampled"].between(0, 1).all()
    assert (tmp_path / "scaling_study.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(sb3_self_play, "train", None)
    pd.testing.assert_frame_equal(scaling_study.main(args), table)  # from the cache


def test_the_fraction_of_illegal_actions_is_that_of_the_steps(tmp_path, monkeypatch):
    illegal = {}  # of each learner's steps
    step = NimVecEnv.step_wait

    def recorded_step(env):
        observations, rewards, dones, infos = step(env)
        illegal.setdefault(current[-1], []).append(sum(info["illegal_action"] for info in infos) / len(dones))
        return observations, rewards, dones, infos

    current = []
    make_model = sb3_self_play.make_model
    monkeypatch.setattr(
        sb3_self_play, "make_model", lambda args, env: current.append(args.algorithm) or make_model(args, env)
    )
    monkeypatch.setattr(NimVecEnv, "step_wait", recorded_step)
    learners = ("DQN", "PPO", "MaskablePPO")
    board = {"heaps": (2, 3, 4), "n_heaps": (3,), "learners": learners, "opponent": "expert"}
    args = scaling_study.Args(**board, total_timesteps=2048, n_seeds=1, n_jobs=1, folder=tmp_path)
    table = scaling_study.main(args)
    assert table[["expert", "value_accuracy_overall"]].stack().between(0, 1).all()
    for learner in learners:
        rows = table[table["name"].str.startswith(f"{learner},")]
        steps = (rows["timesteps"] // 32).tolist()
        means = [sum(illegal[learner][a:b]) / (b - a) for a, b in itertools.pairwise(steps)]
        assert rows["illegal"].tolist()[1:] == pytest.approx(means)
        assert (max(means) > 0) == (learner != "MaskablePPO")
