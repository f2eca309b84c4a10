"""The command line, figures, and players by name."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import agents
from nim_env import EncodedPolicy, NimEnv, NimRules, policies

import common
from common import load_player

RULES = NimRules((2, 3))


@dataclass
class Args:
    """The options of a script."""

    episodes: int = 3
    """Training episodes."""


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (ValueError("no\nheap was raised from the environment creator for Nim-v0"), 2, "script.py: no heap"),
        (TypeError("no policy"), 2, "script.py: no policy"),
        (OSError("no space left"), 2, "script.py: no space left"),
        (KeyboardInterrupt(), 130, "stopped"),
    ],
)
def test_errors_are_one_line(error, status, line, monkeypatch, capsys):
    def main(args):
        assert args == Args(5)
        raise error

    monkeypatch.setattr(sys, "argv", ["folder/script.py", "--episodes", "5"])
    with pytest.raises(SystemExit) as stop:
        common.run(main, Args)
    assert stop.value.code == status
    assert capsys.readouterr().err.strip() == line


def test_only_0_and_1_are_written_as_0_and_100_percent():
    fractions = (0, 1e-9, 0.123, 1 - 1e-9, 1)
    assert [common.percent(fraction) for fraction in fractions] == ["0.0", "0.1", "12.3", "99.9", "100.0"]


def probabilities(player):
    heaps = np.array(RULES.heaps)
    return policies.checked_policy(player, RULES).action_probabilities(heaps, RULES.action_mask(heaps))


def save_table(probabilities):
    np.savez_compressed("table.npz", game=str(RULES), probabilities=probabilities)


@pytest.mark.parametrize("name", ["grandmaster", "take-0", "", "no.npz", "no.py:f", "mine.py:f", "bad.py:f", "."])
def test_unknown_players(name, refused):
    Path("mine.py").write_text("def last(observation, action_mask): return 0")
    Path("bad.py").write_text("f = 1 / 0")
    with refused(name.split(":")[0]):
        load_player(name, RULES)


def test_a_function_or_policy_in_a_file():
    Path("imported.py").write_text(
        "from nim_env import RandomPolicy\n"
        "def last(observation, action_mask):\n    return action_mask.nonzero()[0][-1]\n"
        "policy = RandomPolicy()\n"
    )
    Path("neighbor.py").write_text("from imported import last")
    assert probabilities(load_player("neighbor.py:last", RULES)).tolist() == [0, 0, 0, 0, 1]
    assert probabilities(load_player("imported.py:policy", RULES)).tolist() == [0.2] * 5


@pytest.mark.parametrize("observation", ["heaps", "bits"])
def test_a_saved_agent_and_its_values(observation, refused):
    env = NimEnv(RULES.heaps, opponent=None, observation=observation)
    agent = agents.QLearningAgent(env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, 100, seed=0)
    agent.save("my.agent")
    Path("loaded.py").write_text("import agents\nplayer = agents.load('my.agent')")
    for name in ("my.agent", "loaded.py:player"):
        player = load_player(name, RULES)
        np.testing.assert_array_equal(probabilities(player), probabilities(EncodedPolicy(agent, env.encoding)))
        with refused("another game"):
            load_player(name, NimRules((2, 4)))
    if observation == "heaps":
        positions = RULES.all_positions()[1:]
        expected = [max(agent.q_values(heaps)[RULES.action_mask(heaps) == 1]) for heaps in positions]
        np.testing.assert_array_equal(common.values_of(player, RULES)(positions), expected)


@pytest.mark.parametrize(
    ("algorithm", "observation"),
    [("MaskablePPO", "heaps"), ("MaskablePPO", "bits"), ("TRPO", "one_hot"), ("QRDQN", "unary")],
)
def test_a_saved_model_plays_its_best_legal_action(algorithm, observation):
    sb3_contrib = pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')
    env = NimEnv(RULES.heaps, observation=observation)
    model = getattr(sb3_contrib, algorithm)("MlpPolicy", env, seed=0, policy_kwargs={"net_arch": [4]})
    model.save("model.zip")
    player = load_player("model.zip", RULES)
    for heaps in RULES.all_positions()[1:]:
        mask = RULES.action_mask(heaps)
        encoded, _ = env.reset(options={"heaps": heaps.tolist()})
        masks = {"action_masks": mask} if algorithm == "MaskablePPO" else {}
        action, _ = model.predict(encoded, deterministic=True, **masks)
        assert player.action_probabilities(heaps, mask)[action] == mask[action]
        assert not player.action_probabilities(heaps, mask)[mask == 0].any()


def test_a_saved_table(refused):
    expert = policies.tabulate(RULES, "expert")
    save_table(expert.probabilities)
    np.testing.assert_array_equal(probabilities(load_player("table.npz", RULES)), probabilities(expert))
    with refused("table.npz", "2-4"):
        load_player("table.npz", NimRules((2, 4)))


def test_only_zip_files_run_pickled_code(refused, makes_folder):
    torch = pytest.importorskip("torch", reason='needs pip install -e ".[sb3]"')
    save_table(np.full((RULES.n_positions, RULES.n_actions), makes_folder))
    torch.save({"weights": makes_folder}, "x.pt")
    Path("x").write_bytes(Path("x.pt").read_bytes())
    for name in ("table.npz", "x.pt", "x"):
        with refused(name):
            load_player(name, RULES)
    assert not Path("ran").exists()
    torch.load("x.pt", weights_only=False)
    assert Path("ran").exists()  # so the file would have run its code


@pytest.mark.parametrize("name", ["my.agent", "table.npz", "model.zip", "network.pt"])
def test_damaged_files_are_named(name, refused):
    save_table(np.ones((RULES.n_positions, RULES.n_actions)))
    content = Path("table.npz").read_bytes()
    Path(name).write_bytes(content[: len(content) // 2])
    with refused(name):
        load_player(name, RULES)
