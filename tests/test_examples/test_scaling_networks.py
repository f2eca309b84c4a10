"""scaling_study.py: networks."""

import itertools

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import pandas as pd
from scaling_study import Args, main, make_runs, train

from nim_env import NimRules
from nim_env.sb3 import NimVecEnv

import sb3_self_play

SMALL = {"num_envs": 32, "n_steps": 16, "batch_size": 128, "net_arch": (32,), "n_jobs": 1}


def test_boards_and_encodings(tmp_path, monkeypatch):
    boards = {"heaps": (1, 3, 5, 7), "n_heaps": (2, 4), "learners": ("MaskablePPO",), "n_seeds": 1}
    args = Args(**boards, **SMALL, observation=("bits", "unary"), total_timesteps=1024)
    table = main(args)
    assert table.groupby(["n_heaps", "observation"])["timesteps"].agg(list).tolist() == [[0, 1024]] * 4
    visited = table[table["timesteps"] > 0].groupby("n_heaps")["visited"].agg(["min", "max"])
    assert visited["min"][2] == 1  # 7 positions
    assert 0.6 < visited["min"][4] <= visited["max"][4] < 0.97  # about 1,100 draws of 383 positions
    assert table["exploitability_sampled"].between(0, 1).all()
    folder = tmp_path / "results" / "scaling_study"
    assert (folder / "scaling_study.png").read_bytes().startswith(b"\x89PNG")
    assert len(list((folder / "tensorboard").iterdir())) == 4
    monkeypatch.setattr(sb3_self_play, "train", None)
    pd.testing.assert_frame_equal(main(args), table)  # from the cache


def test_action_masks_on_one_board(tmp_path):
    board = {"heaps": (1, 2, 3), "n_heaps": (3,), "learners": ("DQN", "PPO", "MaskablePPO"), "opponent": "expert"}
    args = Args(**board, **SMALL, total_timesteps=1024, eval_interval=512, n_seeds=1)
    table = main(args)
    assert table.groupby("learner")["timesteps"].agg(list).tolist() == [[0, 512, 1024]] * 3
    illegal = table[table["timesteps"] > 0].groupby("learner")["illegal"]
    assert illegal.max()["MaskablePPO"] == 0
    assert illegal.min()[["DQN", "PPO"]].min() > 0.1
    assert table[["expert", "value_accuracy_overall"]].stack().between(0, 1).all()
    assert (tmp_path / "results" / "scaling_study" / "scaling_study.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("learner", ["MaskablePPO", "DQN"])
def test_figures_of_training_are_recounted(learner, tmp_path, monkeypatch):
    shown, illegal = [set()], []
    step, reset = NimVecEnv.step_wait, NimVecEnv.reset

    def recorded_step(env):
        observations, _, dones, infos = result = step(env)
        shown.append(shown[-1] | set(map(tuple, observations.tolist())))
        illegal.append(sum(info["illegal_action"] for info in infos) / len(dones))
        return result

    def recorded_reset(env):
        observations = reset(env)
        shown[-1].update(map(tuple, observations.tolist()))
        return observations

    monkeypatch.setattr(NimVecEnv, "step_wait", recorded_step)
    monkeypatch.setattr(NimVecEnv, "reset", recorded_reset)
    args = Args(
        **SMALL, learners=(learner,), opponent="expert", total_timesteps=1024, eval_interval=256, n_seeds=1
    )
    rules = NimRules((2, 3, 4))
    (options,) = make_runs(args, [rules])
    table = train(**options, folder=tmp_path)
    steps = (table["timesteps"] // 32).tolist()
    n_positions = 59  # all of 2-3-4 but the empty one
    assert table["visited"].tolist() == [len(shown[step]) / n_positions for step in steps]
    means = [sum(illegal[start:end]) / (end - start) for start, end in itertools.pairwise(steps)]
    assert table["illegal"].tolist()[1:] == pytest.approx(means)
    assert (table["illegal"].max() > 0) == (learner == "DQN")
