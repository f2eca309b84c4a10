"""Plays games that do not fit into the cache of positions: the steps per second, and how much the memory grows.

    python tests/fuzz/large_games.py --seconds 5

A position costs most at its first visit, so these games are slower than small ones. Run it before and after a
change to nim_env/envs/_positions.py: no test notices a slower first visit, an opponent that makes positions it
does not play, or a cache that is cleared too early. Each row runs in its own process. Memory may grow by 150 MB at
most.
"""

import argparse
import random
import subprocess
import sys
import time

import fuzz_memory

from nim_env import gym_env

GAMES = [(1, 3, 5, 7, 9, 11), (9,) * 5, (1, 3, 5, 7, 9, 11, 13), (100,) * 10, (100_000,)]
OPPONENTS = ["random", "expert", None]
MAX_GROWTH = 150e6


def play(heaps, opponent, seconds):
    """Steps per second of random play, and the growth of memory in bytes."""
    random.seed(0)
    before, env = fuzz_memory.memory(), gym_env.NimEnv(heaps, opponent=opponent)
    _, info = env.reset(seed=0)
    steps, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        action = random.choice(info["action_mask"].nonzero()[0].tolist())
        *_, terminated, _, info = env.step(action)
        steps += 1
        if terminated:
            _, info = env.reset()
    return steps / (time.process_time() - start), fuzz_memory.memory() - before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each row")
    parser.add_argument("--row", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    rows = [(heaps, opponent) for heaps in GAMES for opponent in OPPONENTS]
    if args.row is not None:
        print(*play(*rows[args.row], args.seconds))
        return
    growths = []
    for number, (heaps, opponent) in enumerate(rows):
        command = [sys.executable, __file__, "--seconds", str(args.seconds), "--row", str(number)]
        speed, growth = map(float, subprocess.run(command, capture_output=True, check=True).stdout.split())
        growths.append(growth)
        print(f"{heaps!s:24} {opponent!s:8} {speed:8,.0f} steps/s {growth / 1e6:6.0f} MB", flush=True)
    sys.exit(max(growths) > MAX_GROWTH)


if __name__ == "__main__":
    main()
