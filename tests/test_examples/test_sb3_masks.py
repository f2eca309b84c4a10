"""sb3_masks.py: three algorithms on one game."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import gymnasium as gym
import pandas as pd
import sb3_masks
from sb3_contrib import MaskablePPO
from sb3_masks import Args, MasteryCallback, main

from nim_env import NimRules, theory
from nim_env.sb3 import NimVecEnv


def test_masks(monkeypatch, tmp_path):
    args = Args(heaps=(2, 3), total_timesteps=4096, eval_interval=2048, n_seeds=1, n_jobs=1)
    table = main(args)
    assert table.groupby(["algorithm", "seed"]).size().tolist() == [3] * 3
    illegal = table[table["timesteps"] > 0].groupby("algorithm")["illegal"]
    assert illegal.max()["MaskablePPO"] == 0
    assert illegal.min()[["DQN", "PPO"]].min() > 0.1
    expert = table.groupby("algorithm")["expert"].agg(["first", "last"])
    assert expert["last"]["DQN"] > expert["first"]["DQN"]
    assert expert["last"]["MaskablePPO"] > expert["last"]["PPO"]  # whose best actions are partly illegal
    folder = tmp_path / "results" / "sb3_masks"
    assert (folder / "sb3_masks.png").read_bytes().startswith(b"\x89PNG")
    assert {run.name for run in (folder / "tensorboard").iterdir()} >= {"DQN_seed_0_1", "MaskablePPO_seed_0_1"}
    pd.testing.assert_frame_equal(pd.read_csv(folder / "sb3_masks.csv"), table)

    def learn(*_, **__):
        raise AssertionError("a finished run must come from the cache")

    for algorithm, _ in sb3_masks.ALGORITHMS.values():
        monkeypatch.setattr(algorithm, "learn", learn)
    pd.testing.assert_frame_equal(main(args), table)


def test_evaluation_is_of_the_raw_actions():
    rules, env = NimRules((1, 2, 3)), gym.make_vec("Nim-v0", 4, heaps=(1, 2, 3), autoreset_mode="SameStep")
    for algorithm in (sb3_masks.PPO, MaskablePPO):
        model = algorithm("MlpPolicy", NimVecEnv(env), n_steps=16, batch_size=16, seed=1, device="cpu")
        callback = MasteryCallback(rules, total_timesteps=64, eval_interval=64)
        model.learn(64, callback)
        n_right = n_winning = 0
        for heaps in rules.all_positions()[1:]:
            winning = theory.winning_action_mask(rules, heaps)
            masks = {"action_masks": rules.action_mask(heaps)} if algorithm is MaskablePPO else {}
            n_winning += winning.any()
            n_right += winning[int(model.predict(heaps, deterministic=True, **masks)[0])]
        assert callback.evaluations[-1]["expert"] == pytest.approx(n_right / n_winning)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"opponent": "self-play"}, ["opponent", "self-play"]),
        ({"algorithms": ()}, ["--algorithms", "MaskablePPO"]),
        ({"n_jobs": 0}, ["--n-jobs", "0"]),
        ({"heaps": (1,)}, ["--heaps", "1"]),  # its only position is lost
        ({"seed": -1}, ["--seed", "-1"]),
        ({"seed": 2**32 - 1}, ["--seed", "4294967295"]),
        ({"total_timesteps": 0}, ["--total-timesteps", "0"]),
    ],
)
def test_wrong_values(wrong, words, refused, tmp_path):
    with refused(*words):
        main(Args(**wrong))
    assert not list(tmp_path.iterdir())
