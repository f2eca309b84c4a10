"""The same seed gives the same games, tables and evaluations with other hash seeds, CPU features and versions.

    python tests/fuzz/fuzz_determinism.py

Processes of this interpreter run with fewer and fewer of the CPU features that its NumPy can disable, with the
functions of glibc for old processors, and with several hash seeds. The digests must be the recorded ones, so that
machines and versions are compared too. After a change that is meant, ``--print > tests/fuzz/recorded.json``.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import agents
from nim_env import NimRules, OpponentPool, TabularPolicy, aec_env, evaluation, gym_env, solver, vector_env

GAMES = [{}, {"heaps": (21,), "max_take": 3, "misere": False}, {"heaps": (2, 3, 4), "random_start": True}]
RECORDED = Path(__file__).with_name("recorded.json")  # the digest of each computation
LEARNING_RATES = (0.1, 0.3, lambda progress: 0.05 + 0.4 * progress)


def digest(*arrays):
    """The SHA-256 of the values, dtypes and shapes of arrays."""
    hashed = hashlib.sha256()
    for array in map(np.asarray, arrays):
        hashed.update(f"{array.dtype.str} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


def trained(kind, env, episodes=500, **arguments):
    """The table of an agent after training, and its returns."""
    if hasattr(env, "single_action_space"):
        spaces = env.single_observation_space, env.single_action_space
    elif hasattr(env, "possible_agents"):
        spaces = env.observation_space("player_0"), env.action_space("player_0")
    else:
        spaces = env.observation_space, env.action_space
    agent = kind(*spaces, seed=0, **arguments)
    history = agents.train(agent, env, episodes, seed=0)
    return digest(*agent.state_dict().values(), np.asarray(history.returns), agent.generator.random(3))


def evaluated(rules):
    """Every exact figure of stochastic policies."""
    weights = np.random.default_rng(0).integers(1, 9, (rules.n_positions, rules.n_actions))
    weights *= rules.action_mask(rules.all_positions())
    table = TabularPolicy(rules, weights / np.maximum(weights.sum(axis=1, keepdims=True), 1))
    figures = list(evaluation.report(rules, table).to_dict().values())
    wins = evaluation.win_probabilities(rules, table, "random")
    return digest(figures, (wins.going_first + wins.going_second) / 2)


def cpu_features():
    """The CPU features that NumPy dispatches on and this machine has, the lowest first."""
    try:
        from numpy._core import _multiarray_umath as core
    except ImportError:  # NumPy 1
        from numpy.core import _multiarray_umath as core
    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]


def all_digests():
    """The name and digest of each computation."""
    found = {}
    for number, rules in enumerate(GAMES):
        pool = OpponentPool(gym_env.NimEnv(**rules).rules, ["random", "take-3", "expert"], weights=[1, 2, 3])
        for opponent in ("random", "take-3", "expert", pool, None):
            env = gym_env.NimEnv(**rules, opponent=opponent)
            envs = vector_env.NimVectorEnv(16, **rules, opponent=opponent, autoreset_mode="SameStep")
            name = "pool" if opponent is pool else opponent
            found[f"gymnasium {number} {name}"] = trained(agents.QLearningAgent, env, 100)
            found[f"vector {number} {name}"] = trained(agents.QLearningAgent, envs, 100)
    for kind in (agents.QLearningAgent, agents.MinimaxQAgent, agents.WinCountAgent):
        opponent = None if kind.supports_self_play else "random"
        found[f"{kind.__name__} gymnasium"] = trained(kind, gym_env.NimEnv(opponent=opponent))
        if opponent is None:
            found[f"{kind.__name__} vector"] = trained(kind, vector_env.NimVectorEnv(16, opponent=opponent))
            found[f"{kind.__name__} pettingzoo"] = trained(kind, aec_env.env())
    for kind in (agents.QLearningAgent, agents.MinimaxQAgent):
        for rate in LEARNING_RATES:
            for num_envs, episodes in ((8, 300), (5000, 5000)):
                env = vector_env.NimVectorEnv(num_envs, heaps=(3, 4, 5), opponent=None)
                name = f"{kind.__name__} {num_envs} {'schedule' if callable(rate) else rate}"
                found[name] = trained(kind, env, episodes, learning_rate=rate)
    rules = NimRules()
    found["evaluation"] = evaluated(rules)
    pool = OpponentPool(rules, ["random", "take-3", "expert"], weights=[1, 2, 3])
    found["pool"] = digest(
        evaluation.payoff_matrix(rules, [pool, "random"]),
        evaluation.win_probability(rules, pool, pool),
        evaluation.mixed_exploitability(rules, OpponentPool(rules, ["take-1", "expert"], weights=[1, 2])),
        evaluation.play_match(rules, pool, pool, games=500, seed=0).wins,
    )
    large = NimRules((300, 301), max_take=3)  # how NumPy adds this many numbers depends on its version
    found["mastery"] = digest(evaluation.mastery(large, "random").expert)
    found["solution"] = digest(solver.solve(rules, discount=0.9).q_values(rules.all_positions()[1:]))
    found["match"] = digest(evaluation.play_match(rules, "expert", "random", games=500, seed=0).wins)
    found["sample"] = digest(evaluation.sampled_mastery(large, "random", seed=0).expert)
    return found


def variables():
    """Sets of environment variables, each of which makes this machine compute as an older one."""
    features = cpu_features()
    settings = [{"NPY_DISABLE_CPU_FEATURES": " ".join(features[n:])} for n in range(len(features), -1, -1)]
    settings.append({"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX2_Usable,-FMA_Usable"})
    return [chosen | {"PYTHONHASHSEED": str(number % 3)} for number, chosen in enumerate(settings)]


def run(chosen):
    """The digests of a process with these environment variables."""
    command = [sys.executable, __file__, "--print"]
    return json.loads(subprocess.run(command, env=os.environ | chosen, capture_output=True, check=True).stdout)


def main():
    if sys.argv[1:] == ["--print"]:
        print(json.dumps(all_digests(), indent=1))
        return
    reference = json.loads(RECORDED.read_text(encoding="utf-8"))
    is_different = False
    for chosen in ({}, *variables()):
        digests = run(chosen)
        different = [name for name in reference if digests[name] != reference[name]]
        is_different |= bool(different)
        print(f"{chosen}: {len(different)} of {len(reference)} digests differ {different or ''}")
    sys.exit(is_different)


if __name__ == "__main__":
    main()
