"""System 5: win counting on one heap. tests/test_agents holds the results after 100,000 games."""

from pathlib import Path

import pytest
import win_counting


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
    assert Path("results/win_counting.svg").read_bytes().startswith(b"<?xml")


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
