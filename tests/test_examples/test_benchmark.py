"""benchmark.py: every benchmark runs for a fraction of a second."""

import sys

import benchmark
import pandas as pd


def test_every_benchmark_and_its_ratio(monkeypatch, capsys):
    for module in ("open_spiel", "open_spiel.python", "pyspiel", "shimmy", "jax"):
        monkeypatch.setitem(sys.modules, module, None)  # it is optional, and JAX compiles for seconds
    rates, ratios = benchmark.main(benchmark.Args(num_envs=(1, 16), rounds=1, seconds=0.001))
    output = capsys.readouterr().out
    assert "skipped PettingZoo, OpenSpiel's nim" in output
    assert "skipped pgx, Nim" in output
    assert rates.shape == (7, 2)
    assert (rates.min(axis=1) > 0).all()
    assert len(ratios) == 4


def test_rates_are_steps_by_seconds_and_ratios_those_of_a_column(monkeypatch):
    monkeypatch.setattr(benchmark, "COMPARISONS", [("own", "other"), ("own", "missing")])
    rows = [("own", 1, 6, 2.0), ("other", 1, 3, 2.0), ("own", 16, 8, 1.0), ("other", 16, 2, 1.0)]
    cells = [(name, num_envs, iter([(n, seconds)] * 9)) for name, num_envs, n, seconds in rows]
    rates = benchmark.measure(benchmark.Args(), cells)
    pd.testing.assert_frame_equal(
        rates, pd.DataFrame({1: [3.0, 1.5], 16: [8.0, 2.0]}, index=["own", "other"]), check_names=False
    )
    assert benchmark.compare(rates).to_dict("index") == {"own / other": {1: 2.0, 16: 4.0}}
