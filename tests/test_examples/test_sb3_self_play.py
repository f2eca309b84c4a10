"""sb3_self_play.py: what it reports is what its model plays, and an interrupted run continues."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

from common import load_player

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from nim_env import EncodedPolicy, NimRules, evaluation
from nim_env.encodings import checked_encoding

import sb3_self_play
from sb3_self_play import Args, main

torch.set_num_threads(1)  # other tests run at the same time
SMALL = {"heaps": (1, 2, 3), "num_envs": 32, "n_steps": 16, "batch_size": 128, "net_arch": (32,)}
SHORT = {**SMALL, "total_timesteps": 8 * 512, "eval_interval": 512}
RULES = NimRules((1, 2, 3))


def test_self_play_learns(tmp_path):
    learning = {**SMALL, "num_envs": 64, "batch_size": 256, "net_arch": (64, 64), "learning_rate": 5e-3}
    table = main(Args(**learning, total_timesteps=24 * 1024, eval_interval=8 * 1024))
    first, last = table.iloc[0], table.iloc[-1]
    assert first["expert"] < 0.6
    assert last["expert"] == 1
    assert last["champion"]
    assert last["exploitability_sampled"] < 0.1
    folder = tmp_path / "results" / "sb3_self_play"
    assert evaluation.mastery(RULES, load_player(str(folder / "model.zip"), RULES)).champion
    assert (folder / "sb3_self_play.png").read_bytes().startswith(b"\x89PNG")
    (log,) = (folder / "tensorboard").iterdir()
    events = EventAccumulator(str(log)).Reload()
    assert {"train/entropy_loss", "rollout/ep_rew_mean"} < set(events.Tags()["scalars"])
    for tag, column in (("nim/expert", "expert"), ("nim_sampled/exploitability", "exploitability_sampled")):
        logged = [(event.step, event.value) for event in events.Scalars(tag)]
        np.testing.assert_allclose(logged, table[["timesteps", column]].astype(float), rtol=1e-6)


@pytest.mark.parametrize("encoding", ["bits", "unary"])
def test_model_plays_as_evaluated(encoding):
    args = Args(**{**SMALL, "observation": encoding, "opponent": "take-2", "total_timesteps": 512})
    table = main(args)
    model = MaskablePPO.load(args.folder / "model.zip", device="cpu")
    play = lambda o, m: int(model.predict(o, action_masks=m, deterministic=True)[0])  # noqa: E731
    player = EncodedPolicy(play, checked_encoding(encoding, RULES))
    assert table["expert"].iloc[-1] == evaluation.mastery(RULES, player).expert


def test_seeds(tmp_path):
    short = {**SHORT, "total_timesteps": 2048, "eval_interval": 2048}
    seeds = {"first": 3, "again": 3, "other": 4}
    first, again, other = (main(Args(**short, seed=seed, folder=tmp_path / name)) for name, seed in seeds.items())
    assert first.equals(again)
    assert not first.equals(other)


def test_interrupted_run_continues(capsys, monkeypatch):
    args = Args(**SHORT, snapshot_interval=1, pool_size=5)
    schedule = sb3_self_play.EntropySchedule._on_rollout_start

    def interrupted(callback):
        if callback.num_timesteps >= 5 * 512:
            raise KeyboardInterrupt
        schedule(callback)

    with monkeypatch.context() as patch:
        patch.setattr(sb3_self_play.EntropySchedule, "_on_rollout_start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            main(args)
    assert not (args.folder / "model.zip").exists()
    checkpoint = MaskablePPO.load(args.folder / "checkpoints" / "rl_model_2560_steps.zip")
    kept = [snapshot.probabilities for snapshot in checkpoint.opponent_pool.policies]
    assert len(kept) == 5
    capsys.readouterr()

    pools = []
    add = sb3_self_play.SelfPlayCallback._on_rollout_start

    def recorded(callback):
        pools.append([snapshot.probabilities for snapshot in callback.pool.policies])
        add(callback)

    monkeypatch.setattr(sb3_self_play.SelfPlayCallback, "_on_rollout_start", recorded)
    args = Args(resume=True)  # the other options are those of the run
    table = main(args)
    assert "2,560" in capsys.readouterr().out.splitlines()[0]
    np.testing.assert_array_equal(pools[0], kept)  # it starts with the pool of the checkpoint
    assert len(pools) == 3  # of 8 rollouts
    assert table["timesteps"].tolist() == list(range(0, 4097, 512))  # also those before the interruption
    assert MaskablePPO.load(args.folder / "model.zip").num_timesteps == 4096
    assert main(args).equals(table)  # nothing is left to do


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"opponent": "grandmaster"}, ["opponent", "grandmaster"]),
        ({"learning_rate": -1}, ["learning", "-1"]),
        ({"batch_size": 1000}, ["--batch-size", "1000"]),
        ({"batch_size": 1}, ["--batch-size", "1"]),
        ({"heaps": (0,)}, ["heaps", "(0,)"]),
        ({"heaps": (200,) * 5}, ["200-200-200-200-200"]),
        ({"seed": -1}, ["Seed"]),
        ({"resume": True}, ["--resume", "sb3_self_play"]),
    ],
)
def test_wrong_values(wrong, words, refused, tmp_path):
    with refused(*words):
        main(Args(**wrong))
    assert not list(tmp_path.iterdir())


def test_folders_with_a_run(refused):
    args = Args(**{**SHORT, "total_timesteps": 512})
    main(args)
    with refused("--folder", str(args.folder)):
        main(args)
    path = args.folder / "checkpoints" / "rl_model_512_steps.zip"
    path.write_bytes(b"nonsense")
    with refused(path.name):
        main(Args(resume=True))
