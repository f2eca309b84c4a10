"""System 5: win counting on one heap. tests/test_agents holds the results after 100,000 games."""

from pathlib import Path

import numpy as np
import pytest
import win_counting

import agents
from nim_env.envs.gym_env import NimEnv


@pytest.mark.parametrize(
    ("opponent", "published", "tolerance"),
    [("expert", 0.0081, 0.004), ("random", 0.8735, 0.02), ("take-3", 0.9743, 0.02)],
)
def test_the_published_proportion_of_the_first_10_000_games(opponent, published, tolerance, capsys):
    _, proportions = win_counting.main(win_counting.Args(opponent=opponent, episodes=10_000))
    assert proportions[10_000] == pytest.approx(published, abs=tolerance)
    won = round(10_000 * proportions[10_000])
    assert capsys.readouterr().out.startswith(
        f"10000 games, W/L ratio {proportions[10_000]:.4f}\nWon {won} of 10000 games against {opponent}.\n"
    )
    assert Path("results/win_counting.png").read_bytes().startswith(b"\x89PNG")


def test_the_intervals_and_the_seed(monkeypatch):
    monkeypatch.setattr(win_counting, "LOG_INTERVAL", 100)
    runs = [win_counting.main(win_counting.Args(episodes=250, opponent="random", seed=seed)) for seed in (0, 0, 1)]
    first, again, other = [proportions for _, proportions in runs]
    assert list(first) == [100, 200, 250]
    assert first == again != other


def test_your_own_opponent():
    Path("mine.py").write_text("def one(observation, action_mask):\n    return action_mask.argmax()\n")
    for opponent in ("take-1", "mine.py:one"):
        _, proportions = win_counting.main(win_counting.Args(opponent=opponent, episodes=500))
        assert proportions[500] > 0.6


def test_the_bars_are_the_probabilities():
    env = NimEnv(heaps=(21,), max_take=3, misere=False)
    agent = agents.WinCountAgent(env.observation_space, env.action_space)
    for heap, action in ((5, 0), (5, 0), (4, 2), (3, 2)):
        agent.update([heap], action, 1.0, [0], True)
    axes = win_counting.plot(agent, win_counting.Args()).axes[0]
    bars = np.array([[bar.get_height() for bar in take] for take in axes.containers])
    expected = [[1, 0, 0], [1 / 4, 1 / 4, 2 / 4], [3 / 5, 1 / 5, 1 / 5]]  # heap 5: take 1 counted twice
    np.testing.assert_allclose(bars.T[[0, 3, 4]], expected)
    assert [label.get_text() for label in axes.get_xticklabels()][:5] == ["1", "2", "3", "4*", "5"]
