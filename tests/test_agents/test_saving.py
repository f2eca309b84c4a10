"""Tests saving and loading: what is restored, and which files are refused."""

import json
import pickle
import stat
from pathlib import Path

import numpy as np
import pytest
from agent_helpers import BOX, OBSERVATION_SPACES, SMALL, Constant, agent_of, sample
from gymnasium import spaces
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import agents
from agents import QLearningAgent
from nim_env import NimRules, solver
from nim_env.encodings import encoding_of

SAVED = Path(__file__).parent.parent / "data" / "saved"


def trained(space, **arguments):
    agent = QLearningAgent(space, spaces.Discrete(3, start=2), seed=5, **arguments)
    for seed in range(100):
        agent.update(sample(space, seed), 2 + seed % 3, float(seed), sample(space, seed), True)
    return agent


@pytest.mark.parametrize("space", OBSERVATION_SPACES)
def test_a_loaded_agent_continues_as_it_would_have(tmp_path, space):
    agent = trained(space, learning_rate=0.25, gamma=0.75, epsilon=0.5, ties="first")
    agent.save(tmp_path / "agent")
    other = agents.load(tmp_path / "agent")
    assert type(other) is QLearningAgent
    assert (other.observation_space, other.action_space) == (agent.observation_space, agent.action_space)
    assert (other.learning_rate, other.gamma, other.epsilon, other.ties) == (0.25, 0.75, 0.5, "first")
    for seed in range(120):
        observation = sample(space, seed)
        assert other.q_values(observation).tolist() == agent.q_values(observation).tolist()
        actions = [learner.act(observation, explore=True) for learner in (agent, other)]
        assert actions[0] == actions[1]
        for learner in (agent, other):
            learner.update(observation, actions[0], 1.0, sample(space, seed + 1), False)


@pytest.mark.parametrize("name", ["dense", "hash"])
def test_an_agent_of_november_2026_is_still_read(name):
    """The file has an agent of minimax-Q, saved when its values on the board 1-2 were exact."""
    agent = agents.load(SAVED / f"{name}.agent")
    rules = NimRules((1, 2))
    positions = rules.all_positions()[1:]
    is_legal = rules.action_mask(positions) == 1
    found = agent.q_values(encoding_of(rules, agent.observation_space)(positions))
    np.testing.assert_array_equal(found[is_legal], solver.solve(rules).q_values(positions)[is_legal])


@pytest.mark.parametrize("space", [SMALL, BOX])
def test_a_new_agent_and_the_value_now_of_a_schedule_are_saved(tmp_path, space):
    agent = agent_of(space, epsilon=lambda remaining: np.float32(remaining / 2))
    agent.progress_remaining = 0.5
    agent.save(tmp_path / "agent")
    loaded = agents.load(tmp_path / "agent")
    assert loaded.epsilon == 0.25
    assert not loaded.q_values(sample(space, 0)).any()


@pytest.mark.parametrize("array", [np.arange(12.0).reshape(3, 4).T, np.arange(10)[::2], np.array(7)], ids=str)
def test_arrays_keep_their_order_and_shape(array, tmp_path):
    class Holder(Constant):
        def state_dict(self):
            return {"array": array}

        def load_state_dict(self, arrays):
            self.restored = arrays["array"]

    agent_of(kind=Holder).save(tmp_path / "agent")
    restored = agents.load(tmp_path / "agent").restored
    assert restored.shape == array.shape
    np.testing.assert_array_equal(restored, array)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("not an agent")
    np.save(tmp_path / "array", np.zeros(3))
    (tmp_path / "pickle").write_bytes(pickle.dumps(QLearningAgent))
    save_file({"values": np.zeros((12, 3))}, tmp_path / "other.safetensors")
    for name in ("text", "array.npy", "pickle", "other.safetensors"):
        with pytest.raises(ValueError, match=f"{name} .*not a saved agent"):
            agents.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        agents.load(tmp_path / "nowhere")


def test_a_damaged_file_is_loaded_or_refused(tmp_path):
    """A file that is cut off or has wrong bytes gives an agent, or a ValueError that names the file."""
    agent_of(n=5).save(tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    generator = np.random.default_rng(0)
    path = tmp_path / "changed"
    messages = []
    for number in range(400):
        changed = bytearray(whole)
        for place in generator.integers(len(whole), size=generator.integers(1, 11)):
            changed[place] = generator.integers(256)
        path.write_bytes(changed if number % 2 else whole[: generator.integers(len(whole))])
        try:
            agents.load(path)
        except ValueError as error:
            messages.append(str(error))
    assert 200 < len(messages) < 400  # every cut, and some of the others
    assert all(str(path) in message for message in messages)


@pytest.mark.parametrize(
    ("changes", "arrays"),
    [
        ({"class": "AlphaNim"}, {}),
        ({"arguments": {"color": 7}}, {}),
        ({"observation_space": {"kind": "Circle"}}, {}),
        ({"action_space": {"kind": "Discrete", "n": 2**62, "start": 0}}, {}),
        ({}, {"values": np.full((12, 3), np.nan)}),
        ({}, {"values": np.zeros((3, 3))}),
        ({}, {"values": np.zeros((12, 3), np.float32)}),
    ],
)
def test_files_that_do_not_fit_together_are_refused(changes, arrays, tmp_path):
    path = tmp_path / "agent"
    trained(SMALL).save(path)
    with safe_open(path, framework="numpy") as file:
        about = json.loads(file.metadata()["agent"])
    save_file(load_file(path) | arrays, path, {"agent": json.dumps(about | changes)})
    with pytest.raises(ValueError, match="agent is damaged or is not"):
        agents.load(path)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "int64", "float16", "float64"])
def test_the_bounds_of_a_box_are_restored(dtype, tmp_path):
    """The bounds are exact in every dtype, whether all components have the same bounds or not."""
    if "float" in dtype:
        low, high = np.finfo(dtype).min, np.inf
    else:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max - 1
    for lows in (low, [low, low], [low // 3, low]):
        space = spaces.Box(np.array(lows, dtype), np.full(np.shape(lows), high, dtype), dtype=dtype)
        agent_of(space).save(tmp_path / "agent")
        restored = agents.load(tmp_path / "agent").observation_space
        assert (restored.shape, restored.dtype) == (space.shape, space.dtype)
        np.testing.assert_array_equal(restored.low, space.low)
        np.testing.assert_array_equal(restored.high, space.high)


@pytest.mark.posix
def test_a_save_through_links_replaces_their_target(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "link").symlink_to(Path("folder", "agent"))
    for gamma in (0.25, 0.75):  # the target is new, then replaced
        trained(SMALL, gamma=gamma).save(tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert [path.name for path in folder.iterdir()] == ["agent"]
        assert not (folder / "agent").is_symlink()
        assert agents.load(tmp_path / "link").gamma == gamma


@pytest.mark.posix
def test_a_file_that_is_replaced_stays_as_private_as_it_was(tmp_path):
    for name, mode in (("private", 0o600), ("shared", 0o664), ("read-only", 0o400)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
        trained(SMALL).save(tmp_path / name)
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode
    (tmp_path / "plain").touch()
    trained(SMALL).save(tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.posix
def test_what_cannot_be_written_or_loaded_leaves_nothing(tmp_path):
    for path in (tmp_path / "nowhere" / "agent", tmp_path, Path("/dev/null")):
        with pytest.raises(OSError, match=r"nowhere|regular file"):
            trained(SMALL).save(path)
    for value in (float("nan"), 2.0):
        with pytest.raises(ValueError, match=f"epsilon .*{value}"):
            agent_of(epsilon=lambda _, value=value: value).save(tmp_path / "agent")

    class Board(spaces.MultiDiscrete):
        pass

    with pytest.raises(TypeError, match="Board"):
        agent_of(Board([3, 4])).save(tmp_path / "agent")
    assert not list(tmp_path.iterdir())
