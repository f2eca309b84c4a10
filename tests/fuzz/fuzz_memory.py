"""Plays and trains for long: the memory of the process must not grow.

    python tests/fuzz/fuzz_memory.py --plies 10000000

After a tenth of the plies, which fill caches and tables, memory may grow by 5 MB at most.
"""

import argparse
import gc
import time
from pathlib import Path

import numpy as np

import agents
from nim_env import aec_env, gym_env, policies, vector_env

MAX_GROWTH = 5e6


def memory():
    """The resident memory of this process, in bytes."""
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


class Soak:
    """Environments and agents that :meth:`run` uses for about 4,000 plies."""

    def __init__(self):
        self.generator = np.random.default_rng(0)
        self.env, self.aec = gym_env.NimEnv(), aec_env.env()
        self.envs = vector_env.NimVectorEnv(64, opponent="expert", autoreset_mode="SameStep")
        self.self_play = vector_env.NimVectorEnv(64, opponent=None)
        space = self.env.observation_space, self.env.action_space
        self.agents = [agents.QLearningAgent(*space, seed=0), agents.MinimaxQAgent(*space, seed=0, table="hash")]
        self.envs.reset(seed=0)

    def run(self):
        """Returns the number of plies."""
        for seed in range(20):
            _, info = self.env.reset(seed=seed)
            terminated = False
            while not terminated:
                _, _, terminated, _, info = self.env.step(int(info["action_mask"].argmax()))
            self.aec.reset(seed=seed)
            for player in self.aec.agent_iter():
                observation, _, terminated, *_ = self.aec.last()
                mask = observation["action_mask"]
                self.aec.step(None if terminated else self.aec.action_space(player).sample(mask))
        masks = self.envs.action_masks()
        for _ in range(20):
            masks = self.envs.step(policies.uniform_sample(masks, self.generator.random(64)))[-1]["action_mask"]
        for agent in self.agents:
            agents.train(agent, self.self_play, episodes=64)
            agents.train(agent, self.aec, episodes=5)
        return 20 * (8 + 8) + 20 * 64 * 2 + 2 * 69 * 8


def soak(plies):
    """Runs for about this many plies; returns them and the growth of memory after the first tenth, in bytes."""
    played, soaked, before = 0, Soak(), None
    while played < plies:
        played += soaked.run()
        if before is None and played >= plies / 10:
            before = memory()
    return played, memory() - before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plies", type=int, default=10_000_000)
    args = parser.parse_args()
    start = time.perf_counter()
    played, growth = soak(args.plies)
    print(f"about {played:,} plies in {time.perf_counter() - start:.0f} s, memory grew by {growth / 1e6:.2f} MB")
    assert growth <= MAX_GROWTH


if __name__ == "__main__":
    main()
