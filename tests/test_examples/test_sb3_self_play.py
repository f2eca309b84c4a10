"""sb3_self_play.py: what it reports is what its model plays, and an interrupted run continues."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import numpy as np
import torch
from sb3_contrib import MaskablePPO

from nim_env import NimRules, evaluation

import sb3_self_play
from common import load_player
from sb3_self_play import Args, main

torch.set_num_threads(1)  # other tests run at the same time
RULES = NimRules((1, 2, 3))
SMALL = {"heaps": RULES.heaps, "num_envs": 32, "n_steps": 16, "batch_size": 128}


def test_self_play_learns(tmp_path):
    options = SMALL | {"num_envs": 64, "batch_size": 256, "learning_rate": 5e-3}
    table = main(Args(**options, total_timesteps=24 * 1024, eval_interval=8 * 1024, folder=tmp_path))
    assert table["expert"].iloc[0] < 0.6
    assert table["champion"].iloc[-1]
    assert table["exploitability_sampled"].iloc[-1] < 0.1
    assert evaluation.mastery(RULES, load_player(str(tmp_path / "model.zip"), RULES)).champion
    assert (tmp_path / "sb3_self_play.svg").read_bytes().startswith(b"<?xml")


def test_seeds(tmp_path):
    options = {**SMALL, "total_timesteps": 2048, "eval_interval": 2048}
    first, again, other = (
        main(Args(**options, seed=seed, folder=tmp_path / str(n))) for n, seed in enumerate((3, 3, 4))
    )
    assert first.equals(again)
    assert not first.equals(other)


def test_interrupted_run_continues(monkeypatch):
    args = {**SMALL, "total_timesteps": 8 * 512, "eval_interval": 512}
    schedule = sb3_self_play.EntropySchedule._on_rollout_start

    def interrupted(callback):
        if callback.num_timesteps >= 5 * 512:
            raise KeyboardInterrupt
        schedule(callback)

    with monkeypatch.context() as patch:
        patch.setattr(sb3_self_play.EntropySchedule, "_on_rollout_start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            main(Args(**args))
    folder = Args().folder
    assert not (folder / "model.zip").exists()
    checkpoint = MaskablePPO.load(folder / "checkpoints" / "rl_model_2560_steps.zip")
    kept = [snapshot.probabilities for snapshot in checkpoint.opponent_pool.policies]

    pools = []
    add = sb3_self_play.SelfPlayCallback._on_rollout_start

    def recorded(callback):
        pools.append([snapshot.probabilities for snapshot in callback.pool.policies])
        add(callback)

    monkeypatch.setattr(sb3_self_play.SelfPlayCallback, "_on_rollout_start", recorded)
    table = main(Args(**args, resume=True))
    np.testing.assert_array_equal(pools[0], kept)  # it starts with the pool of the checkpoint
    assert len(pools) == 3  # of 8 rollouts
    assert table["timesteps"].tolist() == list(range(0, 4097, 512))  # also those before the interruption
    assert MaskablePPO.load(folder / "model.zip").num_timesteps == 4096


def test_another_run_is_left_alone(refused):
    args = Args(**SMALL, total_timesteps=512, eval_interval=512)
    main(args)
    with refused("--resume"):
        main(args)
