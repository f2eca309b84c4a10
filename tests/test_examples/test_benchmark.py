"""benchmark.py: every benchmark runs for a fraction of a second."""

import sys

import benchmark
import pytest
from benchmark import Args, main


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(benchmark, "NUM_ENVS", (1, 16))
    monkeypatch.setattr(benchmark, "BOARDS", ((1, 3), (1, 3, 5)))


@pytest.mark.parametrize("part", ["environments", "training", "exact"])
def test_part(part, tmp_path):
    rates = main(Args(part=part, rounds=1, seconds=0.001))[part]
    rows = {made.name for made in benchmark.PARTS[part][0]() if "OpenSpiel" not in made.name}  # it is optional
    assert rows <= rates.keys()
    assert all(rate > 0 for row in rates.values() for rate in row.values())
    figure = tmp_path / "results" / "benchmark.png"
    assert figure.exists() == (part in ("environments", "training"))


def test_a_missing_library_is_reported(monkeypatch, capsys):
    for module in ("open_spiel", "open_spiel.python", "pyspiel", "shimmy"):
        monkeypatch.setitem(sys.modules, module, None)
    rates = main(Args(part="training", rounds=1, seconds=0.001))["training"]
    assert "OpenSpiel's Q-learner" not in rates
    assert "skipped OpenSpiel's Q-learner" in capsys.readouterr().out


def test_ratios():
    benchmarks = [benchmark.Benchmark("own", n, lambda: None, "other") for n in (1, 16)]
    rates = {"own": {1: 6.0, 16: 8.0}, "other": {1: 3.0}}
    assert benchmark.compare(benchmarks, rates) == {"own / other": {1: 2.0}}


def test_wrong_picture(refused, tmp_path):
    with refused("--picture", "table.txt"):
        main(Args(picture=tmp_path / "table.txt"))
