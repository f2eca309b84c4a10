"""System 5: win counting on one heap. docs/experiments/five_systems.md has the figures after 100,000 games."""

from pathlib import Path

import gymnasium as gym
import pytest
import win_counting
from win_counting import RULES

from nim_env import evaluation


@pytest.mark.parametrize(
    ("opponent", "games", "published", "tolerance"),
    [("expert", 10_000, 0.0081, 0.004), ("random", 20_000, 0.8735, 0.02), ("take-3", 10_000, 0.9743, 0.02)],
)
def test_the_published_results(opponent, games, published, tolerance, capsys):
    agent, proportions = win_counting.main(win_counting.Args(opponent=opponent, episodes=games))
    assert list(proportions) == list(range(10_000, games + 1, 10_000))
    assert proportions[10_000] == pytest.approx(published, abs=tolerance)
    won = round(10_000 * sum(proportions.values()))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"10000 games, W/L ratio {proportions[10_000]:.4f}"
    assert f"Won {won} of {games} games against {opponent}." in lines
    assert Path("results/win_counting.svg").read_bytes().startswith(b"<?xml")
    if games > 10_000:  # it changes little in the last half
        # The loser starts: the agent starts a fraction f of them, with f = f (1 - first) + (1 - f) (1 - second).
        first, second = (evaluation.win_probability(RULES, agent, opponent, starts) for starts in (True, False))
        starts = (1 - second) / (1 - second + first)
        assert proportions[games] == pytest.approx(starts * first + (1 - starts) * second, abs=0.02)


def test_the_loser_starts_and_after_a_seed_the_agent():
    env = win_counting.LoserStarts(gym.make("nim_env:SimpleNim-v0", opponent="take-1"))
    agent_starts = True
    for game in range(60):
        if game % 20 == 0:
            agent_starts = True
        (heap,), _ = env.reset(seed=game if game % 20 == 0 else None)
        assert heap == (21 if agent_starts else 20)
        terminated = False
        while not terminated:
            _, reward, terminated, _, _ = env.step(env.action_space.sample(env.unwrapped.action_masks()))
        agent_starts = reward < 0


def test_your_own_opponent_and_the_seed(monkeypatch):
    monkeypatch.setattr(win_counting, "LOG_INTERVAL", 500)
    Path("mine.py").write_text("def one(observation, action_mask):\n    return action_mask.argmax()\n")
    results = [
        win_counting.main(win_counting.Args(opponent=opponent, episodes=500, seed=seed))[1]
        for opponent, seed in (("mine.py:one", 0), ("mine.py:one", 0), ("mine.py:one", 1))
    ]
    assert results[0] == results[1] != results[2]
    assert results[0][500] > 0.6
