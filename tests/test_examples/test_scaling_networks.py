"""scaling_study.py: networks."""

import itertools

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

from scaling_study import Args, main

from nim_env.sb3 import NimVecEnv


def test_illegal_actions_in_training_are_recounted(tmp_path, monkeypatch):
    illegal = []
    step = NimVecEnv.step_wait

    def recorded_step(env):
        result = step(env)
        illegal.append(sum(info["illegal_action"] for info in result[3]) / len(result[2]))
        return result

    monkeypatch.setattr(NimVecEnv, "step_wait", recorded_step)
    board = {"heaps": (1, 2, 3), "n_heaps": (3,), "opponent": "expert", "total_timesteps": 64 * 64}
    table = main(Args(**board, learners=("PPO", "MaskablePPO"), n_seeds=1, n_jobs=1, folder=tmp_path))
    for start, (name, rows) in zip((0, 64), table.groupby("name", sort=False), strict=True):
        steps = [start + n // 64 for n in rows["timesteps"]]
        means = [sum(illegal[first:last]) / (last - first) for first, last in itertools.pairwise(steps)]
        assert rows["illegal"].tolist()[1:] == pytest.approx(means)
        assert any(means) == (name == "PPO, one_hot")
    assert (tmp_path / "learning_curves.png").read_bytes().startswith(b"\x89PNG")


def test_boards_and_encodings_come_from_the_cache(monkeypatch):
    board = {"heaps": (1, 2, 3), "n_heaps": (2, 3), "opponent": "take-1", "total_timesteps": 4096}
    args = Args(**board, learners=("MaskablePPO",), observation=("bits", "unary"), n_seeds=1, n_jobs=1)
    table = main(args)
    assert table.groupby(["heaps", "name"])["timesteps"].agg(list).tolist() == [[0, 4096]] * 4
    assert table[["expert", "exploitability", "value_accuracy_overall"]].stack().between(0, 1).all()
    monkeypatch.setattr(NimVecEnv, "step_wait", None)
    assert main(args).equals(table)
