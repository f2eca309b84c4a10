"""benchmark.py: every benchmark runs for a fraction of a second."""

import sys
from pathlib import Path

import benchmark
import pandas as pd


def test_every_benchmark_and_its_ratio(monkeypatch, capsys):
    for module in ("open_spiel", "open_spiel.python", "pyspiel", "shimmy", "jax"):
        monkeypatch.setitem(sys.modules, module, None)  # it is optional, and JAX compiles for seconds
    monkeypatch.setattr(benchmark, "NUM_ENVS", (1, 16))
    monkeypatch.setattr(benchmark, "ROUNDS", 1)
    monkeypatch.setattr(benchmark, "SECONDS", 0.001)
    rates, ratios = benchmark.main(benchmark.Args())
    output = capsys.readouterr().out
    assert "skipped PettingZoo, OpenSpiel's nim" in output
    assert "skipped pgx, Nim" in output
    assert rates.shape == (8, 2)
    assert (rates.min(axis=1) > 0).all()
    assert len(ratios) == 5
    assert Path("results/benchmark.svg").read_bytes().startswith(b"<?xml")


def test_a_ratio_is_that_of_the_same_column(monkeypatch):
    monkeypatch.setattr(benchmark, "COMPARISONS", [("own", "other"), ("own", "missing")])
    rates = pd.DataFrame({1: [6.0, 3.0], 16: [8.0, 2.0]}, index=["own", "other"])
    assert benchmark.compare(rates).to_dict("index") == {"own / other": {1: 2.0, 16: 4.0}}
