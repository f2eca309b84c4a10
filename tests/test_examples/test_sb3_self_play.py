"""sb3_self_play.py: what it reports is what its model plays, and an interrupted run continues."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from nim_env import EncodedPolicy, NimRules, evaluation
from nim_env.encodings import checked_encoding

import sb3_self_play
from common import load_player
from sb3_self_play import Args, main

torch.set_num_threads(1)  # other tests run at the same time
RULES = NimRules((1, 2, 3))
SMALL = {"heaps": RULES.heaps, "num_envs": 32, "n_steps": 16, "batch_size": 128}


def test_self_play_learns(tmp_path):
    args = Args(
        heaps=RULES.heaps,
        num_envs=64,
        n_steps=16,
        batch_size=256,
        total_timesteps=24 * 1024,
        eval_interval=8 * 1024,
        learning_rate=5e-3,
    )
    table = main(args)
    first, last = table.iloc[0], table.iloc[-1]
    assert first["expert"] < 0.6
    assert last["expert"] == 1
    assert last["champion"]
    assert last["exploitability_sampled"] < 0.1
    folder = tmp_path / "results" / "sb3_self_play"
    assert evaluation.mastery(RULES, load_player(str(folder / "model.zip"), RULES)).champion
    assert (folder / "sb3_self_play.png").read_bytes().startswith(b"\x89PNG")
    (log,) = (folder / "tensorboard").iterdir()
    logged = EventAccumulator(str(log)).Reload().Scalars("nim_sampled/exploitability")
    np.testing.assert_allclose(
        [(event.step, event.value) for event in logged],
        table[["timesteps", "exploitability_sampled"]].astype(float),
        rtol=1e-6,
    )


def test_model_plays_as_evaluated():
    args = Args(**SMALL, observation="bits", opponent="take-2", total_timesteps=512)
    table = main(args)
    model = MaskablePPO.load(args.folder / "model.zip", device="cpu")
    play = lambda o, m: int(model.predict(o, action_masks=m, deterministic=True)[0])  # noqa: E731
    player = EncodedPolicy(play, checked_encoding("bits", RULES))
    assert table["expert"].iloc[-1] == evaluation.mastery(RULES, player).expert


def test_seeds(tmp_path):
    short = {**SMALL, "total_timesteps": 2048, "eval_interval": 2048}
    seeds = {"first": 3, "again": 3, "other": 4}
    first, again, other = (main(Args(**short, seed=seed, folder=tmp_path / name)) for name, seed in seeds.items())
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


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"opponent": "grandmaster"}, ["opponent", "grandmaster"]),
        ({"algorithm": "DQN"}, ["DQN", "--opponent"]),
        ({"heaps": (0,)}, ["heaps", "(0,)"]),
        ({"heaps": (200,) * 5}, ["200-200-200-200-200"]),
        ({"resume": True}, ["checkpoints"]),
    ],
)
def test_wrong_values(wrong, words, refused):
    with refused(*words):
        main(Args(**wrong))


def test_another_run_is_left_alone(refused):
    args = Args(**SMALL, total_timesteps=512, eval_interval=512)
    main(args)
    with refused("--resume"):
        main(args)
