"""Damaged and crafted agent files: agents.load returns an agent or raises a ValueError, soon and in little memory.

    python tests/fuzz/fuzz_agent_files.py --files 100000

No file may execute code, take more than a second, or take more than 100 MB beyond its own size.
"""

import argparse
import io
import json
import math
import resource
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
from gymnasium import spaces

import agents

MAX_SECONDS, MAX_BYTES = 1.0, 100e6
SPACES = [
    spaces.Discrete(12),
    spaces.MultiDiscrete([2, 4, 6, 8]),
    spaces.MultiBinary(7),
    spaces.Box(-1.0, 1.0, (3,)),
    spaces.Tuple([spaces.Discrete(3), spaces.Dict({"a": spaces.Discrete(2)})]),
]
NASTY = [
    None,
    True,
    -1,
    0,
    1.5,
    1e308,
    float("nan"),
    2**31,
    2**63 - 1,
    2**63,
    10**30,
    "",
    "x" * 1000,
    [],
    [[]],
    {},
    "1" * 30_000,
    ["-" + "1" * 30_000] + ["0"] * 3_000,
    [[2]] * 3_000,
    [1000, 1000],
    "0.0",
    ",".join(["f8"] * 2700),
    {"kind": "Tuple", "spaces": [{"kind": "MultiBinary", "n": 10**6}] * 100},
    {"kind": "Tuple", "spaces": [{"kind": "Discrete", "n": 2, "start": 0}] * 1_400},
    {"kind": "Box", "low": "0.0", "high": "inf", "shape": [1000, 1000], "dtype": "float64"},
    {"kind": "MultiBinary", "n": 10**6},
    {"kind": "Discrete", "n": 2**25, "start": 0},
]
DTYPES = [
    "<f8",
    "<f4",
    "|u1",
    "|S0",
    "|O",
    "<U1000000",
    "|V8",
    "(9999,9999)f8",
    "<M8[ns]",
    ",".join(["f8"] * 2700),
]
FORBIDDEN = {"exec", "pickle.find_class", "os.system", "subprocess.Popen", "os.exec", "os.posix_spawn"}


def base_files(folder):
    """The members of a saved agent of every class and space, one dictionary each."""
    files = []
    for kind in (agents.QLearningAgent, agents.MinimaxQAgent, agents.WinCountAgent):
        for space in SPACES:
            agent = kind(space, spaces.Discrete(3, start=1), seed=0)
            space.seed(0)
            for reward in (1.0, -1.0, 0.5):
                agent.update(space.sample(), 2, reward, space.sample(), True)
            agent.save(folder / "agent")
            with zipfile.ZipFile(folder / "agent") as file:
                files.append({name: file.read(name) for name in file.namelist()})
    return files


def packed(members, method=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return stream.getvalue()


def lying(members, name, n_rows):
    """A file in which one array claims more rows than it has, in its header and in the list of members."""
    array = np.load(io.BytesIO(members[name]))
    shape = (n_rows, *array.shape[1:])
    claim = array_bytes(shape, array.dtype.str, array.tobytes())
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for each, content in members.items():
            file.writestr(each, claim if each == name else content)
        file.getinfo(name).file_size = len(array_bytes(shape, array.dtype.str)) + array.dtype.itemsize * math.prod(
            shape
        )
    return stream.getvalue()


def flip_bytes(content, generator):
    content = bytearray(content)
    for place in generator.integers(len(content), size=generator.integers(1, 11)):
        content[place] = generator.integers(256)
    return bytes(content)


def array_bytes(shape, dtype, data=b""):
    header = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


def change_json(about, generator):
    """Replaces, removes or repeats a random part of the description."""
    parts = []

    def walk(value):
        for key in value if isinstance(value, dict) else range(len(value)):
            parts.append((value, key))
            if isinstance(value[key], dict | list):
                walk(value[key])

    walk(about)
    for _ in range(generator.integers(1, 4)):
        container, key = parts[generator.integers(len(parts))]
        choice = generator.integers(4)
        if isinstance(container, dict) and choice == 0:
            container.pop(key, None)
        elif choice == 1 and isinstance(container, list):
            container[:] = container * int(generator.integers(2, 1000))
        elif key in container if isinstance(container, dict) else key < len(container):
            container[key] = NASTY[generator.integers(len(NASTY))]


def mutated(members, generator):
    """One file made of a saved one."""
    kind = generator.integers(8)
    if kind == 0:
        return flip_bytes(packed(members), generator)
    if kind == 1:
        return packed(members)[: generator.integers(len(packed(members)))]
    members = dict(members)
    name = list(members)[generator.integers(len(members))]
    if kind == 2:
        members[name] = flip_bytes(members[name], generator)
    elif kind == 3:
        about = json.loads(np.load(io.BytesIO(members["about.npy"])).tobytes())
        change_json(about, generator)
        text = json.dumps(about).encode()
        members["about.npy"] = array_bytes((len(text),), "|u1", text)
    elif kind == 4:
        members |= {f"{number}.npy": array_bytes((0,), "<f8") for number in range(generator.integers(1000))}
    elif kind == 5:
        about = json.loads(np.load(io.BytesIO(members["about.npy"])).tobytes())
        depth = int(generator.integers(1000))
        inner = json.dumps(about.pop("observation_space"))
        space = '{"kind": "Tuple", "spaces": [' * depth + inner + "]}" * depth
        text = f'{json.dumps(about)[:-1]}, "observation_space": {space}}}'.encode()
        members["about.npy"] = array_bytes((len(text),), "|u1", text)
    elif kind == 6:
        return lying(members, name, int(10 ** generator.integers(0, 13)))
    else:
        shape = tuple(int(10 ** generator.integers(0, 13)) for _ in range(generator.integers(0, 4)))
        zeros = bytes(int(10 ** generator.integers(0, 9)) if generator.random() < 0.02 else 96)
        new = name if generator.random() < 0.7 else ("more.npy", "text", "../values.npy")[generator.integers(3)]
        members[new] = array_bytes(shape, DTYPES[generator.integers(len(DTYPES))], zeros)
    return packed(members, zipfile.ZIP_STORED if generator.random() < 0.5 else zipfile.ZIP_DEFLATED)


def max_memory():
    """The largest memory of the process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # kilobytes on Linux


def is_loaded(path):
    try:
        agents.load(path)
    except ValueError:
        return False
    return True


def fuzz(n_files, seed):
    """Loads ``n_files`` mutated files; returns how many were agents, the slowest time and the largest memory."""
    generator = np.random.default_rng(seed)
    loaded, slowest, largest, is_loading = 0, 0.0, 0, False

    def audit(event, args):
        is_import = (
            event == "exec" and Path(args[0].co_filename).is_file()
        )  # a module that Python loads when needed
        if is_loading and event in FORBIDDEN and not is_import:
            raise SystemExit(f"file {number} of seed {seed} led to {event} {args}")

    sys.addaudithook(audit)
    with tempfile.TemporaryDirectory() as folder:
        files = base_files(Path(folder))
        path = Path(folder) / "agent"
        for number in range(n_files):
            content = mutated(files[generator.integers(len(files))], generator)
            path.write_bytes(content)
            before, is_loading = max_memory(), True
            start = time.process_time()
            loaded += is_loaded(path)
            seconds = time.process_time() - start
            is_loading = False
            memory = max_memory() - before
            slowest, largest = max(slowest, seconds), max(largest, memory - len(content))
            if seconds > MAX_SECONDS or memory > len(content) + MAX_BYTES:
                kept = Path(f"crafted_{seed}_{number}").absolute()
                kept.write_bytes(content)
                raise AssertionError(f"{kept} took {seconds:.1f} s and {memory / 1e6:.0f} MB")
    return loaded, slowest, largest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    loaded, slowest, largest = fuzz(args.files, args.seed)
    print(f"{args.files:,} files: {loaded:,} loaded, the others refused")
    print(f"at most {slowest:.3f} s and {largest:,} bytes more than before")


if __name__ == "__main__":
    main()
