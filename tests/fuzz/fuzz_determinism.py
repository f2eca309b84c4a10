"""The same seed gives the same games and tables in processes of different hash seeds, and in other environments.

    python tests/fuzz/fuzz_determinism.py --python .venv/bin/python lowest/.venv/bin/python

--python names the interpreters to compare, such as those of virtual environments with the lowest and the newest
versions of NumPy and Gymnasium.
"""

import argparse
import hashlib
import itertools
import json
import os
import subprocess
import sys

import numpy as np

import agents
from nim_env import NimRules, aec_env, evaluation, gym_env, policies, solver, vector_env

GAMES = [{}, {"heaps": (21,), "max_take": 3, "misere": False}, {"heaps": (2, 3, 4), "random_start": True}]


def digest(*arrays):
    """The SHA-256 of the values, dtypes and shapes of arrays."""
    hashed = hashlib.sha256()
    for array in map(np.asarray, arrays):
        hashed.update(f"{array.dtype.str} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


def gym_game(opponent, **rules):
    """All that one environment returns in 300 steps of random legal actions."""
    env = gym_env.NimEnv(**rules, opponent=opponent)
    env.action_space.seed(0)
    results = [*env.reset(seed=0)]
    for _ in range(300):
        results += env.step(env.action_space.sample(results[-1]["action_mask"]))
        if results[-3]:
            results += env.reset()
    parts = (result.values() if isinstance(result, dict) else [result] for result in results)
    return digest(*itertools.chain.from_iterable(parts))


def vector_game(mode, **rules):
    """All observations, rewards and masks of 300 steps of 16 environments."""
    envs = vector_env.NimVectorEnv(16, **rules, opponent="random", autoreset_mode=mode)
    generator, results = np.random.default_rng(0), []
    observations, infos = envs.reset(seed=0)
    for _ in range(300):
        actions = policies.uniform_sample(infos["action_mask"], generator.random(16))
        observations, rewards, *ends, infos = envs.step(actions)
        results += [observations, rewards, *ends, infos["action_mask"]]
    return digest(*results)


def trained(kind, env):
    """The table of an agent after training, and its returns."""
    if hasattr(env, "single_action_space"):
        spaces = env.single_observation_space, env.single_action_space
    elif hasattr(env, "possible_agents"):
        spaces = env.observation_space("player_0"), env.action_space("player_0")
    else:
        spaces = env.observation_space, env.action_space
    agent = kind(*spaces, seed=0)
    history = agents.train(agent, env, 500, seed=0)
    return digest(*agent.state_dict().values(), np.asarray(history.returns), agent.generator.random(3))


def all_digests():
    """The name and digest of each computation."""
    found = {}
    for number, rules in enumerate(GAMES):
        for opponent in ("random", "take-3", "expert", None):
            found[f"gymnasium {number} {opponent}"] = gym_game(opponent, **rules)
        for mode in ("NextStep", "SameStep"):
            found[f"vector {number} {mode}"] = vector_game(mode, **rules)
    for kind in (agents.QLearningAgent, agents.MinimaxQAgent, agents.WinCountAgent):
        opponent = None if kind.supports_self_play else "random"
        found[f"{kind.__name__} gymnasium"] = trained(kind, gym_env.NimEnv(opponent=opponent))
        found[f"{kind.__name__} vector"] = trained(kind, vector_env.NimVectorEnv(16, opponent=opponent))
        if opponent is None:
            found[f"{kind.__name__} pettingzoo"] = trained(kind, aec_env.env())
    rules = NimRules()
    found["solution"] = digest(solver.solve(rules, gamma=0.9).q_values(rules.all_positions()[1:]))
    found["match"] = digest(evaluation.play_match(rules, "expert", "random", games=500, seed=0).wins)
    return found


def compare(pythons, hash_seeds):
    """Runs every interpreter with every hash seed; returns the number of digests, and the names that differ."""
    runs = []
    for python, hash_seed in itertools.product(pythons, hash_seeds):
        command, env = [python, __file__, "--print"], os.environ | {"PYTHONHASHSEED": hash_seed}
        output = subprocess.run(command, env=env, capture_output=True, check=True)
        runs.append(json.loads(output.stdout))
    return len(runs[0]), [name for name in runs[0] if any(run[name] != runs[0][name] for run in runs)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="+", default=[sys.executable])
    parser.add_argument("--hash-seeds", nargs="+", default=["0", "1", "12345"])
    parser.add_argument("--print", action="store_true", help="print the digests of this process")
    args = parser.parse_args()
    if args.print:
        print(json.dumps(all_digests()))
        return
    n, different = compare(args.python, args.hash_seeds)
    print(f"{len(args.python) * len(args.hash_seeds)} processes, {n} digests; different: {different}")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
