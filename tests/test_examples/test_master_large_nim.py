from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import agents
from nim_env import NimRules, evaluation

import master_large_nim


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_boards_are_mastered(monkeypatch, capsys):
    monkeypatch.setattr(master_large_nim, "EPISODES_PER_RUN", 1000)  # so that a board takes several runs
    args = master_large_nim.Args(heaps=(1, 2, 3, 4), num_envs=64, mastery=1.0, seed=3)
    curves = master_large_nim.main(args)
    boards = dict(list(curves.groupby("heaps", sort=False)))
    assert list(boards) == ["1-2", "1-2-3", "1-2-3-4"]
    for curve, positions in zip(boards.values(), (6, 24, 120), strict=True):
        assert (curve.positions == positions).all()
        assert curve.mastery.iloc[-1] == 1 > curve.mastery.iloc[0]
        assert curve.moves.is_monotonic_increasing
        assert curve.seconds.is_monotonic_increasing
    assert boards["1-2-3-4"].moves.iloc[-1] > 2000
    assert Path("results/master_large_nim.png").read_bytes().startswith(b"\x89PNG")
    assert "100.0000 %" in capsys.readouterr().out
    again = master_large_nim.main(args)
    assert again.drop(columns="seconds").equals(curves.drop(columns="seconds"))


def test_mastery_is_that_of_the_agent_after_so_many_moves():
    rules = NimRules((1, 2, 3, 4), misere=True)
    args = master_large_nim.Args(heaps=rules.heaps, boards=1, misere=True, num_envs=16, mastery=0.9)
    curve = master_large_nim.main(args)
    envs, agent = master_large_nim.make(args, rules)
    found = {}

    def evaluate(agent, history):
        found[int(history.lengths.sum())] = evaluation.mastery(rules, agent).expert
        return found.keys() < set(curve.moves) or max(found) < curve.moves.max()

    agents.train(agent, envs, master_large_nim.EPISODES_PER_RUN, seed=0, callback=evaluate)
    assert [found[moves] for moves in curve.moves] == curve.mastery.tolist()
    assert curve.mastery.iloc[-1] >= 0.9 > curve.mastery.iloc[-2]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"boards": 8}, ["--boards", "8"]),
        ({"seed": -1}, ["seed", "-1"]),
        ({"epsilon": 2.0}, ["epsilon", "2"]),
        ({"heaps": (99,) * 6, "boards": 1}, ["positions"]),
        ({"heaps": (0, 0, 3), "boards": 2}, ["0"]),
        ({"picture": Path("p.txt")}, ["--picture", "p.txt"]),
    ],
)
def test_wrong_values(wrong, words, refused):
    with refused(*words):
        master_large_nim.main(master_large_nim.Args(**wrong))
