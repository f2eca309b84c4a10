"""benchmark.py: the part that needs PyTorch."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import benchmark
from benchmark import Args, main


def test_rollouts(monkeypatch):
    monkeypatch.setattr(benchmark, "NUM_ENVS", (1, 16, 32))
    rates = main(Args(part="rollouts", rounds=1, seconds=0.001))["rollouts"]
    assert {name: len(row) for name, row in rates.items()} == {
        "environment, NimVecEnv": 3,
        "environment, DummyVecEnv": 2,
        "MaskablePPO, NimVecEnv": 3,
        "MaskablePPO, DummyVecEnv": 2,
    }
    assert all(rate > 0 for row in rates.values() for rate in row.values())
