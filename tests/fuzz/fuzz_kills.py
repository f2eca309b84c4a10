"""Kills a process while it saves an agent again and again: the file is always a whole agent, and nothing is left.

python tests/fuzz/fuzz_kills.py --kills 200
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import agents

CHILD = """
import itertools, sys, agents
from gymnasium import spaces
agent = agents.QLearningAgent(spaces.Discrete(20_000), spaces.Discrete(4), seed=0)
for number in itertools.count():
    agent.table.values[:] = number
    agent.save(sys.argv[1])
    print(number, flush=True)
"""


def fuzz(n_kills, seed):
    """Returns the number of kills that left a temporary file."""
    generator = np.random.default_rng(seed)
    n_left = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent"
        for _ in range(n_kills):
            child = subprocess.Popen([sys.executable, "-c", CHILD, path], stdout=subprocess.PIPE)
            child.stdout.readline()  # the first save is done
            time.sleep(generator.random() * 0.05)
            child.kill()
            child.communicate()
            n_left += len(list(Path(folder).iterdir())) - 1
            agent = agents.load(path)
            assert (agent.table.values == agent.table.values[0, 0]).all()
            agent.save(path)
            assert list(Path(folder).iterdir()) == [path]
    return n_left


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    n_left = fuzz(args.kills, args.seed)
    print(f"{args.kills} kills, {n_left} of them during a save: no damaged file, nothing left")


if __name__ == "__main__":
    main()
