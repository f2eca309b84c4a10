"""scaling_study.py: networks."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import pandas as pd
from scaling_study import Args, main

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
