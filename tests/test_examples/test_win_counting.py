"""System 5: win counting on one heap. tests/test_agents holds the results after 100,000 games."""

import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest
import win_counting
from scripts import begin

import agents
from nim_env import NimRules, evaluation
from nim_env.envs.gym_env import NimEnv


@pytest.mark.parametrize(
    ("opponent", "published", "tolerance"),
    [("expert", 0.0081, 0.004), ("random", 0.8735, 0.02), ("take-3", 0.9743, 0.02)],
)
def test_the_published_proportion_of_the_first_10_000_games(opponent, published, tolerance, capsys, tmp_path):
    _, proportions = win_counting.main(win_counting.Args(opponent=opponent, episodes=10_000))
    assert proportions[10_000] == pytest.approx(published, abs=tolerance)
    won = round(10_000 * proportions[10_000])
    assert capsys.readouterr().out.startswith(
        f"10000 games, W/L ratio {proportions[10_000]:.4f}\nWon {won} of 10000 games against {opponent}.\n"
    )
    assert (tmp_path / "results" / "win_counting.png").read_bytes().startswith(b"\x89PNG")


def test_the_loser_starts(capsys):
    """Against the expert only the games that the agent starts can be won, and of 5 objects they can."""
    args = win_counting.Args(heap=5, episodes=3500, log_interval=1000)
    agent, proportions = win_counting.main(args)
    assert list(proportions) == [1000, 2000, 3000, 3500]
    assert 0.4 < proportions[3500] <= 0.5
    first = evaluation.win_probability(NimRules((5,), 3, misere=False), agent, "expert", moves_first=True)
    assert proportions[3500] == pytest.approx(first / (1 + first), abs=0.05)
    shown = capsys.readouterr().out
    win_counting.main(args)
    assert capsys.readouterr().out == shown


def test_an_opponent_of_your_own(tmp_path):
    (tmp_path / "mine.py").write_text("def one(observation, action_mask):\n    return action_mask.argmax()\n")
    for opponent in ("take-1", "mine.py:one"):
        _, proportions = win_counting.main(win_counting.Args(opponent=opponent, episodes=500))
        assert proportions[500] > 0.6


@pytest.mark.parametrize("cutoff", [20, None])
def test_counts_above_the_cutoff_are_normalized(cutoff):
    agent, _ = win_counting.main(win_counting.Args(opponent="take-1", episodes=300, cutoff=cutoff))
    counts = agent.counts(np.arange(4, 22)[:, None])  # where all three moves are legal
    above = counts[counts.sum(axis=1) > 20]
    assert len(above) > 0
    assert (above.min(axis=1) == 1).all() == (cutoff is not None)


def test_the_bars_are_the_probabilities():
    env = NimEnv(heaps=(5,), max_take=3, misere=False)
    agent = agents.WinCountAgent(env.observation_space, env.action_space)
    for heap, action in ((5, 0), (5, 0), (4, 2), (3, 2)):
        agent.update([heap], action, 1.0, [0], True)
    axes = win_counting.plot(agent, env.unwrapped.rules, win_counting.Args()).axes[0]
    bars = np.array([[bar.get_height() for bar in take] for take in axes.containers])
    np.testing.assert_allclose(bars.sum(axis=0), 1)
    np.testing.assert_allclose(bars[:, 4], [3 / 5, 1 / 5, 1 / 5])  # heap 5: take 1 counted twice
    np.testing.assert_allclose(bars[:, 3], [1 / 4, 1 / 4, 2 / 4])
    np.testing.assert_allclose(bars[:, 0], [1, 0, 0])
    np.testing.assert_allclose([bar.get_y() for bar in axes.containers[1]], bars[0])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "3", "4*", "5"]


def test_ctrl_c_exits_with_one_line(tmp_path):
    process = begin("win_counting.py", "--episodes", 10_000_000, "--log-interval", 100, folder=tmp_path)
    assert re.match(r"100 games, W/L ratio 0\.\d+", process.stdout.readline())
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert len(error.strip().splitlines()) == 1
    assert not list(tmp_path.rglob("*.png"))


@pytest.mark.parametrize(
    ("option", "value"), [("--episodes", "-1"), ("--log-interval", "0"), ("--heap", "0"), ("--seed", "-1")]
)
def test_wrong_numbers(option, value, refused_option):
    refused_option(win_counting.Args, option, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("heap", 1),
        ("picture", Path("figure.txt")),
        ("opponent", "grandmaster"),
        ("opponent", "nowhere.py:f"),
        ("cutoff", 0),
    ],
)
def test_wrong_values(name, value, refused):
    with refused(str(value).split(":")[0]):
        win_counting.main(win_counting.Args(**{name: value}))
