"""Kills a process while it saves an agent again and again: the file is always a whole agent.

python tests/fuzz/fuzz_kills.py 60
"""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def check_kills(n_kills):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent"
        for number in range(n_kills):
            child = subprocess.Popen([sys.executable, "-c", CHILD, path], stdout=subprocess.PIPE)
            child.stdout.readline()  # the first save is done
            time.sleep(random.Random(number).random() * 0.05)
            child.kill()
            child.communicate()
            values = agents.load(path).table.values
            assert (values == values[0, 0]).all()


if __name__ == "__main__":
    check_kills(int(sys.argv[1]))
    print(f"{sys.argv[1]} kills: the file was a whole agent after each")
