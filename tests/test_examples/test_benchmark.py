"""benchmark.py: every benchmark runs for a fraction of a second."""

import sys

import benchmark
import numpy as np
import pytest
from benchmark import Args, bare_self_play, bare_win_counting, main

from nim_env import NimRules, evaluation


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(benchmark, "NUM_ENVS", (1, 16))
    monkeypatch.setattr(benchmark, "BOARDS", ((1, 3), (1, 3, 5)))
    systems = (lambda: benchmark.systems(episodes_1=20, episodes_5=100), *benchmark.PARTS["systems"][1:])
    monkeypatch.setitem(benchmark.PARTS, "systems", systems)


@pytest.mark.parametrize("part", ["environments", "training", "pictures", "exact", "systems"])
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


def test_bare_loops_learn_what_the_systems_learn():
    values, rules = bare_self_play(10_000), NimRules()

    def best(observation, action_mask):
        legal = np.flatnonzero(action_mask).tolist()
        position = tuple(observation.tolist())
        return max(legal, key=lambda action: values.get((position, rules.moves[action]), 0.0))

    assert evaluation.mastery(rules, best).expert > 0.97
    assert np.mean(bare_win_counting(30_000)[20_000:]) < 0.10  # as system 5 after this many games


@pytest.mark.parametrize("option", [{"rounds": 0}, {"seconds": 0.0}, {"seconds": float("nan")}])
def test_wrong_value(option, refused):
    with refused(f"--{next(iter(option))}", str(next(iter(option.values())))):
        main(Args(**option))


def test_wrong_picture(refused, tmp_path):
    with refused("--picture", "table.txt"):
        main(Args(picture=tmp_path / "table.txt"))
