"""Saving and loading: what is restored, and which files are refused."""

import io
import json
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from agent_helpers import BOX, OBSERVATION_SPACES, SMALL, agent_of, sample
from gymnasium import spaces

import agents
from agents import QLearningAgent


def trained(space, table="auto", **arguments):
    agent = QLearningAgent(space, spaces.Discrete(3, start=2), table=table, seed=5, **arguments)
    for seed in range(100):
        agent.update(sample(space, seed), 2 + seed % 3, float(seed), sample(space, seed), True)
    return agent


@pytest.mark.parametrize("space", OBSERVATION_SPACES)
def test_a_loaded_agent_continues_as_it_would_have(tmp_path, space):
    for table in ("auto", "hash"):
        agent = trained(space, table, learning_rate=0.25, gamma=0.75, epsilon=0.5, ties="first")
        agent.save(tmp_path / "agent")
        other = agents.load(tmp_path / "agent")
        assert type(other) is QLearningAgent
        assert (other.observation_space, other.action_space) == (agent.observation_space, agent.action_space)
        assert (other.learning_rate, other.gamma, other.epsilon, other.ties) == (0.25, 0.75, 0.5, "first")
        for seed in range(120):
            observation = sample(space, seed)
            assert other.q_values(observation).tolist() == agent.q_values(observation).tolist()
            actions = [each.act(observation, explore=True) for each in (agent, other)]
            assert actions[0] == actions[1]
            for each in (agent, other):
                each.update(observation, actions[0], 1.0, sample(space, seed + 1), False)


def test_an_agent_that_learned_nothing_can_be_saved(tmp_path):
    for space in (SMALL, BOX):
        agent_of(space).save(tmp_path / "new")
        assert not agents.load(tmp_path / "new").q_values(sample(space, 0)).any()


def test_files_hold_no_pickle_and_keep_their_name(tmp_path):
    path = tmp_path / "agent.of.mine"
    trained(BOX).save(str(path))
    assert [file.name for file in tmp_path.iterdir()] == ["agent.of.mine"]
    with np.load(path, allow_pickle=False) as file:
        assert {file[name].dtype.kind for name in file.files} == {"f", "u"}


def test_schedules_are_saved_as_their_value_now(tmp_path):
    agent = agent_of(epsilon=lambda remaining: np.float32(remaining / 2))
    agent.progress_remaining = 0.5
    agent.save(tmp_path / "agent")
    assert agents.load(tmp_path / "agent").epsilon == 0.25


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "agent"
    trained(BOX).save(path)
    whole = path.read_bytes()
    for length in (*range(0, len(whole), max(1, len(whole) // 40)), len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="agent is damaged"):
            agents.load(path)
    path.write_bytes(whole[: len(whole) // 2] + b"xxxxxxxxxx" + whole[len(whole) // 2 + 10 :])
    with pytest.raises(ValueError, match="damaged"):
        agents.load(path)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("not an agent")
    np.save(tmp_path / "array.npy", np.zeros(3))
    np.savez(tmp_path / "arrays.npz", a=np.zeros(3))
    for name in ("text", "array.npy", "arrays.npz"):
        with pytest.raises(ValueError, match="not a saved agent"):
            agents.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        agents.load(tmp_path / "nowhere")


def rewritten(path, change, **arrays):
    with np.load(path) as file:
        content = {name: file[name] for name in file.files}
    about = json.loads(content["about"].tobytes())
    change(about)
    content["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with open(path, "wb") as file:
        np.savez(file, **{**content, **arrays})


def test_files_that_do_not_fit_together_are_refused(tmp_path):
    path = tmp_path / "agent"
    for change, arrays, message in (
        (lambda about: about.update(kind="AlphaNim"), {}, "a 'AlphaNim' in format 1; known are .*QLearningAgent"),
        (lambda about: about.update(kind=["x"]), {}, "known are"),
        (lambda about: about.update(format=99), {}, "in format 99"),
        (lambda about: about["action_space"].update(n=10**30), {}, "is damaged"),
        (lambda about: about.pop("generator"), {}, "is damaged"),
        (lambda about: about["hyperparameters"].update(gamma=7), {}, "gamma must lie between 0 and 1"),
        (lambda about: about["hyperparameters"].update(color=7), {}, "color"),
        (lambda about: about["observation_space"].update(kind="Circle"), {}, "'Circle' is not a known space"),
        (lambda _: None, {"values": np.full((12, 3), np.nan)}, "values must be finite"),
        (lambda _: None, {"values": np.zeros((3, 3))}, "values must be float64 of shape"),
        (lambda _: None, {"values": np.zeros((12, 3), np.float32)}, "values must be float64 of shape"),
    ):
        trained(SMALL).save(path)
        rewritten(path, change, **arrays)
        with pytest.raises(ValueError, match=message):
            agents.load(path)
    trained(BOX).save(path)
    rewritten(path, lambda _: None, keys=np.arange(300, dtype=np.uint8).reshape(100, 3))
    with pytest.raises(ValueError, match=r"keys must .*\(100, 3\)"):
        agents.load(path)


def member(shape, dtype="<f8", data=b""):
    """The bytes of an array in a file, its header as given."""
    header = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


CRAFTED = {
    "a space of ten million components": (
        {"observation_space": {"kind": "MultiBinary", "n": 10**7}, "hashed": True},
        {"keys.npy": member((0, 0), "|u1")},
    ),
    "a space of ten million components in two dimensions": (
        {"observation_space": {"kind": "MultiBinary", "n": [10**4, 10**3]}},
        {},
    ),
    "an array that no agent reads": ({}, {"more.npy": member((2**24,), "<f8", bytes(2**27))}),
    "values of too many columns": ({}, {"values.npy": member((48, 2**18), "<f8", bytes(48 * 2**21))}),
    "values of too many rows": ({}, {"values.npy": member((2**22, 3), "<f8", bytes(3 * 2**25))}),
    "keys of too many bytes": ({}, {"keys.npy": member((12, 2**23), "|u1", bytes(12 * 2**23))}),
    "keys without bytes": ({}, {"keys.npy": member((10**12,), "|S0")}),
    "a header of another size": ({}, {"values.npy": member((12, 3))}),
    "a negative shape": ({}, {"values.npy": member((-12, -3), "<f8", bytes(12 * 3 * 8))}),
    "objects": ({}, {"values.npy": member((12, 3), "|O", bytes(12 * 3 * 8))}),
    "a long description": ({"text": "x" * 2**24}, {}),
    "a dtype of arrays": (
        {"observation_space": {"kind": "Box", "low": ["0.0"], "high": ["1.0"], "dtype": "(9999,9999)f8"}},
        {},
    ),
    "a tuple that flattens to two billion numbers": (
        {"observation_space": {"kind": "Tuple", "spaces": [{"kind": "Discrete", "n": 2**31, "start": 0}]}},
        {"keys.npy": member((0, 0), "|u1")},
    ),
    "spaces that are a number": ({"observation_space": {"kind": "Dict", "spaces": 1.5}}, {}),
    "a member that is no array": ({}, {"values": b"text"}),
    "an array that is text": ({}, {"values.npy": b"text"}),
    "actions beyond 64 bits": ({"action_space": {"kind": "Discrete", "n": 3, "start": 2**63 - 1}}, {}),
    "components beyond 64 bits": (
        {"observation_space": {"kind": "MultiDiscrete", "nvec": [2], "start": [2**63 - 1], "dtype": "int64"}},
        {},
    ),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_files_are_refused_without_memory(name, tmp_path):
    path = tmp_path / "agent"
    trained(SMALL).save(path)
    with zipfile.ZipFile(path) as file:
        members = {each: file.read(each) for each in file.namelist()}
    changes, arrays = CRAFTED[name]
    about = json.loads(np.load(io.BytesIO(members["about.npy"])).tobytes()) | changes
    text = json.dumps(about).encode()
    members |= {"about.npy": member((len(text),), "|u1", text)} | arrays
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for each, content in members.items():
            file.writestr(each, content)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="agent"):
            agents.load(path)
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


def test_spaces_of_many_components(tmp_path):
    space = spaces.MultiBinary(300_000)
    agent = QLearningAgent(space, spaces.Discrete(2))
    observation = np.arange(300_000) % 2
    agent.update(observation, 1, 1.0, observation, True)
    agent.save(tmp_path / "agent")
    assert agents.load(tmp_path / "agent").q_values(observation).tolist() == [0.0, 0.5]


@pytest.mark.parametrize("n", [2, 999, 1001, 1002, 2047])
def test_keys_are_indices(n):
    """The format of the keys: the row-major index of the observation, the highest byte first."""
    generator = np.random.default_rng(n)
    nvec = generator.integers(1, 9, size=n)
    agent = QLearningAgent(spaces.MultiDiscrete(nvec), spaces.Discrete(2), table="hash")
    observation = generator.integers(nvec)
    agent.update(observation, 1, 1.0, observation, True)
    index, n_observations = 0, 1
    for digit, size in zip(observation.tolist(), nvec.tolist(), strict=True):
        index, n_observations = index * size + digit, n_observations * size
    assert agent.state_dict()["keys"].tobytes() == index.to_bytes((n_observations.bit_length() + 7) // 8, "big")


def test_a_save_removes_what_a_killed_one_has_left(tmp_path):
    path = tmp_path / ("a" * 250)  # nearly as long as names may be
    code = (
        "import os, sys, agents, numpy as np\n"
        "from gymnasium import spaces\n"
        "agent = agents.QLearningAgent(spaces.Discrete(3), spaces.Discrete(3))\n"
        "os.replace = lambda *_: os._exit(9)\n"
        "agent.save(sys.argv[1])\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, path], check=False)
    assert killed.returncode == 9
    assert len(list(tmp_path.iterdir())) == 1
    assert not path.exists()
    trained(SMALL).save(path)
    assert list(tmp_path.iterdir()) == [path]
    agents.load(path)


@pytest.mark.parametrize("value", [float("nan"), 2.0, "none"])
def test_a_schedule_of_a_wrong_value_is_left_out(value, tmp_path):
    agent = trained(SMALL, gamma=0.5)
    agent.epsilon = lambda _: value
    with pytest.warns(UserWarning, match="epsilon"):
        agent.save(tmp_path / "agent")
    loaded = agents.load(tmp_path / "agent")
    assert loaded.gamma == 0.5
    assert loaded.epsilon == QLearningAgent(SMALL, spaces.Discrete(3)).epsilon
    np.testing.assert_array_equal(loaded.table.values, agent.table.values)


def test_what_cannot_be_written_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such folder to save to: '.*nowhere'"):
        trained(SMALL).save(tmp_path / "nowhere" / "agent")
    with pytest.raises(IsADirectoryError, match="path must be a file"):
        trained(SMALL).save(tmp_path)
    with pytest.raises(TypeError, match="a Text space cannot be saved"):
        agent_of(spaces.Text(3)).save(tmp_path / "agent")
    assert not list(tmp_path.iterdir())


def test_a_file_with_changed_bytes_is_loaded_or_refused(tmp_path):
    """Whatever a few wrong bytes make of a file, it is an agent or a ValueError that names it."""
    agent_of(n=5).save(tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    generator, path, ended = np.random.default_rng(0), tmp_path / "changed", []
    for _ in range(600):
        changed = bytearray(whole)
        for place in generator.integers(len(whole), size=generator.integers(1, 11)):
            changed[place] = generator.integers(256)
        path.write_bytes(changed)
        try:
            agents.load(path)
        except ValueError as error:
            ended.append(str(error))
    assert len(ended) > 200
    assert all(str(path) in words for words in ended)
