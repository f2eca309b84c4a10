"""scaling_deep.py: boards of different numbers of heaps, and learning curves on one board."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import gymnasium as gym
import pandas as pd

from nim_env import NimRules

from scaling_deep import Args, VisitedPositions, main, train

SMALL = {"num_envs": 32, "n_steps": 16, "batch_size": 128, "net_arch": (32,), "n_jobs": 1}


def test_scaling(tmp_path):
    boards = {"heaps": (1, 3, 5, 7), "n_heaps": (2, 3, 4), "encodings": ("bits", "unary")}
    table = main(Args(**boards, **SMALL, total_timesteps=1024))
    assert table.groupby(["n_heaps", "encoding"])["timesteps"].agg(list).tolist() == [[0, 1024]] * 6
    visited = table[table["timesteps"] > 0].groupby("n_heaps")["visited"].agg(["min", "max"])
    assert visited["min"][2] == 1  # 7 positions
    assert 0.6 < visited["min"][4] <= visited["max"][4] < 0.97  # about 1,100 draws of 383 positions
    assert table["exploitability_sampled"].between(0, 1).all()
    assert (tmp_path / "results" / "scaling_deep" / "scaling_deep.png").read_bytes().startswith(b"\x89PNG")


def test_learning_curves(tmp_path):
    args = Args(heaps=(1, 2, 3), n_heaps=(3,), n_seeds=2, **SMALL, total_timesteps=1024, eval_interval=512)
    table = main(args)
    folder = tmp_path / "results" / "scaling_deep"
    assert table.groupby(["encoding", "seed"])["timesteps"].agg(list).tolist() == [[0, 512, 1024]] * 6
    assert table[["expert", "value_accuracy_overall"]].stack().between(0, 1).all()
    pd.testing.assert_frame_equal(pd.read_csv(folder / "learning_curves.csv"), table)
    assert (folder / "learning_curves.png").read_bytes().startswith(b"\x89PNG")
    assert len(list((folder / "tensorboard").iterdir())) == 6
    pd.testing.assert_frame_equal(main(args), table)  # from the cache
    assert len(list((folder / "tensorboard").iterdir())) == 6


def test_recipe_learns():
    table = train(NimRules((1, 2), misere=False), "bits", "self-play", 10_240, 32, 16, 128, (32,), None, seed=0)
    assert table["expert"].iloc[-1] == 1
    assert table["champion"].iloc[-1]


def test_visited_positions():
    options = {"heaps": (2, 3), "random_start": True, "autoreset_mode": "SameStep"}
    plain = gym.make_vec("Nim-v0", 3, **options)
    encoded = VisitedPositions(gym.make_vec("Nim-v0", 3, **options, observation="one_hot"))
    shown = {tuple(heaps) for heaps in plain.reset(seed=0)[0].tolist()}
    encoded.reset(seed=0)
    for _ in range(2):
        actions = plain.action_space.sample()
        shown |= {tuple(heaps) for heaps in plain.step(actions)[0].tolist()}
        encoded.step(actions)
    assert len(encoded.visited) == len(shown)
    assert len(shown) < 11  # the positions of 2-3 but the empty one


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n_heaps": (3, 8)}, ["--n-heaps", "8"]),
        ({"n_heaps": ()}, ["--n-heaps"]),
        ({"opponent": "take-0"}, ["opponent", "take-0"]),
        ({"encodings": ()}, ["--encodings", "unary"]),
        ({"n_seeds": 0}, ["--n-seeds", "0"]),
        ({"seed": 2**32}, ["--seed", "4294967296"]),
        ({"batch_size": 1000}, ["--batch-size", "1000"]),
        ({"eval_interval": 0}, ["--eval-interval", "0"]),
        ({"heaps": (200,) * 7}, ["200-200-200"]),
        ({"n_jobs": 0}, ["--n-jobs", "0"]),
    ],
)
def test_wrong_values(wrong, words, refused, tmp_path):
    with refused(*words):
        main(Args(**wrong))
    assert not list(tmp_path.iterdir())
