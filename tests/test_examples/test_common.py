"""The command line, figures, and players by name."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import agents
from nim_env import EncodedPolicy, NimRules, policies
from nim_env.envs.gym_env import NimEnv

import common
from common import load_player

RULES = NimRules((2, 3))


@dataclass
class Args:
    """The options of a script."""

    episodes: int = 3
    """Training episodes."""


def test_run_parses_the_command_line(monkeypatch):
    results = []
    monkeypatch.setattr(sys, "argv", ["script.py", "--episodes", "5"])
    common.run(lambda args: results.append(args), Args)
    assert results == [Args(5)]


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (ValueError("no\nheap was raised from the environment creator for Nim-v0"), 2, "script.py: no heap"),
        (OSError("no space left"), 2, "script.py: no space left"),
        (KeyboardInterrupt(), 130, "stopped"),
    ],
)
def test_errors_are_one_line(error, status, line, monkeypatch, capsys):
    def main(args):  # noqa: ARG001
        raise error

    monkeypatch.setattr(sys, "argv", ["folder/script.py"])
    with pytest.raises(SystemExit) as stop:
        common.run(main, Args)
    assert stop.value.code == status
    assert capsys.readouterr().err.strip() == line


def test_only_0_and_1_are_written_as_0_and_100_percent():
    fractions = (0, 1e-9, 0.123, 1 - 1e-9, 1)
    assert [common.percent(fraction) for fraction in fractions] == ["0.0", "0.1", "12.3", "99.9", "100.0"]
    assert common.percent(0.12345, digits=2) == "12.35"


# --- Players --------------------------------------------------------------------------------------


def probabilities(player, heaps=(2, 3)):
    heaps = np.array(heaps)
    return policies.checked_policy(player, RULES).action_probabilities(heaps, RULES.action_mask(heaps))


def trained_agent(observation="heaps"):
    env = NimEnv(RULES.heaps, opponent=None, observation=observation)
    agent = agents.QLearningAgent(env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, 100, seed=0)
    return agent, env.encoding


@pytest.mark.parametrize(
    "name", ["grandmaster", "take-0", "", "nowhere.npz", "nowhere.py:f", "mine.py:first", "."]
)
def test_unknown_players(name, refused):
    Path("mine.py").write_text("def last(observation, action_mask): return 0")
    with refused(name.split(":")[0]):
        load_player(name, RULES)


def test_a_function_or_policy_in_a_file():
    Path("imported.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from nim_env import RandomPolicy\n"
        "@dataclass\nclass Note:\n    text: str = ''\n"
        "def last(observation, action_mask):\n    return action_mask.nonzero()[0][-1]\n"
        "policy = RandomPolicy()\n"
    )
    Path("neighbor.py").write_text("from imported import last")
    assert probabilities(load_player("imported.py:last", RULES)).tolist() == [0, 0, 0, 0, 1]
    assert probabilities(load_player("imported.py:policy", RULES)).tolist() == [0.2] * 5
    assert probabilities(load_player("neighbor.py:last", RULES)).tolist() == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("observation", ["heaps", "bits"])
def test_a_saved_agent(observation, refused):
    agent, encoding = trained_agent(observation)
    agent.save("my.agent")
    expected = probabilities(EncodedPolicy(agent, encoding))
    np.testing.assert_array_equal(probabilities(load_player("my.agent", RULES)), expected)
    Path("loaded.py").write_text("import agents\nplayer = agents.load('my.agent')")
    np.testing.assert_array_equal(probabilities(load_player("loaded.py:player", RULES)), expected)
    for name in ("my.agent", "loaded.py:player"):
        with refused("another game"):
            load_player(name, NimRules((2, 4)))


def test_values_are_those_of_the_best_legal_move():
    agent, _ = trained_agent()
    positions = RULES.all_positions()[1:]
    expected = [max(agent.q_values(heaps)[RULES.action_mask(heaps) == 1]) for heaps in positions]
    np.testing.assert_array_equal(common.values_of(agent, RULES)(positions), expected)
    assert common.values_of("random", RULES) is None


def save_table(probabilities):
    np.savez_compressed("table.npz", game=str(RULES), probabilities=probabilities)


def test_a_saved_table(refused):
    expert = policies.tabulate(RULES, "expert")
    save_table(expert.probabilities)
    np.testing.assert_array_equal(probabilities(load_player("table.npz", RULES)), probabilities(expert))
    with refused("table.npz", "2-4"):
        load_player("table.npz", NimRules((2, 4)))
    save_table(np.ones((3, 5)))
    with refused("table.npz", "shape"):
        load_player("table.npz", RULES)


def test_a_pickle_in_a_table_is_not_loaded(refused, makes_folder):
    save_table(np.full((RULES.n_positions, RULES.n_actions), makes_folder))
    with refused("table.npz"):
        load_player("table.npz", RULES)
    assert not Path("ran").exists()


@pytest.mark.parametrize("name", ["my.agent", "table.npz", "model.zip", "network.pt"])
def test_damaged_files_are_named(name, refused):
    trained_agent()[0].save("my.agent")
    save_table(np.ones((RULES.n_positions, RULES.n_actions)))
    source = name if Path(name).exists() else "table.npz"
    content = Path(source).read_bytes()
    Path(name).write_bytes(content[: len(content) // 2])
    with refused(name):
        load_player(name, RULES)
