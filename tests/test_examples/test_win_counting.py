"""System 5: win counting on one heap. docs/experiments/five_systems.md has the figures after 100,000 games."""

import re
from pathlib import Path

import gymnasium as gym
import pytest
import win_counting
from recorded import PAGE, replay, session

from nim_env import NimRules

RULES = NimRules((21,), max_take=3, misere=False)


@pytest.mark.parametrize(
    ("opponent", "published", "tolerance"),
    [("expert", 0.0081, 0.004), ("random", 0.8735, 0.02), ("take-3", 0.9743, 0.02)],
)
def test_the_published_result_of_10000_games(opponent, published, tolerance, capsys):
    _, proportions = win_counting.main(win_counting.Args(opponent=opponent, episodes=10_000))
    assert proportions == {10_000: pytest.approx(published, abs=tolerance)}
    (row,) = re.findall(r"^\| 10,000 \|.*$", PAGE.read_text(encoding="utf-8"), re.M)
    cell = row.split("|")[2 + ["expert", "random", "take-3"].index(opponent)]
    assert [float(number) for number in cell.split("/")] == [published, round(proportions[10_000], 4)]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"10000 games, W/L ratio {proportions[10_000]:.4f}"
    assert f"Won {round(10_000 * proportions[10_000])} of 10000 games against {opponent}." in lines
    assert f"after 10,000 games against {opponent}" in Path("results/win_counting.svg").read_text()


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
    monkeypatch.setattr(win_counting, "LOG_INTERVAL", 200)
    Path("mine.py").write_text("def one(heap):\n    return 1\n")
    results = [
        win_counting.main(win_counting.Args(opponent=opponent, episodes=200, seed=seed))[1]
        for opponent, seed in (("mine.py:one", 0), ("mine.py:one", 0), ("mine.py:one", 1))
    ]
    assert results[0] == results[1] != results[2]
    assert results[0][200] > 0.55


def test_the_session_on_the_page(person, capsys, monkeypatch):
    options, _, screen = session("win_counting.py", "")
    (program,) = re.findall(r"```python\n(def .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    Path("mine.py").write_text(program)
    replay(win_counting, options, [], person, monkeypatch)
    assert capsys.readouterr().out == screen


@pytest.mark.parametrize("heap", [4, 13])
def test_the_size_of_the_heap(heap):
    agent, _ = win_counting.main(win_counting.Args(heap=heap, episodes=100))
    assert agent.observation_space.nvec.tolist() == [heap + 1]


def test_a_heap_that_the_opening_move_can_end_is_refused(refused):
    with refused("heap", "3"):
        win_counting.main(win_counting.Args(heap=3))
