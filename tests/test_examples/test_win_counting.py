"""System 5: win counting on one heap."""

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import win_counting
from win_counting import RULES

from nim_env import evaluation


@pytest.mark.parametrize(
    ("opponent", "games", "published", "tolerance", "minimum"),
    [
        ("expert", 100_000, 0.0081, 0.004, 0.49),
        ("random", 30_000, 0.8735, 0.02, 0.95),
        ("take-3", 30_000, 0.9743, 0.02, 0.998),
    ],
)
def test_the_published_results(opponent, games, published, tolerance, minimum, capsys):
    agent, proportions = win_counting.main(win_counting.Args(opponent=opponent, episodes=games))
    assert proportions[10_000] == pytest.approx(published, abs=tolerance)
    assert proportions[games] >= minimum
    won = round(10_000 * sum(proportions.values()))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"10000 games, W/L ratio {proportions[10_000]:.4f}"
    assert f"Won {won} of {games} games against {opponent}." in lines
    assert Path("results/win_counting.svg").read_bytes().startswith(b"<?xml")
    # The loser starts: the agent starts a fraction f of the games with f = f (1 - first) + (1 - f) (1 - second).
    first, second = (evaluation.win_probability(RULES, agent, opponent, is_first) for is_first in (True, False))
    starts = (1 - second) / (1 - second + first)
    assert proportions[games] == pytest.approx(starts * first + (1 - starts) * second, abs=0.01)
    if opponent == "expert":
        assert proportions[30_000] < 0.10  # it is a slow learner
        assert first > 0.95
        assert second == 0  # nothing can be won against a perfect opponent who moves first
        heaps = np.arange(1, 22)[:, None]
        strategy = agent.action_probabilities(heaps, RULES.action_mask(heaps))
        assert strategy[4, 0] > 0.95  # 1 is taken almost always at heap 5
        assert strategy[3::4].min() > 0.2  # where no move wins, all are about equally likely


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
