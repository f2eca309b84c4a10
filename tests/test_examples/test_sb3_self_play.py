"""sb3_self_play.py: what it reports is what its model plays."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import torch

from nim_env import NimRules, evaluation

from saved_players import load_player
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
    assert evaluation.mastery(RULES, load_player(str(tmp_path / "model.zip"), RULES).policy).champion
    assert "value accuracy" in (tmp_path / "sb3_self_play.svg").read_text()


@pytest.mark.parametrize("algorithm", ["PPO", "DQN"])
def test_algorithms_without_masks(algorithm):
    table = main(Args(**SMALL, algorithm=algorithm, opponent="expert", total_timesteps=1024, eval_interval=512))
    assert table["timesteps"].tolist() == [0, 512, 1024]


def test_seeds():
    options = {**SMALL, "total_timesteps": 2048, "eval_interval": 2048}
    first, again, other = (main(Args(**options, seed=seed)) for seed in (3, 3, 4))
    assert first.equals(again)
    assert not first.equals(other)
