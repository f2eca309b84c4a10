"""The command line, players by name, and the percentages of figures."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from command_line import run

import numpy as np
import pytest

import agents
from nim_env import EncodedPolicy, NimEnv, NimRules

from common import percent
from saved_players import load_player

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
        run(main, Args)
    assert stop.value.code == status
    assert capsys.readouterr().err.strip() == line


@pytest.mark.parametrize("heaps", ["4 4 12", "4,4,12", "4, 4, 12", "=4,4,12"])
def test_numbers_may_have_commas(heaps, monkeypatch):
    @dataclass
    class Board:
        heaps: tuple[int, ...] = (1, 3)
        name: str = ""

    def main(args):
        found.append(args)

    found = []
    words = f"script.py --name 1x,2 --heaps {heaps}".replace("heaps =", "heaps=").split()
    monkeypatch.setattr(sys, "argv", words)
    run(main, Board)
    assert found == [Board((4, 4, 12), "1x,2")]


def test_only_0_and_1_are_written_as_0_and_100_percent():
    fractions = (0, 1e-9, 0.123, 1 - 1e-9, 1)
    assert [percent(fraction) for fraction in fractions] == ["0.0", "0.1", "12.3", "99.9", "100.0"]


@pytest.mark.parametrize("observation", ["heaps", "bits"])
def test_a_saved_agent_and_its_values(observation, refused):
    env = NimEnv(RULES.heaps, opponent=None, observation=observation)
    agent = agents.QLearningAgent(env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, 100, seed=0)
    agent.save("my.agent")
    player = load_player("my.agent", RULES)
    positions = RULES.all_positions()[1:]
    masks = RULES.action_mask(positions)
    expected = EncodedPolicy(agent, env.encoding).action_probabilities(positions, masks)
    np.testing.assert_array_equal(player.policy.action_probabilities(positions, masks), expected)
    values = np.where(masks, agent.q_values(env.encoding(positions)), -np.inf).max(axis=1)
    np.testing.assert_array_equal(player.state_values(positions), values)
    with refused("another game"):
        load_player("my.agent", NimRules((2, 4)))


@pytest.mark.parametrize(
    ("algorithm", "observation"),
    [("MaskablePPO", "heaps"), ("MaskablePPO", "bits"), ("TRPO", "one_hot"), ("QRDQN", "unary")],
)
def test_a_saved_model_plays_its_best_legal_action(algorithm, observation):
    sb3_contrib = pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')
    env = NimEnv(RULES.heaps, observation=observation)
    model = getattr(sb3_contrib, algorithm)("MlpPolicy", env, seed=0, policy_kwargs={"net_arch": [4]})
    model.save("model.zip")
    player = load_player("model.zip", RULES).policy
    for heaps in RULES.all_positions()[1:]:
        mask = RULES.action_mask(heaps)
        encoded, _ = env.reset(options={"heaps": heaps.tolist()})
        masks = {"action_masks": mask} if algorithm == "MaskablePPO" else {}
        action, _ = model.predict(encoded, deterministic=True, **masks)
        assert player.action_probabilities(heaps, mask)[action] == mask[action]
        assert not player.action_probabilities(heaps, mask)[mask == 0].any()


class MakesFolder:
    """A pickle of it creates the folder ``ran`` when it is loaded."""

    def __reduce__(self):
        return os.mkdir, ("ran",)


def test_files_of_agents_and_networks_do_not_run_code(refused):
    torch = pytest.importorskip("torch", reason='needs pip install -e ".[sb3]"')
    torch.save({"weights": MakesFolder()}, "x.pt")
    Path("x").write_bytes(Path("x.pt").read_bytes())
    for name in ("x.pt", "x"):
        with refused(name):
            load_player(name, RULES)
    assert not Path("ran").exists()
    torch.load("x.pt", weights_only=False)
    assert Path("ran").exists()  # so the file would have run its code
