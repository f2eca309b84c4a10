"""alphazero_jax.py: it learns, what it reports is what its parameters play, and a seed decides everything."""

import pytest

pytest.importorskip("pgx", reason='needs pip install -e ".[jax]"')

import alphazero_jax
import numpy as np
import pandas as pd
from alphazero_jax import Args, main, network, train

from nim_env import NimRules, evaluation
from nim_env.policies import batched

RULES = NimRules((1, 2, 3))
SIZES = {"total_timesteps": 16_384, "eval_interval": 8192, "num_envs": 64, "n_epochs": 8, "num_simulations": 8}
ARGS = Args(RULES.heaps, **SIZES, learning_rate=5e-3, n_seeds=2)


def one_hot(heaps):
    rows = [
        [size == other for size, n in zip(row, (1, 2, 3), strict=True) for other in range(n + 1)] for row in heaps
    ]
    return np.array(rows, dtype=np.float32)


def test_it_learns_and_reports_what_its_parameters_play(monkeypatch):
    runs = []

    def recorded(*arguments):
        runs.append((arguments, train(*arguments)))
        return runs[-1][1]

    monkeypatch.setattr(alphazero_jax, "train", recorded)
    table = main(ARGS)
    (arguments, (rows, parameters)), _ = runs
    first, _, last = rows.to_dict("records")
    assert first["policy"] < 0.7
    assert last["policy"] > 0.85
    assert last["search"] > 0.85
    assert 1 < last["timesteps"] / last["games"] < 6  # a game takes one to six moves

    player = batched(
        lambda heaps, masks: np.where(masks, network(parameters, one_hot(heaps))[0], -np.inf).argmax(1)
    )
    report = evaluation.report(RULES, player, lambda heaps: network(parameters, one_hot(heaps))[1])
    assert last["policy"] == report.expert
    assert last["value_accuracy"] == report.value_accuracy.overall

    again, _ = train(*arguments)
    assert again.equals(rows)
    assert table[table["seed"] == 0].equals(rows)
    assert table.groupby("seed").last()["games"].nunique() == 2
    pd.testing.assert_frame_equal(pd.read_csv(ARGS.folder / "alphazero_jax.csv"), table.round(4))
    assert (ARGS.folder / "alphazero_jax.svg").read_bytes().startswith(b"<?xml")
