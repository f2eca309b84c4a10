"""Saving and loading: what is restored, and which files are refused."""

import io
import json
import os
import stat
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from agent_helpers import BOX, OBSERVATION_SPACES, SMALL, agent_of, sample
from gymnasium import spaces

import agents
from agents import MinimaxQAgent, QLearningAgent, WinCountAgent


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
        (lambda about: about.update(kind="AlphaNim"), {}, "a 'AlphaNim' in format 2; known are .*QLearningAgent"),
        (lambda about: about.update(kind=["x"]), {}, "known are"),
        (lambda about: about.update(format=99), {}, "in format 99"),
        (lambda about: about["action_space"].update(n=10**30), {}, "too large"),
        (lambda about: about.pop("generator"), {}, "is damaged"),
        (lambda about: about["hyperparameters"].update(gamma=7), {}, "gamma must lie between 0 and 1"),
        (lambda about: about["hyperparameters"].update(color=7), {}, "color"),
        (lambda about: about["hyperparameters"].update(table="dense"), {}, "unknown arguments: table"),
        (lambda about: about["hyperparameters"].update(seed=0), {}, "unknown arguments: seed"),
        (lambda about: about["hyperparameters"].update(gamma=float("nan")), {}, "gamma must.*nan"),
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


TWO = {"kind": "Discrete", "n": 2, "start": 0}
BOX_ABOUT = {"kind": "Box", "low": ["0.0"], "high": "1.0", "dtype": "float32"}
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
    "a description of few long texts": ({}, {"about.npy": member((4,), "<U4000000", bytes(4 * 16_000_000))}),
    "long bounds": (
        {"observation_space": {**BOX_ABOUT, "low": ["-" + "1" * 10**6] + ["0.0"] * 10**3}},
        {},
    ),
    "bounds of unequal length": (
        {"observation_space": {**BOX_ABOUT, "low": ["-" + "1" * 30_000] + ["0.0"] * 3_000}},
        {},
    ),
    "starts of unequal length": (
        {
            "observation_space": {
                "kind": "MultiDiscrete",
                "nvec": [2] * 3_001,
                "start": ["1" * 30_000] + ["0"] * 3_000,
                "dtype": "int64",
            }
        },
        {},
    ),
    "sizes and starts that broadcast": (
        {
            "observation_space": {
                "kind": "MultiDiscrete",
                "nvec": [[2]] * 5_000,
                "start": [0] * 5_000,
                "dtype": "int64",
            }
        },
        {},
    ),
    "a box of a billion components": ({"observation_space": {**BOX_ABOUT, "low": "0.0", "shape": [2**30]}}, {}),
    "a billion components in many boxes": (
        {
            "observation_space": {
                "kind": "Tuple",
                "spaces": [{**BOX_ABOUT, "low": "0.0", "shape": [2**19, 2]}] * 512,
            }
        },
        {},
    ),
    "a shape that is text": ({"observation_space": {**BOX_ABOUT, "shape": ["x", 10**9]}}, {}),
    "a shape of huge numbers": ({"observation_space": {**BOX_ABOUT, "shape": [10**4000] * 8}}, {}),
    "180,000 spaces": ({"observation_space": {"kind": "Tuple", "spaces": [TWO] * 180_000}}, {}),
    "100,000 named spaces": (
        {"observation_space": {"kind": "Dict", "spaces": {str(number): TWO for number in range(100_000)}}},
        {},
    ),
    "a box of 300 million components that says it has parts": (
        {"observation_space": {**BOX_ABOUT, "low": "0.0", "high": "1.0", "shape": [300_000_000], "spaces": []}},
        {},
    ),
    "300 million bits that say they have parts": (
        {"observation_space": {"kind": "MultiBinary", "n": 300_000_000, "spaces": {}}},
        {},
    ),
    "a negative size that hides a large one": (
        {
            "observation_space": {
                "kind": "Tuple",
                "spaces": [
                    {**BOX_ABOUT, "low": "0.0", "high": "1.0", "shape": [number]}
                    for number in (300_000_000, -300_000_000)
                ],
            }
        },
        {},
    ),
    "a billion actions": (
        {"action_space": {"kind": "Discrete", "n": 2**30, "start": 0}},
        {"keys.npy": member((0, 0), "|u1"), "values.npy": member((0, 2**30))},
    ),
    "a dtype of 8 kB": ({}, {"values.npy": member((12, 3), ",".join(["f8"] * 2700), bytes(12 * 3 * 2700 * 8))}),
    "a dtype of many fields": ({}, {"values.npy": member((12, 3), "f8,f8", bytes(12 * 3 * 16))}),
    "a dtype of 8 kB of a space": (
        {"observation_space": {**BOX_ABOUT, "dtype": ",".join(["f8"] * 2700)}},
        {},
    ),
    "an unknown key in the header": (
        {},
        {"values.npy": member((12, 3), "<f8", bytes(288)).replace(b"'descr'", b"'drawn'")},
    ),
    "300 arrays": ({}, {f"{number}.npy": member((0,)) for number in range(300)}),
    "more keys than observations": (
        {},
        {
            "keys.npy": member((2**22, 1), "|u1", bytes(2**22)),
            "values.npy": member((2**22, 3), "<f8", bytes(3 * 2**25)),
        },
    ),
    "a description that is not an object": ([1, 2], {}),
    "a description of another kind": ({"kind": {"a": "\x1b[31m" * 1000}}, {}),
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


def members_of(path):
    """The bytes of the arrays in a file by the name of the member, and the description."""
    with zipfile.ZipFile(path) as file:
        members = {each: file.read(each) for each in file.namelist()}
    return members, json.loads(np.load(io.BytesIO(members["about.npy"])).tobytes())


def described(about):
    """The member of a description, an object or text."""
    text = about if isinstance(about, bytes) else json.dumps(about).encode()
    return member((len(text),), "|u1", text)


def refused(path):
    """The message with which a file is refused; fails if that takes memory or more than a line."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="agent") as caught:
            agents.load(path)
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < len(str(path)) + 1000  # which names all classes that the tests define
    assert caught.value.__cause__ is None
    return message


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_files_are_refused_without_memory(name, tmp_path):
    path = tmp_path / "agent"
    trained(SMALL).save(path)
    members, about = members_of(path)
    changes, arrays = CRAFTED[name]
    about = about | changes if isinstance(changes, dict) else changes
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for each, content in (members | {"about.npy": described(about)} | arrays).items():
            file.writestr(each, content)
    refused(path)


def nested_spaces(depth):
    """A description of a tuple in a tuple in a tuple ..."""
    space = '{"kind": "Tuple", "spaces": [' * depth + json.dumps(TWO) + "]}" * depth
    rest = {"kind": "QLearningAgent", "format": 2, "generator": 0, "hyperparameters": {}, "action_space": TWO}
    return f'{json.dumps(rest)[:-1]}, "observation_space": {space}}}'.encode()


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 60_000,
        b'{"kind": ' * 6_000,
        b"9" * 60_000,
        b'{"kind": "QLearningAgent", "format": Infinity, "generator": NaN}',
        b'{"kind": "\\u001b[31m\\n\\u202e", "format": 2, "generator": 0}',
        b'{"kind": "' + b"x" * 60_000 + b'", "format": "\\u001b", "generator": 0}',
        b"\xff\xfe\x00",
        b"",
        nested_spaces(300),
        nested_spaces(1500),
    ],
)
def test_crafted_descriptions_are_refused_in_a_line(text, tmp_path):
    path = tmp_path / "agent"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("about.npy", described(text))
    refused(path)


def test_names_in_a_file_are_shown_without_control_characters(tmp_path):
    path = tmp_path / "agent"
    trained(SMALL).save(path)
    members, about = members_of(path)
    about["hyperparameters"]["\x1b[2J\n" + "y" * 10_000] = 1
    for added in ({"\x1b[31m\n" + "x" * 10_000: b""}, {"about.npy": described(about)}):
        with zipfile.ZipFile(path, "w") as file:
            for each, content in (members | added).items():
                file.writestr(each, content)
        assert "[" in refused(path)


def test_more_members_than_a_file_may_have(tmp_path):
    """The list of members is not read whole, also where an extended end record gives its length."""
    path = tmp_path / "agent"
    trained(SMALL).save(path)
    whole, n = path.read_bytes(), 100_000
    start = whole.index(b"PK\x01\x02")
    first = whole[start : whole.index(b"PK\x01\x02", start + 4)]
    extended = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, n, n, n * len(first), start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, start + n * len(first), 1)
    last = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 2**16 - 1, 2**16 - 1, 2**32 - 1, 2**32 - 1, 0)
    path.write_bytes(whole[:start] + n * first + extended + locator + last)
    refused(path)


def test_a_name_twice_in_a_file(tmp_path):
    path = tmp_path / "agent"
    trained(SMALL).save(path)
    members, _ = members_of(path)
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
        with pytest.warns(UserWarning, match="Duplicate name"):
            file.writestr("values.npy", members["values.npy"])
    assert "two of one name" in refused(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_is_refused(method, tmp_path):
    """Its ratio has no bound that matters: 100 MB of zeros take 100 bytes."""
    path = tmp_path / "agent"
    trained(BOX).save(path)
    members, _ = members_of(path)
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in members.items():
            file.writestr(name, content)
    assert "deflate" in refused(path)


def test_a_file_that_claims_more_than_it_can_hold(tmp_path):
    """Terabytes of keys, which a box admits; only the sizes in the list of members and the header say so."""
    path = tmp_path / "agent"
    trained(BOX).save(path)
    members, _ = members_of(path)
    n = 2**36
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("about.npy", members["about.npy"])
        for name, content in (("keys.npy", member((n, 16), "|u1")), ("values.npy", member((n, 3)))):
            file.writestr(name, content)
        for info in file.infolist()[1:]:
            info.file_size = len(member((n, 16), "|u1")) + n * (16 if info.filename == "keys.npy" else 24)
    assert "larger than" in refused(path)


def test_keys_that_repeat_are_refused(tmp_path):
    path = tmp_path / "agent"
    trained(BOX).save(path)
    rewritten(path, lambda _: None, keys=np.zeros((100, 16), np.uint8))
    assert "keys must be different" in refused(path)


@pytest.mark.posix
def test_only_regular_files_are_loaded_and_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    agent = trained(SMALL)
    for path in (tmp_path / "pipe", tmp_path / "link", tmp_path / "zero", Path("/dev/zero"), Path("/dev/null")):
        mode = path.stat().st_mode
        assert "not a regular file" in refused(path)
        with pytest.raises(OSError, match="path must be a regular file"):
            agent.save(path)
        assert path.stat().st_mode == mode
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "link", "zero"}
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.posix
def test_a_save_through_links_replaces_their_target(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(Path("folder", "agent"))
    for gamma in (0.25, 0.75):  # the target is new, then replaced
        trained(SMALL, gamma=gamma).save(tmp_path / "one")
        assert (tmp_path / "one").is_symlink()
        assert (tmp_path / "two").is_symlink()
        assert [path.name for path in folder.iterdir()] == ["agent"]
        assert not (folder / "agent").is_symlink()
        assert agents.load(tmp_path / "one").gamma == gamma
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(OSError, match="circle"):
        trained(SMALL).save(tmp_path / "circle")
    assert not list(tmp_path.glob(".*"))


OLD = {
    "q_learning_multi_discrete": (QLearningAgent, spaces.MultiDiscrete([2, 3], start=[-1, 5])),
    "q_learning_discrete": (QLearningAgent, spaces.Discrete(6, start=-2)),
    "minimax_q_nested_multi_discrete": (MinimaxQAgent, spaces.MultiDiscrete([[2, 3], [4, 1]], dtype=np.int8)),
    "win_count_multi_binary": (WinCountAgent, spaces.MultiBinary((2, 2))),
    "q_learning_box": (
        QLearningAgent,
        spaces.Box(
            np.array([[-1, -np.inf], [0, 0.1]], np.float32), np.array([[1, np.inf], [1e-30, 3]], np.float32)
        ),
    ),
    "q_learning_tuple": (
        QLearningAgent,
        spaces.Tuple(
            [
                spaces.Discrete(3),
                spaces.Dict({"b": spaces.Box(0, 255, (2,), np.uint8), "a": spaces.MultiBinary(2)}),
            ]
        ),
    ),
}


@pytest.mark.parametrize("name", OLD)
def test_files_of_format_1_are_loaded(name, tmp_path):
    """Files in ``tests/data/agents`` were written before the format changed."""
    path = Path(__file__).parents[1] / "data" / "agents" / f"{name}.agent"
    kind, space = OLD[name]
    _, about = members_of(path)
    assert about["format"] == 1
    agent = agents.load(path)
    assert type(agent) is kind
    assert (agent.observation_space, agent.action_space) == (space, spaces.Discrete(3, start=2))
    assert agent.generator.bit_generator.state == about["generator"]
    agent.save(tmp_path / "agent")
    for each in (agent, agents.load(tmp_path / "agent")):
        with np.load(path) as file:
            assert set(file.files) == {"about", *each.state_dict()}
            assert file["values"].any()
            for array_name, array in each.state_dict().items():
                assert array.dtype == file[array_name].dtype
                np.testing.assert_array_equal(array, file[array_name])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "int64", "float16", "float64", "longdouble"])
def test_the_bounds_of_a_box_are_restored(dtype, tmp_path):
    """To the last digit, in every dtype, equal for all components or not."""
    low, high = (
        (0, 1)
        if dtype == "bool"
        else (np.finfo(dtype).min, np.inf)
        if "flo" in dtype or "dou" in dtype
        else (np.iinfo(dtype).min, np.iinfo(dtype).max - 1)
    )
    for shape in ((2, 3), (), (84, 84)):
        lows, highs = np.full(shape, low, dtype), np.full(shape, high, dtype)
        for _ in range(2):
            space = spaces.Box(lows, highs, dtype=np.dtype(dtype).type)
            agent_of(space).save(tmp_path / "agent")
            restored = agents.load(tmp_path / "agent").observation_space
            assert (restored.shape, restored.dtype) == (space.shape, space.dtype)
            np.testing.assert_array_equal(restored.low, space.low)
            np.testing.assert_array_equal(restored.high, space.high)
            if shape == (2, 3):
                lows[1, 2] = highs[1, 2] if dtype == "bool" else lows[1, 2] / 3


def test_spaces_of_many_components(tmp_path):
    space = spaces.MultiBinary(300_000)
    agent = QLearningAgent(space, spaces.Discrete(2))
    observation = np.arange(300_000) % 2
    agent.update(observation, 1, 1.0, observation, True)
    agent.save(tmp_path / "agent")
    assert agents.load(tmp_path / "agent").q_values(observation).tolist() == [0.0, 0.5]


@pytest.mark.parametrize("n", [2, 40, 999, 1001])
def test_keys_are_indices(n):
    """The format of the keys: the row-major index of the observation, the highest byte first.

    Observations of more than 1,000 components are their own keys.
    """
    generator = np.random.default_rng(n)
    nvec = generator.integers(1, 9, size=n)
    agent = QLearningAgent(spaces.MultiDiscrete(nvec), spaces.Discrete(2), table="hash")
    observation = generator.integers(nvec)
    agent.update(observation, 1, 1.0, observation, True)
    index, n_observations = 0, 1
    for digit, size in zip(observation.tolist(), nvec.tolist(), strict=True):
        index, n_observations = index * size + digit, n_observations * size
    key = index.to_bytes((n_observations.bit_length() + 7) // 8, "big") if n <= 1000 else observation.tobytes()
    assert agent.state_dict()["keys"].tobytes() == key


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
def test_an_argument_that_the_constructor_refuses_is_named(value, tmp_path):
    """Before anything is written."""
    path, agent = tmp_path / "agent", trained(SMALL, gamma=0.5)
    agent.save(path)
    before = path.read_bytes()
    agent.epsilon = lambda _: value
    with pytest.raises(ValueError, match=f"epsilon .*{value}"):
        agent.save(path)
    assert path.read_bytes() == before
    agent.epsilon = 0.25
    agent.save(path)
    assert agents.load(path).epsilon == 0.25


def test_what_no_file_holds_is_not_saved(tmp_path):
    """A save is refused by the limits of loading, so that every file can be loaded."""
    big = spaces.Box(np.arange(10_000, dtype=np.float32), np.full(10_000, 1e6, np.float32))
    for agent in (QLearningAgent(big, spaces.Discrete(2)), agent_of(n=10**6 + 1)):
        with pytest.raises(ValueError, match=r"at most (65,536|1,000,000)"):
            agent.save(tmp_path / "agent")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such folder to save to: '.*nowhere'"):
        trained(SMALL).save(tmp_path / "nowhere" / "agent")
    with pytest.raises(IsADirectoryError, match="path must be a regular file"):
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
